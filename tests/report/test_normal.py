"""Reports on normal features: three classes, class means, the posterior of rho, temperatures."""

import html
import re

import numpy as np
import pandas as pd
import pytest
from commands import arrays, invoke, must_fail, run
from scipy import stats
from sklearn.metrics import log_loss

from thesiskit.config import load_config
from thesiskit.files import Results
from thesiskit.report import posteriors as told
from thesiskit.report import scores
from thesiskit.report.posteriors import FittedTemperatures, format_temperature, temperatures
from thesiskit.study.experiment import Experiment

NAMES = ["glioma", "lymphoma", "melanoma"]
MINE = """
experiment: mine
title: My expression table
about: Forty-five tissues of three kinds.
data: { source: file, path: genes.csv, response: kind, id: patient }
evaluation: { folds: 3 }
selection: { features: [8] }
model: { kind: normal, temperature: [none, residual] }
report: { parts: [methods, calibration-table, reliability, temperature-table,
                  selection-table, timing-table] }
"""
SAMPLES, WIDTH = 45, 24


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("normal")
    rng = np.random.default_rng(6)
    y = rng.permutation(np.arange(SAMPLES) % 3)
    X = rng.normal(size=(SAMPLES, WIDTH))
    X[:, 0] += 1.5 * (y == 2)
    X[:, 1] -= 1.5 * (y == 1)
    X[:, 2:6] = X[:, [0]] + 0.1 * rng.normal(size=(SAMPLES, 4))  # the same evidence five times
    frame = pd.DataFrame(X, columns=[f"GENE{j}" for j in range(WIDTH)])
    frame.insert(0, "kind", np.array(NAMES)[y])
    frame.insert(0, "patient", [f"P-{i:02d}" for i in range(SAMPLES)])
    frame.to_csv(folder / "genes.csv", index=False)
    (folder / "mine.yaml").write_text(MINE)
    (folder / "mine.txt").write_text(run("run", folder / "mine.yaml", "--results", folder / "r"))
    return folder


@pytest.fixture(scope="module")
def genes(folder):
    return pd.read_csv(folder / "genes.csv")


def table(folder, name, experiment="mine"):
    return pd.read_csv(folder / "r" / experiment / "tables" / f"{name}.csv")


def page(folder, experiment="mine"):
    text = (folder / "r" / experiment / "report.html").read_text()
    text = re.sub(r"<(script|style)\b.*?</\1>", "", text, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", "", text)).split())


def predicted(folder):
    return arrays(folder / "r/mine/predict/0000.npz")


def test_scores_are_those_of_all_classes(folder):
    found, rows = predicted(folder), table(folder, "methods").set_index("setting: method")
    assert found["probability"].shape == (len(rows) - 1, SAMPLES, 3)
    y = found["response"]
    for p, estimator, tempered in zip(
        found["probability"], found["method"], found["temperature"], strict=True
    ):
        words = f"{estimator}, some relevant" + ", residual-tempered" * (tempered == "residual")
        row = rows.loc[words]
        assert row["error"] == pytest.approx((p.argmax(axis=1) != y).mean())
        assert row["log loss"] == pytest.approx(log_loss(y, p))
        assert row["predicted error"] == pytest.approx(1 - p.max(axis=1).mean())


def test_predictions_have_a_column_for_each_class(folder, genes):
    found, frame = predicted(folder), table(folder, "predictions")
    columns = [f"probability: {name}" for name in NAMES]
    first = frame[(frame.features == 8) & (frame.method == "corrected, some relevant")]
    p = found["probability"][0][np.argsort(found["case"])]
    np.testing.assert_allclose(first[columns], p, rtol=1e-9)
    assert first.response.tolist() == genes.kind.tolist()


def test_selected_features_have_class_means_and_correlation_ratios(folder, genes):
    """Computed anew by SciPy in each training set."""
    fold = arrays(folder / "r/mine/simulate/0000.npz")["fold"][0]
    frame = table(folder, "selected-features")
    frame = frame[frame.selection == 8].set_index("feature")
    seen: dict[str, list] = {}
    for number_ in range(3):
        train = genes[fold != number_]
        groups = [train[train.kind == name] for name in NAMES]
        f = {g: stats.f_oneway(*(one[g] for one in groups)).statistic
             for g in genes.columns[2:]}  # fmt: skip
        for g in sorted(f, key=lambda name: -f[name])[:8]:
            ratio = np.sqrt(2 * f[g] / (2 * f[g] + len(train) - 3))
            seen.setdefault(g, []).append([ratio, *(one[g].mean() for one in groups)])
    assert set(frame.index) == set(seen)
    columns = ["correlation ratio", *(f"mean: {name}" for name in NAMES)]
    for g, values in seen.items():
        assert frame.loc[g, columns].tolist() == pytest.approx(np.mean(values, axis=0), rel=1e-5)
        assert frame.loc[g, "selected in"] == len(values)
    assert frame["probability relevant"].between(0, 1).all()


def test_calibration_is_of_the_predicted_class(folder):
    p, y = predicted(folder)["probability"][0], predicted(folder)["response"]
    config = load_config(folder / "mine.yaml")
    record = Experiment(config, Results(folder / "r", "mine"), folder).record()
    mine = scores.reliability(record, record.methods[0])
    category = np.minimum((10 * p.max(axis=1)).astype(int), 9)
    right = p.argmax(axis=1) == y
    for row in mine.itertuples():
        inside = category == row.category
        assert row.samples == inside.sum()
        if inside.any():
            assert row.actual == pytest.approx(right[inside].mean())
            assert row.predicted == pytest.approx(p.max(axis=1)[inside].mean())
    assert mine.samples.sum() == SAMPLES


def test_temperatures_are_those_of_the_fits(folder):
    fits, frame = arrays(folder / "r/mine/fit/0000.npz"), table(folder, "temperatures")
    tempered = np.flatnonzero(fits["temperature"] == "residual")
    assert len(frame) == len(tempered) == 2
    for j, row in zip(tempered, frame.itertuples(), strict=True):
        tau = fits["tau"][:, j]
        assert (tau >= 1).all()
        assert float(row[3]) == float(format_temperature(np.median(tau)))
        assert float(row[5]) == float(format_temperature(tau.max()))
    assert (fits["tau"][:, fits["temperature"] == "none"] == 1).all()


def test_a_temperature_without_a_bound_says_that_features_predict_nothing(monkeypatch, folder):
    assert [*map(format_temperature, (1, 23.4, 1e4, 1e6))] == [
        "1.00",
        "23",
        "10,000",
        "above 10,000",
    ]
    config = load_config(folder / "mine.yaml")
    record = Experiment(config, Results(folder / "r", "mine"), folder).record()
    many = FittedTemperatures(np.full(3, 1e6), np.ones(3))
    endless = dict.fromkeys(temperatures(record), many)
    monkeypatch.setattr(told, "temperatures", lambda _: endless)
    (found,) = told.temperature_table(record)
    assert "Above 10,000 the features carry no information" in found.caption


def test_the_page_says_what_is_asked(folder):
    text = page(folder)
    for words in (
        "On samples it has not seen, the recommended method classifies",
        "Corrected methods are naive Bayes with normal features",
        "glioma 15 (33%), lymphoma 15 (33%), melanoma 15 (33%)",
        "24 continuous, untransformed",
        "mean of each class against the others",
    ):
        assert words in text, words
    assert not re.search(r"\bnan\b", text)
    assert re.search(r"^fit: 3 fits of \d+ methods -> ", (folder / "mine.txt").read_text(), re.M)


def test_methods_that_take_two_classes_say_nothing_of_three(folder, tmp_path):
    text = MINE.replace("[none, residual]", "residual, methods: [corrected, naive-corrected]")
    parts = "parts: [temperature-table, reliability] }"
    text = re.sub(r"parts: .*", parts, text, flags=re.S)
    text = text.replace("path: genes", f"path: {folder}/genes")
    (tmp_path / "mine.yaml").write_text(text)
    run("run", tmp_path / "mine.yaml", "--results", tmp_path / "r")
    rows = pd.read_csv(tmp_path / "r/mine/tables/methods.csv")
    assert rows.method.tolist() == ["Corrected, 8 features", "Class frequencies"]
    tempered = pd.read_csv(tmp_path / "r/mine/tables/temperatures.csv")
    assert tempered.method.tolist() == ["corrected, some relevant, residual-tempered"]


def test_parts_say_what_they_need(folder):
    for part, words in (("temperature-table", "residual in model.temperature"),
                        ("log-alpha", "model.kind: naive-bayes")):  # fmt: skip
        text = MINE.replace("[none, residual]", "none").replace("[methods", f"[{part}, methods")
        (folder / "other.yaml").write_text(text.replace("experiment: mine", "experiment: other"))
        must_fail(invoke("run", folder / "other.yaml", "--results", folder / "r"), words)


def test_a_table_that_was_screened_before_promises(folder):
    text = re.sub(r"evaluation:.*\n", "", MINE).replace("experiment: mine", "experiment: screened")
    text = text.replace("[8]", "[all], screened: { of: 400 }")
    text = re.sub(r"parts: .*", "parts: [selected-features] }", text, flags=re.S)
    (folder / "screened.yaml").write_text(text.replace(", temperature: [none, residual]", ""))
    run("run", folder / "screened.yaml", "--results", folder / "r")
    promised = arrays(folder / "r/screened/fit/0000.npz")["promised"][0]
    frame = table(folder, "methods", "screened")
    assert frame["predicted error"].tolist() == pytest.approx(promised.tolist())
    text = page(folder, "screened")
    assert "always predicting 'glioma' would be right in 33%" in text
