"""Writes a directory of memories as years of work would leave it: types, tags, relations, edge files and a vault.

Every file has the contract's format. The same seed makes the same directory, so that two runs measure the same thing.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

from everloom.graph.files.disk import edge_stem, slug
from everloom.graph.files.render import render_file
from everloom.graph.kinds import EDGES, KINDS, VAULT
from everloom.graph.results import Edge, Memory, Relation

# Of so many files one is an edge, and of so many memories one is in the vault.
_EDGE_EVERY, _VAULT_EVERY = 5, 400
_DAYS = 60
_THINGS = (
    "Redis PostgreSQL nginx Grafana Kafka Traefik Ansible Terraform Vault Keycloak MinIO Prometheus RabbitMQ Celery "
    "Django FastAPI Vite Tailwind Postgres-replica Jenkins GitLab Harbor Longhorn Cilium WireGuard Nextcloud Paperless "
    "Immich Jellyfin Zigbee2MQTT Mosquitto OPNsense Proxmox ZFS restic borg Loki Tempo OpenSearch ClickHouse DuckDB"
).split()
_PARTS = (
    "connection-pool certificate index-rebuild backup cache login webhook scheduler migration upload search queue mail "
    "report export import dashboard firewall volume replica session proxy dns build deploy rollback lint fixture token"
).split()
_TROUBLE = (
    "times out under load",
    "returns stale rows",
    "loses its lock after a restart",
    "fills the disk overnight",
    "fails on names with umlauts",
    "answers with a 502 for some seconds",
    "runs twice after the clock change",
    "leaks file handles",
    "ignores the new setting",
    "blocks while another job writes",
)
_REMEDIES = (
    "raised the limit",
    "pinned the version",
    "moved the work to a queue",
    "added a retry with jitter",
    "rebuilt the index concurrently",
    "set an explicit time zone",
    "closed the handle in a finally block",
    "rotated the key and wrote down where it is",
    "turned the cache off for that path",
    "split the transaction in two",
)
_REASONS = (
    "the default had changed between two releases",
    "nobody had measured it at this size",
    "two teams believed the other one owned it",
    "the documentation names the old option",
    "the health check only looked at the port",
    "the test data had no such row",
    "the proxy buffered the whole body",
    "a cron job held the same lock",
)
_RELATIONS = ("SOLVES", "CAUSES", "BUILDS_ON", "ALTERNATIVE_TO", "REQUIRES", "FOLLOWS", "RELATED_TO")
_PROJECTS = "homelab billing atlas lighthouse orchard ferry".split()
_PEOPLE = "Ada Bram Chiara Dmitri Esra Femi Grace Hanno Ines Jun".split()


def furnish(root: Path, count: int, *, seed: int = 7) -> list[Memory]:
    """Write so many files below a directory, and return the memories among them."""
    chance = random.Random(seed)
    memories, edges = _connected(chance, [_memory(chance, number) for number in range(_memories_of(count))], count)
    made: set[Path] = set()
    contents: list[Memory | Edge] = [*memories, *edges]
    for content in contents:
        file = root / content.path
        if file.parent not in made:
            file.parent.mkdir(parents=True, exist_ok=True)
            made.add(file.parent)
        file.write_bytes(render_file(content))
        at = content.updated.timestamp()
        os.utime(file, (at, at))
    return memories


def questions(count: int, *, seed: int = 11) -> list[str]:
    """Make questions as people ask them of such a directory."""
    chance = random.Random(seed)
    return [
        f"why does the {chance.choice(_PARTS)} of {chance.choice(_THINGS)} {chance.choice(_TROUBLE)}?"
        for _ in range(count)
    ]


def sentences(count: int, *, seed: int = 7) -> Iterator[str]:
    """Tell the same as so many memories, as plain texts."""
    chance = random.Random(seed)
    for number in range(count):
        memory = _memory(chance, number)
        yield f"{memory.title}\n{memory.content}"


def _memories_of(count: int) -> int:
    return count - count // _EDGE_EVERY


def _memory(chance: random.Random, number: int) -> Memory:
    thing, part, trouble = chance.choice(_THINGS), chance.choice(_PARTS), chance.choice(_TROUBLE)
    kind = chance.choice(list(KINDS))
    title = f"{thing} {part} {trouble} ({chance.choice(_PROJECTS)} {number})"
    identity = str(UUID(int=chance.getrandbits(128), version=4))
    at = datetime.now(UTC).replace(microsecond=0, second=0) - timedelta(minutes=chance.randrange(60, 1440 * _DAYS))
    folder = VAULT if chance.randrange(_VAULT_EVERY) == 0 else KINDS[kind].directory
    topics = (thing.lower(), part, *chance.sample(_PROJECTS, k=chance.randrange(3)))
    return Memory(
        id=identity,
        type=kind,
        title=title,
        content=_story(chance, thing, part, number),
        tags=tuple(dict.fromkeys(topics)),
        importance=round(chance.uniform(0.3, 1.0), 2),
        confidence=round(chance.uniform(0.5, 1.0), 2),
        created=at,
        updated=at,
        path=f"{folder}/{slug(title)}-{identity[:6]}.md",
        steps=_steps(chance) if kind == "procedure" else (),
    )


def _story(chance: random.Random, thing: str, part: str, number: int) -> str:
    """Write some sentences that hardly any other memory has word for word."""
    lines = [f"{chance.choice(_PEOPLE)} saw on host {chance.choice(_PARTS)}-{number % 97} that the {part} of {thing}"]
    lines[0] += f" {chance.choice(_TROUBLE)}, {chance.randrange(2, 900)} times in {chance.randrange(1, 48)} hours."
    for _ in range(chance.randrange(2, 6)):
        other = chance.choice(_THINGS)
        lines.append(
            f"We {chance.choice(_REMEDIES)} for {other}, because {chance.choice(_REASONS)}; "
            f"ticket {chance.randrange(1_000, 99_999)} has the graph from {other} {chance.choice(_PARTS)}."
        )
    return "\n\n".join(lines)


def _steps(chance: random.Random) -> tuple[str, ...]:
    return tuple(f"{chance.choice(_REMEDIES).capitalize()} for {chance.choice(_THINGS)}" for _ in range(3))


def _connected(chance: random.Random, memories: Sequence[Memory], count: int) -> tuple[list[Memory], list[Edge]]:
    """Draw the edges, most of them to a few memories that everything leads to, and give both ends their side."""
    known = {each.id: each for each in memories}
    ids, edges = list(known), []
    for _ in range(count - len(memories)):
        # Squared: what was met often is met again, as in any graph that people draw.
        one, other = ids[int(len(ids) * chance.random() ** 2)], chance.choice(ids)
        if one == other:
            other = ids[0] if one != ids[0] else ids[-1]
        edge = _edge(chance, known[one], known[other])
        edges.append(edge)
        for owner, target, direction in ((one, other, "outgoing"), (other, one, "incoming")):
            facts = {"target": target, "type": edge.type, "strength": edge.strength, "edge_id": edge.id}
            side = Relation(**facts, direction=direction, context=None)  # type: ignore[arg-type]
            known[owner] = replace(known[owner], relations=(*known[owner].relations, side))
    return list(known.values()), edges


def _edge(chance: random.Random, one: Memory, other: Memory) -> Edge:
    identity = str(UUID(int=chance.getrandbits(128), version=4))
    kind, at = chance.choice(_RELATIONS), max(one.updated, other.updated)
    return Edge(
        id=identity,
        type=kind,
        from_id=one.id,
        from_title=one.title,
        to_id=other.id,
        to_title=other.title,
        strength=round(chance.uniform(0.3, 1.0), 2),
        created=at,
        updated=at,
        description=f"{chance.choice(_PEOPLE)} {chance.choice(_REMEDIES)}, because {chance.choice(_REASONS)}.",
        path=f"{EDGES}/{edge_stem(one.title, kind, other.title)}-{identity[:6]}.md",
    )
