"""`thesiskit run --quick`: a first look at each kind of table, and what progress says meanwhile."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from commands import invoke, must_fail
from small import MIXTURE

from thesiskit.config import load_config
from thesiskit.files import Results
from thesiskit.study.experiment import Experiment


def measurements() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    y = np.arange(40) % 2
    X = rng.normal(size=(40, 130)) + 1.5 * y[:, None] * (np.arange(130) < 5)
    return pd.DataFrame(X.round(3)).add_prefix("g").assign(outcome=np.where(y, "case", "control"))


def categories(numbers: bool) -> pd.DataFrame:
    rng = np.random.default_rng(2)
    table = pd.DataFrame(rng.choice(["a", "b", "c"], (40, 4))).add_prefix("f")
    high = (table.f0 == "a").to_numpy()
    y = (high + rng.normal(size=40)).round(3) if numbers else np.where(high, "yes", "no")
    return table.assign(outcome=y)


def states() -> str:
    rng = np.random.default_rng(3)
    return "".join("".join(rng.choice(list("AB"), 6)) + "\n" for _ in range(60))


TABLES = {
    "table": ("t.csv", lambda: measurements().to_csv(index=False)),
    "categories": ("t.csv", lambda: categories(numbers=False).to_csv(index=False)),
    "numbers": ("t.csv", lambda: categories(numbers=True).to_csv(index=False)),
    "sequences": ("t.txt", states),
}


@pytest.mark.parametrize("kind", TABLES)
def test_a_quick_run_has_at_most_five_folds_and_three_methods(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name, text = TABLES[kind]
    Path(name).write_text(text())
    assert invoke("init", name, "--output", "t.yaml").exit_code == 0
    quick = load_config("t.yaml", quick=True)
    assert quick.replicates == 1
    assert not quick.evaluation.choose
    assert quick.scheme == "test-set" or quick.evaluation.folds <= 5
    experiment = Experiment(quick, Results(Path("r"), "t"), Path())
    assert 2 <= len(experiment.graph.work.all_methods) <= 3
    whole = load_config("t.yaml")
    assert not whole.quick
    assert "quick" not in Experiment(whole, Results(Path("r"), "t"), Path())._work.described


@pytest.mark.parametrize(
    "kind",
    [kind if kind == "table" else pytest.param(kind, marks=pytest.mark.slow) for kind in TABLES],
)
def test_a_quick_run_is_in_a_folder_of_its_own(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name, text = TABLES[kind]
    Path(name).write_text(text())
    assert invoke("init", name, "--output", "t.yaml").exit_code == 0
    done = invoke("run", "t.yaml", "--quick", "--set", "evaluation.folds=2")
    assert done.exit_code == 0, done.output
    (results,) = (path for path in Path("results").iterdir() if path.is_dir())
    assert results.name == "my-t-quick"
    assert (results / "report.html").exists()
    config = json.loads((results / "provenance.json").read_text())["config"]
    assert config["quick"] is True


def test_the_methods_of_a_quick_run_are_those_that_a_user_compares_first(tmp_path):
    measurements().to_csv(tmp_path / "t.csv", index=False)
    invoke("init", tmp_path / "t.csv", "--output", tmp_path / "t.yaml")
    config = load_config(tmp_path / "t.yaml", quick=True)
    assert config.model.methods == ["corrected", "pool", "l2-logistic"]
    assert config.model.temperature == ["residual"]
    assert config.selection.features == [100]
    other = load_config(
        tmp_path / "t.yaml", quick=True, settings=("evaluation.folds=3", "selection.features=[7]")
    )
    assert (other.evaluation.folds, other.selection.features) == (3, [7])  # what --set has stays


def test_a_quick_run_is_for_tables_of_the_user(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("drawn.yaml").write_text(MIXTURE)
    must_fail(invoke("run", "drawn.yaml", "--quick"), "--quick is for tables of your own", "Fix: ")


@pytest.mark.parametrize("jobs", [0, 2])
def test_progress_names_the_fold_and_the_method(jobs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("thesiskit.study.cells.PROGRESS_SECONDS", -1.0)
    measurements().to_csv("t.csv", index=False)
    invoke("init", "t.csv", "--output", "t.yaml")
    fewer = ("evaluation.folds=2", "model.methods=[uncorrected, pool, l2-logistic]")
    config = load_config("t.yaml", quick=True, settings=fewer)
    experiment = Experiment(config, Results(Path("r"), "t"), Path(), jobs)
    seen, methods = [], set()
    progress = type(experiment.graph).progress

    def noted(graph, number, total, *unit):
        progress(graph, number, total, *unit)
        seen.append(experiment._at_work())

    monkeypatch.setattr(type(experiment.graph), "progress", noted)

    class AtWork(dict):
        def __setitem__(self, cell, place):
            super().__setitem__(cell, place)
            seen.append(experiment._at_work())
            methods.add(cell.method)

    experiment.graph.at_work = AtWork()
    for stage in experiment.stages:
        experiment.run(stage, watch=lambda items, *_: items)
    experiment.close()
    if jobs == 0:
        assert "fold 2 of 2, all pool" in seen
    else:
        # which of two processes is ahead varies; a stage begins with one cell, which is named
        assert "fold 1 of 2" in seen
        assert any(text.endswith("residual-tempered") for text in seen)
        assert {"all pool", "all l2-logistic"} < methods
