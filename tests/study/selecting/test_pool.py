"""The pool in experiments: as a model, and beside the normal one."""

import numpy as np
import pandas as pd
import pytest
from commands import arrays, invoke
from real_tables import OWN, TESTED, made, write
from small import opened

from thesiskit.errors import ConfigError
from thesiskit.models import pool
from thesiskit.study.cells import generator
from thesiskit.study.design import Design

WHOLE = TESTED | {
    "model": {"kind": "pool"},
    "selection": {"features": ["all"]},
}


def test_an_experiment_has_the_predictions_of_the_pool(tmp_path):
    found, _ = made(tmp_path, WHOLE)
    predicted = found["predict"]
    assert predicted["method"].tolist() == ["complete"]
    experiment = opened(tmp_path / "small.yaml", tmp_path / "results")
    tables = Design(experiment.config, tmp_path).tables
    rng = generator(experiment.config.seed, "chain", 0, 0, 0, "all", "complete", "exact", 0)
    X, new = (one.features[:, found["select"]["selected"]] for one in tables)
    learnt = pool.fit(X, tables[0].response, rng)
    p = np.exp(pool.log_probability(learnt, new))
    np.testing.assert_allclose(predicted["probability"][0][: len(new)], p, atol=1e-12)


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    X = np.repeat(rng.normal(size=(40, 4)) + 1.2 * y[:, None], 5, axis=1)
    frame = pd.DataFrame(X + rng.normal(0, 0.5, X.shape), columns=[f"g{j}" for j in range(20)])
    frame["tissue"] = np.array(["well", "sick"])[y]
    frame.iloc[3, 2] = np.nan
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.drop(columns="tissue").head(6).to_csv(tmp_path / "new.csv", index=False)
    return frame


@pytest.mark.parametrize("positive", ["sick", None])
def test_a_page_has_the_effects_of_features(tmp_path, table, positive):
    """They are those of pools that are fitted anew."""
    if positive is None:  # three classes
        table["tissue"] = np.array(["a", "b", "c"])[np.arange(40) % 3]
        table.to_csv(tmp_path / "t.csv", index=False)
    data = OWN["data"] | ({"positive": positive} if positive else {})
    parts = {"report": {"parts": ["methods"]}}  # tables of one's own have it unasked
    path = write(tmp_path, OWN, model={"kind": "pool"}, data=data,
                 selection={"features": ["all"]}, **parts)  # fmt: skip
    results = tmp_path / "results"
    assert invoke("run", path, "--results", results, "--jobs", 0).exit_code == 0
    found = pd.read_csv(results / "small/tables/pool-features.csv").set_index("feature")
    assert len(found) == 20

    experiment = opened(path, results)
    names = sorted(set(table["tissue"]), key=lambda name: (name == positive, name))
    y = np.array([names.index(name) for name in table["tissue"]])
    X, effects = table.drop(columns="tissue").to_numpy(), []
    fold = arrays(results / "small/simulate/0000.npz")["fold"][0]
    kept = arrays(results / "small/select/0000.npz")["selected"].reshape(3, 20)
    for f, order in enumerate(kept):
        train, back = fold != f, np.argsort(order)
        rng = generator(experiment.config.seed, "chain", 0, 0, f, "all", "complete", "exact", 0)
        learnt = pool.fit(X[train][:, order], y[train], rng)
        each = pool.effects(learnt), pool.deviations(learnt), pool.lasso_share(learnt)
        effects.append([one[..., back] for one in each])
    effect, deviation, share = (np.mean(each, axis=0) for each in zip(*effects, strict=True))
    found = found.loc[[f"g{j}" for j in range(20)]]
    close = {"rtol": 1e-4, "atol": 1e-6}
    np.testing.assert_allclose(found["standard deviation"], deviation, **close)
    np.testing.assert_allclose(found["share of lasso"], share, **close)
    if positive:
        of_odds = [one[1] - one[0] for one, _, _ in effects]
        for name, how in (("mean", np.mean), ("lowest", np.min), ("highest", np.max)):
            np.testing.assert_allclose(found[f"effect: {name}"], how(of_odds, axis=0), **close)
    else:
        for name, values in zip("abc", effect, strict=True):
            np.testing.assert_allclose(found[f"effect: {name}"], values, **close)


@pytest.mark.parametrize("kind", ["pool", "normal"])
def test_it_is_exported_and_predicts_new_samples(tmp_path, table, kind):
    model = {"kind": kind, "methods": ["corrected", *(["pool"] if kind == "normal" else [])]}
    sizes = ["all"] if kind == "pool" else [5]
    data = OWN["data"] | {"positive": "sick"}
    path = write(tmp_path, OWN, model=model, selection={"features": sizes}, data=data)
    results = tmp_path / "results"
    assert invoke("run", path, "--results", results, "--jobs", 0).exit_code == 0
    done = invoke("export", path, tmp_path / "m.thesiskit", "--all-methods", "--results", results)
    assert done.exit_code == 0, done.output
    new = tmp_path / "new.csv"
    for where in (["--model", tmp_path / "m.thesiskit"], [path, "--results", results]):
        answer = tmp_path / "answers.csv"
        done = invoke("predict", *where, "--new", new, "--all-methods", "--output", answer)
        assert done.exit_code == 0, done.output
        rows = pd.read_csv(answer)
        method = "all complete exact" if kind == "pool" else "all pool"
        assert (rows["method"] == method).sum() == 6, set(rows["method"])


def test_a_selection_before_it_is_refused(tmp_path):
    experiment = opened(write(tmp_path, WHOLE, selection={"features": [5]}), tmp_path / "r")
    with pytest.raises(ConfigError, match=r"selection.*pool model uses all features"):
        experiment.check()
    selection = {"features": ["all"], "screened": {"of": 100}}
    experiment = opened(write(tmp_path, WHOLE, selection=selection), tmp_path / "r")
    with pytest.raises(ConfigError, match=r"selection\.screened.*does not correct for filtering"):
        experiment.check()
