"""The conversation as it goes on, for the script of its page: messages as they are stored, words as they are written.

Messages come from the store, so that it does not matter which process answers; words come from the thread of this
process, if it is the one that answers. A browser that comes back names the last message that it has.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from anyio.to_thread import run_sync
from starlette.responses import Response

from everloom.surfaces.page.html import clean
from everloom.surfaces.page.pages.mind.log import LogLine, lines_of
from everloom.surfaces.page.paths import WORKSPACE, listen
from everloom.surfaces.page.visit import HEADERS, Visit
from everloom.surfaces.web.streaming import Said, event, resumed_after, stream_of

if TYPE_CHECKING:
    from everloom.loom import Workspace
    from everloom.mind.conversation.turn import ToolStep
    from everloom.surfaces.web.answering import Writing

# Words are looked for in memory, messages in the store.
_LOOK_EVERY = 0.1
_STORE_EVERY = 0.7
# The last lines are sent again to whoever comes back: their state may have changed while nobody listened.
_AGAIN = 12
_MOST_MISSED = 100


async def live(visit: Visit) -> Response:
    """Answer with the stream of what is said from now on, or after the message that the browser names."""
    after = resumed_after(visit.request)
    workspace = await run_sync(lambda: visit.workspace)
    tick = Listener(visit, workspace, after).tick
    return stream_of(visit.entrance, visit.request, tick, _LOOK_EVERY, HEADERS)


class Listener:
    """One browser that listens, and what it has been told."""

    def __init__(self, visit: Visit, workspace: Workspace, after: int | None) -> None:
        self._visit = visit
        self._workspace = workspace
        self._after = after
        self._states: dict[int, tuple[object, ...]] = {}
        self._look_at = 0.0
        self._turn = self._told = 0
        self._tools: object = ()

    async def tick(self) -> Said:
        """Say what is new."""
        writing = self._visit.answering.writing(self._workspace.info.id)
        # A turn that ended is in the store by now: its reply must be shown before its words are taken away.
        has_ended = self._turn != 0 and (writing is None or writing.turn != self._turn)
        said = ""
        if has_ended or time.monotonic() >= self._look_at:
            said = await run_sync(self._news)
            self._look_at = time.monotonic() + _STORE_EVERY
        if has_ended:
            self._turn = 0
            said += event("quiet", {})
        return Said(said + self._words(writing))

    def _words(self, writing: Writing | None) -> str:
        if writing is None:
            return ""
        if writing.turn != self._turn:
            self._turn, self._told, self._tools = writing.turn, 0, ()
        said = ""
        if writing.tools != self._tools:
            self._tools = writing.tools
            shown = [{"name": clean(each.name), "state": each.state} for each in sorted(writing.tools, key=_by_number)]
            said += event("tools", {"turn": writing.turn, "tools": shown})
        if len(writing.text) > self._told:
            # Appended as they come: a browser counts characters differently from us.
            words = {"turn": writing.turn, "begins": self._told == 0, "text": clean(writing.text[self._told :])}
            said += event("words", words)
            self._told = len(writing.text)
        return said

    def _news(self) -> str:
        """Read what was stored or has changed since the last look."""
        if self._visit.may_write:
            self._visit.answering.follow(self._workspace.info, is_watched=True)
        lines = lines_of(self._workspace, _AGAIN)
        if not self._states and self._has_missed(lines, _AGAIN):
            lines = lines_of(self._workspace, _MOST_MISSED)
            if self._has_missed(lines, _MOST_MISSED):
                return event("reload", {})
        fresh = [each for each in lines if self._states.get(each.id) != each.state]
        self._states |= {each.id: each.state for each in fresh}
        newest = max([self._after or 0, *self._states])
        return "".join(
            event("line", {"id": each.id, "html": self._visit.rendered("message.html", line=each)}, newest)
            for each in fresh
        )

    def _has_missed(self, lines: list[LogLine], asked: int) -> bool:
        """Return whether there may be messages between the last one that the browser has and these."""
        return self._after is not None and len(lines) >= asked and self._after < lines[0].id


def _by_number(step: ToolStep) -> int:
    return step.number


PATHS = (listen(f"{WORKSPACE}mind/live", live),)
