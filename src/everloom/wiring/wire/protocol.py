"""What a client and a server of the JSON API agree on: paths, headers, and how a header writes any text.

Known to both sides, so that neither has a second list. Refuses to know HTTP libraries and verbs.
"""

from __future__ import annotations

from contextlib import suppress
from urllib.parse import quote, unquote

ROOT = "/api/v1"
CHANGES = f"{ROOT}/changes"
JOB_CHANGES = f"{ROOT}/jobs/changes"
ANSWER = f"{ROOT}/mind/answer"

WORKSPACE_HEADER = "x-memory-workspace"
SESSION_HEADER = "x-memory-session-id"
READONLY_HEADER = "x-memory-readonly"
TIER_HEADER = "x-memory-model-tier"
ORIGIN_HEADER = "x-memory-origin"
# Asks for an answer from which the result can be made again exactly (`kernel/answer/whole.py`).
WHOLE_HEADER = "x-memory-whole"
KEY_HEADER = "idempotency-key"
VERSION_HEADER = "if-match"
# Which version of the program answers: what it answers may have another shape in another one.
PROGRAM_HEADER = "x-everloom-version"
PROBLEM = "application/problem+json"

# The largest request; what is larger is refused before it is read, or sent.
MOST_BYTES = 4 * 2**20

KEY = "idempotency_key"
# Parameters that arrive as headers, each with the header.
IN_HEADERS = {KEY: KEY_HEADER, "expected_version": VERSION_HEADER}


def is_remote(url: str) -> bool:
    """Return whether an address is that of a server, and not of a store."""
    return url.lower().startswith(("http://", "https://"))


def path_of(faculty: str, verb: str) -> str:
    """Return the path of a verb, such as /api/v1/semantic/remember."""
    return f"{ROOT}/{faculty}/{verb}"


def as_header(text: str) -> str:
    """Write any text so that a header can carry it."""
    return quote(text, safe="!#$&'()*+,/:;=?@[]~")


def from_header(value: str) -> str:
    """Read a text that a header carried, escaped or as plain UTF-8."""
    # Servers hand out the bytes of a header one character each; programs such as curl send UTF-8 as it was typed.
    with suppress(UnicodeError):
        value = value.encode("latin-1").decode()
    return unquote(value)
