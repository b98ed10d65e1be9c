"""Tables of discrete features: drawn, played, or read from the user's own file; and their folds.

Drawn uniform (section "Experiments Demonstrating Parameter Reduction"), with responses from the
model itself ("Experiments with Data from Cauchy Models"), or with two-locus epistasis.

thesis        here         shape
x_{1:p}       X            (n, p), codes from 0
y             response     (n,), codes from 0
K_t           values       the symbols of each feature
"""

import csv
import hashlib
import io
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import combinations, product
from pathlib import Path

import numpy as np

from thesiskit.datasets.files import check_column, few
from thesiskit.datasets.sequences import at_least_one, utf8
from thesiskit.datasets.synthetic import draw_real_responses, draw_responses, draw_rows
from thesiskit.errors import DataError

MISSING = -1  # a pattern that fixes the feature is not expressed
UNSEEN = -2  # a value that no training case has
MOST_VALUES = 255
LARGEST = 1e20  # of real responses


@dataclass(frozen=True)
class FeatureTable:
    """Cases with discrete features and a response.

    Attributes
    ----------
    X : (n, p) int16 codes from 0, MISSING or UNSEEN.
    response : (n,) int32 codes from 0, or float64 real responses.
    features : the name of each feature.
    values : for each feature, the symbol of each code.
    classes : the symbol of each code of the response; none of real ones.
    digest : sha256 of codes, names and symbols, for provenance.
    source : where they come from, for people.
    """

    X: np.ndarray
    response: np.ndarray
    features: list[str]
    values: list[list[str]]
    classes: list[str]
    digest: str = field(init=False)
    source: str = ""

    def __post_init__(self):
        names = repr((self.X.shape, self.features, self.values, self.classes))
        whole = hashlib.sha256(names.encode(errors="surrogatepass"))
        whole.update(self.X.astype("<i2").tobytes())
        codes = self.response.dtype.kind in "iu"
        whole.update(self.response.astype("<i4" if codes else "<f8").tobytes())
        object.__setattr__(self, "digest", whole.hexdigest())


# ---- uniform features ----


def draw_uniform(
    rng: np.random.Generator, *, features: int, values: int, cases: int
) -> FeatureTable:
    """Draw features x1 to xp, uniform on 1 to `values`; there is one class only.

    For the experiments on the number of parameters, which the response does not change.
    """
    at_least_one(features=features, values=values, cases=cases)
    if values > MOST_VALUES:
        raise DataError(f"values is {values}; it must be at most {MOST_VALUES}")
    return FeatureTable(
        rng.integers(0, values, (cases, features), dtype=np.int16),
        np.zeros(cases, dtype=np.int32),
        [f"x{j + 1}" for j in range(features)],
        [[str(value + 1) for value in range(values)] for _ in range(features)],
        ["1"],
        "uniform features",
    )


def draw_interactions(
    rng: np.random.Generator,
    *,
    features: int,
    values: int,
    order: int,
    sigma: np.ndarray | Callable[[], np.ndarray],
    cases: int,
    train: int,
    cauchy: bool = True,
    classes: int = 2,
    noise: float | None = None,
) -> tuple[FeatureTable, dict[str, np.ndarray]]:
    """Draw uniform features, and responses from all their patterns up to an order.

    Parameters
    ----------
    order : of the patterns that have a coefficient, at most `features`.
    sigma : (order + 1,) widths; 0 makes the coefficients of an order 0.  Or a function that draws
        them: simulation-based calibration must draw them again with the responses.
    train : among so many first responses there are two classes at least.
    noise : None for classes; or the standard deviation of the noise of real responses.

    Returns
    -------
    The table, and what synthetic.draw_responses, or draw_real_responses, says it was drawn with.

    Raises
    ------
    DataError: numbers, an order or widths that cannot be; one class 10,000 times.
    """
    table = draw_uniform(rng, features=features, values=values, cases=cases)
    if not 0 <= order <= features:
        raise DataError(f"order is {order}; it must be from 0 to the {features} features")
    if classes < 2:
        raise DataError(f"classes is {classes}; it must be at least 2")
    if not 2 <= train <= cases:
        raise DataError(f"train is {train}; it must be from 2 to the {cases} cases")
    if noise is not None and not noise > 0:
        raise DataError(f"noise is {noise}; it must be positive")

    def widths() -> np.ndarray:
        found = np.asarray(sigma() if callable(sigma) else sigma, dtype=float)
        if found.shape != (order + 1,) or not (np.isfinite(found) & (found >= 0)).all():
            raise DataError(
                f"sigma must be {order + 1} widths, of orders 0 to {order}, none negative; "
                f"got {found.tolist()}"
            )
        return found

    # the patterns of a subset are those of one less, each cut by one more feature
    level: dict[tuple[int, ...], np.ndarray] = {(): np.zeros(cases, dtype=np.int32)}
    patterns = [list(level.values())]
    for o in range(1, order + 1):
        level = {
            subset: _renumber(level[subset[:-1]] * values + table.X[:, subset[-1]])
            for subset in combinations(range(features), o)
        }
        patterns.append(list(level.values()))
    if noise is None:
        response, truth = draw_responses(
            rng, patterns, widths, classes=classes, train=train, cauchy=cauchy
        )
        symbols = [str(k + 1) for k in range(classes)]
    else:
        response, truth = draw_real_responses(rng, patterns, widths, noise=noise, cauchy=cauchy)
        symbols = []
    source = f"drawn from a model of order {order}"
    return FeatureTable(table.X, response, table.features, table.values, symbols, source), truth


def _renumber(codes: np.ndarray) -> np.ndarray:
    return np.unique(codes, return_inverse=True)[1].astype(np.int32)


# ---- two-locus epistasis ----


def penetrance(
    rng: np.random.Generator,
    frequency: tuple[float, float],
    heritability: float,
    prevalence: float,
) -> np.ndarray:
    """Draw P(case | genotypes i, j of two loci), (3, 3), to which no locus adds on its own.

    With g_i and h_j the genotype frequencies, the table is prevalence + D, where sum_j h_j D_ij
    and sum_i g_i D_ij are 0.  Such D are B C B'^T for any C (2, 2), if the columns of B (3, 2)
    are orthogonal to 1 under the weights g, and B' likewise under h.  With orthonormal columns
    the variance of D is the sum of squares of C, and heritability is this variance divided by
    prevalence (1 - prevalence).

    The direction of C is drawn.  Where it leaves [0, 1] too early, C goes from there towards the
    corner of the feasible C that has the largest variance, until its variance is as asked: the
    feasible C are convex.

    Parameters
    ----------
    frequency : of the minor allele at each locus; genotypes count it (Hardy-Weinberg).

    Raises
    ------
    DataError: a number out of range; a heritability that no table has, and the largest there is.
    """
    if len(frequency) != 2 or not all(0 < f < 1 for f in frequency):
        raise DataError(f"frequency is {frequency}; give two numbers between 0 and 1")
    if not 0 < prevalence < 1:
        raise DataError(f"prevalence is {prevalence}; it must be between 0 and 1")
    basis = np.kron(*map(_without_mean, frequency))  # D = basis C, (9, 4)

    def most(c: np.ndarray) -> float:
        """How many times c still gives probabilities."""
        with np.errstate(divide="ignore"):
            room = np.where((d := basis @ c) > 0, 1 - prevalence, prevalence) / np.abs(d)
        return float(room.min())

    corner = _widest(basis, prevalence)
    corner = corner * min(most(corner), 1.0)  # against rounding
    scale = prevalence * (1 - prevalence)
    largest = (corner @ corner) / scale * (1 + 1e-9)
    if not 0 < heritability <= largest:
        raise DataError(
            f"heritability is {heritability:g}; with frequencies {frequency[0]:g} and "
            f"{frequency[1]:g} and prevalence {prevalence:g} it must be above 0 and at most "
            f"{np.floor(1e6 * largest) / 1e6:g}"
        )
    variance = heritability * scale
    c = rng.standard_normal(4)
    c = c * min(most(c), float(np.sqrt(variance / (c @ c))))
    if c @ c < variance:
        # |c + t (corner - c)|^2 = variance at one t in [0, 1]
        step = corner - c
        roots = np.roots([step @ step, 2 * c @ step, c @ c - variance])
        c = c + min(roots.real.max(), 1) * step
    return np.clip(prevalence + basis @ c, 0, 1).reshape(3, 3)


def _hardy_weinberg(frequency: float) -> np.ndarray:
    return np.array([(1 - frequency) ** 2, 2 * frequency * (1 - frequency), frequency**2])


def _without_mean(frequency: float) -> np.ndarray:
    """Return two functions of a genotype, (3, 2), with mean 0, variance 1 and no covariance."""
    root = np.sqrt(_hardy_weinberg(frequency))
    whole, _ = np.linalg.qr(np.column_stack([root, np.eye(3)[:, :2]]))
    return whole[:, 1:] / root[:, None]


def _widest(basis: np.ndarray, prevalence: float) -> np.ndarray:
    """Return the c (4,) with prevalence + basis c in [0, 1] that has the largest norm.

    It is a corner, where four of the nine probabilities are 0 or 1.
    """
    cells = np.array(list(combinations(range(9), 4)))
    unit = basis / np.linalg.norm(basis, axis=1, keepdims=True)
    cells = cells[np.abs(np.linalg.det(unit[cells])) > 1e-9]
    bounds = np.array(list(product([-prevalence, 1 - prevalence], repeat=4)))
    corners = np.linalg.solve(basis[cells], bounds.T[None]).transpose(0, 2, 1).reshape(-1, 4)
    table = prevalence + corners @ basis.T
    corners = corners[((table > -1e-9) & (table < 1 + 1e-9)).all(axis=1)]
    return corners[np.argmax((corners**2).sum(axis=1))]


def draw_epistasis(
    rng: np.random.Generator,
    *,
    cases: int,
    noise_features: int,
    frequency: tuple[float, float] = (0.4, 0.4),
    heritability: float = 0.1,
    prevalence: float = 0.5,
) -> tuple[FeatureTable, dict[str, np.ndarray]]:
    """Draw genotypes (0, 1, 2) of which two, together only, have to do with the response.

    Half of the cases are class 1, in random order.  Features N0, N1, ... have nothing to do with
    the response, and minor alleles of frequencies uniform on [0.05, 0.5]; P1 and P2 come last.

    Returns
    -------
    The table, and what it was drawn with: penetrance (3, 3), as the function of that name returns
    it, and probability (cases, 2) of each class given the genotypes in such a sample.

    Raises
    ------
    DataError: as penetrance; fewer than two cases.
    """
    if cases < 2 or noise_features < 0:
        raise DataError(
            f"cases is {cases} and noise_features {noise_features}; they must be at least 2 and 0"
        )
    table = penetrance(rng, frequency, heritability, prevalence)
    response = rng.permutation(np.arange(cases) % 2).astype(np.int32)
    given = np.stack([1 - table, table]) / np.array([1 - prevalence, prevalence])[:, None, None]
    population = np.outer(*map(_hardy_weinberg, frequency))
    pair = draw_rows(rng, (given * population).reshape(2, 9), response)
    minor = rng.uniform(0.05, 0.5, noise_features)
    X = np.column_stack([rng.binomial(2, minor, (cases, noise_features)), pair // 3, pair % 3])
    share = np.bincount(response) / cases
    probability = given.reshape(2, 9)[:, pair].T * share
    drawn = FeatureTable(
        X.astype(np.int16),
        response,
        [*(f"N{j}" for j in range(noise_features)), "P1", "P2"],
        [["0", "1", "2"] for _ in range(noise_features + 2)],
        ["control", "case"],
        "drawn with two-locus epistasis",
    )
    return drawn, {
        "penetrance": table,
        "probability": probability / probability.sum(axis=1, keepdims=True),
    }


# ---- tic-tac-toe ----

ROWS, COLUMNS = ("top", "middle", "bottom"), ("left", "middle", "right")
LINES = ("012", "345", "678", "036", "147", "258", "048", "246")


def tic_tac_toe() -> FeatureTable:
    """Return the 958 boards on which games of tic-tac-toe end, x first; class 1 is x wins.

    Each square has x, o or b (blank).  Boards on which x wins come first; then in the order of
    their squares.
    """
    boards, ends = {"b" * 9}, []
    for mark in "xoxoxoxox":
        boards = {
            board[:square] + mark + board[square + 1 :]
            for board in boards
            for square in range(9)
            if board[square] == "b"
        }
        won = {b for b in boards if any(all(b[int(s)] == mark for s in line) for line in LINES)}
        ends += [(mark == "x", board) for board in won]
        boards -= won
    ends += [(False, board) for board in boards]
    rows = sorted((not x_wins, ["xob".index(mark) for mark in board]) for x_wins, board in ends)
    return FeatureTable(
        np.array([codes for _, codes in rows], dtype=np.int16),
        np.array([not lost for lost, _ in rows], dtype=np.int32),
        [f"{row}-{column}" for row in ROWS for column in COLUMNS],
        [["x", "o", "b"] for _ in range(9)],
        ["x does not win", "x wins"],
        "all ends of tic-tac-toe",
    )


# ---- the user's own table ----

WHOLE = re.compile(r"([+-]?[0-9]{1,18})(\.0*)?")
REAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
DELIMITERS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}


def read_features(
    path: Path,
    response: str | None,
    *,
    ignore: tuple[str, ...] = (),
    missing: tuple[str, ...] = ("", "NA", "?", "nan", "NaN"),
    like: FeatureTable | None = None,
    continuous: bool = False,
) -> FeatureTable:
    """Read a table of discrete features, one case per line under a line of names.

    Parameters
    ----------
    path : `.csv` (commas), `.tsv` or `.tab` (tabs), or one of these as `.gz`; UTF-8.
    response : the column of the classes.
    ignore : columns to leave out.
    missing : what stands for a missing value; a column may have nothing else.
    like : the training table, whose features (in any order), values and classes count; other
        values are UNSEEN.
    continuous : the responses are real numbers, not classes.

    Returns
    -------
    FeatureTable, codes in the order of the numbers where all values of a column are whole numbers
    (1.0 is 1), otherwise of the alphabet.

    Raises
    ------
    DataError: what is wrong, in which line or column, and what to do.
    """
    path = Path(path)
    names, cases, lines = _read_cells(path)
    if response is None:
        raise DataError(f"{path}: say which column is the response with data.response")
    for name in (response, *ignore):
        check_column(name, names, path)
    columns = dict(zip(names, zip(*cases, strict=True), strict=True))
    features = [name for name in names if name not in (response, *ignore)]
    if like:
        for name in like.features:
            check_column(name, features, path)
        extra = [name for name in features if name not in like.features]
        if extra:
            raise DataError(
                f"{path}: the training table has no feature {few(extra)}; data.ignore it"
            )
        features = like.features
    if not features:
        raise DataError(f"{path}: no features besides the response {response!r}")

    coded = [
        _encode(
            columns[name], missing, like.values[j] if like else None, f"{path}: column {name!r}"
        )
        for j, name in enumerate(features)
    ]
    where = f"{path}: the response {response!r}"
    labels = columns[response]
    for label, line in zip(labels, lines, strict=True):
        if label in missing:
            raise DataError(f"{where} is missing in line {line} ({label!r}); leave such cases out")
    if continuous:
        classes: list[str] = []
        y = _numbers(labels, lines, where)
        if like is None and y.min() == y.max():
            raise DataError(f"{where} is {labels[0]} in all cases; there is nothing to predict")
    else:
        classes, y = _classes(labels, lines, like.classes if like else None, where)
    return FeatureTable(
        np.column_stack([codes for _, codes in coded]),
        y,
        list(features),
        [values for values, _ in coded],
        classes,
        path.name,
    )


def _classes(
    labels: tuple[str, ...], lines: list[int], known: list[str] | None, where: str
) -> tuple[list[str], np.ndarray]:
    """Return the symbols of the classes, the known ones if given, and the class of each case."""
    hint = "; if it is a number to predict, model.response: gaussian takes it as it is"
    classes, y = _encode(labels, (), known, where, hint)
    for code, label, line in zip(y, labels, lines, strict=True):
        if code == UNSEEN:
            raise DataError(
                f"{where} is {label!r} in line {line}, which no training case has "
                f"({few(classes)}); leave such cases out, or train with some"
            )
    if len(classes) < 2:
        raise DataError(f"{where} is {classes[0]!r} in all cases; two classes are needed")
    return classes, y.astype(np.int32)


def _numbers(labels: tuple[str, ...], lines: list[int], where: str) -> np.ndarray:
    """Return real responses."""
    for label, line in zip(labels, lines, strict=True):
        if not (REAL.fullmatch(label) and abs(float(label)) <= LARGEST):
            raise DataError(
                f"{where} is {label!r} in line {line}, which is no number within {LARGEST:g}; "
                "mend it, or leave such cases out"
            )
    return np.array(labels, dtype=float)


def _read_cells(path: Path) -> tuple[list[str], list[list[str]], list[int]]:
    """Return the names of the columns, the cells of each case, and its line."""
    suffix = Path(path.name.lower().removesuffix(".gz")).suffix
    if suffix not in DELIMITERS:
        raise DataError(f"{path}: cannot read {suffix or 'this'}; use {', '.join(DELIMITERS)}")
    reader = csv.reader(
        io.StringIO(utf8(path), newline=""),
        delimiter=DELIMITERS[suffix],
        skipinitialspace=suffix == ".csv",
        strict=True,
    )
    try:
        rows = [([cell.strip() for cell in row], reader.line_num) for row in reader]
    except csv.Error as error:
        raise DataError(f"{path}: line {reader.line_num}: {error}; mend the quotes") from None
    rows = [row for row in rows if row[0] not in ([], [""])]
    if not rows:
        raise DataError(f"{path}: empty; give a line of names, then one case per line")
    names = rows[0][0]
    for number, name in enumerate(names, start=1):
        if not name:
            raise DataError(f"{path}: column {number} has no name; name it, or take it out")
        if name in names[: number - 1]:
            raise DataError(f"{path}: two columns are called {name!r}; rename one")
    cases, lines = [cells for cells, _ in rows[1:]], [line for _, line in rows[1:]]
    if not cases:
        raise DataError(f"{path}: a line of names but no cases")
    for cells, line in zip(cases, lines, strict=True):
        if len(cells) != len(names):
            raise DataError(
                f"{path}: line {line} has {len(cells)} cells, the line of names {len(names)}"
            )
    return names, cases, lines


def _encode(
    labels: tuple[str, ...],
    missing: tuple[str, ...],
    known: list[str] | None,
    where: str,
    hint: str = "",
) -> tuple[list[str], np.ndarray]:
    """Return the symbols of a column, the known ones if given, and its int16 codes."""
    found = set(labels) - set(missing)
    whole = all(WHOLE.fullmatch(label) for label in (found if known is None else known))
    symbol = {
        label: str(int(match[1])) if whole and (match := WHOLE.fullmatch(label)) else label
        for label in found
    }
    if known is None:
        if not whole and all(REAL.fullmatch(label) for label in found):
            example = next(
                label for label in labels if label in found and not WHOLE.fullmatch(label)
            )
            raise DataError(
                f"{where} has real values ({example}); cut it into intervals, for example with "
                f"scikit-learn's KBinsDiscretizer{hint}"
            )
        known = sorted(set(symbol.values()), key=int if whole else str)
        if len(known) > MOST_VALUES:
            raise DataError(
                f"{where} has {len(known)} values, at most {MOST_VALUES} are possible; join some, "
                f"or leave it out{hint}"
            )
    number = {value: code for code, value in enumerate(known)}
    code = {label: number.get(symbol[label], UNSEEN) for label in found}
    return list(known), np.array([code.get(label, MISSING) for label in labels], dtype=np.int16)


# ---- cross-validation ----


def folds(X: np.ndarray, response: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """Return the fold of each case, (n,) from 0 to k - 1, for k-fold cross-validation.

    Equal rows of X are in one fold.  Each class is spread as evenly as this allows: evenly to one
    case if no rows are equal, and so are the sizes.  Real responses are one class.

    Raises
    ------
    DataError: k below 2, or above the number of distinct rows.
    """
    row = np.unique(X, axis=0, return_inverse=True)[1].reshape(-1)
    distinct = row.max() + 1
    if not 2 <= k <= distinct:
        raise DataError(
            f"cannot make {k} folds of {distinct} distinct rows; choose from 2 to {distinct}"
        )
    if response.dtype.kind == "f":
        response = np.zeros(len(response), dtype=np.int64)
    counts = np.zeros((distinct, response.max() + 1))
    np.add.at(counts, (row, response), 1)
    per_class = np.maximum(counts.sum(axis=0), 1)
    # many equal rows first, then class by class; what follows fills up what these left uneven
    order = np.lexsort((rng.random(distinct), counts.argmax(axis=1), -counts.sum(axis=1)))
    held = np.zeros((k, counts.shape[1]))
    fold = np.empty(distinct, dtype=np.int64)
    for group in order:
        crowding = held @ (counts[group] / per_class)
        fold[group] = np.lexsort((held.sum(axis=1), crowding))[0]
        held[fold[group]] += counts[group]
    return fold[row]
