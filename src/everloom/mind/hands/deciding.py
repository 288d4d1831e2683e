"""Which messages decide about an action: the person's own, where they were asked, as a command or as a reply to it.

Nothing else does: not the words of a tool, an event, a note or another speaker, and not the same words elsewhere.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from everloom.errors import EverloomError
from everloom.kernel.operation import Transaction
from everloom.mind.conversation.stream import IncomingMessage
from everloom.mind.hands.actions import Action, approve, in_states, refuse

# Telegram adds the name of the bot to commands in groups.
_COMMAND = re.compile(r"/(approve|refuse)(?:@\w+)?\s+#?(\d{1,18})(?:\s+(always))?\s*", re.IGNORECASE)
_YES, _NO = frozenset({"yes", "y", "ok", "okay", "approve"}), frozenset({"no", "n", "refuse"})
_NOT_HERE = "there is no action {} that waits for an answer here; `everloom mind actions list` lists them all"


@dataclass(frozen=True, slots=True)
class PersonRuling:
    """What somebody says about an action; None if it is the one that the message quotes."""

    action: int | None
    is_approval: bool
    is_always: bool = False


def ruling_in(message: IncomingMessage, person: str = "") -> PersonRuling | None:
    """Read a message as a ruling; None if it is none, or not the person's, who has no name or this one."""
    if message.kind != "message" or message.sender not in {"", person}:
        return None
    text = message.text.strip()
    if match := _COMMAND.fullmatch(text):
        is_approval = match[1].lower() == "approve"
        if match[3] and not is_approval:
            return None
        return PersonRuling(int(match[2]), is_approval, is_always=match[3] is not None)
    word = text.casefold().rstrip(".!")
    if message.quote and word in _YES | _NO:
        return PersonRuling(None, word in _YES)
    return None


def settle(writing: Transaction, message: IncomingMessage, person: str = "") -> str | None:
    """Do what a message decides, and say what was done; None if it decides nothing, or quotes no question of ours."""
    ruling = ruling_in(message, person)
    if ruling is None:
        return None
    number = _quoted_action(writing, message) if ruling.action is None else ruling.action
    if number is None:
        return None
    try:
        return _settled(writing, message, number, ruling)
    except EverloomError as error:
        return f"({error.message})"


def _settled(writing: Transaction, message: IncomingMessage, number: int, ruling: PersonRuling) -> str:
    found = next((each for each in _open(writing, message) if each.id == number), None)
    if found is None:
        # Whatever it is, and wherever it was asked: nobody learns that from here.
        return f"({_NOT_HERE.format(number)})"
    by = f"{message.channel} {message.address}".strip()
    if not ruling.is_approval:
        refuse(writing, number, by)
        return f"({number} is refused: {found.name})"
    approve(writing, number, by, always=ruling.is_always)
    more = ", and from now on it need not ask" if ruling.is_always else ""
    return f"({number} is approved{more}: {found.name})"


def _quoted_action(writing: Transaction, message: IncomingMessage) -> int | None:
    """Find the one action whose question a message quotes, word for word from its beginning."""
    quote = " ".join(message.quote.split())
    found = [each for each in _open(writing, message) if _begins(" ".join(each.question.split()), quote, each)]
    return found[0].id if len(found) == 1 else None


def _begins(question: str, quote: str, action: Action) -> bool:
    # At least its number, with what ends it: the quote of another question never begins like this one.
    return bool(question) and question.startswith(quote) and quote.startswith(f"Action {action.id}: ")


def _open(writing: Transaction, message: IncomingMessage) -> list[Action]:
    """List the actions that can be decided about where a message came from."""
    states = ("waiting", "approved", "unknown", "failed")
    return [
        each
        for each in in_states(writing.unit, *states)
        if each.is_asked and (each.channel, each.address) == (message.channel, message.address)
    ]
