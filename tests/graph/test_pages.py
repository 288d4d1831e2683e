"""CORE.md, REFLECTION.md, tags, reflection with and without a language model, and the daily round."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everloom.clock import ManualClock
from everloom.graph import Graph
from everloom.graph.operations.suggestions import suggest_tags, tag_pairs, tags_across
from everloom.graph.pages.core import BUDGET, PageEntry, render_core
from everloom.graph.pages.episodes import count_merges
from everloom.graph.pages.insights import InsightReply, groups
from everloom.graph.pages.reflection import render_reflection
from everloom.loom import Loom, Workspace
from everloom.settings import Settings
from tests.graph.ground import NOW, assert_two_sided, commits, git, keep, open_with, text_of

CORE_TYPES = [
    "solution",
    "decision",
    "fix",
    "configuration",
    "code_pattern",
    "workflow",
    "procedure",
    "problem",
    "insight",
]
candidates = st.builds(
    PageEntry,
    type=st.sampled_from(CORE_TYPES),
    title=st.text(min_size=1, max_size=400),
    path=st.just("graph/fixes/x-a1b2c3.md"),
    tags=st.lists(st.sampled_from(["redis", "python"]), max_size=2),
    strength=st.floats(0, 3) | st.sampled_from([0.2, 0.19999, 999.0]),
    created=st.just(NOW),
)


@pytest.mark.promise("graph.6-core")
@given(st.lists(candidates, max_size=120))
def test_core_keeps_its_budget_its_threshold_and_its_order(found: list[PageEntry]) -> None:
    page = render_core(found, NOW)
    assert len(page) <= BUDGET
    alive = sum(each.strength >= 0.2 for each in found)
    assert f"Active memories: {alive}/{len(found)}" in page
    sections = page.split("\n## ")[1:]
    titles = ["Critical Solutions", "Active Decisions", "Key Fixes", "Configurations", "Patterns & Workflows"]
    assert [each.split("\n")[0] for each in sections] == titles
    assert all(each.count("\n- [") <= 15 for each in sections)


@pytest.mark.promise("graph.6-core")
def test_core_lists_by_strength_under_the_type_and_in_the_contracts_form() -> None:
    found = [
        PageEntry("solution", "Weak", "graph/solutions/weak-1.md", ["a"], 0.2, NOW),
        PageEntry("solution", "Strong [x]", "graph/solutions/a b.md", ["redis", "timeout"], 0.9, NOW),
        PageEntry("solution", "Faded", "graph/solutions/faded.md", [], 0.199, NOW),
        PageEntry("procedure", "Deploy", "vault/deploy.md", [], 999.0, NOW),
        PageEntry("general", "Not listed", "graph/general/n.md", [], 2.0, NOW),
    ]
    assert render_core(found, NOW) == (
        "# Memory Core (auto-generated)\n"
        "> Last updated: 2026-11-15 | Active memories: 4/5 | Next refresh: daily (systemd timer)\n"
        "\n## Critical Solutions\n"
        "- [Strong \\[x\\]](graph/solutions/a%20b.md) (redis, timeout)\n"
        "- [Weak](graph/solutions/weak-1.md) (a)\n"
        "\n## Active Decisions\n\n## Key Fixes\n\n## Configurations\n"
        "\n## Patterns & Workflows\n- [Deploy](vault/deploy.md)\n"
    )
    many = [PageEntry("fix", f"{place} {'long ' * 60}", "graph/fixes/x.md", [], 1 + place, NOW) for place in range(40)]
    titles = re.findall(r"- \[(\d+) ", render_core(many, NOW))
    assert titles == [str(place) for place in range(39, 24, -1)]


@pytest.mark.promise("graph.6-core")
def test_a_page_that_is_too_long_loses_its_weakest_entries() -> None:
    kinds = ["solution", "decision", "fix", "configuration", "workflow"]
    found = [
        PageEntry(kinds[place % 5], f"{place} {'long ' * 60}", "graph/x/x.md", [], 1 + place / 100, NOW)
        for place in range(75)
    ]
    page = render_core(found, NOW)
    left = sorted(int(place) for place in re.findall(r"- \[(\d+) ", page))
    assert BUDGET - 500 < len(page) <= BUDGET
    assert left == list(range(75 - len(left), 75))


def told(title: str, kind: str = "fix", tags: tuple[str, ...] = (), accesses: int = 0, text: str = "") -> PageEntry:
    return PageEntry(kind, title, f"graph/x/{title}.md", tags, 1.0, NOW, accesses, text)


@pytest.mark.promise("graph.6-reflection")
def test_reflection_has_its_five_sections() -> None:
    memories = [
        told("One", tags=("fix", "python", "major-domo"), accesses=3),
        told("Two", tags=("fix", "python", "paper-dynasty")),
        told("Three", tags=("fix", "major-domo"), accesses=7),
        told("Deep", kind="insight", text="word " * 40),
    ]
    page = render_reflection(memories, ["major-domo", "paper-dynasty"], NOW, None, 0, 2)
    assert page == (
        "# Reflection Summary (auto-generated)\n"
        "> Last updated: 2026-11-15 | Last reflection: never | Total reflections: 0\n"
        "\n## Themes\nTop tag co-occurrences revealing recurring themes:\n\n"
        '- **fix + major-domo**: 2 memories ("One", "Three")\n'
        '- **fix + python**: 2 memories ("One", "Two")\n'
        "\n## Cross-Project Patterns\nTags that span multiple projects:\n\n"
        "- **fix**: appears in major-domo (2), paper-dynasty (1)\n"
        "- **python**: appears in major-domo (1), paper-dynasty (1)\n"
        "\n## Most Accessed\nTop 10 memories by access count:\n\n"
        "1. [Three](graph/x/Three.md) - 7 accesses\n2. [One](graph/x/One.md) - 3 accesses\n"
        f"\n## Recent Insights\nInsight-type memories:\n\n- [Deep](graph/x/Deep.md) - {('word ' * 16).strip()}...\n"
        "\n## Consolidation History\n\n- Total merges performed: 2\n"
    )


def test_tags_go_together_span_projects_and_are_suggested() -> None:
    tagged = [("a", "b", "p"), ("a", "b", "q"), ("a", "c", "p")]
    assert [(pair, len(places)) for pair, places in tag_pairs(tagged)][:2] == [(("a", "b"), 2), (("a", "p"), 2)]
    assert [tag for tag, _ in tags_across(tagged, ["p", "q"])] == ["a", "b"]
    assert suggest_tags(["a"], "All about redis", [(["x", "a"], 0.9), (["x"], 0.8), (["y"], 0.9)], {"redis": 3}) == [
        "x",
        "redis",
    ]


def test_merges_are_counted_from_episodes() -> None:
    day = "# 2026-01-01\n\n## 10:00 - Merged a into b\n- **Type:** merge\n\n## 11:00 - Emerged\n- **Summary:** merged\n"
    assert count_merges([day, day]) == 2


@given(st.lists(st.tuples(st.sampled_from("abcdefgh"), st.sampled_from("abcdefgh")), max_size=12))
def test_groups_are_what_is_connected(found: list[tuple[str, str]]) -> None:
    members = list("abcdefgh")
    grouped = groups(members, found, 1)
    assert sorted(member for group in grouped for member in group) == members
    home = {member: place for place, group in enumerate(grouped) for member in group}
    assert all(home[one] == home[other] for one, other in found)


def similar(graph: Graph) -> list[str]:
    texts = ["after an hour", "under heavy load", "in the night job", "with many clients"]
    return [
        keep(
            graph,
            f"Redis connection timeout {text}",
            "problem",
            tags=("redis", "timeout"),
            content="Redis connection timeout.",
        ).id
        for text in texts
    ]


@pytest.mark.promise("graph.7-reflect")
def test_without_a_model_reflection_proposes_and_notes_it(graph: Graph) -> None:
    ids = similar(graph)
    lonely = keep(graph, "Sourdough bread needs a warm night", tags=("bread",))
    untagged = graph.directory / graph.get(ids[0]).path
    untagged.write_text(untagged.read_text().replace("tags: [redis, timeout]", "tags: [redis]"))
    graph.follow()
    found = graph.reflect()
    (proposal,) = found.insights
    assert proposal.id is None
    assert set(proposal.sources) == set(ids)
    assert lonely.id not in proposal.sources
    assert found.tag_suggestions == {ids[0]: ("timeout",)}
    assert found.edge_suggestions
    assert graph.stats().reflections == 1
    assert "## 09:30 - Reflection" in text_of(graph, str(found.episode))
    assert "Total reflections: 1" in text_of(graph, "REFLECTION.md")
    assert graph.stats().by_type == {"problem": 4, "general": 1}
    dry = graph.reflect(dry_run=True)
    assert dry.episode is None
    assert graph.stats().reflections == 1


@pytest.mark.promise("graph.7-reflect")
def test_with_a_model_reflection_writes_insights_once(store_url: str, tmp_path: Path, directory: Path) -> None:
    script = tmp_path / "script.json"
    answer = {"title": "Idle lines are cut", "content": "Keep them alive.", "tags": ["redis", "network"]}
    script.write_text(json.dumps([{"match": "Redis connection timeout", "reply": answer}]))
    tree = {
        "workspace": {"time_zone": "UTC"},
        "graph": {"directory": directory},
        "llm": {"large": f"scripted:{script}"},
    }
    from everloom.loom import open_loom

    with open_loom(store_url, settings=Settings.model_validate(tree), clock=ManualClock(NOW)) as loom:
        graph = loom.workspace().graph
        ids = similar(graph)
        (insight,) = graph.reflect().insights
        memory = graph.get(str(insight.id))
        assert (memory.type, memory.title, memory.content) == ("insight", "Idle lines are cut", "Keep them alive.")
        assert {(side.type, side.direction, side.target) for side in memory.relations} == {
            ("BUILDS_ON", "outgoing", each) for each in ids
        }
        assert "Idle lines are cut" in text_of(graph, "REFLECTION.md")
        assert_two_sided(graph)
        assert graph.reflect().insights == ()


@pytest.mark.promise("graph.7-reflect")
def test_a_model_that_fails_leaves_proposals(graph: Graph) -> None:
    from everloom.errors import ProviderBusy

    class Failing:
        def answer(self, question: object, shape: type[InsightReply]) -> InsightReply:
            raise ProviderBusy("out of breath")

    similar(graph)
    found = Graph(replace(graph._graph, thinker=Failing)).reflect()  # type: ignore[arg-type]
    assert found.insights[0].id is None
    assert "out of breath" in found.notices[0]


@pytest.mark.promise("graph.schedule")
def test_the_daily_round_is_done_once_a_day_in_order(workspace: Workspace, graph: Graph, clock: ManualClock) -> None:
    keep(graph, "Tended", "solution", importance=0.9)
    outcomes = workspace.sleep()
    mine = [each.task for each in outcomes if each.task.startswith("graph-")]
    assert mine == ["graph-decay", "graph-core", "graph-reflection"]
    assert [each.state for each in outcomes if each.task in mine] == ["done"] * 3
    names = [task.name for task in workspace.loom.work.tasks]
    assert names.index("graph-reflection") < names.index("embed")
    assert "Tended" in text_of(graph, "CORE.md")
    assert not [each for each in workspace.sleep() if each.task.startswith("graph-")]
    clock.advance(timedelta(days=1))
    assert len([each for each in workspace.sleep() if each.task.startswith("graph-")]) == 3


@pytest.mark.promise("graph.4-calm")
def test_ten_idle_days_make_no_commit(store_url: str, directory: Path, clock: ManualClock) -> None:
    directory.mkdir()
    git(directory, "init", "-q")
    with open_with(store_url, directory, clock) as loom:
        workspace = loom.workspace()
        graph = workspace.graph
        # Of these, one is active for a year, one for two days and one for eleven.
        for title, importance in (("Lasting", 1.0), ("Soon gone", 0.36), ("Later gone", 0.46)):
            keep(graph, title, "solution", importance=importance, tags=("deck", title.split()[0]))
        graph.get(graph.recent()[-1].id)

        def live(days: int) -> list[str]:
            known = commits(directory)
            for _ in range(days):
                clock.advance(timedelta(days=1))
                assert {each.state for each in workspace.sleep() if each.task.startswith("graph-")} == {"done"}
                graph.decay()
                graph.reflect()
            return commits(directory)[len(known) :]

        core, mirror, told = "core: refresh CORE.md", "reflection: refresh REFLECTION.md", "episode: Reflection"
        assert live(1) == [core, mirror, told, mirror]
        before = {name: text_of(graph, name) for name in ("CORE.md", "REFLECTION.md")}
        assert live(12) == []
        assert {name: text_of(graph, name) for name in before} == before
        assert git(directory, "status", "--porcelain", "--untracked-files=no") == ""
        assert "not recorded" in graph.reflect().notices[-1]
        assert graph.stats().reflections == 1
        # Whoever asks gets the page of today; and with the first news the daily round goes on.
        assert "Soon gone" in before["CORE.md"]
        keep(graph, "News", "general")
        assert live(1) == [core, told, mirror]
        assert "Soon gone" not in text_of(graph, "CORE.md")
        assert "Last updated: 2026-11-29" in text_of(graph, "CORE.md")


def test_a_page_that_did_not_change_is_not_committed(tmp_path: Path, directory: Path) -> None:
    directory.mkdir()
    git(directory, "init", "-q")
    with open_with(f"sqlite:///{tmp_path}/loom.db", directory) as loom:
        graph = loom.workspace().graph
        graph.episode("Begun")
        assert graph.core().is_new
        assert not graph.core().is_new
        assert graph.core(refresh=False).text == graph.core().text
    assert commits(directory) == ["episode: Begun", "core: refresh CORE.md"]


@pytest.mark.promise("graph.9-providers")
def test_without_any_embedder_memories_are_found_by_words(
    loom: Loom, graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    from everloom.errors import ProviderBusy
    from everloom.models.embed import EmbedderChain

    def fail(*_: object, **__: object) -> None:
        raise ProviderBusy("down")

    monkeypatch.setattr(EmbedderChain, "embed", fail)
    stored = keep(graph, "Tide tables", tags=("tide",))
    found = graph.recall("tide")
    assert [each.id for each in found.memories] == [stored.id]
    assert found.degraded
    other = keep(graph, "Tide gauge", "problem", tags=("tide",), connect=True)
    assert [edge.to_id for edge in other.auto_edges] == [stored.id]
    monkeypatch.undo()
    assert loom.workspace().coverage().waiting == 2
    loom.work.run_due([loom.workspace().info], tasks=["embed"])
    assert loom.workspace().coverage().waiting == 0
    assert graph.recall("tide").degraded is None
