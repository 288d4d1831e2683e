"""One call as a request, and one reply as a result or an error: what goes over the wire, without sending it.

Pure: knows no HTTP library and no clock. Errors are those of `errors.py`, with a hint that says what to do.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

from everloom import __version__
from everloom.errors import (
    MEANING,
    Conflict,
    EverloomError,
    Forbidden,
    NotFound,
    ProviderBusy,
    Rejected,
    StoreBusy,
    StoreError,
)
from everloom.jsontext import to_json
from everloom.kernel.answer.whole import as_whole
from everloom.kernel.trust.screen import tell
from everloom.kernel.verbs import Verb
from everloom.remote.decode import Undecodable, result_from
from everloom.secrets import Recognised, masked
from everloom.wiring.faculties import Faculty
from everloom.wiring.wire.annotations import returned_by
from everloom.wiring.wire.protocol import (
    KEY,
    MOST_BYTES,
    ORIGIN_HEADER,
    PROBLEM,
    PROGRAM_HEADER,
    READONLY_HEADER,
    ROOT,
    SESSION_HEADER,
    TIER_HEADER,
    WHOLE_HEADER,
    WORKSPACE_HEADER,
    as_header,
    is_remote,
    path_of,
)

_KINDS = {meaning.mcp_code: kind for kind, meaning in MEANING.items()}
# What is not there now, and what is worth another attempt: a gateway that waited in vain would only wait again.
_BUSY = frozenset({408, 429, 502, 503, 504})
_REPEATED = _BUSY - {504}
# Of what a server says about an error.
_LONGEST = 10_000
_HERE = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True)
class Peer:
    """The server at an address, in the words of errors; never tells a secret."""

    url: str

    @classmethod
    def at(cls, url: str) -> Peer:
        """Check an address; anything but a plain one is refused before a token is sent there."""
        wrong = Rejected("this is not the address of a server", hint="write it like https://memory.example.org")
        try:
            parts = urlsplit(url)
            is_plain = bool(parts.hostname) and parts.port != 0 and not (parts.query or parts.fragment)
        except ValueError:
            raise wrong from None
        if "@" in parts.netloc:
            hint = "leave out what is before the @; a token comes from EVERLOOM_TOKEN, or as `token=`"
            raise Rejected("the address of a server must not contain a user or a password", hint=hint)
        if not is_plain or not is_remote(url) or not url.isprintable():
            raise wrong
        # People copy what a server prints, or what a page shows.
        return cls(url.rstrip("/").removesuffix(ROOT))

    @property
    def is_here(self) -> bool:
        """Whether it is this machine."""
        return urlsplit(self.url).hostname in _HERE

    def unreachable(self, why: str) -> StoreBusy:
        """Make the error for a server that cannot be reached."""
        hint = "is `everloom serve` running there, and is the address right?"
        return StoreBusy(f"{self.url} cannot be reached: {why}", hint=hint)

    def untrusted(self, why: str) -> StoreError:
        """Make the error for a server that does not prove who it is."""
        hint = "check the address and the server's certificate; SSL_CERT_FILE names certificates to trust"
        return StoreError(f"{self.url} does not prove who it is: {why}", hint=hint)

    def silent(self, name: str, why: str) -> StoreBusy:
        """Make the error for a request that may have arrived, without an answer."""
        hint = "look whether it was done before you repeat it"
        return StoreBusy(f"{self.url} did not answer {name}: {why}", hint=hint)

    def strange(self, what: str) -> StoreError:
        """Make the error for an answer that no everloom gives."""
        hint = "check the address: it is what `everloom serve` prints, and nothing in between may change the answers"
        return StoreError(f"{self.url} is no everloom server: {what}", hint=hint)

    def differs(self, other: str | None, what: str) -> StoreError:
        """Make the error for a server of another version."""
        there = f"everloom {other}" if other else "another version"
        return StoreError(
            f"{self.url} {what}: it is {there}, this is {__version__}", hint="use one version on both sides"
        )


@dataclass(frozen=True, slots=True)
class RemoteCaller:
    """Who calls: the workspace, session, tier and origin that each request names, and whether it may write."""

    workspace: str | None = None
    session: str | None = None
    model_tier: str | None = None
    origin: str | None = None
    read_only: bool = False

    @property
    def headers(self) -> dict[str, str]:
        """Write them as headers."""
        named = {
            WORKSPACE_HEADER: self.workspace,
            SESSION_HEADER: self.session,
            TIER_HEADER: self.model_tier,
            ORIGIN_HEADER: self.origin,
            READONLY_HEADER: "1" if self.read_only else None,
        }
        return {name: as_header(value) for name, value in named.items() if value is not None}


@dataclass(frozen=True, slots=True)
class WireRequest:
    """One request. It can be sent again even if it has arrived: a verb only reads, or its write carries a key."""

    name: str
    path: str
    body: bytes = field(repr=False)
    headers: Mapping[str, str]
    verb: Verb


@dataclass(frozen=True, slots=True)
class WireReply:
    """One reply, read to its end; header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)

    @property
    def kind(self) -> str:
        """The type of its body."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def is_busy(self) -> bool:
        """Whether the same request may succeed later."""
        return self.status in _BUSY

    @property
    def is_repeated(self) -> bool:
        """Whether another attempt may make sense, if it is the store that is busy."""
        return self.status in _REPEATED


def request_for(faculty: Faculty, verb: Verb, given: Mapping[str, Any], caller: RemoteCaller) -> WireRequest:
    """Make the request of a call; a write carries a key, so that it can be repeated."""
    if verb.effect.writes and given.get(KEY) is None:
        given = {**given, KEY: uuid4().hex}
    name = f"{faculty.name}.{verb.name}"
    body = to_json({each: _argument(each, value) for each, value in given.items()}).encode()
    if len(body) > MOST_BYTES:
        hint = "divide it among several calls; nothing was written"
        raise Rejected(f"{name} would send {len(body):,} bytes: at most {MOST_BYTES:,}", hint=hint)
    return WireRequest(
        name=name,
        path=path_of(faculty.name, verb.name),
        body=body,
        headers={"content-type": "application/json", WHOLE_HEADER: "1", **caller.headers},
        verb=verb,
    )


def _argument(name: str, value: Any) -> Any:
    """Write an argument as JSON; what JSON would change silently is refused, as it is where the store is."""
    match value:
        case float() if not math.isfinite(value):
            raise Rejected(f"{name} is not a number", hint="give a finite number")
        case datetime() if value.tzinfo is None:
            raise Rejected(f"the time {value.isoformat()} has no time zone", hint="add an offset such as +00:00")
        case Mapping():
            return {str(key): _argument(name, each) for key, each in value.items()}
        case list() | tuple():
            return [_argument(name, each) for each in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: _argument(name, getattr(value, each.name)) for each in fields(value) if each.init}
    return as_whole(value)


def result_of(peer: Peer, request: WireRequest, reply: WireReply) -> Any:
    """Make the result of a call from its reply, or raise its error."""
    if reply.status != 200:
        raise problem_in(peer, request.name, reply)
    answer = _object_in(reply.body)
    if answer is None or PROGRAM_HEADER not in reply.headers:
        raise peer.strange(f"it answered {request.name} with {reply.kind or 'something'} that is not its JSON")
    try:
        result = result_from(returned_by(request.verb.method), answer)
    except Undecodable as error:
        raise peer.differs(reply.headers.get(PROGRAM_HEADER), f"answered {request.name} in another shape") from error
    listed = answer.get("secrets")
    secrets = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    if secrets:
        tell(
            [Recognised(str(each.get("kind")), str(each.get("place"))) for each in secrets], "dealt with by the server"
        )
    return result


def problem_in(peer: Peer, name: str, reply: WireReply) -> EverloomError:
    """Read a reply that is no success as the error that the verb raised there, or as one of the way to it."""
    found = _object_in(reply.body) or {}
    if reply.kind == PROBLEM and isinstance(found.get("code"), str):
        return _problem(peer, name, reply, found)
    if 300 <= reply.status < 400:
        target = masked(reply.headers.get("location", "somewhere else"))[:200]
        return StoreError(f"{peer.url} sends us to {target}", hint="give that address, if you trust it")
    said = found.get("error")
    if not isinstance(said, str):
        if reply.is_busy:
            return StoreBusy(f"{peer.url} cannot answer now (HTTP {reply.status})", hint="try again later")
        return peer.strange(f"it answered {name} with HTTP {reply.status} and {reply.kind or 'nothing'}")
    return _refused(peer, reply, said[:500])


def _problem(peer: Peer, name: str, reply: WireReply, found: Mapping[str, Any]) -> EverloomError:
    if found.get("type") == "about:blank":
        # Not the answer of a verb, but of what stands before all of them.
        if reply.status in {404, 405}:
            return peer.differs(reply.headers.get(PROGRAM_HEADER), f"has no {name}")
        return _refused(peer, reply, str(found.get("detail"))[:500])
    kind = _KINDS.get(found["code"], EverloomError)
    message, hint = str(found.get("detail") or found["code"])[:_LONGEST], found.get("hint")
    hint = hint if isinstance(hint, str) else None
    if issubclass(kind, Conflict):
        return kind(message, hint=hint, current=found.get("current"))
    if issubclass(kind, ProviderBusy):
        after = found.get("retry_after")
        return kind(message, hint=hint, retry_after=after if isinstance(after, int | float) else None)
    return kind(message, hint=hint)


def _refused(peer: Peer, reply: WireReply, said: str) -> EverloomError:
    """Make the error for a request that the gate in front of the server refused."""
    if reply.status == 401:
        hint = "set EVERLOOM_TOKEN, or pass `token=`; `everloom token create` creates one, where the store is"
        return Forbidden(f"{peer.url}: {said}", hint=hint)
    if reply.status == 413:
        return Rejected(f"{peer.url}: {said}", hint="divide it among several calls; nothing was written")
    if reply.is_busy:
        return StoreBusy(f"{peer.url}: {said}", hint="try again later")
    kind = {403: Forbidden, 404: NotFound, 421: Forbidden}.get(reply.status, StoreError)
    return kind(f"{peer.url}: {said}")


def _object_in(body: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
