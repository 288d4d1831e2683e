"""Choosing the engine for a URL, and turning paths into URLs and back.

Knows the syntax of store addresses, and what in them is secret. Knows nothing about the engines behind them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote, unquote

from everloom.clock import Clock
from everloom.errors import Rejected, StoreError
from everloom.store.contract import Store, StoreLimits
from everloom.store.statements import Engine

_FORMS = "a path, sqlite:///path/to/loom.db or postgresql://user@host/database"
# The parameters of libpq that are secrets themselves; `passfile` is only the path of one.
_SECRET = frozenset({"password", "sslpassword", "oauth_client_secret", "scram_client_key", "scram_server_key"})
_MASK = "***"
# `host=db password='a b'`: libpq's other way to write an address.
_PAIR = re.compile(r"(\w+)(\s*=\s*)('(?:[^'\\]|\\.)*'?|(?:[^\s\\]|\\.)*)", re.DOTALL)
_PAIRS = re.compile(r"\s*\w+\s*=")
# Two letters or more: `C:` is a drive.
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")


def open_store(url: str, clock: Clock, limits: StoreLimits | None = None, *, is_read_only: bool = False) -> Store:
    """Open the database at a URL, creating or migrating it as needed; one that is opened for reading must exist."""
    within = limits or StoreLimits()
    if engine_of(url) == "sqlite":
        from everloom.store.sqlite import SqliteStore  # noqa: PLC0415  engines load only when used

        return SqliteStore(sqlite_path(url), clock, within, is_read_only=is_read_only)
    try:
        from everloom.store.postgresql import PostgresStore  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise engine_missing(error) from error
    return PostgresStore(url, clock, within, is_read_only=is_read_only)


def engine_of(url: str) -> Engine:
    """Say which engine a URL means; anything else is refused."""
    found = _SCHEME.match(url)
    scheme = found[0][:-1].lower() if found else ""
    if scheme == "sqlite":
        return "sqlite"
    if scheme in {"postgresql", "postgres"}:
        return "postgresql"
    if scheme in {"http", "https"}:
        hint = "do this where the store is: on the machine on which `everloom serve` runs"
        raise Rejected(f"{redact(url)} is a server, and this needs the store itself", hint=hint)
    raise Rejected(f"{redact(url)!r} is not the address of a store", hint=f"write {_FORMS}")


def engine_missing(error: ModuleNotFoundError) -> StoreError:
    """Say how to install what the PostgreSQL engine needs."""
    hint = "pip install 'everloom[postgres]'"
    return StoreError(f"the PostgreSQL engine is not installed ({error.name} is missing)", hint=hint)


def sqlite_url(path: Path) -> str:
    """Write the URL of a file; every character of its path means itself."""
    text = quote(path.expanduser().absolute().as_posix(), safe="/:").replace("~", "%7E")
    return f"sqlite://{'' if text.startswith('/') else '/'}{text}"


def as_url(text: str) -> str:
    """Read what a person wrote as an address: a URL as it is, what looks like the path of a file as that file."""
    if _SCHEME.match(text):
        return text
    # A single word is a typing mistake more often than the name of a file, and would create one.
    if _PAIRS.match(text) or not any(mark in text for mark in "./\\"):
        raise Rejected(f"{redact(text)!r} is not the address of a store", hint=f"write {_FORMS}")
    return sqlite_url(Path(text))


def sqlite_path(url: str) -> Path:
    """Extract the file path from a `sqlite:///` URL."""
    path = url.removeprefix("sqlite:").removeprefix("//")
    # A database in memory belongs to one connection; a store opens many.
    if path in {"", "/"} or path.lstrip("/").startswith((":memory:", "file::memory:")):
        raise Rejected(f"{url!r} does not name a file", hint=f"write {_FORMS}")
    # The third slash of `sqlite:///~/loom.db` and of `sqlite:///C:/loom.db` is not part of the path.
    if path.startswith("/~") or (len(path) > 2 and path[2] == ":"):
        path = path[1:]
    # Only a tilde that was written as one means the home directory; an escaped one means itself.
    return Path(unquote(path)).expanduser() if path.startswith("~") else Path(unquote(path))


def redact(address: str) -> str:
    """Mask every secret in an address, whether it is a URL or written as pairs."""
    return _rewritten(address, f":{_MASK}", lambda name: f"{name}={_MASK}")


def without_secrets(address: str) -> str:
    """Leave every secret of an address out, for files that are no place for them."""
    return _rewritten(address, "", lambda _name: None)


def _rewritten(address: str, password: str, parameter: Callable[[str], str | None]) -> str:
    """Rewrite the secrets of an address: the password behind the user's name, and each secret parameter."""
    if address.startswith("sqlite:"):
        return address
    if "://" not in address:
        return _PAIR.sub(
            lambda pair: (parameter(pair[1]) or "") if pair[1].lower() in _SECRET else pair[0], address
        ).strip()
    scheme, _, rest = address.partition("://")
    place, _, query = _parted(rest)
    if "@" in place:
        user, _, host = place.rpartition("@")
        name, colon, _ = user.partition(":")
        place = f"{name}{password if colon else ''}@{host}"
    if not query:
        return f"{scheme}://{place}"
    parts = [_kept(part, parameter) for part in query.split("&")]
    kept = "&".join(part for part in parts if part is not None)
    return f"{scheme}://{place}{'?' if kept else ''}{kept}"


def _parted(rest: str) -> tuple[str, str, str]:
    """Split what follows the scheme into place and query."""
    place, mark, query = rest.partition("?")
    # A password with an unescaped question mark: the place goes on until the last @ of the whole.
    if "@" not in place and ":" in place and "@" in query and "=" not in query.rpartition("@")[0]:
        before, _, after = rest.rpartition("@")
        host, mark, query = after.partition("?")
        return f"{before}@{host}", mark, query
    return place, mark, query


def _kept(part: str, parameter: Callable[[str], str | None]) -> str | None:
    name = part.partition("=")[0]
    # libpq reads names with escapes, too: pass%77ord is password.
    return parameter(name) if unquote(name).strip().lower() in _SECRET else part
