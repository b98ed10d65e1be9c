"""One line about what a stage of chapter 2 has done, for the end of a command."""

import numpy as np

from thesiskit.report import metrics
from thesiskit.report.selection.record import gammas


def summary(work, stage: str) -> str:
    """Say what the stage's files show."""
    experiment = work.experiment
    arrays = experiment.results.load(stage, 0)
    tell = {"simulate": _simulate, "select": _select, "fit": _fit, "predict": _predict}[stage]
    more = len(experiment.blocks) - 1
    whole = stage == "simulate" or "rhat" in arrays
    return tell(work, arrays) + (" in the first block" if more and not whole else "")


def _simulate(work, arrays) -> str:
    fold = arrays["fold"][0]
    tests = len(np.unique(fold[fold >= 0]))
    groups = work.config.evaluation.groups
    cases = (
        f"{(fold < 0).sum():,} training and {(fold >= 0).sum():,} test cases"
        if (fold < 0).any()
        else f"{len(fold):,} cases in {tests:,} folds"
    )
    p = arrays["group"].shape[1]
    features = f"{p:,} features" + (f" in {groups} groups" if groups > 1 else "")
    replicates = work.config.replicates
    return f"{replicates:,} x {features}, {cases}" if replicates > 1 else f"{features}, {cases}"


def _select(work, arrays) -> str:
    sizes = work.config.selection.features or [
        f"|COR| > {one}" for one in work.config.selection.thresholds
    ]
    gamma = gammas(arrays["gamma_squared"]).reshape(-1, len(sizes)).mean(axis=0)
    p = arrays["n_features"].reshape(-1, len(sizes))[0]
    parts = [
        f"{size} (gamma {g:.2f})" if size not in ("all", of) else f"{size} (nothing to correct)"
        for size, g, of in zip(sizes, gamma, p, strict=True)
    ]
    return f"kept {', '.join(parts)} of {p[0]:,} features"


def _fit(work, arrays) -> str:
    if "rhat" in arrays:
        return _sampled(work)
    posterior = np.exp(arrays["log_posterior"])
    mean = (posterior * np.log(arrays["alpha"])).sum(axis=2).mean(axis=0)
    names = work.arm_names
    parts = [f"{names[i]} {value:.2f}" for i, value in zip(arrays["arm"], mean, strict=True)]
    return f"mean log alpha {_few(parts)}"


def _sampled(work) -> str:
    experiment = work.experiment
    blocks = [experiment.results.load("fit", number) for number in range(len(experiment.blocks))]
    rhat, ess, reliable = (
        np.concatenate([block[name] for block in blocks]) for name in ("rhat", "ess", "reliable")
    )
    names = [work.arm_names[i] for i in blocks[0]["arm"]]
    parts, doubtful = [], []
    for j, name in enumerate(names):
        if np.isnan(rhat[:, j]).all():  # nothing was sampled
            continue
        parts.append(f"{name} {np.nanmax(rhat[:, j]):.2f} ({np.nanmin(ess[:, j]):.0f})")
        bad = int((reliable[:, j] == 0).sum())
        if bad:
            doubtful.append(name + (f" ({bad:,} of {len(rhat):,} fits)" if len(rhat) > 1 else ""))
    text = f"largest R-hat (and fewest effective draws) {_few(parts)}" if parts else "enumerated"
    if doubtful:
        text += (
            f"; WARNING: the chains do not support the predictions of {_few(doubtful)}: "
            "more iterations are needed"
        )
    return text


def _predict(work, arrays) -> str:
    names = work.arm_names
    parts = [
        f"{names[i]} {metrics.error_rate(p, arrays['response']):.3f} "
        f"({metrics.expected_error(p):.3f})"
        for i, p in enumerate(arrays["probability"])
    ]
    return f"error rate (and expected) {_few(parts)}"


def _few(parts: list[str], most: int = 4) -> str:
    return ", ".join(parts[:most]) + (", ..." if len(parts) > most else "")
