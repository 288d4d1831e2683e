"""The Claude Agent SDK on a workspace: `EverloomSessions` keeps the transcripts of its sessions.

    ClaudeAgentOptions(session_store=EverloomSessions(workspace), resume=session_id)

An entry that comes twice is kept once, by its uuid. Needs the extra `claude-agent`.
"""

from __future__ import annotations

from everloom.clock import to_micros
from everloom.kernel.records import ProgramRecord, Records, RecordWriter
from everloom.surfaces.adapters.local import in_thread, missing, opened
from everloom.workspace import Workspace

try:
    from claude_agent_sdk import (
        SessionKey,
        SessionListSubkeysKey,
        SessionStore,
        SessionStoreEntry,
        SessionStoreListEntry,
        SessionSummaryEntry,
        fold_session_summary,
    )
except ModuleNotFoundError as error:
    raise missing("claude-agent", error) from error

# A session's own transcript has no subpath.
_MAIN = ""
# Namespaces: transcripts have three parts after the first, summaries one.
_LINES, _SUMMARIES = "lines", "summaries"


class EverloomSessions(SessionStore):
    """Transcripts of Claude's sessions, and what they are about, in a workspace."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = opened(workspace)

    @property
    def _records(self) -> Records:
        return self._workspace.records("claude.sessions")

    async def append(self, key: SessionKey, entries: list[SessionStoreEntry]) -> None:
        """Keep entries at the end of a transcript, without those that are there."""
        await in_thread(lambda: self._append(key, entries))

    async def load(self, key: SessionKey) -> list[SessionStoreEntry] | None:
        """Read a transcript; None if there is none."""
        return await in_thread(lambda: self._load(key))

    async def list_sessions(self, project_key: str) -> list[SessionStoreListEntry]:
        """List the sessions of a project, and when they were last written."""
        found = await in_thread(lambda: self._summaries(project_key))
        return [SessionStoreListEntry(session_id=each.key, mtime=_mtime(each)) for each in found]

    async def list_session_summaries(self, project_key: str) -> list[SessionSummaryEntry]:
        """List what the sessions of a project are about, as the SDK summed it up."""
        found = await in_thread(lambda: self._summaries(project_key))
        return [SessionSummaryEntry(session_id=each.key, mtime=_mtime(each), data=each.value["data"]) for each in found]

    async def delete(self, key: SessionKey) -> None:
        """Delete a session with everything below it, or only what is under a subpath."""
        await in_thread(lambda: self._delete(key))

    async def list_subkeys(self, key: SessionListSubkeysKey) -> list[str]:
        """List the subpaths of a session, such as those of its subagents."""
        return await in_thread(lambda: self._subpaths(key))

    def _append(self, key: SessionKey, entries: list[SessionStoreEntry]) -> None:
        if not entries:
            return
        path = _path(key)
        with self._records.write() as writer:
            added = writer.append(path, [(entry.get("uuid"), entry) for entry in entries])
            if path[-1] == _MAIN and added:
                self._fold(writer, key, [entries[place] for place in added])

    def _fold(self, writer: RecordWriter, key: SessionKey, fresh: list[SessionStoreEntry]) -> None:
        place = (_SUMMARIES, key["project_key"])
        known = writer.get(place, key["session_id"])
        before = None
        if known is not None:
            before = SessionSummaryEntry(session_id=known.key, mtime=_mtime(known), data=known.value["data"])
        folded = fold_session_summary(before, key, fresh)
        writer.put(place, key["session_id"], {"data": folded["data"]})

    def _load(self, key: SessionKey) -> list[SessionStoreEntry] | None:
        with self._records.read() as reader:
            return [each.value for each in reader.last(_path(key))] or None

    def _summaries(self, project_key: str) -> list[ProgramRecord]:
        with self._records.read() as reader:
            return reader.last((_SUMMARIES, project_key))

    def _delete(self, key: SessionKey) -> None:
        path = _path(key)
        with self._records.write() as writer:
            if path[-1] != _MAIN:
                writer.drop_below(path)
            else:
                writer.drop_below(path[:-1])
                writer.drop((_SUMMARIES, key["project_key"]), key["session_id"])

    def _subpaths(self, key: SessionListSubkeysKey) -> list[str]:
        with self._records.read() as reader:
            found = reader.namespaces((_LINES, key["project_key"], key["session_id"]))
        return [path[-1] for path in found if path[-1] != _MAIN]


def _path(key: SessionKey) -> tuple[str, str, str, str]:
    return (_LINES, key["project_key"], key["session_id"], key.get("subpath") or _MAIN)


def _mtime(record: ProgramRecord) -> int:
    return to_micros(record.changed_at) // 1_000
