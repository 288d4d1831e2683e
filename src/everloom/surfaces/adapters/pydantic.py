"""Pydantic AI on a workspace: `EverloomConversations` is its conversation store.

    conversation = await store.load("conversation-7") or Conversation(conversation_id="conversation-7")
    result = await agent.run("Hello.", conversation=conversation)
    await store.save(result)

A save and its new messages are one transaction, and a delete takes along the messages that no other conversation
shares. Needs the extra `pydantic-ai`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pydantic import TypeAdapter

from everloom.kernel.records import ProgramRecord, RecordReader, Records, RecordWriter
from everloom.surfaces.adapters.local import in_thread, missing, opened
from everloom.workspace import Workspace

try:
    from pydantic_ai.conversation_store import (
        ConversationConflict,
        ConversationEntry,
        ConversationRecord,
        ConversationStore,
    )
    from pydantic_ai.messages import ModelMessagesTypeAdapter
except ModuleNotFoundError as error:
    raise missing("pydantic-ai", error) from error

_TALKS, _ENTRIES = ("conversations",), ("entries",)


class EverloomConversations(ConversationStore):
    """Conversations of agents: each message once, and what points at the last one of a history."""

    def __init__(self, workspace: Workspace) -> None:
        self._shelf = _Shelf(opened(workspace))

    async def read_record(self, conversation_id: str) -> ConversationRecord | None:
        """Read what is known about a conversation beside its messages."""
        return await in_thread(lambda: self._shelf.record(conversation_id))

    async def read_records(self, *, scope: str | None = None, limit: int | None = None) -> Sequence[ConversationRecord]:
        """Read all of these, or those of a scope, the last saved first."""
        return await in_thread(lambda: self._shelf.records(scope, limit))

    async def write_record(
        self,
        record: ConversationRecord,
        *,
        new_entries: Sequence[ConversationEntry] = (),
        expected_revision: str | None,
    ) -> None:
        """Store a conversation's state with its new messages, in place of the revision that was read."""
        await in_thread(lambda: self._shelf.write(record, new_entries, expected_revision))

    async def delete_record(self, conversation_id: str, *, expected_revision: str) -> None:
        """Delete a conversation, and the messages that no other one shares."""
        await in_thread(lambda: self._shelf.delete(conversation_id, expected_revision))

    async def read_entry(self, entry_id: str) -> ConversationEntry:
        """Read one message."""
        (entry,) = await in_thread(lambda: self._shelf.history(entry_id, 1))
        return entry

    async def read_history(self, head_id: str | None, *, limit: int | None = None) -> list[ConversationEntry]:
        """Read the messages up to one, or the last so many of them, from one snapshot."""
        return await in_thread(lambda: self._shelf.history(head_id, limit))


class _Shelf:
    """The conversations of a workspace; apart from the store, whose own class has private names, too."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._shape = TypeAdapter(ConversationRecord)

    @property
    def _kept(self) -> Records:
        return self._workspace.records("pydantic.conversations")

    def record(self, conversation_id: str) -> ConversationRecord | None:
        """Read a conversation's state."""
        with self._kept.read() as reader:
            found = reader.get(_TALKS, conversation_id)
        return None if found is None else self._shape.validate_python(found.value["record"])

    def records(self, scope: str | None, limit: int | None) -> list[ConversationRecord]:
        """Read the states of conversations."""
        with self._kept.read() as reader:
            found = [self._shape.validate_python(each.value["record"]) for each in reader.last(_TALKS)]
        mine = [each for each in found if scope is None or each.scope == scope]
        return sorted(mine, key=lambda each: each.updated_at, reverse=True)[:limit]

    def write(
        self, record: ConversationRecord, new_entries: Sequence[ConversationEntry], expected_revision: str | None
    ) -> None:
        """Store a state and new messages, if it has this revision."""
        with self._kept.write() as writer:
            known = self._expected(writer, record.conversation_id, expected_revision)
            roots: set[str] = set() if known is None else set(known.value["roots"])
            for entry in new_entries:
                roots.add(_add(writer, record.conversation_id, entry))
            if record.head_id is not None:
                roots.add(_root(writer, record.conversation_id, record.head_id))
            value = {"record": self._shape.dump_python(record, mode="json"), "roots": sorted(roots)}
            writer.put(_TALKS, record.conversation_id, value, expected=0 if known is None else known.revision)

    def delete(self, conversation_id: str, expected_revision: str) -> None:
        """Delete a conversation, if it has this revision."""
        with self._kept.write() as writer:
            known = self._expected(writer, conversation_id, expected_revision)
            if known is None:
                raise ConversationConflict(conversation_id)
            writer.drop(_TALKS, conversation_id)
            # Histories share messages only if they began with the same one.
            kin = [each.value for each in writer.last(_TALKS) if set(each.value["roots"]) & set(known.value["roots"])]
            shared = {entry.key for each in kin for entry in _reached(writer, each["record"])}
            for entry in list(_reached(writer, known.value["record"])):
                if entry.key not in shared:
                    writer.drop(_ENTRIES, entry.key)

    def _expected(
        self, reader: RecordReader, conversation_id: str, expected_revision: str | None
    ) -> ProgramRecord | None:
        known = reader.get(_TALKS, conversation_id)
        if (None if known is None else known.value["record"]["revision"]) != expected_revision:
            raise ConversationConflict(conversation_id)
        return known

    def history(self, head_id: str | None, limit: int | None) -> list[ConversationEntry]:
        """Read messages, the last so many before one."""
        with self._kept.read() as reader:
            found = [entry for _, entry in zip(_counted(limit), _chain(reader, head_id), strict=False)]
        return [_entry_from(each) for each in reversed(found)]


def _counted(limit: int | None) -> Iterable[int]:
    return range(limit) if limit is not None else iter(int, 1)


def _chain(reader: RecordReader, head_id: str | None) -> Iterator[ProgramRecord]:
    """Walk from a message to the first one; one that is missing is a LookupError, as the interface wants it."""
    while head_id is not None:
        found = reader.get(_ENTRIES, head_id)
        if found is None:
            raise LookupError(f"there is no message {head_id}")
        yield found
        head_id = found.value["parent"]


def _reached(reader: RecordReader, record: dict[str, Any]) -> Iterator[ProgramRecord]:
    """Read every message of a conversation: its history, and the branches that it left."""
    seen: set[str] = set()
    for head in (record["head_id"], *record["branches"]):
        for entry in _chain(reader, head):
            if entry.key in seen:
                break
            seen.add(entry.key)
            yield entry


def _add(writer: RecordWriter, conversation_id: str, entry: ConversationEntry) -> str:
    """Store a message; return the first one of its history."""
    root = entry.id if entry.parent_id is None else _root(writer, conversation_id, entry.parent_id)
    message = ModelMessagesTypeAdapter.dump_python([entry.message], mode="json")[0]
    writer.put(_ENTRIES, entry.id, {"parent": entry.parent_id, "kind": entry.kind, "message": message, "root": root})
    return root


def _root(reader: RecordReader, conversation_id: str, entry_id: str) -> str:
    found = reader.get(_ENTRIES, entry_id)
    if found is None:
        raise ConversationConflict(conversation_id)
    root: str = found.value["root"]
    return root


def _entry_from(record: ProgramRecord) -> ConversationEntry:
    (message,) = ModelMessagesTypeAdapter.validate_python([record.value["message"]])
    return ConversationEntry(
        id=record.key, parent_id=record.value["parent"], message=message, kind=record.value["kind"]
    )
