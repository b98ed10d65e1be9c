"""What an experiment of chapter 3 asks, and what its data are, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thesiskit.report.data_card import balance, listed, source_words

if TYPE_CHECKING:
    from thesiskit.report.logistic.record import LogisticRecord

MISSING = -1  # the code of a missing value


def question(record: LogisticRecord) -> str:
    """Say what is predicted from what, and by which arms."""
    config = record.config
    found = record.results.load("simulate", 0)
    orders = listed([f"{order:,}" for order in record.orders], "or")
    if "histories" in found:
        states = found["histories"].shape[1]
        text = f"Which of {_few(record.classes)} comes after {states} states?"
        patterns = f"patterns of the {orders} most recent states"
        if config["data"].get("predict") == "label":
            text = f"Is a sequence {_few(record.classes)}, judged by its last letters?"
            patterns = f"patterns of its last {orders} letters"
    else:
        column = f" of {config['data']['path']}" if config["own"] else ""
        name = config["data"].get("response", "the response")
        asked = "How large" if record.continuous else f"Which of {_few(record.classes)}"
        features = len(found["features"])
        text = f"{asked} is {name}{column}, by the values of {features:,} features?"
        patterns = f"the values of up to {orders} features together"
    priors = listed([one.capitalize() for one in config["model"]["priors"]])
    kind = "linear" if record.continuous else "logistic"
    text += (
        f" This is predicted by {kind} models with a coefficient for {patterns}, "
        f"and {priors} priors."
    )
    others = list(dict.fromkeys(arm.words for arm in record.arms if arm.peer))
    return text + (f" Other models stand beside these: {listed(others)}." if others else "")


def _few(names: list[str]) -> str:
    if len(names) <= 6:
        return listed(names, "or")
    return f"{len(names)} classes ({', '.join(names[:6])}, ...)"


def card(record: LogisticRecord) -> list[tuple[str, str]]:
    """Return what there is to say about the data: what, and the words."""
    found = record.results.load("simulate", 0)
    y, train = found["response"], int(found["train_cases"])
    rows = [("source", source_words(record.config)), ("cases", f"{len(y):,}")]
    if record.continuous:
        spread = f"mean {y.mean():.4g}, standard deviation {y.std():.4g}"
        rows.append(("response", f"from {y.min():.4g} to {y.max():.4g}, {spread}"))
    else:
        rows.append(("classes", balance(y, record.classes)))
    if "histories" in found:
        states = [str(one) for one in found["states"]]
        rows.append(("history", f"{found['histories'].shape[1]} states before each response"))
        rows.append(("states", f"{len(states)}: {', '.join(states[:20])}"))
    else:
        counts = found["n_values"]
        values = f"{counts.min()}" if counts.min() == counts.max() else (
            f"{counts.min()} to {counts.max()}"
        )  # fmt: skip
        rows.append(("features", f"{len(counts):,}, of {values} values each"))
        missing = int((found["cases"] == MISSING).sum())
        rows.append(("missing values", _missing(missing)))
    return [*rows, ("divided", _divided(record, train, len(y) - train))]


def _missing(count: int) -> str:
    if not count:
        return "none"
    return f"{count:,}; no pattern that fixes such a feature is present in the case"


def _divided(record: LogisticRecord, train: int, tests: int) -> str:
    """Say how cases were divided."""
    config = record.config
    if record.folded:
        spread = "" if record.continuous else "each class spread evenly and "
        text = (
            f"{record.folds} folds, with {spread}equal rows in one fold; the cases of a fold are "
            "predicted from those of the others"
        )
        if config["replicates"] > 1:
            text += f"; {config['replicates']:,} such divisions"
        return text
    text = f"{train:,} training cases, and the {tests:,} after them are tested"
    if config["replicates"] > 1:
        text += f"; {config['replicates']:,} such data sets"
    return text
