"""A month in the life of a workspace, through MCP only: the story that tests live through and docs/scenario.md tells.

python -m tests.journeys.month
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
from mcp import Client
from mcp.types import TextContent

from everloom.clock import ManualClock
from everloom.loom import open_loom
from everloom.surfaces.mcp.identity import Process
from everloom.surfaces.mcp.lazy import LazyLoom
from everloom.surfaces.mcp.server import LoomServer
from tests.journeys.telling import Transcript
from tests.surfaces.mcp.ground import ROOT, SETTINGS, call, close, refusal

PAGE = ROOT / "docs" / "scenario.md"
START = datetime(2026, 10, 1, 9, 0, tzinfo=UTC)
OPENING = """\
This page is made by a test: `python -m tests.journeys.month` writes it, and `tests/journeys/test_month.py` compares the
two. Everything goes through MCP, as any client would do it; the clock is the test's own. Answers are shortened to what
matters."""

PEOPLE = ("Nora", "Tomas", "Priya")
PROJECTS = ("harvester", "billing", "search page", "Lisbon office")
SESSIONS = ("nora-editor", "tomas-terminal", "night-job")
DAILY = (
    "{person} fixed a fault in the {project} on day {day}; it took {hours} hours.",
    "{person} reviewed the plan of the {project} on day {day} and asked for {hours} changes.",
    "On day {day} the {project} was used {hours}00 times, says {person}.",
    "{person} wrote {hours} tests for the {project} on day {day}.",
)
ALONE = "On day {day} {person} noted that mornings are best for thinking, {hours} hours of them."


@dataclass
class Month:
    """One run through the story; without a clock, time does not pass and gaps are not tried."""

    client: Client
    page: Transcript
    clock: ManualClock | None = None
    observations: int = 0
    pairs: dict[frozenset[str], int] = field(default_factory=dict)

    async def live(self) -> None:
        """Live through the whole month."""
        await self.first_day()
        await self.weeks(range(1, 11))
        await self.compactions()
        await self.first_consolidation()
        await self.weeks(range(11, 21))
        await self.revisions()
        await self.second_consolidation()
        await self.last_day()

    async def ask(self, session: str, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """Call a tool in a session."""
        named = {} if tool in {"describe_session", "what_happened"} else {"session_id": session}
        return await call(self.client, tool, **arguments, **named)

    async def show(self, session: str, tool: str, keys: Sequence[str], /, **arguments: Any) -> dict[str, Any]:
        """Call a tool, and put the call and some fields of its answer into the transcript."""
        answer = await self.ask(session, tool, **arguments)
        if "heartbeat_token" in answer:
            self.page.knows_token(answer["heartbeat_token"])
        self.page.show(session, tool, arguments, {key: answer[key] for key in keys if key in answer})
        return answer

    def pass_time(self, **span: float) -> None:
        """Let time pass, where it can."""
        if self.clock is not None:
            self.clock.advance(timedelta(**span))

    def count(self, names: Sequence[str], answer: dict[str, Any]) -> None:
        """Keep the books that are compared at the end."""
        self.observations += not answer["duplicate"]
        if len(names) == 2 and not answer["duplicate"]:
            pair = frozenset(names)
            self.pairs[pair] = self.pairs.get(pair, 0) + 1

    async def remember(self, session: str, names: list[str], content: str, **more: Any) -> dict[str, Any]:
        """Remember and count."""
        answer = await self.ask(session, "remember", subject_names=names, content=content, **more)
        self.count(names, answer)
        return answer

    async def first_day(self) -> None:
        """Orient in an empty memory, and keep the first facts."""
        page = self.page
        page.heading("1 October: a memory begins")
        oriented = await self.ask("nora-editor", "orient")
        page.show("nora-editor", "orient", {}, self.orientation_of(oriented))
        assert oriented["pending_consolidation_count"] == 0
        page.say("The agent learns who it works with. A subject is made by being named.")
        facts = {
            "Nora leads the work on the harvester.": ["Nora", "harvester"],
            "Tomas keeps the billing running.": ["Tomas", "billing"],
            "Priya designs the search page.": ["Priya", "search page"],
            "The Lisbon office opened in September.": ["Lisbon office"],
        }
        for content, names in facts.items():
            answer = await self.show(
                "nora-editor", "remember", ("id", "subjects_created"), subject_names=names, content=content, kind="fact"
            )
            self.count(names, answer)
        again = await self.remember("nora-editor", ["harvester"], "Nora  leads the work on the harvester.")
        assert again["duplicate"]
        page.say("The same statement, spaced differently, is kept once.")
        brought = await self.show(
            "nora-editor",
            "bring_to_mind",
            ("compaction_detected", "heartbeat_token"),
            topic_or_context="who leads what?",
        )
        assert not brought["compaction_detected"], "a first call has nothing to lose"
        texts = {each["content"] for each in brought["results"]}
        assert "Nora leads the work on the harvester." in texts
        more = await self.show(
            "nora-editor",
            "bring_to_mind",
            ("compaction_detected", "results"),
            topic_or_context="who leads what?",
            last_token=brought["heartbeat_token"],
        )
        assert more["results"] == []
        page.say("What was shown is not shown again. `recall` asks directly:")
        answer = await self.ask("nora-editor", "recall", question_or_subject_name="Who designs the search page?")
        page.show("nora-editor", "recall", {"question": "Who designs the search page?"}, best_of(answer))
        assert answer["best_answer"]["content"] == "Priya designs the search page."

    def orientation_of(self, oriented: dict[str, Any]) -> dict[str, Any]:
        """Pick what of an orientation can be shown."""
        shown = {"orientation": oriented["orientation"]["content"], "pending": oriented["pending_consolidation_count"]}
        return {"current_time": oriented["current_time"], **shown} if self.clock else shown

    async def weeks(self, days: range) -> None:
        """Let three sessions work side by side, day after day."""
        before = self.observations
        for day in days:
            self.pass_time(hours=24)
            async with anyio.create_task_group() as group:
                for number, session in enumerate(SESSIONS):
                    group.start_soon(self.work, session, day, number)
        self.page.heading(f"Days {days.start} to {days.stop - 1}: three sessions side by side")
        self.page.say(
            f"Every day {', '.join(SESSIONS)} write at the same time: {self.observations - before} observations, none "
            "lost. Each call of one session tells what the others wrote since its last:"
        )
        await self.remember("tomas-terminal", ["Tomas"], f"Tomas went home early on day {days.stop - 1}.")
        heard = await self.ask("nora-editor", "open_around", subject_name="harvester")
        sizes = {each["subject"]["name"]: each["intersection_size"] for each in heard["neighbors"]}
        newest, *others = heard["workspace_activity"]
        assert newest["preview"].startswith("Tomas went home early")
        assert len(others) < 5
        shown = {"neighbors": sizes, "workspace_activity": [newest["preview"], "…"]}
        self.page.show("nora-editor", "open_around", {"subject_name": "harvester"}, shown)

    async def work(self, session: str, day: int, number: int) -> None:
        """Let one session observe its day: a batch at once, and one remark by itself."""
        person = PEOPLE[number]
        given = []
        for turn, template in enumerate(DAILY):
            project = PROJECTS[(number + turn + day) % len(PROJECTS)] if turn else PROJECTS[number]
            content = template.format(person=person, project=project, day=day, hours=2 + (day * 3 + turn) % 7)
            given.append({"subject_names": [person, project], "content": content, "kind": "fact"})
        added = await self.ask(session, "add_observations", observations=given)
        for each, answer in zip(given, added["result"], strict=True):
            self.count(each["subject_names"], answer)
        remark = ALONE.format(person=person, day=day, hours=1 + day % 5)
        await self.remember(session, [person], remark, kind="reflection")

    async def compactions(self) -> None:
        """Lose the context in three ways; each is noticed, and what was shown may come again."""
        page, session = self.page, "tomas-terminal"
        page.heading("Day 10: the context is compacted, three times")
        ask = {"topic_or_context": "how is the billing doing?"}
        first = await self.show(session, "bring_to_mind", ("compaction_detected", "heartbeat_token"), **ask)
        page.say("First a token is missing: the client forgot that it ever had one.")
        keys = ("compaction_detected", "compaction_reason", "heartbeat_token")
        lost = await self.show(session, "bring_to_mind", keys, **ask)
        assert lost["compaction_reason"] == "missing_token"
        assert set(ids_of(lost)) == set(ids_of(first)), "what was shown may come again"
        page.say("Then it is wrong: a summary of the conversation kept an old one.")
        wrong = await self.show(session, "bring_to_mind", keys, **ask, last_token=first["heartbeat_token"])
        assert wrong["compaction_reason"] == "wrong_token"
        if self.clock is not None:
            page.say("Then it is right, but more than half an hour went by since the last call.")
            self.pass_time(minutes=31)
            late = await self.show(session, "bring_to_mind", keys, **ask, last_token=wrong["heartbeat_token"])
            assert late["compaction_reason"] == "time_gap"
            assert set(ids_of(late)) == set(ids_of(first))
            wrong = late
        fine = await self.show(session, "bring_to_mind", keys, **ask, last_token=wrong["heartbeat_token"])
        assert not fine["compaction_detected"]
        assert not set(ids_of(fine)) & set(ids_of(first))

    async def first_consolidation(self) -> None:
        """Consolidate as the prompt teaches, while others go on; mend a name on the way."""
        page = self.page
        page.heading("Day 10: the first consolidation, by the agent")
        slip = await self.remember("night-job", ["Harvestor"], "The Harvestor needs a new dashboard.")
        page.say("A slip of the pen makes a subject, and is noticed at once:")
        page.show("night-job", "remember", {"subject_names": ["Harvestor"]}, slip["similar_subjects"])
        assert slip["similar_subjects"][0]["similar_to"] == "harvester"
        prompt = await self.client.get_prompt("consolidate", {"focus": "the harvester"})
        (message,) = prompt.messages
        assert isinstance(message.content, TextContent)
        assert "begin_consolidation" in message.content.text
        page.say("The prompt `consolidate` teaches the order: sessions, subjects, intersections, orientation.")
        merged = await self.show(
            "gardener",
            "merge_subjects",
            ("merged", "observations_moved", "aliases"),
            primary="harvester",
            duplicate="Harvestor",
        )
        assert merged["merged"]
        done = await self.consolidate(
            "Nora leads the harvester, Tomas keeps billing alive, Priya draws the search page. Lisbon has just opened."
        )
        assert set(done.sessions) == set(SESSIONS)
        page.say(
            "While the agent was at it, the night job wrote one more observation on the billing. It was not read, so "
            "it is what still waits afterwards:"
        )
        page.show("gardener", "get_pending_consolidation", {}, done.left)
        assert [each["subject_names"] for each in done.left] == [["billing"]]

    async def consolidate(self, orientation: str) -> Done:
        """Work through the report as the prompt says, and finish; somebody writes meanwhile."""
        session, done = "gardener", Done()
        begun = await self.ask(session, "begin_consolidation")
        report = (
            (await self.ask(session, "get_consolidation_report", limit=1000))
            if begun["report"]["left_off"]
            else begun["report"]
        )
        self.page.show(session, "begin_consolidation", {}, sizes_of(begun["generation"], report))
        for need in report["sessions_needing_description"]:
            await self.describe(need["session_id"], done)
        reviewed = await self.subjects(report, done)
        late = f"Tomas found a rounding fault in the billing, in generation {begun['generation']}."
        await self.remember("night-job", ["billing"], late, kind="fact")
        trivial = await self.intersections(report, done)
        where = (await self.ask(session, "orient"))["orientation"]
        await self.show(
            session,
            "update_understanding",
            ("version",),
            understanding_id=where["id"],
            new_content=orientation,
            new_summary="Where the four projects stand.",
            expected_version=where["version"],
        )
        finished = await self.show(
            session,
            "finish_consolidation",
            ("generation", "pending_consolidation_count"),
            generation=begun["generation"],
            summary=f"{done.written} understandings written.",
            reviewed_subject_names=reviewed,
            reviewed_intersections=trivial,
        )
        assert finished["generation"] == begun["generation"]
        done.left = (await self.ask(session, "get_pending_consolidation"))["result"]
        return done

    async def describe(self, session: str, done: Done) -> None:
        """Write the note of one session from what happened in it."""
        story = await call(self.client, "what_happened", session_id=session)
        first, *_, last = [each["content"] for each in story["observations"]] * 2
        told = await call(
            self.client,
            "describe_session",
            summary=f"{len(story['observations'])} observations.",
            content=f"It began with: {first} It ended with: {last}",
            session_id=session,
        )
        assert told["session_id"] == session
        done.sessions.append(session)

    async def subjects(self, report: dict[str, Any], done: Done) -> list[str]:
        """Write or revise what is understood of each subject; give those that need no change."""
        reviewed = []
        for need in report["subjects_needing_understanding"]:
            known = await self.ask("gardener", "recall", question_or_subject_name=need["name"])
            given = {
                "subject_names": [need["name"]],
                "content": synthesis(need["name"], need["observation_count"], known["recent_observations"]),
                "summary": f"What is known of {need['name']}.",
            }
            sources = [each["id"] for each in known["recent_observations"]]
            made = await self.ask(
                "gardener", "create_understanding", **given, source_observation_ids=sources, expected_version=0
            )
            if need["name"] == "harvester":
                self.page.say("For each subject it reads what is new and writes what it makes of it; for one of them:")
                shown = {key: made[key] for key in ("id", "kind", "version")}
                self.page.show("gardener", "create_understanding", given, shown)
            done.written += 1
        for need in report["stale_understandings"]:
            (name,) = need["subject_names"]
            if name == "Lisbon office":
                reviewed.append(name)
                continue
            known = await self.ask("gardener", "recall", question_or_subject_name=name)
            text = synthesis(name, need["new_observation_count"], known["recent_observations"])
            await self.ask(
                "gardener",
                "update_understanding",
                understanding_id=need["id"],
                new_content=f"{known['single_subject_understanding']['content']} Since then: {text}",
                new_summary=f"What is known of {name}.",
                reason=f"{need['new_observation_count']} new observations",
                expected_version=need["version"],
            )
            done.written += 1
        return reviewed

    async def intersections(self, report: dict[str, Any], done: Done) -> list[list[str]]:
        """Write what pairs mean to each other; give those that mean nothing."""
        trivial = []
        for need in report["intersections_needing_synthesis"]:
            pair = [need["subject_a"], need["subject_b"]]
            shared = await self.ask("gardener", "open_intersection", subject_a=pair[0], subject_b=pair[1])
            if need["intersection_size"] < 12:
                trivial.append(pair)
                continue
            existing = need["existing_understanding"]
            await self.ask(
                "gardener",
                "create_understanding",
                subject_names=pair,
                content=f"{' and '.join(pair)} meet often: {shared['observations'][0]['content']}",
                summary=f"{' and '.join(pair)} meet often.",
                source_observation_ids=[each["id"] for each in shared["observations"][:20]],
                expected_version=existing["version"] if existing else 0,
            )
            done.written += 1
        return trivial

    async def revisions(self) -> None:
        """Let evidence speak against an understanding, revise it twice, and meet a conflict on the way."""
        page, session = self.page, "nora-editor"
        page.heading("Day 20: evidence against an understanding")
        (known,) = [
            each
            for each in (await self.ask(session, "get_understandings", subject_names=["harvester"]))["result"]
            if each["kind"] == "single_subject"
        ]
        page.show(session, "get_understandings", {"subject_names": ["harvester"]}, known["content"])
        kept = await self.remember(
            session, ["harvester"], "Nora handed the harvester over to Priya.", kind="fact", related_to=[known["id"]]
        )
        await self.ask(session, "mark_questionable", id=known["id"], reason="Nora does not lead it any more.")
        page.say("The evidence is linked to the understanding, which is marked as questionable. It is revised at once:")
        revised = await self.show(
            session,
            "update_understanding",
            ("old_understanding_id", "new_understanding_id", "version"),
            understanding_id=known["id"],
            new_content="Priya leads the harvester since day 20; before, Nora did.",
            new_summary="The harvester is Priya's.",
            reason="It was handed over.",
            expected_version=known["version"],
        )
        page.say("Another session still holds the old version. It is told what is there now, and nothing is lost:")
        arguments = {
            "understanding_id": known["id"],
            "new_content": "Nora leads the harvester.",
            "new_summary": "The harvester is Nora's.",
            "expected_version": known["version"],
        }
        told = await refusal(self.client, "update_understanding", **arguments, session_id="tomas-terminal")
        assert str(revised["new_understanding_id"]) in told
        page.show("tomas-terminal", "update_understanding", arguments, told.partition(". Current")[0])
        again = await self.ask(
            "tomas-terminal",
            "update_understanding",
            understanding_id=revised["new_understanding_id"],
            new_content="Priya leads the harvester since day 20; Nora did before, and still helps.",
            new_summary="The harvester is Priya's, with Nora's help.",
            expected_version=revised["version"],
        )
        history = (
            await self.ask(session, "get_understanding_history", understanding_id=again["new_understanding_id"])
        )["result"]
        page.show(
            session,
            "get_understanding_history",
            {"understanding_id": again["new_understanding_id"]},
            [f"{each['id']} (version {each['version']}): {each['summary']}" for each in history],
        )
        assert [each["version"] for each in history] == [3, 2, 1]
        assert [each["superseded_by"] for each in history] == [None, history[0]["id"], history[1]["id"]]
        assert kept["id"] in history[0]["source_observation_ids"]

    async def second_consolidation(self) -> None:
        """Consolidate again: only what changed is listed."""
        self.page.heading("Day 20: the second consolidation")
        done = await self.consolidate("Priya leads the harvester now. Billing has a rounding fault. Lisbon is quiet.")
        self.page.say("Again only what came during the pass is left:")
        self.page.show("gardener", "get_pending_consolidation", {}, done.left)
        assert [each["subject_names"] for each in done.left] == [["billing"]]

    async def last_day(self) -> None:
        """Begin a new session, which knows everything that matters; then compare the books."""
        page, session = self.page, "newcomer"
        page.heading("31 October: somebody new arrives")
        self.pass_time(days=10)
        oriented = await self.ask(session, "orient")
        page.show(session, "orient", {}, self.orientation_of(oriented))
        assert oriented["orientation"]["content"].startswith("Priya leads")
        answer = await self.ask(session, "recall", question_or_subject_name="Who leads the harvester?")
        page.show(session, "recall", {"question": "Who leads the harvester?"}, best_of(answer))
        assert answer["best_answer"]["content"].startswith("Priya leads the harvester")
        alias = await self.ask(session, "recall", question_or_subject_name="harvestor")
        assert alias["subject"]["name"] == "harvester"
        await self.balance(session)

    async def balance(self, session: str) -> None:
        """See that everything that was written is there, once, and that all counts agree."""
        stats = await self.ask(session, "get_stats")
        assert stats["observation_count"] == self.observations
        assert stats["current_generation"] == 2
        assert not stats["consolidation_open"]
        names = [*PEOPLE, *PROJECTS]
        subjects = (await self.ask(session, "get_subjects", names=names))["result"]
        assert stats["subject_count"] == len(subjects) == len(names)
        for subject in subjects:
            active = (await self.ask(session, "get_understandings", subject_names=[subject["name"]]))["result"]
            single = [each["id"] for each in active if each["kind"] == "single_subject"]
            assert single == [subject["single_subject_understanding"]["id"]]
            history = (await self.ask(session, "get_understanding_history", understanding_id=single[0]))["result"]
            assert [each["version"] for each in history] == list(range(len(history), 0, -1))
        for pair, count in self.pairs.items():
            one, other = sorted(pair)
            found = await self.ask(session, "open_intersection", subject_a=one, subject_b=other)
            assert len(found["observations"]) == min(count, 200), pair
        report = await self.ask(session, "get_consolidation_report")
        assert report["pending_count"] == 1
        shown = {key: stats[key] for key in ("subject_count", "observation_count", "current_generation")}
        self.page.say("The books balance: every observation is there once, every subject has one understanding.")
        self.page.show(session, "get_stats", {}, shown)


@dataclass
class Done:
    """What one consolidation did."""

    written: int = 0
    sessions: list[str] = field(default_factory=list)
    left: list[dict[str, Any]] = field(default_factory=list)


def best_of(answer: dict[str, Any]) -> dict[str, Any]:
    """Pick what of an answer to a question can be shown."""
    best = answer["best_answer"]
    return {"best_answer": best["content"], "source": best["source"], "subject_names": best["subject_names"]}


def ids_of(answer: dict[str, Any]) -> list[int]:
    """List what came to mind."""
    return [each["id"] for each in answer["results"]]


def sizes_of(generation: int, report: dict[str, Any]) -> dict[str, int]:
    """Count what a report asks for."""
    lists = (
        "sessions_needing_description",
        "subjects_needing_understanding",
        "stale_understandings",
        "intersections_needing_synthesis",
    )
    return {"generation": generation, **{name: len(report[name]) for name in lists}}


def synthesis(name: str, count: int, recent: Sequence[dict[str, Any]]) -> str:
    """Write a plain synthesis that does not depend on the order in which parallel sessions wrote."""
    told = [each["content"] for each in recent]
    newest = max((day_of(text) for text in told), default=0)
    return f"{name} was observed {count} times. {min(text for text in told if day_of(text) == newest)}"


def day_of(text: str) -> int:
    """Read on which day something was observed."""
    found = re.search(r"day (\d+)", text)
    return int(found[1]) if found else 0


def transcript() -> Transcript:
    """Begin the page."""
    return Transcript("A month in the life of a workspace", OPENING)


async def in_memory(store: Path, mode: str) -> Transcript:
    """Live the month against a server in this process, under a clock of our own."""
    clock = ManualClock(START)
    process = Process(label="process 1", default_workspace="default")
    server = LoomServer(LazyLoom(lambda: open_loom(store, settings=SETTINGS, clock=clock)), process, "semantic-full")
    page = transcript()
    try:
        async with Client(server, mode=mode) as client:
            await Month(client, page, clock).live()
    finally:
        close(server)
    return page


def main() -> None:
    """Write the page."""
    with tempfile.TemporaryDirectory() as folder:
        page = anyio.run(in_memory, Path(folder) / "loom.db", "2026-07-28")
    PAGE.write_text(page.text, encoding="utf-8")


if __name__ == "__main__":
    main()
