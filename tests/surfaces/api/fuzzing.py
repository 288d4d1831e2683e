"""Makes requests from an OpenAPI description, and checks answers against it. Knows nothing of what is described.

Only the words of JSON Schema that the description uses are understood; another one is an error, not a guess.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

from hypothesis import strategies as st
from jsonschema import Draft202012Validator

_KNOWN = {
    *("type enum const anyOf allOf $ref properties required additionalProperties items description default").split(),
    *("minimum maximum minItems maxItems format").split(),
}
# Whatever is expected, something else may come.
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@dataclass(frozen=True)
class Operation:
    """One method of one path, as it is described."""

    method: str
    path: str
    described: Mapping[str, Any]


@dataclass(frozen=True)
class Fuzzer:
    """Draws requests that fit a description, or nearly, and judges their answers; `known` are values that exist."""

    description: Mapping[str, Any]
    known: Sequence[Any] = ()
    # Whether values may be of the wrong kind, absurd, or broken.
    is_odd: bool = False

    def operations(self) -> list[Operation]:
        """List what can be asked for and answers with JSON."""
        return [
            Operation(method, path, described)
            for path, methods in self.description["paths"].items()
            for method, described in methods.items()
            if "application/json" in described["responses"]["200"]["content"]
        ]

    def request(self, operation: Operation) -> st.SearchStrategy[dict[str, Any]]:
        """Draw the arguments of a request for httpx: a body or a query, and headers; every third one is odd."""
        plain = self._request(operation)
        return st.one_of(plain, plain, replace(self, is_odd=True)._request(operation))

    def _request(self, operation: Operation) -> st.SearchStrategy[dict[str, Any]]:
        parameters = [self._resolved(each) for each in operation.described["parameters"]]
        headers = self._members([each for each in parameters if each["in"] == "header"], _headers)
        if operation.method == "get":
            query = self._members([each for each in parameters if each["in"] == "query"], _in_query)
            return st.fixed_dictionaries({"params": query, "headers": headers})
        body = operation.described["requestBody"]["content"]["application/json"]["schema"]
        return st.fixed_dictionaries({"content": self._bodies(body), "headers": headers})

    def faults(self, operation: Operation, status: int, kind: str, body: bytes) -> list[str]:
        """List what an answer has that is not described, or lacks."""
        described = operation.described["responses"].get(str(status))
        if described is None:
            return [f"the status {status} is not described"]
        contents = self._resolved(described)["content"]
        if kind not in contents:
            return [f"{kind} is not described for {status}"]
        schema, answer = contents[kind]["schema"], json.loads(body)
        # What is beside the result is described beside it; each is checked on its own, so that nothing else is there.
        for part in schema.get("allOf", ()):
            beside = {name: answer.pop(name) for name in schema["properties"] if name in answer}
            found = self._faults({**schema, "allOf": []}, beside)
            return found + self._faults(part, answer)
        return self._faults(schema, answer)

    def _faults(self, schema: Mapping[str, Any], answer: Any) -> list[str]:
        strict = _strict({**schema, "components": {"schemas": self.description["components"]["schemas"]}})
        found = Draft202012Validator(strict).iter_errors(answer)
        return [f"{each.json_path}: {each.message[:300]}" for each in found]

    def _bodies(self, schema: Mapping[str, Any]) -> st.SearchStrategy[bytes]:
        as_bytes = lambda value: json.dumps(value).encode()  # noqa: E731
        fitting = self._values(schema).map(as_bytes)
        if not self.is_odd:
            return fitting
        return st.one_of(fitting, fitting, fitting, ANYTHING.map(as_bytes), st.binary(max_size=20))

    def _members(self, parameters: Sequence[Mapping[str, Any]], write: Any) -> st.SearchStrategy[dict[str, Any]]:
        made = {each["name"]: self._values(each["schema"]).map(write) for each in parameters}
        needed = {each["name"] for each in parameters if each.get("required")}
        return st.fixed_dictionaries(
            {name: each for name, each in made.items() if name in needed},
            optional={name: each for name, each in made.items() if name not in needed},
        ).map(lambda drawn: {name: value for name, value in drawn.items() if value is not None})

    def _values(self, schema: Mapping[str, Any]) -> st.SearchStrategy[Any]:
        """Draw values that a schema allows, and now and then one that it may not."""
        if unknown := schema.keys() - _KNOWN:
            raise ValueError(f"the description uses {unknown}")
        if "$ref" in schema:
            return self._values(self._resolved(schema))
        if "anyOf" in schema:
            return st.one_of(*(self._values(each) for each in schema["anyOf"]))
        if "enum" in schema:
            fitting = st.sampled_from(schema["enum"])
            return fitting | st.text(max_size=5) if self.is_odd else fitting
        return self._typed(schema)

    def _typed(self, schema: Mapping[str, Any]) -> st.SearchStrategy[Any]:
        match schema.get("type"):
            case "integer" | "number" as kind:
                return self._numbers(schema, kind)
            case "boolean":
                return st.booleans()
            case "string":
                broken = st.sampled_from(["a\x00b", "\ud800", "x" * 500, ""]) if self.is_odd else st.nothing()
                return self._known(str) | st.text(max_size=40) | broken
            case "array":
                return st.lists(self._values(schema.get("items", {})), max_size=4)
            case "object":
                return self._objects(schema)
        return ANYTHING

    def _numbers(self, schema: Mapping[str, Any], kind: str) -> st.SearchStrategy[Any]:
        least, most = schema.get("minimum") or 0, schema.get("maximum")
        if kind == "number":
            return st.floats(allow_nan=False) if self.is_odd else st.floats(least, 1 if most is None else most)
        wide = st.integers(-(2**70), 2**70) if self.is_odd else st.integers(int(least), int(most or 500))
        return self._known(int) | wide

    def _known(self, kind: type) -> st.SearchStrategy[Any]:
        return st.sampled_from([each for each in self.known if isinstance(each, kind)] or [kind()])

    def _objects(self, schema: Mapping[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
        made = {name: self._values(each) for name, each in schema.get("properties", {}).items()}
        needed = set(schema.get("required", ()))
        inner = schema.get("additionalProperties")
        if not made and isinstance(inner, dict):
            return st.dictionaries(st.text(max_size=10), self._values(inner), max_size=3)
        return st.fixed_dictionaries(
            {name: each for name, each in made.items() if name in needed},
            optional={name: each for name, each in made.items() if name not in needed},
        )

    def _resolved(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        place: Any = schema
        while "$ref" in place:
            steps = place["$ref"].removeprefix("#/").split("/")
            place = self.description
            for step in steps:
                place = place[step]
        found: Mapping[str, Any] = place
        return found


def _strict(schema: Any) -> Any:
    """Forbid what is not described: a field that nobody knows of is a mistake here."""
    if isinstance(schema, list):
        return [_strict(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: _strict(each) for key, each in schema.items() if key != "allOf"}
    is_closed = schema.get("type") == "object" and "properties" in schema
    return {"additionalProperties": False, **made} if is_closed else made


def _in_query(value: Any) -> Any:
    """Write a value as a query has it."""
    if isinstance(value, list):
        return [_in_query(each) for each in value] or None
    text = value if isinstance(value, str) else json.dumps(value)
    return text.encode("utf-8", "replace").decode()


def _headers(value: Any) -> str:
    """Write a value as a header has it."""
    return quote(str(value), safe=" ", errors="replace").strip()
