"""What chains of the mixture model have to agree in.

These are quantities that do not change if the components are exchanged: log alpha, the log
posterior, the agreement of labels with responses (the larger of the number of cases whose label is
their response, and whose is not), and predictive probabilities of class 1 given a draw.
"""

from dataclasses import dataclass

import numpy as np
from scipy import special

from thesiskit.models.mixture.target import DRAWS, Target
from thesiskit.models.running import Arrays
from thesiskit.models.until import MOST_CASES, names_of_cases, spread

QUANTITIES = ("log_alpha", "log_posterior", "agreement", "predictive_probability")


def quantities(
    target: Target, drawn: Arrays, features: np.ndarray, *, block: int = DRAWS
) -> np.ndarray:
    """Return of draws (D, ...) log alpha, log posterior, agreement and P(class 1), (D, 3 + T).

    drawn : labels (D, n), point (D, 2) and log_posterior (D,), theta (D, k + 1) if there is one;
    features (T, k) of the cases that are predicted;
    block : draws that are predicted from together.
    """
    n = drawn["labels"].shape[1]
    same = (drawn["labels"] == target.response).sum(axis=1)
    draws = [drawn[name] for name in ("labels", "point", "theta") if name in drawn]
    blocks = target.log_joint(draws, features, block=block)
    probability = [special.expit(block[:, 1] - block[:, 0]).T for block in blocks]
    return np.column_stack([
        np.log(target.settings.alpha)[drawn["point"][:, 0]],
        drawn["log_posterior"],
        np.maximum(same, n - same),
        np.concatenate(probability) if probability else np.empty((0, len(features))),
    ])  # fmt: skip


@dataclass(frozen=True)
class Probe:
    """Quantities of which chains are judged: three of those of `diagnose`, and predictions.

    features (T, k) and names (T,) of the cases.
    """

    features: np.ndarray
    names: list[str]

    @classmethod
    def of(cls, target: Target, table: np.ndarray | None = None) -> "Probe":
        """Return up to MOST_CASES distinct rows of a table (T, k), or of the training cases."""
        words = "training" if table is None or not len(table) else "test"
        rows = target.features if words == "training" else np.asarray(table)
        first = np.sort(np.unique(rows, axis=0, return_index=True)[1])
        place = first[spread(len(first), MOST_CASES)]
        return cls(rows[place], names_of_cases(words, place))

    @property
    def all_names(self) -> list[str]:
        """What the quantities are called."""
        return [*(name.replace("_", " ") for name in QUANTITIES[:-1]), *self.names]

    def quantities(self, target: Target, drawn: Arrays) -> np.ndarray:
        """Return the quantities of draws, (D, 3 + T), each as if there were no other draw."""
        return quantities(target, drawn, self.features, block=1)
