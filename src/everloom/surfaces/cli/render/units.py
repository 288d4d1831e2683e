"""Service units: text for systemd and launchd that keeps a command running, and says where it belongs.

Pure. Secrets are never part of a unit: it names a file that holds them, and which variables belong there.
"""

from __future__ import annotations

import plistlib
from collections.abc import Sequence
from dataclasses import dataclass

SYSTEMS = ("systemd", "launchd")
_NAME = "everloom-gateway"
_LABEL = "org.everloom.gateway"
# A wrong setting does not become right by trying again.
_SYSTEMD = """# ~/.config/systemd/user/{name}.service
#
# Runs while you are logged in, and from boot on after: loginctl enable-linger
#   systemctl --user daemon-reload && systemctl --user enable --now {name}
#   journalctl --user -u {name} -f
{secrets}
[Unit]
Description=Conversation of everloom on every channel

[Service]
Type=exec
ExecStart={command}
EnvironmentFile=-{file}
Restart=on-failure
RestartSec=10
RestartPreventExitStatus=2
TimeoutStopSec=40
UMask=0077
NoNewPrivileges=true
PrivateTmp=true
ProtectSystem=full
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6
RestrictRealtime=true
RestrictSUIDSGID=true
LockPersonality=true
SystemCallArchitectures=native

[Install]
WantedBy=default.target
"""
_LAUNCHD = """<!--
~/Library/LaunchAgents/{label}.plist

Runs while you are logged in.
  launchctl bootstrap gui/$(id -u) ~/Library/LaunchAgents/{label}.plist
  tail -f ~/Library/Logs/{name}.log
{secrets}-->
"""
# launchd reads no file of variables, so a shell does, and then becomes the command.
_SHELL = 'set -a; [ -r "$0" ] && . "$0"; set +a; exec "$@"'


@dataclass(frozen=True, slots=True)
class UnitPlan:
    """What a unit runs, where its secrets are, and which variables of this shell belong there."""

    command: Sequence[str]
    home: str
    variables: Sequence[str] = ()


def unit_text(system: str, plan: UnitPlan) -> str:
    """Write the unit of a system."""
    return _launchd(plan) if system == "launchd" else _systemd(plan)


def _systemd(plan: UnitPlan) -> str:
    lines = "".join(f"# {line}\n" if line else "#\n" for line in _about_secrets(plan, "~/.config/everloom/gateway.env"))
    command = " ".join(_word(each) for each in plan.command)
    return _SYSTEMD.format(name=_NAME, command=command, file="%h/.config/everloom/gateway.env", secrets=lines.rstrip())


def _launchd(plan: UnitPlan) -> str:
    file = f"{plan.home}/.config/everloom/gateway.env"
    described = {
        "Label": _LABEL,
        "ProgramArguments": ["/bin/sh", "-c", _SHELL, file, *plan.command],
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ThrottleInterval": 10,
        "ExitTimeOut": 40,
        "ProcessType": "Background",
        "Umask": 0o077,
        "StandardOutPath": f"{plan.home}/Library/Logs/{_NAME}.log",
        "StandardErrorPath": f"{plan.home}/Library/Logs/{_NAME}.log",
    }
    first, _, rest = plistlib.dumps(described, sort_keys=False).decode().partition("\n")
    # A comment must not hold two hyphens in a row.
    secrets = "".join(f"{line}\n" for line in _about_secrets(plan, "~/.config/everloom/gateway.env"))
    return f"{first}\n{_LAUNCHD.format(label=_LABEL, name=_NAME, secrets=secrets.replace('--', '- -'))}{rest}"


def _about_secrets(plan: UnitPlan, file: str) -> list[str]:
    names = list(plan.variables) or ["ANTHROPIC_API_KEY"]
    said = ["", f"Keys and tokens are in {file}, one NAME=value a line, readable for you alone (chmod 600):"]
    return [*said, *(f"  {name}=…" for name in names)]


def _word(word: str) -> str:
    """Write one word of a command as systemd reads it."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    is_plain = escaped == word and word and not any(char.isspace() or char in "';#" for char in word)
    return word if is_plain else f'"{escaped}"'
