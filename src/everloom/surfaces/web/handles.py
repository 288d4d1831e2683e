"""How many connections the open files of this process allow: each connection takes one, and so does each file.

Raises the limit of the process as far as it may, and reduces the places of a server to what is left after a reserve.
Refuses to know sockets.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import replace

from everloom.errors import EverloomError
from everloom.secrets import logger_of
from everloom.surfaces.web.guard import Patience

log = logger_of(__name__)

if os.name == "nt":

    def _raised(wanted: int) -> int | None:  # noqa: ARG001
        """Windows has no such limit."""
        return None
else:
    import resource

    def _raised(wanted: int) -> int | None:
        """Raise the limit towards what is wanted, and return it; None if there is none."""
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft == resource.RLIM_INFINITY:
            return None
        if soft < wanted:
            allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
            # Some systems have another limit below the hard one; then the present limit counts.
            with suppress(ValueError, OSError):
                resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
                soft = allowed
        return soft


# Connections beyond the places, so that whoever gets none is told so by the guard.
SPARE = 32
# With fewer places than this, a page and one client would get into each other's way.
_LEAST = 8


def affordable(patience: Patience) -> Patience:
    """Raise the limit of open files, and fit the places into it; refuse a limit that is too low for any server."""
    beside = SPARE + patience.reserve
    wanted = beside + patience.seats
    limit = _raised(wanted)
    if limit is None or limit >= wanted:
        return patience
    remedy = f"raise it to {wanted}: `ulimit -n {wanted}` in a shell, LimitNOFILE={wanted} in a systemd unit"
    if limit < beside + _LEAST:
        raise EverloomError(
            f"this process may open {limit} files at once, and a server needs at least {beside + _LEAST}",
            hint=f"{remedy}; or lower server.calls_at_once",
        )
    seats = limit - beside
    # Half of them: what waits gives way, and a few places would be too few for the clients of one machine.
    each = min(patience.seats_each, seats // 2)
    log.warning(
        "this process may open %d files: it serves %d connections, %d for each address, instead of %d and %d; %s",
        limit,
        seats,
        each,
        patience.seats,
        patience.seats_each,
        remedy,
    )
    return replace(patience, seats=seats, seats_each=each)
