"""JSON over HTTP: one question, one validated answer or a stream, with timeouts, retries and our own errors.

Knows no provider's paths or bodies; a reply's shape is the caller's argument.
"""

from __future__ import annotations

import json
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from ssl import SSLContext
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ValidationError

from everloom.clock import Clock, SystemClock
from everloom.errors import MalformedReply, ProviderError
from everloom.models.endpoint import Endpoint
from everloom.models.events import bounded
from everloom.models.patience import Patience, Sleep, persist, read_retry_after

if TYPE_CHECKING:
    import httpx2

ReplyT = TypeVar("ReplyT", bound=BaseModel)
Read = TypeVar("Read")
_HURRY = 10.0  # seconds


class Transport:
    """A way to one endpoint; safe to share between threads, and closed when nobody holds it any more."""

    def __init__(
        self, endpoint: Endpoint, patience: Patience, *, sleep: Sleep = time.sleep, clock: Clock | None = None
    ) -> None:
        self.endpoint = endpoint
        self._patience = patience
        self._sleep = sleep
        self._clock = clock or SystemClock()
        self._client: httpx2.Client | None = None
        self._lock = Lock()

    def post(self, path: str, body: Mapping[str, object], shape: type[ReplyT]) -> ReplyT:
        """Send a body and read the reply as `shape`, trying again while patience lasts."""
        content = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        reply = persist(lambda timeout: self._attempt(path, content, timeout), self._patience, sleep=self._sleep)
        return read_reply(reply, shape, self.endpoint)

    def stream(
        self,
        path: str,
        body: Mapping[str, object],
        read: Callable[[Iterator[bytes]], Read],
        may_retry: Callable[[], bool],
    ) -> Read:
        """Send a body and hand what arrives to `read`, trying again while patience lasts and `may_retry` allows it."""
        content = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")

        def attempt(timeout: float) -> Read:
            with self._sent(path, content, timeout) as response:
                return read(bounded(response.iter_bytes(), self.endpoint, self._patience.deadline))

        return persist(attempt, self._patience, sleep=self._sleep, may_retry=may_retry)

    def hurried(self) -> Transport:
        """Make a way to the same endpoint that tries once and not for long, for what can be done without."""
        timeout = min(self._patience.timeout, _HURRY)
        return Transport(self.endpoint, replace(self._patience, attempts=1, timeout=timeout), sleep=self._sleep)

    def _attempt(self, path: str, content: bytes, timeout: float) -> bytes:
        with self._sent(path, content, timeout) as response:
            return response.read()

    @contextmanager
    def _sent(self, path: str, content: bytes, timeout: float) -> Iterator[httpx2.Response]:
        import httpx2  # noqa: PLC0415 - slow to import

        key = self.endpoint.credential()
        headers = {"content-type": "application/json"} | ({"authorization": f"Bearer {key}"} if key else {})
        url, limits = self.endpoint.url(path), within(timeout, self._patience)
        try:
            with self._open().stream("POST", url, content=content, headers=headers, timeout=limits) as response:
                if not response.is_success:
                    response.read()
                    raise self._fault(response)
                yield response
        except httpx2.DecodingError as error:
            raise MalformedReply(f"{self.endpoint.who} sent a reply that cannot be decoded") from error
        except (httpx2.RequestError, httpx2.InvalidURL) as error:
            raise self.endpoint.unreachable(type(error).__name__) from error

    def _fault(self, response: httpx2.Response) -> ProviderError:
        retry_after = read_retry_after(response.headers.get("retry-after"), self._clock.now())
        return self.endpoint.fault(response.status_code, message_in(response.text), retry_after)

    def _open(self) -> httpx2.Client:
        import httpx2  # noqa: PLC0415 - slow to import

        with self._lock:
            if self._client is None:
                self._client = httpx2.Client(verify=trusted())
                weakref.finalize(self, self._client.close)
            return self._client


@cache
def trusted() -> SSLContext:
    """Load the machine's trusted certificates, once for all providers: it takes longer than most requests."""
    import httpx2  # noqa: PLC0415 - slow to import

    return httpx2.create_ssl_context()


def within(timeout: float, patience: Patience) -> httpx2.Timeout:
    """Bound one attempt; a host that cannot even be reached is given up sooner."""
    import httpx2  # noqa: PLC0415 - slow to import

    return httpx2.Timeout(timeout, connect=min(timeout, patience.connect))


def read_reply(content: bytes, shape: type[ReplyT], endpoint: Endpoint) -> ReplyT:
    """Read a body as `shape`, or say where it is of another."""
    try:
        return shape.model_validate_json(content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(step) for step in first["loc"])
        detail = f"{place}: {first['msg']}" if place else first["msg"]
        raise MalformedReply(f"{endpoint.who} answered in another shape ({detail})") from error


def message_in(text: str) -> str:
    """Find what a server's error body says, whatever dialect it speaks."""
    try:
        found: Any = json.loads(text)
    except (ValueError, RecursionError):
        return text
    for step in ("error", "message", "detail"):
        if isinstance(found, dict) and found.get(step):
            found = found[step]
    return found if isinstance(found, str) else text
