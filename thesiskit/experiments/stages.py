"""The stages of an experiment: each reads what those before it wrote, and writes its own.

A stage works block by block and skips blocks whose file stands with the right key: a digest of
the settings that matter to the stage, the data, the code, and the settings of the stages before.
What the stages are, and how a block is made, is for the experiment's work to say.
"""

import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from thesiskit.config import Config
from thesiskit.errors import ConfigError, UserError
from thesiskit.experiments.provenance import code_digest, surroundings
from thesiskit.experiments.seeds import digest
from thesiskit.experiments.work import Work
from thesiskit.report.finished import check_thesis
from thesiskit.report.page import write_report
from thesiskit.report.parts import check_parts
from thesiskit.report.store import Results

Watch = Callable[[Iterable, int, str], Iterable]


def blocks(config: Config) -> list[range]:
    """Return the replicates, or divisions, of each result file."""
    if config.data is None and config.reduction is None:
        return [range(1)]
    starts = range(0, config.divisions, config.block)
    return [range(start, min(start + config.block, config.divisions)) for start in starts]


def work_of(experiment: "Experiment") -> Work:
    """Return the work of an experiment; only the modules of its own kind are imported."""
    if experiment.config.reduction is not None:
        from thesiskit.experiments.reduction_work import ReductionWork

        return ReductionWork(experiment)
    if experiment.config.data is None:
        from thesiskit.experiments.lattice_work import LatticeWork

        return LatticeWork(experiment)
    if experiment.config.model.kind == "logistic":
        from thesiskit.experiments.logistic_work import LogisticWork

        return LogisticWork(experiment)
    from thesiskit.experiments.selection_work import SelectionWork

    return SelectionWork(experiment)


def _pass_on(items: Iterable, total: int, label: str) -> Iterable:  # noqa: ARG001
    """Watch nothing."""
    return items


class Experiment:
    """A config with its results: runs stages and knows what is done."""

    inner_watch: Watch = staticmethod(_pass_on)  # of what is done within a block

    def __init__(self, config: Config, results: Results, folder: Path):
        self.config = config
        self.results = results
        self.folder = folder  # of the config file: data paths start there
        self.blocks = blocks(config)
        self.work = work_of(self)
        self.stages = self.work.stages

    def command(self, stage: str) -> str:
        """The command of a stage."""
        return self.work.command(stage)

    def check_command(self, stage: str, name: str) -> None:
        """Raise UserError where `name` is not the command for a stage of this model."""
        self._check_stage(stage)
        if name != self.command(stage):
            raise UserError(
                f"{self.config.experiment} has model.kind: {self.config.model.kind}; "
                f"use `thesiskit {self.command(stage)} CONFIG`"
            )

    def _check_stage(self, stage: str) -> None:
        if stage not in self.stages:
            kind = self.config.model.kind
            has = "no data" if self.config.data is None else f"model.kind: {kind}, and nothing"
            raise UserError(
                f"{self.config.experiment} has {has} to {stage}; use `thesiskit run CONFIG`"
            )

    def check(self) -> None:
        """Raise what can be known to be wrong before any work is done."""
        self._check_report()
        self.results.prepare()
        self.work.check()

    def _check_report(self) -> None:
        for key, check in (("report.parts", check_parts), ("report.thesis", check_thesis)):
            try:
                check(self.work.described)
            except ConfigError as error:
                raise self.config.wrong(key, str(error)) from None

    def run(self, stage: str, *, watch: Watch, force: bool = False) -> int:
        """Run a stage and return how many blocks had to be made.

        Raises UserError where the stage before is missing or was made from something else.
        """
        self._check_stage(stage)
        self.check()
        made = 0
        started = time.perf_counter()
        many = len(self.blocks) > 1
        self.inner_watch = _pass_on if many else watch
        for number in (watch if many else _pass_on)(
            range(len(self.blocks)), len(self.blocks), stage
        ):
            key = self.key(stage, number)
            if force:
                self.work.forget(stage, number, forced=True)
            elif self.results.key(stage, number) == key and self.work.whole(stage, number):
                continue
            self.results.save(stage, number, key, self.work.make(stage, number))
            self.work.forget(stage, number)
            made += 1
        if made:
            finished = datetime.now(UTC).isoformat(timespec="seconds")
            seconds = round(time.perf_counter() - started, 3)
            entry = {"finished": finished, "blocks_made": made, "seconds": seconds}
            self._record_run(stages={stage: entry})
        return made

    def summary(self, stage: str) -> str:
        """Say in a line what a stage has done, and where that is."""
        return f"{self.work.summary(stage)} -> {self.results.folder / stage}"

    def report(self, *, watch: Watch, force: bool = False) -> tuple[Path, bool]:
        """Write the report from the finished stages; return its page and whether it was made."""
        self._check_report()
        described = self.work.described
        self.results.prepare()
        numbers = range(len(self.blocks))
        keys = [self.require(stage, number) for stage in self.stages for number in numbers]
        key = digest([keys, described, code_digest("report/")])
        page = self.results.folder / "report.html"
        last = self.results.provenance().get("report", {})
        if not force and last.get("key") == key:
            files = [page, *(self.results.folder / name for name in last["files"])]
            if all(path.exists() for path in files):
                return page, False
        self._record_run()
        files = write_report(self.work.record(), watch=watch)
        self.results.update_provenance(report={"key": key, "files": files})
        return page, True

    def key(self, stage: str, number: int) -> str:
        """Return the key that the file of a block must have: a digest of all that leads to it."""
        before = self.stages[: self.stages.index(stage) + 1]
        chain = [self.work.settings_of(name) for name in before]
        replicates = self.blocks[number]
        return digest([stage, code_digest(), replicates.start, replicates.stop, chain])

    def load(self, stage: str, number: int) -> dict[str, np.ndarray]:
        """Return the arrays of a block, checked to be what this config leads to."""
        self.require(stage, number)
        return self.results.load(stage, number)

    def require(self, stage: str, number: int) -> str:
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

    def _record_run(self, **entries) -> None:
        self.results.update_provenance(
            experiment=self.config.experiment,
            config=self.work.described,
            data={"sha256": self.work.data_digest},
            seed=self.config.seed,
            **surroundings(),
            **entries,
        )
