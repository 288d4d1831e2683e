"""The files for running it elsewhere, as far as they can be checked without an engine of containers.

Every command is one of ours with options that it has, every variable a setting with a value that it takes, every path
that is asked for health is served, and no file holds a password.
"""

from __future__ import annotations

import configparser
import re
import shlex
import shutil
import sys
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import pytest
from ruamel.yaml import YAML

from everloom.settings import load
from everloom.surfaces.cli.runtime.root import root
from tests.patience import run
from tests.surfaces.mcp.ground import server_process

ROOT = Path(__file__).resolve().parent.parent
DEPLOY = ROOT / "deploy"
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
PATHS = {"/ready", "/health"}
VARIABLE = re.compile(r"\$\{(\w+)(:[-?])?[^}]*\}")
pytestmark = pytest.mark.xdist_group("a server process")


def compose() -> dict[str, Any]:
    found: dict[str, Any] = YAML(typ="safe").load(DEPLOY / "compose.yaml")
    return found


def check_command(words: Sequence[str]) -> None:
    """Parse a command as the program would, without running it."""
    context = click.Context(root, info_name="everloom")
    name, command, rest = root.resolve_command(context, [*words])
    assert command is not None, words
    command.make_context(name, rest, parent=context)


def check_settings(environ: dict[str, str]) -> None:
    """Check that every variable of ours is a setting, and takes its value."""
    ours = {name: VARIABLE.sub("x", value) for name, value in environ.items() if name.startswith("EVERLOOM_")}
    _, origins = load(environ={**ours, "EVERLOOM_CONFIG": "/dev/null"})
    known = {f"EVERLOOM_{each.name.replace('.', '_')}".upper() for each in origins if each.source == "environment"}
    assert known == ours.keys()


@pytest.mark.promise("deploy.checked")
def test_every_service_runs_a_real_command_with_real_settings() -> None:
    services = compose()["services"]
    assert {"server1", "server2", "worker", "postgres", "pgbouncer", "proxy"} <= services.keys()
    for name, service in services.items():
        if service["image"] != "everloom":
            continue
        check_command([VARIABLE.sub("x", word) for word in service["command"]])
        check_settings(service["environment"])
        assert service["read_only"], name
        assert service["cap_drop"] == ["ALL"], name
    # The proxy alone is believed.
    address = services["proxy"]["networks"]["default"]["ipv4_address"]
    assert services["server1"]["environment"]["EVERLOOM_SERVER_PROXIES"] == address
    # Long enough for what a server may take to end.
    for name in ("server1", "server2", "worker"):
        environ = services[name]["environment"]
        needed = float(environ["EVERLOOM_SERVER_DRAIN_SECONDS"]) + float(environ["EVERLOOM_SERVER_STOP_SECONDS"])
        assert float(services[name]["stop_grace_period"].removesuffix("s")) > needed + 5


@pytest.mark.promise("deploy.checked")
def test_whoever_is_asked_for_health_serves_that_path(tmp_path: Path) -> None:
    services = compose()["services"]
    port = services["worker"]["environment"]["EVERLOOM_METRICS_WORKER_PORT"]
    dockerfile = (DEPLOY / "Dockerfile").read_text()
    asked = {name: str(services[name]["healthcheck"]["test"][-1]) for name in ("server1", "server2", "worker")}
    for name, code in asked.items():
        place = re.search(r"http://127\.0\.0\.1:(\d+)(/\w+)", code)
        assert place, code
        assert place[2] in PATHS
        assert place[1] == (port if name == "worker" else "8765")
    assert asked["server1"] in dockerfile
    # The very words, against a real server.
    with server_process(tmp_path, tmp_path / "loom.db") as url:
        code = asked["server1"].replace("http://127.0.0.1:8765", url)
        assert run([sys.executable, "-c", code]).returncode == 0
        assert run([sys.executable, "-c", code.replace("/ready", "/nowhere")]).returncode != 0
    assert "option httpchk GET /ready" in (DEPLOY / "haproxy.cfg").read_text()


@pytest.mark.promise("deploy.checked")
def test_no_file_holds_a_password_and_each_is_asked_for() -> None:
    text = (DEPLOY / "compose.yaml").read_text()
    found = re.findall(r"(\w*PASSWORD\w*): (.*)", text)
    assert found
    assert all(re.fullmatch(r"\$\{\w+:\?.+\}", value) for _, value in found), found
    asked = {name for name, _ in VARIABLE.findall(text)}
    example = dict(
        line.split("=", 1) for line in (DEPLOY / "example.env").read_text().splitlines() if not line.startswith("#")
    )
    assert asked == example.keys()
    assert not any(example.values())


def test_the_image_runs_as_nobody_special_and_copies_what_is_there() -> None:
    lines = (DEPLOY / "Dockerfile").read_text().splitlines()
    stages = [line.split() for line in lines if line.startswith("FROM ")]
    assert {stage[3] for stage in stages} == {"build", "everloom", "pgbouncer"}
    targets = {service["build"]["target"] for service in compose()["services"].values() if "build" in service}
    assert targets <= {stage[3] for stage in stages}
    for line in lines:
        if line.startswith("COPY ") and "--from" not in line:
            assert all((ROOT / name).exists() for name in line.split()[1:-1]), line
    users = [line.split()[1] for line in lines if line.startswith("USER ")]
    assert users == ["10001", "postgres"]
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    (chosen,) = re.findall(r'"\.\[([\w,]+)\]"', "\n".join(lines))
    assert set(chosen.split(",")) <= extras.keys()
    (command,) = [line.removeprefix("CMD ") for line in lines if line.startswith('CMD ["serve"')]
    check_command(YAML(typ="safe").load(command))


def entries(unit: Path) -> Iterator[tuple[str, str]]:
    """List the settings of a unit; a name may occur several times."""
    for line in unit.read_text().splitlines():
        if "=" in line and not line.startswith("#"):
            name, _, value = line.partition("=")
            yield name, value


@pytest.mark.promise("deploy.checked")
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_a_unit_runs_a_real_command_in_a_small_room(unit: Path) -> None:
    told = list(entries(unit))
    known = dict(told)
    words = shlex.split(known["ExecStart"])
    if words[0] == "/bin/sh":
        # What it hands to a shell is one of ours, too.
        words = shlex.split(words[2].removeprefix("exec "))
    assert words[0] == "/opt/everloom/bin/everloom"
    check_command(words[1:])
    assert known["User"] == "everloom"
    assert known["EnvironmentFile"].startswith("/etc/everloom/")
    for name, value in (("NoNewPrivileges", "true"), ("ProtectSystem", "strict"), ("ProtectHome", "true")):
        assert known[name] == value
    if known["Type"] != "oneshot":
        assert float(known["TimeoutStopSec"]) > load(environ={"EVERLOOM_CONFIG": "/dev/null"})[0].server.stop_seconds


def test_the_timer_starts_a_unit_that_is_there() -> None:
    (timer,) = (DEPLOY / "systemd").glob("*.timer")
    assert timer.with_suffix(".service") in UNITS
    assert "OnCalendar" in dict(entries(timer))


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_finds_nothing_wrong_with_the_units() -> None:
    for unit in (DEPLOY / "systemd").iterdir():
        done = run(["systemd-analyze", "verify", "--man=no", str(unit)])
        # The program is not installed here, and a template has no number.
        wrong = [line for line in done.stderr.splitlines() if unit.name in line and "not executable" not in line]
        assert not wrong, wrong


HAPROXY = shutil.which("haproxy", path="/usr/sbin:/usr/local/sbin:/usr/bin")


@pytest.mark.skipif(HAPROXY is None, reason="HAProxy is not installed")
def test_haproxy_accepts_its_settings() -> None:
    done = run([str(HAPROXY), "-c", "-f", str(DEPLOY / "haproxy.cfg")])
    assert done.returncode == 0, done.stderr


def test_the_pooler_keeps_transactions_whole() -> None:
    known = configparser.ConfigParser(inline_comment_prefixes=(";",))
    known.read(DEPLOY / "pgbouncer.ini")
    assert known["pgbouncer"]["pool_mode"] == "transaction"
    port = known["pgbouncer"]["listen_port"]
    assert f"pgbouncer:{port}/" in compose()["x-everloom"]["environment"]["EVERLOOM_STORE_URL"]
    assert f"':{int(port):X} '" in str(compose()["services"]["pgbouncer"]["healthcheck"]["test"])
