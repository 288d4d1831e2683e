"""HTTP access to a provider: its address, timeouts and retries, and the translation of failures into our errors.

Refuses to know a provider's paths or bodies; the type of a reply is an argument. Never puts a key into a message.
"""

from __future__ import annotations

import json
import random
import re
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from http import HTTPStatus
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from everloom.clock import SystemClock
from everloom.errors import MalformedReply, ProviderBusy, ProviderDenied, ProviderError, Rejected
from everloom.models.text import shortened

if TYPE_CHECKING:
    from ssl import SSLContext

    import httpx2
    from pydantic import BaseModel

_ReplyT = TypeVar("_ReplyT", bound="BaseModel")
_T = TypeVar("_T")
_Body = Mapping[str, object]
_MayRetry = Callable[[], bool]
_SHORTEST = 0.001  # seconds; a timeout may not be zero
_HURRY = 10.0  # seconds for requests whose answer is optional
_DENIALS = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.PAYMENT_REQUIRED, HTTPStatus.FORBIDDEN})
# Some providers report an empty account as a bad request or as a request to slow down, and only words tell.
_UNPAID = re.compile(r"credit balance|billing|insufficient.{1,3}(quota|credit|fund|balance)", re.IGNORECASE)
_NO_SUCH_MODEL = re.compile(r"\bmodel\b", re.IGNORECASE)
_LATER = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS})


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One provider's address; with `needs_key`, nothing may be sent there without a key.

    Knows no HTTP library, so that Anthropic's SDK and our own transport fail in the same way.
    """

    provider: str
    base: str
    key: str | None = field(default=None, repr=False)
    key_name: str = ""
    needs_key: bool = False

    def __post_init__(self) -> None:
        # The address itself is not quoted: it may contain a password.
        if not _is_web_address(self.base):
            hint = "write it like http://127.0.0.1:11434"
            raise Rejected(f"the base URL of {self.provider} is not an HTTP address", hint=hint)

    @property
    def who(self) -> str:
        """The provider and its host, without credentials."""
        return f"{self.provider} at {urlsplit(self.base).hostname}"

    def credential(self) -> str | None:
        """Return the key, after checking that it can be one."""
        # A character that no header may hold fails deep in the HTTP library, with an error that quotes the key.
        if self.key is None and self.needs_key:
            raise ProviderDenied(f"there is no API key for {self.provider}", hint=f"set {self.key_name}")
        if self.key is not None and not (self.key.isascii() and self.key.isprintable() and " " not in self.key):
            raise ProviderDenied(
                f"the API key for {self.provider} contains characters that keys do not have",
                hint=f"check {self.key_name}",
            )
        return self.key

    def unreachable(self, reason: str) -> ProviderBusy:
        """Make the error for a provider that did not answer at all."""
        return ProviderBusy(f"{self.who} did not answer: {reason}", hint="check that it is running and reachable")

    def fault(self, status: int, said: str, retry_after: float | None = None) -> ProviderError:
        """Make the error for a status that is not success, by what the caller can do about it."""
        # What the server said is left out here: OpenAI's own message about a wrong key quotes part of it.
        if status in _DENIALS:
            hint = f"set {self.key_name} to a key that is valid there" if self.key_name else "check its access rules"
            return ProviderDenied(f"{self.who} denied access (HTTP {status})", hint=hint)
        # Some servers repeat the key that they were sent in other messages, too.
        said = shortened(said.replace(self.key, "[key]") if self.key else said)
        if status < HTTPStatus.INTERNAL_SERVER_ERROR and _UNPAID.search(said):
            hint = f"look at the balance and the limits of your account at {self.provider}"
            return ProviderDenied(f"{self.who} does not serve this account (HTTP {status}): {said}", hint=hint)
        if status == HTTPStatus.NOT_FOUND and _NO_SUCH_MODEL.search(said):
            hint = "check the name of the model in llm.large, llm.small or embedder"
            return ProviderDenied(f"{self.who} does not have the model (HTTP {status}): {said}", hint=hint)
        if status in _LATER or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            reason = "asks us to slow down" if status == HTTPStatus.TOO_MANY_REQUESTS else "cannot answer now"
            hint = f"try again in {retry_after:.0f} s" if retry_after is not None else "try again later"
            return ProviderBusy(f"{self.who} {reason} (HTTP {status}): {said}", hint=hint, retry_after=retry_after)
        return ProviderError(f"{self.who} rejected the request (HTTP {status}): {said}")


def _is_web_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """The attempts and seconds that one call may take; `deadline` bounds all attempts together."""

    attempts: int = 4
    first_wait: float = 0.5
    longest_wait: float = 30.0
    connect: float = 5.0
    timeout: float = 300.0
    deadline: float = 600.0

    def wait(self, tried: int, asked: float | None) -> float:
        """Compute how long to wait after `tried` attempts, with jitter, and at least as long as the provider asked."""
        backoff = self.first_wait * 2.0 ** (tried - 1) * random.uniform(0.5, 1.0)
        return max(min(backoff, self.longest_wait), asked or 0.0)


def persist(
    attempt: Callable[[float], _T],
    policy: RetryPolicy,
    *,
    sleep: Callable[[float], None] = time.sleep,
    may_retry: _MayRetry = lambda: True,
) -> _T:
    """Try until it works, the policy is exhausted, or a retry cannot help; `attempt` gets its time limit in seconds."""
    ends = time.monotonic() + policy.deadline
    tried = 0
    while True:
        tried += 1
        try:
            return attempt(max(_SHORTEST, min(policy.timeout, ends - time.monotonic())))
        except ProviderBusy as busy:
            wait = policy.wait(tried, busy.retry_after)
            # If the wait is longer than we are willing to wait, fail at once instead of at its end.
            too_long = wait > min(policy.longest_wait, ends - time.monotonic())
            if too_long or tried >= policy.attempts or not may_retry():
                raise
        sleep(wait)


def read_retry_after(header: str | None, now: datetime) -> float | None:
    """Read a Retry-After header, in seconds or as a date; None when it is unusable."""
    if header is None:
        return None
    try:
        seconds = float(header)
    except ValueError:
        return _seconds_until(header, now)
    # The comparison excludes both `inf` and `nan`, which `float` accepts.
    return max(0.0, seconds) if seconds < float("inf") else None


def _seconds_until(header: str, now: datetime) -> float | None:
    from email.utils import parsedate_to_datetime  # noqa: PLC0415 - slow to import

    try:
        moment = parsedate_to_datetime(header)
    except ValueError:
        return None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (aware - now).total_seconds())


class OptionalFeature:
    """A feature that not every server has: requested until a server rejects it, then never again."""

    def __init__(self, complaint: str) -> None:
        self._complaint = re.compile(complaint)
        self._is_known = True

    def attempt(self, with_it: Callable[[], _T], without: Callable[[], _T]) -> _T:
        """Try with the feature unless it is known to be missing, and without it after a rejection."""
        if self._is_known:
            try:
                return with_it()
            except ProviderError as error:
                # Only a plain rejection is about the request; its subclasses mean that the server is busy, refused or
                # sent something malformed.
                if type(error) is not ProviderError or not self._complaint.search(error.message):
                    raise
            self._is_known = False
        return without()


class Transport:
    """JSON over HTTP to one endpoint; safe to share between threads, and closed when it is garbage-collected."""

    def __init__(self, endpoint: Endpoint, policy: RetryPolicy) -> None:
        self.endpoint = endpoint
        self._policy = policy
        self._client: httpx2.Client | None = None
        self._lock = Lock()

    def post(self, path: str, body: _Body, shape: type[_ReplyT]) -> _ReplyT:
        """Send a body and read the reply as `shape`, with retries as the policy allows."""
        return read_reply(self.stream(path, body, b"".join), shape, self.endpoint)

    def stream(
        self, path: str, body: _Body, read: Callable[[Iterator[bytes]], _T], may_retry: _MayRetry = lambda: True
    ) -> _T:
        """Send a body and pass the response to `read`, with retries as the policy and `may_retry` allow."""
        # A lone surrogate in a stored text becomes a question mark, or that text would fail every request it is in.
        content = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")

        def attempt(timeout: float) -> _T:
            with self._sent(path, content, timeout) as response:
                return read(bounded(response.iter_bytes(), self.endpoint, self._policy.deadline))

        return persist(attempt, self._policy, may_retry=may_retry)

    def upload(self, path: str, content: bytes, content_type: str, shape: type[_ReplyT]) -> _ReplyT:
        """Send a body that is no JSON and read the reply as `shape`, with retries as the policy allows."""

        def attempt(timeout: float) -> bytes:
            with self._sent(path, content, timeout, content_type) as response:
                return b"".join(bounded(response.iter_bytes(), self.endpoint, self._policy.deadline))

        return read_reply(persist(attempt, self._policy), shape, self.endpoint)

    def hurried(self) -> Transport:
        """Make a transport to the same endpoint that tries once and briefly, for optional requests."""
        timeout = min(self._policy.timeout, _HURRY)
        return Transport(self.endpoint, replace(self._policy, attempts=1, timeout=timeout))

    @contextmanager
    def _sent(
        self, path: str, content: bytes, timeout: float, content_type: str = "application/json"
    ) -> Iterator[httpx2.Response]:
        key = self.endpoint.credential()
        headers = {"content-type": content_type} | ({"authorization": f"Bearer {key}"} if key else {})
        url, limits = self.endpoint.base.rstrip("/") + path, limits_within(timeout, self._policy)
        with (
            http_faults(self.endpoint),
            self._open().stream("POST", url, content=content, headers=headers, timeout=limits) as response,
        ):
            # The body of a streamed response is not there until it is read, not even that of an error.
            if not response.is_success:
                response.read()
                retry_after = read_retry_after(response.headers.get("retry-after"), SystemClock().now())
                raise self.endpoint.fault(response.status_code, _message_in(response.text), retry_after)
            yield response

    def _open(self) -> httpx2.Client:
        import httpx2  # noqa: PLC0415 - slow to import

        with self._lock:
            if self._client is None:
                self._client = httpx2.Client(verify=trusted_certificates())
                # Bound to the client only: a finalizer that referred to `self` would keep it alive for ever.
                weakref.finalize(self, self._client.close)
            return self._client


@cache
def trusted_certificates() -> SSLContext:
    """Load the trusted certificates once for all providers: this takes longer than most requests."""
    import httpx2  # noqa: PLC0415 - slow to import

    return httpx2.create_ssl_context()


@contextmanager
def http_faults(endpoint: Endpoint) -> Iterator[None]:
    """Translate the HTTP library's exceptions, including those in the middle of a stream, into our errors."""
    import httpx2  # noqa: PLC0415 - slow to import

    try:
        yield
    except httpx2.DecodingError as error:
        raise MalformedReply(f"{endpoint.who} sent a reply that cannot be decoded") from error
    except (httpx2.RequestError, httpx2.InvalidURL) as error:
        raise endpoint.unreachable(type(error).__name__) from error


def limits_within(timeout: float, policy: RetryPolicy) -> httpx2.Timeout:
    """Make the timeouts of one attempt; connecting gets less time than answering."""
    import httpx2  # noqa: PLC0415 - slow to import

    return httpx2.Timeout(timeout, connect=min(timeout, policy.connect))


def bounded(chunks: Iterable[bytes], endpoint: Endpoint, seconds: float) -> Iterator[bytes]:
    """Give up a stream that takes longer than `seconds`: each chunk resets the client's own timeout."""
    ends = time.monotonic() + seconds
    for chunk in chunks:
        yield chunk
        if time.monotonic() > ends:
            raise endpoint.unreachable(f"its stream took longer than {seconds:.0f} s")


def read_reply(content: bytes, shape: type[_ReplyT], endpoint: Endpoint) -> _ReplyT:
    """Read a body as `shape`, or raise an error that says where it differs."""
    from pydantic import ValidationError  # noqa: PLC0415 - slow to import

    try:
        return shape.model_validate_json(content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(step) for step in first["loc"])
        detail = f"{place}: {first['msg']}" if place else first["msg"]
        raise MalformedReply(f"{endpoint.who} sent a reply in an unexpected format ({detail})") from error


def _message_in(text: str) -> str:
    """Find the message in the body of an error."""
    # OpenAI and Anthropic nest it as error.message, Ollama sends a plain `error`, FastAPI servers a `detail`.
    try:
        found: Any = json.loads(text)
    except (ValueError, RecursionError):
        return text
    for step in ("error", "message", "detail"):
        if isinstance(found, dict) and found.get(step):
            found = found[step]
    return found if isinstance(found, str) else text
