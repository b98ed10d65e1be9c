"""The board: a study of several tables of different features, cases and classes."""

import re

import numpy as np
import pandas as pd
import pytest
import yaml
from commands import run
from rdata_files import Shelf
from scipy import optimize, special, stats
from sklearn.feature_selection import f_classif
from sklearn.metrics import roc_auc_score

from thesiskit.config import load_config
from thesiskit.datasets.published import MicroarrayData
from thesiskit.files import Results
from thesiskit.models import peers
from thesiskit.models.temperature import PENALTY
from thesiskit.report import studies
from thesiskit.report.stages import headline
from thesiskit.study.experiment import Experiment

pytest.importorskip("rdata")
pytest.importorskip("pooch")
METHODS = ["corrected", "naive-corrected", "gaussian-nb", "random-forest", "l2-logistic"]
SHAPES = {"west": (24, 30, 2), "khan": (33, 25, 3), "golub": (28, 40, 2)}
PARTS = ["board-table", "data-card", "timing-table"]


def small(rng, n, p, classes):
    y = np.arange(n) % classes
    return 9 + rng.normal(size=(n, p)) + 1.2 * (np.arange(p) % classes == y[:, None]), y


def write(folder, **more):
    tree = {
        "experiment": "small",
        "title": "Small",
        "about": "A test.",
        "replicates": 2,
        "data": {"source": "microarray", "sets": list(SHAPES)},
        "evaluation": {"folds": 2},
        "selection": {"features": [4]},
        "model": {"kind": "normal", "methods": METHODS, "temperature": ["none", "residual"]},
        "report": {"parts": PARTS},
    }
    path = folder / "small.yaml"
    path.write_text(yaml.safe_dump(tree | more))
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("board")


@pytest.fixture(scope="module")
def published(folder):
    """Three small tables in place of the real ones, and peers that are quick."""
    rng = np.random.default_rng(5)
    with pytest.MonkeyPatch.context() as patch:
        shelf = Shelf(folder / "given", patch)
        for name, (n, p, classes) in SHAPES.items():
            x, y = small(rng, n, p, classes)
            shelf(name, 2**x if name == "golub" else x, y, [f"c{g}" for g in range(classes)])
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        patch.setattr(peers, "WHOLE_CS", np.array([0.1]))
        patch.setattr(peers, "TREES", 20)
        yield folder


@pytest.fixture(scope="module")
def study(published):
    path = write(published)
    said = run("run", path, "--results", published, "--jobs", 0)
    found = Experiment(load_config(path), Results(published, "small"), published).record()
    assert list(found.tables) == list(SHAPES)
    assert "\n".join(headline(found)) in said
    return found


@pytest.fixture(scope="module")
def board(study):
    return studies.board_of(study)


def row_of(study, method, label, *, tempered=False):
    return next(
        i
        for i, arm in enumerate(study.arms)
        if (arm.method, arm.label, arm.temperature == "residual") == (method, label, tempered)
    )


def stored(study, name, row):
    """Probabilities (N, K) and responses of a table, from its result files."""
    s = list(SHAPES).index(name)
    blocks = [study.results.load("predict", block) for block in (2 * s, 2 * s + 1)]
    p = np.concatenate([one["probability"][row] for one in blocks])
    return (np.column_stack([1 - p, p]) if p.ndim == 1 else p), np.concatenate(
        [one["response"] for one in blocks]
    )


def test_scores_are_those_of_each_table_alone(study, board):
    assert len(study.arms) == (2 + 2 + 1) + 2
    rows = board.set_index(["i", "table"])[["error", "predicted", "amlp"]]
    for name in SHAPES:
        for i, arm in enumerate(study.arms):
            p, y = stored(study, name, i)
            if name == "khan" and arm.method == "naive-corrected":
                assert np.isnan(p).all()
                assert (i, name) not in rows.index
                continue
            told = p.argmax(axis=1) if p.shape[1] > 2 else p[:, 1] >= 0.5
            expected = [
                np.mean(told != y),
                np.mean(1 - p.max(axis=1)),
                -np.mean(np.log(np.maximum(p[np.arange(len(y)), y], np.finfo(float).eps))),
            ]
            assert rows.loc[i, name].to_list() == pytest.approx(expected)


def test_a_mean_is_over_the_tables_that_a_method_predicts(study, board):
    naive = row_of(study, "naive-corrected", "4")
    values = board[board["i"] == naive].set_index("table")["amlp"]
    assert list(values.index) == ["west", "golub"]
    table, _ = studies.board_table(study)
    mine = table.frame[table.frame["method"] == study.arms[naive].words].iloc[0]
    assert mine["tables"] == 2
    assert mine["AMLP: mean"] == pytest.approx(values.mean())
    # Student's interval with one degree of freedom
    less = board[board["i"] == naive]["less"]
    half = 12.7062 * less.std(ddof=1) / 2**0.5
    high = mine["against ridge: difference"] + half
    assert mine["against ridge: high"] == pytest.approx(high, rel=1e-4)
    off = (board["predicted"] - board["error"]).abs()[board["i"] == naive]
    assert mine["error rate: off"] == pytest.approx(off.mean())
    assert "error rate: cross-validated" not in mine
    assert study.arms[naive].words not in table.lead[-1]


def test_wins_and_losses_against_ridge_are_counted_by_table(study, board):
    ridge = row_of(study, "l2-logistic", "all")
    for i in range(len(study.arms)):
        if i == ridge:
            continue
        pairs = []
        for name in SHAPES:
            p, y = stored(study, name, i)
            q, _ = stored(study, name, ridge)
            if np.isnan(p).any():
                continue
            cases = study.tables[name].tested.unit
            loss = [-np.log(np.maximum(one[np.arange(len(y)), y], 2.3e-16)) for one in (p, q)]
            each = [np.mean((loss[0] - loss[1])[cases == c]) for c in np.unique(cases)]
            # folds share training samples
            pairs.append((np.mean(each), 1.4 * 1.15 * np.std(each, ddof=1) / len(each) ** 0.5))
        mine = board[board["i"] == i]
        assert mine["less"].mean() == pytest.approx(np.mean([d for d, _ in pairs]))
        assert studies.lower_and_higher(mine) == [
            (sum(d < 0 for d, _ in pairs), sum(d < -2 * error for d, error in pairs)),
            (sum(d > 0 for d, _ in pairs), sum(d > 2 * error for d, error in pairs)),
        ]


def test_the_table_says_whether_tempered_ours_beats_ridge_whatever_it_is(study, board):
    table, _ = studies.board_table(study)
    assert len(table.frame) == len(study.arms)
    sentence = table.lead[0]
    i = row_of(study, "corrected", "4", tempered=True)
    means = board.groupby("i")["amlp"].mean()
    amlp, ridge = means[i], means[row_of(study, "l2-logistic", "all")]
    assert f"(4 kept) is {amlp:.3f}" in sentence
    assert f"tuned ridge ({ridge:.3f})" in sentence
    assert ("at most" in sentence) == (amlp <= ridge)
    (lower, _), (higher, _) = studies.lower_and_higher(board[board["i"] == i])
    assert re.search(rf"lower than ridge on {lower} tables? .*higher on {higher} ", sentence)
    order = [x for x in table.frame["against ridge: difference"] if x == x and x is not None]
    assert order == sorted(order)
    (each,) = studies.board_scores(study)
    assert len(each.frame) == 3 * len(study.arms) - 2  # naive Bayes, of three classes
    assert (each.frame["AMLP: low"] <= each.frame["AMLP: mean"]).all()
    mine = each.frame[each.frame["method"] == study.arms[i].words].set_index("table")
    blocks = [study.results.load("fit", block) for block in (2, 3)]  # of khan
    column = list(blocks[0]["arm"]).index(study.arms[i].row)
    tau = np.concatenate([one["tau"][:, column] for one in blocks])
    assert mine.loc["khan", "temperature"] == pytest.approx(np.median(tau))
    tempered = [study.arms[row].temperature == "residual" for row in board["i"]]
    assert each.frame["temperature"].notna().sum() == sum(tempered) == 5


def losses_of(study, name, row):
    """Losses of the distinct cases of a table."""
    p, y = stored(study, name, row)
    loss = -np.log(np.maximum(p[np.arange(len(y)), y], 2.3e-16))
    return pd.Series(loss).groupby(study.tables[name].tested.unit).mean()


def test_differences_have_errors_over_cases_and_over_tables(study):
    _, table = studies.board_table(study)
    ours, ridge = (
        row_of(study, "corrected", "4", tempered=True),
        row_of(study, "l2-logistic", "all"),
    )
    (row,) = table.frame.to_dict("records")  # neither pool nor lasso is there
    assert row["AMLP of"] == "corrected, some relevant, residual-tempered (4 kept)"
    pairs = [losses_of(study, name, ours) - losses_of(study, name, ridge) for name in SHAPES]
    means = [one.mean() for one in pairs]
    assert row["mean"] == pytest.approx(np.mean(means))
    assert row["over cases: ±"] == pytest.approx(
        1.4 * 1.15 * sum(stats.sem(one) ** 2 for one in pairs) ** 0.5 / 3
    )  # folds share training samples
    assert row["over cases: high"] - row["mean"] == pytest.approx(1.96 * row["over cases: ±"])
    assert row["over tables: ±"] == pytest.approx(stats.sem(means))
    expected = stats.t.interval(0.95, 2, np.mean(means), stats.sem(means))
    assert (row["over tables: low"], row["over tables: high"]) == pytest.approx(expected)
    assert (row["lower on"], row["of"]) == (sum(one < 0 for one in means), 3)


def test_auc_and_the_limit_of_every_table(study, board):
    for one in board.itertuples():
        p, y = stored(study, one.table, one.i)
        q = p[:, 1] if p.shape[1] == 2 else p
        assert one.auc == pytest.approx(roc_auc_score(y, q, multi_class="ovr"))
        assert one.limit < one.amlp + 1e-9
        if p.shape[1] == 2:
            assert one.limit == pytest.approx(searched(p, y), abs=1e-5)


def searched(p, y):
    """AMLP with the best temperature and offsets -o and o, by a search that knows no slopes."""
    log = np.log(np.maximum(p, np.finfo(float).eps))

    def losses(x):
        every = log / np.exp(abs(x[0])) + np.array([-x[1], x[1]])
        return -special.log_softmax(every, axis=1)[np.arange(len(y)), y]

    def total(x):  # each case is there twice
        return losses(x).sum() / 2 + PENALTY * 2 * x[1] ** 2

    options = {"xatol": 1e-7, "fatol": 1e-11, "maxiter": 4000}
    found = [
        optimize.minimize(total, start, method="Nelder-Mead", options=options)
        for start in ((0.1, 0.1), (2, -0.1))
    ]
    return losses(min(found, key=lambda one: one.fun).x).mean()


def test_screened_halves_promise_by_cross_validation(published, tmp_path):
    """The features of a split are the best of its training half, and of nothing else."""
    path = write(
        tmp_path,
        experiment="halves",
        selection={"features": ["all"], "screened": {"keep": 5}},
        model={"kind": "normal", "methods": METHODS[:1] + METHODS[2:], "temperature": ["residual"]},
    )
    run("run", path, "--results", tmp_path, "--jobs", 0)
    found = Experiment(load_config(path), Results(tmp_path, "halves"), tmp_path).record()
    frame = studies.board_table(found)[0].frame
    for i, arm in enumerate(found.arms):
        told = [found.results.load("predict", b)["cross_validated"][i] for b in range(6)]
        (mine,) = frame[frame["method"] == arm.words].to_dict("records")
        assert mine["error rate: cross-validated"] == pytest.approx(np.mean(told), nan_ok=True)
        assert np.isnan(mine["error rate: cross-validated"]) == arm.own
    (west,) = MicroarrayData(source="microarray", sets=["west"]).read(tmp_path)
    for replicate in range(2):
        columns = found.results.load("select", replicate)["columns"]
        fold = found.results.load("simulate", replicate)["fold"][0]
        for f in range(2):
            train = fold != f
            scores, _ = f_classif(west.features[train], west.response[train])
            assert sorted(np.argsort(-scores)[:5]) == columns[f].tolist()


def test_figures_show_every_table_and_method(study, board):
    (losses,) = studies.board_losses(study)
    (axis,) = losses.canvas.axes
    names = [one.get_text() for one in axis.get_yticklabels()]
    ridge = board[board["method"] == "l2-logistic"].sort_values("amlp", ascending=False)
    assert names == [*ridge["table"], "mean"]
    line = next(one for one in axis.lines if one.get_label() == "logistic regression, L2")
    assert line.get_xdata() == pytest.approx([*ridge["amlp"], ridge["amlp"].mean()])
    (predicted,) = studies.board_predicted(study)
    panels = [one for one in predicted.canvas.axes if one.get_visible() and one.axison]
    assert [one.get_title().replace("\n", " ") for one in panels] == list(
        dict.fromkeys(studies.short_words(arm) for arm in study.arms)
    )


def test_the_page_tells_of_every_table(study, published):
    page = (published / "small" / "report.html").read_text()
    for name, (n, p, classes) in SHAPES.items():
        assert f"{n} cases" in page
        assert f"{p} features" in page
        assert name in page
        assert len(study.tables[name].classes) == classes
    rows = study.timings()
    assert len(rows) == len(study.arms)
    assert sum(row["fit and predict"] for row in rows) > 0


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"report": {"parts": ["score-table"]}}, "score-table needs one table in data.sets"),
        (
            {"data": {"source": "microarray", "sets": ["west"]}},
            "board-table needs several tables in data.sets",
        ),
        (
            {"model": {"kind": "normal", "methods": ["corrected"]}},
            "board-table needs l2-logistic in model.methods",
        ),
    ],
)
def test_a_part_says_what_it_needs(published, tmp_path, more, said):
    assert said in run("run", write(tmp_path, **more), "--results", tmp_path, "--jobs", 0, code=2)
