"""One gateway process with every service at once, killed without a warning and started again."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from everloom.loom import open_loom
from tests.forking import Popen
from tests.patience import reading, wait_until
from tests.surfaces.channels.conftest import settings_for
from tests.surfaces.channels.stubs.service import ServiceStub
from tests.surfaces.channels.test_chat import environment
from tests.surfaces.channels.test_services import STUBS


def variables(services: list[ServiceStub]) -> dict[str, str]:
    """Write the settings of services as variables of the environment."""
    found = {}
    for section, values in (pair for each in services for pair in each.settings().items()):
        for name, value in values.items():
            found[name.upper() if section == "secrets" else f"EVERLOOM_{section}_{name}".upper()] = str(value)
    return found


@contextmanager
def gateway(home: Path, services: list[ServiceStub], log: Path, gather: int) -> Iterator[subprocess.Popen[str]]:
    """Run a gateway without a port until it is killed; every service is connected."""
    given = variables(services) | {"EVERLOOM_LLM_LARGE": "scripted:echo", "EVERLOOM_MIND_GATHER_SECONDS": str(gather)}
    command = [sys.executable, "-m", "everloom", "gateway", "--no-http", "--no-tasks", "--json"]
    with log.open("a") as errors:
        env = environment(home, **given)
        process = Popen(command, env=env, stdout=subprocess.PIPE, stderr=errors, text=True)
    assert process.stdout is not None
    try:
        with reading(process, "the gateway to say what runs"):
            running = json.loads(process.stdout.readline() or log.read_text())
        assert set(running["channels"]) == {each.name for each in services}
        for each in services:
            wait_until(each.is_connected, f"{each.name} to be connected", process=process, output=log.read_text)
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        for each in services:
            each.cut()


def wait_for_confirmation(service: ServiceStub, text: str, process: subprocess.Popen[str]) -> None:
    wait_until(lambda: not service.waits_for(text), f"{text} to be confirmed", process=process)


def shown(services: list[ServiceStub]) -> str:
    """Join everything that people see on every service."""
    return "\n".join(text for each in services for _, text in each.sent)


@pytest.mark.promise("mind.services-crash", "mind.secrets")
def test_a_gateway_that_is_killed_on_every_service_loses_nothing_and_answers_nothing_twice(tmp_path: Path) -> None:
    log, sayings = tmp_path / "log.txt", []
    with ExitStack() as stack:
        services: list[ServiceStub] = [stack.enter_context(make()) for make in STUBS]
        with gateway(tmp_path, services, log, gather=60) as process:
            for each in services:
                sayings.append(f"before the kill on {each.name}")
                each.say(sayings[-1])
                wait_for_confirmation(each, sayings[-1], process)
            process.kill()
        # Nobody listens now; the services keep it, each in its own way.
        for each in services:
            sayings.append(f"between on {each.name}")
            each.say(sayings[-1])
        with gateway(tmp_path, services, log, gather=0) as process:
            for each in services:
                sayings.append(f"after it on {each.name}")
                each.say(sayings[-1])
                # Messages that wait together are answered together, where the newest of them came from.
                wait_until(lambda: sayings[-1] in shown(services), "an answer", process=process, output=log.read_text)
    with open_loom(f"sqlite://{tmp_path}/data/everloom/everloom.db", settings=settings_for(tmp_path)) as loom:
        messages = loom.workspace().mind.conversation.log(limit=200)
    assert Counter(each.text for each in messages if each.direction == "in") == Counter(sayings)
    assert [saying for saying in sayings if shown(services).count(saying) != 1] == []
    kept = b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
    assert [secret for each in services for secret in each.secrets if secret.encode() in kept] == []
