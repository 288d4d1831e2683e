"""The command line: parse arguments, call one operation of the Python API, write the answer.

Owns arguments, output and exit codes. Contains no rule of memory, and loads nothing heavy before a command runs.
"""

from __future__ import annotations

import io
import os
import sys


def main() -> None:
    """Run the command that the arguments name, and exit."""
    # Matrices here are small: numpy's BLAS is slower on two threads than on one, and reads this when it loads.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Memories hold every script; a terminal that cannot show a letter must not end the command with an error.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        if sys.argv[1:2] == ["hook"] and _answered_hook(sys.argv[2:]):
            sys.exit(0)
        from everloom.surfaces.cli.runtime.root import root  # noqa: PLC0415  an interrupt may come while click loads

        root.main(prog_name="everloom")
    except KeyboardInterrupt:
        sys.exit(130)


def _answered_hook(arguments: list[str]) -> bool:
    """Answer the hook of an AI client, unless the arguments are for the command line; loads no more than that needs."""
    from everloom.surfaces.hooks.commands import read_command  # noqa: PLC0415  for this command alone

    command = read_command(arguments)
    # A person at a terminal gets the command line, with its help and its errors.
    if command is None or (sys.stdin is not None and sys.stdin.isatty()):
        return False
    from everloom.surfaces.hooks.entry import answer_hook  # noqa: PLC0415  as above

    answer_hook(command, os.environ)
    return True
