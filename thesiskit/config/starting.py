"""A config to start from, for a file that has been looked at: commented YAML."""

import json
import os
import re
from pathlib import Path
from typing import Any

from thesiskit.datasets.looking import Found, Key
from thesiskit.defaults import (
    UNTIL_CHAINS,
    UNTIL_ESS,
    UNTIL_FEWER_ITERATIONS,
    UNTIL_ITERATIONS,
    UNTIL_RHAT,
)
from thesiskit.errors import cut

PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*")
RESERVED = {"true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf"}
SELECTED = "selected-features"
MOST_FOLDS = 10
LEAST_TEMPERED = 6  # cases of each class, of which most are in a training set
SIZES = (10, 100)  # of selections
MANY_FEATURES = 100  # up to so many, all are kept too
WIDE = 1000  # values of all features, above which fits take long
PAIRS = 20_000  # of values of two features, up to which their patterns are listed
LISTED = 20  # columns to ignore, of which each has a line of its own
CHAIN_PARTS = ["reached-table", "chain-table"]
PATTERN_PARTS = ["coefficient-table", "pattern-explorer"]
PARTS = {  # after the summary and the data card
    "table": ["score-table", "reliability-figure", "selected-features", "predictions"],
    "classes": ["model-table", *PATTERN_PARTS, "predictions", *CHAIN_PARTS],
    "numbers": ["response-table", *PATTERN_PARTS, "predictions", *CHAIN_PARTS],
    "sequences": ["order-table", "order-figure", "pattern-explorer", "predictions", *CHAIN_PARTS],
}


def starting_config(path: Path, found: Found, folder: Path) -> str:
    """Return the YAML text of a config for a file.

    path : the file; folder : where the config will be saved, from which its path is written.
    """
    name = experiment_name(path)
    lines = [
        f"# Written by `thesiskit init` from a look at {cut(path.name)}. What it guessed is said",
        "# beside each key: change what is wrong. Results: thesiskit run THIS-FILE",
        f"experiment: {name} # the name of the folder with the results",
        f"title: {_text(_title(path, found))}",
        f"about: {_text(_about(found))}",
        "data:",
        *_data(found, path, folder),
    ]
    blocks = {"table": _selection, "features": _patterns, "sequences": _sequences}
    return "\n".join([*lines, *blocks[found.family](found), ""])


def experiment_name(path: Path) -> str:
    """Return a name for an experiment, made of the name of a file."""
    stem = path.name.lower()
    for _ in range(2):  # table.csv.gz
        stem = stem.removesuffix(Path(stem).suffix) or stem
    name = re.sub(r"[^a-z0-9]+", "-", stem)[:60].strip("-")
    return f"my-{name}" if name else "my-table"


def _title(path: Path, found: Found) -> str:
    return f"Predictions of {cut(found.response, 40)} in {cut(path.name, 60)}"


def _about(found: Found) -> str:
    width = f"{found.width:,} {'states' if found.family == 'sequences' else 'features'}"
    return f"{found.cases:,} cases with {width} each."


# ---- blocks ----


def _data(found: Found, path: Path, folder: Path) -> list[str]:
    lines = []
    for key in found.data:
        if key.name == "path":
            lines.append(f"  path: {_text(_relative(path, folder))} # from the folder of this file")
        elif key.name == "ignore":
            lines += _ignored(key)
        else:
            why = f" # {cut(key.why, 120)}" if key.why else ""
            lines.append(f"  {key.name}: {_value(key.value)}{why}")
    return lines


def _ignored(key: Key) -> list[str]:
    """Return the list of columns to leave out, with reasons."""
    if len(key.value) <= LISTED:
        return ["  ignore:", *(f"    - {_text(name)} # {cut(why, 80)}" for name, why in key.value)]
    reasons: dict[str, list[str]] = {}
    for name, why in key.value:
        reasons.setdefault("the same in all cases" if "in all cases" in why else why, []).append(
            name
        )
    lines = ["  ignore:"]
    for why, names in reasons.items():
        lines += [f"    # {cut(why, 80)}", *(f"    - {_text(name)}" for name in names)]
    return lines


def _selection(found: Found) -> list[str]:
    sizes: list[int | str] = [k for k in SIZES if k < found.width]
    if not sizes and found.width > 1:
        sizes = [max(1, found.width // 2)]
    if found.width <= MANY_FEATURES:
        sizes.append("all")
    return [
        *_folds(found),
        "selection:",
        f"  features: {_value(sizes)} # how many to keep, by {_measure(found)}",
        "model:",
        *(_normal(found) if found.real else []),
        "  methods: # with the correction for the selection, without, and another model",
        "    [corrected, uncorrected, l2-logistic]",
        "  relevant: [some] # some features matter, not all alike; how many, is estimated",
        *_report([part for part in PARTS["table"] if sizes != ["all"] or part != SELECTED]),
    ]


def _measure(found: Found) -> str:
    """Say by what features are selected."""
    return "the F statistic" if found.real else "correlation with the response"


def _normal(found: Found) -> list[str]:
    """Return what the block of a model for real features has besides."""
    lines = ["  kind: normal # features are normal in each class; naive-bayes cuts them at medians"]
    if found.smallest < LEAST_TEMPERED:
        return [*lines, "  temperature: [none] # cv needs more cases of each class"]
    return [
        *lines,
        "  temperature: # cv: how far features say the same is found by cross-validation inside",
        "    [none, cv]",
    ]


def _patterns(found: Found) -> list[str]:
    wide = found.width * found.values > WIDE
    pairs = (found.width * found.values) ** 2 / 2
    orders = [1, 2] if found.width > 1 and pairs <= PAIRS else [1]
    response = (
        ["  response: gaussian # a real number, with normal noise"] if found.continuous else []
    )
    return [
        *_folds(found, MOST_FOLDS // 2 if wide else MOST_FOLDS),
        *_chains(orders, "patterns of so many features at most", response, wide=wide),
        f"  peers: [{'ridge' if found.continuous else 'logistic-regression'}] # to compare with",
        *_report(PARTS["numbers" if found.continuous else "classes"]),
        *_smoke(),
        "  evaluation.folds: 2",
    ]


def _sequences(found: Found) -> list[str]:
    orders = sorted({min(2, found.width), min(5, found.width)})
    return [
        *_chains(orders, "patterns of so many of the last states at most", []),
        "  peers: [logistic-regression] # to compare with",
        *_report(PARTS["sequences"]),
        *_smoke(),
    ]


def _folds(found: Found, most: int = MOST_FOLDS) -> list[str]:
    folds = max(2, min(most, found.smallest))
    return ["evaluation:", f"  folds: {folds} # each is predicted from the others"]


def _chains(orders: list[int], said: str, response: list[str], *, wide: bool = False) -> list[str]:
    limit = UNTIL_FEWER_ITERATIONS if wide else UNTIL_ITERATIONS
    return [
        "model:",
        "  kind: logistic",
        *response,
        f"  orders: {_value(orders)} # {said}",
        f"  chains: {UNTIL_CHAINS}",
        f"  until: {{ rhat: {UNTIL_RHAT:g}, ess: {UNTIL_ESS:g} }} # chains stop when they agree",
        f"  iterations: {limit} # at most; more go on from there",
    ]


def _report(parts: list[str]) -> list[str]:
    return ["report:", f"  parts: {_value(['summary', 'data-card', *parts])}"]


def _smoke() -> list[str]:
    return [
        "smoke: # what `thesiskit run --smoke` changes, for a quick look",
        "  model.iterations: 200",
    ]


# ---- values ----


def _relative(path: Path, folder: Path) -> str:
    try:
        return Path(os.path.relpath(path, folder)).as_posix()
    except ValueError:  # another drive
        return path.absolute().as_posix()


def _value(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    return _text(value) if isinstance(value, str) else json.dumps(value)


def _text(text: str) -> str:
    """Return text as YAML that reads as the same text."""
    if PLAIN.fullmatch(text) and text.lower() not in RESERVED:
        return text
    return json.dumps(text, ensure_ascii=not text.isprintable())
