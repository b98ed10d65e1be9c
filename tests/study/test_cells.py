"""Cells: the same bytes however they are made, and nothing lost whatever dies."""

import importlib
import json
import multiprocessing
import os
import pickle
import random
import re
import shutil
import signal
import subprocess
import sys
import textwrap
from contextlib import suppress
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from commands import ROOT, patched, wait_for
from commands import run as invoke
from small import KINDS, LOGISTIC, MIXTURE, NAIVE, content, make_with_needs, opened
from small import LONG as EVERY_METHOD

from thesiskit.errors import UserError
from thesiskit.files import now, read_record, remove_result, write_record
from thesiskit.study import batch, workers
from thesiskit.study.batch import board, first_cells, part

FEW = MIXTURE.replace("[2, all]", "[2]").replace(", gibbs]", "]").replace(", bernoulli-nb", "")
LONG = EVERY_METHOD.replace("[corrected, uncorrected, bernoulli-nb]", "[corrected]")


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "small.yaml"
    path.write_text(FEW)
    return path


@pytest.fixture(scope="session")
def whole(tmp_path_factory):
    """Finished experiments of configs, each made once; copy them before you change them."""

    @cache
    def made(text):
        folder = tmp_path_factory.mktemp("whole")
        (folder / "small.yaml").write_text(text)
        invoke("run", folder / "small.yaml", "--results", folder, "--jobs", 0)
        return folder

    return made


def start(config, results, *more):
    """Start a run, in a session of its own, whose chains are saved all the time."""
    command = [*COMMAND, "run", str(config), "--results", str(results)]
    return subprocess.Popen(
        [*command, *more], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=patched(Path(config).parent / "quick", QUICK_TO_SAVE),
        # in the background, shells have their jobs ignore it
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL), start_new_session=True,
    )  # fmt: skip


COMMAND = [sys.executable, "-m", "thesiskit"]
QUICK_TO_SAVE = """\
from thesiskit.models import chains
chains.SAVE_SECONDS = 0.05
chains.BLOCK_SECONDS = 0.02
"""


def at_work(results):
    """Return what the cells that run say of who makes them."""
    found = []
    for path in (Path(results) / "small/cells").glob("*/*.running"):
        with suppress(OSError, ValueError):
            found.append(json.loads(path.read_text()) | {"cell": path.stem})
    return found


def chains_at_work(results):
    """Return the same, once chains are sampled and have been saved."""
    saved = {path.stem for path in (Path(results) / "small/unfinished").glob("[0-9a-f]*.npz")}
    return [one for one in at_work(results) if one["cell"] in saved]


def alive(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    found = Path(f"/proc/{process}/stat")  # where there is none, nobody leaves zombies to us
    return not found.exists() or "Z" not in found.read_text().split()[2]


def _read(path):
    with suppress(OSError):
        return path.read_text(errors="replace")
    return ""


def session(number):
    """Return the processes of a session that have not ended."""
    found = [_read(path).rpartition(")")[2].split() for path in Path("/proc").glob("[0-9]*/stat")]
    return [fields for fields in found if fields and fields[3] == str(number) and fields[0] != "Z"]


def children_of(process):
    return Path(f"/proc/{process}/task/{process}/children").read_text().split()


# ---- the same bytes ----


# chains of mixtures are in the tests of what dies, and test_normal.py has jobs of its model
OTHERS_SLOW = [
    kind if kind in ("naive", "logistic") else pytest.param(kind, marks=pytest.mark.slow)
    for kind in KINDS
]


@pytest.mark.parametrize("kind", OTHERS_SLOW)
def test_jobs_and_order_change_no_byte(config, tmp_path, whole, kind):
    config.write_text(KINDS[kind])
    expected = content(whole(KINDS[kind]))
    assert len(expected) > 10
    for jobs in (1, 2) if kind == "naive" else (2,):
        invoke("run", config, "--results", tmp_path / str(jobs), "--jobs", jobs)
        assert content(tmp_path / str(jobs)) == expected
    experiment = opened(config, tmp_path / "any")
    experiment.results.prepare()
    cells = list(experiment.graph.all_cells())
    random.Random(3).shuffle(cells)
    for cell in cells:
        make_with_needs(experiment.graph, cell)
    invoke("batch", "collect", config, "--results", tmp_path / "any")
    assert content(tmp_path / "any") == expected


@pytest.mark.parametrize("kind", OTHERS_SLOW)
def test_shares_change_no_byte(config, tmp_path, whole, kind):
    config.write_text(KINDS[kind])
    for share in (2, 1):  # each starts a server of workers
        text = invoke("batch", "cell", config, "--results", tmp_path / "s", "--share", f"{share}/2")
        assert "tasks done" in text
    assert all(row.state == "done" for row in board(opened(config, tmp_path / "s")))
    invoke("batch", "collect", config, "--results", tmp_path / "s")
    assert content(tmp_path / "s") == content(whole(KINDS[kind]))


def test_shares_are_all_cells_once(config, tmp_path):
    config.write_text(LOGISTIC)
    experiment = opened(config, tmp_path)
    every = first_cells(experiment.graph)
    for n in (1, 2, 5, len(every)):
        parts = [part(every, i, n) for i in range(1, n + 1)]
        assert [cell for one in parts for cell in one] == every
    n = len(every) + 1
    text = invoke("batch", "cell", config, "--results", tmp_path, "--share", f"1/{n}", code=2)
    assert f"{len(every)} tasks have no share 1 of {n}" in text
    for wrong in ("0/3", "4/3", "3", "a/b"):
        text = invoke("batch", "cell", config, "--results", tmp_path, "--share", wrong, code=2)
        assert "write it as 3/100" in text


def test_a_cell_has_its_own_settings_only(config, tmp_path):
    """What else is done changes no cell; what leads to a cell changes it."""
    config.write_text(MIXTURE)

    def ids(*settings):
        found = list(opened(config, tmp_path, settings=settings).graph.all_cells())
        assert len({cell.id for cell in found}) == len(found)
        return {(c.stage, c.block, c.method, c.chain): c.id for c in found if c.method}

    before = ids()
    for more in ("model.samplers=[gibbs, collapsed]", "model.methods=[corrected]",
                 "selection.features=[all, 7, 2]", "replicates=3", "report.parts=[timing-table]",
                 "cluster.partition=x"):  # fmt: skip
        after = ids(more)
        both = set(before) & set(after)
        assert len(both) > 8
        assert all(before[name] == after[name] for name in both), more
    own = {name for name in before if "collapsed" in name[2]}
    after = ids("model.collapsed.iterations=61")
    assert {name for name in before if before[name] != after[name]} == own
    for change in ("seed=9", "data.alpha=10", "model.alpha_prior=[1, 2]"):
        assert not set(before.values()) & set(ids(change).values())


# ---- what dies ----


def test_a_killed_worker_costs_one_cell(config, tmp_path, whole):
    config.write_text(LONG)
    runner = start(config, tmp_path / "r", "--jobs", "2")
    victim = wait_for(lambda: chains_at_work(tmp_path / "r"))[0]
    os.kill(victim["process"], signal.SIGKILL)
    _, stderr = runner.communicate(timeout=120)
    assert runner.returncode == 1
    assert "1 of 12 tasks failed: fit, block" in stderr
    assert "killed by SIGKILL: out of memory?" in stderr
    assert "Traceback" not in stderr
    rows = board(opened(config, tmp_path / "r"))
    assert [row.cell.id for row in rows if row.state == "failed"] == [victim["cell"]]
    # the other chains of the method are done, and the other block whole
    fits = [row for row in rows if row.cell.stage == "fit"]
    assert [row.state for row in fits].count("to do") == 2  # the comparison, and the stage
    text = invoke("batch", "status", config, "--results", tmp_path / "r")
    assert f"{victim['cell']} (fit, block" in text
    assert "attempt 1: its process was killed by SIGKILL" in text
    made = {row.cell.id: row.about["finished"] for row in fits if row.state == "done"}
    invoke("run", config, "--results", tmp_path / "r")
    assert content(tmp_path / "r") == content(whole(LONG))
    files = opened(config, tmp_path / "r").graph.files
    for row in fits:
        if row.cell.id in made:
            assert files.record(row.cell, "json")["finished"] == made[row.cell.id]  # not made twice


def test_a_killed_runner_takes_its_children_along(config, tmp_path, whole):
    config.write_text(LONG)
    runner = start(config, tmp_path / "r", "--jobs", "2")
    victims = wait_for(lambda: chains_at_work(tmp_path / "r"))
    os.kill(runner.pid, signal.SIGKILL)
    runner.communicate(timeout=60)
    wait_for(lambda: not any(alive(one["process"]) for one in victims))
    wait_for(lambda: not session(runner.pid))  # nor the server that forks them
    # they saved what they had, and left no record that anybody is at work
    rows = {row.cell.id: row.state for row in board(opened(config, tmp_path / "r"))}
    assert {rows[one["cell"]] for one in victims} == {"to do"}
    saved = {path.stem for path in (tmp_path / "r/small/unfinished").glob("[0-9a-f]*.npz")}
    assert {one["cell"] for one in victims} <= saved
    invoke("run", config, "--results", tmp_path / "r")
    assert content(tmp_path / "r") == content(whole(LONG))
    assert not (tmp_path / "r/small/unfinished").exists()


def test_ctrl_c_saves_what_the_children_have(config, tmp_path, whole):
    """A terminal sends it to all of them: the server that forks workers hears of it, and stays."""
    config.write_text(LONG)
    runner = start(config, tmp_path / "r", "--jobs", "2")
    makers = [one["process"] for one in wait_for(lambda: chains_at_work(tmp_path / "r"))]
    assert len(children_of(runner.pid)) == 2  # the server, and what cleans up after all of them
    os.killpg(runner.pid, signal.SIGSTOP)
    # meanwhile nobody else may write there; others may look
    text = invoke("run", config, "--results", tmp_path / "r", code=1)
    assert f"thesiskit (process {runner.pid} on" in text
    assert "is running there. Fix: wait until it is done, or choose another folder" in text
    assert "running" in invoke("batch", "status", config, "--results", tmp_path / "r")
    os.killpg(runner.pid, signal.SIGCONT)
    os.killpg(runner.pid, signal.SIGINT)
    _, stderr = runner.communicate(timeout=60)
    assert runner.returncode == 130
    assert "Interrupted. Completed work is saved" in stderr
    assert not any(map(alive, makers))
    wait_for(lambda: not session(runner.pid))
    assert list((tmp_path / "r/small/unfinished").glob("[0-9a-f]*.npz"))
    assert at_work(tmp_path / "r") == []
    invoke("run", config, "--results", tmp_path / "r")
    assert content(tmp_path / "r") == content(whole(LONG))
    assert "already done" in invoke("run", config, "--results", tmp_path / "r")


def _make_all(config, results, seed):
    experiment = opened(config, results)
    experiment.results.prepare()
    cells = list(experiment.graph.all_cells())
    random.Random(seed).shuffle(cells)
    for cell in cells:
        make_with_needs(experiment.graph, cell)


@pytest.mark.parametrize("seeds", [(1, 1), (1, 2)], ids=["same order", "other orders"])
def test_processes_that_make_the_same_cells_at_once_do_no_harm(config, tmp_path, whole, seeds):
    config.write_text(NAIVE)
    expected = content(whole(NAIVE))
    forks = multiprocessing.get_context("fork")
    both = [forks.Process(target=_make_all, args=(config, tmp_path / "r", seed)) for seed in seeds]
    for process in both:
        process.start()
    for process in both:
        process.join(timeout=120)
        assert process.exitcode == 0
    rows = board(opened(config, tmp_path / "r"))
    assert {row.state for row in rows} == {"done"}
    invoke("batch", "collect", config, "--results", tmp_path / "r")
    assert content(tmp_path / "r") == expected


@pytest.mark.slow
def test_jobs_that_make_the_same_cells_at_once_do_no_harm(config, tmp_path, whole):
    config.write_text(NAIVE)
    command = [sys.executable, "-m", "thesiskit", "batch", "cell", str(config), "--results",
               str(tmp_path / "r"), "--share", "1/1", "--jobs", "1"]  # fmt: skip
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    for process in both:
        assert "8 of 8 tasks done" in process.communicate(timeout=120)[0]
    rows = board(opened(config, tmp_path / "r"))
    assert {row.state for row in rows} == {"done"}
    invoke("batch", "collect", config, "--results", tmp_path / "r")
    assert content(tmp_path / "r") == content(whole(NAIVE))


def test_a_truncated_cell_is_made_again(config, tmp_path, whole):
    shutil.copytree(whole(FEW), tmp_path, dirs_exist_ok=True)
    expected = content(tmp_path)
    experiment = opened(config, tmp_path)
    cell = experiment.graph.block(1).cell("predict", "2 corrected collapsed")
    path = experiment.graph.files.path(cell)
    path.write_bytes(path.read_bytes()[:-30])
    (tmp_path / "small/predict/0001.npz").unlink()
    assert [row.state for row in board(experiment) if row.cell == cell] == ["damaged"]
    text = invoke("run", config, "--results", tmp_path)
    assert f"Note: {path} was damaged and is computed again" in text
    assert content(tmp_path) == expected


def test_a_cell_with_wrong_content_is_made_again(config, tmp_path, whole):
    shutil.copytree(whole(FEW), tmp_path, dirs_exist_ok=True)
    experiment = opened(config, tmp_path)
    path = experiment.graph.files.path(
        experiment.graph.block(1).cell("predict", "2 corrected collapsed")
    )
    damaged = bytearray(path.read_bytes())
    with np.load(path) as found:
        damaged[damaged.index(found["probability"][:4].tobytes())] ^= 255
    whole = path.read_bytes()
    path.write_bytes(damaged)
    (tmp_path / "small/predict/0001.npz").unlink()
    text = invoke("run", config, "--results", tmp_path)
    assert f"{path} was damaged and is computed again" in text
    assert path.read_bytes() == whole


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 400 kB that can grow."""
    folder = tmp_path / "disk"
    folder.mkdir()
    options = ["-t", "tmpfs", "-o", "size=400k", "tmpfs", str(folder)]
    if os.geteuid() or subprocess.run(["mount", *options], check=False).returncode:
        pytest.skip("only root can mount a small disk")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.mark.parametrize("jobs", [0, pytest.param(2, marks=pytest.mark.slow)])
def test_a_full_disk(config, small_disk, whole, jobs):
    text = invoke("run", config, "--results", small_disk, "--jobs", jobs, code=1)
    assert "cannot be written: No space left on device" in text
    assert len(text.strip().splitlines()) < 8
    kept = {
        row.cell.id: row.about["finished"]
        for row in board(opened(config, small_disk))
        if row.state == "done" and row.cell.method
    }
    assert kept
    subprocess.run(["mount", "-o", "remount,size=64m", str(small_disk)], check=True)
    invoke("run", config, "--results", small_disk)
    assert content(small_disk) == content(whole(FEW))
    for row in board(opened(config, small_disk)):
        if row.cell.id in kept and row.cell.chain is None:
            assert row.about["finished"] == kept[row.cell.id]


# ---- how workers start ----


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_no_process_outlives_a_command_that_is_told_to_end(config, tmp_path, how):
    """Only the command is told; the tests above kill it, and send what a terminal does."""
    config.write_text(LONG)
    runner = start(config, tmp_path / "r", "--jobs", "2")
    wait_for(lambda: chains_at_work(tmp_path / "r"))
    runner.send_signal(how)
    runner.communicate(timeout=120)
    wait_for(lambda: not session(runner.pid))


def _make_while_signals_come(pipe):
    command = importlib.import_module("thesiskit.cli.batch")

    def again(frame, event, _):
        if event == "call":  # of whatever the handler calls
            signal.raise_signal(signal.SIGTERM)

    def make(experiment, cells, stop):
        sys.setprofile(again)
        signal.raise_signal(signal.SIGTERM)
        sys.setprofile(None)
        return None if stop else []

    batch.make = make
    try:
        command._make(None, [])
    except KeyboardInterrupt:
        pipe.send("ended")


def test_a_second_signal_while_the_first_is_handled_blocks_nothing():
    """A cancelled job gets two, of Slurm and of its script: `batch cell` waited for itself."""
    forks = multiprocessing.get_context("fork")
    receiver, sender = forks.Pipe(duplex=False)
    process = forks.Process(target=_make_while_signals_come, args=(sender,))
    process.start()
    process.join(timeout=60)
    assert process.exitcode == 0
    assert receiver.poll()
    assert receiver.recv() == "ended"


@pytest.mark.slow
def test_a_signal_to_the_group_ends_the_workers_with_all_saved(config, tmp_path, whole):
    """As when a job is cancelled: the server that forks workers hears of it, too, and stays."""
    config.write_text(LONG)
    command = [*COMMAND, "batch", "cell", config, "--results", tmp_path / "r", "--share", "1/1",
               "--jobs", "2"]  # fmt: skip
    env = patched(tmp_path / "quick", QUICK_TO_SAVE)
    runner = subprocess.Popen(
        command, env=env, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    wait_for(lambda: chains_at_work(tmp_path / "r"))
    os.killpg(runner.pid, signal.SIGTERM)
    _, stderr = runner.communicate(timeout=60)
    assert runner.returncode == 130, stderr
    assert "Interrupted. Completed work is saved" in stderr
    assert at_work(tmp_path / "r") == []
    rows = board(opened(config, tmp_path / "r"))
    assert not {row.state for row in rows} & {"failed", "interrupted"}
    invoke("run", config, "--results", tmp_path / "r")
    assert content(tmp_path / "r") == content(whole(LONG))


def test_a_script_of_ones_own_runs_once_and_leaves_nothing(config, tmp_path):
    """It has no guard, and the current folder has sources, without kernels, of the package.

    Neither workers nor the server that forks them outlive it.
    """
    (tmp_path / "thesiskit").mkdir()
    (tmp_path / "thesiskit/__init__.py").touch()
    (tmp_path / "scripts").mkdir()
    config.write_text(NAIVE)
    script = tmp_path / "scripts/script.py"
    script.write_text(f"""\
print("begun")
from thesiskit.cli import main
main(["run", {str(config)!r}, "--results", {str(tmp_path / "r")!r}, "--jobs", "2"])
""")
    process = subprocess.Popen(
        [sys.executable, script], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, start_new_session=True,
    )  # fmt: skip
    stdout, stderr = process.communicate(timeout=120)
    assert process.returncode == 0, stderr
    assert stdout.count("begun") == 1
    wait_for(lambda: not session(process.pid))


def test_workers_start_with_what_they_need(tmp_path):
    """It is imported once, by the server, where linear algebra starts no threads."""
    env = {name: value for name, value in os.environ.items() if "NUM_THREADS" not in name}
    children = []
    for small in KINDS.values():
        (tmp_path / "c.yaml").write_text(small)
        graph = opened(tmp_path / "c.yaml", tmp_path).graph
        work = graph.work
        opening = pickle.dumps((type(work), work.config, work.folder, graph.results))
        children.append(f"""\
import importlib, os, pickle, sys
for name in {work.modules}:
    importlib.import_module(name)
print(os.environ["OPENBLAS_NUM_THREADS"])
before = set(sys.modules)
kind, config, folder, results = pickle.loads({opening!r})
from thesiskit.study.cells import Graph
Graph(kind(config, folder), results)
print([name for name in set(sys.modules) - before if name.startswith("thesiskit.models")])
""")
    text = f"""\
from thesiskit.study.server import FORKSERVER, start_server
start_server()
for child in {children!r}:
    process = FORKSERVER.Process(target=exec, args=(child, {{}}))
    process.start()
    process.join()
"""
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True,
                          env=env | {"PYTHONPATH": str(ROOT)})  # fmt: skip
    assert done.stdout == "1\n[]\n" * len(KINDS), done.stderr


# ---- what is said ----


def test_status_of_every_state(config, tmp_path):
    experiment = opened(config, tmp_path)
    experiment.results.prepare()
    assert {row.state for row in board(experiment)} == {"to do"}
    cells = [cell for cell in experiment.graph.all_cells() if cell.stage == "predict"]
    make_with_needs(experiment.graph, cells[0])
    files = experiment.graph.files

    def begin(cell):
        files.write(cell, "running", process=os.getpid(), started=now())

    files.fail(cells[1], "ValueError: no", "line 1\nline 2\nValueError: no\n")
    files.fail(cells[1], "ValueError: no", "line 1\nline 2\nValueError: no\n")
    begin(cells[2])  # by this process
    begin(cells[3])
    record = files.path(cells[3], "running")
    # of a process that is gone; its clock is a day ahead, which changes nothing
    gone = subprocess.Popen(["true"])
    gone.wait()
    who = read_record(record, of=cells[3].key) | {
        "process": gone.pid,
        "started": "2099-01-01T00:00:00",
    }
    write_record(record, who, of=cells[3].key)
    begin(cells[4])
    other = files.path(cells[4], "running")
    write_record(other, who | {"host": "elsewhere"}, of=cells[4].key)
    begin(cells[5])
    in_job = files.path(cells[5], "running")
    write_record(in_job, who | {"host": "elsewhere", "job": "12_3"}, of=cells[5].key)
    rows = {row.cell: row for row in board(experiment, set())}
    states = [rows[cell].state for cell in cells[:6]]
    assert states == ["done", "failed", "running", "interrupted", "running", "interrupted"]
    assert {row.cell: row.state for row in board(experiment, {"12_3"})}[cells[5]] == "running"
    about = rows[cells[0]].about
    assert about["seconds"] > 0
    assert 2**24 < about["memory"] < 2**33
    assert rows[cells[1]].about["attempts"] == 2
    text = invoke("batch", "status", config, "--results", tmp_path)
    assert re.search(rf"^{cells[1].id} +predict +0 +2 uncorrected collapsed", text, re.MULTILINE)
    assert "    ValueError: no" in text
    assert len(re.findall("^[0-9a-f]{16} +predict ", text, re.MULTILINE)) == 5


def test_nothing_is_deleted_before_all_can_be_made(config, tmp_path):
    config.write_text(NAIVE)  # two blocks
    invoke("run", config, "--results", tmp_path)
    remove_result(tmp_path / "small/select/0001.npz")
    with pytest.raises(UserError, match=r"select/0001\.npz is missing"):
        opened(config, tmp_path).run("fit", watch=lambda cells, *_: cells, force=True)
    assert (tmp_path / "small/fit/0000.npz").exists()


def break_workers(monkeypatch, folder, text):
    """Let workers begin with some lines; the server that forks them is that of the tests."""
    text = textwrap.indent(text, "    ")
    (folder / "broken.py").write_text(f"""\
def work(*arguments):
    from thesiskit.study.selecting import SelectionWork
    from thesiskit.study.workers import _work
{text}
    _work(*arguments)
""")
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, "broken", raising=False)
    monkeypatch.setattr(workers, "_work", importlib.import_module("broken").work)


def test_a_share_that_does_not_finish_says_so(config, tmp_path, monkeypatch):
    """Its process is told to stop, by nobody who told the command: not done, and not failed."""
    config.write_text(NAIVE.replace("replicates: 4", "replicates: 2"))
    share = ["batch", "cell", config, "--share", "1/1", "--results", tmp_path / "r"]
    with monkeypatch.context() as broken:
        broken.setattr(workers, "STOP_SECONDS", 0.01)
        break_workers(broken, tmp_path, """\
import os, signal
def die(self, model, method, *others):
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGTERM)
SelectionWork._fit = die
""")  # fmt: skip
        text = invoke(*share, code=1)
    assert text.splitlines() == ["0 of 4 tasks done"]
    assert "4 of 4 tasks done" in invoke(*share)


def test_a_cell_that_raises_costs_itself(config, tmp_path, whole, monkeypatch):
    """An error that nobody foresaw, in one method: the others are made, and the log is kept."""
    config.write_text(NAIVE)
    with monkeypatch.context() as broken:
        break_workers(broken, tmp_path, """\
fit = SelectionWork._fit
def fail(self, model, method, block):
    if method.label == "5" and method.estimator == "corrected" and block.number == 1:
        raise ZeroDivisionError("a planted error")
    return fit(self, model, method, block)
SelectionWork._fit = fail
""")  # fmt: skip
        text = invoke("run", config, "--results", tmp_path / "r", "--jobs", 2, code=1)
    assert "1 of 20 tasks failed: fit, block 1, 5 corrected exact (ZeroDivisionError: a planted"\
        in text  # fmt: skip
    assert "Traceback" not in text
    assert (tmp_path / "r/small/fit/0000.npz").exists()
    assert not (tmp_path / "r/small/fit/0001.npz").exists()
    text = invoke("batch", "status", config, "--results", tmp_path / "r")
    assert 'raise ZeroDivisionError("a planted error")' in text
    before = content(tmp_path / "r")
    invoke("run", config, "--results", tmp_path / "r")
    after = content(tmp_path / "r")
    assert all(after[name] == before[name] for name in before)
    assert content(tmp_path / "r") == content(whole(NAIVE))


def test_a_mistake_of_the_user_stops_all(config, tmp_path):
    config.write_text(NAIVE.replace("[1, 5]", "[1, 500]"))
    text = invoke("run", config, "--results", tmp_path, "--jobs", 2, code=2)
    assert "cannot select 500 of 80 features" in text
    assert len(text.strip().splitlines()) == 1


def test_results_of_old_cells_are_not_taken(config, tmp_path):
    """Cells are known by all that leads to them: another seed is another cell."""
    config.write_text(NAIVE)
    invoke("run", config, "--results", tmp_path)
    first = content(tmp_path)
    invoke("run", config, "--results", tmp_path, "--seed", 5)
    invoke("run", config, "--results", tmp_path)
    assert content(tmp_path).items() >= first.items()
    shutil.rmtree(tmp_path / "small/cells")  # a report needs none
    invoke("report", config, "--results", tmp_path, "--force")
