"""Where a provider answers, how we are known there, and which error of ours each of its failures is.

Knows no HTTP library, so that the SDK and our own transport fail alike. Never lets a key into a text.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from http import HTTPStatus
from urllib.parse import urlsplit

from everloom.errors import ProviderBusy, ProviderError, ProviderRefused, Rejected
from everloom.models.text import shortened

_REFUSALS = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN})
_LATER = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS})


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One provider's address; `needs_key` says that nothing may be sent there without a key."""

    provider: str
    base: str
    key: str | None = field(default=None, repr=False)
    key_name: str = ""
    needs_key: bool = False

    def __post_init__(self) -> None:
        if not _is_web_address(self.base):
            hint = "write it like http://127.0.0.1:11434"
            raise Rejected(f"the base URL of {self.provider} is not one", hint=hint)

    @property
    def who(self) -> str:
        """Name the provider and its host, never its credentials."""
        return f"{self.provider} at {urlsplit(self.base).hostname}"

    def url(self, path: str) -> str:
        """Say the full address of a path."""
        return self.base.rstrip("/") + path

    def credential(self) -> str | None:
        """Hand out the key, after checking that it can be one."""
        if self.key is None and self.needs_key:
            raise ProviderRefused(f"there is no API key for {self.provider}", hint=f"set {self.key_name}")
        if self.key is not None and not (self.key.isascii() and self.key.isprintable() and " " not in self.key):
            raise ProviderRefused(f"the API key for {self.provider} is garbled", hint=f"check {self.key_name}")
        return self.key

    def unreachable(self, reason: str) -> ProviderBusy:
        """Name a provider that did not answer at all."""
        return ProviderBusy(f"{self.who} did not answer: {reason}", hint="check that it is running and reachable")

    def fault(self, status: int, said: str, retry_after: float | None = None) -> ProviderError:
        """Turn a status that is not success into the error that says what the caller can do."""
        if status in _REFUSALS:
            hint = f"set {self.key_name} to a key that is valid there" if self.key_name else "check its access rules"
            return ProviderRefused(f"{self.who} does not let us in (HTTP {status})", hint=hint)
        said = shortened(said.replace(self.key, "[key]") if self.key else said)
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
