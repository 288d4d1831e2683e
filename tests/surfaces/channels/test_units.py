"""A service unit runs this gateway with this configuration, is understood by its system, and holds no secret."""

from __future__ import annotations

import json
import plistlib
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from everloom.surfaces.cli.render.units import UnitPlan, unit_text
from tests.patience import PATIENCE
from tests.surfaces.channels.test_chat import environment

ODD = ["/opt/my programs/everloom", "gateway", "-w", 'five % of "$HOME"', "back\\slash", "#", "it's; --"]


@pytest.mark.promise("mind.unit")
def test_a_unit_is_printed_for_this_configuration_without_any_secret(tmp_path: Path) -> None:
    config = tmp_path / "my settings.toml"
    config.write_text('[llm]\nlarge = "scripted:echo"\n')
    env = environment(tmp_path, SLACK_BOT_TOKEN="xoxb-1-secret", EVERLOOM_MIND_GATHER_SECONDS="4")
    own = [
        sys.executable,
        "-m",
        "everloom",
        "gateway",
        "--json",
        "--port",
        "9",
        "--no-tasks",
        "--allow-host",
        "a.example",
    ]
    given = ["--config", str(config), "--store", "postgresql://me:geheim@host/db", "--print-unit", "launchd"]
    found = subprocess.run([*own, *given], env=env, capture_output=True, text=True, timeout=PATIENCE, check=True)
    result = json.loads(found.stdout)["result"]
    words = plistlib.loads(result["text"].encode())["ProgramArguments"]
    assert words[4:] == result["command"]
    options = words[words.index("gateway") :]
    assert options == [
        *("gateway", "--host", "127.0.0.1", "--port", "9", "--config", str(config)),
        *("--allow-host", "a.example", "--no-tasks"),
    ]
    assert set(result["variables"]) == {"SLACK_BOT_TOKEN", "EVERLOOM_MIND_GATHER_SECONDS", "EVERLOOM_STORE_URL"}
    assert "secret\n" not in found.stdout
    assert "xoxb" not in found.stdout
    assert "geheim" not in found.stdout


@pytest.mark.promise("mind.unit")
def test_each_system_understands_its_unit_whatever_the_words_are(tmp_path: Path) -> None:
    plist = plistlib.loads(unit_text("launchd", UnitPlan(ODD, "/Users/ada")).encode())
    assert plist["KeepAlive"] == {"SuccessfulExit": False}
    # The shell that reads the file of variables hands every word on as it is.
    script = tmp_path / "show"
    script.write_text('#!/bin/sh\nprintf "%s\\n" "$KEY" "$@"\n')
    script.chmod(0o700)
    (tmp_path / "gateway.env").write_text("KEY=value\n")
    shell = [*plist["ProgramArguments"][:3], str(tmp_path / "gateway.env"), str(script), *ODD[1:]]
    shown = subprocess.run(shell, capture_output=True, text=True, timeout=PATIENCE, check=True).stdout
    assert shown.splitlines() == ["value", *ODD[1:]]
    unit = tmp_path / "everloom-gateway.service"
    unit.write_text(unit_text("systemd", UnitPlan([str(script), *ODD[1:]], "/home/ada", ["SLACK_BOT_TOKEN"])))
    assert (
        f'ExecStart={script} gateway -w "five %% of \\"$$HOME\\"" "back\\\\slash" "#" "it\'s; --"' in unit.read_text()
    )
    if shutil.which("systemd-analyze") is None:
        pytest.skip("there is no systemd here to read the unit")
    verified = subprocess.run(
        ["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    # A machine that is not run by systemd cannot say more than that.
    if "Failed to initialize manager" not in verified.stderr:
        assert (verified.returncode, verified.stderr) == (0, "")
