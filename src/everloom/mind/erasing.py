"""The mind's part in a forgetting: exchanges with messages and turns, notes with all versions, scheduled messages.

An exchange goes whole, because its turns are one conversation. Summaries of the conversation since then are undone: the
array falls back to the turns themselves, without the forgotten ones, and is compacted again when it is too long. A
note's file is removed after the transaction; if the process dies in between, the next one that opens the notes does it.
So are the files that came with messages; there, the next one that starts the gateway or stores a file does it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

from everloom.clock import to_micros
from everloom.kernel.forgetting.plan import Consequences, Doomed, ForgetPlan, Traces
from everloom.kernel.forgetting.ports import Eraser
from everloom.kernel.forgetting.tombstones import text_key
from everloom.kernel.operation import Transaction
from everloom.mind.conversation.blocks import decode_blocks, encode_blocks, erased
from everloom.mind.conversation.deeds import drop_deeds_of, scrub_deeds
from everloom.mind.conversation.stream import message_key
from everloom.mind.hands.actions import CHANNEL as HANDS
from everloom.mind.hands.actions import scrub_actions
from everloom.mind.notes.files import KNOWN, SOUL, day_of, default_text
from everloom.mind.notes.sync import NoteSync
from everloom.mind.ports import MindSetup
from everloom.mind.senses.attachments import Attachment, Attachments, attachments_of
from everloom.mind.senses.wording import unquoted
from everloom.models.talk import Block, Compacted, TextBlock, ToolResult, ToolUse
from everloom.store import Row, Unit

_EXCHANGE, _MESSAGE, _COMPACTION, _SCHEDULED, _NOTE = "exchange", "message", "compaction", "scheduled", "written note"
_INTENTION = "intention"
_FORGOTTEN = "(forgotten)"
_MOST = 100_000
_PAGE = 1_000


class MindEraser(Eraser):
    """Forgets parts of the conversation, and notes."""

    def __init__(self, setup: MindSetup) -> None:
        self._setup = setup
        self._notes: list[tuple[int, str]] = []
        self._sync: NoteSync | None = None
        self._since = 0
        self._attachments = Attachments(setup)
        self._is_sweeping = False

    def claim(self, unit: Unit, ids: Collection[int]) -> Mapping[int, Doomed]:
        """Describe exchanges, messages, summaries, scheduled messages and notes."""
        wanted = list(ids)
        rows = [row for row in unit.all("mind.message_of", ids=wanted) if row["id"] in ids]
        brought = attachments_of(unit, [row["id"] for row in rows])
        found = {row["id"]: _message(row, brought.get(row["id"], ())) for row in rows}
        spoken = {row["id"]: row for row in unit.all("mind.exchange_of", ids=wanted)}
        texts = _turn_texts(unit, list(spoken))
        for item, row in spoken.items():
            text = " ".join(texts.get(item, ()))
            found[item] = Doomed(id=item, kind=_EXCHANGE, text=text, state=str(row["withdrawn_at"]))
        for row in unit.all("mind.compaction_places"):
            if row["id"] in ids:
                found[row["id"]] = Doomed(id=row["id"], kind=_COMPACTION, text=_summary(row))
        for row in unit.all("archive.scheduled_of", ids=wanted):
            state = f"{row['state']} {row['due_at']}"
            found[row["id"]] = Doomed(id=row["id"], kind=_SCHEDULED, text=row["text"], state=state)
        for row in unit.all("archive.intention_of", ids=wanted):
            text = f"{row['title']} {row['text']}"
            found[row["id"]] = Doomed(id=row["id"], kind=_INTENTION, text=text, state=row["state"])
        return found | _notes_of(unit, wanted)

    def within(self, unit: Unit, begin: int, end: int, session_id: int | None) -> set[int]:
        """Find messages and exchanges of a period; the exchanges of a sitting have documents."""
        if session_id is not None:
            return set()
        period = {"begin": begin, "end": end, "limit": _MOST}
        rows = [*unit.all("mind.message_within", **period), *unit.all("mind.exchange_within", **period)]
        return {row["id"] for row in rows}

    def consequences(self, unit: Unit, plan: ForgetPlan) -> Consequences:
        """Say which messages and exchanges belong together, and which summaries hold them."""
        taken: dict[int, str] = {}
        for row in unit.all("mind.message_of", ids=[*plan.of(_EXCHANGE), *plan.of(_MESSAGE)]):
            if row["exchange_id"] is not None:
                taken[row["exchange_id"]] = f"the exchange of message {row['id']}"
                taken[row["id"]] = f"said in exchange {row['exchange_id']}"
        taken |= dict.fromkeys(_summaries_of(unit, plan.of(_EXCHANGE)), "a summary of the conversation that holds it")
        return Consequences(taken | self._soul(unit, plan))

    def _soul(self, unit: Unit, plan: ForgetPlan) -> dict[int, str]:
        """Find SOUL.md if it shows, or has shown, a soul that goes; and the souls that it shows, if it was chosen."""
        row = unit.one("notes.note_by_name", name=SOUL)
        if row is None:
            return {}
        shown = {text_key(each["body"]) for each in unit.all("notes.versions_of", ids=[row["id"]]) if each["body"]}
        souls = {item for item, text in self._setup.soul.versions(unit).items() if text_key(text) in shown}
        if row["id"] in plan.doomed and row["id"] not in plan.reasons:
            return dict.fromkeys(souls - plan.doomed.keys(), "the soul that the note shows")
        return {row["id"]: "shows the forgotten soul"} if souls & plan.doomed.keys() else {}

    @contextmanager
    def alone(self, plan: ForgetPlan) -> Iterator[None]:
        """Lock the directory of the notes while one of them is forgotten, and that of attachments with messages."""
        with ExitStack() as held:
            if self._attachments.files.is_there and self._has_files(plan):
                held.enter_context(self._attachments.files.alone())
                self._is_sweeping = True
            if plan.of(_NOTE):
                self._sync = NoteSync(self._setup)
                held.enter_context(self._sync.alone())
            yield

    def _has_files(self, plan: ForgetPlan) -> bool:
        with self._setup.op.read() as unit:
            return bool(attachments_of(unit, plan.of(_MESSAGE)))

    def erase(self, tx: Transaction, plan: ForgetPlan) -> None:
        """Delete the rows; a note keeps one empty version until its file is gone."""
        unit, exchanges = tx.unit, plan.of(_EXCHANGE)
        # Ids are clocks: no tool has shown anything before it was there.
        self._since = min(plan.ids, default=0)
        _undo_compactions(unit, set(plan.of(_COMPACTION)))
        # Whatever was forgotten: a note may quote it, and built again from the same notes it is the same.
        unit.send("mind.prompt_drop")
        for row in unit.all("archive.heartbeat_reasons"):
            if row["exchange_id"] in plan.doomed:
                unit.send("archive.heartbeat_blank", id=row["id"], reason="", exchange=None)
        unit.send("archive.intention_reopen", exchanges=exchanges)
        unit.send("archive.intention_purge", ids=plan.of(_INTENTION))
        unit.send("mind.entry_drop", ids=exchanges)
        unit.send("mind.attachment_drop", ids=plan.of(_MESSAGE))
        unit.send("mind.message_drop", ids=plan.of(_MESSAGE))
        if plan.of(_MESSAGE):
            unit.send("mind.contact_drop")
        unit.send("mind.exchange_drop", ids=exchanges)
        drop_deeds_of(unit, plan.of(_MESSAGE))
        unit.send("archive.scheduled_drop", ids=plan.of(_SCHEDULED))
        self._notes = empty_notes(unit, plan.of(_NOTE), to_micros(tx.at))

    def scrub(self, tx: Transaction, traces: Traces) -> None:
        """Take the words out of what tools brought, quotes, notices, summaries and the reasons of heartbeats."""
        unit = tx.unit
        told = {row["id"] for row in unit.all("mind.compaction_places") if traces.in_text(_summary(row))}
        _undo_compactions(unit, told)
        unit.send("kernel.item_drop", ids=sorted(told))
        _scrub_turns(unit, traces, self._since)
        scrub_deeds(unit, traces)
        scrub_actions(unit, traces)
        _scrub_messages(unit, traces, self._since)
        for row in unit.all("archive.heartbeat_reasons"):
            if row["reason"] and traces.in_text(row["reason"]):
                unit.send("archive.heartbeat_blank", id=row["id"], reason="", exchange=row["exchange_id"])

    def finish(self) -> tuple[str, ...]:
        """Remove the files of notes, and then their rows; and the files of messages, unless others have the same."""
        if self._is_sweeping:
            self._attachments.sweep_alone()
        if self._sync is not None:
            self._sync.remove_forgotten(self._notes)
        return ()


def _message(row: Row, attachments: Sequence[Attachment]) -> Doomed:
    keys = () if row["sender_key"] is None else (message_key(row["channel"], row["sender_key"]),)
    words = [word for each in attachments for word in (each.name, each.text)]
    text = " ".join(part for part in (row["text"], row["last_error"], *words) if part)
    return Doomed(id=row["id"], kind=_MESSAGE, text=text, state=row["state"], keys=keys)


def _turn_texts(unit: Unit, ids: Sequence[int]) -> dict[int, list[str]]:
    """Read what was said in exchanges."""
    found: dict[int, list[str]] = {}
    for row in unit.all("mind.entry_texts", ids=list(ids)):
        blocks = decode_blocks(row["blocks"])
        # Not what tools answered: that is mostly other memories, which stay.
        told = [block.text for block in blocks if isinstance(block, TextBlock)]
        known = found.setdefault(row["exchange_id"], [])
        known += [text for text in told if text not in known]
    return found


def _summary(row: Row) -> str:
    return " ".join(block.text for block in decode_blocks(row["blocks"]) if isinstance(block, Compacted))


def _summaries_of(unit: Unit, exchanges: Sequence[int]) -> set[int]:
    """Find the compactions made after exchanges had left the array: their summaries may hold anything of them."""
    last: dict[int, int] = {}
    for row in unit.all("mind.entry_places", ids=list(exchanges)):
        last[row["exchange_id"]] = row["position"]
    # A compaction repeats after itself the turns that it does not summarise, so an exchange with a later turn is not in
    # it. Every later one summarises the summaries before it.
    rows = unit.all("mind.compaction_places") if last else []
    return {row["id"] for row in rows if any(position < row["position"] for position in last.values())}


def _undo_compactions(unit: Unit, ids: set[int]) -> None:
    """Take summaries out of the array, the newest first, so that it begins with the turns that they stood for."""
    rows = [row for row in unit.all("mind.compaction_places") if row["id"] in ids]
    unit.send("mind.compaction_drop", ids=sorted(ids))
    for row in reversed(rows):
        if row["exchange_id"] is None:
            unit.send("mind.entry_drop_at", position=row["position"])
            unit.send("mind.entry_drop_copies", position=row["position"])
        else:
            # A provider that compacts by itself puts the summary into the turn that it answers.
            rest = [block for block in decode_blocks(row["blocks"]) if not isinstance(block, Compacted)]
            unit.send("mind.entry_rewrite", position=row["position"], blocks=encode_blocks(rest))


def _scrub_messages(unit: Unit, traces: Traces, since: int) -> None:
    """Take the words out of what messages that stay quote, of why they failed, and of what the system told people."""
    for row in unit.all("mind.message_quotes"):
        if traces.in_quote(row["quote"]):
            unit.send("mind.message_unquote", id=row["id"])
    # A turn that fails leaves its error on all its messages, and it may quote any of them.
    for row in unit.all("mind.message_errors"):
        if traces.in_text(row["last_error"]):
            unit.send("mind.message_error_blank", id=row["id"], error=_FORGOTTEN)
    for row in unit.all("mind.notice_texts", since=since, own=HANDS):
        if traces.in_text(row["text"]):
            unit.send("mind.notice_blank", id=row["id"], text=_FORGOTTEN)


def _scrub_turns(unit: Unit, traces: Traces, since: int) -> None:
    """Empty what tools were asked and brought, and what was quoted, in turns that stay, where it shows the words."""
    after = -1
    while rows := unit.all("mind.entry_page", after=after, since=since, limit=_PAGE):
        after = rows[-1]["position"]
        for row in rows:
            blocks = decode_blocks(row["blocks"])
            kept = tuple(_without(block, traces) for block in blocks)
            if kept != tuple(blocks):
                unit.send("mind.entry_rewrite", position=row["position"], blocks=encode_blocks(kept))


def _without(block: Block, traces: Traces) -> Block:
    match block:
        case ToolResult(text=text) if traces.in_text(text):
            return erased(block)
        case ToolUse(input=given) if traces.in_data(given):
            return erased(block)
        case TextBlock(text=text):
            return TextBlock(unquoted(text, traces.in_quote))
    return block


def _notes_of(unit: Unit, ids: Sequence[int]) -> dict[int, Doomed]:
    bodies: dict[int, list[str]] = {}
    for row in unit.all("notes.versions_of", ids=list(ids)):
        bodies.setdefault(row["note_id"], []).append(row["body"])
    return {
        row["id"]: Doomed(
            id=row["id"],
            kind=_NOTE,
            text=" ".join([*reversed(bodies.get(row["id"], [])), row["name"]]),
            state=f"{len(bodies.get(row['id'], ()))} {row['body_hash']}",
            # The names of standard and daily notes say nothing.
            names=() if row["name"] in KNOWN or day_of(row["name"]) else (row["name"],),
            keys=tuple(
                text_key(body)
                for body in dict.fromkeys(bodies.get(row["id"], ()))
                # Whether a soul may come back is decided by its own tombstone.
                if body.strip() and body != default_text(row["name"]) and row["name"] != SOUL
            ),
            lingers=True,
        )
        for row in unit.all("notes.note_of", ids=list(ids))
    }


def empty_notes(unit: Unit, ids: Sequence[int], at: int) -> list[tuple[int, str]]:
    """Replace all versions of notes by an empty one that is on its way into the file."""
    rows = unit.all("notes.note_of", ids=list(ids))
    numbers = {row["note_id"]: row["number"] for row in unit.all("notes.versions_of", ids=list(ids))}
    unit.send("notes.version_purge", ids=list(ids))
    for row in rows:
        number = numbers.get(row["id"], 0) + 1
        unit.send("notes.version_add", id=row["id"], number=number, body="", author="person", at=at)
        unit.send("notes.note_mark", id=row["id"], known=row["body_hash"], coming="", at=at)
    return [(row["id"], row["name"]) for row in rows]
