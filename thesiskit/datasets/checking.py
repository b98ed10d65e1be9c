"""A check of a table before any model: what could spoil predictions, a line each.

A line says what was found and where, why it matters and what to do.  What could be chance is said
only where its probability, over all columns that are looked at, is below LEVEL; probabilities are
exact, bounds, or those of ranks.  Nothing is changed.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import lgamma, log
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

from thesiskit.datasets.reading import DATE, REAL, UNKNOWN
from thesiskit.datasets.source import MISSING, Cases
from thesiskit.defaults import LOG, SCORES
from thesiskit.errors import list_some, pluralise, quoted

LEVEL = 1e-3  # of a kind of finding: all together are false in less than one table of fifty
LARGE, SOME = 1 << 25, 1 << 23  # values of features, above which at most some are looked at
BLOCK = 1 << 21  # values that are sorted together
LEAST = 10  # cases, or values, from which on distinct ones are remarkable
NAMED = 3  # columns, cases or classes that a line names

MOST_NEAR, SEEN = 5000, 1000  # cases, and features, of which distances are computed
NEAR = 0.3  # of the distance to the tenth neighbour: more is no repeat, however improbable
MOST = 0.9  # of the values or features are so, where a column or a table is said to be so
RARE = 5  # cases of a value or class, below which it is put together with others
NUMBERED = r"[ _.-]*(id|nr|no|number|code|name|[0-9]+)?$"  # what the name of a column can end with
BATCH = re.compile(
    r"(?<![a-z])(batch|date|site|plate|center|centre|hospital|clinic|run|lane|chip|slide|scanner|"
    rf"machine|instrument|operator|lab|laboratory|cohort|study)(e?s)?{NUMBERED}"
)
PATIENT = re.compile(
    rf"(?<![a-z])(patient|subject|donor|person|individual|animal|family|pedigree)s?{NUMBERED}"
)
NAMING = re.compile(r"(.*[ _.-])?(id|ids|nr|no|number|idx|index|uuid|barcode)")
DAYS = (19000101, 21001231)  # dates as numbers, such as 20240131
DROP = "data.ignore leaves it out, data.id makes it the names of the cases"
MANY = 1000  # a count that is reached where the range of counts is large
RANGE = 10  # times the smallest count of a feature, in half of the features at least
APART = 1e6  # times the smallest spread of a feature; tables of like measurements have 1e3, or 1e5
GAP = 100  # times the spread of the next narrower feature; in tables of like measurements up to 9
LOOKED, MOST_CODE = 2000, 20  # features whose shape is looked at; the largest code of a category
SKEWED = 1.0  # median skewness that is far from the normal distribution's
Pairs = list[tuple[int, int]]
TAIL, HUGE = 8, 20  # deviations above the median, of skewed values; from it, of mistakes


@dataclass
class FeatureSummaries:
    """What the features of a table hold; arrays are (p,), of values that are not missing."""

    table: Cases
    codes: np.ndarray
    names: Sequence[str]
    lacking: np.ndarray  # how many features are missing in each sample, (n,)
    copies: Pairs  # features of which the second has the values of the first
    values: np.ndarray  # how many distinct ones
    gaps: np.ndarray  # how many are missing
    pure: np.ndarray  # whether each value has samples of one class only
    runs: np.ndarray  # of classes, in the order of values
    whole: np.ndarray  # whether all are whole numbers
    low: np.ndarray
    middle: np.ndarray
    high: np.ndarray
    spread: np.ndarray  # the standard deviation, by quartiles
    log_agree: np.ndarray  # log probability that two samples agree by chance
    orders: np.ndarray  # the logarithm of the number of orders that the values can have
    missing: np.ndarray  # in how many samples of each class, (K, p)

    def name(self, j: int) -> str:
        return quoted(self.names[j], 30) if self.table.columns else self.names[j]

    def first_names(self, columns: Iterable[int]) -> str:
        return list_some([self.name(j) for j in columns], NAMED, 34)


Summaries = FeatureSummaries | None  # none of a table with more than LARGE values


def findings(
    tables: Sequence[Cases], *, folds: int = 0, first: bool = False, grouped: str | None = None,
    transformed: bool = False,
) -> list[str]:  # fmt: skip
    """Return what is found in a table, and in its test cases if there are any.

    folds : into how many cases are divided, 0 if they are not.
    first : whether the first cases train and the others are tested.
    grouped : the column whose cases of one value are kept together.
    transformed : whether real features are transformed, so that they need no logarithm.
    """
    tables, notes = _affordable(tables)
    table = tables[0]
    classes: Sequence[str] = table.classes  # type: ignore[attr-defined]
    stats, codes, halves = _looks(table)
    about = [*_order(halves, first, folds), *_rare(codes, classes, folds), *notes]
    groups, columns = _columns(table, stats, codes, halves, grouped)
    if stats is None:
        return [*columns, *about, f"more than {LARGE:,} values: features were not looked at"]
    repeats = _repeats(tables, stats, folds)
    if table.family == "sequences":
        return [*repeats, *about]
    lines = [*_alone(stats, groups, len(classes) == 0), *repeats, *columns, *about]
    lines += [*_missing(stats, halves), *_idle(stats), *_naming(table, stats)]
    if table.family != "table":
        return lines
    return [*lines, *_scales(stats), *([] if transformed else _sizes(stats))]


def _affordable(tables: Sequence[Any]) -> tuple[list[Any], list[str]]:
    """Return tables with as many discrete features as are looked at, and a line that says so."""
    table = tables[0]
    if table.family != "features":
        return [*tables], []
    size = table.inputs.size
    step = 1 if size <= LARGE else -(-size // SOME)
    names, values = table.features[::step], table.values[::step]
    parts = [replace(part, X=part.X[:, ::step], features=names, values=values) for part in tables]
    note = f"of {len(table.features):,} features {len(names):,} were looked at, one of {step:,}"
    return parts, [note] if step > 1 else []


def grouping(table: Cases) -> list[str]:
    """Return the columns that have groups of cases, such as patients."""
    return _columns(table, *_looks(_affordable([table])[0][0]), None)[0]


def _looks(table: Cases) -> tuple[Summaries, np.ndarray, np.ndarray]:
    """Return what features hold, unless they are too many; codes of responses, and halves."""
    y = np.asarray(table.response)  # type: ignore[attr-defined]
    codes = np.unique(y, return_inverse=True)[1].reshape(-1)
    real = not len(table.classes)  # type: ignore[attr-defined]
    halves = (y > np.median(y)).astype(np.intp) if real else codes
    stats = summarise_features(table, codes, halves) if table.inputs.size <= LARGE else None
    return stats, codes, halves


# ---- what chance can do ----


def small(p: float) -> str:
    """Write a p-value that is small."""
    return f"p = {p:.0e}" if p > 1e-12 else "p < 1e-12"


def log_orders(counts: np.ndarray) -> float:
    """Return the logarithm of the number of orders of things of which so many are each alike."""
    counts = np.asarray(counts, dtype=float)
    return float(special.gammaln(counts.sum() + 1) - special.gammaln(counts + 1).sum())


def ranks_of(values: np.ndarray) -> np.ndarray:
    """Return ranks from 1, the mean one of equal values."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[place.reshape(-1)]


def rank_test(values: np.ndarray, y: np.ndarray) -> float:
    """Return the p-value of Kruskal and Wallis for values of cases of classes, codes y."""
    ranks = ranks_of(values)
    counts, sums = np.bincount(y), np.bincount(y, ranks - ranks.mean())
    counts, sums = counts[counts > 0], sums[counts > 0]
    if ranks.var() == 0 or len(counts) < 2:
        return 1.0
    statistic = (1 - 1 / len(y)) * (sums**2 / counts).sum() / ranks.var()
    return float(special.chdtrc(len(counts) - 1, statistic))


def runs_test(y: np.ndarray) -> float:
    """Return the p-value of so few runs of equal classes, codes y, by Barton and David."""
    n, counts = len(y), np.bincount(y).astype(float)
    squares, cubes = (counts**2).sum(), (counts**3).sum()
    mean = 1 + n - squares / n
    variance = (squares * (squares + n * n + n) - 2 * n * cubes - n**3) / (n * n * (n - 1))
    runs = 1 + np.count_nonzero(np.diff(y))
    return float(special.ndtr((runs + 0.5 - mean) / np.sqrt(variance))) if variance > 0 else 1.0


def table_test(values: np.ndarray, y: np.ndarray) -> float:
    """Return the p-value of chi squared, or of Fisher, for codes of categories and of classes.

    Those of few cases are put together.
    """
    for codes in (values := values.copy(), y := y.copy()):
        codes[np.bincount(codes)[codes] < RARE] = codes.max() + 1
    cells = np.zeros((values.max() + 1, y.max() + 1))
    np.add.at(cells, (values, y), 1)
    cells = cells[cells.any(axis=1)][:, cells.any(axis=0)]
    if min(cells.shape) < 2:
        return 1.0
    rows, columns, n = cells.sum(axis=1), cells.sum(axis=0), cells.sum()
    if cells.shape == (2, 2):
        return fisher(cells[0, 0], rows[0], columns[0], n)
    expected = np.outer(rows, columns) / n
    statistic = (1 - 1 / n) * ((cells - expected) ** 2 / expected).sum()
    return float(special.chdtrc((len(rows) - 1) * (len(columns) - 1), statistic))


def fisher(marked: float, row: float, column: float, n: float) -> float:
    """Return twice the smaller tail of a hypergeometric number: of row cases, column are marked."""
    at = np.arange(max(0, row + column - n), min(row, column) + 1)
    cells = (at, row - at, column - at, n - row - column + at)
    logs = -sum(special.gammaln(cell + 1) for cell in cells)
    mass = np.exp(logs - logs.max())
    tails = mass[at <= marked].sum(), mass[at >= marked].sum()
    return min(1.0, 2 * float(min(tails) / mass.sum()))


# ---- cases ----


def follows_order(y: np.ndarray) -> float:
    """Return the p-value of the order of cases of classes, codes y."""
    return min(1.0, 2 * min(rank_test(np.arange(len(y)), y), runs_test(y)))


def _order(y: np.ndarray, first: bool, folds: int) -> list[str]:
    p = follows_order(y)
    if p >= LEVEL:
        return []
    finding = f"the order of the cases goes with the response ({small(p)})"
    if np.count_nonzero(np.diff(y)) == len(np.unique(y)) - 1:
        finding = "the cases are sorted by the response"
    if first:
        finding += ", and data.train takes the first ones: shuffle the lines, or leave data.train "
        return [f"{finding}out, so that evaluation.folds divides them at random"]
    finding += "; folds are drawn at random, so that this alone does no harm" if folds else ""
    return [f"{finding}; if they were measured in this order, what drifts tells the classes"]


def _rare(y: np.ndarray, classes: Sequence[str], folds: int) -> list[str]:
    counts = np.bincount(y)
    fewer = np.flatnonzero(counts < min(folds, counts.max())) if len(classes) else ()
    if not len(fewer):
        return []
    have = pluralise(len(fewer), "class has", "classes have")
    sizes = [f"{quoted(classes[k], 30)} ({counts[k]})" for k in map(int, fewer)]
    names = list_some(sizes, NAMED, 40)
    return [
        f"{have} fewer cases than there are folds ({folds}): {names}; some folds test none of "
        "them: lower evaluation.folds, add cases, or put classes together"
    ]


def _repeats(tables: Sequence[Cases], stats: FeatureSummaries, folds: int) -> list[str]:
    """Say which cases have exactly, or nearly, the features of another one."""
    first_row: dict[bytes, int] = {}
    rows = (row for table in tables for row in np.ascontiguousarray(table.inputs))
    of = np.array([first_row.setdefault(row.tobytes(), i) for i, row in enumerate(rows)])
    exact = [(int(of[i]), i) for i in np.flatnonzero(of != np.arange(len(of))).tolist()]
    chance = len(of) * (len(of) - 1) / 2 * np.exp(stats.log_agree.sum())
    # measured values that are equal throughout are copies, or measured coarsely
    level = LEVEL if stats.whole.all() else 0.5
    pairs_of = {"exactly": exact if special.pdtrc(len(exact) - 1, chance) < level else []}
    distinct = np.array([*first_row.values()])
    if tables[0].family == "table" and 20 <= len(distinct) <= MOST_NEAR:
        pairs_of["nearly"] = _near(tables, distinct, stats)
    groups = [name for table in tables for name in table.groups or [""] * len(table.inputs)]
    remedy = "predictions of one know the other: leave copies out"
    if not any(groups):
        remedy += ", or name the column of their groups, such as patients, in data.case_groups"
    if folds and tables[0].family != "table":
        remedy = "they share a fold; leave out those that are copies"
    y = np.concatenate([table.response for table in tables])  # type: ignore[attr-defined]
    n, lines = len(tables[0].inputs), []
    names = [f"{i + 1}" if i < n else f"test case {i - n + 1}" for i in range(len(y))]
    for degree, candidates in pairs_of.items():
        pairs = [(i, j) for i, j in candidates if not groups[i] or groups[i] != groups[j]]
        if not pairs:  # samples of a group are kept together
            continue
        differing = sum(y[i] != y[j] for i, j in pairs)
        response = f"{differing:,} with another" if differing else "with the same"
        examples = list_some([f"{names[i]} and {names[j]}" for i, j in pairs], NAMED, 40)
        lines.append(
            f"{pluralise(len(pairs), 'case has', 'cases have')} {degree} the features of another "
            f"case ({examples}), {response} response: {remedy}"
        )
    return lines


def _near(tables: Sequence[Cases], distinct: np.ndarray, stats: FeatureSummaries) -> Pairs:
    """Return pairs of cases that are much nearer than neighbours are.

    Of n points in d directions, 9 n r^d have their first neighbour by chance within r times the
    distance of their tenth one; that of the fifth says what d is.  Distances are of ranks, in which
    no tail is long.
    """
    vary = stats.values > 1
    usable = np.flatnonzero(vary & (stats.gaps == 0))
    if not len(usable) or len(usable) < MOST * vary.sum():
        return []
    usable = usable[:: -(-len(usable) // SEEN)]
    z = np.concatenate([table.inputs[:, usable] for table in tables])[distinct]
    z = np.column_stack([ranks_of(column) for column in z.T]).astype(np.float32)
    z -= z.mean(axis=0)
    z /= np.maximum(z.std(axis=0), 1e-30)
    squares, near = (z**2).sum(axis=1), np.empty((len(z), 3))
    nearest = np.empty(len(z), dtype=np.intp)
    width = max(1, BLOCK // len(z))
    for start in range(0, len(z), width):
        part = slice(start, start + width)
        d = squares[part, None] + squares - 2 * z[part] @ z.T
        d[np.arange(len(d)), np.arange(start, start + len(d))] = np.inf
        nearest[part] = d.argmin(axis=1)
        near[part] = np.sqrt(np.maximum(np.partition(d, (0, 4, 9), axis=1)[:, [0, 4, 9]], 0))
    ratio = np.median(near[:, 1] / np.maximum(near[:, 2], 1e-300))
    if not 0 < ratio < 1:
        return []
    limit = (LEVEL / (9 * len(z))) ** (log(ratio) / log(0.5))
    close = np.flatnonzero(near[:, 0] < min(NEAR, limit) * near[:, 2])
    ends = np.sort(distinct[np.column_stack([close, nearest[close]])], axis=1)
    return [(i, j) for i, j in np.unique(ends, axis=0).tolist()]


# ---- features ----


def _numbers(table: Cases, columns: slice | int) -> np.ndarray:
    """Return features as numbers, NaN where one is missing or has no code."""
    x = np.asarray(table.inputs[:, columns], dtype=np.float64)
    return x if table.family == "table" else np.where(x <= MISSING, np.nan, x)


def summarise_features(table: Cases, codes: np.ndarray, halves: np.ndarray) -> FeatureSummaries:
    """Return summaries of all features, by parts of BLOCK values."""
    names = table.columns or [f"number {j + 1}" for j in range(table.inputs.shape[1])]
    first_with: dict[bytes, int] = {}
    copies, parts, lacking = [], [], np.zeros(len(codes), dtype=np.intp)
    width = max(1, BLOCK // len(codes))
    for start in range(0, len(names), width):
        x = _numbers(table, slice(start, start + width))
        part, absent = _summarise_columns(x, codes), np.isnan(x)
        in_class = [absent[halves == k].sum(axis=0) for k in range(halves.max() + 1)]
        parts.append(part | {"missing": np.array(in_class)})
        lacking += absent.sum(axis=1)
        for j, column in enumerate(np.ascontiguousarray(x.T), start=start):
            first = first_with.setdefault(column.tobytes(), j)
            if first != j and part["values"][j - start] > 1:
                copies.append((first, j))
    arrays = {name: np.concatenate([part[name] for part in parts], axis=-1) for name in parts[0]}
    return FeatureSummaries(table, codes, names, lacking, copies, **arrays)


def _summarise_columns(x: np.ndarray, codes: np.ndarray) -> dict[str, np.ndarray]:
    """Return arrays of `FeatureSummaries` for some features."""
    n = len(x)
    order = x.argsort(axis=0)
    x = np.take_along_axis(x, order, axis=0)  # missing values come last
    present = x == x
    filled = present.sum(axis=0)
    equal = x[1:] == x[:-1]
    turn = (np.diff(codes[order], axis=0) != 0) & present[1:]
    place, gaps = np.arange(n)[:, None], n - filled
    starts = np.maximum.accumulate(np.where(equal, 0, place[1:]), axis=0)
    within = np.where(present[1:], place[1:] - starts, 0)  # of equal values, how many are before
    agree = (filled + 2 * within.sum(axis=0) + gaps**2) / n**2
    low, q1, middle, q3, high = (
        np.take_along_axis(x, np.maximum(at, 0)[None], axis=0)[0]
        for at in (0 * filled, filled // 4, filled // 2, 3 * filled // 4, filled - 1)
    )
    return {
        "values": filled - equal.sum(axis=0),
        "gaps": gaps,
        "pure": ~(equal & turn).any(axis=0),
        "runs": 1 + turn.sum(axis=0),
        "whole": ((x == np.floor(x)) | ~present).all(axis=0),
        **{"low": low, "middle": middle, "high": high},
        "spread": (q3 - q1) / 1.349,
        "log_agree": np.log(agree),
        "orders": special.gammaln(filled + 1) - np.log1p(within).sum(axis=0),
    }


def _alone(stats: FeatureSummaries, groups: list[str], continuous: bool) -> list[str]:
    """Say which features tell the response without an error, where chance does not.

    Of v values, or of values in order, at most so many divisions into classes are free of errors.
    """
    perfect, filled = [], len(stats.codes) - stats.gaps
    likely = stats.pure & (stats.values > 1)
    likely &= (stats.runs <= stats.codes.max() + 1) | (2 * stats.values <= filled)
    for j in np.flatnonzero(likely).tolist():
        x = _numbers(stats.table, j)
        y = stats.codes[x == x][x[x == x].argsort()]
        counts = np.bincount(y)
        n_classes = np.count_nonzero(counts)
        ways = [stats.values[j] * log(n_classes)]
        if stats.runs[j] == n_classes:
            ways.append(lgamma(n_classes + 1))
        if continuous:
            step = np.diff(y)
            ways = [log(2)] if (step >= 0).all() or (step <= 0).all() else []
        odds = min(ways, default=np.inf) - log_orders(counts) + log(len(stats.names))
        if n_classes > 1 and odds < log(LEVEL) and stats.names[j] not in groups:
            perfect.append(j)
    if not perfect:
        return []
    tell = pluralise(len(perfect), "feature tells", "features tell")
    return [
        f"{tell} the response alone, without an error: {stats.first_names(perfect)}; if they are "
        "copies of the response, or known only after it, data.ignore them"
    ]


def _missing(stats: FeatureSummaries, y: np.ndarray) -> list[str]:
    """Say where values are missing more often in some classes."""
    n, counts, odd = len(y), np.bincount(y), []
    partly_missing = np.flatnonzero((stats.gaps > 0) & (stats.gaps < n)).tolist()
    level, test = LEVEL / 2 / max(1, len(partly_missing) * len(counts)), cache(fisher)
    for j in partly_missing:
        in_class = zip(stats.missing[:, j].tolist(), counts.tolist(), strict=True)
        if min(test(n_missing, int(stats.gaps[j]), of, n) for n_missing, of in in_class) < level:
            odd.append(j)
    p = rank_test(stats.lacking, y)
    if not odd and p >= LEVEL / 2:
        return []
    place = f"in {stats.first_names(odd)}" if odd else f"by their number in a case ({small(p)})"
    return [
        f"values are missing more often in some classes, {place}: if cases were chosen or measured "
        "otherwise there, the same will not hold of new cases; find out why they are missing"
    ]


def _idle(stats: FeatureSummaries) -> list[str]:
    """Say which features do not vary, and which have the values of another."""
    lines, flat = [], np.flatnonzero(stats.values < 2).tolist()
    if flat:
        vary = pluralise(len(flat), "feature does", "features do")
        lines.append(f"{vary} not vary, and so can tell nothing: {stats.first_names(flat)}")
    orders, alike = np.unique(stats.orders[stats.values > 1].round(6), return_counts=True)
    chance = float((alike * (alike - 1) / 2 * np.exp(-orders)).sum())
    if stats.copies and special.pdtrc(len(stats.copies) - 1, chance) < LEVEL:
        texts = [f"{stats.name(j)} those of {stats.name(i)}" for i, j in stats.copies]
        examples = list_some(texts, NAMED, 80)
        have = pluralise(len(stats.copies), "feature has", "features have")
        lines.append(
            f"{have} the values of another one ({examples}): a selection keeps both, which count "
            "twice; data.ignore one of them"
        )
    return lines


def _naming(table: Cases, stats: FeatureSummaries) -> list[str]:
    """Say which features seem to name the cases, or to be dates."""
    n, lines, texts = len(stats.codes), [], getattr(table, "values", None) or None
    dated = (stats.low >= DAYS[0]) & (stats.high <= DAYS[1]) & (stats.gaps == 0)
    likely = stats.whole & (dated | (stats.values == n) | (texts is not None)) & (n >= LEAST)
    for j in np.flatnonzero(likely).tolist():
        reason, x = "", _numbers(stats.table, j)
        if texts is not None:
            if len(texts[j]) > 2 and all(DATE.fullmatch(text) for text in texts[j]):
                reason = f"looks like dates ({texts[j][0]})"
            elif len(texts[j]) == n:
                reason = "differs in all cases, as names do"
        elif dated[j] and (abs(x // 100 % 100 - 6.5) < 6).all() and (abs(x % 100 - 16) < 16).all():
            reason = f"looks like dates ({x[0]:.0f})"
        elif NAMING.fullmatch(stats.names[j].lower()) or (np.diff(x) == 1).all():
            reason = "looks like numbers of the cases" if stats.values[j] == n else ""
        lines += [f"column {stats.name(j)} {reason}; {DROP}"] if reason else []
    more = len(lines) - NAMED
    return lines if more <= 0 else [*lines[:NAMED], f"{more:,} more columns look like these"]


def _scales(stats: FeatureSummaries) -> list[str]:
    """Say that features are on wildly different scales."""
    measured = np.flatnonzero((stats.values > LEAST) & (stats.spread > 0))
    spread = stats.spread[measured]
    logs = np.log(spread)
    gaps = np.diff(np.sort(logs[~stats.whole[measured]]))  # numbers of cases are whole
    if not len(logs) or (np.ptp(logs) < log(APART) and gaps.max(initial=0) < log(GAP)):
        return []
    least, most = measured[spread.argmin()], measured[spread.argmax()]
    far = np.abs(np.log(spread / np.median(spread))) >= min(np.ptp(logs), log(APART)) / 2
    return [
        f"{pluralise(int(far.sum()), 'feature is', 'features are')} on another scale: the spread "
        f"of {stats.name(most)} is {spread.max() / spread.min():.0e} times that of "
        f"{stats.name(least)}; the normal model and nearest-centroids take variances to be "
        "alike: write features in units of like size (other models cut or standardise them)"
    ]


def likely_transform(table: Cases) -> tuple[str, str]:
    """Return the transform that real features of a table seem to need, and why; "" for none.

    It is judged by the median skewness of at most LOOKED features.  Skewed values that are neither
    counts nor proportions have none unless logarithms help: in published tables of logarithms
    normal scores made predictions worse, because features that tell classes are skewed too.
    """
    p = table.inputs.shape[1]
    columns = np.unique(np.linspace(0, p - 1, min(p, LOOKED)).astype(int))
    x = np.array(table.inputs[:, columns], float)
    values = np.array([len(np.unique(column[~np.isnan(column)])) for column in x.T])
    x, values = x[:, values > 2], values[values > 2]
    if not len(values):
        return "", ""
    low, high, whole = np.nanmin(x), np.nanmax(x), (np.isnan(x) | (np.floor(x) == x)).all()
    skew = _skewness(x)
    if whole and low >= 0 and high > MOST_CODE and skew > SKEWED / 2:
        return LOG, f"counts: whole numbers up to {high:,.0f}, none below 0, with a long tail"
    if whole and np.median(values) <= LEAST and high - low <= MOST_CODE:
        return SCORES, f"codes: whole numbers from {low:g} to {high:g}"
    if low >= 0 and high <= 1 and skew > SKEWED / 2:
        return SCORES, "proportions: from 0 to 1, skewed"
    least = np.fmin.reduce(np.where(x > 0, x, np.nan), axis=0)
    if low >= 0 and skew > SKEWED and 2 * _skewness(np.log(np.maximum(x, least / 2))) < skew:
        return LOG, f"none below 0, and most have a long tail (median skewness {skew:.1f})"
    return "", ""


def _skewness(x: np.ndarray) -> float:
    """Return the median over columns (n, p) of the size of skewness."""
    x = x - np.nanmean(x, axis=0)
    x = x / np.maximum(np.sqrt(np.nanmean(x**2, axis=0)), np.finfo(float).tiny)
    return float(np.median(np.abs(np.nanmean(x**3, axis=0))))


def _sizes(stats: FeatureSummaries) -> list[str]:
    """Say that numbers want a logarithm, or that a few are far from all others."""
    measured = (stats.values > LEAST) & (stats.spread > 0)
    above, below = stats.high - stats.middle, stats.middle - stats.low
    skewed = measured & (above > TAIL * stats.spread) & (above > 2 * below)
    wide = (RANGE * stats.low <= stats.high) & (stats.high >= 0)
    valid = stats.values > 0
    counts = stats.whole.all() and (stats.high[valid] >= MANY).any() and 2 * wide.sum() >= len(wide)
    tails = measured.any() and 2 * skewed.sum() >= measured.sum()
    if (counts or tails) and (stats.low[valid] >= 0).all():
        sign = f"{skewed.sum():,} of {len(skewed):,} features have a long tail, and none is below 0"
        if counts:
            sign = f"whole numbers up to {np.nanmax(stats.high):,.0f}, none below 0, as counts are"
        return [f"{sign}: the normal model fits their logarithms better (data.transform: log)"]
    # genes that few cases express have a small spread of their own
    spread = np.maximum(stats.spread, np.median(stats.spread[measured]) if measured.any() else 0)
    far = np.flatnonzero(measured & (np.maximum(above, below) > HUGE * spread)).tolist()
    if not far:
        return []
    cells = []
    for j in far[:NAMED]:
        x = _numbers(stats.table, j)
        at = int(np.nanargmax(np.abs(x - stats.middle[j])))
        cells.append(f"{x[at]:.6g} of {stats.name(j)} in case {at + 1:,}")
    more = f" and {len(far) - NAMED:,} more" if len(far) > NAMED else ""
    return [
        f"{pluralise(len(far), 'feature has', 'features have')} values more than {HUGE} standard "
        f"deviations from the median: {', '.join(cells)}{more}; one such value rules a mean: mend "
        "mistakes, and name codes of missing values in data.missing"
    ]


# ---- columns that say where cases are from, whether they are features or not ----


def _columns(
    table: Cases, stats: Summaries, codes: np.ndarray, halves: np.ndarray, grouped: str | None
) -> tuple[list[str], list[str]]:
    """Return the columns that have groups of cases, and a line each of groups and of batches."""
    texts_of = dict(table.aside) | ({"data.id": table.ids} if table.ids else {})
    for j, name in enumerate(stats.names if stats else ()):
        assert stats is not None
        is_code = stats.pure[j] and stats.whole[j] and LEAST <= stats.values[j] <= len(codes) // 2
        if is_code or BATCH.search(name.lower()) or PATIENT.search(name.lower()):
            texts, x = getattr(table, "values", None), _numbers(stats.table, j)
            texts_of[name] = [texts[j][int(v)] if texts and v == v else f"{v:.15g}" for v in x]
    texts_of.pop(grouped or "", None)
    groups = [name for name in texts_of if _has_groups(name, texts_of[name], codes, len(texts_of))]
    lines, batches = [], []
    features = {*(stats.names if stats else ()), *getattr(table, "coding", ())}
    for name in (name for name in texts_of if name not in groups):
        if name not in features or BATCH.search(name.lower()):
            p = goes_with(texts_of[name], halves) * len(texts_of)
            batches += [f"{quoted(name, 30)} ({small(p)})"] if p < LEVEL else []
    if groups:
        names = list_some([quoted(name, 30) for name in groups], NAMED, 34)
        lines.append(
            f"the cases are in groups: values of {names} are in several cases each, as those of "
            "patients are; a group in training and test cases predicts too few errors: "
            f"data.case_groups: {groups[0]} keeps it together"
        )
    if batches:
        lines.append(
            f"the response goes with {list_some(batches, NAMED, 60)}: if classes were taken at "
            "other places or times, features can tell that in place of the response; see whether "
            "predictions hold within each"
        )
    return groups, lines


def _has_groups(name: str, cells: Sequence[str], codes: np.ndarray, columns: int) -> bool:
    """Whether most values are in several cases: by its name, or each with one response.

    Of v groups, at most K^v divisions into K classes leave all of one class.
    """
    present = np.array([cell not in UNKNOWN for cell in cells])
    texts, y = np.array(cells)[present], codes[present]
    values, place, counts = np.unique(texts, return_inverse=True, return_counts=True)
    v = len(values)
    if 2 * v > len(y) or v < 3 or (counts > 1).mean() < MOST:
        return False
    if PATIENT.search(name.lower()):
        return True
    if BATCH.search(name.lower()) or all(DATE.match(value) for value in values):
        return False
    pairs = np.unique(np.column_stack([place.reshape(-1), y]), axis=0)
    classes = np.bincount(y)
    ways = v * log(max(2, int(np.count_nonzero(classes)))) - log_orders(classes) + log(columns)
    return v >= LEAST and len(pairs) == v and ways < log(LEVEL)


def goes_with(cells: Sequence[str], y: np.ndarray) -> float:
    """Return the p-value of values, their order if they are numbers or dates, or their letters."""
    present = np.array([cell not in UNKNOWN for cell in cells])
    texts, y = np.array(cells)[present], y[present]
    if len(y) < LEAST:
        return 1.0
    tests = []
    if all(REAL.fullmatch(text) for text in texts):
        tests.append(rank_test(texts.astype(float), y))
    elif all(text[:1].isdigit() for text in texts):
        days = pd.to_datetime(pd.Series(texts), errors="coerce", format="mixed", utc=True)
        tests += [rank_test(days.astype("int64").to_numpy(), y)] if days.notna().all() else []
    values, place = np.unique(texts, return_inverse=True)
    if 3 * len(values) > len(y) and not tests:  # names: the letters in them
        letters = [re.sub(r"[^A-Za-z]+", " ", text) for text in texts]
        values, place = np.unique(letters, return_inverse=True)
    if 3 * len(values) <= len(y):
        tests.append(table_test(place.reshape(-1), y))
    return min(1.0, len(tests) * min(tests, default=1.0))
