"""The kernel that counts patterns, in each form, against counts of Python's whole numbers."""

from fractions import Fraction

import numpy as np
import pytest
import reference_interactions as twin
from cases import only

from thesiskit._kernels import interactions as kernel
from thesiskit.pairs.planes import Planes, encode

ALL = range(len(kernel.FORMS))


def table(seed, n, p, missing):
    rng = np.random.default_rng(seed)
    codes = np.column_stack([rng.integers(0, 2 + j % 4, n) for j in range(p)])
    codes[:-5, 1:4:2] = 0  # nearly all bits of both planes: bytes of counts are full
    codes[:, ::2][rng.random((n, (p + 1) // 2)) < missing] = -1  # every other feature is complete
    return codes, np.arange(n) % 3 % 2


def walked(planes, first, form, bound, room, slots):
    """All that the kernel finds and tallies; with `first`, of it, another feature, and a third."""
    places = np.flatnonzero(planes.feature >= 0)
    rank = np.full(len(planes.feature), -1)
    rank[places] = np.arange(len(places))
    features, values_of, counted, tallied = [], [], [], {}
    right = kernel.Right(planes.words, planes.counts, planes.first, planes.values, planes.complete,
                         planes.width0)  # fmt: skip
    for place in places[places > first] if first >= 0 else places:
        words = planes.of(np.array([place]))
        values, a = words.shape[1], 1
        complete = planes.complete[place // 8]
        if first >= 0:
            head = planes.of(np.array([first]))
            a, complete = head.shape[1], complete & planes.complete[first // 8]
            words = (head[:, :, None] & words[:, None]).reshape(1, a * values, -1)
        parts = words[..., : planes.width0], words[..., planes.width0 :]
        counts = np.stack([np.bitwise_count(p).sum(axis=2, dtype=np.int32) for p in parts], axis=2)
        left = kernel.Left(words, counts, rank[[place]], a, bool(complete))
        cells = a * values * planes.values.max()
        rows = np.empty((max(room, 8 * cells), 7), dtype=np.int32)
        tally = np.zeros((slots, 2), dtype=np.int64)
        scan = kernel.Scan(right, left, rank, rows, tally, np.empty(16 * cells, dtype=np.int32))
        returns = 0
        while not scan.done:
            for row, other, cell, *sums in rows[: scan.go(bound, form)].tolist():
                assert row == 0
                uv, w = divmod(cell, int(planes.values[other // 8]))
                u, v = divmod(uv, values)
                features.append([-1 if first < 0 else planes.feature[first], planes.feature[place],
                                 planes.feature[other]])  # fmt: skip
                values_of.append([u, v, w])
                counted.append(tuple(sums))
            for key, number in tally[tally[:, 0] > 0].tolist():
                pair = (key - 1) >> 32, (key - 1) & (2**32 - 1)
                tallied[pair] = tallied.get(pair, 0) + number
            tally[:] = 0
            scan.emptied()
            returns += 1
            assert returns < 1000
    names, values = (np.array(rows, dtype=int).reshape(-1, 3) for rows in (features, values_of))
    numbers = encode(names, values).tolist()
    assert len(set(numbers)) == len(numbers)
    return dict(zip(numbers, counted, strict=True)), tallied


@pytest.mark.parametrize("form", ALL)
@pytest.mark.parametrize(
    ("missing", "n", "p", "order"),
    only(
        [(missing, *size, order) for order in (2, 3) for missing in (0, 0.2, 0.6)
         for size in ((9, 5), (192, 20), (200, 36), (4500, 10))],
        (0, 9, 5, 3), (0.6, 192, 20, 2), (0.2, 192, 20, 3), (0.2, 200, 36, 2), (0, 4500, 10, 2),
        (0.6, 4500, 10, 3),
    ),
)  # fmt: skip
def test_counts_of_all_patterns(form, missing, n, p, order):
    codes, y = table(n, n, p, missing)
    planes = Planes.pack(codes, y)
    every = twin.candidates(tuple(map(tuple, codes.tolist())), tuple(y.tolist()), order)
    first, wanted = -1, {number: one for number, (_, one) in every.items() if number >= 2**30}
    if order == 3:
        first = int(np.flatnonzero(planes.feature >= 0)[1])
        head, behind = {int(planes.feature[first])}, set(planes.feature[first:].tolist())
        wanted = {number: counts for number, (features, counts) in every.items()
                  if len(features) == 3 and head <= set(features) <= behind}  # fmt: skip
    tallied = {}
    for _, _, n0, n1 in wanted.values():
        tallied[n0, n1] = tallied.get((n0, n1), 0) + 1
    for room, slots in ((1, 16), (5000, 16)):
        assert walked(planes, first, form, 0.0, room, slots) == (wanted, tallied)
    squares = {number: twin.square(*counts) for number, counts in wanted.items()}
    ordered = sorted(set(squares.values()))
    for bound in (ordered[len(ordered) // 2], ordered[-1]):
        # a bound that is attained lets through what attains it
        strong = {key: wanted[key] for key, one in squares.items() if one >= bound and one > 0}
        if bound > 0:
            ours, _ = walked(planes, first, form, float(bound) * (1 - 1e-12), 1, 16)
            assert {key: ours[key] for key in strong} == strong
            assert all(twin.square(*one) >= bound * Fraction(1 - 2e-12) for one in ours.values())


def test_forms_begin_with_the_plain_one():
    assert kernel.FORMS in (("plain",), ("plain", "avx2"), ("plain", "avx2", "avx512"))
