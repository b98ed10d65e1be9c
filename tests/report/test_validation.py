"""External validation: measures of new samples, by other packages and by slow searches."""

import io
import json
import shutil

import numpy as np
import pandas as pd
import pytest
from commands import invoke, must_fail, run
from new_samples import NEW, write_config, write_tables
from scipy import optimize, special
from sketched import sketched
from sklearn.metrics import brier_score_loss, log_loss, r2_score, roc_auc_score

from thesiskit.fitted import load_model
from thesiskit.models.density import SCORED, guess
from thesiskit.report import metrics
from thesiskit.report.metrics import RealScore, Score
from thesiskit.report.validation import measure, update

# of statsmodels 0.15 for the samples of `sines`: estimate and 1.96 standard errors around it
IN_THE_LARGE = [-1.2351641354556395, -2.0073073221238715, -0.4630209487874074]  # GLM with offset
SLOPE = [0.7818289317461439, 0.20038033772869002, 1.3632775257635976]  # GLM
SLOPE_OF_THREE = 0.111540343379529, 0.287024551686271  # ConditionalLogit: estimate and error
INTERCEPT_OF_REALS = [2.251882077774371, 1.104459942463758, 3.399304213084983]  # OLS
SLOPE_OF_REALS = [0.777429817956494, 0.665689855817792, 0.889169780095196]
ERROR_IN_GROUPS = 0.021451873249489  # OLS, cluster without corrections
N = 40


def samples(y, classes, group=None):
    i = np.arange(len(y))
    base = np.full((len(y), 2), 0.5) if classes else guess(y).repeat(len(y), axis=0)
    return metrics.Tested(y, i.astype(str), i, {}, classes, base, group)


def sines(classes=2, group=None):
    """A score of predictions without random numbers."""
    i = np.arange(N)
    if classes == 2:
        odds = 2 * np.sin(1.7 * i) + 0.3
        y = (np.cos(2.3 * i) + 0.8 * np.sin(1.7 * i) > 0.1).astype(int)
        p = np.column_stack([special.expit(-odds), special.expit(odds)])
        return Score(samples(y, ["a", "b"], group), "x", p)
    if classes == 3:
        z = np.stack([np.sin(1.7 * i), np.cos(1.1 * i), np.sin(0.7 * i + 1)], 1)
        return Score(samples((i * 7 % 5) % 3, [*"abc"], group), "x", special.softmax(z, axis=1))
    y = 10 + 2.4 * np.sin(1.7 * i) + np.cos(2.9 * i)
    mean = 3 * np.sin(1.7 * i) + 10
    values = {name: np.full(N, 0.5) for name in SCORED} | {"mean": mean, "low": y - 1, "high": y}
    return RealScore(samples(y, [], group), "x", np.column_stack([values[x] for x in SCORED]))


def test_measures_of_two_classes_are_those_of_other_packages():
    score = sines()
    found, y, p = measure(score), score.tested.response, score.probability
    assert found["calibration in the large"] == pytest.approx(IN_THE_LARGE, abs=1e-8)
    assert found["calibration slope"] == pytest.approx(SLOPE, abs=1e-8)
    assert found["log loss"][0] == pytest.approx(log_loss(y, p), abs=1e-8)
    assert found["Brier"][0] == pytest.approx(brier_score_loss(y, p[:, 1]), abs=1e-8)
    assert found["AUC"][0] == pytest.approx(roc_auc_score(y, p[:, 1]), abs=1e-8)
    assert found["error"][0] == ((p[:, 1] > 0.5) != y).mean()
    for name in ("log loss", "Brier", "AUC", "error"):
        assert found[name][1] < found[name][0] < found[name][2]


def test_measures_of_three_classes():
    score = sines(3)
    found, y, p = measure(score), score.tested.response, score.probability
    estimate, error = SLOPE_OF_THREE
    slope, low, high = found["calibration slope"]
    assert slope == pytest.approx(estimate, abs=1e-8)
    assert (high - low) / 3.92 == pytest.approx(error, abs=1e-7)  # it differentiates numerically
    assert found["Brier"][0] == pytest.approx(((p - np.eye(3)[y]) ** 2).sum(axis=1).mean() / 2)
    shift = [found[f"calibration in the large, {name}"][0] for name in "bc"]
    after = special.softmax(np.log(p) + np.append(0, shift), axis=1)
    assert after.sum(axis=0) == pytest.approx(np.bincount(y), abs=1e-8)  # the score equations


def test_measures_of_real_responses():
    score = sines(0)
    found = measure(score)
    assert found["calibration intercept"] == pytest.approx(INTERCEPT_OF_REALS, abs=1e-8)
    assert found["calibration slope"] == pytest.approx(SLOPE_OF_REALS, abs=1e-8)
    assert found["R2"][0] == pytest.approx(r2_score(score.tested.response, score.prediction))
    assert found["mean residual"][0] == pytest.approx(score.residual.mean())
    in_groups = measure(sines(0, np.arange(N) // 4))["calibration slope"]
    half = (in_groups[2] - in_groups[1]) / 2
    freedom, factor = 9, 2.2621571627409915  # quantile of Student's t
    assert half == pytest.approx(factor * ERROR_IN_GROUPS * np.sqrt(10 / freedom), abs=1e-8)


@pytest.mark.parametrize("group", [None, np.arange(N) // 4])
def test_an_update_of_the_intercept_knows_no_sample_that_it_is_scored_on(group):
    score = sines(group=group)
    y, odds = score.tested.response, special.logit(score.probability[:, 1])
    who, p = np.arange(N) if group is None else group, np.empty(N)
    for one in np.unique(who):
        others = who != one

        def excess(shift, others=others):
            return (special.expit(odds[others] + shift) - y[others]).sum()

        p[~others] = special.expit(odds[~others] + optimize.brentq(excess, -9, 9, xtol=1e-14))
    found = update(score)
    assert found["log loss"] == pytest.approx(log_loss(y, p), abs=1e-8)
    assert found["error"] == ((p >= 0.5) != y).mean()
    real = sines(0, group)
    residual = [r - real.residual[who != w].mean() for r, w in zip(real.residual, who, strict=True)]
    assert update(real)["RMSE"] == pytest.approx(np.sqrt(np.mean(np.square(residual))))


def test_of_many_samples_the_update_is_in_folds(rng):
    odds = rng.normal(size=700)
    y = (rng.random(700) < special.expit(odds + 1)).astype(int)
    p = np.column_stack([special.expit(-odds), special.expit(odds)])
    score = Score(samples(y, ["a", "b"]), "x", p)
    found = measure(score)["calibration in the large"]
    assert found[1] < 1 < found[2]
    assert update(score)["log loss"] < score.log_loss - 0.02
    lonely = (np.arange(30) == 0).astype(int)  # without it, others lack its class
    assert update(Score(samples(lonely, ["a", "b"]), "x", p[:30])) == {}


# ---- the command ----


@pytest.fixture
def mine(tmp_path, monkeypatch):
    write_tables(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def with_response(kind, name, values):
    """Write new.csv: the new samples of a kind, with a response."""
    table = pd.read_csv(NEW[kind])
    table[name] = np.resize(values, len(table))
    table.to_csv("new.csv", index=False)
    return table[name].to_numpy()


def rows_of(folder):
    found = json.loads((folder / "validation.json").read_text())
    return found, pd.DataFrame(found["measures"]).set_index(["method", "measure"])


@pytest.mark.parametrize(
    ("kind", "column", "values"),
    [
        pytest.param("normal", "status", ["tumour", "normal", "normal"], marks=pytest.mark.slow),
        ("three-classes", "status", ["I", "III", "II", "I"]),
        ("features", "status", ["yes", "no"]),
    ],
)
def test_classes_by_config_and_by_model_file(mine, kind, column, values):
    write_config(mine, kind)
    few = ("--set", "evaluation.folds=3")
    y = with_response(kind, column, values)
    said = run("validate", f"{kind}.yaml", "--new", "new.csv", "--all-methods")
    assert "log loss  internal" in said
    found, rows = rows_of(mine / "results/mine-on-new")
    assert rows["internal: value"].isna().all()  # the experiment has not run
    with sketched():
        run("run", f"{kind}.yaml", *few)
    run("export", f"{kind}.yaml", "mine.model", "--all-methods", *few)
    shutil.copy("new.csv", "other.csv")
    run("validate", "mine.model", "--new", "other.csv", "--output", "out")
    again, by_file = rows_of(mine / "out")
    assert found["samples"] == again["samples"] == len(y)
    model = load_model("mine.model")
    for method in model.methods:
        p = model.predict_proba(pd.read_csv("new.csv"), method)
        codes = np.array([model.classes.index(str(one)) for one in y])
        row = by_file.loc[method]
        assert row.loc["log loss", "external: value"] == pytest.approx(
            log_loss(codes, np.maximum(p, 1e-300), labels=range(p.shape[1])), abs=1e-8
        )
        assert row.loc["error", "internal: value"] >= 0
    ours = rows["external: value"].to_numpy()  # with the names and the order of pages
    np.testing.assert_allclose(np.sort(ours), np.sort(by_file["external: value"]), rtol=1e-9)
    page = (mine / "out/validation.html").read_text()
    assert "Validation of mine on other.csv" in page
    assert page.count("<img") >= 1
    assert (mine / "out/validation.csv").read_text().startswith("method,measure,external: value")


def test_internal_scores_are_those_of_the_report(mine):
    write_config(mine, "naive")
    few = ("--set", "model.quadrature=exact", "--set", "evaluation.folds=3")
    with sketched():
        run("run", "naive.yaml", *few)
    with_response("naive", "status", ["tumour", "normal"])
    with sketched():
        run("validate", "naive.yaml", "--new", "new.csv", "--all-methods", *few)
    _, rows = rows_of(mine / "results/mine-on-new")
    table = pd.read_csv("results/mine/tables/methods.csv").set_index("method")
    names = {"log loss": "log loss", "error": "error", "AUC": "AUC", "Brier": "Brier"}
    for method, measured in rows.groupby("method"):
        for ours, theirs in names.items():
            value = measured.loc[(method, ours), "internal: value"]
            assert value == pytest.approx(table.loc[method, theirs], abs=1e-9)
    order = rows.xs("log loss", level="measure")["internal: value"]
    assert order.is_monotonic_increasing


@pytest.mark.parametrize(("kind", "column"), [("normal-real", "dose"), ("real", "size")])
def test_real_responses_by_config(mine, kind, column):
    write_config(mine, kind)
    y = with_response(kind, column, np.linspace(10, 30, 7))
    few = ()
    if kind == "normal-real":
        few = ("--set", "model.methods=[corrected, ridge]", "--set", "selection.features=[3]")
    run("validate", f"{kind}.yaml", "--new", "new.csv", "--all-methods", *few)
    _, rows = rows_of(mine / "results/mine-on-new")
    done = invoke("predict", f"{kind}.yaml", "--new", NEW[kind], "--all-methods", *few)
    predicted = pd.read_csv(io.StringIO(done.stdout))
    rmse = {
        method: np.sqrt(np.mean((y - part["mean"].fillna(part["median"])) ** 2))
        for method, part in predicted.groupby("method")
    }
    found = rows.xs("RMSE", level="measure")["external: value"]
    np.testing.assert_allclose(np.sort(found), np.sort([*rmse.values()]), rtol=1e-6)
    coverage = rows.xs("coverage of 90%", level="measure")["external: value"]
    assert coverage.between(0, 1).all()
    assert rows.xs("negative log density", level="measure")["external: value"].notna().all()


def test_groups_of_new_samples_widen_intervals(mine):
    write_config(mine, "naive")
    text = (mine / "naive.yaml").read_text().replace("status,", "status, sample_groups: who,")
    (mine / "naive.yaml").write_text(text)
    pd.read_csv("tissues.csv").assign(who=np.arange(40) // 2).to_csv("tissues.csv", index=False)
    table = pd.read_csv("new-tissues.csv").assign(status=["tumour"] * 4 + ["normal"] * 5)
    wide = []
    for name, who in (("apart", np.arange(9)), ("together", np.arange(9) // 3)):
        table.assign(who=who).to_csv(f"{name}.csv", index=False)
        run("validate", "naive.yaml", "--new", f"{name}.csv", "--method", "all complete exact")
        _, rows = rows_of(mine / f"results/mine-on-{name}")
        row = rows.xs("error", level="measure").iloc[0]
        wide.append(row["external: high"] - row["external: low"])
    assert wide[1] > 1.2 * wide[0]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda t: t.drop(columns="status"), "there is no column 'status', the response"),
        (lambda t: t.assign(status="benign"), "is 'benign' in line 2, which no training sample"),
        (lambda t: t[:0], "a line of names but no samples"),
        (lambda t: t.assign(status=None), "the response 'status' is missing in all samples"),
        (lambda t: t[:1], "1 samples with a response"),
    ],
)
def test_bad_new_samples(mine, change, words):
    write_config(mine, "naive")
    run("export", "naive.yaml", "mine.model", "--method", "all complete exact")
    with_response("naive", "status", ["tumour", "normal"])
    change(pd.read_csv("new.csv")).to_csv("bad.csv", index=False)
    done = invoke("validate", "mine.model", "--new", "bad.csv", "--output", "out")
    must_fail(done, words, "Fix:")
    assert not (mine / "out").exists()


def test_one_class_and_missing_responses_and_features_are_said(mine):
    write_config(mine, "naive")
    run("export", "naive.yaml", "mine.model", "--method", "all complete exact")
    with_response("naive", "status", ["tumour", "tumour", ""])
    pd.read_csv("new.csv").drop(columns="gene 3").to_csv("new.csv", index=False)
    said = run("validate", "mine.model", "--new", "new.csv", "--output", "out")
    assert "3 samples without a response dropped" in said
    assert "lacks 'gene 3'" in said
    found, rows = rows_of(mine / "out")
    assert found["samples"] == 6
    assert found["absent features"] == ["gene 3"]
    values = rows.droplevel("method")["external: value"]
    assert values.isna().sum() == 3
    assert values[["AUC", "calibration slope", "calibration in the large"]].isna().all()
    assert values[["log loss", "error", "Brier"]].notna().all()
    page = " ".join((mine / "out/validation.html").read_text().split())
    assert "No new sample is of class &#39;normal&#39;" in page
    assert "without a response dropped" in page
    must_fail(
        invoke("validate", "mine.model", "--new", "new.csv", "--strict", "--output", "b"), "Fix:"
    )


def test_what_cannot_be_validated(mine):
    write_config(mine, "sequences")
    done = invoke("validate", "sequences.yaml", "--new", "new-reads.txt", "--all-methods")
    must_fail(done, "does not read responses of new samples", "Fix:")
    must_fail(invoke("validate", "none.model", "--new", "a.csv"), "none.model: cannot be read")
    write_config(mine, "naive")
    run("export", "naive.yaml", "mine.model", "--method", "all complete exact")
    done = invoke("validate", "mine.model", "--new", "new-tissues.csv", "--seed", 2)
    must_fail(done, "is fitted already. Fix: remove --seed")
    with_response("naive", "status", ["tumour", "normal"])
    (mine / "theirs").mkdir()
    (mine / "theirs/notes.txt").write_text("mine")
    done = invoke("validate", "mine.model", "--new", "new.csv", "--output", "theirs")
    must_fail(done, "has files that thesiskit did not create", code=1)
