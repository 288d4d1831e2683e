"""Whatever a command refuses, it says why and exits with another code than 0."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, get_args

import pytest

from everloom.errors import MEANING
from everloom.wiring.faculties import FACULTIES
from everloom.wiring.wire.annotations import returned_by
from tests.graph.sample import write_sample
from tests.surfaces.cli.conftest import Call

# The fields by which a result tells that it did not do all that was asked.
TELLING = {"rejected", "refused", "skipped", "error", "failed"}
# These refuse nothing: they report what a model refused earlier, and how tasks and jobs went, which `embed` and `sleep`
# look at.
REPORTS = {"workspace coverage: Coverage", "workspace run_due: Outcome"}
REPORTS |= {f"jobs {verb}: JobStatus" for verb in ("start", "calibrate", "status", "stop", "recent")}
REPORTS |= {"episodic patrol_report: PatrolReport"}


def results_of(kind: Any) -> Iterator[type[Any]]:
    """List the classes of a result: itself, those that it may be, and those that it is a list of."""
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        yield kind
    for each in get_args(kind):
        yield from results_of(each)


@pytest.mark.promise("cli.refusals")
def test_every_result_that_can_tell_of_a_refusal_sets_the_exit_code() -> None:
    telling: dict[str, bool] = {}
    for faculty in FACULTIES.values():
        module, _, name = faculty.declaration.partition(":")
        declared = getattr(import_module(module), name)
        for verb in faculty.verbs:
            for result in results_of(returned_by(getattr(declared, verb.name))):
                if TELLING & {field.name for field in dataclasses.fields(result)}:
                    telling[f"{faculty.name} {verb.name}: {result.__name__}"] = hasattr(result, "refusal")
    assert {"semantic delete_observations: DeletedObservations", "episodic update_notes: NotesUpdated"} <= set(telling)
    assert {name for name, tells in telling.items() if not tells} == REPORTS
    assert all(meaning.exit_code != 0 for meaning in MEANING.values())


@pytest.mark.promise("cli.refusals")
def test_a_refused_deletion_has_its_reason_and_its_exit_code(call: Call) -> None:
    kept = call("remember", "James sails.", "--about", "James", "--session", "monday", "--json").result["id"]
    for arguments, code in (((str(kept),), 1), (("99999",), 3), ((str(kept), "99999"), 1)):
        ended = call("semantic", "delete-observations", *arguments, "--json")
        assert ended.code == code
        assert ended.envelope["ok"] is False
        assert len(ended.envelope["result"]["rejected"]) == len(arguments)
        assert ended.envelope["error"]["message"]
        assert "forget" in ended.envelope["error"]["hint"]
    told = call("semantic", "delete-observations", str(kept))
    assert told.code == 1
    assert "session mismatch" in told.err
    # What may be deleted is deleted, even beside what may not.
    ended = call("semantic", "delete-observations", str(kept), "99999", "--session", "monday", "--json")
    assert (ended.code, ended.envelope["result"]["deleted"]) == (3, [kept])


@pytest.mark.promise("cli.refusals")
def test_a_scene_that_cannot_be_read_is_kept_and_fails_the_command(call: Call) -> None:
    ended = call("episodic", "update-notes", "--scene", "not a scene", "--json")
    assert ended.code == 1
    assert ended.envelope["result"]["rejected"]
    assert "not JSON" in ended.envelope["error"]["message"]
    context = call("episodic", "get-context", "--json").result
    assert "not a scene" in context["snapshot"]


@pytest.mark.promise("cli.refusals")
def test_files_that_an_import_skips_fail_the_command(call: Call, tmp_path: Path) -> None:
    source = tmp_path / "source"
    write_sample(source)
    ended = call("graph", "import", str(source), "--json")
    assert ended.code == 1
    assert ended.envelope["result"]["memories"] == 3
    assert "broken-000000.md" in ended.envelope["error"]["message"]
