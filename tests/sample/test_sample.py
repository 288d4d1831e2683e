"""The sample workspace: its story is told in every faculty, once, whatever interrupts it, and goes without a trace."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from everloom.kernel.operation import Operation
from everloom.loom import Loom, open_loom
from everloom.sample import DESCRIPTION, SAMPLE_NAME, Sample, make_sample
from everloom.semantic.results import QuestionRecall
from everloom.settings import Settings
from everloom.surfaces.page.forms import FORM_COOKIE, FORM_FIELD
from everloom.surfaces.page.routes import page_routes
from everloom.surfaces.web.entrance import Entrance
from everloom.surfaces.web.identity import Process
from everloom.surfaces.web.lazy import LazyLoom

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)


def settings_of(url: str, **more: Any) -> Settings:
    return Settings.model_validate({"store": {"url": url}, **more})


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path / "data"


def told(loom: Loom) -> dict[str, Any]:
    """Collect what the story amounts to, without ids and times."""
    place = loom.workspace(SAMPLE_NAME)
    graph = place.graph
    memories = graph.search(limit=100, archived=True, max_tokens=100_000).memories
    edges = graph.edge_search(limit=100, max_tokens=100_000)
    notes = {name: place.mind.read_note(name).body for name in place.mind.list_notes() if name.startswith("projects/")}
    return {
        "census": place.episodic.census(),
        "patrols": [each.number for each in place.episodic.patrol_report(limit=100, max_tokens=100_000)],
        "diary": [each["content"] for each in rows(loom, "episodic.entry_all", target="diary", from_key="")],
        "memories": sorted((each.title, each.type, each.status) for each in memories),
        "reads": sorted((each.title, graph.get(each.id).access_count) for each in memories),
        "edges": sorted((each.from_title, each.type, each.to_title) for each in edges),
        "exchanges": [(each.heard, each.reply) for each in place.mind.conversation.exchanges()],
        "notes": notes,
        "held": place.review.list_held().waiting,
    }


def rows(loom: Loom, statement: str, **given: Any) -> list[Any]:
    with loom.store.read(loom.workspaces.get(SAMPLE_NAME).id) as unit:
        return list(unit.all(statement, **given))


@pytest.mark.promise("sample.tells-everything")
def test_the_sample_has_something_to_show_in_every_faculty(store_url: str) -> None:
    made = make_sample(settings_of(store_url), NOW)
    assert made == Sample(SAMPLE_NAME, True, 60, 9, 4, made.scenes, 25, 10)
    with open_loom(settings=settings_of(store_url)) as loom:
        story = told(loom)
        reports = loom.workspace(SAMPLE_NAME).episodic.patrol_report(limit=100, max_tokens=100_000)
        usage = rows(loom, "mind.exchange_recent", before=2**62, limit=100)
    assert all(story["census"][state] for state in ("active", "dying", "faded", "absorbed", "clusters", "pending"))
    assert sum(each.count("revived") for each in reports) == 1
    assert sum(each.count("born") for each in reports) >= 3
    assert reports[0].began_at - reports[-1].began_at > timedelta(days=80)
    assert {status for _, _, status in story["memories"]} == {"active", "fading", "dormant", "archived"}
    assert len({kind for _, kind, _ in story["memories"]}) >= 8
    assert len(story["edges"]) == 19
    assert len(story["diary"]) == 6
    assert story["held"] == 1
    # A script replied, and the memory says so.
    assert all(row["model"].startswith("scripted:") for row in usage)
    assert made.scenes == sum(story["census"][state] for state in ("active", "dying", "faded", "absorbed"))


@pytest.mark.promise("sample.made-once")
def test_a_sample_that_was_interrupted_anywhere_is_completed(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    original = Operation.write
    left = [0]

    @contextmanager
    def dying(self: Operation, *args: Any, **kw: Any) -> Iterator[Any]:
        left[0] -= 1
        if left[0] == 0:
            raise KeyboardInterrupt
        with original(self, *args, **kw) as tx:
            yield tx

    interruptions = 0
    with monkeypatch.context() as patch:
        patch.setattr(Operation, "write", dying)
        # Prime and growing: they end in the middle of patrols, of exchanges and of changes to files.
        for left[0] in (31, 131, 331):
            try:
                make_sample(settings_of(store_url), NOW)
            except KeyboardInterrupt:
                interruptions += 1
    assert interruptions == 3
    made = make_sample(settings_of(store_url), NOW)
    assert (made.observations, made.understandings, made.memories, made.exchanges) == (60, 9, 25, 10)
    with open_loom(settings=settings_of(store_url)) as loom:
        story = told(loom)
        assert loom.workspaces.get(SAMPLE_NAME).description == DESCRIPTION
    assert story["patrols"] == list(range(30, 0, -1))
    assert len(story["edges"]) == len(set(story["edges"])) == 19
    assert len(story["diary"]) == 6
    assert [text.count("two buckets a day") for text in story["notes"].values()] == [1, 0]
    assert make_sample(settings_of(store_url), NOW).made is False


def test_the_sample_asks_no_model_that_somebody_pays_for(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'loom.db'}"
    unreachable = {"llm": {"large": "ollama:none"}, "provider": {"ollama_base": "http://127.0.0.1:9"}}
    assert make_sample(settings_of(url, **unreachable), NOW).exchanges == 10


def test_removing_the_sample_removes_its_files(tmp_path: Path, home: Path) -> None:
    url = f"sqlite:///{tmp_path / 'loom.db'}"
    make_sample(settings_of(url), NOW)
    assert any(home.rglob("*.md"))
    with open_loom(settings=settings_of(url)) as loom:
        loom.remove_workspace(SAMPLE_NAME)
    # What stays is the record of the store itself, which says where its database is.
    assert [each.name for each in home.rglob("*") if each.is_file()] == ["database.json"]


def test_one_click_on_the_page_makes_the_sample(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'loom.db'}"
    settings = settings_of(url)
    process = Process(label=None, default_workspace="default")
    opening = LazyLoom(lambda: open_loom(settings=settings))
    with closing(opening), TestClient(Starlette(routes=page_routes(Entrance(opening, process)))) as client:
        welcome = client.get("/")
        assert "Make the sample workspace" in welcome.text
        key = {FORM_FIELD: client.cookies[FORM_COOKIE]}
        made = client.post("/sample", data=key)
        assert made.url.path == f"/w/{opening.take().workspaces.get(SAMPLE_NAME).id}/"
        assert "invented people" in made.text
        assert "The sample was there already" in client.post("/sample", data=key).text
    reading = Process(label=None, default_workspace="default", read_only=True)
    with closing(LazyLoom(lambda: open_loom(settings=settings))) as opened:
        app = Starlette(routes=page_routes(Entrance(opened, reading)))
        with TestClient(app) as client:
            client.get("/sign-in")
            assert client.post("/sample", data={FORM_FIELD: client.cookies[FORM_COOKIE]}).status_code == 403


@pytest.mark.promise("trust.subjects-first")
def test_a_question_about_two_people_of_the_sample_leads_with_how_they_stand(store_url: str) -> None:
    settings = settings_of(store_url)
    make_sample(settings, NOW)
    with open_loom(settings=settings) as loom:
        for question in ("Mara and Ivo", "How do Ivo and Mara get along?", "Ivo × Mara"):
            answer = loom.workspace(SAMPLE_NAME).semantic.recall(question)
            assert isinstance(answer, QuestionRecall)
            assert answer.best_answer is not None
            assert answer.best_answer.content.startswith("Ivo teaches Mara woodwork")
            assert all(each.answers <= answer.best_answer.confidence for each in answer.supporting)
