"""A finished experiment of chapter 2, for tables and figures."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from thesiskit.report import metrics
from thesiskit.report.finished import THESIS, Finished

EXACT = "enumeration"  # the variant without draws
AT_END = 0.1  # with a larger fraction of draws at an end, the grid of alpha should be wider


@dataclass(frozen=True)
class Arm:
    """One analysis: the selection, the method, and the rule or sampler.

    row : its row in the arrays of predictions.
    """

    row: int
    label: str
    method: str
    variant: str

    @property
    def words(self) -> str:
        """The method, as tables name it."""
        return method_words(self.method)


def method_words(method: str) -> str:
    """Return a method as tables and legends name it."""
    return {
        "bernoulli-nb": "SelectKBest + BernoulliNB",
        "bernoulli-nb-calibrated": "the same in CalibratedClassifierCV",
        "naive-corrected": "naive Bayes, corrected",
        "naive-uncorrected": "naive Bayes, uncorrected",
    }.get(method, method)


class Record(Finished):
    """Arrays of all blocks of an experiment of chapter 2, loaded when asked for."""

    def summary(self, stage: str) -> str:
        """Say in a line what the files of a stage show."""
        return _summary(self, stage)

    @cached_property
    def predictions(self) -> dict[str, np.ndarray]:
        """Predictions (arms, N), and the replicate, fold, case and response of each, (N,)."""
        names = ("replicate", "group", "fold", "case", "response", "seconds")
        return self._join("predict", {"probability": 1} | dict.fromkeys(names, 0))

    @cached_property
    def selection(self) -> dict[str, np.ndarray]:
        """Arrays of the stage `select`, with one entry for each split and each size."""
        names = (
            "gamma_squared",
            "n_features",
            "kept",
            "tied",
            "tied_kept",
            "seconds",
        )
        return self._join("select", dict.fromkeys(names, 0))

    @cached_property
    def fits(self) -> dict[str, np.ndarray]:
        """Arrays of the stage `fit`; posteriors and traces are those of the first block."""
        names = ["seconds"]
        if self.mixture:
            names += ["rhat", "ess", "at_end", "table", "means", "errors", "reliable", "exchanged"]
        return self._join("fit", dict.fromkeys(names, 0))

    @cached_property
    def arms(self) -> list[Arm]:
        """All arms, in the order of the arrays."""
        found = self.predictions
        return [
            Arm(i, str(label), str(method), str(variant))
            for i, (label, method, variant) in enumerate(
                zip(found["label"], found["method"], found["variant"], strict=True)
            )
        ]

    @property
    def labels(self) -> list[str]:
        """The selections, in the order of the config."""
        return list(dict.fromkeys(arm.label for arm in self.arms))

    @property
    def variants(self) -> list[str]:
        """The rules for theta, or the samplers, used."""
        return [q for q in dict.fromkeys(arm.variant for arm in self.arms) if q != "none"]

    @property
    def variant_name(self) -> str:
        """The word for what varies: the sampler or the rule of quadrature."""
        return "sampler" if self.mixture else "quadrature"

    @property
    def mixture(self) -> bool:
        """Whether the model is the mixture model."""
        return self.config["model"]["kind"] == "mixture"

    @property
    def main_arms(self) -> list[Arm]:
        """The arms with the first rule or sampler, and those that have none."""
        return [arm for arm in self.arms if arm.variant in (self.variants[0], "none")]

    def methods(self, order: Iterable[str]) -> list[str]:
        """The methods used, in the order given; corrected if the arms keep all features."""
        used = {arm.method for arm in self.arms}
        return [method for method in order if method in used] or ["corrected"]

    def find(self, label: str, method: str, variant: str | None = None) -> Arm | None:
        """Return an arm, None if there is none.

        With all features there is one arm, which counts as corrected and as uncorrected.
        """
        wanted = variant or self.variants[0]
        for arm in self.arms:
            if arm.label == label and arm.variant in (wanted, "none"):
                own = method in ("corrected", "uncorrected")
                if arm.method == method or (arm.method == "complete" and own):
                    return arm
        return None

    def probability(self, arm: Arm) -> np.ndarray:
        """Predictive probabilities of class 1, (N,)."""
        return self.predictions["probability"][arm.row]

    @property
    def response(self) -> np.ndarray:
        """The response of every test case, (N,)."""
        return self.predictions["response"]

    def kept(self, label: str) -> float:
        """How many features a label stands for, the mean where it varies."""
        return float(np.mean(dict(self.by_size("kept"))[label]))

    def by_size(self, name: str) -> Iterator[tuple[str, np.ndarray]]:
        """Yield each label with the entries of the selection array `name` for it."""
        for i, label in enumerate(self.labels):
            yield label, self.selection[name][i :: len(self.labels)]

    @cached_property
    def thesis_calibration(self) -> pd.DataFrame | None:
        """The thesis's calibration table, None where there is none."""
        name = self.thesis.get("calibration_table")
        return pd.read_csv(THESIS / name, dtype={"features_selected": str}) if name else None

    @cached_property
    def fitted_arms(self) -> list[Arm]:
        """The arms that were fitted, in the order of the columns of the fit stage."""
        return [self.arms[int(row)] for row in self.fits["arm"]]

    @property
    def sampled_arms(self) -> list[tuple[int, Arm]]:
        """The arms that have draws, with their columns in the arrays of the fit stage."""
        if not self.mixture:
            return []
        return [(j, arm) for j, arm in enumerate(self.fitted_arms) if arm.variant != EXACT]

    @property
    def warnings(self) -> list[str]:
        """Sentences about samplers whose chains do not support their predictions."""
        fits = self.fits
        doubtful: dict[str, list[str]] = {}
        at_end: dict[str, list[str]] = {}
        for j, arm in self.sampled_arms:
            name = f"{arm.label} {arm.words}"
            bad, of = int((fits["reliable"][:, j] == 0).sum()), len(fits["reliable"])
            if bad:
                where = f"{bad:,} of {of:,} fits, " if of > 1 else ""
                rhat, ess = np.nanmax(fits["rhat"][:, j]), np.nanmin(fits["ess"][:, j])
                doubtful.setdefault(arm.variant, []).append(
                    f"{name} ({where}R-hat up to {rhat:.2f}, effective draws down to {ess:.0f})"
                )
            end = np.nanmax(fits["at_end"][:, j].mean(axis=0))
            points = self.config["model"]["collapsed" if arm.variant == "collapsed" else "thesis"]
            by_prior = 1 / points["alpha_points"]  # the prior probability of each end
            if end > max(AT_END, 2 * by_prior):
                at_end.setdefault(arm.variant, []).append(f"{name} ({end:.0%} of the draws)")
        return [
            f"{variant} sampler: the chains do not support the predictions with "
            f"{'; '.join(names)}. More iterations are needed."
            for variant, names in doubtful.items()
        ] + [
            f"{variant} sampler: alpha is often at an end of its grid with {'; '.join(names)}. The "
            "grid should be widened: more alpha_points, or another alpha_prior."
            for variant, names in at_end.items()
        ]

    def timings(self) -> list[dict[str, Any]]:
        """Rows of timings.csv: seconds by arm and stage."""
        select = dict(self.by_size("seconds"))
        fit_column = {int(row): j for j, row in enumerate(self.fits["arm"])}
        rows = []
        for arm in self.arms:
            own = arm.row in fit_column
            fit = self.fits["seconds"][:, fit_column[arm.row]].sum() if own else np.nan
            predict = self.predictions["seconds"][:, arm.row].sum()
            rows.append(
                {
                    "features": arm.label,
                    "method": arm.words,
                    self.variant_name: arm.variant,
                    "select": select[arm.label].sum() if own else np.nan,
                    "fit": fit,
                    "predict": predict if own else np.nan,
                    "fit and predict": fit + predict if own else predict,
                }
            )
        return rows


def gammas(squares: np.ndarray) -> np.ndarray:
    """Return gamma from stored fractions "a/b" of its square."""
    return np.sqrt([float(Fraction(str(square))) for square in squares])


def _summary(record: Record, stage: str) -> str:
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
    return f"{replicates:,} x {features}, {cases}" if replicates > 1 else f"{features}, {cases}"


def _select(record: Record, arrays) -> str:
    selection = record.config["selection"]
    sizes = selection["features"] or [f"|COR| > {one}" for one in selection["thresholds"]]
    gamma = gammas(arrays["gamma_squared"]).reshape(-1, len(sizes)).mean(axis=0)
    p = arrays["n_features"].reshape(-1, len(sizes))[0]
    parts = [
        f"{size} (gamma {g:.2f})" if size not in ("all", of) else f"{size} (nothing to correct)"
        for size, g, of in zip(sizes, gamma, p, strict=True)
    ]
    return f"kept {', '.join(parts)} of {p[0]:,} features"


def _fit(record: Record, arrays) -> str:
    names = _names(record, arrays)
    if "rhat" in arrays:
        return _sampled(record, names)
    posterior = np.exp(arrays["log_posterior"])
    mean = (posterior * np.log(arrays["alpha"])).sum(axis=2).mean(axis=0)
    parts = [f"{name} {value:.2f}" for name, value in zip(names, mean, strict=True)]
    return f"mean log alpha {_few(parts)}"


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
    ]
    return f"error rate (and expected) {_few(parts)}"


def _names(record: Record, arrays) -> list[str]:
    """Return short names of the arms of a stage."""
    model = record.config["model"]
    several = len(model["samplers" if record.mixture else "quadrature"]) > 1
    arms = zip(arrays["label"], arrays["method"], arrays["variant"], strict=True)
    return [
        f"{label} {method}" + (f" {variant}" if several else "") for label, method, variant in arms
    ]


def _few(parts: list[str], most: int = 4) -> str:
    return ", ".join(parts[:most]) + (", ..." if len(parts) > most else "")
