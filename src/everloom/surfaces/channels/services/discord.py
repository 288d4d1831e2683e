"""Discord, by its gateway: events over a WebSocket with heartbeats, a session that is resumed, and the REST API.

A heartbeat confirms events only after their messages are stored. After a session is lost, what was said meanwhile is
read from each room. Discord recognises a message with the nonce of another one for some minutes, and not longer.
"""

from __future__ import annotations

import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from everloom.errors import Forbidden
from everloom.mind import IncomingMessage
from everloom.secrets import logger_of
from everloom.surfaces.channels.delivery import Unsure
from everloom.surfaces.channels.services.calls import CallAnswer, Calls, ServiceBusy
from everloom.surfaces.channels.services.line import ServiceLine, speaker, with_left_out
from everloom.surfaces.channels.services.sockets import Socket, SocketClosed, require_sockets

if TYPE_CHECKING:
    from everloom.surfaces.channels.contract import ChannelSetup

log = logger_of(__name__)

_AGENT = "DiscordBot (https://everloom.invalid, 1)"
_GLANCE = 1.0
_HELLO_SECONDS = 20.0
_PAGE = 100
_MOST_PAGES = 50
# Messages in servers, direct messages, and what they contain.
_INTENTS = (1 << 9) | (1 << 12) | (1 << 15)
# A plain message, and one that answers another.
_SAID = frozenset((0, 19))
_ATTACHED = {"image": "a photo", "audio": "a voice message", "video": "a video"}
# Any code but 1000 and 1001 keeps the session, so that it can be resumed.
_KEEPING = 4000
_HOPELESS = {
    4004: "DISCORD_BOT_TOKEN is wrong or was reset",
    4010: "the shard is invalid",
    4011: "the bot is in so many servers that it needs shards",
    4012: "the version of the gateway is no longer served",
    4013: "an intent is invalid",
    4014: "switch on the Message Content Intent of the bot in Discord's developer portal",
}
_SESSION_LOST = frozenset((4003, 4005, 4007, 4009))
# How often and how soon a message whose answer was lost is sent again, while Discord still recognises its nonce.
_REPEATS, _REPEAT_PAUSE = 3, 1.0


@dataclass(slots=True)
class DiscordSession:
    """What is needed to resume: the session, where, and the last event whose message is stored."""

    id: str = ""
    url: str = ""
    stored: int | None = None


class DiscordApi:
    """The part of the REST API that is needed."""

    def __init__(self, token: str, base: str) -> None:
        self.token = token
        self._calls = Calls("Discord", base, token, hint=_HOPELESS[4004], agent=_AGENT)

    def ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> CallAnswer:
        """Make one call."""
        return self._calls.call(method, path, f"Bot {self.token}", body=body)

    def messages(self, room: str, **query: str) -> Sequence[Mapping[str, Any]]:
        """List messages of a room, in the order of their ids."""
        answer = self._calls.call("GET", f"channels/{room}/messages", f"Bot {self.token}", query=query)
        found = [each for each in answer.listed if isinstance(each, dict)]
        return sorted(found, key=lambda each: _number(each.get("id")))

    def close(self) -> None:
        """Close the connections."""
        self._calls.close()


class DiscordLine(ServiceLine):
    """The channel. An address is a channel's id."""

    name = "discord"
    most = 2_000
    typing_seconds = 8.0

    def __init__(self, api: DiscordApi, setup: ChannelSetup) -> None:
        super().__init__(setup, setup.settings.discord.people, setup.settings.discord.rooms)
        self._api = api
        self._session = DiscordSession()
        self._socket: Socket | None = None

    def introduce(self) -> str:
        """Ask Discord who we are."""
        found = self._api.ask("GET", "users/@me").said
        self.own = str(found.get("id", ""))
        return f"@{found.get('username', 'the bot')}"

    def receive(self) -> None:
        """Take events until the connection ends, or everything stops."""
        url = self._session.url or str(self._api.ask("GET", "gateway/bot").said.get("url", ""))
        socket = self._socket = Socket("Discord", f"{url.rstrip('/')}/?v=10&encoding=json", pings=False)
        try:
            self._converse(socket)
        except SocketClosed as closed:
            if closed.code in _SESSION_LOST:
                self._session = DiscordSession()
            if closed.code in _HOPELESS:
                raise Forbidden(f"Discord closed the connection ({closed.code})", hint=_HOPELESS[closed.code]) from None
            raise
        finally:
            socket.close(_KEEPING)

    def _converse(self, socket: Socket) -> None:
        hello = socket.hear(_HELLO_SECONDS)
        if hello is None or hello.get("op") != 10:
            raise ServiceBusy("Discord did not say hello")
        pause = float(_mapping(hello.get("d")).get("heartbeat_interval", 41_250)) / 1000
        socket.tell(self._opening())
        # The first one at a random moment, so that clients that lost the same server do not beat in step.
        due, is_answered = time.monotonic() + pause * random.random(), True
        while not self.stopped():
            said = socket.hear(min(due - time.monotonic(), _GLANCE))
            if said is not None and said.get("op") == 11:
                is_answered = True
            elif said is not None and not self._heed(socket, said):
                return
            if time.monotonic() >= due:
                if not is_answered:
                    raise ServiceBusy("Discord did not answer a heartbeat")
                self._beat(socket)
                due, is_answered = time.monotonic() + pause, False

    def _opening(self) -> Mapping[str, Any]:
        known = self._session
        if known.id:
            return {"op": 6, "d": {"token": self._api.token, "session_id": known.id, "seq": known.stored}}
        device = {"os": "linux", "browser": "everloom", "device": "everloom"}
        return {"op": 2, "d": {"token": self._api.token, "intents": _INTENTS, "properties": device}}

    def _beat(self, socket: Socket) -> None:
        socket.tell({"op": 1, "d": self._session.stored})

    def _heed(self, socket: Socket, said: Mapping[str, Any]) -> bool:
        """Do what one event asks for; False if Discord ends this connection."""
        code = said.get("op")
        if code == 0:
            self._dispatch(str(said.get("t")), _mapping(said.get("d")))
            # Only after it is stored: a heartbeat confirms everything up to here.
            self._session.stored = _number(said.get("s")) or self._session.stored
        elif code == 1:
            self._beat(socket)
        elif code == 9:
            if said.get("d") is not True:
                self._session = DiscordSession()
            # Discord asks for a pause of one to five seconds before the next attempt.
            self.setup.stop.wait(random.uniform(1.0, 5.0))
        return code not in {7, 9}

    def _dispatch(self, kind: str, event: Mapping[str, Any]) -> None:
        if kind == "READY":
            self._catch_up()
            # Only now: a session that is resumed does not read what was said before it.
            self._session.id = str(event.get("session_id", ""))
            self._session.url = str(event.get("resume_gateway_url", ""))
            self.well()
        elif kind == "RESUMED":
            self.well()
        elif kind == "MESSAGE_CREATE":
            self._take(event, is_direct=event.get("guild_id") is None)

    def _catch_up(self) -> None:
        """Read what was said while there was no session, in each room and in the talks with each person."""
        for room in sorted(self.rooms):
            self.try_reading(partial(self._read_on, room, is_direct=False), room)
        for person in sorted(self.people):
            self.try_reading(partial(self._read_talk, person), f"the talk with {person}")

    def _read_talk(self, person: str) -> None:
        talk = self._api.ask("POST", "users/@me/channels", {"recipient_id": person}).said.get("id")
        if isinstance(talk, str):
            self._read_on(talk, is_direct=True)

    def _read_on(self, room: str, *, is_direct: bool) -> None:
        since = self.mark(f"read {room}")
        if since is None:
            newest = self._api.messages(room, limit="1")
            self.set_mark(f"read {room}", str(newest[-1].get("id")) if newest else "0")
            return
        for _ in range(_MOST_PAGES):
            page = self._api.messages(room, after=str(since), limit=str(_PAGE))
            for event in page:
                self._take(event, is_direct=is_direct)
            if len(page) < _PAGE:
                return
            since = str(page[-1].get("id"))

    def _take(self, event: Mapping[str, Any], *, is_direct: bool) -> None:
        author, room, number = _mapping(event.get("author")), str(event.get("channel_id")), str(event.get("id"))
        user = str(author.get("id"))
        if user == self.own or author.get("bot") or event.get("webhook_id") or event.get("type", 0) not in _SAID:
            return
        if room not in self.rooms and not (is_direct and user in self.people):
            self.ignore(user if is_direct else room, "people" if is_direct else "rooms")
            return
        if is_direct and self.mark(f"person in {room}") != user:
            self.set_mark(f"person in {room}", user)
        answered = str(_mapping(event.get("referenced_message")).get("content") or "")
        names = (_mapping(event.get("member")).get("nick"), author.get("global_name"), author.get("username"), user)
        if text := with_left_out(str(event.get("content") or ""), _attached_to(event)):
            self.keep(
                IncomingMessage(
                    text=text,
                    channel=self.name,
                    address=room,
                    key=number,
                    sender="" if is_direct else speaker(*names),
                    quote=answered,
                    sender_address=user,
                    place=room if room in self.rooms else user,
                )
            )
        if _number(number) > _number(self.mark(f"read {room}")):
            self.set_mark(f"read {room}", number)

    def reaches(self, address: str) -> bool:
        """Say whether a room is listed, or a talk is with a person who is."""
        return address in self.rooms or bool(self.own and self.mark(f"person in {address}") in self.people)

    def post(self, address: str, part: str, key: str) -> None:
        """Send one part of a reply; one whose answer was lost is sent again at once, while its nonce is recognised."""
        # Nobody is called by a mention that the model wrote.
        body = {"content": part, "nonce": sha256(key.encode()).hexdigest()[:25], "enforce_nonce": True}
        body["allowed_mentions"] = {"parse": []}
        for _ in range(_REPEATS):
            try:
                self._api.ask("POST", f"channels/{address}/messages", body)
            except Unsure:
                if self.setup.stop.wait(_REPEAT_PAUSE):
                    raise
            else:
                return
        self._api.ask("POST", f"channels/{address}/messages", body)

    def show_typing(self, address: str) -> None:
        """Show that a reply is being written."""
        self._api.ask("POST", f"channels/{address}/typing")

    def close(self) -> None:
        """Close the connections; whatever waits on one ends."""
        if self._socket is not None:
            self._socket.close(_KEEPING)
        self._api.close()


def discord_channel(setup: ChannelSetup) -> DiscordLine | None:
    """Make the channel if there is a token."""
    secret = setup.settings.secrets.discord_bot_token
    if secret is None:
        return None
    require_sockets("Discord")
    return DiscordLine(DiscordApi(secret.get_secret_value(), setup.settings.discord.base), setup)


def _attached_to(event: Mapping[str, Any]) -> list[str]:
    found = event.get("attachments")
    kinds = [str(_mapping(each).get("content_type") or "") for each in found] if isinstance(found, list) else []
    stickers = event.get("sticker_items")
    named = [_ATTACHED.get(kind.partition("/")[0], "a file") for kind in kinds]
    return [*named, "a sticker"] if isinstance(stickers, list) and stickers else named


def _number(value: object) -> int:
    return int(value) if isinstance(value, int) or (isinstance(value, str) and value.isdecimal()) else 0


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
