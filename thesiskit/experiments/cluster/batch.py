"""Batches: the cells of an experiment as jobs of a cluster, what became of them, and the end.

Nobody has to stay alive between `submit` and `collect`; both read the folder of results.
"""

import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from thesiskit.config.cluster import ClusterBlock
from thesiskit.errors import ThesiskitError, UserError, cut, quoted
from thesiskit.experiments.cells.cell import Cell
from thesiskit.experiments.cluster.board import Row, board, table
from thesiskit.experiments.cluster.probe import probe as look
from thesiskit.experiments.cluster.share import cells_per_job, first_cells, part
from thesiskit.experiments.cluster.slurm import GONE, Slurm, read_cells
from thesiskit.experiments.cluster.submissions import submissions
from thesiskit.experiments.experiment import Experiment

FEW = 3  # changes that are named


class Batch:
    """An experiment on a cluster."""

    def __init__(self, experiment: Experiment, block: ClusterBlock):
        self.experiment, self.block = experiment, block
        self.slurm = Slurm(experiment.results.folder, block)

    def submit(
        self, cells: Sequence[Cell] | None = None, *, probe: bool = True, force: bool = False
    ) -> str:
        """Submit the cells that are not done, or some cells; say what was submitted.

        force : all cells are forgotten, once it is sure that jobs can be submitted.
        """
        experiment = self.experiment
        self.slurm.check()
        experiment.check()
        at_work = self.alive()
        if at_work:
            raise UserError(
                f"{len(at_work)} jobs of {experiment.config.experiment} are still waiting or "
                "running; see `thesiskit batch status CONFIG`, or end them with `thesiskit batch "
                "cancel CONFIG`"
            )
        todo = first_cells(experiment.graph) if cells is None else list(cells)
        if not todo and not force:
            return "nothing to submit: all cells are done; `thesiskit batch collect CONFIG`"
        if probe:
            found = look(experiment.results.folder, self.block)
            experiment.notes += [found.warning] if found.warning else []
        if force:
            self.forget()
            todo = first_cells(experiment.graph)
        jobs = self._jobs(todo)
        name, note = experiment.config.experiment, self._described()
        with experiment.results.alone():
            config = self._kept_config()
            try:
                ids = self.slurm.submit(config.stem, jobs, self._command(config), name,
                                        config=note, code=experiment.graph.code)  # fmt: skip
            except ThesiskitError:
                if not any(config.parent.glob(f"{config.stem}-*.sh")):
                    config.unlink(missing_ok=True)
                raise
        arrays = list(dict.fromkeys(one.partition("_")[0] for one in ids))
        said = f"{len(ids):,} job" + "s" * (len(ids) > 1)
        return (
            f"{said} of {len(jobs[0]):,} arms or chains each, {len(todo):,} in all, with what they "
            f"need (job array {', '.join(arrays)}); thesiskit batch status CONFIG"
        )

    def script(self) -> str:
        """Write what `submit` would for all cells, done or not, and return the script."""
        experiment = self.experiment
        experiment.results.prepare()
        jobs = self._jobs(first_cells(experiment.graph, done=True))
        config = self._kept_config()
        name = experiment.config.experiment
        path = self.slurm.write(f"{config.stem}-1", jobs, self._command(config), name)
        return path.read_text(encoding="utf-8")

    def _jobs(self, cells: Sequence[Cell]) -> list[list[str]]:
        """Return the ids of the cells of each job."""
        block = self.block
        size = block.cells or cells_per_job(
            self.experiment.graph, len(cells), block.array, block.minutes, block.cpus
        )
        ids = [cell.id for cell in cells]
        return [ids[start : start + size] for start in range(0, len(ids), size)]

    def _kept_config(self) -> Path:
        """Write the config, with all options in it: jobs read it whatever becomes of the user's."""
        tree = self.experiment.config.model_dump(mode="json", exclude={"smoke"}, exclude_unset=True)
        text = yaml.safe_dump(tree, sort_keys=False, allow_unicode=True)
        return self.slurm.keep(text)

    def _command(self, config: Path) -> list[str]:
        """Return the command that makes cells of a kept config."""
        experiment = self.experiment
        command = [sys.executable, "-m", "thesiskit", "batch", "cell", str(config)]
        command += ["--relative-to", str(experiment.graph.folder.absolute())]
        command += ["--results", str(experiment.results.root.absolute())]
        return [*command, "--yes", "--jobs", str(self.block.cpus)]

    @property
    def jobs(self) -> list[str]:
        """All jobs that were submitted."""
        return [job for entry in self._entries() for job in entry["ids"]]

    def _entries(self) -> list[dict[str, Any]]:
        return submissions(self.experiment.results.folder, self.experiment.notes.append)

    def alive(self) -> dict[str, str]:
        """Return the states of jobs that have not ended."""
        return {job: state for job, state in self.states().items() if state != GONE}

    def states(self) -> dict[str, str]:
        """Return the states of all jobs, GONE of those that have ended."""
        return self.slurm.states(self.jobs)

    def cancel(self) -> list[str]:
        """Cancel the jobs that have not ended, and return them."""
        return self.slurm.cancel(self.jobs)

    def status(self, *, every: bool = False) -> tuple[bool, list[str]]:
        """Return whether all cells are done, and lines that say what has become of each."""
        states, silence = self._seen()
        rows = board(self.experiment, states)
        lines = table(rows, every=every)
        waiting = Counter(state for state in states.values() if state != GONE)
        if waiting:
            lines += ["", "jobs: " + ", ".join(f"{n:,} {state}" for state, n in waiting.items())]
        if silence:
            lines += ["", f"jobs: not known ({silence})"]
        for job in self._lost(states, rows)[-FEW:]:
            lines += ["", f"job {job} has ended before its cells were done"]
            lines += [f"    {line}" for line in self.slurm.tail(job)]
        return all(row.state == "done" for row in rows), lines

    def _seen(self) -> tuple[dict[str, str], str]:
        """Return the states of all jobs, or why they are not known; cells can be seen without."""
        try:
            return self.states(), ""
        except ThesiskitError as error:
            return {}, str(error).splitlines()[0]

    def _lost(self, states: Mapping[str, str], rows: list[Row]) -> list[str]:
        """Return the jobs that have ended, and were the last to have cells that are not done."""
        left = {row.cell.id for row in rows if row.state in ("to do", "interrupted")}
        cells = self.slurm.cells(self._entries())
        found: list[str] = []
        for job in reversed(list(states)):
            mine = left & set(cells.get(job, ()))
            if mine and states[job] == GONE:
                found.append(job)
            left -= mine
        return found[::-1]

    def to_retry(self) -> list[Cell]:
        """Return the cells that failed or were interrupted."""
        rows = board(self.experiment, self._seen()[0])
        cells = [row.cell for row in rows if row.state in ("failed", "interrupted", "damaged")]
        if not cells:
            raise UserError(
                "no cell has failed; `thesiskit batch submit CONFIG` makes those that are to do"
            )
        return cells

    def find(self, ids: Sequence[str]) -> list[Cell]:
        """Return the cells of ids, or of their first digits."""
        if not ids:
            raise UserError("which cells? give ids (`thesiskit batch status CONFIG --all`) or "
                            "--share I/N")  # fmt: skip
        cells = list(self.experiment.graph.all_cells())
        found = []
        for one in ids:
            mine = [cell for cell in cells if cell.id.startswith(one)]
            if len(mine) != 1:
                what = "no cell" if not mine else f"{len(mine)} cells"
                raise UserError(
                    f"{what} of {self.experiment.config.experiment} has an id that begins with "
                    f"{quoted(one)}; `thesiskit batch status CONFIG --all` lists them"
                )
            found += mine
        return found

    def share(self, text: str, listed: Path | None = None) -> Sequence[Cell]:
        """Return the cells of a text such as 3/100: a part of all, or of a list of N lines one.

        Raises
        ------
        UserError: the list is damaged, or names cells that this experiment does not have.
        """
        given = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", text)
        i, n = map(int, given.groups()) if given else (0, 0)
        if not 1 <= i <= n:
            raise UserError(f"--share {cut(text)}: write it as 3/100, the third of a hundred")
        if listed is None:
            return part(first_cells(self.experiment.graph, done=True), i, n)
        lines = read_cells(listed)
        if len(lines) != n:
            raise UserError(f"{listed}: has {len(lines):,} lines, not {n:,}; submit again")
        missing, found = set(lines[i - 1]), {}
        for cell in self.experiment.graph.all_cells():
            if not missing:
                break
            if cell.id in missing:
                missing.remove(cell.id)
                found[cell.id] = cell
        if missing:
            raise UserError(
                "code or data have changed since these cells were submitted; submit again"
            )
        return [found[one] for one in lines[i - 1]]

    def forget(self) -> None:
        """Remove all that there is of the cells."""
        with self.experiment.results.alone():
            for number in range(len(self.experiment.graph.blocks)):
                for stage in self.experiment.stages:
                    self.experiment.graph.forget(stage, number)

    def collect(self) -> int:
        """Join all blocks whose cells are done; return how many cells are not.

        Raises UserError where cells are missing, and the config is not what was submitted.
        """
        experiment = self.experiment
        experiment.check()
        with experiment.results.alone():
            numbers = range(len(experiment.graph.blocks))
            if all([*map(experiment.graph.join_what_can_be, numbers)]):
                experiment.record_run()
                return 0
        left = sum(row.state != "done" for row in board(experiment))
        changed = self._changes()
        if changed:
            more = f" and {len(changed) - FEW} more" if len(changed) > FEW else ""
            raise UserError(
                f"{left:,} cells are not done, and since the last submission "
                f"{'; '.join(changed[:FEW])}{more}\nWhat was submitted is not what this config "
                "asks for: undo the change, or submit again"
            )
        return left

    def _changes(self) -> list[str]:
        """Say how config and code differ from those of the last submission."""
        entries = self._entries()
        if not entries or "config" not in entries[-1]:
            return []
        last = entries[-1]
        found = [
            f"{key} was {cut(before)} and is {cut(after)}"
            for key, before, after in _differences("", last["config"], self._described())
        ]
        if last["code"] != self.experiment.graph.code:
            found.append("thesiskit itself has changed")
        return found

    def _described(self) -> dict[str, Any]:
        return self.experiment.config.model_dump(mode="json", exclude={"cluster", "report"})


def _differences(key: str, a: Any, b: Any) -> list[tuple[str, Any, Any]]:
    """Return the dotted keys at which two configs differ, with both values."""
    if isinstance(a, dict) and isinstance(b, dict):
        names = dict.fromkeys([*a, *b])
        inner = [
            _differences(f"{key}.{name}" if key else name, a.get(name), b.get(name))
            for name in names
        ]
        return [one for found in inner for one in found]
    return [] if a == b else [(key, a, b)]
