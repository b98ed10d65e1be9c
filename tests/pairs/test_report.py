"""Patterns that were kept: their counts, their odds ratios, and the cells of pairs of features."""

import re

import numpy as np
import pandas as pd
import pytest
from commands import arrays, invoke, must_fail, run
from sketched import sketched

from thesiskit.config import load_config
from thesiskit.defaults import PATTERN_PI
from thesiskit.files import Results
from thesiskit.models.naive_bayes import NaiveBayes, fit
from thesiskit.pairs.interactions import select_patterns
from thesiskit.pairs.planes import Planes, words
from thesiskit.pairs.report import pairs_part
from thesiskit.report.layout import kept_words, size_words
from thesiskit.study.experiment import Experiment

TABLE = """
experiment: mine
title: Pairs
about: Genotypes.
data: { source: table, path: g.csv, response: status }
evaluation: { folds: 3 }
selection: { features: [3, 6], order: 2, disjoint: [true, false] }
model: { methods: [corrected, uncorrected], relevant: [all, some] }
report: { parts: [selection-table, performance] }
"""
DRAWN = """
experiment: drawn
title: Pairs
about: Genotypes.
replicates: 2
data: { source: genotypes, loci: 20, train: 200, test: 50, pairs: 1, effect: 1.2 }
selection: { thresholds: [0.2], order: 2 }
model: { relevant: [some] }
report: { parts: [summary, pairs] }
"""
N, P = 240, 14


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pairs")
    rng = np.random.default_rng(4)
    X = rng.integers(0, 3, (N, P))
    y = rng.random(N) < np.where((X[:, 0] > 0) != (X[:, 1] > 0), 0.85, 0.15)
    frame = pd.DataFrame(X, columns=[f"rs{j}" for j in range(P)]).astype(object)
    frame.loc[::9, "rs1"] = None
    frame["rs2"] = np.array(["AA", "AG", "GG"])[X[:, 2]]
    frame.insert(0, "status", np.where(y, "case", "control"))
    frame.to_csv(folder / "g.csv", index=False)
    for name, text in (("mine", TABLE), ("drawn", DRAWN)):
        (folder / f"{name}.yaml").write_text(text)
        with sketched():
            said = run("-v", "run", folder / f"{name}.yaml", "--results", folder / "r")
        (folder / f"{name}.txt").write_text(said)
    return folder


def table(folder, experiment, name):
    return pd.read_csv(folder / "r" / experiment / "tables" / f"{name}.csv")


def first_training_set(folder):
    frame = pd.read_csv(folder / "g.csv", dtype=str)
    drawn = arrays(folder / "r/mine/simulate/0000.npz")
    train = drawn["fold"][0] != drawn["fold"][0].min()
    return frame[train], train


def test_patterns_have_what_the_table_holds_of_them(folder):
    """Counts, odds ratios and probabilities are those of a fit to the first training set."""
    found = table(folder, "mine", "pair-table")
    mine, _ = first_training_set(folder)
    response = mine["status"].to_numpy()
    every = [f"rs{j}" for j in range(P)]
    codes = np.column_stack([pd.Categorical(mine[name]).codes for name in every])
    values = [sorted(mine[name].dropna().unique()) for name in every]
    assert set(found.selection) == {"3 disjoint", "6 disjoint", "3", "6"}
    for label, rows in found.groupby("selection"):
        k, _, disjoint = label.partition(" ")
        kept = select_patterns(
            Planes.pack(codes, (response == "control").astype(int)), int(k),
            np.random.default_rng(0), disjoint=bool(disjoint),
        )  # fmt: skip
        assert rows["pattern"].tolist()[:2] == words(kept.selected, every, values)[:2]
        posterior = fit(kept, NaiveBayes(relevant="some", pi=PATTERN_PI), correct=True)
        if rows["pattern"].tolist() == words(kept.selected, every, values):  # no ties at the cut
            np.testing.assert_allclose(rows["probability relevant"], posterior.relevance, rtol=1e-5)
        for _, row in rows.iterrows():
            parts = [part.split("=") for part in row["pattern"].split(", ")]
            known = mine[[name for name, _ in parts]].notna().all(axis=1).to_numpy()
            there = np.all([mine[name] == value for name, value in parts], axis=0)
            odds = []
            for name in ("case", "control"):
                samples = known & (response == name)
                assert row[f"known: {name}"] == samples.sum()
                assert row[f"present: {name}"] == there[samples].sum()
                odds.append((there[samples].sum() + 0.5) / ((~there[samples]).sum() + 0.5))
            assert row["odds ratio: counted"] == pytest.approx(odds[1] / odds[0], rel=1e-5)
            moved = np.log([row["odds ratio: corrected"], row["odds ratio: counted"]])
            assert abs(moved[0]) < abs(moved[1])
            assert 1 / 3 <= row["selected in"] * (1 + 1e-9) <= 1 + 1e-9


def test_cells_are_counts_of_samples(folder):
    found = table(folder, "mine", "pair-cells")
    mine, _ = first_training_set(folder)
    assert found["features"].nunique() <= 10
    top = table(folder, "mine", "pair-table").query("selection == '3 disjoint'")
    pairs = [re.sub("=[^,]*", "", one) for one in top["pattern"] if ", " in one]
    assert set(pairs) <= set(found["features"])
    for _, row in found.iterrows():
        first, value = row["first"].split("=")
        second = row["features"].split(", ")[1]
        for other in mine[second].dropna().unique():
            here = mine[(mine[first] == value) & (mine[second] == other)]["status"]
            counts = [int((here == name).sum()) for name in ("case", "control")]
            for name, count in zip(("case", "control"), counts, strict=True):
                assert row[f"second is {other}: {name}"] == count
            share = row[f"second is {other}: share of control"]
            assert share == pytest.approx(counts[1] / max(sum(counts), 1)) or not sum(counts)


def test_all_that_is_said_calls_them_patterns(folder):
    said = (folder / "mine.txt").read_text()
    assert re.search(r"selected 3 disjoint \(gamma 0\.\d\d\), .* patterns -> ", said)
    assert "Corrected, 3 disjoint patterns, some relevant" in said
    assert "3 features" not in said
    page = (folder / "r/mine/report.html").read_text()
    assert re.search(r"the best of [0-9,]+ that vary", page)
    assert "14 with more than two values" in page
    assert "winner" in page
    assert "less is corrected" in page
    assert table(folder, "mine", "selected-features").columns[1] == "pattern"
    assert list((folder / "r/mine/figures").glob("pair-figure.*"))


def test_drawn_data_and_thresholds(folder):
    found = table(folder, "drawn", "pair-table")
    assert "selected in" not in found  # the patterns of other data sets are others
    assert (found["selection"] == "|COR| > 0.2").all()
    select = arrays(folder / "r/drawn/select/0000.npz")
    kept = int(select["kept"][0])
    assert len(found) == kept > 2
    assert found["present: class 0"].tolist() == select["ones"][:kept, 0].tolist()
    assert select["cells"].shape[1:] == (3, 3, 2)
    assert (select["cells"].sum(axis=(1, 2, 3)) == 200).all()
    joined = arrays(folder / "r/drawn/fit/0000.npz")
    assert joined["effect"].shape == (len(joined["relevance"]), 1, 6)
    page = (folder / "r/drawn/report.html").read_text()
    assert re.search(r"the best of 1,\d{3} that vary", page)


def test_the_figure_has_two_dots_for_each_pattern(folder):
    config = load_config(folder / "mine.yaml")
    figure, *_ = pairs_part(Experiment(config, Results(folder / "r", "mine"), folder).record())
    found = table(folder, "mine", "pair-table").query("selection == '6 disjoint'")
    axis = figure.canvas.axes[0]
    dots = {line.get_label(): line.get_xdata() for line in axis.get_lines()}
    for kind in ("counted", "corrected"):
        np.testing.assert_allclose(dots[kind], found[f"odds ratio: {kind}"], rtol=1e-5)
    assert [one.get_text() for one in axis.get_yticklabels()] == found["pattern"].tolist()
    assert figure.caption.startswith("The 6 disjoint patterns, corrected")
    assert figure.image().startswith("data:image/")  # it can be drawn


def test_parts_need_patterns(tmp_path):
    text = """
experiment: small
title: Small
about: A test.
data: { source: naive-bayes, features: 80, alpha: 300, train: [10, 10], test: 9 }
selection: { features: [1] }
model: { relevant: [some] }
report: { parts: [pairs] }
"""
    (tmp_path / "a.yaml").write_text(text)
    must_fail(invoke("run", tmp_path / "a.yaml"), "pairs needs a selection of patterns")


def test_labels_in_words():
    assert size_words("10000 disjoint") == "10,000 disjoint"
    assert kept_words("10000 disjoint") == "10,000 disjoint selected"
    assert kept_words("10 of 50,000") == "10 selected of 50,000"
