"""Models of selected patterns that are fitted to all samples, to predict new ones."""

import numpy as np

from thesiskit.fitted import FittedModel
from thesiskit.fitted.inputs import Inputs
from thesiskit.fitted.methods import FittedMethod, SelectedMethod
from thesiskit.models.base import check
from thesiskit.pairs.covariates import Covariates
from thesiskit.pairs.planes import decode, express, features_of
from thesiskit.pairs.work import PairWork


class PairMethod(SelectedMethod):
    """A model of selected patterns."""

    def columns(self, inputs: Inputs) -> np.ndarray:
        return features_of(self.selected)

    def table(self, inputs: Inputs, samples: np.ndarray, *, bits: bool) -> np.ndarray:
        return express(self.selected, samples)

    @classmethod
    def checked(cls, inputs: Inputs, selected: np.ndarray, *, bits: bool) -> np.ndarray:
        """Return patterns (k,) of a model file; ValueError for what samples do not have."""
        selected = selected.astype(np.intp)
        check(bits and selected.ndim == 1 and (selected > 0).all())
        check(len(np.unique(selected)) == selected.size)
        feature, value = decode(selected)
        check((feature[:, 2] >= 0).all() and (feature < inputs.width).all())
        check((value < np.append(inputs.n_values, 0)[feature])[feature >= 0].all())
        return selected


def fitted_model(
    work: PairWork, methods: dict[str, FittedMethod], X: np.ndarray, y: np.ndarray
) -> FittedModel:
    """Return the model of methods that are fitted to all samples.

    work : of the experiment; X (n, p) are codes, y (n,) classes.
    """
    design, config = work.design, work.config
    assert config.data is not None
    keys = ("classes", "features", "values", "alleles")
    about = {key: getattr(design.stored[0], key) for key in keys}
    inputs = Inputs.restore("features", about, {})
    first = None if design.covariates is None else Covariates.of(design.covariates, y)
    likeness = inputs.likeness(X, y, design.sample_groups)
    return FittedModel(
        config.experiment, config.data, inputs, methods, len(y), None, likeness, first
    )
