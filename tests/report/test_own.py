"""Reports on tables of the user's own: in names, over all divisions, and in words."""

import base64
import html
import json
import re
import zlib

import numpy as np
import pandas as pd
import pytest
import yaml
from commands import arrays, run

GENES = """
experiment: mine
title: My expression table
about: Forty tissues.
data: { source: file, path: genes.csv, response: status, positive: tumour, id: patient }
evaluation: { folds: 4 }
selection: { features: [3, 8, all] }
model: { methods: [corrected, uncorrected, l2-logistic] }
report: { parts: [score-table, reliability] }
"""
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
report: { parts: [coefficients, model-table] }
"""


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
    for name in ("mine", "loci"):
        run("run", folder / f"{name}.yaml", "--results", folder / "r")
    return folder


@pytest.fixture(scope="module")
def genes(folder):
    return pd.read_csv(folder / "genes.csv")


def table(folder, experiment, name):
    return pd.read_csv(folder / "r" / experiment / "tables" / f"{name}.csv")


def page(folder, experiment):
    return (folder / "r" / experiment / "report.html").read_text()


def test_the_parts_of_a_table_of_ones_own_come_first(folder):
    anchors = re.findall(r'id="part-([a-z-]+)"', page(folder, "mine"))
    assert anchors == ["summary", "data-card", "selected-features", "predictions", "score-table",
                       "reliability"]  # fmt: skip
    assert re.findall(r'id="part-([a-z-]+)"', page(folder, "loci"))[:3] == [
        "summary", "data-card", "predictions"
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
        assert round(row[2] * 4) >= len(mine)
        if len(mine) == round(row[2] * 4):  # no tie
            assert row[3] == pytest.approx(np.mean(mine))
            assert row[4:] == pytest.approx((min(mine), max(mine)))
    rows = found[found.selection == 8].set_index("feature")
    assert rows.loc["GENE0", "correlation: mean"] > 0.5  # tumours have more
    assert rows.loc["GENE4", "correlation: mean"] < -0.5  # and less
    for size, part in found.groupby("selection"):
        assert part["kept in"].sum() == pytest.approx(size)


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
    first = found[: len(cells["case"])]  # the first arm, in the order of the table
    assert list(first.id) == list(genes.patient)
    by_case = cells["probability"][0][np.argsort(cells["case"])]
    assert first["probability: tumour"].to_numpy() == pytest.approx(by_case)
    assert list(first.fold) == list(cells["fold"][np.argsort(cells["case"])] + 1)


def test_ids_are_numbers_of_rows_unless_there_are_some(folder):
    found = table(folder, "loci", "predictions")
    cases = pd.read_csv(folder / "loci.csv")
    assert list(found.id[:45]) == list(range(1, 46))
    assert list(found.response[:45]) == list(cases.status)
    assert set(found.order) == {"2", "all"}


def test_the_summary_says_what_was_asked_and_found(folder):
    text = html.unescape(page(folder, "mine"))
    assert "Is a case tumour or normal (the column status of genes.csv)?" in text
    assert "the 3 and 8 of 30 features that correlate best" in text
    assert re.search(r"Of \d+ arms, .* has the lowest AMLP, and is the one to predict by", text)
    found = table(folder, "mine", "summary").set_index("arm")
    assert found.loc["base rate", "errors: observed"] == 16
    scores = table(folder, "mine", "scores").set_index(["features", "method"])
    for (size, method), row in scores.iterrows():
        mine = found.loc[f"{size} features, {method}"]
        assert mine["error rate: mean"] == pytest.approx(row["error"])
        assert mine["AMLP: mean"] == pytest.approx(row["AMLP"])
        assert mine["errors: expected"] == pytest.approx(40 * row["expected error"], abs=0.051)
        assert mine["error rate: low"] < row["error"] < mine["error rate: high"]
    assert "were observed: " in text


def test_the_data_card_says_what_was_made_binary(folder):
    card = dict(table(folder, "mine", "data-card").to_numpy())
    assert card["cases"] == "40"
    assert card["classes"] == "tumour 24 (60 %), normal 16 (40 %)"
    assert card["made binary"].startswith("29 cut at the median of each training set")
    assert "1 with two values" in card["made binary"]
    assert card["missing values"] == "none"


def test_every_table_and_figure_links_a_file_that_exists(folder):
    for name in ("mine", "loci"):
        links = re.findall(r'href="((?:tables|figures)/[^"]+)"', page(folder, name))
        assert links
        assert all((folder / "r" / name / link).is_file() for link in links)
        sections = re.findall(r"<section", page(folder, name))
        assert len(links) == len(sections)
    assert any(
        link.endswith(".pdf") for link in re.findall(r'href="([^"]+)"', page(folder, "mine"))
    )


def test_terms_are_explained_where_they_stand(folder):
    text = page(folder, "mine")
    assert re.search(r'<abbr title="average minus log probability[^"]*">AMLP</abbr>', text)
    assert text.count("<dt>expected error</dt>") == 1


def test_coefficients_are_of_all_divisions(folder):
    from thesiskit.files import read_draws

    found = table(folder, "loci", "coefficients").set_index("pattern")
    assert found.divisions.max() == 3
    medians = {}
    for division in range(3):
        draws = read_draws(folder / f"r/loci/fit/{division:04d}-2-gaussian-compressed.nc")
        middle = np.median(draws["coefficient"], axis=(0, 1))[0]
        for name, value, cases in zip(draws["pattern"], middle, draws["cases"], strict=True):
            if cases < draws["cases"].max():
                medians.setdefault(str(name), []).append(value)
    assert set(found.index) == set(medians)
    for name, row in found.iterrows():
        assert row.divisions == len(medians[name])
        assert row["median"] == pytest.approx(np.median(medians[name]), rel=1e-5)
    shown = found[:20]
    grey = ((shown["5 %"] <= 0) & (shown["95 %"] >= 0)).sum()
    part = page(folder, "loci").partition('id="coefficients"')[2].partition("</table>")[0]
    assert len(re.findall(r'<tr class="[^"]*quiet', part)) == grey > 0


def test_scores_are_printed(folder):
    printed = run("report", folder / "mine.yaml", "--results", folder / "r").splitlines()
    assert printed[0].split() == ["error", "expected", "AMLP"]
    assert len(printed) == 1 + 6 + 1
    row = table(folder, "mine", "scores").iloc[0]
    assert printed[1].split()[-3:] == [f"{row[name]:.3f}"
                                       for name in ("error", "expected error", "AMLP")]  # fmt: skip
    assert printed[-1].startswith("report: ")


def test_parts_of_published_or_drawn_data_are_those_of_the_config(tmp_path):
    text = GENES.replace(
        "source: file, path: genes.csv, response: status, positive: tumour, id: patient",
        "source: naive-bayes, features: 30, alpha: 5, train: [10, 10], test: [6, 6]",
    )
    text = text.replace("evaluation: { folds: 4 }\n", "replicates: 2\n")
    (tmp_path / "a.yaml").write_text(text)
    run("run", tmp_path / "a.yaml", "--results", tmp_path / "r")
    anchors = re.findall(r'id="part-([a-z-]+)"', page(tmp_path, "mine"))
    assert anchors == ["score-table", "reliability"]
    wanted = "report.parts=[summary, data-card, selected-features, predictions]"
    run("run", tmp_path / "a.yaml", "--results", tmp_path / "r", "--set", wanted)
    found = table(tmp_path, "mine", "predictions")
    assert list(found.columns[:2]) == ["id", "data set"]
    assert set(table(tmp_path, "mine", "selected-features").selection) == {3, 8}


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("name", ["mine", "loci"])
def test_one_test_case_gives_no_warning(folder, tmp_path, name):
    write(tmp_path)
    file = {"mine": "genes.csv", "loci": "loci.csv"}[name]
    cases = pd.read_csv(tmp_path / file)
    one = cases[cases.status.isin(["tumour", "case"])][:1]
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
    run("run", tmp_path / f"{name}.yaml", "--results", tmp_path / "r")
    assert len(table(tmp_path, name, "predictions").id.unique()) == 1


def test_real_responses_have_a_summary_too(tmp_path):
    rng = np.random.default_rng(2)
    g = rng.integers(0, 3, (40, 3))
    frame = pd.DataFrame(g, columns=list("abc"))
    frame["yield"] = g[:, 0] - g[:, 1] + rng.normal(size=40)
    frame.to_csv(tmp_path / "loci.csv", index=False)
    text = LOCI.replace("status", "yield").replace("orders:", "response: gaussian\n  orders:")
    text = text.replace("logistic-regression", "ridge").replace("model-table", "responses")
    (tmp_path / "loci.yaml").write_text(text)
    printed = run("run", tmp_path / "loci.yaml", "--results", tmp_path / "r")
    assert "root mean squared error" in printed
    found = table(tmp_path, "loci", "predictions")
    own = found[found.model == "Gaussian, compressed"]
    assert list(own.columns[-3:]) == ["median", "5 %", "95 %"]
    assert list(own.response) == pytest.approx(list(frame["yield"]))
    row = table(tmp_path, "loci", "summary").set_index("arm").loc["Gaussian, compressed, order 2"]
    square = (own.response - own["median"]) ** 2
    assert row["root mean squared error: mean"] == pytest.approx(np.sqrt(square.mean()))
    outside = (own.response < own["5 %"]) | (own.response > own["95 %"])
    assert row["outside 90 %: observed"] == outside.sum()
    assert row["outside 90 %: expected"] == 4
    assert "are expected to miss 4.0 of 40 responses" in page(tmp_path, "loci")


def test_groups_of_features_are_repetitions_of_the_same_cases(tmp_path):
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
    assert selected["kept in"].max() == 1
    assert selected["kept in"].sum() == pytest.approx(9)  # three in each group
    linear = found[found.method == "logistic regression, L2"]
    from sklearn.metrics import roc_auc_score

    y = genes.set_index("patient").status == "tumour"
    for group in range(3):
        signal = [j for j in np.flatnonzero(cells["group"][0] == group) if j < 5]
        mine = linear[linear.group == group + 1].set_index("id")["probability: tumour"]
        auc = roc_auc_score(y[mine.index], mine)
        assert (auc > 0.7) == bool(signal)
    summary = table(tmp_path, "mine", "summary").set_index("arm")
    assert summary.loc["base rate", "errors: observed"] == 3 * 16
    assert "tested several times" in page(tmp_path, "mine")


@pytest.mark.filterwarnings("error:.*Glyph")
def test_any_names_of_classes_are_shown(tmp_path):
    write(tmp_path)
    frame = pd.read_csv(tmp_path / "genes.csv")
    names = {"tumour": "肿瘤 $x_", "normal": "=1+1 <b> \\frac | & " + "long " * 30}
    frame["status"] = frame.status.map(names)
    frame.to_csv(tmp_path / "genes.csv", index=False)
    text = GENES.replace("positive: tumour", f"positive: '{names['tumour']}'")
    text = text.replace("score-table", "score-table, calibration-table, null-figure")
    text = text.replace(", l2-logistic", "")
    (tmp_path / "mine.yaml").write_text(text)
    run("run", tmp_path / "mine.yaml", "--results", tmp_path / "r")
    text = page(tmp_path, "mine")
    assert "&lt;b&gt;" in text
    assert "<b>" not in text
    assert "add l2-logistic to model.methods" in text
    csv = (tmp_path / "r/mine/tables/predictions.csv").read_text()
    assert "'=1+1 <b>" in csv  # no formula


# ---- what a page opens with, and the index ----

RARE = """
experiment: rare
title: A rare `kind`
about: Two hundred cases of `status`.
data: { source: file, path: rare.csv, response: status, positive: ill }
evaluation: { folds: 4 }
selection: { features: [3, all] }
model: { kind: normal, methods: [corrected], temperature: [none], relevant: [some] }
report: { parts: [summary, data-card, reliability, selected-features] }
"""


def rare(folder, shift):
    """Run a table with 14 of 200 cases ill, of which features say nothing if shift is 0."""
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


def test_a_rare_class_is_judged_by_auc_and_gain_in_amlp(tmp_path):
    text = rare(tmp_path, 0.9)
    summary = text.partition('id="summary"')[2].partition("<table")[0]
    answer = text.partition('id="answer"')[2].partition("</div>")[0]
    assert "93 % of the test cases are well, so that error rates tell little here" in summary
    said = re.search(r"AUC of ([\d.]+) \(95 % interval ([\d.]+) to ([\d.]+)\)", answer)
    area, low, high = map(float, said.groups())
    assert 0.5 < low < area < high < 1
    gain = r"is ([\d.]+) lower than that of .* gain (-?[\d.]+) to ([\d.]+)\)"
    gain, least, most = map(float, re.search(gain, answer).groups())
    assert (least + most) / 2 == pytest.approx(gain, abs=0.0011)
    found = table(tmp_path, "rare", "summary").set_index("arm")
    best = found["AMLP: mean"].drop("base rate").min()
    assert found.loc["base rate", "AMLP: mean"] - best == pytest.approx(gain, abs=0.0006)
    assert "No model is recommended" not in summary


def test_a_rare_class_of_which_nothing_is_learnt_is_said_to_be_so(tmp_path):
    assert "none is clearly better than the class frequencies" in rare(tmp_path, 0.0)


def test_features_are_counted_alike_and_backticks_are_code(tmp_path):
    text = rare(tmp_path, 0.9)
    assert "3 of 7 features that correlate best" in text
    card = dict(table(tmp_path, "rare", "data-card").to_numpy())
    assert card["features"] == "8, of which 1 with one value only is left out"
    assert "<h1>A rare <code>kind</code></h1>" in text
    assert "Two hundred cases of <code>status</code>." in text
    assert "<title>A rare kind" in text
    index = (tmp_path / "r" / "index.html").read_text()
    assert "cases of <code>status</code>." in index


def test_texts_show_no_backticks(folder):
    for name in ("mine", "loci"):
        text = re.sub(r"<(script|style|pre).*?</\1>", "", page(folder, name), flags=re.DOTALL)
        assert "`" not in text


def test_the_index_has_a_headline_and_a_small_figure(folder):
    index = html.unescape((folder / "r" / "index.html").read_text())
    for name in ("mine", "loci"):
        answer = html.unescape(page(folder, name)).partition('id="answer"><p>')[2]
        headline = answer.partition("</p>")[0]
        assert re.search(r"error rate of [\d.]+ % .* AMLP of 0\.\d{3}", headline)
        assert f'<p class="headline">{headline}</p>' in index
    pictures = re.findall(r'src="data:image/webp;base64,([^"]+)"', index)
    assert len(pictures) == 1  # of the one that has figures
    assert len(pictures[0]) < 15_000  # so that 50 experiments need less than 1 MB
    stored = (folder / "r" / "mine" / "thumbnail.webp").read_bytes()
    assert base64.b64decode(pictures[0]) == stored


def test_a_report_without_figures_removes_the_small_one(tmp_path):
    write(tmp_path)
    arguments = ("run", tmp_path / "mine.yaml", "--results", tmp_path / "r")
    run(*arguments)
    assert (tmp_path / "r/mine/thumbnail.webp").exists()
    run(*arguments, "--set", "report.parts=[score-table]")
    assert not (tmp_path / "r/mine/thumbnail.webp").exists()
    assert "<img" not in (tmp_path / "r/index.html").read_text()


def test_rows_that_are_not_shown_are_packed_where_there_is_room(folder, monkeypatch, tmp_path):
    from thesiskit.report import page as pages

    packed = re.findall(r'class="packed">([^<]+)<', page(folder, "mine"))
    columns = json.loads(zlib.decompress(base64.b64decode(packed[-1])))
    found = table(folder, "mine", "predictions")
    assert columns[0] == found.id.tolist()[30:]
    write(tmp_path)
    monkeypatch.setattr(pages, "MOST_BYTES", 1000)
    run("run", tmp_path / "mine.yaml", "--results", tmp_path / "r")
    text = page(tmp_path, "mine")
    assert 'class="packed"' not in text
    assert f'data-rows="{len(found)}"' in text  # the filter says that it searches those shown
