"""Runs a command that ends when its parent does, even if the parent is killed. A program of its own, for Linux.

Called as `python leash.py PARENT COMMAND ARGUMENTS`; imports nothing of this package, so that it starts at once.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Ask the kernel for the signal, and become the command."""
    parent, command = int(sys.argv[1]), sys.argv[2:]
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    # It may have ended before the kernel was asked.
    if os.getppid() != parent:
        sys.exit(1)
    os.execvp(command[0], command)


if __name__ == "__main__":
    main()
