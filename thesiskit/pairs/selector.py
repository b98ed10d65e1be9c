"""Which patterns of discrete features are selected."""

from dataclasses import dataclass

import numpy as np

from thesiskit.models.pipeline import Selector
from thesiskit.models.selection import Selection
from thesiskit.pairs.interactions import Run, select_patterns
from thesiskit.pairs.planes import Planes

DISJOINT = "disjoint"  # the form of a selection that uses each feature once


@dataclass(frozen=True)
class PatternSelector(Selector):
    """Which patterns are selected: the best by correlation with the response.

    order, disjoint, ld : see `interactions.select_patterns`.
    run : how patterns are counted; None: in the usual way.
    """

    order: int = 2
    disjoint: bool = False
    ld: float | None = None
    run: Run | None = None

    def select_patterns(self, planes: Planes, rng: np.random.Generator) -> Selection:
        """Select patterns of discrete features, by the planes of the training samples.

        Raises as `interactions.select_patterns` does.
        """
        return select_patterns(
            planes,
            self.n_features,
            rng,
            order=self.order,
            threshold=self.threshold,
            disjoint=self.disjoint,
            ld=self.ld,
            at_most=self.at_most,
            run=self.run or Run(),
        )
