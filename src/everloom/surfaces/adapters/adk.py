"""Google's Agent Development Kit on a workspace: `EverloomMemory` is its memory service.

    Runner(…, memory_service=EverloomMemory(workspace))

What was said becomes turns of a session, found by the one search; each user of each app sees only their own. A session
may be added again and again: what is there is not added twice, and what was deleted or forgotten stays away. Needs the
extra `google-adk`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import blake2b
from typing import Any
from uuid import uuid4

from everloom.clock import from_seconds, instant_in
from everloom.kernel.forgetting.tombstones import recognised, text_key
from everloom.kernel.records import ProgramRecord, Records
from everloom.kernel.records.finding import find_records
from everloom.kernel.search import DEFAULT, Document
from everloom.kernel.texts import LONGEST_NAME, LONGEST_TEXT
from everloom.kernel.trust.screen import label_of
from everloom.surfaces.adapters.local import in_thread, missing, opened
from everloom.workspace import Workspace

try:
    from google.adk.events.event import Event
    from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
    from google.adk.memory.memory_entry import MemoryEntry
    from google.adk.sessions.session import Session
except ModuleNotFoundError as error:
    raise missing("google-adk", error) from error

# What a memory service returns goes into a prompt.
HITS = 10
_DEPTH = 3
_TURN, _RECORD = "turn", "record"
# Marks what was deleted, so that adding its session again does not bring it back.
_DELETED = {"deleted": True}


@dataclass(frozen=True, slots=True)
class _NewMemory:
    """One thing to remember: its place, what is given back, and what search finds it by."""

    namespace: tuple[str, str, str]
    key: str
    value: dict[str, Any]
    document: Document


class EverloomMemory(BaseMemoryService):
    """What the users of apps said and were told, in a workspace."""

    def __init__(self, workspace: Workspace, *, hits: int = HITS) -> None:
        self._workspace = opened(workspace)
        self._hits = hits

    async def add_session_to_memory(self, session: Session) -> None:
        """Remember the events of a session that are not remembered yet."""
        await self.add_events_to_memory(
            app_name=session.app_name, user_id=session.user_id, events=session.events, session_id=session.id
        )

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Remember some events of a session that are not remembered yet."""
        entries = [entry for event in events if (entry := _of_event(event)) is not None]
        told = self._new((app_name, user_id, session_id or ""), _TURN, entries, custom_metadata)
        session = _label(f"{app_name}/{user_id}/{session_id}") if session_id else None
        await in_thread(lambda: self._add(told, session))

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Remember entries as they are; one with the id of another takes its place."""
        told = self._new((app_name, user_id, ""), _RECORD, memories, custom_metadata)
        await in_thread(lambda: self._add(told, None, is_replacing=True))

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        """Find what fits a question, best first."""
        found = await in_thread(lambda: self._search((app_name, user_id), query))
        return SearchMemoryResponse(memories=found)

    async def delete_memory(self, *, app_name: str, user_id: str, memory_id: str | None = None) -> None:
        """Delete one memory for good; adding its session again does not bring it back."""
        if memory_id:
            await in_thread(lambda: self._delete((app_name, user_id), memory_id))

    def _records(self, session: str | None = None) -> Records:
        records = self._workspace.records("adk.memory")
        return records if session is None else Records(replace(records.op, session=session), records.space)

    def _new(
        self,
        place: tuple[str, str, str],
        kind: str,
        entries: Sequence[MemoryEntry],
        more: Mapping[str, object] | None,
    ) -> list[_NewMemory]:
        now = self._workspace.op.now
        given = (
            each.model_copy(update={"custom_metadata": {**each.custom_metadata, **(more or {})}}) for each in entries
        )
        return [each for entry in given if (each := _new(place, kind, entry, now)) is not None]

    def _add(self, told: Sequence[_NewMemory], session: str | None, *, is_replacing: bool = False) -> None:
        records = self._records(session)
        fresh = list(told) if is_replacing else self._unknown(records, told)
        if not fresh:
            return
        with records.write([each.document for each in fresh]) as writer:
            keys = [text_key(each.document.text) for each in fresh]
            gone = recognised(writer.unit, keys)
            for each, key in zip(fresh, keys, strict=True):
                # Looked at again: another process may have added the same session meanwhile.
                if key not in gone and (is_replacing or writer.get(each.namespace, each.key) is None):
                    writer.put(each.namespace, each.key, each.value, document=each.document)

    def _unknown(self, records: Records, told: Sequence[_NewMemory]) -> list[_NewMemory]:
        with records.read() as reader:
            return [each for each in told if reader.get(each.namespace, each.key) is None]

    def _search(self, prefix: tuple[str, str], query: str) -> list[MemoryEntry]:
        if not query.strip():
            return []
        # More than are returned: what a question does not touch is left out, because it would only fill the prompt.
        found = find_records(self._records(), prefix, query, _DEPTH * self._hits, lambda _: True, DEFAULT)
        return [_memory(record) for record, hit in found if hit.fits or hit.matched_words][: self._hits]

    def _delete(self, prefix: tuple[str, str], memory_id: str) -> None:
        with self._records().write() as writer:
            for place in writer.places(prefix):
                if place.key == memory_id:
                    writer.put(place.namespace, place.key, _DELETED)


def _label(text: str) -> str | None:
    """Make the label of a session from the names of app, user and session, whatever they are."""
    plain = "".join(char if char.isprintable() else "?" for char in text)
    if plain != text or len(plain) > LONGEST_NAME:
        plain = f"{plain[: LONGEST_NAME - 20]} {blake2b(text.encode('utf-8', 'replace'), digest_size=8).hexdigest()}"
    return label_of(plain)


def _of_event(event: Event) -> MemoryEntry | None:
    """Read an event as a memory; None if it has no content."""
    if event.content is None:
        return None
    at = from_seconds(event.timestamp).isoformat()
    return MemoryEntry(id=event.id, content=event.content, author=event.author, timestamp=at)


def _new(place: tuple[str, str, str], kind: str, entry: MemoryEntry, now: datetime) -> _NewMemory | None:
    """Read a memory as what is kept of it; None if it has no words, such as the call of a function."""
    text = "\n".join(part.text for part in entry.content.parts or () if part.text and not part.thought).strip()
    if not text:
        return None
    at = _time(entry.timestamp) or now
    kept = entry.model_copy(update={"id": None, "timestamp": at.isoformat()})
    said = f"{entry.author}: {text}" if entry.author else text
    document = Document(
        kind=kind, text=said[:LONGEST_TEXT], happened_at=at, labels=(entry.author,) if entry.author else ()
    )
    return _NewMemory(place, entry.id or str(uuid4()), kept.model_dump(mode="json", exclude_none=True), document)


def _time(text: str | None) -> datetime | None:
    try:
        return instant_in(text) if text else None
    except ValueError:
        return None


def _memory(record: ProgramRecord) -> MemoryEntry:
    return MemoryEntry.model_validate({**record.value, "id": record.key})
