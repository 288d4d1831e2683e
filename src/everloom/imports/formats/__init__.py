"""One module for each format of another program: whether a path holds it, and what its files say, as plain records.

Reads only. Refuses to know what becomes of a record.
"""

from everloom.imports.formats.chatgpt import Chatgpt
from everloom.imports.formats.claude_ai import ClaudeAi
from everloom.imports.formats.claude_code import ClaudeCode
from everloom.imports.formats.codex import Codex
from everloom.imports.formats.gemini import GeminiChats
from everloom.imports.formats.locomo import Locomo
from everloom.imports.formats.mem0 import Mem0
from everloom.imports.formats.notes import BASIC_MEMORY, NOTES, OBSIDIAN
from everloom.imports.formats.server_memory import ServerMemory
from everloom.imports.records import ForeignFormat

_EVERY: tuple[ForeignFormat, ...] = (
    OBSIDIAN,
    ClaudeCode(),
    Codex(),
    GeminiChats(),
    Chatgpt(),
    ClaudeAi(),
    ServerMemory(),
    Mem0(),
    Locomo(),
    BASIC_MEMORY,
    NOTES,
)
# In the order in which they are tried: those that are recognised surely come first.
FORMATS: dict[str, ForeignFormat] = {each.name: each for each in _EVERY}
