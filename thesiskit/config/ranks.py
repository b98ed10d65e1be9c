"""What data must be like for simulation-based calibration."""

from typing import Any

from thesiskit.config.selection import Evaluation
from thesiskit.datasets.source import Source

NEEDS = {  # of data, by the kind of the model
    "naive-bayes": "needs data.source: naive-bayes with data.alpha: prior",
    "mixture": "needs data.source: mixture with data.alpha: prior and data.response: prior",
    "logistic": "needs data.source: logistic, or interactions with data.sigma: prior",
}


def rank_problem(data: Source | None, model: Any, evaluation: Evaluation) -> str | None:
    """Say why the truth is not a draw from the model's prior; None if all is well."""
    if not evaluation.ranks:
        return None
    if evaluation.groups != 1:
        return "needs evaluation.groups: 1"
    if data is None or data.prior_of != model.kind:
        return NEEDS[model.kind]
    if model.kind == "mixture" and isinstance(getattr(data, "train", None), tuple):
        return "needs labels that are drawn; give data.train as one number"
    if model.kind != "logistic":
        return None
    if model.orders[0] == 0:
        return "needs an order above 0, first in model.orders"
    if model.continuous and model.standardise:
        return "needs model.standardise: false; standardised, the priors depend on the responses"
    if model.min_cases > 1:
        return "needs all patterns; leave out model.min_cases"
    return None
