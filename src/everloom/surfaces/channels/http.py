"""The channel for programs: they send messages by POST and fetch replies by GET, or have them posted to a callback.

A program that brings the messages of another service names its bridge, which is a channel of its own.

`/messages` is behind the gate, like every route; `/webhook` accepts a signature instead of a token.
"""

from __future__ import annotations

import base64
import json
import time
import weakref
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

import anyio
from anyio.to_thread import run_sync
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from everloom.errors import EverloomError, StoreError, meaning_of
from everloom.jsontext import to_json
from everloom.kernel.texts import LONGEST_TEXT, checked
from everloom.mind import IncomingFile, IncomingMessage
from everloom.mind.wording import speaker_name
from everloom.secrets import logger_of
from everloom.sections import ServerSettings
from everloom.surfaces.channels.bridges import Bridges
from everloom.surfaces.channels.delivery import Undelivered
from everloom.surfaces.channels.signing import HEADER, signature, verified
from everloom.surfaces.web.admission import PASS_KEY
from everloom.surfaces.web.entrance import discreet
from everloom.surfaces.web.gate import HEALTH, OPEN_PATHS, Gate, RefusedRequest
from everloom.surfaces.web.serving import Ending, StoppableServer, make_server, patience_of, require_token, rules_for

if TYPE_CHECKING:
    from everloom.kernel.tokens import Token, Tokens
    from everloom.mind import Conversation, StreamMessage

CHANNEL = "http"
# Room for a photo or a document in base64.
_MOST_BYTES = 2**24
_MOST_UNKNOWN_BYTES = 2**20
_LONGEST_WAIT = 60.0
_LOOK_EVERY = 0.1
_MOST_REPLIES = 200
# The log is read backwards for replies of this channel; the bound keeps a request for everything from reading years.
_PAGE, _MOST_PAGES = 500, 10
_CALLBACK_SECONDS = 20.0
# How long after a poll a program still counts as one that comes for replies.
_COMES_AGAIN = 60.0

log = logger_of(__name__)


def _decoded(value: object) -> bytes:
    """Read base64, strictly: what is not quite base64 would be another file."""
    try:
        data = base64.b64decode(value, validate=True) if isinstance(value, str) else b""
    except ValueError:
        data = b""
    if not data:
        raise ValueError("must be the content of a file in base64")
    return data


class _HandedFile(BaseModel):
    """A file that comes with a message; `data` is its content in base64."""

    model_config = ConfigDict(extra="forbid")

    name: Annotated[str, Field(max_length=500)] = "file"
    data: Annotated[bytes, BeforeValidator(_decoded)]


class _HandedIn(BaseModel):
    """A message or an event from a program; the same `key` twice on one channel is one. `source` names a machine."""

    model_config = ConfigDict(extra="forbid")

    text: str = ""
    attachments: Annotated[list[_HandedFile], Field(max_length=100)] = []
    key: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    address: Annotated[str, Field(max_length=200)] = ""
    channel: Annotated[str, Field(min_length=1, max_length=200)] = CHANNEL
    sender: Annotated[str, Field(max_length=200)] = ""
    quote: str = ""
    wait: Annotated[float, Field(ge=0, le=_LONGEST_WAIT)] = 0.0
    kind: Literal["message", "event"] | None = None
    source: Annotated[str, Field(max_length=100)] = ""
    wakes: bool | None = None


def _read(body: bytes) -> _HandedIn:
    try:
        return _HandedIn.model_validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(step) for step in first["loc"])
        raise RefusedRequest(422, f"{place}: {first['msg']}" if place else first["msg"]) from None


@dataclass(frozen=True, slots=True)
class _AskedReplies:
    """Which replies somebody asks for: those of a channel, at one address or all, after an id."""

    channel: str
    address: str | None
    after: int

    def means(self, message: StreamMessage, *, late: bool) -> bool:
        """Say whether a message is one of them; a late one, which nobody has fetched yet, is so at any id."""
        is_here = message.direction == "out" and message.channel == self.channel
        is_new = message.id > self.after or (late and message.state == "unsent")
        return is_here and is_new and self.address in (None, message.address)


@dataclass(frozen=True, slots=True)
class HttpSeat:
    """A conversation as a program takes part in it."""

    conversation: Conversation
    wake: Callable[[], None] = lambda: None


@dataclass(frozen=True, slots=True)
class HttpChannel:
    """Conversations over HTTP: that of the token's workspace, or `workspace` without one.

    `enter` opens the conversation of a workspace, and is told whether it may be written to; `secret` verifies signed
    messages.
    """

    enter: Callable[[str, bool], HttpSeat]
    workspace: str
    secret: str | None = None
    # With a callback, replies are marked as delivered by the outbox, and not when somebody reads them here.
    has_callback: bool = False
    # Whether an event that does not say so causes a turn by itself.
    events_wake: bool = True
    bridges: Bridges = field(default_factory=Bridges)
    # Finds the workspace of an address.
    belongs: Callable[[str, str], str] | None = None
    # Names who speaks at an address, by what a program says about them.
    speaks: Callable[[str, str, str], str] = lambda _channel, _address, said: said
    # Says whether a workspace is there: whoever only asks for replies makes none.
    exists: Callable[[str], bool] = lambda _workspace: True
    # Lists the workspaces of everybody who writes through a bridge.
    joined: Callable[[str], Sequence[str]] = lambda _channel: ()
    # Says, while the gateway stops, until when on the monotonic clock a reply is still waited for.
    waits_until: Callable[[], float | None] = lambda: None

    def make_server(
        self, host: str, tokens: Tokens, names: tuple[str, ...] = (), settings: ServerSettings | None = None
    ) -> StoppableServer:
        """Make the server of the channel; it requires a token unless it listens on this machine only."""
        known = settings or ServerSettings()
        rules = rules_for(host, names, settings=known)
        if rules.needs_token:
            require_token(tokens, host, self.workspace)
        routes = [
            HEALTH,
            Route("/messages", self._messages, methods=["GET", "POST"]),
            Route("/webhook", self._webhook, methods=["POST"]),
        ]
        app = Gate(
            Starlette(routes=routes),
            replace(rules, most_bytes=_MOST_BYTES),
            tokens.verify,
            open_paths=OPEN_PATHS | {"/webhook"},
            is_ending=lambda: self.waits_until() is not None,
        )
        return make_server(app, lifespan="off", patience=patience_of(known), ending=Ending(0.0, known.stop_seconds))

    async def _messages(self, request: Request) -> JSONResponse:
        return await _guard(request, self._post if request.method == "POST" else self._get)

    async def _webhook(self, request: Request) -> JSONResponse:
        return await _guard(request, self._post_signed)

    def _workspace_of(self, channel: str, address: str) -> str:
        """Find the workspace of somebody who writes from an address; what has none is the owner's."""
        return self.workspace if self.belongs is None or not address else self.belongs(channel, address)

    async def _post(self, request: Request) -> JSONResponse:
        """Take a message from a caller that passed the gate."""
        handed = _read(await request.body())
        # Before anything is opened: nobody who is refused leaves a workspace behind.
        self.bridges.admit(handed.channel, CHANNEL, handed.address)
        seat = await self._seat(request, handed.channel, handed.address)
        return await self._take(seat, handed, None, "message")

    async def _post_signed(self, request: Request) -> JSONResponse:
        """Take a message from a caller that knows the secret."""
        body = await _body_within(request, _MOST_UNKNOWN_BYTES)
        claimed = _channel_named_in(body)
        secret = self.bridges.own.get(claimed, self.secret)
        if secret is None:
            raise RefusedRequest(403, "there is no webhook here; set EVERLOOM_WEBHOOK_SECRET to enable it")
        digest = verified(secret, body, _only_header(request, HEADER), int(time.time()))
        if digest is None:
            raise RefusedRequest(401, f"the signature is missing, wrong or too old; send {HEADER}: t=SECONDS,v1=HEX")
        # The digest serves as the key: a captured request that is replayed within the window is the same message.
        # Who signs is a program that reports something. People write through `/messages`, or say so.
        handed = _read(body)
        # A name that two parsers read differently would let one bridge sign for another.
        if claimed != handed.channel:
            raise RefusedRequest(422, "channel: it is named twice")
        self.bridges.admit(handed.channel, CHANNEL, handed.address)
        seat = await run_sync(self.enter, self._workspace_of(handed.channel, handed.address), True)
        return await self._take(seat, handed, f"webhook {digest}", "event")

    async def _take(
        self, seat: HttpSeat, handed: _HandedIn, usual_key: str | None, usual_kind: Literal["message", "event"]
    ) -> JSONResponse:
        """Store a message, and wait for its reply if asked to; an event has none."""
        files = tuple(IncomingFile(name=each.name, data=each.data) for each in handed.attachments)
        text = handed.text if files and not handed.text.strip() else checked(handed.text, "the text", LONGEST_TEXT)
        # What a bridge brings is what people wrote, however it is signed.
        kind = handed.kind or (usual_kind if handed.channel == CHANNEL else "message")
        if kind == "message" and (handed.source or handed.wakes is not None):
            raise RefusedRequest(422, 'source and wakes are for events; add "kind": "event"')
        incoming = IncomingMessage(
            text=text,
            channel=handed.channel,
            address=handed.address,
            key=handed.key or usual_key,
            kind=kind,
            sender=self._speaker(handed, kind),
            quote=handed.quote,
            attachments=files,
            wakes=self.events_wake if handed.wakes is None else handed.wakes,
        )
        message = await run_sync(seat.conversation.take, incoming)
        seat.wake()
        if kind == "event":
            return JSONResponse({"id": message.id, "reply": None}, 202)
        reply = await _wait_for(lambda: seat.conversation.reply_to(message.id), handed.wait, self.waits_until)
        if reply is not None and not self._is_posted(reply.channel):
            await run_sync(seat.conversation.fetched, [reply])
        answer = {"id": message.id, "reply": None if reply is None else _write_reply(reply)}
        return JSONResponse(answer, 200 if reply else 202)

    def _speaker(self, handed: _HandedIn, kind: str) -> str:
        said = speaker_name(handed.source or handed.sender)
        return said if kind == "event" else self.speaks(handed.channel, handed.address, said)

    async def _get(self, request: Request) -> JSONResponse:
        """Return the replies of this channel after a given id."""
        after, wait = _number_in(request, "after", 2**63 - 1), float(_number_in(request, "wait", int(_LONGEST_WAIT)))
        address, channel = request.query_params.get("address"), request.query_params.get("channel", CHANNEL)
        self.bridges.rule(channel, CHANNEL)
        if address:
            self.bridges.admit(channel, CHANNEL, address)
        token: Token | None = request.scope.get(PASS_KEY)
        listen = partial(self._listening, token, channel, address)
        # A token that may only read must not mark replies as delivered: another client is still waiting for them.
        is_receiver = not self._is_posted(channel) and (token is None or not token.read_only)
        for seat in await run_sync(listen) if is_receiver else ():
            await run_sync(_note_presence, seat.conversation, channel, address, wait)

        asked = _AskedReplies(channel, address, after)

        def look() -> list[tuple[HttpSeat, StreamMessage]]:
            seats = listen()
            # Ids of several conversations may become visible out of order: what nobody has fetched comes late.
            late = is_receiver and len(seats) > 1
            heard = [(seat, each) for seat in seats for each in _replies(seat.conversation, asked, late=late)]
            return sorted(heard, key=lambda pair: pair[1].id)[:_MOST_REPLIES]

        # Nothing that was begun is waited for here: what comes later is there for the next one who asks.
        found = await _wait_for(look, wait, lambda: None if self.waits_until() is None else 0.0)
        for seat, reply in found if is_receiver else ():
            await run_sync(seat.conversation.fetched, [reply])
        return JSONResponse({"messages": [_write_reply(reply) for _, reply in found]})

    def _listening(self, token: Token | None, channel: str, address: str | None) -> list[HttpSeat]:
        """Enter the conversations whose replies somebody asks for: a bridge that names no address asks for all."""
        may_write = token is None or not token.read_only
        if token is not None and token.workspace:
            names: Sequence[str] = [token.workspace]
        elif address or channel == CHANNEL:
            names = [self._workspace_of(channel, address or "")]
        else:
            names = self.joined(channel)
        return [self.enter(each, may_write) for each in names if self.exists(each)]

    def _is_posted(self, channel: str) -> bool:
        """Say whether the replies of a channel are posted to a callback, or delivered somewhere else altogether."""
        if channel == CHANNEL:
            return self.has_callback
        rule = self.bridges.rules.get(channel)
        return rule is None or rule.callback is not None

    async def _seat(self, request: Request, channel: str, address: str) -> HttpSeat:
        """Enter the conversation that a token opens, or that an address belongs to; a read-only token may not write."""
        found: Token | None = request.scope.get(PASS_KEY)
        if found is not None and found.read_only:
            raise RefusedRequest(403, "this token may only read")
        bound = None if found is None else found.workspace
        return await run_sync(self.enter, bound or self._workspace_of(channel, address), True)


def _note_presence(conversation: Conversation, channel: str, address: str | None, wait: float) -> None:
    """Record that somebody fetches replies, until they would have come again; what waited elsewhere comes here."""
    # A program that only looks is not where the person is: somebody must have written from there.
    addresses = [each for each in conversation.contacts(channel) if address in (None, each)]
    try:
        if addresses:
            conversation.reached(channel, addresses, wait + _COMES_AGAIN)
            conversation.settle()
    except StoreError as error:
        log.warning("%s: whoever fetches replies could not be noted: %s", channel, error)


def _replies(conversation: Conversation, asked: _AskedReplies, *, late: bool) -> list[StreamMessage]:
    """List the replies that somebody asks for, oldest first; very old ones may be left out."""
    found: list[StreamMessage] = []
    before = None
    for _ in range(_MOST_PAGES):
        page = conversation.log(limit=_PAGE, before=before)
        found += [each for each in page if asked.means(each, late=late)]
        if len(page) < _PAGE or page[-1].id <= asked.after:
            break
        before = page[-1].id
    return sorted(found, key=lambda each: each.id)[:_MOST_REPLIES]


async def _guard(request: Request, act: Callable[[Request], Awaitable[JSONResponse]]) -> JSONResponse:
    """Handle a request; any error becomes its response."""
    try:
        return await act(request)
    except RefusedRequest as refused:
        return refused.response
    except EverloomError as error:
        told = discreet(error)
        return JSONResponse({"error": told.message, "hint": told.hint}, meaning_of(told).http_status)


async def _body_within(request: Request, most: int) -> bytes:
    """Read a body of at most so many bytes: whoever sends it has not shown yet who they are."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > most:
            raise RefusedRequest(413, f"the body has more than {most} bytes; /messages takes larger ones")
    return body


def _only_header(request: Request, name: str) -> str | None:
    """Return a header that was sent exactly once."""
    found = request.headers.getlist(name)
    return found[0] if len(found) == 1 else None


def _channel_named_in(body: bytes) -> str:
    """Read which channel a message claims, before anything else of it is believed; it decides which secret signs it."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return CHANNEL
    named = found.get("channel") if isinstance(found, dict) else None
    return named if isinstance(named, str) else CHANNEL


def _number_in(request: Request, name: str, most: int) -> int:
    text = request.query_params.get(name, "0")
    if not (text.isascii() and text.isdecimal() and int(text) <= most):
        raise RefusedRequest(422, f"{name} must be a number from 0 to {most}")
    return int(text)


async def _wait_for(look: Callable[[], Any], seconds: float, until: Callable[[], float | None]) -> Any:
    """Poll until something is found or the time is up; `until` says whether that is earlier by now."""
    deadline = time.monotonic() + seconds
    while True:
        ends_at = until()
        found = await run_sync(look)
        if found or time.monotonic() >= (deadline if ends_at is None else min(deadline, ends_at)):
            return found
        await anyio.sleep(_LOOK_EVERY)


def _write_reply(message: StreamMessage) -> dict[str, Any]:
    known = {"id": message.id, "text": message.text, "at": message.at.isoformat()}
    return {**known, "channel": message.channel, "address": message.address}


class Callback:
    """The address to which replies are posted, signed; their ids let the receiver ignore repetitions."""

    def __init__(self, url: str, secret: str, workspace: str, name: str = "gateway.callback") -> None:
        import httpx2  # noqa: PLC0415  slow to import

        self._name = name
        self._url = url
        self._secret = secret
        self._workspace = workspace
        self._client = httpx2.Client(timeout=_CALLBACK_SECONDS, follow_redirects=False)
        weakref.finalize(self, self._client.close)

    def send(self, message: StreamMessage) -> None:
        """Post one reply."""
        import httpx2  # noqa: PLC0415  slow to import

        body = to_json({"workspace": self._workspace, **_write_reply(message)}).encode()
        headers = {"content-type": "application/json", HEADER: signature(self._secret, body, int(time.time()))}
        try:
            status = self._client.post(self._url, content=body, headers=headers).status_code
        except (httpx2.RequestError, httpx2.InvalidURL) as error:
            raise Undelivered(f"{self._name} does not answer ({type(error).__name__})") from None
        if status >= 300:
            # A redirect is final too: following it would send the signed reply to an address that nobody configured.
            is_final = 300 <= status < 500 and status not in {408, 425, 429}
            raise Undelivered(f"{self._name} answered {status}", is_final=is_final)

    def close(self) -> None:
        """Close the connection."""
        self._client.close()
