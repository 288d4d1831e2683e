"""Telegram's pictures, files, quotes, edits and formatting, over real HTTP."""

from __future__ import annotations

import pytest

from everloom.loom import Workspace
from everloom.surfaces.channels.telegram import TelegramBusy
from everloom.surfaces.channels.telegram.formatting import formatted
from tests.models.test_media import PDF, png
from tests.surfaces.channels.telegram_stub import TOKEN, Fault, TelegramStub, visible_in
from tests.surfaces.channels.test_telegram import FRIEND, Line


@pytest.mark.promise("mind.telegram-files")
def test_photos_and_files_come_with_their_captions_and_quotes(place: Workspace, stub: TelegramStub) -> None:
    line = Line(place, stub)
    stub.files |= {"small": png(), "large": png(9, 9), "deed": PDF, "note": b"OggS" + bytes(40)}
    sizes = [
        {"file_id": "small", "width": 90, "height": 90, "file_size": 80},
        {"file_id": "large", "width": 900, "height": 900, "file_size": 90},
        {"file_id": "huge", "width": 9_000, "height": 9_000, "file_size": 30_000_000},
    ]
    earlier = {"message_id": 1, "text": "Which boat do you mean? The green one?"}
    stub.say(FRIEND, None, photo=sizes, caption="my boat", reply_to_message=earlier, quote={"text": "Which boat"})
    stub.say(FRIEND, None, document={"file_id": "deed", "file_name": "../deed.exe", "file_size": 40})
    stub.say(FRIEND, None, voice={"file_id": "note", "duration": 7, "file_size": 44}, reply_to_message=earlier)
    stub.say(FRIEND, None, video={"file_id": "film", "file_size": 90_000_000})
    assert line.channel.fetch(1) == 4
    photo, deed, voice, film = line.conversation.waiting()
    assert (photo.text, photo.quote, photo.attachments[0].size) == ("my boat", "Which boat", len(png(9, 9)))
    assert [(each.media_type, each.name) for each in deed.attachments] == [("application/pdf", "../deed.exe")]
    assert (voice.attachments[0].seconds, voice.attachments[0].media_type) == (7, "audio/ogg")
    assert voice.quote == earlier["text"]
    assert film.attachments[0].note == "it has more than 20.0 MB, which is all that is taken here"
    assert line.conversation.attached(photo.id)[1] == png(9, 9)
    line.conversation.step()
    assert line.outbox.clear() == 2
    assert "I cannot listen" in stub.sent[0][1]


@pytest.mark.promise("mind.telegram-files")
def test_a_message_is_confirmed_after_its_file_is_kept_and_does_not_block_for_ever(
    here: Workspace, stub: TelegramStub
) -> None:
    line = Line(here, stub)
    stub.files["one"] = png()
    stub.say(FRIEND, None, photo=[{"file_id": "one"}], caption="my boat")
    stub.fail("file", Fault(is_dropped=True, status=200), Fault(502))
    for _ in range(2):
        with pytest.raises(TelegramBusy) as caught:
            line.channel.fetch(1)
        assert TOKEN not in str(caught.value)
        assert (line.texts(), len(stub.waiting)) == ([], 1)
    assert line.channel.fetch(1) == 1
    line.channel.fetch(0)
    assert (line.texts(), stub.waiting) == (["my boat"], [])
    # What never arrives is left out in the end.
    stub.say(FRIEND, None, document={"file_id": "one", "file_name": "x"})
    stub.fail("file", *[Fault(502)] * 5)
    for _ in range(4):
        with pytest.raises(TelegramBusy):
            line.channel.fetch(1)
    assert line.channel.fetch(1) == 1
    assert "could not be downloaded" in line.conversation.waiting()[-1].attachments[0].note
    stub.say(FRIEND, None, document={"file_id": "unknown", "file_name": "x"})
    assert line.channel.fetch(1) == 1
    assert "invalid file_id" in line.conversation.waiting()[-1].attachments[0].note


@pytest.mark.promise("mind.telegram-edits")
def test_an_edit_replaces_what_waits_and_follows_what_was_answered(place: Workspace, stub: TelegramStub) -> None:
    line = Line(place, stub)
    number = stub.say(FRIEND, "Meet me at five.")
    line.channel.fetch(1)
    stub.edit(FRIEND, number, "Meet me at six.")
    assert line.channel.fetch(1) == 1
    assert line.texts() == ["Meet me at six."]
    line.conversation.step()
    stub.edit(FRIEND, number, "Meet me at six.")  # as Telegram does when it has made the preview of a link
    assert line.channel.fetch(1) == 0
    assert line.conversation.waiting() == []
    stub.edit(FRIEND, number, "Meet me at seven.")
    for _ in range(2):
        Line(place, stub).channel.fetch(1)
    (edited,) = line.conversation.waiting()
    assert (edited.text, edited.quote) == ("(edited) Meet me at seven.", "Meet me at six.")
    stub.edit(FRIEND, number, "Meet me at eight.")
    line.channel.fetch(1)
    assert [each.text for each in line.conversation.waiting()] == ["(edited) Meet me at eight."]
    line.conversation.step()
    stub.edit(FRIEND, number, "Meet me at six.")
    line.channel.fetch(1)
    assert [each.quote for each in line.conversation.waiting()] == ["Meet me at eight."]
    stub.edit(FRIEND, 9_999, "Never seen.")
    line.channel.fetch(1)
    assert line.texts()[-1] == "Never seen."
    assert line.texts()[0] == "Meet me at six."


def test_an_edit_during_the_turn_is_what_is_answered(
    here: Workspace, stub: TelegramStub, caplog: pytest.LogCaptureFixture
) -> None:
    line = Line(here, stub)
    number = stub.say(FRIEND, "five")
    line.channel.fetch(1)
    done = False

    def edit(_: str) -> None:
        nonlocal done
        if not done:
            done = True
            stub.edit(FRIEND, number, "six")
            line.channel.fetch(1)

    assert line.conversation.step(edit) is None
    assert "was edited in the meantime" in caplog.text
    exchange = line.conversation.step()
    assert exchange is not None
    assert exchange.heard == "six"
    assert "six" in exchange.reply


@pytest.mark.promise("mind.telegram-formatting")
def test_markdown_becomes_what_telegram_shows() -> None:
    cases = {
        "plain & <simple>, 2 * 3 * 4, snake_case_name": None,
        "**bold** and *it* & <b>": "<b>bold</b> and <i>it</i> &amp; &lt;b&gt;",
        "__bold__ _it_ ~~no~~": "<b>bold</b> <i>it</i> <s>no</s>",
        "**bold *both* bold**": "<b>bold </b><b><i>both</i></b><b> bold</b>",
        "# Title `x`": "<b>Title </b><code>x</code>",
        "- one\n  * **two**": "• one\n  • <b>two</b>",
        "1. **one**": "1. <b>one</b>",
        "see [the *map*](https://x.org/a?b=1&c=2)": None,
        "[bad](javascript:alert(1)) **x**": "bad (javascript:alert(1)) <b>x</b>",
        "`a<b` ``c`d``": "<code>a&lt;b</code> <code>c`d</code>",
        "```py\nif a < b:\n    **no**\n```\nend": None,
        "> said\n> **so**": "<blockquote>said</blockquote>\n<blockquote><b>so</b></blockquote>",
        "\\*not\\* **x**": "*not* <b>x</b>",
        "| a | b |\n|---|---|": "<pre>| a | b |\n|---|---|</pre>",
        "**never closed": None,
        "---\n**x**": "———\n<b>x</b>",
    }
    for markdown, html in cases.items():
        (part,) = formatted(markdown)
        assert part.html is None or visible_in(part.html) == part.plain, markdown
        if html is not None:
            assert part.html == html, markdown
    assert next(formatted("plain & <simple>, 2 * 3 * 4, snake_case_name")).html is None
    (link,) = formatted("see [the *map*](https://x.org/a?b=1&c=2)")
    assert link.html == (
        'see <a href="https://x.org/a?b=1&amp;c=2">the </a><a href="https://x.org/a?b=1&amp;c=2"><i>map</i></a>'
    )
    (code,) = formatted("```py\nif a < b:\n    **no**\n```\nend")
    assert code.html == '<pre><code class="language-py">if a &lt; b:\n    **no**</code></pre>\nend'


@pytest.mark.promise("mind.telegram-formatting")
def test_parts_are_whole_by_themselves_wherever_they_are_cut() -> None:
    long = (
        ("x " * 1_300 + "**" + "bold 🙂 words " * 140 + "end**")
        + "\n\n```\n"
        + "code & line <x>\n" * 300
        + "```\n"
        + "*it* `x` " * 900
    )
    parts = list(formatted(long))
    assert len(parts) > 4
    assert ["<b>" in (part.html or "") for part in parts[:2]] == [True, True]
    for part in parts:
        assert len(part.plain.encode("utf-16-le")) // 2 <= 4_096
        assert visible_in(part.html or "").strip() == part.plain.strip()
    for strange in ("**" * 3_000, "*a **b _c " * 500, "`" * 999, "[" * 2_000 + "](", "> " * 50, "\\" * 99, "_" * 5_000):
        for part in formatted(strange):
            assert part.html is None or visible_in(part.html)


@pytest.mark.promise("mind.telegram-formatting")
def test_what_telegram_cannot_format_arrives_as_plain_text(here: Workspace, stub: TelegramStub) -> None:
    line = Line(here, stub)
    line.says("This is **bold**.")
    stub.fail("sendMessage", Fault(400, "Bad Request: can't parse entities: Unsupported start tag"))
    assert line.outbox.clear() == 1
    assert [text for _, text in stub.sent] == ["This is bold."]
    line.says("And **this**.")
    line.outbox.clear()
    assert stub.sent[-1][1] == "And <b>this</b>."
    assert stub.calls[-1][1]["parse_mode"] == "HTML"
    assert line.last().state == "sent"
