"""Read-only writes nothing: no row, no trace of reading, no file, on any surface."""

from __future__ import annotations

from pathlib import Path

import pytest

from everloom.errors import EverloomError, Forbidden, NotFound
from everloom.kernel.operation import FootprintCounts
from everloom.kernel.verbs import Verb
from everloom.loom import Workspace, open_loom
from everloom.settings import Settings
from everloom.wiring.faculties import Faculty
from tests.reads.ground import Furniture, call, calls, furnished, tree, verbs, whole


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "data"
    monkeypatch.setenv("XDG_DATA_HOME", str(home))
    return home


@pytest.fixture
def held(store_url: str, folder: Path) -> Furniture:
    with open_loom(store_url, settings=Settings()) as loom:
        return furnished(loom)


def test_the_table_of_calls_is_complete(held: Furniture) -> None:
    declared = {(faculty.name, verb.name) for way in (True, False) for faculty, verb in verbs(writing=way)}
    assert {(faculty, name) for faculty, known in calls(held).items() for name in known} == declared


@pytest.mark.promise("trust.read-only-writes-nothing")
@pytest.mark.parametrize("how", ["the store", "the caller"])
def test_every_verb_that_reads_answers_and_leaves_nothing_behind(
    store_url: str, held: Furniture, folder: Path, how: str
) -> None:
    rows, files = whole(store_url), tree(folder)
    settings = Settings.model_validate({"store": {"read_only": how == "the store"}})
    refusal = Forbidden("only reads") if how == "the caller" else None
    with open_loom(store_url, settings=settings) as loom:
        for session in ("before", "a new one", None):
            place = loom.workspace(session=session, refusal=refusal)
            for faculty, verb in verbs(writing=False):
                assert call(place, faculty, verb, held) is not None, verb.name
            place.search("boat")
            place.show(held.observation)
            place.why(held.observation)
            place.perspectives()
        # Nobody tried: a trace that was refused would be told as one that was lost.
        assert loom.footprints.counts == FootprintCounts(written=0, waiting=0, lost=0, reason=None)
    assert whole(store_url) == rows
    assert tree(folder) == files


def answer_of(place: Workspace, faculty: Faculty, verb: Verb, held: Furniture) -> str:
    try:
        return repr(call(place, faculty, verb, held))
    except EverloomError as error:
        return str(error)


@pytest.mark.promise("trust.read-only-writes-nothing")
def test_every_verb_that_writes_is_refused_and_leaves_nothing_behind(
    store_url: str, held: Furniture, folder: Path
) -> None:
    rows, files = whole(store_url), tree(folder)
    with open_loom(store_url, settings=Settings()) as loom:
        place = loom.workspace(session="guest", refusal=Forbidden("only reads", hint="ask for more"))
        said = {(each.name, verb.name): answer_of(place, each, verb, held) for each, verb in verbs(writing=True)}
        assert {name: answer for name, answer in said.items() if answer != "only reads (ask for more)"} == {}
        for write in (lambda: place.pin(held.observation), lambda: place.mark(held.observation, "useful")):
            with pytest.raises(Forbidden, match="only reads"):
                write()
    assert whole(store_url) == rows
    assert tree(folder) == files


@pytest.mark.promise("trust.read-only-writes-nothing")
def test_a_memory_that_was_never_used_is_read_without_beginning_it(
    store_url: str, folder: Path, held: Furniture
) -> None:
    with open_loom(store_url, settings=Settings()) as loom:
        loom.workspaces.create("empty")
    rows, files = whole(store_url), tree(folder)
    settings = Settings.model_validate({"store": {"read_only": True}, "workspace": {"name": "empty"}})
    with open_loom(store_url, settings=settings) as loom:
        place = loom.workspace(session="first")
        assert "lasting norms" in place.semantic.orient().protocol.content
        assert place.semantic.bring_to_mind("anything").results == ()
        assert place.graph.stats().memories == 0
        assert place.graph.recall("anything") is not None
        assert "SOUL.md" in place.mind.list_notes()
        assert place.mind.read_note("SOUL.md").body
        assert place.episodic.get_context().system_prompt
        with pytest.raises(NotFound, match="nowhere") as caught:
            loom.workspace("nowhere")
        assert caught.value.hint
        with pytest.raises(EverloomError):
            place.graph.store(type="fix", title="Patch", content="Patch the hull.")
    assert whole(store_url) == rows
    assert tree(folder) == files


def test_a_store_that_does_not_exist_is_not_created_to_be_read(tmp_path: Path) -> None:
    settings = Settings.model_validate({"store": {"read_only": True}})
    with pytest.raises(NotFound) as caught:
        open_loom(tmp_path / "deep" / "loom.db", settings=settings)
    assert caught.value.hint
    assert list(tmp_path.iterdir()) == []
