"""One module for each format of another program: whether a path holds it, and what its files say, as plain records.

Reads only. Refuses to know what becomes of a record.
"""

from everloom.imports.formats.claude_code import ClaudeCode
from everloom.imports.formats.codex import Codex
from everloom.imports.records import ForeignFormat

# In the order in which they are tried: those that are recognised surely come first.
FORMATS: dict[str, ForeignFormat] = {each.name: each for each in (ClaudeCode(), Codex())}
