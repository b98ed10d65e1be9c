"""Real features in experiments of chapter 2: any number of classes, screenings and mistakes."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from commands import arrays, invoke, must_fail
from real_tables import OWN, TESTED, TWO, made, write
from small import content

from thesiskit.config import load_config
from thesiskit.defaults import normal_grids
from thesiskit.errors import ConfigError, DataError
from thesiskit.models import naive_bayes, normal
from thesiskit.models.selection import (
    correlation_of_f,
    select_by_f,
    select_features,
)
from thesiskit.study.design import Design
from thesiskit.study.selecting import methods


@pytest.fixture
def table(tmp_path):
    """A table of three tissues, of which the first features tell: X and codes of the tissues."""
    rng = np.random.default_rng(1)
    y = np.array([0, 1, 2] * 11 + [2])
    X = rng.normal(size=(34, 25)).round(3)
    X[:, 0] += 2.5 * (y == 1)
    X[:, 1] += 2.5 * (y == 2)
    frame = pd.DataFrame(X, columns=[f"g{j}" for j in range(25)])
    frame["tissue"] = np.array(["colon", "liver", "lung"])[y]
    frame.to_csv(tmp_path / "t.csv", index=False)
    return X, y


# ---- what is made ----


@pytest.mark.parametrize("model", [{}, {"relevant": "all"},
                                   {"class_prior": [1.0, 2.0, 3.0]}])  # fmt: skip
@pytest.mark.parametrize("selection", [{"features": [3]}, {"thresholds": [0.5]}])
def test_predictions_are_those_of_the_model(tmp_path, selection, model):
    changes = {"selection": selection, "model": {"kind": "normal", "temperature": "none"} | model}
    found, _ = made(tmp_path, TESTED, **changes)
    train, test = Design(load_config(tmp_path / "small.yaml"), tmp_path).tables
    X, y = train.features, train.response
    k = selection.get("features", [None])[0]
    f = None if k else Fraction("0.25")
    selected = select_by_f(X, y, k, np.random.default_rng(0), threshold=f)
    relevant = model.get("relevant", "some")
    settings = normal.Normal(
        class_prior=tuple(model.get("class_prior", [1.0] * 3)),
        relevant=relevant,
    )
    assert [
        one.name.split(" ", 1)[-1] for one in methods(load_config(tmp_path / "small.yaml"))
    ] == [
        f"{'> 0.5 ' * (not k)}{method} exact{' some' * (relevant == 'some')}"
        for method in ("corrected", "uncorrected")
    ]
    for i, correct in enumerate([True, False]):
        posterior = normal.fit(selected, settings, correct=correct)
        expected = normal.Normal().predict(posterior, test.features[:, selected.selected])
        np.testing.assert_allclose(found["predict"]["probability"][i], expected, atol=1e-12)
        fit = found["fit"]
        np.testing.assert_allclose(fit["log_joint"][0, i], posterior.log_joint, rtol=1e-6)
        np.testing.assert_allclose(fit["variance"][0, i], posterior.variance)
        if relevant == "some":
            part = slice(*fit["relevance_offset"][i])
            np.testing.assert_allclose(fit["relevance"][part], posterior.relevance)
    assert (found["fit"]["tau"] == 1).all()
    select = found["select"]
    for name in ("selected", "f", "correlation", "counts", "means", "within", "left_out"):
        np.testing.assert_array_equal(select[name], getattr(selected, name))
    assert select["class_counts"].tolist() == [[9, 10, 8]]


def test_two_classes_have_one_probability(tmp_path):
    found, _ = made(tmp_path, TESTED, data=TWO, selection={"features": [3, "all"]})
    predicted = found["predict"]
    assert predicted["probability"].shape == (3, 18)
    assert predicted["method"].tolist() == ["corrected", "uncorrected", "complete"]
    train, test = Design(load_config(tmp_path / "small.yaml"), tmp_path).tables
    everything = select_by_f(train.features, train.response, 60, np.random.default_rng(0))
    posterior = normal.fit(everything, normal.Normal())
    expected = normal.Normal().predict(posterior, test.features[:, everything.selected])[:, 1]
    np.testing.assert_allclose(predicted["probability"][2], expected, atol=1e-12)


def test_bytes_do_not_depend_on_jobs(tmp_path):
    model = {"kind": "normal", "relevant": ["all", "some"], "temperature": ["none", "residual"],
             "methods": ["corrected", "naive-corrected"]}  # fmt: skip
    for jobs in (0, 2):
        made(tmp_path, TESTED, data=TWO, model=model, jobs=jobs, results=f"jobs{jobs}")
    expected = content(tmp_path / "jobs0")
    assert len(expected) > 10
    assert content(tmp_path / "jobs2") == expected


def test_a_table_of_three_classes(tmp_path, table):
    X, y = table
    model = {"kind": "normal", "temperature": "none",
             "methods": ["corrected", "naive-corrected"]}  # fmt: skip
    found, notes = made(tmp_path, OWN, model=model)
    assert any("naive-corrected: no predictions with more than two" in one
               for one in notes)  # fmt: skip
    p = found["predict"]["probability"]
    assert p.shape == (2, 34, 3)
    np.testing.assert_allclose(p[0].sum(axis=1), 1)
    assert (p[0].argmax(axis=1) == found["predict"]["response"]).mean() > 0.6
    assert np.isnan(p[1]).all()
    fold = found["simulate"]["fold"][0]
    assert all(np.ptp([(y[fold == f] == g).sum() for f in range(3)]) <= 1 for g in range(3))
    selected = select_by_f(
        X, y.astype(np.uint8), 3, np.random.default_rng(0), samples=np.flatnonzero(fold != 0)
    )
    np.testing.assert_array_equal(found["select"]["selected"][:3], selected.selected)


def test_groups_of_features_and_a_test_table(tmp_path, table):
    found, _ = made(tmp_path, OWN, evaluation={"folds": 2, "groups": 5})
    assert (found["select"]["n_features"] == 5).all()
    frame = pd.read_csv(tmp_path / "t.csv")
    frame[:24].to_csv(tmp_path / "t.csv", index=False)
    frame[24:].to_csv(tmp_path / "test.csv", index=False)
    data = OWN["data"] | {"test_path": "test.csv"}
    found, _ = made(tmp_path, OWN, data=data, evaluation={}, results="tested")
    X, y = table
    selected = select_by_f(X[:24], y[:24].astype(np.uint8), 3, np.random.default_rng(0))
    posterior = normal.fit(selected, normal.Normal())
    expected = normal.Normal().predict(posterior, X[24:, selected.selected])
    np.testing.assert_allclose(found["predict"]["probability"][0], expected, atol=1e-12)


def test_gaps_and_constant_columns(tmp_path, table):
    frame = pd.read_csv(tmp_path / "t.csv")
    frame.iloc[::5, 3:9] = np.nan
    frame["flat"] = 2.5
    frame.to_csv(tmp_path / "t.csv", index=False)
    found, _ = made(tmp_path, OWN, selection={"features": [3, "all"]})
    assert (found["select"]["n_constant"] == 1).all()
    assert (found["select"]["n_features"] == 25).all()
    assert np.isfinite(found["predict"]["probability"]).all()


# ---- beside models of another kind ----


def test_naive_bayes_beside_the_normal_model(tmp_path):
    model = {"kind": "normal", "temperature": "none",
             "methods": ["corrected", "naive-corrected", "naive-uncorrected"]}  # fmt: skip
    made(tmp_path, TESTED, data=TWO, model=model, selection={"thresholds": [0.45]})
    train, test = Design(load_config(tmp_path / "small.yaml"), tmp_path).tables
    cut = np.median(train.features, axis=0)
    X, new = ((table.features > cut).astype(np.uint8) for table in (train, test))
    rng = np.random.default_rng(0)
    selected = select_features(X, train.response, None, rng, threshold="0.45")
    p = arrays(tmp_path / "results/small/predict/0000.npz")["probability"]
    for row, correct in ((1, True), (2, False)):
        posterior = naive_bayes.fit(
            selected, naive_bayes.NaiveBayes(relevant="some"), correct=correct
        )
        expected = naive_bayes.predict(posterior, new[:, selected.selected])
        np.testing.assert_allclose(p[row], expected, atol=1e-12)


def test_the_normal_model_beside_naive_bayes(tmp_path):
    one = {"methods": ["corrected", "normal-corrected", "normal-uncorrected"]}
    other = {"kind": "normal", "temperature": "none"}
    beside, _ = made(tmp_path, TESTED, data=TWO, model=one, results="beside")
    alone, _ = made(tmp_path, TESTED, data=TWO, model=other, results="alone")
    np.testing.assert_allclose(
        beside["predict"]["probability"][1:], alone["predict"]["probability"], atol=1e-12
    )
    assert beside["predict"]["relevant"].tolist() == ["all", "none", "none"]


def test_drawn_bits_are_numbers_too(tmp_path):
    data = {"source": "naive-bayes", "features": 40, "alpha": 3.0, "train": [9, 9], "test": 8}
    model = {"methods": ["corrected", "normal-corrected"]}
    found, _ = made(tmp_path, TESTED, data=data, model=model, selection={"thresholds": [0.5]})
    drawn = Design(load_config(tmp_path / "small.yaml"), tmp_path).drawn(0)
    f = Fraction("0.25")
    selected = select_by_f(
        drawn.train.features, drawn.train.response, None, np.random.default_rng(0), threshold=f
    )
    posterior = normal.fit(selected, normal.Normal())
    expected = normal.Normal().predict(posterior, drawn.test.features[:, selected.selected])[:, 1]
    np.testing.assert_allclose(found["predict"]["probability"][1], expected, atol=1e-12)


# ---- tables that were screened before ----


def test_nothing_is_tested_where_all_samples_took_part_in_the_screening(tmp_path, table):
    X, y = table
    whole = select_by_f(X, y.astype(np.uint8), 25, np.random.default_rng(0))
    # an F of half the smallest one, and the same as a correlation ratio
    f = float(whole.f[-1]) / 2
    ratio = float(correlation_of_f(np.array([f]), whole.class_counts[None])[0])
    model = {"kind": "normal", "methods": ["corrected"], "temperature": "none"}
    promised = []
    for known in ({"f": f}, {"threshold": ratio}):
        selection = {"features": [2, "all"], "screened": {"of": [25, 500]} | known}
        found, notes = made(tmp_path, OWN, selection=selection, evaluation={}, model=model,
                            results=next(iter(known)), upto="select")  # fmt: skip
        assert any("so none can be tested" in one for one in notes)
        promised.append(found["select"])
    for name in ("threshold", "left_out", "n_features"):
        np.testing.assert_allclose(promised[0][name], promised[1][name])
    assert promised[0]["threshold"].tolist()[2:] == pytest.approx([f, f])
    assert promised[0]["n_features"].tolist() == [25, 500, 25, 500]
    selection["features"] = [2]
    found, _ = made(tmp_path, OWN, selection=selection, evaluation={}, model=model, upto="fit")
    few, many = found["fit"]["promised"][0]
    assert 0 < few < many < 2 / 3
    for pi, p in zip(found["fit"]["pi"], (25, 500), strict=True):
        assert pi.tolist() == list(normal_grids(p)[0])


# ---- mistakes ----


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"model": {}}, "naive-bayes takes two classes, not 3. Fix: use model.kind: "
                        "normal"),
        ({"model": {"kind": "mixture"}}, "use model.kind: normal"),
        ({"model": {"kind": "normal", "class_prior": [1, 1]}},
         "model.class_prior: has 2 numbers, but there are 3 classes"),
        ({"model": {"kind": "normal", "pi": [2]}}, "needs probabilities above 0"),
        ({"selection": {"features": [26]}}, "cannot select 26 of 25 features"),
        ({"selection": {"features": [3], "ties": "exact"}}, "selection.ties: real features"),
        ({"selection": {"features": [3], "screened": {"of": 99, "f": 1.0, "threshold": 0.2}}},
         "are both given"),
        ({"selection": {"features": [3], "screened": {"of": 99, "f": 100.0}}, "evaluation": {}},
         "selection.screened.f: is 100, but the feature 'g"),
        ({"selection": {"features": [3], "screened": {"of": 99, "threshold": 0.9}},
          "evaluation": {}}, "has a correlation ratio of"),
        ({"selection": {"features": [3], "screened": {"of": 99, "f": 1.0}},
          "model": {"methods": ["corrected"]}}, "selection.screened.f: is for model.kind: normal"),
    ],
)  # fmt: skip
def test_mistakes_are_told(tmp_path, table, changes, words):
    if changes.get("model") == {"methods": ["corrected"]}:
        changes = changes | {"data": OWN["data"] | {"positive": "liver"}}
    path = write(tmp_path, OWN, **changes)
    done = invoke("simulate", path, "--results", tmp_path / "results")
    must_fail(done)
    assert words in " ".join(done.output.split()), done.output
    assert len(done.output) <= 400 + len(str(tmp_path))


def test_features_that_do_not_vary_in_a_training_set(tmp_path, table):
    frame = pd.read_csv(tmp_path / "t.csv")
    frame.iloc[1:, 2:25] = 1.0
    frame.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(ConfigError, match=r"selection\.features: .* 2, got 3 \(23 do not vary"):
        made(tmp_path, OWN, evaluation={"scheme": "leave-one-out"})


def test_a_training_set_without_a_class(tmp_path, table):
    frame = pd.read_csv(tmp_path / "t.csv")
    frame.loc[0, "tissue"] = "brain"
    frame.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(DataError, match=r"no sample of class brain. Fix: "):
        made(tmp_path, OWN)


def test_drawn_bits_are_refused(tmp_path):
    data = {"source": "naive-bayes", "features": 40, "alpha": 3.0, "train": [9, 9], "test": 8}
    with pytest.raises(ConfigError, match=r"draws binary features\. Fix: use continuous"):
        load_config(write(tmp_path, TESTED, data=data))
