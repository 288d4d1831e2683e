"""The tokens of this program as a client: from the environment, or from a file that only its owner can read.

A line of the file is an address and its token, so that no token ever goes to a server that it is not for. Refuses to
know settings files, and never quotes a token.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any

from everloom.errors import Rejected
from everloom.remote.calls import Peer
from everloom.store.files import make_private, write_whole

if TYPE_CHECKING:
    from everloom.settings import Settings

_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def remote_token(settings: Settings, url: str) -> str | None:
    """Return the token for a server: that of the environment, or the one that is kept for its address."""
    held: Any = settings.secrets.everloom_token
    if held is not None:
        found: str = held.get_secret_value()
        return found
    file = settings.store.token_file
    return None if file is None else _kept_in(file.expanduser()).get(Peer.at(url).url)


def keep_token(file: Path, url: str, token: str | None) -> None:
    """Keep the token of a server, or take it out if there is none; the file is replaced as a whole."""
    kept = _kept_in(file) if file.exists() else {}
    kept.pop(Peer.at(url).url, None)
    if token is not None:
        kept[Peer.at(url).url] = token
    make_private(file.parent)
    # Resolved: people keep such files elsewhere, and replacing a link would cut it off from there.
    write_whole(file.resolve(), "".join(f"{address} {secret}\n" for address, secret in kept.items()).encode())


def _kept_in(file: Path) -> dict[str, str]:
    """Read the tokens by the addresses they are for."""
    try:
        # Windows has no such modes; there the directory of the user protects it.
        if os.name != "nt" and file.stat().st_mode & _OTHERS:
            raise Rejected(f"others can read {file}, which holds tokens", hint=f"run `chmod 600 {file}`")
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not text"
        hint = "make it readable to this user, or clear store.token_file and set EVERLOOM_TOKEN"
        raise Rejected(f"cannot read the tokens in {file}: {why}", hint=hint) from None
    parts = (line.split() for line in lines if line.strip() and not line.startswith("#"))
    return {each[0]: each[1] for each in parts if len(each) == 2}
