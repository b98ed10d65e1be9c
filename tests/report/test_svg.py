"""Figures of matplotlib as SVG in a page: the same picture, with ids and the values of points."""

import json
import re
import xml.etree.ElementTree as ET
from itertools import chain
from pathlib import Path

import numpy as np
import pytest

import thesiskit.report
from thesiskit.report.layout import INK, canvas
from thesiskit.report.svg import MOST_VALUES, drawing, plain

SVG = "{http://www.w3.org/2000/svg}"


def drawn(figure, name="one"):
    """Return a figure as an element, and the values beside it, as they are in a page."""
    figure.canvas.draw()
    text, values = drawing(figure, name)
    root = ET.fromstring(f'<svg xmlns="http://www.w3.org/2000/svg" {text}')
    return root, json.loads(json.dumps(values, allow_nan=False))


def points(values, series, panel=0):
    marks = values["panels"][panel]["marks"]
    return list(chain.from_iterable(one["points"] for one in marks if one["series"] == series))


def named(root):
    return {one.get("id"): one for one in root.iter() if one.get("id")}


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
    c.text(0, 0, "name, with <a> comma")
    c.invert_yaxis()
    c.set_xticks([0, 1], ["alon", "khan"])
    d.scatter([1, 2], [3, 4], s=[20, 40], c=["red", "blue"])
    d.axline((0, 0), slope=1)
    d.vlines([1, 2], 0, [1, 2])
    d.annotate("here", (1, 1), xytext=(4, 0), textcoords="offset points")
    figure.supxlabel("all of it")
    return figure


def test_ids_are_unique_those_of_a_figure_and_all_that_is_linked_is_there():
    roots = [drawn(every_mark(), name)[0] for name in ("one", "two")]
    ids = [one.get("id") for root in roots for one in root.iter() if one.get("id")]
    assert len(ids) == len(set(ids)) > 40
    for root, name in zip(roots, ("one", "two"), strict=True):
        mine = set(named(root))
        assert all(one.startswith(f"{name}--") for one in mine)
        text = ET.tostring(root, encoding="unicode")
        links = set(re.findall(r'(?:href="#|url\(#)([^")]+)', text))
        assert links
        assert links <= mine


def test_every_mark_of_every_series_has_its_id_in_the_picture():
    root, values = drawn(every_mark())
    assert len(values["panels"]) == 4
    ids = named(root)
    marks = [mark for panel in values["panels"] for mark in panel["marks"]]
    for mark in marks:
        if mark["id"]:
            assert "mark" in ids[mark["id"]].get("class").split()
    assert sum(not mark["id"] for mark in marks) == 1  # the image of squares
    for name in ("corrected", "uncorrected", "with-bars"):
        assert any(one.startswith(f"one--0-{name}-") for one in ids)
    for panel in values["panels"]:
        assert panel["id"] in ids
        assert f"{panel['id']}-clip" in ids


def test_the_same_figure_gives_the_same_bytes():
    first, second = (drawn(every_mark()) for _ in range(2))
    assert ET.tostring(first[0]) == ET.tostring(second[0])
    assert first[1] == second[1]
    text = ET.tostring(first[0], encoding="unicode")
    assert not re.search(r"20\d\d-\d\d|matplotlib|http://(?!www.w3.org/2000/svg)", text)


def test_text_is_text_in_the_letters_of_the_page():
    root, _ = drawn(every_mark())
    said = ["".join(one.itertext()) for one in root.iter(f"{SVG}text")]
    for words in ("features kept", "error rate", "corrected", "name, with <a> comma", "promised"):
        assert words in said
    assert "font-family" not in ET.tostring(root, encoding="unicode")
    assert not any(one.get("style", "").count("nan") for one in root.iter())


def test_a_line_keeps_its_numbers_limits_and_words():
    figure = every_mark()
    low, high = figure.axes[0].get_ylim()
    root, values = drawn(figure)
    assert points(values, "corrected") == [[1, 0.3], [10, 0.2]]  # a missing number is left out
    assert points(values, "uncorrected") == [[1, 0.5], [10, 0.4], [100, 0.1]]
    panel = values["panels"][0]
    assert panel["title"] == "σ₁₀ and 10³"
    assert panel["y"]["ends"] == pytest.approx([low, high])
    assert panel["y"]["name"] == "error rate"
    assert panel["x"]["log"]
    left, bottom, right, top = panel["box"]
    assert left < right
    assert top < bottom
    # a known point is where the script looks for it
    start, end = panel["x"]["ends"]
    circles = named(root)[
        next(one["id"] for one in panel["marks"] if one["series"] == "corrected")
    ].iter(f"{SVG}use")
    found = [(float(one.get("x")), float(one.get("y"))) for one in circles]
    wanted = [(left + (np.log(x) - start) / (end - start) * (right - left),
               bottom + (y - low) / (high - low) * (top - bottom))
              for x, y in points(values, "corrected")]  # fmt: skip
    assert np.allclose(found, wanted, atol=0.02)


def test_a_symmetric_log_scale_is_what_the_script_has():
    figure, axes = canvas()
    x = [-300.0, -2.0, 0.5, 40.0]
    axes[0, 0].plot(x, [1, 2, 3, 4], "o", color=INK, label="some")
    axes[0, 0].set_xscale("symlog", linthresh=2)
    root, values = drawn(figure)
    panel = values["panels"][0]
    assert panel["x"]["symlog"] == 2
    (left, _, right, _), (start, end) = panel["box"], panel["x"]["ends"]
    scaled = [  # as figures.js has it
        np.sign(v) * 2 * (1 + 0.9 * np.log10(abs(v) / 2)) if abs(v) > 2 else v for v in x
    ]
    found = [float(one.get("x")) for one in named(root)[panel["marks"][0]["id"]].iter(f"{SVG}use")]
    wanted = left + (np.array(scaled) - start) / (end - start) * (right - left)
    assert np.allclose(found, wanted, atol=0.02)


def test_what_the_axes_say_is_how_values_are_written():
    _, values = drawn(every_mark())
    axes = [(panel["x"], panel["y"]) for panel in values["panels"]]
    assert axes[1][1]["unit"] == "%"
    assert axes[2][0]["words"] == {"0": "alon", "1": "khan"}
    assert axes[1][0]["name"] == "all of it"  # that of the figure
    assert values["value"] == "promised"


def test_each_entry_of_a_legend_switches_the_marks_of_its_series():
    root, values = drawn(every_mark())
    assert [one["series"] for one in values["legend"]] == ["corrected", "uncorrected", "with bars"]
    ids = named(root)
    for entry in values["legend"]:
        assert "".join(ids[entry["id"]].itertext()).strip() == entry["series"]
        assert any(mark["series"] == entry["series"] for mark in values["panels"][0]["marks"])
    bars = [one for one in values["panels"][0]["marks"] if one["series"] == "with bars"]
    assert len(bars) == 2  # the bars go with their points
    across = [
        one for one in values["panels"][0]["marks"] if one["points"] == [[None, 0.25, None, 0.25]]
    ]
    assert [one["series"] for one in across] == [""]  # the line across is of no series


def test_series_are_found_by_their_looks_where_the_legend_has_handles_of_its_own():
    figure, axes = canvas(1, 2)
    for axis in axes.flat:
        axis.plot([0, 1], [0, 1], "-", color=INK)
        axis.plot([0, 1], [1, 0], ":", color=INK)
    figure.legend(axes[0, 0].get_lines(), ["ours", "theirs"])
    _, values = drawn(figure)
    for panel in values["panels"]:
        assert [mark["series"] for mark in panel["marks"]] == ["ours", "theirs"]


def test_bars_segments_images_and_points_keep_their_numbers():
    root, values = drawn(every_mark())
    marks = [[one["points"] for one in panel["marks"]] for panel in values["panels"]]
    bars = [[0, 0, 0.25, 2], [0.25, 0, 0.5, 0], [0.5, 0, 0.75, 1], [0.75, 0, 1, 0]]
    assert [one for some in marks[1] for one in some if None not in one] == bars
    assert [one[4] for one in marks[2][0]] == [1, 2, 3]
    assert [[1, 3], [2, 4]] in marks[3]
    assert [[1, 0, 1, 1], [2, 0, 2, 2]] in marks[3]
    assert values["panels"][2]["y"]["ends"][0] > values["panels"][2]["y"]["ends"][1]
    images = [one for one in root.iter() if one.get("class") == "mark free"]
    assert len(images) == 2  # the squares, and the key of their colours


def test_ticks_and_texts_say_in_which_directions_they_move():
    root, _ = drawn(every_mark())
    panel = named(root)["one--0"]
    ticks = [one for one in panel.iter() if one.get("class") == "xtick"]
    assert ticks
    assert all(one.get("data-x") and not one.get("data-y") for one in ticks)
    texts = [one for one in named(root)["one--3"].iter() if one.get("data-x") and one.get("data-y")]
    assert ["".join(one.itertext()) for one in texts] == ["here"]


def test_values_have_four_digits_or_what_their_axis_shows():
    figure, axes = canvas()
    axes[0, 0].plot([1, 2, 3], [-1234.5678, -1234.1234, 0.123456 - 1234], "o", label="some")
    _, values = drawn(figure)
    assert points(values, "some") == [[1, -1234.5678], [2, -1234.1234], [3, -1233.8765]]
    figure, axes = canvas()
    axes[0, 0].plot([0, 123456], [0, 0.123456], "o", label="some")
    assert points(drawn(figure)[1], "some")[1] == [123500, 0.1235]


def test_a_cloud_of_many_points_is_an_image_and_tells_some_of_its_values(rng):
    figure, axes = canvas()
    axes[0, 0].plot(rng.random(20_000), rng.random(20_000), ".", color=INK)
    axes[0, 0].plot([0, 0.5, 1], [0, 0.5, 1], "-o", label="few")
    axes[0, 0].legend()
    figure.canvas.draw()
    text, values = drawing(figure, "cloud")
    assert len(text) + len(json.dumps(values)) < 300_000
    assert len(re.findall("<image", text)) == 1
    cloud, few = values["panels"][0]["marks"]
    assert cloud["id"] == ""
    assert 1_000 < len(cloud["points"]) <= MOST_VALUES
    assert f'id="{few["id"]}"' in text
    assert [one["series"] for one in values["legend"]] == ["few"]


def test_many_lines_of_many_points_have_room_in_a_page(rng):
    figure, axes = canvas(4, 3, height=8)
    for axis in axes.flat:
        for _ in range(5):
            axis.plot(rng.random(2_000), color=INK, linewidth=0.7)
    figure.canvas.draw()
    text, values = drawing(figure, "traces")
    assert len(text) + len(json.dumps(values)) < 500_000


@pytest.mark.parametrize("draw", [
    lambda axis: axis.annotate("an arrow", (0, 0), (1, 1), arrowprops={}),
    lambda axis: axis.contourf(np.arange(9).reshape(3, 3)),
    lambda axis: axis.set_yscale("logit"),
    lambda axis: axis.pie([1, 2]),
    lambda axis: axis.imshow(np.zeros((100, 100))),
    lambda axis: axis.set_axis_off(),
])  # fmt: skip
def test_what_no_report_draws_yet_is_drawn_too(draw):
    figure, axes = canvas()
    axes[0, 0].plot([0.2, 0.4], [0.2, 0.4], "o", label="some")
    draw(axes[0, 0])
    root, values = drawn(figure)
    assert list(root.iter(f"{SVG}path"))
    assert values["legend"] == []


def test_pictures_of_files_do_not_change_by_the_page(tmp_path):
    figure = every_mark()
    figure.savefig(tmp_path / "before.png")
    drawing(every_mark(), "one")
    every_mark().savefig(tmp_path / "after.png")
    assert (tmp_path / "before.png").read_bytes() == (tmp_path / "after.png").read_bytes()


def test_letters_that_the_font_lacks_are_those_of_the_browser():
    figure, axes = canvas()
    axes[0, 0].plot([0, 1], [0, 1], "o", label="肿瘤")
    axes[0, 0].legend()
    text, _ = drawing(figure, "one")  # a warning would be an error
    assert ">肿瘤</text>" in text


def test_a_hostile_name_is_text_alone():
    figure, axes = canvas()
    bad = '</svg><script>alert(1)</script> href="#x" id="one" <!-- url(#y)'
    axes[0, 0].plot([0, 1], [0, 1], "o", label=bad)
    axes[0, 0].legend()
    axes[0, 0].set_title(bad)
    root, values = drawn(figure)
    assert not list(root.iter(f"{SVG}script"))
    assert "".join(named(root)["one--legend-0"].itertext()).strip() == bad
    assert values["legend"][0]["series"] == " ".join(bad.split())


@pytest.mark.parametrize(("text", "words"), [
    (r"$\sigma_{12}$", "σ₁₂"), ("$I_1$: ones", "I₁: ones"), (r"5 \$ a day", "5 $ a day"),
    (r"$0 <$ |Cor| $\leq$ 0.3", "0 < |Cor| ≤ 0.3"), (r"$\mathdefault{10^{-2}}$", "10⁻²"),
])  # fmt: skip
def test_words_without_mathtext(text, words):
    assert plain(text) == words


def test_the_script_is_small_and_asks_for_nothing():
    script = Path(thesiskit.report.__file__).parent / "templates" / "figures.js"
    text = script.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 159
    assert not re.search(r"fetch|XMLHttp|import|eval|innerHTML", text)
    assert max(map(len, text.splitlines())) <= 120
