"""Choosing the engine for a URL. Knows the syntax of store addresses and nothing about the engines behind them."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlsplit, urlunsplit

from everloom.clock import Clock
from everloom.errors import Rejected, StoreError
from everloom.store.contract import Store

_FORMS = "sqlite:///path/to/loom.db or postgresql://user@host/database"


def open_store(url: str, clock: Clock) -> Store:
    """Open the database at a URL, creating or migrating it as needed."""
    scheme = urlsplit(url).scheme
    if scheme == "sqlite":
        from everloom.store.sqlite import SqliteStore  # noqa: PLC0415  engines load only when used

        return SqliteStore(sqlite_path(url), clock)
    if scheme in {"postgresql", "postgres"}:
        try:
            from everloom.store.postgresql import PostgresStore  # noqa: PLC0415
        except ModuleNotFoundError as error:
            hint = "pip install 'everloom[postgres]'"
            raise StoreError(f"the PostgreSQL engine is not installed ({error.name} is missing)", hint=hint) from error
        return PostgresStore(url, clock)
    raise Rejected(f"{redact(url)!r} is not the address of a store", hint=f"write {_FORMS}")


def sqlite_path(url: str) -> Path:
    """Extract the file path from a `sqlite:///` URL."""
    path = unquote(url.removeprefix("sqlite:").removeprefix("//"))
    # The third slash of `sqlite:///~/loom.db` and of `sqlite:///C:/loom.db` is not part of the path.
    if path.startswith("/~") or (len(path) > 2 and path[2] == ":"):
        path = path[1:]
    # A database in memory belongs to one connection; a store opens many.
    if path in {"", "/"} or ":memory:" in path:
        raise Rejected(f"{url!r} does not name a file", hint=f"write {_FORMS}")
    return Path(path).expanduser()


def redact(url: str) -> str:
    """Mask the password in a URL, whether it is in the user info or in the query."""
    parts = urlsplit(url)
    if not parts.password and "password=" not in parts.query:
        return url
    place, query = parts.netloc, parts.query
    if parts.password:
        place = f"{parts.username}:***@{parts.hostname or ''}" + (f":{parts.port}" if parts.port else "")
    if "password=" in query:
        query = "&".join("password=***" if part.startswith("password=") else part for part in query.split("&"))
    return urlunsplit(parts._replace(netloc=place, query=query))
