"""The table of results over hidden Markov models that agree with the thesis's text."""

from types import SimpleNamespace

import numpy as np
import pytest

from thesiskit.models.peers import Method
from thesiskit.report.orders import reconstruction_table
from thesiskit.report.record import Record

ORDERS = (1, 5, 20)
LIKELY = {1: 0.6, 5: 0.9, 20: 0.8}  # probability of the actual class, where the model is right


def made_up(tmp_path, groups, rng):
    """A record of two models with one data set each; order 20 is always right in the second."""
    n = 400
    y = np.tile([0, 1], n)
    wrong = {order: rng.random(2 * n) < 0.2 for order in ORDERS}
    wrong[20][n:] = False
    methods = [Method(i, order=o, prior="cauchy", compress=True, engine="slice", scale="log")
            for i, o in enumerate(ORDERS)]  # fmt: skip
    probability = []
    for order in ORDERS:
        p = np.where(wrong[order], 1 - LIKELY[order], LIKELY[order])
        probability.append(np.stack([np.where(y == k, p, 1 - p) for k in (0, 1)], axis=1))
    config = {
        "model": {"kind": "logistic", "sigma_scale": ["log"]},
        "scheme": "test-set",
        "data": {"arrows": [[2, 1], [1, 2]]},
    }
    record = Record(SimpleNamespace(), 2, config)
    record.results.load = lambda stage, block: {
        "order": np.array([20, 1, 5]), "groups": np.array([groups[block], 2, 3]),
        "patterns": np.array([100, 2, 4]),
    }  # fmt: skip
    record.__dict__ |= {"methods": methods, "own": methods}
    record.__dict__["prediction_arrays"] = {"probability": np.array(probability)}
    record.__dict__["response"] = y
    return record, wrong


def test_means_ends_and_counts(tmp_path, rng):
    record, wrong = made_up(tmp_path, (10, 30), rng)
    together, each = (table.frame for table in reconstruction_table(record))
    rows = together.set_index("result")
    ratio = rows.loc["groups / patterns, order 20"]
    assert ratio[["mean", "least", "most", "thesis"]].tolist() == [0.2, 0.1, 0.3, 0.207]
    assert rows["thesis"].notna().sum() == 1
    rates = np.array([wrong[5][:400].mean(), wrong[5][400:].mean()])
    found = rows.loc["Cauchy, error rate, order 5", ["mean", "least", "most"]].tolist()
    assert found == pytest.approx([rates.mean(), rates.min(), rates.max()])
    losses = [-np.log(np.where(wrong[o], 1 - LIKELY[o], LIKELY[o])) for o in ORDERS]
    difference = (losses[2] - losses[1]).reshape(2, -1).mean(axis=1)
    row = rows.loc["Cauchy, log loss, order 20 - 5"]
    assert row[["least", "most"]].tolist() == pytest.approx(sorted(difference))
    # order 20 has fewer errors in the second model; in the first the rates are equal by chance
    row = rows.loc["Cauchy, error rate, order 20 - 5"]
    assert (row["models: < 0"], row["> 0"]) == (1, 0)
    assert each["arrows from 1, 2, ..."].tolist() == ["2 1", "1 2"]
    assert each["Cauchy, error rate, order 20"].tolist() == [wrong[20][:400].mean(), 0]


def test_the_thesis_prints_the_ratio_of_order_20_alone(tmp_path, rng):
    record, _ = made_up(tmp_path, (10, 30), rng)
    record.__dict__["own"] = record.methods[:2]
    rows = reconstruction_table(record)[0].frame
    assert "thesis" not in rows
    assert rows["result"][0] == "groups / patterns, order 5"
