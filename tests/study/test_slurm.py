"""Jobs for Slurm, where there is none: what is asked for, in what environment, and what is said."""

import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import yaml
from commands import ROOT, run, wait_for
from small import KINDS, opened

from thesiskit.config import ClusterBlock, load_config
from thesiskit.errors import ConfigError, ThesiskitError, UserError
from thesiskit.study.batch import Batch, first_cells, make, part
from thesiskit.study.slurm import (
    Job,
    array_script,
    environment,
    log_end,
    most_tasks,
    queue,
    ranges,
    sbatch,
)
from thesiskit.study.workers import Workers

CONFIG = """\
experiment: clustered
title: T
about: A
lattice: {class_counts: [10, 10], gamma: 0.3}
report: {parts: [correlation-lattice]}
cluster:
"""


@pytest.fixture
def commands(tmp_path, monkeypatch):
    """Write commands that stand in for Slurm's, and return how to."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}/usr/bin{os.pathsep}/bin")
    monkeypatch.setattr("thesiskit.study.slurm.time.sleep", lambda _: None)

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
        ("options: [--signal=USR1]", "--signal=USR1: is not one of the options that jobs"),
        ("options: [--accoun=mine]", "--accoun=mine: .*Fix: write --account, if this is meant"),
        ("options: [-p]", "write it as --name"),
        ("partitions: long", "did you mean 'partition'"),
        ('partition: "a\\nb"', r"cluster.partition: the character '.n' breaks the line"),
        ("partition: a b", "write one word, not 'a b'"),
        ("partition: -p", "write one word, not '-p'"),
        ("options: [--comment=a, --comment=b]", "--comment=a and --comment=b are the same option"),
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
    from thesiskit.yamlfile import Places

    def parse_value(text):
        tree = {}
        Places("config", {}, {}).override(tree, "key", text, parse=True)
        return tree["key"]

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
    }
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    found = environment(ClusterBlock(partition="ours"))
    assert {name: found.get(name) for name in given} == {
        "SLURM_JOB_ID": None,
        "SLURM_CONF": "/etc/other.conf",
        "SBATCH_EXPORT": None,
        "SBATCH_PARTITION": None,
        "SBATCH_ACCOUNT": "theirs",
        "PYTHONPATH": f"{tmp_path / 'here'}{os.pathsep}/there",
    }


@pytest.mark.parametrize(
    "ask",
    [most_tasks, queue, lambda: sbatch(ClusterBlock(), Path("script.sh"))],
    ids=["limit", "queue", "submit"],
)
def test_without_slurm_the_script_is_offered(monkeypatch, ask):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(UserError, match=r"is not on the path.*Fix: .*thesiskit batch script CONF"):
        ask()


def test_nothing_is_computed_where_nothing_can_be_submitted(tmp_path, monkeypatch):
    (tmp_path / "c.yaml").write_text(KINDS["naive"])
    monkeypatch.setenv("PATH", "")
    text = run("batch", "submit", tmp_path / "c.yaml", "--results", tmp_path / "r", code=2)
    assert len(text.splitlines()) == 1
    assert re.match(r"Error: scontrol is not on the path: .*`thesiskit run CONFIG`", text)
    assert not list((tmp_path / "r").rglob("*.npz"))


def test_the_queue_is_squeues(commands, tmp_path):
    commands(
        squeue=f"""
        [ -e {tmp_path}/tried ] || {{ touch {tmp_path}/tried; echo Unable to contact >&2; exit 1; }}
        echo '7_0|RUNNING|None|/a'; echo '7_1|PENDING|Priority|/a|b'"""
    )
    assert queue() == [Job("7_0", "RUNNING", "/a"), Job("7_1", "PENDING (Priority)", "/a|b")]


def test_a_controller_that_stays_away(tmp_path, commands):
    commands(squeue=f"echo again >> {tmp_path}/asked; echo 'Unable to contact' >&2; exit 1")
    with pytest.raises(ThesiskitError, match=r"Unable to contact\nSlurm does not answer.* Fix: "):
        queue()
    assert len((tmp_path / "asked").read_text().split()) == 5


@pytest.mark.parametrize(
    ("numbers", "text"), [([4], "4"), (range(1, 13), "1-12"), ([1, 2, 5, 7, 8, 9], "1-2,5,7-9")]
)
def test_tasks_are_written_as_ranges(numbers, text):
    assert ranges(numbers) == text


# ---- what a task makes ----


def write_bits(path, rng):
    bits = pd.DataFrame(rng.integers(0, 2, (30, 6))).add_prefix("x")
    bits.assign(y=np.arange(30) % 2).to_csv(path, index=False)


@pytest.fixture
def written(tmp_path, monkeypatch):
    """A config with a relative path, options that change it, and what `batch script` wrote."""
    rng = np.random.default_rng(0)
    folder = tmp_path / "mine"
    folder.mkdir()
    write_bits(folder / "x.csv", rng)
    (folder / "own.yaml").write_text("""
experiment: small
title: Small
about: A test.
data: { source: file, path: x.csv, response: y }
evaluation: { folds: 5 }
block: 2
selection: { features: [2, 3] }
report: { parts: [methods] }
""")
    monkeypatch.chdir(folder)
    text = run("batch", "script", "own.yaml", "--results", "r", "--set", "evaluation.folds=4",
               "--seed", 5, "--set", "cluster.array=2")  # fmt: skip
    monkeypatch.chdir(tmp_path)
    return folder, text


def command_of(text):
    """Return what a script runs for each task: arguments of the command line."""
    line = next(line for line in text.splitlines() if " batch cell " in line)
    words = shlex.split(line.removesuffix(" &"))
    assert words[:3] == [sys.executable, "-m", "thesiskit"]
    tasks = int(words[-1].rpartition("/")[2])
    return [[*words[3:-1], f"{i}/{tasks}"] for i in range(1, tasks + 1)]


def test_tasks_make_what_was_asked_for_whatever_becomes_of_the_config(written):
    folder, text = written
    (script,) = (folder / "r/small/batch/jobs").glob("*.sh")
    assert script.read_text() == text
    (folder / "own.yaml").write_text("experiment: another")
    tasks = command_of(text)
    assert len(tasks) == 2
    for task in tasks:
        assert "2 of 2 tasks done" in run(*task)
    experiment = opened(script.with_suffix(".yaml"), folder / "r")
    assert (experiment.config.evaluation.folds, experiment.config.seed) == (4, 5)
    assert (folder / "r/small/predict/0000.npz").is_file()


@pytest.mark.parametrize("path", sorted((ROOT / "configs").rglob("*.yaml")), ids=lambda p: p.stem)
def test_a_config_that_was_kept_says_the_same(path, tmp_path):
    for smoke in (False, True):
        config = load_config(path, smoke=smoke)
        tree = config.model_dump(mode="json", exclude={"smoke"}, exclude_unset=True)
        kept = tmp_path / "kept.yaml"
        kept.write_text(yaml.safe_dump(tree, sort_keys=False, allow_unicode=True))
        assert load_config(kept).model_dump(exclude={"smoke"}) == config.model_dump(
            exclude={"smoke"}
        )


SLURM = {"scontrol": "echo 'MaxArraySize = 1001'", "squeue": "true"}


def test_submit_and_script_write_the_same(tmp_path, commands):
    """Submitting writes the script that is printed, and gives it to sbatch."""
    (tmp_path / "c.yaml").write_text(KINDS["mixture"])
    commands(**SLURM, sbatch=f'[ "$1" = --parsable ] && cp "$2" {tmp_path}/given; echo 12')
    asked = (tmp_path / "c.yaml", "--results", tmp_path / "r", "--set", "cluster.array=4",
             "--set", "cluster.time=10")  # fmt: skip
    printed = run("batch", "script", *asked)
    text = run("batch", "submit", *asked)
    assert re.match(r"\d+ jobs of at most 7 chains or methods each \(job array 12\)", text)
    assert (tmp_path / "given").read_text() == printed
    commands(sbatch="echo no >&2; exit 1")
    assert "Slurm refuses the job: sbatch: no" in run("batch", "submit", *asked, code=2)


@pytest.mark.parametrize(
    ("block", "limit", "shares"),
    [({}, None, 30), ({"array": 7}, None, 6), ({}, 1001, 30), ({}, 9, 9)],
)
def test_an_even_share_for_each_job_and_no_longer_array_than_allowed(
    tmp_path, block, limit, shares
):
    settings = [f"cluster.{name}={value}" for name, value in block.items()]
    (tmp_path / "c.yaml").write_text(KINDS["naive"])
    batch = Batch(opened(tmp_path / "c.yaml", tmp_path / "r", settings=settings))
    assert batch._shares(30, limit) == shares


def test_a_limit_of_the_cluster(commands):
    commands(scontrol="echo 'MaxArraySize            = 5'")
    assert most_tasks() == 4
    commands(scontrol="echo 'not for users' >&2; exit 1")
    assert most_tasks() == 1000


def test_shares_with_cells_that_failed_are_submitted_again(tmp_path, commands):
    (tmp_path / "c.yaml").write_text(KINDS["naive"])
    asked = (tmp_path / "c.yaml", "--results", tmp_path / "r", "--set", "cluster.array=4")
    commands(**SLURM, sbatch=f'[ "$1" = --parsable ] && cp "$2" {tmp_path}/given; echo 12')
    run("batch", "cell", *asked, "--share", "1/4")
    run("batch", "cell", *asked, "--share", "3/4")
    experiment = opened(tmp_path / "c.yaml", tmp_path / "r")
    failed, _ = part(first_cells(experiment.graph), 2, 4)
    experiment.graph.files.fail(failed, "it broke")
    assert "2 jobs of at most 2 " in run("batch", "submit", *asked)
    assert "#SBATCH --array=2,4%4\n" in (tmp_path / "given").read_text()
    for share in ("2/4", "4/4"):
        run("batch", "cell", *asked, "--share", share)
    assert "nothing to submit: all tasks are done" in run("batch", "submit", *asked)
    assert "1 job of at most" in run("batch", "submit", *asked[:3], "--force",
                                     "--set", "cluster.array=1")  # fmt: skip
    assert not list((tmp_path / "r").rglob("cells/*/*.npz"))


def test_jobs_of_another_experiment_are_not_ours(tmp_path, commands):
    (tmp_path / "c.yaml").write_text(KINDS["naive"])
    jobs = tmp_path / "r/small/batch/jobs"
    commands(**SLURM | {"squeue": f"echo '12_1|RUNNING|None|{jobs}-2'"}, sbatch="echo 12")
    asked = (tmp_path / "c.yaml", "--results", tmp_path / "r")
    assert "(job array 12)" in run("batch", "submit", *asked)
    commands(squeue=f"echo '12_1|PENDING|Priority|{jobs}'; echo '12_2|RUNNING|None|{jobs}'")
    text = run("batch", "submit", *asked, code=2)
    assert "2 jobs of small are pending or running. Fix: " in text
    assert "`scancel 12`" in text
    assert "jobs: 1 PENDING (Priority), 1 RUNNING" in run("batch", "status", *asked)


def test_jobs_that_ended_too_early_are_shown_with_their_last_lines(tmp_path, commands):
    (tmp_path / "c.yaml").write_text(KINDS["naive"])
    commands(**SLURM, sbatch="echo 12")
    asked = (tmp_path / "c.yaml", "--results", tmp_path / "r")
    run("batch", "submit", *asked)
    log = tmp_path / "r/small/batch/jobs/12_2.log"
    log.write_text("a\nout of memory\n")
    text = run("batch", "status", *asked, "--watch")
    assert f"the job of {log} stopped before its tasks were done:\n    a\n    out of mem" in text
    run("run", *asked)
    assert "ended before" not in run("batch", "status", *asked)


# ---- several experiments ----


@pytest.fixture
def chapter(tmp_path):
    """Write a folder of two experiments and a third that refuses to begin; return the folder."""
    folder = tmp_path / "chapter"
    folder.mkdir()
    for name in ("a", "b"):
        text = CONFIG.replace("clustered", name).replace("cluster:\n", "")
        (folder / f"{name}.yaml").write_text(text)
    damaged = KINDS["logistic"].replace("experiment: small", "experiment: aa")
    data = "data: { source: sequences, path: no.txt }\nmodel"
    (folder / "aa.yaml").write_text(re.sub(r"data:.*?\nmodel", data, damaged, flags=re.DOTALL))
    return folder


def test_a_folder_is_submitted_and_a_failure_stops_nothing(tmp_path, commands, chapter):
    commands(**SLURM, sbatch=f'echo "$2" >> {tmp_path}/given; echo 12')
    asked = (chapter, "--results", tmp_path / "r", "--set", "cluster.time=7")
    text = run("batch", "submit", *asked, code=2)
    assert re.search(r"== a: T\n1 job of at most 1 .*\n== aa: ", text)
    assert re.search(r"Error: aa: .*no.txt", text)
    assert re.search(r"== b: T\n1 job of at most 1 ", text)
    scripts = [Path(line) for line in (tmp_path / "given").read_text().split()]
    assert [path.parent for path in scripts] == [tmp_path / f"r/{x}/batch/jobs" for x in "ab"]
    assert all("--time=7\n" in path.read_text() for path in scripts)


def test_each_of_several_has_a_line(tmp_path, chapter):
    results = ("--results", tmp_path / "r")
    run("run", chapter / "b.yaml", *results)
    text = run("batch", "status", chapter, *results, code=2)
    assert "a: 0 of 1 tasks done; 0.0 s of work\n" in text
    assert "b: 1 of 1 tasks done; " in text
    assert "Error: aa: " in text


def test_watching_ends_when_all_cells_of_all_are_done(tmp_path, monkeypatch, chapter):
    (chapter / "aa.yaml").unlink()
    results, waited = ("--results", tmp_path / "r"), []
    run("run", chapter / "a.yaml", *results)

    def sleep(seconds):
        waited.append(seconds)
        run("run", chapter / "b.yaml", *results)

    monkeypatch.setattr(sys.modules["thesiskit.cli.batch"], "time", SimpleNamespace(sleep=sleep))
    text = run("batch", "status", chapter, *results, "--watch")
    assert waited == [5.0]
    assert re.findall("^b: ([01])", text, re.MULTILINE) == ["0", "1"]


def test_several_are_collected(tmp_path, chapter):
    results = ("--results", tmp_path / "r")
    run("batch", "cell", chapter / "b.yaml", *results, "--share", "1/1")
    text = run("batch", "collect", chapter / "a.yaml", chapter / "b.yaml", *results, code=1)
    assert "== a: T\n1 tasks are not done. Fix: " in text
    assert not (tmp_path / "r/a/report.html").exists()
    assert (tmp_path / "r/b/report.html").exists()


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["submit", "--name", "x"], "--name is for one experiment, not for 3"),
        (["status", "{}/../c.yaml"], "a: 2 configs have this name, .* Fix: change `experiment`"),
    ],
)
def test_what_several_cannot_have_is_refused(tmp_path, chapter, command, words):
    (tmp_path / "c.yaml").write_text((chapter / "a.yaml").read_text())
    command = [part.format(chapter) for part in command]
    text = run("batch", *command, chapter, "--results", tmp_path / "r", code=2)
    assert re.search(words, text)
    assert not (tmp_path / "r").exists()


# ---- the script: signals, the time limit, logs ----


STUB = """#!/bin/bash
# ends as it is told to, and says how it was called; a trap that comes while bash reads a $( ) fails
trap 'echo saved; exit {code}' TERM
echo "$@"; touch began
for ((i = 0; i < 300; i++)); do sleep 0.05; done
"""


@pytest.fixture
def job(tmp_path, commands):
    """Run the script of a task whose cells take long, signal it, and return what became of it."""

    def start(how, code=130, restarts=0):
        stub = tmp_path / "stub"
        stub.write_text(STUB.format(code=code))
        stub.chmod(0o755)
        commands(scontrol='echo "scontrol $@"')
        text = array_script(ClusterBlock(), [str(stub)], 3, name="n",
                             folder=tmp_path)  # fmt: skip
        task = {"SLURM_ARRAY_JOB_ID": "7", "SLURM_ARRAY_TASK_ID": "2",
                "SLURM_RESTART_COUNT": str(restarts)}  # fmt: skip
        process = subprocess.Popen(["bash", "-c", text], cwd=tmp_path, env=os.environ | task,
                                   stdout=subprocess.PIPE, text=True)  # fmt: skip
        try:
            wait_for((tmp_path / "began").exists)
            process.send_signal(how)
            out = process.communicate(timeout=60)[0].splitlines()
        finally:
            process.kill()
        (tmp_path / "began").unlink()
        assert out[:2] == ["--share 2/3", "saved"]
        return process.returncode, out[2:]

    return start


def test_at_the_time_limit_a_job_saves_and_is_requeued(job):
    assert job(signal.SIGUSR1) == (0, ["scontrol requeue 7_2"])
    assert job(signal.SIGUSR1, restarts=9) == (0, ["scontrol requeue 7_2"])
    # it had not yet listened
    assert job(signal.SIGUSR1, code=143) == (0, ["scontrol requeue 7_2"])


def test_no_more_requeues_than_allowed(job):
    status, (output,) = job(signal.SIGUSR1, restarts=10)
    assert status == 0
    assert output.startswith("requeued 10 times; submit again")


@pytest.mark.parametrize("code", [0, 1])
def test_what_had_ended_is_not_requeued(job, code):
    assert job(signal.SIGUSR1, code=code) == (code, [])


def test_a_cancelled_job_saves_and_is_not_requeued(job):
    assert job(signal.SIGTERM) == (143, [])


def test_the_script(tmp_path):
    folder = tmp_path / "re sults"
    block = ClusterBlock(partition="long", array=5, setup=["module load python"])
    text = array_script(block, ["thesis kit", "batch"], 12, name="hmm", folder=folder)
    subprocess.run(["bash", "-n"], input=text, text=True, check=True)
    lines = text.splitlines()
    for line in (
        "#SBATCH --partition=long",
        "#SBATCH --array=1-12%5",
        "#SBATCH --signal=B:USR1@120",
        "#SBATCH --requeue",
        f"#SBATCH --output='{folder}/%A_%a.log'",
        "module load python",
        "'thesis kit' batch --share \"$SLURM_ARRAY_TASK_ID/12\" &",
    ):
        assert line in lines
    assert "-lt 10 ]" in text


def test_no_percent_in_paths(tmp_path):
    (tmp_path / "c.yaml").write_text(KINDS["naive"])
    text = run("batch", "script", tmp_path / "c.yaml", "--results", tmp_path / "100%", code=2)
    assert "Slurm does not accept a path with %. Fix: " in text


def test_last_lines_of_a_log(tmp_path):
    log = tmp_path / "7_1.log"
    assert log_end(log) == []
    log.write_text("a\nb\n\nc\n")
    assert log_end(log, 2) == ["b", "c"]
    log.write_bytes(b"x" * 10**6 + b"\nKilled \xff\n")
    assert log_end(log, 1) == ["Killed \ufffd"]


def test_jobs_that_end_together_leave_nothing(tmp_path, monkeypatch):
    """A job makes one method with a chain of another job while a third makes another method."""
    path = tmp_path / "c.yaml"
    path.write_text(KINDS["logistic"])
    graph = opened(path, tmp_path / "r").graph
    first, second = [cell for cell in first_cells(graph) if cell.chain == 1][:2]
    starts = [graph.block(0).cell("fit", cell.method, 0) for cell in (first, second)]

    def run_job(*cells):
        assert make(opened(path, tmp_path / "r"), cells, []) == []

    usual, others = Workers.make, [[starts[0]], [second]]  # the jobs that begin and end meanwhile

    def make_after_another(workers, cells, stop=None):
        if others:
            monkeypatch.setattr(Workers, "make", usual)
            run_job(*others.pop(0))
            monkeypatch.setattr(Workers, "make", make_after_another)
        yield from usual(workers, cells, stop)

    run_job(
        *(cell for cell in first_cells(graph) if cell.method not in (first.method, second.method))
    )
    monkeypatch.setattr(Workers, "make", make_after_another)
    run_job(first, starts[1])
    assert not others
    assert all(graph.done(graph.block(0).cell(stage)) for stage in graph.work.stages)
