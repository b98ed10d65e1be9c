"""Jobs for Slurm, where there is none: what is asked for, in what environment, and what is said."""

import os
import signal
import subprocess
import sys
import threading

import pytest

from thesiskit.config import load_config
from thesiskit.config.cluster import ClusterBlock
from thesiskit.errors import ConfigError, ThesiskitError, UserError
from thesiskit.experiments.cluster import sbatch
from thesiskit.experiments.cluster.probe import probe
from thesiskit.experiments.cluster.slurm import GONE, Slurm, Task, split
from thesiskit.experiments.cluster.submissions import append, submissions

CONFIG = """\
experiment: clustered
title: T
about: A
lattice: {class_counts: [10, 10], gamma: 0.3}
report: {parts: [correlation-lattice]}
cluster:
"""


class Named:
    """A share that is not made."""

    def __init__(self, name):
        self.ids = (name,)

    def make(self, stop):
        return True


@pytest.fixture
def commands(tmp_path, monkeypatch):
    """Write commands that stand in for Slurm's, and return how to."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}/usr/bin{os.pathsep}/bin")
    monkeypatch.setattr("thesiskit.experiments.cluster.sbatch.time.sleep", lambda _: None)

    def write(**bodies):
        for name, body in bodies.items():
            path = folder / name
            path.write_text(f"#!/bin/bash\n{body}\n")
            path.chmod(0o755)

    return write


def cluster_of(tmp_path, text):
    path = tmp_path / "c.yaml"
    path.write_text(CONFIG + text)
    return load_config(path).cluster


@pytest.mark.parametrize(
    ("text", "minutes"),
    [("1:00:00", 60), ("01:00:30", 61), ("2-03:04:00", 3064), ("90", 90), ("'90'", 90)],
)
def test_times(tmp_path, text, minutes):
    assert cluster_of(tmp_path, f"  time: {text}\n").minutes == minutes


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("time: 10:00", r"cluster.time: write the limit as hours:minutes:seconds.*not '10:00'"),
        ("time: 0", "at least one, not '0'"),
        ("time: 1.5", "cluster.time: needs text"),
        ("memory: 4 gigabytes", "write memory as 4G"),
        ("memory: 4000", "cluster.memory: needs text"),
        ("cpus: 0", "cluster.cpus: must be at least 1"),
        ("options: [--mem=4G]", "cluster.options.0?.*use `cluster.memory`|use `cluster.memory`"),
        ("options: [--signal=USR1]", "--signal=USR1: is set by thesiskit"),
        ("options: [-p]", "write it as --name"),
        ("partitions: long", "did you mean 'partition'"),
        ('partition: "a\\nb"', r"cluster.partition: the character '.n' would leave its line"),
        ("partition: a b", "write one word, not 'a b'"),
        ("account: -p", "write one word, not '-p'"),
        ("options: [--comment=a, --comment=b]", "--comment=a and --comment=b are one option"),
        ("time: '١٢'", "write the limit as"),
        ("time: '" + "9" * 5000 + "'", "write the limit as"),
        ("memory: 4٣G", "write memory as 4G"),
        ("cpus: 1000000", "cluster.cpus: must be at most 1,024"),
    ],
)
def test_bad_blocks_are_refused_by_line(tmp_path, text, words):
    with pytest.raises(ConfigError, match=rf"c.yaml:7: .*({words})"):
        cluster_of(tmp_path, f"  {text}\n")


def test_whole_numbers_of_yaml_are_what_they_were(tmp_path):
    from thesiskit.config.yamlfile import parse_value

    values = {"12": 12, "-3": -3, "1_000": 1000, "0x1F": 31, "0b11": 3, "0": 0}
    assert {text: parse_value(text) for text in values} == values
    assert parse_value("1:00:00") == "1:00:00"


def test_requests():
    block = ClusterBlock(
        partition="long", memory="4G", cpus=2, options=["--exclusive", "--constraint=avx2"]
    )
    assert block.requests == {
        "partition": "long",
        "time": "1:00:00",
        "mem": "4G",
        "cpus-per-task": "2",
        "exclusive": True,
        "constraint": "avx2",
    }


def test_the_environment_of_jobs(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    given = {
        "SLURM_JOB_ID": "1",
        "SLURM_CONF": "/etc/other.conf",
        "SBATCH_EXPORT": "NONE",
        "SBATCH_PARTITION": "theirs",
        "SBATCH_ACCOUNT": "theirs",
        "PYTHONPATH": f"here{os.pathsep}/there",
        "THESISKIT_DATA_DIR": "data",
    }
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    found = sbatch.environment(ClusterBlock(partition="ours"))
    assert {name: found.get(name) for name in given} == {
        "SLURM_JOB_ID": None,
        "SLURM_CONF": "/etc/other.conf",
        "SBATCH_EXPORT": None,
        "SBATCH_PARTITION": None,
        "SBATCH_ACCOUNT": "theirs",
        "PYTHONPATH": f"{tmp_path / 'here'}{os.pathsep}/there",
        "THESISKIT_DATA_DIR": str(tmp_path / "data"),
    }


@pytest.mark.parametrize(
    "ask",
    [
        lambda folder, block: Slurm(folder, block).check(),
        lambda folder, block: Slurm(folder, block).submit([Named("a")], "name"),
        lambda folder, block: Slurm(folder, block).states(["1"]),
        lambda folder, block: Slurm(folder, block).cancel(["1"]),
        probe,
    ],
    ids=["check", "submit", "states", "cancel", "probe"],
)
def test_without_slurm_the_script_is_offered(tmp_path, monkeypatch, ask):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(UserError, match=r"is not on the path.*\n?.*thesiskit batch script CONFIG"):
        ask(tmp_path, ClusterBlock())


def test_without_submitit_it_is_named(tmp_path, commands, monkeypatch):
    monkeypatch.setitem(sys.modules, "submitit", None)
    commands(squeue="true", sbatch="true")
    with pytest.raises(UserError, match=r'pip install "thesiskit\[cluster\]"'):
        Slurm(tmp_path, ClusterBlock()).check()


def test_states_are_squeues(tmp_path, commands, monkeypatch):
    commands(
        squeue="""
        [ -e tried ] || { touch tried; echo 'Unable to contact' >&2; exit 1; }
        [ "${@: -1}" = --jobs=7,8 ] || exit 9
        echo '7_0|RUNNING|None'; echo '7_1|PENDING|Priority'; echo '8|COMPLETING|None'"""
    )
    monkeypatch.chdir(tmp_path)
    slurm = Slurm(tmp_path, ClusterBlock())
    ids = ["7_0", "7_1", "7_2", "8"]
    assert list(slurm.states(ids).values()) == [
        "RUNNING",
        "PENDING (Priority)",
        GONE,
        "COMPLETING",
    ]
    assert slurm.states([]) == {}


def test_a_controller_that_stays_away(tmp_path, commands):
    commands(squeue=f"echo once >> {tmp_path}/asked; echo 'Unable to contact' >&2; exit 1")
    with pytest.raises(ThesiskitError, match="Unable to contact\nSlurm does not answer"):
        Slurm(tmp_path, ClusterBlock()).states(["7_0"])
    assert len((tmp_path / "asked").read_text().split()) == 5


def test_a_forgotten_job_is_gone(tmp_path, commands):
    commands(squeue="echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1")
    assert Slurm(tmp_path, ClusterBlock()).states(["7"]) == {"7": GONE}


def test_arrays_share_the_width_or_wait_for_each_other(tmp_path, commands):
    pytest.importorskip("submitit")
    commands(
        srun="true",
        squeue="echo '5_0|RUNNING|None'",
        scontrol="echo 'MaxArraySize            = 4'",
        sbatch=f"""
        n=$(( $(cat {tmp_path}/n 2> /dev/null || echo 100) + 1 )); echo $n > {tmp_path}/n
        echo "Submitted batch job $n" """,
    )
    slurm = Slurm(tmp_path, ClusterBlock(array=2, time="10"))
    ids = slurm.submit([Named(str(i)) for i in range(10)], "ten", after=["5_0", "6"], digest="d")
    assert ids == [f"{array}_{i}" for array, n in ((101, 3), (102, 3), (103, 4)) for i in range(n)]
    lines = {}
    for array in (101, 102, 103):
        text = (slurm.jobs / f"{array}_submission.sh").read_text()
        lines[array] = [
            line.removeprefix("#SBATCH --")
            for line in text.splitlines()
            if line.startswith(("#SBATCH --array", "#SBATCH --depend", "#SBATCH --signal"))
        ]
    signals = "signal=USR2@120"
    assert lines == {
        101: ["array=0-2%1", "dependency=afterany:5_0", signals],
        102: ["array=0-2%1", "dependency=afterany:5_0", signals],
        103: ["array=0-3%1", "dependency=afterany:101", signals],
    }
    assert [entry["cells"] for entry in submissions(tmp_path)] == [3, 3, 4]
    assert slurm.cells("103_3") == ("9",)
    assert slurm.cells("104_0") == ()


def test_what_was_submitted_before_a_refusal_is_recorded(tmp_path, commands, capfd):
    pytest.importorskip("submitit")
    commands(
        srun="true",
        scontrol="echo 'MaxArraySize = 2'",
        sbatch=f"""
        [ -e {tmp_path}/one ] && {{ echo 'QOSMaxSubmitJobPerUserLimit' >&2; exit 1; }}
        touch {tmp_path}/one; echo 'Submitted batch job 7'""",
    )
    slurm = Slurm(tmp_path, ClusterBlock())
    with pytest.raises(UserError, match=r"Slurm refuses the job: .*QOSMaxSubmitJobPerUserLimit"):
        slurm.submit([Named(str(i)) for i in range(4)], "four")
    assert [entry["ids"] for entry in submissions(tmp_path)] == [["7_0", "7_1"]]
    assert sorted(path.name for path in slurm.jobs.glob("*.pkl")) == [
        "7_0_submitted.pkl",
        "7_1_submitted.pkl",
    ]
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(("jobs", "most"), [(1, 1), (10, 4), (1000, 1000), (1001, 1000), (7, 100)])
def test_as_few_arrays_as_can_be(jobs, most):
    parts = split(jobs, most)
    assert len(parts) == -(-jobs // most)
    assert [i for part in parts for i in part] == list(range(jobs))
    sizes = [len(part) for part in parts]
    assert max(sizes) <= most
    assert max(sizes) - min(sizes) <= 1


class Waiting:
    """A share that is made for ever; `told` what its child processes inherit."""

    ids = ("a",)

    def __init__(self):
        self.began = threading.Event()
        self.told = ""

    def make(self, stop):
        status = ["grep", "SigBlk", "/proc/self/status"]
        self.told = subprocess.run(status, capture_output=True, text=True, check=True).stdout
        self.began.set()
        stop.wait(30)
        return False


@pytest.fixture
def _sigterm():
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.mark.usefixtures("_sigterm")
def test_a_task_stops_when_told_to():
    share = Waiting()
    after = threading.Thread(
        target=lambda: share.began.wait(30) and os.kill(os.getpid(), signal.SIGTERM)
    )
    after.start()
    Task(share)()
    after.join()
    blocked = int(share.told.split()[1], 16)
    assert {signal.SIGUSR1, signal.SIGUSR2} == {
        one for one in signal.Signals if blocked >> one - 1 & 1
    }


@pytest.mark.usefixtures("_sigterm")
def test_what_goes_wrong_in_a_share_ends_its_task():
    share = Named("a")
    share.make = lambda stop: {}["no such cell"]
    with pytest.raises(KeyError, match="no such cell"):
        Task(share)()


@pytest.mark.usefixtures("_sigterm")
def test_a_checkpoint_waits_until_all_is_written():
    pytest.importorskip("submitit")
    share, task = Waiting(), None

    def checkpoint(*_):
        raise InterruptedError(
            task.checkpoint().function.share is share and not task.thread.is_alive()
        )

    before = signal.signal(signal.SIGUSR2, checkpoint)  # as submitit does
    task = Task(share)
    after = threading.Thread(
        target=lambda: share.began.wait(30) and os.kill(os.getpid(), signal.SIGUSR2)
    )
    after.start()
    try:
        with pytest.raises(InterruptedError, match="True"):
            task()
    finally:
        signal.signal(signal.SIGUSR2, before)
        after.join()


def test_the_script(tmp_path):
    folder = tmp_path / "re sults"
    block = ClusterBlock(partition="long", array=5, requeues=3, setup=["module load python"])
    text = sbatch.script(block, ["thesis kit", "batch"], 12, name="hmm", folder=folder)
    subprocess.run(["bash", "-n"], input=text, text=True, check=True)
    assert (folder / "batch" / "jobs").is_dir()
    lines = text.splitlines()
    for line in (
        "#SBATCH --partition=long",
        "#SBATCH --array=1-12%5",
        "#SBATCH --signal=B:USR1@120",
        "#SBATCH --requeue",
        f"#SBATCH --output='{folder}/batch/jobs/%A_%a.log'",
        "module load python",
        "'thesis kit' batch --share \"$SLURM_ARRAY_TASK_ID/12\" &",
    ):
        assert line in lines
    assert "-lt 3 ]" in text


def test_no_percent_in_paths(tmp_path):
    with pytest.raises(UserError, match="no path with a %"):
        Slurm(tmp_path / "100%", ClusterBlock())


def test_last_lines_of_a_log(tmp_path):
    slurm = Slurm(tmp_path, ClusterBlock())
    slurm.jobs.mkdir(parents=True)
    assert slurm.tail("7_1") == []
    (slurm.jobs / "7_1_0_log.out").write_text("a\nb\n\nc\n")
    (slurm.jobs / "7_1_0_log.err").write_text("\n")
    assert slurm.tail("7_1", 2) == ["b", "c"]
    (slurm.jobs / "7_1_0_log.err").write_bytes(b"x" * 10**6 + b"\nKilled \xff\n")
    assert slurm.tail("7_1", 1) == ["Killed \ufffd"]


def test_submissions_are_appended_and_damaged_ones_set_aside(tmp_path):
    said = []
    assert submissions(tmp_path, said.append) == []
    append(tmp_path, {"ids": ["1_0"]}, said.append)
    append(tmp_path, {"ids": ["2"]}, said.append)
    assert [entry["ids"] for entry in submissions(tmp_path, said.append)] == [["1_0"], ["2"]]
    assert said == []
    path = tmp_path / "batch" / "submissions.json"
    for n, text in enumerate(['[{"ids": ["1"', "[7]", "7", '{"ids": []}', '[{"ids": 7}]']):
        path.write_text(text)
        assert submissions(tmp_path, said.append) == []
        assert path.with_suffix(f".damaged-{n}").read_text() == text
        assert len(said) == n + 1
    assert "was damaged and is now submissions.damaged-0" in said[0]
    append(tmp_path, {"ids": ["3"]})
    assert len(submissions(tmp_path)) == 1
