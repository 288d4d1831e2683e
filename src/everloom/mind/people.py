"""The people and groups that an agent talks with: whose workspace is whose, and where each is reached.

Reads and writes the one-line form in which the settings keep them. Pure; refuses to know settings, store and channels.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from everloom.errors import Rejected
from everloom.kernel.texts import checked_name, name_key, storable
from everloom.mind.wording import speaker_name

_WORKSPACE, _PREFERS, _GROUP = "workspace", "prefers", "group"
_CHANNEL = re.compile(r"[a-z][a-z0-9_-]{0,39}")
_NUMBER = re.compile(r"-?[1-9][0-9]{0,18}")
_LONGEST_ADDRESS = 200
_HOW = 'write them as: James workspace=james telegram=12345 prefers=telegram; "Sailing club" group telegram=-10077'


@dataclass(frozen=True, slots=True)
class KnownPerson:
    """A person, or a group, with a workspace of their own; `prefers` are channels, the best first."""

    name: str
    workspace: str
    addresses: tuple[tuple[str, str], ...] = ()
    prefers: tuple[str, ...] = ()
    is_group: bool = False

    def __str__(self) -> str:
        own = [] if self.workspace == self.name else [f"{_WORKSPACE}={self.workspace}"]
        kind = [_GROUP] if self.is_group else []
        places = [f"{channel}={address}" for channel, address in self.addresses]
        return shlex.join([self.name, *kind, *own, *places, *(f"{_PREFERS}={each}" for each in self.prefers)])


def read_people(lines: Iterable[str]) -> tuple[KnownPerson, ...]:
    """Read people, one for each line; Rejected if two would share a name, a workspace or an address."""
    found = tuple(map(read_person, lines))
    names: dict[str, str] = {}
    rooms: dict[str, str] = {}
    places: dict[tuple[str, str], str] = {}
    for each in found:
        if names.setdefault(name_key(each.name), each.name) is not each.name:
            raise Rejected(f"there are two people called {each.name}", hint="give them names that differ")
        if (other := rooms.setdefault(name_key(each.workspace), each.name)) != each.name:
            hint = "give each a workspace of their own; people who speak together are a group"
            raise Rejected(f"{other} and {each.name} have the same workspace, {each.workspace}", hint=hint)
        for place in each.addresses:
            if (other := places.setdefault(place, each.name)) != each.name:
                hint = "an address belongs to one person or group only"
                raise Rejected(f"{'='.join(place)} belongs to {other} and to {each.name}", hint=hint)
    return found


def read_person(line: str) -> KnownPerson:
    """Read one person or group: a name, then `group`, `workspace=NAME`, `prefers=CHANNEL` and `CHANNEL=ADDRESS`."""
    try:
        name, *parts = shlex.split(line)
    except ValueError:
        raise Rejected(f"cannot read the person {line!r}", hint=_HOW) from None
    known = checked_name(name, "the name of a person")
    if speaker_name(known) != known or "=" in known:
        raise Rejected(f"the name {known!r} has signs that names may not have", hint="leave out brackets and commas")
    given = [part.partition("=") for part in parts if part != _GROUP]
    if bare := [key for key, sign, value in given if not (sign and value)]:
        raise Rejected(f"cannot read {bare[0]!r} of {known}", hint=_HOW)
    workspaces = [value for key, _, value in given if key == _WORKSPACE]
    if len(workspaces) > 1:
        raise Rejected(f"{known} has several workspaces", hint="name one")
    places = [_place(key, value) for key, _, value in given if key not in (_WORKSPACE, _PREFERS)]
    if _GROUP not in parts and any(channel == "telegram" and address.startswith("-") for channel, address in places):
        raise Rejected(
            f"{known} has the chat of a group", hint="mark it as a group (--group): several people speak there"
        )
    return KnownPerson(
        name=known,
        workspace=checked_name(workspaces[0] if workspaces else known, "the workspace"),
        addresses=tuple(dict.fromkeys(places)),
        prefers=tuple(dict.fromkeys(_channel(value) for key, _, value in given if key == _PREFERS)),
        is_group=_GROUP in parts,
    )


def split_people(text: str) -> Iterator[str]:
    """Split a text with several people at its semicolons, unless they are quoted."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars=";")
    lexer.whitespace_split, lexer.commenters = True, ""
    parts: list[str] = []
    try:
        for token in lexer:
            if token.strip(";"):
                parts.append(token)
            elif parts:
                yield shlex.join(parts)
                parts = []
    except ValueError:
        raise Rejected(f"cannot read the people {text!r}", hint=_HOW) from None
    if parts:
        yield shlex.join(parts)


def person_of(people: Sequence[KnownPerson], workspace: str) -> KnownPerson | None:
    """Find whose workspace one is."""
    return next((each for each in people if name_key(each.workspace) == name_key(workspace)), None)


def own_name(person: KnownPerson | None) -> str:
    """Return the name under which the one person of a workspace speaks; empty if it has none, or many."""
    return "" if person is None or person.is_group else person.name


def _place(channel: str, address: str) -> tuple[str, str]:
    known = _channel(channel)
    if known == "telegram" and not _NUMBER.fullmatch(address):
        hint = "write to the bot once: the gateway's log shows the id of your chat"
        raise Rejected(f"{address!r} is not the id of a chat of Telegram", hint=hint)
    if len(address) > _LONGEST_ADDRESS:
        raise Rejected(f"an address of {known} has more than {_LONGEST_ADDRESS} characters")
    # Mail servers ignore case, and so must whoever looks for a sender.
    return known, storable(address.lower() if known == "email" else address, "the address")


def _channel(name: str) -> str:
    if not _CHANNEL.fullmatch(name):
        raise Rejected(f"there is no channel {name!r}", hint="a channel is one word in small letters, such as telegram")
    return name
