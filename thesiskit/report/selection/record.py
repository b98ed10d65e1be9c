"""A finished experiment of chapter 2, for tables and figures."""

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from thesiskit.report import metrics
from thesiskit.report.finished import THESIS, Finished
from thesiskit.report.forecasts import Forecast, Tested
from thesiskit.report.layout import size_words
from thesiskit.report.reached import NAMES as REACHED
from thesiskit.report.selection import about, stages
from thesiskit.report.selection.ways import EXACT, NONE, OURS, TEMPERED, WHOLE, Arm, Manner, Way

AT_END = 0.1  # with a larger fraction of draws at an end, the grid of alpha should be wider


class Record(Finished):
    """Arrays of all blocks of an experiment of chapter 2, loaded when asked for."""

    about = about

    def summary(self, stage: str) -> str:
        """Say in a line what the files of a stage show."""
        return stages.summary(self, stage)

    @cached_property
    def predictions(self) -> dict[str, np.ndarray]:
        """Predictions (arms, N), or (arms, N, K) of more than two classes, and what they are of.

        The replicate, fold, case and response of each prediction are (N,).
        """
        names = ("replicate", "group", "fold", "case", "response", "seconds")
        return self._join("predict", {"probability": 1} | dict.fromkeys(names, 0))

    @cached_property
    def selection(self) -> dict[str, np.ndarray]:
        """Arrays of the stage `select`, with one entry for each split and each size."""
        names = [
            "threshold" if self.normal else "gamma_squared",
            "n_features",
            "kept",
            "tied",
            "tied_kept",
            "class_counts",
            "seconds",
        ]
        joined = self._join("select", dict.fromkeys(names, 0))
        return joined | {"gamma": metrics.gammas(joined)}

    @cached_property
    def fits(self) -> dict[str, np.ndarray]:
        """Arrays of the stage `fit`; posteriors and traces are those of the first block."""
        names = ["seconds"]
        if self.mixture:
            names += ["rhat", "ess", "at_end", "table", "means", "errors", "reliable", "exchanged"]
            names += REACHED if self.config["model"]["until"] else ()
        return self._join("fit", dict.fromkeys(names, 0))

    @cached_property
    def arms(self) -> list[Arm]:
        """All arms, in the order of the arrays."""
        found = self.predictions if self.tests else self.fits
        names = ("label", "method", "variant", "relevant", "temperature")
        columns = [[str(one) for one in found[name]] for name in names]
        rows = range(len(columns[0])) if self.tests else map(int, found["arm"])
        return [Arm(*one) for one in zip(rows, *columns, strict=True)]

    @property
    def tests(self) -> bool:
        """Whether cases are tested; of a table that was screened with all of them none may be."""
        return self.config["scheme"] != "none"

    @property
    def screened(self) -> bool:
        """Whether the table is said to have been screened before."""
        return bool(self.config["selection"]["screened"])

    @property
    def made(self) -> tuple[int, int]:
        """The numbers of training sets and of test cases."""
        return len(self.selection["tied"]) // len(self.labels), len(self.response)

    @property
    def labels(self) -> list[str]:
        """The selections, in the order of the config."""
        return [str(one) for one in self.selection["label"]]

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
    def normal(self) -> bool:
        """Whether the model is that of normal features."""
        return self.config["model"]["kind"] == "normal"

    @property
    def score_words(self) -> str:
        """What features are chosen by, with its article."""
        return "an absolute correlation" if self.n_classes == 2 else "a correlation ratio"

    @property
    def main_arms(self) -> list[Arm]:
        """The arms with the first rule or sampler, or with none, but for silent ones."""
        wanted = (self.variants[0], NONE)
        return [arm for arm in self.arms if arm.variant in wanted and arm.row not in self.silent]

    @cached_property
    def silent(self) -> set[int]:
        """The rows of arms that predict nothing: they take two classes, and there are more."""
        if not self.tests or self.predictions["probability"].ndim == 2:
            return set()
        nothing = np.isnan(self.predictions["probability"]).all(axis=(1, 2))
        return set(np.flatnonzero(nothing).tolist())

    @property
    def about_manners(self) -> str:
        """What `some relevant` and `tempered` mean, in sentences; nothing without such arms."""
        told = ""
        if "some" in self.relevants:
            told += (
                " With 'some relevant', each feature differs between the classes with a "
                "probability that is estimated"
            )
            told += (
                "; in the other arms of ours all features do." if "all" in self.relevants else "."
            )
        if any(arm.temperature == TEMPERED for arm in self.arms):
            told += (
                " A 'tempered' arm divides its log odds by a number of at least 1, the "
                "temperature, which is fitted by a cross-validation within the training cases."
            )
        return told

    @property
    def relevants(self) -> list[str]:
        """Which features may be relevant by our own methods: all, some, or one after the other."""
        return list(dict.fromkeys(one.relevant for one in self.manners))

    @property
    def manners(self) -> list[Manner]:
        """The manners of our own methods, one after the other."""
        return list(dict.fromkeys(arm.manner for arm in self.arms if arm.method in OURS))

    @property
    def plain_manners(self) -> list[Manner]:
        """The first manner for each that may be relevant; a temperature changes no posterior."""
        first = {one.relevant: one for one in reversed(self.manners)}
        return [one for one in self.manners if first[one.relevant] == one]

    def ways(self, order: Iterable[str]) -> list[Way]:
        """The methods used, in the order given, ours by their manners.

        They are corrected if the arms keep all features.
        """
        used = {arm.way for arm in self.arms if arm.row not in self.silent}
        others = (Manner(NONE), Manner(NONE, TEMPERED))
        found = [Way(method, *manner) for method in order for manner in (*self.manners, *others)
                 if (method, *manner) in used]  # fmt: skip
        return found or [Way("corrected", *manner) for manner in self.manners]

    def find(
        self, label: str, method: str, variant: str | None = None, manner: Manner | None = None
    ) -> Arm | None:
        """Return an arm, None if there is none; the first unless its manner is given.

        With all features there is one arm, which counts as corrected and as uncorrected.
        """
        wanted = variant or self.variants[0]
        for arm in self.arms:
            if arm.label == label and arm.variant in (wanted, NONE) and arm.row not in self.silent:
                own = method in ("corrected", "uncorrected")
                fits = manner is None or arm.manner in (manner, Manner(NONE, manner.temperature))
                if fits and (arm.method == method or (arm.method == "complete" and own)):
                    return arm
        return None

    def probability(self, arm: Arm) -> np.ndarray:
        """Predictive probabilities: (N,) of class 1, or (N, K) of more than two classes."""
        return self.predictions["probability"][arm.row]

    def of_one(self, arm: Arm) -> tuple[np.ndarray, np.ndarray]:
        """Return probabilities (N,) and whether they came true: of class 1, or of being right.

        Of more than two classes they are those of the class that is predicted.
        """
        p, y = self.probability(arm), self.response
        return (p, y) if p.ndim == 1 else metrics.confidence(p, y)

    @property
    def one_words(self) -> str:
        """What the probabilities that `of_one` returns are of."""
        return self.class_words(1) if self.n_classes == 2 else "the predicted class"

    @cached_property
    def n_classes(self) -> int:
        """How many classes there are."""
        return int(self.results.load("select", 0, ("class_counts",))["class_counts"].shape[1])

    @property
    def response(self) -> np.ndarray:
        """The response of every test case, (N,)."""
        return self.predictions["response"]

    @cached_property
    def simulated(self) -> dict[str, np.ndarray]:
        """What the first stage kept about data that are read; nothing about others."""
        return {} if self.config["drawn"] else self.results.load("simulate", 0)

    @property
    def class_names(self) -> list[str]:
        """What the classes are called: their numbers, where the data do not say."""
        return [str(one) for one in self.simulated.get("class_names", self._class_numbers)]

    @property
    def _class_numbers(self) -> list[str]:
        return [str(g) for g in range(self.n_classes)]

    @property
    def _classes_named(self) -> bool:
        return self.class_names != self._class_numbers

    def class_words(self, y: int) -> str:
        """Return a class as captions and axes name it."""
        return self.class_names[y] if self._classes_named else f"class {y}"

    @cached_property
    def forecasts(self) -> list[Forecast]:
        """What every arm predicted; nothing where no case is tested."""
        if not self.tests:
            return []
        several = len(self.variants) > 1
        result = []
        for arm in self.arms:
            keys = {"features": arm.label, "method": arm.words}
            size = f"{size_words(arm.label)} feature{'s' * (arm.label != '1')}"
            kept = not arm.label.startswith("|")  # else the label says it
            name = f"{size if kept else arm.label}, {arm.words}"
            if several:
                keys[self.variant_name] = arm.variant
                name += "" if arm.variant in ("none", self.variants[0]) else f", {arm.variant}"
            p = self.probability(arm)
            both = np.column_stack([1 - p, p]) if p.ndim == 1 else p
            result.append(Forecast(
                keys, name, both, arm.method in OURS, arm.method == WHOLE
            ))  # fmt: skip
        return result

    @cached_property
    def tested(self) -> Tested:
        """The test cases."""
        found, config = self.predictions, self.config
        case = found["case"].astype(np.int64)
        ids = self.simulated.get("ids", np.array([], dtype=str))
        label = "data set" if config["drawn"] else "replicate"
        division = {
            label: (found["replicate"], int(found["replicate"].max()) + 1),
            "fold": (found["fold"], 2 if config["scheme"] in ("k-fold", "leave-one-out") else 1),
            "group": (found["group"], config["evaluation"]["groups"]),
        }  # fmt: skip
        place = found["replicate"] * (1 + case.max()) if config["drawn"] else 0
        return Tested(
            response=found["response"].astype(np.int64),
            ids=ids[case] if len(ids) else (case + 1).astype(str),
            unit=case + place,
            division={name: one + 1 for name, (one, many) in division.items() if many > 1},
            classes=self.class_names,
            base=self._base_rate(),
            named=self._classes_named,
        )

    @property
    def notes(self) -> list[str]:
        """What the user should know about the data."""
        return [str(one) for one in self.simulated.get("notes", ())]

    def _base_rate(self) -> np.ndarray:
        """Frequencies of the classes among the training cases of each test case, (N, K)."""
        found = self.predictions
        splits = np.stack([found[name] for name in ("replicate", "fold", "group")])
        place = np.unique(splits, axis=1, return_inverse=True)[1].reshape(-1)
        counts = self.selection["class_counts"][:: len(self.labels)] + 0.5
        return (counts / counts.sum(axis=1, keepdims=True))[place]

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
        arms = {arm.row: arm for arm in self.arms}
        return [arms[int(row)] for row in self.fits["arm"]]

    @property
    def sampled_arms(self) -> list[tuple[int, Arm]]:
        """The arms that have draws, with their columns in the arrays of the fit stage."""
        if not self.mixture:
            return []
        return [(j, arm) for j, arm in enumerate(self.fitted_arms) if arm.variant != EXACT]

    def reached(self) -> Iterator[tuple[dict[str, Any], dict[str, np.ndarray]]]:
        """Yield what a sampled arm is, and what its chains had reached in each fit."""
        for j, arm in self.sampled_arms:
            keys = {"features": arm.label, "method": arm.words}
            yield keys, {name: self.fits[name][:, j] for name in REACHED}

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
        fit_column = {arm.row: j for j, arm in enumerate(self.fitted_arms)}
        rows = []
        for arm in self.arms:
            own = arm.row in fit_column
            fit = self.fits["seconds"][:, fit_column[arm.row]].sum() if own else np.nan
            predict = self.predictions["seconds"][:, arm.row].sum() if self.tests else 0.0
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
