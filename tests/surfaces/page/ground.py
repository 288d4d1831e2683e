"""What tests of the page stand on: a real server over a store, a visitor who reads and sends forms, a watched browser.

The server runs in a thread of the test, with everything that `everloom serve` puts in front of a page, so that a test
can write through the same loom, and move its clock. No test of the page is asynchronous: the browser has the event loop
of the test's thread for itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from html.parser import HTMLParser
from itertools import pairwise
from threading import Thread
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urljoin

import httpx2

from everloom.clock import Clock
from everloom.kernel.tokens import Tokens
from everloom.loom import Loom, Workspace, open_loom
from everloom.settings import Settings
from everloom.surfaces.api import api_routes
from everloom.surfaces.mcp.app import Beside, make_app
from everloom.surfaces.page.routes import OPEN_PATHS, page_routes
from everloom.surfaces.web.admission import Rules
from everloom.surfaces.web.entrance import Entrance
from everloom.surfaces.web.identity import Process
from everloom.surfaces.web.lazy import LazyLoom
from everloom.surfaces.web.serving import bind, make_server
from tests.patience import PATIENCE, wait_until
from tests.store.ground import open_at

if TYPE_CHECKING:
    from playwright.sync_api import ConsoleMessage, Locator, Page

FORM = "application/x-www-form-urlencoded"
# What must never get out of its box on any page, wherever a text can be stored. Each is harmless where it is shown, and
# sets a mark where it runs.
HOSTILE = (
    "<script>window.broken=1</script>",
    "</script><script>window.broken=2</script>",
    '"><img src=x onerror="window.broken=3">',
    "'><svg onload='window.broken=4'><circle r=9></svg>",
    "[a](javascript:window.broken=5) ![b](http://elsewhere.example/x.png)",
    "{{ 7 * 7 }} {% raw %} &lt;b&gt;",
    "left \N{RIGHT-TO-LEFT OVERRIDE}thgir\N{ZERO WIDTH SPACE} \N{LEFT-TO-RIGHT ISOLATE}x",
    "\x1b[31mred\x1b[0m",
)
ALL_HOSTILE = "\n".join(HOSTILE)


@dataclass(frozen=True)
class Site:
    """A server that runs, and the workspace that its pages are about."""

    url: str
    loom: Loom
    workspace: Workspace
    # What a signal does to a server that is a process: those who listen are let go.
    stop_soon: Callable[[], None] = lambda: None

    def at(self, path: str = "", **query: Any) -> str:
        """Make the address of a page of the workspace."""
        asked = f"?{urlencode(query, doseq=True)}" if query else ""
        return f"{self.url}/w/{self.workspace.info.id}/{path}{asked}"


@contextmanager
def lend_site(
    store_url: str,
    clock: Clock | None = None,
    *,
    needs_token: bool = False,
    settings: Settings | None = None,
    **told: Any,
) -> Iterator[Site]:
    """Serve a store from a thread; `told` are fields of the server's `Process`, such as `read_only`."""
    loom = open_at(store_url, clock) if settings is None else open_loom(store_url, settings=settings, clock=clock)
    workspace = loom.workspace("james", session="a test")
    process = Process(**{"label": None, "default_workspace": "james", **told})
    opening = LazyLoom(lambda: loom)
    entrance = Entrance(opening, process)
    # A test asks faster than people do.
    rules = Rules(needs_token=needs_token, calls_per_second=10_000, burst=10_000)
    beside = [*api_routes(entrance), *page_routes(entrance)]
    server = make_server(make_app(opening, process, "semantic", rules, Beside(beside, OPEN_PATHS)), lifespan="on")
    listener, address = bind("127.0.0.1", 0)
    thread = Thread(target=server.run, kwargs={"sockets": [listener]}, name="site", daemon=True)
    thread.start()
    try:
        wait_until(lambda: server.started or not thread.is_alive(), "the site to start")
        yield Site(address.url, loom, workspace, opening.begin_stop)
    finally:
        server.should_exit = True
        thread.join(PATIENCE)
        listener.close()
        loom.close()


def token_for(site: Site, name: str = "reader", **rights: Any) -> str:
    """Create a token for the workspace of a site and give its secret."""
    return Tokens(site.loom.store, site.loom.clock).create(name, site.workspace.info, **rights).secret


@dataclass
class SentForm:
    """A form as it stands in a page: where it leads, how, and what it would send."""

    action: str = ""
    method: str = "get"
    fields: list[tuple[str, str]] = field(default_factory=list)

    def filled(self, given: Mapping[str, Any]) -> list[tuple[str, str]]:
        """Fill in fields; whatever the page chose stays, unless it is given."""
        kept = [(name, value) for name, value in self.fields if name not in given]
        listed = {name: value if isinstance(value, (list, tuple)) else [value] for name, value in given.items()}
        return kept + [(name, str(each)) for name, values in listed.items() for each in values]


class FormReader(HTMLParser):
    """Reads the forms of a page, with the values that a browser would send if nobody changed anything."""

    def __init__(self) -> None:
        super().__init__()
        self.forms: list[SentForm] = []
        self._open: SentForm | None = None
        self._text: tuple[str, list[str]] | None = None
        self._select: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        name, value = given.get("name") or "", given.get("value") or ""
        if tag == "form":
            self._open = SentForm(given.get("action") or "", (given.get("method") or "get").lower())
            self.forms.append(self._open)
        elif self._open is None or (not name and tag != "option"):
            return
        elif tag == "input" and (given.get("type") not in {"checkbox", "radio"} or "checked" in given):
            self._open.fields.append((name, value or ("on" if given.get("type") == "checkbox" else "")))
        elif tag == "textarea":
            self._text = (name, [])
        elif tag == "select":
            self._select = name
        elif tag == "option" and self._select and "selected" in given:
            self._open.fields.append((self._select, value))

    def handle_data(self, data: str) -> None:
        if self._text is not None:
            self._text[1].append(data)

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._open = None
        elif tag == "select":
            self._select = None
        elif tag == "textarea" and self._text is not None:
            if self._open is not None:
                self._open.fields.append((self._text[0], "".join(self._text[1])))
            self._text = None


def forms_in(html: str) -> list[SentForm]:
    """Read the forms of a page."""
    reader = FormReader()
    reader.feed(html)
    return reader.forms


class Visitor:
    """Somebody who reads pages and sends their forms, as a browser without scripts does."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.http = httpx2.Client(base_url=site.url, timeout=PATIENCE, headers={"accept": "text/html"})

    def see(self, path: str = "", status: int = 200, /, **query: Any) -> str:
        """Read a page of the workspace, led on wherever it leads; give its text."""
        return self.open(self.site.at(path, **query), status)

    def open(self, address: str, status: int = 200) -> str:
        """Read a page by its address."""
        answer = self.http.get(address, follow_redirects=True)
        assert answer.status_code == status, f"{address} answered {answer.status_code}:\n{answer.text[:2_000]}"
        assert "script-src 'self'" in answer.headers["content-security-policy"]
        return answer.text

    def send(self, html: str, action: str, status: int = 200, /, **fields: Any) -> str:
        """Fill in and send the form of a page whose action ends so; give the page that it leads to."""
        found = [
            each for each in forms_in(html) if each.method == "post" and each.action.partition("?")[0].endswith(action)
        ]
        assert found, f"no form leads to {action}: {[each.action for each in forms_in(html)]}"
        return self.post(urljoin(self.site.at(), found[0].action), found[0].filled(fields), status)

    def post(self, address: str, fields: Sequence[tuple[str, str]], status: int = 200) -> str:
        """Send fields to an address; give the page that it leads to."""
        answer = self.http.post(
            address, content=urlencode(fields), headers={"content-type": FORM}, follow_redirects=True
        )
        told = answer.text.partition('<main id="main"')[2] or answer.text
        assert answer.status_code == status, f"{address} answered {answer.status_code}:\n{told[:2_000]}"
        return answer.text


def said_in(html: str) -> str:
    """Read what a page says was done."""
    found = re.search(r'<p class="said">(.*?)</p>', html, re.DOTALL)
    return found[1] if found else ""


# Whatever of this is found in a page is a stored text that got out: no page of ours has it.
_ESCAPED = re.compile(r"<(?:img src=x|svg onload|script>)|href=[\"']?javascript:|src=[\"']?http", re.IGNORECASE)
_TURNING = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2066-\u2069]")


def assert_harmless(html: str) -> None:
    """Check that nothing hostile of what is stored gets out of its place in a page."""
    for found in _ESCAPED.finditer(html):
        raise AssertionError(f"a stored text got out: {html[max(0, found.start() - 80) : found.end() + 80]!r}")
    # A text that can be edited must come back as it is stored; a text area is a box of its own.
    for found in _TURNING.finditer(re.sub(r"<textarea.*?</textarea>", "", html, flags=re.DOTALL)):
        raise AssertionError(f"a text turns or hides others: {html[max(0, found.start() - 80) : found.end() + 80]!r}")


class Watched:
    """A page in a real browser, and everything that went wrong in it."""

    def __init__(self, page: Page, own: str) -> None:
        self.page = page
        self.complaints: list[str] = []
        self._allowed: list[str] = []
        page.set_default_timeout(PATIENCE * 1_000)
        page.on("console", self._note_console)
        page.on("pageerror", lambda error: self.complaints.append(f"page error: {error}"))
        page.on("request", lambda sent: self._note_request(sent.url, own))
        page.on("requestfailed", lambda sent: self._note_failure(sent.url, sent.failure))

    def _note_console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.complaints.append(f"{message.text} ({message.location.get('url')})")

    def _note_request(self, url: str, own: str) -> None:
        if not url.startswith(f"{own}/"):
            self.complaints.append(f"asked {url}")

    def _note_failure(self, url: str, failure: str | None) -> None:
        # A page that is left, or a search that goes on typing, ends its own requests.
        if failure != "net::ERR_ABORTED":
            self.complaints.append(f"{url} failed: {failure}")

    def allow(self, words: str) -> None:
        """Expect complaints that contain these words, such as the status of a form that is refused."""
        self._allowed.append(words)

    def check(self) -> None:
        """Fail if anything went wrong that the test did not expect."""
        left = [each for each in self.complaints if not any(words in each for words in self._allowed)]
        assert not left, "\n".join(left)


def follow(page: Page, link: Locator) -> None:
    """Press a link or a button that leads to another page, and wait until that page is there.

    A click returns before the browser has left: what is read right after it is the old page, or no page at all.
    """
    with page.expect_navigation():
        link.click()


def assert_fits(page: Page) -> None:
    """Check that a page is not wider than its window, and that nothing stored has run in it."""
    wide, seen = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    assert wide <= seen, f"{page.url} is {wide} px wide in a window of {seen} px"
    assert page.evaluate("window.broken") is None, "a stored text ran as a script"


def assert_readable(page: Page) -> None:
    """Check landmarks, headings in order, and that every field, link and picture has a name."""
    assert page.locator("main").count() == page.locator("h1").count() == 1
    levels = page.evaluate("[...document.querySelectorAll('h1,h2,h3,h4,h5,h6')].map(e => +e.tagName[1])")
    assert all(after - before <= 1 for before, after in pairwise(levels)), levels
    nameless = page.evaluate(
        """() => [
            ...[...document.querySelectorAll('input:not([type=hidden]),select,textarea')]
                .filter(e => !e.labels.length && !e.ariaLabel),
            ...[...document.querySelectorAll('a[href],button,svg[role=img],[role=img]')]
                .filter(e => !(e.textContent.trim() || e.ariaLabel || e.querySelector('[alt]:not([alt=""])'))),
        ].map(e => e.outerHTML.slice(0, 200))"""
    )
    assert not nameless, nameless
