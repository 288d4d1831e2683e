"""Decides who really calls: what a proxy says about a request is believed if the settings name that proxy.

Whoever can set a header could pretend to be anybody, so that from all others these headers are ignored. Pure: knows
neither sockets nor what is requested.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from starlette.types import Scope

_CHAIN, _SCHEME, _HOST = b"x-forwarded-for", b"x-forwarded-proto", b"x-forwarded-host"
# Marks a request whose caller one of our proxies has told.
_BELIEVED = "everloom.proxied"
# Headers by which a request can be seen to have come through a proxy.
_SIGNS = frozenset({_CHAIN, _SCHEME, _HOST, b"forwarded", b"via", b"x-real-ip"})


@dataclass(frozen=True, slots=True)
class NetworkList:
    """Addresses and networks of the settings."""

    networks: tuple[IPv4Network | IPv6Network, ...] = ()

    @classmethod
    def read(cls, written: Iterable[str]) -> Self:
        """Read them as the settings write them."""
        return cls(tuple(ip_network(each, strict=False) for each in written))

    def __contains__(self, address: str) -> bool:
        """Say whether an address is one of them or lies in one; what is no address does not."""
        known = _address_in(address)
        return known is not None and any(known in each for each in self.networks)


NOBODY = NetworkList()


def seen_through(scope: Scope, proxies: NetworkList) -> Scope:
    """Return a request as it was before it came through our proxies: its address, its scheme and its host."""
    peer = peer_of(scope)
    if peer is None or peer not in proxies:
        return scope
    headers: list[tuple[bytes, bytes]] = scope["headers"]
    seen = {**scope, _BELIEVED: True, "client": (_caller(peer, _values(headers, _CHAIN), proxies), 0)}
    # The last one is what the proxy next to us has said; those before it may be the caller's own.
    if (schemes := _values(headers, _SCHEME)) and schemes[-1].lower() in ("http", "https"):
        seen["scheme"] = schemes[-1].lower()
    if hosts := _values(headers, _HOST):
        kept = [each for each in headers if each[0] != b"host"]
        seen["headers"] = [(b"host", hosts[-1].encode("latin-1")), *kept]
    return seen


def peer_of(scope: Scope) -> str | None:
    """Return the address at the other end of the connection; None if it is a socket without one."""
    return scope["client"][0] if scope.get("client") else None


def came_directly(scope: Scope) -> bool:
    """Say whether the address of a request is that of its caller, and not of a proxy that nobody has named."""
    return _BELIEVED in scope or not any(name in _SIGNS for name, _ in scope["headers"])


def _caller(peer: str, chain: list[str], proxies: NetworkList) -> str:
    """Go back along the addresses that proxies have noted, up to the first that is none of ours."""
    address = peer
    for noted in reversed(chain):
        known = _address_in(noted)
        if known is None:
            break
        address = str(known)
        if address not in proxies:
            break
    return address


def _values(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> list[str]:
    """List the values of a header, from all its lines."""
    lines = (value.decode("latin-1") for key, value in headers if key == name)
    return [part.strip() for line in lines for part in line.split(",") if part.strip()]


def _address_in(text: str) -> IPv4Address | IPv6Address | None:
    """Read an address as proxies write it: with a port, in brackets, or of IPv4 as one of IPv6."""
    bare = text.strip()
    if bare.startswith("["):
        bare = bare[1:].partition("]")[0]
    elif bare.count(":") == 1:
        bare = bare.partition(":")[0]
    try:
        address = ip_address(bare.partition("%")[0])
    except ValueError:
        return None
    return (address.ipv4_mapped or address) if isinstance(address, IPv6Address) else address
