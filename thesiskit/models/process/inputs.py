"""Cases of a Gaussian process: what they share, and independent steps between their values."""

from collections.abc import Callable

import numpy as np
from scipy import linalg, special

from thesiskit.errors import DataError, UserError
from thesiskit.models.patterns import MISSING

MOST_ROWS = 10_000  # of histories: 2.4 GB; fewer of features, for as much
ROUNDING = 1e-11  # of counts of shared patterns, relative to the largest
Relation = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


def agreement(X, Y=None, patterns: str = "sequences") -> np.ndarray:
    """Return what cases X (n, p) and Y (m, p) share, (n, m); Y is X where it is not given.

    Of histories, columns in time order, the length of their common recent past.  Of features, in
    how many they agree: those of negative code (missing, unseen) agree with no other case's, and a
    case agrees with itself in all that are not missing.
    """
    X = np.asarray(X)
    other = X if Y is None else np.asarray(Y)
    shared = np.zeros((len(X), len(other)), dtype=np.int32)
    if patterns == "features":
        for mine, theirs in zip(X.T, other.T, strict=True):
            shared += (mine[:, None] == theirs) & (mine[:, None] >= 0)
        if Y is None:
            np.fill_diagonal(shared, (X != MISSING).sum(axis=1))
        return shared
    same = np.ones(shared.shape, dtype=bool)
    for t in reversed(range(X.shape[1])):
        same &= X[:, t, None] == other[None, :, t]
        if not same.any():
            break
        shared += same
    return shared


def shared_patterns(most: int, order: int, patterns: str = "sequences") -> np.ndarray:
    """Return how many patterns of order o express two cases that share h, (most + 1, O + 1)."""
    h, o = np.arange(most + 1)[:, None], np.arange(order + 1)
    return special.comb(h, o) if patterns == "features" else (o <= h).astype(float)


def covariance(shared, sigma, patterns: str = "sequences") -> np.ndarray:
    """Return Cov(l(x), l(x')), of the shape of `shared`, the agreement of x and x'.

    sigma (O + 1,).
    """
    sigma = np.asarray(sigma, dtype=float)
    return (shared_patterns(np.max(shared), len(sigma) - 1, patterns) @ sigma**2)[shared]


class Sequences:
    """Distinct histories, sorted by their most recent states, and steps between them.

    rows (R, O) in time order; row_of (N,).  A step is the difference of a value of latent and the
    one before it, the first one's from 0: it does not feel the sigmas of what its two rows share.
    Sums of sigma_o^2 over orders i..O are called the tail at i, (O + 2,).
    """

    words = ("histories", "states")

    def __init__(self, X: np.ndarray, order: int):
        recent = X[:, ::-1][:, :order]  # the first column most recent: it sorts first
        rows, self.row_of = _distinct(recent, MOST_ROWS, "histories")
        self.rows = rows[:, ::-1]
        # Cov(step i, step j), i < j, is minus the sum of sigma_o^2 over the orders that rows i and
        # j - 1 share, but neither i - 1 and i, nor j - 1 and j.  Orders are those from 1 + length.
        shared = agreement(self.rows) + 1
        self.begin = np.append(0, np.diagonal(shared, 1))
        common = np.zeros_like(shared)
        common[:, 1:] = np.triu(shared[:, :-1])
        low = np.maximum.outer(self.begin, self.begin)
        self.place = low * np.intp(order + 2) + np.maximum(np.maximum(common, common.T), low)

    def latent(self, steps: np.ndarray) -> np.ndarray:
        """Return values (S, R) from steps."""
        return np.cumsum(steps, axis=1)

    def steps(self, latent: np.ndarray) -> np.ndarray:
        """Return steps (S, R) from values."""
        return np.diff(latent, axis=1, prepend=0)

    def tail(self, log_sigma: np.ndarray) -> np.ndarray:
        """Return sums of sigma_o^2 over o = i..O for i = 0..O + 1, (O + 2,)."""
        return np.append(np.cumsum(np.exp(2 * log_sigma[::-1]))[::-1], 0)

    def step_covariance(self, log_sigma: np.ndarray) -> np.ndarray:
        """Return the covariance of the steps, (R, R)."""
        tail = self.tail(log_sigma)
        matrix = np.subtract.outer(-tail, -tail).take(self.place)  # tail[high] - tail[low]
        np.fill_diagonal(matrix, np.append(tail[0], 2 * tail[self.begin[1:]]))
        return matrix

    def towards(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray, Relation]:
        """Return how l of histories X (T, L) depends on the steps: see `Features.towards`."""
        recent, case_of = np.unique(
            X[:, X.shape[1] - self.rows.shape[1] :], axis=0, return_inverse=True
        )
        length = agreement(recent, self.rows)
        # what matters of a history: a row that is nearest to it, and the length they share
        pairs = np.stack([length.argmax(axis=1), length.max(axis=1)], axis=1)
        pairs, pair_of = np.unique(pairs, axis=0, return_inverse=True)
        nearest, begin = pairs[:, 0], pairs[:, 1] + 1
        reach = np.maximum(agreement(self.rows[nearest], self.rows) + 1, begin[:, None])

        def rest(log_sigma: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            # e = l(x) - l(nearest) has Cov(e, l(row)) = - sum of sigma_o^2 over begin..reach - 1
            tail = self.tail(log_sigma)
            cross = np.diff(tail[reach] - tail[begin][:, None], axis=1, prepend=0)
            return cross, 2 * tail[begin]

        part = np.tri(len(self.rows))[nearest]
        return pair_of.reshape(-1)[case_of.reshape(-1)], part, rest


class Features:
    """Distinct rows of features, and steps, by what orders they feel.

    rows (R, p), row_of (N,).  Level by level, for o = 0..O, `basis` (R, r) has orthonormal
    combinations of rows that order o moves and no order below it does; what no order moves is
    always 0, and left out.  counts (O + 1, r, r): shared patterns of order o of two steps, 0 where
    one is of a higher level.
    """

    words = ("cases", "features")

    def __init__(self, X: np.ndarray, order: int):
        most = int(MOST_ROWS * np.sqrt(3 / (order + 3)))  # matrices of R^2 numbers
        self.rows, self.row_of = _distinct(X, most, "cases")
        if X.min(initial=0) < MISSING:
            raise DataError(f"features of training cases have codes from 0, or {MISSING}: missing")
        self.table = shared_patterns(X.shape[1], order, "features")
        shared = agreement(self.rows, patterns="features")
        free = np.eye(len(self.rows))
        levels = []
        for o in range(order + 1):
            if not free.size:
                break
            counts = self.table[:, o][shared]
            size, vectors = linalg.eigh(free.T @ counts @ free)
            moved = size > ROUNDING * np.trace(counts)  # the others are 0: counts are whole numbers
            levels.append(free @ vectors[:, moved])
            free = free @ vectors[:, ~moved]
        self.basis = np.hstack(levels)
        self.level = np.repeat(np.arange(len(levels)), [part.shape[1] for part in levels])
        felt = np.maximum.outer(self.level, self.level)
        self.counts = np.array(
            [
                np.where(felt <= o, self.basis.T @ self.table[:, o][shared] @ self.basis, 0)
                for o in range(order + 1)
            ]
        )

    def latent(self, steps: np.ndarray) -> np.ndarray:
        """Return values (S, R) from steps (S, r)."""
        return steps @ self.basis.T

    def steps(self, latent: np.ndarray) -> np.ndarray:
        """Return steps (S, r) from values (S, R)."""
        return latent @ self.basis

    def step_covariance(self, log_sigma: np.ndarray) -> np.ndarray:
        """Return the covariance of the steps, (r, r)."""
        return np.tensordot(np.exp(2 * log_sigma), self.counts, 1)

    def towards(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray, Relation]:
        """Return how l of cases X (n, p) depends on the steps: index, part, rest.

        Case i is the T-distinct one index[i]; l of these is part (T, r) times the steps, plus
        what rest(log_sigma) gives the covariance with the steps (T, r), and the variance (T,) of.
        """
        X, case_of = np.unique(X, axis=0, return_inverse=True)
        shared, present = agreement(X, self.rows, "features"), (X != MISSING).sum(axis=1)
        part = np.zeros((len(X), len(self.level)))
        cross = np.empty((len(self.counts), *part.shape))
        own = self.table[present].T.copy()
        # Level by level take away what steps say of l(x), as if each sigma were far above the
        # next: what then feels no order is 0, for rows seen in training, at any sigma.
        known = np.ones(len(X), dtype=bool)
        for o, counts in enumerate(self.counts):
            at = self.level == o
            before = self.table[:, o][shared] @ self.basis
            left = before - part @ counts
            part[:, at] = np.linalg.solve(counts[np.ix_(at, at)], left[:, at].T).T
            cross[o] = before - part @ counts
            own[o] -= (part * (before + cross[o])).sum(axis=1)
            known &= own[o] <= ROUNDING * self.table[-1, o]
            cross[o, known] = own[o, known] = 0

        def rest(log_sigma: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            variance = np.exp(2 * log_sigma)
            return np.tensordot(variance, cross, 1), variance @ own

        return case_of.reshape(-1), part, rest


KINDS: dict[str, type[Sequences | Features]] = {"sequences": Sequences, "features": Features}


def as_codes(X, name: str, columns: str) -> np.ndarray:
    """Return cases (n, p) as an array of whole numbers, or say what is wrong with them."""
    X = np.asarray(X)
    if X.ndim != 2:
        raise DataError(f"{name} must be a table (cases, {columns}), got shape {X.shape}")
    if X.dtype.kind not in "iub":
        raise DataError(f"{name} must be whole numbers from 0; encode other {columns}")
    return X


def check_order(order: int, X: np.ndarray) -> None:
    """Raise UserError for an order that cases X (n, p) do not have."""
    if not 0 <= order <= X.shape[1]:
        raise UserError(f"order must be from 0 to {X.shape[1]}, got {order}")


def _distinct(X: np.ndarray, most: int, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return sorted distinct rows, and which of them each row is."""
    rows, row_of = np.unique(X, axis=0, return_inverse=True)
    if len(rows) > most:
        raise UserError(
            f"{len(rows)} distinct {name} are more than {most}, the most of a Gaussian process; "
            "use a lower order or the compressed model"
        )
    return rows, row_of.reshape(-1)
