"""A Matrix homeserver over real HTTP, as the client-server API describes it: sync, invitations, members, transactions.

Strict: an unknown token is refused, an event above 65,536 bytes too, and nobody writes where they have not joined.
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import unquote

from tests.surfaces.channels.stubs.service import PATIENCE, ServiceStub
from tests.surfaces.channels.stubs.web import Answered, Asked, WebServer

TOKEN = "syt_bG9vbQ_a-token-that-nobody-may-see"
BOT, ADA, BO, EVE = "@loom:here.example", "@ada:here.example", "@bo:here.example", "@eve:here.example"
HALL = "!hall:here.example"


class MatrixStub(ServiceStub):
    """The homeserver. Ada is the friend, Bo speaks in the hall, Eve is a stranger."""

    name = "matrix"
    secrets = (TOKEN,)
    is_repeatable = True
    longest = 65_536

    def __init__(self) -> None:
        super().__init__()
        self.web = WebServer(self._answer)
        # Every event and every change in the order in which the server has seen it.
        self.stream: list[dict[str, Any]] = []
        self.members: dict[str, set[str]] = {HALL: {BOT, ADA, BO}}
        self.invited: dict[str, str] = {}
        self.transactions: dict[str, str] = {}
        self.confirmed = 0
        self.polls = 0
        self.faults: list[str] = []
        self.limit = 50

    def settings(self) -> dict[str, dict[str, Any]]:
        """Allow Ada alone, and everybody in the hall."""
        known = {"base": self.web.url, "people": ADA, "rooms": HALL}
        return {"matrix": known, "secrets": {"matrix_access_token": TOKEN}}

    def start(self) -> None:
        """Begin to listen."""
        self.web.start()

    def stop(self) -> None:
        """Stop listening."""
        self.web.stop()

    def cut(self) -> None:
        """Cut every connection."""
        self.polls = 0
        self.web.cut()

    def fail(self, how: str) -> None:
        """Let the next sending go wrong."""
        self.faults.append(how)

    def is_connected(self) -> bool:
        """Say whether somebody polls from a token."""
        return self.polls > 0

    def say(self, text: str) -> str:
        """Let Ada write to the agent alone."""
        room = self.alone_with(ADA)
        self.event(room, ADA, {"msgtype": "m.text", "body": text})
        return room

    def say_in_room(self, text: str) -> str:
        """Let Bo write in the hall."""
        self.event(HALL, BO, {"msgtype": "m.text", "body": text})
        return HALL

    def say_strange(self, text: str) -> str:
        """Let Eve invite the agent, and write where it is a member already."""
        self.invite("!lair:here.example", EVE)
        room = self.alone_with(EVE)
        self.event(room, EVE, {"msgtype": "m.text", "body": text})
        return room

    def alone_with(self, person: str) -> str:
        """Make a room of two."""
        room = f"!{person[1:4]}:here.example"
        self.members.setdefault(room, {BOT, person})
        return room

    def invite(self, room: str, inviter: str) -> None:
        """Invite the agent."""
        with self.news:
            self.members.setdefault(room, {inviter})
            self.invited[room] = inviter
            self.stream.append({"room": room, "invite": inviter})
            self.news.notify_all()

    def event(self, room: str, sender: str, content: dict[str, Any], kind: str = "m.room.message") -> str:
        """Put an event into a room."""
        with self.news:
            number = f"${len(self.stream)}-event"
            event = {"type": kind, "sender": sender, "event_id": number, "content": content, "origin_server_ts": 1}
            self.stream.append({"room": room, "event": event})
            self.news.notify_all()
            return number

    def waits_for(self, text: str) -> bool:
        """Say whether a message is newer than the token of the last sync."""
        places = [place for place, each in enumerate(self.stream) if text in json.dumps(each.get("event"))]
        return not places or places[-1] >= self.confirmed

    def _answer(self, asked: Asked) -> Answered:
        if asked.headers.get("authorization") != f"Bearer {TOKEN}":
            return wrong(401, "M_UNKNOWN_TOKEN", f"Unknown token: {asked.headers.get('authorization')}")
        match [unquote(part) for part in asked.path.removeprefix("/_matrix/client/v3/").split("/")]:
            case ["account", "whoami"]:
                return Answered({"user_id": BOT, "device_id": "LOOM"})
            case ["sync"]:
                return self._sync(asked)
            case ["rooms", room, "join"]:
                return self._join(room)
            case ["rooms", room, *rest]:
                return self._in_room(room, rest, asked)
        return wrong(404, "M_UNRECOGNIZED", "Unrecognized request")

    def _in_room(self, room: str, rest: list[str], asked: Asked) -> Answered:  # noqa: PLR0911  a table of routes
        if BOT not in self.members.get(room, ()):
            return wrong(403, "M_FORBIDDEN", "not in the room")
        match [asked.method, *rest]:
            case ["PUT", "send", "m.room.message", key]:
                return self._send(room, key, asked.body)
            case ["GET", "joined_members"]:
                return Answered({"joined": {user: {"display_name": user[1:3].title()} for user in self.members[room]}})
            case ["GET", "messages"]:
                return self._messages(room, asked)
            case ["GET", "event", number]:
                return next(Answered(event) for _, event in self._events(room) if event["event_id"] == number)
            case ["PUT", "typing", user] if user == BOT and isinstance(asked.body.get("typing"), bool):
                self.typed.append(room)
                return Answered({})
        return wrong(404, "M_UNRECOGNIZED", "Unrecognized request")

    def _join(self, room: str) -> Answered:
        with self.news:
            if room not in self.invited:
                return wrong(403, "M_FORBIDDEN", "you are not invited")
            del self.invited[room]
            self.members[room].add(BOT)
            return Answered({"room_id": room})

    def _send(self, room: str, key: str, content: Any) -> Answered:
        fault = self.faults.pop(0) if self.faults else ""
        if fault == "busy":
            return wrong(429, "M_LIMIT_EXCEEDED", "Too many requests", retry_after_ms=20)
        if fault == "refused":
            return wrong(403, "M_FORBIDDEN", "You may not")
        if not isinstance(content, dict) or not content.get("msgtype") or not isinstance(content.get("body"), str):
            return wrong(400, "M_BAD_JSON", "no message")
        if len(json.dumps(content, ensure_ascii=False).encode()) > self.longest - 500:
            return wrong(413, "M_TOO_LARGE", "event too large")
        with self.news:
            if key not in self.transactions:
                thread = content.get("m.relates_to", {}).get("event_id")
                self.sent.append((f"{room} {thread}" if thread else room, content["body"]))
                event = {"type": "m.room.message", "sender": BOT, "event_id": f"${key}", "content": content}
                self.stream.append({"room": room, "event": event})
                self.transactions[key] = f"${key}"
                self.news.notify_all()
        return Answered({"event_id": self.transactions[key]}, is_dropped=fault == "lost")

    def _sync(self, asked: Asked) -> Answered:
        since = asked.query.get("since")
        if since is not None and not (since.startswith("s") and since[1:].isdecimal()):
            return wrong(400, "M_INVALID_PARAM", "bad token")
        start = 0 if since is None else int(since[1:])
        with self.news:
            self.confirmed = max(self.confirmed, start)
            self.polls += since is not None
            # At most a second, so that the end of a test is not waited for.
            seconds = min(int(asked.query.get("timeout", "0")) / 1000, PATIENCE, 1.0)
            self.news.wait_for(lambda: len(self.stream) > start or self.is_stopped, seconds)
            end = len(self.stream)
            fresh = self.stream[start:end]
        joined = {}
        for room in {each["room"] for each in fresh if BOT in self.members[each["room"]] and "event" in each}:
            events = [each["event"] for each in fresh if each["room"] == room and "event" in each]
            shown = events[-self.limit :]
            is_limited = len(events) > len(shown)
            place = end - 1 - next(i for i, each in enumerate(fresh[::-1]) if each.get("event") is shown[0])
            joined[room] = {"timeline": {"events": shown, "limited": is_limited, "prev_batch": f"s{place}"}}
        invited = {
            each["room"]: {"invite_state": {"events": [self._invitation(each["invite"])]}}
            for each in fresh
            if "invite" in each and each["room"] in self.invited
        }
        return Answered({"next_batch": f"s{end}", "rooms": {"join": joined, "invite": invited}})

    def _invitation(self, inviter: str) -> dict[str, Any]:
        return {
            "type": "m.room.member",
            "sender": inviter,
            "state_key": BOT,
            "content": {"membership": "invite"},
        }

    def _events(self, room: str) -> list[tuple[int, dict[str, Any]]]:
        places = enumerate(self.stream)
        return [(place, each["event"]) for place, each in places if each["room"] == room and "event" in each]

    def _messages(self, room: str, asked: Asked) -> Answered:
        start, end, limit = int(asked.query["from"][1:]), int(asked.query["to"][1:]), int(asked.query["limit"])
        found = [(place, event) for place, event in self._events(room) if end <= place < start][::-1]
        more = {"end": f"s{found[limit - 1][0]}"} if len(found) > limit else {}
        return Answered({"chunk": [event for _, event in found[:limit]], "start": asked.query["from"], **more})


def wrong(status: int, code: str, said: str, **more: Any) -> Answered:
    """Answer as a homeserver does when it refuses."""
    return Answered({"errcode": code, "error": said, **more}, status)
