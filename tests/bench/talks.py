"""Two small conversations of our own, in LoCoMo's shape, about things that have nothing in common."""

from __future__ import annotations

from typing import Any

KAYAK = [
    [
        ("Ana", "I bought a red kayak in Lisbon last week."),
        ("Ben", "Which river do you want to paddle with it?"),
        ("Ana", "The Tagus, as soon as the rain stops."),
    ],
    [
        ("Ben", "My sister teaches the cello at a school in Oslo."),
        ("Ana", "How long has she been teaching?"),
        ("Ben", "For eleven years, and she still loves it."),
    ],
]
BEES = [
    [
        ("Cem", "The bees in my second hive swarmed this morning."),
        ("Dot", "Did you catch the queen?"),
        ("Cem", "Yes, she sits in the straw basket now."),
    ],
    [
        ("Dot", "I fired forty clay tiles for the bathroom floor."),
        ("Cem", "Which glaze did you choose?"),
        ("Dot", "A grey one with iron in it."),
    ],
]


def talk(name: str, sessions: list[list[tuple[str, str]]], *asked: dict[str, Any]) -> dict[str, Any]:
    """Write one conversation, its sessions a month apart."""
    said: dict[str, Any] = {}
    for number, turns in enumerate(sessions, 1):
        said[f"session_{number}_date_time"] = f"1:56 pm on 8 {('May', 'June')[number - 1]}, 2023"
        said[f"session_{number}"] = [
            {"dia_id": f"D{number}:{at}", "speaker": who, "text": text} for at, (who, text) in enumerate(turns, 1)
        ]
    return {"sample_id": name, "conversation": said, "qa": list(asked)}


def ask(question: str, *evidence: str, category: int = 4) -> dict[str, Any]:
    """Write one question."""
    return {"question": question, "evidence": list(evidence), "category": category}


TALKS = [
    talk(
        "kayak",
        KAYAK,
        ask("Where did Ana buy the red kayak?", "D1:1"),
        ask("Who teaches the cello in Oslo, and for how long?", "D2:1", "D2:3", category=1),
        ask("What colour is Ben's kayak?", category=5),
    ),
    talk(
        "bees",
        BEES,
        ask("When did the bees of the second hive swarm?", "D1:1", category=2),
        ask("How many clay tiles did Dot fire for the bathroom?", "D2:1"),
    ),
]
