"""Experiments with real responses, from config to page."""

import re

import numpy as np
import pandas as pd
import pytest
from commands import run
from scipy import stats

from thesiskit.config import load_config
from thesiskit.datasets.features import draw_interactions, read_features
from thesiskit.errors import DataError
from thesiskit.files import read_draws
from thesiskit.models.density import SCORED
from thesiskit.models.logistic import Response
from thesiskit.study.patterns import PatternDesign, folds

CONFIG = """
experiment: mine
title: Mine
about: A table of my own.
data: { source: table, path: mine.csv, response: weight, ignore: [id] }
evaluation: { folds: 3 }
model:
  kind: logistic
  response: gaussian
  orders: [1, 2]
  iterations: 400
  burn_in: 100
report:
  parts: [methods]
"""
UNIT, ORIGIN = 4.0, 1000.0


def real_table():
    """48 samples; the responses are multiples of 1/64, so that sums of them are exact."""
    rng = np.random.default_rng(3)
    size = rng.choice(["small", "large"], 48)
    form = rng.choice(["round", "square", "?"], 48)
    colour = rng.choice(["red", "green", "blue"], 48)
    weight = 3.0 * ((size == "small") & (form == "round")) + (colour == "red")
    weight = np.round(64 * (weight + 0.3 * rng.standard_normal(48))) / 64
    return pd.DataFrame(
        {"id": range(48), "size": size, "form": form, "colour": colour, "weight": weight}
    )


@pytest.fixture
def config(tmp_path):
    real_table().to_csv(tmp_path / "mine.csv", index=False)
    path = tmp_path / "mine.yaml"
    path.write_text(CONFIG)
    return path


def arrays(path):
    with np.load(path) as found:
        return dict(found)


def test_a_table_of_ones_own(config, tmp_path):
    results = tmp_path / "r"
    arguments = (
        "run", config, "--results", results, "--set", "model.priors=[cauchy, gaussian]",
        "--set", "model.peers=[ridge, random-forest]",
        "--set", "report.traced=['form=round, size=small']",
        "--set", "report.parts=[methods, coefficients, chain-table, parameters, "
        "median-scatter, autocorrelation-figure]",
    )  # fmt: skip
    text = run(*arguments)
    weight = real_table()["weight"]
    assert "32 training and 16 test samples, 3 features of 2 to 3 values, response from " in text
    assert f"from {weight.min():.4g} to {weight.max():.4g}" in text
    assert re.search(r"predict: .*\d methods, lowest negative log density \d", text)
    folder = results / "mine"
    blocks = [arrays(folder / f"predict/{fold:04d}.npz") for fold in range(3)]
    y = np.concatenate([block["response"] for block in blocks])
    assert np.array_equal(np.sort(y), np.sort(weight))
    found = {name: np.concatenate([block[name] for block in blocks], axis=1) for name in SCORED}
    own = blocks[0]["prior"] != "none"
    assert list(own) == [True] * 4 + [False] * 2
    assert (found["low"] < found["median"]).all()
    assert (found["median"] < found["high"]).all()
    cauchy = blocks[0]["prior"] == "cauchy"  # which leaves no mean
    for name in SCORED:
        unknown = cauchy if name in ("mean", "sd") else np.zeros(6, dtype=bool)
        assert (np.isnan(found[name]) == unknown[:, None]).all()
    table = pd.read_csv(folder / "tables/methods.csv").set_index("method")
    assert {"Ridge", "Random forest", "No features"} <= set(table.index)
    row = table.loc["Cauchy, compressed, order 2"]
    place = list(blocks[0]["name"]).index("2-cauchy-compressed")
    wrong = y - found["median"][place]
    assert np.isclose(row["RMSE"], np.sqrt((wrong**2).mean()))
    assert np.isclose(row["negative log density"], -found["log_density"][place].mean())
    outside = (y < found["low"][place]) | (found["high"][place] < y)
    assert row["coverage of 90%"] == 1 - outside.mean()
    mean = np.concatenate([np.full(16, block["train_response"].mean()) for block in blocks])
    assert np.isclose(table["RMSE"]["No features"], np.sqrt(((y - mean) ** 2).mean()))
    assert row["RMSE"] < 0.5 * table["RMSE"]["No features"]
    largest = pd.read_csv(folder / "tables/coefficients.csv")
    assert "class" not in largest
    assert largest["pattern"][0] in ("form=round, size=small", "size=small, form=round")
    assert pd.read_csv(folder / "tables/sampler.csv")["R-hat: log noise"].notna().all()
    assert {path.stem for path in (folder / "figures").glob("*.png")} == {
        "forest", "strip", "pit", "residuals", "parameters", "medians", "autocorrelations", "traces"
    }  # fmt: skip
    assert "already done" in run(*arguments)


def test_units_of_the_response_do_not_matter(config, tmp_path):
    """Shifted and scaled exactly: the chains are the same, predictions shift and scale."""
    table = real_table()
    for name, change in (("a", lambda y: y), ("b", lambda y: ORIGIN + UNIT * y)):
        for file, rows in (("mine.csv", table.head(32)), ("test.csv", table.tail(16))):
            rows.assign(weight=change(rows["weight"])).to_csv(tmp_path / file, index=False)
        run("run", config, "--results", tmp_path / name, "--set", "data.test_path=test.csv",
            "--set", "model.peers=[ridge]",
            "--set", "report.parts=[coefficients]")  # fmt: skip
    a, b = (arrays(tmp_path / f"{name}/mine/predict/0000.npz") for name in "ab")
    for name in ("median", "low", "high", "mean"):
        assert np.allclose(b[name], ORIGIN + UNIT * a[name], rtol=1e-9, equal_nan=True)
    assert np.allclose(b["log_density"], a["log_density"] - np.log(UNIT), equal_nan=True)
    for name in ("sd", "crps"):
        assert np.allclose(b[name], UNIT * a[name], equal_nan=True)
    assert np.allclose(b["pit"], a["pit"], atol=1e-7)
    one, other = (
        read_draws(tmp_path / f"{name}/mine/fit/0000-2-cauchy-compressed.nc") for name in "ab"
    )
    assert np.array_equal(one["coefficient"], other["coefficient"])
    assert np.array_equal(one["log_noise"], other["log_noise"])
    assert other["response_unit"] == UNIT * one["response_unit"]
    assert other["response_mean"] == ORIGIN + UNIT * one["response_mean"]
    medians = [pd.read_csv(tmp_path / f"{n}/mine/tables/coefficients.csv")["median"] for n in "ab"]
    assert np.allclose(medians[1], UNIT * medians[0])
    assert np.isclose(
        medians[0].abs()[0],
        one["response_unit"] * np.abs(np.median(one["coefficient"], axis=(0, 1)))[0, 1:].max(),
    )


def test_the_log_density_is_that_of_the_mixture():
    rng = np.random.default_rng(1)
    linear, noise, y = rng.normal(size=(30, 4)), rng.uniform(0.5, 2, 30), rng.normal(size=5)
    sample_of = np.array([3, 0, 1, 2, 3])
    density = stats.norm.pdf(y, linear[:, sample_of], noise[:, None]).mean(axis=0)
    assert np.allclose(Response(linear, noise, sample_of).log_density(y), np.log(density))
    far = Response(linear, noise, sample_of).log_density(y + 1e4)
    assert np.isfinite(far).all()


def test_scores_of_draws_are_those_of_their_mixture():
    """A few draws are far away, as Cauchy priors have them; CRPS is checked by integration."""
    rng = np.random.default_rng(1)
    linear, noise = rng.normal(size=(200, 3)), rng.uniform(0.5, 2, 200)
    linear[[3, 70, 120], 1] = [30, -90, 1e3]
    sample_of, y = np.array([2, 0, 1, 1]), np.array([3.0, 0.2, -1.5, 50.0])
    response = Response(linear, noise, sample_of)
    scores = response.scores(y)
    assert set(scores) == set(SCORED)
    z = (y - response.linear) / noise[:, None]
    assert scores["pit"] == pytest.approx(stats.norm.cdf(z).mean(axis=0))
    assert scores["mean"] == pytest.approx(response.linear.mean(axis=0))
    draws = response.linear + noise[:, None] * rng.normal(size=(500, 200, 4))
    assert scores["sd"][:2] == pytest.approx(draws[..., :2].std(axis=(0, 1)), rel=0.02)
    x = 1200 / np.sinh(9) * np.sinh(np.linspace(-9, 9, 60_001))  # dense where most draws are
    for t, j in enumerate(sample_of):
        below = np.zeros(len(x))
        for centre, width in zip(linear[:, j], noise, strict=True):
            below += stats.norm.cdf(x, centre, width) / len(noise)
        crps = np.trapezoid((below - (x >= y[t])) ** 2, x)
        assert scores["crps"][t] == pytest.approx(crps, rel=0.03)


def test_stored_chains_go_on(config, tmp_path):
    settings = ["--set", "evaluation.folds=2", "--set", "model.burn_in=20"]
    for results, iterations in (("a", 60), ("a", 90), ("b", 90)):
        for stage in ("simulate", "compress", "fit-logistic"):
            run(stage, config, "--results", tmp_path / results, *settings,
                "--set", f"model.iterations={iterations}")  # fmt: skip
    a, b = (read_draws(tmp_path / f"{r}/mine/fit/0000-2-cauchy-compressed.nc") for r in "ab")
    assert int(a["done"]) == 90
    for name in ("log_sigma", "log_noise", "log_noise_trace", "coefficient"):
        assert np.array_equal(a[name], b[name])


def test_folds_of_real_responses_are_even_and_keep_equal_rows_together():
    rng = np.random.default_rng(2)
    X = np.repeat(np.arange(12)[:, None], 3, axis=0).astype(np.int16)
    fold = folds(X, rng.standard_normal(36), 4, rng)
    assert (fold.reshape(12, 3) == fold[::3, None]).all()
    assert np.array_equal(np.bincount(fold), [9, 9, 9, 9])


def test_interactions_have_the_noise_asked_for(tmp_path):
    sizes = {"features": 4, "values": 3, "order": 2, "samples": 4000, "train": 9}
    drawn = [
        draw_interactions(
            np.random.default_rng(7), sigma=np.array([1, 1, 0.5]), noise=noise, **sizes
        )
        for noise in (0.5, 2.0)
    ]
    (a, truth), (b, other) = drawn
    assert np.array_equal(truth, other)
    assert np.array_equal(a.X, b.X)
    for (table, known), noise in zip(drawn, (0.5, 2.0), strict=True):
        rest = table.response - known
        assert abs(rest.std() / noise - 1) < 5 / np.sqrt(2 * 4000)
        assert abs(rest.mean()) < 5 * noise / np.sqrt(4000)
    assert a.classes == []
    assert a.digest != b.digest


def test_the_kind_of_response_leaves_the_features_alone(tmp_path):
    text = """
experiment: mine
title: Mine
about: Drawn.
data: { source: interactions, features: 3, values: 2, sigma: [1, 1], train: 20, test: 9 }
model: { kind: logistic, orders: [1] }
report: { parts: [parameters] }
"""
    path = tmp_path / "c.yaml"
    path.write_text(text)
    a, b, c = (
        PatternDesign(load_config(path, settings=settings), tmp_path).samples(0)
        for settings in (
            (), ("model.response=gaussian",), ("model.response=gaussian", "data.noise=3.0")
        )
    )  # fmt: skip
    assert np.array_equal(a.train, b.train)
    assert np.array_equal(b.train, c.train)
    assert a.train_response.dtype.kind == "i"
    assert b.train_response.dtype.kind == "f"
    assert not np.array_equal(b.train_response, c.train_response)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (("model.split_draws=exact",), "model.split_draws was removed. Fix: remove it"),
        (("model.peers=[naive-bayes]",),
         "unknown third-party method 'naive-bayes' for real responses. Fix: choose from ridge"),
        (("model.response=poisson",), "model.response"),
        (("data={source: tic-tac-toe}",),
         "gaussian needs data.source: interactions or table; tic-tac-toe has classes"),
        (("data={source: text, history: 3, train: 9}", "evaluation={}"), "text has classes"),
        (("data={source: interactions, features: 2, values: 2, sigma: [1], noise: 3, train: 9, "
          "test: 9}", "model.response=classes"), "data.noise: is for model.response: gaussian"),
        (("data.response=colour", "data.ignore=[weight]"),
         "mine.csv: the response 'colour' is 'blue' in line 2, which is not a number"),
        (("report.parts=[orders]",), "orders needs classes"),
        (("report.parts=[statement-table]",), "statement-table needs classes"),
        (("report.parts=[order-figure]",), "order-figure was removed. Fix: use orders"),
        (("report.traced=['size=huge']",), "size has no value 'huge'"),
        (("evaluation.folds=99",), "evaluation.folds"),
    ],
)  # fmt: skip
def test_mistakes_are_told(config, tmp_path, settings, words):
    table = real_table()
    table.loc[0, "colour"] = "blue"
    table.to_csv(tmp_path / "mine.csv", index=False)
    more = [part for one in settings for part in ("--set", one)]
    text = run("run", config, "--results", tmp_path / "r", *more, code=2)
    assert words in text
    assert len(text.splitlines()) <= 3


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("high", "is 'high' in line 3, which is not a number"),
        ("1,5", "is '1,5' in line 3"),
        ("1e999", "is '1e999' in line 3"),
        ("inf", "is 'inf' in line 3"),
    ],
)
def test_responses_that_are_no_numbers(tmp_path, cell, words):
    path = tmp_path / "t.csv"
    path.write_text(f'x,y\na,1.5\nb,"{cell}"\na,-2e3\n')
    with pytest.raises(DataError, match=words):
        read_features(path, "y", continuous=True)


def test_constant_responses(config, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,y\na,1.5\nb,1.50\n")
    with pytest.raises(
        DataError, match=r"'y' is 1\.5 in all samples. Fix: choose another response"
    ):
        read_features(path, "y", continuous=True)
    path.write_text("x,y\na,1.5\nb,2\na,0\n")
    train = read_features(path, "y", continuous=True)
    assert np.array_equal(train.response, [1.5, 2, 0])
    path.write_text("x,y\na,7\nc,7\n")
    test = read_features(path, "y", like=train, continuous=True)
    assert np.array_equal(test.response, [7, 7])
    table = real_table()
    table["weight"] = 2.5
    table.loc[5, "weight"] = 3
    table.to_csv(tmp_path / "mine.csv", index=False)
    design = PatternDesign(load_config(config), tmp_path)
    told = 0
    for division in range(3):
        try:
            design.samples(division)
        except DataError as error:
            told += "training samples have the response 2.5. Fix: choose another response" in str(
                error
            )
    assert told == 1


def test_a_real_response_is_offered_its_model(config, tmp_path):
    text = run("run", config, "--results", tmp_path / "r", "--set", "model.response=classes",
               "--set", "report.parts=[methods]", code=2)  # fmt: skip
    assert "model.response: gaussian" in text
