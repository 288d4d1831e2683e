"""What every verb runs in: one transaction with its event and its receipt, fenced by whoever may object."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta

import pytest

from everloom.clock import ManualClock
from everloom.errors import Conflict, StoreError
from everloom.kernel.journal import register
from everloom.kernel.operation import Operation, Transaction
from everloom.kernel.work.lease import LEASE, Lease, Leases
from everloom.loom import Loom
from everloom.store import Unit
from tests.patience import wait_until


@dataclass(frozen=True)
class Kept:
    """An answer with a time in it, as verbs give them."""

    id: int
    words: tuple[str, ...]


@pytest.fixture
def op(loom: Loom) -> Operation:
    """What a verb of james runs in, on monday."""
    return loom.workspace("james", session="monday", model_tier="large").op


def keep(write: Transaction) -> Kept:
    (fresh,) = register(write.unit, "note", write.at)
    write.event(id=fresh)
    return Kept(fresh, ("one", "two"))


@pytest.mark.promise("journal.receipts")
def test_a_write_under_a_key_happens_once_and_is_answered_alike(op: Operation, loom: Loom) -> None:
    first = op.write_once("keep", "k", {"text": "a"}, Kept, keep)
    again = op.write_once("keep", "k", {"text": "a"}, Kept, keep)
    assert again == first
    assert [event.operation for event in loom.workspace("james").events()] == ["keep"]
    with pytest.raises(Conflict, match="different request"):
        op.write_once("keep", "k", {"text": "b"}, Kept, keep)
    assert op.write_once("keep", None, {"text": "a"}, Kept, keep).id > first.id


@pytest.mark.promise("journal.events")
def test_a_write_notes_its_session_and_its_tier(op: Operation) -> None:
    with op.write("keep") as write:
        assert write.session is not None
        assert (write.session.label, write.model_tier, write.session_id) == ("monday", "large", write.session.id)
    with replace(op, session=None, model_tier="small").write("keep") as write:
        assert (write.session, write.session_id, write.model_tier) == (None, None, "small")


def test_a_guard_that_objects_undoes_the_write(op: Operation, loom: Loom) -> None:
    def object_to(unit: Unit) -> None:
        raise Conflict("not now")

    with pytest.raises(Conflict, match="not now"), replace(op, guards=(object_to,)).write("keep") as write:
        keep(write)
    assert loom.workspace("james").events() == []


def test_an_operation_reads_the_time_on_the_clock_of_its_workspace(loom: Loom) -> None:
    info = loom.workspaces.create("far", time_zone="Pacific/Kiritimati")
    op = loom.operation(info)
    assert op.local().utcoffset() == timedelta(hours=14)
    assert (op.today, op.local(op.now)) == (op.local().date(), op.now)


@pytest.mark.promise("tasks.fencing")
def test_whoever_lost_a_lease_writes_nothing_more(op: Operation, loom: Loom, clock: ManualClock) -> None:
    place = op.workspace.id
    lost = Leases(loom.store, clock, "elsewhere:1:a").take(place, "tidy")
    assert lost is not None
    assert Leases(loom.store, clock, "elsewhere:2:b").take(place, "tidy") is None
    clock.advance(LEASE)
    taken = Leases(loom.store, clock, "elsewhere:2:b").take(place, "tidy")
    assert taken is not None
    with pytest.raises(Conflict, match="has expired"), op.under(lost).write("keep") as write:
        keep(write)
    with op.under(taken, session="night").write("keep") as write:
        keep(write)
    (event,) = loom.workspace("james").events()
    assert event.operation == "keep"


def test_a_lease_is_kept_alive_while_somebody_thinks_and_given_back(
    op: Operation, loom: Loom, clock: ManualClock
) -> None:
    place, short = op.workspace.id, timedelta(milliseconds=40)

    def held_until() -> int:
        with loom.store.read(place) as unit:
            row = unit.one("kernel.lease_get", task="think")
        return 0 if row is None else int(row["held_until"])

    with Leases(loom.store, clock, "elsewhere:1:a").held(place, "think", lasting=short) as lease:
        assert isinstance(lease, Lease)
        before = held_until()
        clock.advance(timedelta(minutes=5))
        wait_until(lambda: held_until() > before, "the lease to be extended from its thread")
        with Leases(loom.store, clock, "elsewhere:2:b").held(place, "think", lasting=short) as other:
            assert other is None
    assert held_until() == 0


def test_a_lease_that_cannot_be_given_back_is_left_to_run_out(
    op: Operation, loom: Loom, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Lease, report: object = None) -> None:
        raise StoreError("the disk is full")

    monkeypatch.setattr(Lease, "release", refuse)
    with Leases(loom.store, clock, "elsewhere:1:a").held(op.workspace.id, "think") as lease:
        assert lease is not None
    clock.advance(LEASE)
    assert Leases(loom.store, clock, "elsewhere:2:b").take(op.workspace.id, "think") is not None
