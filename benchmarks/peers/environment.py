"""An environment for each memory, made on first use below one cache folder, by the ordinary clients of the registries.

Knows how to install and how to weigh what was installed; knows nothing of what runs there.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.peers.roster import MODEL, ROOT, Peer

READY = "ready.json"
SLOWEST_INSTALL = 1800
LOADS_EXTENSIONS = "import sqlite3; sqlite3.connect(':memory:').enable_load_extension(True)"


class Unavailable(Exception):
    """A memory that cannot be installed or run here, and why."""


@dataclass(frozen=True, slots=True)
class Environment:
    """Where a memory is installed, and how many megabytes it takes: its own, and what the model adds."""

    python: str
    home: str
    own_mb: float
    model_mb: float
    wants: tuple[str, ...]


def prepare(peer: Peer, cache: Path) -> Environment:
    """Find the environment of a memory, or make it."""
    if not peer.home:
        return Environment(sys.executable, str(cache), 0.0, 0.0, ())
    home = cache / peer.home
    wants = wanted(peer)
    known = remembered(home)
    if known is not None and known.wants == wants:
        return known
    made = with_node(peer, home, wants) if peer.node_packages else with_python(peer, home, wants)
    (home / READY).write_text(json.dumps(asdict(made)), encoding="utf-8")
    return made


def wanted(peer: Peer) -> tuple[str, ...]:
    """List what must be installed, so that a change of it is seen; this repository counts by the state of its files."""
    wants = (*peer.packages, *peer.node_packages, *(MODEL if peer.has_model else ()))
    if not peer.is_ours:
        return wants
    files = sorted(file for file in (ROOT / "src").rglob("*") if file.is_file() and "__pycache__" not in file.parts)
    states = [(str(file), file.stat().st_mtime_ns) for file in (ROOT / "pyproject.toml", *files)]
    return (*wants, hashlib.sha256(repr(states).encode()).hexdigest())


def remembered(home: Path) -> Environment | None:
    """Read what was installed in a folder, if it was installed to the end."""
    try:
        known = json.loads((home / READY).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    return Environment(**{**known, "wants": tuple(known["wants"])})


def with_node(peer: Peer, home: Path, wants: tuple[str, ...]) -> Environment:
    """Install packages of Node.js; their client is the Python that runs this."""
    if not shutil.which("npm") or not shutil.which("node"):
        raise Unavailable("needs Node.js with npm")
    afresh(home)
    run(["npm", "install", "--no-audit", "--no-fund", "--prefix", str(home), *peer.node_packages])
    return Environment(sys.executable, str(home), weight(home), 0.0, wants)


def with_python(peer: Peer, home: Path, wants: tuple[str, ...]) -> Environment:
    """Make a virtual environment without pip, so that it holds the memory only, and weigh it before the model comes."""
    afresh(home)
    run([interpreter(peer), "-m", "venv", "--without-pip", str(home / "env")])
    python = str(home / "env" / ("Scripts" if os.name == "nt" else "bin") / "python")
    pins = home / "pins.txt"
    pins.write_text("\n".join(MODEL) + "\n", encoding="utf-8")
    install(python, [*peer.packages, "-c", str(pins)])
    own = weight(home)
    if peer.has_model:
        # One by one: torch must be there before anything asks for it.
        for package in MODEL:
            install(python, [package, "-c", str(pins)])
    return Environment(python, str(home), own, weight(home) - own, wants)


def install(python: str, arguments: Sequence[str]) -> None:
    """Install into another environment with the pip of this one."""
    run([sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-input", *arguments])


def interpreter(peer: Peer) -> str:
    """Choose the Python of an environment: this one, unless it lacks what the memory needs and another has it."""
    if not peer.loads_extensions:
        return sys.executable
    for candidate in candidates():
        done = subprocess.run([candidate, "-c", LOADS_EXTENSIONS], capture_output=True, check=False)
        if done.returncode == 0:
            return candidate
    raise Unavailable("needs a Python whose sqlite3 can load extensions; none is on the PATH")


def candidates() -> Iterator[str]:
    """List this Python and all that the PATH leads to."""
    yield sys.executable
    name = f"python3.{sys.version_info.minor}"
    for folder in os.get_exec_path():
        found = shutil.which(name, path=folder)
        if found:
            yield found


def afresh(home: Path) -> None:
    """Begin with an empty folder: half an installation is none."""
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)


def run(command: Sequence[str]) -> None:
    """Run a command to its end, or say in one line why it failed."""
    try:
        subprocess.run(command, capture_output=True, text=True, check=True, timeout=SLOWEST_INSTALL)
    except subprocess.CalledProcessError as error:
        said = [line for line in error.stderr.splitlines() if line.strip() and "WARNING" not in line]
        raise Unavailable(f"could not be installed: {said[-1] if said else error}") from error
    except subprocess.TimeoutExpired as error:
        raise Unavailable(f"could not be installed within {SLOWEST_INSTALL} s") from error


def weight(folder: Path) -> float:
    """Sum up the files below a folder, in megabytes."""
    return sum(file.lstat().st_size for file in folder.rglob("*") if not file.is_dir()) / 1e6
