"""The kernel's own background work: embedding documents that have no vector yet, indexing those again whose words are
out of date, completing rows for a new schema, and the engine's upkeep.

The documents themselves record what is left to do, so a worker that dies loses nothing. A text that the model refuses
is marked and not sent to it again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

import numpy as np

from everloom.clock import Clock
from everloom.errors import MalformedReply, ProviderBusy, ProviderError, ProviderRefused
from everloom.kernel.embedding import GENERAL, Embedding, Made, count_embedded, model_id, perspectives_of, situated
from everloom.kernel.search import Index
from everloom.kernel.work.lease import Lease
from everloom.kernel.work.tasks import Progress, Report
from everloom.kernel.workspaces import WorkspaceInfo
from everloom.models.embed import Embedder, EmbeddingTask
from everloom.store import Row, Store, Unit
from everloom.store.migrations import has_fills, open_fills

# Documents per transaction: what a worker that dies, or loses its lease, has to do again at most.
BATCH = 256
# With fewer new documents than this number, or this share of all, indexes and statistics are still good enough.
_FEWEST = 1_000
_SHARE = 0.2


class Backfill:
    """The task `embed`: embeds documents with the preferred model, newest first."""

    name = "embed"

    def __init__(self, store: Store, embedding: Embedding, clock: Clock) -> None:
        self._store = store
        self._embedding = embedding
        self._clock = clock

    @property
    def _preferred(self) -> Embedder:
        chain = self._embedding.chain
        return chain.link(chain.links[0].name)

    def due(self, workspace: WorkspaceInfo) -> int:
        """Count the documents without the preferred model's vectors; costs what waits, not what there is."""
        with self._store.read(workspace.id) as unit:
            return sum(count_embedded(unit, each) for each in self._embedded_by_others(unit))

    def waits(self, workspace: WorkspaceInfo) -> bool:
        """Check whether anything is waiting, without counting it."""
        with self._store.read(workspace.id) as unit:
            return bool(self._waiting(unit, 1))

    def run(self, workspace: WorkspaceInfo, lease: Lease, progress: Progress) -> Report:
        """Embed one batch after another, each in its own transaction, until all are done or time is up."""
        embedded = refused = 0
        for rows in self._batches(workspace.id, lease):
            angles = self._angles(workspace.id)
            made, accepted = self._made(angles, rows)
            with self._store.write(workspace.id) as unit:
                lease.guard(unit)
                _keep(unit, angles, made, accepted, rows)
            embedded, refused = embedded + len(accepted), refused + len(rows) - len(accepted)
            progress(len(rows))
        return Report(embedded + refused, {"embedded": embedded, "refused": refused})

    def _batches(self, workspace: int, lease: Lease) -> Iterator[list[Row]]:
        while lease.has_time():
            with self._store.read(workspace) as unit:
                rows = self._waiting(unit)
            if not rows:
                return
            yield rows

    def _waiting(self, unit: Unit, limit: int = BATCH) -> list[Row]:
        for embedded_by in self._embedded_by_others(unit):
            rows = unit.all("vectors.due", embedded_by=embedded_by, limit=limit)
            if rows:
                return rows
        return []

    def _embedded_by_others(self, unit: Unit) -> list[int]:
        """List by whom what waits was embedded: nobody, another model or, where the id is negative, refused by it."""
        preferred = self._preferred.traits.name
        others = [row["id"] for row in unit.all("vectors.model_all") if row["name"] != preferred]
        # First what no model has embedded, then what a former or fallback model has, last what one of them refused: the
        # preferred model may accept it.
        return [0, *others, *(-other for other in others)]

    def _angles(self, workspace: int) -> dict[str, Row]:
        """Return the perspectives that the model can distinguish."""
        with self._store.write(workspace) as unit:
            angles = perspectives_of(unit, self._clock.now())
        return angles if self._preferred.traits.follows_instructions else {GENERAL: angles[GENERAL]}

    def _made(self, angles: dict[str, Row], rows: Sequence[Row]) -> tuple[Made, list[Row]]:
        """Embed a batch; if the model refuses it, find out which of the texts it refuses."""
        try:
            return self._embed(angles, rows), list(rows)
        except (ProviderBusy, ProviderRefused, MalformedReply):
            # Not the fault of a text: an overloaded server, a missing key, a broken reply. The task pauses and retries.
            raise
        except ProviderError:
            parts = [(self._embed_alone(angles, row), row) for row in rows]
        accepted = [(made, row) for made, row in parts if made is not None]
        if not accepted:
            # Either these texts are at fault or the model refuses any text. In the second case this call raises; in the
            # first it gives the dimension under which the model is registered.
            harmless = self._embed(angles, [{"title": "", "text": "hello", "context": ""}])
            return Made(harmless.model, {name: made[:0] for name, made in harmless.rows.items()}), []
        joined = {name: np.concatenate([made.rows[name] for made, _ in accepted]) for name in angles}
        return Made(accepted[0][0].model, joined), [row for _, row in accepted]

    def _embed(self, angles: dict[str, Row], rows: Sequence[Row]) -> Made:
        link = self._preferred
        texts = [situated(row["title"], row["text"], row["context"]) for row in rows]
        made = {
            name: link.embed(_instructed(angle["instruction"], texts), EmbeddingTask.DOCUMENT)
            for name, angle in angles.items()
        }
        return Made(link.traits.name, {name: vectors.rows for name, vectors in made.items()})

    def _embed_alone(self, angles: dict[str, Row], row: Row) -> Made | None:
        try:
            return self._embed(angles, [row])
        except (ProviderBusy, ProviderRefused, MalformedReply):
            raise
        except ProviderError:
            return None


def _instructed(instruction: str, texts: Sequence[str]) -> list[str]:
    """Prefix each text with a perspective's instruction."""
    return [f"{instruction} {text}" if instruction else text for text in texts]


def _keep(unit: Unit, angles: dict[str, Row], made: Made, accepted: Sequence[Row], offered: Sequence[Row]) -> None:
    """Store vectors for documents that still exist and have not changed, and mark the refused ones."""
    model = model_id(unit, made.model, made.dim)
    # The model was called outside a transaction: since then a document may have been deleted, retired, or rewritten. A
    # rewritten one waits for a later batch.
    texts = {row["item_id"]: row["text"] for row in offered}
    now = unit.all("words.document_of", ids=list(texts))
    same = {row["item_id"]: row["retired_at"] is None for row in now if row["text"] == texts[row["item_id"]]}
    for name, angle in angles.items():
        for live in (True, False):
            chosen = {
                row["item_id"]: vector
                for row, vector in zip(accepted, made.rows[name], strict=True)
                if same.get(row["item_id"]) is live
            }
            if chosen:
                unit.put_vectors(model, angle["id"], chosen, live)
    taken = {row["item_id"] for row in accepted}
    unit.send("vectors.embedded", ids=[item for item in same if item in taken], model=model)
    # The negative id says "refused by this model": it is not sent again, but another model may still embed it.
    unit.send("vectors.embedded", ids=[item for item in same if item not in taken], model=-model)


class Rewording:
    """The task `words`: indexes documents again after the rules by which texts become words have changed."""

    name = "words"

    def __init__(self, store: Store, index: Index) -> None:
        self._store = store
        self._index = index

    def due(self, workspace: WorkspaceInfo) -> int:
        """Count the documents with words by older rules; questions may not find these by all their words."""
        with self._store.read(workspace.id) as unit:
            row = unit.one("words.reword_count")
        return 0 if row is None else int(row["count"])

    def run(self, workspace: WorkspaceInfo, lease: Lease, progress: Progress) -> Report:
        """Index one batch after another, newest first, each in its own transaction."""
        done = 0
        while lease.has_time():
            with self._store.write(workspace.id) as unit:
                lease.guard(unit)
                ids = [row["item_id"] for row in unit.all("words.reword_next", limit=BATCH)]
                if not ids:
                    break
                self._index.reword(unit, ids)
                unit.send("words.reword_done", through=min(ids) - 1)
            done += len(ids)
            progress(len(ids))
        return Report(done, {"indexed": done})


class Filling:
    """The task `fill`: completes the rows of a workspace by the fill steps of the schema, while everybody works."""

    name = "fill"

    def __init__(self, store: Store) -> None:
        self._store = store

    def due(self, workspace: WorkspaceInfo) -> int:
        """Count the steps by which this workspace was not completed yet; asks nothing if there are none."""
        if not has_fills(self._store.engine):
            return 0
        with self._store.read(workspace.id) as unit:
            return len(self._left(unit)[1])

    def _left(self, unit: Unit) -> tuple[int, list[int]]:
        """Read through which step the workspace is complete, and the steps after it."""
        row, lease = unit.one("kernel.schema_version"), unit.one("kernel.lease_get", task=self.name)
        through = json.loads(lease["last_report"])["through"] if lease is not None and lease["last_report"] else 0
        steps = open_fills(unit.engine, row["number"] if row else 0)
        return through, [step.number for step in steps if step.number > through]

    def run(self, workspace: WorkspaceInfo, lease: Lease, progress: Progress) -> Report:
        """Complete one batch after another, each in its own transaction, until all are done or time is up."""
        with self._store.read(workspace.id) as unit:
            through, steps = self._left(unit)
        done = 0
        while steps and lease.has_time():
            with self._store.write(workspace.id) as unit:
                lease.guard(unit)
                count = unit.fill(steps[0], BATCH)
            if not count:
                through = steps.pop(0)
            done += count
            progress(count)
        return Report(done, {"through": through})


class Upkeep:
    """The task `maintain`: the engine's maintenance of a workspace that has grown."""

    name = "maintain"

    def __init__(self, store: Store) -> None:
        self._store = store

    def due(self, workspace: WorkspaceInfo) -> int:
        """Count the documents added or removed since the last upkeep; 0 while they are few."""
        with self._store.read(workspace.id) as unit:
            tally, lease = unit.one("words.tally_get"), unit.one("kernel.lease_get", task=self.name)
        documents = 0 if tally is None else int(tally["documents"])
        maintained = json.loads(lease["last_report"])["documents"] if lease is not None and lease["last_report"] else 0
        grown = abs(documents - maintained)
        return grown if grown >= max(_FEWEST, _SHARE * maintained) else 0

    def run(self, workspace: WorkspaceInfo, lease: Lease, progress: Progress) -> Report:
        """Let the engine maintain the workspace, in transactions of its own."""
        with self._store.write(workspace.id) as unit:
            lease.guard(unit)
            tally = unit.one("words.tally_get")
        done = self._store.maintain(workspace.id)
        documents = 0 if tally is None else int(tally["documents"])
        progress(documents)
        return Report(len(done), {"documents": documents, "maintained": done})
