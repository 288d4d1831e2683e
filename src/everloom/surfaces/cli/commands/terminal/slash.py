"""The slash commands of a sitting: each calls one operation and shows its result.

A command is one entry in the table, which /help lists. Refuses to know keys, and how a message is answered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from everloom.jsontext import to_json

if TYPE_CHECKING:
    from everloom.mind import Mind
    from everloom.surfaces.cli.commands.terminal.choosing import ModelChoice
    from everloom.surfaces.cli.commands.terminal.display import Display
    from everloom.wiring.wire.anywhere import AnyWorkspace

_MOST_TOKENS = 100_000
_KEEP = "--keep"
_CLOSING = """A paste is one message. Alt-Enter begins a new line; so does Enter after a \\ or between lines of \"\"\".
To send a message that begins with a slash, put a space before it. Ctrl-C abandons a reply."""


@dataclass(frozen=True, slots=True)
class SlashCommand:
    """How a command is written, what it does, and the function that does it."""

    usage: str
    says: str
    run: Callable[[str], None]

    @property
    def name(self) -> str:
        """Return the word that it begins with."""
        return self.usage.partition(" ")[0]


class SlashCommands:
    """The commands that ask the memory; `more` are those of the sitting itself."""

    def __init__(
        self,
        place: AnyWorkspace,
        mind: Mind,
        display: Display,
        models: ModelChoice | None,
        more: tuple[SlashCommand, ...] = (),
    ) -> None:
        self._place = place
        # Only its verbs are used, so that it may be elsewhere.
        self._mind = mind
        self._line = display.line
        self._models = models
        listed = (
            SlashCommand("/help", "this list", self._help),
            SlashCommand("/status", "show status.json, and how full the context is", self._status),
            SlashCommand("/memory QUERY", "search facts and past exchanges", self._memory),
            SlashCommand("/facts [WORDS]", "list the facts that were learnt, or those that fit", self._facts),
            SlashCommand("/usage", "show what was used today", self._usage),
            SlashCommand("/model [NAME] [--keep]", "show or choose the model that answers", self._model),
            SlashCommand("/undo", "undo the last exchange", self._undo),
            SlashCommand("/notes [NAME]", "list the notes, or read one", self._notes),
            SlashCommand("/actions", "list what the agent wants to do", self._actions),
            SlashCommand(
                "/approve ID [always]", "let it be done, or let that tool act unasked from now on", self._approve
            ),
            SlashCommand("/refuse ID", "do not let it be done", self._refuse),
            *more,
        )
        self._table: Mapping[str, SlashCommand] = {each.name: each for each in listed}

    def is_one(self, text: str) -> bool:
        """Say whether a text begins with a command."""
        return text.startswith("/") and "\n" not in text and text.split(maxsplit=1)[0] in self._table

    def obey(self, text: str) -> None:
        """Run the command that a text begins with."""
        name, *rest = text.split(maxsplit=1)
        command = self._table.get(name)
        if command is None:
            self._line(f"there is no command {name}; /help lists the commands")
        else:
            command.run(rest[0].strip() if rest else "")

    def _help(self, _: str) -> None:
        room = max(len(each.usage) for each in self._table.values())
        lines = [f"{each.usage:{room}}  {each.says}" for each in self._table.values()]
        self._line("\n".join([*lines, _CLOSING]))

    def _status(self, _: str) -> None:
        self._line(to_json(self._mind.read_status(), indent=2))
        talk = self._mind.talk_status(max_tokens=None)
        if talk.last is not None and talk.last.context_window:
            self._line(f"context {talk.last.context_tokens:,} of {talk.last.context_window:,} tokens")
        if talk.waiting:
            self._line(f"{len(talk.waiting)} unanswered: /retry asks again")

    def _memory(self, query: str) -> None:
        found = self._mind.search_memory(query).found if query else "nothing to search for: write /memory QUERY"
        self._line(found)

    def _facts(self, words: str) -> None:
        found = self._mind.list_facts(query=words or None)
        lines = [f"{each.id:>6}  {each.text}" for each in found.facts]
        self._line(
            "\n".join([*lines, *([found.note] if found.note else [])])
            or ("no fact fits" if words else "there are no facts yet")
        )

    def _usage(self, _: str) -> None:
        from everloom.surfaces.cli.commands.usage import summary  # noqa: PLC0415
        from everloom.wiring.faculties import FACULTIES  # noqa: PLC0415

        found = FACULTIES["workspace"].reach(self._place, {}).usage(days=1)
        self._line("\n".join(summary(found.total, found.today, found.alerts)).strip())

    def _actions(self, _: str) -> None:
        found = self._mind.list_actions(max_tokens=_MOST_TOKENS).actions
        waiting = [each.to_decide for each in found if each.to_decide]
        self._line("\n".join(waiting) or "nothing waits for your approval")

    def _approve(self, words: str) -> None:
        number, _, always = words.partition(" ")
        if not number.isdecimal() or always.strip() not in {"", "always"}:
            self._line("write /approve ID, or /approve ID always; /actions lists what waits")
            return
        approved = self._mind.approve_action(int(number), always=bool(always))
        self._line(f"({approved.id} is approved: {approved.name})")

    def _refuse(self, number: str) -> None:
        if not number.isdecimal():
            self._line("write /refuse ID; /actions lists what waits")
            return
        refused = self._mind.refuse_action(int(number))
        self._line(f"({refused.id} is refused: {refused.name})")

    def _undo(self, _: str) -> None:
        undone = self._mind.undo_exchange()
        self._line("there is nothing to undo" if undone is None else f"undone: {undone.heard or undone.reply}")

    def _notes(self, name: str) -> None:
        if not name:
            self._line("\n".join(self._mind.list_notes(max_tokens=_MOST_TOKENS)) or "there are no notes yet")
            return
        body = self._mind.read_note(name).body
        self._line(f"there is no note {name}" if body is None else body)

    def _model(self, wish: str) -> None:
        words = wish.split()
        names, models = [each for each in words if each != _KEEP], self._models
        if not words:
            self._show_models()
        elif models is None:
            self._line("the server chooses its model: where it runs, `everloom config set llm.large MODEL` changes it")
        elif len(names) != 1:
            self._line("name one model: write /model NAME, or /model NAME --keep to choose it for good")
        else:
            self._line(models.choose(names[0], keep=_KEEP in words))

    def _show_models(self) -> None:
        self._line(f"{self._mind.talk_status().model or 'no model'} would answer")
        if self._models is None:
            return
        for role, model in self._models.roles.items():
            self._line(f"  {role:6} {model}")
        for model in self._models.others():
            self._line(f"  {'':6} {model}")
