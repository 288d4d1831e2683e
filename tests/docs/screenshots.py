"""The pictures of docs/page.md: every page of the sample, made anew by one command.

    python -m tests.docs.screenshots

Starts a real server over a new sample workspace and looks at it with Debian's chromium. Nothing compares the pictures:
fonts differ between machines. Look at them before they are committed.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

import httpx2
from playwright.sync_api import sync_playwright

from tests.patience import PATIENCE, wait_until
from tests.surfaces.page.conftest import FLAGS

PLACE = Path(__file__).resolve().parents[2] / "docs" / "page"
WIDE, NARROW = 1100, 390
TALLEST = 1400


@dataclass(frozen=True)
class Shot:
    """One picture: its name, the page (below the sample's workspace unless it begins with a slash), and how to look."""

    name: str
    path: str
    theme: Literal["light", "dark"] = "light"
    width: int = WIDE


SHOTS = (
    Shot("home", ""),
    Shot("search", "search?q=what+is+wrong+with+the+engine"),
    Shot("phone", "search?q=Petrel", "dark", NARROW),
    Shot("subjects", "subjects"),
    Shot("subject", "subject?name=Petrel"),
    Shot("venn", "venn?subject=Mara&subject=Petrel&subject=Ivo"),
    Shot("timeline", "timeline"),
    Shot("scenes", "scenes"),
    Shot("graph", "graph", "dark"),
    Shot("mind", "mind"),
    Shot("notes", "notes"),
    Shot("consolidation", "consolidation"),
    Shot("work", "work"),
    Shot("doctor", "/doctor"),
)


def main() -> None:
    """Make every picture."""
    PLACE.mkdir(exist_ok=True)
    with TemporaryDirectory() as home:
        environ = {**os.environ, "HOME": home, "XDG_DATA_HOME": home, "XDG_CONFIG_HOME": home, "TZ": "Europe/Paris"}
        program = [sys.executable, "-m", "everloom"]
        subprocess.run([*program, "init", "--sample"], env=environ, check=True, stdout=subprocess.DEVNULL)
        command = [*program, "serve", "--port", "0", "--json"]
        sample = {**environ, "EVERLOOM_WORKSPACE_NAME": "sample"}
        with subprocess.Popen(command, env=sample, stdout=subprocess.PIPE, text=True) as server:
            try:
                assert server.stdout is not None
                url = json.loads(server.stdout.readline())["serving"]
                wait_until(lambda: httpx2.get(f"{url}/ready", timeout=PATIENCE).status_code == 200, "the server")
                shoot(url)
            finally:
                server.terminate()


def shoot(url: str) -> None:
    """Look at every page of a server."""
    base = url + httpx2.get(url, timeout=PATIENCE).headers["location"]
    with (
        sync_playwright() as started,
        started.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS) as browser,
    ):
        for each in SHOTS:
            page = browser.new_page(viewport={"width": each.width, "height": 800}, color_scheme=each.theme)
            page.goto(url + each.path if each.path.startswith("/") else base + each.path)
            tall = min(TALLEST, page.evaluate("document.documentElement.scrollHeight"))
            page.screenshot(
                path=PLACE / f"{each.name}.png",
                clip={"x": 0, "y": 0, "width": each.width, "height": tall},
                full_page=True,
            )
            page.close()


if __name__ == "__main__":
    main()
