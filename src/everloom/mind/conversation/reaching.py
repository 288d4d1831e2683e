"""Where a person is reached: which place the agent speaks to first, and where a message goes that nobody got there.

`place_for` is the one answer to "where do I tell this person something?". Whether somebody is reached at a place is a
lease in the store, which any process may hold. What may have arrived is never sent elsewhere. Refuses to know channels.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta

from everloom.clock import from_micros, to_micros
from everloom.kernel.operation import Transaction
from everloom.kernel.texts import checked, checked_name, storable
from everloom.mind.conversation.stream import Stream, StreamMessage, add_notice, message_from
from everloom.mind.people import KnownPerson
from everloom.models.text import shortened
from everloom.store import Unit

NOBODY = "waiting for somebody to be reachable"
_MOST_CONTACTS = 200
# What nobody got for so long is no longer worth being told as news; the log keeps it.
_LASTING = timedelta(days=7)

_Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class PersonPlace:
    """A place to tell a person something, and why it is this one; `is_reached` if somebody is there now."""

    channel: str
    address: str
    why: str
    is_reached: bool

    @property
    def pair(self) -> _Pair:
        """Return the channel and the address."""
        return self.channel, self.address


@dataclass(frozen=True, slots=True)
class RouteStep:
    """A place that a message was given to, when and why; `failed` is why it did not arrive there."""

    channel: str
    address: str
    at: str
    why: str
    failed: str = ""


def place_for(
    unit: Unit, person: KnownPerson | None, now: datetime, without: Collection[_Pair] = ()
) -> PersonPlace | None:
    """Choose where to tell the person of a workspace something; None if nobody has ever been there.

    Of the places where somebody is reached it is the one on the channel that the person prefers most, else the one used
    last. If nobody is reached anywhere, it is the place that would be chosen, and the message waits there.
    """
    rows = unit.all("mind.contact_all", now=to_micros(now), limit=_MOST_CONTACTS)
    wrote = {(row["channel"], row["address"]): int(row["wrote_id"]) for row in rows}
    reached = {(row["channel"], row["address"]) for row in rows if from_micros(row["reached_until"]) > now}
    prefers = person.prefers if person is not None else ()
    known = [*wrote, *(place for place in (person.addresses if person is not None else ()) if place not in wrote)]

    def rank(place: _Pair) -> tuple[int, int]:
        preferred = prefers.index(place[0]) if place[0] in prefers else len(prefers)
        return preferred, -wrote.get(place, 0)

    ranked = sorted((place for place in known if place not in without), key=rank)
    found = next((place for place in ranked if place in reached), None)
    if found is not None:
        return PersonPlace(*found, why="preferred" if found[0] in prefers else "used last", is_reached=True)
    # Somebody who was never there and is not known by their address is not waited for.
    waits = next((place for place in ranked if wrote.get(place) or person is not None), None)
    return None if waits is None else PersonPlace(*waits, why=NOBODY, is_reached=False)


def route_to(place: PersonPlace, now: datetime, before: Sequence[RouteStep] = ()) -> str:
    """Write down where a message goes, after where it has been."""
    step = RouteStep(place.channel, place.address, now.isoformat(timespec="seconds"), place.why)
    return json.dumps([asdict(each) for each in (*before, step)], ensure_ascii=False)


def steps_of(route: str | None) -> tuple[RouteStep, ...]:
    """Read where a message has been."""
    return tuple(RouteStep(**each) for each in json.loads(route or "[]"))


def tell_route(route: str | None) -> str:
    """Say in words where a message went, and why."""
    *before, last = steps_of(route) or (RouteStep("", "", "", ""),)
    tried = [f"not on {each.channel} ({shortened(each.failed or 'nobody was there', 80)})" for each in before]
    return ", ".join([*dict.fromkeys(tried), last.why])


def roaming(unit: Unit, now: datetime) -> list[StreamMessage]:
    """List what the agent said first and nobody has got yet."""
    return [message_from(row) for row in unit.all("mind.message_roaming", since=to_micros(now - _LASTING))]


def moves(
    unit: Unit, person: KnownPerson | None, now: datetime
) -> list[tuple[StreamMessage, PersonPlace, Sequence[RouteStep]]]:
    """Find which messages are to go elsewhere: from where nobody is now, or where they could not be delivered."""
    found: list[tuple[StreamMessage, PersonPlace, Sequence[RouteStep]]] = []
    for message in roaming(unit, now):
        *before, last = steps_of(message.route)
        if message.state == "undeliverable":
            last = RouteStep(last.channel, last.address, last.at, last.why, message.last_error or "undeliverable")
        steps = [*before, last]
        place = place_for(unit, person, now, [(each.channel, each.address) for each in steps if each.failed])
        if place is None or not place.is_reached or place.pair == (message.channel, message.address):
            continue
        # Where somebody is reached a message is not taken away from, however long its channel tries.
        if message.state == "unsent" and _is_reached(unit, message, now):
            continue
        found.append((message, place, steps))
    return found


def move(unit: Unit, message: StreamMessage, place: PersonPlace, steps: Sequence[RouteStep], now: datetime) -> bool:
    """Send a message elsewhere; False if it is on its way by now."""
    to = {"channel": place.channel, "address": place.address, "route": route_to(place, now, steps)}
    origin = {"from_channel": message.channel, "from_address": message.address}
    return bool(unit.run("mind.message_moved", id=message.id, **to, **origin))


def _is_reached(unit: Unit, message: StreamMessage, now: datetime) -> bool:
    rows = unit.all("mind.contact_all", now=to_micros(now), limit=_MOST_CONTACTS)
    here = (message.channel, message.address)
    return any((row["channel"], row["address"]) == here and from_micros(row["reached_until"]) > now for row in rows)


class PersonStream(Stream):
    """The log of one workspace, and where its person is reached."""

    def place(self) -> PersonPlace | None:
        """Choose where to tell the person something now; None if nobody has ever been there."""
        with self._op.read() as unit:
            return place_for(unit, self._setup.person, self._op.now)

    def tell(self, text: str, key: str | None = None) -> bool:
        """Tell the person something that is not part of the conversation; False if there is nobody to tell.

        It goes where everything goes that the agent says first, and under a key only once.
        """
        said = self._op.screen.kept(checked(text, "the notice"), "the notice")
        known = None if key is None else checked_name(key, "the key")

        # Not under the key: it can still be told when there is somebody.
        if (place := self.place()) is None:
            return False

        def act(writing: Transaction) -> bool:
            to = {"channel": place.channel, "address": place.address, "route": route_to(place, writing.at)}
            add_notice(writing.unit, said, writing.at, **to)
            return True

        return self._op.write_once("tell", known, {"text": text}, bool, act)

    def reached(self, channel: str, addresses: Iterable[str], seconds: float) -> None:
        """Record that somebody is reached at some addresses, for so long; whoever knows renews it in time."""
        until = to_micros(self._op.now + timedelta(seconds=seconds))
        with self._op.write("reached") as writing:
            for address in addresses:
                to = {"channel": channel, "address": storable(address, "the address")}
                writing.unit.send("mind.contact_reached", until=until, holder=self._setup.leases.holder, **to)

    def left(self, channel: str) -> None:
        """Record that nobody is reached on a channel through this process any more."""
        with self._op.write("left") as writing:
            writing.unit.send("mind.contact_left", channel=channel, holder=self._setup.leases.holder)

    def contacts(self, channel: str) -> list[str]:
        """List the addresses of a channel from which somebody has written, or is reached."""
        with self._op.read() as unit:
            rows = unit.all("mind.contact_all", now=to_micros(self._op.now), limit=_MOST_CONTACTS)
        return [row["address"] for row in rows if row["channel"] == channel]

    def settle(self) -> int:
        """Send what nobody got to where somebody is reached now; returns how many messages have moved."""
        person, now = self._setup.person, self._op.now
        with self._op.read() as unit:
            planned = moves(unit, person, now)
        if not planned:
            return 0
        with self._op.write("settle") as writing:
            return sum(move(writing.unit, *each, now) for each in moves(writing.unit, person, now))
