"""What is e-mail's own: proof of the sender, what no program answers, quotes, threads, and a mailbox made anew."""

from __future__ import annotations

from collections.abc import Iterator
from email.message import EmailMessage

import pytest

from everloom.errors import Rejected
from everloom.loom import Workspace
from everloom.surfaces.channels.services.formats import as_text
from everloom.surfaces.channels.services.letters import (
    divide,
    is_authentic,
    is_tagged,
    parsed,
    read_letter,
    why_ignored,
)
from tests.patience import wait_until
from tests.surfaces.channels.stubs.email import ADA, BOT, SERVER, EmailStub
from tests.surfaces.channels.test_services import confirmed, heard, life, running


@pytest.fixture
def server() -> Iterator[EmailStub]:
    """A mail server."""
    with EmailStub() as stub:
        yield stub


def raw(*headers: str, body: str = "Hello", sender: str = f"Ada <{ADA}>") -> bytes:
    return "\r\n".join([f"From: {sender}", "Message-ID: <1@x>", *headers, "", body]).encode()


@pytest.mark.promise("mind.email-no-loops")
def test_what_programs_send_is_never_answered() -> None:
    assert why_ignored(parsed(raw()), BOT) == ""
    assert why_ignored(parsed(raw("Auto-Submitted: no", "Precedence: first-class")), BOT) == ""
    for headers, sender in (
        (("Auto-Submitted: auto-replied",), ADA),
        (("Auto-Submitted: auto-generated; x=y",), ADA),
        (("Precedence: bulk",), ADA),
        (("Precedence: LIST",), ADA),
        (("List-Id: <friends.example>",), ADA),
        (("X-Autoreply: yes",), ADA),
        (("Return-Path: <>",), ADA),
        (("Content-Type: multipart/report; boundary=x",), ADA),
        ((), BOT),
        ((), BOT.upper()),
        ((), "MAILER-DAEMON@here.example"),
        ((), "no-reply@shop.example"),
        ((), f"{ADA}, eve@evil.example"),
        ((f"From: {ADA}",), "eve@evil.example"),
        ((), "nobody"),
    ):
        assert why_ignored(parsed(raw(*headers, sender=sender)), BOT), (headers, sender)


@pytest.mark.promise("mind.email-proof")
def test_only_the_topmost_word_of_our_own_server_proves_a_sender() -> None:
    good, bad = "dmarc=pass header.from=there.example", "dmarc=fail header.from=there.example"
    for results, is_proven in (
        ([f"{SERVER}; {good}"], True),
        ([f"{SERVER} 1; spf=pass smtp.mailfrom=x; {good}"], True),
        ([f"{SERVER}; dkim=pass header.d=there.example"], True),
        ([f"{SERVER}; dkim=pass header.i=@there.example"], True),
        ([f"{SERVER}; dkim=pass header.d=evil.example"], False),
        ([f"{SERVER}; dkim=pass header.d=example.there.example"], False),
        ([f"{SERVER}; dkim=pass header.d=e.example"], False),
        ([f"{SERVER}; spf=pass smtp.mailfrom=there.example"], False),
        ([f"{SERVER}; dmarc=pass header.from=evil.example"], False),
        ([f"{SERVER}; {bad}"], False),
        ([f"{SERVER}; {bad}", f"{SERVER}; {good}"], False),
        ([f"other.example; {good}"], False),
        ([f"evil.{SERVER}; {good}"], False),
        ([f"{SERVER}; none (; {good})"], False),
        ([f"{SERVER}; spf=fail (a (b; {good}; c) d)"], False),
        ([f'{SERVER}; spf=fail smtp.mailfrom="x; {good};"@evil.example'], False),
        ([], False),
    ):
        mail = parsed(raw(*(f"Authentication-Results: {each}" for each in results)))
        assert is_authentic(mail, SERVER) is is_proven, results
    assert is_tagged(parsed(raw("Subject: Lunch [heron7]")), "heron7")
    assert is_tagged(parsed(raw("To: Loom <loom+HERON7@here.example>")), "heron7")
    assert not is_tagged(parsed(raw("To: heron7 <loom@here.example>", body="heron7")), "heron7")
    assert not is_tagged(parsed(raw("Subject: x")), "")
    tagged = read_letter(raw("Subject: Lunch [heron7]", body="At noon? heron7"), "heron7")
    assert "heron7" not in str(tagged)
    assert tagged.text == "Subject: Lunch\n\nAt noon?"


QUOTES = [
    ("Yes.", "Yes.", ""),
    ("Yes.\n-- \nAda\nCaptain", "Yes.", ""),
    (
        "Yes.\n\nOn Mon, 3 Aug 2026, Loom wrote:\n> Sail?\n> Tomorrow?",
        "Yes.",
        "On Mon, 3 Aug 2026, Loom wrote:\nSail?\nTomorrow?",
    ),
    ("Ja.\n\nAm 3. August 2026 um 10:00 schrieb Loom\n<loom@here.example>:\n> Segeln?", "Ja.", None),
    ("> Sail?\n\nYes.", "Yes.", "Sail?"),
    ("> Sail?\nYes.\n> When?\nAt noon.", "> Sail?\nYes.\n> When?\nAt noon.", ""),
    ("Yes.\n\n-----Original Message-----\nFrom: Loom\nSail?", "Yes.", None),
    ("I said: on Monday he wrote a letter.\nBye", "I said: on Monday he wrote a letter.\nBye", ""),
    ("", "", ""),
]


@pytest.mark.promise("mind.services")
def test_what_is_quoted_and_signed_is_no_part_of_what_is_said() -> None:
    for body, said, quote in QUOTES:
        found = divide(body.replace("\n", "\r\n"))
        assert found[0] == said, body
        assert quote is None or found[1] == quote, body
    html = (
        "<style>p{}</style><p>Yes,&nbsp;<b>of</b> course.</p><blockquote>Sail?<br>When?</blockquote><script>x</script>"
    )
    assert divide(as_text(html)) == ("Yes, of course.", "Sail?\nWhen?")
    mail = EmailMessage()
    mail["From"], mail["Subject"], mail["In-Reply-To"] = ADA, "Re: Sail", "<0@x>"
    mail.set_content("Look:")
    mail.add_attachment(b"%PDF", maintype="application", subtype="pdf", filename="a.pdf")
    letter = read_letter(mail.as_bytes())
    assert letter.text == "Look:\n\n(a file was sent; this channel cannot receive it yet)"
    assert len(letter.key) == 64
    assert read_letter(raw("Content-Type: text/plain; charset=klingon", body="Qapla'")).text == "Qapla'"


@pytest.mark.promise("mind.services", "mind.email-no-loops")
def test_a_reply_stays_in_its_thread_and_no_program_answers_it(here: Workspace, server: EmailStub) -> None:
    with running(here, server):
        wait_until(server.is_connected, "a first look")
        server.deliver(server.letter(ADA, "Out of office", Auto_Submitted="auto-replied"))
        server.deliver(server.letter(ADA, "Sail?", Subject="Sail", References="<a@x> <b@x>"))
        wait_until(lambda: server.letters, "an answer")
        # What we sent comes back, and nothing happens.
        server.deliver(server.letters[0])
        server.deliver(server.letter(ADA, "And then?"))
        wait_until(lambda: len(server.letters) == 2, "the next answer")
    mail = server.letters[0]
    assert (mail["subject"], mail["in-reply-to"], mail["references"]) == (
        "Re: Sail",
        "<2@there.example>",
        "<a@x> <b@x> <2@there.example>",
    )
    assert mail["auto-submitted"] == "auto-replied"
    assert [each.text for each in heard(here)] == ["Subject: Sail\n\nSail?", "And then?"]
    assert sorted(server.seen) == [2, 4]


@pytest.mark.promise("mind.services-crash")
def test_a_mailbox_that_was_made_anew_is_read_again_and_nothing_is_stored_twice(
    here: Workspace, server: EmailStub
) -> None:
    with life(here, server):
        server.say("one")
        confirmed(server, "one")
    server.validity += 1
    server.seen.clear()
    server.box = {uid + 40: each for uid, each in server.box.items()}
    server.following = 50
    server.say("two")
    with life(here, server):
        confirmed(server, "one", "two")
    assert [each.text for each in heard(here)] == ["one", "two"]


@pytest.mark.promise("mind.email-proof")
def test_settings_without_a_proof_are_named(here: Workspace, server: EmailStub) -> None:
    with running(here, server, email={"server": None}) as gate:
        assert any("no sender is proven" in notice for notice in gate.running.notices)
    with running(here, server, email={"proof": "none"}) as gate:
        assert any("forges" in notice for notice in gate.running.notices)
    for email, word in (({"proof": "tag"}, "EVERLOOM_EMAIL_TAG"), ({"imap": "https://x"}, "imaps://host")):
        with pytest.raises(Rejected, match=word), running(here, server, email=email):
            pass
