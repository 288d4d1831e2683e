"""`everloom schedule print`: configuration for systemd, launchd or cron to maintain the memory. Installs nothing."""

from __future__ import annotations

import shlex
from xml.sax.saxutils import escape

import click

from everloom.surfaces.cli.runtime.command import Group
from everloom.surfaces.cli.runtime.invocation import Invocation, own_command
from everloom.surfaces.cli.runtime.output import Answer

_SYSTEMS = ("systemd", "launchd", "cron")

_SYSTEMD = """# ~/.config/systemd/user/everloom.service
[Unit]
Description=Maintain the memory: decay, CORE.md, REFLECTION.md, vectors

[Service]
Type=oneshot
ExecStart={command}

# ~/.config/systemd/user/everloom.timer
[Unit]
Description=Maintain the memory every day

[Timer]
OnCalendar=*-*-* {hour:02}:{minute:02}:00
Persistent=true

[Install]
WantedBy=timers.target

# systemctl --user daemon-reload && systemctl --user enable --now everloom.timer
"""
_LAUNCHD = """<?xml version="1.0" encoding="UTF-8"?>
<!-- ~/Library/LaunchAgents/org.everloom.daily.plist; then: launchctl load -w <this file> -->
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
    <key>Label</key><string>org.everloom.daily</string>
    <key>ProgramArguments</key>
    <array>
{arguments}
    </array>
    <key>StartCalendarInterval</key>
    <dict><key>Hour</key><integer>{hour}</integer><key>Minute</key><integer>{minute}</integer></dict>
</dict>
</plist>
"""
_CRON = "# crontab -e\n{minute} {hour} * * * {command}\n"


@click.group(cls=Group)
def schedule() -> None:
    """Print the configuration that makes a system scheduler maintain the memory every day."""


@schedule.command(name="print")
@click.argument("system", type=click.Choice(_SYSTEMS))
@click.option(
    "--at", "moment", default="03:30", show_default=True, metavar="HH:MM", help="Time of day on this machine's clock."
)
def print_unit(invocation: Invocation, system: str, moment: str) -> Answer:
    """Print units for systemd or launchd, or a line for cron."""
    hour, minute = _time_of(moment)
    words = _command_of(invocation)
    if system == "launchd":
        arguments = "\n".join(f"        <string>{escape(word)}</string>" for word in words)
        text = _LAUNCHD.format(arguments=arguments, hour=hour, minute=minute)
    else:
        # systemd reads % as a specifier, cron as the end of the line.
        mark = "%%" if system == "systemd" else "\\%"
        command = shlex.join(words).replace("%", mark)
        text = (_SYSTEMD if system == "systemd" else _CRON).format(command=command, hour=hour, minute=minute)
    return Answer({"system": system, "text": text, "command": words}, [text])


def _command_of(invocation: Invocation) -> list[str]:
    """Write the command that runs what is due, with the --config and --store of this one."""
    flags = (("--config", invocation.config), ("--store", invocation.address))
    given = [word for name, value in flags if value is not None for word in (name, str(value))]
    # Not only the graph's pages but everything that is due: a scheduler should need one entry, whatever is configured.
    return [*own_command(), "worker", "--once", *given]


def _time_of(text: str) -> tuple[int, int]:
    """Parse a time of day."""
    hour, _, minute = text.partition(":")
    if not (hour.isdecimal() and minute.isdecimal() and int(hour) < 24 and int(minute) < 60):
        raise click.BadParameter(f"{text!r} is not a time of day; write it as 03:30", param_hint="--at")
    return int(hour), int(minute)
