"""Whole sites are left out: each is tested by models of all others."""

import numpy as np
import pandas as pd
import pytest
from commands import invoke, must_fail, run

from thesiskit.config import load_config
from thesiskit.errors import ConfigError
from thesiskit.files import Results
from thesiskit.study.experiment import Experiment

SITES = np.resize([*"ABCDE"], 60)
CONFIG = """
experiment: sites
title: Sites
about: A test.
data: { source: file, path: t.csv, response: y }
selection: { features: [5] }
model: { kind: normal, relevant: [some], methods: [corrected, uncorrected, l2-logistic] }
evaluation: { leave_out: site }
report: { parts: [methods] }
"""


@pytest.fixture
def table(tmp_path, monkeypatch):
    """Sixty samples of five sites, whose names are almost those of the classes."""
    rng = np.random.default_rng(2)
    y = rng.permutation(60) % 2
    X = rng.normal(size=(60, 20)) + y[:, None] * (np.arange(20) < 4)
    frame = pd.DataFrame(X.round(3), columns=[f"g{j}" for j in range(20)]).assign(site=SITES, y=y)
    frame.to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "c.yaml").write_text(CONFIG)
    monkeypatch.chdir(tmp_path)
    return frame


def record(folder, text=CONFIG, name="c"):
    (folder / f"{name}.yaml").write_text(text)
    config = load_config(folder / f"{name}.yaml")
    made = Experiment(config, Results(folder / "results", config.experiment), folder)
    for stage in made.stages:
        made.run(stage, watch=lambda cells, *_: cells)
    return made.record()


def test_each_site_is_predicted_by_a_model_of_the_others(tmp_path, table):
    found = record(tmp_path)
    assert found.config["scheme"] == "leave-out"
    assert found.width == 20  # the site is no feature
    assert found.simulated["sites"].tolist() == [*"ABCDE"]
    fold = found.simulated["fold"][0]
    assert (np.array([*"ABCDE"])[fold] == SITES).all()
    for number, site in enumerate("ABCDE"):  # as of a table of the others and a test table
        table[table.site != site].to_csv("train.csv", index=False)
        table[table.site == site].to_csv("test.csv", index=False)
        text = CONFIG.replace("t.csv", "train.csv, test_path: test.csv, ignore: [site]")
        text = text.replace("experiment: sites", "experiment: alone")
        alone = record(tmp_path, text.replace("evaluation: { leave_out: site }\n", ""), "alone")
        inside = found.predictions["fold"] == number
        for method in found.own:
            p = found.probability(method)[inside]
            np.testing.assert_allclose(p, alone.probability(method), rtol=1e-6)


def test_the_page_has_a_row_for_each_site(tmp_path, table):
    said = run("run", "c.yaml", "--jobs", 0)
    assert "5-fold cross-validation" in said
    rows = pd.read_csv("results/sites/tables/sites.csv")
    assert rows["site"].tolist() == [*"ABCDE"]
    assert rows["samples"].tolist() == [12] * 5
    methods = pd.read_csv("results/sites/tables/methods.csv")
    assert rows["log loss"].mean() == pytest.approx(methods["log loss"].min())  # equal sizes
    page = " ".join((tmp_path / "results/sites/report.html").read_text().split())
    assert "each fold is a value of the column &#39;site&#39;" in page
    new = run("predict", "c.yaml", "--new", "t.csv", "--method", "l2")
    assert "1 column dropped" not in new  # the site is known, and is no feature


def test_methods_are_chosen_by_whole_sites_and_a_site_of_one_class_has_no_auc(tmp_path, table):
    table.loc[table.site == "E", "y"] = 1
    table.to_csv("t.csv", index=False)
    found = record(tmp_path, CONFIG.replace("leave_out: site", "leave_out: site, choose: true"))
    assert found.choice is not None
    assert len(found.choice[1]) == 5
    run("report", "c.yaml")
    rows = pd.read_csv("results/sites/tables/sites.csv").set_index("site")
    assert rows["AUC"].isna().tolist() == [False] * 4 + [True]
    assert rows["log loss"].notna().all()


def test_sites_can_be_numbers_and_in_a_table_of_labels(tmp_path, table):
    numbers = table.assign(site=np.resize([1, 2, 10], 60), id=[f"s{i}" for i in range(60)])
    numbers[["id", "site", "y"]].to_csv("labels.csv", index=False)
    numbers.drop(columns=["site", "y"]).to_csv("t.csv", index=False)
    keys = "path: t.csv, labels: labels.csv, id: id"
    found = record(tmp_path, CONFIG.replace("path: t.csv", keys))
    assert found.simulated["sites"].tolist() == ["1", "2", "10"]
    assert found.width == 20


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda t: t.drop(columns="site"), "no column 'site'"),
        (lambda t: t.assign(site="A"), "all samples have the site 'A'"),
        (lambda t: t.assign(site=t.site.where(t.index > 2)), "3 samples without 'site'"),
        (
            lambda t: t.assign(y=(t.site == "B") * 1),
            "with evaluation.leave_out: site a training set has class 0 only (without 'B')",
        ),
    ],
)
def test_bad_sites(table, change, words):
    change(table).to_csv("t.csv", index=False)
    must_fail(invoke("run", "c.yaml", "--jobs", 0), words, "Fix:")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("leave_out: site", "leave_out: site, scheme: holdout", "replaces evaluation.scheme"),
        ("path: t.csv", "path: t.csv, test_path: t.csv", "replaces evaluation.scheme and data"),
        ("source: file, path: t.csv, response: y", "source: colon", "is for data.source: file"),
        ("features: [5]", "features: [5], screened: {of: 90}", "tests are biased"),
        ("kind: normal, relevant: [some], methods: [corrected, uncorrected, l2-logistic]",
         "kind: logistic, orders: [1], chains: 1", "leave_out"),
    ],
)  # fmt: skip
def test_bad_configs(tmp_path, old, new, words):
    text = CONFIG.replace(old, new)
    if "logistic, orders" in new:
        text = text.replace("selection: { features: [5] }\n", "").replace("file", "table")
    (tmp_path / "c.yaml").write_text(text)
    with pytest.raises(ConfigError, match=words) as error:
        load_config(tmp_path / "c.yaml")
    assert "Fix:" in str(error.value)
