"""The page that shows the description of the API: requests, answers, and what they consist of.

Plain HTML without scripts or styles. Refuses to know where the description comes from.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from everloom.surfaces.api.calls import ApiCall, api_calls
from everloom.surfaces.api.description import STREAMS, describe
from everloom.surfaces.api.shapes import COMPONENTS
from everloom.wiring.wire.protocol import ROOT


def reference_page() -> str:
    """Show the description as a page without scripts or styles: requests, answers, and what they consist of."""
    known = describe()
    parts = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>everloom: API</title></head><body><main>',
        f'<h1>everloom API</h1><p><a href="{ROOT}/openapi.json">OpenAPI description</a></p>',
    ]
    for tag in known["tags"]:
        parts.append(f"<h2>{escape(tag['name'])}</h2><p>{escape(tag['description'])}</p>")
        parts += [
            _shown(call, known["paths"][call.path]["post"]) for call in api_calls() if call.faculty.name == tag["name"]
        ]
    parts.append("<h2>Streams</h2>")
    parts += [f"<h3><code>GET {path}</code></h3><p>{escape(each['summary'])}</p>" for path, each in STREAMS.items()]
    parts.append("<h2>Types</h2>")
    parts += [_type_shown(name, shape) for name, shape in sorted(known["components"]["schemas"].items())]
    return "".join([*parts, "</main></body></html>"])


def _shown(call: ApiCall, described: Mapping[str, Any]) -> str:
    body = described["requestBody"]["content"]["application/json"]["schema"]
    answer = described["responses"]["200"]["content"]["application/json"]["schema"]
    headers = [each["name"] for each in described["parameters"] if "name" in each]
    return (
        f"<h3><code>{', '.join(call.methods)} {escape(call.path)}</code></h3><p>{escape(call.verb.summary)}</p>"
        f"<h4>Request</h4>{_fields(body)}"
        + "".join(f"<p>Header: <code>{escape(name)}</code></p>" for name in headers)
        + f"<h4>Answer</h4>{_fields(answer)}"
    )


def _type_shown(name: str, shape: Mapping[str, Any]) -> str:
    return f'<h3 id="{escape(name)}"><code>{escape(name)}</code></h3>{_fields(shape)}'


def _fields(shape: Mapping[str, Any]) -> str:
    """List the fields of an object with their types; of anything else, the type alone."""
    if "allOf" in shape:
        return "".join(_fields(each) for each in shape["allOf"])
    if "properties" not in shape:
        return f"<p>{_kind(shape)}</p>"
    required = shape.get("required", ())
    told = f"<p>{escape(shape['description'])}</p>" if "description" in shape else ""
    rows = "".join(
        f"<dt><code>{escape(name)}</code>: {_kind(each)}{' (required)' if name in required else ''}</dt>"
        f"<dd>{escape(each.get('description', ''))}</dd>"
        for name, each in shape["properties"].items()
    )
    return f"{told}<dl>{rows}</dl>" if rows else f"{told}<p>nothing</p>"


def _kind(shape: Mapping[str, Any]) -> str:
    """Write a type in words; one that has a name is a link."""
    if "$ref" in shape:
        name = escape(shape["$ref"].removeprefix(COMPONENTS))
        return f'<a href="#{name}">{name}</a>'
    if "anyOf" in shape:
        return " or ".join(_kind(each) for each in shape["anyOf"])
    if "enum" in shape:
        return escape(" | ".join(map(str, shape["enum"])))
    if shape.get("type") == "array":
        return f"list of {_kind(shape.get('items', {}))}"
    return escape(str(shape.get("format") or shape.get("type") or "anything"))
