"""Bad input: a clear error or correct behaviour, and nothing written on error."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest

from everloom.errors import Conflict, EverloomError, NotFound, Rejected
from everloom.loom import Loom
from everloom.semantic import NewObservation, NewSubject, Semantic
from tests.store.ground import dump

Call = Callable[[Semantic, dict[str, int]], object]

TEXTS: dict[str, object] = {
    "empty": "",
    "blank": " \n\t ",
    "a megabyte": "x" * 1_000_000,
    "a nul": "a\x00b",
    "half a surrogate": "a\ud800b",
    "a number": 7,
    "nothing": None,
    "bytes": b"text",
}
NAMES: dict[str, object] = {**TEXTS, "a line break": "a\nb", "only joints": "_-_", "long": "n" * 201}


def each(
    what: str, texts: dict[str, object], call: Callable[[Semantic, Any], object]
) -> dict[str, tuple[type[EverloomError], Call]]:
    """Write a case for each bad text."""
    return {f"{what} is {name}": (Rejected, lambda m, k, text=text: call(m, text)) for name, text in texts.items()}  # type: ignore[misc]


BAD: dict[str, tuple[type[EverloomError], Call]] = {
    **each("content", TEXTS, lambda m, text: m.remember(["A"], text)),
    **each("name", NAMES, lambda m, text: m.remember([text], "x")),
    **each("topic", TEXTS, lambda m, text: m.bring_to_mind(text)),
    **each("question", TEXTS, lambda m, text: m.recall(text)),
    **each("query", TEXTS, lambda m, text: m.search(text)),
    **each("summary", TEXTS, lambda m, text: m.create_understanding(["James"], "x", text)),
    **each("structure", TEXTS, lambda m, text: m.set_structural_understanding("James", text)),
    **each("alias", NAMES, lambda m, text: m.add_alias("James", text)),
    **each(
        "key", NAMES, lambda m, text: m.remember(["A"], "x", idempotency_key=text) if text is not None else m.search("")
    ),
    "names are a text": (Rejected, lambda m, k: m.remember("James", "x")),
    "no names": (Rejected, lambda m, k: m.remember([], "x")),
    "too many names": (Rejected, lambda m, k: m.remember([f"n{i}" for i in range(21)], "x")),
    "too many observations": (
        Rejected,
        lambda m, k: m.add_observations([NewObservation(subject_names=("A",), content=str(i)) for i in range(501)]),
    ),
    "one bad observation": (
        Rejected,
        lambda m, k: m.add_observations(
            [NewObservation(subject_names=("A",), content="ok"), NewObservation(subject_names=("A",), content="")]
        ),
    ),
    "confidence": (Rejected, lambda m, k: m.remember(["A"], "x", confidence=1.5)),
    "confidence nan": (Rejected, lambda m, k: m.remember(["A"], "x", confidence=float("nan"))),
    "confidence text": (Rejected, lambda m, k: m.remember(["A"], "x", confidence="high")),  # type: ignore[arg-type]
    "kind": (Rejected, lambda m, k: m.remember(["A"], "x", kind="banana")),  # type: ignore[arg-type]
    "no time zone": (Rejected, lambda m, k: m.remember(["A"], "x", observed_at=datetime(2026, 1, 1))),  # noqa: DTZ001
    "no time": (Rejected, lambda m, k: m.remember(["A"], "x", observed_at="now")),  # type: ignore[arg-type]
    "related to a text": (Rejected, lambda m, k: m.remember(["A"], "x", related_to=["1"])),  # type: ignore[list-item]
    "related to true": (Rejected, lambda m, k: m.remember(["A"], "x", related_to=[True])),
    "related to nothing": (NotFound, lambda m, k: m.remember(["A"], "x", related_to=[2**62])),
    "related to beyond": (Rejected, lambda m, k: m.remember(["A"], "x", related_to=[2**63])),
    "related to an observation": (Rejected, lambda m, k: m.remember(["A"], "x", related_to=[k["observation"]])),
    "related to another workspace": (NotFound, lambda m, k: m.remember(["A"], "x", related_to=[k["foreign"]])),
    "related to the past": (Conflict, lambda m, k: m.remember(["A"], "x", related_to=[k["old"]])),
    "source of another workspace": (
        NotFound,
        lambda m, k: m.create_understanding(["James"], "x", "x", source_observation_ids=[k["foreign"] - 1]),
    ),
    "source is no observation": (
        Rejected,
        lambda m, k: m.create_understanding(["James"], "x", "x", source_observation_ids=[k["new"]]),
    ),
    "unknown subject": (NotFound, lambda m, k: m.create_understanding(["Jmaes"], "x", "x")),
    "subject of another workspace": (NotFound, lambda m, k: m.get_subjects(["Foreigner"])),
    "unknown kind": (Rejected, lambda m, k: m.create_understanding(["James"], "x", "x", kind="poem")),  # type: ignore[arg-type]
    "session kind": (Rejected, lambda m, k: m.create_understanding([], "x", "x", kind="session")),  # type: ignore[arg-type]
    "kind of two on one": (Rejected, lambda m, k: m.create_understanding(["James"], "x", "x", kind="relationship")),
    "kind of one on two": (
        Rejected,
        lambda m, k: m.create_understanding(["James", "Audrey"], "x", "x", kind="single_subject"),
    ),
    "about nothing": (Rejected, lambda m, k: m.create_understanding([], "x", "x")),
    "seen the future": (Rejected, lambda m, k: m.create_understanding(["James"], "x", "x", seen_through_id=2**60)),
    "update the past": (Conflict, lambda m, k: m.update_understanding(k["old"], "x", "x")),
    "update an observation": (Rejected, lambda m, k: m.update_understanding(k["observation"], "x", "x")),
    "update another workspace": (NotFound, lambda m, k: m.update_understanding(k["foreign"], "x", "x")),
    "update nothing": (NotFound, lambda m, k: m.update_understanding(2**62, "x", "x")),
    "update minus one": (Rejected, lambda m, k: m.update_understanding(-1, "x", "x")),
    "stale version": (Conflict, lambda m, k: m.update_understanding(k["new"], "x", "x", expected_version=1)),
    "version is text": (Rejected, lambda m, k: m.update_understanding(k["new"], "x", "x", expected_version="2")),  # type: ignore[arg-type]
    "none expected": (Conflict, lambda m, k: m.create_understanding(["James"], "x", "x", expected_version=0)),
    "stale subject": (Conflict, lambda m, k: m.set_subject_summary("James", "x", expected_version=1)),
    "stale tags": (Conflict, lambda m, k: m.set_subject_tags("James", ["x"], expected_version=1)),
    "stale structure": (Conflict, lambda m, k: m.set_structural_understanding("James", "x", expected_version=1)),
    "stale merge": (Conflict, lambda m, k: m.merge_subjects("James", "Audrey", expected_version=1)),
    "stale alias": (Conflict, lambda m, k: m.add_alias("James", "Jim", expected_version=1)),
    "mark a subject": (Rejected, lambda m, k: m.mark_useful(k["subject"])),
    "mark another workspace": (NotFound, lambda m, k: m.mark_useful(k["foreign"])),
    "mark the past": (Conflict, lambda m, k: m.mark_questionable(k["old"])),
    "merge with itself": (Rejected, lambda m, k: m.merge_subjects("James", "james")),
    "merge with nobody": (NotFound, lambda m, k: m.merge_subjects("James", "Nobody")),
    "create twice": (Conflict, lambda m, k: m.create_subjects([NewSubject(name="Z"), NewSubject(name="z")])),
    "create what is": (Conflict, lambda m, k: m.create_subjects([NewSubject(name="Z"), NewSubject(name="JAMES")])),
    "take own name": (Rejected, lambda m, k: m.remove_alias("James", "james")),
    "take no alias": (NotFound, lambda m, k: m.remove_alias("James", "Jimbo")),
    "an alias in use": (Conflict, lambda m, k: m.add_alias("James", "Audrey")),
    "intersection with itself": (Rejected, lambda m, k: m.open_intersection("James", "james")),
    "around nobody": (NotFound, lambda m, k: m.open_around("Nobody")),
    "no hits wanted": (Rejected, lambda m, k: m.search("x", 0)),
    "too many hits wanted": (Rejected, lambda m, k: m.search("x", 10**6)),
    "no such mode": (Rejected, lambda m, k: m.search("x", 5, "psychic")),  # type: ignore[arg-type]
    "no such mode within": (Rejected, lambda m, k: m.query_observations(["James"], "x", "psychic")),  # type: ignore[arg-type]
    "too many topics": (Rejected, lambda m, k: m.bring_to_mind([f"t{i}" for i in range(11)])),
    "no topics": (Rejected, lambda m, k: m.bring_to_mind([])),
    "no such session": (NotFound, lambda m, k: m.what_happened("never")),
    "describe no session": (NotFound, lambda m, k: m.describe_session("x", session_id="never")),
    "minus hours": (Rejected, lambda m, k: m.sessions(active_within_hours=-1)),
    "after no zone": (Rejected, lambda m, k: m.sessions(after=datetime(2026, 1, 1))),  # noqa: DTZ001
    "delete nothing": (Rejected, lambda m, k: m.delete_observations([])),
    "delete a text": (Rejected, lambda m, k: m.delete_observations("12")),  # type: ignore[arg-type]
    "finish nothing": (Conflict, lambda m, k: m.finish_consolidation(0, "x")),
    "min score": (Rejected, lambda m, k: m.find_similar_subjects(min_score=2)),
    "history of nothing": (NotFound, lambda m, k: m.get_understanding_history(2**62)),
    "history of an observation": (Rejected, lambda m, k: m.get_understanding_history(k["observation"])),
    "show nothing": (NotFound, lambda m, k: m.show(2**62)),
    "show a session": (NotFound, lambda m, k: m.show(1 + k["first"])),
}


def prepared(loom: Loom, mind: Semantic) -> dict[str, int]:
    """Write a little, here and in another workspace."""
    first = mind.remember(["James", "Audrey"], "James sails.")
    old = mind.create_understanding(["James"], "A sailor.", "Sailor")
    new = mind.update_understanding(old.id, "An old sailor.", "Old sailor").new_understanding_id
    elsewhere = loom.workspace("elsewhere").semantic
    # So often that its ids are none of those that are given here: on PostgreSQL, every workspace counts for itself.
    for number in range(20):
        elsewhere.remember(["Foreigner"], f"Foreign {number}.")
    foreign = elsewhere.create_understanding(["Foreigner"], "Foreign.", "Foreign").id
    (session,) = [event.session_id for event in loom.workspace("james").events(limit=1)]
    assert session is not None
    subject = mind.get_subjects(["James"])[0].id
    return {
        "observation": first.id,
        "old": old.id,
        "new": new,
        "foreign": foreign,
        "subject": subject,
        "first": session - 1,
    }


@pytest.mark.promise("semantic.bad-input")
def test_bad_input_is_refused_by_name_and_writes_nothing(loom: Loom, mind: Semantic, store_url: str) -> None:
    known = prepared(loom, mind)
    workspaces = [loom.workspace(name).info.id for name in ("james", "elsewhere")]
    before = [dump(store_url, workspace) for workspace in workspaces]
    for what, (error, call) in BAD.items():
        try:
            call(mind, known)
        except error as refused:
            assert refused.message, what  # noqa: PT017  the table names the case
        else:
            pytest.fail(f"{what} was accepted")
    assert [dump(store_url, workspace) for workspace in workspaces] == before


@pytest.mark.promise("semantic.bad-input")
def test_an_unknown_subject_is_answered_with_near_names(mind: Semantic) -> None:
    mind.create_subjects([NewSubject(name=name) for name in ("James", "wealth simulator", "Audrey")])
    with pytest.raises(NotFound, match="did you mean 'James'"):
        mind.open_around("Jmes")
    with pytest.raises(NotFound, match="did you mean 'wealth simulator'"):
        mind.get_subjects(["simulator"])
    with pytest.raises(NotFound, match="search"):
        mind.get_subjects(["Zanzibar"])


@pytest.mark.promise("semantic.bad-input")
@pytest.mark.parametrize(
    "text",
    [
        "emoji 👩‍🚀🎻 and 🇵🇹",
        "שלום עולם",
        "مرحبا بالعالم",
        "記憶の宮殿",
        "tab\tand\nline\r\nbreaks",
        "'; DROP TABLE subject; --",
        "a % b _ c \\ d",
    ],
)
def test_any_script_is_kept_as_it_is_and_found(mind: Semantic, text: str) -> None:
    name = " ".join(text.split())[:50]
    kept = mind.remember([name], text)
    shown: Any = mind.show(kept.id)
    assert shown.content == text
    assert mind.get_subjects([name])[0].name == name
    assert mind.search(text, 1)[0].id == kept.id
    recalled: Any = mind.recall(name)
    assert recalled.recent_observations[0].content == text
