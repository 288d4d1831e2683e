"""The way to Anthropic's official SDK: one client, opened on first use, whose failures are our own.

Knows nothing of what is asked. The SDK is imported on first use, as that takes seconds.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING

from everloom.clock import Clock, SystemClock
from everloom.errors import MalformedReply, ProviderError
from everloom.models.endpoint import Endpoint
from everloom.models.patience import read_retry_after
from everloom.models.transport import trusted

if TYPE_CHECKING:
    from anthropic import Anthropic, APIStatusError


class Sdk:
    """One client of the SDK; safe to share between threads, and closed when nobody holds it any more."""

    def __init__(self, endpoint: Endpoint, clock: Clock | None = None) -> None:
        self.endpoint = endpoint
        self._clock = clock or SystemClock()
        self._client: Anthropic | None = None
        self._lock = Lock()

    def open(self) -> Anthropic:
        """Hand out the client."""
        try:
            from anthropic import Anthropic, DefaultHttpxClient  # noqa: PLC0415 - slow to import
        except ImportError as error:
            hint = "pip install 'everloom[anthropic]'"
            raise ProviderError("the anthropic package is not installed", hint=hint) from error
        with self._lock:
            if self._client is None:
                # Key and address are given, so that the SDK does not look for them in the environment.
                key = self.endpoint.credential() or "none"
                self._client = Anthropic(
                    api_key=key,
                    base_url=self.endpoint.base,
                    max_retries=0,
                    open_telemetry=False,
                    http_client=DefaultHttpxClient(verify=trusted()),
                )
                weakref.finalize(self, self._client.close)
            return self._client

    @contextmanager
    def faults(self) -> Iterator[None]:
        """Turn what the SDK and its HTTP library raise, also in the middle of a stream, into our errors."""
        import httpx2  # noqa: PLC0415 - slow to import
        from anthropic import APIConnectionError, APIStatusError  # noqa: PLC0415 - slow to import

        try:
            yield
        except APIStatusError as error:
            raise self._fault(error) from error
        except APIConnectionError as error:
            raise self.endpoint.unreachable(type(error.__cause__ or error).__name__) from error
        except httpx2.DecodingError as error:
            raise MalformedReply(f"{self.endpoint.who} sent a reply that cannot be decoded") from error
        except httpx2.RequestError as error:
            raise self.endpoint.unreachable(type(error).__name__) from error

    def _fault(self, error: APIStatusError) -> ProviderError:
        retry_after = read_retry_after(error.response.headers.get("retry-after"), self._clock.now())
        return self.endpoint.fault(error.status_code, error.api_message or error.message, retry_after)
