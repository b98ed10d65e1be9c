"""Patterns of discrete features that are selected, and are the features of naive Bayes."""

from io import StringIO
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from commands import invoke, must_fail
from rank_models import draw_from_naive_bayes
from rank_tests import rank_last
from scipy import special, stats

from thesiskit import load_model
from thesiskit.config import load_config
from thesiskit.datasets.synthetic import draw_naive_bayes
from thesiskit.defaults import PATTERN_PI
from thesiskit.errors import ResultsError
from thesiskit.files import Results
from thesiskit.models import chains, naive_bayes
from thesiskit.models.selection import squared_correlation
from thesiskit.pairs import work
from thesiskit.pairs.covariates import Covariates
from thesiskit.pairs.interactions import select_patterns
from thesiskit.pairs.planes import Planes, express, words
from thesiskit.study.all_samples import AllSamples
from thesiskit.study.experiment import Experiment

CONFIG = """
experiment: pairs
title: Pairs
about: "A test."
data: {source: table, path: t.csv, response: y}
evaluation: {folds: 3}
selection: {features: [4], order: 2, disjoint: [true, false]}
model: {kind: naive-bayes, relevant: [some], temperature: [none, residual],
        methods: [corrected, logistic-regression]}
report: {parts: [summary, methods, selected-features, predictions]}
"""
LOGISTIC = """kind: logistic, orders: [2], chains: 1, iterations: 60, burn_in: 20, thin: 1,
        priors: [gaussian]}"""
DRAWN = """
experiment: drawn
title: Drawn
about: "A test."
replicates: 2
data:
  source: genotypes
  loci: 30
  train: 120
  test: 50
  pairs: 2
selection: {features: [5], order: 2, disjoint: true}
model: {kind: naive-bayes, relevant: [some], methods: [corrected, random-forest]}
report: {parts: [methods]}
"""


def table(rng, n=150, p=8, missing=0.0):
    """A table of genotypes as letters, whose first two features matter together."""
    X = rng.integers(0, 3, (n, p))
    y = ((X[:, 0] > 0) != (X[:, 1] > 0)) ^ (rng.random(n) < 0.1)
    frame = pd.DataFrame(np.array(["AA", "AG", "GG"])[X], columns=[f"rs{j}" for j in range(p)])
    frame = frame.mask(rng.random(X.shape) < missing)
    frame["y"] = np.array(["no", "yes"])[y.astype(int)]
    return frame, np.where(frame.iloc[:, :p].isna(), -1, X), y.astype(int)


def experiment(folder, text=CONFIG, name="pairs"):
    (folder / "c.yaml").write_text(text)
    return Experiment(load_config(folder / "c.yaml"), Results(folder / "r", name), folder)


def made(folder, text=CONFIG, name="pairs"):
    one = experiment(folder, text, name)
    for stage in one.stages:
        one.run(stage, watch=lambda cells, *_: cells)
    return one


@pytest.mark.parametrize("missing", [pytest.param(0.0, marks=pytest.mark.slow), 0.1])
def test_what_is_kept_and_predicted_is_that_of_the_best_of_all_patterns(tmp_path, missing):
    frame, codes, y = table(np.random.default_rng(1), missing=missing)
    frame.to_csv(tmp_path / "t.csv", index=False)
    record = made(tmp_path).record()
    names = [f"rs{j}" for j in range(8)]
    values = ["AA", "AG", "GG"]
    order = np.argsort(record.predictions["sample"])
    kept, start = record.results.load("select", 0), 0
    for fold in range(3):
        test = order[record.predictions["fold"].to_numpy()[order] == fold]
        mine = record.predictions["sample"].to_numpy()[test]
        train = np.setdiff1d(np.arange(len(y)), mine)
        scores = {}  # of all patterns of one and two features, by name
        for d in (1, 2):
            for which in combinations(range(8), d):
                known = train[(codes[train][:, which] >= 0).all(axis=1)]
                for wanted in product(range(3), repeat=d):
                    one = (codes[known][:, which] == wanted).all(axis=1)
                    if 0 < one.sum() < len(known):
                        n = np.bincount(y[known], minlength=2)
                        ones = np.bincount(y[known], one, minlength=2).astype(int)
                        name = ", ".join(
                            f"{names[j]}={values[v]}" for j, v in zip(which, wanted, strict=True)
                        )
                        scores[name] = squared_correlation(*ones, *n)
        for disjoint in (True, False):
            found = kept["pattern"][start : start + 4].tolist()
            start += 4
            cut = min(scores[name] for name in found)
            if disjoint:
                used = [name.split("=")[0] for one in found for name in one.split(", ")]
                assert len(used) == len(set(used))
                assert scores[found[0]] == max(scores.values())
            else:
                assert {n for n, s in scores.items() if s > cut} <= set(found)
            entry = 2 * fold + (not disjoint)
            left = kept["left_out"][slice(*kept["left_out_offset"][entry : entry + 2])]
            out = sum(s <= cut for n, s in scores.items() if n not in found)
            assert left[:, 3].sum() == out
            selection = select_patterns(
                Planes.pack(codes, y, train), 4, np.random.default_rng(0), disjoint=disjoint
            )
            model = naive_bayes.NaiveBayes(relevant="some", pi=PATTERN_PI)
            fitted = naive_bayes.fit(selection, model)
            odds = naive_bayes.predict_log_odds(fitted, express(selection.selected, codes[mine]))
            method = record.find("4 disjoint" if disjoint else "4", "corrected")
            if set(found) == {*_named(selection.selected, names, values)}:  # the same of ties
                np.testing.assert_allclose(
                    record.probability(method)[test], special.expit(odds), rtol=1e-9
                )


def _named(numbers, names, values):
    return words(numbers, names, [values] * len(names))


def test_new_samples_are_predicted_from_the_results_and_from_a_file(tmp_path):
    rng = np.random.default_rng(2)
    frame, *_ = table(rng, missing=0.05)
    frame.to_csv(tmp_path / "t.csv", index=False)
    new, *_ = table(rng, 20, missing=0.05)
    new = new.drop(columns="y").iloc[:, ::-1]
    new.iloc[0, 7] = "TT"  # no training sample has it
    new.to_csv(tmp_path / "new.csv", index=False)
    config = load_config(_written(tmp_path, CONFIG))
    whole = AllSamples(config, Results(tmp_path / "r", "pairs"), tmp_path)
    whole.fit(watch=lambda cells, *_: cells)
    model = whole.model()
    model.save(tmp_path / "m.model")
    read = load_model(tmp_path / "m.model")
    assert len(read.methods) == 5
    for method in read.methods:
        p = model.predict_proba(tmp_path / "new.csv", method)
        np.testing.assert_array_equal(read.predict_proba(new, method), p)
        assert np.isfinite(p).all()
        # a value that nobody had is another value, not a missing one
        other = new.assign(rs0=new["rs0"].replace("TT", "AA"))
        if "logistic" not in method:
            kept = model.methods[method]
            table_of = kept.table(model.inputs, model._samples(new), bits=True)
            assert (
                np.isnan(table_of[0]).sum()
                <= np.isnan(kept.table(model.inputs, model._samples(other), bits=True)[0]).sum()
            )


def _written(folder, text):
    (folder / "c.yaml").write_text(text)
    return folder / "c.yaml"


def test_a_logistic_model_takes_the_features_of_the_patterns(tmp_path):
    rng = np.random.default_rng(3)
    frame, *_ = table(rng)
    frame.to_csv(tmp_path / "t.csv", index=False)
    text = CONFIG.replace("disjoint: [true, false]", "disjoint: true")
    start = text.index("kind: naive-bayes")
    text = text[:start] + LOGISTIC + "\nreport: {parts: [summary, methods]}\n"
    one = made(tmp_path, text.replace("features: [4]", "features: [2]"))
    for block in range(3):
        simulated = one.results.load("simulate", block)
        assert {"rs0", "rs1"} <= {*simulated["features"].tolist()}
        assert simulated["cases"].shape == (150, len(simulated["features"]))
    assert one.record().scores[0].error < 0.25
    new, *_ = table(rng, 10)
    new.drop(columns="y").to_csv(tmp_path / "new.csv", index=False)
    done = invoke("predict", tmp_path / "c.yaml", "--new", tmp_path / "new.csv",
                  "--results", tmp_path / "r")  # fmt: skip
    assert done.exit_code == 0, done.output
    config = load_config(tmp_path / "c.yaml")
    whole = AllSamples(config, Results(tmp_path / "r", "pairs"), tmp_path)
    whole.fit(watch=lambda cells, *_: cells)
    model = whole.model()
    assert len(model.inputs.names) < 8
    new[model.inputs.names[::-1]].to_csv(tmp_path / "few.csv", index=False)
    few = model.predict_proba(tmp_path / "few.csv")
    many = pd.read_csv(StringIO(done.stdout))["probability: yes"]
    np.testing.assert_allclose(few[:, 1], many, rtol=1e-6)


def test_covariates_multiply_the_odds(tmp_path):
    rng = np.random.default_rng(4)
    frame, _, y = table(rng)
    age = 50 + 10 * y + 8 * rng.normal(size=len(y))
    frame["age"] = age.round(2)
    frame.loc[5, "age"] = np.nan
    frame.to_csv(tmp_path / "t.csv", index=False)
    config = CONFIG.replace("temperature: [none, residual],", "").replace("[true, false]", "false")
    plain = made(tmp_path, config.replace("response: y}", "response: y, ignore: [age]}"))
    with_age = made(
        tmp_path, config.replace("response: y}", "response: y, covariates: [age]}"), "aged"
    )
    p, adjusted = plain.record(), with_age.record()
    method = p.find("4", "corrected")
    samples = p.predictions["sample"].to_numpy()
    for fold in range(3):
        mine = p.predictions["fold"].to_numpy() == fold
        train = np.setdiff1d(np.arange(len(y)), samples[mine])
        values = frame[["age"]].to_numpy()
        first = Covariates.of(values[train], y[train])
        wanted = first.adjusted(p.probability(method)[mine], values[samples[mine]])[:, 1]
        np.testing.assert_allclose(adjusted.probability(method)[mine], wanted, rtol=1e-9)
    assert adjusted.scores[method.row].log_loss < p.scores[method.row].log_loss - 0.04
    peer = next(one for one in p.methods if one.estimator == "logistic-regression")
    np.testing.assert_array_equal(adjusted.probability(peer), p.probability(peer))
    assert any("logistic-regression: without them" in note for note in with_age.notes)


def test_the_first_model_is_the_posterior_mode_and_bayes_rule_is_exact():
    rng = np.random.default_rng(5)
    y = np.arange(400) % 4 // 3
    c = np.column_stack([rng.normal(y, 1), rng.normal(size=400)])
    first = Covariates.of(c, y)
    design = np.column_stack([np.ones(400), (c - c.mean(axis=0)) / c.std(axis=0)])
    b = np.array([first.intercept, *first.slope])
    slope = design.T @ (y - special.expit(design @ b)) - np.array([0, *(first.slope / 2.5**2)])
    np.testing.assert_allclose(slope, 0, atol=1e-8)
    # P(y | x) P(y | c) / P(y), normalised
    p = rng.uniform(0.1, 0.9, 400)
    of_c = special.expit(design @ b)
    ones, zeros = p * of_c / first.share, (1 - p) * (1 - of_c) / (1 - first.share)
    np.testing.assert_allclose(first.adjusted(p, c)[:, 1], ones / (ones + zeros), rtol=1e-10)
    # separated, constant and missing columns are no trouble
    odd = np.column_stack([y * 1e6, np.full(400, 3.0), np.where(y == 1, np.nan, 1.0)])
    p = Covariates.of(odd, y).adjusted(np.full(400, 0.5), odd)
    assert np.isfinite(p).all()
    assert (p[y == 1, 1] > 0.9).all()


def test_ranks_of_the_truth_are_uniform_where_candidates_are_independent():
    """Binary features of the model, of which the patterns of one are selected, not of two."""
    model, counts = naive_bayes.NaiveBayes(relevant="some"), {"alpha": [], "pi": []}
    wrong = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        pi = rng.choice(model.pi)
        alpha = model.alpha_prior[1] / rng.gamma(model.alpha_prior[0])
        drawn = draw_naive_bayes(
            rng, features=400, alpha=alpha, train=(40, 40), test=(1, 1), pi=pi
        ).train
        planes = Planes.pack(drawn.features, drawn.response)
        selection = select_patterns(planes, 10, rng, order=1)
        for correct in (True, False):
            posterior = naive_bayes.fit(selection, model, correct=correct)
            draws = draw_from_naive_bayes(posterior, 99, rng)
            below = rank_last(np.append(draws["log pi"], np.log(pi)), rng)
            (counts["pi"] if correct else wrong).append(below)
            if correct:
                values = np.append(draws["log alpha"], np.log(alpha))
                counts["alpha"].append(rank_last(values, rng))
    for ranks in counts.values():
        assert stats.chisquare(np.bincount(np.array(ranks) // 10, minlength=10)).pvalue > 1e-4
    assert stats.chisquare(np.bincount(np.array(wrong) // 10, minlength=10)).pvalue < 1e-6


def test_drawn_genotypes_make_a_study(tmp_path):
    record = made(tmp_path, DRAWN, "drawn").record()
    assert record.n_sets == 2
    done = invoke("report", tmp_path / "c.yaml", "--results", tmp_path / "r")
    assert done.exit_code == 0, done.output


def test_a_screening_that_is_stopped_goes_on(tmp_path, monkeypatch):
    frame, *_ = table(np.random.default_rng(6), p=60)
    frame.to_csv(tmp_path / "t.csv", index=False)
    one = experiment(tmp_path, CONFIG)
    stopped = made(tmp_path, CONFIG, "whole").results.load("select", 0)
    one.run("simulate", watch=lambda cells, *_: cells)
    calls = []

    def watch(self, done, total, state):
        calls.append(done / total)
        self.save(state())
        if len(calls) == 2:
            raise chains.Stopped

    from thesiskit.study.cells import Unfinished

    monkeypatch.setattr(Unfinished, "watch", watch)
    with pytest.raises((KeyboardInterrupt, chains.Stopped, ResultsError)):
        one.run("select", watch=lambda cells, *_: cells)
    before = len(calls)
    one.run("select", watch=lambda cells, *_: cells)
    assert len(calls) > before
    again = one.results.load("select", 0)
    for name in stopped.keys() - {"seconds"}:
        np.testing.assert_array_equal(again[name], stopped[name])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("features: [4] -> features: [all]", "too many patterns to select all"),
        ("logistic-regression] -> bernoulli-nb]", "bernoulli-nb does not accept discrete features"),
        ("order: 2 -> order: 4", "selection.order"),
        (
            "features: [4] -> features: [100000]",
            "the number of patterns to select must be from 1 to",
        ),
        ("disjoint: [true, false] -> disjoint: [true]\n  ld: 1.5", "selection.ld"),
        ("response: y} -> response: y, covariates: [y]}", "which is data.response"),
        ("response: y} -> response: y, covariates: [age]}", "there is no column 'age'"),
        ("response: y} -> response: y, covariates: [rs3]}", "which is not a number"),
        ("folds: 3} -> folds: 3, feature_groups: 2}", "evaluation.feature_groups"),
    ],
)
def test_what_does_not_go_together_is_said(tmp_path, change, said):
    old, new = change.split(" -> ")
    table(np.random.default_rng(7))[0].to_csv(tmp_path / "t.csv", index=False)
    text = CONFIG.replace("{features: [4], order: 2, disjoint: [true, false]}",
                          "\n  features: [4]\n  order: 2\n  disjoint: [true, false]")  # fmt: skip
    assert old in text
    path = _written(tmp_path, text.replace(old, new))
    must_fail(invoke("run", path, "--results", tmp_path / "r"), said)


def test_other_models_take_no_patterns(tmp_path):
    text = CONFIG.replace("naive-bayes", "normal").replace(", logistic-regression", "")
    said = "are selected for model.kind: naive-bayes"
    must_fail(invoke("run", _written(tmp_path, text)), said)
    start = CONFIG.index("kind: naive-bayes")
    text = CONFIG[:start] + LOGISTIC + "\nreport: {parts: [summary]}\n"
    must_fail(invoke("run", _written(tmp_path, text)), "needs one selection")


def test_a_logistic_model_needs_enough_features(tmp_path):
    frame, *_ = table(np.random.default_rng(3))
    frame["y"] = frame["rs0"] == "AA"
    frame.to_csv(tmp_path / "t.csv", index=False)
    text = CONFIG.replace("disjoint: [true, false]", "disjoint: true").replace("[4]", "[1]")
    text = text[: text.index("kind: naive-bayes")] + LOGISTIC + "\nreport: {parts: [summary]}\n"
    done = invoke("run", _written(tmp_path, text), "--results", tmp_path / "r")
    must_fail(done, "have 1 feature, fewer than model.orders (2)")


def test_a_long_screening_needs_yes(tmp_path, monkeypatch):
    monkeypatch.setattr(work, "FEW", 10)
    monkeypatch.setattr(work, "PART", 512)
    monkeypatch.setattr(work, "forecast", lambda planes, order, run: (planes.p, 100.0))
    path = _written(
        tmp_path, DRAWN.replace("loci: 30", "loci: 600").replace("cates: 2", "cates: 4")
    )
    # four data sets, each with two walks: (600 / 512)^2 of 100 s
    must_fail(invoke("run", path), "0.31 hours of a processor to score patterns", "--yes")


@pytest.mark.parametrize(
    "data", ["epistasis, samples: 90, noise_features: 4",
             "interactions, features: 4, values: 3, train: 90, test: 20, sigma: [1, 1]"]
)  # fmt: skip
def test_sources_that_draw_for_other_models_are_refused(tmp_path, data):
    text = CONFIG.replace("table, path: t.csv, response: y", data).replace("folds: 3", "")
    said = "draws samples for model.kind: logistic; genotypes draws them"
    must_fail(invoke("run", _written(tmp_path, text)), said)


def test_too_many_values_and_classes_are_refused_by_name(tmp_path):
    frame, *_ = table(np.random.default_rng(8))
    frame["rs3"] = np.arange(len(frame)) % 20
    frame.to_csv(tmp_path / "t.csv", index=False)
    must_fail(invoke("run", _written(tmp_path, CONFIG)), "the feature 'rs3' has 20 values")
    frame["y"] = np.arange(len(frame)) % 3
    frame.drop(columns="rs3").to_csv(tmp_path / "t.csv", index=False)
    must_fail(invoke("run", tmp_path / "c.yaml"), "not 3. Fix: use model.kind: logistic")


def test_columns_that_are_numbers_have_no_patterns(tmp_path):
    must_fail(invoke("run", "null", "--set", "selection.order=2"), "selection.order: unknown key")
