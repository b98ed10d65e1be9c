"""Figures of matplotlib as specifications of Vega-Lite: the same data, limits and words."""

import csv
import io

import numpy as np
import pytest

from thesiskit.report.layout import INK, canvas, save_space
from thesiskit.report.page import fitting
from thesiskit.report.vega import explorable, picture
from thesiskit.report.vega.bundle import library
from thesiskit.report.vega.words import plain


def translated(figure):
    figure.canvas.draw()
    return explorable(figure)


def data(found, kind, panel=0):
    """Return the rows of each layer of one kind of mark; the first layer has the zoom."""
    layers = found["spec"]["concat"][panel]["layer"][1:]
    return [
        list(csv.DictReader(io.StringIO(layer["data"]["values"])))
        for layer in layers
        if layer["mark"]["type"] == kind and layer["mark"].get("opacity") != 0
    ]


def numbers(rows, *columns):
    return [tuple(float(row[name]) for name in columns) for row in rows]


def every_mark():
    """A figure with every kind of mark that figures of reports have."""
    figure, axes = canvas(2, 2, height=5)
    a, b, c, d = axes.flat
    a.plot([1, 10, 100], [0.3, 0.2, np.nan], "--o", color=INK, mfc="white", label="corrected")
    a.plot([1, 10, 100], [0.5, 0.4, 0.1], ":s", color=INK, fillstyle="left", label="uncorrected")
    a.errorbar([2, 20], [0.2, 0.3], [0.05, 0.1], marker="x", color="green", label="with bars")
    a.axhline(0.25, color="grey")
    a.set_xscale("log")
    a.set_xticks([1, 10, 100], ["1", "10", "all"])
    a.set_xlabel("features kept")
    a.set_ylabel("error rate")
    a.set_title("$\\sigma_{10}$ and $10^{3}$")
    a.legend()
    b.hist([0.1, 0.2, 0.7], np.linspace(0, 1, 5), color="grey")
    b.fill_between([0, 1], [0, 0], [1, 2], color="pink")
    b.stairs([1, 2, 1], [0, 0.3, 0.6, 1.0])
    b.axvline(0.5, linestyle=":")
    b.yaxis.set_major_formatter(lambda y, _: f"{100 * y:.0f} %")
    shown = c.imshow([[1.0, 2.0], [3.0, np.nan]], origin="lower")
    figure.colorbar(shown, ax=c).set_label("promised")
    c.text(0, 0, "name, with a comma")
    c.invert_yaxis()
    d.scatter([1, 2], [3, 4], s=[20, 40], c=["red", "blue"])
    d.axline((0, 0), slope=1)
    d.vlines([1, 2], 0, [1, 2])
    d.annotate("here", (1, 1), xytext=(4, 0), textcoords="offset points")
    save_space(axes)
    figure.supxlabel("all of it")
    return figure


def test_every_mark_is_translated_to_what_vega_lite_accepts():
    convert = pytest.importorskip("vl_convert")
    found = translated(every_mark())
    drawn = convert.vegalite_to_vega(found["spec"])
    panels = [mark for mark in drawn["marks"] if mark["type"] == "group"]
    assert len(panels) == 4
    assert [one["title"] for one in found["scales"]] == ["promised"]
    assert found["x"] == ["all of it"]


def test_a_line_keeps_its_numbers_limits_and_words():
    figure = every_mark()
    found = translated(figure)
    panel, axes = found["spec"]["concat"][0], figure.axes[0]
    rows = data(found, "line")[0]
    assert numbers(rows[:2], "x", "y") == [(1, 0.3), (10, 0.2)]
    assert rows[2]["y"] == ""  # a missing number stays missing
    assert panel["encoding"]["x"]["scale"]["type"] == "log"
    assert panel["encoding"]["y"]["scale"]["domain"] == pytest.approx(axes.get_ylim())
    assert panel["encoding"]["x"]["axis"]["values"] == [1, 10, 100]
    assert "'all'" in panel["encoding"]["x"]["axis"]["labelExpr"]
    assert panel["title"]["text"] == ["σ₁₀ and 10³"]
    assert panel["encoding"]["y"]["axis"]["title"] == ["error rate"]


def test_each_entry_of_a_legend_switches_the_marks_of_its_series():
    found = translated(every_mark())
    switches = {one["name"]: one["switch"] for one in found["series"]}
    assert list(switches) == ["corrected", "uncorrected", "with bars"]
    assert {one["name"] for one in found["spec"]["params"]} == set(switches.values())
    layers = found["spec"]["concat"][0]["layer"]
    kinds = {name: [] for name in switches.values()}
    for layer in layers:
        for one in layer.get("transform", []):
            kinds[one["filter"]].append(layer["mark"]["type"])
    assert "rule" in kinds[switches["with bars"]]  # the bars go with their points
    assert {"line", "point"} <= set(kinds[switches["corrected"]])
    assert not any("transform" in one for one in layers if "y" in one["encoding"] and
                   "x" not in one["encoding"])  # the line across is of no series  # fmt: skip


def test_series_are_found_by_their_looks_where_the_legend_has_handles_of_its_own():
    figure, axes = canvas(1, 2)
    for axis in axes.flat:
        axis.plot([0, 1], [0, 1], "-", color=INK)
        axis.plot([0, 1], [1, 0], ":", color=INK)
    figure.legend(axes[0, 0].get_lines(), ["ours", "theirs"])
    found = translated(figure)
    ours = found["series"][0]["switch"]
    for panel in found["spec"]["concat"]:
        mine = [one for one in panel["layer"] if one.get("transform") == [{"filter": ours}]]
        assert [one["mark"].get("strokeDash") for one in mine] == [None]


def test_bars_images_and_text_keep_their_numbers():
    found = translated(every_mark())
    (bars,) = data(found, "rect", 1)
    assert numbers(bars, "x", "x2", "y2") == [(0, 0.25, 2), (0.25, 0.5, 0), (0.5, 0.75, 1),
                                              (0.75, 1, 0)]  # fmt: skip
    (cells,) = data(found, "rect", 2)
    assert [float(cell["v"]) for cell in cells] == [1, 2, 3]
    assert found["spec"]["concat"][2]["encoding"]["y"]["scale"]["reverse"]
    assert data(found, "text", 2)[0][0]["t"] == "name, with a comma"


def test_lines_that_look_alike_stay_apart():
    figure, axes = canvas()
    for height in range(3):
        axes[0, 0].plot([0, 1], [height, height], color=INK)
    (rows,) = data(translated(figure), "line")
    assert [row["g"] for row in rows] == ["0", "0", "1", "1", "2", "2"]


@pytest.mark.parametrize("draw", [
    lambda axis: axis.annotate("an arrow", (0, 0), (1, 1), arrowprops={}),
    lambda axis: axis.contourf(np.arange(9).reshape(3, 3)),
    lambda axis: axis.set_yscale("logit"),
    lambda axis: axis.pie([1, 2]),
    lambda axis: axis.imshow(np.zeros((100, 100))),
])  # fmt: skip
def test_what_cannot_be_translated_stays_a_picture(draw):
    figure, axes = canvas()
    axes[0, 0].plot([0.2, 0.4], [0.2, 0.4])
    draw(axes[0, 0])
    assert translated(figure) is None


def test_figures_that_have_no_room_in_a_page_stay_pictures():
    figures = {"small": "x" * 10, "large": "x" * 100, "last": "x" * 20}
    assert list(fitting(figures, 40)) == ["small", "last"]


@pytest.mark.parametrize(("text", "words"), [
    (r"$\sigma_{12}$", "σ₁₂"), ("$I_1$: ones", "I₁: ones"), (r"5 \$ a day", "5 $ a day"),
    (r"$0 <$ |Cor| $\leq$ 0.3", "0 < |Cor| ≤ 0.3"), (r"$\mathdefault{10^{-2}}$", "10⁻²"),
])  # fmt: skip
def test_words_without_mathtext(text, words):
    assert plain(text) == words


def test_the_picture_in_a_page_is_no_larger_than_its_file(tmp_path):
    figure = every_mark()
    figure.savefig(tmp_path / "one.png", dpi=200)
    assert len(picture(tmp_path / "one.png")) * 3 / 4 < (tmp_path / "one.png").stat().st_size / 1.5


def test_the_library_is_bundled_once_for_all_processes(tmp_path, monkeypatch):
    convert = pytest.importorskip("vl_convert")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    calls = []

    def bundle(code):
        calls.append(code)
        return "a </script> b"

    monkeypatch.setattr(convert, "javascript_bundle", bundle)
    anew = library.__wrapped__  # as another process does it
    whole = anew()
    assert "</script" not in whole
    assert [anew(), anew()] == [whole, whole]
    assert len(calls) == 1
    (kept,) = (tmp_path / "thesiskit").iterdir()
    kept.write_text(whole[:-5])  # damaged: it is made again
    assert anew() == whole == kept.read_text()
    assert len(calls) == 2
    monkeypatch.setenv("XDG_CACHE_HOME", str(kept))  # no folder: nothing is kept
    assert anew() == whole
    assert len(calls) == 3
