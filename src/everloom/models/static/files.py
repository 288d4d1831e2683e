"""The files of installed packages: where they are, and whether they are the ones that this code was written for.

Packages of weights are young and have one keeper each, so every file is checked before it is used.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import file_digest
from importlib.util import find_spec
from pathlib import Path

from everloom.errors import ProviderError, Rejected


@dataclass(frozen=True, slots=True)
class WeightPackage:
    """A package that carries files of a model: its import name, its distribution, and the SHA-256 of each file."""

    module: str
    distribution: str
    digests: Mapping[str, str]

    def folder(self, extra: str) -> Path:
        """Find the package without importing it; `extra` installs it."""
        if (folder := package_folder(self.module)) is None:
            # Rejected, and not an embedder that is down: with a silent fallback nobody would notice what is missing.
            hint = f"pip install 'everloom[{extra}]'"
            raise Rejected(f"the package {self.distribution} is not installed", hint=hint)
        return folder

    def check(self, folder: Path) -> None:
        """Refuse files that are missing or have other contents than expected."""
        for name, digest in self.digests.items():
            if (fault := _fault(folder / name, digest)) is not None:
                hint = f"pip install --force-reinstall {self.distribution}"
                raise ProviderError(f"{folder / name} {fault}, so it is not used", hint=hint)


def package_folder(module: str) -> Path | None:
    """Find an installed package without importing it."""
    found = find_spec(module)
    return Path(found.submodule_search_locations[0]) if found and found.submodule_search_locations else None


def _fault(file: Path, digest: str) -> str | None:
    try:
        with file.open("rb") as stream:
            actual = file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        return f"cannot be read ({error.strerror})"
    return None if actual == digest else f"has the SHA-256 {actual[:12]}… where {digest[:12]}… is expected"
