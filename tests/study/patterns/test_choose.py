"""The method of a model of patterns that is chosen inside the training samples of each division."""

from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest

from thesiskit.config import load_config
from thesiskit.files import Results
from thesiskit.models import peers
from thesiskit.report.layout import prose
from thesiskit.report.summary import opening_facts
from thesiskit.study.experiment import Experiment

CONFIG = """
experiment: chosen
title: Chosen
about: "A test."
data: {source: table, path: t.csv, response: y, HOW}
evaluation: {SCHEME}
model: {kind: logistic, orders: [1, 2], priors: [gaussian], iterations: 60, burn_in: 20, thin: 1,
        chains: 1, peers: [logistic-regression]}
report: {parts: [summary]}
"""


@pytest.fixture(autouse=True)
def _few_penalties(monkeypatch):
    """Choosing the penalty of logistic regression takes most of the time."""
    monkeypatch.setattr(peers, "CS", np.array([0.01, 1.0]))


def made(folder, how="", scheme="folds: 3, choose: true"):
    folder.mkdir(exist_ok=True)
    text = CONFIG.replace(", HOW", f", {how}" if how else "").replace("SCHEME", scheme)
    (folder / "c.yaml").write_text(text)
    one = Experiment(load_config(folder / "c.yaml"), Results(folder / "r", "chosen"), folder)
    for stage in one.stages:
        one.run(stage, watch=lambda cells, *_: cells)
    return one


def table(rng, n=150):
    """The response is whether two features are equal, nearly; three others say nothing."""
    X = rng.integers(0, 3, (n, 5))
    frame = pd.DataFrame(X, columns=list("abcde"))
    frame["y"] = (X[:, 0] == X[:, 1]) ^ (rng.random(n) < 0.05)
    return frame


def test_interactions_are_chosen_where_there_are_some_and_nothing_where_not(tmp_path):
    rng = np.random.default_rng(1)
    table(rng).to_csv(tmp_path / "t.csv", index=False)
    record = made(tmp_path).record()
    score, chosen = record.choice
    (second,) = [method.row for method in record.methods if method.own and method.order == 2]
    assert set(chosen) == {second}
    assert score.log_loss == pytest.approx(record.scores[second].log_loss)
    assert "repeats the choice of the method in each fold" in prose(
        "recommended", x=opening_facts(record)
    )

    frame = table(rng)
    frame["y"] = rng.permutation(frame["y"].to_numpy())
    (tmp_path / "noise").mkdir()
    frame.to_csv(tmp_path / "noise" / "t.csv", index=False)
    record = made(tmp_path / "noise").record()
    assert record.choice[0].log_loss < np.log(2) + 0.03
    assert -1 in record.choice[1]


def test_models_of_a_real_response_are_chosen_too(tmp_path):
    rng = np.random.default_rng(4)
    frame = table(rng)
    frame["y"] = (3.0 * frame["y"] + 0.3 * rng.normal(size=150)).round(3)
    frame.to_csv(tmp_path / "t.csv", index=False)
    text = CONFIG.replace("logistic-regression", "ridge")
    with patch(f"{__name__}.CONFIG", text.replace("logistic,", "logistic, response: gaussian,")):
        record = made(tmp_path).record()
        (tmp_path / "noise").mkdir()
        frame["y"] = rng.permutation(frame["y"].to_numpy())
        frame.to_csv(tmp_path / "noise" / "t.csv", index=False)
        noise = made(tmp_path / "noise").record()
    score, chosen = record.choice
    (second,) = [method.row for method in record.methods if method.own and method.order == 2]
    assert set(chosen) == {second}
    assert record.recommended(range(3)) == second
    assert score.r2 > 0.4
    assert -1 in noise.choice[1]
    assert noise.choice[0].log_loss < noise.base.log_loss + 0.05


def test_the_samples_that_are_tested_choose_nothing(tmp_path):
    """Their responses are exchanged, and methods are judged as before."""
    rng = np.random.default_rng(2)
    frame, tests = table(rng), table(rng, 30)
    judged = []
    for name, new in (("a", tests), ("b", tests.assign(y=~tests.y))):
        (tmp_path / name).mkdir()
        frame.to_csv(tmp_path / name / "t.csv", index=False)
        new.to_csv(tmp_path / name / "u.csv", index=False)
        record = made(tmp_path / name, "test_path: u.csv", "choose: true").record()
        judged.append(record.prediction_arrays["inner_losses"])
        assert record.choice is not None
    assert judged[0].shape == (1, 3, 3)
    np.testing.assert_array_equal(*judged)


def test_without_a_choice_the_page_says_that_the_best_was_chosen_on_these_samples(tmp_path):
    table(np.random.default_rng(3)).to_csv(tmp_path / "t.csv", index=False)
    record = made(tmp_path, scheme="folds: 2").record()
    assert record.choice is None
    assert "chosen on the same samples" in prose("recommended", x=opening_facts(record))
