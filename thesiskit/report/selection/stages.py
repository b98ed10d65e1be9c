"""What the files of each stage of chapter 2 show, in a line for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from thesiskit.report import metrics, reached

if TYPE_CHECKING:
    from thesiskit.report.selection.record import Record


def summary(record: Record, stage: str) -> str:
    """Say what the files of a stage show; of some stages, those of the first block."""
    arrays = record.results.load(stage, 0)
    tell = {"simulate": _simulate, "select": _select, "fit": _fit, "predict": _predict}[stage]
    whole = stage == "simulate" or "rhat" in arrays
    first = record.n_blocks > 1 and not whole
    return tell(record, arrays) + (" in the first block" if first else "")


def _simulate(record: Record, arrays) -> str:
    fold = arrays["fold"][0]
    tests = len(np.unique(fold[fold >= 0]))
    groups = record.config["evaluation"]["groups"]
    cases = (
        f"{(fold < 0).sum():,} training and {(fold >= 0).sum():,} test cases"
        if (fold < 0).any()
        else f"{len(fold):,} cases in {tests:,} folds"
    )
    p = arrays["group"].shape[1]
    features = f"{p:,} features" + (f" in {groups} groups" if groups > 1 else "")
    replicates = record.config["replicates"]
    settings = len(record.config["data"].get("settings", [0]))
    text = f"{replicates:,} x {features}, {cases}" if replicates > 1 else f"{features}, {cases}"
    return text + (f" in the first of {settings:,} settings" if settings > 1 else "")


def _select(_record: Record, arrays) -> str:
    labels = [str(one) for one in arrays["label"]]
    gamma = metrics.gammas(arrays).reshape(-1, len(labels)).mean(axis=0)
    kept, p = (arrays[name].reshape(-1, len(labels))[0] for name in ("kept", "n_features"))
    parts = [
        f"{label} (gamma {g:.2f})" if k < of else f"{label} (nothing to correct)"
        for label, g, k, of in zip(labels, gamma, kept, p, strict=True)
    ]
    return f"kept {', '.join(parts)}" + (f" of {p[0]:,} features" if len(set(p)) == 1 else "")


def _fit(record: Record, arrays) -> str:
    names = _names(record, arrays)
    if "rhat" in arrays:
        return _sampled(record, names)
    if "promised" in arrays:  # no case is tested
        promised = zip(names, arrays["promised"].mean(axis=0), strict=True)
        return f"promised error {_few([f'{name} {value:.3f}' for name, value in promised])}"
    if record.normal:
        log_ratio = np.log(arrays["ratio"])
        weight = np.exp(arrays["log_joint"].astype(float)).sum(axis=(2, 4))  # (splits, arms, R)
        mean, word = (weight @ log_ratio / weight.sum(axis=2)).mean(axis=0), "rho"
    else:
        posterior = np.exp(arrays["log_posterior"])
        mean, word = (posterior * np.log(arrays["alpha"])).sum(axis=2).mean(axis=0), "alpha"
    # a temperature changes no posterior
    plain = arrays["temperature"] == arrays["temperature"][0]
    parts = [f"{names[j]} {mean[j]:.2f}" for j in np.flatnonzero(plain)]
    return f"mean log {word} {_few(parts)}"


def _sampled(record: Record, names: list[str]) -> str:
    blocks = [record.results.load("fit", number) for number in range(record.n_blocks)]
    rhat, ess, reliable = (
        np.concatenate([block[name] for block in blocks]) for name in ("rhat", "ess", "reliable")
    )
    parts, doubtful = [], []
    for j, name in enumerate(names):
        if np.isnan(rhat[:, j]).all():  # nothing was sampled
            continue
        parts.append(f"{name} {np.nanmax(rhat[:, j]):.2f} ({np.nanmin(ess[:, j]):.0f})")
        bad = int((reliable[:, j] == 0).sum())
        if bad:
            doubtful.append(name + (f" ({bad:,} of {len(rhat):,} fits)" if len(rhat) > 1 else ""))
    text = f"largest R-hat (and fewest effective draws) {_few(parts)}" if parts else "enumerated"
    if record.config["model"]["until"]:
        text += "; " + reached.in_words(record.fits)
    if doubtful:
        text += (
            f"; WARNING: the chains do not support the predictions of {_few(doubtful)}: "
            "more iterations are needed"
        )
    return text


def _predict(record: Record, arrays) -> str:
    parts = [
        f"{name} {metrics.error_rate(p, arrays['response']):.3f} ({metrics.expected_error(p):.3f})"
        for name, p in zip(_names(record, arrays), arrays["probability"], strict=True)
        if not np.isnan(p).all()  # it takes two classes, and there are more
    ]
    return f"error rate (and expected) {_few(parts)}"


def _names(record: Record, arrays) -> list[str]:
    """Return short names of the arms of a stage."""
    model = record.config["model"]
    several = len(model.get("samplers" if record.mixture else "quadrature", ())) > 1
    names = ("label", "method", "variant", "relevant", "temperature")
    return [
        f"{label} {method}"
        + (f" {variant}" if several else "")
        + (" some" if one == "some" else "")
        + (" tempered" if temperature == "cv" else "")
        for label, method, variant, one, temperature in zip(
            *(arrays[name] for name in names), strict=True
        )
    ]


def _few(parts: list[str], most: int = 4) -> str:
    return ", ".join(parts[:most]) + (", ..." if len(parts) > most else "")
