"""LangGraph on a workspace: `EverloomStore` is its long-term store, `EverloomSaver` keeps the checkpoints of threads.

    graph = builder.compile(store=EverloomStore(workspace), checkpointer=EverloomSaver(workspace))

Items of the store are found by the one search; a thread's state is bytes that only LangGraph reads. Needs the extra
`langgraph`.
"""

from everloom.surfaces.adapters.langgraph.saver import EverloomSaver
from everloom.surfaces.adapters.langgraph.store import EverloomStore

__all__ = ["EverloomSaver", "EverloomStore"]
