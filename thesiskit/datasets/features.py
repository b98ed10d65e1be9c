"""Tables of discrete features that are simulated, the boards of tic-tac-toe, and folds.

Features are drawn uniformly (section "Experiments Demonstrating Parameter Reduction"), and
responses from the model itself ("Experiments with Data from Cauchy Models").

thesis        here         shape
x_{1:p}       X            (n, p), codes from 0
y             response     (n,), codes from 0
K_t           values       the symbols of each feature
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from thesiskit.datasets.sequences import at_least_one, numbered
from thesiskit.datasets.synthetic import draw_real_responses, draw_responses
from thesiskit.errors import DataError

MISSING = -1  # a pattern that fixes the feature is not expressed
UNSEEN = -2  # a value that no training case has
MOST_VALUES = 255


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
        [numbered(values) for _ in range(features)],
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
    if distinct < 2:
        raise DataError(
            f"all {len(X):,} cases have the same features, and equal cases share a fold; "
            "there is nothing to divide"
        )
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
