"""An experiment fitted to all its samples, to predict new ones.

The fits are cells like any others, in the folder `all-samples` of the results: stages up to `fit`,
one division in which all samples train.  What predictions need of them becomes a `FittedModel`.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from thesiskit.config import Config
from thesiskit.datasets.source import READ_NEW, Source
from thesiskit.defaults import NO_TRANSFORM
from thesiskit.errors import ResultsError, UserError, list_some, quoted
from thesiskit.files import Results
from thesiskit.fitted import FittedModel
from thesiskit.fitted.inputs import Inputs
from thesiskit.fitted.methods import (
    FREQUENCIES,
    GUESS,
    FittedMethod,
    FrequencyMethod,
    PatternMethod,
    PeerMethod,
    SelectedMethod,
    match_name,
)
from thesiskit.models.chains import unmixed
from thesiskit.models.density import guess
from thesiskit.models.likeness import Likeness
from thesiskit.models.peers import PEERS
from thesiskit.models.prevalence import Prevalence, named_shares
from thesiskit.registry import candidates_of
from thesiskit.report.validation import internal_scores
from thesiskit.study.cells import CellBlock
from thesiskit.study.design import KEY, strata
from thesiskit.study.experiment import Experiment, Watch
from thesiskit.study.patterns import PatternWork
from thesiskit.study.selecting import SelectionWork, as_if_new

FOLDER = "all-samples"  # below the results of the experiment


class AllSamples(Experiment):
    """A config whose samples all train.

    results : of the experiment; the fits are in a folder below it.
    """

    reports = False
    _work: Any  # of one of the kinds that have samples

    def __init__(self, config: Config, results: Results, folder: Path, jobs: int = 0):
        if config.data is None:
            fault = f"{config.experiment} has no data to predict"
            raise UserError(f"{fault}. Fix: choose a config with a table")
        if config.drawn:
            fix = f"use your own table: {', '.join(READ_NEW)} read such tables"
            fault = f"{config.data.source} simulates its samples"
            raise config.wrong("data.source", f"{fault}. Fix: {fix}")
        self._whole, below = config, Results(results.folder, FOLDER)
        super().__init__(config.training_with_all(), below, folder, jobs)
        self._folders = [results, below]
        self.tested = Experiment(config, results, folder, jobs)

    def _notes_of_data(self) -> list[str]:
        """Return the notes of the first stage that `run` has not printed."""
        tested, stage = self.tested, self.stages[0]
        known = set(self._work.notes_of_reading)
        if tested.graph.done(tested.graph.block(0).cell(stage)):
            known |= {*tested._notes_of_data()}
        return [line for line in super()._notes_of_data() if line not in known]

    def check_methods(self, names: Sequence[str]) -> list[str]:
        """Return the methods that names, or short forms of them, stand for.

        Raises UserError, see `match_name`, also of a method that cannot be fitted here.
        """
        fitted, key = self.graph.work.methods("fit"), "methods" if self.config.selects else "peers"
        apart = {*getattr(self._whole.model, key)} - {*getattr(self.config.model, key)}
        for name in names:
            if any(name.endswith(method) for method in apart):
                raise UserError(
                    f"{quoted(name)} is a third-party method that cannot be exported\n"
                    f"Fix: choose one of {list_some([*fitted])}"
                )
        pages = self.page_names() if names else {}
        return [match_name(name, {own: pages.get(own, own) for own in fitted}) for name in names]

    def page_names(self) -> dict[str, str]:
        """Return what pages call each method that has results by now, by its name."""
        tested = self.tested
        if tested.count_finished()[1] is not None:
            return {}
        record = tested.record()
        methods = tested.graph.work.methods("predict" if record.tests else "fit")
        return dict(zip(methods, map(record.name, record.methods), strict=True))

    def recommended(self, *, watch: Watch, yes: bool) -> list[str]:
        """Return the name of the method to predict new samples with; none where there is only one.

        It is the method with the lowest log loss on the test samples, or FREQUENCIES (GUESS of real
        responses) where no method is clearly better, or where most folds chose these. What the
        experiment lacks up to its predictions is computed. Where no sample is tested, because all
        took part in a filtering, it is the first method that is corrected and tempered. Of several
        guesses of how many features there were before a filtering it is the most cautious one.
        """
        fitted, tested = self._of_largest([*self.graph.work.methods("fit")]), self.tested
        if "predict" not in tested.stages:
            own = self._work.own_methods
            models = [name for name in fitted if name in own]
            corrected = [name for name in models if own[name].estimator != "uncorrected"]
            tempered = [name for name in corrected if own[name].tempered]
            return [*tempered, *corrected, *fitted][:1]
        if len(self.graph.work.methods("fit")) == 1 and not self._work.chooses:
            return []
        tested.check_needs(yes=yes)
        try:
            for stage in tested.stages:
                tested.run(stage, watch=watch)
        except (UserError, ResultsError) as error:
            fix = "This selects the best method. Fix: skip it with --method or --all-methods"
            raise type(error)(f"{error}\n{fix}") from None
        finally:
            tested.close()
            self.notes += tested.notes
        return self._best_tested(fitted)

    def _of_largest(self, names: list[str]) -> list[str]:
        """Return the methods, of several guesses of a filtering only those of the largest."""
        own = self._work.own_methods if self.config.selects else {}
        largest = max((method.of for method in own.values() if method.of), default=0)
        smaller = [name for name, method in own.items() if method.of and method.of < largest]
        if smaller:
            self.notes.append(
                f"{KEY}.of has several values; predictions use the largest, {largest:,}, which is "
                "the most cautious"
            )
        return [name for name in names if name not in smaller]

    def _best_tested(self, fitted: list[str]) -> list[str]:
        """Return the best of some methods on the test samples; FREQUENCIES where none is better."""
        record, names = self.tested.record(), [*self.tested.graph.work.methods("predict")]
        rows = [row for row, name in enumerate(names) if name in fitted]
        row = record.recommended(rows)
        if row >= 0:
            return [names[row]]
        base, name = "the class frequencies", FREQUENCIES
        if record.continuous:
            base, name = "the distribution of the training responses", GUESS
        reason = f"none is clearly better than {base}: predictions are {base}"
        fix = f"name a method to use it anyway, such as --method {quoted(names[rows[0]])}"
        self.notes.append(f"No model is recommended, because {reason}. Fix: {fix}")
        return [name]

    def read_new(self, path: Path, *, tested: bool = False) -> Any:
        """Return the new samples of a table, coded as the training samples, without a fit.

        tested : they have a response.  Raises UserError where the source has no files of samples,
        DataError for faults of the table.
        """
        source = self._whole.data
        assert source is not None
        name = "read_tested" if tested else "read_new"
        read = getattr(source, name)
        if getattr(type(source), name) is getattr(Source, name):
            read(path, None)  # says why it cannot
        with self._whole.wrong_data():
            like = self._work.design.stored[0 if self.config.selects else -1]
            return read(path, like)

    def check_prevalence(self, prevalence: Prevalence) -> None:
        """Raise UserError for a prevalence that predictions cannot have, without a fit."""
        if prevalence is not None:
            named_shares(prevalence, self._work.design.stored[0].classes)

    def fit(self, *, watch: Watch, force: bool = False) -> bool:
        """Make what is not made yet; return whether there was anything."""
        return sum(self.run(stage, watch=watch, force=force) for stage in self.stages) > 0

    def model(self, names: Sequence[str] = ()) -> FittedModel:
        """Return the fitted model, with some of its methods if they are named.

        Raises
        ------
        UserError: a stage is not made.
        """
        block = self.graph.block(0)
        fitted = (_selecting if self.config.selects else _of_patterns)(self._work, block)
        drawn = block.load("simulate")
        y = drawn["response"].reshape(-1)[: drawn.get("train_cases")]
        counts = np.bincount(y, minlength=len(fitted.classes)) if fitted.classes else None
        fitted = replace(fitted, counts=counts)
        if [*names] in ([FREQUENCIES], [GUESS]):
            method = FrequencyMethod(guess(y) if counts is None else counts)
            return replace(fitted, methods={method.name: method})
        fitted = fitted.select_methods([*names]) if names else fitted
        tested = self.tested
        if "predict" in tested.stages and tested.count_finished()[1] is None:
            scores = zip(tested.graph.work.methods("predict"), tested.record().scores, strict=True)
            methods = {name: score for name, score in scores if name in fitted.methods}
            fitted = replace(fitted, internal=internal_scores(methods))
        return fitted


# ---- chapter 2 ----


def _selecting(work: SelectionWork, block: CellBlock) -> FittedModel:
    config, design = work.config, work.design
    assert config.data is not None
    table, candidates = design.tables[0], candidates_of(config.data.family)
    method_class = SelectedMethod if candidates is None else candidates.load("method")
    methods: dict[str, FittedMethod] = {}
    kept = [np.empty(0, dtype=np.intp)]
    for method in work.fitted_methods.values():
        ((split, selection),) = work.pairs(method, block)
        stored = block.read("fit", method.name)
        if method.estimator in PEERS:
            *_, keep = stored.pop("task").tolist()
            task, form = split.task(method.estimator, int(keep)), split.fitted_transform
            columns = np.arange(split.reals()[0].shape[1], dtype=np.intp)
            label = method.name
            methods[label] = PeerMethod(label, method.estimator, task, columns, stored, form)
            continue
        fitted = work.fitted(stored, 0, method, (split, selection), block)
        selected = fitted.selected.astype(np.intp)
        methods[method.name] = method_class(method.name, replace(fitted, selected=selected))
        kept += [selected] if fitted.model.takes == "bits" else []
    y = np.concatenate([part.response for part in design.tables])
    parts = [part.features for part in design.tables]
    X = parts[0] if len(parts) == 1 else np.concatenate(parts)
    if candidates is not None:
        return candidates.load("model")(work, methods, X, y)
    columns = np.unique(np.concatenate(kept))
    about = {"names": table.names, "classes": table.classes, "coding": table.encoder.coding}
    about |= {"width": X.shape[1]}
    arrays = {"columns": columns, "thresholds": design.thresholds(columns)}
    inputs = Inputs.restore("table", about, arrays)
    taken = np.unique(np.concatenate([method.selected for method in methods.values()]))
    imitated = as_if_new(config, split.transformed(NO_TRANSFORM), X, y)
    likeness = Likeness.of(X, strata(y), taken, design.sample_groups, imitated=imitated)
    return FittedModel(config.experiment, config.data, inputs, methods, len(y), likeness=likeness)


# ---- chapter 3 ----


def _of_patterns(work: PatternWork, block: CellBlock) -> FittedModel:
    config, samples = work.config, work.samples(block)
    patterns = samples.patterns
    width, about = samples.train.shape[1], {"classes": samples.classes}
    if patterns.kind == "sequences":
        about |= {"states": patterns.names[0], "length": width}
    else:
        about |= {"features": patterns.names[0], "values": patterns.names[1]}
        first = work.design.stored[0]
        alleles = dict(zip(first.features, first.alleles, strict=False))
        about |= {"alleles": [alleles[name] for name in about["features"] if alleles]}
    inputs = Inputs.restore(patterns.kind, about, {})
    methods: dict[str, FittedMethod] = {}
    for name, method in work.fitted_methods.items():
        stored = block.read("fit", name)
        if name not in work.own_methods:
            task = samples.task(method)
            methods[name] = PeerMethod(name, method.engine, task, np.arange(width), stored)
            continue
        warning = unmixed(stored["reliable"], stored["rhat"][0], stored["ess"][0])
        posterior = work.posterior(method, block)
        methods[name] = PatternMethod(name, "patterns", posterior, config.seed, warning)
    likeness, n = None, len(samples.train)
    if patterns.kind == "features":
        y = samples.train_response if samples.classes else np.zeros(n, dtype=int)
        groups = None if samples.groups is None else samples.groups[:n]
        likeness = inputs.likeness(samples.train, y, groups)
    assert config.data is not None
    return FittedModel(config.experiment, config.data, inputs, methods, n, samples.train, likeness)
