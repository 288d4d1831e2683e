"""Who holds a lease: a process that died is seen as dead at once, and nobody who may live is taken for dead."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from types import SimpleNamespace

import pytest

from everloom.clock import ManualClock
from everloom.errors import Conflict
from everloom.kernel.work import lease as leases
from everloom.kernel.work.holder import is_gone, this_holder
from everloom.kernel.work.lease import LEASE, Leases
from everloom.loom import Loom
from tests.patience import finish, reading, wait_until

pytestmark = pytest.mark.skipif(os.name != "posix", reason="a process cannot be looked at")

_LIVES = "from everloom.kernel.work.holder import this_holder; print(this_holder(), flush=True); input()"


@contextmanager
def another(*around: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start another process, perhaps inside something; the answer is the process, and its name as a holder."""
    command = [*around, sys.executable, "-c", _LIVES]
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True)
    try:
        with reading(process, "the name of a holder"):
            assert process.stdout is not None
            name = process.stdout.readline().strip()
        yield process, name
    finally:
        process.kill()
        process.communicate()


def part(holder: str, **changed: str) -> str:
    """Change parts of a holder's name."""
    host, number, mark = holder.split(":")
    machine, started, loom = mark.split(".")
    known = {"host": host, "number": number, "machine": machine, "started": started, "loom": loom} | changed
    return "{host}:{number}:{machine}.{started}.{loom}".format(**known)


@pytest.mark.promise("tasks.expiry")
def test_a_killed_process_is_seen_as_dead_also_before_its_parent_has_noticed() -> None:
    with another() as (process, name):
        assert not is_gone(name)
        process.kill()
        # Not waited for: until then it is a zombie, as under a client that started a server and forgot it.
        wait_until(lambda: is_gone(name), "the zombie to be seen as dead")
        assert process.returncode is None
        finish(process)
        assert is_gone(name)


@pytest.mark.promise("tasks.expiry")
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells when a process began")
def test_a_number_that_was_given_to_another_process_does_not_keep_the_dead_alive() -> None:
    mine = this_holder()
    assert not is_gone(mine)
    assert is_gone(part(mine, started="1"))
    # Of a process whose beginning is not known, the number has to do.
    assert not is_gone(part(mine, started="-"))
    with another() as (_, name):
        assert is_gone(part(mine, number=name.split(":")[1]))


@pytest.mark.promise("tasks.one-holder")
def test_only_a_process_of_this_machine_is_known_to_be_gone() -> None:
    mine, dead = this_holder(), str(2**22 + 1)
    assert is_gone(part(mine, number=dead))
    # Another machine of the same name, another container, the same machine after it was started again, an older
    # version, and what is no holder at all: their leases run out.
    assert not is_gone(part(mine, number=dead, machine="0123456789ab"))
    assert not is_gone(part(mine, number=dead, machine="-"))
    assert not is_gone(part(mine, number=dead, host="elsewhere"))
    host = mine.split(":")[0]
    strange = (None, "", host, "nobody", f"{host}:{dead}:x", f"{host}:x:y", f"{host}:0:y", f"{host}:-1:y")
    assert not any(map(is_gone, (*strange, part(mine, number="0"), part(mine, number="-1"))))


@pytest.mark.promise("tasks.one-holder")
@pytest.mark.parametrize("how", [("--mount-proc",), ()])
def test_a_container_with_the_same_numbers_is_another_machine(how: tuple[str, ...]) -> None:
    inside = ("unshare", "--pid", "--fork", "--kill-child", *how)
    if (
        shutil.which("unshare") is None
        or subprocess.run([*inside, "true"], check=False, capture_output=True).returncode
    ):
        pytest.skip("no container can be made here")
    with another(*inside) as (process, name):
        # The first process there has number 1, as one has here.
        assert name.split(":")[1] == "1"
        assert not is_gone(name)
        process.kill()
    assert not is_gone(name)


@pytest.mark.promise("tasks.expiry")
def test_the_lease_of_a_process_that_died_here_is_free_at_once(loom: Loom, clock: ManualClock) -> None:
    place = loom.workspace("james").info.id
    with another() as (process, name):
        gone = Leases(loom.store, clock, name).take(place, "tidy")
        assert gone is not None
        assert Leases(loom.store, clock, this_holder()).take(place, "tidy") is None
        process.kill()
        finish(process)
        taken = Leases(loom.store, clock, this_holder()).take(place, "tidy")
        assert taken is not None
        with pytest.raises(Conflict), loom.store.write(place) as unit:
            gone.guard(unit)
        assert Leases(loom.store, clock, "elsewhere:1:x").take(place, "tidy") is None


@pytest.mark.promise("tasks.expiry")
def test_a_lease_from_another_machine_runs_out_after_missed_beats_whatever_its_clock_says(
    loom: Loom, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, ours = loom.workspace("james").info.id, Leases(loom.store, clock, this_holder())
    moment = [0.0]
    monkeypatch.setattr(leases, "time", SimpleNamespace(monotonic=lambda: moment[0]))
    # An hour ahead, or ours was set back: by its time, the lease lasts for an hour.
    ahead = ManualClock(clock.now() + timedelta(hours=1))
    theirs = Leases(loom.store, ahead, "elsewhere:1:x").take(place, "tidy")
    assert theirs is not None
    for _ in range(4):
        # It lives: every look finds it extended.
        assert ours.take(place, "tidy") is None
        moment[0] += LEASE.total_seconds() - 1
        ahead.advance(LEASE / 2)
        theirs.extend()
    assert ours.take(place, "tidy") is None
    moment[0] += LEASE.total_seconds() - 1
    assert ours.take(place, "tidy") is None
    moment[0] += 2
    taken = ours.take(place, "tidy")
    assert taken is not None
    with pytest.raises(Conflict):
        theirs.extend()
    taken.extend()
