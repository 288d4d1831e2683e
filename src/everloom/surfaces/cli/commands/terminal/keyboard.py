"""The keyboard of a terminal: keys one by one, unechoed, and the signals that concern a line being typed.

Ctrl-C stays a signal, so that it ends whatever runs. Needs a POSIX terminal; whoever has none reads lines instead.
"""

from __future__ import annotations

import os
import select
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import current_thread, main_thread
from types import FrameType

from everloom.surfaces.cli.commands.terminal.keys import PASTE_OFF, PASTE_ON, KeyPress, KeyReader

# Lines that come faster than this are pasted, not typed. After keys that came together, the rest may be on its way.
_PAUSE_SECONDS = 0.03
_BURST_SECONDS = 0.2
_DRAG_SECONDS = 0.1
_TEXTS = frozenset({"text", "paste", "enter", "new line", "tab"})
RESIZED, RESUMED = "resized", "resumed"


class Keyboard:
    """Keys that somebody presses; use it within `listening`."""

    def __init__(self) -> None:
        self._file = sys.stdin.fileno()
        self._reader = KeyReader()
        self._waiting: deque[KeyPress] = deque()
        self._signals: deque[str] = deque()
        self._alarm = os.pipe()
        self._came_together = False

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Take keys unechoed for as long as the sitting lasts, also while a reply is written."""
        import termios  # noqa: PLC0415  not on Windows

        before = termios.tcgetattr(self._file)

        def give_back() -> None:
            with suppress(termios.error, OSError):
                os.write(sys.stdout.fileno(), PASTE_OFF.encode())
                termios.tcsetattr(self._file, termios.TCSADRAIN, before)

        handlers = self._watch_signals(give_back)
        try:
            self.begin()
            yield
        finally:
            for number, handler in handlers:
                signal.signal(number, handler)  # type: ignore[arg-type]
            sys.stdout.flush()
            give_back()
            for end in self._alarm:
                os.close(end)

    def begin(self) -> None:
        """Put the terminal into the state in which keys are read."""
        import termios  # noqa: PLC0415  as above

        state = termios.tcgetattr(self._file)
        state[0] &= ~(termios.ICRNL | termios.INLCR | termios.IXON)
        state[3] &= ~(termios.ICANON | termios.ECHO | termios.IEXTEN)
        state[3] |= termios.ISIG
        state[6][termios.VMIN], state[6][termios.VTIME] = 1, 0
        with suppress(termios.error):
            termios.tcsetattr(self._file, termios.TCSADRAIN, state)
        sys.stdout.write(PASTE_ON)
        sys.stdout.flush()

    def _watch_signals(self, give_back: Callable[[], None]) -> list[tuple[int, object]]:
        if current_thread() is not main_thread():
            return []

        def end(number: int, _: FrameType | None) -> None:
            # Whoever is told to end leaves a terminal in which one sees what one types.
            give_back()
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)

        names = {signal.SIGWINCH: RESIZED, signal.SIGCONT: RESUMED}

        def note(number: int, _: FrameType | None) -> None:
            self._signals.append(names[signal.Signals(number)])
            os.write(self._alarm[1], b"!")

        acts = {**dict.fromkeys(names, note), signal.SIGTERM: end}
        return [(number, signal.signal(number, act)) for number, act in acts.items()]

    def next(self) -> KeyPress | None:
        """Wait for a key or a signal; None at the end of the input."""
        while not self._waiting:
            if self._signals:
                return KeyPress(self._settled(self._signals.popleft()))
            ready = select.select([self._file, self._alarm[0]], [], [])[0]
            if self._alarm[0] in ready:
                os.read(self._alarm[0], 1)
            elif not self._take():
                return None
        return self._waiting.popleft()

    @property
    def has_more(self) -> bool:
        """Return whether further keys have been read already."""
        return bool(self._waiting)

    def _settled(self, name: str) -> str:
        """Wait until a window has its size: whoever drags an edge sends many signals."""
        while name == RESIZED and select.select([self._alarm[0]], [], [], _DRAG_SECONDS)[0]:
            os.read(self._alarm[0], 1)
            self._signals = deque(each for each in self._signals if each != RESIZED)
        return name

    def goes_on(self) -> bool:
        """Say whether more came with the last key than a person could have typed since."""
        pause = _BURST_SECONDS if self._came_together else _PAUSE_SECONDS
        if not self._waiting and select.select([self._file], [], [], pause)[0]:
            self._take()
        # Ctrl-D or an arrow after the Enter is no text.
        return bool(self._waiting) and self._waiting[0].name in _TEXTS

    def give_back(self, key: KeyPress) -> None:
        """Let a key be the next one again."""
        self._waiting.appendleft(key)

    def _take(self) -> bool:
        try:
            data = os.read(self._file, 65_536)
        except OSError:
            # The window was closed.
            return False
        keys = self._reader.feed(data)
        self._came_together = len(keys) > 1
        self._waiting.extend(keys)
        return bool(data)
