"""What each kind of model needs to predict new samples, from fits and from the arrays of a file.

A method is made by its class, or by `restore` from what `stored` returned: a mapping that JSON can
hold, and arrays.  `restore` raises one of `DAMAGES` for what no such method has, so that kernels
are only called with arrays that fit together.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from thesiskit.defaults import LOG, SCORES
from thesiskit.errors import ChoiceError, DataError, quoted
from thesiskit.fitted.inputs import NONE, Inputs
from thesiskit.models import MODELS, peers
from thesiskit.models.base import LARGEST, MOST_SAMPLES, PatternTraining, check, shaped
from thesiskit.models.chains import Arrays, marked
from thesiskit.models.density import LEVELS, Density
from thesiskit.models.logistic import Logistic
from thesiskit.models.packed import Transform, check_transform
from thesiskit.models.patterns import PATTERNS
from thesiskit.models.peers import Task
from thesiskit.models.pipeline import Fitted
from thesiskit.models.temperature import Temperature

EXACT = "enumeration"  # a kind that older files have for a mixture
FREQUENCIES = "class frequencies"
GUESS = "distribution of the response"  # without features
# of new samples with real responses: columns of predictions, by the name of each array
QUANTILES = {"mean": "mean", "median": "median"}
QUANTILES |= {name: f"{level:.0%}" for name, level in LEVELS.items() if name != "median"}


def summarise_density(density: Density, y: np.ndarray | None = None) -> Arrays:
    """Return the mean of each distribution, and quantiles, by the names of QUANTILES.

    y : real responses, if they are known; then also the arrays that `density.SCORED` names.
    """
    quantiles = {name: density.quantile(level) for name, level in LEVELS.items()}
    return {"mean": density.mean} | quantiles | ({} if y is None else density.scores(y))


def match_name(text: str, names: Mapping[str, str]) -> str:
    """Return the method whose name, or a unique short form of it, was typed.

    names : what pages call each method, by its name; either can be typed, or the words of either
    in any order and case.  A short form lacks some words, or their ends; numbers are whole.

    Raises
    ------
    ChoiceError: no method, or several; the message lists them.
    """

    def shortens(words: list[str], name: list[str]) -> bool:
        return bool(words) and all(
            word in name or (not word.isdigit() and any(whole.startswith(word) for whole in name))
            for word in words
        )

    words_of = {
        form: sorted(re.findall(r"[^\W_]+", form.lower().replace(",", "")))
        for form in (text, *names, *names.values())
    }
    typed = words_of[text]
    forms = {name: (words_of[name], words_of[page]) for name, page in names.items()}
    candidates = (
        [name for name, page in names.items() if text in (name, page)]
        or [name for name, (typed_form, page) in forms.items() if typed in (typed_form, page)]
        or [name for name, pair in forms.items() if any(shortens(typed, form) for form in pair)]
    )
    if len(candidates) == 1:
        return candidates[0]
    problem = f"{quoted(text)} matches {len(candidates)} methods"
    what = problem if candidates else f"there is no method {quoted(text)}"
    lines = "\n".join(f"  {quoted(name, 200)}" for name in candidates or names)
    raise ChoiceError(f"{what}\nFix: type the name, or a unique part of it, of one of\n{lines}")


def restored_transform(
    about: dict[str, Any], arrays: Arrays, k: int, inputs: Inputs
) -> Transform | None:
    """Return the transform of the k columns of a fitted model, or None; ValueError if damaged."""
    kind = about.get("transform")
    if not kind:
        return None
    sizes = {"k": k} | ({"s": 2} if kind == LOG else {})
    state = shaped(arrays, {"transform/state": (float, "s k")}, **sizes)["transform/state"]
    mean = arrays["transform/mean"]
    check(kind == SCORES or (kind == LOG and (state[0] >= 0).all() and (state[1] > 0).all()))
    check(mean.shape in ((0,), (inputs.width,)) and (mean >= 0).all())
    return Transform(kind, mean, state)


class FittedMethod(ABC):
    """One fitted model.

    name : of the method.
    kind : of the model.
    warning : why its predictions should not be relied on; empty if they can be.
    selected : the columns that it takes; none of a model of patterns.
    transform : of these columns, if they are real features that have one.
    """

    takes_missing = True

    def __init__(
        self,
        name: str,
        kind: str,
        warning: str = "",
        selected: np.ndarray = NONE,
        transform: Transform | None = None,
    ):
        self.name, self.kind, self.warning = name, kind, warning
        self.selected, self.transform = selected, transform

    @abstractmethod
    def predict(self, inputs: Inputs, samples: np.ndarray, y: np.ndarray | None = None) -> Arrays:
        """Return `probability` (T, K), or of real responses what QUANTILES name, (T,) each.

        y : real responses (T,), if they are known: then also what `density.SCORED` names.
        """

    def columns(self, inputs: Inputs) -> np.ndarray:
        """Return the columns of samples that predictions depend on."""
        return self.selected

    def table(self, inputs: Inputs, samples: np.ndarray, *, bits: bool) -> np.ndarray:
        """Return the columns that it takes, of samples (T, p), (T, k)."""
        if self.transform is None:
            return inputs.table(samples, self.selected, bits=bits)
        check_transform(self.transform.kind, samples, inputs.names)
        return self.transform.apply(samples, self.selected)

    @abstractmethod
    def stored(self) -> tuple[dict[str, Any], Arrays]:
        """Return what `restore` takes."""

    @classmethod
    @abstractmethod
    def restore(cls, about: dict[str, Any], arrays: Arrays, inputs: Inputs) -> "FittedMethod":
        """Return the method that `stored` described."""


class SelectedMethod(FittedMethod):
    """A model of selected features."""

    def __init__(self, name: str, fitted: Fitted):
        model, warning = fitted.model, fitted.model.warning(fitted.posterior)
        super().__init__(name, model.kind, warning, fitted.selected, fitted.transform)
        self.fitted, self.takes_missing = fitted, model.takes_missing
        self.takes_bits = model.takes == "bits"

    def predict(self, inputs: Inputs, samples: np.ndarray, y: np.ndarray | None = None) -> Arrays:
        table = self.table(inputs, samples, bits=self.takes_bits)
        if table.dtype.kind == "f" and not self.takes_missing:
            sample, place = np.argwhere(np.isnan(table))[0]
            feature = int(self.selected[place])
            name = quoted(inputs.names[feature]) if inputs.names else f"number {feature + 1}"
            raise DataError(
                f"a value is missing in sample {sample + 1}, feature {name}, and the {self.kind} "
                "model does not accept it. Fix: fill it in, or drop the sample"
            )
        if not inputs.classes:
            return summarise_density(self.fitted.density(table), y)
        return {"probability": self.fitted.predict(table)}

    @classmethod
    def checked(cls, inputs: Inputs, selected: np.ndarray, *, bits: bool) -> np.ndarray:
        """Return what is selected; ValueError for what samples do not have."""
        if inputs.family != "table":
            raise ValueError("its samples have no features to select")
        return inputs.checked(selected, bits=bits)

    def stored(self) -> tuple[dict[str, Any], Arrays]:
        about, arrays = self.fitted.model.saved(self.fitted.posterior)
        if temperature := self.fitted.temperature:
            about |= {"tau": float(temperature.tau), "offset": temperature.offset.tolist()}
        return about, arrays | {"selected": self.selected}

    @classmethod
    def restore(cls, about: dict[str, Any], arrays: Arrays, inputs: Inputs) -> "SelectedMethod":
        kind, tau = about["kind"], about.get("tau", 1.0)
        offset = np.array(about.get("offset", np.zeros(len(inputs.classes))), dtype=float)
        check(isinstance(tau, float) and 1 <= tau < LARGEST)
        check(offset.shape == (len(inputs.classes),) and (np.abs(offset) < LARGEST).all())
        model_class = MODELS["mixture" if kind == EXACT else kind]
        selected = cls.checked(inputs, arrays["selected"], bits=model_class.takes == "bits")
        model, posterior = model_class.restored(about, arrays, selected, len(inputs.classes))
        temperature = None if tau == 1 and not offset.any() else Temperature(tau, offset)
        transform = restored_transform(about, arrays, len(selected), inputs)
        fitted = Fitted(model, posterior, selected, temperature, transform)
        return cls(str(about["name"]), fitted)


class PeerMethod(FittedMethod):
    """A method of others, of all features or of those that it selects itself.

    selected : (p,) the features that it takes.
    learnt : as `peers.fit` returns it.
    """

    def __init__(
        self,
        name: str,
        method: str,
        task: Task,
        selected: np.ndarray,
        learnt: Arrays,
        transform: Transform | None = None,
    ):
        super().__init__(name, "peer", selected=selected, transform=transform)
        self.method, self.task, self.learnt = method, task, learnt

    def predict(self, inputs: Inputs, samples: np.ndarray, y: np.ndarray | None = None) -> Arrays:
        table = self.table(inputs, samples, bits=False)
        answer = peers.predict(self.method, self.task, self.learnt, table)
        if inputs.classes:
            return {"probability": answer}
        return summarise_density(Density.of_students(answer), y)

    def stored(self) -> tuple[dict[str, Any], Arrays]:
        task = {name: getattr(self.task, name) for name in ("kind", "classes", "keep", "order")}
        arrays = {f"learnt/{name}": values for name, values in self.learnt.items()}
        return {"method": self.method, "task": task}, arrays | {"columns": self.selected}

    @classmethod
    def restore(cls, about: dict[str, Any], arrays: Arrays, inputs: Inputs) -> "PeerMethod":
        task, method = Task(**about["task"], values=inputs.n_values), str(about["method"])
        check(inputs.family == peers.FAMILIES[task.kind] and task.classes == len(inputs.classes))
        columns = inputs.checked(arrays["columns"], bits=False)
        check(isinstance(task.order, int) and 0 <= task.order <= len(columns))
        learnt = marked(arrays, "learnt/")
        peers.check_learnt(method, task, learnt, len(columns))
        transform = restored_transform(about, arrays, len(columns), inputs)
        return cls(str(about["name"]), method, task, columns, learnt, transform)


class FrequencyMethod(FittedMethod):
    """What is known without features, where no model predicts better.

    counts : (K,) training samples of each class; of real responses their distribution, as
        `density.guess` returns it.
    """

    def __init__(self, counts: np.ndarray):
        super().__init__(FREQUENCIES if counts.ndim == 1 else GUESS, "frequencies")
        self.counts = counts

    def predict(self, inputs: Inputs, samples: np.ndarray, y: np.ndarray | None = None) -> Arrays:
        if not inputs.classes:
            components = self.counts.repeat(len(samples), axis=0)
            return summarise_density(Density.of_students(components), y)
        return {"probability": np.tile(self.counts / self.counts.sum(), (len(samples), 1))}

    def stored(self) -> tuple[dict[str, Any], Arrays]:
        return {}, {"counts": self.counts}

    @classmethod
    def restore(cls, _about: dict[str, Any], arrays: Arrays, inputs: Inputs) -> "FrequencyMethod":
        counts = arrays["counts"]
        if inputs.classes:
            check(counts.dtype.kind in "iu" and counts.shape == (len(inputs.classes),))
            check((counts >= 0).all() and (counts < MOST_SAMPLES).all() and counts.sum() > 0)
        else:
            check(counts.dtype.kind == "f" and counts.shape == (1, 1, 4) and counts[0, 0, 0] == 1)
            check((np.abs(counts) < LARGEST).all() and (counts[..., 2:] > 0).all())
        return cls(counts)


class PatternMethod(FittedMethod):
    """A model of patterns: coefficients of groups.

    It needs the training samples, as codes: groups are found again, and split between the patterns
    that a new sample has and those that it does not have.

    posterior : as the model has it of draws; seed : of what is drawn for a prediction.
    """

    def __init__(self, name: str, kind: str, posterior: Any, seed: int, warning: str = ""):
        super().__init__(name, kind, warning)
        self.posterior, self.seed = posterior, seed

    def columns(self, inputs: Inputs) -> np.ndarray:
        return np.arange(inputs.width)

    def predict(self, inputs: Inputs, samples: np.ndarray, y: np.ndarray | None = None) -> Arrays:
        codes, rng = samples[:, :], np.random.default_rng(self.seed)
        predicted = self.posterior.predict_new(codes, self.seed)
        return predicted if y is None else predicted | self.posterior.tested(codes, y, rng)

    def stored(self) -> tuple[dict[str, Any], Arrays]:
        about, arrays = self.posterior.saved()
        return about | {"seed": self.seed}, arrays

    @classmethod
    def restore(cls, about: dict[str, Any], arrays: Arrays, inputs: Inputs) -> "PatternMethod":
        codes, order, seed = arrays["codes"], about["order"], about["seed"]
        if inputs.family == "table":
            raise ValueError("its samples have no patterns")
        patterns = PATTERNS[inputs.family].like(inputs.like)
        check(codes.dtype.kind in "iu" and codes.ndim == 2 and len(codes) > 0)
        check(codes.shape[1] == inputs.width and (codes < inputs.n_values).all())
        check(isinstance(order, int) and isinstance(seed, int) and seed >= 0)
        codes = codes.astype(patterns.dtype)
        about = {"min_samples": about.get("min_cases", 1)} | about  # its name in earlier versions
        compress, min_samples = about.get("compress", False), about["min_samples"]
        check(isinstance(compress, bool) and isinstance(min_samples, int))
        training = PatternTraining(
            patterns, codes, np.zeros(len(codes), dtype=np.int64),  # draws need no responses
            len(inputs.classes),
            find=partial(inputs.groups, codes, order, compress=compress, min_samples=min_samples),
        )  # fmt: skip
        posterior = Logistic.restored(about, arrays, training)
        return cls(str(about["name"]), about["kind"], posterior, seed, about["warning"])
