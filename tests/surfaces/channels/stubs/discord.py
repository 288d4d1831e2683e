"""Discord over real sockets: its gateway with hello, heartbeats, identify and resume, and the REST API.

Strict: who does not identify, beats too late, beats with a number that was never sent, or lacks an intent is closed
with the code that Discord documents.
"""

from __future__ import annotations

import json
import time
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Thread
from typing import Any

from websockets.exceptions import ConnectionClosed
from websockets.sync.server import Server, ServerConnection, serve

from tests.surfaces.channels.stubs.service import ServiceStub
from tests.surfaces.channels.stubs.web import Answered, Asked, WebServer

TOKEN = "MTIz.a-token-that-nobody-may-see"
BOT, ADA, BO, EVE = "1", "11", "12", "13"
HALL, WITH_ADA, WITH_EVE = "100", "101", "102"
# In seconds; Discord's own is 41.25.
INTERVAL = 0.3
PATIENCE = 20.0
NEEDED = (1 << 9) | (1 << 12) | (1 << 15)


@dataclass(eq=False)
class Session:
    """What a session was sent, and up to where it was confirmed."""

    id: str
    events: list[dict[str, Any]] = field(default_factory=list)
    confirmed: int = 0


class DiscordStub(ServiceStub):
    """A server of Discord. Ada is the friend, Bo speaks in the hall, Eve is a stranger."""

    name = "discord"
    secrets = (TOKEN,)
    is_repeatable = True
    longest = 2_000

    def __init__(self) -> None:
        super().__init__()
        self.web = WebServer(self._answer)
        self.history: list[dict[str, Any]] = []
        self.sessions: dict[str, Session] = {}
        self.open: dict[ServerConnection, Session] = {}
        self.read: set[str] = set()
        self.nonces: dict[str, str] = {}
        self.faults: list[str] = []
        self.beats = self.identified = self.resumed = 0
        self.intents = NEEDED
        self.is_mute = False
        self._sockets: Server | None = None

    def settings(self) -> dict[str, dict[str, Any]]:
        """Allow Ada alone, and everybody in the hall."""
        known = {"base": f"{self.web.url}/api/v10", "people": ADA, "rooms": HALL}
        return {"discord": known, "secrets": {"discord_bot_token": TOKEN}}

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
        """Cut every connection; sessions can be resumed."""
        with self.news:
            gone, self.open = self.open, {}
            self.news.notify_all()
        for each in gone:
            each.close_socket()
        self.web.cut()

    def fail(self, how: str) -> None:
        """Let the next sending go wrong."""
        self.faults.append(how)

    def is_connected(self) -> bool:
        """Say whether somebody listens and has beaten once, so that everything before was read."""
        return any(each.confirmed for each in self.open.values())

    def say(self, text: str) -> str:
        """Let Ada write to the agent alone."""
        return self.message(WITH_ADA, ADA, text)

    def say_in_room(self, text: str) -> str:
        """Let Bo write in the hall."""
        return self.message(HALL, BO, text, guild_id="9", member={"nick": "Bo"})

    def say_strange(self, text: str) -> str:
        """Let Eve write to the agent alone."""
        return self.message(WITH_EVE, EVE, text)

    def message(self, room: str, user: str, text: str, **more: Any) -> str:
        """Let somebody write."""
        with self.news:
            event = {
                "id": str(5_000 + len(self.history)),
                "type": 0,
                "channel_id": room,
                "author": {"id": user, "username": f"user{user}"},
                "content": text,
                **more,
            }
            self.history.append(event)
            for session in set(self.open.values()) or set(list(self.sessions.values())[-1:]):
                session.events.append({"op": 0, "t": "MESSAGE_CREATE", "d": event, "s": len(session.events) + 1})
            self.news.notify_all()
        return room

    def waits_for(self, text: str) -> bool:
        """Say whether a message is neither confirmed by a heartbeat nor read, nor passed by whoever reads on."""
        known = [each for each in self.history if each["content"] == text]
        if not known or known[0]["id"] in self.read:
            return not known
        return not any(
            event["s"] <= session.confirmed
            for session in self.sessions.values()
            for event in session.events
            if event["d"].get("id") == known[0]["id"]
        )

    def _talk(self, line: ServerConnection) -> None:
        with suppress(ConnectionClosed):
            line.send(json.dumps({"op": 10, "d": {"heartbeat_interval": int(INTERVAL * 1000)}}))
            first = json.loads(line.recv(timeout=PATIENCE))
            session, seen = self._admit(line, first)
            if session is None:
                return
            Thread(target=self._listen, args=(line, session), daemon=True).start()
            with self.news:
                self.open[line] = session
                while line in self.open and not self.is_stopped:
                    for event in session.events[seen:]:
                        line.send(json.dumps(event))
                    seen = len(session.events)
                    self.news.wait(0.2)

    def _admit(self, line: ServerConnection, said: dict[str, Any]) -> tuple[Session | None, int]:
        given = said.get("d") or {}
        if said.get("op") not in {2, 6}:
            line.close(4003, "not authenticated")
        elif given.get("token") != TOKEN:
            line.close(4004, "authentication failed")
        elif said["op"] == 2 and given.get("intents") != self.intents:
            line.close(4014, "disallowed intents")
        elif said["op"] == 2:
            self.identified += 1
            return self._begin()
        elif (session := self.sessions.get(str(given.get("session_id")))) is None:
            line.send(json.dumps({"op": 9, "d": False}))
        else:
            self.resumed += 1
            return session, int(given["seq"])
        return None, 0

    def _begin(self) -> tuple[Session, int]:
        session = Session(f"session-{len(self.sessions)}")
        with self.news:
            self.sessions[session.id] = session
            assert self._sockets is not None
            url = f"ws://127.0.0.1:{self._sockets.socket.getsockname()[1]}"
            ready = {"v": 10, "user": {"id": BOT}, "session_id": session.id, "resume_gateway_url": url}
            session.events.append({"op": 0, "t": "READY", "d": ready, "s": 1})
        return session, 0

    def _listen(self, line: ServerConnection, session: Session) -> None:
        # The first one comes at a random moment, and may come at once.
        last: float | None = None
        with suppress(ConnectionClosed, TimeoutError):
            while True:
                # Generous, because a busy machine is late without being wrong.
                said = json.loads(line.recv(timeout=PATIENCE))
                number = said.get("d")
                if said.get("op") != 1 or (number is not None and not 0 < number <= len(session.events)):
                    self.complaints.append(f"a wrong heartbeat: {said}")
                    line.close(4002, "decode error")
                    return
                if last is not None and time.monotonic() - last < INTERVAL / 100:
                    self.complaints.append("heartbeats without a pause")
                last = time.monotonic()
                with self.news:
                    self.beats += 1
                    session.confirmed = max(session.confirmed, number or 0)
                if not self.is_mute:
                    line.send(json.dumps({"op": 11}))
        with self.news:
            self.open.pop(line, None)
            self.news.notify_all()

    def _answer(self, asked: Asked) -> Answered:  # noqa: PLR0911  a table of routes
        if asked.headers.get("authorization") != f"Bot {TOKEN}":
            return Answered({"message": "401: Unauthorized", "code": 0}, 401)
        if not asked.headers.get("user-agent", "").startswith("DiscordBot ("):
            return Answered({"message": "banned agent"}, 403)
        match [asked.method, *asked.path.removeprefix("/api/v10/").split("/")]:
            case ["GET", "users", "@me"]:
                return Answered({"id": BOT, "username": "loom", "bot": True})
            case ["GET", "gateway", "bot"]:
                assert self._sockets is not None
                return Answered({"url": f"ws://127.0.0.1:{self._sockets.socket.getsockname()[1]}", "shards": 1})
            case ["POST", "users", "@me", "channels"]:
                return Answered({"id": {ADA: WITH_ADA, EVE: WITH_EVE}[asked.body["recipient_id"]], "type": 1})
            case ["POST", "channels", room, "typing"]:
                self.typed.append(room)
                return Answered(None, 204)
            case ["GET", "channels", room, "messages"]:
                return self._messages(room, asked)
            case ["POST", "channels", room, "messages"]:
                return self._post(room, asked.body)
        return Answered({"message": "404: Not Found"}, 404)

    def _messages(self, room: str, asked: Asked) -> Answered:
        limit, after = int(asked.query.get("limit", "50")), int(asked.query.get("after", "0"))
        own = [each for each in self.history if each["channel_id"] == room]
        found = [each for each in own if int(each["id"]) > after]
        shown = found[:limit] if "after" in asked.query else found[-limit:]
        # Whoever reads on from a message has passed it.
        self.read |= {each["id"] for each in own if int(each["id"]) <= after} if "after" in asked.query else set()
        self.read |= {each["id"] for each in shown} if "after" in asked.query else set()
        # A message that is read back does not say to which server it belongs.
        return Answered([{key: value for key, value in each.items() if key != "guild_id"} for each in shown[::-1]])

    def _post(self, room: str, body: dict[str, Any]) -> Answered:
        fault = self.faults.pop(0) if self.faults else ""
        if fault == "busy":
            return Answered({"message": "rate limited", "retry_after": 0.02, "global": False}, 429)
        if fault == "refused":
            return Answered({"message": "Cannot send messages to this user", "code": 50007}, 403)
        content, nonce = body.get("content") or "", body.get("nonce")
        if not content.strip() or len(content) > self.longest or (nonce is not None and len(str(nonce)) > 25):
            return Answered({"message": "Invalid Form Body", "code": 50035}, 400)
        if not (body.get("enforce_nonce") and nonce in self.nonces):
            self.sent.append((room, content))
            self.nonces[str(nonce)] = room
        return Answered({"id": "1"}, is_dropped=fault == "lost")
