"""Access to Anthropic's official SDK: one client, opened on first use, whose exceptions become our errors.

Refuses to know what is asked. The SDK is imported on first use, because that takes seconds.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, TypeVar

from everloom.clock import SystemClock
from everloom.errors import ProviderError
from everloom.models import transport
from everloom.models.transport import Endpoint, RetryPolicy

if TYPE_CHECKING:
    from anthropic import Anthropic
    from httpx2 import Timeout

_T = TypeVar("_T")


class AnthropicClient:
    """One client of the SDK; safe to share between threads, and closed when it is garbage-collected."""

    def __init__(self, endpoint: Endpoint, policy: RetryPolicy) -> None:
        self.endpoint = endpoint
        self.policy = policy
        self._sdk: Anthropic | None = None
        self._lock = Lock()

    def persist(self, attempt: Callable[[Anthropic, Timeout], _T], may_retry: Callable[[], bool] = lambda: True) -> _T:
        """Try as the policy and `may_retry` allow; an attempt gets the SDK's client and its timeouts."""
        # The first import takes seconds, which must not count against the deadline.
        self._open()
        return transport.persist(lambda timeout: self.try_once(attempt, timeout), self.policy, may_retry=may_retry)

    def try_once(self, attempt: Callable[[Anthropic, Timeout], _T], timeout: float) -> _T:
        """Try once; the SDK's exceptions become our errors."""
        sdk = self._open()
        with transport.http_faults(self.endpoint), self._faults():
            return attempt(sdk, transport.limits_within(timeout, self.policy))

    def _open(self) -> Anthropic:
        try:
            from anthropic import Anthropic, DefaultHttpxClient  # noqa: PLC0415 - slow to import
        except ImportError as error:
            hint = "pip install 'everloom[anthropic]'"
            raise ProviderError("the anthropic package is not installed", hint=hint) from error
        with self._lock:
            if self._sdk is None:
                # Key and address are passed, so that the SDK does not look for them in the environment; without a key
                # it would refuse to start, although compatible servers need none. Its own retries are off: they would
                # multiply with ours.
                key = self.endpoint.credential() or "none"
                self._sdk = Anthropic(
                    api_key=key,
                    base_url=self.endpoint.base,
                    max_retries=0,
                    open_telemetry=False,
                    http_client=DefaultHttpxClient(verify=transport.trusted_certificates()),
                )
                weakref.finalize(self, self._sdk.close)
            return self._sdk

    @contextmanager
    def _faults(self) -> Iterator[None]:
        """Translate the SDK's exceptions into our errors."""
        from anthropic import APIConnectionError, APIStatusError  # noqa: PLC0415 - slow to import

        try:
            yield
        except APIStatusError as error:
            wait = transport.read_retry_after(error.response.headers.get("retry-after"), SystemClock().now())
            raise self.endpoint.fault(error.status_code, error.api_message or error.message, wait) from error
        except APIConnectionError as error:
            raise self.endpoint.unreachable(type(error.__cause__ or error).__name__) from error
