"""The channel for programs: messages in by POST, replies out by GET, or posted to an address of theirs.

`/messages` is behind the gate like every route of the web; `/webhook` takes a signature instead of a token.
"""

from __future__ import annotations

import json
import logging
import time
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import anyio
from anyio.to_thread import run_sync
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from everloom.errors import EverloomError, Forbidden, meaning_of
from everloom.kernel.texts import LONGEST_TEXT, checked
from everloom.surfaces.channels.delivery import Undelivered
from everloom.surfaces.channels.signing import HEADER, is_signed, signature
from everloom.surfaces.mcp.identity import Pass
from everloom.surfaces.mcp.server import PASS_KEY
from everloom.surfaces.web.doors import Rules
from everloom.surfaces.web.gate import OPEN_PATHS, Gate, Verify
from everloom.surfaces.web.serving import make_server, rules_for

if TYPE_CHECKING:
    import uvicorn

    from everloom.kernel.tokens import Tokens
    from everloom.mind import Conversation, StreamMessage

log = logging.getLogger(__name__)

CHANNEL = "http"
MOST_BYTES = 2**20
LONGEST_WAIT = 60.0
LOOK_EVERY = 0.1
MOST_REPLIES = 200
PAGE, MOST_PAGES = 500, 10
CALLBACK_SECONDS = 20.0


class Handed(BaseModel):
    """A message as a program hands it in; the same `key` twice is one message."""

    model_config = ConfigDict(extra="forbid")

    text: str
    key: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    address: Annotated[str, Field(max_length=200)] = ""
    wait: Annotated[float, Field(ge=0, le=LONGEST_WAIT)] = 0.0


@dataclass(frozen=True, slots=True)
class Desk:
    """What the channel stands on: a conversation, whose it is, and the secret of who may sign."""

    conversation: Conversation
    workspace: str
    secret: str | None = None
    wake: Callable[[], None] = lambda: None
    # Whoever is called back fetches nothing.
    has_callback: bool = False


class Answered(Exception):
    """A request that ends early."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.response = JSONResponse({"error": message}, status)


def make_app(desk: Desk, rules: Rules, verify: Verify) -> ASGIApp:
    """Make the app of the channel, behind the gate."""

    async def messages(request: Request) -> JSONResponse:
        return await guarded(desk, request, post_message if request.method == "POST" else get_messages)

    async def webhook(request: Request) -> JSONResponse:
        return await guarded(desk, request, post_webhook)

    async def health(_request: Request) -> JSONResponse:
        return JSONResponse({"status": "up"})

    routes = [
        Route("/health", health, methods=["GET"]),
        Route("/messages", messages, methods=["GET", "POST"]),
        Route("/webhook", webhook, methods=["POST"]),
    ]
    return Gate(Starlette(routes=routes), rules, verify, open_paths=OPEN_PATHS | {"/webhook"})


def server_of(desk: Desk, host: str, tokens: Tokens, names: tuple[str, ...] = ()) -> uvicorn.Server:
    """Make the server of the channel; beyond this machine it needs a token. It answers to `names` too."""
    rules = rules_for(host, names)
    if rules.needs_token and not tokens.has_valid():
        hint = f"make one with `everloom token create NAME --workspace {desk.workspace}`, or listen on 127.0.0.1"
        raise Forbidden(f"{host} can be reached from other machines, and there is no token yet", hint=hint)

    def verify(secret: str) -> Pass | None:
        token = tokens.verify(secret)
        return None if token is None else Pass(token.name, token.workspace, token.read_only)

    return make_server(make_app(desk, replace(rules, most_bytes=MOST_BYTES), verify), lifespan="off")


async def guarded(desk: Desk, request: Request, act: Callable[[Desk, Request], Any]) -> JSONResponse:
    """Carry a request out; whatever is wrong with it becomes its answer."""
    try:
        found: JSONResponse = await act(desk, request)
    except Answered as early:
        return early.response
    except EverloomError as error:
        return JSONResponse({"error": error.message, "hint": error.hint}, meaning_of(error).http_status)
    return found


async def post_message(desk: Desk, request: Request) -> JSONResponse:
    """Take a message from whoever passed the gate."""
    check_pass(desk, request, writes=True)
    return await take(desk, await request.body(), None)


async def post_webhook(desk: Desk, request: Request) -> JSONResponse:
    """Take a message from whoever knows the secret."""
    if desk.secret is None:
        raise Answered(403, "no webhook is open here; EVERLOOM_WEBHOOK_SECRET opens one")
    body, header = await request.body(), request.headers.get(HEADER)
    if not is_signed(desk.secret, body, header, int(time.time())):
        raise Answered(401, f"the signature is missing, wrong or too old; send {HEADER}: t=SECONDS,v1=HEX")
    # Sent once more within the window it is the same message.
    return await take(desk, body, header)


async def take(desk: Desk, body: bytes, usual_key: str | None) -> JSONResponse:
    """Store a message, and wait for its reply if that is wanted."""
    try:
        handed = Handed.model_validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(step) for step in first["loc"])
        raise Answered(422, f"{place}: {first['msg']}" if place else first["msg"]) from None
    text, key = checked(handed.text, "the text", LONGEST_TEXT), handed.key or usual_key

    def receive() -> StreamMessage:
        return desk.conversation.receive(text, channel=CHANNEL, address=handed.address, key=key)

    message = await run_sync(receive)
    desk.wake()
    reply = await waited(lambda: desk.conversation.reply_to(message.id), handed.wait)
    if reply is not None and not desk.has_callback:
        await run_sync(handed_over, desk.conversation, [reply])
    return JSONResponse({"id": message.id, "reply": None if reply is None else written(reply)}, 200 if reply else 202)


async def get_messages(desk: Desk, request: Request) -> JSONResponse:
    """Give the replies of this channel that are newer than one that is known."""
    only_reads = check_pass(desk, request, writes=False)
    after, wait = number(request, "after", 0, 2**63 - 1), number(request, "wait", 0, int(LONGEST_WAIT))
    address = request.query_params.get("address")
    found = await waited(lambda: replies(desk.conversation, after, address), wait) or []
    if not (desk.has_callback or only_reads):
        await run_sync(handed_over, desk.conversation, found)
    return JSONResponse({"messages": [written(each) for each in found]})


def check_pass(desk: Desk, request: Request, *, writes: bool) -> bool:
    """Refuse a token of another workspace, or one that may only read; says whether it only reads."""
    found = request.scope.get(PASS_KEY)
    if found is None:
        return False
    if found.workspace not in {None, desk.workspace}:
        raise Answered(403, "this token is for another workspace")
    if writes and found.read_only:
        raise Answered(403, "this token may only read")
    return bool(found.read_only)


def number(request: Request, name: str, least: int, most: int) -> int:
    """Read a number from the address."""
    text = request.query_params.get(name, str(least))
    if not (text.isascii() and text.isdecimal() and least <= int(text) <= most):
        raise Answered(422, f"{name} is a number from {least} to {most}")
    return int(text)


async def waited(look: Callable[[], Any], seconds: float) -> Any:
    """Look until something is found or the time is up."""
    deadline = time.monotonic() + seconds
    while True:
        found = await run_sync(look)
        if found or time.monotonic() >= deadline:
            return found
        await anyio.sleep(LOOK_EVERY)


def replies(conversation: Conversation, after: int, address: str | None) -> list[StreamMessage]:
    """List the replies of this channel after one, oldest first; of what is far back only the newest."""
    found: list[StreamMessage] = []
    before = None
    for _ in range(MOST_PAGES):
        page = conversation.log(limit=PAGE, before=before)
        found += [each for each in page if each.direction == "out" and each.channel == CHANNEL and each.id > after]
        if len(page) < PAGE or page[-1].id <= after:
            break
        before = page[-1].id
    kept = [each for each in found if address is None or each.address == address]
    return sorted(kept, key=lambda each: each.id)[:MOST_REPLIES]


def handed_over(conversation: Conversation, found: Sequence[StreamMessage]) -> None:
    """Note that replies were fetched."""
    for each in found:
        if each.state == "unsent":
            conversation.sending(each.id)
            conversation.sent(each.id)


def written(message: StreamMessage) -> dict[str, Any]:
    """Write a reply as programs get it."""
    return {"id": message.id, "text": message.text, "at": message.at.isoformat(), "address": message.address}


class Callback:
    """An address of the other program to which replies are posted, signed; the id tells it what it already has."""

    def __init__(self, url: str, secret: str, workspace: str) -> None:
        import httpx2  # noqa: PLC0415  slow to import

        self._url = url
        self._secret = secret
        self._workspace = workspace
        self._client = httpx2.Client(timeout=CALLBACK_SECONDS, follow_redirects=False)
        weakref.finalize(self, self._client.close)

    def send(self, message: StreamMessage) -> None:
        """Post one reply."""
        import httpx2  # noqa: PLC0415  slow to import

        body = json.dumps({"workspace": self._workspace, **written(message)}, ensure_ascii=False).encode()
        headers = {"content-type": "application/json", HEADER: signature(self._secret, body, int(time.time()))}
        try:
            status = self._client.post(self._url, content=body, headers=headers).status_code
        except (httpx2.RequestError, httpx2.InvalidURL) as error:
            raise Undelivered(f"gateway.callback does not answer ({type(error).__name__})") from None
        if status >= 300:
            is_final = 300 <= status < 500 and status not in {408, 425, 429}
            raise Undelivered(f"gateway.callback answered {status}", is_final=is_final)

    def close(self) -> None:
        """Let go of the connection."""
        self._client.close()
