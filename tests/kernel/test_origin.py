"""Where a text comes from is kept, what is made of it is worth no more, and what is held waits for a person."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from everloom import Document
from everloom.clock import ManualClock
from everloom.errors import Conflict, Forbidden, NotFound, Rejected
from everloom.kernel.trust.origin import OriginKind, least_trusted, read_origin, trust_named, worth_saying
from everloom.loom import Loom, Workspace, open_loom
from everloom.mind.ports import FactChange
from everloom.semantic import NewObservation
from everloom.settings import Settings
from tests.store.ground import NOW, rows_of


def opened(url: str, home: Path, *hold: str) -> Loom:
    """Open a loom that holds these origins, with its files in a directory of its own."""
    files = {"graph": {"directory": str(home / "graph")}, "mind": {"notes": str(home / "notes")}}
    return open_loom(url, settings=Settings.model_validate({"review": {"hold": hold}, **files}), clock=ManualClock(NOW))


@pytest.fixture
def free(store_url: str, tmp_path: Path) -> Iterator[Workspace]:
    with opened(store_url, tmp_path) as loom:
        yield loom.workspace(session="monday")


@pytest.fixture
def held(store_url: str, tmp_path: Path) -> Iterator[Workspace]:
    with opened(store_url, tmp_path, "web", "import") as loom:
        yield loom.workspace(session="monday")


@pytest.mark.promise("origin.order")
def test_a_person_is_trusted_most_and_the_web_least() -> None:
    assert [each.value for each in OriginKind] == ["person", "agent", "tool", "import", "web"]
    assert [each.rank for each in OriginKind] == [0, 1, 2, 3, 4]
    assert trust_named(least_trusted([0, None, 3, 1])) == "import"
    assert least_trusted([None]) is None
    assert str(read_origin(" Web: example.org \n/x ")) == "web:example.org /x"
    assert worth_saying("person", 0) == worth_saying("agent", 1) == worth_saying(None, None) == (None, None)
    assert worth_saying("web:x", 4) == ("web:x", None)
    assert worth_saying("agent", 4) == ("agent", "web")
    for wrong in ("", "nobody", "website"):
        with pytest.raises(Rejected, match="no origin"):
            read_origin(wrong)


@pytest.mark.promise("origin.kept")
def test_whatever_is_written_says_where_it_comes_from(free: Workspace) -> None:
    semantic = free.semantic
    said = {
        "agent": semantic.remember(["James"], "James sails.").id,
        "web:example.org": semantic.remember(["James"], "James has a boat.", origin="web:example.org").id,
        "tool:radio": semantic.add_observations(
            [NewObservation(subject_names=["wind"], content="It blows.", origin="tool:radio")]
        )[0].id,
        "import": free.add([Document(kind="page", text="An old page.", happened_at=NOW)])[0],
        "person": free.loom.workspace(free.name, origin="person").semantic.remember(["Ann"], "Ann rows.").id,
    }
    for origin, item in said.items():
        assert (free.show(item).origin, free.show(item).trust) == (origin, origin.partition(":")[0])
    assert semantic.show(said["web:example.org"]).origin == "web:example.org"  # type: ignore[union-attr]
    # The same text again is the same observation, and keeps where it came from first.
    assert semantic.remember(["James"], "James has a boat.").id == said["web:example.org"]
    assert free.show(said["web:example.org"]).origin == "web:example.org"
    with pytest.raises(Rejected, match="there is no origin 'gossip'"):
        semantic.remember(["James"], "James swims.", origin="gossip")


@pytest.mark.promise("origin.kept")
def test_scenes_memories_notes_and_messages_keep_their_origin(free: Workspace) -> None:
    episodic, graph = free.episodic, free.graph
    noted = episodic.update_notes(
        scenes=[{"action": "James capsized", "actors": ["James"]}], notes=["buy rope"], origin="web:news"
    )
    assert free.show(noted.note_ids[0]).origin == "web:news"
    episodic.trigger_patrol(wait=True)
    (scene,) = [hit for hit in free.search("who capsized?") if hit.kind == "scene"]
    assert scene.origin == "web:news"
    stored = graph.store(type="fix", title="Pump", content="Turn it off.", origin="tool:lint")
    file = graph.directory / stored.path
    assert "origin: tool:lint" in file.read_text(encoding="utf-8").replace('"', "")
    assert free.show(stored.item).origin == "tool:lint"
    plain = graph.store(type="fix", title="Fuse", content="Replace it.")
    assert "origin" not in (graph.directory / plain.path).read_text(encoding="utf-8")
    assert free.show(plain.item).origin == "agent"
    # Edited by hand, it is the person's; a file that says where it comes from is believed.
    for path, old, new in ((plain.path, "Replace it.", "Dry it."), (stored.path, "Turn it off.", "Turn it on.")):
        place = graph.directory / path
        place.write_text(place.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    graph.follow()
    assert (free.show(plain.item).origin, free.show(stored.item).origin) == ("person", "tool:lint")
    free.mind.write_note("ops.md", "rope is in the shed\n")
    Path(free.mind.setup.notes, "own.md").write_text("mine\n", encoding="utf-8")
    free.mind.notes.sync()
    origins = {hit.title: free.show(hit.id).origin for hit in free.search("rope shed mine") if hit.kind == "note"}
    assert origins["ops.md"] == "agent"
    assert origins["own.md"] == "person"


@pytest.mark.promise("origin.least-trusted")
def test_a_synthesis_is_worth_no_more_than_its_least_trusted_source(free: Workspace) -> None:
    semantic = free.loom.workspace(free.name, session="monday", origin="person").semantic
    one = semantic.remember(["James"], "James sails.").id
    two = semantic.remember(["James"], "James won a cup.", origin="web:example.org").id
    trusted = semantic.create_understanding(["James"], "James sails.", "sails", source_observation_ids=[one])
    assert free.show(trusted.id).trust == "person"
    both = semantic.update_understanding(
        trusted.id, "James sails and won.", "sails", source_observation_ids=[two]
    ).new_understanding_id
    assert (free.show(both).origin, free.show(both).trust) == ("person", "web")
    assert free.why(both).trust == "web"
    # A later version inherits its sources, and what rests on it falls with it.
    again = semantic.update_understanding(both, "James sails, rows and won.", "sails").new_understanding_id
    assert free.show(again).trust == "web"
    (hit,) = [each for each in free.search("James sails, rows and won") if each.id == again]
    assert (hit.origin, hit.trust) == ("person", "web")
    recalled = semantic.recall("who rows and won?")
    assert recalled.best_answer.trust == "web"  # type: ignore[union-attr]
    # Evidence that is linked later counts at once; a session's note is worth what was said in it.
    semantic.remember(["Ann"], "Ann rows on Sundays.")
    ann = semantic.create_understanding(["Ann"], "Ann rows.", "rows")
    semantic.remember(["Ann"], "Ann rows daily.", related_to=[ann.id], origin="tool:log")
    assert free.show(ann.id).trust == "tool"
    note = semantic.describe_session("About James").understanding_id
    assert free.show(note).trust == "web"


@pytest.mark.promise("origin.least-trusted")
def test_merged_scenes_and_facts_are_worth_their_sources(free: Workspace) -> None:
    free.episodic.update_notes(scenes=[{"action": "James sailed to Brest", "actors": ["James"]}])
    free.episodic.update_notes(scenes=[{"action": "James sailed to Ushant", "actors": ["James"]}], origin="import:log")
    free.episodic.trigger_patrol(wait=True)
    nodes = [hit.id for hit in free.search("who sailed?") if hit.kind == "scene"]
    assert len(nodes) == 2
    merged = free.episodic.merge_nodes(nodes, "James sailed the coast")
    assert free.show(merged.node.id).trust == "import"
    # A fact of the conversation: who said it, and no more trust than what was said there.
    facts, lesson = free.loom.mind_setup(free.info).facts, FactChange("James rows.", ("James",), None, "person")
    (plain,) = facts.learn([lesson], exchange=free.semantic.remember(["x"], "said").id, also=lambda _tx, _facts: None)
    assert plain is not None
    assert (free.show(plain).origin, free.show(plain).trust) == ("person", "agent")


@pytest.mark.promise("origin.unknown")
def test_what_was_stored_before_has_no_origin_and_lowers_nothing(free: Workspace, store_url: str) -> None:
    item = free.semantic.remember(["James"], "James sails.").id
    with free.loom.store.write(free.info.id) as unit:
        (row,) = unit.all("words.document_of", ids=[item])
        values = {
            name: row[name] for name in ("title", "text", "context", "details", "labels", "standing", "confidence")
        }
        more = {name: row[name] for name in ("model_tier", "happened_at", "words", "context_words", "embedded_by")}
        unit.run("words.document_change", id=item, origin=None, trust=None, **values, **more)
    assert (free.show(item).origin, free.show(item).trust) == (None, None)
    made = free.semantic.create_understanding(["James"], "He sails.", "sails", source_observation_ids=[item])
    assert free.show(made.id).trust == "agent"
    assert free.search("who sails?")[0].origin is None
    assert rows_of(store_url, "SELECT COUNT(*) AS count FROM document WHERE origin IS NULL")[0]["count"] == 1


@pytest.mark.promise("review.held")
def test_what_is_held_is_nowhere_until_it_is_approved(held: Workspace) -> None:
    semantic = held.semantic
    stats = semantic.get_stats()
    waiting = semantic.remember(["James"], "James owns a yacht.", origin="web:example.org", idempotency_key="k")
    assert waiting.held
    assert semantic.remember(["James"], "James owns a yacht.", origin="web:example.org").id == waiting.id
    assert semantic.get_stats() == stats
    assert not semantic.get_pending_consolidation()
    assert not held.search("who owns a yacht?")
    assert semantic.recall("who owns a yacht?").best_answer is None  # type: ignore[union-attr]
    with pytest.raises(NotFound):
        semantic.get_subjects(["James"])
    assert any("1 write waits" in notice for notice in semantic.orient().notices)
    shown = held.show(waiting.id)
    assert (shown.kind, shown.detail["origin"], shown.detail["text"]) == (
        "held",
        "web:example.org",
        "James owns a yacht.",
    )
    (listed,) = held.review.list_held().held
    assert (listed.id, listed.session, listed.call) == (waiting.id, "monday", "semantic.remember")
    (done,) = held.loom.workspace(held.name, origin="person").review.approve([waiting.id])
    kept = done.result
    assert done.decision == "approved"
    hit = held.search("who owns a yacht?")[0]
    assert (hit.id, hit.origin) == (kept.id, "web:example.org")  # type: ignore[attr-defined]
    assert hit.id > waiting.id
    assert semantic.show(hit.id).session_id == "monday"  # type: ignore[union-attr]
    assert held.events(limit=1)[0].detail == {"by": "person", "call": "semantic.remember", "id": waiting.id}
    assert held.review.list_held().waiting == 0
    with pytest.raises(Conflict, match="already approved"):
        held.review.approve([waiting.id])


@pytest.mark.promise("review.held")
def test_every_way_to_write_can_wait(held: Workspace, tmp_path: Path) -> None:
    foreign = tmp_path / "foreign"
    (foreign / "memories").mkdir(parents=True)
    graph, episodic = held.graph, held.episodic
    waiting = [
        graph.store(type="fix", title="Pump", content="Turn the pump off.", tags=["a"], origin="web").item,
        held.add([Document(kind="page", text="A page about keels.", happened_at=NOW, labels=("keel",))])[0],
        *(each.id for each in held.review.list_held().held if each.call.startswith("episodic")),
    ]
    told = episodic.update_notes(scenes=[{"action": "James capsized"}], notes=["buy a keel"], origin="web")
    assert told.held
    assert told.note_ids == ()
    mixed = held.semantic.add_observations(
        [
            NewObservation(subject_names=["keel"], content="Keels are heavy."),
            NewObservation(subject_names=["keel"], content="Keels are cheap.", origin="web"),
        ]
    )
    assert [bool(each.held) for each in mixed] == [False, True]
    assert graph.import_directory(foreign).held
    assert held.review.list_held().waiting == 5
    assert [hit.text for hit in held.search("what about a pump, a page or a keel?")] == ["Keels are heavy."]
    assert not list(graph.directory.rglob("*pump*"))
    assert waiting[0]
    done = held.review.approve([each.id for each in held.review.list_held().held])
    assert {each.decision for each in done} == {"approved"}, done
    texts = {hit.text for hit in held.search("keel", limit=20)}
    assert {"Keels are heavy.", "Keels are cheap.", "buy a keel"} <= texts
    assert list(graph.directory.rglob("*pump*"))
    assert held.show(held.search("Turn the pump off")[0].id).origin == "web"
    # What cannot wait is refused, not let through.
    stranger = held.loom.workspace(held.name, origin="web:example.org")
    for write in (
        lambda: stranger.semantic.create_understanding(["keel"], "Keels.", "Keels"),
        lambda: stranger.semantic.create_subjects([]),
        lambda: stranger.episodic.update_memory("knowledge", "append", "x", key="k"),
    ):
        with pytest.raises(Forbidden, match="waits for review"):
            write()
    assert stranger.semantic.remember(["keel"], "Keels rust.").held


@pytest.mark.promise("review.decided-once")
def test_what_was_decided_stays_decided(held: Workspace) -> None:
    ids = [held.semantic.remember(["x"], f"Claim {n}.", origin="web").id for n in range(3)]
    (gone,) = held.review.reject([ids[0]], reason="not true")
    assert gone.decision == "rejected"
    assert held.show(ids[0]).detail["reason"] == "not true"
    for decide in (held.review.approve, held.review.reject):
        with pytest.raises(Conflict, match="already rejected"):
            decide([ids[0], ids[1]])
    # All or none: the second one still waits.
    assert [each.id for each in held.review.list_held().held] == ids[1:]
    with pytest.raises(NotFound, match="nothing with the id"):
        held.review.approve([10**9])
    assert not held.search("Claim 0")
    # A write that can no longer be made keeps waiting, and says why; the others are made.
    wrong = held.semantic.remember(["x"], "Claim 9.", related_to=[ids[0]], origin="web").id
    one, two = held.review.approve([wrong, ids[1]])
    assert (one.decision, two.decision) == ("waiting", "approved")
    assert one.problem
    assert [each.id for each in held.review.list_held().held] == [ids[2], wrong]


@pytest.mark.promise("review.forgotten")
def test_a_held_write_is_forgotten_with_its_words(held: Workspace, store_url: str) -> None:
    waiting = held.semantic.remember(["James"], "James owns a zyxwvut.", origin="web").id
    approved = held.semantic.remember(["Ann"], "Ann owns a qponmlk.", origin="web").id
    (done,) = held.review.approve([approved])
    for item in (waiting, done.result.id):  # type: ignore[attr-defined]
        shown = held.forgetting.forget([item])
        held.forgetting.forget([item], confirm=shown.confirm)
    assert held.review.list_held().waiting == 0
    rows = repr(rows_of(store_url, "SELECT * FROM held")) + repr(rows_of(store_url, "SELECT * FROM document"))
    assert "zyxwvut" not in rows
    assert "qponmlk" not in rows


@pytest.mark.promise("review.held")
def test_without_the_setting_nothing_waits(free: Workspace) -> None:
    assert free.semantic.remember(["x"], "From the web.", origin="web").held is None
    assert Settings().review.hold == ("web",)
    for wrong in ("person", "agent", "everything"):
        with pytest.raises(ValueError, match="review"):
            Settings.model_validate({"review": {"hold": [wrong]}})


@pytest.mark.promise("secrets.found-later")
def test_secrets_that_were_stored_are_found_by_kind_and_id(store_url: str, tmp_path: Path) -> None:
    token = "ghp_" + "1a2B3c4D5e6F7g8H9i0J1k2L3m4N5o6P7q8R"
    told = {
        "review": {"secrets": "warn"},
        "graph": {"directory": str(tmp_path / "g")},
        "mind": {"notes": str(tmp_path)},
    }
    with open_loom(store_url, settings=Settings.model_validate(told)) as loom:
        place = loom.workspace()
        with pytest.warns(UserWarning, match="stored as it is"):
            kept = place.semantic.remember(["James"], f"Uses {token}.")
        said = place.mind.conversation.receive(f"here is {token}", channel="terminal")
        found = place.review.find_secrets()
        assert {(each.kind, each.table, each.id, each.field) for each in found.secrets} == {
            ("GitHub token", "document", kept.id, "text"),
            ("GitHub token", "message", said.id, "text"),
        }
        assert token not in repr(found)
