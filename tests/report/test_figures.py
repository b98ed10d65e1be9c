"""Figures: one style, one meaning for each marker, and nothing that a reader cannot read.

tests/test_smoke.py checks the figures of every shipped config.
"""

import base64
import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from commands import run
from drawn import defects, watched
from matplotlib.colors import to_rgba
from sketched import sketch

from thesiskit.models.peers import Method
from thesiskit.report import layout, summary
from thesiskit.report.layout import Figure
from thesiskit.report.scores import STYLES, style


def drawn(*, columns=1, width=7.6, **look):
    figure, axes = layout.canvas(1, columns, width=width)
    axes[0, 0].plot([0, 1, 2], [0, 1, 4], **{"marker": "o", "label": "a line"} | look)
    return figure, axes[0, 0]


def outside(axis):
    axis.annotate("beyond the edge", (1.4, 0.5), xycoords="axes fraction", annotation_clip=False)
    axis.texts[0].set_in_layout(False)


def overlapping(axis):
    axis.set_xticks([0, 0.05, 1], ["100,000", "200,000", "300,000"])


def on_points(axis):
    axis.legend(loc="center", borderaxespad=0)
    axis.plot([1], [2], "o")


def small(axis):
    axis.set_title("too small", fontsize=7)


PLANTED = {
    "outside the canvas: 'beyond the edge'": outside,
    "overlapping: '100,000' and '200,000'": overlapping,
    "a legend on data: ''": on_points,
    "letters of 7.0 points": small,
}


@pytest.mark.parametrize("line", PLANTED)
def test_planted_defects_are_found(line):
    figure, axis = drawn()
    assert defects(figure) == []
    figure, axis = drawn()
    PLANTED[line](axis)
    assert line in defects(figure)


def test_the_last_tick_of_a_forest_is_on_the_canvas(monkeypatch):
    rows = [("Corrected, 2 features", 0.135, (0.005, 0.265)), ("Base", 1.088, (1.027, 1.149))]
    best, base = (
        SimpleNamespace(name=name, log_loss=loss, log_loss_interval=ends, measure="log loss")
        for name, loss, ends in rows
    )
    record = SimpleNamespace(base=base, choice=None, continuous=False, predicting=[best] * 3)
    monkeypatch.setattr(summary, "shown_scores", lambda record: record.predicting)
    monkeypatch.setattr(summary, "opening_facts", lambda _: {"recommended": best.name})
    assert defects(summary._forest(record).canvas) == []


def test_small_panels_and_panels_of_one_point_are_found():
    figure, _ = drawn(columns=5)
    assert any(line.startswith("a panel of 146 pixels") for line in defects(figure))
    figure, axis = drawn()
    axis.lines[0].set_data([1], [1])
    assert "a panel of one point: ''" in defects(figure)


def families():
    return [
        Method(estimator=name, relevant=relevant, temperature=temperature)
        for name in STYLES
        for relevant in ("all", "some")
        for temperature in ("none", "residual")
    ]


def test_no_two_methods_are_drawn_alike():
    looks = [style(family) for family in families()]
    seen = {tuple(look.get(key, "") for key in ("marker", "linestyle", "markerfacecolor"))
            for look in looks}  # fmt: skip
    assert len(seen) == len(looks) == 4 * len(STYLES)
    for family, look in zip(families(), looks, strict=True):
        assert (look.get("markerfacecolor") == "white") == family.tempered


def test_the_style_lists_each_marker_once():
    comment = layout.STYLE.read_text().partition("font.family")[0]
    listed = re.findall(r"(?:^#|  )  ?(\S)  [a-zSA]", comment, re.MULTILINE)
    assert len(listed) == len(set(listed))
    used = [look["marker"] for look in STYLES.values()]
    used += [layout.COMPRESSED["marker"], layout.ORIGINAL["marker"], "p", "+", "."]
    assert sorted(used) == sorted(listed)


def test_names_at_the_ends_of_lines_keep_apart():
    figure, axis = drawn(label="first")
    for name in ("second", "third"):
        axis.plot([0, 1, 2], [0, 1, 4.01], label=name)
    layout.name_series(figure, axis)
    assert defects(figure) == []
    assert [text.get_text() for text in axis.texts] == ["first", "second", "third"]
    colours = [to_rgba(line.get_color()) for line in axis.lines]
    assert [to_rgba(text.get_color()) for text in axis.texts] == colours
    assert not figure.legends


@pytest.mark.parametrize("name", ["a line {}", "a name that is far too long for a margin {}"])
def test_many_or_long_names_are_in_a_legend_above_the_panels(name):
    figure, axis = drawn(label="first")
    for i in range(5 if "line" in name else 1):
        axis.plot([0, 1, 2], np.arange(3) * (i + 2), label=name.format(i))
    layout.name_series(figure, axis)
    assert defects(figure) == []
    (legend,) = figure.legends
    assert len(legend.get_texts()) == len(axis.lines)
    assert not axis.texts


def test_files_have_letters_that_can_be_searched(tmp_path):
    figure, axis = drawn()
    axis.set_title("Title")
    with layout.styled():
        figure.savefig(tmp_path / "f.pdf")
    assert b"/Type3" not in (tmp_path / "f.pdf").read_bytes()
    figure.set_layout_engine(None)
    head, _, text = Figure("f", "Figure", figure, "A figure.").image().partition(",")
    assert head == "data:image/svg+xml;base64"
    assert re.search("<text[^>]*system-ui[^>]*>Title</text>", base64.b64decode(text).decode())


FILTERED = """
experiment: filtered
title: A filtered table
about: Sixty tissues.
data: { source: file, path: best.csv, response: status, positive: tumour, id: patient }
selection: { features: [3, 6, all], screened: { of: [400, 4000, 40000, 400000] } }
model: { kind: KIND, methods: [corrected, uncorrected, l2-logistic], relevant: [all, some],
         temperature: [none, residual] }
report: { parts: [summary] }
"""


@pytest.mark.parametrize("kind", ["naive-bayes", pytest.param("normal", marks=pytest.mark.slow)])
def test_the_figure_of_a_filtered_table_is_legible(tmp_path, kind):
    """Methods with and without a temperature have lines of their own, however many there are."""
    rng = np.random.default_rng(8)
    response = np.arange(60) % 2
    features = rng.random((60, 12)) < np.where(response, 0.85, 0.25)[:, None]
    noise = rng.normal(size=features.shape) * (kind == "normal")
    frame = pd.DataFrame(features + noise, columns=[f"g{j}" for j in range(12)])
    frame = frame if kind == "normal" else frame.astype(int)
    frame.insert(0, "status", np.where(response, "tumour", "normal"))
    frame.insert(0, "patient", [f"P{i}" for i in range(60)])
    frame.to_csv(tmp_path / "best.csv", index=False)
    (tmp_path / "filtered.yaml").write_text(FILTERED.replace("KIND", kind))
    with watched() as (found, figures):
        run("run", tmp_path / "filtered.yaml", "--results", tmp_path / "r")
    assert found == []
    assert "screened-answers" in figures
    lines = [
        line for line in figures["screened-answers"].axes[0].lines if line.get_label()[0] != "_"
    ]
    looks = {
        (line.get_marker(), line.get_linestyle(), line.get_markerfacecolor(), line.get_color())
        for line in lines
    }
    assert len(looks) == len(lines)


def test_a_sketch_differs_where_what_is_shown_does():
    """Figures of the tests that do not draw them (tests/support/sketched.py)."""

    def sketches(height, end):
        figure, axes = layout.canvas(1, 2)
        axes[0, 0].plot([1, 2], [3, end])
        axes[0, 1].bar([1, 2], [3, height])
        return sketch(Figure("f", "Figure", figure, "A figure."))

    assert sketches(1, 2) == sketches(1, 2)
    assert len({sketches(1, 2), sketches(1, 3), sketches(2, 2)}) == 3
