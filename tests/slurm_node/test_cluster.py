"""Jobs on a real Slurm: what is submitted, stopped, killed and lost comes to an end, once."""

import os
import signal
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path

import pytest
from commands import ROOT
from commands import wait_for as wait

from thesiskit.config import ClusterBlock
from thesiskit.errors import ThesiskitError, UserError
from thesiskit.study import slurm as commands
from thesiskit.study.slurm import array_script, log_end, most_tasks, queue, sbatch

HERE = Path(__file__).parent
pytestmark = pytest.mark.cluster
wait_for = partial(wait, seconds=120, pause=0.3)


@pytest.fixture(scope="module", autouse=True)
def _jobs_find_us(slurm):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT))
        yield


def submit(folder, jobs, seconds=0.0, each=1, **settings):
    """Submit an array of jobs, whose cells take seconds and are made in a folder; return its id."""
    block = ClusterBlock(**{"time": "5", "memory": "100M"} | settings)
    command = [sys.executable, str(HERE / "standin.py"), str(folder), str(seconds), str(each)]
    script = folder / "script.sh"
    script.write_text(array_script(block, command, jobs, name="standin", folder=folder))
    return sbatch(block, script)


def states(folder):
    """Return the states of the jobs of a folder that have not ended."""
    return [job.state for job in queue() if job.folder == str(folder)]


def start():
    """Start what was killed of Slurm."""
    subprocess.run([HERE / "start-slurm.sh"], stdout=subprocess.DEVNULL, check=True)


def at_end(folder):
    return wait_for(lambda: not states(folder))


def attempts(path):
    """Return the process and the start of each attempt at a cell."""
    log = path.with_suffix(".log")
    words = log.read_text().split() if log.exists() else []
    return list(zip(map(int, words[::2]), map(float, words[1::2]), strict=True))


def strays(folder):
    """Return what still runs of the jobs of a folder."""
    out = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    return [line for line in out.splitlines() if str(folder) in line]


@pytest.fixture(scope="module", autouse=True)
def limited(tmp_path_factory, _jobs_find_us):
    """Jobs that meet their time limit while others run, and before Slurm is stopped, by name."""
    jobs = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(commands, "PER_MINUTE", 55)  # Slurm looks every half a minute
        for name, requeues in [("limit", 10), ("once", 0)]:
            folder = tmp_path_factory.mktemp(name)
            patch.setattr(commands, "REQUEUES", requeues)
            array = submit(folder, 1, 45.0, time="1", setup=["export MARK=1"])
            jobs[name] = folder, array
    return jobs


def test_an_array_from_another_folder(tmp_path, monkeypatch):
    away = tmp_path / "away"
    away.mkdir()
    monkeypatch.chdir(away)
    monkeypatch.setenv("SLURM_JOB_ID", "17")  # as from within a job
    monkeypatch.setenv("SLURM_ARRAY_JOB_ID", "17")
    monkeypatch.setenv("SBATCH_TIMELIMIT", "nonsense")
    assert most_tasks() == 15  # the limit of run.sh is 16
    array = submit(tmp_path, 15, each=2, array=8)
    away.rmdir()
    at_end(tmp_path)
    for cell in (tmp_path / f"cell{i}" for i in range(30)):
        assert cell.read_text() == "done"
        assert len(attempts(cell)) == 1
    assert log_end(tmp_path / f"{array}_4.log") == ["done: cell6 cell7"]
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=r"Slurm refuses the job: .*array"):
        submit(tmp_path, 16)


def test_a_killed_job_leaves_its_cells_to_the_next(tmp_path):
    submit(tmp_path, 1, 1.5, each=2)
    first, second = tmp_path / "cell0", tmp_path / "cell1"
    wait_for(lambda: first.exists() and attempts(second))
    os.kill(attempts(second)[-1][0], signal.SIGKILL)
    at_end(tmp_path)
    assert not second.exists()
    submit(tmp_path, 1, 1.5, each=2)
    at_end(tmp_path)
    assert second.read_text() == "done"
    assert [len(attempts(path)) for path in (first, second)] == [1, 2]
    assert not strays(tmp_path)


def test_cancelled_jobs_stop_with_a_checkpoint(tmp_path):
    array = submit(tmp_path, 3, 300.0)
    cells = [tmp_path / f"cell{i}" for i in range(3)]
    wait_for(lambda: all(map(attempts, cells)))
    assert states(tmp_path) == ["RUNNING"] * 3
    subprocess.run(["scancel", f"{array}_1"], check=True)
    wait_for(lambda: states(tmp_path) == ["RUNNING"] * 2)
    subprocess.run(["scancel", array], check=True)
    at_end(tmp_path)
    assert all(cell.with_suffix(".part").exists() and not cell.exists() for cell in cells)
    assert not strays(tmp_path)


def test_at_the_time_limit_a_job_keeps_how_far_it_is_and_goes_on(limited):
    folder, _ = limited["limit"]
    at_end(folder)
    assert (folder / "cell0").read_text() == "done"
    starts = [start for _, start in attempts(folder / "cell0")]
    assert len(starts) > 1
    assert starts == sorted(set(starts))  # every attempt goes on
    assert not strays(folder)


def test_no_more_requeues_than_allowed(limited):
    folder, array = limited["once"]
    at_end(folder)
    assert (folder / "cell0.part").exists()  # the checkpoint is there all the same
    assert len(attempts(folder / "cell0")) == 1
    end = log_end(folder / f"{array}_1.log")[-1]
    assert "requeued 0 times" in end
    assert not strays(folder)


def test_slurmd_killed_and_started_again(tmp_path, slurm):
    submit(tmp_path, 2, 6.0)
    wait_for(lambda: attempts(tmp_path / "cell0") and attempts(tmp_path / "cell1"))
    os.kill(int((slurm / "slurmd.pid").read_text()), signal.SIGKILL)
    time.sleep(1)
    start()
    at_end(tmp_path)
    assert [(tmp_path / f"cell{i}").read_text() for i in range(2)] == ["done", "done"]
    assert not strays(tmp_path)


def test_slurmctld_stopped_and_started_again(tmp_path, slurm):
    submit(tmp_path, 1, 6.0)
    wait_for(lambda: attempts(tmp_path / "cell0"))
    os.kill(int((slurm / "slurmctld.pid").read_text()), signal.SIGTERM)
    later = threading.Timer(3.0, start)
    later.start()
    assert states(tmp_path) == ["RUNNING"]  # it asks until there is an answer
    later.join()
    at_end(tmp_path)
    assert (tmp_path / "cell0").read_text() == "done"
    assert len(attempts(tmp_path / "cell0")) == 1


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"partition": "nowhere"}, "invalid partition.*partitions here: debug"),
        ({"memory": "900G"}, "Requested node configuration is not available"),
        ({"options": ["--nodelist=elsewhere"]}, "Invalid node name"),
    ],
)
def test_refusals_are_in_the_words_of_slurm(tmp_path, settings, words):
    with pytest.raises(UserError, match=f"Slurm refuses the job: sbatch: .*{words}"):
        submit(tmp_path, 2, **settings)
    assert not states(tmp_path)


def test_slurm_that_does_not_answer(tmp_path, monkeypatch):
    monkeypatch.setattr("thesiskit.study.slurm.ATTEMPTS", 2)
    config = tmp_path / "slurm.conf"
    config.write_text("ClusterName=x\nSlurmctldHost=localhost\nSlurmctldPort=1\nMessageTimeout=2\n")
    monkeypatch.setenv("SLURM_CONF", str(config))
    with pytest.raises(ThesiskitError, match=r"^squeue: .*\nSlurm does not answer"):
        queue()


def test_nothing_is_left(limited, tmp_path_factory):
    assert not commands.call("squeue", "--noheader")
    assert not strays(tmp_path_factory.getbasetemp())
