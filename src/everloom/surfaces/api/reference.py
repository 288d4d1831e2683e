"""The page that shows the description of the API: requests, answers, and what they consist of.

Plain HTML without scripts, in the house's styles. Refuses to know where the description comes from.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from importlib import resources
from typing import Any

from everloom.surfaces.api.calls import ApiCall, api_calls
from everloom.surfaces.api.description import STREAMS, describe
from everloom.surfaces.api.shapes import COMPONENTS
from everloom.surfaces.web.look import house_style
from everloom.wiring.wire.protocol import ROOT

REFERENCE = f"{ROOT}/reference"
STYLE = f"{REFERENCE}.css"
_STREAMS, _TYPES = "Streams", "Types"
_REQUIRED = ' <span class="must">(required)</span>'
_OPENING = (
    '<main id="main" tabindex="-1"><h1>everloom API</h1><p class="lead">Every call, what it takes and what it answers. '
    f'Programs read the same in the <a href="{ROOT}/openapi.json">OpenAPI description</a>.</p>'
)


def reference_page(theme: str) -> str:
    """Show the description as a page without scripts: requests, answers, and what they consist of."""
    known = describe()
    tags = known["tags"]
    names = [*(each["name"] for each in tags), _STREAMS, _TYPES]
    links = "".join(f'<li><a href="#{escape(_anchor(each))}">{escape(each)}</a></li>' for each in names)
    parts = [_head(theme), f'<div class="frame"><nav aria-label="Sections"><ul>{links}</ul></nav>', _OPENING]
    for tag in tags:
        parts.append(_heading(tag["name"]) + f'<p class="lead">{escape(tag["description"])}</p>')
        parts += [
            _shown(call, known["paths"][call.path]["post"]) for call in api_calls() if call.faculty.name == tag["name"]
        ]
    parts.append(_heading(_STREAMS))
    parts += [
        f'<div class="type"><h3><code>GET {path}</code></h3><p>{escape(each["summary"])}</p></div>'
        for path, each in STREAMS.items()
    ]
    parts.append(_heading(_TYPES))
    parts += [_type_shown(name, shape) for name, shape in sorted(known["components"]["schemas"].items())]
    return "".join([*parts, "</main></div></body></html>"])


def reference_style() -> bytes:
    """Return the styles of the page: the house's, and its own."""
    return house_style() + (resources.files("everloom.surfaces.api") / "reference.css").read_bytes()


def _head(theme: str) -> str:
    scheme = "light dark" if theme == "auto" else theme
    return (
        f'<!doctype html><html lang="en" data-theme="{escape(theme)}"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="color-scheme" content="{escape(scheme)}"><title>API · everloom</title>'
        f'<link rel="stylesheet" href="{STYLE}"></head><body>'
        '<a class="skip" href="#main">Skip to the content</a>'
        '<header class="top"><a class="brand" href="/">everloom</a></header>'
    )


def _anchor(name: str) -> str:
    # Not the name alone: types have anchors of their own.
    return f"calls-{name}"


def _heading(name: str) -> str:
    return f'<h2 id="{escape(_anchor(name))}">{escape(name)}</h2>'


def _shown(call: ApiCall, described: Mapping[str, Any]) -> str:
    body = described["requestBody"]["content"]["application/json"]["schema"]
    answer = described["responses"]["200"]["content"]["application/json"]["schema"]
    headers = [each["name"] for each in described["parameters"] if "name" in each]
    return (
        f'<details class="call"><summary><code>{", ".join(call.methods)} {escape(call.path)}</code> '
        f'<span class="says">{escape(call.verb.summary)}</span></summary>'
        f"<h3>Request</h3>{_fields(body)}"
        + "".join(f"<p>Header: <code>{escape(name)}</code></p>" for name in headers)
        + f"<h3>Answer</h3>{_fields(answer)}</details>"
    )


def _type_shown(name: str, shape: Mapping[str, Any]) -> str:
    return f'<div class="type"><h3 id="{escape(name)}"><code>{escape(name)}</code></h3>{_fields(shape)}</div>'


def _fields(shape: Mapping[str, Any]) -> str:
    """List the fields of an object with their types; of anything else, the type alone."""
    if "allOf" in shape:
        return "".join(_fields(each) for each in shape["allOf"])
    if "properties" not in shape:
        return f"<p>{_kind(shape)}</p>"
    required = shape.get("required", ())
    told = f"<p>{escape(shape['description'])}</p>" if "description" in shape else ""
    rows = "".join(
        f"<dt><code>{escape(name)}</code>: {_kind(each)}{_REQUIRED if name in required else ''}</dt>"
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
