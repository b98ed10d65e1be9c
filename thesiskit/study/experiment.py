"""The stages of an experiment: each reads what those before it wrote, and writes its own.

A stage works block by block.  It skips blocks whose file is complete and has the right key: a
digest of the settings that matter to the stage, the data, the code, and the settings of the stages
before.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cached_property
from importlib import import_module
from itertools import product
from pathlib import Path
from pkgutil import resolve_name
from threading import Thread
from typing import ClassVar

from threadpoolctl import threadpool_limits

from thesiskit.config import Config
from thesiskit.datasets.source import CHECKS
from thesiskit.errors import ConfigError, ResultsError, UserError, memory_text
from thesiskit.files import Results, code_digest, now, sha256, surroundings, sweep, write_text
from thesiskit.registry import all_candidates, candidates_of
from thesiskit.report.layout import DRAWING, changed, csv_text
from thesiskit.report.page import write_report
from thesiskit.report.parts import check_parts, parts_without_tests, stage_rows
from thesiskit.report.record import Record, check_thesis
from thesiskit.report.stages import notes, summary
from thesiskit.study.cells import Cell, Graph, Needs, Work, digest
from thesiskit.study.workers import Workers

# what writes a report
_PLACES = [place for kind in all_candidates() for place in kind.parts.values()]
_REPORTS = dict.fromkeys(place.partition(":")[0] for place in _PLACES)
PAGE = ("thesiskit.report.page", *_REPORTS), ("report/templates", "report/thesis")
ROWS = {"select": "selected-features.csv", "predict": "predictions.csv"}  # beside the stages
Watch = Callable[..., Iterable]  # of items, their number, a label, and what is at work


class Experiment:
    """A config with its results: it runs stages, and writes the report.

    jobs : child processes that make cells; with 0 they are made in this process.
    graph : the cells, and whether they are done.
    notes : what the user should hear of.
    """

    reports: ClassVar[bool] = True  # whether it has a report

    def __init__(self, config: Config, results: Results, folder: Path, jobs: int = 0):
        self.config, self.results, self.jobs = config, results, jobs
        self._folders = [results]  # to write in
        self._work = open_work(config, folder)
        self.graph, self.stages = Graph(self._work, results), self._work.stages
        self.notes: list[str] = []
        self._workers: Workers | None = None
        self._ahead: Counter[str] = Counter()  # cells made of stages that were not run yet
        self._checked = False

    def check_command(self, stage: str, name: str = "") -> None:
        """Raise UserError where there is no such stage, or `name` is not its command."""
        experiment, kind = self.config.experiment, self.config.model.kind
        if stage not in self.stages:
            has = "no data" if self.config.data is None else f"model.kind: {kind}, and nothing"
            raise UserError(f"{experiment} has {has} to {stage}. Fix: use `thesiskit run CONFIG`")
        command = self._work.command(stage)
        if name and name != command:
            fix = f"use `thesiskit {command} CONFIG`"
            raise UserError(f"{experiment} has model.kind: {kind}. Fix: {fix}")

    def check(self) -> None:
        """Raise what can be known to be wrong before any work is done."""
        self.check_report()
        if not self._checked:  # data and config stay the same: once is enough for all stages
            self._work.check()
        for results in self._folders:
            results.prepare()
            if not self._checked:
                sweep(results.folder)
        self._checked = True

    def check_report(self) -> None:
        """Raise ConfigError for parts of the report that this config has nothing for."""
        if not self.reports:
            return
        for key, check in (("report.parts", check_parts), ("report.thesis", check_thesis)):
            try:
                check(self._work.described)
            except ConfigError as error:
                raise self.config.wrong(key, str(error)) from None

    def needs(self) -> Needs:
        """Return what the experiment needs, whatever of it is done."""
        work, graph = self._work, self.graph
        # counted, not listed: there may be too many
        cells = sum(1 + sum(1 + n for n in work.methods(stage).values()) for stage in self.stages)
        needs = work.needs(graph.size)
        return needs.of_all(cells * graph.blocks.stop, graph.divisions, graph.size)

    def check_needs(self, *, yes: bool) -> None:
        """Raise UserError where the experiment needs much and the user did not say --yes.

        Errors of the report, and of sizes that cannot be (more folds than samples, say), come
        first.
        """
        self.check_report()  # takes no time, and reads no data
        self.needs().check(self.config.experiment, yes=yes)

    def plan(self, *, force: bool) -> list[str]:
        """Say what a run would make, and what is known of what that needs."""
        graph, config, jobs, lines = self.graph, self.config, max(self.jobs, 1), []
        cells = list(graph.all_cells())
        todo = Counter(cell.stage for cell in (cells if force else self._missing(*self.stages)))
        for stage, every in Counter(cell.stage for cell in cells).items():
            n_cells = todo[stage]
            state = f"{n_cells:,} of {every:,} tasks to compute" if n_cells else "done"
            lines.append(f"{stage}: {state}")
        needed = self.needs()
        if needed.iterations:
            until = getattr(config.model, "until", None) is not None
            less = ", fewer if chains converge early" if until else ""
            lines.append(f"{needed.iterations:,} iterations of all chains together{less}")
        if config.minutes is not None:
            lines.append(
                f"estimated time for the default settings: {config.minutes:g} min on two cores"
            )
        many = f"{jobs} processes" if jobs > 1 else "1 process"
        memory, disk = memory_text(needed.memory), memory_text(needed.disk)
        lines.append(f"{many}, at least {memory} of memory in each, and {disk} on disk")
        return lines

    def run(self, stage: str, *, watch: Watch, force: bool = False, ahead: bool = False) -> int:
        """Run a stage and return how many cells had to be made.

        ahead : where the stage has methods, make the later stages with it, so that no method waits
            for another one; run afterwards, they have nothing to make.

        Raises UserError where the stage before is missing or was made from something else.
        """
        self.check_command(stage)
        self.check()
        if self._ahead[stage] and not force:
            return self._ahead.pop(stage)
        blocks = [self.graph.block(number) for number in self.graph.blocks]
        if not force:
            self._remove_damaged(stage)
        cells = self._missing(stage)
        if not cells and not force:
            self.write_rows(stage, again=False)
            return 0
        together: tuple[str, ...] = (stage,)
        if ahead and not force and self._work.methods(stage):
            together = self.stages[self.stages.index(stage) :]
            self._remove_damaged(*together[1:])
            cells = self._missing(*together)
        started = time.perf_counter()
        numbers = {cell.block for cell in cells}
        to_make = blocks if force else [block for block in blocks if block.number in numbers]
        with self.results.alone():
            for block in to_make:
                for before in self.stages[: self.stages.index(stage)]:
                    block.require(block.cell(before))
            for block in blocks if force else ():  # once nothing can be refused
                block.delete_outputs(stage)
            if ahead and self.jobs and self._workers is None:  # beside the work of the children
                Thread(target=import_module, args=[DRAWING], daemon=True).start()
            cells = self._missing(stage) if force else cells
            counts = Counter(cell.stage for cell in cells)
            try:
                self._make(" and ".join(together), cells, watch)
            finally:
                entry = {"finished": now(), "seconds": round(time.perf_counter() - started, 3)}
                finished = [name for name in together if not self._missing(name)]
                entries = {name: entry | {"cells_made": counts[name]} for name in finished}
                self.record_run(stages=entries)
            for name in together:
                self.write_rows(name, again=True)
            if stage == self.stages[0]:
                self.notes += [*self._notes_of_data(), *self._work.notes]
                left_out = ", ".join(parts_without_tests(self._work.described))
                dropped = f"report.parts: {left_out}: dropped, because no sample is tested"
                self.notes += [dropped] if left_out and self.reports else []
            with suppress(OSError):  # unless a job is at work there
                (self.results.folder / "unfinished").rmdir()
        made, self._ahead = counts.pop(stage), counts
        return made

    def _notes_of_data(self) -> list[str]:
        """Return the notes of the first stage; what `init` prints of a table is summarised."""
        lines, of_reading = notes(self.record(), fitted=False), self._work.notes_of_reading
        if self.config.data is None or not self.config.data.own or not self.reports:
            return lines
        checks = self.graph.block(0).load(self.stages[0], ("checks",))["checks"].tolist()
        codes = [code for code, status, _ in checks if status == "warning"]
        named = ", ".join(f"{code} {CHECKS[code][0]}" for code in codes)
        counts = [f"checks with warnings: {named}"] if codes else []
        counts += [f"notes on the table: {len(of_reading)}"] if of_reading else []
        if counts:
            where = "the report, or `thesiskit check CONFIG`"
            lines.insert(0, f"{'; '.join(counts)}. Details: {where}")
        return [line for line in lines if line not in of_reading]

    def _remove_damaged(self, *stages: str) -> None:
        """Remove damaged files of stages, so that they are made again, with a note for each."""
        for number, stage in product(self.graph.blocks, stages):
            for path in self.graph.block(number).remove_damaged(stage):
                self.notes.append(f"{path} was damaged and is computed again")

    def _missing(self, *stages: str) -> list[Cell]:
        """Return the cells to make for stages, each after those that it needs."""
        block = self.graph.block
        return self.graph.missing(
            block(number).cell(stage) for number in self.graph.blocks for stage in stages
        )

    def write_rows(self, stage: str, *, again: bool) -> None:
        """Write what a stage selected or predicted as CSV; unless `again`, where there is none."""
        path = self.results.folder / ROWS.get(stage, "")
        if stage in ROWS and self.reports and (again or not path.exists()):
            frame = stage_rows(self.record(), stage)
            if frame is not None:
                write_text(path, csv_text(frame))

    def _make(self, stage: str, cells: list[Cell], watch: Watch) -> None:
        """Make cells; raise ResultsError where some of them failed."""
        results = watch(self._make_all(cells), len(cells), stage, self._at_work)
        failed = [f"{cell} ({reason})" for cell, reason in results if reason]
        if failed:
            more = f" and {len(failed) - 3} others" if len(failed) > 3 else ""
            raise ResultsError(
                f"{len(failed)} of {len(cells)} tasks failed: {'; '.join(failed[:3])}{more}\n"
                "Fix: run the command again; `thesiskit batch status CONFIG` shows their errors"
            )

    def _make_all(self, cells: list[Cell]) -> Iterator[tuple[Cell, str]]:
        """Make cells, of which each comes after those that it needs; yield each that is done.

        Yields a cell that failed with the reason, and leaves out what depends on it.
        """
        if self.jobs:
            if self._workers is None:  # the child processes are kept until the end
                self._workers = Workers(self.graph, self.jobs)
            yield from self._workers.make(cells)
            return
        with threadpool_limits(1):  # more threads add numbers in another order
            for cell in cells:
                self.graph.make(cell)
                yield cell, ""

    def _at_work(self) -> str:
        """Return what is computed now, such as "fold 7 of 10, pool"; of several cells the first."""
        for cell, place in list(self.graph.at_work.items())[:1]:
            return ", ".join(filter(None, (place, cell.method)))
        return ""

    def close(self) -> None:
        """End the child processes."""
        if self._workers is not None:
            self._workers.close()
            self._workers = None

    def summary(self, stage: str) -> str:
        """Say in a line what a stage has done, and where that is."""
        return f"{summary(self.record(), stage)} -> {self.results.folder / stage}"

    def record(self) -> Record:
        """Return the results, as reports read them."""
        return Record(self.results, len(self.graph.blocks), self._work.described)

    def list_groups(self, order: int | None, most: int, pattern: str | None) -> list[str]:
        """Return lines about the largest groups of patterns, and about the group of a pattern."""
        if not hasattr(self._work, "list_groups"):
            raise UserError(
                f"{self.config.experiment} has no groups of patterns to list. Fix: remove --list "
                "and --pattern"
            )
        return self._work.list_groups(self.graph.block(0), order, most, pattern)

    def count_finished(self) -> tuple[int, UserError | None]:
        """Count leading finished replicates; return also the error of the first unfinished one."""
        for number in self.graph.blocks:
            block = self.graph.block(number)
            try:
                for stage in self.stages:
                    block.require(block.cell(stage))
            except UserError as error:
                return block.replicates.start, error
        return self.config.replicates, None

    def report(self, *, watch: Watch, force: bool = False) -> tuple[Path, bool]:
        """Write the report from the finished stages; return its page and whether it was made."""
        self.check_report()
        described = self._work.described
        self.results.prepare()
        keys = [
            block.require(block.cell(stage))
            for stage in self.stages
            for block in map(self.graph.block, self.graph.blocks)
        ]
        key = digest([keys, described, code_digest(*PAGE)])
        page = self.results.folder / "report.html"
        others = None if force else changed(self.results, key)
        if others == []:
            return page, False
        self.notes += [f"{page.parent / name} was damaged or changed and is written again"
                       for name in others or ()]  # fmt: skip
        self.record_run()
        write_report(self.record(), key, watch=watch)
        return page, True

    @cached_property
    def _data_files(self) -> dict[str, str | None]:
        """The sha256 of each file of the user's data; None of one that cannot be read."""
        data, folder = self.config.data, self._work.folder
        names = () if data is None else data.files(folder)
        return {name: sha256(folder / name) or None for name in names}

    def record_run(self, **entries) -> None:
        """Keep config, data, code and machine beside the results."""
        self.results.update_provenance(
            experiment=self.config.experiment,
            config=self._work.described,
            data={"sha256": self._work.data_digest, "files": self._data_files},
            seed=self.config.seed,
            **surroundings(self.graph.code),
            **entries,
        )


def open_work(config: Config, folder: Path) -> Work:
    """Return the work of a config; only the modules of its own kind are imported."""
    if config.reduction is not None:
        kind = "without_data:ReductionWork"
    elif config.data is None:
        kind = "without_data:LatticeWork"
    else:
        kind = "selecting:SelectionWork" if config.selects else "patterns:PatternWork"
        candidates = candidates_of(config.data.family)
        if candidates is not None and config.selects:
            return candidates.load("work")(config, folder)
    return resolve_name(f"thesiskit.study.{kind}")(config, folder)
