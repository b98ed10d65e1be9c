"""Slow, obvious versions of the screening of patterns."""

from fractions import Fraction
from functools import cache
from itertools import combinations, product


@cache
def square(i0, i1, n0, n1):
    n, s = n0 + n1, i0 + i1
    if n0 * n1 * s * (n - s) == 0:
        return Fraction(0)
    return Fraction((n * i1 - n1 * s) ** 2, n0 * n1 * s * (n - s))


def lot(number, seed):
    """The SplitMix64 of number + seed."""
    x = (number + seed) % 2**64
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        x = (x ^ (x >> shift)) * factor % 2**64
    return x ^ (x >> 31)


@cache
def candidates(table, y, order):
    """All patterns that vary: {number: (features, (I0, I1, n0, n1))}; below 0 is missing."""
    columns = {}
    for feature, column in enumerate(zip(*table, strict=True)):
        values = sorted({v for v in column if v >= 0})
        known = sum(1 << i for i, v in enumerate(column) if v >= 0)
        if len(values) > 1:
            where = {v: sum(1 << i for i, w in enumerate(column) if w == v) for v in values}
            columns[feature] = known, where
    ones = sum(1 << i for i, c in enumerate(y) if c == 1)
    zeros = sum(1 << i for i, c in enumerate(y) if c == 0)
    found = {}
    for size in range(1, order + 1):
        for features in combinations(columns, size):
            known = zeros | ones
            for f in features:
                known &= columns[f][0]
            n0, n1 = (known & zeros).bit_count(), (known & ones).bit_count()
            choices = [list(columns[f][1]) for f in features]
            if size == 1 and len(choices[0]) == 2:
                choices = [choices[0][1:]]
            for values in product(*choices):
                present = known
                number = int(size == 3) << 2  # the bit before three times 20
                for f, v in zip(features, values, strict=True):
                    present &= columns[f][1][v]
                    number = number * 2 ** (20 if size == 3 else 30) + 16 * f + v + 1
                counts = (present & zeros).bit_count(), (present & ones).bit_count(), n0, n1
                if 0 < counts[0] + counts[1] < n0 + n1:
                    found[number] = features, counts
    return found


def likeness(first, second):
    """The squared correlation of two columns of codes, over the rows where both are known."""
    both = [(a, b) for a, b in zip(first, second, strict=True) if a >= 0 and b >= 0]
    n, x, y = len(both), sum(a for a, _ in both), sum(b for _, b in both)
    xx, xy, yy = (sum(a * b for a, b in pairs) for pairs in (
        [(a, a) for a, _ in both], both, [(b, b) for _, b in both]))  # fmt: skip
    spread = (n * xx - x * x) * (n * yy - y * y)
    return Fraction((n * xy - x * y) ** 2, spread) if spread else Fraction(0)


def select(table, y, k, seed, order, cut=None, disjoint=False, ld=None):
    """(numbers, counts, gamma^2, tied, tied kept, rows of those left out, number of candidates)."""
    all_ = candidates(table, y, order)
    values = {counts: square(*counts) for _, counts in all_.values()}
    # fractions are compared once, and then their places among all of them
    place = {value: i for i, value in enumerate(sorted({*values.values(), *([cut] * (k is None))}))}
    squares = {number: place[values[counts]] for number, (_, counts) in all_.items()}
    cut = place.get(cut)
    queue = sorted(all_, key=lambda number: (-squares[number], lot(number, seed)))
    kept, used, skipped, columns = [], set(), set(), list(zip(*table, strict=True))
    for number in queue:
        features = set(all_[number][0])
        if len(kept) == k or (k is None and squares[number] <= cut):
            break
        if features & skipped or (disjoint and features & used):
            continue
        kept.append(number)
        used |= features
        if ld is not None:
            skipped |= {g for f in features for g in range(len(columns))
                        if g != f and g not in skipped
                        and likeness(columns[f], columns[g]) > ld}  # fmt: skip
            skipped -= used
    gamma_squared = min(squares[number] for number in kept) if k is not None else cut
    rows, chosen = {}, set(kept)
    for number, (_, (_, _, n0, n1)) in all_.items():
        if number not in chosen and squares[number] <= gamma_squared:
            event = 0 if k is None else 1 + (squares[number] == gamma_squared)
            rows[n0, n1, event] = rows.get((n0, n1, event), 0) + 1
    kept.sort(key=lambda number: (-squares[number], number))
    tied = sum(one == gamma_squared for one in squares.values())
    tied_kept = 0 if k is None else sum(squares[number] == gamma_squared for number in kept)
    gamma_squared = list(place)[gamma_squared]
    return (kept, [all_[number][1] for number in kept], gamma_squared, tied, tied_kept,
            [[*key, rows[key]] for key in sorted(rows)], len(all_))  # fmt: skip
