"""Changes of notes that wait for the person: what the agent would write becomes an action, and is written on approval.

It is written against the version that it was made for: if the note has changed since, nothing is written.
"""

from __future__ import annotations

import json
from typing import NoReturn

from everloom.errors import Forbidden
from everloom.kernel.once import Once
from everloom.mind.hands import rules
from everloom.mind.hands.actions import Action, Actions, NewAction
from everloom.mind.hands.wording import note_question
from everloom.mind.notes.notes import NoteHold, Notes
from everloom.mind.notes.sync import OpenNote
from everloom.mind.ports import MindSetup


class HeldNotes(NoteHold):
    """The notes of one workspace that the agent changes only with approval."""

    def __init__(self, setup: MindSetup) -> None:
        self._setup = setup

    def covers(self, name: str) -> bool:
        """Say whether the settings name a note."""
        return rules.is_held(name, self._setup.policy.approve_notes)

    def ask(self, note: OpenNote, body: str) -> NoReturn:
        """Make an action of the change, and refuse to write it now."""
        known = {"body": body, "version": note.number}
        asked = Actions(self._setup).ask(
            NewAction(
                kind="note",
                tool=note.name,
                input=json.dumps(known, ensure_ascii=False),
                question=lambda number, until: note_question(number, note.name, note.body, body, until),
            )
        )
        message = f"{note.name} changes only with the person's approval, and they were asked (action {asked.id})"
        raise Forbidden(message, hint="go on without it; what they decide will be told in this conversation")


def apply_change(setup: MindSetup, action: Action) -> str:
    """Write a note as approved, once, if it is still at the version that the change was made for."""
    known = json.loads(action.input)
    once = Once("approved_note", f"action {action.id}", {"action": action.id})
    version = Notes(setup).put(action.tool, known["body"], expected=known["version"], once=once)
    return f"{version.name} is at version {version.number}"
