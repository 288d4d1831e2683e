"""Voice messages: whoever is configured listens before the message is answered, and what it hears is what was said.

A failure is recorded and tried again after a pause, a few times; meanwhile other messages are answered. Refuses to know
who listens.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from everloom.clock import from_micros, to_micros
from everloom.errors import ProviderError
from everloom.kernel.texts import LONGEST_TEXT, UNSTORABLE
from everloom.models.hear import Recording
from everloom.secrets import logger_of, masked
from everloom.store import Row

if TYPE_CHECKING:
    from datetime import datetime

    from everloom.mind.ports import MindSetup
    from everloom.mind.senses.attachments import Attachments
    from everloom.models.hear import Transcriber

log = logger_of(__name__)

_LEASE = "hearing"
_FIRST_PAUSE = timedelta(seconds=2)
_MOST_ATTEMPTS = 6
_LOST = "its file is not here"
_SILENT = "nothing was heard in it"


class Ears:
    """Listens to the voice messages of one conversation."""

    def __init__(self, setup: MindSetup, attachments: Attachments) -> None:
        self._setup = setup
        self._op = setup.op
        self._attachments = attachments

    def waiting(self) -> dict[int, datetime]:
        """List the messages that somebody has yet to listen to, and when that is tried; none if nobody can."""
        if self._setup.transcriber() is None:
            return {}
        found: dict[int, datetime] = {}
        for row in self._rows():
            at = from_micros(row["not_before"])
            found[row["message_id"]] = min(at, found.get(row["message_id"], at))
        return found

    def _rows(self) -> list[Row]:
        with self._op.read() as unit:
            return unit.all("mind.attachment_unheard")

    def listen(self) -> None:
        """Listen to what is due, one after the other; another process that listens is left alone."""
        transcriber, now = self._setup.transcriber(), to_micros(self._op.now)
        if transcriber is None or not any(row["not_before"] <= now for row in self._rows()):
            return
        with self._setup.leases.held(self._op.workspace.id, _LEASE) as lease:
            if lease is None:
                return
            for row in self._rows():
                if row["not_before"] <= now:
                    self._hear(transcriber, row)

    def _hear(self, transcriber: Transcriber, row: Row) -> None:
        data = self._attachments.read(row["hash"])
        if data is None:
            self._keep(row, "", _LOST)
            return
        try:
            said = transcriber.hear(Recording(data, row["media_type"], row["seconds"]))
        except ProviderError as error:
            log.warning("a voice message could not be listened to: %s", error)
            self._postpone(row, error)
            return
        kept = UNSTORABLE.sub("", said)[:LONGEST_TEXT]
        self._keep(row, self._op.screen.kept(kept, "the voice message") if kept else "", "" if kept else _SILENT)

    def _postpone(self, row: Row, error: ProviderError) -> None:
        attempts = row["attempts"] + 1
        if attempts >= _MOST_ATTEMPTS:
            self._keep(row, "", f"nobody could listen to it: {masked(error.message)[:200]}")
            return
        until = to_micros(self._op.now + _FIRST_PAUSE * (1 << row["attempts"]))
        with self._op.write("listen") as writing:
            writing.unit.send(
                "mind.attachment_postpone",
                message=row["message_id"],
                number=row["number"],
                attempts=attempts,
                not_before=until,
            )

    def _keep(self, row: Row, said: str, note: str) -> None:
        """Record what was heard, or why nothing was; the words become those of the message."""
        from everloom.mind.conversation.stream import amend_text  # noqa: PLC0415  it imports this room

        with self._op.write("listen") as writing:
            unit = writing.unit
            own = {"message": row["message_id"], "number": row["number"], "text": said, "note": note}
            # Its message may have been forgotten while somebody listened.
            if unit.run("mind.attachment_heard", **own) and said:
                amend_text(unit, row["message_id"], said)
