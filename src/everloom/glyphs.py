"""Characters that deceive the eye: those that show nothing, turn the direction of writing, or look like others. Pure.

Names, terminals and prompts ask here; what they do about it is theirs.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

# Format characters that are invisible or reorder what is shown (the default-ignorable ones of Unicode 16), letters that
# are blank, and the separators of lines and paragraphs. Joiners and variation selectors are judged by their place.
_BLANK = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"
_FORMAT = (
    "\u00ad\u061c\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff0-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e00ff\U000e01f0-\U000e0fff"
)
_JOINERS = "\u200c\u200d"
_SELECTORS = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
HIDDEN = f"[{_BLANK}{_FORMAT}]"
_PLACED = f"[{_JOINERS}{_SELECTORS}]"
_UNSEEN = f"[{_BLANK}{_FORMAT}{_JOINERS}{_SELECTORS}]"
_VIRAMA = 9  # the combining class of the sign that joins the consonants of Indian scripts
_JOINED_SCRIPTS = ("ARABIC", "SYRIAC", "MONGOLIAN", "NKO", "MANDAIC", "ADLAM")
# Single letters of other alphabets that most typefaces draw like a Latin one, after Unicode's confusables.txt.
_DRAWN_ALIKE = {
    "АВЕЅІЈКМНОРСТУХԚԜЗҮӀ": "ABESIJKMHOPCTYXQW3YI",
    "асԁеһіјӏорԛѕѵԝхуүк": "acdehijlopqsvwxyyk",
    "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹ": "ABEZHIKMNOPTYXC",
    "αγικνορυϲϳ": "ayikvopucj",
    "ՏՕՍԼ": "SOUL",
    "օսհոցզյ": "ouhngqj",
    "ᎪᏴᏟᎬᎻᎫᏦᏞᎷᏢᏚᎢᏙᏔᏃ": "ABCEHJKLMPSTVWZ",
    "ıɑɡ": "iag",
}
_DRAWN = str.maketrans({other: latin for row in _DRAWN_ALIKE.items() for other, latin in zip(*row, strict=True)})
# Within the Latin alphabet and its digits, of which the first occurs in capitals and small.
_STROKES = str.maketrans("i1|0", "lllo")
_BREAKS = r"[\s_\-]+"


def deceptive(text: str) -> str | None:
    """Return the first character that shows nothing or turns the writing; joiners count where no script needs them."""
    if text.isascii():
        return None
    if found := _compiled(HIDDEN).search(text):
        return found[0]
    return next((found[0] for found in _compiled(_PLACED).finditer(text) if not _belongs(text, found.start())), None)


def without_hidden(text: str, by: str) -> str:
    """Replace the characters that show nothing or turn the writing; joiners only where no script needs them."""
    if text.isascii():
        return text
    kept = _compiled(HIDDEN).sub(by, text)
    return _compiled(_PLACED).sub(lambda found: found[0] if _belongs(kept, found.start()) else by, kept)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    # On first use: most texts are plain, and a help page has none.
    return re.compile(pattern)


def _belongs(text: str, at: int) -> bool:
    """Return whether a joiner or selector stands where a script or an emoji needs one."""
    # After RFC 5892, appendix A: after a virama, or between letters of a script that joins its letters.
    before, after = text[at - 1 : at], text[at + 1 : at + 2]
    if not before or (_compiled(_UNSEEN).match(before) and not _is_selector(before)):
        return False
    if _is_selector(text[at]):
        return unicodedata.category(before) in {"So", "Sm", "Sk", "Po", "Nd", "Lo"} or before in "#*\u3030\u203c\u2049"
    if unicodedata.combining(before) == _VIRAMA:
        return True
    if text[at] == "\u200d" and after:
        return all(unicodedata.category(each) in {"So", "Sk"} or _is_selector(each) for each in (before, after))
    return bool(after) and all(unicodedata.name(each, "").startswith(_JOINED_SCRIPTS) for each in (before, after))


def _is_selector(char: str) -> bool:
    return "\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef"


def drawn(name: str) -> str:
    """Fold a name to what it looks like: names that are drawn alike have the same result."""
    plain = _compiled(_UNSEEN).sub("", unicodedata.normalize("NFKC", name)).translate(_DRAWN)
    return _compiled(_BREAKS).sub(" ", unicodedata.normalize("NFC", plain.casefold())).strip().translate(_STROKES)
