"""The fixed vocabularies of the graph: memory types with directories and weights, relation types, layout. Pure."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from uuid import UUID, uuid5

from everloom.errors import Rejected


@dataclass(frozen=True, slots=True)
class _MemoryKind:
    """One type of memory: where its files live, and how slowly it fades."""

    directory: str
    weight: float


# Directories and weights are the contract's, and other programs read and write the same ones.
KINDS: dict[str, _MemoryKind] = {
    "solution": _MemoryKind("graph/solutions", 1.2),
    "fix": _MemoryKind("graph/fixes", 1.0),
    "decision": _MemoryKind("graph/decisions", 1.3),
    "configuration": _MemoryKind("graph/configurations", 1.1),
    "problem": _MemoryKind("graph/problems", 0.9),
    "workflow": _MemoryKind("graph/workflows", 1.0),
    "code_pattern": _MemoryKind("graph/code-patterns", 1.1),
    "error": _MemoryKind("graph/errors", 0.8),
    "general": _MemoryKind("graph/general", 0.8),
    "procedure": _MemoryKind("graph/procedures", 1.4),
    "insight": _MemoryKind("graph/insights", 1.25),
}
# A note without a type is of this one, and an own type of a person weighs as much.
DEFAULT_TYPE = "general"
OWN_WEIGHT = KINDS[DEFAULT_TYPE].weight
RELATIONS = ("SOLVES", "CAUSES", "BUILDS_ON", "ALTERNATIVE_TO", "REQUIRES", "FOLLOWS", "RELATED_TO")

MEMORIES, EDGES, VAULT, EPISODES = "graph", "graph/edges", "vault", "episodes"
CORE, REFLECTION = "CORE.md", "REFLECTION.md"
# How often and when memories were read, for other clones.
ACCESS = "_access.tsv"
# The JSON files belong to other programs on the same directory. They hold counters that change with every access (and,
# in the configuration, API keys), so committing them would fill the history with noise or leak a secret.
IGNORE, GITIGNORE = ".gitignore", "_state.json\n_index.json\n_embeddings.json\n_config.json\n.everloom/\n"

# The name space of ids that are made from paths; it must never change.
_NOTES = UUID("6f1e9a5c-2d0b-5b7e-9c4e-3a8d51f0c7b2")

# The fields of a procedure that hold a list of texts.
LISTS = ("steps", "preconditions", "postconditions")
DEFAULT_STRENGTH = 0.5


def path_id(path: str, salt: str = "") -> str:
    """Make the id of a note that has none from its path; the same on every machine."""
    return str(uuid5(_NOTES, unicodedata.normalize("NFC", path) + salt))


def folded_type(name: str) -> str:
    """Normalise the spelling of a type."""
    return " ".join(name.split()).casefold().replace("-", "_")


def weight_of(name: str) -> float:
    """Return how slowly memories of a type fade."""
    return KINDS[name].weight if name in KINDS else OWN_WEIGHT


def directory_of(name: str) -> str:
    """Return the directory for new files of a type."""
    return KINDS[name if name in KINDS else DEFAULT_TYPE].directory


def checked_type(name: str) -> str:
    """Check the name of a memory type and normalise its spelling."""
    folded = folded_type(name)
    if folded not in KINDS:
        raise Rejected(f"there is no memory type {name!r}", hint=f"use one of {', '.join(KINDS)}")
    return folded


def checked_relation(name: str) -> str:
    """Check the name of a relation type and normalise its spelling."""
    folded = name.strip().upper().replace("-", "_").replace(" ", "_")
    if folded not in RELATIONS:
        raise Rejected(f"there is no relation type {name!r}", hint=f"use one of {', '.join(RELATIONS)}")
    return folded


def checked_share(value: float, what: str) -> float:
    """Check that a number is from 0 to 1."""
    if not 0.0 <= value <= 1.0:
        raise Rejected(f"{what} is {value}, which is out of range", hint="use a number from 0 to 1")
    return float(value)
