"""Secrets in what is written: one screen before every verb and every other way in, on both engines."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from everloom import Document
from everloom.clock import ManualClock
from everloom.errors import Rejected
from everloom.kernel.journal import append_event
from everloom.kernel.trust.noticed import noticing
from everloom.kernel.trust.screen import Screen, SecretWarning
from everloom.loom import Loom, Workspace, open_loom
from everloom.secrets import patterns
from everloom.settings import Settings
from everloom.wiring.faculties import FACULTIES
from tests.store.ground import NOW, dump

EXAMPLES = {each.name: each.example for each in patterns()}
TOKEN = EXAMPLES["GitHub token"]
KEY = EXAMPLES["Anthropic API key"]
MARK = "[redacted: GitHub token]"


def opened(url: str, mode: str, home: Path) -> Loom:
    """Open a loom that does this about secrets, with its files in a directory of its own."""
    told = {
        "review": {"secrets": mode},
        "graph": {"directory": str(home / "graph")},
        "mind": {"notes": str(home / "n")},
    }
    return open_loom(url, settings=Settings.model_validate(told), clock=ManualClock(NOW))


@pytest.fixture
def place(store_url: str, tmp_path: Path) -> Iterator[Workspace]:
    with opened(store_url, "redact", tmp_path) as loom:
        yield loom.workspace(session="monday")


def everything(workspace: Workspace, url: str) -> str:
    """Write down every row of a workspace."""
    return repr(dump(url, workspace.info.id))


def write_everywhere(place: Workspace) -> dict[str, Any]:
    """Write a secret through a verb of each faculty, and through every way in that is no verb."""
    semantic, episodic, graph, mind = place.semantic, place.episodic, place.graph, place.mind
    kept = semantic.remember(["James", f"host {KEY}"], f"James deploys with {TOKEN}.", idempotency_key="one")
    semantic.create_understanding(["James"], f"He uses {TOKEN}.", f"Uses {TOKEN}", reason=f"saw {TOKEN}")
    semantic.mark_questionable(kept.id, f"is {TOKEN} right?")
    semantic.describe_session(f"About {TOKEN}")
    episodic.update_notes(scenes=[{"action": f"James typed {TOKEN}", "actors": ["James"]}], notes=[f"use {TOKEN}"])
    episodic.update_memory("knowledge", "append", f"the token is {TOKEN}", key="tokens")
    stored = graph.store(type="fix", title=f"Use {TOKEN}", content=f"export TOKEN={TOKEN}", tags=["ops"], steps=[TOKEN])
    mind.write_note("ops.md", f"token {TOKEN}\n")
    mind.update_status({"password": "hunter2-Tango", "mood": "calm"})
    mind.conversation.receive(f"here is {TOKEN}", channel="terminal", key="m1")
    mind.schedule_message(f"rotate {TOKEN}", "2027-01-01 09:00")
    place.add([Document(kind="page", text=f"imported {TOKEN}", happened_at=NOW)])
    place.mark(kept.id, "questionable", None)
    place.loom.workspace(place.name, session=f"label {TOKEN}").semantic.remember(["Ann"], "Ann sails.")
    return {"graph": Path(graph.directory, stored.path).read_text(encoding="utf-8"), "kept": kept}


@pytest.mark.promise("secrets.redact")
def test_no_row_and_no_file_holds_what_was_redacted(place: Workspace, store_url: str) -> None:
    with noticing() as found:
        wrote = write_everywhere(place)
    rows = everything(place, store_url)
    for secret in (TOKEN, KEY, TOKEN.lower(), KEY.lower(), "hunter2-Tango", TOKEN.lower()[4:]):
        assert secret not in rows
        assert secret not in wrote["graph"]
    assert rows.count(MARK) > 12
    assert wrote["kept"].content == f"James deploys with {MARK}."
    # What is around the secret is kept, and found.
    assert place.search("who deploys?")[0].text == f"James deploys with {MARK}."
    told = {str(each) for each in found}
    assert {"GitHub token in content", "Anthropic API key in subject_names.1", "password in updates.password"} <= told
    assert {"GitHub token in scenes.0.action", "GitHub token in the message"} <= told
    assert TOKEN not in repr(found)


@pytest.mark.promise("secrets.redact")
def test_a_repeated_call_gets_the_first_answer_although_it_was_redacted(place: Workspace) -> None:
    with noticing():
        one = place.semantic.remember(["James"], f"Uses {TOKEN}.", idempotency_key="k")
        assert place.semantic.remember(["James"], f"Uses {TOKEN}.", idempotency_key="k") == one
    with noticing(), pytest.raises(Rejected, match="GitHub token in idempotency_key"):
        place.semantic.remember(["James"], "He sails.", idempotency_key=TOKEN)


@pytest.mark.promise("secrets.told")
def test_a_python_caller_is_warned_with_the_kind_and_the_place(place: Workspace) -> None:
    with pytest.warns(SecretWarning, match=r"replaced by a mark: GitHub token in content$") as told:
        place.semantic.remember(["James"], f"Uses {TOKEN}.")
    assert TOKEN not in str(told[0].message)
    assert told[0].filename == __file__


@pytest.mark.promise("secrets.told")
def test_the_agent_is_told_what_was_recognised(store_url: str, tmp_path: Path) -> None:
    told = {"mind": {"faculties": "semantic", "notes": str(tmp_path)}}
    with open_loom(store_url, settings=Settings.model_validate(told)) as loom:
        tools = {each.tool.name: each for each in loom.workspace().mind.tools()}
        answer = tools["remember"].use({"subject_names": ["James"], "content": f"Uses {TOKEN}."})
    assert answer.endswith("(recognised: GitHub token in content)")
    assert TOKEN not in answer


@pytest.mark.promise("secrets.refuse")
def test_what_holds_a_secret_is_refused_before_anything_is_written(store_url: str, tmp_path: Path) -> None:
    with opened(store_url, "refuse", tmp_path) as loom:
        place = loom.workspace(session="monday")
        before = everything(place, store_url)
        for write in (
            lambda: place.semantic.remember(["James"], f"Uses {TOKEN}."),
            lambda: place.episodic.update_notes(notes=[f"use {TOKEN}"]),
            lambda: place.graph.store(type="fix", title="Token", content=TOKEN),
            lambda: place.mind.write_note("ops.md", TOKEN),
        ):
            with pytest.raises(Rejected, match="GitHub token") as refused:
                write()
            assert TOKEN not in str(refused.value)
            assert refused.value.hint
        assert "GitHub" not in everything(place, store_url).replace(before, "")
        # A message was said already, and is never refused: it is kept without the secret.
        kept = place.mind.conversation.receive(f"here is {TOKEN}", channel="terminal")
        assert kept.text == f"here is {MARK}"


@pytest.mark.promise("secrets.warn")
def test_with_warn_everything_is_stored_as_it_is_and_reported(store_url: str, tmp_path: Path) -> None:
    with opened(store_url, "warn", tmp_path) as loom:
        place = loom.workspace()
        with noticing() as found:
            kept = place.semantic.remember(["James"], f"Uses {TOKEN}.")
            said = place.mind.conversation.receive(f"here is {TOKEN}", channel="terminal")
        assert kept.content == f"Uses {TOKEN}."
        assert said.text == f"here is {TOKEN}"
        assert [each.place for each in found] == ["content", "the message"]
        # The audit trail never holds one, whatever is stored.
        with loom.store.write(place.info.id) as unit:
            append_event(unit, "test", {"reason": TOKEN}, NOW, None)
        assert place.events(limit=1)[0].detail == {"reason": MARK}


@pytest.mark.promise("secrets.files")
def test_a_persons_file_keeps_its_secret_and_the_store_does_not(place: Workspace, store_url: str) -> None:
    graph, notes = place.graph, place.mind.notes
    stored = graph.store(type="fix", title="Deploy", content="Ask Ann.")
    file = graph.directory / stored.path
    file.write_text(file.read_text(encoding="utf-8").replace("Ask Ann.", f"Use {TOKEN} for it."), encoding="utf-8")
    graph.follow()
    assert TOKEN in file.read_text(encoding="utf-8")
    assert place.search("what is used for it?")[0].text == f"Use {MARK} for it."
    notes.sync()
    own = Path(place.mind.setup.notes) / "people.md"
    own.write_text(f"Ann: {TOKEN}\n", encoding="utf-8")
    assert notes.sync() == ["people.md"]
    assert notes.sync() == []
    assert notes.read("people.md") == f"Ann: {MARK}\n"
    assert TOKEN in own.read_text(encoding="utf-8")
    assert TOKEN not in everything(place, store_url)
    # The agent does not see the secret, so it must not write its mark over it.
    with pytest.raises(Rejected, match="which you do not see"):
        place.mind.append_note("Ann likes tea.", "people.md")
    own.write_text("Ann: in the safe\n", encoding="utf-8")
    place.mind.append_note("Ann likes tea.", "people.md")
    assert "likes tea" in own.read_text(encoding="utf-8")


@pytest.mark.promise("secrets.files")
def test_a_soul_with_a_secret_comes_to_rest(place: Workspace, store_url: str) -> None:
    notes = place.mind.notes
    notes.sync()
    own = Path(place.mind.setup.notes) / "SOUL.md"
    own.write_text(f"I am kind, and know {TOKEN}.\n", encoding="utf-8")
    with noticing():
        notes.sync()
        count = len(place.events(limit=500))
        assert notes.sync() == []
        assert len(place.events(limit=500)) == count
    assert TOKEN in own.read_text(encoding="utf-8")
    assert TOKEN not in everything(place, store_url)


SAYS_NOTHING_NEW = {"forget", "forget_fact", "say", "calibrate", "approve_action", "refuse_action"}


@pytest.mark.promise("secrets.one-place")
def test_every_verb_that_writes_is_screened() -> None:
    writing = [verb for faculty in FACULTIES.values() for verb in faculty.verbs if verb.effect.writes]
    assert len(writing) > 30
    for faculty in FACULTIES.values():
        owner = _class_of(faculty.declaration)
        for verb in faculty.verbs:
            is_screened = verb.effect.writes and verb.effect.stores
            # What is said is never refused: the conversation itself looks for secrets in it. Texts that only measure an
            # embedder are not kept, and who decides or forgets says nothing new.
            assert verb.effect.stores or verb.name in SAYS_NOTHING_NEW
            # Every verb is wrapped for its bounds; the screen stands between them and the method.
            assert getattr(owner, verb.name).__wrapped__ is verb.method, verb.name
            assert (verb.screened is not verb.method) is is_screened, verb.name


@pytest.mark.promise("secrets.one-place")
def test_every_faculty_lends_its_screen(place: Workspace) -> None:
    for faculty in FACULTIES.values():
        assert faculty.reach(place, {}).op.screen == Screen("redact"), faculty.name


def test_a_secret_that_was_stored_can_be_found_to_be_forgotten(store_url: str, tmp_path: Path) -> None:
    with opened(store_url, "warn", tmp_path) as loom, noticing():
        kept = loom.workspace().semantic.remember(["James"], f"Uses {TOKEN}.")
    with opened(store_url, "redact", tmp_path) as loom, noticing() as found:
        place = loom.workspace()
        shown = place.forgetting.forget(search=f"Uses {TOKEN}.")
        place.forgetting.forget(search=f"Uses {TOKEN}.", confirm=shown.confirm)
        assert not found
        assert kept.id not in [hit.id for hit in place.search("Uses")]
        assert TOKEN not in everything(place, store_url)


def _class_of(declaration: str) -> type:
    module, _, name = declaration.partition(":")
    found: type = getattr(__import__(module, fromlist=[name]), name)
    return found


def test_what_holds_no_secret_is_passed_on_as_it_is() -> None:
    given = {"content": "James sails.", "tags": ("a", "b"), "status": {"mood": "calm", "list": [1, {"x": None}]}}
    assert Screen().arguments(given) is given
    assert Screen("refuse").kept(given["status"], "status") is given["status"]
    with noticing() as found:
        kept = Screen().arguments({"deep": [{"a": (f"x {TOKEN}",)}], "same": given["tags"]})
    assert json.dumps(kept["deep"]) == f'[{{"a": ["x {MARK}"]}}]'
    assert kept["same"] is given["tags"]
    assert [str(each) for each in found] == ["GitHub token in deep.0.a.0"]
