"""Semantic memory from the command line: every verb, the daily ones without the group, consolidation, the sample."""

from __future__ import annotations

import dataclasses
import inspect
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from everloom.kernel.work.lease import Leases
from everloom.sample import DESCRIPTION, make_sample
from everloom.secrets import patterns
from everloom.semantic import Semantic
from everloom.settings import Settings
from everloom.surfaces.cli.commands.semantic import semantic
from everloom.surfaces.cli.runtime.command import shared_options
from tests.surfaces.cli.conftest import Call, opened
from tests.surfaces.cli.knowing import known

WRITES = {"decision": "write", "content": "Known.", "summary": "Known.", "cited_observation_ids": [], "reason": "New."}


@pytest.mark.promise("cli.every-verb")
def test_every_verb_is_a_command_that_takes_its_parameters() -> None:
    verbs = {name: method for name, method in inspect.getmembers(Semantic, inspect.isfunction) if name[0] != "_"}
    shared = {each.name for each in shared_options()}
    for name, method in verbs.items():
        taken = {each.name for each in semantic.commands[name.replace("_", "-")].params} - shared
        wanted = set(inspect.signature(method).parameters) - {"self"}
        # A person names several subjects at once.
        expected = {"names", "summary", "tags", "idempotency_key"} if name == "create_subjects" else wanted
        assert taken == expected, name


def test_remember_recall_and_orient_work_without_the_group(call: Call) -> None:
    kept = call("remember", "James sails.", "--about", "James", "--about", "sailing", "--kind", "fact", "--json").result
    assert (kept["subject_names"], kept["duplicate"]) == (["James", "sailing"], False)
    assert "already known" in call("remember", "James", "sails.", "--about", "James").out
    assert call("recall", "james", "--json").result["subject"]["name"] == "James"
    assert call("recall", "who", "sails?", "--json").result["best_answer"]["content"] == "James sails."
    assert "James sails." in call("recall", "who sails?").out
    told = call("orient").out
    assert told.index("Soul") < told.index("Protocol") < told.index("Orientation (")
    assert "3 subjects and intersections are waiting" in told


def test_the_tier_of_the_model_is_recorded_with_what_it_writes(call: Call) -> None:
    kept = call("remember", "James sails.", "--about", "James", "--model-tier", "large", "--json").result
    assert call("semantic", "show", str(kept["id"]), "--json").result["model_tier"] == "large"


@pytest.mark.promise("secrets.told")
def test_a_recognised_secret_is_named_and_never_printed(call: Call) -> None:
    token = next(each.example for each in patterns() if each.name == "GitHub token")
    done = call("remember", f"James uses {token}.", "--about", "James", "--json")
    assert done.envelope["secrets"] == [{"kind": "GitHub token", "place": "content"}]
    assert done.result["content"] == "James uses [redacted: GitHub token]."
    said = call("remember", f"Ann uses {token}.", "--about", "Ann")
    assert "Recognised: GitHub token in content" in said.err
    refused = call(
        "remember", f"Bob uses {token}.", "--about", "Bob", "--json", env={"EVERLOOM_REVIEW_SECRETS": "refuse"}
    )
    assert (refused.code, refused.error["code"]) == (2, "rejected")
    # Nothing repeats it: not the answer, not a mistake in the command line, not the log of a defect.
    wrong = call("remember", token, "--no-such", "--json")
    unknown = call("show", token, "--json", "--verbose")
    for ended in (done, said, refused, wrong, unknown):
        assert token not in ended.out + ended.err


def test_a_dash_reads_the_text_from_stdin(call: Call) -> None:
    kept = call("remember", "-", "--about", "poem", "--json", input="Roses are red,\nviolets are blue.\n").result
    assert "violets" in kept["content"]


def test_an_old_observation_keeps_its_day(call: Call) -> None:
    call("remember", "James was born.", "--about", "James", "--observed-at", "1980-02-29")
    (seen,) = call("semantic", "list-observations", "James", "--json").result
    assert seen["observed_at"] == "1980-02-29T00:00:00+00:00"


def test_json_has_the_fields_of_the_answer_as_they_are(call: Call, url: str, tmp_path: Path) -> None:
    from everloom.semantic.consolidation.results import ConsolidationReport
    from everloom.semantic.results import Intersection, Understanding

    ids = known(url, tmp_path)
    answers: list[tuple[Any, type]] = [
        (call("semantic", "open-intersection", "James", "Audrey", "--json").result, Intersection),
        (call("semantic", "show", str(ids["understanding"]), "--json").result, Understanding),
        (call("semantic", "get-consolidation-report", "--json").result, ConsolidationReport),
    ]
    for found, shape in answers:
        # What is null or empty is left out, unless it is promised.
        assert set(found) <= {field.name for field in dataclasses.fields(shape)}
        promised = {field.name for field in dataclasses.fields(shape) if "is_said" in field.metadata}
        assert {name for name, value in found.items() if value in (None, [])} <= promised <= set(found)


def test_a_conflict_a_stranger_and_a_mistake_are_told_apart(call: Call, url: str, tmp_path: Path) -> None:
    ids = known(url, tmp_path)
    revise = ("semantic", "update-understanding", str(ids["understanding"]), "New.", "--summary", "New.")
    ended = call(*revise, "--expected-version", "7", "--json")
    assert (ended.code, ended.error["code"]) == (1, "conflict")
    assert call("semantic", "open-around", "Nobody", "--json").code == 3
    assert call("remember", " ", "--about", "James").code == 2
    assert call("remember", "Text without a subject.").code == 2
    (tmp_path / "bad.json").write_text('{"not": "a list"}')
    assert call("semantic", "add-observations", str(tmp_path / "bad.json")).code == 2


def scripted(folder: Path, reply: object = WRITES) -> dict[str, str]:
    """Set a script as the language model."""
    file = folder / "script.json"
    file.write_text(json.dumps([{"match": ".", "reply": reply}]))
    return {"EVERLOOM_LLM_LARGE": f"scripted:{file}"}


@pytest.fixture
def thinking(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """A command line with a language model, and something to think about."""
    for name, value in scripted(tmp_path).items():
        monkeypatch.setenv(name, value)
    call("remember", "James sails.", "--about", "James", "--about", "sailing", "--session", "monday")
    return call


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str | None]:
    """Variables that keep a command away from the home of whoever runs the tests, and leave the model alone."""
    places = {"HOME": "", "XDG_CONFIG_HOME": "config", "XDG_DATA_HOME": "data"}
    return {**{name: str(tmp_path / place) for name, place in places.items()}, "TZ": "UTC"}


def test_consolidate_tells_what_it_wrote_and_what_it_cost(thinking: Call) -> None:
    told = thinking("consolidate")
    assert told.code == 0, told.err
    assert "James × sailing" in told.out
    assert "generation 1 finished; 0 still wait" in told.out
    assert "5 questions" in told.out
    again = thinking("consolidate", "--json").result
    assert (again["taken"], again["finished"]) == ([], False)
    assert "nothing is waiting" in thinking("consolidate").out


@pytest.mark.promise("consolidate.dry-run")
def test_a_dry_run_shows_the_plan_and_does_nothing(thinking: Call, url: str) -> None:
    with opened(url) as loom:
        before = len(loom.workspace().events(limit=1000))
    planned = thinking("consolidate", "--dry-run", "--json").result
    assert [each["kind"] for each in planned["steps"]] == [
        "session",
        "subject",
        "subject",
        "intersection",
        "orientation",
    ]
    assert all(each["estimated_tokens"] > 100 for each in planned["steps"])
    assert planned["estimated_tokens"] == sum(each["estimated_tokens"] for each in planned["steps"])
    limited = thinking("consolidate", "--dry-run", "--limit", "2", "--json").result
    assert (len(limited["steps"]), limited["left"]) == (3, 2)
    with opened(url) as loom:
        workspace = loom.workspace()
        assert len(workspace.events(limit=1000)) == before
        assert workspace.semantic.get_stats().current_generation == 0


def test_consolidate_within_limits_leaves_the_rest_due(thinking: Call) -> None:
    found = thinking("consolidate", "--limit", "1", "--json").result
    assert [each["kind"] for each in found["taken"]] == ["session"]
    assert (found["left"], found["finished"]) == (3, True)
    found = thinking("consolidate", "--tokens", "1", "--json").result
    assert (found["left"], found["finished"]) == (2, False)
    assert "tokens are used up" in found["stopped"]
    assert thinking("consolidate", "--json").result["resumed"] is True


def test_consolidate_without_a_model_says_what_to_set_and_who_else_can(call: Call) -> None:
    call("remember", "James sails.", "--about", "James")
    ended = call("consolidate", "--json")
    assert (ended.code, ended.error["code"]) == (2, "rejected")
    assert "llm.large" in ended.error["hint"]
    assert "prompt `consolidate`" in ended.error["hint"]
    assert call("consolidate", "--dry-run").code == 0


def test_consolidate_with_a_model_that_talks_nonsense_fails_and_loses_nothing(
    thinking: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVERLOOM_LLM_LARGE", "scripted:echo")
    ended = thinking("consolidate", "--json")
    assert ended.code == 1
    assert "4 of 4 steps failed" in ended.error["message"]
    found = ended.envelope["result"]
    assert {each["outcome"] for each in found["taken"]} == {"failed"}
    assert found["left"] == 3
    for name, value in scripted(tmp_path).items():
        monkeypatch.setenv(name, value)
    assert thinking("consolidate", "--json").result["left"] == 0


def test_consolidate_says_when_another_run_is_at_it(thinking: Call, url: str) -> None:
    with opened(url) as loom:
        place, task = loom.workspace(), loom.consolidation()
        assert Leases(loom.store, loom.clock, loom.holder).take(place.info.id, task.name) is not None
    ended = thinking("consolidate", "--json")
    assert (ended.code, ended.error["code"]) == (1, "conflict")
    assert "lease" in ended.error["hint"]


@pytest.mark.promise("sample.made-once")
def test_the_sample_is_made_once_and_clearly_marked(call: Call) -> None:
    made = call("init", "--sample", "--json").result["sample"]
    assert (made["made"], made["observations"], made["sessions"]) == (True, 60, 4)
    assert call("init", "--sample", "--json").result["sample"] == {**made, "made": False}
    shown = call("workspace", "show", "sample").out
    assert "invented" in shown
    assert "sloop" in call("recall", "Petrel", "-w", "sample").out
    assert "restores the Petrel" in call("orient", "-w", "sample").out
    steps = call("consolidate", "--dry-run", "-w", "sample", "--json").result["steps"]
    assert {each["kind"] for each in steps} == {"session", "subject", "intersection", "orientation"}
    assert any(each.get("existing_understanding_id") for each in steps)
    (oldest, *_, newest) = sorted(
        each["started_at"]
        for each in call("semantic", "sessions", "--after", "2000-01-01", "-w", "sample", "--json").result
    )
    assert datetime.fromisoformat(newest) - datetime.fromisoformat(oldest) > timedelta(days=80)


def test_the_sample_leaves_a_workspace_of_that_name_alone(call: Call) -> None:
    call("workspace", "create", "sample", "--description", "My own samples.")
    ended = call("init", "--sample", "--json")
    assert ended.code == 1
    assert ended.error["code"] == "conflict"


def test_a_sample_that_was_left_half_made_is_completed(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings.model_validate({"store": {"url": url}})
    original, calls = Semantic.remember, []

    def dying(self: Semantic, *args: Any, **kw: Any) -> Any:
        calls.append(args)
        if len(calls) == 40:
            raise KeyboardInterrupt
        return original(self, *args, **kw)

    now = datetime(2026, 11, 15, 12, tzinfo=UTC)
    with monkeypatch.context() as patch:
        patch.setattr(Semantic, "remember", dying)
        with pytest.raises(KeyboardInterrupt):
            make_sample(settings, now)
    made = make_sample(settings, now)
    assert (made.observations, made.understandings, made.made) == (60, 9, True)
    with opened(url) as loom:
        assert loom.workspaces.get("sample").description == DESCRIPTION
        assert loom.workspace("sample").semantic.get_stats().current_generation == 1


@pytest.mark.promise("trust.1-not-knowing")
def test_not_knowing_is_said_in_words_and_to_programs(call: Call, url: str, tmp_path: Path) -> None:
    known(url, tmp_path)
    question = "what is the capital of France"
    assert call("recall", question).out.startswith("nothing in this memory answers that")
    told = call("recall", question, "--json").result
    assert told["best_answer"] is None
    assert told["note"].startswith("nothing in this memory answers that")
    found = call("search", question, "--explain").out
    assert found.startswith("nothing fits well")
    assert "too little to call it an answer" in found
    assert call("search", question, "--json").result["fits"] is False
    brought = call("semantic", "bring-to-mind", question).out
    assert brought.startswith("nothing")
    right = call("search", "Audrey and James", "--explain").out
    assert "enough to call it an answer" in right
    assert call("semantic", "search", question).out.startswith("nothing fits well")


@pytest.mark.promise("trust.9-short-answers")
def test_a_budget_may_be_given_on_the_command_line(call: Call, url: str, tmp_path: Path) -> None:
    known(url, tmp_path)
    short = call("semantic", "search", "Audrey and James", "--max-tokens", "200", "--json").result
    whole = call("semantic", "search", "Audrey and James", "--max-tokens", "9000", "--json").result
    assert len(short) < len(whole)
    assert "max_tokens" in short[0]["note"]
    assert call("recall", "Audrey", "--max-tokens", "3").code == 2


@pytest.mark.promise("trust.9-short-answers")
def test_a_person_is_shown_a_record_whole_and_told_what_a_list_leaves_off(call: Call, url: str) -> None:
    long = "The wind turned and we reefed the sails at dawn. " * 400
    said = [f"{number} {long}" for number in range(6)]
    kept = [call("remember", each, "--about", "boat", "--json", "--session", "one").result["id"] for each in said][-1]
    for shown in (call("show", str(kept)).out, call("semantic", "show", str(kept)).out):
        assert long.strip() in shown
    cut = call("semantic", "show", str(kept), "--max-tokens", "300", "--json").result["content"]
    assert cut.endswith("… [cut; ask with a larger max_tokens]")
    happened = call("semantic", "what-happened", "one", "--max-tokens", "400")
    assert "Note: " in happened.out
    assert "more observations; ask with a larger max_tokens" in happened.out
    listed = call("semantic", "list-observations", "boat", "--max-tokens", "400", "--json")
    assert "more; ask with a larger max_tokens" in json.loads(listed.out)["note"]
