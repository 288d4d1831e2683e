"""Listening with a program on this machine: it is given a file, and writes what it hears to its standard output."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from everloom.errors import ProviderBusy, ProviderDenied, ProviderError
from everloom.models.hear import Recording, Transcript
from everloom.models.text import shortened

_LONGEST = 200_000
_HINT = "voice.model names the program: local:whisper-cli --no-prints -f"


class LocalHear:
    """A program that listens; no shell is involved, and it may take so many seconds."""

    def __init__(self, command: str, seconds: float) -> None:
        self._command = shlex.split(command)
        # The program alone: its arguments may name places of this machine.
        self.name = f"local:{Path(self._command[0]).name}"
        self._seconds = seconds

    def hear(self, recording: Recording) -> Transcript:
        """Let the program listen to a recording."""
        kind = recording.media_type.partition("/")[2] or "bin"
        # A directory of our own, which nobody else can read.
        with TemporaryDirectory(prefix="everloom-voice-") as folder:
            file = Path(folder) / f"voice.{kind if kind.isalnum() else 'bin'}"
            file.write_bytes(recording.data)
            try:
                done = subprocess.run(
                    [*self._command, str(file)],
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    timeout=self._seconds,
                    check=False,
                )
            except FileNotFoundError:
                raise ProviderDenied(f"there is no program {self._command[0]}", hint=_HINT) from None
            except subprocess.TimeoutExpired:
                raise ProviderBusy(
                    f"{self.name} took longer than {self._seconds:.0f} s", hint="voice.seconds"
                ) from None
            except OSError as error:
                raise ProviderDenied(f"{self.name} cannot be run: {error.strerror}", hint=_HINT) from None
        if done.returncode:
            said = shortened(done.stderr.decode("utf-8", "replace"), 200)
            raise ProviderError(f"{self.name} failed with {done.returncode}: {said}")
        return Transcript(done.stdout.decode("utf-8", "replace")[:_LONGEST])
