"""What readers of classifiers expect, against scikit-learn and SciPy, from the predictions."""

import numpy as np
import pandas as pd
import pytest
import yaml
from commands import run
from scipy import special, stats
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import confusion_matrix, recall_score, roc_auc_score

from thesiskit.config import load_config
from thesiskit.files import Results
from thesiskit.models import peers
from thesiskit.report import metrics, scores
from thesiskit.report.parts import wanted_parts
from thesiskit.start import Hints, draft_config
from thesiskit.study.experiment import Experiment

PARTS = ["methods", "reliability"]
NORMAL = {"kind": "normal", "temperature": ["none"]}
MODELS = {
    "two": NORMAL | {"methods": ["corrected", "uncorrected", "gaussian-nb", "l2-logistic"]},
    "three": NORMAL | {"methods": ["corrected", "naive-corrected", "l2-logistic"]},
    "loci": {
        "kind": "logistic", "orders": [1], "priors": ["gaussian"], "chains": 1, "iterations": 60,
        "burn_in": 20, "peers": ["logistic-regression", "naive-bayes"],
    },
}  # fmt: skip


def write(folder, name):
    rng = np.random.default_rng(8)
    y = rng.permutation(np.arange(48) % (3 if name == "three" else 2))
    if name == "loci":
        X = rng.integers(0, 3, (48, 4))
        X[:, 0] = np.where(rng.random(48) < 0.5, 2 * y, X[:, 0])
    else:
        X = rng.normal(size=(48, 9)) + 0.9 * (np.arange(9) % 4 == y[:, None])
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    frame["status"] = np.array(["low", "mid", "top"])[y]
    frame.to_csv(folder / f"{name}.csv", index=False)
    tree = {
        "experiment": name,
        "title": name,
        "about": "A test.",
        "replicates": 2,
        "data": {"source": "file", "path": f"{name}.csv", "response": "status"},
        "evaluation": {"folds": 3},
        "selection": {"features": [3, "all"]},
        "model": MODELS[name],
        "report": {"parts": PARTS},
    }
    if name == "two":
        tree["data"]["positive"] = "mid"
    if name == "loci":
        tree["data"]["source"] = "table"
        del tree["selection"]
    (folder / f"{name}.yaml").write_text(yaml.safe_dump(tree))
    run("run", folder / f"{name}.yaml", "--results", folder / "r", "--jobs", 0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("classifiers")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(peers, "WHOLE_CS", np.array([0.1]))  # tuning takes most of the time
        for name in MODELS:
            write(folder, name)
    return folder


def table(folder, experiment, name):
    return pd.read_csv(folder / "r" / experiment / "tables" / f"{name}.csv")


def methods(folder, experiment):
    """The rows of the table of methods, in the order of the predictions."""
    rows = table(folder, experiment, "methods")
    rows = rows[rows["method"] != "Class frequencies"]
    names = [name for name in rows if name.startswith("setting: ")]
    found = table(folder, experiment, "predictions")
    keys = found[[name.removeprefix("setting: ") for name in names]].drop_duplicates()
    keys.columns = names
    order = keys.astype(str).merge(rows.astype(dict.fromkeys(names, str)), how="left")
    return order.dropna(subset="log loss").reset_index(drop=True)


def predicted(folder, experiment):
    """Probabilities (2 n, K), responses and ids of each method, by the words of its columns."""
    found = table(folder, experiment, "predictions")
    keys = [name for name in ("features", "method", "model", "order") if name in found]
    classes = [name for name in found if name.startswith("probability")]
    y = found["response"].map({name[13:]: g for g, name in enumerate(classes)})
    for _, mine in found.groupby(keys, sort=False):
        yield mine[classes].to_numpy(), y[mine.index].to_numpy(), mine["id"].to_numpy()


@pytest.mark.parametrize("experiment", MODELS)
def test_every_method_has_the_scores_of_scikit_learn(folder, experiment):
    rows = methods(folder, experiment)
    every = [one for one in predicted(folder, experiment) if not np.isnan(one[0]).any()]
    assert len(rows) == len(every) == {"two": 5, "three": 3, "loci": 3}[experiment]
    for (_, row), (p, y, ids) in zip(rows.iterrows(), every, strict=True):
        assert len(ids) == 2 * len(set(ids)) == 96  # each sample in two divisions
        two = p.shape[1] == 2
        auc = roc_auc_score(y, p[:, 1] if two else p, multi_class="ovr")
        assert row["AUC"] == pytest.approx(auc)
        assert row["AUC interval: low"] < auc < row["AUC interval: high"]
        actual = np.arange(p.shape[1]) == y[:, None]
        assert row["Brier"] == pytest.approx(((p - actual) ** 2).sum(axis=1).mean() / 2)
        assert row["calibration slope interval: low"] < row["calibration slope interval: high"]
        if not two:
            assert "sensitivity: value" not in row
            continue
        said = p[:, 1] >= 0.5
        for name, g in (("sensitivity", 1), ("specificity", 0)):
            assert row[f"{name}: value"] == pytest.approx(recall_score(y, said, pos_label=g))
            assert row[f"{name}: low"] < row[f"{name}: value"] < row[f"{name}: high"]
        fit = LogisticRegression(C=np.inf, tol=1e-10).fit(special.logit(p[:, 1:]), y)
        assert row["calibration slope"] == pytest.approx(fit.coef_[0, 0], abs=1e-4)
        assert row["calibration intercept: value"] == pytest.approx(fit.intercept_[0], abs=1e-4)


def test_more_classes_have_confusions(folder):
    rows = table(folder, "three", "confusion")
    every = [one for one in predicted(folder, "three") if not np.isnan(one[0]).any()]
    blocks = dict(iter(rows.groupby("method")))
    names = methods(folder, "three")["method"]
    for mine, (p, y, _) in zip([blocks[name] for name in names], every, strict=True):
        assert mine["true class"].to_list() == ["low", "mid", "top"]
        expected = confusion_matrix(y, p.argmax(axis=1))
        assert (mine.filter(like="predicted: ").to_numpy() == expected).all()


@pytest.mark.parametrize("experiment", MODELS)
def test_differences_are_paired_and_each_sample_counts_once(folder, experiment):
    losses, wrong = [], []
    for p, y, ids in predicted(folder, experiment):
        if not np.isnan(p).any():
            loss = pd.Series(-np.log(p[np.arange(len(y)), y])).groupby(ids).mean()
            mean = pd.DataFrame(p).groupby(ids).mean().to_numpy()
            losses.append(loss.to_numpy())
            wrong.append(mean.argmax(axis=1) != pd.Series(y).groupby(ids).first().to_numpy())
    best = int(np.argmin([loss.mean() for loss in losses]))
    rows = methods(folder, experiment)
    for i, row in rows.drop(best).iterrows():
        test = stats.ttest_rel(losses[i], losses[best])
        interval = test.confidence_interval()
        name = "log loss minus the lowest"
        found = row[f"{name}: low"], row[f"{name}: high"]
        mean, wide = np.mean(losses[i] - losses[best]), metrics.WIDER * metrics.ONCE_MORE
        # folds share training samples
        assert found == pytest.approx(tuple(mean + wide * (np.array(interval) - mean)))
        only = int((wrong[i] & ~wrong[best]).sum()), int((wrong[best] & ~wrong[i]).sum())
        assert (row["wrong: only this method"], row["wrong: only the best"]) == only
        fewer, more = np.sort(only) / metrics.WIDER**2
        p = min(1, 2 * stats.beta.cdf(0.5, more, fewer + 1)) if more else 1
        assert row["wrong: p"] == pytest.approx(p)


@pytest.mark.parametrize("experiment", MODELS)
def test_every_method_has_a_diagram_with_exact_intervals(folder, experiment):
    path = folder / f"{experiment}.yaml"
    record = Experiment(load_config(path), Results(folder / "r", experiment), folder).record()
    figure, *_ = scores.reliability_part(record)
    panels = [axis for axis in figure.canvas.axes if axis.get_visible()]
    titles = [axis.get_title().replace("\n", " ") for axis in panels]
    assert titles == methods(folder, experiment)["method"].to_list()
    every = [one for one in predicted(folder, experiment) if not np.isnan(one[0]).any()]
    for axis, (p, y, _) in zip(panels, every, strict=True):
        q, came = (p[:, 1], y) if p.shape[1] == 2 else (p.max(axis=1), p.argmax(axis=1) == y)
        lines = axis.collections[1].get_segments()
        for line, c in zip(lines, np.unique(np.minimum(q // 0.1, 9)), strict=True):
            mine = np.minimum(q // 0.1, 9) == c
            n, hits = mine.sum() / 2, came[mine].sum() / 2  # each sample counts half, twice
            low = stats.beta.ppf(0.025, hits, n - hits + 1) if hits else 0
            high = stats.beta.ppf(0.975, hits + 1, n - hits) if hits < n else 1
            assert line[:, 1] == pytest.approx([low, high])


@pytest.mark.parametrize("experiment", MODELS)
def test_what_init_writes_begins_with_them(folder, experiment):
    text, *_ = draft_config(folder / f"{experiment}.csv", Hints(), folder)
    path = folder / "begun.yaml"
    path.write_text(text)
    config = load_config(path)
    about = {"scheme": config.scheme, "drawn": False, "own": True}
    parts = wanted_parts(config.model_dump(mode="json") | about)
    assert [part for part in parts if part != "checks"][:3] == ["summary", *PARTS]
