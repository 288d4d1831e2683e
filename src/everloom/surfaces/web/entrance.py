"""From a request to the workspace it is for: who calls, whether it may write, and the loom, opened if need be.

One entrance for MCP, the JSON API and the page, so that all grant and refuse the same, and tell strangers as little.
Refuses to know what is called there.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import TYPE_CHECKING

from everloom.errors import (
    EverloomError,
    Forbidden,
    NotFound,
    SchemaMismatch,
    StoreBusy,
    StoreConflict,
    StoreError,
    StoreFull,
    StoreReplaced,
    WorkspaceLeaving,
    meaning_of,
)
from everloom.kernel.texts import name_key
from everloom.kernel.trust.origin import Origin, OriginKind, read_origin
from everloom.secrets import logger_of
from everloom.surfaces.web.accounting import note_call
from everloom.surfaces.web.identity import CallClues, Caller, Process, caller_of, is_read_only, refuse_write

if TYPE_CHECKING:
    from everloom.kernel.tokens import Token
    from everloom.kernel.workspaces import WorkspaceInfo
    from everloom.loom import Workspace
    from everloom.settings import SettingOrigin
    from everloom.surfaces.web.answering import Answering
    from everloom.surfaces.web.lazy import LazyLoom

log = logger_of(__name__)

# What strangers are told about a store that does not work; its address and its files are for the log alone.
_TROUBLES = {
    StoreBusy: "the store does not answer now",
    SchemaMismatch: "the store has a schema of another version",
    StoreReplaced: "the store was replaced; the server must be restarted",
    StoreConflict: "the state of the store does not allow it",
}
_TROUBLE = "the store does not work"
_FREE = "whoever runs the server has to free space where it keeps its data; reading goes on"
_ELSEWHERE = "whoever runs the server finds the reason in its log, or with `everloom doctor`"


class Entrance:
    """The way into the memory that one server process serves."""

    def __init__(
        self,
        opening: LazyLoom,
        process: Process,
        origins: Sequence[SettingOrigin] = (),
        *,
        at_most: Origin | None = None,
    ) -> None:
        # No caller is trusted more than this, whatever it sends.
        self._at_most = at_most
        self.opening = opening
        self.process = process
        # Every setting and where it came from, for whoever runs the server to look at.
        self.origins = origins
        self._lock = Lock()
        self._answering: Answering | None = None

    @property
    def answering(self) -> Answering:
        """The threads that answer in conversations, which the page and the API share."""
        from everloom.surfaces.web.answering import Answering  # noqa: PLC0415  loads the mind

        with self._lock:
            if self._answering is None:
                self._answering = Answering(self.opening)
            return self._answering

    def enter(self, name: str, clues: CallClues, *, writes: bool) -> Workspace:
        """Return the workspace of the call `name`; refuse a write by a caller that may only read."""
        note_call(verb=name)
        caller = caller_of(clues, self.process)
        refusal = refuse_write(name, clues, self.process) if caller.read_only else None
        if writes and refusal is not None:
            raise refusal
        return self.take(caller, refusal)

    def take(self, caller: Caller, refusal: Forbidden | None = None) -> Workspace:
        """Return the workspace of a caller; through that of one who may only read, nothing at all is written."""
        loom = self.opening.take()
        if caller.read_only:
            refusal = refusal or Forbidden("this caller may only read", hint="use a server and a token that may write")
        workspace = loom.workspace(
            caller.place or caller.workspace,
            session=caller.session,
            model_tier=caller.model_tier,
            refusal=refusal,
            origin=self._origin_of(caller),
        )
        note_call(workspace=workspace.info.id)
        if refusal is None:
            self.opening.follow(workspace.info)
        return workspace

    def _origin_of(self, caller: Caller) -> str | None:
        """Return the origin that a caller is bound to: what it names, but nothing that is trusted too much."""
        most, named = self._at_most, caller.origin
        if most is not None and (named is None or read_origin(named).kind.rank < most.kind.rank):
            return str(most)
        return named

    def look(self, workspace_id: int, token: Token | None) -> Workspace:
        """Return a workspace for a person who only looks: nothing is written, not even that somebody looked."""
        refusal = Forbidden("looking at a page writes nothing", hint="use the forms of the page")
        return self.opening.take().workspace(self._reached(workspace_id, token), refusal=refusal)

    def act(self, name: str, workspace_id: int, token: Token | None) -> Workspace:
        """Return a workspace for a person who does something in it, called `name`."""
        note_call(verb=name)
        info, clues = self._reached(workspace_id, token), CallClues(token=token)
        if is_read_only(clues, self.process):
            raise refuse_write(name, clues, self.process)
        workspace = self.opening.take().workspace(info, origin=OriginKind.PERSON)
        self.opening.follow(workspace.info)
        return workspace

    def reachable(self, token: Token | None) -> list[WorkspaceInfo]:
        """List the workspaces that a caller can reach, oldest first."""
        known = self.opening.take().workspaces.list()
        return [each for each in known if self._reaches(each, token)]

    def _reached(self, workspace_id: int, token: Token | None) -> WorkspaceInfo:
        note_call(workspace=workspace_id)
        # One answer for what does not exist and for what is not the caller's: it must not tell which ids exist.
        info = self.opening.take().workspaces.by_id(workspace_id)
        if info is None or not self._reaches(info, token):
            raise NotFound("there is no such workspace here", hint="begin at the first page")
        return info

    def _reaches(self, info: WorkspaceInfo, token: Token | None) -> bool:
        bounds = (self.process.workspace, None if token is None else token.workspace)
        return all(bound is None or name_key(bound) == name_key(info.name) for bound in bounds)


def discreet(error: EverloomError, *, is_logged: bool = False) -> EverloomError:
    """Return an error as others than the owner may read it; what it leaves out is logged, unless it was before."""
    # Where a workspace goes is said for its clients.
    if not isinstance(error, StoreError | StoreConflict) or isinstance(error, WorkspaceLeaving):
        return error
    if not is_logged:
        log.warning("%s", error)
    cause = error.cause if isinstance(error, StoreError) else None
    told = f"{_TROUBLES.get(type(error), _TROUBLE)}{f': {cause}' if cause else ''}"
    hint = _FREE if isinstance(error, StoreFull) else _ELSEWHERE
    return type(error)(told, hint=None if meaning_of(error).retry else hint)
