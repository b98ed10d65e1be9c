"""An experiment fitted to all its cases, to predict new ones.

The fits are cells like any others, in the folder `all-cases` of the results: stages up to `fit`,
one division in which all cases train.  What predictions need of them becomes a `FittedModel`.
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
from thesiskit.fitted.arms import (
    FREQUENCIES,
    FittedArm,
    FrequencyArm,
    PatternArm,
    PeerArm,
    SelectedArm,
    match_name,
)
from thesiskit.fitted.inputs import Inputs
from thesiskit.models.chains import unmixed
from thesiskit.models.likeness import Likeness
from thesiskit.models.peers import PEERS
from thesiskit.registry import candidates_of
from thesiskit.study.cells import CellBlock
from thesiskit.study.design import KEY
from thesiskit.study.experiment import Experiment, Watch
from thesiskit.study.patterns import PatternWork
from thesiskit.study.selecting import SelectionWork, as_if_new

FOLDER = "all-cases"  # below the results of the experiment


class AllCases(Experiment):
    """A config whose cases all train.

    results : of the experiment; the fits are in a folder below it.
    """

    reports = False
    _work: Any  # of one of the kinds that have cases

    def __init__(self, config: Config, results: Results, folder: Path, jobs: int = 0):
        if config.data is None:
            raise UserError(f"{config.experiment} has no data; there are no new cases to predict")
        if config.drawn:
            raise config.wrong(
                "data.source",
                f"{config.data.source} draws its cases, so there are no new ones to predict; "
                f"{', '.join(READ_NEW)} read tables of your own",
            )
        self._whole, below = config, Results(results.folder, FOLDER)
        super().__init__(config.training_with_all(), below, folder, jobs)
        self._folders = [results, below]
        self._tested = Experiment(config, results, folder, jobs)

    def check_arms(self, names: Sequence[str]) -> list[str]:
        """Return the methods that names, or short forms of them, stand for.

        Raises UserError, see `match_name`, also of a method that cannot be fitted here.
        """
        fitted, key = self.graph.work.arms("fit"), "methods" if self.config.selects else "peers"
        apart = {*getattr(self._whole.model, key)} - {*getattr(self.config.model, key)}
        for name in names:
            if any(name.endswith(method) for method in apart):
                raise UserError(
                    f"{quoted(name)} is a third-party method that cannot be exported\n"
                    f"Fix: choose one of {list_some([*fitted])}"
                )
        pages = self._page_names() if names else {}
        return [match_name(name, {own: pages.get(own, own) for own in fitted}) for name in names]

    def _page_names(self) -> dict[str, str]:
        """Return what pages call each method that has results by now, by its name."""
        tested = self._tested
        if tested.count_finished()[1] is not None:
            return {}
        record = tested.record()
        arms = tested.graph.work.arms("predict" if record.tests else "fit")
        return dict(zip(arms, map(record.name, record.arms), strict=True))

    def recommended(self, *, watch: Watch, yes: bool) -> list[str]:
        """Return the name of the method to predict new samples with; none where there is only one.

        It is the method with the lowest log loss on the test samples, or FREQUENCIES where no
        method is clearly better than the class frequencies, or where most folds chose these. What
        the experiment lacks up to its predictions is computed. Where no sample is tested, because
        all took part in a filtering, it is the first method that is corrected and tempered. Of
        several guesses of how many features there were before a filtering it is the largest, the
        most cautious.
        """
        fitted, tested = self._of_largest([*self.graph.work.arms("fit")]), self._tested
        if "predict" not in tested.stages:
            own = self._work.own_arms
            corrected = [
                name for name in fitted if name in own and own[name].method != "uncorrected"
            ]
            tempered = [name for name in corrected if own[name].tempered]
            return [*tempered, *corrected, *fitted][:1]
        if len(self.graph.work.arms("fit")) == 1 and not self._work.chooses:
            return []
        tested.check_needs(yes=yes)
        try:
            for stage in tested.stages:
                tested.run(stage, watch=watch)
        except (UserError, ResultsError) as error:
            raise type(error)(
                f"{error}\nThis tests which arm predicts best; --arm and --all-arms need it not"
            ) from None
        finally:
            tested.close()
            self.notes += tested.notes
        return self._best_tested(fitted)

    def _of_largest(self, names: list[str]) -> list[str]:
        """Return the methods, of several guesses of a filtering only those of the largest."""
        own = self._work.own_arms if self.config.selects else {}
        largest = max((arm.of for arm in own.values() if arm.of), default=0)
        smaller = [name for name, arm in own.items() if arm.of and arm.of < largest]
        if smaller:
            self.notes.append(
                f"{KEY}.of has several guesses; predictions use the largest, {largest:,}, which is "
                "the most cautious"
            )
        return [name for name in names if name not in smaller]

    def _best_tested(self, fitted: list[str]) -> list[str]:
        """Return the best of some methods on the test samples; FREQUENCIES where none is better."""
        record, names = self._tested.record(), [*self._tested.graph.work.arms("predict")]
        rows = [row for row, name in enumerate(names) if name in fitted]
        losses = record.mean_losses
        if record.continuous:
            return [names[min(rows, key=losses.__getitem__)]]
        row = record.recommended(rows)
        if row >= 0:
            return [names[row]]
        self.notes.append(
            "No model is recommended, because none is clearly better than the class frequencies: "
            "predictions are the class frequencies. "
            f"Fix: name a method to use it all the same, such as --arm {quoted(names[rows[0]])}"
        )
        return [FREQUENCIES]

    def read_new(self, path: Path) -> Any:
        """Return the new cases of a table, coded as the training cases; nothing is fitted for it.

        Raises UserError where the source has no files of cases, DataError for faults of the table.
        """
        source = self._whole.data
        assert source is not None
        if type(source).read_new is Source.read_new:
            source.read_new(path, None)  # says why it cannot
        with self._whole.wrong_data():
            like = self._work.design.stored[0 if self.config.selects else -1]
            return source.read_new(path, like)

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
        if [*names] == [FREQUENCIES]:
            drawn = block.load("simulate")
            y = drawn["response"].reshape(-1)[: drawn.get("train_cases")]
            arm = FrequencyArm(np.bincount(y, minlength=len(fitted.classes)))
            return replace(fitted, arms={arm.name: arm})
        return fitted.select_arms([*names]) if names else fitted


# ---- chapter 2 ----


def _selecting(work: SelectionWork, block: CellBlock) -> FittedModel:
    config, design = work.config, work.design
    assert config.data is not None
    table, candidates = design.tables[0], candidates_of(config.data.family)
    arm_class = SelectedArm if candidates is None else candidates.load("arm")
    arms: dict[str, FittedArm] = {}
    kept = [np.empty(0, dtype=np.intp)]
    for arm in work.fitted_arms.values():
        (pair,) = work.pairs(arm, block)
        stored = block.read("fit", arm.name)
        if arm.method in PEERS:
            *_, keep = stored.pop("task").tolist()
            task = pair[0].task(arm.method, int(keep))
            features = np.arange(pair[0].reals()[0].shape[1])
            columns = features.astype(np.intp)
            arms[arm.name] = PeerArm(
                arm.name, arm.method, task, columns, stored, pair[0].fitted_transform
            )
            continue
        fitted = work.fitted(stored, 0, arm, pair, block)
        selected = fitted.selected.astype(np.intp)
        arms[arm.name] = arm_class(arm.name, replace(fitted, selected=selected))
        kept += [selected] if fitted.model.takes == "bits" else []
    X, y = table.features, table.response
    if len(design.tables) > 1:
        X = np.concatenate([part.features for part in design.tables])
        y = np.concatenate([part.response for part in design.tables])
    if candidates is not None:
        return candidates.load("model")(work, arms, X, y)
    columns = np.unique(np.concatenate(kept)).astype(np.intp)
    about = {"names": table.names, "classes": table.classes, "coding": table.encoder.coding}
    about |= {"width": X.shape[1]}
    arrays = {"columns": columns, "thresholds": design.thresholds(columns)}
    inputs = Inputs.restore("table", about, arrays)
    taken = np.unique(np.concatenate([arm.selected for arm in arms.values()])).astype(np.intp)
    imitated = as_if_new(config, pair[0].transformed(NO_TRANSFORM), X, y)
    likeness = Likeness.of(X, y, taken, design.case_groups, imitated=imitated)
    return FittedModel(config.experiment, config.data, inputs, arms, len(y), likeness=likeness)


# ---- chapter 3 ----


def _of_patterns(work: PatternWork, block: CellBlock) -> FittedModel:
    config, cases = work.config, work.cases(block)
    patterns = cases.patterns
    width, about = cases.train.shape[1], {"classes": cases.classes}
    if patterns.kind == "sequences":
        about |= {"states": patterns.names[0], "length": width}
    else:
        about |= {"features": patterns.names[0], "values": patterns.names[1]}
        first = work.design.stored[0]
        alleles = dict(zip(first.features, first.alleles, strict=False))
        about |= {"alleles": [alleles[name] for name in about["features"] if alleles]}
    inputs = Inputs.restore(patterns.kind, about, {})
    arms: dict[str, FittedArm] = {}
    for name, arm in work.fitted_arms.items():
        stored = block.read("fit", name)
        if name not in work.own_arms:
            arms[name] = PeerArm(name, arm.engine, cases.task(arm), np.arange(width), stored)
            continue
        warning = unmixed(stored["reliable"], stored["rhat"][0], stored["ess"][0])
        arms[name] = PatternArm(name, "patterns", work.posterior(arm, block), config.seed, warning)
    likeness, n = None, len(cases.train)
    if patterns.kind == "features":
        y = cases.train_response if cases.classes else np.zeros(n, dtype=int)
        groups = None if cases.groups is None else cases.groups[:n]
        likeness = inputs.likeness(cases.train, y, groups)
    assert config.data is not None
    return FittedModel(config.experiment, config.data, inputs, arms, n, cases.train, likeness)
