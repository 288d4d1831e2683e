"""Arguments of verbs in Python: whatever does not fit the declaration is refused by name, before anything happens."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Literal, get_args, get_origin

import pytest

from everloom.errors import Rejected
from everloom.kernel.calls.shapes import check_shapes
from everloom.kernel.verbs import Parameter, Says
from everloom.loom import Loom, Workspace
from everloom.semantic import NewObservation, NewSubject
from everloom.wiring.faculties import FACULTIES

pytestmark = pytest.mark.promise("verbs.arguments-fit")


@pytest.fixture
def workspace(loom: Loom) -> Workspace:
    """A workspace on each engine."""
    return loom.workspace("shapes")


def test_no_verb_takes_what_is_not_of_its_type(workspace: Workspace) -> None:
    tried = 0
    for faculty in FACULTIES.values():
        reached = faculty.reach(workspace, {})
        for verb in faculty.verbs:
            call = getattr(reached, verb.name)
            for each in verb.parameters:
                wrong: list[Any] = [object(), type(each), b"bytes"]
                if any(get_origin(kind) is Literal for kind in each.kinds):
                    wrong.append("banana")
                if get_origin(each.list_kind) is Literal:
                    wrong.append(["banana"])
                for value in wrong:
                    tried += 1
                    with pytest.raises(Rejected, match=f"^{each.name}") as refused:
                        call(**{each.name: value})
                    assert refused.value.hint
            with pytest.raises(Rejected, match=f"{verb.name} takes no nonsense"):
                call(nonsense=1)
            with pytest.raises(Rejected, match=f"{verb.name} takes (at most|its arguments by)"):
                call(*[None] * 40)
            if any(each.is_required for each in verb.parameters):
                with pytest.raises(Rejected, match=f"{verb.name} needs"):
                    call()
    assert tried > 1_500


def test_what_is_wrong_inside_of_a_list_is_named_with_its_place(workspace: Workspace) -> None:
    knowing: Any = workspace.semantic
    at = datetime(2026, 1, 1, tzinfo=UTC)
    for call, told in (
        (lambda: knowing.create_subjects([{"name": "James"}]), r"subjects\[0\] must be a NewSubject, not dict"),
        (lambda: knowing.create_subjects([NewSubject(name="a"), NewSubject(name=5)]), r"subjects\[1\]\.name.*text"),  # type: ignore[arg-type]
        (lambda: knowing.create_subjects(NewSubject(name="a")), "subjects must be a list, not NewSubject"),
        (lambda: knowing.create_subjects(iter([NewSubject(name="a")])), "subjects must be a list"),
        (lambda: knowing.add_observations([NewObservation(subject_names=["a"], content="b", kind="banana")]), "banana"),  # type: ignore[arg-type]
        (lambda: knowing.remember(["a"], "b", kind="banana"), "kind must be one of fact, inference, .*not 'banana'"),
        (lambda: knowing.remember(["a"], "b", confidence=float("nan")), "confidence must be a number, not nan"),
        (
            lambda: knowing.remember(["a"], "b", related_to=[1, True]),
            r"related_to\[1\] must be a whole number, not bool",
        ),
        (lambda: knowing.remember(["a"], "b", ["c"], content="d"), "remember takes at most"),
        (lambda: knowing.finish_consolidation(1, reviewed_intersections=[("a",)]), r"intersections\[0\].*tuple of 2"),
        (lambda: workspace.episodic.recall(feeling={"trust": "high"}), "trust.*must be a number"),  # type: ignore[dict-item]
        (lambda: workspace.find("x", limit="ten"), "limit must be a whole number"),  # type: ignore[arg-type]
        (lambda: workspace.mark(1, "banana"), "verdict must be one of"),  # type: ignore[arg-type]
        (lambda: workspace.add([{"kind": "note"}]), r"documents\[0\] must be a Document, not dict"),  # type: ignore[list-item]
        (lambda: FACULTIES["items"].reach(workspace, {}).look_back(at, at, kinds=["banana"]), "banana"),
        (lambda: FACULTIES["items"].reach(workspace, {}).search("boat", kinds=["banana"]), "banana"),
    ):
        with pytest.raises(Rejected, match=told) as refused:
            call()
        assert refused.value.hint
    assert knowing.list_subjects().subjects == ()


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (float, 1),
        (float | None, None),
        (str | list[str], "a"),
        (Literal["a", "b"] | None, "b"),
    ],
)
def test_what_fits_is_taken(kind: Any, value: Any) -> None:
    parameter = Parameter("given", kind, Says(), None, is_positional=True)
    check_shapes("verb", [parameter], [(parameter, value)])
    assert get_args(kind) is not None
