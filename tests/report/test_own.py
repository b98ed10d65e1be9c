"""Reports on tables of the user's own: in names, over all divisions, and in words."""

import base64
import html
import json
import re
import shutil
import zlib
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
import yaml
from commands import arrays, invoke, must_fail, run
from sketched import ORIGINAL, drawn

from thesiskit.datasets.checking import CHECKS
from thesiskit.files import Results
from thesiskit.report import stages, summary
from thesiskit.report.layout import Figure, prose, template
from thesiskit.report.record import Record

GENES = """
experiment: mine
title: My expression table
about: Forty tissues.
data: { source: file, path: genes.csv, response: status, positive: tumour, id: patient }
evaluation: { folds: 4 }
selection: { features: [3, 8, all] }
model: { methods: [corrected, uncorrected, l2-logistic] }
report: { parts: [methods, reliability] }
"""
DRAWN = GENES.replace(
    "source: file, path: genes.csv, response: status, positive: tumour, id: patient",
    "source: naive-bayes, features: 30, alpha: 5, train: [10, 10], test: [6, 6]",
).replace("evaluation: { folds: 4 }\n", "replicates: 2\n")
LOCI = """
experiment: loci
title: Loci
about: Genotypes.
data: { source: table, path: loci.csv, response: status }
evaluation: { folds: 3 }
model:
  kind: logistic
  orders: [2]
  priors: [gaussian]
  chains: 2
  iterations: 40
  burn_in: 10
  peers: [logistic-regression]
report: { parts: [coefficients, methods] }
"""


PRINTED = pytest.mark.parametrize("printed", [False, pytest.param(True, marks=pytest.mark.slow)])


def write(folder):
    rng = np.random.default_rng(5)
    y = rng.permutation(np.repeat([0, 1], [16, 24]))
    X = rng.normal(size=(40, 30))
    X[:, :4] += 2 * y[:, None]
    X[:, 4] -= 2 * y
    X[:, 9] = rng.choice([2.0, 7.0], 40)
    frame = pd.DataFrame(X, columns=[f"GENE{j}" for j in range(30)])
    frame.insert(0, "status", np.where(y, "tumour", "normal"))
    frame.insert(0, "patient", [f"P-{i:02d}" for i in range(40)])
    frame.to_csv(folder / "genes.csv", index=False)
    loci = pd.DataFrame(rng.integers(0, 3, (45, 4)), columns=list("abcd"))
    loci["status"] = np.where((loci.a == loci.b) ^ (rng.random(45) < 0.1), "case", "control")
    loci.to_csv(folder / "loci.csv", index=False)
    for text in (GENES, LOCI):
        (folder / f"{yaml.safe_load(text)['experiment']}.yaml").write_text(text)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("own")
    write(folder)
    # those of the pages and the small ones: what is printed takes most of the time
    small = patch.object(Figure, "thumbnail", ORIGINAL["thumbnail"])
    with drawn(printed=False), small:
        for name in ("mine", "loci"):
            run("run", folder / f"{name}.yaml", "--results", folder / "r")
    return folder


@pytest.fixture(scope="module")
def genes(folder):
    return pd.read_csv(folder / "genes.csv")


def table(folder, experiment, name):
    return pd.read_csv(folder / "r" / experiment / "tables" / f"{name}.csv")


def page(folder, experiment):
    text = (folder / "r" / experiment / "report.html").read_text()
    assert "built-in method" not in text  # a template that shows a function in place of its value
    return text


def test_the_parts_of_a_table_of_ones_own_come_first(folder):
    anchors = re.findall(r'id="part-([a-z-]+)"', page(folder, "mine"))
    assert anchors == ["summary", "checks", "methods", "reliability", "selected-features",
                       "predictions", "data-card", "checklist"]  # fmt: skip
    assert re.findall(r'id="part-([a-z-]+)"', page(folder, "loci"))[:5] == [
        "summary", "checks", "methods", "reliability", "predictions"
    ]  # fmt: skip


def test_selected_features_are_those_of_the_training_sets(folder, genes):
    """The correlations of the binary features, computed anew by NumPy."""
    found = table(folder, "mine", "selected-features")
    cells = arrays(folder / "r/mine/simulate/0000.npz")
    names = [name for name in genes if name.startswith("GENE")]
    y = (genes.status == "tumour").to_numpy()
    kept = {3: {}, 8: {}}
    for fold in range(4):
        train = cells["fold"][0] != fold
        X = genes.loc[train, names]
        middle = X.median().where(X.nunique() > 2, (X.min() + X.max()) / 2)
        binary = (middle < X).to_numpy().astype(float)
        cor = np.array([np.corrcoef(column, y[train])[0, 1] for column in binary.T])
        for size, mine in kept.items():
            edge = np.sort(np.abs(cor))[-size]
            for j in np.flatnonzero(np.abs(cor) > edge + 1e-9):  # ties at the edge are random
                mine.setdefault(names[j], []).append(cor[j])
    assert set(found.selection) == {3, 8}  # of all features nothing is selected
    for row in found.itertuples(index=False):
        mine = kept[row.selection].get(row.feature, [])
        assert row[2] >= len(mine)
        if len(mine) == row[2]:  # no tie
            assert row[3] == pytest.approx(np.mean(mine))
            assert row[4:] == pytest.approx((min(mine), max(mine)))
    rows = found[found.selection == 8].set_index("feature")
    assert rows.loc["GENE0", "correlation"] > 0.5  # tumours have more
    assert rows.loc["GENE4", "correlation"] < -0.5  # and less
    for size, part in found.groupby("selection"):
        assert part["selected in"].sum() == 4 * size


def test_predictions_have_ids_and_classes_by_name(folder, genes):
    found = table(folder, "mine", "predictions")
    assert list(found.columns) == [
        "id", "fold", "response", "features", "method", "probability: normal",
        "probability: tumour",
    ]  # fmt: skip
    cells = arrays(folder / "r/mine/predict/0000.npz")
    assert len(found) == cells["probability"].size
    both = found["probability: normal"] + found["probability: tumour"]
    assert both.to_numpy() == pytest.approx(1)
    status = dict(zip(genes.patient, genes.status, strict=True))
    assert (found.response == found.id.map(status)).all()
    first = found[: len(cells["case"])]  # the first method, in the order of the table
    assert list(first.id) == list(genes.patient)
    by_sample = cells["probability"][0][np.argsort(cells["case"])]
    assert first["probability: tumour"].to_numpy() == pytest.approx(by_sample)
    assert list(first.fold) == list(cells["fold"][np.argsort(cells["case"])] + 1)


def test_ids_are_numbers_of_rows_unless_there_are_some(folder):
    found = table(folder, "loci", "predictions")
    samples = pd.read_csv(folder / "loci.csv")
    assert list(found.id[:45]) == list(range(1, 46))
    assert list(found.response[:45]) == list(samples.status)
    assert set(found.order) == {"2", "all"}


def test_the_page_opens_with_a_sentence_figures_of_merit_and_two_pictures(folder):
    text = html.unescape(page(folder, "mine"))
    answer = text.partition('id="answer"><p>')[2].partition("</p>")[0]
    rows = table(folder, "mine", "methods").set_index("method")
    best = rows.drop("Class frequencies").sort_values("log loss").iloc[0]
    right = f"{100 * (1 - best['error']):.0f}%"
    assert answer.startswith(
        f"On samples it has not seen, the recommended method classifies {right} correctly"
    )
    assert "always predicting 'tumour' would be right in 60%" in answer
    predicted, errors = re.search(r"predicted ([\d.]+) errors and made (\d+):", answer).groups()
    assert float(predicted) == pytest.approx(40 * best["predicted error"], abs=0.051)
    assert (
        int(errors) == round(40 * best["error"]) == len(table(folder, "mine", "wrong-predictions"))
    )
    cards = re.findall(r'<dt>([^<]*)</dt> <dd class="value">([^<]*)<', text)
    assert [title for title, _ in cards] == ["Log loss", "Error", "Predicted error", "AUC"]
    assert cards[0][1] == f"{best['log loss']:.3f}"
    assert cards[3][1] == f"{best['AUC']:.2f}"
    sections = re.findall(r'<section id="([a-z-]+)"', text)
    assert sections[:4] == ["forest", "strip", "checks", "methods"]
    assert sections[-3:] == ["data-card", "checklist", "glossary"]


def test_one_table_has_every_method(folder):
    rows = table(folder, "mine", "methods").set_index("method")
    assert list(rows.index) == [*rows.sort_values("log loss").index]
    found = table(folder, "mine", "predictions")
    y = found.response == "tumour"
    for (size, method), part in found.groupby(["features", "method"]):
        of = (rows["setting: features"] == size) & (rows["setting: method"] == method)
        p = part["probability: tumour"]
        loss = -np.log(np.where(y[part.index], p, 1 - p)).mean()
        assert rows.loc[of, "log loss"].item() == pytest.approx(loss)
        assert rows.loc[of, "error"].item() == pytest.approx(((p >= 0.5) != y[part.index]).mean())
        assert rows.loc[of, "predicted error"].item() == pytest.approx(np.minimum(p, 1 - p).mean())
    assert rows.loc["Class frequencies", "error"] == 0.4
    best = rows["log loss"].iloc[0]
    minus = rows["log loss minus the lowest: value"]
    assert minus.to_numpy() == pytest.approx(rows["log loss"].to_numpy() - best)


def test_the_numbers_of_the_page_are_in_a_file(folder):
    found = json.loads((folder / "r/mine/report.json").read_text())
    rows = table(folder, "mine", "methods")
    assert [row["method"] for row in found["methods"]] == rows["method"].tolist()
    assert found["opening"]["error"] == rows["error"].iloc[0]
    assert found["card"]["samples"] == "40"
    assert found["seed"] == 1
    assert len(found["date"]) == 10


def test_stability_of_the_page_is_in_a_file(folder):
    found = json.loads((folder / "r/mine/report.json").read_text())["stability"]
    assert [row["selection"] for row in found] == ["3", "8"]
    text = html.unescape(page(folder, "mine"))
    for row in found:
        assert (
            f"Stability of the {row['selection']} selected features: {row['stability']:.2f} (95% "
            f"interval {row['low']:.2f} to {row['high']:.2f})"
        ) in text
    cells = arrays(folder / "r/mine/select/0000.npz")
    ends = zip(cells["offset"], cells["offset"][1:], strict=False)
    Z = np.zeros((4, 30))
    for fold, (first, last) in enumerate([*ends][::3]):  # of three selections
        Z[fold, cells["selected"][first:last]] = 1
    phi = 1 - Z.var(axis=0, ddof=1).mean() / (0.1 * 0.9)
    assert found[0]["stability"] == pytest.approx(phi)
    assert "stability" not in json.loads((folder / "r/loci/report.json").read_text())


def test_net_benefit_is_paired_with_the_frequencies_and_the_next_method(folder):
    rows, found = table(folder, "mine", "net-benefits"), table(folder, "mine", "predictions")
    methods = table(folder, "mine", "methods").set_index("method")
    names = [name for name in methods.index if name != "Class frequencies"]
    y, gains = None, []
    for name in names[:2]:
        size, method = methods.loc[name, ["setting: features", "setting: method"]]
        part = found[(found.features == size) & (found.method == method)]
        y = (part.response == "tumour").to_numpy()
        acts = part["probability: tumour"].to_numpy()[:, None] >= rows.threshold.to_numpy()
        odds = (rows.threshold / (1 - rows.threshold)).to_numpy()
        gains.append(np.where(y[:, None], 1, -odds) * acts)
    assert rows["net benefit"].to_numpy() == pytest.approx(gains[0].mean(axis=0))
    assert rows["treat all"].to_numpy() == pytest.approx(0.6 - 0.4 * odds)
    less = gains[0] - gains[1]
    columns = ["value", "low", "high"]
    half = 1.96 * 1.4 * less.std(axis=0, ddof=1) / np.sqrt(40)  # folds share training samples
    wanted = less.mean(axis=0)[:, None] + half[:, None] * np.array([0, -1, 1])
    ends = rows[[f"minus next method: {name}" for name in columns]].to_numpy()
    np.testing.assert_allclose(ends, wanted, atol=1e-12)
    # treating all up to the share of tumours, and none above it
    away = (rows.threshold - 0.6).abs() > 0.005
    best = np.maximum(rows["treat all"], 0)[away]
    minus = rows["minus class frequencies: value"][away]
    assert minus.to_numpy() == pytest.approx((rows["net benefit"][away] - best).to_numpy())
    text = html.unescape(page(folder, "mine"))
    assert f"the next method is {names[1]}" in text
    assert f"the dotted line is {names[1]}" in text
    part = text.partition('id="net-benefits"')[2].partition("</section>")[0]
    assert "5 of 90 rows" in part


def test_the_page_says_at_which_prevalence_models_are_fitted(folder):
    for name, shares in (("mine", "normal 40%, tumour 60%"), ("loci", "case ")):
        text = page(folder, name)
        assert f"assume the prevalence of the training samples ({shares}" in text
        assert text.count("<code>--prevalence CLASS=SHARE</code> sets another.") == 1


def test_net_benefit_of_a_prevalence_of_the_config(folder, tmp_path):
    write(tmp_path)
    shutil.copytree(folder / "r", tmp_path / "r")
    again = ("run", tmp_path / "mine.yaml", "--results", tmp_path / "r", "--set")
    run(*again, "report.prevalence={tumour: 0.1}")
    rows = table(tmp_path, "mine", "net-benefits")
    odds = rows.threshold / (1 - rows.threshold)
    assert rows["treat all"].to_numpy() == pytest.approx(0.1 - 0.9 * odds)
    assert (rows["net benefit"] < 0.1 + 1e-12).all()
    assert "The prevalence of tumour is assumed to be 0.1." in page(tmp_path, "mine")
    for value, words in (
        ("{tumor: 0.1}", "did you mean tumour?"),
        ("{tumour: 1}", "must be less than 1"),
        ("{tumour: 0.1, normal: 0.1}", "add up to 0.2"),
    ):
        must_fail(invoke(*again, f"report.prevalence={value}"), words)
    dose = pd.read_csv(tmp_path / "loci.csv").assign(status=np.arange(45.0))
    dose.to_csv(tmp_path / "loci.csv", index=False)
    real = (LOCI.replace("orders:", "response: gaussian\n  orders:")
            .replace("logistic-regression", "ridge")
            .replace("methods] }", "methods], prevalence: { a: 0.1 } }"))  # fmt: skip
    (tmp_path / "real.yaml").write_text(real)
    done = invoke("run", tmp_path / "real.yaml", "--results", tmp_path / "s")
    must_fail(done, "report.prevalence is for two classes. Fix: ")


def test_a_methods_paragraph_names_data_division_methods_and_versions(folder):
    text = page(folder, "mine")
    paragraph = text.partition('id="checklist"')[2].partition('<p class="lead">')[2]
    paragraph = html.unescape(paragraph.partition("</p>")[0])
    for words in ("40 samples (tumour 24 (60%), normal 16 (40%))", "Features: 30.", "4-fold",
                  "Ridge", "Corrected, 3 features", "thesiskit 0", "numpy ", "seed 1"):  # fmt: skip
        assert words in paragraph
    items = table(folder, "mine", "checklist")
    assert len(items) == 30
    assert (items["report"] == "for the authors").sum() == 11


def test_the_data_card_says_what_was_made_binary(folder):
    card = dict(table(folder, "mine", "data-card").to_numpy())
    assert card["samples"] == "40"
    assert card["classes"] == "tumour 24 (60%), normal 16 (40%)"
    assert card["made binary"].startswith("29 cut at the median of each training set")
    assert "1 with two values" in card["made binary"]
    assert card["missing values"] == "none"


def test_every_table_and_figure_links_a_file_that_exists(folder):
    for name in ("mine", "loci"):
        links = re.findall(r'href="((?:tables|figures)/[^"]+)"', page(folder, name))
        assert links
        assert all((folder / "r" / name / link).is_file() for link in links)
        sections = re.findall(r"<section", page(folder, name))
        assert len(links) == len(sections) - 1  # the glossary has no file
    assert any(
        link.endswith(".pdf") for link in re.findall(r'href="([^"]+)"', page(folder, "mine"))
    )


def test_terms_are_explained_where_they_stand(folder):
    text = page(folder, "mine")
    assert re.search(r'<abbr title="the average minus log probability[^"]*">log loss</abbr>', text)
    assert text.count("<dt>predicted error</dt>") == 1
    places = set(re.findall(r'<a href="#(term-[0-9]+)"', text))
    assert places <= set(re.findall(r'<div id="(term-[0-9]+)"', text))
    assert len(places) > 4


def test_coefficients_are_of_all_divisions(folder):
    from thesiskit.files import read_draws

    found = table(folder, "loci", "coefficients").set_index("pattern")
    assert found.divisions.max() == 3
    medians = {}
    for division in range(3):
        draws = read_draws(folder / f"r/loci/fit/{division:04d}-2-gaussian-compressed.nc")
        middle = np.median(draws["coefficient"], axis=(0, 1))[0]
        for name, value, samples in zip(draws["pattern"], middle, draws["cases"], strict=True):
            if samples < draws["cases"].max():
                medians.setdefault(str(name), []).append(value)
    assert set(found.index) == set(medians)
    for name, row in found.iterrows():
        assert row.divisions == len(medians[name])
        assert row["median"] == pytest.approx(np.median(medians[name]), rel=1e-5)
    shown = found[:20]
    grey = ((shown["5%"] <= 0) & (shown["95%"] >= 0)).sum()
    part = page(folder, "loci").partition('id="coefficients"')[2].partition("</table>")[0]
    assert len(re.findall(r'<tr class="[^"]*quiet', part)) == grey > 0


def test_scores_are_printed(folder):
    printed = run("report", folder / "mine.yaml", "--results", folder / "r").splitlines()
    assert printed[0].split() == ["error", "predicted", "log", "loss"]
    assert len(printed) == 1 + 6 + 1
    rows = table(folder, "mine", "methods").set_index("method")
    names = ("error", "predicted error", "log loss")
    for line in printed[1:-1]:
        words = re.split("  +", line)
        assert words[1:] == [f"{rows.loc[words[0], name]:.3f}" for name in names]
    assert printed[-1].startswith("report: ")


def test_parts_of_published_or_drawn_data_are_those_of_the_config(tmp_path):
    (tmp_path / "a.yaml").write_text(DRAWN)
    run("run", tmp_path / "a.yaml", "--results", tmp_path / "r")
    anchors = re.findall(r'id="part-([a-z-]+)"', page(tmp_path, "mine"))
    assert anchors == ["methods", "reliability"]
    wanted = "report.parts=[summary, data-card, selected-features, predictions]"
    run("run", tmp_path / "a.yaml", "--results", tmp_path / "r", "--set", wanted)
    found = table(tmp_path, "mine", "predictions")
    assert list(found.columns[:2]) == ["id", "data set"]
    assert set(table(tmp_path, "mine", "selected-features").selection) == {3, 8}


@pytest.mark.filterwarnings("error::RuntimeWarning")
@PRINTED
@pytest.mark.parametrize("name", ["mine", "loci"])
def test_one_test_sample_gives_no_warning(folder, tmp_path, name, printed):
    write(tmp_path)
    file = {"mine": "genes.csv", "loci": "loci.csv"}[name]
    samples = pd.read_csv(tmp_path / file)
    one = samples[samples.status.isin(["tumour", "case"])][:1]
    one.to_csv(tmp_path / "test.csv", index=False)
    text = (tmp_path / f"{name}.yaml").read_text().replace("path:", "test_path: test.csv, path:")
    text = re.sub(r"evaluation: .*\n", "", text)
    if name == "mine":
        text = text.replace(
            "reliability",
            "calibration-table, performance, reliability, null-figure, log-alpha",
        )
    else:
        text = text.replace("coefficients, ", "coefficients, orders, ")
    (tmp_path / f"{name}.yaml").write_text(text)
    with drawn(printed=printed):
        run("run", tmp_path / f"{name}.yaml", "--results", tmp_path / "r")
    assert len(table(tmp_path, name, "predictions").id.unique()) == 1


def test_real_responses_have_a_summary_too(tmp_path):
    rng = np.random.default_rng(2)
    g = rng.integers(0, 3, (40, 3))
    frame = pd.DataFrame(g, columns=list("abc"))
    frame["yield"] = g[:, 0] - g[:, 1] + rng.normal(size=40)
    frame.to_csv(tmp_path / "loci.csv", index=False)
    text = LOCI.replace("status", "yield").replace("orders:", "response: gaussian\n  orders:")
    text = text.replace("logistic-regression", "ridge")
    (tmp_path / "loci.yaml").write_text(text)
    printed = run("run", tmp_path / "loci.yaml", "--results", tmp_path / "r")
    assert "negative log density" in printed
    found = table(tmp_path, "loci", "predictions")
    own = found[found.model == "Gaussian, compressed"]
    assert list(own.columns[-4:]) == ["mean", "median", "5%", "95%"]
    assert list(own.response) == pytest.approx(list(frame["yield"]))
    rows = table(tmp_path, "loci", "methods").set_index("method")
    row = rows.loc["Gaussian, compressed, order 2"]
    square = (own.response - own["mean"]) ** 2
    assert row["RMSE"] == pytest.approx(np.sqrt(square.mean()))
    cells = [arrays(tmp_path / f"r/loci/predict/{fold:04d}.npz") for fold in range(3)]
    means = [np.full(len(fold["response"]), fold["train_response"].mean()) for fold in cells]
    responses = np.concatenate([fold["response"] for fold in cells])
    variance = np.mean((responses - np.concatenate(means)) ** 2)
    assert row["R2"] == pytest.approx(1 - square.mean() / variance)
    spread = np.concatenate([fold["sd"][0] for fold in cells])
    assert row["predicted R2"] == pytest.approx(1 - np.mean(spread**2) / variance)
    assert row["mean absolute error"] == pytest.approx(np.sqrt(square).mean())
    assert rows.loc["No features", "R2"] == pytest.approx(0)
    outside = (own.response < own["5%"]) | (own.response > own["95%"])
    assert row["coverage of 90%"] == 1 - outside.mean()
    best = found[found.model == rows["setting: model"].iloc[0]]
    outside = (best.response < best["5%"]) | (best.response > best["95%"])
    text = page(tmp_path, "loci")
    assert f"predicted to miss 4.0 of 40 responses and missed {outside.sum()}" in text
    wrong = table(tmp_path, "loci", "wrong-predictions")
    assert set(wrong.id) == set(best.id[outside])
    covered = table(tmp_path, "loci", "coverage").set_index("level")
    number = 0 if best.model.iloc[0] == "Gaussian, compressed" else 1
    pit = np.concatenate([fold["pit"][number] for fold in cells])
    assert covered.loc["50%", "inside"] == np.mean(np.abs(pit - 0.5) <= 0.25)
    sections = re.findall(r'<section id="([a-z-]+)"', text)
    assert sections[:7] == ["forest", "strip", "checks", "methods", "pit", "residuals", "coverage"]
    assert not {"roc", "net-benefit"} & {*sections}


def test_groups_of_features_are_repetitions_of_the_same_samples(tmp_path):
    """Logistic regression of a group takes the columns of the group, and no others."""
    write(tmp_path)
    text = GENES.replace("folds: 4", "folds: 4, feature_groups: 3").replace("[3, 8, all]", "[3]")
    (tmp_path / "mine.yaml").write_text(text)
    run("run", tmp_path / "mine.yaml", "--results", tmp_path / "r")
    found = table(tmp_path, "mine", "predictions")
    assert set(found.group) == {1, 2, 3}
    cells = arrays(tmp_path / "r/mine/simulate/0000.npz")
    genes = pd.read_csv(tmp_path / "genes.csv")
    selected = table(tmp_path, "mine", "selected-features")
    assert selected["selected in"].max() == 4
    assert selected["selected in"].sum() == 4 * 9  # three in each group
    linear = found[found.method == "logistic regression, L2"]
    from sklearn.metrics import roc_auc_score

    y = genes.set_index("patient").status == "tumour"
    for group in range(3):
        signal = [j for j in np.flatnonzero(cells["group"][0] == group) if j < 5]
        mine = linear[linear.group == group + 1].set_index("id")["probability: tumour"]
        auc = roc_auc_score(y[mine.index], mine)
        assert (auc > 0.7) == bool(signal)
    rows = table(tmp_path, "mine", "methods").set_index("method")
    assert rows.loc["Class frequencies", "error"] == pytest.approx(16 / 40)


@pytest.mark.filterwarnings("error:.*Glyph")
@PRINTED
def test_any_names_of_classes_are_shown(tmp_path, printed):
    write(tmp_path)
    frame = pd.read_csv(tmp_path / "genes.csv")
    names = {"tumour": "肿瘤 $x_", "normal": "=1+1 <b> \\frac | & " + "long " * 30}
    frame["status"] = frame.status.map(names)
    frame.to_csv(tmp_path / "genes.csv", index=False)
    text = GENES.replace("positive: tumour", f"positive: '{names['tumour']}'")
    text = text.replace("[methods,", "[methods, calibration-table, null-figure,")
    text = text.replace(", l2-logistic", "")
    (tmp_path / "mine.yaml").write_text(text)
    with drawn(printed=printed):
        run("run", tmp_path / "mine.yaml", "--results", tmp_path / "r")
    text = page(tmp_path, "mine")
    assert "&lt;b&gt;" in text
    assert "<b>" not in text
    csv = (tmp_path / "r/mine/tables/predictions.csv").read_text()
    assert "'=1+1 <b>" in csv  # no formula


# ---- what a page opens with, and the index ----

RARE = """
experiment: rare
title: A rare `kind`
about: Two hundred samples of `status`.
data: { source: file, path: rare.csv, response: status, positive: ill }
evaluation: { folds: 4 }
selection: { features: [3, all] }
model: { kind: normal, methods: [corrected], temperature: [none], relevant: [some] }
report: { parts: [summary, data-card, reliability, selected-features] }
"""


def rare(folder, shift):
    """Run a table with 14 of 200 samples ill, of which features say nothing if shift is 0."""
    rng = np.random.default_rng(3)
    y = rng.permutation(np.repeat([0, 1], [186, 14]))
    X = rng.normal(size=(200, 8))
    X[:, :3] += shift * y[:, None]
    X[:, 7] = 1.5
    frame = pd.DataFrame(X, columns=[f"g{j}" for j in range(8)])
    frame.insert(0, "status", np.where(y, "ill", "well"))
    frame.to_csv(folder / "rare.csv", index=False)
    (folder / "rare.yaml").write_text(RARE)
    run("run", folder / "rare.yaml", "--results", folder / "r")
    return html.unescape(page(folder, "rare"))


def test_a_rare_class_is_judged_by_auc_in_words(tmp_path):
    text = rare(tmp_path, 0.9)
    answer = text.partition('id="answer"')[2].partition("</div>")[0]
    said = re.search(
        r"ranks a sample of class 'ill' above one of class 'well' in (\d+)% of pairs "
        r"\(95% interval (\d+)% to (\d+)%\); chance is 50%",
        answer,
    )
    area, low, high = map(float, said.groups())
    assert 50 < low < area < high < 100
    rows = table(tmp_path, "rare", "methods")
    assert area == round(100 * rows["AUC"].iloc[0])
    assert "93% of the samples are 'well'" in answer
    assert "classifies" not in answer


@pytest.mark.parametrize(
    ("low", "words"), [(0.24, "50%, which is inside the interval."), (0.51, "50%.")]
)
def test_an_interval_of_an_auc_that_contains_chance_is_noted(low, words):
    facts = {"kind": "classes", "found": True, "rare": True, "classes": ["no", "yes"],
             "auc": (0.62, low, 0.89), "share": 0.95, "commonest": "no", "predicted_errors": 4.5,
             "errors": 4, "p": 1.0}  # fmt: skip
    assert f"chance is {words} Because" in prose("answer", x=facts)


def test_captions_of_predictions_name_an_order_only_where_there_is_a_row():
    assert prose("wrong", n=0, of=60, real=False) == "0 of 60 predictions are wrong."
    assert prose("wrong", n=3, of=60, real=True).endswith(
        "are outside, those with the lowest density first."
    )


def test_a_rare_class_of_which_nothing_is_learnt_is_said_to_be_so(tmp_path):
    assert "There is no evidence that the class can be predicted" in rare(tmp_path, 0.0)


def test_features_are_counted_alike_and_backticks_are_code(tmp_path):
    text = rare(tmp_path, 0.9)
    card = dict(table(tmp_path, "rare", "data-card").to_numpy())
    assert card["features"] == "8, of which 1 constant and dropped"
    assert "<h1>A rare <code>kind</code></h1>" in text
    assert "Two hundred samples of <code>status</code>." in text
    assert "<title>A rare kind" in text
    index = (tmp_path / "r" / "index.html").read_text()
    assert "samples of <code>status</code>." in index


def test_texts_show_no_backticks(folder):
    for name in ("mine", "loci"):
        text = re.sub(r"<(script|style|pre).*?</\1>", "", page(folder, name), flags=re.DOTALL)
        assert "`" not in text


def test_the_index_has_a_headline_and_a_small_figure(folder):
    index = html.unescape((folder / "r" / "index.html").read_text())
    for name in ("mine", "loci"):
        answer = html.unescape(page(folder, name)).partition('id="answer"><p>')[2]
        headline = answer.partition("</p>")[0]
        assert re.match("On samples it has not seen|There is no evidence", headline)
        assert f'<p class="headline">{headline}</p>' in index
    pictures = re.findall(r'src="data:image/webp;base64,([^"]+)"', index)
    assert len(pictures) == 2
    assert max(map(len, pictures)) < 15_000  # so that 50 experiments need less than 1 MB
    stored = (folder / "r" / "mine" / "thumbnail.webp").read_bytes()
    assert stored in [base64.b64decode(picture) for picture in pictures]


def test_a_report_without_figures_removes_the_small_one(tmp_path):
    write(tmp_path)
    text = DRAWN.replace("[methods, reliability]", "[methods, performance]")
    (tmp_path / "a.yaml").write_text(text)
    arguments = ("run", tmp_path / "a.yaml", "--results", tmp_path / "r")
    run(*arguments)
    assert (tmp_path / "r/mine/thumbnail.webp").exists()
    run(*arguments, "--set", "report.parts=[methods]")
    assert not (tmp_path / "r/mine/thumbnail.webp").exists()
    assert "<img" not in (tmp_path / "r/index.html").read_text()


def test_rows_that_are_not_shown_are_packed_where_there_is_room(folder, monkeypatch, tmp_path):
    from thesiskit.report import page as pages

    packed = re.findall(r'class="packed">([^<]+)<', page(folder, "mine"))
    columns = json.loads(zlib.decompress(base64.b64decode(packed[-1])))
    found = table(folder, "mine", "predictions")
    assert len(columns[0]) == len(found) - 40  # the page shows those of the recommended method
    write(tmp_path)
    monkeypatch.setattr(pages, "MOST_BYTES", 1000)
    run("run", tmp_path / "mine.yaml", "--results", tmp_path / "r")
    text = page(tmp_path, "mine")
    assert 'class="packed"' not in text
    assert f'data-rows="{len(found)}"' in text  # the filter says that it searches those shown


def test_checks_of_the_table_are_shown_with_what_they_look_for(folder):
    results = Results(folder / "r", "mine")
    record = Record(results, 4, results.provenance()["config"])
    checked = [("D01", "passed", "no duplicates"), ("D02", "warning", "column x is a copy")]
    record.simulated["checks"] = np.array(checked)
    (table,) = summary.checks(record)
    assert table.frame["result"].tolist() == ["passed", "warning"]
    assert table.quiet == (0,)
    text = template("items.html.j2").render(items=[table.item()])
    assert '<a href="#checks-D02">D02</a>' in text
    title, meaning = CHECKS["D02"]
    assert f'<div id="checks-D02"><dt>D02, {title}</dt> <dd>{html.escape(meaning)}</dd>' in text
    del record.simulated["checks"]  # results of before
    assert summary.checks(record) == [] == stages.warnings(record)


def test_a_leak_is_said_at_the_top_of_the_page(tmp_path):
    rng = np.random.default_rng(6)
    y = np.repeat([0, 1], 20)
    frame = pd.DataFrame(rng.normal(size=(40, 12))).rename(columns="gene{}".format)
    frame["status"], frame["copy"] = np.where(y, "tumour", "normal"), np.where(y, 1.5, 0.25)
    frame.to_csv(tmp_path / "leak.csv", index=False)
    text = GENES.replace("genes.csv", "leak.csv").replace(", id: patient", "")
    (tmp_path / "leak.yaml").write_text(text)
    run("run", tmp_path / "leak.yaml", "--results", tmp_path / "r")
    shown = page(tmp_path, "mine")
    aside = r'<aside class="warning" aria-label="Unreliable.*?</aside>'
    (sentences,) = re.findall(aside, shown, re.DOTALL)
    assert f"<li>{CHECKS['D02'][0]} (D02): " in sentences
    assert "copy" in sentences
    assert shown.index(sentences) < shown.index("<img")
