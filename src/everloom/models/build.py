"""From `"kind:model"` to something that works: the one place that knows every provider.

Keys and addresses come in as an `Access`; the environment is never read here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from everloom.clock import Clock
from everloom.errors import Rejected
from everloom.models import static
from everloom.models.anthropic import AnthropicChat
from everloom.models.chain import Chain
from everloom.models.claude import ClaudeTalk
from everloom.models.completions import OpenAITalk
from everloom.models.embedder import Embedder
from everloom.models.endpoint import Endpoint
from everloom.models.llm import LLM, Meter, Wire
from everloom.models.local import OllamaTalk
from everloom.models.ollama import OllamaChat, OllamaEmbeddings
from everloom.models.openai import OpenAIChat, OpenAIEmbeddings
from everloom.models.patience import CHAT, EMBEDDING, Patience
from everloom.models.remote import RemoteEmbedder
from everloom.models.scripted import ScriptedChat, ScriptedTalk
from everloom.models.talk import TalkWire
from everloom.models.talker import Talker
from everloom.models.transport import Transport

Built = TypeVar("Built")
OPENAI_BASE = "https://api.openai.com/v1"
OLLAMA_BASE = "http://127.0.0.1:11434"
ANTHROPIC_BASE = "https://api.anthropic.com"


@dataclass(frozen=True, slots=True)
class Access:
    """Where providers answer, with which keys, and how long we wait for them."""

    openai_key: str | None = field(default=None, repr=False)
    openai_base: str = OPENAI_BASE
    ollama_base: str = OLLAMA_BASE
    anthropic_key: str | None = field(default=None, repr=False)
    anthropic_base: str = ANTHROPIC_BASE
    embedding: Patience = EMBEDDING
    chat: Patience = CHAT

    def openai(self) -> Endpoint:
        """Say where OpenAI or a compatible server answers."""
        is_official = self.openai_base.rstrip("/") == OPENAI_BASE
        return Endpoint("openai", self.openai_base, self.openai_key, "OPENAI_API_KEY", needs_key=is_official)

    def ollama(self) -> Endpoint:
        """Say where Ollama answers."""
        return Endpoint("ollama", self.ollama_base)

    def anthropic(self) -> Endpoint:
        """Say where Anthropic or a compatible server answers."""
        is_official = self.anthropic_base.rstrip("/") == ANTHROPIC_BASE
        key_name = "ANTHROPIC_API_KEY"
        return Endpoint("anthropic", self.anthropic_base, self.anthropic_key, key_name, needs_key=is_official)


def make_embedder(specs: Sequence[str], *, access: Access, clock: Clock) -> Chain:
    """Build a chain of embedders from their names, in order of preference."""
    return Chain([_chosen(spec, _EMBEDDERS)(spec.partition(":")[2], access) for spec in specs], clock)


def make_llm(spec: str, *, access: Access, role: str = "large", meter: Meter | None = None) -> LLM:
    """Build a language model from its name."""
    return LLM(_chosen(spec, _WIRES)(spec.partition(":")[2], access), role=role, meter=meter)


def make_talker(spec: str, *, access: Access, role: str = "large", meter: Meter | None = None) -> Talker:
    """Build a model that converses from its name."""
    return Talker(_chosen(spec, _TALKS)(spec.partition(":")[2], access), role=role, meter=meter)


def _static(model: str, access: Access) -> Embedder:  # noqa: ARG001 - every builder has one signature
    if f"static:{model}" != static.NAME:
        raise Rejected(f"there is no static embedder {model!r}", hint=f"there is {static.NAME}")
    return static.StaticEmbedder()


def _openai_embedder(model: str, access: Access) -> Embedder:
    # "model@512" asks for a dimension: it is part of the name, as vectors of two dimensions cannot be compared.
    bare, _, asked = model.rpartition("@")
    dimensions = int(asked) if bare and asked.isdecimal() else None
    fetch = OpenAIEmbeddings(Transport(access.openai(), access.embedding), bare if dimensions else model, dimensions)
    return RemoteEmbedder(f"openai:{model}", fetch, dim=dimensions)


def _ollama_embedder(model: str, access: Access) -> Embedder:
    return RemoteEmbedder(f"ollama:{model}", OllamaEmbeddings(Transport(access.ollama(), access.embedding), model))


_EMBEDDERS: dict[str, Callable[[str, Access], Embedder]] = {
    "static": _static,
    "ollama": _ollama_embedder,
    "openai": _openai_embedder,
}
_WIRES: dict[str, Callable[[str, Access], Wire]] = {
    "anthropic": lambda model, access: AnthropicChat(access.anthropic(), model, access.chat),
    "ollama": lambda model, access: OllamaChat(Transport(access.ollama(), access.chat), model),
    "openai": lambda model, access: OpenAIChat(Transport(access.openai(), access.chat), model),
    "scripted": lambda model, _access: ScriptedChat(model),
}


_TALKS: dict[str, Callable[[str, Access], TalkWire]] = {
    "anthropic": lambda model, access: ClaudeTalk(access.anthropic(), model, access.chat),
    "ollama": lambda model, access: OllamaTalk(Transport(access.ollama(), access.chat), model),
    "openai": lambda model, access: OpenAITalk(Transport(access.openai(), access.chat), model),
    "scripted": lambda model, _access: ScriptedTalk(model),
}


def _chosen(spec: str, kinds: dict[str, Built]) -> Built:
    kind, _, model = spec.partition(":")
    if kind not in kinds or not model:
        known = ", ".join(f"{name}:…" for name in sorted(kinds))
        raise Rejected(f"cannot tell what {spec!r} means", hint=f"write one of {known}")
    return kinds[kind]
