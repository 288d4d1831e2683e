"""Semantic memory's part in a forgetting: observations, understandings and subjects.

An understanding that rests on forgotten evidence goes along if nothing else supports it, or if it holds words that only
that evidence had; otherwise it stays, and waits for a new synthesis. What is left of the evidence counts as new, so
that the next consolidation reads it. Refuses to know documents, items and other faculties.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

from everloom.kernel.forgetting.plan import Consequences, Doomed, ForgetPlan, Spared, only_in
from everloom.kernel.forgetting.ports import Eraser
from everloom.kernel.forgetting.tombstones import text_key
from everloom.kernel.operation import Transaction
from everloom.semantic.evidence.identity import need_ids
from everloom.semantic.evidence.observations import Observed, count_observed
from everloom.semantic.state import clock_id, group_rows, tick
from everloom.semantic.understanding.versions import EarlierVersion, judge_earlier, reinstate, successors
from everloom.store import Row, Unit

_OBSERVATION, _UNDERSTANDING, _SUBJECT = "observation", "understanding", "subject"
_OWN = frozenset({_OBSERVATION, _UNDERSTANDING, _SUBJECT})
_WAITS = "stays, and waits for a new synthesis"
_EVERY_ONE = 1_000_000


class SemanticEraser(Eraser):
    """Forgets observations, understandings and subjects."""

    def claim(self, unit: Unit, ids: Collection[int]) -> Mapping[int, Doomed]:
        """Describe observations, understandings and subjects."""
        wanted = list(ids)
        found = {row["id"]: _observation(row) for row in unit.all("semantic.observation_of", ids=wanted)}
        found |= {row["id"]: _understanding(row) for row in unit.all("semantic.understanding_of", ids=wanted)}
        names = group_rows(unit.all("semantic.subject_name_of", ids=wanted), "subject_id")
        tags = group_rows(unit.all("semantic.tag_of", ids=wanted), "subject_id")
        for row in unit.all("semantic.subject_of", ids=wanted):
            told = [each["name"] for each in names[row["id"]]] + [each["tag"] for each in tags.get(row["id"], ())]
            text = " ".join([*told, row["summary"] or ""]).strip()
            found[row["id"]] = Doomed(id=row["id"], kind=_SUBJECT, text=text, state=str(row["version"]))
        return found

    def about(self, unit: Unit, names: Sequence[str]) -> set[int]:
        """Find what is about all of some subjects; about one alone, the subject itself, too."""
        subjects = need_ids(unit, names)
        about: dict[str, Any] = {"subjects": subjects, "count": len(subjects)}
        rows = [
            *unit.all("semantic.observation_page", **about, after=0, limit=_EVERY_ONE),
            *unit.all("semantic.understanding_all_about", **about),
        ]
        found = {row["id"] for row in rows}
        return found | set(subjects) if len(subjects) == 1 else found

    def consequences(self, unit: Unit, plan: ForgetPlan) -> Consequences:
        """Say which facts, understandings and subjects go along, and which understandings wait."""
        taken: dict[int, str] = {}
        for subject in plan.of(_SUBJECT):
            for name in ("observation_tagged", "understanding_tagged"):
                rows = unit.all(f"semantic.{name}", subject=subject)
                taken |= {row["id"]: f"about the forgotten subject {subject}" for row in rows}
        taken |= self._learnt(unit, plan)
        # Set aside because a fact that goes says the same: the words must not stay behind as history.
        rows = unit.all("semantic.observation_pruned_into", ids=plan.of(_OBSERVATION))
        taken |= {row["id"]: f"says the same as the forgotten {row['superseded_by']}" for row in rows}
        resting, spared = _resting(unit, plan)
        earlier = judge_earlier(unit, plan.doomed, _chosen(plan))
        taken |= {**earlier.taken, **resting}
        taken |= _orphans(unit, plan)
        return Consequences(taken, (*spared, *map(_stays, earlier.staying)))

    def _learnt(self, unit: Unit, plan: ForgetPlan) -> dict[int, str]:
        """Find the facts that rest on something of another faculty, such as an exchange, and on no other like it."""
        elsewhere = [item for item in plan.ids if plan.doomed[item].kind not in _OWN]
        rows = unit.all("forgetting.resting_on", ids=elsewhere)
        facts = {row["id"] for row in unit.all("semantic.observation_of", ids=[row["item_id"] for row in rows])}
        kept = _sources_of(unit, facts, without=plan.doomed)
        kinds = {
            row["id"]: row["kind"]
            for row in unit.all("kernel.item_kinds", ids=[source for each in kept.values() for source in each])
        }
        lost = {plan.doomed[row["source_id"]].kind for row in rows}
        return {
            fact: f"learnt from the forgotten {next(iter(lost))}"
            for fact in facts
            if not any(kinds.get(source) in lost for source in kept.get(fact, ()))
        }

    def erase(self, tx: Transaction, plan: ForgetPlan) -> None:
        """Delete the rows, and let what they supported be read again."""
        unit = tx.unit
        observations, understandings = plan.of(_OBSERVATION), plan.of(_UNDERSTANDING)
        earlier = judge_earlier(unit, plan.doomed, _chosen(plan)).staying
        again = _evidence_left(unit, plan, earlier)
        touched = _subjects_of(unit, observations, understandings)
        pairs = _pairs(unit, observations)
        sessions = [row["session_id"] for row in unit.all("semantic.observation_sessions", ids=observations)]
        _drop_understandings(unit, understandings)
        reinstate(tx, earlier)
        _drop_observations(unit, observations)
        unit.send("semantic.seen_drop", ids=plan.ids)
        _drop_subjects(unit, plan.of(_SUBJECT))
        unit.send("semantic.subject_recount", ids=sorted(touched))
        unit.send("semantic.subject_settle", ids=sorted(touched))
        for a, b in pairs:
            unit.send("semantic.intersection_recount", a=a, b=b)
            unit.send("semantic.intersection_settle", a=a, b=b)
        for session in sessions:
            unit.send("semantic.session_recount", session=session)
        _read_again(unit, again)


def _observation(row: Row) -> Doomed:
    state = f"{row['superseded_at']} {row['subject_set']}"
    keys = (text_key(row["text"]),)
    return Doomed(id=row["id"], kind=_OBSERVATION, text=row["text"], state=state, keys=keys)


def _understanding(row: Row) -> Doomed:
    text = " ".join(part for part in (row["text"], row["title"], row["reason"]) if part)
    return Doomed(
        id=row["id"],
        kind=_UNDERSTANDING,
        text=text,
        state=f"{row['version']} {row['superseded_by']}",
        keys=(text_key(row["text"]),),
    )


def _sources_of(unit: Unit, ids: Iterable[int], without: Collection[int]) -> dict[int, list[int]]:
    """Read what items rest on besides what goes."""
    found: dict[int, list[int]] = {}
    for row in unit.all("kernel.source_of", ids=list(ids)):
        if row["source_id"] not in without:
            found.setdefault(row["item_id"], []).append(row["source_id"])
    return found


def _resting(unit: Unit, plan: ForgetPlan) -> tuple[dict[int, str], tuple[Spared, ...]]:
    """Judge the understandings that rest on forgotten observations, and the notes on their sessions."""
    observations = plan.of(_OBSERVATION)
    cited: dict[int, set[int]] = {}
    for row in unit.all("forgetting.resting_on", ids=observations):
        cited.setdefault(row["item_id"], set()).add(row["source_id"])
    support = _sources_of(unit, cited, without=plan.doomed)
    for session in unit.all("semantic.observation_sessions", ids=observations):
        for note in unit.all("semantic.understanding_of_session", ids=[session["session_id"]]):
            rows = unit.all("semantic.observation_in_session", session=session["session_id"], after=0, limit=_EVERY_ONE)
            told = {row["id"] for row in rows}
            cited[note["understanding_id"]] = told & plan.doomed.keys()
            support[note["understanding_id"]] = sorted(told - plan.doomed.keys())
    taken: dict[int, str] = {}
    spared: list[Spared] = []
    texts = {
        row["id"]: row["text"]
        for row in unit.all("semantic.observation_of", ids=sorted({each for some in support.values() for each in some}))
    }
    for row in unit.all("semantic.understanding_of", ids=[item for item in cited if item not in plan.doomed]):
        lost = sorted(cited[row["id"]])
        others = [texts[item] for item in support.get(row["id"], ()) if item in texts]
        if not others:
            taken[row["id"]] = f"rests on {lost[0]} alone" if len(lost) == 1 else "rests on nothing else"
        elif only_in([plan.doomed[item].text for item in lost], others) & only_in([_whole(row)], ()):
            taken[row["id"]] = f"repeats words of {lost[0]}; a new synthesis is due"
        elif row["superseded_by"] is None:
            spared.append(Spared(id=row["id"], kind=_UNDERSTANDING, text=row["text"], change=_WAITS))
    return taken, tuple(spared)


def _whole(row: Row) -> str:
    return f"{row['title']} {row['text']} {row['reason'] or ''}"


def _chosen(plan: ForgetPlan) -> set[int]:
    return plan.doomed.keys() - plan.reasons.keys()


def _stays(version: EarlierVersion) -> Spared:
    return Spared(id=version.row["id"], kind=_UNDERSTANDING, text=version.row["text"], change=version.change)


def _orphans(unit: Unit, plan: ForgetPlan) -> dict[int, str]:
    """Find subjects of which nothing would be left but a name that was made for what goes."""
    subjects = _subjects_of(unit, plan.of(_OBSERVATION), plan.of(_UNDERSTANDING)) - plan.doomed.keys()
    rows = unit.all("semantic.subject_left", ids=sorted(subjects), gone=plan.ids)
    return {row["id"]: "a subject without anything else" for row in rows if not row["count"] and not row["summary"]}


def _subjects_of(unit: Unit, observations: Sequence[int], understandings: Sequence[int]) -> set[int]:
    tags = [
        *unit.all("semantic.observation_tags", ids=list(observations)),
        *unit.all("semantic.understanding_tags", ids=list(understandings)),
    ]
    return {row["subject_id"] for row in tags}


def _pairs(unit: Unit, observations: Sequence[int]) -> list[tuple[int, int]]:
    tags = group_rows(unit.all("semantic.observation_tags", ids=list(observations)))
    every = (sorted(row["subject_id"] for row in rows) for rows in tags.values())
    return sorted({pair for each in every for pair in combinations(each, 2)})


def _evidence_left(unit: Unit, plan: ForgetPlan, earlier: Iterable[EarlierVersion]) -> list[int]:
    """Find the observations that stay, of understandings in force that go or wait, or are in force again."""
    affected = [*plan.of(_UNDERSTANDING), *(each.id for each in plan.spared if each.kind == _UNDERSTANDING)]
    heads = [
        row["id"] for row in unit.all("semantic.understanding_heads", ids=affected) if row["superseded_by"] is None
    ]
    support = _sources_of(unit, heads, without=plan.doomed)
    found = {item for each in support.values() for item in each}
    for row in (each.row for each in earlier if each.is_head):
        through = {"subject_set": row["subject_set"], "through": clock_id(unit)}
        same = {each["id"] for each in unit.all("semantic.observation_same_subjects", **through)}
        found |= same - plan.doomed.keys() if row["subject_set"] else set()
    rows = unit.all("semantic.observation_of", ids=sorted(found))
    return [row["id"] for row in rows if row["superseded_at"] is None]


def _drop_understandings(unit: Unit, ids: Sequence[int]) -> None:
    if not ids:
        return
    gone = list(ids)
    for old, new in successors(unit, gone).items():
        unit.send("semantic.understanding_repoint", old=old, new=new)
    unit.send("semantic.subject_unpoint", old=gone)
    for name in ("intersection_unpoint_all", "workspace_unpoint", "session_undescribe", "linked_clear"):
        unit.send(f"semantic.{name}", ids=gone)
    for name in ("understanding_tag_drop", "understanding_drop"):
        unit.send(f"semantic.{name}", ids=gone)


def _drop_observations(unit: Unit, ids: Sequence[int]) -> None:
    gone = list(ids)
    for name in ("observation_unreplace", "linked_drop", "observation_tag_drop", "observation_drop"):
        unit.send(f"semantic.{name}", ids=gone)


def _drop_subjects(unit: Unit, ids: Sequence[int]) -> None:
    for subject in ids:
        unit.send("semantic.intersection_clear", subject=subject)
        unit.send("semantic.tag_drop", subject=subject)
    if ids:
        unit.send("semantic.subject_names_drop", ids=list(ids))
    for subject in ids:
        unit.send("semantic.subject_drop", id=subject)


def _read_again(unit: Unit, observations: Sequence[int]) -> None:
    """Count evidence as new to its subjects, so that they wait for a new synthesis."""
    tags = group_rows(unit.all("semantic.observation_tags", ids=list(observations)))
    for row in unit.all("semantic.observation_of", ids=list(observations)):
        since = tick(unit)
        subjects = sorted(each["subject_id"] for each in tags.get(row["id"], ()))
        unit.send("semantic.observation_tag_touch", observation=row["id"], since=since)
        observed = Observed(since, subjects, list(combinations(subjects, 2)), row["happened_at"])
        # It was counted when it was written: its subjects only have to be reviewed again.
        count_observed(unit, [observed], each_counts=0)
    unit.send("semantic.observation_unplace", ids=list(observations))
