"""`everloom people`: with whom the agent talks, as the setting people.known keeps them."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import click

from everloom.errors import NotFound, Rejected
from everloom.surfaces.cli.commands.setup.config import write_setting
from everloom.surfaces.cli.runtime.command import Group
from everloom.surfaces.cli.runtime.invocation import Invocation
from everloom.surfaces.cli.runtime.output import Answer, Table

if TYPE_CHECKING:
    from everloom.mind.people import KnownPerson

_SETTING = "people.known"


@click.group(cls=Group)
def people() -> None:
    """List, add and remove the people and groups that the agent talks with."""


@people.command(name="list")
def list_people(invocation: Invocation) -> Answer:
    """List people and groups: whose workspace is whose, and where each is reached."""
    known = _known(invocation)
    rows = [(each.name, each.workspace, _kind(each), _places(each), ", ".join(each.prefers)) for each in known]
    table = Table(rows, ("name", "workspace", "kind", "addresses", "prefers"))
    none = "nobody is known by name; `everloom people add NAME --address CHANNEL=ADDRESS` adds somebody"
    return Answer({"people": [_told(each) for each in known]}, [table if rows else none])


@people.command
@click.argument("name")
@click.option("--workspace", metavar="NAME", help="The workspace of the conversation; by default that of the name.")
@click.option("--address", "addresses", multiple=True, metavar="CHANNEL=ADDRESS", help="Where to reach; repeatable.")
@click.option("--prefers", multiple=True, metavar="CHANNEL", help="Where the agent speaks first; the best one first.")
@click.option("--group", "is_group", is_flag=True, help="Several people speak there, each by name.")
def add(invocation: Invocation, name: str, **given: Any) -> Answer:
    """Add a person or a group with a conversation of their own; the gateway answers them from its next start on."""
    from everloom.mind.people import read_people, read_person  # noqa: PLC0415  loads the mind

    if bad := [each for each in given["addresses"] if "=" not in each]:
        raise Rejected(f"{bad[0]!r} is not an address", hint="write --address CHANNEL=ADDRESS, as in telegram=12345")
    own = [f"workspace={given['workspace']}"] if given["workspace"] else []
    prefers = [f"prefers={each}" for each in given["prefers"]]
    kind = ["group"] if given["is_group"] else []
    person = read_person(shlex.join([name, *kind, *own, *given["addresses"], *prefers]))
    known = [*_known(invocation), person]
    read_people(map(str, known))
    _write(invocation, known)
    return Answer({"person": _told(person)}, [f"{person.name} talks in the workspace {person.workspace}"])


@people.command
@click.argument("name")
def remove(invocation: Invocation, name: str) -> Answer:
    """Remove a person or a group from the list; what was said stays in their workspace."""
    from everloom.kernel.texts import name_key  # noqa: PLC0415  loads unicodedata

    known = _known(invocation)
    gone = [each for each in known if name_key(each.name) == name_key(name)]
    if not gone:
        raise NotFound(f"nobody is called {name}", hint="`everloom people list` lists the names")
    _write(invocation, [each for each in known if each not in gone])
    said = f"{gone[0].name} is no longer answered; what was said stays in the workspace {gone[0].workspace}"
    return Answer({"person": _told(gone[0])}, [said])


def _known(invocation: Invocation) -> list[KnownPerson]:
    from everloom.mind.people import read_people  # noqa: PLC0415

    return list(read_people(invocation.settings()[0].people.known))


def _write(invocation: Invocation, known: list[KnownPerson]) -> None:
    origin = next(each for each in invocation.settings()[1] if each.name == _SETTING)
    if origin.source == "environment":
        raise Rejected(f"{_SETTING} is set in the environment", hint="change EVERLOOM_PEOPLE_KNOWN, or unset it")
    write_setting(invocation.file, _SETTING, "; ".join(map(str, known)))


def _told(person: KnownPerson) -> dict[str, Any]:
    places = [{"channel": channel, "address": address} for channel, address in person.addresses]
    own = {"name": person.name, "workspace": person.workspace, "kind": _kind(person)}
    return {**own, "addresses": places, "prefers": list(person.prefers)}


def _kind(person: KnownPerson) -> str:
    return "group" if person.is_group else "person"


def _places(person: KnownPerson) -> str:
    return ", ".join(f"{channel} {address}" for channel, address in person.addresses)
