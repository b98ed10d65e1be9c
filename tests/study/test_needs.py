"""What an experiment is said to need, held to what small ones really need; and what is too much."""

import re
import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner
from commands import ROOT, run

from thesiskit.cli import main
from thesiskit.config import load_config
from thesiskit.files import Results
from thesiskit.models.logistic import Logistic
from thesiskit.study import cells
from thesiskit.study.batch import board
from thesiskit.study.cells import peak_memory
from thesiskit.study.experiment import Experiment

HEAD = "experiment: small\ntitle: Small\nabout: A test.\n"
NAIVE = (
    HEAD
    + """\
replicates: 4
block: 2
data: {source: naive-bayes, features: 400, alpha: 300, train: [20, 20], test: 60}
selection: {features: [1, 20, all]}
model: {quadrature: [exact, simpson-21], methods: [corrected, uncorrected, bernoulli-nb]}
report: {parts: [methods]}
"""
)
MIXTURE = (
    HEAD
    + """\
replicates: 2
data: {source: mixture, features: 100, alpha: 300, response: [0.1, 0.9], train: [20, 20],
       test: [100, 100]}
selection: {features: [2, 20, all]}
model:
  kind: mixture
  samplers: [collapsed, gibbs]
  methods: [corrected, bernoulli-nb]
  collapsed: {chains: 2, iterations: 400, burn_in: 20}
  thesis: {chains: 3, iterations: 220, burn_in: 20}
report: {parts: [methods]}
"""
)
LOGISTIC = (
    HEAD
    + """\
data: {source: hidden-markov, transition: [[0.9, 0.1], [0.2, 0.8]],
       emission: [[0.5, 0.3, 0.2], [0.1, 0.3, 0.6]], history: 6, train: 100, test: 500}
model: {kind: logistic, orders: [1, 5], priors: [gaussian], compress: [true, false], chains: 2,
        iterations: 200, burn_in: 50, peers: [n-gram]}
report: {parts: [orders]}
"""
)
SHORT = (  # one chain, which keeps two draws
    HEAD
    + """\
data: {source: hidden-markov, transition: [[0.9, 0.1], [0.2, 0.8]],
        emission: [[0.8, 0.2], [0.3, 0.7]], history: 6, train: 100, test: 500}
model: {kind: logistic, orders: [2], priors: [gaussian], chains: 1, iterations: 20, burn_in: 10}
report: {parts: [orders]}
"""
)
FOLDED = (
    HEAD
    + """\
data: {source: table, path: t.csv, response: y}
evaluation: {folds: 3}
replicates: 2
model: {kind: logistic, orders: [1, 2], priors: [cauchy], chains: 2, iterations: 600, burn_in: 50,
        peers: [naive-bayes]}
report: {parts: [methods]}
"""
)
TABLE = (
    HEAD
    + """\
data: {source: file, path: t.csv, response: y, positive: b}
evaluation: {scheme: leave-one-out, feature_groups: 2}
selection: {features: [1, 2]}
report: {parts: [methods]}
"""
)
NORMAL = (
    HEAD
    + """\
data: {source: breast-cancer}
evaluation: {scheme: holdout}
selection: {features: [2, 4]}
model: {kind: normal, temperature: [none, residual], methods: [corrected]}
replicates: 6
block: 4
report: {parts: [methods]}
"""
)
LATTICE = (
    HEAD
    + """\
lattice: {class_counts: [12, 16], gamma: 0.2}
report: {parts: [correlation-lattice]}
"""
)
SWEEPS = (
    HEAD
    + """\
replicates: 2
reduction: {samples: 50, sweeps: [{features: [3, 5], values: 3, order: 3}]}
report: {parts: [reduction]}
"""
)
KINDS = {"naive": NAIVE, "mixture": MIXTURE, "logistic": LOGISTIC, "folded": FOLDED,
         "table": TABLE, "normal": NORMAL, "lattice": LATTICE, "sweeps": SWEEPS}  # fmt: skip


@pytest.fixture
def write(tmp_path, rng):
    def inner(text):
        rows = [f"{rng.integers(3)},{rng.integers(2)},{rng.integers(4)},u,{'ab'[i % 2]}"
                for i in range(60)]  # fmt: skip
        (tmp_path / "t.csv").write_text("\n".join(["p,q,r,s,y", *rows]).replace(",u,", ",0,"))
        path = tmp_path / "small.yaml"
        path.write_text(text)
        return path

    return inner


def opened(path, results, **options):
    loaded = load_config(path, **options)
    return Experiment(loaded, Results(results, loaded.experiment), path.parent)


SHORTER = {"mixture": ["model.collapsed.iterations=80", "model.thesis.iterations=40"],
           "folded": ["model.iterations=150"]}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_cells_and_disk_are_what_a_run_makes(kind, write, tmp_path):
    path, settings = write(KINDS[kind]), SHORTER.get(kind, [])
    experiment = opened(path, tmp_path / "r", settings=tuple(settings))
    needed = experiment.needs()
    given = [part for setting in settings for part in ("--set", setting)]
    for command in ("simulate", "select", "compress", "predict"):  # a report takes longer
        if command in experiment.stages:
            run(command, path, "--results", tmp_path / "r", *given)
    assert len(board(experiment)) == needed.cells
    kept = [one for one in (tmp_path / "r" / "small").rglob("*") if
            one.suffix in (".npz", ".nc") or one.parent.parent.name == "cells"]  # fmt: skip
    found = sum(one.stat().st_size for one in kept)
    assert 0 < needed.disk < found, (found, needed)
    assert needed.problem is None


@pytest.mark.parametrize(
    ("text", "settings", "fits", "iterations"),
    [
        (NAIVE, {}, 4 * 10, 0),
        (TABLE, {}, 60 * 2 * 4, 0),
        (MIXTURE, {}, 2 * 6, 2 * 3 * (2 * 400 * 4 + 3 * 220)),
        (LOGISTIC, {}, 4, 4 * 2 * 200),
        (FOLDED, {}, 2 * 3 * 2, 2 * 3 * 2 * 2 * 600),
    ],
)
def test_fits_and_iterations(text, settings, fits, iterations, write, tmp_path):
    given = tuple(f"{key}={value}" for key, value in settings.items())
    needed = opened(write(text), tmp_path, settings=given).needs()
    assert (needed.fits, needed.iterations) == (fits, iterations)


WIDE = ["data.features=100000", "data.test=1000", "block=1", "replicates=1",
        "selection.features=[10]", "model.quadrature=exact"]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        (NAIVE, [*WIDE, "data.train=[100, 100]"]),
        pytest.param(NAIVE, [*WIDE, "data.train=[500, 500]"], marks=pytest.mark.slow),
        pytest.param(LOGISTIC, ["model.orders=[6]", "model.compress=false", "model.chains=4",
                                "model.iterations=3000", "model.thin=1"], marks=pytest.mark.slow),
    ],
    ids=["naive", "many samples", "logistic"],
)  # fmt: skip
def test_memory_is_a_lower_bound(text, settings, write, tmp_path):
    path = write(text)
    needed = opened(path, tmp_path / "r", settings=tuple(settings)).needs()
    given = [part for one in settings for part in ("--set", one)]
    code = (
        "import sys; from thesiskit.cli import main\n"
        "from thesiskit.study.cells import peak_memory\n"
        "try: main(sys.argv[1:])\n"
        "except SystemExit as end: code = end.code\n"
        "print(peak_memory()); sys.exit(code)"  # getrusage counts the tests that began it
    )
    command = [sys.executable, "-c", code, "run", str(path), "--results"]
    done = subprocess.run([*command, str(tmp_path / "r"), "--jobs", "0", *given],
                          capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = int(done.stdout.split()[-1])
    assert 0 < needed.memory < found


def test_shipped_experiments_need_no_word():
    for path in sorted((ROOT / "configs").rglob("*.yaml")):
        if path.stem in (
            "colon",
            "colon-mixture",
            "colon-normal",
            "splice",
            "votes",
        ):
            # cannot be had everywhere
            continue
        experiment = opened(path, ROOT / "nowhere")
        assert experiment.graph.work.data_digest is not None  # the data are read all the same
        assert experiment.needs().problem is None
    large = {"configs/studies/naive-replicates.yaml": "replicates=25000",  # 10^6 cells
             "configs/chapter2/naive-simulation.yaml": "data.features=1000000"}  # fmt: skip
    for name, setting in large.items():
        large_one = opened(ROOT / name, ROOT / "nowhere", settings=(setting,))
        assert large_one.needs().problem is None


MUCH = [
    ("naive", "replicates=10000000", r"needs [0-9,]{10,} tasks"),
    ("naive", "replicates=9223372036854775807", "more than 100,000,000. Fix: lower replicates"),
    ("naive", "data.features=1000000000", "about .* of memory"),
    ("naive", "data.features=9223372036854775807", "about .* of memory"),
    ("naive", "data.train=[1000000000, 5]", "about .* of memory"),
    ("naive", "data.test=1000000000000", "about .* of memory"),
    ("naive", "model.alpha_points=1000000000", "must be at most 10,000"),
    ("naive", "evaluation.feature_groups=1000000000", "cannot form 1000000000 groups"),
    ("mixture", "model.collapsed.chains=1000000000", "tasks"),
    ("mixture", "model.collapsed.iterations=1000000000000", "iterations"),
    ("mixture", "data.test=[1000000000, 9]", "about .* of memory"),
    ("logistic", "model.chains=1000000000", "tasks"),
    ("logistic", "model.iterations=1000000000000", "iterations"),
    ("logistic", "model.joint_updates=100000000", "iterations"),
    ("logistic", "model.thin=1000000000", "none remains"),
    ("short", "model.iterations=1000000000", "small needs [0-9,]+ iterations. Fix: use --yes"),
    ("short", "model.joint_updates=1000000000", "small needs [0-9,]+ iterations. Fix: use --yes"),
    ("logistic", "model.orders=[1000000000]", "order 1000000000 is above"),
    ("logistic", "data.history=1000000000", "about .* of memory"),
    ("logistic", "data.train=10000000000", "about .* of memory"),
    ("logistic", "data.test=10000000000", "about .* of memory"),
    ("folded", "replicates=10000000", "tasks"),
    ("folded", "evaluation.folds=1000000000", "cannot form 1,000,000,000 folds of 60 samples"),
    ("folded", "evaluation.folds=61", "evaluation.folds: cannot form 61 folds of 60 samples"),
    ("table", "replicates=10000000", "tasks"),
    ("lattice", "lattice.class_counts=[1000000000, 1000000000]", "about .* of memory"),
    ("sweeps", "replicates=10000000", None),
    ("sweeps", "reduction.samples=1000000000000", "about .* of memory"),
]


@pytest.mark.parametrize(("kind", "setting", "words"), MUCH)
def test_what_needs_much_is_refused_at_once(kind, setting, words, write, tmp_path):
    text = (KINDS | {"short": SHORT})[kind]
    arguments = ["run", str(write(text)), "--results", str(tmp_path / "r"), "--set", setting]
    if words is None:
        words = "use --yes|more than"
    before = peak_memory()
    result = CliRunner().invoke(main, arguments)
    assert peak_memory() < before + 200_000_000
    assert result.exit_code == 2, result.output
    assert len(result.output.splitlines()) == 1
    assert len(result.output) < 400
    assert not (tmp_path / "r" / "small").exists()
    assert re.search(words, result.output), result.output


def test_draws_of_real_responses_are_held_in_memory():
    model = Logistic(order=2, chains=1, iterations=20, burn_in=10, thin=1)
    assert model.needs(0, 500)[0] == 8 * 10 * 500
    assert model.needs(2, 500)[0] == 0


def test_what_needs_much_is_begun_when_that_is_said(write, tmp_path, monkeypatch):
    monkeypatch.setattr(cells, "MOST_CELLS", 3)
    where = [str(write(NAIVE)), "--results", str(tmp_path)]
    for command in (["run"], ["simulate"], ["batch", "submit"], ["batch", "status"]):
        assert "small needs 52 tasks. Fix: use --yes" in run(*command, *where, code=2)
    run("simulate", *where, "--yes")
    run("run", *where, "--yes")
    assert "52 of 52 tasks done" in run("batch", "status", *where, "--yes")
    assert " --yes " in run("batch", "script", *where, "--yes")
    monkeypatch.setattr(cells, "CELLS_IN_MEMORY", 40)
    assert "more than 40" in run("run", *where, "--yes", code=2)


def test_folds_that_would_be_empty_are_not_made(write, tmp_path):
    path = write(TABLE.replace("scheme: leave-one-out, ", ""))
    where = ("--results", tmp_path / "r")
    for folds in (1_000_000_000, 31, 30):
        text = run("simulate", path, *where, "--set", f"evaluation.folds={folds}")
        said = f"Note: evaluation.folds: 30 folds, not {folds:,}, because no class has more"
        assert (said in text) == (folds > 30)
    fold = Results(tmp_path / "r", "small").load("simulate", 0)["fold"]
    assert len(np.unique(fold)) == 30
