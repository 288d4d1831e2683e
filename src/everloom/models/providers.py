"""Building models from `"kind:model"`: the only module that knows every provider, and which model has which role.

Keys and addresses are passed in as a `ProviderAccess`. Refuses to read settings and the environment.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property, partial
from threading import Lock

from everloom.clock import Clock
from everloom.errors import ProviderError, Rejected
from everloom.models.ask import LLM, AskMessage, AskRequest, AskWire, Passage, Question, ShapeT
from everloom.models.catalog import BUILT_IN, Catalog, openai_window
from everloom.models.embed import Embedder, EmbedderChain, JoinedEmbedder
from everloom.models.hear import Transcriber
from everloom.models.talk import Talker, TalkWire
from everloom.models.text import DATA_NOTICE, quoted
from everloom.models.thinking import UNCHOSEN, ThinkingChoice
from everloom.models.transport import Endpoint, RetryPolicy, Transport
from everloom.models.usage import DayBudget, Meter, Spent

_EMBEDDERS = ("fastembed", "local", "ollama", "openai", "static")
_LANGUAGE_MODELS = ("anthropic", "ollama", "openai", "scripted")
_LISTENERS = ("local", "openai")
_OPENAI_BASE = "https://api.openai.com/v1"
_OLLAMA_BASE = "http://127.0.0.1:11434"
_ANTHROPIC_BASE = "https://api.anthropic.com"
_CHAT = RetryPolicy()
# Somebody may be waiting for a search: give up soon, and let the next embedder in the chain or plain words take over.
_EMBEDDING = RetryPolicy(attempts=2, first_wait=0.2, longest_wait=5.0, connect=2.0, timeout=30.0, deadline=45.0)


@dataclass(frozen=True, slots=True)
class ProviderAccess:
    """The addresses and keys of the providers, how long to wait for them, and what is known about their models."""

    openai_key: str | None = field(default=None, repr=False)
    openai_base: str = _OPENAI_BASE
    ollama_base: str = _OLLAMA_BASE
    anthropic_key: str | None = field(default=None, repr=False)
    anthropic_base: str = _ANTHROPIC_BASE
    embedding: RetryPolicy = _EMBEDDING
    chat: RetryPolicy = _CHAT
    catalog: Catalog = BUILT_IN

    def openai(self) -> Endpoint:
        """The endpoint of OpenAI or a compatible server; only OpenAI itself requires a key."""
        is_official = self.openai_base.rstrip("/") == _OPENAI_BASE
        return Endpoint("openai", self.openai_base, self.openai_key, "OPENAI_API_KEY", needs_key=is_official)

    def ollama(self) -> Endpoint:
        """The endpoint of Ollama."""
        return Endpoint("ollama", self.ollama_base)

    def anthropic(self) -> Endpoint:
        """The endpoint of Anthropic or a compatible server."""
        is_official = self.anthropic_base.rstrip("/") == _ANTHROPIC_BASE
        key_name = "ANTHROPIC_API_KEY"
        return Endpoint("anthropic", self.anthropic_base, self.anthropic_key, key_name, needs_key=is_official)


def make_embedder(specs: Sequence[str], *, access: ProviderAccess, clock: Clock) -> EmbedderChain:
    """Build a chain of embedders from their names, in order of preference."""
    return EmbedderChain([_embedder(*_parse(spec, _EMBEDDERS), access) for spec in specs], clock)


def make_llm(
    spec: str,
    *,
    access: ProviderAccess,
    role: str = "large",
    meter: Meter | None = None,
    thinking: ThinkingChoice = UNCHOSEN,
) -> LLM:
    """Build a language model from its name."""
    ask, _ = _wires(*_parse(spec, _LANGUAGE_MODELS), access, thinking)
    return LLM(ask(), role=role, meter=meter)


def make_talker(
    spec: str,
    *,
    access: ProviderAccess,
    role: str = "large",
    meter: Meter | None = None,
    thinking: ThinkingChoice = UNCHOSEN,
) -> Talker:
    """Build a conversational model from its name."""
    _, talk = _wires(*_parse(spec, _LANGUAGE_MODELS), access, thinking)
    return Talker(talk(), role=role, meter=meter)


def check_model(spec: str, *, access: ProviderAccess) -> None:
    """Check that a language model could be asked, as far as that can be seen without asking it."""
    kind, model = _parse(spec, _LANGUAGE_MODELS)
    match kind:
        case "anthropic":
            access.anthropic().credential()
        case "openai":
            access.openai().credential()
        case "ollama":
            from everloom.models.ollama.talk import check_pulled

            check_pulled(Transport(access.ollama(), access.chat), model)


def make_transcriber(
    spec: str, *, access: ProviderAccess, seconds: float = 120.0, meter: Meter | None = None
) -> Transcriber:
    """Build whoever listens to recordings from its name."""
    kind, model = _parse(spec, _LISTENERS)
    if kind == "local":
        from everloom.models.local.hear import LocalHear

        return Transcriber(LocalHear(model, seconds), meter)
    from everloom.models.openai.hear import OpenAIHear

    # Tried once: whoever listens for the conversation tries again later, and others are answered meanwhile.
    policy = replace(access.chat, attempts=1, timeout=seconds, deadline=seconds)
    return Transcriber(OpenAIHear(Transport(access.openai(), policy), model), meter)


def _parse(spec: str, kinds: Sequence[str]) -> tuple[str, str]:
    kind, _, model = spec.partition(":")
    if kind not in kinds or not model:
        known = ", ".join(f"{name}:…" for name in kinds)
        raise Rejected(f"{spec!r} is not the name of a model", hint=f"use one of the forms {known}")
    return kind, model


# A provider is imported when it is first named: all of them together would cost every command a tenth of a second.
def _embedder(kind: str, model: str, access: ProviderAccess) -> Embedder:
    match kind:
        case "fastembed":
            from everloom.models.fastembed.embed import fastembed_embedder

            return fastembed_embedder(model)
        case "local":
            return _local_embedder(model)
        case "ollama":
            from everloom.models.ollama.embed import ollama_embedder

            return ollama_embedder(model, Transport(access.ollama(), access.embedding))
        case "openai":
            from everloom.models.openai.embed import openai_embedder

            return openai_embedder(model, Transport(access.openai(), access.embedding))
    return _static_embedder(f"static:{model}")


def _static_embedder(name: str) -> Embedder:
    from everloom.models.static import embed, multilingual

    match name:
        case multilingual.NAME:
            return multilingual.MultilingualStaticEmbedder()
        case embed.NAME:
            return embed.StaticEmbedder()
    raise Rejected(f"there is no static embedder called {name}", hint=f"use {multilingual.NAME} or {embed.NAME}")


def _local_embedder(model: str) -> Embedder:
    match model:
        case "minilm-l6":
            from everloom.models.local.minilm import JOINED, MinilmEmbedder
            from everloom.models.static.embed import StaticEmbedder

            return JoinedEmbedder(JOINED, StaticEmbedder(), MinilmEmbedder())
        case "use-multilingual":
            from everloom.models.local.multilingual import MultilingualEmbedder

            return MultilingualEmbedder()
    hint = "use local:minilm-l6 or local:use-multilingual"
    raise Rejected(f"there is no local embedder {model!r}", hint=hint)


def _wires(
    kind: str, model: str, access: ProviderAccess, choice: ThinkingChoice
) -> tuple[Callable[[], AskWire], Callable[[], TalkWire]]:
    match kind:
        case "anthropic":
            from everloom.models.anthropic.ask import AnthropicAsk
            from everloom.models.anthropic.talk import AnthropicTalk

            reached = (access.anthropic(), model, access.chat, choice)
            return partial(AnthropicAsk, *reached), partial(AnthropicTalk, *reached)
        case "ollama":
            from everloom.models.ollama.ask import OllamaAsk
            from everloom.models.ollama.talk import OllamaTalk

            transport = Transport(access.ollama(), access.chat)
            return partial(OllamaAsk, transport, model, choice), partial(OllamaTalk, transport, model, choice)
        case "openai":
            from everloom.models.openai.ask import OpenAIAsk
            from everloom.models.openai.talk import OpenAITalk

            transport = Transport(access.openai(), access.chat)
            window = openai_window(model, access.catalog)
            return partial(OpenAIAsk, transport, model, choice), partial(OpenAITalk, transport, model, window, choice)
    from everloom.models.scripted.ask import ScriptedAsk
    from everloom.models.scripted.talk import ScriptedTalk

    return partial(ScriptedAsk, model), partial(ScriptedTalk, model)


class Role(StrEnum):
    """The role of a language model."""

    LARGE = "large"
    SMALL = "small"


class Roles:
    """The two language models: a large one for thinking, a small one for routine; each stands in for a missing one."""

    def __init__(
        self,
        *,
        large: str | None = None,
        small: str | None = None,
        access: ProviderAccess,
        meter: Meter | None = None,
        day: DayBudget | None = None,
        thinking: Mapping[str, ThinkingChoice] | None = None,
    ) -> None:
        self._large, self._small = large or small, small or large
        self._access = access
        self._meter = meter
        self._day = day
        self._thinking = thinking or {}
        self._talkers: dict[tuple[Role, ThinkingChoice], Talker] = {}
        self._lock = Lock()

    @property
    def is_configured(self) -> bool:
        """Whether there is a language model at all."""
        return self._large is not None

    @cached_property
    def large(self) -> LLM:
        """The model for thinking."""
        return self._llm(Role.LARGE)

    @cached_property
    def small(self) -> LLM:
        """The model for routine questions."""
        return self._llm(Role.SMALL)

    @property
    def spent(self) -> Spent:
        """What both models have cost so far."""
        # One that was never asked is not built for this: a small model that is set up wrong must not fail a task that
        # needs only the large one.
        built = (vars(self).get(role) for role in Role)
        return sum((each.spent for each in built if each is not None), Spent())

    def _llm(self, role: Role) -> LLM:
        spec = _configured(self._large if role is Role.LARGE else self._small)
        return make_llm(spec, access=self._access, role=role, meter=self._meter, thinking=self._choice(role))

    def _choice(self, role: Role) -> ThinkingChoice:
        return self._thinking.get(role, UNCHOSEN)

    def talker(self, role: Role = Role.LARGE, thinking: ThinkingChoice | None = None) -> Talker:
        """Return the conversational model of a role; once the day's dollars are spent, the small one.

        `thinking` is for one conversation; without it, the role has its own.
        """
        large, small = _configured(self._large), _configured(self._small)
        if role is Role.LARGE and self._day and self._day.choose(large, small) != large:
            role = Role.SMALL
        choice = self._choice(role) if thinking is None else thinking
        # One talker each for the life of this object: its calibration improves with every reply.
        with self._lock:
            if (role, choice) not in self._talkers:
                spec = large if role is Role.LARGE else small
                made = make_talker(spec, access=self._access, role=role, meter=self._meter, thinking=choice)
                self._talkers[role, choice] = made
            return self._talkers[role, choice]


def _configured(spec: str | None) -> str:
    if spec is None:
        hint = "set llm.large = 'ollama:…' or 'openai:…', or set ANTHROPIC_API_KEY and llm.large = 'anthropic:…'"
        raise Rejected("no language model is configured", hint=hint)
    return spec


class ModelThinker:
    """The only `Thinker`: asks the small model routine questions and the large one all others."""

    def __init__(self, roles: Roles) -> None:
        self._roles = roles

    @property
    def name(self) -> str:
        """The large model, as `"kind:model"`."""
        return self._roles.large.name

    @property
    def tier(self) -> str:
        """The role of the large model, which search knows as a tier."""
        return self._roles.large.role

    @property
    def spent(self) -> Spent:
        """What the questions to both models have cost so far."""
        return self._roles.spent

    def refusal(self) -> ProviderError | None:
        """Return the reason why the budget allows no question; None when it allows one."""
        # Both models share one budget, so the large one can answer for both.
        return self._roles.large.refusal()

    def answer(self, question: Question, shape: type[ShapeT]) -> ShapeT:
        """Ask the model, with every passage quoted as data."""
        llm = self._roles.small if question.is_routine else self._roles.large
        parts = [question.request, *map(_quoted, question.passages)]
        request = AskRequest(
            system=f"{question.task}\n\n{DATA_NOTICE}",
            messages=(AskMessage("user", "\n\n".join(part for part in parts if part)),),
            max_tokens=question.max_tokens,
            purpose=question.purpose,
        )
        return llm.answer(request, shape)


def _quoted(passage: Passage) -> str:
    return f"{passage.label}:\n{quoted(passage.text, passage.label)}" if passage.label else quoted(passage.text)
