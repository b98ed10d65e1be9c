"""The block `selection` of a config, where patterns of discrete features are selected."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field, StrictBool, model_serializer

from thesiskit.blocks import Each
from thesiskit.config import SelectionBlock
from thesiskit.models.base import OWN
from thesiskit.models.peers import FEATURES, names
from thesiskit.pairs.interactions import DISJOINT, PatternSelector
from thesiskit.pairs.planes import Planes, features_of


class PatternSelection(SelectionBlock):
    """How many patterns of discrete features to select."""

    more_classes: ClassVar = "logistic"

    order: Annotated[int, Field(strict=True, ge=1, le=3)] = 1
    """Of discrete features: largest number of features in a candidate pattern such as `rs1=2,
    rs7=0`. The selected patterns are the features of the model."""
    disjoint: Each[StrictBool] = [False]
    """Of discrete features: use each feature only in the pattern with the largest correlation, so
    that patterns are not redundant. `[true, false]` compares both."""
    ld: Annotated[float, Field(strict=True, gt=0, lt=1)] | None = None
    """Of discrete features: skip features whose squared correlation with a feature of a better
    pattern exceeds this value (linkage disequilibrium)."""

    @model_serializer(mode="wrap")
    def _without_defaults(self, handler: Any) -> dict[str, Any]:
        dumped, unused = handler(self), {"order": 1, "disjoint": [False], "ld": None}
        return {
            key: entry for key, entry in dumped.items() if key not in unused or entry != unused[key]
        }

    @property
    def forms(self) -> Sequence[str]:  # type: ignore[override]
        """In how many ways patterns are selected, in words."""
        return [DISJOINT if disjoint else "" for disjoint in self.disjoint]

    def too_large(self, p: int, groups: int) -> str:
        """Return nothing: there are more patterns than features."""
        return ""

    def incompatibilities(self, config: Any) -> Iterator[str]:
        """Yield what cannot be done where patterns of discrete features are selected."""
        if not config.selects:
            yield from self._unfit_for_logistic(config)
            return
        for method in config.model.methods:
            if method not in (*OWN, *names(FEATURES)):
                yield (
                    f"model.methods: {method} does not accept discrete features. Fix: choose from "
                    f"{', '.join(names(FEATURES))}"
                )
        if config.model.kind != "naive-bayes":
            yield (
                "data.source: patterns of discrete features are selected for model.kind: "
                "naive-bayes; or give model.kind: logistic, which takes them all"
            )
        if "all" in (self.features or ()):
            yield "selection.features: there are too many patterns to select all. Fix: set a number"
        if self.screened is not None or config.evaluation.feature_groups != 1:
            key = "selection.screened" if self.screened else "evaluation.feature_groups"
            yield f"{key}: is not for patterns of discrete features. Fix: remove it"
        if self.ties != "exact":
            yield "selection.ties: ties of patterns are counted exactly. Fix: remove it"
        if config.drawn and not hasattr(config.data, "names"):
            yield (
                f"data.source: {config.data.source} draws samples for model.kind: logistic; "
                "genotypes draws them for a selection of patterns"
            )

    def _unfit_for_logistic(self, config: Any) -> Iterator[str]:
        """Yield what cannot be done where a logistic model takes the features of patterns."""
        if config.continuous:
            yield "selection: is for discrete features and classes. Fix: remove it"
        sizes = [*(self.features or ()), *(self.thresholds or ())]
        if len(sizes) != 1 or "all" in sizes or len(self.disjoint) > 1:
            yield "selection.features: a logistic model needs one selection. Fix: give one number"
        if self.screened is not None:
            yield "selection.screened: a logistic model corrects for no screening. Fix: remove it"
        if "all" in config.model.orders:
            yield "model.orders: the number of selected features is unknown. Fix: set a number"

    # ---- for logistic models: the features of the patterns ----

    def most_columns(self, width: int) -> int:
        """Return how many of `width` features can be kept at most."""
        return min(width, int(self.features[0]) * self.order) if self.features else width

    def columns(self, codes: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return the features of the patterns that are selected, ascending.

        codes (n, p) and classes y (n,) are those of training samples.
        """
        threshold = str(self.thresholds[0]) if self.thresholds else None
        n_features = int(self.features[0]) if self.features else None
        selector = PatternSelector(
            n_features, threshold, order=self.order, disjoint=self.disjoint[0], ld=self.ld
        )
        return features_of(selector.select_patterns(Planes.pack(codes, y), rng).selected)
