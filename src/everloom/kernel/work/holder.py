"""Holders: which process has a lease or a job, and whether that process is known to have died.

A holder is written `host:process:machine.start.loom`. `machine` stands for one run of one kernel and one numbering of
its processes, and `start` for the moment at which the process began. So a number that was given again, a container
whose first process is number 1 like that of every other, and a second machine of the same name are told apart. Whoever
cannot be judged from here counts as alive, until its lease runs out. Refuses to know what is held.
"""

from __future__ import annotations

import os
import socket
import sys
from functools import cache
from hashlib import blake2s
from pathlib import Path
from uuid import getnode, uuid4

# A process that died and that nobody has buried yet: it will not write any more.
_DEAD = frozenset("ZXx")
# Set in numbers that were made up because there is no network card.
_MADE_UP = 1 << 40
_UNKNOWN = "-"


def this_holder() -> str:
    """Name this process as a holder; the last part tells two looms of one process apart."""
    number = os.getpid()
    return f"{socket.gethostname()}:{number}:{_machine()}.{_started(number)}.{uuid4().hex[:6]}"


def is_gone(holder: str | None) -> bool:
    """Return whether a holder is known to have died on this machine; if in doubt, it is alive.

    A wrong guess only wastes work: the token keeps the old holder from writing.
    """
    host, _, rest = (holder or "").partition(":")
    number, _, mark = rest.partition(":")
    machine, _, more = mark.partition(".")
    started = more.partition(".")[0]
    # On Windows, signal 0 is CTRL_C_EVENT and would interrupt the process; anywhere, the numbers 0 and below address
    # whole groups of processes.
    if os.name != "posix" or not number.isdecimal() or int(number) <= 0:
        return False
    if host != socket.gethostname() or machine in ("", _UNKNOWN) or machine != _machine():
        return False
    return _has_ended(int(number), started)


def _has_ended(number: int, started: str) -> bool:
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return True
    except OSError:
        # It belongs to another user; what is known about it may still tell that it is another one, or dead.
        pass
    now = _started(number)
    # It exists, but what is known about it may be hidden from us.
    return now != _UNKNOWN and (now == "" or (started not in ("", _UNKNOWN) and now != started))


def _started(number: int) -> str:
    """Return the moment at which a process began, in ticks of its kernel; empty if it has ended since."""
    try:
        text = Path(f"/proc/{number}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return _UNKNOWN
    # The name of the program is in brackets and may have any characters; the state is the first word after it, and
    # the moment the twentieth.
    words = text.rpartition(")")[2].split()
    if len(words) < 20:
        return _UNKNOWN
    return "" if words[0] in _DEAD else words[19]


@cache
def _machine() -> str:
    """Identify the kernel that runs and the numbering of processes that this one sees."""
    known = _linux_marks() if sys.platform == "linux" else _card_marks()
    return blake2s("\n".join(known).encode(), digest_size=6).hexdigest() if known else _UNKNOWN


def _linux_marks() -> list[str]:
    try:
        if Path("/proc/self").readlink().name != str(os.getpid()):
            # What is mounted there tells of another numbering, in which our number is somebody else's.
            return []
        # New with every start of the kernel. Containers share it, and each has a numbering of its own; two that share
        # that, too, may still count time differently.
        boot = Path("/proc/sys/kernel/random/boot_id").read_bytes().decode().strip()
        spaces = [str(Path(f"/proc/self/ns/{kind}").readlink()) for kind in ("pid", "time")]
    except (OSError, ValueError):
        return []
    return [boot, *spaces]


def _card_marks() -> list[str]:
    card = getnode()
    return [] if card & _MADE_UP else [f"{card:x}"]
