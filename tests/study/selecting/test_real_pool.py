"""The pool of a real response, from a table to new samples."""

import numpy as np
import pandas as pd
import yaml
from commands import arrays, run

import thesiskit
from thesiskit.models import pool
from thesiskit.models.density import Density

CONFIG = {
    "experiment": "mine",
    "title": "Mine",
    "about": "A table.",
    "data": {"source": "file", "path": "t.csv", "response": "dose"},
    "evaluation": {"folds": 5},
    "selection": {"features": ["all"]},
    "model": {"kind": "pool", "response": "gaussian", "methods": ["corrected", "pls"]},
    "report": {"parts": ["methods", "pool-features"]},
}


def drawn(n, seed):
    """Return samples whose dose is 30 + 4 g0 - 3 g1 and noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 12))
    y = 30 + 4 * X[:, 0] - 3 * X[:, 1] + 0.5 * rng.normal(size=n)
    return pd.DataFrame(X, columns=[f"g{j}" for j in range(12)]).assign(dose=y)


def test_from_a_table_to_new_samples(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    drawn(60, 1).to_csv("t.csv", index=False)
    new = drawn(200, 2)
    new.drop(columns="dose").to_csv("new.csv", index=False)
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(CONFIG))
    run("run", "mine.yaml", "--jobs", 0)

    effects = pd.read_csv("results/mine/tables/pool-features.csv").set_index("feature")
    assert list(effects.index[:2]) == ["g0", "g1"]
    np.testing.assert_allclose(effects["effect: mean"][:2], [4, -3], rtol=0.15)
    assert (effects["effect: lowest"] <= effects["effect: highest"]).all()
    stored = arrays("results/mine/predict/0000.npz")
    assert (stored["crps"].mean(axis=1) < 1).all()
    assert (stored["log_density"].mean(axis=1) > -1.5).all()  # of about -3 without features

    run("export", "mine.yaml", "mine.model", "--jobs", 0, "--set", "model.methods=[corrected]")
    quantiles = thesiskit.load_model("mine.model").predict_quantiles("new.csv")
    inside = (quantiles[:, 0] < new["dose"]) & (new["dose"] < quantiles[:, 2])
    assert 0.7 < inside.mean() < 0.99
    training = drawn(60, 1)
    X, y = training.drop(columns="dose").to_numpy(), training["dose"].to_numpy()
    fit = pool.fit(X, y, np.random.default_rng(0))  # in other folds
    density = Density.of_students(pool.components(fit, new.drop(columns="dose").to_numpy()))
    np.testing.assert_allclose(quantiles[:, 1], density.quantile(0.5), atol=0.3)
