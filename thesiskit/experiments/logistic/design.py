"""What an experiment of chapter 3 consists of: cases, a test set, and arms.

An *arm* is one model: its order and prior, compressed or not, by which engine and scale of sigma;
or a peer with its order.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from thesiskit.config import Config
from thesiskit.config.logistic import LogisticModel
from thesiskit.experiments.logistic.cases import Cases, Divisions
from thesiskit.experiments.logistic.features import FeaturePatterns
from thesiskit.experiments.logistic.sequences import SequencePatterns
from thesiskit.models import peers

Patterns = SequencePatterns | FeaturePatterns
ALL = -1  # in place of an order


@dataclass(frozen=True)
class Arm:
    """One model."""

    order: int  # what a peer sees of a history; of a peer that sees all features, ALL
    prior: str  # "none" of a peer
    compress: bool
    engine: str  # "slice", "gp", or a peer's name
    scale: str

    @property
    def peer(self) -> bool:
        """Whether it is a method of another package."""
        return self.prior == "none"

    @property
    def name(self) -> str:
        """What files and tables call it."""
        parts = [self.engine if self.peer else self.prior]
        if self.order != ALL:
            parts.insert(0, str(self.order))
        if self.engine == "slice":
            parts.append("compressed" if self.compress else "original")
        elif self.engine == "gp":
            parts.append("process")
        if self.scale == "natural":
            parts.append("natural")
        return "-".join(parts)


PATTERNS: dict[str, type[SequencePatterns] | type[FeaturePatterns]] = {
    "sequences": SequencePatterns,
    "features": FeaturePatterns,
}


class LogisticDesign:
    """The cases of a config, and what is done with them."""

    def __init__(self, config: Config, folder: Path):
        assert isinstance(config.model, LogisticModel)
        self.config, self.model = config, config.model
        self.divisions = Divisions(config, folder)
        self._patterns = PATTERNS[self.divisions.data.family]

    @property
    def continuous(self) -> bool:
        """Whether responses are real numbers; what comes of it is in responses.py."""
        return self.model.continuous

    def check(self) -> None:
        """Raise ConfigError or DataError for what only the data show to be wrong."""
        self.divisions.check()
        shown = self.config.report.order
        if shown is not None and shown not in self.orders:
            raise self.config.wrong("report.order", f"{shown} is not one of model.orders")
        if self.model.split_draws != "exact":
            return
        classes = len(self.cases(0).classes)
        if classes != 2:
            raise self.config.wrong(
                "model.split_draws", f"exact needs two classes, these data have {classes}"
            )
        if "cauchy" in self.model.priors and self._patterns.kind == "features":
            raise self.config.wrong(
                "model.split_draws",
                "exact is for Gaussian priors here: a case shares several groups in part",
            )

    def cases(self, division: int) -> Cases:
        """Return the cases of a division."""
        return self.divisions.cases(division)

    @cached_property
    def patterns(self) -> Patterns:
        """What patterns of these data are, and who else predicts them."""
        return self._patterns.of(self.divisions.any_cases)

    def groups(
        self, train: np.ndarray, order: int, *, compress: bool = True
    ) -> Any:  # SequenceGroups or FeatureGroups
        """Return the groups of patterns of training cases."""
        min_cases = self.model.min_cases
        return self.patterns.groups(train, order, compress=compress, min_cases=min_cases)

    @cached_property
    def orders(self) -> list[int]:
        """The orders, "all" in numbers."""
        return self._numbers(self.model.orders)

    @cached_property
    def original_orders(self) -> list[int]:
        """The orders of the models that are not compressed."""
        return self._numbers(self.model.original_orders or self.model.orders)

    def _numbers(self, orders) -> list[int]:
        most = self.divisions.sizes.width
        return list(dict.fromkeys(most if o == "all" else int(o) for o in orders))

    @cached_property
    def peers(self) -> list[str]:
        """The peers whose packages are here."""
        absent = peers.missing(self.model.peers)
        return [peer for peer in self.model.peers if peer not in absent]

    @cached_property
    def arms(self) -> list[Arm]:
        """Everything that is fitted."""
        model = self.model
        own = [
            Arm(order, prior, compress, engine, scale)
            for engine, prior, compress, scale, order in product(
                model.engine, model.priors, model.compress, model.sigma_scale, self.orders
            )
            if engine == "slice" and (compress or order in self.original_orders)
        ]
        if "gp" in model.engine:  # Gaussian priors, nothing to compress, one way with sigma
            own += [Arm(order, "gaussian", False, "gp", "log") for order in self.orders]
        seen = self.orders if self._patterns.kind == "sequences" else [ALL]
        return own + [
            Arm(order, "none", False, peer, "none") for peer in self.peers for order in seen
        ]
