"""Rooms: the conversations that a gateway holds, opened when somebody comes, with the work that each needs.

A room answers its messages, delivers its replies and does its tasks; three rotas do that for all rooms. Nothing of one
room is ever given to another: each has its workspace, and a channel's message reaches it through the directory alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from threading import Event, Lock
from typing import TYPE_CHECKING

from everloom.errors import EverloomError
from everloom.kernel.texts import name_key
from everloom.mind import Queue
from everloom.secrets import logger_of
from everloom.surfaces.channels.delivery import Outbox
from everloom.surfaces.channels.inbox import Inbox
from everloom.surfaces.channels.rooms.directory import Directory
from everloom.surfaces.channels.rooms.rota import Rota

if TYPE_CHECKING:
    from everloom.loom import Loom, Workspace
    from everloom.mind import Conversation, IncomingMessage, StreamMessage

log = logger_of(__name__)

# Messages of this process wake a room; the glance bounds the delay of what other processes wrote.
_GLANCE = 0.5
_TASK_SECONDS = 5.0
_TASKS_EVERY = 5.0
# With more rooms than this, one in which nothing happens is looked at less often.
_FEW = 4
_IDLE_AFTER = 60.0
_IDLE_GLANCE = 5.0
# For how long the store believes that somebody is reached after this process last said so.
_LEASE_SECONDS = 60.0
# How many rooms' replies are sent, and tasks done, at the same time.
_SENDERS = 4
_TASK_THREADS = 2

# Sends messages of a workspace on a channel.
Sender = Callable[["StreamMessage"], None]


@dataclass(eq=False)
class Room:
    """One conversation of the gateway."""

    place: Workspace
    conversation: Conversation
    queue: Queue
    wake: Callable[[], None]
    outboxes: list[Outbox] = field(default_factory=list)
    # Whether a message may be waiting for an answer: only then is it worth looking.
    is_waiting: bool = True
    touched_at: float = field(default_factory=time.monotonic)
    # When to look again where its people are reached.
    looks_at: float = 0.0


class Rooms:
    """All conversations of one gateway."""

    def __init__(self, loom: Loom, directory: Directory, stop: Event, *, with_tasks: bool = True) -> None:
        self._loom = loom
        self._stop = stop
        self._with_tasks = with_tasks
        self._lock = Lock()
        self._rooms: dict[str, Room] = {}
        self._senders: dict[str, Callable[[str], Sender]] = {}
        self._reaches: dict[str, Callable[[str], bool]] = {}
        self._served: list[str] = []
        self.directory = directory
        self.turns = Rota("turns", loom.settings.gateway.turns_at_once, stop)
        self.replies = Rota("replies", _SENDERS, stop)
        self.tasks = Rota("tasks", _TASK_THREADS, stop)
        self.recovered = 0

    @property
    def rotas(self) -> tuple[Rota, ...]:
        """Return what runs in threads."""
        return (self.turns, self.replies, self.tasks)

    def serve(
        self,
        channel: str,
        sender: Callable[[str], Sender] | None = None,
        reaches: Callable[[str], bool] = lambda _: True,
    ) -> None:
        """Deliver on a channel, by what sends for a workspace of some name; call it before any room is opened.

        `reaches` says whether somebody can be reached at an address now.
        """
        self._served.append(channel)
        if sender is not None:
            self._senders[channel] = sender
            self._reaches[channel] = reaches

    def open_known(self) -> None:
        """Open the rooms of everybody who has been here before: what waits there is answered, and tasks are done."""
        names = {name_key(each.name): each.name for each in self._loom.workspaces.list()}
        known = [name for name in self.directory.workspaces() if name_key(name) in names]
        # Those whom only a channel knew: their workspaces are named after it.
        apart = [name for name in names.values() if any(name.startswith(f"{channel} ") for channel in self._served)]
        for name in dict.fromkeys([*known, *apart]):
            try:
                self.open(name)
            except EverloomError as error:
                # Such as a workspace that is being moved: the others need not wait for it.
                log.warning("the conversation in %s could not be opened, and is when somebody writes: %s", name, error)

    def open(self, name: str) -> Room:
        """Open the room of a workspace, which is created on first use."""
        key = name_key(name)
        with self._lock:
            known = self._rooms.get(key)
            if known is not None:
                return known
            room = self._made(name)
            self._rooms[key] = room
        self.turns.add(key, lambda: self._answer(room))
        self.replies.add(key, lambda: self._deliver(room))
        if self._with_tasks:
            self.tasks.add(key, lambda: self._do_tasks(room))
        return room

    def all(self) -> list[Room]:
        """List the rooms that are open."""
        with self._lock:
            return list(self._rooms.values())

    def joined(self, channel: str) -> list[str]:
        """List the workspaces of the open rooms in which people of a channel are."""
        apart = f"{channel} "
        return [
            room.place.name
            for room in self.all()
            if room.place.name.startswith(apart)
            or self.directory.places_of(room.place.name).get(channel)
            or room.place.name == self.directory.home
        ]

    def _made(self, name: str) -> Room:
        place = self._loom.workspace(name)
        key, conversation = name_key(name), place.mind.conversation
        queue = Queue(conversation, answered=lambda _: self.replies.wake(key))

        def wake() -> None:
            room.is_waiting, room.touched_at = True, time.monotonic()
            self.turns.wake(key)

        room = Room(place, conversation, queue, wake)
        # Before anything is sent: what the last run was sending when it ended may have arrived, and is not sent again.
        self.recovered += conversation.recover(*self._served)
        for channel, sender in self._senders.items():
            room.outboxes.append(Outbox(conversation, channel, sender(place.name), self._loom.clock))
        return room

    def _answer(self, room: Room) -> float:
        pause = room.queue.look(self._stop)
        if pause <= 0:
            room.touched_at = time.monotonic()
            return 0.0
        room.is_waiting = room.conversation.ripe_in() is not None
        return pause if room.is_waiting else self._glance(room)

    def leave(self) -> None:
        """Say that nobody is reached through this gateway any more, as far as the store still takes it."""
        for room in self.all():
            for channel in self._reaches:
                try:
                    room.conversation.left(channel)
                except EverloomError as error:
                    log.info("it is found out by itself that nobody is reached on %s: %s", channel, error)

    def _deliver(self, room: Room) -> float:
        try:
            self._look_around(room)
            room.conversation.settle()
        except EverloomError as error:
            log.warning("where people are reached could not be recorded: %s", error)
        for outbox in room.outboxes:
            try:
                outbox.clear()
            except EverloomError as error:
                log.warning("replies could not be sent: %s", error)
        return self._glance(room)

    def _look_around(self, room: Room) -> None:
        """Record from time to time where the people of a room are reached."""
        now = time.monotonic()
        if now < room.looks_at:
            return
        room.looks_at = now + _LEASE_SECONDS / 3
        listed = self.directory.places_of(room.place.name)
        for channel, reaches in self._reaches.items():
            known = dict.fromkeys([*listed.get(channel, ()), *room.conversation.contacts(channel)])
            found = [address for address in known if reaches(address)]
            if found:
                room.conversation.reached(channel, found, _LEASE_SECONDS)

    def _do_tasks(self, room: Room) -> float:
        """Run tasks that follow from turns, and those that are due by the clock."""
        for outcome in self._loom.work.run_due([room.place.info], seconds=_TASK_SECONDS):
            if outcome.state == "failed":
                log.warning("the task %s failed: %s", outcome.task, outcome.error)
        self.replies.wake(name_key(room.place.name))
        return max(_TASKS_EVERY, len(self._rooms) / _FEW)

    def _glance(self, room: Room) -> float:
        is_idle = len(self._rooms) > _FEW and time.monotonic() - room.touched_at > _IDLE_AFTER
        return _IDLE_GLANCE if is_idle else _GLANCE


class RoomInbox(Inbox):
    """The inbox of a gateway: everybody's message reaches their own conversation."""

    def __init__(self, rooms: Rooms) -> None:
        self._rooms = rooms

    def admit(
        self, channel: str, addresses: Iterable[str], is_group: Callable[[str], bool] = lambda _: False
    ) -> tuple[Sequence[str], Sequence[str]]:
        """Take up the addresses that a channel's settings list, beside those of people that are known."""
        directory = self._rooms.directory
        told = directory.admit(channel, addresses, is_group)
        return directory.addresses(channel), told

    def take(self, message: IncomingMessage) -> StreamMessage:
        """Store a message in the conversation of whoever wrote it, and have it answered there."""
        room, named = self._addressed(message)
        taken = room.conversation.take(named)
        room.wake()
        return taken

    def amend(self, message: IncomingMessage) -> StreamMessage | None:
        """Take in an edited message in the conversation of whoever wrote it; None if nothing of it has changed."""
        room, named = self._addressed(message)
        amended = room.conversation.amend(named)
        room.wake()
        return amended

    def _addressed(self, message: IncomingMessage) -> tuple[Room, IncomingMessage]:
        """Find the room of a message, and name its speaker as the directory knows them."""
        directory, sender = self._rooms.directory, message.sender
        place = message.place or message.address
        if message.kind == "message":
            named = {"name": message.sender, "sender": message.sender_address}
            sender = directory.speaker(message.channel, place, **named)
        room = self._rooms.open(directory.of(message.channel, place).workspace)
        return room, replace(message, sender=sender)

    def groups(self, channel: str) -> Sequence[str]:
        """List the addresses of a channel that are groups."""
        return self._rooms.directory.groups(channel)

    def waiting(self, channel: str) -> list[StreamMessage]:
        """List the messages of a channel that are not answered yet, in every conversation."""
        rooms = [room for room in self._rooms.all() if room.is_waiting]
        return [each for room in rooms for each in room.conversation.waiting() if each.channel == channel]
