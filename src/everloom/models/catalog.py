"""What is known about embedding models by name: prefixes, instructions, context and calibrated thresholds.

One table of facts; knows neither wires nor where a model runs.
"""

from __future__ import annotations

from dataclasses import dataclass

from everloom.models.embedder import Traits


@dataclass(frozen=True, slots=True)
class Card:
    """The facts about one family of models; `context` is in tokens."""

    document: str = ""
    query: str = ""
    follows_instructions: bool = False
    context: int = 2_000
    recall: float | None = None
    cluster: float | None = None


UNKNOWN = Card()
CARDS = {  # the longest name that a model begins with counts
    # Episodic memory's original thresholds, 0.35 and 0.45, were tuned on this model.
    "text-embedding-3-small": Card(context=8_000, recall=0.35, cluster=0.45),
    "text-embedding-3-large": Card(context=8_000),
    "nomic-embed-text": Card("search_document: ", "search_query: ", follows_instructions=True),
    "mxbai-embed-large": Card("", "Represent this sentence for searching relevant passages: ", context=500),
    "snowflake-arctic-embed": Card("", "Represent this sentence for searching relevant passages: ", context=500),
    "snowflake-arctic-embed2": Card("", "query: ", context=8_000),
    "embeddinggemma": Card("title: none | text: ", "task: search result | query: "),
    "qwen3-embedding": Card(
        "",
        "Instruct: Given a question, find the memories that answer it\nQuery: ",
        follows_instructions=True,
        context=8_000,
    ),
    "multilingual-e5": Card("passage: ", "query: ", context=500),
    "e5": Card("passage: ", "query: ", context=500),
    "bge-m3": Card(context=8_000),
    "all-minilm": Card(context=250),
}


def card_of(model: str) -> Card:
    """Find the facts about a model, whatever namespace or tag its name carries."""
    bare = model.rpartition("/")[2].partition(":")[0].lower()
    known = [name for name in CARDS if bare.startswith(name)]
    return CARDS[max(known, key=len)] if known else UNKNOWN


def traits_of(name: str, card: Card, dim: int | None) -> Traits:
    """Turn a card into the traits of a remote embedder called `name`."""
    return Traits(
        name,
        dim,
        follows_instructions=card.follows_instructions,
        document_prefix=card.document,
        query_prefix=card.query,
        recall_threshold=card.recall,
        cluster_threshold=card.cluster,
    )
