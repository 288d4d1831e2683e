"""A glance at the settings of hooks, without the library that checks settings: loading that costs more than most hooks.

Decides only whether there is anything to do. Whoever goes on reads the settings properly, and is told what is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

_SECTION = "hooks"
_PREFIX = "EVERLOOM_"


class Glance:
    """What the settings file and the environment say about hooks, unchecked."""

    def __init__(self, environ: Mapping[str, str], config: str | None) -> None:
        self._environ = environ
        self._file = config or environ.get(f"{_PREFIX}CONFIG") or None
        self._section: Mapping[str, Any] | None = None

    def is_on(self, name: str, *, default: bool) -> bool:
        """Return whether a switch is on."""
        value = self._value(name)
        return default if value is None else str(value).strip().lower() in {"1", "true", "yes", "on", "t", "y"}

    def number(self, name: str, default: float) -> float:
        """Return a number; the default if it is none."""
        try:
            return float(str(self._value(name)))
        except ValueError:
            return default

    @property
    def surroundings(self) -> str:
        """Tell the variables that lead to a memory from others, without keeping what is in them."""
        from hashlib import sha256  # noqa: PLC0415  most hooks need none

        ours = sorted((name, value) for name, value in self._environ.items() if name.startswith(_PREFIX))
        return sha256(repr(ours).encode("utf-8", "surrogatepass")).hexdigest()[:16]

    def _value(self, name: str) -> object:
        told = self._environ.get(f"{_PREFIX}{_SECTION}_{name}".upper())
        if told:
            return told
        if self._section is None:
            self._section = self._read()
        return self._section.get(name)

    def _read(self) -> Mapping[str, Any]:
        path = Path(self._file) if self._file else default_file()
        try:
            text = path.read_text(encoding="utf-8")
            # Most files only have comments here.
            if f"[{_SECTION}]" not in text and f"{_SECTION}." not in text:
                return {}
            import tomllib  # noqa: PLC0415  most hooks need none

            found = tomllib.loads(text).get(_SECTION, {})
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}


def default_file() -> Path:
    """Return the path of the settings file, as `everloom.settings` does, without what that loads."""
    import platformdirs  # noqa: PLC0415  not where a file is named

    return Path(platformdirs.user_config_dir("everloom")) / "everloom.toml"


def data_directory() -> Path:
    """Return the directory of what hooks remember about themselves."""
    import platformdirs  # noqa: PLC0415  not where nothing is kept

    return Path(platformdirs.user_data_dir("everloom")) / "hooks"
