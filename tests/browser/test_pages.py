"""The pages of reports in a real browser: with scripts, without, by keyboard, dark and narrow."""

import pytest
from browser import serious, sideways
from commands import run, wait_for


@pytest.fixture(scope="module")
def results(browser, tmp_path_factory):
    """The small form of an experiment with the thesis's numbers, and of one with maps and bars."""
    root = tmp_path_factory.mktemp("pages")
    run("run", "naive-simulation", "colon", "--smoke", "--results", root)
    return root


@pytest.fixture(scope="module")
def report(results):
    return results / "naive-simulation-smoke" / "report.html"


def column(page, table, place):
    return page.locator(f"#{table} tbody tr:visible td:nth-child({place})").all_inner_texts()


def drawn(page, name):
    """Return a figure, when it has been drawn."""
    figure = page.locator(f"#{name}")
    figure.scroll_into_view_if_needed()
    page.wait_for_selector(f"#{name}.explored")
    return figure


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
        box = page.get_by_label("Filter the rows of Computation time")
        box.fill("uncorrected simpson")
        assert set(column(page, "timings", 2)) == {"uncorrected"}
        assert set(column(page, "timings", 3)) == {"simpson-21"}
        rows = len(column(page, "timings", 1))
        assert page.locator("#timings output").inner_text() == f"{rows} of 14 rows"
        box.fill("no such row")
        assert column(page, "timings", 1) == []
        box.fill("")
        assert len(column(page, "timings", 1)) == 14


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


# ---- figures ----


def test_a_figure_shows_the_value_under_the_pointer(browser, report):
    with browser.page(report) as page:
        figure = drawn(page, "error-rates")
        figure.locator(".mark-symbol path[stroke-width]").nth(3).hover(force=True)
        tip = page.locator("#vg-tooltip-element")
        tip.wait_for()
        assert "features kept" in tip.inner_text()
        assert "error rate" in tip.inner_text()


def points(figure):
    return figure.locator(".mark-symbol path").count()


def test_a_series_is_switched_off_and_on(browser, report):
    with browser.page(report) as page:
        figure = drawn(page, "error-rates")
        switch = figure.get_by_role("button", name="expected", exact=True)
        every = points(figure)
        switch.click()
        assert switch.get_attribute("aria-pressed") == "false"
        page.wait_for_function(
            f"document.querySelectorAll('#error-rates .mark-symbol path').length < {every}"
        )
        assert 0 < points(figure) < every
        switch.click()
        page.wait_for_function(
            f"document.querySelectorAll('#error-rates .mark-symbol path').length == {every}"
        )


def ticks(figure):
    return sorted(figure.locator(".role-axis-label text").all_text_contents())


def test_a_figure_zooms_and_shows_all_again(browser, report):
    with browser.page(report) as page:
        figure = drawn(page, "log-alpha")
        whole = ticks(figure)
        figure.get_by_role("button", name="Zoom in").click()
        wait_for(lambda: ticks(figure) != whole)
        figure.get_by_role("button", name="Show all").click()
        wait_for(lambda: ticks(figure) == whole)
        box = figure.locator(".chart svg").bounding_box()
        page.mouse.move(box["x"] + 150, box["y"] + 100)
        page.mouse.down()
        page.mouse.move(box["x"] + 190, box["y"] + 130)
        page.mouse.up()
        wait_for(lambda: ticks(figure) != whole)  # it has been moved


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


def test_print_has_the_pictures_and_no_buttons(browser, report):
    with browser.page(report) as page:
        figure = drawn(page, "error-rates")
        assert not figure.locator("img").is_visible()
        page.emulate_media(media="print")
        assert figure.locator("img").is_visible()
        assert not figure.locator(".chart").is_visible()
        for name in ("Dark page", "Zoom in", "Copy a link"):
            assert not page.get_by_role("button", name=name).first.is_visible()


def test_without_scripts_the_page_is_whole(browser, report):
    with browser.page(report, java_script_enabled=False) as page:
        assert page.locator("img").count() == 4
        assert all(one.is_visible() for one in page.locator("img").all())
        assert page.locator("button, input, .tools").count() == 0
        assert len(column(page, "timings", 1)) == 14


PAGES = ["naive-simulation-smoke/report.html", "colon-smoke/report.html", "index.html"]


@pytest.mark.parametrize("name", PAGES)
def test_nothing_serious_is_found_by_axe(browser, results, name):
    with browser.page(results / name) as page:
        for figure in page.locator("section:has(.picture)").all():
            drawn(page, figure.get_attribute("id"))
        assert serious(page) == []
        page.emulate_media(color_scheme="dark")
        assert serious(page, "color-contrast") == []


@pytest.mark.parametrize("name", PAGES)
def test_a_page_fits_a_narrow_window(browser, results, name):
    with browser.page(results / name, width=400) as page:
        for figure in page.locator("section:has(.picture)").all():
            found = drawn(page, figure.get_attribute("id"))
            assert found.locator(".chart svg").bounding_box()["width"] <= 400 - 32
        assert sideways(page) <= 0


FOCUSED = """(() => {
  const one = document.activeElement, words = one.getAttribute("aria-label") || one.textContent;
  const kind = one.className || one.type || "", section = one.closest("section")?.id || "";
  return `${section} ${one.tagName} ${kind} ${words.slice(0, 30)}`;
})()"""


def test_all_can_be_done_by_keyboard(browser, report):
    rights = {"permissions": ["clipboard-read", "clipboard-write"]}
    with browser.page(report, **rights) as page:
        figure = drawn(page, "error-rates")
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
            if one.startswith("error-rates BUTTON") and one.endswith("expected"):
                page.keyboard.press("Space")
        assert seen[0].endswith("Dark page")
        assert page.locator("#selection th[aria-sort=ascending]").inner_text().strip() == "gamma"
        switch = figure.get_by_role("button", name="expected", exact=True)
        assert switch.get_attribute("aria-pressed") == "false"
        assert len(column(page, "timings", 1)) < 14
        page.locator("#status.shown").wait_for()
        assert page.evaluate("navigator.clipboard.readText()").endswith("#timings-row-4")
