"""Experiments with discrete features, from config to page, and their command line."""

import numpy as np
import pandas as pd
import pytest
from commands import arrays, run

from thesiskit.config import load_config
from thesiskit.files import read_draws
from thesiskit.study.patterns import DividedSamples, PatternDesign

CONFIG = """
experiment: mine
title: Mine
about: A table of my own.
data: { source: table, path: mine.csv, response: status, ignore: [id] }
evaluation: { folds: 3 }
model:
  kind: logistic
  orders: [1, 2]
  priors: [cauchy, gaussian]
  iterations: 300
  burn_in: 100
  peers: [naive-bayes]
report:
  order: 2
  traced: ["form=round, size=small:yes"]
  parts: [methods, coefficients, parameters, orders, chain-table, median-scatter,
          autocorrelation-figure]
"""


@pytest.fixture
def config(tmp_path):
    rng = np.random.default_rng(3)
    size = rng.choice(["small", "large"], 60)
    form = rng.choice(["round", "square", "?"], 60)
    colour = rng.choice(["red", "green", "blue"], 60)
    round_and_small = (size == "small") & (form == "round")
    status = np.where(round_and_small ^ (rng.random(60) < 0.1), "yes", "no")
    frame = {"id": range(60), "size": size, "form": form, "colour": colour, "status": status}
    pd.DataFrame(frame).to_csv(tmp_path / "mine.csv", index=False)
    path = tmp_path / "mine.yaml"
    path.write_text(CONFIG)
    return path


def test_the_faults_of_a_table_are_those_of_the_table(config, tmp_path):
    table = tmp_path / "mine.csv"
    table.write_text(table.read_text() + "60,small,round,red\n")
    text = run("run", config, "--results", tmp_path / "r", code=2)
    assert "mine.csv: line 62 has 4 cells, the line of names 5" in text
    assert "model.orders" not in text


def test_a_table_of_ones_own(config, tmp_path):
    results = tmp_path / "r"
    text = run("run", config, "--results", results)
    assert "40 training and 20 test samples, 3 features of 2 to 3 values, 2 classes" in text
    folder = results / "mine"
    blocks = [arrays(folder / f"predict/{fold:04d}.npz") for fold in range(3)]
    assert sum(len(block["response"]) for block in blocks) == 60
    for block in blocks:
        assert np.allclose(block["probability"].sum(axis=2), 1)
    models = pd.read_csv(folder / "tables/methods.csv")
    assert {"Naive Bayes", "Class frequencies", "Cauchy, compressed, order 2"} <= set(
        models["method"]
    )
    largest = pd.read_csv(folder / "tables/coefficients.csv")
    assert largest["pattern"][0] in ("form=round, size=small", "size=small, form=round")
    assert "form=round, size=small:yes" in (folder / "report.html").read_text()
    assert "already done" in run("run", config, "--results", results)


def test_folds_are_one_partition_with_equal_rows_together(config):
    design = PatternDesign(load_config(config, settings=("replicates=2",)), config.parent)
    assert design.config.divisions == 6
    seen = []
    for division in range(6):
        samples: DividedSamples = design.samples(division)
        train = {row.tobytes() for row in samples.train}
        assert not train & {row.tobytes() for row in samples.test}
        seen.append(len(samples.test))
    assert sum(seen[:3]) == sum(seen[3:]) == 60
    again = PatternDesign(load_config(config, settings=("replicates=2",)), config.parent)
    assert np.array_equal(again.samples(4).test, design.samples(4).test)
    assert not np.array_equal(design.samples(1).test, design.samples(4).test)


def test_groups_are_listed(config, tmp_path):
    text = run("compress", config, "--results", tmp_path / "r", "--list", "2",
               "--pattern", "size=small, form=round")  # fmt: skip
    lines = text.splitlines()
    assert lines[-3] == "(any): 1 pattern, 40 training samples"
    assert "form=round" in lines[-1]
    assert "training samples" in lines[-1]
    text = run("compress", config, "--results", tmp_path / "r", "--pattern", "size=huge", code=2)
    assert "size has no value 'huge'; it has 'large', 'small'" in text
    text = run("compress", config, "--results", tmp_path / "r", "--pattern",
               "size=small, size=large", code=2)  # fmt: skip
    assert "size occurs twice" in text


def test_unseen_values_and_missing_ones_in_a_test_table(config, tmp_path):
    table = pd.read_csv(tmp_path / "mine.csv", keep_default_na=False)
    test = table.head(6).copy()
    test.loc[0, "colour"] = "violet"
    test.loc[1, "size"] = "?"
    test.to_csv(tmp_path / "test.csv", index=False)
    run("run", config, "--results", tmp_path / "r", "--set", "data.test_path=test.csv",
        "--set", "report.parts=[orders]", "--set", "report.traced=[]")  # fmt: skip
    block = arrays(tmp_path / "r/mine/predict/0000.npz")
    assert block["probability"].shape == (5, 6, 2)
    assert np.isfinite(block["probability"]).all()
    simulated = arrays(tmp_path / "r/mine/simulate/0000.npz")
    assert int(simulated["train_cases"]) == 60


def test_stored_chains_go_on(config, tmp_path):
    settings = ["--set", "evaluation.folds=2"]
    for results, iterations in (("a", 300), ("a", 360), ("b", 360)):
        for stage in ("simulate", "compress", "fit-logistic"):
            run(stage, config, "--results", tmp_path / results, *settings,
                "--set", f"model.iterations={iterations}")  # fmt: skip
    a, b = (read_draws(tmp_path / f"{r}/mine/fit/0000-2-cauchy-compressed.nc") for r in "ab")
    assert int(a["done"]) == 360
    assert np.array_equal(a["log_sigma"], b["log_sigma"])


def test_chains_of_other_patterns_are_made_again(config, tmp_path):
    shapes = []
    for least in (1, 8):
        for stage in ("simulate", "compress", "fit-logistic"):
            run(stage, config, "--results", tmp_path, "--set", f"model.min_cases={least}",
                "--set", "report.traced=[]")  # fmt: skip
        found = read_draws(tmp_path / "mine/fit/0000-2-cauchy-compressed.nc")
        shapes.append(found["coefficient"].shape[-1])
    assert shapes[1] < shapes[0]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (("model.orders=[4]",), "model.orders: order 4 is above the number of features, 3"),
        (("model.peers=[n-gram]",), "unknown third-party method 'n-gram' for "
                                    "features. Fix: choose from logistic"),
        (("evaluation.scheme=holdout",), "these data are divided by k-fold. Fix: remove it"),
        (("evaluation.feature_groups=2",), "a logistic model uses all features"),
        (("evaluation.folds=61",), "evaluation.folds"),
        (("data.response=nothing",), "nothing"),
        (("data.path=none.csv",), "none.csv"),
        (("model.min_samples=100",), "model.min_samples: there are 40 training samples"),
        (("report.traced=['size=huge:yes']",), "size has no value 'huge'"),
        (("report.traced=['size=small:perhaps']",), "there is no class 'perhaps'"),
        (("data={source: tic-tac-toe, size: 3}",), "size"),
        (("data={source: interactions, features: 2, values: 2, sigma: [1, 1, 1, 1], train: 9, "
          "test: 9}",), "sigma has widths up to order 3, but there are 2 features"),
        (("model={kind: naive-bayes}",), "or give model.kind: logistic"),
    ],
)  # fmt: skip
def test_mistakes_are_told(config, tmp_path, settings, words):
    more = [part for one in settings for part in ("--set", one)]
    text = run("run", config, "--results", tmp_path / "r", *more, code=2)
    assert words in text
    assert len(text.splitlines()) <= 3


def test_orders_above_what_a_text_has_name_no_features(config):
    text = run("run", config, "--set", "data={source: text, history: 3, train: 9}", "--set",
               "model.orders=[4]", "--set", "model.peers=[]", "--set", "evaluation={}",
               code=2)  # fmt: skip
    assert "above the length of the histories, 3" in text


def test_real_values_are_refused(config, tmp_path):
    table = pd.read_csv(tmp_path / "mine.csv")
    table["weight"] = np.linspace(0, 1, len(table)) + 0.01
    table.to_csv(tmp_path / "mine.csv", index=False)
    text = run("run", config, "--results", tmp_path / "r", code=2)
    assert "KBinsDiscretizer" in text
    assert "weight" in text


def test_order_0_is_the_base_rate(config, tmp_path):
    run("run", config, "--results", tmp_path, "--set", "model.orders=[0]",
        "--set", "report.parts=[orders]", "--set", "report.traced=[]",
        "--set", "report.order=0", "--set", "model.iterations=3000")  # fmt: skip
    block = arrays(tmp_path / "mine/predict/0000.npz")
    rate = block["train_response"].mean()
    assert np.abs(block["probability"][0, :, 1] - rate).max() < 0.05


def test_odd_columns_and_a_class_that_a_fold_lacks(config, tmp_path):
    """One value, all missing, one sample of a third class: what cannot be learnt is the prior's."""
    table = pd.read_csv(tmp_path / "mine.csv", keep_default_na=False)
    table["same"], table["nothing"] = "a", "?"
    table.loc[5, "status"] = "perhaps"
    table.to_csv(tmp_path / "mine.csv", index=False)
    run("run", config, "--results", tmp_path / "r", "--set", "report.traced=[]",
        "--set", "report.parts=[methods, orders]")  # fmt: skip
    for fold in range(3):
        block = arrays(tmp_path / f"r/mine/predict/{fold:04d}.npz")
        assert block["probability"].shape[2] == 3
        assert np.isfinite(block["probability"]).all()
        assert (block["probability"] > 0).all()
        if 1 in block["response"]:
            assert 1 not in block["train_response"]
