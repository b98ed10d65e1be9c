"""What the files of each stage of chapter 3 show, in a line for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from thesiskit.report import metrics, reached

if TYPE_CHECKING:
    from thesiskit.report.logistic.record import LogisticRecord

COUNTED = ("order", "groups", "patterns", "stopped")


def summary(record: LogisticRecord, stage: str) -> str:
    """Say what the files of a stage show, those of the first division."""
    tell = {"simulate": _simulate, "compress": _compress, "fit": _fit, "predict": _predict}[stage]
    first = "of the first division: " if record.n_blocks > 1 else ""
    names = COUNTED if stage == "compress" else None  # the groups themselves can be many
    return first + tell(record, record.results.load(stage, 0, names))


def _simulate(record: LogisticRecord, arrays) -> str:
    train, cases = int(arrays["train_cases"]), len(arrays["response"])
    y = arrays["response"]
    responses = (
        f"response from {y.min():.4g} to {y.max():.4g}"
        if record.continuous
        else f"{len(arrays['classes'])} classes"
    )
    return f"{train:,} training and {cases - train:,} test cases, {_cases(arrays)}, {responses}"


def _cases(arrays) -> str:
    """Say what a case is."""
    if "states" in arrays:
        states = [str(one) for one in arrays["states"]]
        few = ", ".join(states[:9]) + (", ..." if len(states) > 9 else "")
        return f"histories of {arrays['histories'].shape[1]} states ({few})"
    counts = sorted({len(str(one).split("\t")) for one in arrays["values"]})
    values = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    return f"{len(arrays['features'])} features of {values} values"


def _compress(record: LogisticRecord, arrays) -> str:  # noqa: ARG001
    last = int(np.argmax(arrays["order"]))
    stopped = int(arrays["stopped"])
    groups, patterns = int(arrays["groups"][last]), int(arrays["patterns"][last])
    order = int(arrays["order"][last])
    growth = f"; no new groups beyond order {stopped}" if stopped < order else ""
    return (
        f"order {order}: {groups:,} groups of {patterns:,} patterns "
        f"(ratio {groups / patterns:.3f}){growth}"
    )


def _fit(record: LogisticRecord, arrays) -> str:
    rhat, ess = arrays["rhat"][:, 0], arrays["ess"][:, 0]
    names = [str(name) for name in arrays["name"]]
    bad = [name for name, well in zip(names, arrays["reliable"], strict=True) if not well]
    text = (
        f"{len(names)} fits, R-hat of the log likelihood up to {np.nanmax(rhat):.2f}, "
        f"effective draws from {np.nanmin(ess):.0f}"
    )
    model = record.config["model"]
    if model["until"] is not None:
        text += "; " + reached.in_words(arrays, model["until"]["of"])
    if bad:
        few = ", ".join(bad[:4]) + (", ..." if len(bad) > 4 else "")
        text += (
            f"; WARNING: the chains do not support the predictions of {few}; "
            f"try --set model.iterations={4 * model['iterations']}"
        )
    apart = [name for name, is_so in zip(names, arrays["separated"], strict=True) if is_so]
    if apart:
        text += f"; {parted(apart)}"
    return text


def parted(names: list[str]) -> str:
    """Say what it means that a draw of some models tells the classes apart."""
    few = "; ".join(names[:4]) + ("; ..." if len(names) > 4 else "")
    return (
        f"patterns tell the classes of all training cases apart ({few}): only the prior bounds the "
        "coefficients there, and their sizes mean little; predictions keep their meaning"
    )


def _predict(record: LogisticRecord, arrays) -> str:
    words, found, score = (
        ("root mean squared error", arrays["median"], metrics.root_mean_square)
        if record.continuous
        else ("AMLP", arrays["probability"], metrics.class_amlp)
    )
    scores = [
        (score(one, arrays["response"]), str(name))
        for one, name in zip(found, arrays["name"], strict=True)
    ]
    best = sorted(scores)[:3]
    return f"lowest {words} " + ", ".join(f"{name} {value:.4g}" for value, name in best)
