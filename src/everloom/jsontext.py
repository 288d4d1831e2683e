"""Writes JSON whose strings contain no line break in any reader's sense, and nothing that UTF-8 cannot encode.

`json` escapes the control characters of ASCII. U+0085, U+2028 and U+2029 also end a line for some readers of logs,
exports and event streams, and a lone surrogate has no encoding; those are escaped here. Every JSON that leaves the
program passes through this module. It must not depend on anything else in the package.
"""

from __future__ import annotations

import re
from typing import Any

_RAW = re.compile("[\x80-\x9f\u2028\u2029\ud800-\udfff]")
# The same in UTF-8, where such a sequence of bytes can be nothing else.
_RAW_BYTES = re.compile(rb"\xc2[\x80-\x9f]|\xe2\x80[\xa8\xa9]")


def to_json(value: object, **style: Any) -> str:
    """Write a value as JSON; `style` is that of `json.dumps`."""
    import json  # noqa: PLC0415  a help page writes none

    return escaped(json.dumps(value, ensure_ascii=False, **style))


def escaped(text: str) -> str:
    """Escape the characters of a JSON text that its writer left as they are."""
    return text if text.isascii() else _RAW.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def escaped_bytes(body: bytes) -> bytes:
    """Escape the same characters in a JSON text that is encoded already."""
    if body.isascii():
        return body
    return _RAW_BYTES.sub(lambda found: b"\\u%04x" % ord(found[0].decode()), body)
