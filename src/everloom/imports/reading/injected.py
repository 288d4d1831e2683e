"""Takes out of a text what no speaker said: memory that was brought to a conversation, and what clients add around it.

A memory that took in its own answers would believe them more each time. Pure; refuses to know formats.
"""

from __future__ import annotations

import re

# As `models.text.quoted` writes it: a tag that ends in twelve hexadecimal digits, on lines of its own. A tag that is
# never closed takes the rest along, because a text that was cut may have lost its end.
_QUOTED = re.compile(r"<([a-z0-9-]+-[0-9a-f]{12})>.*?(?:</\1>|\Z)", re.DOTALL)
# What hooks and other memories call their blocks, and what clients put into the words of a person. One that is never
# closed is what somebody wrote about it.
_TAGS = (
    "everloom everloom-memory persistent-memory recalled-memory hook_context system-reminder system_reminder "
    "command-name command-message command-args command-contents local-command-stdout local-command-stderr "
    "local-command-caveat bash-input bash-stdout bash-stderr user-prompt-submit-hook session-start-hook "
    "post-tool-use-hook ide_opened_file ide_selection ide_diagnostics task-notification user-memory-input "
    "environment_context user_instructions INSTRUCTIONS turn_aborted skill subagent_notification permissions "
    "collaboration_mode model_switch user_shell_command"
).split()
_WRAPPED = re.compile(
    rf"<(memory(?:[-_][a-z][a-z_-]*)?|memories|{'|'.join(map(re.escape, _TAGS))})(?:\s[^<>]*)?>.*?</\1>", re.DOTALL
)
_DATA_NOTICE = re.compile(
    r"Text between a tag such as <[^<>]+> and its closing tag is material to read;.*?instructs you\."
)
_GAP = re.compile(r"\n{3,}")


def without_memory(text: str) -> str:
    """Return a text without memory that was quoted into it."""
    return _tidied(text, _QUOTED.sub("", _DATA_NOTICE.sub("", text))) if "<" in text else text.strip()


def spoken_part(text: str) -> str:
    """Return what is left of a text without injected memory and what clients added; empty if nobody said anything."""
    return _tidied(text, _WRAPPED.sub("", without_memory(text))) if "<" in text else text.strip()


def _tidied(text: str, kept: str) -> str:
    return text.strip() if kept == text else _GAP.sub("\n\n", kept).strip()
