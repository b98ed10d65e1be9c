"""The adjustment factor of the naive Bayes model: the probability of what was left out.

| thesis | name | shape |
|---|---|---|
| log P(S given alpha, y^train) | `log_factor` | (K, J) |
| P(abs COR <= gamma given alpha, y^train) of one feature | `log_probabilities`, by row | (D, K) |

Section "Computation of the Adjustment Factor for Naive Bayes Models" (eq-corfact, adj-fact-H2 to
eq-sum-H).  The events are those of `models/left_out`.  A feature is relevant with probability pi,
so that of its event is the mixture of what it is for a relevant feature, and for one whose
phi_0 = phi_1 (alpha infinite).
"""

import numpy as np
from scipy import special

from thesiskit.models.gaps import log_discard_of, log_tied_of
from thesiskit.models.integrals import (
    IRRELEVANT,
    log_discard_probability,
    log_tied_probability,
)
from thesiskit.models.left_out import AT, BELOW, LOT, LeftOut

LEAST = 1e-280  # an incomplete beta function below has lost digits


def log_factor(
    left_out: LeftOut, alpha: np.ndarray, pi: np.ndarray, quadrature: str
) -> tuple[np.ndarray, np.ndarray]:
    """Return log P(S given alpha, pi), (K, J), and the same for pi = 1 by feature, (K,).

    Equation eq-corfact.

    alpha (K,) and pi (J,).
    """
    found = np.zeros((len(alpha), len(pi)))
    relevant = np.zeros(len(alpha))
    ends = alpha if pi.min() == 1 else np.append(alpha, IRRELEVANT)
    for event in np.unique(left_out.rows[:, 2]).tolist():
        rows = left_out.rows[left_out.rows[:, 2] == event]
        each = [_log_probabilities(one, rows[:, :2], left_out.gamma_squared, ends, quadrature)
                for one in ((AT, BELOW) if event == LOT else (event,))]  # fmt: skip
        mixed = [mix(one[:, : len(alpha)], one[:, len(alpha) :], pi) for one in each]
        for d, count in enumerate(rows[:, 3].tolist()):
            if event == LOT:
                found += log_lot(mixed[0][d], mixed[1][d], count, left_out.tied_kept)
                log_e, log_s = (part[d, : len(alpha)] for part in each)
                relevant += log_lot(log_e, log_s, count, left_out.tied_kept) / left_out.total
            else:
                found += count * mixed[0][d]
                relevant += count / left_out.total * each[0][d, : len(alpha)]
    return found, relevant


def mix(relevant: np.ndarray, irrelevant: np.ndarray, pi: np.ndarray) -> np.ndarray:
    """Return log(pi exp(relevant) + (1 - pi) exp(irrelevant)), (D, K, J), for each pi (J,).

    relevant (D, K); irrelevant (D, 1), which is not looked at where every pi is 1.
    """
    if pi.min() == 1:
        return np.repeat(relevant[:, :, None], len(pi), axis=2)
    with np.errstate(divide="ignore"):
        return np.logaddexp(
            relevant[:, :, None] + np.log(pi), irrelevant[:, :, None] + np.log1p(-pi)
        )


def _log_probabilities(event, counts, gamma_squared, alpha, quadrature) -> np.ndarray:
    """Return log of the probability of an event for features with these class counts, (D, K)."""
    if len(counts) == 1:  # by tables that other integrals share
        of = log_tied_probability if event == AT else log_discard_probability
        n0, n1 = counts[0].tolist()
        below = {"below": True} if event == BELOW else {}
        return of(n0, n1, gamma_squared, alpha, quadrature=quadrature, **below)[None]
    if event == AT:
        return log_tied_of(counts, gamma_squared, alpha, quadrature)
    return log_discard_of(counts, gamma_squared, alpha, quadrature, below=event == BELOW)


def log_lot(log_e: np.ndarray, log_s: np.ndarray, d: int, m: int) -> np.ndarray:
    """Return log of the sum over t of C(d, t) e^t s^(d - t) / C(m + t, m).

    With q = e + s and x = e / q it is q^d times the sum of (m + 1 + j)-terms below, or

        m B(m, d + 1) x^(-m) I_x(m, d + 1) q^d,     I_x the regularised incomplete beta function,

    because 1 / C(m + t, m) is m times the integral of v^t (1 - v)^(m - 1) over (0, 1).  Where I_x
    is too small for a number, its series converges fast.
    """
    log_q = np.logaddexp(log_e, log_s)
    x = np.exp(log_e - log_q)
    with np.errstate(divide="ignore"):
        whole = special.betainc(m, d + 1, x)
        direct = np.log(m) + special.betaln(m, d + 1) - m * np.log(x) + np.log(whole)
    small = whole < LEAST
    if small.any():
        direct = np.where(small, _log_series(np.where(small, x, 0), d, m), direct)
    return d * log_q + direct


def _log_series(x: np.ndarray, d: int, m: int) -> np.ndarray:
    """Return log of (1 - x)^(d + 1) times the sum of (m + d + 1)_j / (m + 1)_j x^j."""
    total, term, j = np.ones_like(x), np.ones_like(x), 0
    while (term > 1e-17 * total).any():
        term = term * x * ((m + d + 1 + j) / (m + 1 + j))
        total, j = total + term, j + 1
    return (d + 1) * np.log1p(-x) + np.log(total)
