"""Experiments on a real Slurm: the bytes of a local run, whatever is killed on the way."""

import os
import re
import signal
import subprocess
import sys
import textwrap
from contextlib import suppress
from functools import partial
from pathlib import Path
from shutil import which

import pytest
from commands import ROOT, patched
from commands import run as invoke
from commands import wait_for as wait
from small import LOGISTIC, LONG, NAIVE, content, opened

from thesiskit.study import slurm as commands
from thesiskit.study.batch import board

HERE = Path(__file__).parent
pytestmark = pytest.mark.cluster
wait_for = partial(wait, seconds=90, pause=0.2)
SMALL = ("--set", "cluster.time=5", "--set", "cluster.memory=300M")


@pytest.fixture(autouse=True)
def _jobs_find_us(slurm, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "small.yaml"
    path.write_text(NAIVE)
    return path


@pytest.fixture(scope="module")
def local(tmp_path_factory):
    """A config whose two chains take seconds, and the folder of a local run of it."""
    folder = tmp_path_factory.mktemp("long")
    (folder / "small.yaml").write_text(
        LONG.replace("replicates: 2", "replicates: 1")
        .replace("[2, all]", "[2]")
        .replace("[corrected, uncorrected, bernoulli-nb]", "[corrected]")
        .replace("iterations: 4000", "iterations: 40000")
    )
    invoke("run", folder / "small.yaml", "--results", folder, "--jobs", 2)
    return folder


@pytest.fixture
def long(local, monkeypatch):
    """That config, whose chains are saved all the time."""
    monkeypatch.setenv("THESISKIT_SAVE_SECONDS", "0.1")
    return local / "small.yaml"


def jobs_of(results):
    return commands.call("squeue", "--noheader", "--array", "--name=small", "--format=%i").split()


def at_end(results):
    wait_for(lambda: not jobs_of(results))


def sampling(results):
    """Return processes that sample chains which were saved."""
    saved = {path.stem for path in (results / "small/unfinished").glob("[0-9a-f]*.npz")}
    found = [
        (path.stem, re.search(r'"process": (\d+)', path.read_text()))
        for path in (results / "small/cells").glob("*/[0-9a-f]*.running")
    ]
    return {cell: int(process[1]) for cell, process in found if process and cell in saved}


def made(experiment):
    """Return when each cell that is done was made."""
    return {row.cell.id: row.about.get("finished") for row in board(experiment)
            if row.state == "done" and row.cell.method}  # fmt: skip


def submitted(long, results, *options):
    """Submit jobs; return the processes that sample chains once some chains are saved."""
    invoke("batch", "submit", long, "--results", results, *SMALL, *options)
    return wait_for(lambda: sampling(results))


def as_local(long, local, results):
    """Check that all is done, collect it, and compare it with the bytes of a local run."""
    at_end(results)
    told = invoke("batch", "status", long, "--results", results)
    assert not [row for row in board(opened(long, results)) if row.state != "done"], told
    invoke("batch", "collect", long, "--results", results)
    assert content(results) == content(local)


@pytest.mark.parametrize("text", [NAIVE, LOGISTIC])
def test_the_same_bytes_as_a_local_run(config, tmp_path, text):
    config.write_text(text)
    invoke("run", config, "--results", tmp_path / "local", "--jobs", 2)
    results = tmp_path / "slurm"
    told = invoke(
        "batch", "submit", config, "--results", results, *SMALL, "--set", "cluster.array=4"
    )
    assert re.search(r"\d jobs of at most \d+ .* each \(job array \d+\)", told)
    again = invoke("batch", "submit", config, "--results", results, *SMALL, code=2)
    assert "are pending or running. Fix: " in again
    at_end(results)
    assert {row.state for row in board(opened(config, results))} == {"done"}
    assert "report:" in invoke("batch", "collect", config, "--results", results)
    assert content(results) == content(tmp_path / "local")
    told = invoke("batch", "submit", config, "--results", results, *SMALL)
    assert "nothing to submit" in told


def test_a_job_killed_in_the_middle(long, local, tmp_path):
    results = tmp_path / "slurm"
    victims = submitted(long, results)
    # the whole job: the processes that make cells, and those that wait for them
    for job in jobs_of(results):
        commands.call("scancel", "--signal=KILL", "--full", job)
    at_end(results)
    experiment = opened(long, results)
    assert not set(victims) & set(made(experiment))
    told = invoke("batch", "status", long, "--results", results)
    assert "stopped before its tasks were done" in told
    assert "tasks are not done" in invoke("batch", "collect", long, "--results", results, code=1)
    before = made(experiment)
    invoke("batch", "submit", long, "--results", results, *SMALL)
    at_end(results)
    after = made(opened(long, results))
    assert before.items() <= after.items()  # nothing made twice
    invoke("batch", "collect", long, "--results", results)
    assert content(results) == content(local)


def test_a_killed_cell_is_retried_alone(long, local, tmp_path):
    results = tmp_path / "slurm"
    one_array = ("--set", "cluster.array=1")
    cell, process = next(iter(submitted(long, results, *one_array).items()))
    os.kill(process, signal.SIGKILL)
    at_end(results)
    told = invoke("batch", "status", long, "--results", results)
    assert f"{cell} (fit, block 0" in told
    assert "killed by SIGKILL" in told
    failed = [r.cell.id for r in board(opened(long, results)) if r.state == "failed"]
    assert failed == [cell]
    told = invoke("batch", "submit", long, "--results", results, *SMALL)
    assert told.startswith("1 job of at most 1 chain or method each")
    as_local(long, local, results)


def test_the_signal_of_the_time_limit(long, local, tmp_path):
    """Chains are saved, the job is requeued, and they go on with the draws they would have had."""
    results = tmp_path / "slurm"
    submitted(long, results, "--set", "cluster.array=1")
    (job,) = jobs_of(results)
    commands.call("scancel", "--signal=USR1", "--batch", job)
    wait_for(lambda: "Restarts=1" in commands.call("scontrol", "show", "job", job))
    assert list((results / "small/unfinished").glob("[0-9a-f]*.npz"))
    as_local(long, local, results)


def test_cancel_keeps_what_there_is(long, local, tmp_path):
    results = tmp_path / "slurm"
    submitted(long, results)
    commands.call("scancel", "--name=small")
    at_end(results)
    states = {row.state for row in board(opened(long, results)) if row.cell.stage == "fit"}
    assert "failed" not in states, invoke("batch", "status", long, "--results", results)
    saved = list((results / "small/unfinished").glob("[0-9a-f]*.npz"))
    assert saved or "done" in states
    invoke("run", long, "--results", results)  # a local run goes on from there
    assert content(results) == content(local)


def test_jobs_of_a_partition_of_higher_priority_take_their_place(long, local, tmp_path):
    """Preempted jobs are requeued by Slurm, and go on from what they saved."""
    results = tmp_path / "slurm"
    submitted(long, results)
    preempted = jobs_of(results)
    urgent = ("--partition=urgent", "--exclusive", "--mem=0", "--output=/dev/null")
    commands.call("sbatch", *urgent, "--wrap=sleep 2")
    wait_for(
        lambda: any(
            "Restarts=1" in commands.call("scontrol", "show", "job", job) for job in preempted
        )
    )
    as_local(long, local, results)


def test_a_node_that_dies(slurm, long, local, tmp_path):
    """With slurmd all processes of its jobs end at once; Slurm says it is down, and requeues."""
    results = tmp_path / "slurm"
    submitted(long, results)
    os.kill(int((slurm / "slurmd.pid").read_text()), signal.SIGKILL)
    for process in ours():
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    node = commands.call("sinfo", "--noheader", "--Node", "--format=%N").split()[0]
    commands.call("scontrol", "update", f"nodename={node}", "state=down", "reason=died")
    told = invoke("batch", "submit", long, "--results", results, *SMALL, code=2)
    assert "are pending or running. Fix: " in told
    subprocess.run([HERE / "start-slurm.sh"], stdout=subprocess.DEVNULL, check=True)
    with suppress(commands.Refused):  # it may be up already
        commands.call("scontrol", "update", f"nodename={node}", "state=resume")
    as_local(long, local, results)


def test_a_task_of_an_array_that_is_cancelled(long, local, tmp_path):
    results = tmp_path / "slurm"
    invoke("batch", "submit", long, "--results", results, *SMALL)
    wait_for(lambda: len(sampling(results)) == 2)
    commands.call("scancel", jobs_of(results)[0])
    at_end(results)
    told = invoke("batch", "collect", long, "--results", results, code=1)
    assert "tasks are not done. Fix: see `thesiskit batch status CONFIG`" in told
    assert "failed" not in {row.state for row in board(opened(long, results))}
    told = invoke("batch", "submit", long, "--results", results, *SMALL)
    assert told.startswith("1 job ")
    as_local(long, local, results)


def test_requeued_in_the_middle_of_a_write(long, local, tmp_path, monkeypatch):
    """Each is stopped between two halves of a file that it saves, without a word."""
    half = """
    import os, pathlib
    from thesiskit import files
    def replace(one, other, whole=os.replace, mark=pathlib.Path(MARK)):
        if str(other).endswith(".npz") and "unfinished" in str(other) and not mark.exists():
            mark.touch()
            os.truncate(one, os.path.getsize(one) // 2)
            os.system("scontrol requeue ${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID")
            import time
            time.sleep(600)
        whole(one, other)
    if "SLURM_JOB_ID" in os.environ:
        os.replace = replace
    """.replace("MARK", repr(str(tmp_path / "mark")))
    environment = patched(tmp_path / "patch", textwrap.dedent(half))
    monkeypatch.setenv("PYTHONPATH", environment["PYTHONPATH"])
    results = tmp_path / "slurm"
    invoke("batch", "submit", long, "--results", results, *SMALL)
    wait_for((tmp_path / "mark").exists)
    as_local(long, local, results)


def test_a_scontrol_that_refuses(long, local, tmp_path, monkeypatch):
    """It is asked how long an array may be, and to requeue at the time limit."""
    (tmp_path / "bin").mkdir()
    refuses = tmp_path / "bin" / "scontrol"
    refuses.write_text("#!/bin/sh\necho 'Access/permission denied' >&2\nexit 1\n")
    refuses.chmod(0o755)
    whole, path = which("scontrol"), os.environ["PATH"]
    monkeypatch.setenv("PATH", f"{refuses.parent}:{path}")
    results = tmp_path / "slurm"
    submitted(long, results, "--set", "cluster.array=1")
    (job,) = jobs_of(results)
    assert "denied" not in commands.call(whole, "show", "job", job)
    commands.call("scancel", "--signal=USR1", "--batch", job)
    at_end(results)
    told = invoke("batch", "status", long, "--results", results)
    assert "stopped before its tasks were done" in told
    assert "Access/permission denied" in told
    assert "Slurm did not requeue it. Fix: submit again, then it goes on" in told
    monkeypatch.setenv("PATH", path)
    invoke("batch", "submit", long, "--results", results, *SMALL)
    as_local(long, local, results)


def test_the_plain_script(config, tmp_path):
    invoke("run", config, "--results", tmp_path / "local")
    results = tmp_path / "s"
    text = invoke(
        "batch", "script", config, "--results", results, *SMALL, "--set", "cluster.array=3"
    )
    assert "#SBATCH --array=1-3%3" in text
    (tmp_path / "study.sh").write_text(text)
    job = commands.call("sbatch", "--parsable", str(tmp_path / "study.sh")).strip()
    at_end(results)
    log = "".join(path.read_text() for path in (results / "small/batch/jobs").glob(f"{job}*.log"))
    assert log.count("tasks done") == 3
    invoke("batch", "collect", config, "--results", results)
    assert content(results) == content(tmp_path / "local")


def test_mistakes(config, tmp_path, monkeypatch):
    told = invoke("batch", "submit", config, "--results", tmp_path / "s", *SMALL,
                  "--set", "cluster.partition=nowhere", code=2)  # fmt: skip
    assert "Slurm refuses the job: sbatch: sbatch: error: invalid partition specified" in told
    assert "partitions here: debug" in told
    assert not any(
        map(opened(config, tmp_path / "s").graph.done, opened(config, tmp_path).graph.all_cells())
    )
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))
    told = invoke("batch", "submit", config, "--results", tmp_path / "s", *SMALL, code=2)
    assert "is not on the path" in told
    assert "thesiskit batch script CONFIG" in told


def test_nothing_is_left(tmp_path):
    """No process of a job, nor the server that forks its workers, is there any more."""

    def left():
        return [line for line in ours().values() if "batch cell" in line or "forkserver" in line]

    wait_for(lambda: not left())


def ours():
    """Return the command lines of processes of jobs: others may make cells on this machine, too."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended meanwhile
            if b"SLURM_JOB_ID=" in (process / "environ").read_bytes():
                line = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                found[int(process.name)] = line
    return found
