"""Any sequence of writes leaves what a simple model says: a state machine over both engines."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from everloom.clock import ManualClock
from everloom.loom import open_loom
from everloom.semantic import Semantic
from everloom.settings import Settings
from tests.semantic.conftest import NOW
from tests.store.ground import assert_agreement, is_sqlite

NAMES = ("James", "Audrey", "sea", "Lisbon")
SUBJECTS = st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True)
CONTENTS = st.integers(0, 5).map(lambda n: f"Remark {n}.")


@dataclass
class Model:
    """What a memory holds, as simply as it can be said."""

    names: dict[str, str] = field(default_factory=dict)  # any name → the subject's own
    tags: dict[str, set[str]] = field(default_factory=dict)  # content → subjects
    session: dict[str, str] = field(default_factory=dict)
    ids: dict[str, int] = field(default_factory=dict)
    active: dict[tuple[str, frozenset[str]], int] = field(default_factory=dict)
    cited: set[str] = field(default_factory=set)
    superseded: set[int] = field(default_factory=set)

    def canonical(self, names: list[str]) -> set[str]:
        """Find the subjects that some names mean, minting the new ones."""
        return {self.names.setdefault(name, name) for name in names}


class Memory(RuleBasedStateMachine):
    """Two sessions that write, merge, revise and take back."""

    lend: Callable[[], AbstractContextManager[str]]

    def __init__(self) -> None:
        super().__init__()
        self.stack = ExitStack()
        self.url = self.stack.enter_context(type(self).lend())
        self.loom = self.stack.enter_context(open_loom(self.url, settings=Settings(), clock=ManualClock(NOW)))
        self.minds = {name: self.loom.workspace("w", session=name).semantic for name in ("one", "two")}
        self.model = Model()

    @property
    def mind(self) -> Semantic:
        return self.minds["one"]

    @rule(who=st.sampled_from(["one", "two"]), names=SUBJECTS, content=CONTENTS)
    def remember(self, who: str, names: list[str], content: str) -> None:
        fresh = {name for name in names if name not in self.model.names}
        subjects = self.model.canonical(names)
        answer = self.minds[who].remember(names, content)
        assert set(answer.subjects_created) == fresh
        assert answer.duplicate == (content in self.model.tags)
        assert self.model.ids.setdefault(content, answer.id) == answer.id
        self.model.session.setdefault(content, who)
        self.model.tags.setdefault(content, set()).update(subjects)
        assert set(answer.subject_names) == self.model.tags[content]

    @precondition(lambda self: self.model.names)
    @rule(data=st.data(), cite=st.booleans())
    def understand(self, data: Any, cite: bool) -> None:
        known = sorted(set(self.model.names.values()))
        names = data.draw(st.lists(st.sampled_from(known), min_size=1, max_size=3, unique=True))
        sources = [self.model.ids[each] for each in sorted(self.model.tags)[:1]] if cite else []
        answer = self.mind.create_understanding(names, "What it means.", "Means", source_observation_ids=sources)
        if sources:
            self.model.cited.update(sorted(self.model.tags)[:1])
        old = self.model.active.get((answer.kind, frozenset(names)))
        assert answer.superseded == (() if old is None else (old,))
        self.model.superseded.update(answer.superseded)
        self.model.active[answer.kind, frozenset(names)] = answer.id

    @precondition(lambda self: self.model.active)
    @rule(data=st.data())
    def revise(self, data: Any) -> None:
        key = data.draw(st.sampled_from(sorted(self.model.active, key=repr)))
        old = self.model.active[key]
        answer = self.mind.update_understanding(old, "What it means now.", "Means now")
        self.model.superseded.add(old)
        self.model.active[key] = answer.new_understanding_id

    @precondition(lambda self: len(set(self.model.names.values())) > 1)
    @rule(data=st.data())
    def merge(self, data: Any) -> None:
        known = sorted(set(self.model.names.values()))
        primary, duplicate = data.draw(st.lists(st.sampled_from(known), min_size=2, max_size=2, unique=True))
        answer = self.mind.merge_subjects(primary, duplicate)
        model = self.model
        model.names = {name: primary if own == duplicate else own for name, own in model.names.items()}
        model.tags = {
            content: {primary if each == duplicate else each for each in tags} for content, tags in model.tags.items()
        }
        kept: dict[tuple[str, frozenset[str]], int] = {}
        for kept_first in (0, 1, 2):
            for (kind, subjects), item in model.active.items():
                if (duplicate in subjects) + ({primary, duplicate} <= subjects) == kept_first:
                    self.keep(kept, (kind, subjects), item, (primary, duplicate))
        kept["structural", frozenset({primary})] = answer.structural_understanding_id
        model.active = kept

    def keep(
        self,
        kept: dict[tuple[str, frozenset[str]], int],
        key: tuple[str, frozenset[str]],
        item: int,
        twins: tuple[str, str],
    ) -> None:
        """Move one understanding through a merge."""
        primary, duplicate = twins
        kind, subjects = key
        after = frozenset(primary if each == duplicate else each for each in subjects)
        replaced = kind == "structural" and primary in after
        if (kind, after) in kept or replaced or subjects == frozenset(twins):
            self.model.superseded.add(item)
        else:
            kept[kind, after] = item

    @precondition(lambda self: self.model.ids)
    @rule(who=st.sampled_from(["one", "two"]), data=st.data())
    def take_back(self, who: str, data: Any) -> None:
        content = data.draw(st.sampled_from(sorted(self.model.ids)))
        item = self.model.ids[content]
        answer = self.minds[who].delete_observations([item])
        may = self.model.session[content] == who and content not in self.model.cited
        assert answer.deleted == ((item,) if may else ())
        if may:
            for part in (self.model.ids, self.model.tags, self.model.session):
                part.pop(content)

    @invariant()
    def agrees(self) -> None:
        model = self.model
        stats = self.mind.get_stats()
        assert stats.subject_count == len(set(model.names.values()))
        assert stats.observation_count == len(model.tags)
        assert stats.understanding_count == len(model.active)
        for own in set(model.names.values()):
            (subject,) = self.mind.get_subjects([own])
            assert subject.observation_count == sum(own in tags for tags in model.tags.values())
            assert set(subject.aliases) == {name for name, each in model.names.items() if each == own and name != own}
            pointer = subject.single_subject_understanding
            assert (None if pointer is None else pointer.id) == model.active.get(("single_subject", frozenset({own})))
        for one, other in combinations(sorted(set(model.names.values())), 2):
            opened = self.mind.open_intersection(one, other)
            assert len(opened.observations) == sum({one, other} <= tags for tags in model.tags.values())
            texts = sum({one, other} <= subjects for _, subjects in model.active)
            assert opened.intersection_size == len(opened.observations) + texts
            own_id = model.active.get(("relationship", frozenset({one, other})))
            assert (opened.relationship_understanding.id if opened.relationship_understanding else None) == own_id

    def teardown(self) -> None:
        self.mind.orient()
        assert_agreement(self.url)
        self.stack.close()


def test_any_sequence_of_writes_leaves_what_the_model_says(
    lend_store_url: Callable[[], AbstractContextManager[str]],
) -> None:
    with lend_store_url() as url:
        examples = 10 if is_sqlite(url) else 4
    machine = type("LentMemory", (Memory,), {"lend": staticmethod(lend_store_url)})
    run_state_machine_as_test(machine, settings=settings(max_examples=examples, stateful_step_count=12, deadline=None))
