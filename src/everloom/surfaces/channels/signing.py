"""Signs and verifies messages between programs: HMAC-SHA256 over the time and the body. Pure.

A signature is `t=SECONDS,v1=HEX`; the signed text is the seconds, a full stop and the body as it was sent. There is one
way to write a signature, so that the same message never arrives under two.
"""

from __future__ import annotations

import hashlib
import hmac
import re

HEADER = "X-Everloom-Signature"
# How far two clocks may differ, and for how long a captured message could be replayed.
WINDOW_SECONDS = 300
# Without leading zeros and in ASCII digits: `t=0123` would be the same time as `t=123`, in another spelling.
_FORM = re.compile(r"t=(0|[1-9][0-9]{0,11}),v1=([0-9a-f]{64})")


def signature(secret: str, body: bytes, at: int) -> str:
    """Sign a body at a time in seconds since 1970."""
    return f"t={at},v1={_digest(secret, body, at)}"


def _digest(secret: str, body: bytes, at: int) -> str:
    """Compute the HMAC of a time and a body."""
    return hmac.new(secret.encode(), f"{at}.".encode() + body, hashlib.sha256).hexdigest()


def verified(secret: str, body: bytes, header: str | None, now: int) -> str | None:
    """Return the digest of a body that was signed with the secret, and recently; None for any other.

    A digest belongs to one time and one body: whoever has seen it before has seen this message before.
    """
    found = _FORM.fullmatch(header or "")
    if found is None:
        return None
    at, digest = int(found[1]), _digest(secret, body, int(found[1]))
    # In constant time, so that the duration does not tell how much of a guess was right.
    is_right = hmac.compare_digest(digest, found[2])
    return digest if is_right and abs(now - at) <= WINDOW_SECONDS else None
