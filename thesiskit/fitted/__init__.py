"""Fitted models that predict new cases: from the results of an experiment, or from a file.

A model has the arms of one experiment, all fitted to the same cases, and knows what cases are like
(`inputs`).  It needs neither the config nor the results that it came from.
"""

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
from thesiskit.fitted.arms import (
    FittedArm,
    FrequencyArm,
    PatternArm,
    PeerArm,
    SelectedArm,
    match_name,
)
from thesiskit.fitted.file import EXPORT, check_writable, read_model, write_model
from thesiskit.fitted.inputs import Inputs, distinct
from thesiskit.frame import MOST_NAMED
from thesiskit.models.base import check
from thesiskit.models.chains import Arrays, marked
from thesiskit.models.likeness import MOST_DISCRETE, UNLIKE, Likeness
from thesiskit.registry import candidates_of

__all__ = ["FittedModel", "load_model"]
# what content that is not a model's may raise
FAULTS = (*DAMAGES, ThesiskitError, TypeError, AttributeError, IndexError, ArithmeticError)
ARMS: dict[str, type[FittedArm]] = {
    "peer": PeerArm,
    "frequencies": FrequencyArm,
    "patterns": PatternArm,
}


@dataclass(frozen=True)
class FittedModel:
    """Fitted arms of an experiment.

    experiment : its name.
    source : the block `data` of its config, which reads tables of new cases.
    inputs : what cases are.
    arms : by name.
    cases : how many it was fitted to.
    codes : (n, p) training cases where arms need them, else none.
    likeness : what new cases are compared with; none of sequences, or of an older file.
    covariates : what numbers of cases that are no features say of the classes, if there are some.
    """

    experiment: str
    source: Source
    inputs: Inputs
    arms: dict[str, FittedArm]
    cases: int
    codes: np.ndarray | None = field(default=None, repr=False)
    likeness: Likeness | None = field(default=None, repr=False)
    covariates: Any = field(default=None, repr=False)

    @property
    def classes(self) -> list[str]:
        """What the classes are called; none of real responses."""
        return self.inputs.classes

    @property
    def continuous(self) -> bool:
        """Whether responses are real numbers."""
        return not self.classes

    def select_arms(self, names: list[str]) -> "FittedModel":
        """Return the model with some of its arms, by their names or unique short forms of them.

        Raises
        ------
        UserError: there is no such arm.
        """
        return replace(self, arms={arm.name: arm for arm in map(self.arm, names)})

    def arm(self, name: str | None = None) -> FittedArm:
        """Return an arm by its name, or a unique short form of it; without a name, the only one.

        Raises
        ------
        UserError: there is no such arm, or several; the message lists them.
        """
        if name is None and len(self.arms) > 1:
            lines = "\n".join(f"  {quoted(label, 200)}" for label in self.arms)
            raise ChoiceError(f"the model has several methods\nFix: name one of\n{lines}")
        text = next(iter(self.arms)) if name is None else name
        return self.arms[match_name(text, {label: label for label in self.arms})]

    # ---- predictions ----

    def predict_proba(self, X: Any, arm: str | None = None) -> np.ndarray:
        """Return the probabilities of the classes, (m, K), in the order of `classes`.

        X : a DataFrame or AnnData, matched by the names of its columns; an array with the columns
            in order; or the path of a table.  Values are as in the table of the fit.
        arm : its name; not needed where the model has one.
        """
        if not self.classes:
            raise UserError("the responses are real numbers; use predict_quantiles")
        if isinstance(X, str | Path):
            table = self.read(Path(X))
            cases, covariates = table.inputs, table.covariates
        else:
            cases, covariates = self._cases(X), X
        return self._predicted(self.arm(arm), cases, self._beside(covariates))["probability"]

    def predict(self, X: Any, arm: str | None = None) -> np.ndarray:
        """Return the most probable class of each case, or the median of a real response, (m,)."""
        if not self.classes:
            return self.predict_quantiles(X, arm)[:, 1]
        return np.array(self.classes)[most_probable(self.predict_proba(X, arm))]

    def predict_quantiles(self, X: Any, arm: str | None = None) -> np.ndarray:
        """Return 5 %, 50 % and 95 % quantiles of real responses, (m, 3)."""
        if self.classes:
            raise UserError("the responses are classes; use predict_proba")
        quantiles = self.arm(arm).predict(self.inputs, self._cases(X))
        return np.stack([quantiles[name] for name in ("low", "median", "high")], axis=1)

    def unlike(self, X: Any) -> np.ndarray:
        """Return how probable it is that a case like the training cases is as far out, (m,).

        Of cases like the training cases about one in a hundred is below .01.  NaN where nothing is
        known of a case.  X is as `predict_proba` takes it.
        """
        if self.likeness is None:
            raise UserError(f"the model has nothing to compare new cases with; {EXPORT}")
        return self.likeness.compare(self.inputs.compared(self._cases(X))).p

    def _predicted(
        self, arm: FittedArm, cases: np.ndarray, covariates: np.ndarray | None
    ) -> Arrays:
        """Return what an arm predicts, also from covariates (T, q) where it is a model of ours."""
        arrays = arm.predict(self.inputs, cases)
        if self.covariates is not None and covariates is not None and isinstance(arm, SelectedArm):
            arrays["probability"] = self.covariates.adjusted(arrays["probability"], covariates)
        return arrays

    def _beside(self, X: Any) -> np.ndarray | None:
        """Return the covariates of cases, from arrays by name or a DataFrame that has them."""
        names = getattr(self.source, "covariates", ())
        if self.covariates is None:
            return None
        if not isinstance(X, dict | pd.DataFrame) or not {*names} <= {*X}:
            raise DataError(f"the model needs the covariates {list_some([*names])}, by their names")
        return np.column_stack([np.asarray(X[name], dtype=float) for name in names])

    def _cases(self, X: Any) -> np.ndarray:
        if isinstance(X, str | Path):
            return self.read(Path(X)).inputs
        return self.inputs.of_data(X)

    def read(self, path: Path) -> Any:
        """Return the new cases of a table: a Table, Sequences or a FeatureTable.

        Raises
        ------
        DataError: what is wrong, where, and what to do.
        """
        return self.source.read_new(path, self.inputs.like)

    def gaps(self, table: Any) -> list[str]:
        """Say how cases are predicted that lack columns of the training table.

        Raises
        ------
        DataError: an arm keeps one of them, and takes no missing value.
        """
        lacking: dict[str, str] = getattr(table, "lacking", {})
        like: Any = self.inputs.like
        names, arms_asked = self.inputs.names, self.arms.values() if lacking else ()
        names_used = {arm.name: {names[j] for j in arm.columns(self.inputs)} for arm in arms_asked}
        of_counts = {
            name
            for name, arm in self.arms.items()
            if arm.transform is not None and len(arm.transform.mean)
        }
        columns_by_note: dict[str, list[str]] = {}
        for column, hint in lacking.items():
            features = like.encoder.features_of(column)
            arms = [
                name
                for name in self.arms
                if name in of_counts or not names_used[name].isdisjoint(features)
            ]
            for arm in (self.arms[name] for name in arms):
                if not arm.takes_missing:
                    raise DataError(
                        f"{table.source}: it lacks {quoted(column)}, which {arm.name} keeps, and "
                        f"the {arm.kind} model takes no missing values{hint or '; add it'}"
                    )
            note = f"kept by {list_some(arms, 2)}: counted as missing"
            note = note if arms else "kept by no arm: nothing is lost"
            if of_counts.intersection(arms):
                note += (
                    ", and library sizes are of the columns that are there. Fix: give all columns"
                )
            columns_by_note.setdefault(note, []).append(
                f"{quoted(column, 30)}{hint and f' ({hint[2:]})'}"
            )
        return [
            f"{table.source}: it lacks {list_some(names, MOST_NAMED, 90)}, {note}"
            for note, names in columns_by_note.items()
        ]

    def frame(self, table: Any) -> pd.DataFrame:
        """Return the predictions of the cases that `read` returned, by each arm, as a table."""
        self.gaps(table)
        cases = table.inputs
        if self.inputs.family == "features" and table.columns != self.inputs.names:
            place = {name: j for j, name in enumerate(table.columns)}  # some were selected before
            cases = cases[:, [place[name] for name in self.inputs.names]]
        ids = table.ids or [str(number + 1) for number in range(len(cases))]
        frames, likeness_columns, discrete = [], dict[str, Any](), self.inputs.family == "features"
        if self.likeness is not None:
            comparison = self.likeness.compare(self.inputs.compared(cases))
            likeness_columns = {"unlike": comparison.p, "unlike in": comparison.reason}
            if discrete:  # no value is larger than another
                reason = np.where(comparison.p < UNLIKE, "distance", "")
                reason[comparison.reason == "classes"] = "classes"
                likeness_columns["unlike in"] = reason
            else:
                likeness_columns |= {"scale": comparison.scale, "shift": comparison.shift}
            likeness_columns["distance"] = comparison.distance
        numbers = self._beside(getattr(table, "covariates", None))
        for arm in self.arms.values():
            arrays = self._predicted(arm, cases, numbers)
            columns: dict[str, Any] = {"id": ids, "arm": arm.name}
            if not self.classes:
                quantiles = {"median": "median", "5 %": "low", "95 %": "high"}
                columns |= {label: arrays[name] for label, name in quantiles.items()}
            else:
                likely = most_probable(arrays["probability"])
                columns["predicted"] = [self.classes[k] for k in likely]
                for name, values in zip(self.classes, arrays["probability"].T, strict=True):
                    columns[f"probability: {name}"] = values
            columns |= likeness_columns
            if self.likeness is not None and not discrete:
                columns["beyond range"] = self.likeness.beyond(cases, arm.selected)
            frames.append(pd.DataFrame(columns))
        return pd.concat(frames, ignore_index=True)

    def remarks(self, frame: pd.DataFrame) -> list[str]:
        """Return what is to be said of the cases of a frame beside the training cases, in words."""
        wide = self.inputs.family == "features" and self.inputs.width > MOST_DISCRETE
        if self.inputs.family == "sequences" or wide:
            return []
        if self.likeness is None:
            return [f"the model file is of a version that does not compare new cases; {EXPORT}"]
        return _words(frame[frame["arm"] == frame["arm"].iloc[0]])

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
            "cases": self.cases,
            "arms": [],
        }
        arrays = {f"inputs/{name}": values for name, values in arrays.items()}
        if self.codes is not None:
            arrays["codes"] = self.codes
        if self.likeness is not None:
            arrays |= {f"likeness/{name}": values for name, values in vars(self.likeness).items()}
        if self.covariates is not None:
            arrays |= {f"covariates/{name}": one for name, one in vars(self.covariates).items()}
        for number, arm in enumerate(self.arms.values()):
            about, own_arrays = arm.stored()
            more = {"kind": arm.kind, "name": arm.name, "warning": arm.warning}
            if arm.transform is not None:
                more["transform"] = arm.transform.kind
                own_arrays["transform/mean"] = arm.transform.mean
                own_arrays["transform/state"] = arm.transform.state
            header["arms"].append(more | about)
            arrays |= {f"arm-{number}/{name}": values for name, values in own_arrays.items()}
        check_writable(header, arrays)
        write_model(Path(path), header, arrays)


def _words(cases: pd.DataFrame) -> list[str]:
    """Return what is to be said of new cases, the rows of one arm."""
    unknown, unlike = cases["unlike"].isna(), cases[cases["unlike"] < UNLIKE]
    if unknown.all():
        return ["it is not known whether new cases are like the training cases: these are too few"]
    n, k, lines = len(cases), len(unlike), []
    if unknown.any():
        ids = list_some([quoted(str(name)) for name in cases["id"][unknown]], 4, 60)
        lines.append(f"no value is known of {ids}; their predictions say nothing of them")
    if not k:
        return lines
    reason, most = next(iter(unlike["unlike in"].value_counts().items()))
    group = unlike[unlike["unlike in"] == reason]
    scale, shift, distance = group.reindex(columns=["scale", "shift", "distance"]).median()
    times = f"about {scale:.2g} times as large" if 0.05 < scale < 20 else "not of their size"
    side = "larger" if shift > 0 else "smaller"
    note = {
        "scale": f"values are {times}; are they on another scale, such as logs?",
        "shift": f"values are {abs(shift):.2g} standard deviations {side} on average; were they "
        "measured or normalised otherwise?",
        "classes": "values lie between those of the classes, or beyond; are they of another class?",
        "distance": f"distance from the mean is {distance:.2g} times the usual one; were they "
        f"{'measured' if 'scale' in cases else 'coded'} otherwise, or are they of another kind?",
    }[str(reason)]
    are, owner = ("is", "its") if k == 1 else ("are", "their")
    owner = owner if most == k else f"in {most:,} of them the"
    chance = "" if k > 2 * UNLIKE * n else "; by chance alone one in a hundred is"
    p = ".001" if unlike["unlike"].max() < 0.001 else ".01"
    text = f"{k:,} of {n:,} cases {are} unlike the training cases (p < {p}{chance}): {owner} {note}"
    return [*lines, text]


def most_probable(probability: np.ndarray) -> np.ndarray:
    """Return the most probable class of each case, (T,); of two equal ones class 1."""
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
        raise DataError(
            f"{path}: its content is not that of a fitted model ({shorten(error, 100)}); {EXPORT}"
        ) from None


def _restored(header: dict[str, Any], arrays: Arrays, path: Path) -> FittedModel:
    name = header["source"]["source"]
    if name not in SOURCES:
        raise DataError(
            f"{path}: its tables are read by data.source: {shorten(name)}, which is not here; "
            "install the package that has it"
        )
    about = dict(header["source"])
    if about.pop("pad", None) is not None:
        raise DataError(
            f"{path}: data.pad was removed. Fix: fill short histories in the table of "
            f"{shorten(name)}, and {EXPORT}"
        )
    source = SOURCES[name].model_validate(about)
    if header["family"] != source.family:
        raise ValueError("its family of data is not that of its source")
    inputs = Inputs.restore(source.family, header["inputs"], marked(arrays, "inputs/"))
    if source.family == "table" and not inputs.names:
        raise ValueError("names is empty, and a table names its columns")
    distinct("arms", [about["name"] for about in header["arms"]])
    stored, likeness = marked(arrays, "likeness/"), None
    if stored and source.family != "sequences" and header["format"] > 5:
        width = inputs.compared(np.zeros((1, inputs.width), dtype=np.int16)).shape[1]
        likeness = Likeness.restored(stored, width)
    codes = arrays.get("codes")
    with_codes = {} if codes is None else {"codes": codes}
    arms: dict[str, FittedArm] = {}
    candidates = candidates_of(source.family)
    selecting = SelectedArm if candidates is None else candidates.load("arm")
    for number, about in enumerate(header["arms"]):
        if about["kind"] == "process":
            raise ValueError("it has a Gaussian process, which is no longer read")
        own_arrays = marked(arrays, f"arm-{number}/") | with_codes
        arm_class = ARMS.get(about["kind"]) or selecting
        arm = arm_class.restore(about, own_arrays, inputs)
        arms[arm.name] = arm
    if not arms:
        raise ValueError("it has no arms")
    if likeness is not None and source.family == "table":
        check(all(np.isin(arm.selected, likeness.kept).all() for arm in arms.values()))
    numbers, first = marked(arrays, "covariates/"), None
    if (names := getattr(source, "covariates", ())) and candidates is not None:
        first = candidates.load("covariates").restored(numbers, len(names))
    cases, experiment = int(header["cases"]), str(header["experiment"])
    return FittedModel(experiment, source, inputs, arms, cases, codes, likeness, first)
