"""Facts about models by name: prices of language models, traits of embedding models, sizes of context windows.

Facts only, to be updated when a provider changes them. Refuses to know protocols, and where a model runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar


@dataclass(frozen=True, slots=True)
class Price:
    """Dollars per million tokens."""

    input: float
    output: float
    cached_read: float
    cached_written: float


def _anthropic(dollars_in: float, dollars_out: float) -> Price:
    # Writing to the five-minute cache costs a quarter more than input, reading from it a tenth of input.
    return Price(dollars_in, dollars_out, cached_read=dollars_in / 10, cached_written=dollars_in * 1.25)


FREE = Price(0, 0, 0, 0)
_FREE_KINDS = frozenset({"ollama", "scripted"})
_PRICES = {  # November 2026
    "claude-opus-5-5": _anthropic(4, 20),
    "claude-sonnet-5-5": _anthropic(2, 10),
    "claude-haiku-5-5": _anthropic(0.10, 0.50),
    "claude-fable-5-1": _anthropic(10, 50),
}


@dataclass(frozen=True, slots=True)
class Traits:
    """What is known about an embedder without calling it.

    `dim` is None until a provider's first reply has shown it; `context` is in tokens. Thresholds are cosines; None
    means that nobody has calibrated them for this model. `noise` is the mean and the spread of the cosine between a
    question and a text that has nothing to do with it. It holds for English, and `noise_by_script` for the rest, as
    `noise.Script` names it.
    """

    name: str = ""
    dim: int | None = None
    follows_instructions: bool = False
    is_fast: bool = False
    document_prefix: str = ""
    query_prefix: str = ""
    context: int = 2_000
    recall_threshold: float | None = None
    cluster_threshold: float | None = None
    noise: tuple[float, float] = (0.15, 0.1)
    noise_by_script: Mapping[str, tuple[float, float]] = field(default_factory=dict)


_PASSAGES = "Represent this sentence for searching relevant passages: "
_MEMORIES = "Instruct: Given a question, find the memories that answer it\nQuery: "
# By the beginning of a model's name. Prefixes are those of the model cards: without them a model still answers, but
# its vectors of questions and documents lie further apart. None of these is fast, as they all run on a server.
_EMBEDDERS = {
    # Episodic memory's original thresholds, 0.35 and 0.45, were tuned on this model.
    "text-embedding-3-small": Traits(context=8_000, recall_threshold=0.35, cluster_threshold=0.45),
    "text-embedding-3-large": Traits(context=8_000),
    "nomic-embed-text": Traits(
        follows_instructions=True, document_prefix="search_document: ", query_prefix="search_query: "
    ),
    "mxbai-embed-large": Traits(query_prefix=_PASSAGES, context=500),
    "snowflake-arctic-embed": Traits(query_prefix=_PASSAGES, context=500),
    "snowflake-arctic-embed2": Traits(query_prefix="query: ", context=8_000),
    "embeddinggemma": Traits(document_prefix="title: none | text: ", query_prefix="task: search result | query: "),
    "qwen3-embedding": Traits(follows_instructions=True, query_prefix=_MEMORIES, context=8_000),
    "multilingual-e5": Traits(document_prefix="passage: ", query_prefix="query: ", context=500),
    "e5": Traits(document_prefix="passage: ", query_prefix="query: ", context=500),
    "bge-m3": Traits(context=8_000),
    "bge-small-en": Traits(query_prefix=_PASSAGES, context=500),
    "all-minilm": Traits(context=250),
    "paraphrase-multilingual-minilm": Traits(context=120),
}
_OPENAI_WINDOWS = {  # tokens, November 2026
    "gpt-4o": 128_000,
    "gpt-4.1": 1_000_000,
    "gpt-5": 400_000,
    "o3": 200_000,
    "o4": 200_000,
}
_OTHER_WINDOW = 128_000


def price_of(model: str) -> Price | None:
    """Look up the price of a `"kind:model"`; None when it is not listed."""
    kind, _, name = model.partition(":")
    if kind in _FREE_KINDS:
        return FREE
    # A dated name costs as much as its family, but claude-sonnet-5 is a different family from claude-sonnet-5-5.
    family = _longest(listed for listed in _PRICES if name == listed or name.startswith(listed + "-"))
    return _PRICES.get(family)


def traits_of(model: str) -> Traits:
    """Find what is known about an embedding model, whatever namespace or tag its name has."""
    return _find(_EMBEDDERS, model.rpartition("/")[2].partition(":")[0].lower()) or Traits()


def openai_window(model: str) -> int:
    """Look up the context window of an OpenAI-compatible model in tokens: these servers do not report it."""
    return _find(_OPENAI_WINDOWS, model) or _OTHER_WINDOW


_FactT = TypeVar("_FactT")


def _find(facts: Mapping[str, _FactT], name: str) -> _FactT | None:
    """Look up a model by the longest listed name that it begins with."""
    return facts.get(_longest(listed for listed in facts if name.startswith(listed)))


def _longest(names: Iterable[str]) -> str:
    return max(names, key=len, default="")
