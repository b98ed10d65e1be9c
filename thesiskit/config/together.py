"""What keys of a config must be like together, kind by kind."""

from typing import TYPE_CHECKING

from thesiskit.config.features import FEATURES, check_response
from thesiskit.config.logistic import SEQUENCES, LogisticModel, check_peers
from thesiskit.config.selection import DRAWN, MixtureModel
from thesiskit.defaults import TABLE_CASES

if TYPE_CHECKING:
    from thesiskit.config import Config


def check_sizes(config: "Config", p: int, error: type[Exception] | None = None) -> None:
    """Raise an error if more features, or more groups, are asked for than there are."""
    groups = config.evaluation.groups
    problem = None
    if groups > p:
        problem = ("evaluation.groups", f"cannot make {groups} groups of {p} features")
    for k in (config.selection and config.selection.features) or []:
        if problem is None and k != "all" and k > p // groups:
            each = " in a group" if groups > 1 else ""
            problem = ("selection.features", f"cannot keep {k} of {p // groups} features{each}")
    if problem is not None:
        raise error(": ".join(problem)) if error else config.wrong(*problem)


def check_reduction(config: "Config") -> None:
    """Refuse what has no place beside `reduction`."""
    others = {"data", "evaluation", "selection", "model", "lattice"} & config.model_fields_set
    if others:
        raise ValueError(f"{min(others)}: an experiment with `reduction` has none; leave it out")


def check_mixture(config: "Config") -> None:
    """Refuse what the mixture model cannot do."""
    assert isinstance(config.model, MixtureModel)
    train = getattr(config.data, "train", None)
    cases = sum(train) if isinstance(train, tuple) else train or 0
    if cases > TABLE_CASES:
        raise ValueError(
            f"data.train: the mixture model takes at most {TABLE_CASES} training cases, "
            f"got {cases}; use fewer, or model.kind: naive-bayes"
        )
    if "enumeration" in config.model.samplers and (
        config.selection is None or config.selection.features != [1]
    ):
        raise ValueError("model.samplers: enumeration needs `selection.features: [1]`")


def check_logistic(config: "Config") -> None:
    """Refuse what logistic models cannot do."""
    if not isinstance(config.model, LogisticModel):
        raise ValueError("data.source: sequences and discrete features need model.kind: logistic")
    sequences = isinstance(config.data, SEQUENCES)
    if not sequences and not isinstance(config.data, FEATURES):
        raise ValueError(
            "model.kind: logistic needs sequences or discrete features: data.source hidden-markov, "
            "text, sequences, logistic, interactions, tic-tac-toe, splice, votes, epistasis or "
            "table"
        )
    problem = check_response(config.data, config.model.continuous)
    if problem:
        raise ValueError(problem)
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


def check_simulated(config: "Config") -> None:
    """Refuse what data that are drawn cannot have."""
    data, selection = config.data, config.selection
    assert isinstance(data, DRAWN)
    assert selection is not None
    if config.evaluation.scheme not in (None, "test-set"):
        raise ValueError("simulated data come with a test set; leave out evaluation.scheme")
    check_sizes(config, data.features, ValueError)
