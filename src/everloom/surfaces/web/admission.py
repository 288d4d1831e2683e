"""Decides which requests are admitted, by host, origin and rate. Pure: headers and times arrive as values.

A web page of another site can make a browser send requests here under a name that its owner points at this machine (DNS
rebinding). It cannot choose the Host header, so unknown names are refused; a numeric address cannot be rebound.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from dataclasses import dataclass
from ipaddress import ip_address

from everloom.surfaces.web.proxies import NOBODY, NetworkList
from everloom.wiring.wire.protocol import MOST_BYTES

_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^:\[\]/@?#\s]+)(?::(\d{1,5}))?")
# A bound on memory: beyond it the caller that was quiet longest is forgotten, and starts again with a full bucket.
MOST_CALLERS = 10_000
# The key under which the gate stores the accepted token in a request's scope.
PASS_KEY = "everloom.pass"


@dataclass(frozen=True, slots=True)
class Rules:
    """What the gate checks: allowed names and origins, whether a token is required, and every limit."""

    hosts: frozenset[str] = frozenset()
    origins: frozenset[str] = frozenset()
    any_address: bool = False
    needs_token: bool = False
    most_bytes: int = MOST_BYTES
    body_seconds: float = 30.0
    request_seconds: float = 120.0
    calls_per_second: float = 100.0
    burst: float = 1000.0
    # A wrong token costs as much as this many calls: five at once, then one in two seconds.
    wrong_token_cost: float = 200.0
    # Whose word about a caller is believed.
    proxies: NetworkList = NOBODY


def is_loopback(host: str) -> bool:
    """Return whether a name or an address means this machine and nothing else."""
    return host.lower() == "localhost" or (_is_address(host) and ip_address(bare(host)).is_loopback)


def _is_address(host: str) -> bool:
    """Return whether a host is a numeric address."""
    try:
        ip_address(bare(host))
    except ValueError:
        return False
    return True


def bare(host: str) -> str:
    """Remove the brackets of an IPv6 address."""
    return host.removeprefix("[").removesuffix("]")


def is_welcome_host(header: str | None, rules: Rules) -> bool:
    """Return whether a Host header names this server."""
    found = _HOST.fullmatch(header or "")
    if found is None:
        return False
    host = found[1].lower()
    return is_loopback(host) or host in rules.hosts or (rules.any_address and _is_address(host))


def is_welcome_origin(origin: str | None, host: str, rules: Rules) -> bool:
    """Return whether an Origin header names this server or an allowed origin; only browsers send one."""
    if origin is None:
        return True
    scheme, _, place = origin.lower().partition("://")
    return (scheme in {"http", "https"} and place == host.lower()) or origin.lower() in rules.origins


def is_welcome_fetch(site: str | None, mode: str | None, origin: str | None) -> bool:
    """Return whether a browser sent a request by itself or for a page of this server; only browsers say so.

    A page of another site can load an address as a picture, without an Origin: it must not even be asked.
    """
    return origin is not None or site in {None, "same-origin", "none"} or mode == "navigate"


class CallerBudget:
    """A rate limit for each caller: a bucket that fills at a steady rate and holds a burst."""

    def __init__(self, per_second: float, burst: float) -> None:
        self._per_second = per_second
        self._burst = burst
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def spend(self, caller: str, now: float, cost: float = 1.0) -> float:
        """Take `cost` from a caller's bucket; if it has too little, returns how many seconds to wait, else 0."""
        left, at = self._left.pop(caller, (self._burst, now))
        left = min(self._burst, left + (now - at) * self._per_second)
        allowed = left >= cost
        self._left[caller] = (left - cost if allowed else left, now)
        if len(self._left) > MOST_CALLERS:
            self._left.popitem(last=False)
        return 0.0 if allowed else (cost - left) / self._per_second
