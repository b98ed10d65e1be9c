"""What data must be like for simulation-based calibration."""

from typing import Any

from thesiskit.config.logistic import LogisticModel, PriorData
from thesiskit.config.selection import (
    Evaluation,
    MixtureData,
    MixtureModel,
    NaiveModel,
    SimulatedData,
)


def rank_problem(data: Any, model: Any, evaluation: Evaluation) -> str | None:
    """Say why the truth is not a draw from the model's prior; None if all is well."""
    if not evaluation.ranks:
        return None
    if evaluation.groups != 1:
        return "needs evaluation.groups: 1"
    if isinstance(model, NaiveModel):
        drawn = isinstance(data, SimulatedData) and data.alpha == "prior"
        return None if drawn else "needs data.source: naive-bayes with data.alpha: prior"
    if isinstance(model, MixtureModel):
        if not (isinstance(data, MixtureData) and data.alpha == data.response == "prior"):
            return "needs data.source: mixture with data.alpha: prior and data.response: prior"
        if not isinstance(data.train, int):
            return "needs labels that are drawn; give data.train as one number"
        return None
    assert isinstance(model, LogisticModel)
    if not (isinstance(data, PriorData) or getattr(data, "sigma", None) == "prior"):
        return "needs data.source: logistic, or interactions with data.sigma: prior"
    if model.orders[0] == 0:
        return "needs an order above 0, first in model.orders"
    if model.continuous and model.standardise:
        return "needs model.standardise: false; standardised, the priors depend on the responses"
    if model.min_cases > 1:
        return "needs all patterns; leave out model.min_cases"
    return None
