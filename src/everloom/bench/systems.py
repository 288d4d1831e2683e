"""The systems that are compared: everloom as its users meet it, plain keywords, plain vectors.

Everloom is filled through public doors only: as observations, or as an imported conversation. Every system gets the
same turns and the same questions.
"""

from __future__ import annotations

import re
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from everloom.bench.conversations import SampleConversation, SampleTurn
from everloom.kernel.calls.bounds import MOST_CHARACTERS
from everloom.kernel.search import Document, Findings, Recipe
from everloom.kernel.texts import stop_words
from everloom.loom import Workspace, open_loom
from everloom.models.embed import EmbeddingTask
from everloom.semantic.arguments import MOST_OBSERVATIONS, NewObservation
from everloom.settings import Settings

DEPTH = 20


@dataclass(frozen=True, slots=True)
class Reply:
    """What a system found: turns, best first, how strong the best evidence is, and whether it would answer at all."""

    turns: Sequence[str]
    strength: float = 0.0
    fits: bool | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """A system that has read a conversation: how to ask it, and how long reading took."""

    ask: Callable[[str], Reply]
    seconds: float


# Reads a conversation, for as long as it is asked about it; one reading may serve several ways of asking, by name.
Reader = Callable[[SampleConversation], AbstractContextManager[Mapping[str, Reading]]]
DoorName = Literal["observations", "conversation"]


def everloom_reader(door: DoorName, recipes: Mapping[str, Recipe], url: str | None = None) -> Reader:
    """Let everloom read each conversation through a door, and be asked by each recipe."""

    @contextmanager
    def read(conversation: SampleConversation) -> Iterator[Mapping[str, Reading]]:
        with _fresh_workspace(f"bench {conversation.name}", url) as workspace:
            start = time.perf_counter()
            turns = DOORS[door](workspace, conversation)
            seconds = time.perf_counter() - start
            yield {name: Reading(_asking(workspace, turns, recipe), seconds) for name, recipe in recipes.items()}

    return read


@contextmanager
def _fresh_workspace(name: str, url: str | None) -> Iterator[Workspace]:
    """Create a workspace in a store, by default a temporary file, and remove it afterwards."""
    with (
        tempfile.TemporaryDirectory() as folder,
        # Default settings, not those of this machine: results must be comparable between machines.
        open_loom(url or Path(folder) / "loom.db", settings=Settings()) as loom,
    ):
        # Created, not opened: in a store that was given, somebody may already have a workspace of this name.
        workspace = loom.workspace(loom.workspaces.create(name).name)
        try:
            yield workspace
        finally:
            loom.workspaces.remove(name)


def _asking(workspace: Workspace, turns: Mapping[int, Sequence[str]], recipe: Recipe) -> Callable[[str], Reply]:
    """Ask as a user would; what is not a turn keeps its place on the page."""

    def ask(question: str) -> Reply:
        found = workspace.find(question, limit=DEPTH, recipe=recipe)
        named = [turn for hit in found.hits for turn in turns.get(hit.id, [str(hit.id)])]
        return Reply(named, strength_of(found), found.fits)

    return ask


def strength_of(found: Findings) -> float:
    """Return how likely it is that the memory holds an answer."""
    return found.known if found.hits else 0.0


def _sessions(
    workspace: Workspace, conversation: SampleConversation
) -> Iterator[tuple[Workspace, Sequence[SampleTurn]]]:
    """Open the workspace once for each session of a conversation."""
    for number, session in enumerate(conversation.sessions, 1):
        yield workspace.loom.workspace(workspace.name, session=f"session {number}"), session


def as_observations(workspace: Workspace, conversation: SampleConversation) -> dict[int, list[str]]:
    """Remember each turn as an observation about whoever spoke; returns the turns of each item."""
    turns: dict[int, list[str]] = {}
    for place, session in _sessions(workspace, conversation):
        for part in _calls(session):
            added = place.semantic.add_observations(
                [
                    NewObservation(subject_names=(turn.speaker, *turn.others), content=said(turn), observed_at=turn.at)
                    for turn in part
                ]
            )
            # The same words are stored once: two turns may be one observation.
            for each, turn in zip(added, part, strict=True):
                turns.setdefault(each.id, []).append(turn.id)
    return turns


def _calls(session: Sequence[SampleTurn]) -> Iterator[list[SampleTurn]]:
    """Divide the turns of a session into what one call may bring."""
    part, characters = list[SampleTurn](), 0
    for turn in session:
        # Half of what a call may bring, because the names of speakers and subjects are part of it.
        if len(part) == MOST_OBSERVATIONS or (part and characters + len(said(turn)) > MOST_CHARACTERS // 2):
            yield part
            part, characters = [], 0
        part.append(turn)
        characters += len(said(turn))
    if part:
        yield part


def as_conversation(workspace: Workspace, conversation: SampleConversation) -> dict[int, list[str]]:
    """Import each session of a conversation as documents; returns the turns of each item."""
    turns: dict[int, list[str]] = {}
    for place, session in _sessions(workspace, conversation):
        ids = place.add([document_of(turn) for turn in session])
        turns |= {item: [turn.id] for item, turn in zip(ids, session, strict=True)}
    return turns


DOORS: Mapping[DoorName, Callable[[Workspace, SampleConversation], dict[int, list[str]]]] = {
    "observations": as_observations,
    "conversation": as_conversation,
}


def document_of(turn: SampleTurn) -> Document:
    """Make a document of a turn, labelled with whoever spoke and the date."""
    labels = (turn.speaker, *turn.others, f"{turn.at:%d %B %Y}")
    return Document(kind="turn", text=said(turn), labels=labels, happened_at=turn.at)


def said(turn: SampleTurn) -> str:
    """Write a turn on one line, for a memory that keeps dates apart."""
    return f"{turn.speaker}: {turn.text}"


def spoken(turn: SampleTurn) -> str:
    """Write a turn on one line: speaker, date and text."""
    return f"{turn.speaker} ({turn.at:%d %B %Y}): {turn.text}"


@contextmanager
def read_words(conversation: SampleConversation) -> Iterator[Mapping[str, Reading]]:
    """Let plain FTS5 read a conversation: porter stemmer, any word matches, ranked by its own BM25."""
    start = time.perf_counter()
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE words USING fts5 (id UNINDEXED, text, tokenize = 'porter unicode61')")
    rows = [(turn.id, spoken(turn)) for turn in conversation.turns]
    connection.executemany("INSERT INTO words VALUES (?, ?)", rows)
    seconds = time.perf_counter() - start

    def ask(question: str) -> Reply:
        # Without stop words, as everloom does it: the baseline must not lose because of "the" and "what".
        words = [word for word in re.findall(r"\w+", question.lower()) if word not in stop_words("en")]
        if not words:
            return Reply(())
        query = " OR ".join(f'"{word}"' for word in words)
        sql = "SELECT id, -rank FROM words WHERE words MATCH ? ORDER BY rank LIMIT ?"
        found = connection.execute(sql, (query, DEPTH)).fetchall()
        return Reply([turn for turn, _ in found], found[0][1] if found else 0.0)

    yield {"words (FTS5 porter)": Reading(ask, seconds)}
    connection.close()


@contextmanager
def read_vectors(conversation: SampleConversation) -> Iterator[Mapping[str, Reading]]:
    """Let the default embedder alone read a conversation, ranked by cosine."""
    from everloom.models.static.multilingual import MultilingualStaticEmbedder  # noqa: PLC0415  tests load it once for all

    embedder = MultilingualStaticEmbedder()
    turns = conversation.turns
    start = time.perf_counter()
    rows = embedder.embed([spoken(turn) for turn in turns], EmbeddingTask.DOCUMENT).rows
    seconds = time.perf_counter() - start

    def ask(question: str) -> Reply:
        near = rows @ embedder.embed([question], EmbeddingTask.QUERY).rows[0]
        order = np.argsort(-near, kind="stable")[:DEPTH]
        return Reply([turns[int(place)].id for place in order], float(near[order[0]]))

    yield {"vectors only": Reading(ask, seconds)}
