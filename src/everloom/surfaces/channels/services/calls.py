"""Calls to the HTTP API of a service, with every failure named by what may have arrived.

Knows no service. A token is sent in a header only, and never repeated: not in an error, not in a log.
"""

from __future__ import annotations

import logging
import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from everloom.errors import EverloomError, Forbidden, Rejected
from everloom.surfaces.channels.delivery import Undelivered, Unsure

CALL_SECONDS = 20.0
# Libraries whose logs repeat URLs and frames, and with them tickets and tokens.
_TALKATIVE = ("httpx2", "httpcore2", "websockets")
_LONGEST_WORD = 200


class ServiceBusy(Undelivered):
    """A service accepts nothing right now."""


@dataclass(frozen=True, slots=True)
class CallAnswer:
    """What a service answered; `said` is its JSON, or empty if it sent none."""

    status: int
    said: Mapping[str, Any]
    retry_after: float | None = None
    # What it answered if that was no object.
    listed: tuple[Any, ...] = ()


class Calls:
    """One service's API; `secrets` are cut out of whatever it says."""

    def __init__(self, service: str, base: str, *secrets: str, hint: str, agent: str = "everloom") -> None:
        import httpx2  # noqa: PLC0415  slow to import

        quieten()
        self.service = service
        self._secrets = secrets
        self._hint = hint
        try:
            headers = {"user-agent": agent}
            self._client = httpx2.Client(base_url=base.rstrip("/") + "/", timeout=CALL_SECONDS, headers=headers)
        except httpx2.InvalidURL:
            raise Rejected(f"{service.lower()}.base is not an address", hint="write https://host/path") from None
        weakref.finalize(self, self._client.close)

    def call(
        self,
        method: str,
        path: str,
        token: str,
        *,
        body: Mapping[str, Any] | None = None,
        query: Mapping[str, str] | None = None,
        seconds: float = CALL_SECONDS,
    ) -> CallAnswer:
        """Make one call; an error that a service reports in its own way is left to the caller."""
        import httpx2  # noqa: PLC0415  slow to import

        try:
            answer = self._client.request(
                method, path, json=body, params=query, headers={"authorization": token}, timeout=seconds
            )
            if self._client.is_closed:
                # Closed while this call was connecting: its connection came too late to be closed with the others.
                answer.extensions["network_stream"].close()
        # Only an error before the request was sent proves that nothing arrived; after that nobody can tell.
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout) as error:
            raise ServiceBusy(f"{self.service} cannot be reached ({type(error).__name__})") from None
        except (httpx2.InvalidURL, httpx2.UnsupportedProtocol) as error:
            raise Rejected(f"{self.service.lower()}.base is not a URL ({type(error).__name__})") from None
        except (httpx2.RequestError, ValueError, RuntimeError) as error:
            # A closed client raises a RuntimeError. The chain is cut because its requests hold the token.
            raise Unsure(f"{self.service}'s answer did not arrive ({type(error).__name__})") from None
        found = _read(answer)
        if answer.status_code < 300:
            return found
        raise self.fault(found, str(found.said.get("error") or found.said.get("message") or ""))

    def fault(self, answer: CallAnswer, said: str) -> EverloomError:
        """Name what went wrong by its status, in the service's words."""
        for secret in self._secrets:
            said = said.replace(secret, "…")
        what = f"{self.service} refused: {said[:_LONGEST_WORD] or answer.status}"
        if answer.status == 429:
            return ServiceBusy(what, retry_after=1.0 if answer.retry_after is None else answer.retry_after)
        if answer.status == 401:
            return Forbidden(what, hint=self._hint)
        if answer.status == 503:
            return ServiceBusy(what, retry_after=answer.retry_after)
        return Unsure(what) if answer.status >= 500 else Undelivered(what, is_final=True)

    def close(self) -> None:
        """Close the connections; a call that waits on one fails."""
        self._client.close()


def quieten() -> None:
    """Keep libraries from logging what they send."""
    for name in _TALKATIVE:
        talker = logging.getLogger(name)
        talker.setLevel(max(talker.level, logging.WARNING))


def _read(answer: Any) -> CallAnswer:
    try:
        said = answer.json()
    except ValueError:
        said = {}
    content = said if isinstance(said, dict) else {}
    return CallAnswer(
        answer.status_code,
        content,
        _wait_in(answer.headers.get("retry-after"), content),
        tuple(said) if isinstance(said, list) else (),
    )


def _wait_in(header: str | None, said: Mapping[str, Any]) -> float | None:
    """Read how long a service asks to wait: from its header, or from its own words."""
    in_milliseconds = said.get("retry_after_ms")
    for value, unit in ((header, 1.0), (said.get("retry_after"), 1.0), (in_milliseconds, 0.001)):
        try:
            seconds = float(value) * unit  # type: ignore[arg-type]
        except (TypeError, ValueError):
            continue
        if 0 <= seconds < float("inf"):
            return seconds
    return None
