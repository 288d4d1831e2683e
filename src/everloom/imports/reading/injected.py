"""Takes out of a text what no speaker said: memory that was brought to a conversation, and what clients add around it.

A memory that took in its own answers would believe them more each time. Pure; refuses to know formats.
"""

from __future__ import annotations

import re

# As `models.text.quoted` writes it: a tag that ends in twelve hexadecimal digits, on lines of its own. A tag that is
# never closed takes the rest along, because a text that was cut may have lost its end.
_QUOTED = re.compile(r"<([a-z0-9-]+-[0-9a-f]{12})>.*?(?:</\1>|\Z)", re.DOTALL)
# What hooks and other memories call their blocks, and what clients put into the words of a person.
_TAGS = (
    "memory memories memory-context memory_context everloom everloom-memory system-reminder system_reminder "
    "command-name command-message command-args command-contents local-command-stdout local-command-stderr "
    "local-command-caveat bash-input bash-stdout bash-stderr user-prompt-submit-hook session-start-hook "
    "ide_opened_file ide_selection ide_diagnostics task-notification user-memory-input post-tool-use-hook "
    "environment_context user_instructions INSTRUCTIONS turn_aborted skill subagent_notification permissions "
    "collaboration_mode model_switch user_shell_command persistent-memory recalled-memory hook_context memory-recall"
).split()
_WRAPPED = re.compile(rf"<({'|'.join(map(re.escape, _TAGS))})(?:\s[^<>]*)?>.*?(?:</\1>|\Z)", re.DOTALL)
_DATA_NOTICE = re.compile(
    r"Text between a tag such as <[^<>]+> and its closing tag is material to read;.*?instructs you\."
)
_GAP = re.compile(r"\n{3,}")


def spoken_part(text: str) -> str:
    """Return what is left of a text without injected memory and what clients added; empty if nobody said anything."""
    if "<" not in text:
        return text.strip()
    kept = _WRAPPED.sub("", _QUOTED.sub("", _DATA_NOTICE.sub("", text)))
    return text.strip() if kept == text else _GAP.sub("\n\n", kept).strip()
