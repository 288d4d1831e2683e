"""The way into a memory elsewhere: one server, its workspaces, and the connections that all threads share."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from everloom.errors import Rejected
from everloom.kernel.texts import checked_name
from everloom.kernel.trust.origin import read_origin
from everloom.remote.calls import Peer, RemoteCaller
from everloom.remote.sending import Sender, Timeouts
from everloom.remote.workspace import RemoteWorkspace, run_verb
from everloom.secrets import logger_of
from everloom.wiring.faculties import FACULTIES

if TYPE_CHECKING:
    from everloom.settings import Settings

log = logger_of(__name__)

DESCRIBE = (FACULTIES["workspace"], "describe")


class RemoteLoom:
    """A memory behind `everloom serve`. Use it as a context manager, from any thread.

    What belongs to whoever owns the store's files is not here: backups, tokens, migrations, other workspaces.
    """

    def __init__(self, url: str, settings: Settings, token: str | None = None) -> None:
        self.settings = settings
        self.peer = Peer.at(url)
        self._sender = Sender(self.peer, checked_token(self.peer, token), timeouts_of(settings))

    def workspace(
        self,
        name: str | None = None,
        *,
        session: str | None = None,
        model_tier: str | None = None,
        origin: str | None = None,
        read_only: bool = False,
        must_exist: bool = False,
    ) -> RemoteWorkspace:
        """Open a workspace, created on first use unless it must exist; `session` labels everything that is written.

        Without a name it is the one of the token, or of the server. With `read_only` nothing at all is written.
        """
        caller = caller_of(self.settings, name, session, model_tier, origin, read_only=read_only)
        # Whoever may only read creates nothing.
        asking = replace(caller, read_only=True) if must_exist else caller
        faculty, verb = DESCRIBE
        info = run_verb(self.peer, self._sender, asking, faculty, faculty.verb(verb), {})
        return RemoteWorkspace(self.peer, self._sender, info, caller)

    def close(self) -> None:
        """Close every connection."""
        self._sender.close()

    def __enter__(self) -> RemoteLoom:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<loom at {self.peer.url}>"


def caller_of(
    settings: Settings,
    name: str | None,
    session: str | None,
    model_tier: str | None,
    origin: str | None,
    *,
    read_only: bool,
) -> RemoteCaller:
    """Say who calls; a workspace that nobody has chosen is left to the token and to the server."""
    chosen = name or (settings.workspace.name if "name" in settings.workspace.model_fields_set else None)
    # A server skips a header that cannot be a label; whoever gave it must be told, and nothing written without it.
    return RemoteCaller(
        workspace=None if chosen is None else checked_name(chosen, "the workspace's name"),
        session=None if session is None else checked_name(session, "the session's id"),
        model_tier=None if model_tier is None else checked_name(model_tier, "the model's tier"),
        origin=None if origin is None else str(read_origin(origin)),
        read_only=read_only or settings.store.read_only,
    )


def timeouts_of(settings: Settings) -> Timeouts:
    """Read the timeouts that can be set."""
    return Timeouts(connect=settings.store.connect_seconds)


def checked_token(peer: Peer, token: str | None) -> str | None:
    """Check that a token can be sent, without ever quoting it."""
    if token is None:
        return None
    if not (token and token.isascii() and token.isprintable() and " " not in token):
        raise Rejected("the token contains characters that tokens do not have", hint="check EVERLOOM_TOKEN or `token=`")
    if peer.url.lower().startswith("http:") and not peer.is_here:
        log.warning("the token goes to %s without encryption; use https where others can listen", peer.url)
    return token
