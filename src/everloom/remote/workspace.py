"""A workspace elsewhere: what `Workspace` offers beyond its faculties, each method one call of a verb.

Written once for threads and for tasks: a method says which verb it means, and the subclass how to wait for it. Refuses
to know HTTP.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from everloom.errors import Rejected
from everloom.kernel.verbs import Verb
from everloom.remote.calls import Peer, RemoteCaller, request_for, result_of
from everloom.remote.changes import Position, follow
from everloom.remote.faculties import RemoteFaculty, faculty_named
from everloom.remote.sending import Sender
from everloom.wiring.background import BackgroundWork
from everloom.wiring.faculties import FACULTIES, Faculty
from everloom.wiring.items import NewDocument

if TYPE_CHECKING:
    from everloom.episodic import Episodic
    from everloom.graph import Graph, Graphs
    from everloom.kernel.forgetting.verbs import Forgetting
    from everloom.kernel.journal import Event, Verdict
    from everloom.kernel.search import Document, Recipe, Scope
    from everloom.kernel.work.tasks import Outcome
    from everloom.kernel.workspaces import WorkspaceInfo
    from everloom.mind import Mind, StreamMessage
    from everloom.mind.conversation.turn import Using
    from everloom.remote.answers import AnswerElsewhere
    from everloom.semantic import Semantic
    from everloom.wiring.review import Review

# One request of background work; a server gives up a request after two minutes.
_ROUND_SECONDS = 20.0
# Fields of a document that only the store itself gives.
_INNER = ("session_id", "trust")


class WorkspaceCalls:
    """The methods of a workspace as calls of verbs."""

    def __init__(self, info: WorkspaceInfo, caller: RemoteCaller) -> None:
        self.info = info
        self._caller = caller

    def __getattr__(self, name: str) -> RemoteFaculty:
        if name.startswith("_"):
            raise AttributeError(name)
        return faculty_named(name, self.run)

    @property
    def name(self) -> str:
        """Return the name of the workspace."""
        return self.info.name

    @property
    def session(self) -> str | None:
        """Return the label of everything that is written through it."""
        return self._caller.session

    def reach(self, faculty: Faculty, chosen: Mapping[str, Any]) -> RemoteFaculty:
        """Return the object whose verbs are called."""
        return RemoteFaculty(FACULTIES[faculty.name], self.run, chosen)

    def run(self, faculty: Faculty, verb: Verb, given: Mapping[str, Any]) -> Any:
        """Call a verb with arguments by name."""
        raise NotImplementedError

    def _ask(self, path: str, **given: Any) -> Any:
        """Call the verb at `faculty.verb`."""
        faculty, _, verb = path.partition(".")
        return self.run(FACULTIES[faculty], FACULTIES[faculty].verb(verb), given)

    def _then(self, answer: Any, change: Callable[[Any], Any]) -> Any:
        """Change an answer once it is there."""
        return change(answer)

    def search(
        self,
        cue: str,
        *,
        limit: int = 10,
        within: Scope | None = None,
        recipe: Recipe | None = None,
        fits_only: bool = False,
    ) -> Any:
        """Search all memories for `cue`, best match first; with `fits_only`, only for what answers it."""
        found = self.find(cue, limit=limit, within=within, recipe=recipe, fits_only=fits_only)
        return self._then(found, lambda each: each.hits)

    def find(
        self,
        cue: str,
        *,
        limit: int = 10,
        within: Scope | None = None,
        recipe: Recipe | None = None,
        fits_only: bool = False,
    ) -> Any:
        """Search like `search`, and also report what could not be searched."""
        if recipe is not None:
            hint = "leave it out, or use `Workspace.find` where the store is"
            raise Rejected("a recipe cannot be chosen here", hint=hint)
        # Named only where it is wanted: an older server does not know it.
        bounds: dict[str, Any] = {"fits_only": True} if fits_only else {}
        if within is not None:
            kinds = None if within.kinds is None else sorted(within.kinds)
            bounds |= {"kinds": kinds, "happened_from": within.happened_from}
            bounds |= {"happened_until": within.happened_until, "as_of": within.as_of}
        return self._ask("items.search", query=cue, limit=limit, max_tokens=None, **bounds)

    def show(self, item_id: int) -> Any:
        """Show everything that is known about an item, and count the access."""
        return self._ask("items.show", id=item_id)

    def why(self, item_id: int, *, after: int = 0) -> Any:
        """Explain why an item is remembered: the chain from it down to its evidence."""
        return self._ask("items.why", id=item_id, after=after, max_tokens=None)

    def mark(
        self, item_id: int, verdict: Verdict, reason: str | None = None, *, idempotency_key: str | None = None
    ) -> Any:
        """Mark an item as useful or as questionable."""
        return self._ask("items.mark", id=item_id, verdict=verdict, reason=reason, idempotency_key=idempotency_key)

    def pin(self, item_id: int, pinned: bool = True, *, idempotency_key: str | None = None) -> Any:
        """Pin an item so that it does not fade, or unpin it."""
        return self._ask("items.pin", id=item_id, pinned=pinned, idempotency_key=idempotency_key)

    def add(
        self,
        documents: Sequence[Document],
        *,
        operation: str = "add",
        origin: str | None = None,
        idempotency_key: str | None = None,
    ) -> Any:
        """Add documents as they are, without the rules of a faculty: for imports and benchmarks."""
        given = [_new_document(each) for each in documents]
        how = {"operation": operation, "origin": origin, "idempotency_key": idempotency_key}
        return self._ask("items.add", documents=given, **how)

    def events(self, *, limit: int = 50, before: int | None = None) -> Any:
        """List the latest operations, or those before an event."""
        return self._ask("items.events", limit=limit, before=before, max_tokens=None)

    def events_after(self, event_id: int, *, limit: int = 50) -> Any:
        """List the operations after an event, oldest first: whoever follows what happens misses none."""
        return self._ask("items.events_after", event_id=event_id, limit=limit, max_tokens=None)

    def jobs(self) -> Any:
        """Show every task of this workspace: what is due, what is running, what failed."""
        return self._ask("items.jobs")

    def perspectives(self) -> Any:
        """List the angles from which this workspace's texts are embedded."""
        return self._ask("workspace.perspectives")

    def add_perspective(self, name: str, instruction: str, *, idempotency_key: str | None = None) -> Any:
        """Add an angle from which the texts are embedded."""
        given = {"name": name, "instruction": instruction, "idempotency_key": idempotency_key}
        return self._ask("workspace.add_perspective", **given)

    def coverage(self) -> Any:
        """Count the documents that have vectors, and those that are waiting for them."""
        return self._ask("workspace.coverage")

    def plan_consolidation(self) -> Any:
        """List the steps of a consolidation in order, without asking a model or writing anything."""
        return self._ask("workspace.plan_consolidation", max_tokens=None)

    def forget(self, ids: Sequence[int] | None = None, *, confirm: str | None = None, **chosen: Any) -> Any:
        """Forget items for good; without the token of a preview as `confirm`, only show what would go."""
        return self._ask("forgetting.forget", ids=ids, confirm=confirm, **chosen)

    def correct(self, item_id: int, text: str, **how: Any) -> Any:
        """Put what is right in place of what an item says."""
        return self._ask("forgetting.correct", id=item_id, text=text, **how)


class RemoteWorkspace(WorkspaceCalls):
    """One workspace of a loom elsewhere, as one session reads and writes it. Use it from any thread."""

    if TYPE_CHECKING:
        # Read from the declarations when they are used; named here for type checkers.
        semantic: Semantic
        episodic: Episodic
        graph: Graph
        graphs: Graphs
        mind: Mind
        review: Review
        forgetting: Forgetting

    def __init__(self, peer: Peer, sender: Sender, info: WorkspaceInfo, caller: RemoteCaller) -> None:
        super().__init__(info, caller)
        self._peer = peer
        self._sender = sender

    @property
    def background(self) -> BackgroundWork:
        """Reach the long work that somebody has started: start it, ask about it, wait for it, stop it."""
        return BackgroundWork(self.reach(FACULTIES["jobs"], {}))

    def run(self, faculty: Faculty, verb: Verb, given: Mapping[str, Any]) -> Any:
        """Call a verb with arguments by name, and wait for its result."""
        return run_verb(self._peer, self._sender, self._caller, faculty, verb, given)

    def sleep(
        self, *, seconds: float = 3600.0, progress: Callable[[str, str, int, int], None] = lambda *_: None
    ) -> list[Outcome]:
        """Run every task that is due in this workspace, in requests of some seconds each."""
        rounds = Rounds(seconds)
        while (seconds_left := rounds.begin()) > 0:
            rounds.take(self._ask("workspace.run_due", seconds=seconds_left))
            for each in rounds.latest:
                progress(each.workspace, each.task, each.report.done if each.report else 0, 0)
        return rounds.outcomes

    def hear(
        self,
        message: StreamMessage,
        say: Callable[[str], None] = lambda _: None,
        *,
        seconds: float = 600.0,
        using: Using = lambda _: None,
    ) -> AnswerElsewhere:
        """Have a message of `mind.say` answered, and wait; `say` gets the words as they come, `using` the tools."""
        from everloom.remote.answers import SpokenWords, hear_answer  # noqa: PLC0415  loads the mind

        return hear_answer(self._peer, self._sender, self._caller, message, SpokenWords(say, using), seconds)

    def changes(self, after: int | None = None) -> Generator[Event]:
        """Follow the operations of this workspace as they happen, after an event or from now on; waits in between.

        Survives a server that restarts, and misses nothing. Ends when the iterator is closed.
        """
        begin = after if after is not None else next((each.id for each in self.events(limit=1)), 0)
        position = Position(self._peer, begin)
        with closing(follow(self._peer, self._sender, self._caller, position)) as events:
            yield from events


class Rounds:
    """BackgroundWork work that is done in several requests, reported as one."""

    def __init__(self, seconds: float) -> None:
        self._ends = time.monotonic() + seconds
        self._begun = time.monotonic()
        self._is_over = False
        self._known: dict[str, Outcome] = {}
        self.latest: Sequence[Outcome] = ()

    def begin(self) -> float:
        """Begin the next request, and return its seconds; 0 if there is none."""
        self._begun = time.monotonic()
        left = self._ends - self._begun
        return 0.0 if self._is_over or left < 0.1 else min(left, _ROUND_SECONDS)

    @property
    def outcomes(self) -> list[Outcome]:
        """How each task ended."""
        return [*self._known.values()]

    def take(self, outcomes: Sequence[Outcome]) -> None:
        """Add the outcomes of one request; if it used up its time, there may be more to do."""
        self.latest = outcomes
        used_up = time.monotonic() - self._begun >= _ROUND_SECONDS * 0.9
        moved = any(each.report is not None and each.report.done for each in outcomes)
        self._is_over = not (used_up and moved)
        for each in outcomes:
            self._known[each.task] = _added(self._known.get(each.task), each)


def _added(before: Outcome | None, now: Outcome) -> Outcome:
    if before is None or before.report is None or now.report is None:
        return now
    return replace(now, report=replace(now.report, done=before.report.done + now.report.done))


def _new_document(document: Document) -> NewDocument:
    """Return a document as the declaration of `items.add` has it."""
    known = {each.name: getattr(document, each.name) for each in fields(document)}
    if any(known.pop(name) is not None for name in _INNER):
        hint = "leave it out, or add the documents where the store is"
        raise Rejected(f"{' and '.join(_INNER)} of a document are given by the store alone", hint=hint)
    return NewDocument(**{**known, "standing": str(document.standing)})


def run_verb(
    peer: Peer, sender: Sender, caller: RemoteCaller, faculty: Faculty, verb: Verb, given: Mapping[str, Any]
) -> Any:
    """Call a verb elsewhere and wait for its result."""
    request = request_for(faculty, verb, given, caller)
    return result_of(peer, request, sender.send(request))
