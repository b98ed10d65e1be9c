"""What keys of a config must be like together, kind by kind."""

from typing import TYPE_CHECKING, Any

from thesiskit.config.logistic import LogisticModel, check_peers
from thesiskit.config.selection import (
    Evaluation,
    ScreenedBlock,
    check_before,
)
from thesiskit.datasets import SOURCES
from thesiskit.datasets.source import Source
from thesiskit.defaults import TABLE_CASES
from thesiskit.errors import UserError
from thesiskit.models import MODELS

if TYPE_CHECKING:
    from thesiskit.config import Config


RANKS_NEED = {  # of data, by the kind of the model
    "naive-bayes": "needs data.source: naive-bayes with data.alpha: prior and data.relevant: all "
    "or some",
    "mixture": "needs data.source: mixture with data.alpha: prior and data.response: prior",
    "normal": "needs data.source: normal with everything drawn from the prior",
    "logistic": "needs data.source: logistic, or interactions with data.sigma: prior",
}


def check_sizes(config: "Config", p: int, error: type[Exception] | None = None) -> None:
    """Raise an error if more features, or more groups, are asked for than there are."""
    groups = config.evaluation.groups
    problem, screened = None, config.screened
    if screened is not None:
        problem, p = _screened_problem(screened, p)
    if problem is None and groups > p:
        problem = ("evaluation.groups", f"cannot make {groups} groups of {p} features")
    for k in (config.selection and config.selection.features) or []:
        if problem is None and k != "all" and k > p // groups:
            each = " in a group" if groups > 1 else ""
            problem = ("selection.features", f"cannot keep {k} of {p // groups} features{each}")
    if problem is not None:
        raise error(": ".join(problem)) if error else config.wrong(*problem)


def _screened_problem(screened: ScreenedBlock, p: int) -> tuple[tuple[str, str] | None, int]:
    """Return what is wrong with a screening of a table of p features, and how many it leaves."""
    if screened.keep is not None and screened.keep > p:
        return ("selection.screened.keep", f"cannot keep {screened.keep} of {p} features"), p
    left = screened.keep or p
    try:
        check_before(screened.of or [p], left)
    except ValueError as error:
        return ("selection.screened.of", str(error)), left
    return None, left


def check_screened(config: "Config") -> None:
    """Refuse what cannot be done with a table that was screened before."""
    screened = config.screened
    if screened is None:
        return
    if config.evaluation.groups != 1:
        raise ValueError(
            "evaluation.groups: it is not known to which group the features belong that were "
            "screened away; leave it out"
        )
    if screened.keep is not None or config.drawn:
        return
    divides = {"scheme", "folds", "test_fraction"} & config.evaluation.model_fields_set
    if divides and config.evaluation.scheme != "test-set":
        key = "scheme" if "scheme" in divides else min(divides)
        raise ValueError(
            f"evaluation.{key}: all cases took part in the screening of the table, so a test on "
            "some of them promises too few errors; give data.test_path with cases that it did not "
            "see, or leave out `evaluation`: then nothing is tested"
        )
    if config.scheme == "none" and config.replicates > 1:
        raise ValueError("replicates: nothing is divided at random here; leave it out")


def check_reduction(config: "Config") -> None:
    """Refuse what has no place beside `reduction`."""
    others = {"data", "evaluation", "selection", "model", "lattice"} & config.model_fields_set
    if others:
        raise ValueError(f"{min(others)}: an experiment with `reduction` has none; leave it out")


def check_mixture(config: "Config") -> None:
    """Refuse what the mixture model cannot do."""
    sizes = config.data.sizes if config.data else None
    cases = sizes.train if sizes else 0
    if cases > TABLE_CASES:
        raise ValueError(
            f"data.train: the mixture model takes at most {TABLE_CASES} training cases, "
            f"got {cases}; use fewer, or model.kind: naive-bayes"
        )
    if "enumeration" in config.model.samplers and (
        config.selection is None or config.selection.features != [1]
    ):
        raise ValueError("model.samplers: enumeration needs `selection.features: [1]`")


def check_normal(config: "Config") -> None:
    """Refuse what is for real features only, and what they do not have."""
    selection, data = config.selection, config.data
    if not config.takes_reals:
        if selection and selection.screened and selection.screened.f is not None:
            raise ValueError("selection.screened.f: is for model.kind: normal; give `threshold`")
        return
    if selection and "ties" in selection.model_fields_set:
        raise ValueError("selection.ties: real features hardly tie; leave it out")
    if data is None or data.sizes is None:
        return
    for number in range(data.n_settings):
        if not data.setting(number).real_features:
            raise ValueError(
                f"data.source: {data.source} draws binary features here; for model.kind: normal "
                "give real ones, of data.source signals or normal"
            )
    try:
        block = config.model
        model = MODELS[block.kind].of(block, block.variants[0], block.relevances[0])
        model.check(data.sizes.classes)
    except UserError as error:
        raise ValueError(f"model.{error}") from None


def check_temperature(config: "Config") -> None:
    """Refuse a temperature where no honest cross-validation can be made within a training set."""
    screened = config.screened
    if "cv" not in getattr(config.model, "temperature", []):
        return
    if screened is not None and screened.keep is None:
        raise ValueError(
            "model.temperature: all cases took part in the screening of the table, so a "
            "cross-validation among them says too little; leave out cv"
        )


def check_logistic(config: "Config") -> None:
    """Refuse what logistic models cannot do."""
    if not isinstance(config.model, LogisticModel):
        raise ValueError("data.source: sequences and discrete features need model.kind: logistic")
    data = config.data
    if data is None or data.family == "table":
        raise ValueError(
            "model.kind: logistic needs sequences or discrete features: data.source "
            + _either([name for name, one in SOURCES.items() if one.family != "table"])
        )
    problem = _response_problem(data, config.model)
    if problem:
        raise ValueError(problem)
    sequences = data.family == "sequences"
    if config.selection is not None:
        raise ValueError("selection: a logistic model selects no features; leave it out")
    if config.block != 1:
        raise ValueError("block: each division has a file of its own here; leave it out")
    if config.scheme != config.usual_scheme:
        what = "sequences" if sequences else "these data"
        tests = config.usual_scheme == "test-set"
        has = "come with a test set" if tests else "are divided by k-fold"
        raise ValueError(f"evaluation.scheme: {what} {has}; leave it out")
    if config.evaluation.groups != 1:
        raise ValueError("evaluation.groups: a logistic model takes all features; leave it out")
    if sequences and config.model.min_cases > 1:
        raise ValueError("model.min_cases: is for discrete features; leave it out")
    problem = check_peers(config.model, sequences=sequences)
    if problem:
        raise ValueError(f"model.peers: {problem}")


def _response_problem(data: Source, model: LogisticModel) -> str | None:
    """Say what these data have nothing to do with, by such responses; None if all is well."""
    if model.continuous and not data.real:
        real = _either([name for name, one in SOURCES.items() if one.real])
        return f"model.response: gaussian needs data.source: {real}; {data.source} has classes"
    return data.misfit(model.kind, continuous=model.continuous)


def _either(names: list[str]) -> str:
    return " or ".join(part for part in (", ".join(names[:-1]), names[-1]) if part)


def check_table(config: "Config") -> None:
    """Refuse what data of chapter 2 cannot have."""
    data = config.data
    if data is not None and data.sizes is not None and not config.takes_reals:
        problem = two_classes(config.model.kind, data.sizes.classes)
        if problem:
            raise ValueError(f"model.kind: {problem}")
    if data is None or not data.drawn:
        if config.evaluation.scheme == "test-set" and not (data and data.has_test_set):
            raise ValueError("evaluation.scheme: a test-set needs data.test_path")
        return
    if config.evaluation.scheme not in (None, "test-set"):
        raise ValueError("simulated data come with a test set; leave out evaluation.scheme")
    for number in range(data.n_settings):
        sizes = data.setting(number).sizes
        assert sizes is not None
        check_sizes(config, sizes.width, ValueError)


def two_classes(kind: str, count: int) -> str | None:
    """Say that a kind of model takes two classes, where there are more."""
    if count <= 2:
        return None
    return f"{kind} takes two classes, and there are {count}; use model.kind: normal"


def rank_problem(data: Source | None, model: Any, evaluation: Evaluation) -> str | None:
    """Say why the truth is not a draw from the model's prior; None if all is well."""
    if not evaluation.ranks:
        return None
    if evaluation.groups != 1:
        return "needs evaluation.groups: 1"
    if data is None or data.prior_of != model.kind:
        return RANKS_NEED.get(model.kind, "needs data that are drawn from the model's own prior")
    drawn = getattr(data, "relevant", "all")
    if model.kind in ("naive-bayes", "normal") and model.relevant != [drawn]:
        return (
            f"needs model.relevant: [{drawn}], because data.relevant is {drawn}; of another model "
            "ranks need not be uniform"
        )
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
