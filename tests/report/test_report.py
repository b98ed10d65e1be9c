import signal
import warnings
from contextlib import nullcontext
from functools import cache
from itertools import product

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from scipy import stats
from sketched import sketched
from sklearn.metrics import brier_score_loss, log_loss

from thesiskit.cli import main
from thesiskit.files import Results, replacing, result_key, write_result
from thesiskit.report import divisions, layout, metrics
from thesiskit.report.parts import PARTS


def predictions(rng, n=500):
    p = rng.random(n)
    return p, (rng.random(n) < p).astype(int)


def test_scores_against_scikit_learn(rng):
    p, y = predictions(rng)
    assert metrics.log_loss(p, y) == pytest.approx(log_loss(y, p), rel=1e-12)
    assert metrics.squared_error(p, y) == pytest.approx(brier_score_loss(y, p), rel=1e-12)
    assert metrics.error_rate(p, y) == np.mean((p >= 0.5) != y)
    # the thesis's formula for the expected error
    expected = (p * (p < 0.5) + (1 - p) * (p >= 0.5)).mean()
    assert metrics.expected_error(p) == pytest.approx(expected)
    assert np.isfinite(metrics.log_loss(np.array([0.0, 1.0]), np.array([1, 0])))


def test_scores_of_several_classes(rng):
    y = rng.integers(0, 3, 400)
    p = rng.dirichlet([1, 2, 3], 400)
    found = metrics.scores(p, y)
    assert found["error"] == np.mean([row.argmax() != one for row, one in zip(p, y, strict=True)])
    assert found["expected error"] == pytest.approx(1 - p.max(axis=1).mean())
    assert found["log loss"] == pytest.approx(log_loss(y, p))
    assert found["squared error"] == pytest.approx(
        brier_score_loss(y, p, labels=[0, 1, 2], scale_by_half=True)
    )
    told, right = metrics.confidence(p, y)
    assert right.mean() == 1 - found["error"]
    assert told.mean() == pytest.approx(1 - found["expected error"])


def test_two_classes_have_the_same_scores_as_columns(rng):
    y, p = rng.integers(0, 2, 300), rng.random(300)
    one, both = metrics.scores(p, y), metrics.scores(np.column_stack([1 - p, p]), y)
    assert one == pytest.approx(both)


def test_gamma_of_real_features_is_a_correlation(rng):
    y = np.repeat([0, 1], [7, 9])
    x = rng.normal(size=16) + y
    f = stats.f_oneway(x[y == 0], x[y == 1]).statistic
    select = {"threshold": np.array([f]), "class_counts": np.array([[7, 9]])}
    assert metrics.gammas(select) == pytest.approx(abs(np.corrcoef(x, y)[0, 1]))
    assert metrics.gammas({"gamma_squared": np.array(["4/25"])}) == pytest.approx(0.4)


def test_calibration_by_first_decimal():
    p = np.array([0.0, 0.099, 0.1, 0.55, 0.59, 1.0])
    frame = metrics.calibration(p, np.array([0, 1, 0, 1, 0, 1]))
    assert list(frame.samples) == [2, 1, 0, 0, 0, 2, 0, 0, 0, 1]
    assert frame.actual[5] == 0.5
    assert frame.predicted[5] == pytest.approx(0.57)
    assert np.isnan(frame.actual[3])


def test_exact_band_against_enumeration(rng):
    p = rng.random(9)
    mass = np.zeros(10)
    for ones in product((0, 1), repeat=9):
        mass[sum(ones)] += np.prod(np.where(ones, p, 1 - p))
    for level in (0.5, 0.9, 0.999):
        low, high = (round(9 * edge) for edge in metrics.exact_band(p, level))
        assert mass[low : high + 1].sum() >= level - 1e-12
        assert mass[:low].sum() <= (1 - level) / 2 + 1e-12
        assert mass[high + 1 :].sum() <= (1 - level) / 2 + 1e-12


def test_exact_band_is_binomial_for_equal_probabilities():
    low, high = metrics.exact_band(np.full(40, 0.3), 0.95)
    assert (round(40 * low), round(40 * high)) == stats.binom.interval(0.95, 40, 0.3)


def test_circles_of_a_scatter_stand_for_every_sample(rng):
    x, y = np.r_[np.full(50, 0.999), rng.random(12)], np.r_[np.full(50, 0.98), rng.random(12)]
    points, counts = divisions._binned(x, y)
    assert counts.sum() == 62
    assert counts.max() >= 50
    assert (points * counts).sum(axis=1) == pytest.approx([x.sum(), y.sum()])
    assert points.shape == (2, len({(int(a * 20), int(b * 20)) for a, b in zip(x, y, strict=True)}))


def test_paired_t(rng):
    a, b = rng.normal(size=10), rng.normal(size=10)
    d = a - b
    t = d.mean() / (d.std(ddof=1) / np.sqrt(10))
    assert metrics.paired_t(a, b) == pytest.approx(2 * stats.t.sf(abs(t), 9))
    assert metrics.paired_t(a, a) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert metrics.paired_t(np.array([2.0, 3.0]), np.array([1.0, 2.0])) == 0


@pytest.mark.parametrize(
    ("value", "words"),
    [(3, "3"), (12345, "12,345"), (2.0, "2"), (0.12345, "0.123"), (1e-5, "0.000010"),
     (-1e-9, "0.000000"), (220.0, "220"), (2200.5, "2,200"), (12.345, "12.35"),
     (float("nan"), "–"), (float("inf"), "inf"), (None, "–"), ("x", "x")],
)  # fmt: skip
def test_cells(value, words):
    assert layout.display(pd.DataFrame({"x": [value]}, dtype=object)) == [[words]]


def test_a_file_that_fails_half_way_leaves_nothing(tmp_path):
    target = tmp_path / "a" / "x.txt"
    with pytest.raises(RuntimeError), replacing(target) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert list(target.parent.iterdir()) == []
    with replacing(target) as temporary:
        temporary.write_text("whole")
    assert target.read_text() == "whole"


def test_ctrl_c_waits_until_a_file_is_whole(tmp_path):
    target = tmp_path / "x.txt"
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # the tests may ignore it
    try:
        with pytest.raises(KeyboardInterrupt), replacing(target) as temporary:
            signal.raise_signal(signal.SIGINT)
            temporary.write_text("whole")
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert [path.name for path in tmp_path.iterdir()] == ["x.txt"]
    assert target.read_text() == "whole"


def test_a_damaged_block_counts_as_absent(tmp_path):
    path = Results(tmp_path, "e").path("fit", 0)
    write_result(path, "k", {"a": np.arange(5)})
    assert result_key(path) == "k"
    path.write_bytes(path.read_bytes()[:60])
    assert result_key(path) is None


BASE = """\
experiment: t
title: T
about: T.
replicates: 2
data: {source: naive-bayes, features: 30, alpha: 5, train: [10, 10], test: [6, 6]}
evaluation: {feature_groups: 2}
selection: {SELECTION}
model: {methods: METHODS, quadrature: QUADRATURE}
report: {parts: [PART]}
"""


BOTH = "[corrected, uncorrected]"
# parts that can be made of this experiment, and for which selections and methods
ALWAYS = {"selection-table", "calibration-table", "methods", "timing-table",
          "reliability", "correlation-scatter",
          "performance", "null-figure", "summary", "checklist",
          "data-card", "predictions"}  # fmt: skip
OF_ONE_SELECTION = {"colon-summary", "group-table", "divisions", "group-scatters"}


def can_be_made(part, selection, methods):
    if part in ("log-alpha", "selected-features"):
        return selection != "features: [all]"
    if part == "performance":
        return "," in selection
    if part in OF_ONE_SELECTION:
        return methods == BOTH and selection in ("features: [3]", "thresholds: [0.4]")
    return part in ALWAYS


@pytest.fixture(scope="module")
def results_of(tmp_path_factory):
    """A results folder for each experiment: its parts are made from the same results."""
    return cache(lambda *experiment: tmp_path_factory.mktemp("r"))


SELECTIONS = ("features: [3]", "features: [3, all]", "features: [all]", "thresholds: [0.4]",
              "thresholds: [0.1, 0.95]")  # fmt: skip
OTHERS = "[uncorrected, bernoulli-nb]"
QUICK = [("features: [3, all]", OTHERS), ("features: [all]", BOTH), ("thresholds: [0.4]", BOTH)]
EXPERIMENTS = [
    pytest.param(*each, marks=() if each in QUICK else pytest.mark.slow)
    for each in product(SELECTIONS, (BOTH, OTHERS))
]


def made(folder, results, parts, selection, methods):
    """Run an experiment with some parts.

    Parts plot the same of any selection: the figures of one are drawn, and those of others not.
    """
    text = BASE.replace("SELECTION", selection).replace("METHODS", methods)
    text = text.replace("PART", ", ".join(parts)).replace("QUADRATURE", "[exact, simpson-21]")
    (folder / "t.yaml").write_text(text)
    whole = selection == "thresholds: [0.4]" and methods == BOTH
    with nullcontext() if whole else sketched():
        return CliRunner().invoke(main, ["run", str(folder / "t.yaml"), "--results", str(results)])


def assert_refused(result, part):
    assert result.exit_code == 2, result.output
    assert f"report.parts: {part} needs" in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize(("selection", "methods"), EXPERIMENTS)
def test_parts_of_any_experiment_are_made_or_refused_in_one_line(tmp_path, selection, methods):
    possible = [part for part in PARTS if can_be_made(part, selection, methods)]
    assert len(possible) > 10
    result = made(tmp_path, tmp_path / "r", possible, selection, methods)
    assert result.exit_code == 0, result.output
    page = (tmp_path / "r/t/report.html").read_text()
    for part in PARTS:
        if part in possible:
            assert f'id="part-{part}"' in page
        else:
            assert_refused(made(tmp_path, tmp_path / "r", [part], selection, methods), part)


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("selection", SELECTIONS)
@pytest.mark.parametrize("methods", [BOTH, OTHERS])
def test_any_part_of_any_experiment_is_made_or_refused_in_one_line(
    results_of, tmp_path, part, selection, methods
):
    results = results_of(selection, methods)
    result = made(tmp_path, results, [part], selection, methods)
    if can_be_made(part, selection, methods):
        assert result.exit_code == 0, result.output
        assert f'id="part-{part}"' in (results / "t/report.html").read_text()
    else:
        assert_refused(result, part)


def test_what_an_earlier_report_had_is_removed(tmp_path):
    path = tmp_path / "t.yaml"
    text = BASE.replace("SELECTION", "features: [3]").replace("METHODS", "[corrected]")
    text = text.replace("QUADRATURE", "exact").replace("PART", "methods, reliability")
    path.write_text(text)
    for extra in ((), ("--set", "report.parts=[selection-table]")):
        CliRunner().invoke(main, ["run", str(path), "--results", str(tmp_path / "r"), *extra])
    folder = tmp_path / "r" / "t"
    assert sorted(p.name for p in (folder / "tables").iterdir()) == [
        "selection.csv", "selection.md", "selection.tex"
    ]  # fmt: skip
    assert list((folder / "figures").iterdir()) == []
