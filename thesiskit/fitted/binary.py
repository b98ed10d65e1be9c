"""Fitted models of two classes and binary features: naive Bayes, and the mixture model."""

from abc import abstractmethod
from dataclasses import asdict
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from scipy import special

from thesiskit.errors import DataError, quoted
from thesiskit.fitted.arms import LARGEST, SelectingArm, check
from thesiskit.fitted.inputs import Inputs, TableInputs
from thesiskit.models import mixture, naive_bayes
from thesiskit.models.chains import Arrays
from thesiskit.models.mixture import Target
from thesiskit.models.selection import LOT, LeftOut, Selection

DRAWS = ("labels", "point", "theta")  # theta only where it is sampled
POSTERIOR = ("alpha", "log_weight", "log_discard", "log_joint")


class BinaryArm(SelectingArm):
    """A model of two classes and binary features.

    takes_missing : whether values may be missing in new cases.
    """

    takes_missing: ClassVar[bool] = False

    @staticmethod
    def within(selected: np.ndarray, inputs: TableInputs) -> None:
        """Raise ValueError for features without a threshold, and for other numbers of classes."""
        check(len(inputs.classes) == 2 and bool(np.isin(selected, inputs.columns).all()))

    def predict(self, inputs: Inputs, cases: np.ndarray) -> Arrays:
        """Return `probability` (T, 2) of cases (T, p)."""
        assert isinstance(inputs, TableInputs)
        bits = inputs.bits(cases, self.selected)
        if bits.dtype.kind == "f" and not self.takes_missing:
            case, place = np.argwhere(np.isnan(bits))[0]
            feature = int(self.selected[place])
            name = quoted(inputs.names[feature]) if inputs.names else f"number {feature + 1}"
            raise DataError(
                f"a value is missing in case {case + 1}, feature {name}, and the mixture model "
                "takes none; fill it in, or leave the case out"
            )
        p = self.probability(bits)
        return {"probability": np.stack([1 - p, p], axis=1)}

    def probability(self, bits: np.ndarray) -> np.ndarray:
        """Return P(class 1), (T,), of the kept features (T, k)."""
        return naive_bayes.as_probability(self.log_odds(bits) / self.tau)

    @abstractmethod
    def log_odds(self, bits: np.ndarray) -> np.ndarray:
        """Return the log odds of class 1, (T,), of the kept features (T, k)."""


class NaiveArm(BinaryArm):
    """A posterior of the naive Bayes model."""

    kind = "naive-bayes"
    takes_missing = True

    def __init__(self, name: str, selected: np.ndarray, posterior: naive_bayes.Posterior):
        super().__init__(name)
        self.selected, self.posterior = selected, posterior

    def log_odds(self, bits: np.ndarray) -> np.ndarray:
        """Return the log odds of class 1, (T,), of the kept features (T, k)."""
        return naive_bayes.predict_log_odds(self.posterior, bits)

    def _stored(self) -> tuple[dict[str, Any], Arrays]:
        kept = self.posterior.kept
        about: dict[str, Any] = {
            "settings": asdict(self.posterior.settings),
            "class_counts": list(kept.class_counts),
        }
        arrays = {name: getattr(self.posterior, name) for name in POSTERIOR}
        if kept.present is not None:
            arrays["present"] = kept.present[kept.group]
        if kept.left_out is not None:
            arrays["left_out"] = kept.left_out.rows.astype(np.int64)
            about["gamma_squared"] = str(kept.left_out.gamma_squared)
            about["tied_kept"] = kept.left_out.tied_kept
            about["n_dropped"] = kept.left_out.total
        return about, arrays | {"ones": kept.pairs[kept.group]}

    @classmethod
    def _restored(
        cls, about: dict[str, Any], arrays: Arrays, selected: np.ndarray, inputs: TableInputs
    ) -> "NaiveArm":
        cls.within(selected, inputs)
        settings = naive_bayes.Settings(**about["settings"])
        n0, n1 = (int(count) for count in about["class_counts"])
        ones = arrays["ones"].astype(np.intp)
        check(ones.shape == (len(selected), 2) and n0 > 0 and n1 > 0)
        present = arrays.get("present")
        if present is not None:
            present = present.astype(np.intp)
            check(bool(((present >= 0) & (present <= (n0, n1))).all()))
        most = np.array([n0, n1]) if present is None else present
        check(bool((ones >= 0).all()) and np.broadcast_shapes(most.shape, ones.shape) == ones.shape)
        check(bool((ones <= most).all()))
        posterior = {name: arrays[name].astype(float) for name in POSTERIOR}
        alpha, log_joint = posterior["alpha"], posterior["log_joint"]
        check(log_joint.shape == (len(alpha), len(settings.pi_points)))
        check(all(posterior[name].shape == alpha.shape for name in POSTERIOR[:-1]))
        check(bool(len(alpha) and ((alpha > 0) & (alpha < LARGEST)).all()))
        # a log probability may be -inf
        check(all((posterior[name] < LARGEST).all() for name in POSTERIOR))
        check(bool(np.isfinite(np.logaddexp.reduce(log_joint.ravel()))))
        left_out = _left_out(about, arrays, (n0, n1))
        selection = Selection(
            selected=selected, gamma_squared=left_out.gamma_squared, ones=ones,
            class_counts=(n0, n1), n_features=len(selected) + left_out.total, tied=0, tied_kept=0,
            correlation=np.zeros(len(selected)), left_out=left_out, present=present,
        )  # fmt: skip
        return cls(
            about["name"],
            selected,
            naive_bayes.restore(selection, settings, correct=left_out.total > 0, **posterior),
        )


def _left_out(about: dict[str, Any], arrays: Arrays, class_counts: tuple[int, int]) -> LeftOut:
    """Return what is known of the features left out; nothing of an arm that is not corrected."""
    if "left_out" not in arrays:
        return LeftOut.of({}, class_counts, Fraction(0))
    rows = arrays["left_out"].astype(np.int64)
    check(rows.ndim == 2 and rows.shape[1] == 4 and bool(len(rows)) and bool((rows >= 0).all()))
    check(bool((rows[:, :2] <= class_counts).all() and (rows[:, 3] > 0).all()))
    check(bool((rows[:, 2] <= LOT).all()) and rows[:, 3].sum() == about["n_dropped"])
    gamma_squared, tied_kept = Fraction(about["gamma_squared"]), int(about["tied_kept"])
    check(0 <= gamma_squared <= 1 and tied_kept >= int((rows[:, 2] == LOT).any()))
    return LeftOut(rows, gamma_squared, tied_kept)


class MixtureArm(BinaryArm):
    """Draws of the mixture model, or its exact predictions.

    target : the posterior, which has the training cases.
    draws : as `Target.predict` takes them.
    """

    kind = "mixture"

    def __init__(
        self,
        name: str,
        selected: np.ndarray,
        target: Target,
        draws: tuple[np.ndarray, ...],
        warning: str = "",
    ):
        super().__init__(name, warning)
        self.selected, self.target, self.draws = selected, target, draws

    def log_odds(self, bits: np.ndarray) -> np.ndarray:
        """Return the log odds of class 1, (T,), of the kept features (T, k)."""
        return self.target.predict_log_odds(self.draws, bits)

    def _stored(self) -> tuple[dict[str, Any], Arrays]:
        target = self.target
        arrays = dict(zip(DRAWS, self.draws, strict=False))
        arrays |= {"features": target.features, "response": target.response}
        return {"settings": asdict(target.settings)}, arrays

    @classmethod
    def _restored(
        cls, about: dict[str, Any], arrays: Arrays, selected: np.ndarray, inputs: TableInputs
    ) -> "MixtureArm":
        cls.within(selected, inputs)
        settings = mixture.Settings(**about["settings"])
        # what was left out has done its work on the draws
        target = Target(arrays["features"], arrays["response"], settings)
        labels = np.ascontiguousarray(arrays["labels"], dtype=np.uint8)
        point = arrays["point"].astype(np.intp)
        check(target.features.shape == (target.n, len(selected)) and bool(len(labels)))
        check(target.response.shape == (target.n,) and int(target.response.max()) == 1)
        check(labels.shape[1:] == (target.n,) and int(labels.max()) <= 1)
        check(point.shape == (len(labels), 2))
        check(bool(((point >= 0) & (point < settings.alpha_points)).all()))
        draws: tuple[np.ndarray, ...] = (labels, point)
        check(settings.samples_theta == ("theta" in arrays))
        if "theta" in arrays:
            theta = arrays["theta"].astype(float)
            check(theta.shape == (len(labels), target.k + 1))
            check(bool(((theta > 0) & (theta < 1)).all()))
            draws = (*draws, theta)
        return cls(about["name"], selected, target, draws, about["warning"])


class EnumeratedArm(BinaryArm):
    """The exact predictions of the mixture model with one feature.

    predictive : (2,) P(class 1) where the feature is 0, and where it is 1.
    """

    kind = "enumeration"

    def __init__(self, name: str, selected: np.ndarray, predictive: np.ndarray):
        super().__init__(name)
        self.selected, self.predictive = selected, predictive

    def probability(self, bits: np.ndarray) -> np.ndarray:
        """Return P(class 1), (T,), of the kept feature (T, 1)."""
        if self.tau == 1:
            return self.predictive[bits[:, 0]]
        return super().probability(bits)

    def log_odds(self, bits: np.ndarray) -> np.ndarray:
        """Return the log odds of class 1, (T,), of the kept feature (T, 1)."""
        return special.logit(self.predictive)[bits[:, 0]]

    def _stored(self) -> tuple[dict[str, Any], Arrays]:
        return {}, {"predictive": self.predictive}

    @classmethod
    def _restored(
        cls, about: dict[str, Any], arrays: Arrays, selected: np.ndarray, inputs: TableInputs
    ) -> "EnumeratedArm":
        cls.within(selected, inputs)
        predictive = arrays["predictive"].astype(float)
        check(len(selected) == 1 and predictive.shape == (2,))
        check(bool(((predictive >= 0) & (predictive <= 1)).all()))
        return cls(about["name"], selected, predictive)
