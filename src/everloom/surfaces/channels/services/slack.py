"""Slack, by Socket Mode: envelopes over a WebSocket, acknowledged after their message is stored, and the Web API.

Slack sends an envelope that is not acknowledged again, but not for long: what was said while nobody listened is read
from the history of each room. It recognises no message that is sent twice, so one that may have arrived stays so.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from everloom.errors import EverloomError, Forbidden
from everloom.mind import IncomingMessage
from everloom.secrets import logger_of
from everloom.surfaces.channels.delivery import Undelivered, Unsure
from everloom.surfaces.channels.services.calls import CallAnswer, Calls, ServiceBusy
from everloom.surfaces.channels.services.line import ServiceLine, speaker, with_left_out
from everloom.surfaces.channels.services.sockets import Socket, require_sockets

if TYPE_CHECKING:
    from everloom.surfaces.channels.contract import ChannelSetup

log = logger_of(__name__)

_GLANCE = 1.0
_HELLO_SECONDS = 20.0
_PAGE = 200
_MOST_PAGES = 20
_WRONG_TOKENS = frozenset(
    "invalid_auth not_authed account_inactive token_revoked token_expired not_allowed_token_type missing_scope".split()
)
_UNCLEAR = frozenset("internal_error fatal_error request_timeout".split())
_BUSY = frozenset("ratelimited rate_limited service_unavailable".split())
# Messages of people; all others tell of changes, or come from programs.
_SAID = frozenset((None, "file_share", "me_message", "thread_broadcast"))
_ATTACHED = {"image": "a photo", "audio": "a voice message", "video": "a video"}
_LINK = re.compile(r"<([^<>|\s]+)(?:\|([^<>]*))?>")


class SlackApi:
    """The part of the Web API that is needed."""

    def __init__(self, app_token: str, bot_token: str, base: str) -> None:
        hint = "SLACK_APP_TOKEN (xapp-…) or SLACK_BOT_TOKEN (xoxb-…) is wrong, revoked, or lacks a scope"
        self._hint = hint
        self._calls = Calls("Slack", base, app_token, bot_token, hint=hint)
        self._app, self._bot = f"Bearer {app_token}", f"Bearer {bot_token}"

    def connection(self) -> str:
        """Ask for the address of a new connection; it holds a ticket."""
        return str(self._ask("apps.connections.open", {}, self._app).get("url", ""))

    def ask(self, method: str, **body: Any) -> Mapping[str, Any]:
        """Call a method as the bot."""
        return self._ask(method, body, self._bot)

    def read(self, method: str, **query: str) -> Mapping[str, Any]:
        """Call a method that only reads; those take no JSON."""
        return self._checked(method, self._calls.call("GET", method, self._bot, query=query))

    def _ask(self, method: str, body: Mapping[str, Any], token: str) -> Mapping[str, Any]:
        return self._checked(method, self._calls.call("POST", method, token, body=body))

    def _checked(self, method: str, answer: CallAnswer) -> Mapping[str, Any]:
        if answer.said.get("ok") is True:
            return answer.said
        raise self._fault(method, str(answer.said.get("error") or "an unexpected format"))

    def _fault(self, method: str, said: str) -> EverloomError:
        what = f"Slack refused {method}: {said[:100]}"
        if said in _WRONG_TOKENS:
            return Forbidden(what, hint=self._hint)
        if said in _BUSY:
            return ServiceBusy(what)
        return Unsure(what) if said in _UNCLEAR else Undelivered(what, is_final=True)

    def close(self) -> None:
        """Close the connections."""
        self._calls.close()


class SlackLine(ServiceLine):
    """The channel. An address is a channel's id, and behind a slash the thread in it."""

    name = "slack"
    # A message in Markdown holds at most 12,000 characters.
    most = 11_000

    def __init__(self, api: SlackApi, setup: ChannelSetup) -> None:
        super().__init__(setup, setup.settings.slack.people, setup.settings.slack.rooms)
        self._api = api
        self._user = ""
        self._names: dict[str, str] = {}
        self._socket: Socket | None = None

    def introduce(self) -> str:
        """Ask Slack who we are, and whether we may connect."""
        found = self._api.ask("auth.test")
        self._api.connection()
        self._user = str(found.get("user_id", ""))
        self.own = f"{found.get('team_id', '')}.{self._user}"
        return f"@{found.get('user', 'the bot')} in {found.get('team', 'Slack')}"

    def receive(self) -> None:
        """Take envelopes until Slack wants another connection, or everything stops."""
        socket = self._socket = Socket("Slack", self._api.connection(), pings=True)
        try:
            hello = socket.hear(_HELLO_SECONDS)
            if hello is None or hello.get("type") != "hello":
                raise ServiceBusy("Slack did not say hello")
            self._catch_up()
            self.well()
            while not self.stopped():
                said = socket.hear(_GLANCE)
                if said is not None and not self._heed(socket, said):
                    return
        finally:
            socket.close()

    def _heed(self, socket: Socket, said: Mapping[str, Any]) -> bool:
        """Do what one envelope asks for; False if Slack ends this connection."""
        if said.get("type") == "disconnect":
            if said.get("reason") == "link_disabled":
                raise Forbidden("Socket Mode is switched off", hint="switch it on in the settings of the Slack app")
            return False
        envelope = said.get("envelope_id")
        if said.get("type") == "events_api":
            event = _mapping(_mapping(said.get("payload")).get("event"))
            if event.get("type") == "message":
                self._take(event, str(event.get("channel")), is_direct=event.get("channel_type") == "im")
        if isinstance(envelope, str):
            # Only now: Slack forgets what is acknowledged.
            socket.tell({"envelope_id": envelope})
        return True

    def _catch_up(self) -> None:
        """Read what was said while nobody listened, in each room and in the talks with each person."""
        for room in sorted(self.rooms):
            self.try_reading(partial(self._read_on, room, is_direct=False), room)
        for person in sorted(self.people):
            self.try_reading(partial(self._read_talk, person), f"the talk with {person}")

    def _read_talk(self, person: str) -> None:
        talk = _mapping(self._api.ask("conversations.open", users=person).get("channel")).get("id")
        if isinstance(talk, str):
            self._read_on(talk, is_direct=True)

    def _read_on(self, room: str, *, is_direct: bool) -> None:
        since = self.mark(f"read {room}")
        if since is None:
            newest = _mappings(self._api.read("conversations.history", channel=room, limit="1").get("messages"))
            self.set_mark(f"read {room}", str(newest[0].get("ts")) if newest else "0")
            return
        missed: list[Mapping[str, Any]] = []
        query = {"channel": room, "oldest": str(since), "limit": str(_PAGE)}
        for _ in range(_MOST_PAGES):
            page = self._api.read("conversations.history", **query)
            missed += _mappings(page.get("messages"))
            query["cursor"] = str(_mapping(page.get("response_metadata")).get("next_cursor") or "")
            if not query["cursor"]:
                break
        for event in sorted(missed, key=lambda each: _when(each.get("ts"))):
            self._take(event, room, is_direct=is_direct)

    def _take(self, event: Mapping[str, Any], room: str, *, is_direct: bool) -> None:
        user, at, thread = event.get("user"), event.get("ts"), event.get("thread_ts")
        is_human = isinstance(user, str) and user != self._user and not event.get("bot_id")
        if not is_human or not isinstance(at, str) or event.get("subtype") not in _SAID:
            return
        if room not in self.rooms and not (is_direct and user in self.people):
            self.ignore(str(user) if is_direct else room, "people" if is_direct else "rooms")
            return
        text = with_left_out(readable(str(event.get("text") or ""), self._user), _attached_to(event))
        if is_direct and self.mark(f"person in {room}") != user:
            self.set_mark(f"person in {room}", user)
        if text:
            is_answer = isinstance(thread, str) and thread != at
            self.keep(
                IncomingMessage(
                    text=text,
                    channel=self.name,
                    address=f"{room}/{thread}" if is_answer else room,
                    key=f"{room}:{at}",
                    sender="" if is_direct else speaker(self._name_of(str(user)), user),
                    sender_address=str(user),
                    place=room if room in self.rooms else str(user),
                )
            )
        if _when(at) > _when(self.mark(f"read {room}")):
            self.set_mark(f"read {room}", at)

    def _name_of(self, user: str) -> str:
        if user not in self._names:
            found = _mapping(_mapping(self.attempt(lambda: self._api.read("users.info", user=user))).get("user"))
            profile = _mapping(found.get("profile"))
            self._names[user] = str(profile.get("display_name") or profile.get("real_name") or found.get("name") or "")
        return self._names[user]

    def reaches(self, address: str) -> bool:
        """Say whether a room is listed, or a talk is with a person who is."""
        room = address.partition("/")[0]
        return room in self.rooms or bool(self.own and self.mark(f"person in {room}") in self.people)

    def post(self, address: str, part: str, key: str) -> None:  # noqa: ARG002  Slack recognises no key
        """Send one part of a reply, into the thread it belongs to."""
        room, _, thread = address.partition("/")
        more = {"thread_ts": thread} if thread else {}
        # Without previews: they would show pages that the person did not ask for.
        quiet = {"unfurl_links": False, "unfurl_media": False}
        self._api.ask("chat.postMessage", channel=room, markdown_text=part, **more, **quiet)

    def close(self) -> None:
        """Close the connections; whatever waits on one ends."""
        if self._socket is not None:
            self._socket.close()
        self._api.close()


def slack_channel(setup: ChannelSetup) -> SlackLine | None:
    """Make the channel if there are tokens."""
    app, bot = setup.settings.secrets.slack_app_token, setup.settings.secrets.slack_bot_token
    if app is None and bot is None:
        return None
    if app is None or bot is None:
        missing = "SLACK_APP_TOKEN" if app is None else "SLACK_BOT_TOKEN"
        raise Forbidden(f"Slack needs two tokens, and {missing} is not set", hint=f"set {missing} too")
    require_sockets("Slack")
    return SlackLine(SlackApi(app.get_secret_value(), bot.get_secret_value(), setup.settings.slack.base), setup)


def readable(text: str, own: str) -> str:
    """Write what Slack marks up as people see it: links, mentions and the three characters that it escapes."""

    def shown(found: re.Match[str]) -> str:
        target, label = found[1], found[2]
        if target == f"@{own}":
            return ""
        if target[0] in "@#!":
            return f"{'#' if target[0] == '#' else '@'}{(label or target[1:]).lstrip('@#')}"
        return f"{label} ({target})" if label and label != target else target

    return html.unescape(_LINK.sub(shown, text)).strip()


def _attached_to(event: Mapping[str, Any]) -> list[str]:
    kinds = [str(each.get("mimetype") or "").partition("/")[0] for each in _mappings(event.get("files"))]
    return [_ATTACHED.get(kind, "a file") for kind in kinds]


def _when(stamp: object) -> float:
    try:
        return float(stamp)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return 0.0


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _mappings(value: object) -> Sequence[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
