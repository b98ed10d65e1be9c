"""The page of a table with real features and a real response."""

import html
import json
import re
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from commands import arrays, run
from drawn import defects
from scipy import stats
from sketched import sketched

from thesiskit.config import load_config
from thesiskit.files import Results
from thesiskit.models.density import SCORED, Density, guess
from thesiskit.report import curves, metrics, summary
from thesiskit.report.layout import prose
from thesiskit.report.record import Record
from thesiskit.study.experiment import Experiment

CONFIG = """
experiment: mine
title: Mine
about: A table.
data: { source: file, path: t.csv, response: ALBUMIN, id: patient }
evaluation: { folds: 5, choose: true }
selection: { features: [3] }
model: { kind: normal, response: gaussian, temperature: [residual], relevant: [some],
         methods: [corrected, ridge] }
report: { parts: [summary, temperature-table, selection-table] }
"""
N = 45


def table(noise, signal=2.0):
    """Return 45 patients, with a response that two of eight genes predict."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(N, 8)).round(3)
    y = 35 + signal * (X[:, 0] - X[:, 1]) + noise * rng.normal(size=N)
    frame = pd.DataFrame(X, columns=[f"g{j}" for j in range(8)]).assign(ALBUMIN=y.round(3))
    frame.insert(0, "patient", [f"P{i:02d}" for i in range(N)])
    return frame


def made(folder, frame):
    folder.mkdir(exist_ok=True)
    frame.to_csv(folder / "t.csv", index=False)
    (folder / "c.yaml").write_text(CONFIG)
    with sketched():
        printed = run("run", folder / "c.yaml", "--results", folder / "r")
    config = load_config(folder / "c.yaml")
    return printed, Experiment(config, Results(folder / "r", "mine"), folder).record()


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    folder = tmp_path_factory.mktemp("real")
    printed, record = made(folder, table(1.0))
    return folder, printed, record


def rows_of(folder, name):
    return pd.read_csv(folder / f"r/mine/tables/{name}.csv")


def text_of(folder):
    return html.unescape((folder / "r/mine/report.html").read_text())


def test_the_page_has_the_parts_of_a_real_response(own):
    folder, printed, record = own
    text = text_of(folder)
    sections = re.findall(r'<section id="([a-z-]+)"', text)
    assert sections == [
        "forest", "strip", "checks", "methods", "pit", "residuals", "coverage",
        "selected-features", "wrong-predictions", "predictions", "temperatures", "selection",
        "data-card", "checklist", "glossary"
    ]  # fmt: skip
    score, _ = record.choice
    answer = text.partition('id="answer"><p>')[2].partition("</p>")[0]
    assert answer.startswith(
        "On samples it has not seen, the recommended method predicts ALBUMIN with a typical error "
        f"(root mean square) of {score.error:.3f}; always predicting the mean has an error of "
        f"{score.sd:.3f}. It explains {100 * score.r2:.0f}% of the variance"
    )
    assert f"predicted to miss 4.5 of 45 responses and missed {score.wrong.sum()}:" in answer
    cards = dict(re.findall(r'<dt>([^<]*)</dt> <dd class="value">([^<]*)<', text))
    assert cards["Negative log density"] == f"{score.log_loss:.3f}"
    assert cards["Coverage of 90% intervals"] == f"{100 * (1 - score.wrong.mean()):.0f}%"
    assert len(cards) == 4
    assert "RMSE" in printed
    assert "R2" in printed
    assert "around a line in the response" in text
    assert "in each class" not in text
    found = json.loads((folder / "r/mine/report.json").read_text())
    assert found["opening"]["r2"] == pytest.approx(score.r2)
    assert found["nested"]


def test_scores_are_those_of_the_stored_densities(own):
    folder, _, record = own
    cells, frame = arrays(folder / "r/mine/predict/0000.npz"), table(1.0)
    response, fold = (
        arrays(folder / "r/mine/simulate/0000.npz")[x][0] for x in ("response", "fold")
    )
    y, place = (
        cells["response"][0] if cells["response"].ndim > 1 else cells["response"],
        cells["case"],
    )
    assert y == pytest.approx(frame["ALBUMIN"].to_numpy()[place])
    rows = rows_of(folder, "methods").set_index("method")
    train = [response[fold != f] for f in fold[place]]
    away = np.mean([(y[i] - other.mean()) ** 2 for i, other in enumerate(train)])
    for row, score in enumerate(record.scores):
        error = y - cells["mean"][row]
        found = rows.loc[score.name]
        assert found["negative log density"] == pytest.approx(-cells["log_density"][row].mean())
        assert found["R2"] == pytest.approx(1 - np.mean(error**2) / away)
        assert found["predicted R2"] == pytest.approx(1 - np.mean(cells["sd"][row] ** 2) / away)
        assert found["CRPS: value"] == pytest.approx(cells["crps"][row].mean())
        inside = np.abs(cells["pit"][row] - 0.5) <= 0.45
        assert found["coverage of 90%"] == pytest.approx(inside.mean())
    base = [
        Density.of_students(guess(other)).log_density(y[i : i + 1]) for i, other in enumerate(train)
    ]
    assert rows.loc["No features", "negative log density"] == pytest.approx(-np.mean(base))
    half = 1.96 * 1.4 * 1.15 * stats.sem((y - cells["mean"][0]) ** 2)
    square = np.mean((y - cells["mean"][0]) ** 2)
    ends = np.sqrt([square - half, square + half])
    assert record.scores[0].error_interval == pytest.approx(ends)


def test_predictions_have_mean_median_and_interval(own):
    folder, _, record = own
    found = rows_of(folder, "predictions")
    assert list(found.columns[-4:]) == ["mean", "median", "5%", "95%"]
    assert list(found["id"][:N]) == [f"P{i:02d}" for i in range(N)]
    wrong, (score, _) = rows_of(folder, "wrong-predictions"), record.choice
    assert set(wrong["id"]) == set(record.tested.ids[score.wrong])


def test_slopes_of_selected_features_are_least_squares(own):
    folder, _, _ = own
    found = rows_of(folder, "selected-features").set_index("feature")
    fold, frame = arrays(folder / "r/mine/simulate/0000.npz")["fold"][0], table(1.0)
    slopes, correlations = [], []
    for f in range(5):
        x, y = frame["g1"][fold != f], frame["ALBUMIN"][fold != f]
        fit = stats.linregress(x, y)
        slopes.append(fit.slope)
        correlations.append(fit.rvalue)
    assert found.loc["g1", "selected in"] == 5
    assert found.loc["g1", "slope"] == pytest.approx(np.mean(slopes), rel=1e-5)
    assert found.loc["g1", "correlation"] == pytest.approx(np.mean(correlations), rel=1e-5)
    assert found.loc["g1", "correlation"] < -0.5


def test_nested_cross_validation_predicts_by_what_it_chose(own):
    _, _, record = own
    score, rows = record.choice
    chosen = rows[record.predictions["training_set"]]
    own_values = np.array([record.scores[row].values[i] if row >= 0 else record.base.values[i]
                           for i, row in enumerate(chosen)])  # fmt: skip
    np.testing.assert_array_equal(score.values, own_values)
    assert record.recommended(range(2)) == int(
        np.argmin([score.log_loss for score in record.scores])
    )


def test_nothing_is_recommended_where_nothing_predicts(tmp_path):
    _, record = made(tmp_path / "noise", table(1.0, signal=0.0))
    assert record.recommended(range(2)) == -1
    text = text_of(tmp_path / "noise")
    assert "no evidence that ALBUMIN can be predicted from this table" in text
    assert "`thesiskit predict`" in prose("recommended", x=summary.opening_facts(record))
    assert "predicts without features" in text


def test_figures_have_no_defects(own):
    _, _, record = own
    figures = [*summary.summary(record), *curves.reliability(record)[:2]]
    assert [figure.name for figure in figures] == ["forest", "strip", "pit", "residuals"]
    for figure in figures:
        assert defects(figure.canvas) == [], figure.name


def test_earlier_results_without_pit_have_a_page_without_it(own):
    _, _, record = own
    fewer = Record(record.results, record.n_blocks, record.config)
    whole = record.prediction_arrays
    old = {name: x for name, x in whole.items() if name not in ("mean", "sd", "crps", "pit")}
    with patch.object(Record, "prediction_arrays", old | {"inner_losses": whole["inner_losses"]}):
        assert [part.name for part in curves.reliability(fewer)] == ["residuals"]
        assert np.isnan(fewer.scores[0].expected)
        assert fewer.scores[0].residual == pytest.approx(fewer.response - old["median"][0])
        (methods,) = summary.methods(fewer)
    assert np.isnan(methods.frame["predicted R2"][:3]).all()


def test_intervals_that_are_too_narrow_are_found():
    rng = np.random.default_rng(2)
    y = rng.normal(size=200)
    base = np.repeat(guess(y), 200, axis=0)
    unit = np.arange(200)
    tested = metrics.Tested(y, unit.astype(str), unit, {}, [], base)
    for spread, verdict in ((0.5, "over-confident"), (1.0, "calibrated"), (2.0, "under-confident")):
        component = np.tile([1.0, 0.0, spread, np.inf], (200, 1, 1))
        scores = Density.of_students(component).scores(y)
        score = metrics.RealScore(tested, "x", np.column_stack([scores[name] for name in SCORED]))
        assert score.verdict == verdict
        row = score.coverage(0.8)
        inside = np.abs(y) <= spread * stats.norm.ppf(0.9)
        assert row["inside"] == inside.mean()
        low, high = stats.binom.ppf([0.025, 0.975], 200, 0.8) / 200
        assert (row["band low"], row["band high"]) == pytest.approx((low, high))
        assert (low <= row["inside"] <= high) == (verdict == "calibrated")
