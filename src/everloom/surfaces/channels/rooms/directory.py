"""Who is who: to which workspace a channel and an address belong, and by which name a speaker is called.

An address belongs to one workspace only, and only the owner's own ones to that of the gateway: whoever is not known
there has a workspace of their own. Decides, and touches nothing.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from everloom.glyphs import drawn
from everloom.kernel.texts import name_key
from everloom.mind.people import KnownPerson, person_of
from everloom.mind.wording import speaker_name

# An address of which no other one has the same name, however names are compared.
_PLAIN = re.compile(r"[a-z0-9.@+]{1,100}")
_SOMEBODY = "somebody"


@dataclass(frozen=True, slots=True)
class Belonging:
    """The workspace that an address belongs to, and the name of the person, if it is known."""

    workspace: str
    name: str = ""
    is_group: bool = False


class Directory:
    """The people that a gateway serves; `home` is the workspace that it was started for."""

    def __init__(self, people: Sequence[KnownPerson], home: str) -> None:
        self.home = home
        self._people = people
        self._known: dict[tuple[str, str], Belonging] = {
            place: Belonging(each.workspace, "" if each.is_group else each.name, each.is_group)
            for each in people
            for place in each.addresses
        }

    def admit(
        self, channel: str, addresses: Iterable[str], is_group: Callable[[str], bool] = lambda _: False
    ) -> list[str]:
        """Take up the addresses that a channel's own settings list; returns what whoever starts it should know.

        The first one of a person is the owner's, unless the owner is among the people: it belongs to the workspace of
        the gateway. Every other one has its own, and so has every group.
        """
        told: list[str] = []
        is_free = person_of(self._people, self.home) is None
        for address in dict.fromkeys(addresses):
            place = (channel, address)
            if place in self._known:
                is_free = is_free and self._known[place].workspace != self.home
            elif is_free and not is_group(address):
                self._known[place] = Belonging(self.home)
                is_free = False
            else:
                self._known[place] = apart = own_workspace(channel, address, is_group=is_group(address))
                what = "is a group and" if apart.is_group else "is not the first, and"
                told.append(
                    f"{channel} {address} {what} has a conversation of its own, in the workspace {apart.workspace!r}; "
                    f"`everloom people add NAME --address {channel}={address}` gives it a name"
                )
        return told

    def of(self, channel: str, address: str) -> Belonging:
        """Find where an address belongs; one that nobody listed has a workspace of its own."""
        return self._known.get((channel, address)) or own_workspace(channel, address)

    def groups(self, channel: str) -> list[str]:
        """List the addresses of a channel that are groups."""
        return [address for (name, address), own in self._known.items() if name == channel and own.is_group]

    def knows(self, channel: str, address: str) -> bool:
        """Say whether an address is listed."""
        return (channel, address) in self._known

    def addresses(self, channel: str) -> list[str]:
        """List the addresses of a channel."""
        return [address for name, address in self._known if name == channel]

    def speaker(self, channel: str, address: str, *, name: str, sender: str) -> str:
        """Name who speaks at an address; `sender` is the speaker's own address, if the channel knows it.

        Anybody may call themselves anything, so that whoever is not known carries their address after the name.
        """
        own = self.of(channel, address)
        if not own.is_group:
            return own.name
        known = self._known.get((channel, sender)) if sender else None
        if known is not None and known.name:
            return known.name
        called = speaker_name(name.replace("(", " ").replace(")", " "))
        poses = drawn(called) in {drawn(each.name) for each in self._people}
        shown = speaker_name(sender) or ("not verified" if poses else "")
        return f"{called or _SOMEBODY} ({shown})" if shown else called or _SOMEBODY

    def workspaces(self) -> list[str]:
        """List every workspace that somebody here belongs to, the gateway's own first."""
        names = [
            self.home,
            *(each.workspace for each in self._people),
            *(each.workspace for each in self._known.values()),
        ]
        return list({name_key(name): name for name in reversed(names)}.values())[::-1]

    def places_of(self, workspace: str) -> Mapping[str, Sequence[str]]:
        """List the addresses that belong to a workspace, by channel."""
        found: dict[str, list[str]] = {}
        for (channel, address), own in self._known.items():
            if name_key(own.workspace) == name_key(workspace):
                found.setdefault(channel, []).append(address)
        return found


def own_workspace(channel: str, address: str, *, is_group: bool = False) -> Belonging:
    """Name the workspace of an address that belongs to nobody who is known; no two addresses share one."""
    shown = address
    if not (_PLAIN.fullmatch(address) and _PLAIN.fullmatch(channel)):
        # Names of workspaces ignore case, dashes and more: a digest tells apart what they would not.
        digest = hashlib.sha256(f"{channel}\0{address}".encode("utf-8", "replace")).hexdigest()[:16]
        shown = f"{re.sub(r'[^a-z0-9.@+]+', ' ', address.lower()).strip()[:60]} {digest}".strip()
    return Belonging(f"{channel} {'group ' if is_group else ''}{shown}", is_group=is_group)
