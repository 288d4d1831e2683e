"""A server that is killed and restarted in the middle of work: nothing is lost, and nothing happens twice."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from everloom import open_loom
from everloom.remote import RemoteWorkspace, changes, sending
from tests.patience import PATIENCE, wait_until
from tests.surfaces.mcp.ground import SETTINGS, ServerProcess

pytestmark = pytest.mark.xdist_group("a server process")
KILLS = 2
WRITERS = 3


class Writers:
    """Threads that write without a pause, and one that follows what they write."""

    def __init__(self, place: RemoteWorkspace) -> None:
        self.place = place
        self.target = place.semantic.remember(["James"], "James sails.").id
        self.done = 0
        self.seen: list[int] = []
        self.stop = threading.Event()

    def write(self, number: int) -> int:
        """Mark, remember and look again; returns how often."""
        count = 0
        while not self.stop.is_set():
            self.place.semantic.mark_useful(self.target)
            kept = self.place.semantic.remember(["James"], f"James told writer {number} the story {count}.")
            assert not kept.duplicate
            assert (self.place.show(kept.id).text or "").endswith(f"the story {count}.")
            count += 1
            self.done += 1
        return count

    def follow(self) -> None:
        """Note every event until the last."""
        events = self.place.changes(after=0)
        for event in events:
            self.seen.append(event.id)
            if event.operation == "describe_session":
                events.close()

    def wait_for_some(self) -> None:
        """Wait until each has written something."""
        before = self.done
        wait_until(lambda: self.done > before + WRITERS, "some writes")


@pytest.mark.promise("remote.retries-are-safe", "remote.changes")
def test_a_server_that_is_killed_loses_nothing_and_repeats_nothing(
    store_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A machine that is busy with tests takes longer to start a server than a client should wait in earnest.
    monkeypatch.setattr(sending, "_PATIENCE", PATIENCE)
    monkeypatch.setattr(changes, "_PATIENCE", PATIENCE)

    def start(port: str) -> ServerProcess:
        return ServerProcess(tmp_path, tmp_path / "loom.db", "--port", port, "--store", store_url)

    server = start("0")
    url = server.wait_for_address()
    # The loom is closed before the threads are waited for: if something goes wrong, that ends them.
    with ThreadPoolExecutor(WRITERS + 1) as threads, open_loom(url, token=None) as loom:
        work = Writers(loom.workspace("james", session="writing"))
        followed = threads.submit(work.follow)
        writing = [threads.submit(work.write, number) for number in range(WRITERS)]
        try:
            for _ in range(KILLS):
                work.wait_for_some()
                server.process.kill()
                server.wait()
                server = start(url.rpartition(":")[2])
                server.wait_for_address()
            work.wait_for_some()
        finally:
            work.stop.set()
        counts = [each.result() for each in writing]
        work.place.semantic.describe_session("Told.")
        followed.result()
    assert server.stop()[0] == 0
    with open_loom(store_url, settings=SETTINGS) as here:
        mine = here.workspace("james")
        events = mine.events_after(0, limit=10_000)
        assert mine.semantic.get_stats().observation_count == sum(counts) + 1
        assert mine.show(work.target).access.useful == sum(counts)
    assert work.seen == [event.id for event in events]
    assert len([event for event in events if event.operation == "remember"]) == sum(counts) + 1
