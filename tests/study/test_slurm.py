"""Jobs for Slurm, where there is none: what is asked for, in what environment, and what is said."""

import os
import re
import shlex
import signal
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import yaml
from commands import ROOT, invoke, run, wait_for
from small import KINDS, opened

from thesiskit.config import ClusterBlock, load_config
from thesiskit.errors import ConfigError, ThesiskitError, UserError
from thesiskit.study import batch as batches
from thesiskit.study.batch import Batch, first_cells
from thesiskit.study.slurm import (
    GONE,
    Slurm,
    append,
    array_script,
    environment,
    probe,
    split,
    submissions,
)

CONFIG = """\
experiment: clustered
title: T
about: A
lattice: {class_counts: [10, 10], gamma: 0.3}
report: {parts: [correlation-lattice]}
cluster:
"""


COMMAND = ["make", "cells"]


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
    [
        lambda folder, block: Slurm(folder, block).check(),
        lambda folder, block: Slurm(folder, block).submit("1", [["a"]], COMMAND, "name"),
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


def test_nothing_is_computed_where_nothing_can_be_submitted(tmp_path, monkeypatch):
    """On a machine without sbatch the default is not to compute; one line says what to do."""
    (tmp_path / "c.yaml").write_text(KINDS["naive"])
    monkeypatch.setenv("PATH", "")
    for given in (["submit"], ["submit", "--partition", "long"]):
        done = invoke("batch", *given, tmp_path / "c.yaml", "--results", tmp_path / "r")
        assert done.exit_code == 2
        assert len(done.output.splitlines()) == 1
        assert re.match(
            r"Error: sbatch is not on the path, .*`thesiskit run CONFIG` \(or --executor local\)",
            done.output,
        )
    experiment = opened(tmp_path / "c.yaml", tmp_path / "r")
    experiment.results.prepare()
    cell = experiment.graph.block(0).cells()[0]
    experiment.graph.files.fail(cell, "it broke")
    done = invoke("batch", "retry", tmp_path / "c.yaml", "--results", tmp_path / "r")
    assert done.exit_code == 2
    assert done.output.startswith("Error: sbatch is not on the path")
    assert not list((tmp_path / "r").rglob("*.npz"))
    text = run("batch", "submit", tmp_path / "c.yaml", "--results", tmp_path / "r",
               "--executor", "local")  # fmt: skip
    assert "predict: " in text
    text = run("batch", "submit", tmp_path / "c.yaml", "--executor", "local", "--time", "5", code=2)
    assert "--time is for jobs of a cluster, not for --executor local" in text


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
    commands(
        squeue="echo '5_1|RUNNING|None'",
        scontrol="echo 'MaxArraySize            = 5'",
        sbatch=f"""
        n=$(( $(cat {tmp_path}/n 2> /dev/null || echo 100) + 1 )); echo $n > {tmp_path}/n
        echo "$n;cluster" """,
    )
    slurm = Slurm(tmp_path, ClusterBlock(array=2, time="10"))
    cells_of = [[str(i), f"{i}b"] for i in range(10)]
    ids = slurm.submit("7", cells_of, COMMAND, "ten", after=["5_1", "6"], digest="d")
    numbers = [(101, 3), (102, 3), (103, 4)]
    assert ids == [f"{array}_{i}" for array, n in numbers for i in range(1, n + 1)]
    lines = {}
    for array in (1, 2, 3):
        text = (slurm.jobs / f"7-{array}.sh").read_text()
        assert f"--cells {slurm.jobs}/7-{array}.cells --share" in text
        lines[array] = [
            line.removeprefix("#SBATCH --")
            for line in text.splitlines()
            if line.startswith(("#SBATCH --array", "#SBATCH --depend", "#SBATCH --signal"))
        ]
    signals = "signal=B:USR1@120"
    assert lines == {
        1: ["array=1-3%1", signals, "dependency=afterany:5_1"],
        2: ["array=1-3%1", signals, "dependency=afterany:5_1"],
        3: ["array=1-4%1", signals, "dependency=afterany:101"],
    }
    entries = submissions(tmp_path)
    assert [entry["cells"] for entry in entries] == [6, 6, 8]
    assert {entry["digest"] for entry in entries} == {"d"}
    cells = slurm.cells(entries)
    assert [cells[one] for one in ids] == cells_of
    (slurm.jobs / "7-3.cells").unlink()
    assert list(slurm.cells(entries)) == ids[:6]


def test_what_was_submitted_before_a_refusal_is_recorded(tmp_path, commands):
    commands(
        scontrol="echo 'MaxArraySize = 3'",
        sbatch=f"""
        [ -e {tmp_path}/one ] && {{ echo 'QOSMaxSubmitJobPerUserLimit' >&2; exit 1; }}
        touch {tmp_path}/one; echo 7""",
    )
    slurm = Slurm(tmp_path, ClusterBlock())
    with pytest.raises(UserError, match=r"Slurm refuses the job: .*QOSMaxSubmitJobPerUserLimit"):
        slurm.submit("1", [[str(i)] for i in range(4)], COMMAND, "four")
    assert [entry["ids"] for entry in submissions(tmp_path)] == [["7_1", "7_2"]]
    assert sorted(path.name for path in slurm.jobs.iterdir()) == ["1-1.cells", "1-1.sh"]


def test_nothing_is_written_over(tmp_path):
    """Two submissions at once have files of their own, and follow no link that stands there."""
    slurm = Slurm(tmp_path, ClusterBlock())
    assert [slurm.keep(text).name for text in "ab"] == ["0001.yaml", "0002.yaml"]
    assert (slurm.jobs / "0001.yaml").read_text() == "a"
    (slurm.jobs / "0003.yaml").symlink_to(tmp_path / "elsewhere")
    assert slurm.keep("c").name == "0004.yaml"
    slurm.write("0001-1", [["a"]], COMMAND, "n")
    with pytest.raises(FileExistsError):
        slurm.write("0001-1", [["b"]], COMMAND, "n")
    assert (slurm.jobs / "0001-1.cells").read_text() == "a\n"


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
report: { parts: [score-table] }
""")
    monkeypatch.chdir(folder)
    text = run("batch", "script", "own.yaml", "--results", "r", "--set", "evaluation.folds=4",
               "--seed", 5, "--cells", 3)  # fmt: skip
    monkeypatch.chdir(tmp_path)
    return folder, text


def command_of(text):
    """Return what a script runs for each task: arguments of the command line."""
    line = next(one for one in text.splitlines() if " batch cell " in one)
    words = shlex.split(line.removesuffix(" &"))
    assert words[:3] == [sys.executable, "-m", "thesiskit"]
    tasks = int(words[-1].rpartition("/")[2])
    return [[*words[3:-1], f"{i}/{tasks}"] for i in range(1, tasks + 1)]


def test_tasks_make_what_was_asked_for_whatever_becomes_of_the_config(written):
    folder, text = written
    jobs = folder / "r/small/batch/jobs"
    assert (jobs / "0001-1.sh").read_text() == text
    (folder / "own.yaml").write_text("experiment: another")
    tasks = command_of(text)
    cells = (jobs / "0001-1.cells").read_text().splitlines()
    assert [len(line.split()) for line in cells] == [3, 1]
    for task, many in zip(tasks, (3, 1), strict=True):
        assert f"{many} of {many} cells done" in run(*task)
    experiment = opened(jobs / "0001.yaml", folder / "r")
    assert (experiment.config.evaluation.folds, experiment.config.seed) == (4, 5)
    assert (folder / "r/small/predict/0000.npz").is_file()


def test_data_that_change_under_a_job_are_noticed(written):
    folder, text = written
    rng = np.random.default_rng(1)
    write_bits(folder / "x.csv", rng)
    told = run(*command_of(text)[0], code=2)
    assert "code or data have changed since these cells were submitted; submit again" in told
    assert not list((folder / "r/small").rglob("*.npz"))


def test_a_damaged_list_is_refused(written):
    folder, text = written
    path = folder / "r/small/batch/jobs/0001-1.cells"
    whole, task = path.read_text(), command_of(text)[1]
    for damaged, words in [
        (whole[:40], "lines, not 2; submit again"),
        ("", "has 0 lines, not 2; submit again"),
        ("x y\n" * 2, "submit again"),
        ("$(touch x)\n" * 2, "submit again"),
        ("\0" * 9, "lines, not 2; submit again"),
    ]:
        path.write_text(damaged)
        assert words in run(*task, code=2)
    path.write_bytes(b"\xff" * 9)
    assert "is damaged; submit again" in run(*task, code=2)
    path.unlink()
    assert "cannot be read: No such file" in run(*task, code=2)
    assert "--cells needs --share" in run(*task[:-2], code=2)


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


def test_submit_and_script_write_the_same(tmp_path, commands):
    """Submitting writes the script that is printed, and gives it to sbatch."""
    (tmp_path / "c.yaml").write_text(KINDS["mixture"])
    commands(scontrol="echo 'MaxArraySize = 1001'", squeue="true",
             sbatch=f'[ "$1" = --parsable ] && cp "$2" {tmp_path}/given; echo 12')  # fmt: skip
    asked = ("--results", tmp_path / "r", "--cells", "5", "--time", "10")
    printed = run("batch", "script", tmp_path / "c.yaml", *asked)
    told = run("batch", "submit", tmp_path / "c.yaml", *asked, "--no-probe")
    assert re.match(r"\d+ jobs of 5 arms or chains each, \d+ in all, .*\(job array 12\)", told)
    assert (tmp_path / "given").read_text() == printed.replace("/0001", "/0002")
    jobs = tmp_path / "r/small/batch/jobs"
    assert (jobs / "0001-1.cells").read_text() == (jobs / "0002-1.cells").read_text()
    (entry,) = submissions(tmp_path / "r/small")
    assert entry["script"] == "0002-1"
    assert entry["config"]["model"]["kind"] == "mixture"
    commands(sbatch='[ "$1" = --parsable ] && { echo no >&2; exit 1; }; true')
    assert "Slurm refuses the job: sbatch: no" in run(
        "batch", "submit", tmp_path / "c.yaml", *asked, "--no-probe", code=2)  # fmt: skip
    assert sorted(path.name[:4] for path in jobs.iterdir()) == ["0001"] * 3 + ["0002"] * 3


# ---- several experiments ----

SLURM = {"scontrol": "echo 'MaxArraySize = 1001'", "squeue": "true"}


@pytest.fixture
def chapter(tmp_path):
    """Write a folder of two experiments and a third that refuses to begin; return the folder."""
    folder = tmp_path / "chapter"
    folder.mkdir()
    for name in ("a", "b"):
        text = CONFIG.replace("clustered", name).replace("cluster:\n", "")
        (folder / f"{name}.yaml").write_text(text)
    damaged = KINDS["logistic"].replace("experiment: small", "experiment: aa")
    (folder / "aa.yaml").write_text(
        re.sub(r"source:.*", "source: sequences, path: no.txt }", damaged)
    )
    return folder


def test_a_folder_is_submitted_and_a_failure_stops_nothing(tmp_path, commands, chapter):
    commands(**SLURM, sbatch=f'[ "$1" = --parsable ] && echo "$2" >> {tmp_path}/given; echo 12')
    results = ("--results", tmp_path / "r")
    text = run("batch", "submit", chapter, *results, "--no-probe", "--time", 7, code=2)
    assert re.search(r"== a: T\n1 job of 1 .*\n== aa: ", text)
    assert re.search(r"Error: aa: .*no.txt", text)
    assert re.search(r"== b: T\n1 job of 1 ", text)
    scripts = [tmp_path / f"r/{name}/batch/jobs/0001-1.sh" for name in ("a", "b")]
    assert (tmp_path / "given").read_text().split() == list(map(str, scripts))
    assert all("--time=7\n" in path.read_text() for path in scripts)


def test_a_table_shows_the_state_of_several(tmp_path, commands, chapter):
    commands(**SLURM | {"squeue": "echo '12_1|PENDING|Priority'"}, sbatch="echo 12")
    results = ("--results", tmp_path / "r")
    run("batch", "submit", chapter, *results, "--no-probe", code=2)
    run("run", chapter / "b.yaml", *results)
    text = run("batch", "status", chapter, *results, code=2)
    lines = {line.split()[0]: line.split()[1:] for line in text.splitlines()}
    assert lines["experiment"] == [*batches.STATES[:-1], "to", "do", "jobs"]
    assert lines["a"][:7] == ["0", "0", "0", "0", "0", "1", "1"]
    assert "PENDING" in lines["a"][7]
    assert lines["b"][:6] == ["1", "0", "0", "0", "0", "0"]
    assert lines["aa"][:7] == ["–"] * 6 + ["Error:"]


def test_watching_ends_when_all_cells_of_all_are_done(tmp_path, monkeypatch, chapter):
    (chapter / "aa.yaml").unlink()
    results, waited = ("--results", tmp_path / "r"), []
    run("run", chapter / "a.yaml", *results)

    def sleep(seconds):
        waited.append(seconds)
        run("run", chapter / "b.yaml", *results)

    monkeypatch.setattr(sys.modules["thesiskit.cli.batch"], "time", SimpleNamespace(sleep=sleep))
    text = run("batch", "status", chapter, *results, "--watch")
    assert waited == [4.0]
    assert [line.split()[1] for line in text.splitlines() if line[:2] == "b "] == ["0", "1"]


def test_several_are_collected(tmp_path, chapter):
    results = ("--results", tmp_path / "r")
    run("batch", "cell", chapter / "b.yaml", *results, "--share", "1/1")
    text = run("batch", "collect", chapter / "a.yaml", chapter / "b.yaml", *results, code=1)
    assert "== a: T\n1 cells are not done" in text
    assert not (tmp_path / "r/a/report.html").exists()
    assert (tmp_path / "r/b/report.html").exists()


def test_the_script_of_several_submits_each(tmp_path, commands, chapter):
    """It runs where there is no Python, and goes on where Slurm refuses."""
    (chapter / "aa.yaml").unlink()
    text = run("batch", "script", chapter, "--results", tmp_path / "r r")
    commands(sbatch=f'echo "$1" >> {tmp_path}/given; [[ "$1" != */a/* ]]')
    done = subprocess.run(["sh"], input=text, text=True)
    paths = [tmp_path / f"r r/{name}/batch/jobs/0001-1.sh" for name in ("a", "b")]
    assert (tmp_path / "given").read_text() == "".join(f"{path}\n" for path in paths)
    assert all("batch cell" in path.read_text() for path in paths)
    assert done.returncode == 1


def test_several_are_cancelled_and_retried(tmp_path, commands, chapter):
    commands(**SLURM | {"squeue": "echo '12_1|PENDING|Priority'"}, scancel="true", sbatch="echo 12")
    (chapter / "aa.yaml").unlink()
    results = ("--results", tmp_path / "r")
    assert run("batch", "retry", chapter, *results).count("no cell has failed") == 2
    assert "no cell has failed" in run("batch", "retry", chapter / "a.yaml", *results, code=2)
    run("batch", "submit", chapter / "a.yaml", *results, "--no-probe")
    text = run("batch", "cancel", chapter, *results)
    assert text == "== a: T\n1 jobs cancelled\n== b: T\n0 jobs cancelled\n"


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (
            ["submit", "--executor", "local", "--name", "x"],
            "--name is for one experiment, not for 3",
        ),
        (["status", "--all"], "--all lists the cells of one experiment, not of 3. Fix: "),
        (["status", "{}/../c.yaml"], "a: 2 configs have this name, .* Fix: change `experiment`"),
    ],
)
def test_what_several_cannot_have_is_refused(tmp_path, chapter, command, words):
    (tmp_path / "c.yaml").write_text((chapter / "a.yaml").read_text())
    command = [part.format(chapter) for part in command]
    text = run("batch", *command, chapter, "--results", tmp_path / "r", code=2)
    assert re.search(words, text)
    assert not (tmp_path / "r").exists()


def test_a_chapter_has_a_script_without_a_cluster_block(tmp_path):
    text = run("batch", "script", "chapter2", "null", "--smoke", "--results", tmp_path / "r")
    assert text.count("sbatch ") == text.count("/null-smoke/") + 6 == 7


def test_a_probe_is_not_repeated_for_the_same_block(tmp_path, commands, chapter, monkeypatch):
    commands(**SLURM, sbatch="echo 12")
    (chapter / "aa.yaml").unlink()
    probed = []
    monkeypatch.setattr(batches, "probe", lambda folder, _: probed.append(folder) or ("here", 0))
    run("batch", "submit", chapter, "--results", tmp_path / "r")
    assert [folder.name for folder in probed] == ["a"]


def test_a_retry_submits_the_failed_cells_alone(tmp_path, commands):
    (tmp_path / "c.yaml").write_text(KINDS["naive"])
    commands(scontrol="echo 'MaxArraySize = 1001'", squeue="true", sbatch="echo 12")
    experiment = opened(tmp_path / "c.yaml", tmp_path / "r")
    experiment.results.prepare()
    cells = [cell for cell in experiment.graph.block(1).cells() if cell.stage == "fit"][:2]
    for cell in cells:
        experiment.graph.files.fail(cell, "it broke")
    told = run("batch", "retry", tmp_path / "c.yaml", "--results", tmp_path / "r", "--no-probe",
               "--cells", 1)  # fmt: skip
    assert told.startswith("2 jobs of 1 arms or chains each, 2 in all")
    written = (tmp_path / "r/small/batch/jobs/0001-1.cells").read_text()
    assert written.split() == [cell.id for cell in cells]


def test_jobs_that_ended_too_early_are_told_with_their_last_lines(tmp_path, commands):
    (tmp_path / "c.yaml").write_text(KINDS["naive"])
    commands(scontrol="echo 'MaxArraySize = 1001'", squeue="true", sbatch="echo 12")
    asked = (tmp_path / "c.yaml", "--results", tmp_path / "r")
    run("batch", "submit", *asked, "--no-probe", "--cells", 4)
    (tmp_path / "r/small/batch/jobs/12_2.log").write_text("one\nout of memory\n")
    run("batch", "cell", *asked, "--share", "1/2")
    told = run("batch", "status", *asked)
    assert "job 12_2 has ended before its cells were done\n    one\n    out of memory" in told
    assert "job 12_1 has ended" not in told


def test_sizes_by_measured_seconds(tmp_path, monkeypatch):
    (tmp_path / "c.yaml").write_text(KINDS["naive"])
    experiment = opened(tmp_path / "c.yaml", tmp_path / "r")

    def sizes(**block):
        batch = Batch(experiment, ClusterBlock(**block))
        return [len(job) for job in batch._jobs(first_cells(experiment.graph, done=True) * 100)]

    assert sizes()[:2] == [8, 8]  # nobody knows, and 100 jobs at once
    assert sizes(array=10)[0] == 80
    assert sizes(cells=5)[0] == 5
    for seconds, size in ((0.6, 100), (6.0, 10), (200.0, 8), (400.0, 4), (10**5, 1)):
        monkeypatch.setattr(batches, "_mean_seconds", lambda _, seconds=seconds: seconds)
        assert sizes()[0] == size, seconds  # a minute at least, half of an hour at most
    monkeypatch.setattr(batches, "_mean_seconds", lambda _: 0.6)
    assert sizes(cpus=4)[0] == 400


@pytest.mark.parametrize(("jobs", "most"), [(1, 1), (10, 4), (1000, 1000), (1001, 1000), (7, 100)])
def test_as_few_arrays_as_can_be(jobs, most):
    parts = split(jobs, most)
    assert len(parts) == -(-jobs // most)
    assert [i for part in parts for i in part] == list(range(jobs))
    sizes = [len(part) for part in parts]
    assert max(sizes) <= most
    assert max(sizes) - min(sizes) <= 1


STUB = """#!/bin/bash
# ends as it is told to, and says how it was called; a trap that comes while bash reads a $( ) fails
trap 'echo saved; exit {code}' TERM
echo "$@"; touch began
for ((i = 0; i < 300; i++)); do sleep 0.05; done
"""


@pytest.fixture
def job(tmp_path, commands):
    """Run the script of a task whose cells take long, signal it, and return what became of it."""

    def start(how, code=130, restarts=0, requeues=10):
        stub = tmp_path / "stub"
        stub.write_text(STUB.format(code=code))
        stub.chmod(0o755)
        commands(scontrol='echo "scontrol $@"')
        text = array_script(ClusterBlock(requeues=requeues), [str(stub)], 3, name="n",
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
    status, (said,) = job(signal.SIGUSR1, restarts=3, requeues=3)
    assert status == 0
    assert said.startswith("requeued 3 times, as cluster.requeues allows")


@pytest.mark.parametrize("code", [0, 1])
def test_what_had_ended_is_not_requeued(job, code):
    assert job(signal.SIGUSR1, code=code) == (code, [])


def test_a_cancelled_job_saves_and_is_not_requeued(job):
    assert job(signal.SIGTERM) == (143, [])


def test_the_script(tmp_path):
    folder = tmp_path / "re sults"
    block = ClusterBlock(partition="long", array=5, requeues=3, setup=["module load python"])
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
    assert "-lt 3 ]" in text


def test_no_percent_in_paths(tmp_path):
    with pytest.raises(UserError, match="no path with a %"):
        Slurm(tmp_path / "100%", ClusterBlock())


def test_last_lines_of_a_log(tmp_path):
    slurm = Slurm(tmp_path, ClusterBlock())
    slurm.jobs.mkdir(parents=True)
    assert slurm.tail("7_1") == []
    log = slurm.jobs / "7_1.log"
    log.write_text("a\nb\n\nc\n")
    assert slurm.tail("7_1", 2) == ["b", "c"]
    log.write_bytes(b"x" * 10**6 + b"\nKilled \xff\n")
    assert slurm.tail("7_1", 1) == ["Killed \ufffd"]


def test_submissions_are_appended_and_damaged_ones_set_aside(tmp_path):
    said = []
    assert submissions(tmp_path, said.append) == []
    append(tmp_path, {"ids": ["1_0"]})
    append(tmp_path, {"ids": ["2"]})
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
