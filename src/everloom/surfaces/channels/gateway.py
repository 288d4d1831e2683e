"""One process for the conversations of everybody whom the agent talks with: every channel, and a room for each of them.

Everything that waits is in the store: stopping the process in any way loses nothing, and it resumes where it was. Each
part of a channel runs in a thread of its own, and rooms share a bounded number of them; what fails is logged and tried
again without affecting the others.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from threading import Event, Thread
from typing import TYPE_CHECKING

from everloom.errors import EverloomError, NotFound, Rejected
from everloom.kernel.tokens import Tokens
from everloom.mind.people import read_people
from everloom.secrets import logger_of
from everloom.sections import BridgeRule
from everloom.surfaces.channels.bridges import bridges_in
from everloom.surfaces.channels.contract import Channel, ChannelSetup
from everloom.surfaces.channels.kinds import CHANNELS
from everloom.surfaces.channels.marks import SPACE, Marks
from everloom.surfaces.channels.rooms.directory import Directory
from everloom.surfaces.channels.rooms.room import RoomInbox, Rooms, Sender

if TYPE_CHECKING:
    from everloom.loom import Loom, Workspace
    from everloom.surfaces.channels.http import Callback
    from everloom.surfaces.web.serving import Address, StoppableServer

log = logger_of(__name__)

# How much of the time that a turn may take on shutdown, whoever waits for its reply over HTTP does wait.
_WAITED_SHARE = 0.8
# The channel of programs that are no bridge; its module needs the web packages.
_HTTP = "http"


@dataclass(frozen=True, slots=True)
class GatewayPlan:
    """What the gateway runs besides its channels; without a listener there is no HTTP channel."""

    listener: socket.socket | None = None
    address: Address | None = None
    names: tuple[str, ...] = ()
    with_tasks: bool = True


@dataclass(slots=True)
class RunningParts:
    """The channels that are running, and notices about them."""

    channels: dict[str, str] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)


class Gateway:
    """All channels of everybody whom the agent talks with, each in a conversation of their own."""

    def __init__(self, loom: Loom, place: Workspace, plan: GatewayPlan, stop: Event) -> None:
        self._loom = loom
        self._place = place
        self._plan = plan
        self._stop = stop
        self._rooms = Rooms(
            loom, Directory(read_people(loom.settings.people.known), place.name), stop, with_tasks=plan.with_tasks
        )
        self._threads: list[Thread] = []
        self._server: StoppableServer | None = None
        # Why it ended by itself.
        self._failure: EverloomError | None = None
        self._channels: list[Channel] = []
        # The parts of channels, which may wait for their service and cannot be woken.
        self._impatient: set[str] = set()
        self._callbacks: list[Callback] = []
        self._waits_until: float | None = None
        self.running = RunningParts()

    def start(self) -> RunningParts:
        """Start every configured part; a wrong setting raises an error before anything runs."""
        self._prepare_http()
        self._prepare_channels()
        self._rooms.open(self._place.name)
        self._rooms.open_known()
        if recovered := self._rooms.recovered:
            self.running.notices.append(
                f"{recovered} messages may not have arrived when the last run ended; `everloom mind log` lists them"
            )
        for rota in self._rooms.rotas:
            rota.start()
        for thread in self._threads:
            thread.start()
        return self.running

    def wait(self) -> None:
        """Run until stopped, then let every part finish."""
        while not self._stop.wait(1.0):
            pass
        self.close()
        if self._failure is not None:
            raise self._failure

    def close(self) -> None:
        """Stop every part."""
        self._stop.set()
        # A turn that is nearly done may finish; after that it is abandoned, and answered by the next run.
        patience = self._loom.settings.server.stop_seconds
        self._waits_until = time.monotonic() + patience * _WAITED_SHARE
        for rota in self._rooms.rotas:
            rota.end()
        if self._server is not None:
            self._server.should_exit = True
        # A poll may wait for its service for most of a minute and cannot be woken. It is left behind: it has stored
        # nothing yet, and the service sends again what was not confirmed.
        deadline = time.monotonic() + patience
        for thread in (*self._threads, *(thread for rota in self._rooms.rotas for thread in rota.threads)):
            if thread.is_alive():
                is_polling = thread.name in self._impatient
                thread.join(timeout=0.2 if is_polling else max(deadline - time.monotonic(), 0.0))
        if any(rota.threads for rota in self._rooms.rotas):
            self._rooms.leave()
        for channel in self._channels:
            channel.close()
        for callback in self._callbacks:
            callback.close()

    def _add(self, name: str, run: Callable[[], None]) -> None:
        self._threads.append(Thread(target=self._guarded, args=(name, run), name=name, daemon=True))

    def _guarded(self, name: str, run: Callable[[], None]) -> None:
        while True:
            try:
                run()
            except Exception:
                # A part that dies silently would leave people without an answer, and nobody would know why.
                log.exception("%s failed and will be restarted", name)
            if self._stop.wait(1.0):
                return

    def _prepare_channels(self) -> None:
        inbox, marks = RoomInbox(self._rooms), Marks(self._place.records(SPACE))
        setup = ChannelSetup(self._loom.settings, inbox, self._stop, marks)
        for channel in filter(None, (make(setup) for make in CHANNELS)):
            self._channels.append(channel)
            self.running.notices += channel.notices
            self.running.channels[channel.name] = channel.greet()
            self._rooms.serve(channel.name, partial(_sender_of, channel), channel.reaches)
            for name, run in channel.parts().items():
                self._add(name, run)
                self._impatient.add(name)

    def _prepare_http(self) -> None:
        known, secret = self._loom.settings.gateway, self._loom.settings.secrets.everloom_webhook_secret
        if known.callback is not None and secret is None:
            hint = "set EVERLOOM_WEBHOOK_SECRET; it signs what is posted there"
            raise Rejected("gateway.callback is set without a secret", hint=hint)
        bridges = bridges_in(self._loom.settings).with_known(self._rooms.directory.addresses)
        if self._plan.listener is None or self._plan.address is None:
            return
        from everloom.surfaces.channels import http  # noqa: PLC0415  needs the web packages

        for rule in (BridgeRule(http.CHANNEL, known.callback), *bridges.rules.values()):
            self._serve_bridge(rule, bridges.secret(rule.name))

        def enter(workspace: str, writes: bool) -> http.HttpSeat:
            # Whoever may only read opens no room: nothing is answered because of them.
            if not writes:
                return http.HttpSeat(self._loom.workspace(workspace).mind.conversation)
            room = self._rooms.open(workspace)
            return http.HttpSeat(room.conversation, room.wake)

        channel = http.HttpChannel(
            enter,
            self._place.name,
            bridges.shared,
            has_callback=known.callback is not None,
            events_wake=known.events_wake,
            bridges=bridges,
            belongs=self._workspace_of,
            speaks=self._speaker,
            exists=self._has_workspace,
            joined=self._rooms.joined,
            waits_until=lambda: self._waits_until,
        )
        self.running.channels[http.CHANNEL] = self._plan.address.url
        tokens = Tokens(self._loom.store, self._loom.clock)
        self._server = channel.make_server(
            self._plan.address.host, tokens, self._plan.names, self._loom.settings.server
        )
        server, listener = self._server, self._plan.listener
        self._add("http", partial(self._serve, server, listener))

    def _serve(self, server: StoppableServer, listener: socket.socket) -> None:
        """Serve until told to stop; without its socket the gateway ends, so that somebody starts it again."""
        server.run(sockets=[listener])
        if server.failure is not None:
            self._failure = server.failure
            self._stop.set()

    def _workspace_of(self, channel: str, address: str) -> str:
        """Find the workspace of an address of HTTP; a program that only names itself talks with the owner."""
        directory = self._rooms.directory
        is_own = channel == _HTTP and not directory.knows(channel, address)
        return self._place.name if is_own else directory.of(channel, address).workspace

    def _speaker(self, channel: str, address: str, said: str) -> str:
        """Name who speaks, as on every channel; with one person alone the program may say who it is."""
        directory = self._rooms.directory
        if said and not directory.of(channel, address).is_group:
            return said
        return directory.speaker(channel, address, name=said, sender="")

    def _has_workspace(self, name: str) -> bool:
        try:
            self._loom.workspaces.get(name)
        except NotFound:
            return False
        return True

    def _serve_bridge(self, rule: BridgeRule, secret: str | None) -> None:
        """Deliver the replies of a channel over HTTP: to its callback, or to whoever fetches them."""
        from everloom.surfaces.channels import http  # noqa: PLC0415  needs the web packages

        # The first of its addresses is the owner's, and every other one has a conversation of its own.
        self.running.notices += self._rooms.directory.admit(rule.name, rule.addresses)
        how = "replies are posted to its callback" if rule.callback else f"GET /messages?channel={rule.name}"
        self.running.channels[rule.name] = how
        if rule.callback is None or secret is None:
            self._rooms.serve(rule.name)
            return
        url, whose = rule.callback, "gateway.callback" if rule.name == http.CHANNEL else f"the callback of {rule.name}"

        def calls_back(workspace: str) -> Sender:
            self._callbacks.append(http.Callback(url, secret, workspace, whose))
            return self._callbacks[-1].send

        self._rooms.serve(rule.name, calls_back)


def _sender_of(channel: Channel, _workspace: str) -> Sender:
    return channel.send
