"""The mind of one workspace, and its verbs: the archive, the notes, the status, scheduled messages.

The class is the declaration that every surface reads. It composes the modules and holds no rule itself. `talking.py`
has the verbs for whoever talks from elsewhere, `knowing.py` those for whoever looks through what was learnt. The agent
reads a result as its own text (`__str__`) if it has one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

from everloom.kernel.verbs import (
    ADDS,
    ADDS_ONCE,
    ANSWER_TOKENS,
    DESTROYS,
    PAGE_TOKENS,
    READS,
    AnyMethod,
    Effect,
    FitsOnly,
    Key,
    MaxTokens,
    MaxTokensOfRecord,
    Says,
    verb,
)
from everloom.kernel.verbs import Before as Older
from everloom.mind import results
from everloom.mind.hands.verbs import Acting
from everloom.mind.knowing import Knowing
from everloom.mind.talking import Talking

if TYPE_CHECKING:
    from everloom.kernel.once import Once
    from everloom.mind.conversation import Conversation
    from everloom.mind.hands.offering import Hands
    from everloom.mind.initiative.schedule import Schedule, Scheduled
    from everloom.mind.learning import Archive
    from everloom.mind.notes import Notes
    from everloom.mind.notes.sync import Author
    from everloom.mind.ports import AgentTool, MindSetup
    from everloom.mind.prompt import Prompt

Query = Annotated[str, Says("what to look for, in specific words", metavar="WORDS")]
Where = Annotated[Literal["conversations", "facts", "both"], Says("where to look", flag="--in")]
Updates = Annotated[Mapping[str, Any], Says('the fields to set, such as {"water": {"glasses": 3}, "mood": "tired"}')]
NoteName = Annotated[str, Says("such as MEMORY.md, daily/2026-11-16.md or projects/boat.md", metavar="NAME")]
MaybeNote = Annotated[str | None, Says("such as MEMORY.md, daily/2026-11-16.md or projects/boat.md", metavar="NAME")]
# As large as the file of a note may be.
Body = Annotated[str, Says("the whole text of the note; never empty", longest=1_000_000)]
FromLine = Annotated[
    int | None, Says("the first line to read; -20: the last 20", metavar="NUMBER", least=-1_000_000, most=1_000_000)
]
Lines = Annotated[int | None, Says("how many lines", metavar="COUNT", least=1, most=1_000_000, is_plain=True)]
Find = Annotated[str | None, Says("only lines that contain these words", metavar="WORDS")]
Addition = Annotated[str, Says("what to add; never empty")]
Replace = Annotated[bool, Says("allow the text to become less than half as long")]
Version = Annotated[int | None, Says("the version you read; fails if there is a newer one", metavar="NUMBER")]
Words = Annotated[str, Says("what the person will read")]
DueAt = Annotated[str, Says("local time: 2026-11-16T09:30, or 09:30 for its next occurrence", metavar="TIME")]
Every = Annotated[Literal["daily", "weekdays", "weekly"] | None, Says("repeat it at this interval")]
ScheduledId = Annotated[int, Says("the number of the message", metavar="ID")]
VersionNumber = Annotated[int, Says("the number of the version", metavar="VERSION")]
Before = Annotated[int | None, Says("only messages older than this one", metavar="ID")]
Holding = Annotated[
    str | None, Says("only messages that contain these words, however old", flag="--search", metavar="WORDS")
]
Limit = Annotated[int, Says("maximum number of results", is_plain=True, least=1, most=1_000)]

# Where the tools that write notes take a text.
_WRITTEN_FIELDS = {"write_note": "body", "append_note": "text"}


def _tool(title: str, effect: Effect, models: str, *, agent: bool = True) -> Callable[[AnyMethod], AnyMethod]:
    """Declare a verb that is a tool over MCP and, unless `agent` is false, of the agent; its commands are hand-made."""
    return verb(title, effect, tools=("mind",), models=models, agent=agent, cli=False)


class Mind(Knowing, Talking, Acting):
    """One workspace's mind; reuse it, because it caches the system prompt."""

    def __init__(self, setup: MindSetup, author: Author = "agent") -> None:
        self.setup = setup
        self.op = setup.op
        # Who writes the notes through the verbs.
        self._author = author

    @_tool(
        "Search memory",
        READS,
        "Search past exchanges of the conversation and facts learnt from it; returns dates and ids.",
    )
    def search_memory(
        self,
        query: Query,
        search_type: Where = "both",
        *,
        fits_only: FitsOnly = False,
        max_tokens: MaxTokens = ANSWER_TOKENS,
    ) -> results.FoundInArchive:
        """Search past exchanges and facts, as the agent does."""
        return results.FoundInArchive(self.archive.search(query, search_type, max_tokens, fits_only=fits_only))

    @_tool(
        "Update status",
        ADDS_ONCE,
        "Merge an object deeply into status.json; each changed field is stamped with the time, null removes a field. "
        "Returns the whole status with its _version; expected_version makes sure that nobody changed it since.",
    )
    def update_status(
        self, updates: Updates, expected_version: Version = None, *, idempotency_key: Key = None
    ) -> Mapping[str, Any]:
        """Update status.json, the record of how things stand; each change is stamped with its time."""
        once = _once("update_status", idempotency_key, updates=updates, version=expected_version)
        return self.notes.update_status(updates, expected=expected_version, once=once)

    @verb("Read the status", READS, cli=False)
    def read_status(self) -> Mapping[str, Any]:
        """Read status.json, the record of how things stand."""
        return self.notes.status()

    @_tool("List notes", READS, "The names of all notes that the person and the agent share.", agent=False)
    def list_notes(self, *, max_tokens: MaxTokens = ANSWER_TOKENS) -> Sequence[str]:
        """List the notes."""
        from everloom.kernel.answer.budget import fitted

        return fitted(self.notes.names(), max_tokens)

    @_tool(
        "Read a note",
        READS,
        "Read a note, a page of it if it is long, or the lines that contain some words; body is null if there is none. "
        "Without a name, body lists the notes.",
    )
    def read_note(
        self,
        name: MaybeNote = None,
        from_line: FromLine = None,
        lines: Lines = None,
        find: Find = None,
        *,
        max_tokens: MaxTokensOfRecord = None,
    ) -> results.NoteText:
        """Read a note, or some of its lines."""
        from everloom.kernel.answer.budget import checked_tokens, fitted
        from everloom.mind.notes.excerpts import Excerpt, lines_with, page_of

        if not name:
            return fitted(results.NoteText(None, "\n".join(self.notes.names()) or None), max_tokens)
        tokens = None if max_tokens is None else checked_tokens(max_tokens)

        def excerpt(body: str) -> Excerpt:
            return lines_with(body, find, from_line, tokens) if find else page_of(body, from_line, lines, tokens)

        body, version = self.notes.look(name, lambda text: not find and excerpt(text).is_whole)
        return fitted(results.note_text(name, body, version, excerpt), max_tokens)

    @_tool(
        "Write a note",
        DESTROYS,
        "Replace the whole text of a note that you have read, or give expected_version; to add, use append_note. Every "
        "version is kept. An empty body is refused, and so is a text less than half as long as the note, unless "
        "replace is true.",
    )
    def write_note(
        self,
        name: NoteName,
        body: Body,
        replace: Replace = False,
        expected_version: Version = None,
        *,
        idempotency_key: Key = None,
    ) -> results.NoteWritten:
        """Replace the text of a note that you have read; earlier versions are kept."""
        how: dict[str, Any] = {"replace": replace, "expected": expected_version}
        once = _once("write_note", idempotency_key, name=name, body=body, **how)
        return _written(self.notes.write(name, body, author=self._author, once=once, **how))

    @_tool(
        "Append to a note",
        ADDS,
        "Add to the end of a note, which is created on first use. Without a name, to today's page.",
    )
    def append_note(
        self, text: Addition, name: MaybeNote = None, *, idempotency_key: Key = None
    ) -> results.NoteWritten:
        """Add lines to the end of a note."""
        once = _once("append_note", idempotency_key, text=text, name=name)
        how: dict[str, Any] = {"author": self._author, "once": once}
        return _written(self.notes.append(name, text, **how) if name else self.notes.append_today(text, **how))

    @_tool(
        "Schedule a message",
        ADDS,
        "Have the agent send a message at a later time, exactly as written here, where the person is reached then.",
    )
    def schedule_message(
        self, text: Words, at: DueAt, every: Every = None, *, idempotency_key: Key = None
    ) -> Scheduled:
        """Schedule a message that the agent will send."""
        return self.schedule.add(text, at, every or "", idempotency_key)

    @_tool("List scheduled messages", READS, "List the messages that will be sent, and when.")
    def list_scheduled(self, *, max_tokens: MaxTokens = ANSWER_TOKENS) -> Sequence[Scheduled]:
        """List scheduled messages."""
        from everloom.kernel.answer.budget import fitted

        return fitted(self.schedule.waiting(), max_tokens, way=None)

    @_tool("Cancel a scheduled message", DESTROYS, "Cancel a scheduled message.")
    def cancel_scheduled(
        self,
        id: ScheduledId,  # noqa: A002  the contract's name
        *,
        idempotency_key: Key = None,
    ) -> results.Cancelled:
        """Cancel a scheduled message."""
        self.schedule.cancel(id, idempotency_key)
        return results.Cancelled(id)

    @verb("Show the log", READS)
    def log(
        self,
        *,
        query: Holding = None,
        before: Before = None,
        limit: Limit = 20,
        max_tokens: MaxTokens = PAGE_TOKENS,
    ) -> results.ConversationLog:
        """Show the log, newest last: every message on every channel and its state."""
        from everloom.kernel.answer.budget import fitted

        found = results.ConversationLog(tuple(self.conversation.log(limit, before, query)[::-1]))
        return fitted(found, max_tokens, way=None, last={"messages"})

    @verb("Show the array", READS)
    def array(self, *, max_tokens: MaxTokens = PAGE_TOKENS) -> results.ArrayView:
        """Show what the model sees now: the last compaction and the turns since."""
        from everloom.kernel.answer.budget import fitted

        return fitted(results.view_of(self.conversation.turns()), max_tokens, way=None, last={"turns"})

    @verb("List compactions", READS)
    def compactions(
        self, *, before: Older = None, limit: Limit = 20, max_tokens: MaxTokens = PAGE_TOKENS
    ) -> results.CompactionList:
        """Show when the oldest turns were compacted, and what that cost."""
        from everloom.kernel.answer.budget import fitted

        found = results.CompactionList(tuple(self.conversation.compactions(limit, before)))
        return fitted(found, max_tokens, way=None)

    @verb("List heartbeats", READS)
    def heartbeats(
        self, *, before: Older = None, limit: Limit = 20, max_tokens: MaxTokens = PAGE_TOKENS
    ) -> results.HeartbeatList:
        """Show when the agent considered speaking first, and why it did or did not."""
        from everloom.kernel.answer.budget import fitted
        from everloom.mind.initiative import Heartbeats

        found = results.HeartbeatList(tuple(Heartbeats(self.setup).recent(limit, before)))
        return fitted(found, max_tokens, way=None)

    @verb("List the versions of a note", READS, cli=False)
    def note_history(
        self,
        name: NoteName,
        *,
        before: Older = None,
        limit: Limit = 100,
        max_tokens: MaxTokens = PAGE_TOKENS,
    ) -> results.NoteHistory:
        """List the versions of a note, newest first."""
        from everloom.kernel.answer.budget import fitted

        return fitted(results.NoteHistory(tuple(self.notes.history(name, limit, before))), max_tokens, way=None)

    @verb("Restore a note", DESTROYS, cli=False)
    def restore_note(
        self,
        name: NoteName,
        number: VersionNumber,
        *,
        expected_version: Version = None,
        idempotency_key: Key = None,
    ) -> results.NoteWritten:
        """Restore an earlier version of a note."""
        once = _once("restore_note", idempotency_key, name=name, number=number, version=expected_version)
        return _written(self.notes.restore(name, number, expected=expected_version, once=once))

    @cached_property
    def notes(self) -> Notes:
        """Reach the files that the person and the agent share."""
        from everloom.mind.hands.notes import HeldNotes
        from everloom.mind.notes import Notes

        is_held = self._author == "agent" and bool(self.setup.policy.approve_notes)
        return Notes(self.setup, HeldNotes(self.setup) if is_held else None)

    @cached_property
    def prompt(self) -> Prompt:
        """Reach the system prompt."""
        from everloom.mind.prompt import Prompt

        return Prompt(self.notes, self.setup)

    @cached_property
    def archive(self) -> Archive:
        """Reach past exchanges, and the facts learnt from them."""
        from everloom.mind.learning import Archive

        return Archive(self.setup)

    @cached_property
    def schedule(self) -> Schedule:
        """Reach the scheduled messages."""
        from everloom.mind.initiative import Schedule

        return Schedule(self.setup)

    @cached_property
    def hands(self) -> Hands:
        """Reach the tools of other programs."""
        from everloom.mind.hands.offering import Hands

        return Hands(self.setup)

    @cached_property
    def conversation(self) -> Conversation:
        """Reach the conversation."""
        from everloom.mind.conversation import Conversation
        from everloom.mind.conversation.turn import Surroundings
        from everloom.mind.hands.deciding import settle
        from everloom.mind.initiative.self_awareness import before_folding
        from everloom.mind.people import own_name

        # Whoever opens the conversation, in it the agent writes: under its own name, and with what waits for approval.
        agent = self if self._author == "agent" else Mind(self.setup)
        around = Surroundings(
            system=agent.prompt.text,
            aside=agent.prompt.aside,
            instructions=agent.prompt.compaction_instructions,
            tools=agent.tools,
            before_folding=before_folding(self.setup, agent.notes),
            # In a group nobody decides by a message: whose word it is would be up to a name.
            settles=partial(settle, person=own_name(self.setup.person)),
        )
        return Conversation(self.setup, around)

    def last_exchange(self) -> int:
        """Return the id of the last exchange; 0 if there was none."""
        with self.setup.op.read() as unit:
            row = unit.one("mind.exchange_last")
        return 0 if row is None else int(row["id"])

    def tools(self) -> Sequence[AgentTool]:
        """List the tools of the agent, always in the same order: a provider's cache depends on it."""
        from everloom.mind.notes.memory_tool import memory_tool

        files = (memory_tool(self.notes, self.setup.op),) if self.setup.policy.memory_tool else ()
        return (*map(self._unmarking, self.setup.tools(self)), *files, *self.hands.tools())

    def _unmarking(self, tool: AgentTool) -> AgentTool:
        """Let the agent's writing tools take off the marks with which its reading tools quote notes."""
        name, keyed = tool.tool.name, tool.use_once
        if name not in _WRITTEN_FIELDS:
            return tool
        return replace(
            tool,
            use=lambda given: tool.use(self.from_model(name, given)),
            use_once=None if keyed is None else lambda given, key: keyed(self.from_model(name, given), key),
        )

    def from_model(self, verb: str, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """Take the marks off a text in which a model repeats lines of a note as `read_note` quoted them to it."""
        field = _WRITTEN_FIELDS.get(verb, "")
        text = given.get(field)
        return {**given, field: self.notes.as_shown(text)} if isinstance(text, str) else given


def _once(operation: str, key: str | None, **asked: Any) -> Once:
    """Name a request that changes a note, so that it happens once under its key."""
    from everloom.kernel.once import Once

    return Once(operation, key, asked)


def _written(version: Any) -> results.NoteWritten:
    return results.NoteWritten(version.name, version.number, version.at)
