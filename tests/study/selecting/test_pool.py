"""The pool in experiments: as a model, and beside the normal one."""

import numpy as np
import pandas as pd
import pytest
from commands import invoke
from real_tables import DRAWN, OWN, made, write
from small import opened

from thesiskit.errors import ConfigError
from thesiskit.models import pool
from thesiskit.study.cells import generator
from thesiskit.study.design import Design

WHOLE = DRAWN | {
    "data": DRAWN["data"] | {"shape": "none"},
    "model": {"kind": "pool"},
    "selection": {"features": ["all"]},
}


def test_an_experiment_has_the_predictions_of_the_pool(tmp_path):
    found, _ = made(tmp_path, WHOLE)
    predicted = found["predict"]
    assert predicted["method"].tolist() == ["complete"]
    experiment = opened(tmp_path / "small.yaml", tmp_path / "results")
    drawn = Design(experiment.config, tmp_path).drawn(0)
    rng = generator(experiment.config.seed, "chain", 0, 0, 0, "all", "complete", "exact", 0)
    X, new = (one.features[:, found["select"]["selected"]] for one in (drawn.train, drawn.test))
    learnt = pool.fit(X, drawn.train.response, rng)
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


@pytest.mark.parametrize("kind", ["pool", "normal"])
def test_it_is_exported_and_predicts_new_cases(tmp_path, table, kind):
    model = {"kind": kind, "methods": ["corrected", *(["pool"] if kind == "normal" else [])]}
    sizes = ["all"] if kind == "pool" else [5]
    data = OWN["data"] | {"positive": "sick"}
    path = write(tmp_path, OWN, model=model, selection={"features": sizes}, data=data)
    results = tmp_path / "results"
    assert invoke("run", path, "--results", results, "--jobs", 0).exit_code == 0
    done = invoke("export", path, tmp_path / "m.thesiskit", "--results", results)
    assert done.exit_code == 0, done.output
    new = tmp_path / "new.csv"
    for where in (["--model", tmp_path / "m.thesiskit"], [path, "--results", results]):
        answer = tmp_path / "answers.csv"
        done = invoke("predict", *where, "--new", new, "--output", answer)
        assert done.exit_code == 0, done.output
        rows = pd.read_csv(answer)
        arm = "all complete exact" if kind == "pool" else "all pool"
        assert (rows["arm"] == arm).sum() == 6, set(rows["arm"])


def test_a_selection_before_it_is_refused(tmp_path):
    experiment = opened(write(tmp_path, WHOLE, selection={"features": [5]}), tmp_path / "r")
    with pytest.raises(ConfigError, match=r"selection.*pool model takes all features"):
        experiment.check()
    selection = {"features": ["all"], "screened": {"of": 100}}
    experiment = opened(write(tmp_path, WHOLE, selection=selection), tmp_path / "r")
    with pytest.raises(ConfigError, match=r"selection\.screened.*corrects for no screening"):
        experiment.check()
