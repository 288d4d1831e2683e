"""Completes the arguments of prompts and resource templates while a person types them: names of subjects.

Reading only: a workspace that does not exist is not created, and nobody has seen what was offered. Refuses to know how
names are found.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp.types import Completion, PromptReference, ResourceTemplateReference

from everloom.errors import NotFound, Rejected

if TYPE_CHECKING:
    from everloom.loom import Workspace

# The most that the protocol allows in one answer.
MOST_VALUES = 100
# More than so many names and summaries can take: an answer that a person reads is not cut for a model.
_TOKENS = 100_000
# Arguments that are the name of a subject, by the prompt or the template that has them.
_NAMES_SUBJECT = {("consolidate", "focus"), ("memory://subject/{name}", "name")}


def key_of(ref: PromptReference | ResourceTemplateReference) -> str:
    """Return the name of the prompt, or the template, whose argument is being typed."""
    return ref.name if isinstance(ref, PromptReference) else ref.uri


def is_subject(owner: str, argument: str) -> bool:
    """Return whether an argument is the name of a subject; others are free text, and nothing is offered for them."""
    return (owner, argument) in _NAMES_SUBJECT


def offer_names(workspace: Workspace, begun: str) -> Completion:
    """Offer the subjects whose names begin so, then those with a word that does; those observed last if nothing is."""
    try:
        found = workspace.semantic.list_subjects(name=begun.strip() or None, limit=MOST_VALUES, max_tokens=_TOKENS)
    except (NotFound, Rejected):
        # What cannot be a name is the beginning of none; whoever types has not finished.
        return none_offered()
    names = [each.name for each in found.subjects]
    # How many there are is only known where they all are here: counting would read them.
    more = len(names) > MOST_VALUES or found.cursor is not None or found.note is not None
    return Completion(values=names[:MOST_VALUES], total=None if more else len(names), has_more=more)


def none_offered() -> Completion:
    """Offer nothing."""
    return Completion(values=[], total=0, has_more=False)
