"""Slack over real sockets: the Web API, and Socket Mode with envelopes that must be acknowledged.

Strict: each token for its own methods, a ticket for one connection, no acknowledgement of what was not sent. What is
not acknowledged is sent again on the next connection; what is said while nobody listens is only in the history.
"""

from __future__ import annotations

import json
from contextlib import suppress
from threading import Thread
from typing import Any

from websockets.exceptions import ConnectionClosed
from websockets.sync.server import Server, ServerConnection, serve

from tests.surfaces.channels.stubs.service import ServiceStub
from tests.surfaces.channels.stubs.web import Answered, Asked, WebServer

APP, BOT_TOKEN = "xapp-1-a-token-that-nobody-may-see", "xoxb-1-a-token-that-nobody-may-see"
BOT, ADA, BO, EVE = "U0LOOM", "U0ADA", "U0BO", "U0EVE"
HALL, WITH_ADA, WITH_EVE = "C0HALL", "D0ADA", "D0EVE"


class SlackStub(ServiceStub):
    """A workspace of Slack. Ada is the friend, Bo speaks in the hall, Eve is a stranger."""

    name = "slack"
    secrets = (APP, BOT_TOKEN, "a-ticket-that-nobody-may-see")
    longest = 12_000

    def __init__(self) -> None:
        super().__init__()
        self.web = WebServer(self._answer)
        self.tickets: set[str] = set()
        self.history: list[dict[str, Any]] = []
        self.pending: dict[str, dict[str, Any]] = {}
        self.read: set[str] = set()
        self.open: set[ServerConnection] = set()
        self.faults: list[str] = []
        self._count = 0
        self._sockets: Server | None = None

    def settings(self) -> dict[str, dict[str, Any]]:
        """Allow Ada alone, and everybody in the hall."""
        known = {"base": f"{self.web.url}/api", "people": ADA, "rooms": HALL}
        return {"slack": known, "secrets": {"slack_app_token": APP, "slack_bot_token": BOT_TOKEN}}

    def start(self) -> None:
        """Begin to listen."""
        self.web.start()
        self._sockets = serve(self._talk, "127.0.0.1", 0, close_timeout=0.2)
        Thread(target=self._sockets.serve_forever, daemon=True).start()

    def stop(self) -> None:
        """Stop listening."""
        self.cut()
        assert self._sockets is not None
        self._sockets.shutdown()
        self.web.stop()

    def cut(self) -> None:
        """Cut every connection."""
        with self.news:
            gone, self.open = self.open, set()
            self.news.notify_all()
        for each in gone:
            each.close_socket()
        self.web.cut()

    def fail(self, how: str) -> None:
        """Let the next sending go wrong."""
        self.faults.append(how)

    def is_connected(self) -> bool:
        """Say whether a connection is open."""
        return bool(self.open)

    def say(self, text: str) -> str:
        """Let Ada write to the agent alone."""
        return self.message(WITH_ADA, ADA, text)

    def say_in_room(self, text: str) -> str:
        """Let Bo write in the hall."""
        return self.message(HALL, BO, text)

    def say_strange(self, text: str) -> str:
        """Let Eve write to the agent alone."""
        return self.message(WITH_EVE, EVE, text)

    def message(self, room: str, user: str, text: str, **more: Any) -> str:
        """Let somebody write; where nobody listens, it is only in the history."""
        with self.news:
            self._count += 1
            kind = "im" if room.startswith("D") else "channel"
            event = {"type": "message", "user": user, "text": text, "ts": f"{1000 + self._count}.000100", **more}
            self.history.append({**event, "channel": room})
            if self.open:
                payload = {"event": {**event, "channel": room, "channel_type": kind}, "event_id": f"Ev{self._count}"}
                self.pending[f"env-{self._count}"] = {"type": "events_api", "payload": payload, "retry_attempt": 0}
            self.news.notify_all()
        return room

    def waits_for(self, text: str) -> bool:
        """Say whether a message is neither acknowledged nor read from the history."""
        if any(text == each["payload"]["event"]["text"] for each in self.pending.values()):
            return True
        mine = [each for each in self.history if each["text"] == text]
        return not mine

    def _talk(self, line: ServerConnection) -> None:
        ticket = (line.request.path if line.request else "").rpartition("ticket=")[2]
        if ticket not in self.tickets:
            line.close(4001, "bad ticket")
            return
        self.tickets.discard(ticket)
        line.send(json.dumps({"type": "hello", "num_connections": 1}))
        Thread(target=self._listen, args=(line,), daemon=True).start()
        sent: set[str] = set()
        with self.news:
            self.open.add(line)
            while line in self.open and not self.is_stopped:
                for envelope in [each for each in self.pending if each not in sent]:
                    with suppress(ConnectionClosed):
                        line.send(json.dumps({"envelope_id": envelope, **self.pending[envelope]}))
                    sent.add(envelope)
                    self.pending[envelope]["retry_attempt"] += 1
                self.news.wait(0.2)

    def _listen(self, line: ServerConnection) -> None:
        with suppress(ConnectionClosed):
            for said in line:
                envelope = json.loads(said).get("envelope_id")
                with self.news:
                    if envelope not in self.pending:
                        self.complaints.append(f"an acknowledgement of nothing: {said!r}")
                    self.pending.pop(envelope, None)
        with self.news:
            self.open.discard(line)
            self.news.notify_all()

    def _answer(self, asked: Asked) -> Answered:
        method = asked.path.removeprefix("/api/")
        token = APP if method == "apps.connections.open" else BOT_TOKEN
        if asked.headers.get("authorization") != f"Bearer {token}":
            return Answered({"ok": False, "error": "invalid_auth"})
        if method in {"conversations.history", "users.info"}:
            return self._read(method, asked)
        if asked.method != "POST" or not isinstance(asked.body, dict):
            return Answered({"ok": False, "error": "invalid_arguments"})
        return self._write(method, asked.body)

    def _read(self, method: str, asked: Asked) -> Answered:
        if asked.body is not None:
            return Answered({"ok": False, "error": "invalid_arguments"})
        if method == "users.info":
            profile = {"display_name": "", "real_name": {BO: "Bo"}.get(asked.query["user"], "Somebody")}
            return Answered({"ok": True, "user": {"id": asked.query["user"], "profile": profile}})
        room, oldest, limit = asked.query["channel"], float(asked.query.get("oldest", "0")), int(asked.query["limit"])
        end = float(asked.query.get("cursor") or "inf")
        found = [each for each in self.history if each["channel"] == room and oldest < float(each["ts"]) < end]
        page = [{key: value for key, value in each.items() if key != "channel"} for each in found[::-1][:limit]]
        more = {"response_metadata": {"next_cursor": page[-1]["ts"]}} if len(found) > limit else {}
        return Answered({"ok": True, "messages": page, "has_more": bool(more), **more})

    def _write(self, method: str, body: dict[str, Any]) -> Answered:
        if method == "auth.test":
            return Answered({"ok": True, "user_id": BOT, "team_id": "T1", "user": "loom", "team": "Here"})
        if method == "apps.connections.open":
            assert self._sockets is not None
            self._count += 1
            ticket = f"a-ticket-that-nobody-may-see-{self._count}"
            self.tickets.add(ticket)
            port = self._sockets.socket.getsockname()[1]
            return Answered({"ok": True, "url": f"ws://127.0.0.1:{port}/link/?ticket={ticket}"})
        if method == "conversations.open":
            return Answered({"ok": True, "channel": {"id": {ADA: WITH_ADA, EVE: WITH_EVE}[body["users"]]}})
        return self._post(body) if method == "chat.postMessage" else Answered({"ok": False, "error": "unknown_method"})

    def _post(self, body: dict[str, Any]) -> Answered:
        fault = self.faults.pop(0) if self.faults else ""
        text = body.get("markdown_text")
        if fault == "busy":
            return Answered({"ok": False, "error": "ratelimited"}, 429, {"retry-after": "0"})
        if fault == "refused":
            return Answered({"ok": False, "error": "is_archived"})
        if not isinstance(text, str) or not text or "text" in body:
            return Answered({"ok": False, "error": "no_text"})
        if len(text) > self.longest:
            return Answered({"ok": False, "error": "msg_too_long"})
        thread = body.get("thread_ts")
        self.sent.append((f"{body['channel']}/{thread}" if thread else body["channel"], text))
        return Answered({"ok": True, "ts": "1.0"}, is_dropped=fault == "lost")
