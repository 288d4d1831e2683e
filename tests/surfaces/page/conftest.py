"""Fixtures of the page: a site on each engine, a visitor without scripts, and a browser that complains.

Without a chromium the tests in a browser are skipped, or fail when the environment says
EVERLOOM_TEST_REQUIRE_BROWSER=1.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import pytest

from everloom.clock import ManualClock
from tests.surfaces.page.ground import Site, Visitor, Watched, lend_site

if TYPE_CHECKING:
    from playwright.sync_api import Browser

REQUIRE = "EVERLOOM_TEST_REQUIRE_BROWSER"
# The last four keep it from asking servers of its maker.
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
FLAGS += ["--disable-sync", "--no-first-run"]


class Look(NamedTuple):
    """How somebody looks at a page."""

    theme: Literal["light", "dark"] = "light"
    width: int = 1200


LOOKS = [Look("light", 1200), Look("dark", 390)]
Open = Callable[..., Watched]


@pytest.fixture(autouse=True)
def own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the files of graphs and notes where the test is."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


@pytest.fixture
def site(store_url: str, clock: ManualClock) -> Iterator[Site]:
    """A server over an empty workspace, on each engine."""
    with lend_site(store_url, clock) as made:
        yield made


@pytest.fixture
def file_site(made_file: Path, tmp_path: Path, clock: ManualClock) -> Iterator[Site]:
    """A server over an empty workspace on SQLite: a browser costs seconds, and sees no difference."""
    shutil.copy(made_file, tmp_path)
    with lend_site(f"sqlite:///{tmp_path}/loom.db", clock) as made:
        yield made


@pytest.fixture
def visitor(site: Site) -> Iterator[Visitor]:
    """Somebody who visits the site."""
    made = Visitor(site)
    with made.http:
        yield made


# For as long as tests of this package run in a worker: the browser holds the event loop of the worker's thread, which
# asynchronous tests elsewhere need.
@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """The browser of this machine."""
    found = shutil.which("chromium")
    if found is None:
        missing = pytest.fail if os.environ.get(REQUIRE) == "1" else pytest.skip
        missing("there is no chromium on this machine (Debian: apt install chromium)")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started, started.chromium.launch(executable_path=found, args=FLAGS) as opened:
        yield opened


@pytest.fixture(params=LOOKS, ids=lambda each: f"{each.theme}-{each.width}")
def look(request: pytest.FixtureRequest) -> Look:
    """Light and wide, then dark and narrow."""
    found: Look = request.param
    return found


@pytest.fixture
def open_page(browser: Browser, file_site: Site) -> Iterator[Open]:
    """Open pages of the site in the browser; at the end of the test nothing may have gone wrong in any."""
    opened: list[Watched] = []
    with ExitStack() as leaving:

        def open_one(path: str = "", look: Look = LOOKS[0], *, scripts: bool = True, **query: object) -> Watched:
            context = browser.new_context(
                viewport={"width": look.width, "height": 900},
                color_scheme=look.theme,
                java_script_enabled=scripts,
                reduced_motion="reduce",
            )
            leaving.callback(context.close)
            watched = Watched(context.new_page(), file_site.url)
            opened.append(watched)
            watched.page.goto(file_site.at(path, **query))
            return watched

        yield open_one
    for each in opened:
        each.check()
