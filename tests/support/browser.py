"""A real browser for tests of pages: Debian's Chromium, driven by Playwright.

The fixture `browser` of tests/conftest.py gives a Browser.  Where Playwright or Chromium are
missing the tests are skipped, unless THESISKIT_EXPECT_BROWSER is set, as .ci/run does.
"""

import os
import shutil
from contextlib import contextmanager
from pathlib import Path

import pytest

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
WAIT = 60_000  # milliseconds for anything to happen, on a machine that is busy
SERIOUS = ("serious", "critical")  # of the impacts that axe-core names


def missing() -> str:
    """Say what is missing to drive a browser; nothing if nothing is."""
    try:
        import axe_playwright_python.sync_playwright  # noqa: F401
        import playwright.sync_api  # noqa: F401
    except ImportError as error:
        return f'no {error.name}: pip install "thesiskit[browser]"'
    return "" if program() else "no Chromium: apt-get install chromium"


def program() -> str | None:
    """Return the path of Chromium."""
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


@contextmanager
def browser():
    """Start a browser; skip the test, or fail it where a browser is expected, if there is none."""
    why = missing()
    if why and os.environ.get("THESISKIT_EXPECT_BROWSER"):
        pytest.fail(why)
    if why:
        pytest.skip(why)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=program(), args=["--no-sandbox"])
        try:
            yield Browser(started)
        finally:
            started.close()


class Browser:
    """Opens pages, each in a profile of its own."""

    def __init__(self, started):
        self.started = started

    @contextmanager
    def page(self, file: Path, place: str = "", *, width: int = 1100, script: str = "", **options):
        """Open a file; fail if its console has an error or a warning, or it asks for another file.

        place : what follows the # of its address; script : what runs before those of the page.
        options : of Playwright's new_context, such as color_scheme or java_script_enabled.
        """
        context = self.started.new_context(viewport={"width": width, "height": 800}, **options)
        said: list[str] = []
        try:
            context.set_default_timeout(WAIT)
            page = context.new_page()
            page.add_init_script(script)
            page.on("console", lambda m: said.append(m.text) if m.type != "log" else None)
            page.on("pageerror", lambda error: said.append(str(error)))
            page.on("dialog", lambda one: (said.append(one.message), one.dismiss()))
            page.on("request", lambda one: said.append(one.url) if _elsewhere(one.url) else None)
            page.goto(file.resolve().as_uri() + (f"#{place}" if place else ""))
            yield page
        finally:
            context.close()
        assert not said, said


def _elsewhere(url: str) -> bool:
    return not url.startswith(("file:", "data:", "blob:"))


def violations(
    page, *rules: str, impacts: tuple[str, ...] = (), without: tuple[str, ...] = ()
) -> list[str]:
    """Return what axe-core finds in a page, of all rules or of some, of all impacts or of some."""
    from axe_playwright_python.sync_playwright import Axe

    # it would read style sheets once more, which a browser refuses where pages are files
    options = {"preload": False, "rules": {one: {"enabled": False} for one in without}}
    options |= {"runOnly": {"type": "rule", "values": list(rules)}} if rules else {}
    found = Axe().run(page, options=options | {"resultTypes": ["violations"]}).response
    return [
        f"{one['id']}: {one['nodes'][0]['html'][:200]}"
        for one in found["violations"]
        if not impacts or one["impact"] in impacts
    ]


def serious(page, *rules: str) -> list[str]:
    """Return what axe-core finds in a page that is serious, of all rules or of some."""
    return violations(page, *rules, impacts=SERIOUS)


def sideways(page) -> int:
    """Return by how many pixels a page is wider than its window."""
    return page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
