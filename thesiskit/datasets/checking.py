"""Checks of a table before any model is fitted: each warning is a line that begins with a code.

A line reports what was found and where, why it matters and how to fix it.  What could be chance is
reported only if its probability, over all columns that are checked, is below LEVEL; probabilities
are exact, bounds, or those of ranks.  Nothing is changed.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from math import e, lgamma, log, pi

import numpy as np
import pandas as pd
import scipy  # scipy.stats takes seconds: it is loaded at its first use
from scipy import special

from thesiskit.datasets.source import CHECKS, SampleData
from thesiskit.defaults import LOG, MISSING, SCORES
from thesiskit.errors import list_some, pluralise, quoted
from thesiskit.frame import DATE, Column

LEVEL = 1e-3  # of a kind of finding: all together are false in less than one table of fifty
BELOW = f"p < {LEVEL:g}"  # what a warning says of a p-value
LARGE, SOME = 1 << 25, 1 << 23  # values of features, above which at most some are looked at
BLOCK = 1 << 21  # values that are sorted together
LEAST = 10  # samples, or values, from which on distinct ones are remarkable
NAMED = 3  # columns, samples or classes that a line names

MOST_NEAR, SEEN = 5000, 1000  # samples, and features, of which distances are computed
TOGETHER = 256  # samples whose distances from all others are computed together
NEAR = 0.3  # of the distance to the tenth neighbour: more is no repeat, however improbable
MOST = 0.9  # of the values or features are so, where a column or a table is said to be so
RARE = 5  # samples of a value or class, below which it is put together with others
NUMBERED = r"[ _.-]*(id|nr|no|number|code|name|[0-9]+)?$"  # what the name of a column can end with
BATCH = re.compile(
    r"(?<![a-z])(batch|date|site|plate|center|centre|hospital|clinic|run|lane|chip|slide|scanner|"
    rf"machine|instrument|operator|lab|laboratory|cohort|study)(e?s)?{NUMBERED}"
)
PATIENT = re.compile(
    rf"(?<![a-z])(patient|subject|donor|person|individual|animal|family|pedigree)s?{NUMBERED}"
)
NAMING = re.compile(r"(.*[ _.-])?(id|ids|nr|no|number|idx|index|uuid|barcode)")
DATED = re.compile("date|day|time|year|month|birth|born|dob|visit|admission|diagnosis|onset")
# numbers of 1900 or so to 2100, and the ratio below which their range is too narrow for sizes
DATE_NUMBERS = {
    "years": (1900, 2100, 1),
    "dates, as the days of a spreadsheet": (20_000, 60_000, 1.1),
    "dates": (19000101, 21001231, 1),  # such as 20240131
    "dates, as seconds since 1970": (5e8, 4.1e9, 1.5),
    "dates, as milliseconds since 1970": (5e11, 4.1e12, 1.5),
}
OF_FEATURES = ("D02", "D03", "D05", "D07", "D08", "D09", "D10", "D11", "D15")  # not of sequences
OF_NUMBERS: tuple[str, ...] = ("D12", "D13", "D14")
MONTH = r"(jan|feb|mar|mär|mrz|apr|may|mai|jun|jul|aug|sept?|o[ck]t|nov|de[cz]|déc|dic)\.?"
DATE_NAME = re.compile(rf"[0-9]{{1,2}}[-.] ?{MONTH}(-[0-9]+)?|{MONTH}-[0-9]+|({DATE.pattern}).*")
RANGE = 10  # times the median, or the smallest count, of a feature is its largest value at least
APART = 1e6  # times the smallest spread of a feature; tables of like measurements have 1e3, or 1e5
GAP = 100  # times the spread of the next narrower feature; in tables of like measurements up to 9
LOOKED, MOST_CODE = 2000, 20  # features whose shape is looked at; the largest code of a category
SKEWED = 1.0  # median skewness that is far from the normal distribution's
Pairs = list[tuple[int, int]]
NEARLY = 0.995  # of correlations, of copies of a real response; of spectra it has been .976
TAIL, HUGE = 8, 20  # deviations from the median, of mistakes: among logarithms, and others


def independent_rows(groups: Sequence[str], classes: np.ndarray) -> np.ndarray:
    """Return the rows of one sample of each class in each group, drawn at random; else all rows.

    The first sample would not do: of the rarer class in a group, it comes later.
    """
    if not any(groups):
        return np.arange(len(classes))
    units = [(group or row, classes[row]) for row, group in enumerate(groups)]
    order = np.random.default_rng(0).permutation(len(units)).tolist()
    return np.sort([*{units[row]: row for row in order}.values()])


class FeatureSummaries:
    """What a table holds; arrays are (p,) and of values that are not missing, except the first.

    Of a table with more than LARGE values, each step-th feature is looked at.
    """

    codes: np.ndarray  # of the response, (n,)
    classes: np.ndarray  # codes of classes, (n,); of real responses whether they are high
    rows: np.ndarray  # samples that are independent, for tests: one of each class in each group
    lacking: np.ndarray  # how many features are missing in each sample, (n,)
    values: np.ndarray  # how many distinct ones
    gaps: np.ndarray  # how many are missing
    pure: np.ndarray  # whether each value has samples of one class only
    runs: np.ndarray  # of classes, in the order of values
    whole: np.ndarray  # whether all are whole numbers
    low: np.ndarray
    middle: np.ndarray
    high: np.ndarray
    spread: np.ndarray  # the standard deviation, by quartiles
    correlation: np.ndarray  # with real responses, or of ranks; the larger absolute value
    log_agree: np.ndarray  # log probability that two samples agree by chance
    orders: np.ndarray  # the logarithm of the number of orders that the values can have
    missing: np.ndarray  # in how many of the rows of each class, (K, p)

    def __init__(self, table: SampleData):
        y = np.asarray(table.response)  # type: ignore[attr-defined]
        n, p = table.inputs.shape
        self.table, self.step = table, 1 if n * p <= LARGE else -(-n * p // SOME)
        self.names = (table.columns or [f"number {j + 1}" for j in range(p)])[:: self.step]
        self.symbols = (getattr(table, "values", None) or [[]] * p)[:: self.step]  # of codes
        self.codes = np.unique(y, return_inverse=True)[1].reshape(-1)
        self.real = not len(table.classes)  # type: ignore[attr-defined]
        self.classes = (y > np.median(y)).astype(np.intp) if self.real else self.codes
        self.rows = independent_rows(table.groups, self.classes)
        self.tested = self.classes[self.rows]
        self.lacking = np.zeros(n, dtype=np.intp)
        self.copies: Pairs = []  # features of which the second has the values of the first
        first_with: dict[bytes, int] = {}
        parts, width = [], max(1, BLOCK // n)
        for start in range(0, len(self.names), width):
            x = self.numbers(slice(start, start + width))
            part, absent = _summarise_columns(x, self.codes), np.isnan(x)
            of_class = [self.rows[self.tested == k] for k in range(self.classes.max() + 1)]
            missing = [absent[rows].sum(axis=0) for rows in of_class]
            part["correlation"] = _correlations(x, y) if self.real else np.zeros(x.shape[1])
            parts.append(part | {"missing": np.array(missing)})
            self.lacking += absent.sum(axis=1)
            for j, column in enumerate(np.ascontiguousarray(x.T), start=start):
                first = first_with.setdefault(column.tobytes(), j)
                if first != j and part["values"][j - start] > 1:
                    self.copies.append((first, j))
        for name in parts[0]:
            setattr(self, name, np.concatenate([part[name] for part in parts], axis=-1))

    def name(self, j: int) -> str:
        return quoted(self.names[j], 30) if self.table.columns else self.names[j]

    def first_names(self, columns: Iterable[int]) -> str:
        return list_some([self.name(j) for j in columns], NAMED, 34)

    def numbers(self, columns: slice | int | np.ndarray) -> np.ndarray:
        """Return features as numbers, NaN where one is missing or has no code."""
        if self.step > 1:
            columns = np.arange(self.table.inputs.shape[1])[:: self.step][columns]
        x = np.asarray(self.table.inputs[:, columns], dtype=np.float64)
        return x if self.table.family == "table" else np.where(x <= MISSING, np.nan, x)

    def column(self, j: int) -> Column:
        """Return a feature as numbers, or as the texts of its codes."""
        x, symbols = self.numbers(j), self.symbols[j]
        if not symbols:
            return Column(self.names[j], x)
        texts = [symbols[int(value)] if value == value else "" for value in x]
        return Column.of_texts(self.names[j], texts)


@np.errstate(over="ignore", invalid="ignore")
def findings(
    tables: Sequence[SampleData], *,
    folds: int = 0, first: bool = False, grouped: str | None = None,
    transformed: bool = False,
) -> list[str]:  # fmt: skip
    """Return a line for each warning about a table, and about its test samples if there are any.

    Lines begin with the code and the title of a check, as `CHECKS` has them, in this order.

    folds : into how many samples are divided, 0 if they are not.
    first : whether the first samples train and the others are tested.
    grouped : the column whose samples of one value are kept together.
    transformed : whether real features are transformed, so that they need no logarithm.
    """
    table = tables[0]
    classes: Sequence[str] = table.classes  # type: ignore[attr-defined]
    stats = FeatureSummaries(table)
    lines = [*_repeats(tables, stats, folds), *_order(stats, first, folds)]
    lines += _rare(stats.codes, classes, folds)
    if table.family != "sequences":
        groups, columns = _columns(stats, grouped)
        lines += [*columns, *_leaks(stats, groups)]
        lines += [*_missing(stats), *_idle(stats), *_naming(stats)]
        if stats.step > 1:
            n_checked = f"{len(stats.names):,} of {table.inputs.shape[1]:,} features"
            lines.append(_line("D15", f"only {n_checked} were checked, one of {stats.step:,}"))
    if stats.real:
        lines += _tails_of_response(np.asarray(table.response))  # type: ignore[attr-defined]
    if table.family == "table":
        lines += [*_scales(stats), *([] if transformed else _sizes(stats))]
    return sorted(lines, key=lambda line: line[:3])


def _line(code: str, text: str) -> str:
    return f"{code} {CHECKS[code][0]}: {text}"


def summarise_checks(
    lines: Sequence[str],
    family: str,
    accepted: Collection[str] = (),
    transformed: bool = False,
    real: bool = False,
) -> list[tuple[str, str, str]]:
    """Return code, status and a line of each check, from the warnings of `findings`.

    The status is "passed", "warning", "accepted" or "not applicable".
    """
    needless = OF_NUMBERS if family != "table" else OF_NUMBERS[1:] if transformed else ()
    needless += OF_FEATURES if family == "sequences" else ()
    needless += ("D06",) if real else ()
    rows = []
    for code, (_, passed) in CHECKS.items():
        warnings = [line.partition(": ")[2] for line in lines if line.startswith(code)]
        status = "not applicable" if code in needless else "passed"
        if warnings:
            status = "accepted" if code in accepted else "warning"
        line = passed if status == "passed" else " ".join(warnings)
        rows.append((code, status, line))
    return rows


def warnings_of(checks: Iterable[Sequence[str]]) -> list[str]:
    """Return a line for each warning of `summarise_checks`, and for each that is accepted."""
    return [
        f"{code} {CHECKS[code][0]}: {line if status == 'warning' else 'accepted (data.accept)'}"
        for code, status, line in checks
        if status in ("warning", "accepted")
    ]


def suspects(table: SampleData) -> tuple[list[str], list[str]]:
    """Return columns that have groups of samples, such as patients, and perhaps copies of y."""
    stats = FeatureSummaries(table)
    groups, _ = _columns(stats, None)
    return groups, [stats.names[j] for j in _perfect_features(stats, groups)]


# ---- what chance can do ----


def log_orders(counts: np.ndarray) -> float:
    """Return the logarithm of the number of orders of things of which so many are each alike."""
    counts = np.asarray(counts, dtype=float)
    return float(special.gammaln(counts.sum() + 1) - special.gammaln(counts + 1).sum())


def rank_test(values: np.ndarray, y: np.ndarray) -> float:
    """Return the p-value of Kruskal and Wallis for values of samples of classes, codes y."""
    # scipy.stats has this test, but takes seconds to load, for every table
    rank, n = pd.Series(values).rank().to_numpy(), len(y)
    counts = np.bincount(y)
    variance = rank.var() * n / max(1, n - 1)  # less where values are equal
    if np.count_nonzero(counts) < 2 or variance == 0:
        return 1.0
    away = np.bincount(y, rank - (n + 1) / 2) ** 2 / np.maximum(counts, 1)
    return float(special.chdtrc(np.count_nonzero(counts) - 1, away.sum() / variance))


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

    Those of few samples are put together.
    """
    for codes in (values := values.copy(), y := y.copy()):
        codes[np.bincount(codes)[codes] < RARE] = codes.max() + 1
    cells = pd.crosstab(values, y).to_numpy()
    if min(cells.shape) < 2:
        return 1.0
    if cells.shape == (2, 2):
        return float(fisher(cells[0, 0], cells[0].sum(), cells[:, 0].sum(), cells.sum()))
    return float(scipy.stats.chi2_contingency(cells).pvalue)


def fisher(marked: np.ndarray, row: np.ndarray, column: np.ndarray, n: int) -> np.ndarray:
    """Return twice the smaller tail of hypergeometric numbers: of row, column are marked."""
    at_most = scipy.stats.hypergeom.cdf(marked, n, row, column)
    at_least = scipy.stats.hypergeom.sf(np.asarray(marked) - 1, n, row, column)
    return np.minimum(1, 2 * np.minimum(at_most, at_least))


# ---- samples ----


def follows_order(y: np.ndarray) -> float:
    """Return the p-value of the order of samples of classes, codes y."""
    return min(1.0, 2 * min(rank_test(np.arange(len(y)), y), runs_test(y)))


def _order(stats: FeatureSummaries, first: bool, folds: int) -> list[str]:
    p, y = follows_order(stats.tested), stats.classes
    if p >= LEVEL:
        return []
    finding = f"the order of the samples is associated with the response ({BELOW})"
    steps = np.diff(stats.codes)
    monotone, n_turns = abs(steps.sum()) == abs(steps).sum(), np.count_nonzero(steps)
    if monotone if stats.real else n_turns == len(np.unique(y)) - 1:
        finding = "the samples are sorted by the response"
    if first:
        fix = "remove data.train to draw folds at random, or shuffle the lines"
        text = f"{finding}, and data.train uses the first samples for training. Fix: {fix}"
        return [_line("D04", text)]
    finding += ". Folds are random, which is safe" if folds else ""
    drift = "if samples were measured in this order, instrument drift would reveal the response"
    return [_line("D04", f"{finding}; {drift}. Fix: check the order of measurement")]


def _rare(y: np.ndarray, classes: Sequence[str], folds: int) -> list[str]:
    counts = np.bincount(y)
    fewer = np.flatnonzero(counts < min(folds, counts.max())) if len(classes) else ()
    if not len(fewer):
        return []
    have = pluralise(len(fewer), "class has", "classes have")
    fix = "lower evaluation.folds, add samples, or merge classes"
    sizes = [f"{quoted(classes[k], 30)} ({counts[k]})" for k in map(int, fewer)]
    text = f"{have} fewer samples than there are folds ({folds}): {list_some(sizes, NAMED, 40)}"
    return [_line("D06", f"{text}. Fix: {fix}")]


def _repeats(tables: Sequence[SampleData], stats: FeatureSummaries, folds: int) -> list[str]:
    """Report samples that have exactly, or nearly, the features of another one."""
    first_row: dict[bytes, int] = {}
    parts = (np.ascontiguousarray(table.inputs[:, :: stats.step]) for table in tables)
    rows = (row for part in parts for row in part)
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
    remedy = "a copy in the training set makes errors look too small. Fix: remove copies"
    if not any(groups):
        remedy += ", or name their groups, such as patients, in data.sample_groups"
    if folds and tables[0].family != "table":
        remedy = "they share a fold. Fix: remove copies"
    y = np.concatenate([table.response for table in tables])  # type: ignore[attr-defined]
    n, lines = len(tables[0].inputs), []
    names = [f"{i + 1}" if i < n else f"test sample {i - n + 1}" for i in range(len(y))]
    for degree, candidates in pairs_of.items():
        pairs = [(i, j) for i, j in candidates if not groups[i] or groups[i] != groups[j]]
        if not pairs:  # samples of a group are kept together
            continue
        differing = sum(y[i] != y[j] for i, j in pairs)
        response = f"{differing:,} with a different" if differing else "with the same"
        samples = pluralise(len(pairs), "sample equals", "samples equal")
        if degree == "nearly":
            samples = pluralise(len(pairs), "sample nearly equals", "samples nearly equal")
        examples = list_some([f"{names[i]} and {names[j]}" for i, j in pairs], NAMED, 40)
        text = f"{samples} another one ({examples}), {response} response: {remedy}"
        lines.append(_line("D01", text))
    return lines


def _near(tables: Sequence[SampleData], distinct: np.ndarray, stats: FeatureSummaries) -> Pairs:
    """Return pairs of samples that are much nearer than neighbours are.

    Of n points in d directions, 9 n r^d have their first neighbour by chance within r times the
    distance of their tenth one; that of the fifth says what d is.  Distances are of ranks, in which
    no tail is long.
    """
    vary = stats.values > 1
    usable = np.flatnonzero(vary & (stats.gaps == 0))
    if not len(usable) or len(usable) < MOST * vary.sum():
        return []
    usable = stats.step * usable[:: -(-len(usable) // SEEN)]
    z = np.concatenate([table.inputs[:, usable] for table in tables])[distinct]
    z = pd.DataFrame(z).rank().to_numpy()
    z = (z - z.mean(axis=0)) / np.maximum(z.std(axis=0), 1e-30)
    squares, near, first = (z**2).sum(axis=1), np.empty((len(z), 10)), np.empty(len(z), dtype=int)
    for rows in np.array_split(np.arange(len(z)), -(-len(z) // TOGETHER)):
        apart = squares[rows, None] + squares - 2 * z[rows] @ z.T
        apart[np.arange(len(rows)), rows] = np.inf
        first[rows] = apart.argmin(axis=1)
        near[rows] = np.sqrt(np.maximum(0, np.sort(np.partition(apart, 9)[:, :10])))
    ratio = np.median(near[:, 4] / np.maximum(near[:, 9], 1e-300))
    if not 0 < ratio < 1:
        return []
    limit = (LEVEL / (9 * len(z))) ** (log(ratio) / log(0.5))
    close = np.flatnonzero(near[:, 0] < min(NEAR, limit) * near[:, 9])
    ends = np.sort(distinct[np.column_stack([close, first[close]])], axis=1)
    return [(i, j) for i, j in np.unique(ends, axis=0).tolist()]


# ---- features ----


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


def _correlations(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the larger of |COR| and |rank COR| of columns (n, p), NaN where missing, with y."""
    ranks, sizes = (pd.DataFrame(x).rank().to_numpy(), pd.Series(y).rank().to_numpy()), []
    for values, response in ((x, y), ranks):
        a, b = np.ma.masked_invalid(values), np.ma.array(response)[:, None] + 0 * values
        a, b = (part - part.mean(axis=0) for part in (a, np.ma.array(b, mask=a.mask)))
        norm = np.sqrt((a**2).sum(axis=0) * (b**2).sum(axis=0))
        sizes.append(np.ma.filled(abs((a * b).sum(axis=0)) / norm, 0.0))
    return np.maximum(*sizes)


def _leaks(stats: FeatureSummaries, groups: list[str]) -> list[str]:
    perfect = _perfect_features(stats, groups)
    if not perfect:
        return []
    verb, them = ("each predict", "them") if len(perfect) > 1 else ("predicts", "it")
    exact = not stats.real or stats.correlation[perfect].min() > 1 - 1e-9
    degree = "perfectly" if exact else "almost perfectly"
    text = f"{stats.first_names(perfect)} {verb} the response {degree}. Fix: add {them} to "
    return [_line("D02", f"{text}data.ignore if copied from the response or recorded after it")]


def _perfect_features(stats: FeatureSummaries, groups: list[str]) -> list[int]:
    """Return the features that predict the response without an error, where chance does not.

    Of v values, or of values in order, at most so many divisions into classes are free of errors.
    With real responses they may be nearly correlated, as copies that were rounded are.
    """
    codes, rows, filled = stats.codes, stats.rows, len(stats.codes) - stats.gaps
    # of few samples one of many features may have their order, or nearly
    per_sample = log(2) - log_orders(np.bincount(codes)) / len(codes)
    unlikely = log(2 * len(stats.names)) + filled * per_sample < log(LEVEL)
    perfect = np.flatnonzero((stats.correlation > NEARLY) & unlikely).tolist()
    likely = stats.pure & (stats.values > 1)
    likely &= (stats.runs <= codes.max() + 1) | (2 * stats.values <= filled)
    for j in np.setdiff1d(np.flatnonzero(likely), perfect).tolist():
        x = stats.numbers(j)[rows]
        y = codes[rows][x == x][x[x == x].argsort()]
        counts = np.bincount(y)
        n_classes = int(np.count_nonzero(counts))
        ways = [len(np.unique(x[x == x])) * log(max(1, n_classes))]
        if stats.runs[j] == n_classes:
            ways.append(lgamma(n_classes + 1))
        if stats.real:
            step = np.diff(y)
            ways = [log(2)] if (step >= 0).all() or (step <= 0).all() else []
        odds = min(ways, default=np.inf) - log_orders(counts) + log(len(stats.names))
        if n_classes > 1 and odds < log(LEVEL):
            perfect.append(j)
    return sorted(j for j in perfect if stats.names[j] not in groups)


def _missing(stats: FeatureSummaries) -> list[str]:
    """Report values that are missing more often in some classes."""
    y = stats.tested
    n, gaps = len(y), stats.missing.sum(axis=0)
    if not gaps.any():
        return []
    counts = np.bincount(y, minlength=len(stats.missing))
    partly = np.flatnonzero((gaps > 0) & (gaps < n))
    p_values = fisher(stats.missing[:, partly], gaps[partly], counts[:, None], n)
    odd = partly[(p_values < LEVEL / 2 / max(1, p_values.size)).any(axis=0)].tolist()
    p = rank_test(stats.lacking[stats.rows], y)
    if not odd and p >= LEVEL / 2:
        return []
    place = f"in {stats.first_names(odd)}" if odd else f"by their number in a sample ({BELOW})"
    samples = "with high or low responses" if stats.real else "in some classes"
    text = f"values are missing more often {samples}, {place}; new samples may differ"
    return [_line("D07", f"{text}. Fix: find out why values are missing")]


def _idle(stats: FeatureSummaries) -> list[str]:
    """Report features that are constant, and features that equal another one."""
    lines, flat = [], np.flatnonzero(stats.values < 2).tolist()
    if flat:
        are = pluralise(len(flat), "feature is", "features are")
        text = f"{are} constant and without information: {stats.first_names(flat)}"
        lines.append(_line("D08", f"{text}. Fix: none is needed"))
    orders, alike = np.unique(stats.orders[stats.values > 1].round(6), return_counts=True)
    chance = float((alike * (alike - 1) / 2 * np.exp(-orders)).sum())
    if stats.copies and special.pdtrc(len(stats.copies) - 1, chance) < LEVEL:
        pairs = [f"{stats.name(j)} = {stats.name(i)}" for i, j in stats.copies]
        equal = pluralise(len(stats.copies), "feature equals", "features equal")
        text = f"{equal} another one ({list_some(pairs, NAMED, 80)}) and would count twice"
        lines.append(_line("D09", f"{text}. Fix: list the duplicates in data.ignore"))
    return lines


def _naming(stats: FeatureSummaries) -> list[str]:
    """Report features that look like sample IDs or dates, and names that became dates."""
    drop = "Fix: add it to data.ignore, or name it in data.id"
    n, p, lines = len(stats.codes), len(stats.names), list[str]()
    coded = np.array([len(symbols) for symbols in stats.symbols])
    numbered = stats.whole & (stats.values == n) & (coded == 0)
    large = (stats.low >= DATE_NUMBERS["years"][0]) & (stats.values > 1)
    long = np.array([bool(symbols) and len(symbols[0]) > 3 for symbols in stats.symbols])
    likely = (coded == n) | long | numbered | large
    for j in np.flatnonzero(likely & (n >= LEAST)).tolist():
        column, prefix = stats.column(j), f"column {stats.name(j)}"
        if kind := date_kind(column, LEVEL / p, large.sum() <= NAMED):
            text = f"{prefix} looks like {kind} ({column.text(0)})"
            lines.append(f"{text}. Fix: use a time since an event, such as an age, or data.ignore")
        elif coded[j] == n:
            lines.append(f"{prefix} differs in all samples, as IDs do. {drop}")
        elif numbered[j] and (
            NAMING.fullmatch(stats.names[j].lower()) or (np.diff(column.values) == 1).all()
        ):
            lines.append(f"{prefix} looks like sample numbers. {drop}")
    if len(lines) > NAMED:
        lines[NAMED:] = [f"{len(lines) - NAMED:,} more columns look like these"]
    lines = [_line("D10", text) for text in lines]
    genes = [j for j, name in enumerate(stats.names) if DATE_NAME.fullmatch(name.lower())]
    if genes and 2 * len(genes) <= p:
        have = pluralise(len(genes), "feature name is a date", "feature names are dates")
        text = f"{have} ({stats.first_names(genes)}); spreadsheets convert symbols such as MARCH1"
        lines.append(_line("D11", f"{text}. Fix: restore the names in the file"))
    return lines


def date_kind(column: Column, level: float, by_values: bool) -> str:
    """Return which dates a column seems to hold; empty where it looks like none.

    Numbers need a name that hints at dates, or vary less than counts, or far less than sizes.

    by_values : whether a column without such a name can hold dates: few have numbers of this size.
    """
    texts, x = column.counts, column.values[~column.missing]
    if len(texts) > 2 and all(DATE.fullmatch(text) for text in texts):
        return "dates"
    if not column.is_number or not len(x) or (2 * x % 1).any():
        return ""
    low, high = x.min(), x.max()
    for kind, (first, last, ratio) in DATE_NUMBERS.items():
        if not first <= low <= high <= last:
            continue
        if kind == "dates":
            month, day = x // 100 % 100, x % 100
            likely = (abs(month - 6.5) < 6).all() and (abs(day - 16) < 16).all()
        else:
            dispersion = ((x - x.mean()) ** 2).sum() / x.mean()  # of counts chi squared, or more
            likely = special.chdtr(len(x) - 1, dispersion) < level or (
                special.chdtrc(len(x) - 1, dispersion) < level and high < ratio * low
            )
            likely = (likely and by_values) or DATED.search(column.name.lower())
        return kind if likely else ""
    return ""


def _scales(stats: FeatureSummaries) -> list[str]:
    """Report features on very different scales."""
    measured = np.flatnonzero((stats.values > LEAST) & (stats.spread > 0))
    spread = stats.spread[measured]
    logs = np.log(spread)
    gaps = np.diff(np.sort(logs[~stats.whole[measured]]))  # numbers of samples are whole
    if not len(logs) or (np.ptp(logs) < log(APART) and gaps.max(initial=0) < log(GAP)):
        return []
    least, most = measured[spread.argmin()], measured[spread.argmax()]
    far = np.abs(np.log(spread / np.median(spread))) >= min(np.ptp(logs), log(APART)) / 2
    ratio = f"{float(f'{spread.max() / spread.min():.1g}'):,.0f}"
    text = (
        f"{pluralise(int(far.sum()), 'feature is', 'features are')} on another scale: the spread "
        f"of {stats.name(most)} is {ratio} times that of {stats.name(least)}, but the normal model "
        "assumes similar variances. Fix: standardise the features"
    )
    return [_line("D12", text)]


def likely_transform(table: SampleData) -> tuple[str, str]:
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
    skew, wide = _skewness(x), np.nanmax(x, axis=0) >= RANGE * np.nanmin(x, axis=0)
    long_tails = skew > SKEWED / 2 and 2 * wide.sum() >= len(wide)
    if whole and low >= 0 and high > MOST_CODE and long_tails:
        return LOG, f"counts: whole numbers up to {high:,.0f}, not below 0, with a long tail"
    if whole and np.median(values) <= LEAST and high - low <= MOST_CODE:
        return SCORES, f"codes: whole numbers from {low:g} to {high:g}"
    if low >= 0 and high <= 1 and skew > SKEWED / 2:
        return SCORES, "proportions: from 0 to 1, skewed"
    least = np.fmin.reduce(np.where(x > 0, x, np.nan), axis=0)
    if low >= 0 and skew > SKEWED and 2 * _skewness(np.log(np.maximum(x, least / 2))) < skew:
        return LOG, f"not below 0, and most features have a long tail (median skewness {skew:.1f})"
    return "", ""


def _skewness(x: np.ndarray) -> float:
    """Return the median over columns (n, p) of the size of skewness."""
    x = x / np.nanmax(np.abs(x), axis=0)
    x -= np.nanmean(x, axis=0)
    x /= np.maximum(np.sqrt(np.nanmean(x**2, axis=0)), np.finfo(float).tiny)
    return float(np.median(np.abs(np.nanmean(x**3, axis=0))))


def _sizes(stats: FeatureSummaries) -> list[str]:
    """Report features that need a logarithm, and values far from all others."""
    form, reason = likely_transform(stats.table)
    if form == LOG:
        fit = "the normal model fits their logarithms better. Fix: set data.transform: log"
        return [_line("D13", f"features are {reason}; {fit}")]
    measured = (stats.values > LEAST) & (stats.spread > 0)
    wide = measured & (stats.low >= 0) & (stats.high > RANGE * stats.middle)
    level, lines = LEVEL / len(wide), []
    tails = [j for j in np.flatnonzero(wide).tolist() if fits_logarithm(stats.numbers(j), level)]
    if tails:
        have = pluralise(len(tails), "feature has", "features have")
        text = f"{have} a long tail and no value below 0: {stats.first_names(tails)}"
        lines.append(_line("D13", f"{text}. Fix: log-transform these columns in the file"))
    above, below = stats.high - stats.middle, stats.middle - stats.low
    # genes that few samples express have a small spread of their own
    spread = np.maximum(stats.spread, np.median(stats.spread[measured]) if measured.any() else 0)
    far = np.flatnonzero(measured & (np.maximum(above, below) > HUGE * spread))
    far = far[~np.isin(far, tails)].tolist()
    if not far:
        return lines
    cells = []
    for j in far:
        x = stats.numbers(j)
        row = int(np.nanargmax(np.abs(x - stats.middle[j])))
        cells.append(f"{x[row]:.6g} of {stats.name(j)} in sample {row + 1:,}")
    text = (
        f"{pluralise(len(far), 'feature has', 'features have')} values more than {HUGE} standard "
        f"deviations from the median: {list_some(cells, NAMED, 80)}. One value can dominate a "
        "mean. Fix: correct errors, and declare missing-value codes in data.missing"
    )
    return [*lines, _line("D14", text)]


def _tails_of_response(y: np.ndarray) -> list[str]:
    """Report real responses that need a logarithm, or that are far from all others."""
    if len(y) < LEAST or np.ptp(y) == 0:
        return []
    scales = np.column_stack([y, np.log(y) if y.min() > 0 else y])
    low, middle, high = np.quantile(scales, [0.25, 0.5, 0.75], axis=0)
    distances, limits = np.abs(scales - middle), TAIL * (high - low) / 1.349
    outlying = (distances.max(axis=0) > limits) & (limits > 0)
    skew, skew_of_logs = (_skewness(column[:, None]) for column in scales.T)
    skewed = skew > max(SKEWED, 4 * (6 / len(y)) ** 0.5) and 2 * skew_of_logs < skew
    if skewed and not outlying[1]:
        text = (
            f"the response has a long tail (skewness {skew:.1f}), so that its largest values "
            "dominate the fit. Fix: log-transform the response in the file; the median and the "
            "ends of predictive intervals can be exponentiated"
        )
        return [_line("D13", text)]
    far = int(distances[:, 0].argmax())
    text = (
        f"the response is {y[far]:.6g} in sample {far + 1:,}, more than {TAIL} standard deviations "
        "from the median; one value can dominate the fit. Fix: correct errors, or transform the "
        "response in the file"
    )
    return [_line("D14", text)] if outlying[0] else []


def fits_logarithm(x: np.ndarray, level: float) -> bool:
    """Whether values are log-normal rather than exponential, and none is far off on that scale.

    An exponential distribution has the longest tail that is left as it is.  Its likelihood ratio is
    above 1 / level with a probability below level.
    """
    logs = np.log(x[x > 0])
    n, (low, middle, high) = len(logs), np.quantile(logs, [0.25, 0.5, 0.75])
    if high == low or 2 * n < len(x) or logs.max() - middle > TAIL * (high - low) / 1.349:
        return False
    log_mean = special.logsumexp(logs) - log(n)
    ratio = n * (log_mean + 1 - logs.mean() - log(logs.std()) - log(2 * pi * e) / 2)
    return ratio - log(n) / 2 > -log(level)


# ---- columns about the origin of samples, whether they are features or not ----


def _columns(stats: FeatureSummaries, grouped: str | None) -> tuple[list[str], list[str]]:
    """Return the columns that have groups of samples, and a line each of groups and of batches."""
    table = stats.table
    texts_of = dict(table.aside) | ({"data.id": table.ids} if table.ids else {})
    columns = {name: Column.of_texts(name, cells) for name, cells in texts_of.items()}
    most = len(stats.codes) // 2
    for j, name in enumerate(stats.names):
        is_code = stats.pure[j] and stats.whole[j] and LEAST <= stats.values[j] <= most
        if is_code or BATCH.search(name.lower()) or PATIENT.search(name.lower()):
            columns[name] = stats.column(j)
    columns.pop(grouped or "", None)
    columns = {name: column.take(stats.rows) for name, column in columns.items()}
    codes = stats.codes[stats.rows]
    groups = [name for name in columns if _has_groups(columns[name], codes, len(columns))]
    lines, batches = [], []
    features = {*stats.names, *getattr(getattr(table, "encoder", None), "coding", ())}
    for name in (name for name in columns if name not in groups):
        if name not in features or BATCH.search(name.lower()):
            p = association(columns[name], stats.tested) * len(columns)
            batches += [f"{quoted(name, 30)} ({BELOW})"] if p < LEVEL else []
    if groups:
        names = list_some([quoted(name, 30) for name in groups], NAMED, 34)
        text = (
            f"samples share values of {names}, as samples of one patient do; a group in training "
            "and test sets makes errors look too small. Fix: set data.sample_groups: "
        )
        lines.append(_line("D05", f"{text}{groups[0]}"))
    if batches:
        text = f"the response is associated with {list_some(batches, NAMED, 60)}"
        fix = "the model may be learning batch differences. Fix: try evaluation.leave_out"
        lines.append(_line("D03", f"{text}; {fix}"))
    return groups, lines


def _has_groups(column: Column, codes: np.ndarray, n_columns: int) -> bool:
    """Whether most values are in several samples: by its name, or each with one response.

    Of v groups, at most K^v divisions into K classes leave all of one class.
    """
    place, values = column.factorise()
    name, v = column.name.lower(), len(values)
    y, place = codes[place >= 0], place[place >= 0]
    counts = np.bincount(place)
    if 2 * v > len(y) or v < 3 or (counts > 1).mean() < MOST:
        return False
    if PATIENT.search(name):
        return True
    if BATCH.search(name) or all(DATE.match(value) for value in values):
        return False
    pairs = np.unique(np.column_stack([place, y]), axis=0)
    classes = np.bincount(y)
    ways = v * log(max(2, int(np.count_nonzero(classes)))) - log_orders(classes) + log(n_columns)
    return v >= LEAST and len(pairs) == v and ways < log(LEVEL)


def association(column: Column, y: np.ndarray) -> float:
    """Return the p-value of values, their order if they are numbers or dates, or their letters.

    It is 1 where no test applies, as to names that share no letters.
    """
    present = ~column.missing
    y, tests = y[present], []
    if len(y) < LEAST:
        return 1.0
    place, symbols = column.factorise()
    place, texts = place[present], np.array(symbols)
    if column.is_number:
        tests.append(rank_test(column.values[present], y))
    elif all(text[:1].isdigit() for text in symbols):
        days = pd.to_datetime(pd.Series(texts), errors="coerce", format="mixed", utc=True)
        if days.notna().all():
            tests.append(rank_test(days.astype("int64").to_numpy()[place], y))
    if 3 * len(texts) > len(y) and not tests:  # names: the letters in them
        letters = np.array([re.sub(r"[^A-Za-z]+", " ", text) for text in symbols])
        texts, place = np.unique(letters[place], return_inverse=True)
    if 3 * len(texts) <= len(y):
        tests.append(table_test(place, y))
    return min(1.0, len(tests) * min(tests)) if tests else 1.0
