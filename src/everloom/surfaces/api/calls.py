"""One verb as a call over HTTP: its path, what a request gives it, and the workspace it runs in.

Reads arguments from a JSON object, or from the query of a GET where the verb only reads; a key that makes a write safe
to repeat and the version that a write expects come as headers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

from everloom.errors import Rejected
from everloom.kernel.verbs import Parameter, Verb
from everloom.wiring.arguments import Arguments
from everloom.wiring.faculties import FACULTIES, Faculty, served
from everloom.wiring.wire.protocol import IN_HEADERS, KEY_HEADER, VERSION_HEADER, path_of

if TYPE_CHECKING:
    from starlette.datastructures import Headers, QueryParams

    from everloom.loom import Workspace

_LONGEST_VERSION = 18


@dataclass(frozen=True)
class ApiCall:
    """One verb of a faculty, as a program calls it."""

    faculty: Faculty
    verb: Verb

    @property
    def path(self) -> str:
        """Its path, such as /api/v1/semantic/remember."""
        return path_of(self.faculty.name, self.verb.name)

    @property
    def name(self) -> str:
        """Its name in the description and in errors."""
        return f"{self.faculty.name}.{self.verb.name}"

    @property
    def methods(self) -> tuple[str, ...]:
        """A call that only reads can also be a GET."""
        return ("POST",) if self.verb.effect.writes else ("GET", "POST")

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """Everything that a request can give."""
        return (*self.verb.parameters, *self.faculty.selectors)

    @cached_property
    def arguments(self) -> Arguments:
        """Read and describe the arguments."""
        return Arguments(self.name, self.parameters)

    def run(self, workspace: Workspace, given: Mapping[str, Any]) -> object:
        """Call the verb."""
        read = self.arguments.read(given, workspace.info.zone)
        chosen = {each.name: read.pop(each.name, None) for each in self.faculty.selectors}
        return getattr(self.faculty.reach(workspace, chosen), self.verb.name)(**read)

    def given_in_body(self, body: bytes, headers: Headers) -> dict[str, Any]:
        """Read the arguments of a POST."""
        return {**_object_in(body), **self._given_in_headers(headers)}

    def given_in_query(self, query: QueryParams, headers: Headers) -> dict[str, Any]:
        """Read the arguments of a GET; a name that occurs several times is a list."""
        known = {each.name: each for each in self.parameters}
        given: dict[str, Any] = {}
        for name in query:
            values = query.getlist(name)
            is_list = name in known and known[name].list_kind is not None
            if len(values) > 1 and not is_list:
                raise Rejected(f"{name} is given {len(values)} times", hint="give it once")
            given[name] = values if is_list and (len(values) > 1 or not values[0].startswith("[")) else values[0]
        return {**given, **self._given_in_headers(headers)}

    def _given_in_headers(self, headers: Headers) -> dict[str, Any]:
        known = {each.name: each for each in self.parameters}
        given: dict[str, Any] = {}
        for name, header in IN_HEADERS.items():
            value = headers.get(header)
            if value is None:
                continue
            if name not in known:
                if header == KEY_HEADER:
                    # Whoever only reads may be asked again anyway.
                    continue
                # Accepting a version and ignoring it would let a client write over what it has not seen.
                raise Rejected(f"{self.name} takes no {header} header", hint=f"leave out {header}")
            given[name] = _version_in(value, known[name]) if header == VERSION_HEADER else value
        return given


def _object_in(body: bytes) -> dict[str, Any]:
    if not body.strip():
        return {}
    try:
        found = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Rejected("the body is not JSON", hint='send an object such as {"query": "…"}') from error
    if not isinstance(found, dict):
        raise Rejected("the body is not a JSON object", hint='send an object such as {"query": "…"}')
    return found


def _version_in(tag: str, parameter: Parameter) -> int | str:
    """Read a version: a number, or of what is kept by its hash, a few letters and digits."""
    text = tag.strip().removeprefix("W/").strip('"')
    is_number = int in parameter.kinds
    if not (text.isascii() and len(text) <= _LONGEST_VERSION and (text.isdecimal() if is_number else text.isalnum())):
        hint = f'send the ETag of the last answer, such as "{3 if is_number else "1f6a90bc72de"}"'
        raise Rejected(f"{VERSION_HEADER} is not a version", hint=hint)
    return int(text) if is_number else text


@cache
def api_calls() -> tuple[ApiCall, ...]:
    """List every verb of every faculty."""
    return tuple(ApiCall(served(faculty), verb) for faculty in FACULTIES.values() for verb in faculty.verbs)
