"""How a terminal may be written to: with colours or without, with a cursor that moves or without.

Looks at the streams and the environment once. Refuses to know what is written.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec

from everloom.surfaces.cli.render.plot import can_draw
from everloom.surfaces.cli.runtime.colours import Meaning, painted

_LEAST_COLUMNS = 20
_FEWEST_ROWS = 4


@dataclass(frozen=True, slots=True)
class TerminalLook:
    """What a terminal can do, and what its person wants.

    `edits`: a line is edited key by key, which moves the cursor. `is_lively`: replies have colours and signs of life.
    """

    is_terminal: bool = False
    edits: bool = False
    is_lively: bool = False
    draws: bool = False
    # Whether rows that no longer fit are broken when a window becomes narrower, as most terminals do.
    reflows: bool = True

    @property
    def columns(self) -> int:
        """Return how wide the terminal is now; without one, lines have no end."""
        return max(_LEAST_COLUMNS, _size()[0]) if self.is_terminal else sys.maxsize

    @property
    def rows(self) -> int:
        """Return how high the terminal is now."""
        return max(_FEWEST_ROWS, _size()[1])

    def paint(self, text: str, meaning: Meaning) -> str:
        """Colour a text, if that is wanted."""
        return painted(text, meaning) if self.is_lively and text else text


def _size() -> tuple[int, int]:
    # The terminal itself first: a variable in the environment does not follow when a window is resized.
    with suppress(OSError, ValueError):
        columns, rows = os.get_terminal_size(sys.stdout.fileno())
        if columns and rows:
            return columns, rows
    return shutil.get_terminal_size()


def look_around(environ: Mapping[str, str] = os.environ, *, no_color: bool = False) -> TerminalLook:
    """Find out what standard input and output are."""
    is_terminal = sys.stdout.isatty()
    # A terminal that does not say what it is, and the console of Windows, get plain text. So do emacs and many logs.
    knows_codes = environ.get("TERM", "") not in ("", "dumb") and find_spec("termios") is not None
    return TerminalLook(
        is_terminal=is_terminal,
        edits=is_terminal and knows_codes and sys.stdin.isatty(),
        is_lively=is_terminal and knows_codes and not no_color and not environ.get("NO_COLOR"),
        draws=can_draw(sys.stdout.encoding),
        reflows=not (environ.get("XTERM_VERSION") or environ.get("STY") or environ.get("TERM") == "linux"),
    )
