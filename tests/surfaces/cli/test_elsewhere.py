"""Long work, a conversation and a beginning on a server: the same answers as on this machine."""

from __future__ import annotations

import json
import os
import shutil
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from everloom.errors import Conflict, NotFound
from everloom.kernel.work.lease import Leases
from everloom.settings import Settings
from everloom.surfaces.cli.runtime.following import FollowedJob
from tests.kernel.test_jobs import Gate, running
from tests.kernel.test_tasks import Chore
from tests.patience import wait_until
from tests.remote.ground import served
from tests.surfaces.cli.conftest import Call, filled, opened
from tests.surfaces.cli.living import lived
from tests.surfaces.cli.test_semantic import WRITES

pytestmark = pytest.mark.xdist_group("a server in a thread")


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str | None]:
    """One home for the server in this process and for every command."""
    for name, place in {"HOME": "", "XDG_CONFIG_HOME": "config", "XDG_DATA_HOME": "data"}.items():
        monkeypatch.setenv(name, str(tmp_path / place))
    monkeypatch.setenv("TZ", "UTC")
    return {}


@pytest.fixture
def url(made_file: Path, tmp_path: Path) -> str:
    shutil.copy(made_file, tmp_path)
    return f"sqlite:///{tmp_path}/loom.db"


@pytest.fixture
def script(tmp_path: Path) -> Path:
    file = tmp_path / "script.json"
    file.write_text(json.dumps([{"match": ".", "reply": WRITES}]))
    return file


@pytest.fixture
def far(url: str, script: Path, calling: Callable[[str], Call]) -> Iterator[Call]:
    """A command line that uses a server with a language model."""
    with served(url, Settings.model_validate({"llm": {"large": f"scripted:{script}"}})) as server:
        yield calling(server.url)


@pytest.mark.promise("remote.long-work")
def test_a_server_consolidates_and_the_result_is_that_of_this_machine(
    call: Call, far: Call, script: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    call("workspace", "create", "other")
    for chosen in ((), ("-w", "other")):
        assert call("remember", "James sails.", "--about", "James", "--about", "sailing", "--session", "a", *chosen).out
    there = far("consolidate", "--limit", "1", "--json").result
    monkeypatch.setenv("EVERLOOM_LLM_LARGE", f"scripted:{script}")
    here = call("consolidate", "--limit", "1", "-w", "other", "--json").result
    assert {**there, "spent": None, "taken": len(there["taken"])} == {**here, "spent": None, "taken": 1}
    assert (there["left"], there["finished"]) == (3, True)
    told = far("consolidate")
    assert told.code == 0, told.err
    assert "James × sailing" in told.out
    assert "generation 2 finished; 0 still wait" in told.out
    assert "nothing is waiting" in far("consolidate").out
    call("remember", "James rows.", "--about", "James")
    with opened(url) as loom:
        assert Leases(loom.store, loom.clock, loom.holder).take(loom.workspace().info.id, "consolidate") is not None
    busy = far("consolidate", "--json")
    assert (busy.code, busy.error["code"]) == (1, "conflict")
    assert "lease" in busy.error["hint"]


@pytest.mark.promise("remote.long-work")
def test_a_server_embeds_and_calibrates_as_this_machine_does(call: Call, far: Call, url: str, tmp_path: Path) -> None:
    # Their vectors are to come from a model that does not answer, so that they wait.
    filled(url, "James sails.", "Audrey rows.", models=("ollama:none",))
    (embedded,) = far("embed", "--json").result["workspaces"]
    assert (embedded["state"], embedded["before"]["waiting"], embedded["after"]["waiting"]) == ("done", 2, 0)
    assert far("embed").out == call("embed").out
    assert far("embed", "--json").result == call("embed", "--json").result
    lived(call, tmp_path)
    files = [f"{tmp_path}/boats.txt", f"{tmp_path}/towns.txt"]
    for _ in range(2):
        assert call("calibrate", "--dry-run", *files).out == far("calibrate", "--dry-run", *files).out
        assert far("calibrate", *files, "--json").result["kept"]
    refused = far("calibrate", files[0], "--json")
    assert refused.code != 0
    assert "too few" in refused.error["message"]
    everywhere = far("embed", "--all", "--json")
    assert (everywhere.code, everywhere.error["code"]) == (2, "rejected")


@pytest.mark.promise("remote.long-work")
def test_ctrl_c_asks_the_job_to_stop_and_waits_for_that(url: str) -> None:
    with opened(url) as loom:
        place, gate = loom.workspace(), Gate()
        loom.work.add(Chore("chore", deed=gate))
        job, usual = place.background.start("chore"), signal.getsignal(signal.SIGINT)

        def interrupt() -> None:
            wait_until(lambda: gate.entered.is_set() and signal.getsignal(signal.SIGINT) is not usual, "the wait")
            os.kill(os.getpid(), signal.SIGINT)

        interrupting = threading.Thread(target=interrupt)
        interrupting.start()
        followed = FollowedJob(place, job, "working")
        interrupting.join()
        assert followed.is_stopped
        assert followed.status.is_over
        assert place.background.recent()[0].id == job.id
        with pytest.raises(NotFound):
            place.background.wait(job.id + 1)


def test_waiting_for_a_job_has_an_end(url: str) -> None:
    with opened(url) as loom, running(loom.workspace()) as (job, _), pytest.raises(Conflict, match="still running"):
        loom.workspace().background.wait(job.id, seconds=0.1)
