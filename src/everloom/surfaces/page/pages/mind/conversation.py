"""The conversation: what was said on every channel, and a form to say something.

A message is stored before the form is answered, and once, however often the form is sent. Who answers it, and when, is
not decided here: the thread of `answering`, or another process of this memory.
"""

from __future__ import annotations

from hashlib import blake2b
from secrets import token_urlsafe

from starlette.responses import JSONResponse, Response

from everloom.errors import EverloomError, Forbidden, NotFound, meaning_of
from everloom.surfaces.page.html import LONGEST_SHOWN
from everloom.surfaces.page.pages.mind.log import lines_of
from everloom.surfaces.page.paths import WORKSPACE, form, look
from everloom.surfaces.page.visit import HEADERS, Visit
from everloom.surfaces.web.answering import CHANNEL

_MIND = f"{WORKSPACE}mind"
_LINES = 40
_LONGEST_MESSAGE = 200_000


def mind(visit: Visit) -> Response:
    """Show the conversation, newest last."""
    return _shown(visit)


def _shown(visit: Visit, error: EverloomError | None = None, typed: str = "") -> Response:
    workspace = visit.workspace
    before = visit.asked_number("before", 0) or None
    lines = lines_of(workspace, _LINES, before)
    first = next((each.id for each in lines if each.message), None)
    waiting = [each.message for each in lines if each.message and each.message.state == "waiting"]
    # A message that was stored must be answered, also after a restart: whoever looks at it brings that about.
    if visit.may_write:
        visit.answering.follow(workspace.info)
    return visit.page(
        "mind.html",
        200 if error is None else meaning_of(error).http_status,
        title="Mind",
        lines=lines,
        newest=lines[-1].id if lines else 0,
        older=first if first and workspace.mind.conversation.log(1, first) else None,
        is_newest=before is None,
        is_waiting=any(waiting),
        is_failing=any(each.attempts for each in waiting),
        last=next((each.exchange for each in reversed(lines) if each.exchange and each.exchange.context_window), None),
        has_model=visit.answering.has_model(workspace.info),
        once=token_urlsafe(12),
        most=_LONGEST_MESSAGE,
        error=error,
        typed=typed,
    )


def send(visit: Visit) -> Response:
    """Store a message; the same form sent twice is one message."""
    text = visit.form.text("text")
    by_script = visit.form.text("by") == "script"
    try:
        place = visit.acting("send a message")
        told = place.mind.conversation.receive(
            text, channel=CHANNEL, address=visit.token.name if visit.token else "", key=_key_of(visit, text)
        )
    except Forbidden:
        raise
    except EverloomError as error:
        if not by_script:
            return _shown(visit, error, text)
        problem = {"error": error.message, "hint": error.hint}
        return JSONResponse(problem, meaning_of(error).http_status, HEADERS)
    visit.answering.follow(place.info)
    if by_script:
        return JSONResponse({"id": told.id, "once": token_urlsafe(12)}, headers=HEADERS)
    return visit.go(f"{visit.url('mind')}#newest")


def _key_of(visit: Visit, text: str) -> str:
    """Make the key of a message from its form and its text: a page that a browser kept may be filled in again."""
    once = visit.form.text("once") or token_urlsafe(12)
    return blake2b(f"{once}\n{text}".encode("utf-8", "replace"), digest_size=20).hexdigest()


def retry(visit: Visit) -> Response:
    """Try again now to answer what waits."""
    place = visit.acting("try again")
    count = place.mind.conversation.retry()
    visit.answering.follow(place.info)
    said = f"{count} messages are tried again now." if count != 1 else "The message is tried again now."
    return visit.go(f"{visit.url('mind')}#newest", said if count else "Nothing waits any more.")


def message(visit: Visit) -> Response:
    """Show one message, or the summary of a compaction, as a whole."""
    number = visit.asked_number("id", 0)
    conversation = visit.workspace.mind.conversation
    folded = next((each for each in conversation.compactions(1, number + 1) if each.id == number), None)
    known = None if folded else conversation.get(number)
    text = folded.text if folded else known.text if known else ""
    begin = visit.asked_number("from", 0, most=max(0, len(text) - 1))
    if not text:
        raise NotFound("there is nothing to read here", hint="go back to the conversation")
    return visit.page(
        "message_whole.html",
        title=f"Message {number}" if known else f"Compaction {number}",
        number=number,
        known=known,
        folded=folded,
        text=text[begin : begin + LONGEST_SHOWN],
        begin=begin,
        rest=begin + LONGEST_SHOWN if len(text) > begin + LONGEST_SHOWN else None,
        length=len(text),
    )


PATHS = (
    look(_MIND, mind),
    look(f"{_MIND}/message", message),
    form(f"{_MIND}/send", send),
    form(f"{_MIND}/retry", retry),
)
