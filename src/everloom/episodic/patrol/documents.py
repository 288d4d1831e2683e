"""Documents of scenes on their way into the index: with the preferred model's vectors if it can be asked.

Holds the lease while a slow embedder works. Decides nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from everloom.episodic.patrol.steps import Bout
from everloom.kernel.embedding import Made
from everloom.kernel.search import Document
from everloom.kernel.search.index import Prepared

AT_ONCE = 512


def embedded(bout: Bout, texts: Sequence[str]) -> Made | None:
    """Make vectors with the preferred model, a part at a time; None when it cannot be asked."""
    parts = []
    for start in range(0, len(texts), AT_ONCE):
        made = bout.ground.embedding.make(texts[start : start + AT_ONCE])
        if made is None:
            return None
        parts.append(made.rows["general"])
        bout.hold()
    return Made(bout.ground.embedding.preferred, {"general": np.concatenate(parts)}) if parts else None


def prepared(bout: Bout, documents: Sequence[Document]) -> Prepared:
    """Read the words of documents and make their vectors."""
    ready = bout.ground.index.prepare(documents)
    if ready.made is not None and ready.made.model == bout.ground.embedding.preferred:
        return ready
    made = embedded(bout, [each.situated for each in documents])
    return Prepared(ready.documents, ready.words, made or ready.made)


def chosen(ready: Prepared, places: Sequence[int]) -> Prepared:
    """Keep some of the prepared documents."""
    made = ready.made
    rows = np.array(places, int)
    kept = None if made is None else Made(made.model, {name: each[rows] for name, each in made.rows.items()})
    return Prepared(
        tuple(ready.documents[place] for place in places), tuple(ready.words[place] for place in places), kept
    )
