"""Facts about models by name: prices, windows and abilities of language models, traits of embedding models.

Those of language models are data, in `models.toml`, and settings override them. Refuses to know protocols, and where a
model runs.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import date
from functools import cache
from importlib.resources import files
from typing import Any, ClassVar, Literal, Protocol, TypeVar

_MILLION = 1_000_000
_OTHER_WINDOW = 128_000
_LEAST_WINDOW = 1_000
_FEWEST_PRICES, _MOST_PRICES = 2, 5
# Models that run on this machine, and those of tests.
_FREE_KINDS = frozenset({"ollama", "scripted"})
# A dated name is the same model; any other ending is another one, with a price of its own.
_DATED = re.compile(r"-(\d{8}|\d{4}-\d{2}-\d{2}|latest)$")
Thinks = Literal["always", "by itself", "if asked", ""]


class _TokenCounts(Protocol):
    """The tokens of a request: a dataclass with a field for each kind."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def prompt(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Price:
    """Dollars per million tokens; the fields are named like those of the usage that they price.

    `cached_written_1h` is twice the input price if it is not given. A request whose whole input is larger than
    `long_from` has the prices in `long`; beyond `known_up_to` no price is known.
    """

    input: float
    output: float
    cached_read: float
    cached_written: float
    cached_written_1h: float | None = None
    long_from: int | None = None
    long: Price | None = None
    known_up_to: int | None = None

    @property
    def hour(self) -> float:
        """The price of input that is written to a cache for an hour."""
        return 2 * self.input if self.cached_written_1h is None else self.cached_written_1h

    @property
    def is_free(self) -> bool:
        """Whether every kind of token is free."""
        dear = self.input or self.output or self.cached_read or self.cached_written or self.hour
        return not dear and (self.long is None or self.long.is_free)

    def dollars(self, usage: _TokenCounts) -> float | None:
        """Compute what one request costs; None if it is larger than what a price is known for."""
        if self.known_up_to is not None and usage.prompt > self.known_up_to:
            return None
        if self.long is not None and self.long_from is not None and usage.prompt > self.long_from:
            return self.long.dollars(usage)
        # By name, because a usage counts fewer kinds of tokens than there are prices. Those kept for an hour are
        # among those written, and cost so much more.
        prices = {one.name: getattr(self, one.name) for one in fields(self)} | {
            "cached_hour": self.hour - self.cached_written
        }
        return sum(int(getattr(usage, one.name)) * float(prices[one.name]) for one in fields(usage)) / _MILLION


def read_price(text: str) -> tuple[str, Price]:
    """Read a price from a setting, `MODEL=INPUT/OUTPUT`, and the cache after it: read, written, written for an hour."""
    name, amounts = _assigned(text)
    try:
        dollars = [float(each) for each in amounts.split("/")]
    except ValueError:
        raise ValueError(f"{amounts!r} are no prices; write them as 2/10 or 2/10/0.2/2.5/4") from None
    if not _FEWEST_PRICES <= len(dollars) <= _MOST_PRICES:
        raise ValueError(f"{name} needs 2 to 5 prices: input/output/cached read/cached write/cached write for an hour")
    if not all(0 <= each < _MILLION for each in dollars):
        raise ValueError(f"the prices of {name} must be dollars per million tokens: 0 (free) or more")
    given, returned, *cached = dollars
    # What is not said about the cache costs as much as other input.
    read, written = [*cached, given, given][:2]
    return name, Price(given, returned, read, written, cached[2] if len(dollars) == _MOST_PRICES else None)


def read_window(text: str) -> tuple[str, int]:
    """Read a context window from a setting, `MODEL=TOKENS`."""
    name, tokens = _assigned(text)
    if not tokens.replace("_", "").isdecimal() or int(tokens) < _LEAST_WINDOW:
        raise ValueError(f"the window of {name} must be a number of tokens, {_LEAST_WINDOW:,} or more")
    return name, int(tokens)


def _assigned(text: str) -> tuple[str, str]:
    name, _, value = (part.strip() for part in text.rpartition("="))
    if not name or not value:
        raise ValueError(f"{text!r} does not name a model and a value: write MODEL=…, such as openai:my-model=2/10")
    return name, value


FREE = Price(0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What is known about a language model without asking it; `source` is built in, settings or nowhere.

    `thinks` says whether it thinks always, unless told otherwise, or only if asked; it is empty if nothing is known.
    """

    name: str
    price: Price | None = None
    window: int | None = None
    longest_reply: int | None = None
    thinks: Thinks = ""
    efforts: tuple[str, ...] = ()
    as_of: date | None = None
    source: str = "built in"


class Catalog:
    """The language models that are known: those of the program, and what the settings say about these and others.

    A name is `"kind:model"`, or `"model"` for any kind.
    """

    def __init__(self, prices: Mapping[str, Price] | None = None, windows: Mapping[str, int] | None = None) -> None:
        self._prices = dict(prices or {})
        self._windows = dict(windows or {})

    def facts(self, model: str) -> ModelFacts:
        """Find what is known about a `"kind:model"`; settings count more than what is built in."""
        kind, _, name = model.partition(":")
        known = _built_in().get(name) or _built_in().get(_DATED.sub("", name)) or ModelFacts(name, source="nowhere")
        price = _named(self._prices, model)
        if price is not None:
            known = replace(known, price=price, as_of=None, source="settings")
        elif kind in _FREE_KINDS:
            known = replace(known, price=FREE, source="built in")
        window = _named(self._windows, model)
        return known if window is None else replace(known, window=window, source="settings")

    def price(self, model: str) -> Price | None:
        """Look up the price of a `"kind:model"`; None when it is not known."""
        return self.facts(model).price

    def cost(self, usage: _TokenCounts, model: str) -> float | None:
        """Compute the cost of one request in dollars; None when its price is not known."""
        price = self.price(model)
        return None if price is None else price.dollars(usage)

    def listed(self) -> list[ModelFacts]:
        """List every model that is known, those of the settings first."""
        own = dict.fromkeys((*self._prices, *self._windows))
        named = [replace(self.facts(name if ":" in name else f":{name}"), name=name) for name in own]
        bare = {name.partition(":")[2] for name in own} | set(own)
        return [*named, *(each for name, each in _built_in().items() if name not in bare)]


BUILT_IN = Catalog()


@cache
def _built_in() -> Mapping[str, ModelFacts]:
    text = (files("everloom.models") / "models.toml").read_text(encoding="utf-8")
    return {name: _facts_from(name, raw) for name, raw in tomllib.loads(text).items()}


def _facts_from(name: str, raw: Mapping[str, Any]) -> ModelFacts:
    plain = {one.name: raw[one.name] for one in fields(ModelFacts) if one.name in raw}
    return ModelFacts(name, **{**plain, "efforts": tuple(raw.get("efforts", ())), "price": _price_from(raw)})


def _price_from(raw: Mapping[str, Any]) -> Price | None:
    if "input" not in raw:
        return None
    own = {one.name: raw[one.name] for one in fields(Price) if one.name in raw}
    own.setdefault("cached_read", own["input"])
    own.setdefault("cached_written", own["input"])
    return Price(**{**own, "long": _price_from(raw.get("long", {}))})


_ValueT = TypeVar("_ValueT")


def _named(values: Mapping[str, _ValueT], model: str) -> _ValueT | None:
    """Look up a `"kind:model"` by its whole name, by the model alone, and without its date."""
    for name in (model, model.partition(":")[2]):
        for each in (name, _DATED.sub("", name)):
            if each in values:
                return values[each]
    return None


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


def priced_models() -> tuple[str, ...]:
    """List Anthropic's models that have a price, as `"kind:model"`."""
    return tuple(f"anthropic:{name}" for name, each in _built_in().items() if name.startswith("claude-") and each.price)


def traits_of(model: str) -> Traits:
    """Find what is known about an embedding model, whatever namespace or tag its name has."""
    return _find(_EMBEDDERS, model.rpartition("/")[2].partition(":")[0].lower()) or Traits()


def openai_window(model: str, catalog: Catalog = BUILT_IN) -> int:
    """Look up the context window of an OpenAI-compatible model in tokens: these servers do not report it."""
    return catalog.facts(f"openai:{model}").window or _find(_OPENAI_WINDOWS, model) or _OTHER_WINDOW


def _find(facts: Mapping[str, _ValueT], name: str) -> _ValueT | None:
    """Look up a model by the longest listed name that it begins with."""
    return facts.get(_longest(listed for listed in facts if name.startswith(listed)))


def _longest(names: Iterable[str]) -> str:
    return max(names, key=len, default="")
