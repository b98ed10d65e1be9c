"""Numbers of original and compressed parameters: work, refusals and report."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from commands import ROOT, arrays

from thesiskit.cli import main
from thesiskit.config import load_config
from thesiskit.datasets.features import draw_uniform
from thesiskit.errors import ConfigError
from thesiskit.files import Results
from thesiskit.models.patterns import compress_features
from thesiskit.report.reduction import parameter_reduction, sweeps
from thesiskit.study import without_data
from thesiskit.study.cells import generator
from thesiskit.study.experiment import Experiment

SHIPPED = ROOT / "configs/chapter3/parameter-reduction.yaml"
SMALL = """
experiment: small
title: S
about: S.
seed: 5
replicates: 3
reduction:
  samples: 25
  sweeps:
    - {features: 4, values: [3, 2, 5], order: 3}
    - {features: [2, 5], values: 3, order: 2}
    - {features: 4, values: 3, order: [1, 2, 3, 4]}
report:
  thesis: parameter_reduction
  parts: [statement-table, reduction]
"""


@pytest.fixture
def small(tmp_path):
    path = tmp_path / "small.yaml"
    path.write_text(SMALL)
    return path


def invoke(*arguments):
    return CliRunner().invoke(main, [str(a) for a in arguments])


def tables(folder):
    return {path.stem: pd.read_csv(path) for path in (folder / "tables").glob("*.csv")}


def count(X, order):
    """Patterns that some row expresses, and their distinct expressions."""
    patterns, expressions = 0, set()
    for o in range(order + 1):
        for fixed in combinations(range(X.shape[1]), o):
            rows: dict = {}
            for i, x in enumerate(X):
                rows.setdefault(tuple(x[list(fixed)]), []).append(i)
            patterns += len(rows)
            expressions |= set(map(tuple, rows.values()))
    return patterns, len(expressions)


# ---- work ----


def test_numbers_are_those_of_all_patterns(small, tmp_path):
    experiment = Experiment(load_config(small), Results(tmp_path, "small"), tmp_path)
    assert experiment.stages == ("compress",)
    assert len(experiment.graph.blocks) == 3
    for number in range(3):
        block = experiment.graph.block(number)
        found = experiment.graph.work.make(block.cell("compress"), block, None)
        assert found["sweep"].tolist() == [0, 0, 0, 1, 1, 2, 2, 2, 2]
        assert found["features"].tolist() == [4, 4, 4, 2, 5, 4, 4, 4, 4]
        assert found["values"].tolist() == [2, 3, 5, 3, 3, 3, 3, 3, 3]  # ascending
        assert found["order"].tolist() == [3, 3, 3, 2, 2, 1, 2, 3, 4]
        for s in range(9):
            p, K, O = (int(found[name][s]) for name in ("features", "values", "order"))  # noqa: E741
            rng = generator(5, "uniform features", p, K, 25, number)
            X = draw_uniform(rng, features=p, values=K, samples=25).X
            assert (found["patterns"][0, s], found["groups"][0, s]) == count(X, O)
            assert (
                found["superpatterns"][0, s]
                == compress_features(X, O, algorithm="thesis").n_intervals
            )
            assert found["intervals"][0, s] == compress_features(X, O).n_intervals
        assert found["same"].all()
        assert (found["groups"] <= found["superpatterns"]).all()
        assert (found["superpatterns"] <= found["patterns"]).all()
        assert (found["thesis_seconds"] > 0).all()
        assert (found["closed_seconds"] > 0).all()


def test_seed_and_sweeps_matter_to_the_stage(small, tmp_path):
    def key(*settings):
        config = load_config(small, settings=settings)
        return (
            Experiment(config, Results(tmp_path, "small"), tmp_path).graph.block(0).key("compress")
        )

    keys = {key(), key("seed=6"), key("reduction.samples=26"), key("replicates=2"), key("title=T")}
    assert len(keys) == 3


# ---- refusals ----


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("values: 3, order: 2", "values: [2, 3], order: 2", "features and values are lists"),
        ("features: [2, 5]", "features: 5", "must be a list, the others numbers; none is"),
        ("features: 4, values: 3,", "features: 3, values: 3,", "order 4 is above the number of"),
        ("[2, 5], values: 3, order: 2", "[2, 5], values: 3, order: 3", "order 3 is above"),
        ("[3, 2, 5]", "[3, 2, 3]", "reduction.sweeps.0.values: 3 is given twice"),
        ("[3, 2, 5]", "[3]", "reduction.sweeps.0.values: needs at least 2 entries"),
        ("[3, 2, 5]", "[3, 256]", "reduction.sweeps.0.values.1: must be at most 255, got 256"),
        ("[1, 2, 3, 4]", "[0, 4]", "reduction.sweeps.2.order.0: must be at least 1, got 0"),
        ("order: 2}", "order: all}", "reduction.sweeps.1.order: needs a whole number, got the"),
        ("order: 2}", "ordr: 2}", "reduction.sweeps.1.ordr: unknown key; did you mean 'order'?"),
        ("samples: 25", "samples: 0", "reduction.samples: must be at least 1, got 0"),
        (
            "report:",
            "lattice: {class_counts: [3, 4], gamma: 0.2}\nreport:",
            "lattice: not allowed together",
        ),
        ("report:", "model: {kind: naive-bayes}\nreport:", "model: not allowed together"),
        (
            "report:",
            "data: {source: colon}\nreport:",
            "data: not allowed together with `reduction`",
        ),
    ],
)
def test_what_cannot_be(small, old, new, words):
    assert old in SMALL
    small.write_text(SMALL.replace(old, new, 1))
    with pytest.raises(ConfigError) as caught:
        load_config(small)
    assert words in str(caught.value)
    assert str(caught.value).startswith(f"{small}:")


@pytest.mark.parametrize(
    ("command", "options", "words"),
    [
        ("compress", ["--list", "3"], "remove --list and --pattern"),
        ("compress", ["--pattern", ""], "remove --list and --pattern"),
        ("simulate", [], "small has no data to simulate. Fix: use `thesiskit run CONFIG`"),
        ("fit-logistic", [], "small has no data to fit"),
        ("run", ["--set", "report.parts=[parameters]"], "parameters needs model.kind"),
        ("run", ["--set", "report.parts=[methods]"], "methods needs data"),
    ],
)
def test_what_cannot_be_done(small, tmp_path, command, options, words):
    result = invoke(command, small, "--results", tmp_path / "r", *options)
    assert result.exit_code == 2
    assert words in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


# ---- from command to page ----


def test_stage_by_stage(small, tmp_path):
    results = tmp_path / "r"
    first = invoke("compress", small, "--results", results)
    assert first.exit_code == 0, first.output
    assert "compress: patterns and groups of 9 settings" in first.output
    assert "already done" in invoke("compress", small, "--results", results).output
    assert invoke("report", small, "--results", results).exit_code == 0
    folder = results / "small"
    found = tables(folder)
    assert set(found) == {"reduction-numbers", "statements"}
    numbers = found["reduction-numbers"]
    blocks = [arrays(path) for path in sorted((folder / "compress").glob("*.npz"))]
    assert numbers["varied"].tolist() == ["K"] * 3 + ["p"] * 2 + ["O"] * 4
    for letter, name in (("K", "values"), ("p", "features"), ("O", "order")):
        assert numbers[letter].tolist() == blocks[0][name].tolist()
    groups, patterns = (np.array([b[name][0] for b in blocks]) for name in ("groups", "patterns"))
    assert numbers["compressed: least"].tolist() == groups.min(axis=0).tolist()
    assert numbers["original: most"].tolist() == patterns.max(axis=0).tolist()
    assert np.abs(numbers["original: mean"] - patterns.mean(axis=0)).max() <= 0.5
    np.testing.assert_allclose(numbers["ratio"], (groups / patterns).mean(axis=0))
    timings = pd.read_csv(folder / "timings.csv")
    assert len(timings) == 27
    mean = timings.groupby(timings.index % 9)["thesis_seconds"].mean()
    np.testing.assert_allclose(numbers["splitting and merging: seconds"], mean)
    html = (folder / "report.html").read_text()
    assert "Both find the same groups" in html
    assert "one of the two is wrong" not in html


def test_one_data_set_has_no_range(small, tmp_path):
    result = invoke("run", small, "--results", tmp_path / "r", "--set", "replicates=1")
    assert result.exit_code == 0, result.output
    numbers = tables(tmp_path / "r" / "small")["reduction-numbers"]
    assert {"original", "compressed"} <= set(numbers)
    assert not any("least" in name for name in numbers)


def test_the_figure_has_the_numbers(small, tmp_path):
    experiment = Experiment(load_config(small), Results(tmp_path / "r", "small"), tmp_path)
    experiment.run("compress", watch=lambda items, *_: items)
    figure, _ = parameter_reduction(experiment.record())
    axes = np.reshape(figure.canvas.axes, (3, 2))
    assert [axis.get_title() for axis in axes[:, 0]] == ["p = 4, O = 3", "K = 3, O = 2",
                                                         "p = 4, K = 3"]  # fmt: skip
    for row, sweep in zip(axes, sweeps(experiment.record()), strict=True):
        assert [axis.get_yscale() for axis in row] == ["log", "linear"]
        drawn = [line.get_ydata() for axis in row for line in axis.lines]
        expected = [x.mean(axis=0) for x in (sweep.patterns, sweep.groups, sweep.ratio)]
        np.testing.assert_allclose(drawn, expected)
        assert [line.get_marker() for axis in row for line in axis.lines] == ["x", "h", "h"]


def test_the_statements_hold_with_the_settings_shipped(tmp_path):
    settings = ["--set", "replicates=2", "--set", """reduction.sweeps=[
        {features: 10, values: [2, 3, 5], order: 6}, {features: [4, 8, 12], values: 4, order: 4},
        {features: 7, values: 6, order: [1, 2, 3, 4, 5, 6, 7]}]"""]  # fmt: skip
    result = invoke("run", SHIPPED, "--results", tmp_path, *settings)
    assert result.exit_code == 0, result.output
    statements = tables(tmp_path / "parameter-reduction")["statements"]
    assert len(statements) == 9
    assert set(statements["verdict"]) <= {"found", "found in direction"}


def test_the_statements_can_fail(tmp_path):
    settings = ["--set", "replicates=2", "--set", """reduction.sweeps=[
        {features: 10, values: [2, 3], order: 4}, {features: [4, 5], values: 2, order: 1},
        {features: 7, values: 2, order: [4, 5, 6]}]"""]  # fmt: skip
    result = invoke("run", SHIPPED, "--results", tmp_path, *settings)
    assert result.exit_code == 0, result.output
    statements = tables(tmp_path / "parameter-reduction")["statements"]
    # more groups with 3 values than with 2; main effects grow like p, and none can be joined
    verdicts = dict(zip(statements["claim"], statements["verdict"], strict=True))
    held = {claim for claim, verdict in verdicts.items() if verdict != "not found"}
    assert all("do not become fewer" in c or "with the order O" in c or "several times" in c
               for c in held), held  # fmt: skip
    assert len(verdicts) - len(held) == 6


def test_algorithms_that_disagree_are_reported(small, tmp_path, monkeypatch):
    def wrong(X, order, *, algorithm):
        return compress_features(X[:-1] if algorithm == "thesis" else X, order, algorithm=algorithm)

    monkeypatch.setattr(without_data, "compress_features", wrong)
    assert invoke("run", small, "--results", tmp_path / "r").exit_code == 0
    html = (tmp_path / "r" / "small" / "report.html").read_text()
    assert "different groups in 27 of 27 data sets" in html
    assert "Both found the same groups" not in html
