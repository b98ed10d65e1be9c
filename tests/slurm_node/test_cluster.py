"""Jobs on a real Slurm: what is submitted, stopped, killed and lost comes to an end, once."""

import os
import re
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
from thesiskit.study.slurm import GONE, Slurm, clock_warning, probe, submissions

HERE = Path(__file__).parent
pytestmark = pytest.mark.cluster
wait_for = partial(wait, seconds=120, pause=0.3)


@pytest.fixture(scope="module", autouse=True)
def _jobs_find_us(slurm):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT))
        yield


def cluster(folder, **settings):
    return Slurm(folder, ClusterBlock(**{"time": "5", "memory": "100M"} | settings))


def cells(n, each=1):
    """Return the names of the cells of n jobs."""
    return [[f"cell{i}" for i in range(j * each, (j + 1) * each)] for j in range(n)]


def submit(slurm, jobs, name, seconds=0.0, **more):
    """Submit jobs whose cells take seconds; they are made in the folder of the results."""
    command = [sys.executable, str(HERE / "standin.py"), str(slurm.folder), str(seconds)]
    return slurm.submit(name, jobs, command, name, **more)


def start():
    """Start what was killed of Slurm."""
    subprocess.run([HERE / "start-slurm.sh"], stdout=subprocess.DEVNULL, check=True)


def gone(slurm, ids):
    return wait_for(lambda: set(slurm.states(ids).values()) == {GONE})


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
def long(tmp_path_factory, _jobs_find_us):
    """Jobs that meet their time limit, or wait, while others run: by name, folder and ids."""
    found = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(commands, "notice", lambda block: 55)  # Slurm looks every half a minute
        for name, requeues in [("limit", 10), ("once", 0)]:
            folder = tmp_path_factory.mktemp(name)
            jobs = cluster(folder, time="1", requeues=requeues, setup=["export MARK=1"])
            found[name] = folder, submit(jobs, cells(1), name, seconds=45.0)
    folder = tmp_path_factory.mktemp("later")
    jobs = cluster(folder, array=1)
    first = submit(jobs, cells(2), "first", seconds=3.0)
    later = submit(jobs, [["later"]], "later", after=["1000000", *first])
    found["later"] = folder, [*first, *later]
    return found


def test_arrays_no_longer_than_allowed_from_another_folder(tmp_path, monkeypatch, long):
    away = tmp_path / "away"
    away.mkdir()
    monkeypatch.chdir(away)
    monkeypatch.setenv("SLURM_JOB_ID", "17")  # as from within a job
    monkeypatch.setenv("SLURM_ARRAY_JOB_ID", "17")
    monkeypatch.setenv("SBATCH_TIMELIMIT", "nonsense")
    slurm = cluster(tmp_path, array=8)
    slurm.check()
    waiting = long["later"][1][-1]
    wait_for(lambda: slurm.states([waiting])[waiting].startswith("PENDING (Dependency"))
    todo = cells(20, each=2)
    ids = submit(slurm, todo, "twenty", digest="abc")
    away.rmdir()
    arrays = [entry["ids"] for entry in submissions(tmp_path)]
    assert [len(array) for array in arrays] == [10, 10]  # the limit is 16
    assert [one for array in arrays for one in array] == ids
    assert {entry["digest"] for entry in submissions(tmp_path)} == {"abc"}
    known = slurm.cells(submissions(tmp_path))
    assert [known[one] for one in ids] == todo
    gone(slurm, ids)
    for names in todo:
        for name in names:
            assert (tmp_path / name).read_text() == "done"
            assert len(attempts(tmp_path / name)) == 1
    assert slurm.tail(ids[3]) == [f"done: {' '.join(todo[3])}"]


def test_a_killed_job_leaves_its_cells_to_the_next(tmp_path):
    slurm = cluster(tmp_path)
    (names,) = cells(1, each=2)
    ids = submit(slurm, [names], "killed", seconds=1.5)
    first, second = (tmp_path / name for name in names)
    wait_for(lambda: first.exists() and attempts(second))
    os.kill(attempts(second)[-1][0], signal.SIGKILL)
    gone(slurm, ids)
    assert not second.exists()
    again = submit(slurm, [names], "again", seconds=1.5, after=ids)
    gone(slurm, again)
    assert second.read_text() == "done"
    assert [len(attempts(path)) for path in (first, second)] == [1, 2]
    assert not strays(tmp_path)


def test_cancelled_jobs_stop_with_a_checkpoint(tmp_path):
    slurm = cluster(tmp_path)
    ids = submit(slurm, cells(3), "cancel", seconds=300.0)
    made = [tmp_path / f"cell{i}" for i in range(3)]
    wait_for(lambda: all(map(attempts, made)))
    assert set(slurm.states(ids).values()) == {"RUNNING"}
    assert slurm.cancel(ids[:1]) == ids[:1]
    gone(slurm, ids[:1])
    assert set(slurm.states(ids[1:]).values()) == {"RUNNING"}
    assert slurm.states(["999999"]) == {"999999": GONE}
    slurm.cancel([ids[0].partition("_")[0]])  # the whole array
    gone(slurm, ids)
    assert all(cell.with_suffix(".part").exists() and not cell.exists() for cell in made)
    assert slurm.cancel(ids) == []
    assert not strays(tmp_path)


def test_slurmd_killed_and_started_again(tmp_path, slurm):
    jobs = cluster(tmp_path)
    ids = submit(jobs, cells(2), "slurmd", seconds=6.0)
    wait_for(lambda: attempts(tmp_path / "cell0") and attempts(tmp_path / "cell1"))
    os.kill(int((slurm / "slurmd.pid").read_text()), signal.SIGKILL)
    time.sleep(1)
    start()
    gone(jobs, ids)
    assert [(tmp_path / f"cell{i}").read_text() for i in range(2)] == ["done", "done"]
    assert not strays(tmp_path)


def test_slurmctld_stopped_and_started_again(tmp_path, slurm):
    jobs = cluster(tmp_path)
    ids = submit(jobs, cells(1), "slurmctld", seconds=6.0)
    wait_for(lambda: attempts(tmp_path / "cell0"))
    os.kill(int((slurm / "slurmctld.pid").read_text()), signal.SIGTERM)
    later = threading.Timer(3.0, start)
    later.start()
    assert set(jobs.states(ids).values()) == {"RUNNING"}  # it asks until there is an answer
    later.join()
    gone(jobs, ids)
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
def test_slurm_says_what_it_refuses(tmp_path, settings, words):
    slurm = cluster(tmp_path, **settings)
    with pytest.raises(UserError, match=f"Slurm refuses the job: sbatch: .*{words}"):
        slurm.check()
    with pytest.raises(UserError, match="Slurm refuses the job: "):
        submit(slurm, cells(2), "refused")
    assert not submissions(tmp_path)
    assert not list(slurm.jobs.glob("*"))


def test_the_probe_finds_the_folder(tmp_path):
    host, skew = probe(tmp_path, cluster(tmp_path).block)
    assert abs(skew) <= 1
    assert clock_warning(host, skew) == []
    assert not list((tmp_path / "batch").iterdir())


# a job that sees other files than its submitter: it goes on in a mount namespace of its own
ELSEWHERE = '[ -n "$APART" ] || APART=1 exec unshare --mount bash "$0"'


@pytest.mark.parametrize(
    ("mount", "words"),
    [
        ("mount -t tmpfs none {0}", "does not see {0}"),
        ("mount --bind {0} {0}; mount -o remount,ro,bind {0}", "cannot write in {0}"),
        (
            "cp -r {0} {0}-copy; mount -t tmpfs none {0}; cp -r {0}-copy/. {0}",
            "writes in {0} is not seen here",
        ),
    ],
    ids=["not there", "read-only", "another of the same name"],
)
def test_the_probe_says_what_is_wrong_with_the_folder(tmp_path, mount, words):
    batch = tmp_path / "batch"
    block = cluster(tmp_path, setup=[ELSEWHERE, mount.format(batch)]).block
    with pytest.raises(UserError, match=words.format(re.escape(str(batch)))):
        probe(tmp_path, block, lag=1.0)
    assert not list(batch.iterdir())


def test_the_probe_says_that_python_is_not_there(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(UserError, match=r"/nowhere/python cannot import thesiskit: .*No such file"):
        probe(tmp_path, cluster(tmp_path).block)


def test_the_probe_does_not_wait_for_ever(tmp_path):
    block = cluster(tmp_path, options=["--begin=now+1hour"]).block
    with pytest.raises(UserError, match=r"pending, BeginTime.*--no-probe"):
        probe(tmp_path, block, timeout=1.0)
    assert "probe" not in commands.call("squeue", "--noheader", "--format=%j")


def test_clocks_that_differ_are_warned_of(tmp_path, monkeypatch):
    block = cluster(tmp_path, setup=["date() { command date -d '5 minutes' +%s; }"]).block
    started = time.monotonic()
    host, skew = probe(tmp_path, block)
    # our clock went on between the job's reading and its answer; both count in whole seconds
    assert 297 - (time.monotonic() - started) <= skew <= 302
    assert "ahead of" in clock_warning(host, skew)[0]
    assert "behind" in clock_warning("node", -100)[0]


def test_slurm_that_does_not_answer(tmp_path, monkeypatch):
    monkeypatch.setattr("thesiskit.study.slurm.ATTEMPTS", 2)
    config = tmp_path / "slurm.conf"
    config.write_text("ClusterName=x\nSlurmctldHost=localhost\nSlurmctldPort=1\nMessageTimeout=2\n")
    monkeypatch.setenv("SLURM_CONF", str(config))
    with pytest.raises(ThesiskitError, match=r"^squeue: .*\nSlurm does not answer"):
        cluster(tmp_path).states(["1_0"])


def test_at_the_time_limit_a_job_keeps_how_far_it_is_and_goes_on(long):
    folder, ids = long["limit"]
    gone(cluster(folder), ids)
    assert (folder / "cell0").read_text() == "done"
    starts = [start for _, start in attempts(folder / "cell0")]
    assert len(starts) > 1
    assert starts == sorted(set(starts))  # every attempt goes on
    assert not strays(folder)


def test_no_more_requeues_than_allowed(long):
    folder, ids = long["once"]
    jobs = cluster(folder)
    gone(jobs, ids)
    assert (folder / "cell0.part").exists()  # the checkpoint is there all the same
    assert len(attempts(folder / "cell0")) == 1
    assert "requeued 0 times, as cluster.requeues allows" in jobs.tail(ids[0])[-1]
    assert not strays(folder)


def test_jobs_wait_for_those_before(long):
    folder, ids = long["later"]
    gone(cluster(folder), ids)
    times = [(folder / name).stat().st_mtime for name in ("cell0", "cell1", "later")]
    assert times[1] > times[0] + 2  # one at a time, as asked
    assert times[2] >= times[1]


def test_nothing_is_left(long, tmp_path_factory):
    assert not commands.call("squeue", "--noheader")
    assert not strays(tmp_path_factory.getbasetemp())
