"""The OpenAPI description of the API, read from the declarations of the verbs.

Refuses to know how a call is answered.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from everloom import __version__
from everloom.kernel.verbs import Parameter
from everloom.surfaces.api.calls import ApiCall, api_calls
from everloom.surfaces.api.paging import onward
from everloom.surfaces.api.shapes import COMPONENTS, schema_of
from everloom.wiring.wire.annotations import returned_by
from everloom.wiring.wire.protocol import ANSWER, CHANGES, IN_HEADERS, JOB_CHANGES, PROBLEM

_PROBLEM = {
    "type": "object",
    "required": ["type", "title", "status", "detail", "code"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "what happened"},
        "code": {"type": "string", "description": "the error's code, the same as over MCP"},
        "hint": {"type": "string", "description": "what to do next"},
        "retry": {"type": "boolean", "description": "whether the same request may succeed later"},
        "retry_after": {"type": "number", "description": "after how many seconds, if that is known"},
        "current": {"description": "the present state, with a conflict"},
        "request_id": {"type": "string", "description": "the id of the request, as X-Request-Id and the log have it"},
    },
}
_HEADERS = {
    "X-Memory-Workspace": "the workspace, if the token or the server does not name it",
    "X-Memory-Session-Id": "the conversation that this call belongs to",
    "X-Memory-Model-Tier": "the tier of the model that calls",
    "X-Memory-Readonly": "1 refuses every write",
    "X-Memory-Origin": "where what is written comes from: person, agent (the default), tool, import or web",
}
_FAILURES = {
    "400": "The request has two lengths.",
    "401": "A token is needed, or is wrong.",
    "403": "Not allowed.",
    "404": "What you named does not exist here.",
    "408": "The request did not arrive in time.",
    "409": "It exists, but not in the state you assumed.",
    "413": "The request is too large.",
    "415": "The body is not JSON.",
    "421": "The server has another name.",
    "422": "The request itself is wrong.",
    "429": "Too many requests.",
    "500": "The store could not do it.",
    "502": "A model could not do it.",
    "503": "Try again later.",
    "504": "It took too long.",
}
_NOTE = {"type": "string", "description": "what was left off, and how to read on"}
_SECRETS = {
    "type": "array",
    "items": {"type": "string"},
    "description": "secrets that were recognised in what was sent",
}
_REFUSALS = {code: {"$ref": f"#/components/responses/{code}"} for code in _FAILURES}


@cache
def describe() -> dict[str, Any]:
    """Describe the whole API."""
    schemas: dict[str, Any] = {"Problem": _PROBLEM}
    paths: dict[str, Any] = {}
    for call in api_calls():
        methods = {method.lower(): _operation(call, method, schemas) for method in call.methods}
        paths[call.path] = methods
    paths |= {path: {"get": stream} for path, stream in STREAMS.items()}
    faculties = {call.faculty.name: call.faculty.summary for call in api_calls()}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "everloom",
            "version": __version__,
            "summary": "A long-term memory for AI agents.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "tags": [{"name": name, "description": summary} for name, summary in faculties.items()],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "parameters": {name: _header(name, text) for name, text in _HEADERS.items()},
            "responses": {
                code: {"description": text, "content": {PROBLEM: {"schema": {"$ref": "#/components/schemas/Problem"}}}}
                for code, text in _FAILURES.items()
            },
        },
        # On this machine no token is needed.
        "security": [{}, {"token": []}],
    }


def _number(name: str, text: str) -> dict[str, Any]:
    schema = {"type": "integer", "minimum": 0, "maximum": 10**18 - 1}
    return {"name": name, "in": "query", "description": text, "schema": schema}


_AFTER = _number("after", "the id of the last event that was seen; Last-Event-ID says the same")
_EVENTS = {
    "description": "Events; the id of each is where to go on.",
    "content": {"text/event-stream": {"schema": {"type": "string"}}},
}


def _stream(name: str, summary: str, *parameters: dict[str, Any], **answers: dict[str, Any]) -> dict[str, Any]:
    """Describe a stream of events."""
    return {
        "operationId": name,
        "summary": summary,
        "parameters": [{"$ref": f"#/components/parameters/{each}"} for each in _HEADERS] + [*parameters],
        "responses": {"200": _EVENTS, **answers, **_REFUSALS},
    }


STREAMS = {
    CHANGES: _stream("changes", "Stream the operations of a workspace as they happen, as server-sent events.", _AFTER),
    JOB_CHANGES: _stream(
        "job_changes",
        "Stream the state of one job until it ends, or of all jobs of a workspace, as server-sent events.",
        _AFTER,
        _number("id", "the id of a job"),
        **{"204": {"description": "The job has ended, and that was told before."}},
    ),
    ANSWER: _stream(
        "answer",
        "Have a message answered, and stream its words, its tools and how it ended, as server-sent events.",
        {**_number("id", "the id of the message, as mind.say answers it"), "required": True},
        _number("attempts", "the attempts that are known to have failed; the next one that does ends the stream"),
    ),
}


def _header(name: str, text: str) -> dict[str, Any]:
    return {"name": name, "in": "header", "description": text, "schema": {"type": "string"}}


def _operation(call: ApiCall, method: str, schemas: dict[str, Any]) -> dict[str, Any]:
    prefix = "" if method == "POST" else "get_"
    described: dict[str, Any] = {
        "operationId": f"{prefix}{call.faculty.name}_{call.verb.name}",
        "tags": [call.faculty.name],
        "summary": call.verb.title,
        "description": call.verb.summary,
        "parameters": [{"$ref": f"#/components/parameters/{name}"} for name in _HEADERS],
        "responses": {
            "200": {
                "description": "Done.",
                "headers": _told_in_headers(call),
                "content": {"application/json": {"schema": _answer(call, schemas)}},
            },
            **_REFUSALS,
        },
    }
    taken = {each.name: each for each in call.parameters}
    described["parameters"] += [
        _header(header.title(), taken[name].says.text) for name, header in IN_HEADERS.items() if name in taken
    ]
    body = _body(call, schemas)
    if method == "POST":
        required = bool(body.get("required"))
        described["requestBody"] = {"required": required, "content": {"application/json": {"schema": body}}}
    else:
        described["parameters"] += [_in_query(taken[name], each, body) for name, each in body["properties"].items()]
    return described


def _body(call: ApiCall, schemas: dict[str, Any]) -> dict[str, Any]:
    """Describe the arguments; what is defined inside them moves to the components."""
    schema: dict[str, Any] = dict(call.arguments.schema)
    schemas.update({name: _moved(each) for name, each in schema.pop("$defs", {}).items()})
    moved: dict[str, Any] = _moved(schema)
    shown = {name: each for name, each in moved.get("properties", {}).items() if name not in IN_HEADERS}
    # Models are not told what a name says already; people are.
    texts = {each.name: each.says.text for each in call.parameters if each.says.text}
    shown = {name: {**each, "description": texts[name]} if name in texts else each for name, each in shown.items()}
    # A version may also stand in the body, where a client cannot send the header.
    if "expected_version" in moved.get("properties", {}):
        shown["expected_version"] = moved["properties"]["expected_version"]
    return {"type": "object", **moved, "properties": shown, "additionalProperties": False}


def _in_query(parameter: Parameter, schema: Mapping[str, Any], body: Mapping[str, Any]) -> dict[str, Any]:
    is_needed = parameter.name in body.get("required", ())
    found: dict[str, Any] = {"name": parameter.name, "in": "query", "required": is_needed, "schema": dict(schema)}
    if parameter.says.text:
        found["description"] = parameter.says.text
    return found


def _answer(call: ApiCall, schemas: dict[str, Any]) -> dict[str, Any]:
    """Describe what a verb returns, as an object; one that stores may also tell which secrets it recognised."""
    shape = _as_object(schema_of(returned_by(call.verb.method), schemas))
    if not (call.verb.effect.writes and call.verb.effect.stores):
        return shape
    return {"allOf": [shape], "type": "object", "properties": {"secrets": _SECRETS}}


def _told_in_headers(call: ApiCall) -> dict[str, Any]:
    told = {}
    if onward(call):
        told["Link"] = {"description": 'rel="next": where to read on', "schema": {"type": "string"}}
    if any(each.name == "expected_version" for each in call.parameters):
        told["ETag"] = {"description": "the version, for If-Match", "schema": {"type": "string"}}
    return told


def _as_object(shape: dict[str, Any]) -> dict[str, Any]:
    """Describe a result as it is answered: what is not an object is the `result` of one."""
    if "anyOf" in shape:
        return {"anyOf": [_as_object(each) for each in shape["anyOf"]]}
    if "$ref" in shape or shape.get("type") == "object":
        return shape
    return {"type": "object", "properties": {"result": shape, "note": _NOTE}}


def _moved(schema: Any) -> Any:
    """Point references at the components of the whole description."""
    if isinstance(schema, list):
        return [_moved(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: each.replace("#/$defs/", COMPONENTS) if key == "$ref" else _moved(each) for key, each in schema.items()
    }
