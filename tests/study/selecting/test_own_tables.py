"""Tables of the user in experiments of chapter 2: missing values, names, and notes."""

import numpy as np
import pandas as pd
import pytest
from commands import arrays, invoke, must_fail

from thesiskit.config import load_config
from thesiskit.datasets import checking
from thesiskit.files import Results, imported
from thesiskit.study.experiment import Experiment

CONFIG = """
experiment: gaps
title: Gaps
about: A table with gaps.
data: { source: file, path: t.tsv, response: status, positive: sick, id: id }
evaluation: { folds: 4 }
selection: { features: [3, all] }
model: { methods: [corrected, uncorrected, bernoulli-nb] }
report: { parts: [methods] }
"""


@pytest.fixture
def table(tmp_path):
    """A table of 40 samples with gaps, and its frame."""
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    X = np.round(rng.normal(size=(40, 30)), 3)
    X[:, :3] += 2 * y[:, None]
    X[rng.random(X.shape) < 0.15] = np.nan
    frame = pd.DataFrame(X, columns=[f"g{j}" for j in range(30)])
    frame.insert(0, "id", [f"s{i}" for i in range(40)])
    frame["status"] = np.where(y, "sick", "well")
    frame.to_csv(tmp_path / "t.tsv", sep="\t", index=False)
    (tmp_path / "c.yaml").write_text(CONFIG)
    return tmp_path, frame


def stages(folder, *more, upto="predict"):
    done = {"simulate": "simulate", "select": "select", "fit-naive": "fit", "predict": "predict"}
    said = ""
    for command in done:
        result = invoke(
            command, folder / "c.yaml", "--results", folder / "results", "--jobs", 0, *more
        )
        assert result.exit_code == 0, result.output
        said += result.output
    return said


def test_a_table_with_gaps(table):
    folder, frame = table
    said = stages(folder)
    assert said.count("notes on the table: 1. Details: ") == 1  # at the first stage only
    assert "SelectKBest + BernoulliNB: a missing value counts as the more frequent value of" in said
    found = arrays(folder / "results/gaps/simulate/0000.npz")
    assert found["ids"].tolist() == frame["id"].tolist()
    assert found["class_names"].tolist() == ["well", "sick"]
    assert len(found["notes"]) == 2
    assert str(folder) not in str(found["notes"])
    predicted = arrays(folder / "results/gaps/predict/0000.npz")
    p, y = predicted["probability"], predicted["response"]
    assert ((p > 0) & (p < 1)).all()
    assert (((p > 0.5) == y).mean(axis=1) > 0.7).all()
    page = invoke("report", folder / "c.yaml", "--results", folder / "results")
    assert page.exit_code == 0, page.output
    html = (folder / "results/gaps/report.html").read_text()
    assert "values are missing" in html
    assert "Missing values have no term in the likelihood" in " ".join(html.split())
    again = invoke("simulate", folder / "c.yaml", "--results", folder / "results")
    assert "Note" not in again.output


def test_a_table_is_checked_once_and_again_where_the_check_has_changed(table, monkeypatch):
    folder, frame = table
    frame.assign(g9=7).to_csv(folder / "t.tsv", sep="\t", index=False)
    made = Experiment(load_config(folder / "c.yaml"), Results(folder / "r", "gaps"), folder, jobs=1)
    with monkeypatch.context() as patch:
        patch.setattr(checking, "findings", None)  # a child process has its own
        try:
            made.run("simulate", watch=lambda cells, *_: cells)
        finally:
            made.close()
    assert sum("checks with warnings: D08" in note for note in made.notes) == 1
    assert "thesiskit.datasets.checking" in imported(made.graph.work.modules)  # is in the digest


def test_a_test_table_with_gaps(table):
    folder, frame = table
    frame[:30].to_csv(folder / "t.tsv", sep="\t", index=False)
    frame[30:].to_csv(folder / "test.tsv", sep="\t", index=False)
    text = CONFIG.replace("id: id", "id: id, test_path: test.tsv").replace("{ folds: 4 }", "{}")
    (folder / "c.yaml").write_text(text)
    assert "notes on the table: 2. Details: " in stages(folder)
    found = arrays(folder / "results/gaps/select/0000.npz")
    assert found["test_correlation"].shape == (30,)


def test_a_mixture_takes_no_gaps(table):
    folder, _ = table
    text = CONFIG.replace("methods: [corrected, uncorrected, bernoulli-nb]", "kind: mixture")
    (folder / "c.yaml").write_text(text)
    done = invoke("simulate", folder / "c.yaml", "--results", folder / "results")
    must_fail(
        done, "values are missing, and the mixture model does not accept them. Fix: use naive-bayes"
    )
