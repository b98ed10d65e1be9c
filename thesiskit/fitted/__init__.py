"""Fitted models that predict new samples: from the results of an experiment, or from a file.

A model has the methods of one experiment, all fitted to the same samples, and knows what samples
are like (`inputs`).  It needs neither the config nor the results that it came from.
"""

import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pydantic import ValidationError

from thesiskit.datasets import SOURCES
from thesiskit.datasets.source import Source
from thesiskit.errors import (
    ChoiceError,
    DataError,
    ThesiskitError,
    UserError,
    list_some,
    quoted,
    shorten,
)
from thesiskit.files import DAMAGES
from thesiskit.fitted.file import EXPORT, check_writable, read_model, write_model
from thesiskit.fitted.inputs import Inputs, distinct
from thesiskit.fitted.methods import (
    QUANTILES,
    FittedMethod,
    FrequencyMethod,
    PatternMethod,
    PeerMethod,
    SelectedMethod,
    match_name,
)
from thesiskit.frame import MOST_NAMED, check_text
from thesiskit.models.base import NO_PREDICTION, check, check_predictions, lacks_prediction
from thesiskit.models.chains import Arrays, marked
from thesiskit.models.density import SCORED
from thesiskit.models.likeness import MOST_DISCRETE, UNLIKE, Likeness
from thesiskit.models.prevalence import Prevalence, at_prevalence, full_shares, named_shares
from thesiskit.registry import candidates_of

__all__ = ["FittedModel", "load_model"]
# what content that is not a model's may raise
FAULTS = (*DAMAGES, ThesiskitError, TypeError, AttributeError, IndexError, ArithmeticError)
EXPERIMENT = re.compile(r"[a-z0-9][a-z0-9._-]*")
NEAR = 3  # samples on which numbers do not depend on the order of sums
METHODS: dict[str, type[FittedMethod]] = {
    "peer": PeerMethod,
    "frequencies": FrequencyMethod,
    "patterns": PatternMethod,
}


@dataclass(frozen=True)
class FittedModel:
    """Fitted methods of an experiment.

    experiment : its name.
    source : the block `data` of its config, which reads tables of new samples.
    inputs : what samples are.
    methods : by name.
    samples : how many it was fitted to.
    codes : (n, p) training samples where methods need them, else none.
    likeness : what new samples are compared with; none of sequences, or of an older file.
    covariates : what numbers of samples that are no features say of the classes, if there are some.
    counts : (K,) training samples of each class; none of real responses, or of an older file.
    internal : by method and measure, the score on test samples of the experiment, and the ends of
        its interval, where the experiment had run.
    """

    experiment: str
    source: Source
    inputs: Inputs
    methods: dict[str, FittedMethod]
    samples: int
    codes: np.ndarray | None = field(default=None, repr=False)
    likeness: Likeness | None = field(default=None, repr=False)
    covariates: Any = field(default=None, repr=False)
    counts: np.ndarray | None = None
    internal: dict[str, dict[str, list[float]]] = field(default_factory=dict, repr=False)

    @property
    def classes(self) -> list[str]:
        """What the classes are called; none of real responses."""
        return self.inputs.classes

    def select_methods(self, names: list[str]) -> "FittedModel":
        """Return the model with some of its methods, by their names or unique short forms of them.

        Raises
        ------
        UserError: there is no such method.
        """
        return replace(self, methods={method.name: method for method in map(self.method, names)})

    def method(self, name: str | None = None) -> FittedMethod:
        """Return a method by its name, or a unique short form of it; without a name, the only one.

        Raises
        ------
        UserError: there is no such method, or several; the message lists them.
        """
        if name is None and len(self.methods) > 1:
            lines = "\n".join(f"  {quoted(label, 200)}" for label in self.methods)
            raise ChoiceError(f"the model has several methods\nFix: name one of\n{lines}")
        text = next(iter(self.methods)) if name is None else name
        return self.methods[match_name(text, {label: label for label in self.methods})]

    # ---- predictions ----

    def predict_proba(
        self, X: Any, method: str | None = None, *, prevalence: Prevalence = None
    ) -> np.ndarray:
        """Return the probabilities of the classes, (m, K), in the order of `classes`.

        X : a DataFrame or AnnData, matched by the names of its columns; an array with the columns
            in order; or the path of a table.  Values are as in the table of the fit.
        method : its name; not needed where the model has one.
        prevalence : the shares of classes among new samples, such as {"tumour": 0.02}, if they are
            not those of the training samples; classes that are not named share the rest as there.
        """
        if not self.classes:
            raise UserError("the responses are real numbers. Fix: use predict_quantiles")
        if isinstance(X, str | Path):
            table = self.read(Path(X))
            samples, covariates = table.inputs, table.covariates
        else:
            samples, covariates = self._samples(X), X
        numbers = self._beside(covariates)
        arrays = self._predicted(self.method(method), samples, numbers, prevalence)
        return check_predictions(arrays)["probability"]

    def predict(
        self, X: Any, method: str | None = None, *, prevalence: Prevalence = None
    ) -> np.ndarray:
        """Return the most probable class of each sample, or the median of a real response, (m,)."""
        if not self.classes:
            self.shares(prevalence)
            return self.predict_quantiles(X, method)[:, 1]
        probability = self.predict_proba(X, method, prevalence=prevalence)
        return np.array(self.classes)[most_probable(probability)]

    def predict_quantiles(self, X: Any, method: str | None = None) -> np.ndarray:
        """Return 5%, 50% and 95% quantiles of real responses, (m, 3)."""
        if self.classes:
            raise UserError("the responses are classes. Fix: use predict_proba")
        quantiles = check_predictions(self._predicted(self.method(method), self._samples(X), None))
        return np.stack([quantiles[name] for name in ("low", "median", "high")], axis=1)

    def unlike(self, X: Any) -> np.ndarray:
        """Return how probable it is that a sample like the training samples is as far out, (m,).

        Of samples like the training samples about one in a hundred is below .01.  NaN where nothing
        is known of a sample.  X is as `predict_proba` takes it.
        """
        if self.likeness is None:
            raise UserError(f"the model has nothing to compare new samples with. Fix: {EXPORT}")
        return self.likeness.compare(self.inputs.compared(self._samples(X))).p

    def shares(self, prevalence: Prevalence = None) -> np.ndarray | None:
        """Return the share of each class that predictions assume, (K,); None where it is unknown.

        Raises UserError for a prevalence that this model cannot have.
        """
        if prevalence is None:
            return None if self.counts is None else self.counts / self.counts.sum()
        named_shares(prevalence, self.classes)
        if self.counts is None:
            fault = "the model file is too old to have the shares of its training samples"
            raise UserError(f"prevalence: {fault}. Fix: {EXPORT}")
        return full_shares(prevalence, self.classes, self.counts)

    @np.errstate(all="ignore")  # what overflows has no prediction
    def _predicted(
        self,
        method: FittedMethod,
        samples: np.ndarray,
        covariates: np.ndarray | None,
        prevalence: Prevalence = None,
        y: Any = None,
    ) -> Arrays:
        """Return what a method predicts, our own models also from covariates (T, q).

        All is NaN of a sample that has no prediction.
        """
        self.shares(prevalence)
        arrays = method.predict(self.inputs, samples, y)
        if covariates is not None and isinstance(method, SelectedMethod):
            arrays["probability"] = self.covariates.adjusted(arrays["probability"], covariates)
        if prevalence is not None and self.counts is not None:
            p = arrays["probability"]
            arrays["probability"] = at_prevalence(p, prevalence, self.classes, self.counts)
        lacking = lacks_prediction(arrays)
        return {name: np.where(lacking, np.nan, x.T).T for name, x in arrays.items()}

    def _beside(self, X: Any) -> np.ndarray | None:
        """Return the covariates of samples, from arrays by name or a DataFrame that has them."""
        names = getattr(self.source, "covariates", ())
        if self.covariates is None:
            return None
        if not isinstance(X, dict | pd.DataFrame) or not {*names} <= {*X}:
            raise DataError(f"the model needs the covariates {list_some([*names])}, by their names")
        return np.column_stack([np.asarray(X[name], dtype=float) for name in names])

    def _samples(self, X: Any) -> np.ndarray:
        if isinstance(X, str | Path):
            return self.read(Path(X)).inputs
        return self.inputs.of_data(X)

    def read(self, path: Path, *, tested: bool = False) -> Any:
        """Return the new samples of a table: a Table, Sequences or a FeatureTable.

        tested : they have a response.

        Raises
        ------
        DataError: what is wrong, where, and what to do.
        """
        read = self.source.read_tested if tested else self.source.read_new
        return read(path, self.inputs.like)

    def gaps(self, table: Any) -> list[str]:
        """Say how samples are predicted that lack columns of the training table.

        Raises
        ------
        DataError: a method keeps one of them, and takes no missing value.
        """
        lacking: dict[str, str] = getattr(table, "lacking", {})
        like: Any = self.inputs.like
        names, names_used, of_counts = self.inputs.names, dict[str, set[str]](), set[str]()
        for name, method in self.methods.items() if lacking else ():
            names_used[name] = {names[j] for j in method.columns(self.inputs)}
            if method.transform is not None and len(method.transform.mean):
                of_counts.add(name)
        columns_by_note: dict[str, list[str]] = {}
        for column, hint in lacking.items():
            features = like.encoder.features_of(column)
            users = {name for name in names_used if not names_used[name].isdisjoint(features)}
            methods = [name for name in self.methods if name in users | of_counts]
            for method in (self.methods[name] for name in methods):
                if not method.takes_missing:
                    fault = f"lacks {quoted(column)}, which {method.name} selects, and the "
                    fault += f"{method.kind} model does not accept missing values"
                    raise DataError(f"{table.source}: {fault}{hint or '. Fix: add it'}")
            note = f"selected by {list_some(methods, 2)}: treated as missing"
            note = note if methods else "selected by no method: no effect"
            if of_counts.intersection(methods):
                note += ", and library sizes are of the present columns. Fix: give all columns"
            name = f"{quoted(column, 30)}{hint and f' ({hint[2:]})'}"
            columns_by_note.setdefault(note, []).append(name)
        return [
            f"{table.source}: lacks {list_some(names, MOST_NAMED, 90)}, {note}"
            for note, names in columns_by_note.items()
        ]

    @np.errstate(all="ignore")
    def frame(
        self, table: Any, prevalence: Prevalence = None, *, tested: bool = False
    ) -> pd.DataFrame:
        """Return each method's predictions of the samples that `read` returned, as a table.

        prevalence : as of `predict_proba`.
        tested : they have responses, of which none may be without a prediction; columns named as
            in `density.SCORED` compare real ones.

        A sample without a prediction has a note, in the column `note`.
        """
        self.gaps(table)
        samples = table.inputs
        if self.inputs.family == "features" and table.columns != self.inputs.names:
            place = {name: j for j, name in enumerate(table.columns)}  # some were selected before
            samples = samples[:, [place[name] for name in self.inputs.names]]
        ids = table.ids or [str(number + 1) for number in range(len(samples))]
        frames, likeness_columns, discrete = [], dict[str, Any](), self.inputs.family == "features"
        if self.likeness is not None:
            comparison = self.likeness.compare(self.inputs.compared(samples))
            likeness_columns = {"unlike": comparison.p, "unlike in": comparison.reason}
            if discrete:  # no value is larger than another
                reason = np.where(comparison.p < UNLIKE, "distance", "")
                reason[comparison.reason == "classes"] = "classes"
                likeness_columns["unlike in"] = reason
            else:
                likeness_columns |= {"scale": comparison.scale, "shift": comparison.shift}
            likeness_columns["distance"] = comparison.distance
        numbers = self._beside(getattr(table, "covariates", None))
        y = table.response if tested and not self.classes else None
        for method in self.methods.values():
            arrays = self._predicted(method, samples, numbers, prevalence, y)
            lacking = lacks_prediction(check_predictions(arrays) if tested else arrays)
            columns: dict[str, Any] = {"id": ids, "method": method.name}
            if not self.classes:
                labels = QUANTILES.items()  # some distributions have no mean
                columns |= {label: arrays.get(name, np.nan) for name, label in labels}
                columns |= {name: arrays[name] for name in SCORED if tested}
            else:
                likely = most_probable(arrays["probability"])
                columns["predicted"] = np.where(lacking, "", np.array(self.classes)[likely])
                for name, values in zip(self.classes, arrays["probability"].T, strict=True):
                    columns[f"probability: {name}"] = values
            columns |= likeness_columns
            if self.likeness is not None and not discrete:
                columns["beyond range"] = self.likeness.beyond(samples, method.selected)
            frames.append(pd.DataFrame(columns | {"note": np.where(lacking, NO_PREDICTION, "")}))
        frame = pd.concat(frames, ignore_index=True)
        return frame if frame["note"].any() else frame.drop(columns="note")

    def assumed(self, prevalence: Prevalence = None) -> list[str]:
        """Return a note of the prevalence that predictions assume; none where it is unknown."""
        if (shares := self.shares(prevalence)) is None:
            return []
        named = [f"{name} {share:.3g}" for name, share in zip(self.classes, shares, strict=True)]
        source = " of the training samples" if prevalence is None else ""
        return [f"predictions assume the prevalence{source}: {list_some(named, MOST_NAMED)}"]

    def remarks(self, frame: pd.DataFrame) -> list[str]:
        """Return notes that compare the samples of a frame with the training samples."""
        wide = self.inputs.family == "features" and self.inputs.width > MOST_DISCRETE
        if self.inputs.family == "sequences" or wide:
            return []
        if self.likeness is None:
            return [f"the model file is too old to compare new samples. Fix: {EXPORT}"]
        return _words(frame[frame["method"] == frame["method"].iloc[0]])

    # ---- files ----

    def save(self, path: str | Path) -> None:
        """Write the model to a file, which `load_model` reads."""
        about, arrays = self.inputs.stored()
        source = self.source.model_dump(mode="json")
        for name in ("path", "test_path", "labels"):  # their folders are nobody's concern
            if source.get(name):
                source[name] = Path(source[name]).name
        header: dict[str, Any] = {
            "experiment": self.experiment,
            "source": source,
            "family": self.inputs.family,
            "inputs": about,
            "cases": self.samples,
            "internal": {
                name: self.internal[name] for name in self.methods if name in self.internal
            },
            "arms": [],
        }
        arrays = {f"inputs/{name}": values for name, values in arrays.items()}
        if self.codes is not None:
            arrays["codes"] = self.codes
        if self.likeness is not None:
            arrays |= {f"likeness/{name}": values for name, values in vars(self.likeness).items()}
        if self.covariates is not None:
            arrays |= {f"covariates/{name}": one for name, one in vars(self.covariates).items()}
        if self.counts is not None:
            arrays["class_counts"] = self.counts
        for number, method in enumerate(self.methods.values()):
            about, own_arrays = method.stored()
            more = {"kind": method.kind, "name": method.name, "warning": method.warning}
            if method.transform is not None:
                more["transform"] = method.transform.kind
                own_arrays["transform/mean"] = method.transform.mean
                own_arrays["transform/state"] = method.transform.state
            header["arms"].append(more | about)
            arrays |= {f"arm-{number}/{name}": values for name, values in own_arrays.items()}
        check_writable(header, arrays)
        write_model(Path(path), header, arrays)


def _words(samples: pd.DataFrame) -> list[str]:
    """Return what is to be said of new samples, the rows of one method."""
    unknown, unlike = samples["unlike"].isna(), samples[samples["unlike"] < UNLIKE]
    if unknown.all():
        return ["too few training samples to judge whether new samples are similar"]
    n, k, lines = len(samples), len(unlike), []
    if unknown.any():
        ids = list_some([quoted(str(name)) for name in samples["id"][unknown]], 4, 60)
        lines.append(f"unknown values in {ids}; their predictions are unreliable")
    if not k:
        return lines
    reason, most = next(iter(unlike["unlike in"].value_counts().items()))
    group = unlike[unlike["unlike in"] == reason]
    scale, shift, distance = group.reindex(columns=["scale", "shift", "distance"]).median()
    times = f"about {scale:.2g} times as large" if 0.05 < scale < 20 else "of another size"
    side = "larger" if shift > 0 else "smaller"
    note = {
        "scale": f"values are {times}; perhaps they are on another scale, such as logs",
        "shift": f"values are {abs(shift):.2g} standard deviations {side} on average; perhaps they "
        "were measured or normalised differently",
        "classes": "values are between or beyond those of the classes; perhaps the samples are of "
        "another class",
        "distance": f"distance from the mean is {distance:.2g} times the usual one; perhaps they "
        f"were {'measured' if 'scale' in samples else 'coded'} differently, or are of another kind",
    }[str(reason)]
    are, owner = ("is", "its") if k == 1 else ("are", "their")
    owner = owner if most == k else f"in {most:,} of them the"
    chance = "" if k > 2 * UNLIKE * n else "; 1% would be by chance"
    p = "0.001" if unlike["unlike"].max() < 0.001 else "0.01"
    text = f"{k:,} of {n:,} samples {are} unlike the training samples (p < {p}{chance}): "
    text += f"{owner} {note}"
    return [*lines, text]


def most_probable(probability: np.ndarray) -> np.ndarray:
    """Return the most probable class of each sample, (T,); of two equal ones class 1."""
    if probability.shape[1] == 2:
        return (probability[:, 1] >= 0.5).astype(int)
    return probability.argmax(axis=1)


def load_model(path: str | Path) -> FittedModel:
    """Read a model that `thesiskit export` wrote.

    Raises
    ------
    DataError: it is no such file, was altered, or was made by a later version.
    """
    path = Path(path)
    header, arrays = read_model(path)
    try:
        return _restored(header, arrays, path)
    except (ValidationError, *FAULTS) as error:
        if isinstance(error, DataError) and str(error).startswith(f"{path}: "):
            raise
        fault = f"not a valid fitted model ({shorten(error, 100)})"
        raise DataError(f"{path}: {fault}. Fix: {EXPORT}") from None


def _restored(header: dict[str, Any], arrays: Arrays, path: Path) -> FittedModel:
    name = header["source"]["source"]
    if name not in SOURCES:
        fault = f"its tables are read by data.source: {shorten(name)}, which is not here"
        raise DataError(f"{path}: {fault}. Fix: install the package that has it")
    about = dict(header["source"])
    if "case_groups" in about:  # of earlier versions
        about["sample_groups"] = about.pop("case_groups")
    source = SOURCES[name].model_validate(about)
    if header["family"] != source.family:
        raise ValueError("its family of data is not that of its source")
    inputs = Inputs.restore(source.family, header["inputs"], marked(arrays, "inputs/"))
    if source.family == "table" and not inputs.names:
        raise ValueError("names is empty, and a table names its columns")
    distinct("methods", [about["name"] for about in header["arms"]])
    stored, likeness = marked(arrays, "likeness/"), None
    if stored and source.family != "sequences" and header["format"] > 5:
        width = inputs.compared(np.zeros((1, inputs.width), dtype=np.int16)).shape[1]
        likeness = Likeness.restored(stored, width)
    codes = arrays.get("codes")
    with_codes = {} if codes is None else {"codes": codes}
    methods: dict[str, FittedMethod] = {}
    candidates = candidates_of(source.family)
    selecting = SelectedMethod if candidates is None else candidates.load("method")
    for number, about in enumerate(header["arms"]):
        own_arrays = marked(arrays, f"arm-{number}/") | with_codes
        method_class = METHODS.get(about["kind"]) or selecting
        method = method_class.restore(about, own_arrays, inputs)
        methods[method.name] = method
    if not methods:
        raise ValueError("it has no methods")
    if likeness is not None and source.family == "table":
        check(all(np.isin(method.selected, likeness.kept).all() for method in methods.values()))
    numbers, first = marked(arrays, "covariates/"), None
    if (names := getattr(source, "covariates", ())) and candidates is not None:
        first = candidates.load("covariates").restored(numbers, len(names))
    samples, experiment, counts = int(header["cases"]), str(header["experiment"]), None
    if inputs.classes and header["format"] > 8:
        counts = arrays["class_counts"]
        check(counts.dtype.kind in "iu" and counts.shape == (len(inputs.classes),))
        check((counts >= 0).all() and counts.sum() == samples)
    internal = {
        str(name): {str(measure): [*map(float, score)] for measure, score in scores.items()}
        for name, scores in header.get("internal", {}).items()
    }
    check(EXPERIMENT.fullmatch(experiment))  # it names a folder
    for method in methods.values():
        check_text(method.warning, "a warning", EXPORT)
        _check_method(method, inputs)
    model = FittedModel(experiment, source, inputs, methods, samples, codes, likeness, first)
    return replace(model, counts=counts, internal=internal)


@np.errstate(all="ignore")
def _check_method(method: FittedMethod, inputs: Inputs) -> None:
    """Raise ValueError unless a method predicts odd samples, each alone as among the others.

    Of a sample far away there may be no prediction, but no numbers that are no probabilities.
    """
    if inputs.family == "table":
        levels = np.array([0, 1, 1e3, -1e3, 1e30, np.nan][: 6 if method.takes_missing else 5])
        levels = levels if method.transform is None else np.abs(levels)  # of logs
        samples = np.repeat(levels[:, None], inputs.width, axis=1)
    else:
        values = np.broadcast_to(inputs.n_values, inputs.width)
        unseen = values if inputs.family == "sequences" else np.full(inputs.width, -2)
        samples = np.stack([np.zeros_like(values), values - 1, unseen])
    together = method.predict(inputs, samples)
    lacks = lacks_prediction(together)
    check(not lacks[0])
    for name, values in together.items():
        finite = np.isfinite(values.reshape(len(samples), -1)).all(axis=1)
        check(name == "mean" or not (finite & lacks).any() or "probability" not in together)
        for row in np.flatnonzero(finite & ~lacks)[:NEAR]:
            by_itself = method.predict(inputs, samples[row : row + 1])[name][0]
            check(np.allclose(by_itself, values[row], rtol=1e-6, atol=1e-9))
