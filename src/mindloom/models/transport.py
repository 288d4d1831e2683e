"""JSON over HTTP: one question, one validated answer, with timeouts, retries and our own errors.

Knows no provider's paths or bodies; a reply's shape is the caller's argument.
"""

from __future__ import annotations

import json
import time
import weakref
from collections.abc import Mapping
from functools import cache
from ssl import SSLContext
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ValidationError

from mindloom.clock import Clock, SystemClock
from mindloom.errors import MalformedReply
from mindloom.models.endpoint import Endpoint
from mindloom.models.patience import Patience, Sleep, persist, read_retry_after

if TYPE_CHECKING:
    import httpx2

ReplyT = TypeVar("ReplyT", bound=BaseModel)


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

    def _attempt(self, path: str, content: bytes, timeout: float) -> bytes:
        import httpx2  # noqa: PLC0415 - slow to import

        key = self.endpoint.credential()
        headers = {"content-type": "application/json"} | ({"authorization": f"Bearer {key}"} if key else {})
        url, limits = self.endpoint.url(path), within(timeout, self._patience)
        try:
            response = self._open().post(url, content=content, headers=headers, timeout=limits)
        except httpx2.DecodingError as error:
            raise MalformedReply(f"{self.endpoint.who} sent a reply that cannot be decoded") from error
        except (httpx2.RequestError, httpx2.InvalidURL) as error:
            raise self.endpoint.unreachable(type(error).__name__) from error
        if not response.is_success:
            retry_after = read_retry_after(response.headers.get("retry-after"), self._clock.now())
            raise self.endpoint.fault(response.status_code, message_in(response.text), retry_after)
        return response.content

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
