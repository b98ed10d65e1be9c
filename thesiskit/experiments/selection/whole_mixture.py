"""The mixture model as a whole: select, sample and predict in one go, to fit a temperature."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special

from thesiskit.config import Config
from thesiskit.experiments.cells.seeds import generator
from thesiskit.experiments.selection.arms import Arm, selections
from thesiskit.experiments.selection.select import select_bits
from thesiskit.experiments.selection.split import Split
from thesiskit.models import mixture
from thesiskit.models.mixture import Target
from thesiskit.models.selection import Selection
from thesiskit.models.temperature import as_log_probability

EXACT = "enumeration"  # the sampler that draws nothing


@dataclass(frozen=True)
class WholeMixture:
    """The mixture model; target returns the posterior of an arm, given split and selection."""

    config: Config
    target: Callable[[Split, Selection, Arm], Target]

    def log_probability(self, arm: Arm, split: Split) -> np.ndarray:
        """Return the log probability of each class for the test cases of a split, (T, 2)."""
        return as_log_probability(self._log_odds(arm, split))

    def _log_odds(self, arm: Arm, split: Split) -> np.ndarray:
        selection = select_bits(self.config, split, selections(self.config)[arm.size])
        target = self.target(split, selection, arm)
        table = split.features.unpack(selection.selected, split.test)
        if arm.variant == EXACT:
            return special.logit(mixture.enumerate_posterior(target).predictive)[table[:, 0]]
        # the first test case says which part of a training set it is
        place = (*split.place, arm.label, arm.method, arm.variant, int(split.test[0]))
        rng = generator(self.config.seed, "chains within", *place)
        draws = mixture.sample(target, rng.spawn(target.settings.chains))
        return target.predict_log_odds(draws.flat, table)
