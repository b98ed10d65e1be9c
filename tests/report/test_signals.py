"""Tables and maps of studies of signals, and of tables that were screened before."""

import json

import numpy as np
import pytest
from commands import run

from thesiskit.config import load_config
from thesiskit.files import Results
from thesiskit.models import peers
from thesiskit.models.peers import BITS, Task, cross_validated, fit_predict
from thesiskit.report import studies
from thesiskit.report.parts import PARTS
from thesiskit.study.design import Design
from thesiskit.study.experiment import Experiment

CASES = {"train": [12, 12], "test": [30, 30]}
GRID = [
    {"relevant": [1, 6], "of": [30, 40], "effect": [0.5, 2.0], **CASES},
    {"alpha": 300, "of": 30, **CASES},
]
METHODS = ["uncorrected", "corrected", "bernoulli-nb"]


def finished(folder, settings, selection, methods, parts, replicates=4):
    tree = {
        "experiment": "small",
        "title": "Small",
        "about": "A test.",
        "replicates": replicates,
        "block": 4,
        "data": {"source": "signals", "settings": settings},
        "selection": selection,
        "model": {"methods": methods, "relevant": ["all", "some"]},
        "report": {"parts": parts},
    }
    path = folder / "small.yaml"
    path.write_text(json.dumps(tree))  # which is YAML, and has no aliases
    run("run", path, "--results", folder, "--jobs", 0)
    return Experiment(load_config(path), Results(folder, "small"), folder).record()


@pytest.fixture(scope="module")
def grid(tmp_path_factory):
    folder = tmp_path_factory.mktemp("grid")
    return finished(folder, GRID, {"features": [3, 8]}, METHODS, ["signals-table"])


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    settings = [
        {"relevant": 0, "of": 400, "effect": 0, **CASES},
        {"relevant": 10, "of": 300, "effect": 2.0, **CASES},
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(peers, "WHOLE_CS", np.array([1.0]))  # one penalty to choose from: quick
        return finished(
            tmp_path_factory.mktemp("kept"),
            settings,
            {"features": ["all"], "screened": {"keep": 8}},
            [*METHODS, "l2-logistic"],
            ["screened-figure", "screened-table"],
            replicates=2,
        )


def test_scores_are_means_over_the_data_sets_of_a_setting(grid):
    arms, values = studies.scored(grid)
    # without the correction, which features may be relevant is left out
    assert [arm.words for arm in arms if arm.label == "3"] == [
        "uncorrected", "corrected", "corrected, some relevant", "SelectKBest + BernoulliNB",
    ]  # fmt: skip
    assert values.shape == (8, 9, 4, 3)
    y, replicate = grid.response, grid.predictions["replicate"]
    rows = studies.compared(grid).set_index(["i", "s"])
    for i, arm in enumerate(arms):
        p = grid.probability(arm)
        for s in (0, 5, 8):
            row = rows.loc[i, s]
            losses = [
                -np.log(np.where(y[one] == 1, p[one], 1 - p[one])).mean()
                for one in (replicate == 4 * s + r for r in range(4))
            ]
            assert row["amlp"] == pytest.approx(np.mean(losses))
            assert row["amlp_error"] == pytest.approx(np.std(losses, ddof=1) / 2)
            mine = replicate // 4 == s
            assert row["error"] == pytest.approx(np.mean((p >= 0.5)[mine] != y[mine]))
            assert row["predicted"] == pytest.approx(np.minimum(p, 1 - p)[mine].mean())


def test_the_best_method_is_compared_on_the_same_data_sets(grid):
    (_, values), found = studies.scored(grid), studies.compared(grid)
    mine = found[(found["s"] == 2) & (found["label"] == "8")].set_index("place")
    amlp = {i: values[i, 2, :, 2] for i in mine["i"]}
    assert len(amlp) == 4
    assert mine.loc[0, "i"] == min(amlp, key=lambda i: amlp[i].mean())
    assert mine.loc[1, "i"] == min(amlp.keys() - {mine.loc[0, "i"]}, key=lambda i: amlp[i].mean())
    pairs = amlp[mine.loc[1, "i"]] - amlp[mine.loc[0, "i"]]
    assert mine.loc[1, "lower"] == pytest.approx(pairs.mean())
    assert mine.loc[1, "lower_error"] == pytest.approx(pairs.std(ddof=1) / 2)


def test_tables_count_every_setting_once(grid):
    counts, table = studies.signals_table(grid)
    assert counts.frame["lowest AMLP"].sum() == 9 * 2
    assert (counts.frame["as low"] >= counts.frame["lowest AMLP"]).all()
    assert (counts.frame["above the lowest: most"] >= 0).all()
    assert len(table.frame) == 9 * 2 * 4
    marked = table.frame[table.frame["AMLP: best"] == studies.BEST]
    assert len(marked) == 18
    for _, mine in table.frame.groupby(["data", "kept"]):
        best = mine.loc[mine["AMLP: mean"].idxmin()]
        assert best["AMLP: best"] == studies.BEST
    assert "the thesis's model, alpha 300, 30 features, n = 24" in set(table.frame["data"])
    assert "18 settings" in counts.lead[0]


def test_a_map_has_each_setting_at_its_place(grid):
    found = studies.maps_of(grid)
    assert [studies.map_title(one) for one in found] == [
        f"{of} features\n24 cases\n{k} kept" for of in (30, 40) for k in (3, 8)
    ]
    settings = grid.config["data"]["settings"]
    for one in found:
        assert one["s"].nunique() == 4  # the setting of the thesis's model has no place
        mine = one[one["i"] == one["i"].iloc[0]]
        squares = studies.squares(mine, "s")
        assert sorted(squares.to_numpy().ravel()) == sorted(mine["s"])
        for effect, row in squares.iterrows():
            for relevant, s in row.items():
                assert settings[s]["effect"] == effect
                assert settings[s]["relevant"] == relevant
                assert f"{settings[s]['of']} features" in studies.map_title(one)
    figures = {one.name: one for one in studies.signals_maps(grid)}
    assert set(figures) == {"signals-best", "signals-predicted", "signals-amlp"}
    # a number in every square of every map
    panels = figures["signals-amlp"].canvas.axes[:-1]
    assert len(panels) == 4 * 4
    written = [text.get_text() for text in panels[0].texts]
    first = found[0][found[0]["i"] == 0]
    assert sorted(written) == sorted(f"{amlp:.2f}".lstrip("0") for amlp in first["amlp"])


def test_maps_need_several_settings():
    needs = [need.words for need in PARTS["signals-maps"].needs]
    assert "data.source: signals" in needs
    assert "selection.screened" in [need.words for need in PARTS["screened-figure"].needs]


def test_peers_promise_by_cross_validation_of_the_table_they_were_given(kept):
    found = studies.predicted(kept, screened=True)
    promised = {(one.data, one.arm.words): one for one in found.itertuples()}
    noise, signal = studies.setting_words(GRID[0] | {"relevant": 0, "of": 400, "alpha": None}), None
    assert noise == "0 of 400 relevant, n = 24"
    signal = next(data for data, _ in promised if data != noise)
    stored = np.concatenate(
        [kept.results.load("predict", b)["cross_validated"] for b in range(kept.n_blocks)], axis=1
    )
    row = next(arm.row for arm in kept.arms if arm.method == "bernoulli-nb")
    one = promised[noise, "SelectKBest + BernoulliNB"]
    assert one.told == pytest.approx(stored[row, :2].mean())
    assert promised[signal, "SelectKBest + BernoulliNB"].told == pytest.approx(
        stored[row, 2:].mean()
    )
    # ours promise by their predictions, and have no other promise
    own = promised[noise, "corrected"]
    p = kept.probability(own.arm)[kept.predictions["replicate"] < 2]
    assert own.told == pytest.approx(np.minimum(p, 1 - p).mean())
    assert np.isnan(stored[own.arm.row]).all()
    # cross-validation does not see what was done before, and the correction does
    assert one.told < 0.2 < 0.35 < own.told
    assert promised[noise, "logistic regression, L2"].told < 0.35


def test_a_promise_is_the_error_rate_of_left_out_cases(kept):
    config = kept_config(kept)
    design = Design(config, kept.results.folder, config.data.setting(0))
    split = next(design.splits(range(0, 1), design.draw(range(0, 1))))
    assert len(split.bits()) == 8
    table = split.bits().unpack(np.arange(8), split.train)
    y = split.response[split.train]
    seen = []

    def predict(train, test):
        seen.append(test)
        assert not set(train) & set(test)
        task = Task(BITS, keep=8)
        return fit_predict("bernoulli-nb", task, table[train], y[train], table[test], 1)

    rate = cross_validated(predict, y, 7)
    assert sorted(np.concatenate(seen)) == list(range(24))  # each case is left out once
    assert len(seen) == 10
    assert {tuple(np.bincount(y[test], minlength=2)) for test in seen} <= {(1, 1), (2, 1), (1, 2)}
    assert rate * 24 == pytest.approx(round(rate * 24))
    # what always answers 1 is wrong for class 0, and perfect answers never
    assert cross_validated(lambda _, test: np.ones(len(test)), y, 7) == 0.5
    assert cross_validated(lambda _, test: y[test] * 1.0, y, 7) == 0
    assert np.isnan(cross_validated(predict, np.array([0, 0, 1]), 7))


def kept_config(record):
    return load_config(record.results.folder.parent / "small.yaml")


def test_the_figure_shows_each_promise(kept):
    (figure,) = studies.screened_figure(kept)
    panels = figure.canvas.axes
    assert len(panels) == 2
    words = [one.get_text() for one in panels[0].get_yticklabels()]
    assert words == [
        "uncorrected", "corrected", "corrected, some relevant", "SelectKBest + BernoulliNB",
        "logistic regression, L2",
    ]  # fmt: skip
    numbers = {text.get_text() for text in panels[0].texts}
    for one in studies.predicted(kept, screened=True).itertuples():
        if one.data.startswith("0 of"):
            assert f"{100 * one.told:.0f} %" in numbers
            assert f"{100 * one.actual:.0f} %" in numbers
    (table,) = studies.screened_table(kept)
    assert len(table.frame) == 10
    assert set(table.frame["predicted by"]) == {"its predictions", "cross-validation"}


def test_peers_of_a_whole_table_have_no_promise(grid):
    assert "cross_validated" not in grid.results.load("predict", 0)


def test_the_figure_of_signals_writes_the_amlp_of_each_method(grid):
    (figure,) = studies.signals_figure(grid)
    found = studies.compared(grid)
    panels = [axis for axis in figure.canvas.axes if axis.get_visible()]
    assert len(panels) == 9
    for s in (0, 8):
        amlps = found.loc[found["s"] == s, "amlp"]
        bold = [one.get_text() for one in panels[s].texts if one.get_fontweight() == "bold"]
        assert f"{amlps.min():.3f}" in bold
        texts = [one.get_text() for one in panels[s].texts]
        for amlp in amlps:
            assert f"{amlp:.3f}" in texts
