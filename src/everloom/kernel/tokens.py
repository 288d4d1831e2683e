"""Bearer tokens: access to one workspace from outside, optionally read-only.

Stores hashes, never secrets. Refuses to know how a token arrives: headers belong to the surfaces.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Literal

from everloom.clock import Clock, from_micros, to_micros
from everloom.errors import Conflict, NotFound, Rejected
from everloom.kernel.texts import checked_name, name_key
from everloom.kernel.workspaces import NOWHERE, WorkspaceInfo
from everloom.store import Row, Store

# Makes a secret recognisable in logs and to secret scanners; the rest is 256 random bits.
_PREFIX = "everloom_"
_SECRET_BYTES = 32
_LONGEST_DAYS = 36_500

_State = Literal["valid", "expired", "revoked"]


@dataclass(frozen=True, slots=True)
class Token:
    """A token without its secret, which is not stored."""

    name: str
    workspace: str
    read_only: bool
    created_at: datetime
    expires_at: datetime | None
    state: _State


@dataclass(frozen=True, slots=True)
class ShownToken(Token):
    """A token that somebody has shown, with its workspace as read in the same moment; None unless that is here."""

    place: WorkspaceInfo | None


@dataclass(frozen=True, slots=True)
class Issued:
    """A new token with its secret, which is shown only once."""

    token: Token
    secret: str


class Tokens:
    """Every token of a store."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def create(
        self, name: str, workspace: WorkspaceInfo, *, read_only: bool = False, days: int | None = None
    ) -> Issued:
        """Create a token for one workspace; only the hash of its secret is stored."""
        wanted = checked_name(name, "the token's name")
        if days is not None and not 0 < days <= _LONGEST_DAYS:
            raise Rejected(f"a token cannot last {days} days", hint=f"use 1 to {_LONGEST_DAYS:,} days, or leave it out")
        secret = _PREFIX + secrets.token_urlsafe(_SECRET_BYTES)
        now = self._clock.now()
        expires = None if days is None else now + timedelta(days=days)
        with self._store.write(NOWHERE) as unit:
            if unit.one("tokens.named", name_key=name_key(wanted)) is not None:
                raise Conflict(
                    f"there is already a token called {wanted!r}", hint="choose another name, or revoke that one"
                )
            unit.send(
                "tokens.add",
                digest=digest_of(secret),
                name=wanted,
                name_key=name_key(wanted),
                allowed=workspace.id,
                read_only=int(read_only),
                at=to_micros(now),
                expires_at=None if expires is None else to_micros(expires),
            )
        return Issued(Token(wanted, workspace.name, read_only, now, expires, "valid"), secret)

    def list(self) -> list[Token]:
        """List every token, oldest first, revoked ones included."""
        with self._store.read(NOWHERE) as unit:
            rows = unit.last("tokens.every")
        return [_token_from(row, self._clock.now()) for row in rows]

    def has_valid(self) -> bool:
        """Return whether any token is valid now."""
        return any(token.state == "valid" for token in self.list())

    def revoke(self, name: str) -> Token:
        """Revoke a token immediately."""
        wanted = checked_name(name, "the token's name")
        now = self._clock.now()
        with self._store.write(NOWHERE) as unit:
            row = unit.one("tokens.named", name_key=name_key(wanted))
            if row is None:
                raise NotFound(
                    f"there is no valid token called {wanted!r}", hint="`everloom token list` shows all tokens"
                )
            unit.send("tokens.revoke", digest=row["digest"], at=to_micros(now))
            after = unit.one("tokens.by_digest", digest=row["digest"])
        return _token_from(after or row, now)

    def verify(self, secret: str) -> ShownToken | None:
        """Return the valid token that a secret belongs to, or None."""
        digest = digest_of(secret)
        with self._store.read(NOWHERE) as unit:
            row = next(iter(unit.last("tokens.by_digest", digest=digest)), None)
        if row is None or not hmac.compare_digest(str(row["digest"]), digest):
            return None
        known = _token_from(row, self._clock.now())
        if known.state != "valid":
            return None
        begun = from_micros(row["workspace_created_at"])
        place = WorkspaceInfo(row["id"], row["workspace_name"], row["description"], row["time_zone"], begun)
        return ShownToken(**asdict(known), place=place if row["workspace_state"] == "here" else None)


def digest_of(secret: str) -> str:
    """Hash a secret; 256 random bits need neither salt nor stretching."""
    # A header may contain anything: an unknown secret must be denied, not fail to encode.
    return hashlib.sha256(secret.encode(errors="surrogatepass")).hexdigest()


def _token_from(row: Row, now: datetime) -> Token:
    """Read a token from its row, as of now."""
    expires = None if row["expires_at"] is None else from_micros(row["expires_at"])
    state: _State = "valid"
    if row["revoked_at"] is not None:
        state = "revoked"
    elif expires is not None and expires <= now:
        state = "expired"
    return Token(
        row["name"], row["workspace_name"], bool(row["read_only"]), from_micros(row["created_at"]), expires, state
    )
