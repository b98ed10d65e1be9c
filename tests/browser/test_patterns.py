"""The page of groups in a real browser: paths, lists, test cases; keyboard, phones, print."""

import re
from contextlib import ExitStack

import numpy as np
import pandas as pd
import pytest
from browser import serious, sideways
from commands import run
from packed import unpack

MODEL = "kind: logistic, chains: 2, iterations: 60, burn_in: 20, joint_updates: 0"
LETTERS = f"""
experiment: letters
title: Letters
about: A test.
data: {{ source: text, limit: 500, history: 8, train: 250 }}
model: {{ {MODEL}, orders: [8], priors: [gaussian] }}
report: {{ parts: [pattern-explorer] }}
"""
GENES = f"""
experiment: genes
title: Genes
about: A test.
data: {{ source: table, path: genes.csv, response: status }}
evaluation: {{ folds: 3 }}
model: {{ {MODEL}, orders: [3], priors: [gaussian] }}
report: {{ parts: [pattern-explorer] }}
"""
NAMES = [
    "</script><img src=x onerror=alert(1)>",
    'a "quoted" name',
    "🧬 gene",
    "{{ 7 * 6 }}",
    "e",
    "f",
]
WIDE, NARROW = 1280, 400  # pixels
LIGHT, DARK = {"color_scheme": "light"}, {"color_scheme": "dark"}


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 3, (60, len(NAMES)))
    frame = pd.DataFrame(
        dict(zip(NAMES, np.array(["<b>low</b>", "mid", "high"])[codes].T, strict=True))
    )
    frame["status"] = np.where(codes[:, 0] == codes[:, 1], "<case>", "control")
    frame.to_csv(folder / "genes.csv", index=False)
    for name, text in (("letters", LETTERS), ("genes", GENES)):
        (folder / f"{name}.yaml").write_text(text)
        run("run", folder / f"{name}.yaml", "--results", folder / "r")
    run("compress", folder / "letters.yaml", "--results", folder / "r", "--explore")
    return {
        "letters": folder / "r/letters/patterns.html",
        "genes": folder / "r/genes/patterns.html",
        "groups": folder / "r/letters/groups.html",
    }


@pytest.fixture
def show(browser, pages):
    """Open a page; it fails the test if the page says anything in the console, or in a dialog."""
    with ExitStack() as opened:

        def show(name, *, ready=True, width=WIDE, **options):
            page = opened.enter_context(browser.page(pages[name], width=width, **options))
            if ready:
                page.wait_for_selector("html[data-ready]")
            return page

        yield show


def data_of(path):
    text = path.read_text(encoding="utf-8")
    return unpack(re.search(r'id="packed">([A-Za-z0-9+/=]*)</script>', text)[1])


def detail(page):
    return page.inner_text("#detail h3")


def rows(page):
    return page.locator("#list .row .pattern").all_inner_texts()


def facts(page):
    """What the panel says of a group, by term."""
    terms = page.locator("#detail dt").all_inner_texts()
    return dict(zip(terms, page.locator("#detail dd").all_inner_texts(), strict=True))


def marked(page):
    """The name of the block that is the current one of the trie."""
    return page.get_attribute('#blocks [aria-selected="true"]', "aria-label").partition(":")[0]


# ---- sequences ----


def test_a_path_opens_as_states_are_typed(show):
    page = show("letters")
    page.type("#typed", "CV")
    assert detail(page) == "CV"
    assert page.locator("#path li").all_inner_texts() == ["any", "V", "CV"]
    cases = int(facts(page)["training cases"].split()[0])
    assert page.inner_text("#typed-says") == f"{cases} training cases."
    # all groups of the list are on the path
    assert all(name.endswith("CV") for name in rows(page))
    page.fill("#typed", "")
    assert detail(page) == "(any)"


def test_what_is_typed_and_is_not_there(show):
    page = show("letters")
    page.type("#typed", "CXV")
    assert page.inner_text("#typed-says") == "There is no state “X”. States: V C _"
    page.fill("#typed", "___V")
    assert page.inner_text("#typed-says").startswith("No training case on this page ends so; the")
    page.fill("#typed", "VVVVVVVVVVVV")
    assert page.inner_text("#typed-says")
    page.fill("#typed", "V")
    assert page.inner_text("#typed-says").endswith("training cases.")


def test_widths_are_cases_and_hover_shows_the_interval(show, pages):
    page = show("letters")
    _, found = data_of(pages["letters"])
    box = page.locator("#blocks").bounding_box()["width"]
    widths = page.locator("#blocks .block").evaluate_all(
        "blocks => blocks.map((one) => [Number(one.dataset.group), one.offsetWidth])"
    )
    assert len(widths) > 20
    for g, width in widths:
        assert abs(width + 1 - box * int(found["cases"][g]) / int(found["cases"][0])) < 1
    last = int(np.flatnonzero(found["above"] == 0)[-1])
    page.hover(f"#block-{last}")
    assert detail(page) == page.get_attribute(f"#block-{last}", "aria-label").partition(":")[0]
    sets, groups = len(found["quantiles"]) // (3 * len(found["cases"])), len(found["cases"])
    low, median, high = found["quantiles"].reshape(3, sets, groups)[:, -1, last]
    said = [
        float(one.replace("−", "-")) for one in re.findall(r"[−\d.]+", facts(page)["coefficient"])
    ]
    assert said == pytest.approx([median, low, high], abs=0.006)
    page.hover("h1")
    assert detail(page) == "(any)"
    page.click(f"#block-{last}")
    page.hover("h1")
    assert detail(page) == page.input_value("#typed") != "(any)"


def test_another_class_shows_other_coefficients(show):
    page = show("letters")
    page.type("#typed", "C")
    before = facts(page)
    page.select_option("#class", label="V")
    after = facts(page)
    assert after["training cases"] == before["training cases"]
    assert after["coefficient"] != before["coefficient"]
    assert "odds of V against the others" in after
    assert page.locator(".says-plus").first.inner_text() == "more V"


def test_groups_before_a_fit(show):
    page = show("groups")
    page.type("#typed", "C")
    assert set(facts(page)) == {"patterns", "training cases"}
    assert page.locator("#case-title").count() == 0
    assert page.locator("#sort option").all_inner_texts() == [
        "most training cases", "most patterns"
    ]  # fmt: skip


# ---- features ----


def test_groups_are_filtered_and_sorted(show, pages):
    page = show("genes")
    meta, found = data_of(pages["genes"])
    every = len(found["cases"])
    assert page.inner_text("#count") == f"{every:,} groups"
    page.select_option("#feature", label="🧬 gene")
    page.select_option("#value", label="mid")
    t = meta["features"].index("🧬 gene")
    item = sum(len(one) for one in meta["values"][:t]) + meta["values"][t].index("mid")
    has = np.zeros(every, dtype=bool)
    for name in ("shortest", "longest"):
        owner = np.repeat(np.arange(every), found[f"{name}Length"])
        has[owner[found[f"{name}Items"] == item]] = True
    assert 0 < has.sum() < every
    assert page.inner_text("#count") == f"{has.sum():,} of {every:,} groups"
    page.select_option("#sort", "cases")
    first = int(page.locator("#list .cases").first.inner_text().split()[0])
    assert first == found["cases"][has].max()
    page.select_option("#feature", "")
    assert page.is_disabled("#value")
    page.select_option("#sort", "size")
    medians = found["quantiles"].reshape(3, -1)[1]
    page.locator("#list .row").first.click()
    assert facts(page)["coefficient"].split()[0].replace("−", "-") == (
        f"{medians[np.abs(medians).argmax()]:.2f}"
    )


def test_only_rows_that_one_sees_are_in_the_page(show, pages):
    page = show("genes")
    _, found = data_of(pages["genes"])
    every = len(found["cases"])
    assert 10 < page.locator("#list .row").count() < 40 < every
    page.evaluate("document.getElementById('list').scrollTop = 1e9")
    page.wait_for_selector(f'#list .row[data-place="{every - 1}"]')
    assert page.locator("#list .row").count() < 40


def test_what_speaks_for_a_class_in_a_test_case(show, pages):
    page = show("genes")
    meta, found = data_of(pages["genes"])
    begin = np.cumsum([0, *(one["cited"] for one in meta["tests"])])
    for t in (0, len(meta["tests"]) - 1):
        page.select_option("#chosen", str(t))
        told = page.locator("#told dd").all_inner_texts()
        assert told[0] == meta["tests"][t]["truth"]
        assert told[1] == meta["tests"][t]["predicted"]
        added = found["testAdded"][3 * begin[t] : 3 * begin[t + 1]].reshape(3, -1)
        total = found["testTotal"].reshape(-1, 3)[t]
        said = page.locator("#parts li:last-child .effect").inner_text()
        assert said.split()[0] == f"{total[0]:+.2f}".replace("-", "−")
        top = added[0][np.abs(added[0]).argmax()]
        assert page.locator("#parts .effect").first.inner_text().split()[0] == (
            f"{top:+.2f}".replace("-", "−")
        )
    more = page.get_by_role("button", name=re.compile("^Show .* more group"))
    more.click()
    assert page.locator("#parts li").count() >= meta["tests"][-1]["cited"]
    assert more.count() == 0


def test_names_of_users_are_shown_as_they_are(show):
    page = show("genes")
    assert page.locator("#feature option").all_inner_texts() == ["any feature", *NAMES]
    page.select_option("#feature", label=NAMES[0])
    page.select_option("#value", label="<b>low</b>")
    page.locator("#list .row").nth(1).click()
    assert "<b>low</b>" in page.inner_text("#detail")
    assert page.locator("img, #detail b").count() == 0


def test_odds_may_be_larger_than_numbers_of_a_computer(show):
    page = show("genes")
    sizes = [0, np.log(2.5), np.log(0.25), np.log(5e4), np.log(2e-5), 2000, -2000]
    said = page.evaluate("sizes => sizes.map(factor)", [float(one) for one in sizes])
    assert said == ["1.00", "2.50", "0.25", "5.0e4", "2.0e−5", "3.9e868", "2.6e−869"]


# ---- everybody ----


def test_the_keyboard_is_enough(show):
    page = show("letters")
    for _ in range(20):  # to the trie
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "blocks":
            break
    page.keyboard.press("ArrowDown")
    below = marked(page)
    assert detail(page) == below != "(any)"
    page.keyboard.press("ArrowRight")
    beside = marked(page)
    assert detail(page) == beside != below
    page.keyboard.press("ArrowLeft")
    assert marked(page) == below
    page.keyboard.press("Enter")
    assert page.input_value("#typed") == below
    page.keyboard.press("Backspace")
    assert page.input_value("#typed") == ""
    for _ in range(6):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "list":
            break
    names = rows(page)
    page.keyboard.press("ArrowDown")
    assert detail(page) == names[1]
    page.keyboard.press("End")
    last = page.locator('#list [aria-selected="true"]')
    assert last.get_attribute("aria-posinset") == last.get_attribute("aria-setsize")
    active = page.get_attribute("#list", "aria-activedescendant")
    assert active == last.get_attribute("id")
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    assert page.input_value("#typed") == names[0].replace("(any)", "")


@pytest.mark.parametrize("name", ["letters", "genes", "groups"])
def test_a_phone_needs_no_scrolling_sideways(show, name):
    page = show(name, width=NARROW)
    assert sideways(page) <= 0
    page.locator("#list .row").first.click()
    assert page.locator("#detail h3").is_visible()


@pytest.mark.parametrize("name", ["letters", "genes", "groups"])
def test_without_scripts_there_is_a_table(show, name):
    page = show(name, ready=False, java_script_enabled=False)
    assert page.locator(".static tbody tr").count() == 40
    assert page.locator("#live").is_hidden()
    assert page.locator(".static").is_visible()


def test_without_the_means_to_unpack_there_is_a_table(show):
    page = show("genes", ready=False, script="delete window.DecompressionStream")
    page.wait_for_selector("#failed:not([hidden])")
    assert page.locator(".static").is_visible()


def test_print_has_the_table(show):
    page = show("genes")
    assert page.locator(".static").is_hidden()
    page.emulate_media(media="print")
    assert page.locator(".static").is_visible()
    assert page.locator("#live").is_hidden()


@pytest.mark.parametrize("name", ["letters", "genes"])
def test_dark_is_dark(show, name):
    colours = [
        show(name, **scheme).evaluate(
            "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)"
        )
        for scheme in (LIGHT, DARK)
    ]
    assert min(colours[0][:3]) > 230
    assert max(colours[1][:3]) < 40


@pytest.mark.parametrize("name", ["letters", "genes", "groups"])
@pytest.mark.parametrize("scheme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("width", [WIDE, NARROW], ids=["wide", "narrow"])
def test_axe_finds_no_serious_violation(show, name, scheme, width):
    assert serious(show(name, width=width, **scheme)) == []
