"""Talking on the page in a real browser: words as they are written, two tabs, and a server that dies meanwhile.

The server is a process that can be killed; its model is a scripted Claude that takes its time.
"""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import httpx2
import pytest

from everloom.loom import open_loom
from tests.patience import PATIENCE, wait_until
from tests.scripted.claude import ClaudeServer
from tests.scripted.speech import says, uses
from tests.surfaces.mcp.ground import PROGRAM, environment
from tests.surfaces.page.conftest import Look, Open
from tests.surfaces.page.ground import ALL_HOSTILE, Site, Watched, assert_fits, assert_readable, follow, lend_site
from tests.surfaces.page.talking import talking

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

LONG = "The boat is blue \N{GRINNING FACE}, and " + "older than the harbour, and " * 12 + "well."


class KillableServer:
    """`everloom serve` on one port, which dies and comes back."""

    def __init__(self, home: Path, claude: ClaudeServer) -> None:
        self._environ = environment(
            home,
            EVERLOOM_LLM_LARGE="anthropic:claude-sonnet-5-5",
            EVERLOOM_PROVIDER_ANTHROPIC_BASE=claude.url,
            ANTHROPIC_API_KEY="key",
            EVERLOOM_MIND_GATHER_SECONDS="0",
            EVERLOOM_WORKSPACE_NAME="james",
        )
        self._store = home / "loom.db"
        self.url = ""
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Start it, on the port that it had."""
        port = self.url.rpartition(":")[2] or "0"
        command = [*PROGRAM, "serve", "--json", "--store", f"sqlite://{self._store}", "--port", port]
        self._process = process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=self._environ)
        assert process.stdout is not None
        self.url = json.loads(process.stdout.readline())["serving"]
        ready = f"{self.url}/ready"
        wait_until(lambda: httpx2.get(ready, timeout=PATIENCE).status_code == 200, "the server", process=process)

    def end(self, number: signal.Signals = signal.SIGKILL) -> int:
        """Kill it."""
        assert self._process is not None
        self._process.send_signal(number)
        code = self._process.wait(PATIENCE)
        if self._process.stdout is not None:
            self._process.stdout.close()
        return code

    def states(self) -> list[tuple[str, str]]:
        """Read the log, oldest first."""
        with open_loom(self._store, settings=talking(self._store.parent)) as loom:
            log = loom.workspace("james").mind.conversation.log(100)
        return [(each.direction, each.state) for each in log[::-1]]


@pytest.fixture
def claude() -> Iterator[ClaudeServer]:
    with ClaudeServer() as server:
        yield server
    assert server.complaints == []


@pytest.fixture
def server(tmp_path: Path, claude: ClaudeServer) -> Iterator[KillableServer]:
    made = KillableServer(tmp_path, claude)
    with open_loom(tmp_path / "loom.db", settings=talking(tmp_path)) as loom:
        loom.workspace("james")
    made.start()
    yield made
    assert made.end(signal.SIGTERM) == 0


def see(page: Page, words: str) -> None:
    """Wait until something is seen on the page."""
    page.get_by_text(words).first.wait_for(timeout=PATIENCE * 1_000)


@pytest.mark.promise("page.mind-survives-a-kill")
def test_a_reply_streams_in_survives_a_kill_and_is_in_both_tabs(
    browser: Browser, server: KillableServer, claude: ClaudeServer
) -> None:
    claude.script(uses(("search_memory", {"query": "boat"}), text="Let me look."), says(LONG, piece=4, pause=0.03))
    with browser.new_context() as context:
        one, two = context.new_page(), context.new_page()
        watched = [Watched(page, server.url) for page in (one, two)]
        for page in (two, one):
            page.goto(f"{server.url}/w/1/mind")
            page.bring_to_front()
        one.get_by_label("Your message").fill("How is the boat?")
        one.keyboard.press("Control+Enter")
        see(one, "used search_memory")
        see(one, "The boat is blue")
        assert one.locator("#writing").is_visible()
        assert one.get_by_label("Your message").input_value() == ""
        # Killed in the middle of the words: none of them counts, and the message is still there.
        server.end()
        see(one, "The server does not answer")
        assert not one.locator("#writing").is_visible()
        assert server.states() == [("in", "waiting")]
        claude.steps.clear()
        claude.script(says("The boat is *green* now."))
        server.start()
        see(one, "The boat is green now.")
        assert one.locator("#connection").is_hidden()
        assert one.locator("#log > li").count() == 2
        two.bring_to_front()
        see(two, "The boat is green now.")
        two.reload()
        assert two.locator("#log em").inner_text() == "green"
        assert two.locator("#log > li").count() == 2
        wait_until(lambda: server.states() == [("in", "answered"), ("out", "sent")], "the state of the messages")
        for each in watched:
            for words in ("ERR_", "failed", "EventSource"):
                each.allow(words)
            each.check()


@pytest.fixture
def file_site(made_file: Path, tmp_path: Path) -> Iterator[Site]:
    """A site whose agent repeats what it hears; the browser of `open_page` looks at this one."""
    with lend_site(f"sqlite:///{tmp_path}/loom.db", settings=talking(tmp_path)) as made:
        yield made


@pytest.mark.promise("page.in-a-browser")
def test_the_pages_of_the_mind_are_readable_in_any_look(open_page: Open, file_site: Site, look: Look) -> None:
    place = file_site.workspace
    place.mind.conversation.receive(f"{ALL_HOSTILE}\n{'long' * 200}", channel="page")
    place.mind.conversation.step()
    place.mind.notes.write("projects/boat.md", f"# Boat\n\n{ALL_HOSTILE}\n\n{'wide' * 200}", author="person")
    place.mind.notes.append("projects/boat.md", "And more.")
    place.mind.update_status({"mood": "calm"})
    place.mind.schedule_message("Good morning", "09:30", "daily")
    opened = open_page("mind", look)
    queries = ("name=projects/boat.md", "name=projects/boat.md&version=2", "name=projects/boat.md&edit=1")
    notes = [f"notes?{each}" for each in (*queries, "name=status.json")]
    for path in ("mind", "notes", "notes/new", *notes, "schedule", "heartbeats", "usage"):
        opened.page.goto(file_site.at(path))
        assert_fits(opened.page)
        assert_readable(opened.page)


@pytest.mark.promise("page.changes")
def test_a_page_says_how_much_has_changed_and_stays_where_it_is(open_page: Open, file_site: Site) -> None:
    semantic = file_site.workspace.semantic
    for number in range(40):
        semantic.remember(["James"], f"James has {number} boats.")
    page = open_page("").page
    # At once, and not by the wheel, which a browser follows when it has time.
    page.evaluate("window.scrollTo(0, 300)")
    page.wait_for_function("window.scrollY === 300")
    before = page.evaluate("window.scrollY")
    semantic.remember(["James"], "James sails.")
    semantic.remember(["James"], "James swims.")
    see(page, "2 changes since this page was loaded")
    assert page.evaluate("window.scrollY") == before
    assert page.locator("#changes").get_attribute("aria-live") == "polite"
    follow(page, page.get_by_text("show them"))
    page.wait_for_function("!document.getElementById('changes')?.textContent")


@pytest.mark.promise("page.without-scripts")
def test_talking_works_without_scripts(open_page: Open, file_site: Site) -> None:
    page = open_page("mind", scripts=False).page
    page.get_by_label("Your message").fill("Hello there")
    follow(page, page.get_by_role("button", name="Send"))
    assert "Hello there" in page.locator("#log").inner_text()
    conversation = file_site.workspace.mind.conversation
    wait_until(lambda: len(conversation.log()) == 2, "the answer")
    page.reload()
    assert page.locator("#log > li").count() == 2
