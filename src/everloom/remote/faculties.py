"""A faculty of a workspace elsewhere: the same verbs with the same parameters, each of them one request.

Read from the declarations; has no verb of its own. Whether a call waits in its thread or is awaited is decided by the
function that it is given. Refuses to know HTTP.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from everloom.kernel.verbs import Verb
from everloom.wiring.faculties import FACULTIES, Faculty

RunVerb = Callable[[Faculty, Verb, Mapping[str, Any]], Any]


class RemoteFaculty:
    """One faculty; its verbs are its attributes."""

    def __init__(self, faculty: Faculty, run: RunVerb, chosen: Mapping[str, Any] | None = None) -> None:
        self._faculty = faculty
        self._run = run
        # What says on which object of the faculty a verb is called, such as the name of a graph.
        self._chosen = {name: value for name, value in (chosen or {}).items() if value is not None}

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        verb = next((each for each in self._faculty.verbs if each.name == name), None)
        if verb is None:
            raise AttributeError(
                f"{self._faculty.name} has no verb {name!r}; what is not a verb can only be done where the store is"
            )
        return self._called(verb)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *(each.name for each in self._faculty.verbs)]

    def __repr__(self) -> str:
        return f"<{self._faculty.name}, elsewhere>"

    def _called(self, verb: Verb) -> Callable[..., Any]:
        signature = _signature_of(verb)

        def call(*args: Any, **named: Any) -> Any:
            given = signature.bind(*args, **named).arguments
            return self._run(self._faculty, verb, {**given, **self._chosen})

        call.__name__, call.__doc__ = verb.name, verb.method.__doc__
        vars(call)["__signature__"] = signature
        return call


class RemoteGraphs(RemoteFaculty):
    """The memory graphs of a workspace elsewhere."""

    def open(self, name: str | None = None) -> RemoteFaculty:
        """Reach a graph by name; whether there is one, the first call tells."""
        return RemoteFaculty(FACULTIES["graph"], self._run, {"graph": name})


def faculty_named(name: str, run: RunVerb) -> RemoteFaculty:
    """Reach a faculty by name; AttributeError if there is none."""
    if name not in FACULTIES:
        raise AttributeError(f"a workspace elsewhere has no {name!r}; it may exist only where the store is")
    return (RemoteGraphs if name == "graphs" else RemoteFaculty)(FACULTIES[name], run)


@cache
def _signature_of(verb: Verb) -> inspect.Signature:
    """Read how a verb is called, without `self`, and without annotations: they name types that are not loaded."""
    known = inspect.signature(verb.method)
    shown = [each.replace(annotation=inspect.Parameter.empty) for each in [*known.parameters.values()][1:]]
    return known.replace(parameters=shown, return_annotation=inspect.Signature.empty)
