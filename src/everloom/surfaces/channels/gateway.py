"""One process for a workspace's conversation: one queue of turns, every channel, and the tasks that follow from turns.

Everything that waits is in the store: stopping the process in any way loses nothing, and it resumes where it was. Each
part runs in a thread of its own; one that fails is logged and restarted without affecting the others.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Event, Thread
from typing import TYPE_CHECKING

from everloom.errors import EverloomError, Forbidden, Rejected
from everloom.kernel.tokens import Tokens
from everloom.mind import Queue
from everloom.secrets import logger_of
from everloom.surfaces.channels.delivery import Outbox
from everloom.surfaces.channels.telegram import Bot, Telegram

if TYPE_CHECKING:
    import uvicorn

    from everloom.loom import Loom, Workspace
    from everloom.surfaces.channels.http import Callback
    from everloom.surfaces.web.serving import Address

log = logger_of(__name__)

# Replies of this process are sent at once; the pause bounds the delay of those that another process wrote.
_GLANCE = 0.5
_TASK_SECONDS = 5.0
_TASKS_EVERY = 5.0
# On shutdown a turn that is nearly done may finish; after that it is abandoned, and answered by the next run.
_PATIENCE = 20.0


@dataclass(frozen=True, slots=True)
class GatewayPlan:
    """What the gateway runs besides Telegram; without a listener there is no HTTP channel."""

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
    """All channels of one workspace, with one queue of turns."""

    def __init__(self, loom: Loom, place: Workspace, plan: GatewayPlan, stop: Event) -> None:
        self._loom = loom
        self._place = place
        self._plan = plan
        self._stop = stop
        self._conversation = place.mind.conversation
        self._replies = Event()
        self._queue = Queue(self._conversation, answered=lambda _: self._replies.set())
        self._threads: list[Thread] = []
        self._outboxes: list[Outbox] = []
        self._server: uvicorn.Server | None = None
        self._bot: Bot | None = None
        self._callback: Callback | None = None
        self.running = RunningParts()

    def start(self) -> RunningParts:
        """Start every configured part; a wrong setting raises an error before anything runs."""
        self._prepare_http()
        self._prepare_telegram()
        # Before anything is sent: what the last run was sending when it ended may have arrived, and is not sent again.
        recovered = self._conversation.recover(*self.running.channels)
        if recovered:
            self.running.notices.append(
                f"{recovered} messages may not have arrived when the last run ended; `everloom mind log` lists them"
            )
        self._add("turns", lambda: self._queue.run(self._stop))
        self._add("replies", self._deliver)
        if self._plan.with_tasks:
            self._add("tasks", self._run_tasks)
        for thread in self._threads:
            thread.start()
        return self.running

    def wait(self) -> None:
        """Run until stopped, then let every part finish."""
        while not self._stop.wait(1.0):
            pass
        self.close()

    def close(self) -> None:
        """Stop every part."""
        self._stop.set()
        self._queue.wake()
        self._replies.set()
        if self._server is not None:
            self._server.should_exit = True
        # A poll may wait for Telegram for most of a minute and cannot be woken. It is left behind: it has stored
        # nothing yet, and Telegram sends again what was not confirmed.
        deadline = time.monotonic() + _PATIENCE
        for thread in self._threads:
            if thread.is_alive():
                thread.join(timeout=max(deadline - time.monotonic(), 0.0) if thread.name != "telegram" else 0.2)
        for client in (self._bot, self._callback):
            if client is not None:
                client.close()

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

    def _deliver(self) -> None:
        """Send replies as they appear."""
        while not self._stop.is_set():
            for outbox in self._outboxes:
                try:
                    outbox.clear()
                except EverloomError as error:
                    log.warning("replies could not be sent: %s", error)
            self._replies.wait(_GLANCE)
            self._replies.clear()

    def _run_tasks(self) -> None:
        """Run tasks that follow from turns, and those that are due by the clock."""
        while not self._stop.is_set():
            for outcome in self._loom.work.run_due([self._place.info], seconds=_TASK_SECONDS):
                if outcome.state == "failed":
                    log.warning("the task %s failed: %s", outcome.task, outcome.error)
            self._replies.set()
            self._stop.wait(_TASKS_EVERY)

    def _prepare_telegram(self) -> None:
        known, secret = self._loom.settings.telegram, self._loom.settings.secrets.telegram_bot_token
        if secret is None:
            return
        if not known.chats:
            self.running.notices.append(
                "telegram.chats is empty, so nobody is answered: add the ids of your chats to it"
            )
        self._bot = Bot(secret.get_secret_value(), known.base)
        telegram = Telegram(self._bot, self._conversation, known.chats, stop=self._stop, wake=self._queue.wake)
        self.running.channels["telegram"] = _name_of(telegram)
        self._outboxes.append(Outbox(self._conversation, "telegram", telegram.send, self._loom.clock))
        self._add("telegram", telegram.poll)
        self._add("typing", telegram.typing)

    def _prepare_http(self) -> None:
        known, secret = self._loom.settings.gateway, self._loom.settings.secrets.everloom_webhook_secret
        if known.callback is not None and secret is None:
            hint = "set EVERLOOM_WEBHOOK_SECRET; it signs what is posted there"
            raise Rejected("gateway.callback is set without a secret", hint=hint)
        if self._plan.listener is None or self._plan.address is None:
            return
        from everloom.surfaces.channels import http  # noqa: PLC0415  needs the web packages

        if known.callback is not None and secret is not None:
            self._callback = http.Callback(known.callback, secret.get_secret_value(), self._place.name)
            self._outboxes.append(Outbox(self._conversation, http.CHANNEL, self._callback.send, self._loom.clock))
        own = None if secret is None else secret.get_secret_value()
        channel = http.HttpChannel(
            self._conversation, self._place.name, own, self._queue.wake, has_callback=known.callback is not None
        )
        self.running.channels[http.CHANNEL] = self._plan.address.url
        tokens = Tokens(self._loom.store, self._loom.clock)
        self._server = channel.make_server(self._plan.address.host, tokens, self._plan.names)
        server, listener = self._server, self._plan.listener
        self._add("http", lambda: server.run(sockets=[listener]))


def _name_of(telegram: Telegram) -> str:
    """Ask Telegram for the bot's name; a wrong token is an error, an unreachable Telegram is not."""
    try:
        return telegram.greet()
    except (Forbidden, Rejected):
        raise
    except EverloomError as error:
        log.warning("telegram: %s", error)
        return "not reached yet"
