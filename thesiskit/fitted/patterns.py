"""Fitted logistic models: coefficients of groups of patterns, and Gaussian processes.

Both need the training cases, as codes: groups are found again, and split between the patterns that
a new case has and those that it does not have.
"""

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from thesiskit.datasets.source import FeatureTable, Table
from thesiskit.fitted.arms import FittedArm, check
from thesiskit.fitted.inputs import Inputs
from thesiskit.models import logistic, process
from thesiskit.models.chains import Arrays
from thesiskit.models.patterns import Shared

LEVELS = (0.05, 0.5, 0.95)  # of low, median and high
SPLIT_DRAWS = 10  # of classes at least, where no expectation is known
FARTHEST = 100.0  # abs log of a width; chains stay within 80
MOST_SPLITS = 100_000  # that a file may ask for
TOGETHER = 256  # cases whose linear functions are held at once


class PatternArm(FittedArm):
    """Coefficients of groups of patterns.

    codes : (n, p) training cases.
    about : order, prior, compress, min_cases, split_draws, seed; of real responses mean and unit.
    draws : coefficient (D, S, G), log_sigma (D, O + 1); of real responses log_noise (D,).
    """

    kind = "patterns"

    def __init__(self, name: str, codes: np.ndarray, about: dict[str, Any], draws: Arrays,
                 inputs: Inputs, warning: str = ""):  # fmt: skip
        super().__init__(name, warning)
        self.codes, self.about, self.draws = codes, about, draws
        self.cauchy, self.n_classes = about["prior"] == "cauchy", len(inputs.classes)
        self.groups = inputs.groups(
            codes, about["order"], compress=about["compress"], min_cases=about["min_cases"]
        )
        # a history shares at most one group in part
        self.exact = self.n_classes == 2 and (inputs.family == "sequences" or not self.cauchy)
        # of real responses each draw is a distribution already
        least = SPLIT_DRAWS if self.n_classes else 1
        self.split_draws = least
        if about["split_draws"] != "exact":
            self.split_draws = max(least, about["split_draws"])
        self.coefficient = np.ascontiguousarray(draws["coefficient"], dtype=float)
        self.log_sigma = draws["log_sigma"]

    @property
    def digest(self) -> str:
        """What the coefficients belong to: a digest of the groups, in their order."""
        whole = hashlib.sha256()
        for values in (self.groups.begin, self.groups.end, self.groups.members):
            whole.update(values.astype("<i8").tobytes())
        return whole.hexdigest()

    def predict(self, inputs: Inputs, cases: np.ndarray) -> Arrays:  # noqa: ARG002
        """Return `probability` (T, K), or of real responses median, low and high, (T,) each."""
        shared = self.groups.shared(cases)
        if "log_noise" in self.draws:
            return self._responses(shared)
        if self.exact:
            p = logistic.predict(
                self.coefficient, self.log_sigma, shared, 2, cauchy=self.cauchy,
                rng=self._generator(), split_draws="exact",
            )  # fmt: skip
            return {"probability": p}
        found = [
            logistic.predict(
                self.coefficient, self.log_sigma, one, self.n_classes, cauchy=self.cauchy,
                rng=self._generator(), split_draws=self.split_draws,
            )[0]
            for one in _one_by_one(shared)
        ]  # fmt: skip
        return {"probability": np.array(found)[shared.case_of]}

    def _generator(self) -> np.random.Generator:
        """Return a generator for a case: the prediction does not depend on other cases then."""
        return np.random.default_rng(self.about["seed"])

    def _responses(self, shared: Shared) -> Arrays:
        """Return medians and 90 % intervals of real responses."""
        singles = list(_one_by_one(shared))
        found = []
        for start in range(0, len(singles), TOGETHER):
            each = [
                logistic.predict_response(
                    self.coefficient, self.log_sigma, self.draws["log_noise"], one,
                    cauchy=self.cauchy, rng=self._generator(), split_draws=self.split_draws,
                )
                for one in singles[start : start + TOGETHER]
            ]  # fmt: skip
            distinct = np.hstack([one.distinct for one in each])
            together = logistic.Response(distinct, each[0].noise, np.arange(len(each)))
            found.append(together.quantile(LEVELS))
        quantiles = self.about["mean"] + self.about["unit"] * np.hstack(found)[:, shared.case_of]
        return dict(zip(("low", "median", "high"), quantiles, strict=True))

    def stored(self) -> tuple[dict[str, Any], Arrays]:
        """Return what `restore` takes."""
        return self.about | {"groups": self.digest}, dict(self.draws)

    @classmethod
    def restore(cls, about: dict[str, Any], arrays: Arrays, inputs: Inputs) -> "PatternArm":
        """Return the arm that `stored` described; arrays have the codes, too."""
        codes = _codes(arrays, inputs)
        check(about["prior"] in ("cauchy", "gaussian") and isinstance(about["compress"], bool))
        check(isinstance(about["order"], int) and isinstance(about["min_cases"], int))
        check(isinstance(about["seed"], int) and about["seed"] >= 0)
        _check_splits(about["split_draws"])
        draws = {
            "coefficient": arrays["coefficient"],
            "log_sigma": arrays["log_sigma"].astype(float),
        }
        if not inputs.classes:
            draws["log_noise"] = arrays["log_noise"].astype(float)
            check(isinstance(about["mean"], float) and isinstance(about["unit"], float))
        arm = cls(about["name"], codes, about, draws, inputs, about["warning"])
        many, sets = len(draws["log_sigma"]), max(1, arm.n_classes * (arm.n_classes > 2))
        check(many > 0 and arm.coefficient.shape == (many, sets, arm.groups.n_groups))
        check(arm.log_sigma.shape == (many, about["order"] + 1))
        check("log_noise" not in draws or draws["log_noise"].shape == (many,))
        # what is drawn between infinite widths would be drawn for ever
        check(bool(np.isfinite(arm.coefficient).all()) and _bounded(arm.log_sigma))
        check("log_noise" not in draws or _bounded(draws["log_noise"]))
        check(arm.digest == about["groups"])
        return arm


class ProcessArm(FittedArm):
    """A Gaussian process over patterns.

    about : order, settings, split_draws, seed.
    draws : latent (D, S, R) of the distinct training cases, log_sigma (D, O + 1).
    """

    kind = "process"

    def __init__(self, name: str, codes: np.ndarray, about: dict[str, Any], draws: Arrays,
                 inputs: Inputs, warning: str = ""):  # fmt: skip
        super().__init__(name, warning)
        self.codes, self.about, self.draws = codes, about, draws
        settings = logistic.Settings(**about["settings"])
        # given the latent values of its cases a process needs no responses
        responses = np.zeros(len(codes), dtype=np.int64)
        self.process = process.Process(
            codes, responses, len(inputs.classes), about["order"], settings, inputs.family
        )

    def predict(self, inputs: Inputs, cases: np.ndarray) -> Arrays:  # noqa: ARG002
        """Return `probability` (T, K)."""
        nothing = np.zeros((1, len(self.draws["latent"])))
        draws = process.Draws(
            self.draws["latent"][None], self.draws["log_sigma"][None], nothing, self.process, {}
        )
        rng = np.random.default_rng(self.about["seed"])
        split = self.about["split_draws"]
        many = SPLIT_DRAWS if split == "exact" else max(SPLIT_DRAWS, split)
        return {"probability": process.predict(draws, cases, rng, many, alone=True)}

    def stored(self) -> tuple[dict[str, Any], Arrays]:
        """Return what `restore` takes."""
        return self.about, dict(self.draws)

    @classmethod
    def restore(cls, about: dict[str, Any], arrays: Arrays, inputs: Inputs) -> "ProcessArm":
        """Return the arm that `stored` described; arrays have the codes, too."""
        draws = {name: arrays[name].astype(float) for name in ("latent", "log_sigma")}
        check(isinstance(about["order"], int))
        check(isinstance(about["seed"], int) and about["seed"] >= 0)
        _check_splits(about["split_draws"])
        arm = cls(about["name"], _codes(arrays, inputs), about, draws, inputs, about["warning"])
        many, rows = len(draws["log_sigma"]), len(arm.process.rows)
        check(many > 0 and draws["latent"].shape == (many, arm.process.sets, rows))
        check(draws["log_sigma"].shape == (many, about["order"] + 1))
        check(bool(np.isfinite(draws["latent"]).all()) and _bounded(draws["log_sigma"]))
        return arm


def _check_splits(split_draws: Any) -> None:
    """Raise ValueError for a number of splits that would take for ever, or is none."""
    check(split_draws == "exact" or isinstance(split_draws, int))
    check(split_draws == "exact" or 0 < split_draws <= MOST_SPLITS)


def _bounded(log: np.ndarray) -> bool:
    """Whether logs of widths are such as chains have."""
    return bool((np.abs(log) <= FARTHEST).all())


def _codes(arrays: Arrays, inputs: Inputs) -> np.ndarray:
    """Return the training cases of a file."""
    codes = arrays["codes"]
    check(codes.dtype.kind in "iu" and codes.ndim == 2 and len(codes) > 0)
    like = inputs.like
    if isinstance(like, Table):
        raise ValueError("its cases have no patterns")
    check(codes.shape[1] == inputs.width)
    if isinstance(like, FeatureTable):
        check(bool((codes < [len(values) for values in like.values]).all()))
        return codes.astype(np.int16)
    check(bool((codes < len(like.states)).all()))
    return codes.astype(np.int32)


def _one_by_one(shared: Shared) -> Iterator[Shared]:
    """Yield what each distinct case shares with the groups, in an order that is its own."""
    none = np.zeros(1, dtype=np.intp)
    for d in range(len(shared.new_kind)):
        whole = shared.whole[shared.whole_begin[d] : shared.whole_begin[d + 1]]
        part = slice(shared.partial_begin[d], shared.partial_begin[d + 1])
        order = np.argsort(shared.partial[part], kind="stable")
        kinds, kind = np.unique(shared.partial_kind[part][order], return_inverse=True)
        yield Shared(
            case_of=none,
            whole_begin=np.array([0, len(whole)], dtype=np.intp),
            whole=np.sort(whole),
            partial_begin=np.array([0, len(order)], dtype=np.intp),
            partial=shared.partial[part][order],
            partial_kind=kind.astype(np.int32),
            shared_counts=shared.shared_counts[kinds],
            other_counts=shared.other_counts[kinds],
            new_kind=np.zeros(1, dtype=np.int32),
            new_counts=shared.new_counts[shared.new_kind[d]][None],
        )
