"""Matrix, by the client-server API: long polling of /sync from a token that is kept, and sending under our own ids.

There is no end-to-end encryption: an encrypted room is told so, once. The homeserver recognises an event that is sent
again under the same transaction id, so a reply whose answer was lost is sent again and shown once.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from everloom.errors import EverloomError, StoreError
from everloom.mind import IncomingMessage
from everloom.secrets import logger_of
from everloom.surfaces.channels.delivery import Undelivered, Unsure
from everloom.surfaces.channels.services.calls import CALL_SECONDS, Calls, ServiceBusy
from everloom.surfaces.channels.services.formats import as_html
from everloom.surfaces.channels.services.line import ServiceLine, speaker, with_left_out

if TYPE_CHECKING:
    from everloom.surfaces.channels.contract import ChannelSetup

log = logger_of(__name__)

_API = "_matrix/client/v3"
_POLL_SECONDS = 30
_PAGE = 100
# How far back a gap is read: a bot that was away for so long has missed a whole room's history, not messages to it.
_MOST_PAGES = 20
_TEXTS = frozenset(("m.text", "m.emote"))
_ATTACHED = {"m.image": "a photo", "m.audio": "a voice message", "m.video": "a video", "m.file": "a file"}
_ENCRYPTED = (
    "I cannot read encrypted rooms. Please write to me in a room without encryption; it has to be chosen when the room "
    "is made."
)
_FILTER = {
    "presence": {"types": []},
    "account_data": {"types": []},
    "room": {"ephemeral": {"types": []}, "account_data": {"types": []}, "timeline": {"limit": 50}},
}


class Homeserver:
    """The part of the client-server API that is needed."""

    def __init__(self, token: str, base: str) -> None:
        hint = "MATRIX_ACCESS_TOKEN is wrong or was logged out; log in again for a new one"
        self._calls = Calls("Matrix", base, token, hint=hint)
        self._token = f"Bearer {token}"

    def whoami(self) -> str:
        """Return our own id."""
        return str(self.ask("GET", "account/whoami").get("user_id", ""))

    def sync(self, since: str | None, seconds: int) -> Mapping[str, Any]:
        """Wait for what is new since a token; without one, read where everything stands."""
        query = {"timeout": str(seconds * 1000), "filter": json.dumps(_FILTER)} | ({"since": since} if since else {})
        return self.ask("GET", "sync", query=query, seconds=seconds + CALL_SECONDS)

    def before(self, room: str, start: str, end: str) -> tuple[Sequence[Mapping[str, Any]], str | None]:
        """Read a page of a room's events backwards, from one token to another; also where the next page begins."""
        query = {"dir": "b", "from": start, "to": end, "limit": str(_PAGE)}
        found = self.ask("GET", f"rooms/{quote(room, safe='')}/messages", query=query)
        return _mappings(found.get("chunk")), _text(found.get("end"))

    def members(self, room: str) -> dict[str, str]:
        """List who has joined a room, with their names."""
        found = self.ask("GET", f"rooms/{quote(room, safe='')}/joined_members").get("joined")
        joined = found if isinstance(found, dict) else {}
        return {user: str((each or {}).get("display_name") or user) for user, each in joined.items()}

    def body_of(self, room: str, event: str) -> str:
        """Read the text of an event."""
        found = self.ask("GET", f"rooms/{quote(room, safe='')}/event/{quote(event, safe='')}")
        return str(_mapping(found.get("content")).get("body") or "")

    def join(self, room: str) -> None:
        """Accept an invitation."""
        self.ask("POST", f"rooms/{quote(room, safe='')}/join", body={})

    def send(self, room: str, content: Mapping[str, Any], key: str) -> None:
        """Send a message; the same key twice is one message."""
        self.ask("PUT", f"rooms/{quote(room, safe='')}/send/m.room.message/{quote(key, safe='')}", body=content)

    def type(self, room: str, own: str, seconds: float) -> None:
        """Show for some seconds that we are typing."""
        path = f"rooms/{quote(room, safe='')}/typing/{quote(own, safe='')}"
        self.ask("PUT", path, body={"typing": True, "timeout": int(seconds * 1000)})

    def ask(
        self,
        method: str,
        path: str,
        *,
        body: Mapping[str, Any] | None = None,
        query: Mapping[str, str] | None = None,
        seconds: float = CALL_SECONDS,
    ) -> Mapping[str, Any]:
        """Make one call."""
        return self._calls.call(method, f"{_API}/{path}", self._token, body=body, query=query, seconds=seconds).said

    def close(self) -> None:
        """Close the connection; a poll that waits on it fails."""
        self._calls.close()


class MatrixLine(ServiceLine):
    """The channel. An address is a room's id, and behind a space the thread in it."""

    name = "matrix"
    # An event holds at most 65,536 bytes, and the text is in it twice: plain, and as HTML.
    most = 6_000
    typing_seconds = 20.0
    is_repeatable = True

    def __init__(self, server: Homeserver, setup: ChannelSetup) -> None:
        super().__init__(setup, setup.settings.matrix.people, setup.settings.matrix.rooms)
        self._server = server
        self._members: dict[str, dict[str, str]] = {}

    def introduce(self) -> str:
        """Ask the homeserver who we are."""
        self.own = self._server.whoami()
        return self.own

    def receive(self) -> None:
        """Poll until stopped, from where the last run ended."""
        since = self.mark("since")
        while not self.stopped():
            found = self._poll(since)
            self.well()
            since = self._take_all(found, since)

    def _poll(self, since: str | None) -> Mapping[str, Any]:
        try:
            # Where everything stands is not waited for.
            return self._server.sync(since, 0 if since is None else _POLL_SECONDS)
        except Undelivered as error:
            if error.is_final and since is not None:
                log.error("matrix: the homeserver no longer knows where we were; what was said since then is lost")
                self.set_mark("since", None)
            raise

    def _take_all(self, found: Mapping[str, Any], since: str | None) -> str:
        rooms = _mapping(found.get("rooms"))
        for room, state in _mapping(rooms.get("invite")).items():
            self._consider(room, _mapping(state))
        for room, news in _mapping(rooms.get("join")).items():
            try:
                self._look_at(room, _mapping(news), since)
            except Undelivered as error:
                # A room that we were removed from must not keep us from reading all others.
                if not error.is_final:
                    raise
                log.warning("matrix: %s cannot be read: %s", room, error)
        following = _text(found.get("next_batch"))
        if following is None:
            raise Unsure("Matrix's answer to sync has an unexpected format")
        # Only after everything was stored: what stands before the token is not sent again.
        if following != since:
            self.set_mark("since", following)
        return following

    def _consider(self, room: str, state: Mapping[str, Any]) -> None:
        """Accept an invitation by somebody who is allowed; any other is left without an answer."""
        events = _mappings(_mapping(state.get("invite_state")).get("events"))
        invites = [each for each in events if each.get("type") == "m.room.member" and each.get("state_key") == self.own]
        inviter = str(invites[-1].get("sender")) if invites else ""
        if inviter not in self.people and room not in self.rooms:
            self.ignore(inviter or room)
            return
        try:
            self._server.join(room)
        except (StoreError, ServiceBusy, Unsure):
            raise
        except EverloomError as error:
            log.warning("matrix: the invitation to %s could not be accepted: %s", room, error)

    def _look_at(self, room: str, news: Mapping[str, Any], since: str | None) -> None:
        timeline = _mapping(news.get("timeline"))
        events = [*_mappings(timeline.get("events"))]
        state = [*_mappings(_mapping(news.get("state")).get("events")), *events]
        if any(each.get("type") == "m.room.member" for each in state):
            self._members.pop(room, None)
        # What was said before the first run is not answered: it was not said to us.
        if since is None:
            return
        if timeline.get("limited") is True and (start := _text(timeline.get("prev_batch"))):
            events = [*self._missed(room, start, since), *events]
        for event in events:
            self._hear(room, event)

    def _missed(self, room: str, start: str, since: str) -> list[Mapping[str, Any]]:
        """Read what a sync left out, oldest first."""
        found: list[Mapping[str, Any]] = []
        following: str | None = start
        for _ in range(_MOST_PAGES):
            page, following = self._server.before(room, following or start, since)
            found += page
            if following is None or not page:
                break
        else:
            log.warning("matrix: too much was said in %s while nobody read; the oldest of it is left out", room)
        return found[::-1]

    def _hear(self, room: str, event: Mapping[str, Any]) -> None:
        kind, sender, number = event.get("type"), str(event.get("sender")), _text(event.get("event_id"))
        if kind not in {"m.room.message", "m.room.encrypted"} or sender == self.own or number is None:
            return
        if not self._may_speak(room, sender):
            return
        if kind == "m.room.encrypted":
            self._refuse_encrypted(room)
            return
        content = _mapping(event.get("content"))
        related = _mapping(content.get("m.relates_to"))
        if related.get("rel_type") == "m.replace" or not (text := _words_of(content)):
            return
        said, answered = _without_fallback(text) if "m.in_reply_to" in related else (text, "")
        thread = _text(related.get("event_id")) if related.get("rel_type") == "m.thread" else None
        if not (thread and related.get("is_falling_back")):
            answered = answered or self._answered(room, related)
        self.keep(
            IncomingMessage(
                text=said,
                channel=self.name,
                address=f"{room} {thread}" if thread else room,
                key=number,
                sender=speaker(self._members_of(room).get(sender), sender) if room in self.rooms else "",
                quote=answered,
                sender_address=sender,
                place=room if room in self.rooms else sender,
            )
        )

    def _answered(self, room: str, related: Mapping[str, Any]) -> str:
        """Read the text that a message answers; without it the message is still a message."""
        event = _text(_mapping(related.get("m.in_reply_to")).get("event_id"))
        return str(self.attempt(self._server.body_of, room, event) or "") if event else ""

    def _may_speak(self, room: str, sender: str) -> bool:
        if room in self.rooms:
            return True
        if sender not in self.people:
            self.ignore(sender)
            return False
        # Somebody else in the room would read the replies.
        if not self._is_private(room, sender):
            self.ignore(room, "rooms")
            return False
        if self.mark(f"person in {room}") != sender:
            self.set_mark(f"person in {room}", sender)
        return True

    def _is_private(self, room: str, person: str) -> bool:
        return set(self._members_of(room)) <= {self.own, person}

    def _members_of(self, room: str) -> dict[str, str]:
        if room not in self._members:
            self._members[room] = self._server.members(room)
        return self._members[room]

    def _refuse_encrypted(self, room: str) -> None:
        name = f"encrypted {room}"
        if self.mark(name):
            return
        log.warning("matrix: %s is encrypted and cannot be read", room)
        key = "encrypted-" + sha256(room.encode()).hexdigest()[:32]
        self.attempt(self._server.send, room, {"msgtype": "m.notice", "body": _ENCRYPTED}, key)
        self.set_mark(name, True)

    def reaches(self, address: str) -> bool:
        """Say whether a room is listed, or belongs to a person who is."""
        room = address.partition(" ")[0]
        return room in self.rooms or bool(self.own and self.mark(f"person in {room}") in self.people)

    def post(self, address: str, part: str, key: str) -> None:
        """Send one part of a reply, into the thread it belongs to."""
        room, _, thread = address.partition(" ")
        if room not in self.rooms:
            # Asked anew each time: somebody who has joined since would read what is not meant for them.
            self._members.pop(room, None)
            if not self._is_private(room, str(self.mark(f"person in {room}"))):
                raise Undelivered(
                    "somebody else is in the room; list it in matrix.rooms to answer there", is_final=True
                )
        content: dict[str, Any] = {"msgtype": "m.text", "body": part}
        if (html := as_html(part)) is not None and html != f"<p>{part}</p>":
            content |= {"format": "org.matrix.custom.html", "formatted_body": html}
        if thread:
            content["m.relates_to"] = {"rel_type": "m.thread", "event_id": thread}
        self._server.send(room, content, key)

    def show_typing(self, address: str) -> None:
        """Show that a reply is being written."""
        room = address.partition(" ")[0]
        self._server.type(room, self.own, (self.typing_seconds or 0) + 5)

    def close(self) -> None:
        """Close the connection; a poll that waits on it ends."""
        self._server.close()


def matrix_channel(setup: ChannelSetup) -> MatrixLine | None:
    """Make the channel if there is a token."""
    secret = setup.settings.secrets.matrix_access_token
    if secret is None:
        return None
    return MatrixLine(Homeserver(secret.get_secret_value(), setup.settings.matrix.base), setup)


def _words_of(content: Mapping[str, Any]) -> str:
    """Read what a message says, and name what it cannot bring along; empty for what programs say to each other."""
    kind, body = content.get("msgtype"), content.get("body")
    text = body if isinstance(body, str) else ""
    if kind in _TEXTS:
        return text
    if kind in _ATTACHED:
        # A body that is only the name of the file is no caption.
        is_caption = isinstance(content.get("filename"), str) and content.get("filename") != text
        return with_left_out(text if is_caption else "", [_ATTACHED[kind]])
    return with_left_out(text, ["a place"]) if kind == "m.location" else ""


def _without_fallback(text: str) -> tuple[str, str]:
    """Divide a reply into what was said and what older clients quote before it."""
    lines = text.split("\n")
    end = next((place for place, line in enumerate(lines) if not line.startswith(">")), len(lines))
    said = "\n".join(lines[end:]).strip()
    quoted = "\n".join(line.removeprefix(">").strip() for line in lines[:end])
    return (said, quoted) if end and said else (text, "")


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _mappings(value: object) -> list[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
