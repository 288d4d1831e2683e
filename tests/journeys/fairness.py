"""Whether the one search is fair between kinds: the same facts told in every kind, and asked for.

Forty facts about five topics, each with a question. In each of eight workspaces every fact is told once, through the
faculty of its kind; from one workspace to the next each moves on to another kind. So every kind tells every fact, and
what differs between kinds is not what they say. The table: `python -m tests.journeys.fairness`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory

from everloom.clock import ManualClock
from everloom.loom import Loom, Workspace
from everloom.mind.learning.archive import SpokenLine, document_of
from tests.store.ground import NOW, open_at

DEPTH = 20

# Topic: each fact with a question that it answers. All facts of a topic share words, so that each stands in the way of
# the others.
FACTS: Mapping[str, Sequence[tuple[str, str]]] = {
    "boat": (
        ("James painted the hull of the boat dark green in spring.", "What colour is the hull of the boat?"),
        (
            "The boat's engine needs a new water pump before summer.",
            "Which part of the boat's engine must be replaced?",
        ),
        ("James keeps the boat at berth 14 in Marina Nord.", "Where is the boat moored?"),
        ("The boat was bought from a retired fisherman named Olsen.", "Who sold the boat to James?"),
        ("The mast of the boat cracked in the storm off Anholt.", "Where did the boat's mast break?"),
        ("The insurance of the boat runs out in February.", "When does the boat's insurance end?"),
        ("James sails the boat to Gotland every July with his sister.", "With whom does James sail to Gotland?"),
        ("The boat carries a red spinnaker that Audrey sewed.", "Who made the red sail of the boat?"),
    ),
    "kitchen": (
        ("Audrey bakes sourdough in the kitchen on Saturday mornings.", "When does Audrey bake bread?"),
        ("The kitchen tap drips because its washer is worn.", "Why does the tap in the kitchen drip?"),
        ("The kitchen knives were a wedding present from Tomas.", "From whom are the kitchen knives?"),
        ("Audrey is allergic to walnuts, so none are in the kitchen.", "What can Audrey not eat?"),
        ("The oven in the kitchen runs twenty degrees too hot.", "What is wrong with the oven?"),
        ("The kitchen walls will be tiled in blue by the mason Ferro.", "Who tiles the walls of the kitchen?"),
        ("The recipe for the lentil soup hangs inside the kitchen cupboard.", "Where is the lentil soup recipe?"),
        ("The coffee grinder in the kitchen cost eighty euros.", "How much did the coffee grinder cost?"),
    ),
    "garden": (
        ("The apple tree in the garden was planted when Mia was born.", "When was the apple tree planted?"),
        ("Slugs ate the lettuce in the garden after the wet week in May.", "What destroyed the lettuce?"),
        ("The garden is watered from a rain barrel behind the shed.", "Where does the water for the garden come from?"),
        ("Mia buried a time capsule under the garden bench.", "What lies under the bench in the garden?"),
        ("The neighbour Mr Petrov prunes the roses in the garden.", "Who cuts the roses?"),
        (
            "The greenhouse in the garden has a broken pane on its north side.",
            "Which side of the greenhouse is broken?",
        ),
        ("Tomatoes in the garden are sown on the first of March.", "On which day are tomatoes sown?"),
        ("A hedgehog sleeps in the compost heap of the garden.", "Which animal lives in the compost?"),
    ),
    "server": (
        ("The billing server runs on PostgreSQL 16 since the migration.", "Which database does billing use?"),
        ("The server fell over because the disk was full of log files.", "Why did the server crash?"),
        ("Backups of the server are copied to Oslo every night.", "To which city do backups go?"),
        ("Priya wrote the deployment script of the server in Go.", "In which language is the deployment script?"),
        ("The server's certificate is renewed by a cron job on Mondays.", "How is the certificate renewed?"),
        ("The staging server may be rebooted at any time.", "Which machine can be restarted without asking?"),
        ("Kenji holds the only key to the server room.", "Who can open the server room?"),
        ("Requests to the server time out after thirty seconds.", "After how long do requests time out?"),
    ),
    "school": (
        ("Mia plays the cello in the school orchestra.", "Which instrument does Mia play?"),
        ("The school trip of Mia's class goes to Prague in June.", "Where does the class travel?"),
        ("Mia's school teacher for mathematics is Mrs Lindqvist.", "Who teaches Mia mathematics?"),
        ("Mia lost her school bag on the tram number nine.", "Where did Mia lose her bag?"),
        ("The school closes for a week because of broken heating.", "Why is the school closed?"),
        ("Mia wants to study marine biology after school.", "What does Mia want to become?"),
        ("The school canteen serves fish on Thursdays.", "On which day is there fish?"),
        ("Mia's best friend at school is called Zofia.", "What is the name of Mia's best friend?"),
    ),
}


@dataclass(frozen=True, slots=True)
class Told:
    """A fact as it is told in one kind, and the question for it."""

    kind: str
    topic: str
    number: int
    text: str
    question: str


@dataclass(frozen=True, slots=True)
class Fairness:
    """How well the answers of one kind were found."""

    kind: str
    asked: int
    recall: float
    reciprocal_rank: float


def as_observation(place: Workspace, fact: Told) -> None:
    """Tell a fact as something that was observed."""
    place.semantic.remember([fact.topic], fact.text)


def as_understanding(place: Workspace, fact: Told) -> None:
    """Tell a fact as what somebody made of several observations."""
    place.semantic.create_understanding([fact.topic], fact.text, f"About the {fact.topic}, part {fact.number}")


def as_scene(place: Workspace, fact: Told) -> None:
    """Tell a fact as something that happened; a patrol makes a scene of it."""
    place.episodic.update_notes(scenes=[{"action": fact.text, "feeling": "calm", "themes": [fact.topic]}])


def as_memory(place: Workspace, fact: Told) -> None:
    """Tell a fact as a memory of the graph."""
    title = f"The {fact.topic}, {fact.number}"
    place.graph.store(type="general", title=title, content=fact.text, tags=[fact.topic], connect=False)


def as_exchange(place: Workspace, fact: Told) -> None:
    """Tell a fact in a conversation, between other words."""
    lines = (
        SpokenLine("person", "telegram", "Good evening, do you have a moment?", NOW),
        SpokenLine("agent", "telegram", "Of course, tell me.", NOW),
        SpokenLine("person", "telegram", fact.text, NOW),
        SpokenLine("agent", "telegram", "Thank you, I will keep that in mind.", NOW),
    )
    document = document_of(lines, place.info.zone)
    assert document is not None
    place.add([document])


def as_note(place: Workspace, fact: Told) -> None:
    """Tell a fact as a note."""
    place.episodic.update_notes(notes=[fact.text])


def as_diary(place: Workspace, fact: Told) -> None:
    """Tell a fact in the diary of a day of its own, between other sentences."""
    day = f"{NOW - timedelta(days=fact.number % 8):%Y-%m-%d} {fact.topic}"
    text = f"Woke early and read for an hour. {fact.text} In the evening it rained, and we talked for long."
    place.episodic.update_memory("diary", "append", text, key=day)


def as_session(place: Workspace, fact: Told) -> None:
    """Tell a fact in the note of a session."""
    label = f"{fact.topic} {fact.number}"
    session = place.loom.workspace(place.name, session=label)
    session.semantic.remember(["work"], f"Session {label} began.")
    session.semantic.describe_session(f"We talked about the {fact.topic}.", fact.text)


KINDS: Mapping[str, Callable[[Workspace, Told], None]] = {
    "observation": as_observation,
    "understanding": as_understanding,
    "scene": as_scene,
    "memory": as_memory,
    "exchange": as_exchange,
    "note": as_note,
    "diary": as_diary,
    "session": as_session,
}


def facts(turn: int) -> list[Told]:
    """Give every fact its kind in one of the eight workspaces."""
    names = [*KINDS]
    return [
        Told(names[(number + turn) % len(names)], topic, number, *pair)
        for topic, pairs in FACTS.items()
        for number, pair in enumerate(pairs)
    ]


def tell(loom: Loom, turn: int) -> tuple[Workspace, list[Told]]:
    """Tell all facts in a workspace of their own."""
    place, told = loom.workspace(f"turn{turn}", origin="person"), facts(turn)
    for topic in FACTS:
        place.semantic.remember([topic], f"Much is told about the {topic}.")
    # An understanding covers what was known when it was made: told first, it covers none of the facts.
    for fact in sorted(told, key=lambda each: each.kind != "understanding"):
        KINDS[fact.kind](place, fact)
    place.episodic.trigger_patrol(wait=True)
    return place, told


def rank(place: Workspace, fact: Told) -> int | None:
    """Ask for a fact; the answer is its place among the hits, the first being 1."""
    for position, hit in enumerate(place.search(fact.question, limit=DEPTH), 1):
        if fact.text in hit.text:
            return position
    return None


def measure(loom: Loom, turns: int = len(KINDS)) -> list[Fairness]:
    """Tell and ask in so many workspaces, and sum up by kind."""
    ranks: dict[str, list[int | None]] = {kind: [] for kind in KINDS}
    for turn in range(turns):
        place, told = tell(loom, turn)
        for fact in told:
            ranks[fact.kind].append(rank(place, fact))
    return [
        Fairness(
            kind,
            len(found),
            fmean(bool(each and each <= 5) for each in found),
            fmean(1 / each if each else 0.0 for each in found),
        )
        for kind, found in ranks.items()
    ]


def table(rows: Sequence[Fairness]) -> str:
    """Write the measurement as a table."""
    lines = [f"| {row.kind} | {row.asked} | {row.recall:.2f} | {row.reciprocal_rank:.2f} |" for row in rows]
    return "\n".join(["| kind | questions | recall@5 | MRR |", "|---|---|---|---|", *lines])


def main() -> None:
    """Measure on a store of its own, or on the empty one that is named."""
    with TemporaryDirectory() as folder:
        os.environ["XDG_DATA_HOME"] = folder
        url = sys.argv[1] if sys.argv[1:] else f"sqlite:///{Path(folder)}/loom.db"
        with open_at(url, ManualClock(NOW)) as loom:
            sys.stdout.write(table(measure(loom)) + "\n")


if __name__ == "__main__":
    main()
