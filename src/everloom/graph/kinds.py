"""The fixed vocabularies of the graph: memory types with directories and weights, relation types, layout. Pure."""

from __future__ import annotations

from dataclasses import dataclass

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
RELATIONS = ("SOLVES", "CAUSES", "BUILDS_ON", "ALTERNATIVE_TO", "REQUIRES", "FOLLOWS", "RELATED_TO")

MEMORIES, EDGES, VAULT, EPISODES = "graph", "graph/edges", "vault", "episodes"
CORE, REFLECTION = "CORE.md", "REFLECTION.md"
# How often and when memories were read, for other clones.
ACCESS = "_access.tsv"
# The JSON files belong to other programs on the same directory. They hold counters that change with every access (and,
# in the configuration, API keys), so committing them would fill the history with noise or leak a secret.
IGNORE, GITIGNORE = ".gitignore", "_state.json\n_index.json\n_embeddings.json\n_config.json\n.everloom/\n"

# The fields of a procedure that hold a list of texts.
LISTS = ("steps", "preconditions", "postconditions")
DEFAULT_STRENGTH = 0.5


def checked_type(name: str) -> str:
    """Check the name of a memory type and normalise its spelling."""
    folded = name.strip().lower().replace("-", "_")
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
