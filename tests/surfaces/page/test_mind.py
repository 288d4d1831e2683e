"""The conversation on the page: what is sent is stored once and answered, and everybody who listens hears the same."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import httpx2
import pytest

from everloom.kernel.tokens import Tokens
from everloom.mind.conversation.array import append_turns
from everloom.mind.conversation.compaction import CompactionCost, keep_compaction
from everloom.models.talk import Compacted, Turn
from tests.patience import PATIENCE, wait_until
from tests.scripted.claude import ClaudeServer
from tests.scripted.speech import fails, says, uses
from tests.surfaces.page.ground import ALL_HOSTILE, FORM, Site, Visitor, assert_harmless, forms_in, lend_site
from tests.surfaces.page.talking import Told, listening, talking


@pytest.fixture
def mute(store_url: str, tmp_path: Path) -> Iterator[Site]:
    """A site without a language model."""
    with lend_site(store_url, settings=talking(tmp_path, None)) as made:
        yield made


@pytest.fixture
def site(store_url: str, tmp_path: Path) -> Iterator[Site]:
    """A site whose agent repeats what it hears."""
    with lend_site(store_url, settings=talking(tmp_path)) as made:
        yield made


@pytest.fixture
def claude() -> Iterator[ClaudeServer]:
    with ClaudeServer() as server:
        yield server
    assert server.complaints == []


@pytest.fixture
def claude_site(store_url: str, tmp_path: Path, claude: ClaudeServer) -> Iterator[Site]:
    """A site whose agent is a scripted Claude."""
    wires = {"provider": {"anthropic_base": claude.url}, "secrets": {"anthropic_api_key": "key"}}
    with lend_site(store_url, settings=talking(tmp_path, "anthropic:claude-sonnet-5-5", **wires)) as made:
        yield made


def states(site: Site) -> list[tuple[str, str]]:
    """List direction and state of every message, oldest first."""
    return [(each.direction, each.state) for each in site.workspace.mind.conversation.log(1_000)[::-1]]


def answered(site: Site, count: int) -> None:
    """Wait until so many messages are in the log, answered and shown."""
    done = {("in", "answered"), ("out", "sent")}
    wait_until(lambda: len(found := states(site)) == count and set(found) == done, f"{count} messages in the log")


def heard(told: Iterator[Told], until: str, **data: object) -> list[Told]:
    """Listen until an event of a name, with this data if given."""
    found = []
    for each in told:
        found.append(each)
        if each.name == until and all(each.data[name] == value for name, value in data.items()):
            return found
    raise AssertionError(f"the stream ended without {until}: {found}")


def said(told: list[Told]) -> str:
    """Put the words of a turn together, as the page does."""
    text = ""
    for each in told:
        if each.name == "words":
            text = each.data["text"] if each.data["begins"] else text + each.data["text"]
    return text


@pytest.mark.promise("page.mind-sends-once")
def test_a_form_that_is_sent_twice_is_one_message_and_its_answer_is_on_the_page(site: Site, visitor: Visitor) -> None:
    page = visitor.see("mind")
    assert "Nothing was said yet" in page
    visitor.send(page, "/mind/send", text="Hello\nthere")
    visitor.send(page, "/mind/send", text="Hello\nthere")
    answered(site, 2)
    page = visitor.see("mind")
    assert page.count('class="message ours" id') == page.count('class="message theirs" id') == 1
    (message,) = [each for each in site.workspace.mind.conversation.log() if each.direction == "in"]
    assert (message.channel, message.text) == ("page", "Hello\nthere")
    # A page that the browser kept may be filled in again: another text is another message.
    visitor.send(page, "/mind/send", text="Hello\nthere")
    visitor.send(page, "/mind/send", text="And more")
    ended = {("in", "answered"), ("out", "sent"), ("out", "unsent")}
    wait_until(lambda: states(site).count(("in", "answered")) == 3 and set(states(site)) <= ended, "three answers")


def test_what_is_refused_is_shown_again_and_nothing_is_stored(site: Site, visitor: Visitor) -> None:
    page = visitor.see("mind")
    assert "is empty" in visitor.send(page, "/mind/send", 422, text=" \n ")
    refused = visitor.send(page, "/mind/send", 422, text="x" * 200_001)
    assert "x" * 200_001 in refused
    (form,) = [each for each in forms_in(page) if each.action.endswith("/mind/send")]
    script = urlencode([*form.filled({"text": "", "by": "script"})])
    answer = visitor.http.post(site.at("mind/send"), content=script, headers={"content-type": FORM})
    assert (answer.status_code, bool(answer.json()["error"])) == (422, True)
    assert states(site) == []


@pytest.mark.promise("page.mind-without-a-model")
def test_without_a_model_the_page_says_so_and_the_message_waits(mute: Site, tmp_path: Path, store_url: str) -> None:
    with (visitor := Visitor(mute)).http:
        assert "No language model is configured" in visitor.see("mind")
        page = visitor.send(visitor.see("mind"), "/mind/send", text="Anybody there?")
        assert "waiting for an answer" in page
        # Whoever wrote is told once, on the page where they wrote.
        wait_until(lambda: states(mute) == [("in", "waiting"), ("out", "unsent")], "a word about it")
        assert "I cannot answer at the moment: no language model is configured" in visitor.see("mind")
    # Another process that has a model answers it; this one only notices.
    with lend_site(store_url, settings=talking(tmp_path)) as able, (visitor := Visitor(able)).http:
        assert "No language model is configured" not in visitor.see("mind")
        # The word about it was shown by then, or is taken back.
        ended = [[("in", "answered"), ("out", word), ("out", "sent")] for word in ("sent", "withdrawn")]
        wait_until(lambda: states(able) in ended, "the answer")
    with (visitor := Visitor(mute)).http:
        assert "waiting for an answer" not in visitor.see("mind")


@pytest.mark.promise("page.stored-text-is-data")
def test_hostile_messages_replies_and_summaries_stay_text(site: Site, visitor: Visitor) -> None:
    visitor.send(visitor.see("mind"), "/mind/send", text=ALL_HOSTILE)
    answered(site, 2)
    fold(site, ALL_HOSTILE)
    page = visitor.see("mind")
    assert "&lt;script&gt;" in page
    assert_harmless(page)
    with listening(site.at("mind/live"), after=0) as told:
        for each in heard(told, "line", id=site.workspace.mind.conversation.compactions()[0].id):
            assert_harmless(each.data["html"])
    for message in site.workspace.mind.conversation.log():
        assert_harmless(visitor.see("mind/message", id=message.id))


def fold(site: Site, summary: str) -> int:
    """Compact the conversation with a summary of our own."""
    with site.workspace.mind.op.write("compact") as writing:
        turn = Turn("assistant", (Compacted(summary),))
        (place,) = append_turns(writing.unit, [turn], None, writing.at)
        cost = CompactionCost("model", "anthropic:claude-sonnet-5-5", 98_400, 6_200, 0.3124)
        return keep_compaction(writing.unit, place, writing.at, cost).id


@pytest.mark.promise("page.mind-log")
def test_older_messages_are_a_link_away_and_compactions_stand_in_their_place(mute: Site) -> None:
    conversation = mute.workspace.mind.conversation
    for number in range(60):
        conversation.receive(f"message number {number}.", channel="telegram" if number % 2 else "terminal")
        if number == 10:
            fold(mute, "They talked about **boats**.")
    with (visitor := Visitor(mute)).http:
        newest = visitor.see("mind")
        shown = [int(each) for each in re.findall(r"message number (\d+)\.", newest)]
        assert shown == list(range(20, 60))
        (link,) = re.findall(r'href="([^"]*before=\d+)"', newest)
        older = visitor.open(f"{mute.url}{link}")
        assert [int(each) for each in re.findall(r"message number (\d+)\.", older)] == list(range(20))
        assert older.index("number 10.") < older.index("98,400 → 6,200 tokens, $0.3124") < older.index("number 11.")
        assert "<strong>boats</strong>" in older
        assert "before=" not in older.partition('id="log"')[0].rpartition("<h1>")[2]


def test_a_long_conversation_of_long_messages_is_a_short_page(mute: Site) -> None:
    conversation = mute.workspace.mind.conversation
    for number in range(45):
        conversation.receive(f"{number} " + "<&\"' é" * 20_000, channel="page")
    with (visitor := Visitor(mute)).http:
        page = visitor.see("mind")
        assert len(page.encode()) < 500_000
        # The word that nobody answers may come at any moment, and is not one of them.
        first = next(message for message in conversation.log() if message.direction == "in")
        assert f"All {len(first.text):,} characters" in page
        whole = visitor.see("mind/message", id=first.id)
        assert "Read on" in whole
        visitor.see("mind/message", 404, id=4711)


def test_who_may_only_read_sees_the_conversation_and_sends_nothing(store_url: str, tmp_path: Path) -> None:
    with lend_site(store_url, settings=talking(tmp_path), needs_token=True) as site:
        site.workspace.mind.conversation.receive("Hello", channel="telegram")
        tokens = Tokens(site.loom.store, site.loom.clock)
        reader = tokens.create("reader", site.workspace.info, read_only=True).secret
        with (visitor := Visitor(site)).http:
            visitor.http.cookies.set("everloom_token", reader)
            page = visitor.see("mind")
            assert "Hello" in page
            assert 'id="send"' not in page
            keys = [("form_key", visitor.http.cookies["everloom_form"]), ("text", "Hi"), ("once", "x")]
            visitor.post(site.at("mind/send"), keys, 403)
            with listening(site.at("mind/live"), authorization=f"Bearer {reader}") as told:
                assert "Hello" in heard(told, "line")[0].data["html"]
        # Looking as a reader brings no answer about, since nothing may be written for it.
        assert states(site) == [("in", "waiting")]


@pytest.mark.promise("page.mind-streams")
def test_words_and_tools_are_streamed_to_everybody_who_listens(claude_site: Site, claude: ClaudeServer) -> None:
    claude.script(
        uses(("search_memory", {"query": "boat"}), text="Let me look.", pause=0.01),
        says("The boat \N{SAILBOAT}\ufe0f is blue, and \N{GRINNING FACE} older than the harbour.", piece=4, pause=0.15),
    )
    with (visitor := Visitor(claude_site)).http:
        page = visitor.see("mind")
        with listening(claude_site.at("mind/live")) as one, listening(claude_site.at("mind/live")) as other:
            visitor.send(page, "/mind/send", text="How is the boat?")
            first, second = heard(one, "quiet"), heard(other, "quiet")
    whole = "Let me look.\n\nThe boat \N{SAILBOAT}\ufe0f is blue, and \N{GRINNING FACE} older than the harbour."
    assert said(first) == said(second) == whole
    assert sum(each.name == "words" for each in first) > 2, "it came in pieces"
    tools = [each.data["tools"] for each in first if each.name == "tools"]
    assert tools[-1] == [{"name": "search_memory", "state": "done"}]
    # The reply is there before its words are taken away.
    lines = [each for each in first if each.name == "line"]
    assert "older than the harbour" in lines[-1].data["html"]
    assert "2 rounds with tools" in lines[-1].data["html"]
    answered(claude_site, 2)


@pytest.mark.promise("page.mind-streams")
def test_who_comes_back_hears_what_was_missed(site: Site) -> None:
    conversation = site.workspace.mind.conversation
    first = conversation.receive("one", channel="page")
    for number in range(30):
        conversation.receive(f"line {number}.", channel="page")
    newest = conversation.log(1)[0].id
    with listening(site.at("mind/live"), after=first.id) as told:
        lines = heard(told, "line", id=newest)
    text = "".join(each.data["html"] for each in lines)
    assert all(f"line {number}." in text for number in range(30))
    assert lines[-1].id is not None
    assert lines[-1].id >= newest
    answer = httpx2.get(site.at("mind/live"), headers={"last-event-id": "x'"}, timeout=PATIENCE)
    assert answer.status_code == 422


def test_a_failed_turn_takes_its_words_back_and_can_be_tried_again(claude_site: Site, claude: ClaudeServer) -> None:
    claude.script(*[fails(400, "no such thing")] * 2)
    with (visitor := Visitor(claude_site)).http:
        visitor.send(visitor.see("mind"), "/mind/send", text="Hello")
        page = wait_until(
            lambda: page if "failed attempt" in (page := visitor.see("mind")) else None, "a failure on the page"
        )
        assert "no such thing" in page
        assert "tried again at" in page
        wait_until(lambda: visitor.send(visitor.see("mind"), "/mind/retry") if not claude.steps else None, "a retry")
        if states(claude_site)[0][1] == "waiting":
            visitor.send(visitor.see("mind"), "/mind/retry")
        answered(claude_site, 2)
        assert "failed attempt" not in visitor.see("mind")


def test_a_reply_for_another_channel_is_left_to_that_channel(site: Site, visitor: Visitor) -> None:
    conversation = site.workspace.mind.conversation
    conversation.receive("Hello from a telephone", channel="telegram", address="7")
    visitor.see("mind")
    wait_until(lambda: len(states(site)) == 2, "the answer")
    assert states(site) == [("in", "answered"), ("out", "unsent")]
    assert "not delivered yet" in visitor.see("mind")


@pytest.mark.promise("page.changes")
def test_changes_are_counted_from_the_last_one_that_the_page_knew(mute: Site) -> None:
    semantic = mute.workspace.semantic
    semantic.remember(["James"], "James sails.")
    with (visitor := Visitor(mute)).http:
        (known,) = re.findall(r'data-event="(\d+)"', visitor.see("notes"))
    with listening(f"{mute.at('changes')}?after={known}") as told:
        semantic.remember(["James"], "James swims.")
        semantic.remember(["James"], "James rows.")
        total, last = 0, 0
        while total < 2:
            each = next(told)
            assert set(each.data) == {"count"}, "how much, and never what"
            total, last = total + each.data["count"], each.id or 0
    assert total == 2
    semantic.remember(["James"], "James runs.")
    with listening(mute.at("changes"), after=last) as told:
        assert next(told).data == {"count": 1}


def test_a_server_that_stops_lets_go_of_those_who_listen(store_url: str, tmp_path: Path) -> None:
    with lend_site(store_url, settings=talking(tmp_path)) as site, listening(site.at("mind/live")) as told:
        site.workspace.mind.conversation.receive("Hello", channel="page")
        heard(told, "line")
        began = time.monotonic()
        site.stop_soon()
        assert [each for each in told if each.name == "reload"] == []
        assert time.monotonic() - began < 5
