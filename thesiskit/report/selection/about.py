"""What an experiment of chapter 2 asks, and what its data are, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from thesiskit.errors import cut
from thesiskit.report.data_card import balance, listed, parts, source_words
from thesiskit.report.selection.ways import method_words

if TYPE_CHECKING:
    from thesiskit.report.selection.record import Record

MODELS = {
    "naive-bayes": "naive Bayes",
    "mixture": "the mixture model",
    "normal": "naive Bayes with normal features",
}
MOST_NAMED = 6  # classes of a question


def question(record: Record) -> str:
    """Say what is predicted from what, and by which arms."""
    config, classes = record.config, [record.class_words(y) for y in range(record.n_classes)]
    column = config["data"].get("response") if config["own"] else None
    asked = f"Is a case {classes[1]} or {classes[0]}"
    if len(classes) > 2:
        named = [cut(one) for one in classes[:MOST_NAMED]]
        more = len(classes) - len(named)
        named += [f"one of {more} more"] if more else []
        asked = f"To which class does a case belong: {listed(named, 'or')}"
    text = asked + (f" (the column {column} of {config['data']['path']})?" if column else "?")
    model, wanted = MODELS[config["model"]["kind"]], config["model"]["methods"]
    methods = [one for one in ("corrected", "uncorrected") if one in wanted]
    how = {"corrected": "with", "uncorrected": "without"}[methods[0]]
    how = "with and without" if len(methods) == 2 else how
    text += (
        f" This is predicted from {_sizes(config['selection'], features(record))}, by {model} "
        f"{how} the correction for this selection."
    )
    peers = list(dict.fromkeys(
        method_words(arm.method) for arm in record.arms
        if arm.method in wanted and arm.method not in methods and arm.row not in record.silent
    ))  # fmt: skip
    return text + (f" Other models stand beside these: {listed(peers)}." if peers else "")


def _sizes(selection: dict, p: int) -> str:
    """Say which of p features are kept."""
    if selection["features"]:
        kept = [f"{one:,}" for one in selection["features"] if one != "all"]
        if not kept:
            return f"all {p:,} features"
        best = f"the {listed(kept)} of {p:,} features that correlate best with it in training cases"
        return best + (", and from all" if "all" in selection["features"] else "")
    limits = listed([f"{one:g}" for one in selection["thresholds"]])
    return f"those of {p:,} features whose correlation with it exceeds {limits} in training cases"


def features(record: Record) -> int:
    """Return the number of features of the table, in all groups together."""
    return record.results.load("simulate", 0, ("group",))["group"].shape[1]


def card(record: Record) -> list[tuple[str, str]]:
    """Return what there is to say about the data: what, and the words."""
    config = record.config
    found = record.results.load("simulate", 0, ("response", "fold"))
    response, fold = found["response"][0].astype(np.int64), found["fold"][0]
    names = [record.class_words(y) for y in range(record.n_classes)]
    rows = [
        ("source", source_words(config)),
        ("cases", f"{len(response):,}"),
        ("classes", balance(response, names)),
        ("features", f"{features(record):,}{_screened(config['selection']['screened'])}"),
    ]
    columns = record.simulated.get("columns")
    if columns is not None:
        rows.append(("missing values", f"{columns[4]:,}" if columns[4] else "none"))
        said = ("values", _values(columns)) if record.normal else None
        rows.append(said or ("made binary", _binary(columns, config["data"])))
    return [*rows, ("divided", _divided(config, fold))]


def _screened(screened: dict | None) -> str:
    """Say how the table was screened before; nothing if it was not."""
    if screened is None:
        return ""
    of = listed([f"{one:,}" for one in screened["of"] or ()] or [""], "or")
    if screened["keep"] is not None:
        said = f" (said to be kept from {of})" if of else ""
        return f", of which each training set keeps the best {screened['keep']:,}{said}"
    above, f = screened["threshold"], screened.get("f")
    how = (
        "the best ones" if above is None else f"those with an absolute correlation above {above:g}"
    )
    how = how if f is None else f"those with an F statistic above {f:g}"
    return f", {how} of {of}"


def _binary(columns: np.ndarray, data: dict) -> str:
    """Say which columns were made binary, and how."""
    of = "all cases" if data.get("binarise") == "all-medians" else "each training set"
    return parts(
        [
            (int(columns[2]), f"cut at the median of {of} (1 is above it)"),
            (int(columns[1]), "with two values (1 is the larger one)"),
            (int(columns[0]), "already 0 and 1"),
            (int(columns[3]), "with one value only, which say nothing"),
        ]
    )


def _values(columns: np.ndarray) -> str:
    """Say which columns are real."""
    return parts(
        [
            (int(columns[2]), "real, taken as they are"),
            (int(columns[1] + columns[0]), "with two values, taken as real ones"),
            (int(columns[3]), "with one value only, which are left out"),
        ]
    )


def _divided(config: dict, fold: np.ndarray) -> str:
    """Say how cases were divided."""
    tests = int((fold >= 0).sum())
    text = {
        "test-set": f"{len(fold) - tests:,} training cases, and {tests:,} test cases of their own",
        "holdout": f"{tests:,} of the cases, drawn at random in each class, are tested, and the "
        f"others train",
        "none": "all cases train",
        "leave-one-out": "each case is predicted from all others",
        "k-fold": f"{len(np.unique(fold))} folds, drawn at random in each class; the cases of a "
        "fold are predicted from those of the others",
    }[config["scheme"]]
    if config["replicates"] > 1:
        what = "data sets" if config["drawn"] else "random divisions"
        text += f"; {config['replicates']:,} such {what}"
    groups = config["evaluation"]["groups"]
    if groups > 1:
        text += f"; the features are divided at random into {groups} groups, analysed one by one"
    return text
