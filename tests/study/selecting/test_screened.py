"""Some features relevant, ties, and pre-filtered tables: methods, stages and mistakes."""

import numpy as np
import pandas as pd
import pytest
import yaml
from commands import arrays, invoke, must_fail

from thesiskit.config import load_config
from thesiskit.estimators import NaiveBayesClassifier
from thesiskit.study.selecting import methods, selections

DRAWN = {
    "experiment": "tried",
    "title": "Tried",
    "about": "A test.",
    "replicates": 3,
    "block": 2,
    "data": {"source": "naive-bayes", "features": 120, "alpha": 3.0, "train": [11, 14],
             "test": 40},
    "selection": {"features": [4]},
    "model": {"methods": ["corrected", "uncorrected"]},
    "report": {"parts": ["selection-table"]},
}  # fmt: skip
OWN = DRAWN | {
    "replicates": 1,
    "block": 1,
    "data": {"source": "file", "path": "t.csv", "response": "status", "positive": "sick"},
    "selection": {"features": [5, "all"], "screened": {"of": 1000}},
}
STAGES = {"simulate": "simulate", "select": "select", "fit": "fit-naive", "predict": "predict"}


def write(folder, config, **changes):
    path = folder / "c.yaml"
    path.write_text(yaml.safe_dump(config | changes))
    return path


def stages(folder, config, *, upto="predict", **changes):
    """Make stages; return what they said, and the arrays of the last one."""
    path, said = write(folder, config, **changes), ""
    for stage in list(STAGES)[: list(STAGES).index(upto) + 1]:
        done = invoke(STAGES[stage], path, "--results", folder / "results", "--jobs", 0)
        assert done.exit_code == 0, done.output
        said += done.output
    blocks = sorted((folder / "results/tried" / upto).glob("*.npz"))
    return said, [arrays(one) for one in blocks]


def names(folder, **changes):
    return [method.name for method in methods(load_config(write(folder, DRAWN, **changes)))]


# ---- methods ----


def test_methods_of_the_thesis_have_the_names_they_had(tmp_path):
    model = {"methods": ["corrected", "uncorrected", "bernoulli-nb", "l2-logistic"]}
    assert names(tmp_path, selection={"features": [4, "all"]}, model=model) == [
        "4 corrected exact", "4 uncorrected exact", "4 bernoulli-nb", "all complete exact",
        "all l2-logistic",
    ]  # fmt: skip
    assert names(tmp_path, model={"relevant": ["all", "some"]}) == [
        "4 corrected exact", "4 corrected exact some", "4 uncorrected exact",
        "4 uncorrected exact some",
    ]  # fmt: skip


def test_a_list_of_numbers_before_the_screening_makes_methods_of_corrected_ones(tmp_path):
    methods = {"methods": ["corrected", "uncorrected", "bernoulli-nb"]}
    selection = {"features": [4, "all"], "screened": {"of": [500, 2000]}}
    assert names(tmp_path, selection=selection, model=methods) == [
        "4 of 500 corrected exact", "4 of 2,000 corrected exact", "4 uncorrected exact",
        "4 bernoulli-nb", "all of 500 corrected exact", "all of 2,000 corrected exact",
        "all uncorrected exact", "all bernoulli-nb",
    ]  # fmt: skip
    config = load_config(tmp_path / "c.yaml")
    assert [(one.label, one.size, one.of) for one in selections(config)][:4] == [
        ("4 of 500", 4, 500), ("4 of 2,000", 4, 2000), ("4", 4, None), ("all of 500", "all", 500)
    ]  # fmt: skip
    selection["screened"]["of"] = 500
    assert names(tmp_path, selection=selection)[-2:] == ["all corrected exact",
                                                         "all uncorrected exact"]  # fmt: skip


# ---- what is made ----


def test_the_fit_stage_says_how_probable_pi_and_relevance_are(tmp_path):
    selection, pi = {"features": [2, 5]}, [0.01, 0.1, 0.5, 1.0]
    model = DRAWN["model"] | {"relevant": ["all", "some"], "pi": pi}
    _, blocks = stages(tmp_path, DRAWN, upto="fit", selection=selection, model=model)
    first = blocks[0]
    assert first["log_posterior"].shape[:2] == (2, 8)
    assert first["some"].tolist() == [1, 3, 5, 7]
    assert first["pi"].tolist() == pi
    np.testing.assert_allclose(np.exp(first["log_pi"]).sum(axis=2), 1)
    joint = first["log_joint"]
    np.testing.assert_allclose(
        np.logaddexp.reduce(joint, axis=3), first["log_posterior"][:, first["some"]]
    )
    sizes = np.diff(first["relevance_offset"], axis=1)
    assert sizes.tolist() == [[2, 2], [2, 2], [5, 5], [5, 5]]
    assert len(first["relevance"]) == 28 == first["relevance_offset"][-1, -1]
    assert ((first["relevance"] > 0) & (first["relevance"] < 1)).all()


@pytest.mark.parametrize("relevant", ["all", "some"])
def test_predictions_are_those_of_the_estimator(tmp_path, table, relevant):
    model = {"methods": ["corrected"], "relevant": relevant}
    data = OWN["data"] | {"test_path": "new.csv"}
    X, y, new = table
    falling = np.sort(np.abs(np.corrcoef(X.T, y)[-1, :-1]))[::-1]
    k = 3 + int(np.argmax(-np.diff(falling[2:]) > 1e-9))  # no tie at the cut
    selection = OWN["selection"] | {"features": [k, "all"]}
    _, (found,) = stages(tmp_path, OWN, data=data, model=model, selection=selection)
    for row, n_features in zip(found["probability"], (k, None), strict=True):
        estimator = NaiveBayesClassifier(
            n_features=n_features, relevant=relevant, screened={"of": 1000}
        )
        expected = estimator.fit(X, y).predict_proba(new)[:, 1]
        np.testing.assert_allclose(row, expected, atol=1e-12)


@pytest.fixture
def table(tmp_path):
    """Useless features, of which the best 30 of 1,000 are in a table: features, classes, others."""
    rng = np.random.default_rng(3)
    y = np.arange(40) % 2
    X, new = rng.integers(0, 2, (40, 1000)), rng.integers(0, 2, (60, 1000))
    strength = np.abs(np.corrcoef(X.T, y)[-1, :-1])
    kept = np.sort(np.argsort(-strength, kind="stable")[:30])
    for name, values in (("t.csv", X), ("new.csv", new)):
        frame = pd.DataFrame(values[:, kept], columns=[f"g{j}" for j in kept])
        frame["status"] = np.where(np.arange(len(values)) % 2, "sick", "well")
        frame.to_csv(tmp_path / name, index=False)
    return X[:, kept], y, new[:, kept]


def test_nothing_is_tested_where_all_samples_took_part_in_the_screening(tmp_path, table):
    X, y, new = table
    model = {"methods": ["corrected", "uncorrected", "bernoulli-nb"]}
    path = write(tmp_path, OWN, model=model, selection=OWN["selection"] | {"features": ["all"]},
                 report={"parts": ["selection-table", "methods"]})  # fmt: skip
    arguments = path, "--results", tmp_path / "results"
    done = invoke("run", *arguments)
    assert done.exit_code == 0, done.output
    words = " ".join(done.output.split())
    assert "all 40 samples were used in the filtering, so none can be tested" in words
    assert "bernoulli-nb: dropped, because no sample is tested" in words
    assert not (tmp_path / "results/tried/predict").exists()
    assert "used in the filtering" in (tmp_path / "results/tried/report.html").read_text()
    corrected, uncorrected = arrays(tmp_path / "results/tried/fit/0000.npz")["promised"][0]
    assert uncorrected < 0.1 < 0.4 < corrected <= 0.5
    must_fail(invoke("predict", *arguments), "nothing to predict")
    done = invoke("predict", *arguments, "--new", tmp_path / "new.csv", "--output",
                  tmp_path / "p.csv")  # fmt: skip
    assert done.exit_code == 0, done.output
    found = pd.read_csv(tmp_path / "p.csv")
    estimator = NaiveBayesClassifier(None, relevant="all", screened={"of": 1000}).fit(X, y)
    mine = found[found["method"] == "all corrected exact"]["probability: sick"]
    np.testing.assert_allclose(mine, estimator.predict_proba(new)[:, 1], atol=1e-12)


def test_the_more_features_there_were_the_less_is_promised(tmp_path, table):
    screened = {"of": [30, 300, 1000, 5000]}
    selection = {"features": ["all"], "screened": screened}
    _, (found,) = stages(tmp_path, OWN, upto="fit", selection=selection)
    promised = found["promised"][0]
    assert (np.diff(promised[:4]) > 0).all()
    assert promised[0] == pytest.approx(promised[4], abs=1e-12)  # nothing was left out


# ---- mistakes ----

FEW = "`of` is 20, but 30 features are left; it is the number before the filtering, so at least 30"
TOLD = "all samples were used in the filtering, so tests are biased"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"screened": {}}, "selection.screened.of: is required. Fix: add it"),
        ({"screened": {"of": []}}, "selection.screened.of: needs at least 1 entries"),
        ({"screened": {"of": [2000, 2000]}}, "selection.screened.of: 2000 is given twice"),
        ({"screened": {"of": 20}}, "selection.screened.of: " + FEW),
        ({"screened": {"of": [2000, 20]}}, "selection.screened.of: " + FEW),
        ({"screened": {"of": 2000, "threshold": 1}}, "must be less than 1"),
        ({"screened": {"keep": 31}}, "selection.screened.keep was removed. Fix: use `of`, or"),
        ({"screened": {"of": 2000}, "features": [31]}, "cannot select 31 of 30 features"),
        ({"screened": {"of": 2000}, "scheme": "leave-one-out"}, "evaluation.scheme: " + TOLD),
        ({"screened": {"of": 2000}, "scheme": "k-fold"}, "evaluation.scheme: " + TOLD),
        ({"screened": {"of": 2000}, "folds": 5}, "evaluation.folds: " + TOLD),
        ({"screened": {"of": 2000}, "groups": 3}, "the groups of filtered features are unknown"),
        ({"screened": {"of": 2000}, "replicates": 3}, "replicates: there is no random division"),
        ({"screened": {"of": 2000}, "data": {"test_path": "other.csv"}}, "there is no column"),
        ({"ties": "printed"}, "selection.ties: cannot be 'printed'; did you mean 'as-printed'?"),
    ],
)  # fmt: skip
def test_mistakes_are_told(tmp_path, table, changes, words):
    lines = (tmp_path / "new.csv").read_text().splitlines()
    other = "\n".join(line.partition(",")[2] for line in lines)
    (tmp_path / "other.csv").write_text(other)
    selection = {"features": [5]} | {
        key: changes[key] for key in ("screened", "features", "ties") if key in changes
    }
    evaluation = {key: changes[key] for key in ("scheme", "folds", "groups") if key in changes}
    path = write(
        tmp_path, OWN, selection=selection, evaluation=evaluation,
        data=OWN["data"] | changes.get("data", {}), replicates=changes.get("replicates", 1),
    )  # fmt: skip
    done = invoke("run", path, "--results", tmp_path / "results")
    assert done.exit_code == 2, done.output
    assert words in " ".join(done.output.split()), done.output
    assert len(done.output) <= 400 + len(str(tmp_path))


def test_a_threshold_above_what_the_table_has_names_the_column(tmp_path, table):
    X, y, _ = table
    weakest = np.abs(np.corrcoef(X.T, y)[-1, :-1]).min()
    for threshold, data, fails in [(weakest + 0.05, {}, True), (weakest - 0.05, {}, False),
                                   (weakest + 0.05, {"test_path": "new.csv"}, True)]:  # fmt: skip
        screened = {"of": 1000, "threshold": round(float(threshold), 3)}
        path = write(tmp_path, OWN, selection={"features": [5], "screened": screened},
                     data=OWN["data"] | data)  # fmt: skip
        done = invoke("run", path, "--results", tmp_path / "results")
        if not fails:
            assert done.exit_code == 0, done.output
            continue
        must_fail(done, "c.yaml:", "selection.screened.threshold: is ", "the feature 'g",
                  f"{weakest:.4f}", " less, which is a contradiction")  # fmt: skip


def test_real_and_missing_values_of_a_screened_table_are_noted(tmp_path, table):
    rng = np.random.default_rng(5)
    frame = pd.read_csv(tmp_path / "t.csv")
    values = frame.iloc[:, :-1] + rng.normal(0, 0.1, (40, 30))
    values.iloc[3, 4] = np.nan
    frame[frame.columns[:-1]] = values
    frame.to_csv(tmp_path / "t.csv", index=False)
    said, (found,) = stages(tmp_path, OWN, upto="fit")
    said = " ".join(said.split())
    assert "notes on the table: 1" in said
    assert "filtered features are assumed to be missing as often as those in the table" in said
    assert np.isfinite(found["promised"]).all()


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ({"pi": []}, "model.pi: needs probabilities above 0 and at most 1, such as [0.001,"),
        ({"pi": [0.5, 0]}, "0.0 is not"),
        ({"pi": [1.5]}, "1.5 is not"),
        ({"pi": [0.5, 0.5]}, "model.pi: 0.5 is given twice"),
        ({"relevant": []}, "model.relevant: needs at least 1 entries"),
        ({"relevant": "none"}, "model.relevant.0: cannot be 'none'"),
        ({"relevant": ["some", "some"]}, "model.relevant: some is given twice"),
        ({"kind": "mixture", "relevant": ["some"]}, "relevant: in a mixture every feature may be"),
        ({"kind": "mixture", "pi": [0.5]}, "use model.kind: naive-bayes"),
    ],
)
def test_mistakes_of_the_model_are_told(tmp_path, model, words):
    must_fail(invoke("run", write(tmp_path, DRAWN, model=model)), words)
