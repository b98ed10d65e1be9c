"""The binary mixture model with a selection of features: its posterior and predictions.

| thesis | name | shape |
|---|---|---|
| f_0, f_1 | `class_prior`, the Beta prior of psi = P(z = 1) | pair |
| a, b of alpha; of alpha_0 | `alpha_prior`, `response_alpha_prior` | pairs |
| z^train | `labels` | (n,) |
| x_0^train | `response` | (n,) |
| I_{1,j} + I_{0,j} | `totals` | (k,) |
| n_y^[z] | `counts[z][y]` | (2, 2) |
| P(S given labels, alpha) | of `left_out`; its log is in `Tables.discards` | (K,) |

Section "Application to Bayesian Mixture Models" and appendix 2 of chapter 2.
"""

from collections.abc import Iterator
from functools import cached_property

import numpy as np
from scipy import special

from thesiskit._kernels.mixture_prediction import LogOdds
from thesiskit.errors import DataError
from thesiskit.models.left_out import LeftOut
from thesiskit.models.mixture.settings import Settings
from thesiskit.models.mixture.tables import check_cases
from thesiskit.models.naive_bayes import as_probability
from thesiskit.models.packed import as_bits
from thesiskit.models.quadrature import theta_rule

DRAWS = 64  # predicted from together


class Target:
    """The posterior of labels, alpha and alpha_0 given the kept features and their selection.

    Equations like-part-mix and dir; the priors are prior-p, prior-alpha0 and prior-theta.

    Parameters
    ----------
    features : (n, k) of 0 and 1, the kept features of the training cases.
    response : (n,) of 0 and 1, both present.
    settings : priors.
    left_out : the features left out, and what their correlations are known to be; None where there
        is nothing to correct for.
    """

    def __init__(self, features, response, settings: Settings, left_out: LeftOut | None = None):
        bits = as_bits(np.asarray(features))
        if bits is None or bits.ndim != 2:
            raise DataError("features must be a (cases, features) table of 0 and 1")
        self.settings = settings
        self.features = bits
        self.response = np.ascontiguousarray(response, dtype=np.uint8)
        self.n, self.k = bits.shape
        check_cases(self.n)
        # exchanging 0 and 1 changes nothing in the model, so that at most half are ones
        self.exchanged = 2 * bits.sum(axis=0, dtype=np.intp) > self.n
        self.bits = np.ascontiguousarray(bits ^ self.exchanged)
        self.totals = self.bits.sum(axis=0, dtype=np.intp)
        n1 = int(self.response.sum())
        self.class_counts = (self.n - n1, n1)
        self.left_out = left_out if left_out is not None and left_out.total else None

    @property
    def powers(self) -> np.ndarray:
        """Powers of the likelihood that replicas are sampled at, from 1 down, (replicas,)."""
        return self.settings.powers(self.n)

    @cached_property
    def log_prior(self) -> np.ndarray:
        """log P(labels) by size of component 1 (equation dir), (n + 1,)."""
        f0, f1 = self.settings.class_prior
        m = np.arange(self.n + 1)
        return special.betaln(f1 + m, f0 + self.n - m) - special.betaln(f1, f0)

    def oriented(self, features: np.ndarray) -> np.ndarray:
        """Return test features, (T, k) of 0 and 1, with 0 and 1 exchanged as in `bits`."""
        bits = as_bits(np.asarray(features))
        if bits is None or bits.ndim != 2 or bits.shape[1] != self.k:
            shape = np.shape(features)
            raise DataError(f"{self.k} features of 0 and 1 were kept; got a table of shape {shape}")
        return bits ^ self.exchanged

    def log_joint(self, draws, features, *, block: int = DRAWS) -> Iterator[np.ndarray]:
        """Yield log P(x*, y* given each draw), (T, 2, B), for test features (T, k), by blocks.

        block : draws in a block; the last digits depend on it.
        draws is (labels (D, n), point (D, 2)), or has theta (D, k + 1) too.  Without theta, the
        probability is averaged over theta in closed form, which is possible because it is linear
        in theta.
        """
        bits = self.oriented(features).astype(float)
        odds = LogOdds(self.bits, self.response, theta_rule("exact", self.n))
        f0, f1 = self.settings.class_prior
        for start in range(0, len(draws[0]), block):
            labels, point, *theta = (one[start : start + block] for one in draws)
            B = len(labels)
            slope, base = np.empty((B, 2, self.k)), np.empty((B, 2))
            response = np.empty((B, 2, 2))
            odds.fill(
                np.ascontiguousarray(labels),
                self.settings.alpha[point[:, 0]],
                self.settings.response_alpha[point[:, 1]],
                np.ascontiguousarray(theta[0]) if theta else None,
                slope,
                base,
                response,
            )
            size = labels.sum(axis=1, dtype=np.intp)
            base += np.log(np.stack([f0 + self.n - size, f1 + size], axis=1) / (f0 + f1 + self.n))
            given = (bits @ slope.reshape(2 * B, self.k).T).reshape(len(bits), B, 2) + base
            # over components: log sum of P(z*) P(y* given z*) P(x* given z*)
            yield np.stack(
                [np.logaddexp(*np.moveaxis(given + response[:, :, y], 2, 0)) for y in (0, 1)],
                axis=1,
            )

    def predict(self, draws, features) -> np.ndarray:
        """Return P(y* = 1) for each row of the kept features, (T, k) -> (T,).

        Joint probabilities of response and features are averaged over draws (as in log_joint),
        then divided (prob-pred-mix).
        """
        return as_probability(self.predict_log_odds(draws, features))

    def predict_log_odds(self, draws, features) -> np.ndarray:
        """Return log P(y* = 1) - log P(y* = 0) for each row of the kept features, (T,)."""
        total = np.full((len(features), 2), -np.inf)
        for block in self.log_joint(draws, features):
            total = np.logaddexp(total, np.logaddexp.reduce(block, axis=2))
        return total[:, 1] - total[:, 0]
