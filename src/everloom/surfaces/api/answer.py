"""The answer to a message, as server-sent events: words as they are written, tools as they run, and how it ended.

Words come from the thread of this process, if it is the one that answers; how it ended comes from the store, so that it
does not matter which process answered. A client that was cut off asks again, and is told all words again.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import Response

from everloom.errors import Rejected
from everloom.kernel.answer.encode import as_data
from everloom.surfaces.api.changes import HEADERS
from everloom.surfaces.web.entrance import Entrance
from everloom.surfaces.web.identity import CallClues
from everloom.surfaces.web.streaming import Said, event, id_in, stream_of

if TYPE_CHECKING:
    from everloom.loom import Workspace
    from everloom.mind import StreamMessage
    from everloom.surfaces.web.answering import Answering, Writing

# Words are looked for in memory, how it ended in the store.
_LOOK_EVERY = 0.05
_STORE_EVERY = 0.4


async def answer_stream(entrance: Entrance, clues: CallClues, request: Request) -> Response:
    """Answer with the stream of one message until it is answered, or until the attempt after those known fails."""
    message, attempts = (id_in(request.query_params.get(name), name) for name in ("id", "attempts"))
    if message is None:
        raise Rejected("no message is named", hint="give the id of the message as id")
    workspace = await run_sync(lambda: entrance.enter("mind.answer", clues, writes=False))
    listening = AnswerListener(entrance.answering, workspace, message, attempts or 0)
    # Before the response begins: a message that is not there is an error, and not a stream.
    await run_sync(listening.begin)
    look_at = 0.0

    async def tick() -> Said:
        nonlocal look_at
        said = listening.words()
        if (now := time.monotonic()) < look_at:
            return Said(said)
        look_at = now + _STORE_EVERY
        ended = await run_sync(listening.end)
        return Said(said + ended, is_last=bool(ended))

    return stream_of(entrance, request, tick, _LOOK_EVERY, HEADERS)


class AnswerListener:
    """Somebody who waits for the answer to one message, and what has been told."""

    def __init__(self, answering: Answering, workspace: Workspace, message: int, attempts: int) -> None:
        self._answering = answering
        self._workspace = workspace
        self._conversation = workspace.mind.conversation
        self._id = message
        self._attempts = attempts
        self._turn = self._told = 0
        self._tools: object = ()

    def begin(self) -> None:
        """See that the message is there, and have it answered here unless the listener may only read."""
        self._conversation.get(self._id)
        if self._workspace.refusal is None:
            self._answering.follow(self._workspace.info)

    def words(self) -> str:
        """Say what has been written since the last look."""
        writing = self._answering.writing(self._workspace.info.id)
        return "" if writing is None else self._words_of(writing)

    def _words_of(self, writing: Writing) -> str:
        if writing.turn != self._turn:
            self._turn, self._told, self._tools = writing.turn, 0, ()
        said = ""
        if writing.tools != self._tools:
            self._tools = writing.tools
            steps = sorted(writing.tools, key=lambda each: each.number)
            said += event("tools", {"tools": [{"name": each.name, "state": each.state} for each in steps]})
        if len(writing.text) > self._told:
            words = {"turn": writing.turn, "at": self._told, "text": writing.text[self._told :]}
            said += event("words", words)
            self._told = len(writing.text)
        return said

    def end(self) -> str:
        """Say how it ended, if it has."""
        message = self._conversation.get(self._id)
        if (reply := self._conversation.reply_to(self._id)) is not None:
            written = self._answering.written(self._workspace.info.id)
            # Of a turn that was listened to, the last words may have come after the last look.
            rest = self._words_of(written) if written is not None and written.turn == self._turn else ""
            return rest + event("reply", as_data({"reply": reply, "exchange": self._exchange(message)}))
        if message.attempts > self._attempts or message.state not in ("waiting", "answered"):
            why = message.last_error or f"the message is {message.state}"
            return event("failed", {"error": why, "hint": "the message is stored", "attempts": message.attempts})
        if not self._answering.has_model(self._workspace.info):
            hint = "set llm.large where the server runs; the message is stored and will be answered then"
            return event("failed", {"error": "no language model is configured", "hint": hint})
        return ""

    def _exchange(self, message: StreamMessage) -> Any:
        wanted = message.exchange_id
        before = None if wanted is None else wanted + 1
        return next((each for each in self._conversation.exchanges(1, before) if each.id == wanted), None)
