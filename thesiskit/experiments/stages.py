"""The stages of an experiment: each reads what the one before it wrote, and writes its own.

simulate -> select -> fit -> predict.  A stage works block by block and skips blocks whose file
stands with the right key: a digest of the settings that matter to the stage, the data, the code,
and the key of the stage before.
"""

import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from thesiskit.config import (
    DRAWN,
    NAIVE_METHODS,
    OWN_METHODS,
    Config,
    MixtureModel,
    check_sizes,
)
from thesiskit.errors import ConfigError, UserError
from thesiskit.experiments import design
from thesiskit.experiments.naive_fits import NaiveFits
from thesiskit.experiments.naive_fits import settings as naive_settings
from thesiskit.experiments.provenance import code_digest, surroundings
from thesiskit.experiments.selections import pack_selections, unpack_selections
from thesiskit.models import naive_bayes, peers
from thesiskit.models.selection import (
    Selection,
    correlation_lattice,
    correlations,
    select_features,
)
from thesiskit.report.page import write_report
from thesiskit.report.parts import check_parts
from thesiskit.report.record import Record, check_thesis
from thesiskit.report.store import UNFINISHED, Results

STAGES = ("simulate", "select", "fit", "predict")
FIT_COMMANDS = {"naive-bayes": "fit-naive", "mixture": "fit-mixture"}
Watch = Callable[[Iterable, int, str], Iterable]


class Experiment:
    """A config with its results: runs stages and knows what is done."""

    def __init__(self, config: Config, results: Results, folder: Path):
        self.config = config
        self.results = results
        self.design = design.Design(config, folder)
        self.blocks = design.blocks(config)
        self.stages = STAGES if config.data else ("select",)

    def command(self, stage: str) -> str:
        """The command of a stage."""
        return FIT_COMMANDS[self.config.model.kind] if stage == "fit" else stage

    def check_command(self, stage: str, name: str) -> None:
        """Raise UserError where `name` is not the command for a stage of this model."""
        if name != self.command(stage):
            raise UserError(
                f"{self.config.experiment} has model.kind: {self.config.model.kind}; "
                f"use `thesiskit {self.command(stage)} CONFIG`"
            )

    @property
    def arm_names(self) -> list[str]:
        """Short names of the arms."""
        several = len(self.config.model.variants) > 1
        return [
            f"{arm.label} {arm.method}" + (f" {arm.variant}" if several else "")
            for arm in design.arms(self.config)
        ]

    def check(self) -> None:
        """Raise what can be known to be wrong before any work is done."""
        self._check_report()
        self.results.prepare()
        for table in self.design.tables[:1]:
            check_sizes(self.config, table.features.shape[1])

    def _check_report(self) -> None:
        for key, check in (("report.parts", check_parts), ("report.thesis", check_thesis)):
            try:
                check(self._described)
            except ConfigError as error:
                raise self.config.wrong(key, str(error)) from None

    @property
    def _described(self) -> dict[str, Any]:
        """The config for people and files, with what it leaves to the data."""
        return self.config.model_dump(mode="json") | {
            "scheme": self.config.scheme if self.config.data else None
        }

    def run(self, stage: str, *, watch: Watch, force: bool = False) -> int:
        """Run a stage and return how many blocks had to be made.

        Raises UserError where the stage before is missing or was made from something else.
        """
        if stage not in self.stages:
            raise UserError(
                f"{self.config.experiment} has no data to {self.command(stage)}; "
                "use `thesiskit run CONFIG`"
            )
        self.check()
        made = 0
        started = time.perf_counter()
        many = len(self.blocks) > 1
        self.inner_watch = _pass_on if many else watch
        for number in (watch if many else _pass_on)(
            range(len(self.blocks)), len(self.blocks), stage
        ):
            key = self.key(stage, number)
            if not force and self.results.key(stage, number) == key and self._whole(stage, number):
                continue
            if force and stage == "fit":
                self.results.remove(UNFINISHED, number)
            arrays = getattr(self, f"_{stage}")(number)
            self.results.save(stage, number, key, arrays)
            if stage == "fit":
                self.results.remove(UNFINISHED, number)
            made += 1
        if made:
            self._record(stage, made, time.perf_counter() - started)
        return made

    def _whole(self, stage: str, number: int) -> bool:
        """Whether what a stage keeps beside its block is there: draws, of a mixture."""
        if stage != "fit":
            return True
        return all(path.exists() for path in self._fits(number).files(self._own_arms()))

    def report(self, *, watch: Watch, force: bool = False) -> tuple[Path, bool]:
        """Write the report from the finished stages; return its page and whether it was made."""
        self._check_report()
        self.results.prepare()
        numbers = range(len(self.blocks))
        keys = [self._checked_key(stage, number) for stage in self.stages for number in numbers]
        key = design.digest([keys, self._described, code_digest("report/")])
        page = self.results.folder / "report.html"
        last = self.results.provenance().get("report", {})
        if not force and last.get("key") == key:
            files = [page, *(self.results.folder / name for name in last["files"])]
            if all(path.exists() for path in files):
                return page, False
        self._record_run()
        files = write_report(Record(self.results, len(self.blocks), self._described), watch=watch)
        self.results.update_provenance(report={"key": key, "files": files})
        return page, True

    def key(self, stage: str, number: int) -> str:
        """Return the key that the file of a block must have: a digest of all that leads to it."""
        chain = [self._settings_of(name) for name in STAGES[: STAGES.index(stage) + 1]]
        replicates = self.blocks[number]
        return design.digest([stage, code_digest(), replicates.start, replicates.stop, chain])

    def _settings_of(self, stage: str) -> Any:
        """Return the part of the config that matters to a stage."""
        config = self.config
        if config.data is None:
            return config.lattice and config.lattice.model_dump()
        assert config.selection is not None
        if stage == "simulate":
            evaluation = config.evaluation.model_dump(exclude={"scheme"})
            for name, scheme in (("folds", "k-fold"), ("test_fraction", "holdout")):
                if config.scheme != scheme:
                    del evaluation[name]
            priors = None
            if isinstance(config.data, DRAWN):
                wanted = {"class_prior", "alpha_prior", "response_alpha_prior"}
                priors = config.model.model_dump(include=wanted)
            data = [config.data.model_dump(), self.design.data_digest]
            return [config.seed, data, config.scheme, evaluation, priors]
        if stage == "select":
            return config.selection.model_dump()
        return config.model.model_dump() if stage == "fit" else None

    def load(self, stage: str, number: int) -> dict[str, np.ndarray]:
        """Return the arrays of a block, checked to be what this config leads to."""
        self._checked_key(stage, number)
        return self.results.load(stage, number)

    def _checked_key(self, stage: str, number: int) -> str:
        """Return a block's key if it is the right one, or say what to run."""
        found, wanted = self.results.key(stage, number), self.key(stage, number)
        if found == wanted:
            return wanted
        path = self.results.path(stage, number)
        state = "was made with other settings, data or code"
        if found is None:
            state = "is damaged" if path.exists() else "is not there"
        raise UserError(
            f"{path} {state}; run `thesiskit {self.command(stage)} CONFIG` first, "
            "or all stages with `thesiskit run CONFIG`"
        )

    def splits(self, number: int, drawn: dict[str, np.ndarray]) -> Iterable[design.Split]:
        """Return the splits of a block, watched."""
        splits = self.design.splits(self.blocks[number], drawn)
        folds = sum(len(np.unique(fold[fold >= 0])) for fold in drawn["fold"])
        return self.inner_watch(splits, folds * self.config.evaluation.groups, "splits")

    # ---- simulate ----

    def _simulate(self, number: int) -> dict[str, np.ndarray]:
        return self.design.draw(self.blocks[number])

    # ---- select ----

    def _select(self, number: int) -> dict[str, np.ndarray]:
        if self.config.lattice is not None:
            n0, n1 = self.config.lattice.class_counts
            correlation, kind = correlation_lattice(n0, n1, str(self.config.lattice.gamma))
            return {"correlation": correlation, "kind": kind}
        drawn = self.load("simulate", number)
        record: list[Selection] = []
        seconds: list[float] = []
        arrays: dict[str, np.ndarray] = {}
        for split in self.splits(number, drawn):
            for i, size in enumerate(design.sizes(self.config)):
                rng = design.generator(
                    self.config.seed, "ties", split.replicate, split.group, split.fold, i
                )
                started = time.perf_counter()
                record.append(self._select_one(split, size, rng))
                seconds.append(time.perf_counter() - started)
            if number == 0 and not arrays and self.config.scheme == "test-set":
                arrays = self._both_correlations(split)
        return arrays | pack_selections(record, np.array(seconds))

    def _select_one(self, split: design.Split, size, rng) -> Selection:
        by_k = bool(self.config.selection and self.config.selection.features)
        p = len(split.features)
        return select_features(
            split.features,
            split.response,
            (p if size == "all" else int(size)) if by_k else None,
            rng,
            threshold=None if by_k else str(size),
            cases=split.train,
        )

    def _both_correlations(self, split: design.Split) -> dict[str, np.ndarray]:
        """|COR| of every feature in training and test cases, for the scatter plot."""
        if len(split.features) > 200_000 or len(np.unique(split.response[split.test])) < 2:
            return {}
        table = split.features.unpack(np.arange(len(split.features)))
        return {
            f"{name}_correlation": np.abs(correlations(table, split.response[rows], rows))
            for name, rows in (("train", split.train), ("test", split.test))
        }

    # ---- fit ----

    def _own_arms(self) -> list[tuple[int, design.Arm]]:
        own = (*OWN_METHODS, "complete")
        return [(i, arm) for i, arm in enumerate(design.arms(self.config)) if arm.method in own]

    def _fits(self, number: int) -> Any:
        if isinstance(self.config.model, MixtureModel):
            from thesiskit.experiments.mixture_fits import MixtureFits

            return MixtureFits(self, number)
        return NaiveFits(self, number)

    def _fit(self, number: int) -> dict[str, np.ndarray]:
        selections = unpack_selections(self.load("select", number))
        n_sizes = len(design.sizes(self.config))
        return self._fits(number).fit(selections, self._own_arms(), n_sizes)

    # ---- predict ----

    def _predict(self, number: int) -> dict[str, np.ndarray]:
        drawn = self.load("simulate", number)
        selections = unpack_selections(self.load("select", number))
        fitted = self.load("fit", number)
        arms, n_sizes = design.arms(self.config), len(design.sizes(self.config))
        column = {i: j for j, (i, _) in enumerate(self._own_arms())}
        probability: list[list[np.ndarray]] = [[] for _ in arms]
        about: dict[str, list] = {
            name: [] for name in ("replicate", "group", "fold", "case", "response")
        }
        seconds = []
        fits = self._fits(number)
        for s, split in enumerate(self.splits(number, drawn)):
            tables: dict[int, np.ndarray] = {}
            for i, arm in enumerate(arms):
                selection = selections[s * n_sizes + arm.size]
                if arm.size not in tables:
                    tables[arm.size] = split.features.unpack(selection.selected, split.test)
                if arm.method in NAIVE_METHODS:
                    answer, spent = self._predict_naive(selection, arm, tables[arm.size])
                elif i not in column:
                    answer, spent = self._predict_peer(split, selection, arm)
                else:
                    started = time.perf_counter()
                    answer = fits.predict(
                        fitted, s, column[i], arm, split, selection, tables[arm.size]
                    )
                    spent = time.perf_counter() - started
                seconds.append(spent)
                probability[i].append(answer)
            for name in ("replicate", "group", "fold"):
                about[name].append(np.full(len(split.test), getattr(split, name)))
            about["case"].append(split.test)
            about["response"].append(split.response[split.test])
        return {name: np.concatenate(values) for name, values in about.items()} | {
            "label": np.array([arm.label for arm in arms]),
            "method": np.array([arm.method for arm in arms]),
            "variant": np.array([arm.variant for arm in arms]),
            "probability": np.array([np.concatenate(values) for values in probability]),
            "seconds": np.array(seconds).reshape(-1, len(arms)),
        }

    def _predict_naive(
        self, selection: Selection, arm: design.Arm, table: np.ndarray
    ) -> tuple[np.ndarray, float]:
        """Return what the naive Bayes model predicts, beside a mixture."""
        started = time.perf_counter()
        posterior = naive_bayes.fit(
            selection,
            naive_settings(self.config.model, "exact"),
            correct=NAIVE_METHODS[arm.method] == "corrected",
        )
        return naive_bayes.predict(posterior, table), time.perf_counter() - started

    def _predict_peer(
        self, split: design.Split, selection: Selection, arm: design.Arm
    ) -> tuple[np.ndarray, float]:
        """Return a peer's predictions, and the seconds it took to select, fit and predict."""
        peers.load()
        table = split.features.unpack(np.arange(len(split.features)))
        rng = design.generator(
            self.config.seed, arm.method, split.replicate, split.group, split.fold
        )
        started = time.perf_counter()
        answer = peers.fit_predict(
            arm.method,
            len(selection.selected),
            table[split.train],
            split.response[split.train],
            table[split.test],
            int(rng.integers(2**31)),
        )
        return answer, time.perf_counter() - started

    # ---- provenance ----

    def _record(self, stage: str, made: int, seconds: float) -> None:
        finished = datetime.now(UTC).isoformat(timespec="seconds")
        entry = {"finished": finished, "blocks_made": made, "seconds": round(seconds, 3)}
        self._record_run(stages={stage: entry})

    def _record_run(self, **entries) -> None:
        self.results.update_provenance(
            experiment=self.config.experiment,
            config=self._described,
            data={"sha256": self.design.data_digest},
            seed=self.config.seed,
            **surroundings(),
            **entries,
        )


def _pass_on(items: Iterable, total: int, label: str) -> Iterable:  # noqa: ARG001
    """Watch nothing."""
    return items
