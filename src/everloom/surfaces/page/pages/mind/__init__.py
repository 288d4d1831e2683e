"""The pages of the mind: the conversation and sending to it, notes, what the agent does by itself, what models cost."""

from everloom.surfaces.page.pages.mind import conversation, initiative, live, notes, usage

PATHS = (*conversation.PATHS, *live.PATHS, *notes.PATHS, *initiative.PATHS, *usage.PATHS)

__all__ = ["PATHS"]
