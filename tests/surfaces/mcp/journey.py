"""One walk through every tool, over any transport: what each is asked, and what its answer must hold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from mcp import Client

from everloom.semantic import parts, results
from everloom.semantic.consolidation import results as consolidated
from tests.surfaces.mcp.ground import call

SESSION = "walk"
# By name: a record of the same answer may well have a field of that name that is left out where it is empty.
PROMISED = {"result"} | {
    each.name
    for module in (parts, results, consolidated)
    for shape in vars(module).values()
    if isinstance(shape, type) and is_dataclass(shape)
    for each in fields(shape)
    if "is_said" in each.metadata
}


async def walk_core(client: Client) -> set[str]:
    """Use every tool of the default toolset once and more, as a conversation would; give their names."""
    walk = Walk(client)
    oriented = await walk("orient")
    assert oriented["soul"]["content"]
    assert oriented["protocol"]["content"]
    assert oriented["orientation"]["content"]
    assert oriented["this_session"]["session_id"] == SESSION
    first = await walk(
        "remember", subject_names=["James", "Audrey"], content="James and Audrey are married.", kind="fact"
    )
    assert first["subjects_created"] == ["James", "Audrey"]
    assert first["duplicate"] is False
    again = await walk("remember", subject_names=["James"], content="James and Audrey are married.")
    assert (again["id"], again["duplicate"]) == (first["id"], True)
    await walk("remember", subject_names=["James"], content="James sails every summer.", confidence=0.9)
    brought = await walk("bring_to_mind", topic_or_context=["sailing in summer", "marriage"])
    assert brought["compaction_detected"] is False
    assert {hit["source"] for hit in brought["results"]} == {"observation"}
    token = brought["heartbeat_token"]
    once_more = await walk("bring_to_mind", topic_or_context="sailing in summer", last_token=token)
    assert once_more["results"] == []
    assert (await walk("reset_seen"))["cleared"] >= 1
    await ask(walk, first["id"])
    around = await walk("open_around", subject_name="James")
    assert [each["subject"]["name"] for each in around["neighbors"]] == ["Audrey"]
    shared = await walk("open_intersection", subject_a="James", subject_b="Audrey")
    assert [each["id"] for each in shared["observations"]] == [first["id"]]
    await revise(walk, oriented["orientation"])
    assert (await walk("mark_useful", id=first["id"]))["signal_type"] == "useful"
    marked = await walk("mark_questionable", id=first["id"], reason="Are they still?")
    assert marked["reason"] == "Are they still?"
    told = await walk("describe_session", summary="About James.", content="James was introduced.")
    assert (await walk("get_session_context"))["session"]["summary"] == "About James."
    assert told["session_id"] == SESSION
    listed = await walk("sessions", limit=5)
    assert SESSION in [each["session_id"] for each in listed["result"]]
    story = await call(client, "what_happened", session_id=SESSION)
    assert [each["content"] for each in story["observations"]][:1] == ["James and Audrey are married."]
    await understand(walk)
    await forget_one(walk)
    return {*walk.used, "what_happened"}


async def understand(walk: Walk) -> None:
    """Turn what was observed about a subject into an understanding, as the prompt says."""
    begun = await walk("begin_consolidation")
    assert "Audrey" in {each["name"] for each in begun["report"]["subjects_needing_understanding"]}
    unseen = await walk("read_unseen", subject_names=["Audrey"])
    written = await walk(
        "create_understanding",
        subject_names=["Audrey"],
        content="Audrey is married to James.",
        summary="Married to James.",
        source_observation_ids=[each["id"] for each in unseen["observations"]],
    )
    assert written["kind"] == "single_subject"
    done = await walk("finish_consolidation", generation=begun["generation"], summary="Audrey is understood.")
    assert done["generation"] == begun["generation"]


async def forget_one(walk: Walk) -> None:
    """Look at what would be forgotten, and forget it."""
    wrong = await walk("remember", subject_names=["James"], content="James once broke the harbour lamp.")
    preview = await walk("forget", ids=[wrong["id"]])
    assert (preview["is_done"], preview["items"][0]["text"]) == (False, "James once broke the harbour lamp.")
    done = await walk("forget", ids=[wrong["id"]], confirm=preview["confirm"])
    assert (done["is_done"], [each["id"] for each in done["items"]]) == (True, [wrong["id"]])


async def ask(walk: Walk, married: int) -> None:
    """Ask what is known, what is not, and about a subject; show the whole of one item."""
    answer = await walk("recall", question_or_subject_name="Who is married to Audrey?")
    assert answer["best_answer"]["content"] == "James and Audrey are married."
    assert (await walk("show", id=married))["content"] == "James and Audrey are married."
    unknown = await walk("recall", question_or_subject_name="What is the capital of Mongolia?")
    assert unknown["best_answer"] is None
    assert unknown["note"].startswith("nothing in this memory answers that")
    subject = await walk("recall", question_or_subject_name="james")
    assert subject["subject"]["name"] == "James"
    assert len(subject["recent_observations"]) == 2


async def revise(walk: Walk, orientation: dict[str, Any]) -> None:
    """Rewrite the orientation that was read."""
    revised = await walk(
        "update_understanding",
        understanding_id=orientation["id"],
        new_content="James prepares a summer of sailing.",
        new_summary="Sailing.",
        reason="It is spring.",
        expected_version=orientation["version"],
    )
    assert revised["old_understanding_id"] == orientation["id"]


async def review_some(walk: Walk) -> None:
    """Let two claims from the web wait; only a person decides about them."""
    held = [await walk("remember", subject_names=["keel"], content=f"Claim {n}.", origin="web:x") for n in (1, 2)]
    assert all(each["held"] for each in held)
    assert [each["id"] for each in (await walk("list_held"))["held"]] == [each["id"] for each in held]


async def walk_upkeep(client: Client) -> set[str]:
    """Use every tool that only the full toolset has, as a consolidation would; give their names."""
    walk = Walk(client)
    made = await walk(
        "create_subjects", subjects=[{"name": "Boat", "summary": "A boat.", "tags": ["thing"]}, {"name": "Ship"}]
    )
    assert [each["name"] for each in made["result"]] == ["Boat", "Ship"]
    ids = await add_three(walk)
    assert (await walk("delete_observations", ids=[ids[2], 10**9]))["deleted"] == [ids[2]]
    found = await walk("query_observations", subject_names=["Boat"], query="colour of the hull", mode="text")
    assert {each["kind"] for each in found["result"]} <= {"observation"}
    assert (await walk("search", query="blue boat", limit=3))["result"][0]["id"] in ids
    begun = await walk("begin_consolidation")
    assert "Boat" in {each["name"] for each in begun["report"]["subjects_needing_understanding"]}
    report = await walk("get_consolidation_report")
    assert report["consolidation_open"] is True
    assert (await walk("get_pending_consolidation"))["result"]
    unseen = await walk("read_unseen", subject_names=["Boat"])
    assert [each["id"] for each in unseen["observations"]] == ids[:2]
    understood = await walk(
        "create_understanding",
        subject_names=["Boat"],
        content="The boat is blue and lies in Brest.",
        summary="A blue boat.",
        source_observation_ids=ids[:2],
    )
    assert understood["kind"] == "single_subject"
    await tend_subject(walk)
    shown = await walk("get_understandings", subject_names=["Boat"])
    assert understood["id"] in {each["id"] for each in shown["result"]}
    history = await walk("get_understanding_history", understanding_id=understood["id"])
    assert [each["id"] for each in history["result"]] == [understood["id"]]
    await walk("find_similar_subjects", limit=5, min_score=0.1)
    merged = await walk("merge_subjects", primary="Boat", duplicate="Ship")
    assert "Ship" in merged["aliases"]
    finished = await walk(
        "finish_consolidation",
        generation=begun["generation"],
        summary="The boat is understood.",
        reviewed_subject_names=["Boat"],
        reviewed_intersections=[["Boat", "Brest"]],
    )
    assert finished["generation"] == begun["generation"]
    assert (await walk("get_stats"))["subject_count"] >= 2
    assert all(each["kind"] == "observation" for each in (await walk("list_forgotten"))["tombstones"])
    corrected = await walk("correct", id=ids[0], text="The boat is green.", reason="It was painted.")
    assert corrected["replaced"] == ids[0]
    angles = len((await walk("list_perspectives"))["result"])
    await walk("add_perspective", name="nautical", instruction="Represent for retrieval about ships:")
    assert len((await walk("list_perspectives"))["result"]) == angles + 1
    await review_some(walk)
    return walk.used


async def add_three(walk: Walk) -> list[int]:
    """Add observations, one of them to be taken back."""
    given = [
        {"subject_names": ["Boat"], "content": "The boat is blue.", "observed_at": "2026-11-01"},
        {"subject_names": ["Boat", "Brest"], "content": "The boat lies in Brest."},
        {"subject_names": ["Boat"], "content": "The boat is gren."},
    ]
    added = await walk("add_observations", observations=given)
    return [each["id"] for each in added["result"]]


async def tend_subject(walk: Walk) -> None:
    """Change everything about a subject that can be changed."""
    await walk("set_subject_summary", subject_name="Boat", summary="A sailing boat.")
    await walk("set_subject_tags", subject_name="Boat", tags=["vessel"])
    assert (await walk("get_subjects_by_tag", tag="vessel"))["result"][0]["name"] == "Boat"
    await walk("add_alias", subject_name="Boat", alias="The Blue One")
    (boat,) = (await walk("get_subjects", names=["the blue one"]))["result"]
    assert (boat["name"], boat["summary"], boat["aliases"]) == ("Boat", "A sailing boat.", ["The Blue One"])
    await walk("remove_alias", subject_name="Boat", alias="The Blue One", expected_version=boat["version"])
    noted = await walk("set_structural_understanding", subject_name="Boat", content="Not the toy boat.")
    assert noted["subject_name"] == "Boat"


class Walk:
    """A client that names its conversation in every call, and remembers which tools it used."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.used: set[str] = set()

    async def __call__(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """Call a tool that must succeed."""
        self.used.add(tool)
        answer = await call(self.client, tool, **{"session_id": SESSION, **arguments})
        assert not [*bare(answer, tool)]
        return answer


def bare(value: Any, path: str) -> Iterator[str]:
    """Find what is null or empty in an answer, except the envelope of a list and what the designs promise."""
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in below:
        if (each is None or each in ([], {})) and key not in PROMISED:
            yield f"{path}.{key}"
        yield from bare(each, f"{path}.{key}")
