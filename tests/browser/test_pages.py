"""The pages of reports in a real browser: with scripts, without, by keyboard, dark and narrow."""

import base64
import re

import numpy as np
import pandas as pd
import pytest
from browser import serious, sideways, violations
from commands import run, wait_for
from sketched import drawn, sketched

OWN = """
experiment: mine
title: My expression table
about: Forty tissues.
data: { source: file, path: genes.csv, response: status, positive: tumour, id: patient }
evaluation: { folds: 4 }
selection: { features: [3, all] }
model: { methods: [corrected, uncorrected, l2-logistic] }
report: { parts: [summary] }
"""


@pytest.fixture(scope="module")
def results(browser, tmp_path_factory):
    """An experiment of fewer features with the thesis's numbers, and one with maps and bars."""
    root = tmp_path_factory.mktemp("pages")
    fewer = (
        "data.features=300",
        "data.test=[50, 50]",
        "selection.features=[1, 10, 100, all]",
        "report.parts=[statement-table, performance, calibration-table, selection-table, "
        "timing-table]",
    )
    settings = [option for text in fewer for option in ("--set", text)]
    with sketched(), drawn(printed=False):
        run("run", "naive-simulation", *settings, "--results", root)
        run("run", "colon", "--smoke", "--results", root)
    return root


@pytest.fixture(scope="module")
def report(results):
    return results / "naive-simulation" / "report.html"


def column(page, table, place):
    return page.locator(f"#{table} tbody tr:visible td:nth-child({place})").all_inner_texts()


def figure(page, name):
    """Return a figure, in view and drawn."""
    drawing = page.locator(f"#{name} .picture img")
    drawing.scroll_into_view_if_needed()
    wait_for(lambda: drawing.evaluate("image => image.complete && image.naturalWidth > 100"))
    return drawing


# ---- tables ----


def test_a_click_sorts_and_a_third_one_restores(browser, report):
    with browser.page(report) as page:
        head = page.locator("#calibration thead tr:last-child th").nth(2)
        before = column(page, "calibration", 3)
        numbers = [float(cell.replace(",", "")) for cell in before if cell != "–"]
        for order, wanted in (
            ("ascending", sorted(numbers)),
            ("descending", sorted(numbers)[::-1]),
        ):
            head.get_by_role("button").click()
            assert head.get_attribute("aria-sort") == order
            cells = column(page, "calibration", 3)
            found = [float(cell.replace(",", "")) for cell in cells if cell != "–"]
            assert found == wanted
            assert cells[len(found) :] == ["–"] * (len(cells) - len(found))  # missing ones are last
        head.get_by_role("button").click()
        assert head.get_attribute("aria-sort") == "none"
        assert column(page, "calibration", 3) == before


def test_a_filter_leaves_the_rows_with_all_its_words(browser, report):
    with browser.page(report) as page:
        box = page.get_by_label(re.compile("Filter the rows of .*Computation time"))
        box.fill("uncorrected simpson")
        assert set(column(page, "timings", 2)) == {"uncorrected"}
        assert set(column(page, "timings", 3)) == {"simpson-21", "simpson-21-transformed"}
        rows = len(column(page, "timings", 1))
        assert page.locator("#timings output").inner_text() == f"{rows} of 21 rows"
        box.fill("no such row")
        assert column(page, "timings", 1) == []
        box.fill("")
        assert len(column(page, "timings", 1)) == 21


def test_the_number_of_the_thesis_and_ours_are_shown_together(browser, report):
    with browser.page(report) as page:
        theirs = page.locator("#selection tbody tr").first.locator("td.thesis")
        ours = page.locator("#selection tbody tr").first.locator("td").nth(3)
        for cell in (theirs, ours):
            cell.hover()
            shown = page.locator("#tip").inner_text().split()
            assert shown[:3] == ["the", "thesis", theirs.inner_text()]
            assert ours.inner_text() in shown
            apart = float(ours.inner_text()) - float(theirs.inner_text())
            assert shown[-2:] == ["difference", f"{apart:+.3f}"]
        assert page.locator("td.paired").count() == 2
        page.locator("h1").hover()
        assert not page.locator("#tip").is_visible()


# ---- links ----


def test_a_link_to_a_row_is_copied_and_leads_there(browser, report):
    rights = {"permissions": ["clipboard-read", "clipboard-write"]}
    with browser.page(report, **rights) as page:
        page.locator("#timings tbody tr").nth(4).hover()
        page.locator("#timings").get_by_label("Copy a link to this row").click()
        page.locator("#status.shown").wait_for()
        link = page.evaluate("navigator.clipboard.readText()")
        assert link == f"{report.resolve().as_uri()}#timings-row-5"
    with browser.page(report, "timings-row-5") as page:
        row = page.locator("tr.linked")
        assert row.get_attribute("id") == "timings-row-5"
        page.wait_for_function(
            "document.querySelector('tr.linked').getBoundingClientRect().top < 800"
        )


def test_a_link_to_a_row_of_a_closed_list_opens_it(browser, report):
    with browser.page(report, "calibration-simpson-21-row-3") as page:
        assert page.locator("tr.linked").is_visible()


# ---- the page ----


def background(page):
    return page.evaluate("getComputedStyle(document.body).backgroundColor")


WHITE, DARK = "rgb(255, 255, 255)", "rgb(31, 31, 31)"


def test_the_page_is_dark_where_the_system_is_or_by_its_switch(browser, report):
    with browser.page(report, color_scheme="dark") as page:
        assert background(page) == DARK
        page.get_by_role("button", name="Light page").click()
        assert background(page) == WHITE
        assert page.get_by_role("button", name="Dark page").is_visible()
    with browser.page(report) as page:
        assert background(page) == WHITE
        page.get_by_role("button", name="Dark page").click()
        assert background(page) == DARK
        page.reload()
        assert background(page) == DARK  # it is remembered
        page.emulate_media(media="print")
        assert background(page) == WHITE


def test_print_has_the_figures_in_light_colours_and_no_buttons(browser, report):
    with browser.page(report, color_scheme="dark") as page:
        svg = figure(page, "error-rates")
        invert = "one => getComputedStyle(one).filter"
        assert "invert" in svg.evaluate(invert)
        page.emulate_media(media="print")
        assert svg.is_visible()
        assert svg.evaluate(invert) == "none"
        for name in ("Dark page", "Light page", "Copy a link"):
            assert not any(one.is_visible() for one in page.get_by_role("button", name=name).all())


def test_without_scripts_the_page_is_whole(browser, report):
    with browser.page(report, java_script_enabled=False) as page:
        figures = page.get_by_role("img").all()
        assert len(figures) == 2
        assert all(one.is_visible() for one in figures)
        assert all(len(one.get_attribute("alt")) > 40 for one in figures)
        assert page.locator("button, input, [role=button]").count() == 0
        assert len(column(page, "timings", 1)) == 21


PAGES = ["naive-simulation/report.html", "colon-smoke/report.html", "index.html"]


@pytest.mark.parametrize("name", PAGES)
def test_nothing_serious_is_found_by_axe(browser, results, name):
    with browser.page(results / name) as page:
        for section in page.locator("section:has(.picture)").all():
            figure(page, section.get_attribute("id"))
        assert violations(page) == []
        page.emulate_media(color_scheme="dark")
        assert serious(page, "color-contrast") == []


@pytest.mark.parametrize("name", PAGES)
def test_a_page_fits_a_narrow_window(browser, results, name):
    with browser.page(results / name, width=400) as page:
        for section in page.locator("section:has(.picture)").all():
            found = figure(page, section.get_attribute("id"))
            assert found.bounding_box()["width"] <= 400 - 32
        assert sideways(page) <= 0


FOCUSED = """(() => {
  const one = document.activeElement, words = one.getAttribute("aria-label") || one.textContent;
  const kind = one.getAttribute("class") || one.type || "";
  const section = one.closest("section")?.id || "";
  return `${section} ${one.tagName} ${kind} ${words.slice(0, 30)}`;
})()"""


def test_all_can_be_done_by_keyboard(browser, report):
    rights = {"permissions": ["clipboard-read", "clipboard-write"]}
    with browser.page(report, **rights) as page:
        seen = []
        page.evaluate("document.activeElement.blur(); scrollTo(0, 0)")
        for _ in range(400):
            page.keyboard.press("Tab")
            one = page.evaluate(FOCUSED).strip()
            if one.startswith("BODY"):
                break
            seen.append(one)
            if one.startswith("selection BUTTON sort gamma") and "thesis" not in one:
                page.keyboard.press("Enter")
            if one.startswith("timings INPUT"):
                page.keyboard.type("uncorrected")
            if one.startswith("timings TR"):
                page.keyboard.press("ArrowDown")
                page.keyboard.press("Enter")
                break
        assert seen[0].endswith("Dark page")
        assert page.locator("#selection th[aria-sort=ascending]").inner_text().strip() == "gamma"
        assert len(column(page, "timings", 1)) < 14
        page.locator("#status.shown").wait_for()
        assert page.evaluate("navigator.clipboard.readText()").endswith("#timings-row-4")


# ---- rows that the page does not show ----


@pytest.fixture(scope="module")
def own(browser, tmp_path_factory):
    """A table of a user's, with more predictions than its page shows."""
    folder, rng = tmp_path_factory.mktemp("own"), np.random.default_rng(5)
    y = rng.permutation(np.repeat([0, 1], 20))
    frame = pd.DataFrame(rng.normal(size=(40, 12)) + y[:, None], columns=[*"abcdefghijkl"])
    frame.insert(0, "status", np.where(y, "tumour", "normal"))
    frame.insert(0, "patient", [f"P-{i:02d}" for i in range(40)])
    frame.to_csv(folder / "genes.csv", index=False)
    (folder / "mine.yaml").write_text(OWN)
    with sketched(), drawn(printed=False):
        run("run", folder / "mine.yaml", "--results", folder / "r")
    return folder / "r" / "mine"


def test_the_filter_finds_all_rows_and_leaves_those_of_the_page(browser, own):
    table = pd.read_csv(own / "tables" / "predictions.csv", dtype=str)
    last = table[(table["features"] == "all") & (table["response"] == "tumour")]
    name = last["id"].iloc[-1]
    wanted = [name.lower() in "".join(row).lower() and "all" in "".join(row).lower()
              for row in table.astype(str).to_numpy()]  # fmt: skip
    n = table["id"].nunique()  # the rows of the recommended method
    with browser.page(own / "report.html") as page:
        count, box = (
            page.locator("#predictions output"),
            page.get_by_label("rows of All predictions"),
        )
        page.locator("#predictions summary").click()
        assert count.inner_text() == f"{n} of {len(table)} rows"
        first = column(page, "predictions", 1)
        assert name not in column(page, "predictions", 1) or "all" not in first
        box.fill(f"{name} all")
        wait_for(lambda: count.inner_text() == f"{sum(wanted)} of {len(table)} rows")
        assert column(page, "predictions", 1).count(name) == sum(wanted) > 0
        assert set(column(page, "predictions", 4)) == {"all"}
        row = page.locator("#predictions tbody tr:visible").last
        row.hover()
        row.click()
        assert row.get_attribute("id") is None  # nothing leads to a row that is not there
        head = page.locator("#predictions thead tr:last-child th").last.get_by_role("button")
        box.fill("tumour")
        wait_for(lambda: len(column(page, "predictions", 1)) > 30)
        head.click()
        last_column = len(table.columns)
        values = [float(one) for one in column(page, "predictions", last_column)]
        assert values == sorted(values)
        head.click()
        head.click()
        box.fill("")
        wait_for(lambda: count.inner_text() == f"{n} of {len(table)} rows")
        assert column(page, "predictions", 1) == first
        assert violations(page) == []


# ---- on paper ----


def sheets(page):
    """Return how many pages a page has on A4 paper."""
    return len(re.findall(rb"/Type\s*/Page\b", page.pdf(format="A4")))


@pytest.mark.parametrize("name", ["own", "naive-simulation", "colon-smoke"])
def test_paper_has_whole_tables_and_no_empty_pages(browser, results, own, name):
    folder = own if name == "own" else results / name
    with browser.page(folder / "report.html", width=718) as page:  # A4 less its margins
        page.emulate_media(media="print")
        wide = page.locator(".scroll:visible").all()
        assert wide
        for one in wide:
            assert one.evaluate("one => one.scrollWidth - one.clientWidth") <= 0
        tall = page.evaluate("document.documentElement.scrollHeight")
        assert not page.locator(".filter, nav, button.copy, #theme").filter(visible=True).count()
        # what is kept together leaves less than a third of a page empty, on the average
        assert sheets(page) <= 1.5 * tall / 1046 + 1
        small = page.locator("table").first.evaluate("one => getComputedStyle(one).fontSize")
        assert float(small.removesuffix("px")) > 5


def test_the_answer_comes_before_everything_else(browser, results, own):
    for folder in (own, results / "naive-simulation", results / "colon-smoke"):
        with browser.page(folder / "report.html") as page:
            answer = page.locator("#answer, #claims").first
            assert re.search(r"\d+%|Found: |Not tested, ", answer.inner_text())
            others = page.locator("main > section:not(#answer):not(#claims)")
            assert answer.bounding_box()["y"] < others.first.bounding_box()["y"]


# ---- the first screen of a user's table ----


@pytest.fixture(scope="module")
def colon(browser, tmp_path_factory):
    folder = tmp_path_factory.mktemp("colon")
    (folder / "colon.csv").write_text(run("data", "show", "colon"))
    run("init", folder / "colon.csv", "--response", "class", "--output", folder / "colon.yaml")
    fewer = ["selection.features=[10]", "evaluation.choose=false", "evaluation.folds=3",
             "model.methods=[corrected, uncorrected, pool]"]  # fmt: skip
    fewer = [option for text in fewer for option in ("--set", text)]
    with sketched(), drawn(printed=False):
        run("run", folder / "colon.yaml", "--results", folder / "r", *fewer)
    return next((folder / "r").glob("*/report.html"))


def test_the_first_screen_has_the_answer_the_figures_of_merit_and_two_pictures(browser, colon):
    assert colon.stat().st_size <= 400_000
    with browser.page(colon, width=1280) as page:
        boxes = [picture.bounding_box() for picture in page.locator(".picture img").all()]
        assert boxes[0]["y"] <= 600
        assert boxes[1]["y"] == pytest.approx(boxes[0]["y"], abs=2)  # side by side
        assert page.locator(".cards > div").count() == 4
        for table in page.locator(".scroll:visible").all():
            assert table.evaluate("one => one.scrollWidth - one.clientWidth") <= 0
        page.get_by_role("button", name="All columns").first.click()
        assert page.locator("#methods th:visible", has_text="Brier").count() == 1
        assert violations(page) == []
        page.emulate_media(color_scheme="dark")
        assert serious(page, "color-contrast") == []


def test_on_a_phone_pictures_are_stacked_and_letters_are_legible(browser, colon):
    with browser.page(colon, width=390) as page:
        assert sideways(page) <= 0
        pictures = page.locator(".picture img")
        boxes = [picture.bounding_box() for picture in pictures.all()]
        assert boxes[1]["y"] > boxes[0]["y"] + boxes[0]["height"]
        for picture in pictures.all():
            source = picture.get_attribute("src").partition("base64,")[2]
            svg = base64.b64decode(source).decode()
            width = float(re.search(r'width="([\d.]+)pt"', svg)[1])
            letters = [float(size) for size in re.findall(r"font-size: ([\d.]+)px", svg)]
            assert min(letters) * picture.bounding_box()["width"] / width >= 10


def test_a_term_opens_in_the_glossary(browser, colon):
    with browser.page(colon, width=1280) as page:
        meaning = page.locator("#glossary dd").first
        assert not meaning.is_visible()
        page.locator("#methods .used a", has_text="AUC").click()
        wait_for(meaning.is_visible)
