"""How many features are relevant, and predicted errors of tables that were screened before."""

import re

import numpy as np
import pandas as pd
import pytest
from commands import arrays, invoke, must_fail, run

from thesiskit.config import load_config
from thesiskit.files import Results
from thesiskit.models import naive_bayes
from thesiskit.models.effects import effects
from thesiskit.models.selection import select_features
from thesiskit.report import metrics, posteriors
from thesiskit.study.experiment import Experiment

GENES = """
experiment: mine
title: My table
about: Sixty tissues.
data: { source: file, path: genes.csv, response: status, positive: tumour, id: patient }
evaluation: { folds: 3 }
selection: { thresholds: [0.3, 0.4] }
model: { methods: [corrected, uncorrected, l2-logistic], relevant: [all, some] }
report: { parts: [performance, log-alpha, null-figure, reliability,
                  calibration-table, timing-table] }
"""
SCREENED = """
experiment: screened
title: My table
about: Sixty tissues.
data: { source: file, path: best.csv, response: status, positive: tumour, id: patient }
selection: { features: [3, all], screened: { of: [400, 4000] } }
model: { methods: [corrected, uncorrected, l2-logistic], relevant: [all, some] }
report: { parts: [summary, data-card, methods, predictions] }
"""
SAMPLES, REAL, WIDTH, BEST = 60, 3, 40, 12


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("relevance")
    rng = np.random.default_rng(8)
    y = np.arange(SAMPLES) % 2
    X = (rng.random((SAMPLES, 10 * WIDTH)) < 0.5).astype(int)
    X[:, :REAL] = rng.random((SAMPLES, REAL)) < np.where(y, 0.85, 0.15)[:, None]
    cor = np.abs([np.corrcoef(column, y)[0, 1] for column in X.T])
    best = np.sort(np.argsort(-cor, kind="stable")[:BEST])
    for name, columns in (("genes", np.arange(WIDTH)), ("best", best)):
        frame = pd.DataFrame(X[:, columns], columns=[f"g{j}" for j in columns])
        frame.insert(0, "status", np.where(y, "tumour", "normal"))
        frame.insert(0, "patient", [f"P{i}" for i in range(SAMPLES)])
        frame.to_csv(folder / f"{name}.csv", index=False)
    for name, text in (("mine", GENES), ("screened", SCREENED)):
        (folder / f"{name}.yaml").write_text(text)
        (folder / f"{name}.txt").write_text(
            run("run", folder / f"{name}.yaml", "--results", folder / "r")
        )
    return folder


def table(folder, experiment, name):
    return pd.read_csv(folder / "r" / experiment / "tables" / f"{name}.csv")


def page(folder, experiment):
    return (folder / "r" / experiment / "report.html").read_text()


def fits(folder, threshold):
    """Fit anew to each training set; return what was kept, and the posterior."""
    genes = pd.read_csv(folder / "genes.csv")
    X, y = genes.filter(regex="^g").to_numpy(), (genes.status == "tumour").to_numpy().astype(int)
    fold = arrays(folder / "r/mine/simulate/0000.npz")["fold"][0]
    for number in range(3):
        train = fold != number
        kept = select_features(
            X[train], y[train], None, np.random.default_rng(0), threshold=threshold
        )
        yield kept, naive_bayes.fit(kept, naive_bayes.NaiveBayes(relevant="some"))


def test_kept_features_have_probabilities_of_relevance(folder):
    """They are means over the training sets that kept the feature, of fits made anew."""
    found = table(folder, "mine", "selected-features")
    for threshold in ("0.3", "0.4"):
        mine = {}
        for kept, posterior in fits(folder, threshold):
            for j, r in zip(kept.selected, posterior.relevance, strict=True):
                mine.setdefault(f"g{j}", []).append(r)
        rows = found[found.selection == f"|COR| > {threshold}"].set_index("feature")
        assert set(rows.index) == set(mine)
        for name, values in mine.items():
            assert rows.loc[name, "probability relevant"] == pytest.approx(np.mean(values))
    assert rows["probability relevant"].idxmax() in {"g0", "g1", "g2"}


EFFECTS = [
    "raw odds ratio", "raw 95% interval: low", "raw 95% interval: high",
    "corrected odds ratio", "95% interval: low", "95% interval: high",
]  # fmt: skip


def test_selected_features_have_effects(folder):
    """They are means of log odds ratios over the training sets, of fits made anew."""
    found = table(folder, "mine", "selected-features")
    mine = {}
    for kept, posterior in fits(folder, "0.4"):
        for j, effect in zip(kept.selected, effects("naive-bayes", posterior)[:, 0], strict=True):
            mine.setdefault(f"g{j}", []).append(effect)
    rows = found[found.selection == "|COR| > 0.4"].set_index("feature")
    for name, values in mine.items():
        expected = np.exp(np.mean(values, axis=0))
        np.testing.assert_allclose(rows.loc[name, EFFECTS].astype(float), expected, rtol=1e-4)
    assert (rows["corrected odds ratio"] > 1).any()
    text = page(folder, "mine")
    assert "The corrected one is the posterior mean" in text
    assert "The odds of the value 1 in tumour are divided" in text
    screened = table(folder, "screened", "selected-features")
    assert "95% interval, of 4,000: low" in screened


def test_results_of_earlier_versions_have_no_effects(folder):
    """Without the array there are no columns, and the caption does not name them."""
    config = load_config(folder / "mine.yaml")
    record = Experiment(config, Results(folder / "r", "mine"), folder).record()
    del record.fit_arrays["effect"]
    posteriors.relevances.cache_clear()
    (found,) = posteriors.selected_table(record)
    assert "probability relevant" in found.frame
    assert not any("odds ratio" in name for name in found.frame)
    assert "corrected" not in found.caption


def test_both_kinds_of_methods_are_on_the_page(folder):
    """No method hides behind the first one of its method."""
    found = table(folder, "mine", "calibration")
    titles = dict.fromkeys(name.partition(": ")[0] for name in found.columns[2:])
    assert list(titles) == ["corrected", "corrected, some relevant", "uncorrected",
                            "uncorrected, some relevant"]  # fmt: skip
    cells = arrays(folder / "r/mine/predict/0000.npz")
    for i, (label, method, relevant) in enumerate(
        zip(cells["label"], cells["method"], cells["relevant"], strict=True)
    ):
        if relevant == "none":
            continue
        title = method + (", some relevant" if relevant == "some" else "")
        ours = metrics.calibration(cells["probability"][i], cells["response"])
        mine = found[found.features == label]
        assert list(mine[f"{title}: #"]) == list(ours["samples"])
        assert mine[f"{title}: Pred"].to_numpy() == pytest.approx(
            ours["predicted"].to_numpy(), nan_ok=True
        )


# ---- tables that were screened before ----


def test_a_screened_table_says_first_that_nothing_is_tested(folder):
    text = page(folder, "screened")
    answer = text.partition('id="answer"><p>')[2].partition("</p>")[0]
    assert "These samples also selected the features, so none of them can test" in answer
    assert "the best features of 400 or 4,000" in text
    assert "<code>data.test_path</code>" in text
    anchors = re.findall(r'id="part-([a-z-]+)"', text)
    assert anchors == ["screened-answers", "checks", "methods", "selected-features", "data-card",
                       "checklist"]  # fmt: skip
    printed = (folder / "screened.txt").read_text()
    assert "Note: report.parts: predictions: dropped" in printed
    line = r"^fit: predicted error 0\.\d{3} \(Corrected, 3 of 400 features"
    assert re.search(line, printed, re.MULTILINE)
    assert "no sample was left for a test" in text
    assert "without the test samples" not in text


def test_the_summary_of_a_screened_table_has_what_is_promised(folder):
    found = table(folder, "screened", "methods")
    stored = arrays(folder / "r/screened/fit/0000.npz")
    assert len(found) == len(stored["label"]) == 12
    assert found["predicted error"].to_numpy() == pytest.approx(stored["promised"][0])
    for row, label, method in zip(
        found.itertuples(), stored["label"], stored["method"], strict=True
    ):
        before = str(label).partition(" of ")[2]
        assert row[2] == (before or "no filter")
        assert (method == "uncorrected") == (not before)
    of_all = found.method.str.fullmatch("Corrected, all of .* features, some relevant")
    few, many = found[of_all]["predicted error"]
    of_three = found.method.str.fullmatch("Corrected, 3 of .* features, all relevant")
    three = found[of_three]["predicted error"]
    assert len(three) == 2
    assert three.is_monotonic_increasing  # the more there were, the less is known
    lead = page(folder, "screened")
    said = r"classify (\d+)% correctly if the table was filtered from 400 features, (\d+)%"
    rates = re.search(said, " ".join(lead.split())).groups()
    assert [int(rate) for rate in rates] == [round(100 * (1 - few)), round(100 * (1 - many))]
    kept = table(folder, "screened", "selected-features")
    assert set(kept.selection) == {"3", "all"}
    assert len(kept) == 3 + BEST
    more, less = (kept[f"probability relevant: of {of}"] for of in ("400", "4,000"))
    assert (more > less).all()  # the more there were to choose from, the less the best ones mean


def test_a_list_of_numbers_is_needed_for_the_figure_of_answers(folder):
    text = SCREENED.replace("[400, 4000]", "4000").replace("[summary", "[screened-answers")
    (folder / "one.yaml").write_text(text)
    must_fail(invoke("run", folder / "one.yaml", "--results", folder / "r"),
              "screened-answers needs several numbers in selection.screened.of")  # fmt: skip


def test_a_table_that_cannot_have_been_screened_like_this_is_told(folder):
    """Its features correlate no better than useless ones do; so nobody chose the best of many."""
    text = SCREENED.replace("best.csv", "genes.csv").replace(
        "experiment: screened", "experiment: x"
    )
    (folder / "x.yaml").write_text(text)
    printed = run("run", folder / "x.yaml", "--results", folder / "r")
    said = "of 400 useless features would have an absolute correlation of"
    assert said in printed
    assert said in page(folder, "x")
    assert "of 400 useless features" not in (folder / "screened.txt").read_text()


def test_new_samples_are_predicted_by_those_that_took_part_in_the_screening(folder):
    """Others, in data.test_path, would need another correction, so they do not train."""
    best = pd.read_csv(folder / "best.csv")
    other = best.sample(frac=1, random_state=1).assign(status=best.status)  # of no use
    other.to_csv(folder / "other.csv", index=False)
    other.drop(columns="status").to_csv(folder / "new.csv", index=False)
    text = SCREENED.replace("best.csv,", "best.csv, test_path: other.csv,")
    text = text.replace("[400, 4000]", "400, threshold: 0.29")
    text = text.replace("experiment: screened", "experiment: y").replace(
        "[summary", "[timing-table"
    )
    (folder / "y.yaml").write_text(text)
    printed = run("predict", folder / "y.yaml", "--new", folder / "new.csv", "--all-methods",
                  "--output", folder / "p.csv", "--results", folder / "r")  # fmt: skip
    assert f"9 methods, {SAMPLES} samples" in printed  # one is a method of others
    assert "report.parts" not in printed
