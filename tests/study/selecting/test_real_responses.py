"""Tables of real features with a real response, from the file to new samples."""

import io
import os
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import yaml
from commands import arrays, invoke, must_fail, run
from scipy import stats
from sketched import drawn as drawn_figures

import thesiskit
from thesiskit.config import load_config
from thesiskit.errors import ConfigError, DataError
from thesiskit.models.base import WITH_REALS
from thesiskit.models.density import SCORED, Density, guess
from thesiskit.models.peers import NUMBERS, names
from thesiskit.study.design import Design, Split, each_pair, parts_of

CONFIG = {
    "experiment": "mine",
    "title": "Mine",
    "about": "A table.",
    "data": {"source": "file", "path": "t.csv", "response": "dose"},
    "evaluation": {"folds": 5, "choose": True},
    "selection": {"features": [3]},
    "model": {"kind": "normal", "response": "gaussian", "methods": ["corrected", "ridge"]},
    "report": {"parts": ["methods"]},
}
GIVEN = Path(os.environ.get("THESISKIT_DATA_DIR", "nowhere")) / "regression"
N = 40


def drawn(n=N, p=12, noise=0.5, seed=3):
    """Return samples whose dose is 30 + 4 g0 - 3 g1 and noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    y = 30 + 4 * X[:, 0] - 3 * X[:, min(1, p - 1)] + noise * rng.normal(size=n)
    return pd.DataFrame(X.round(4), columns=[f"g{j}" for j in range(p)]).assign(dose=y.round(3))


def written(folder, table, **blocks):
    """Write a table and its config, and return the path of the config."""
    table.to_csv(folder / "t.csv", index=False)
    config = {name: dict(block) if isinstance(block, dict) else block
              for name, block in CONFIG.items()}  # fmt: skip
    for name, keys in blocks.items():
        config[name] = config[name] | keys
    path = folder / "mine.yaml"
    path.write_text(yaml.safe_dump(config))
    return path


def design(path):
    return Design(load_config(path), path.parent)


def splits(path):
    made = design(path)
    return [*made.splits(range(1), made.draw(range(1)))]


# ---- divisions ----


def test_folds_have_equal_sizes_and_all_samples_are_tested_once(tmp_path):
    parts = splits(written(tmp_path, drawn(43)))
    assert sorted(len(part.test) for part in parts) == [8, 8, 9, 9, 9]
    assert sorted(np.concatenate([part.test for part in parts])) == [*range(43)]
    assert {part.classes for part in parts} == {0}
    assert parts[0].response.dtype == np.float64
    assert [part.class_counts.tolist() for part in parts] == [[len(part.train)] for part in parts]


@pytest.mark.parametrize("scheme", ["leave-one-out", "holdout"])
def test_other_schemes(tmp_path, scheme):
    parts = splits(written(tmp_path, drawn(), evaluation={"scheme": scheme, "choose": False}))
    sizes = [len(part.test) for part in parts]
    assert sizes == ([1] * N if scheme == "leave-one-out" else [12])


@pytest.mark.parametrize("scheme", ["k-fold", "leave-one-out", "holdout"])
def test_groups_stay_together(tmp_path, scheme):
    table = drawn().assign(patient=np.arange(N) % 13)
    evaluation = {"scheme": scheme, "choose": False}
    path = written(tmp_path, table, evaluation=evaluation, data={"sample_groups": "patient"})
    for part in splits(path):
        patients = table["patient"].to_numpy()
        assert len(part.test)
        assert not {*patients[part.train]} & {*patients[part.test]}


def test_a_test_table(tmp_path):
    drawn(7, seed=4).to_csv(tmp_path / "test.csv", index=False)
    (part,) = splits(written(tmp_path, drawn(), data={"test_path": "test.csv"}))
    assert part.test.tolist() == [*range(N, N + 7)]
    assert part.response[N] == drawn(7, seed=4)["dose"][0]


def test_folds_of_one_sample_are_spread_by_their_responses():
    y = np.random.default_rng(0).permutation(20).astype(float)
    part = parts_of(np.arange(20), y)
    assert all(sorted(part[(y >= a) & (y < a + 5)]) == [*range(5)] for a in (0, 5, 10, 15))
    assert len([*each_pair(np.arange(20), y)]) == 10


def test_more_folds_than_samples(tmp_path):
    path = written(tmp_path, drawn(6), evaluation={"folds": 10})
    assert "6 folds, not 10, because there are no more samples" in design(path).notes[0]
    assert design(path).folds == 6


def test_too_few_samples_or_values_to_train_with(tmp_path):
    with pytest.raises(DataError, match="a training set has 2 samples, of the 3 that are needed"):
        splits(written(tmp_path, drawn(3)))
    table = drawn(12).assign(dose=[1.0] * 11 + [2.0])
    path = written(tmp_path, table, evaluation={"scheme": "leave-one-out"})
    with pytest.raises(DataError, match=r"has one value of the response, 1\. Fix: add samples"):
        splits(path)


def test_excess_is_beside_the_density_without_features():
    rng = np.random.default_rng(2)
    y = rng.normal(5, 2, 30)
    split = Split(0, 0, 0, y, np.arange(20), np.arange(20, 30), 1, None, None)
    base = Density.of_students(guess(y[:20]).repeat(10, axis=0))
    np.testing.assert_allclose(split.excess(base), 0, atol=1e-12)
    location, scale = y[:20].mean(), y[:20].std(ddof=1) * np.sqrt(1 + 1 / 20)
    sharp = Density.of_students(np.array([[[1.0, value, 0.5, np.inf]] for value in y[20:]]))
    expected = stats.t(19, location, scale).logpdf(y[20:]) - stats.norm(0, 0.5).logpdf(0)
    np.testing.assert_allclose(split.excess(sharp), expected, atol=1e-4)


# ---- what is refused, and what is said ----


@pytest.mark.parametrize(
    ("blocks", "words"),
    [
        ({"model": {"class_prior": 2.0}}, "model.class_prior: is for classes. Fix: remove it"),
        ({"data": {"positive": 1}}, "data.positive: is for classes. Fix: remove it"),
        ({"data": {"binarise": "all-medians"}}, "data.binarise: is for classes"),
        ({"model": {"methods": ["corrected", "naive-corrected"]}}, "is for classes"),
        ({"model": {"methods": ["corrected", "l2-logistic"]}}, "l2-logistic is for classes"),
        ({"model": {"methods": ["corrected", "ridge"], "response": "classes"}},
         "ridge is for real responses"),
        ({"data": {"source": "colon"}}, "model.response: gaussian needs data.source: file"),
        ({"model": {"kind": "naive-bayes", "methods": ["corrected"]}},
         "model.response: is for real responses. Fix: use model.kind: normal or pool"),
    ],
)  # fmt: skip
def test_keys_that_make_no_sense(tmp_path, blocks, words):
    path = written(tmp_path, drawn(), **blocks)
    config = yaml.safe_load(path.read_text())
    if config["data"]["source"] == "colon":
        config["data"] = {"source": "colon"}
        path.write_text(yaml.safe_dump(config))
    with pytest.raises(ConfigError, match=words):
        load_config(path)


def test_responses_that_are_no_numbers_to_predict(tmp_path):
    table = drawn()
    for values, words in (
        ([2.5] * N, "is 2.5 in all samples"),
        ([*table["dose"][:-1], "high"], "which is not a number within"),
        ([*table["dose"][:-1], "inf"], "which is not a number within"),
    ):
        path = written(tmp_path, table.assign(dose=values))
        with pytest.raises(DataError, match=words):
            _ = design(path).tables


def test_what_is_said_of_few_values(tmp_path):
    table, cells = drawn(), np.arange(N)
    said = design(written(tmp_path, table.assign(dose=cells % 2))).notes
    assert any("has two values, 0 and 1; to predict them as classes" in line for line in said)
    said = design(written(tmp_path, table.assign(dose=cells % 5))).notes
    assert any("has 5 values, all whole numbers; counts or ordered" in line for line in said)
    assert not any("values" in line for line in design(written(tmp_path, table)).notes)


def test_samples_without_a_response_are_left_out(tmp_path):
    table = drawn()
    table.loc[[3, 8], "dose"] = np.nan
    made = design(written(tmp_path, table))
    assert len(made.tables[0].response) == N - 2
    assert "2 samples without a response dropped: line 5, line 10" in made.notes[0]


# ---- the whole journey ----


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def predictions(folder="results/mine"):
    return SimpleNamespace(**arrays(f"{folder}/predict/0000.npz"))


def test_parquet_has_the_samples_and_folds_of_csv(here):
    table, found = drawn(60), []
    for suffix in ("csv", "parquet"):
        getattr(table, f"to_{suffix}")(f"own.{suffix}", index=False)
        said = run("init", f"own.{suffix}", "--response", "dose", "--output", f"{suffix}.yaml")
        assert "The response is a real number (model.response: gaussian)" in said
        run("simulate", f"{suffix}.yaml", "--results", suffix)
        (samples,) = design(here / f"{suffix}.yaml").tables
        fold = arrays(f"{suffix}/my-own/simulate/0000.npz")["fold"]
        found.append((fold, samples.features, samples.response, samples.names))
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)
    assert len(found[0][2]) == 60


def test_from_a_file_to_new_samples(here):
    drawn(60).to_csv("own.csv", index=False)
    drawn(9, seed=8).drop(columns="dose").to_csv("new.csv", index=False)
    said = run("init", "own.csv", "--response", "dose", "--output", "own.yaml")
    assert "The response is a real number (model.response: gaussian)" in said
    assert "0 warnings" in run("check", "own.yaml")
    few = ("--jobs", 0, "--set", "model.methods=[corrected, ridge]")  # others take long
    quick = run("run", "own.yaml", "--quick", *few)
    assert "5-fold" in quick
    few += ("--set", "evaluation.folds=5")
    run("run", "own.yaml", *few)
    found = predictions("results/my-own")
    assert {*SCORED, "inner_losses", "tau"} <= {*vars(found)}
    assert not hasattr(found, "probability")
    for name in SCORED:
        assert getattr(found, name).shape == (len(found.method), 60)
        assert np.isfinite(getattr(found, name)).all()
    inside = ((found.low < found.response) & (found.response < found.high)).mean(axis=1)
    assert (inside > 0.7).all()  # of 60: below with probability 1e-5 where intervals are honest
    ridge = found.method.tolist().index("ridge")
    assert np.corrcoef(found.mean[ridge], found.response)[0, 1] > 0.98
    assert (found.inner_losses[:, ridge, 0] < -1).all()  # of about 2.3 in all

    text = invoke("predict", "own.yaml", "--new", "new.csv", *few).stdout
    frame = pd.read_csv(io.StringIO(text))
    columns = ["mean", "5%", "25%", "median", "75%", "95%"]
    assert list(frame.columns[2:8]) == ["mean", "median", "5%", "25%", "75%", "95%"]
    assert (frame[columns[1:]].diff(axis=1).iloc[:, 1:] > 0).all(axis=None)
    assert np.corrcoef(frame["mean"], drawn(9, seed=8)["dose"])[0, 1] > 0.98
    assert (frame["unlike"] > 0).all()
    run("export", "own.yaml", "own.model", *few)
    model = thesiskit.load_model("own.model")
    assert model.classes == []
    np.testing.assert_array_equal(
        model.predict_quantiles("new.csv"), frame[["5%", "median", "95%"]]
    )
    np.testing.assert_array_equal(model.predict("new.csv"), frame["median"])


def test_one_feature_and_four_samples(here):
    for table, choose in ((drawn(30, p=1), False), (drawn(4, p=3), True)):
        path = written(here, table, selection={"features": [1]}, evaluation={"choose": choose})
        with drawn_figures(printed=False):
            run("run", path, "--jobs", 0)
        found = predictions()
        assert np.isfinite(found.log_density).all()


def test_without_features_the_responses_are_the_prediction(here):
    """Nothing is recommended where nothing predicts: the Student t of the training responses."""
    table = drawn(50, seed=1)
    table["dose"] = np.random.default_rng(5).permutation(table["dose"])
    path = written(here, table, evaluation={"choose": False})
    table.drop(columns="dose").head(3).to_csv(here / "new.csv", index=False)
    done = invoke("predict", path, "--new", "new.csv", "--jobs", 0)
    assert "none is clearly better than the distribution of the training responses" in done.stderr
    frame, y = pd.read_csv(io.StringIO(done.stdout)), table["dose"]
    t = stats.t(49, y.mean(), y.std() * np.sqrt(1 + 1 / 50))
    assert {*frame["method"]} == {"distribution of the response"}
    for level in (5, 25, 75, 95):
        np.testing.assert_allclose(frame[f"{level}%"], t.ppf(level / 100), rtol=1e-4)
    run("export", path, "none.model", "--jobs", 0)
    model = thesiskit.load_model("none.model")
    np.testing.assert_allclose(model.predict_quantiles("new.csv")[:, 1], y.mean())


def test_a_prefiltered_table(here):
    """All samples train; the page and predictions of new samples have no tests."""
    table = drawn(30, p=300, noise=2)
    y = table.pop("dose")
    best = table.corrwith(y).abs().nlargest(10).index
    path = written(
        here,
        table[best].assign(dose=y),
        selection={"features": ["all"], "screened": {"of": 300}},
        model={"methods": ["corrected"], "temperature": ["none", "residual"]},
    )
    config = yaml.safe_load(path.read_text())
    del config["evaluation"]
    path.write_text(yaml.safe_dump(config))
    run("run", path, "--jobs", 0)
    fit = arrays(here / "results/mine/fit/0000.npz")
    assert (fit["promised"] > 0).all()  # root mean squared errors
    table[best].head(4).to_csv(here / "new.csv", index=False)
    done = invoke("predict", path, "--new", "new.csv", "--jobs", 0)
    frame = pd.read_csv(io.StringIO(done.stdout))
    assert "corrected" in frame["method"][0]
    assert (frame["5%"] < frame["95%"]).all()
    # samples that took part in the filtering are as extreme as new ones are imitated to be
    assert frame["unlike"].notna().all()


@pytest.mark.skipif(not GIVEN.is_dir(), reason="the tables are not in THESISKIT_DATA_DIR")
def test_nutrimouse(here):
    """A published table: the best method of a first look is better than no features."""
    table = pd.read_csv(GIVEN / "nutrimouse.csv.gz")
    table.to_csv("mouse.csv", index=False)
    run("init", "mouse.csv", "--response", table.columns[0], "--output", "mouse.yaml")
    run("run", "mouse.yaml", "--quick", "--jobs", 0)
    found = predictions("results/my-mouse-quick")
    best = found.log_density.mean(axis=1).max()
    y = table.iloc[:, 0].to_numpy()
    base = Density.of_students(guess(y).repeat(len(y), axis=0)).log_density(y).mean()
    assert best > base + 0.2


def test_configs_may_ask_for_all_third_party_methods():
    assert {*WITH_REALS} == {*names(NUMBERS)}


def test_bad_options_of_the_command_line(here):
    path = written(here, drawn())
    must_fail(invoke("run", path, "--set", "model.methods=[corrected, gaussian-nb]"),
              "gaussian-nb is for classes. Fix: choose from", "ridge")  # fmt: skip
