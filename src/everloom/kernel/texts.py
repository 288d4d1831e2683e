"""Checking texts and names, deciding when two of them are equal, and splitting texts into words. Pure.

The word index and the questions put to it use the same words, on both engines: case-folded, without stop words, reduced
to their stems; scripts without spaces become overlapping pairs of characters. A question has one word for each of its
own (`analyse`); a text has every word by which it may be asked for (`indexed`). A word never contains white space or a
quote, so it can never be read as query syntax.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache, partial
from threading import Lock
from typing import Any, Literal, TypeVar, get_args

from everloom.errors import Rejected
from everloom.glyphs import deceptive

T = TypeVar("T")
# Every language that `language_of` can detect. Other scripts, such as Thai and Hebrew, count as undecided.
Language = Literal["en", "de", "fr", "es", "ru", "ja", "zh", "ar", "hi"]
LANGUAGES: tuple[Language, ...] = get_args(Language)
Undecided = Literal[""]

# A memory is a statement, not a library: larger texts have to be split by the caller.
LONGEST_TEXT = 200_000
LONGEST_NAME = 200
# PostgreSQL cannot store NUL, and a lone surrogate has no UTF-8 encoding.
UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_SPACES = re.compile(r"\s+")
_NAME_BREAKS = re.compile(r"[\s_\-]+")
# Longer tokens, such as base64, are cut: an entry of PostgreSQL's index may not exceed 2.7 kB.
LONGEST_WORD = 64

# Han, kana, Thai, Lao, Khmer, Myanmar: written without spaces between words.
_HAN = "\u3005\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_UNSPACED = f"{_HAN}\u3040-\u30ff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
# Vowel points of Hebrew and Arabic. Most writing omits them, so they are ignored here, too.
_POINTS = (
    "\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"
    "\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed"
)
# Signs that are written on or around a letter and belong to its word: accents, and the vowels of Indian scripts.
_SIGNS = rf"\u0300-\u036f\u0483-\u0487\u0900-\u0963\u0966-\u0dff{_POINTS}"
_LETTER = rf"(?![{_UNSPACED}_])[\w{_SIGNS}]"
_TOKEN = rf"[{_UNSPACED}]+|(?:{_LETTER})+(?:['\u2019](?:{_LETTER})+)*"
_PLAIN_TOKEN = re.compile("[A-Za-z0-9]+(?:'[A-Za-z0-9]+)*")  # the same in ASCII, in a third of the time
_PLAIN_WORD = re.compile("[a-z0-9]+")
_POINT = f"[{_POINTS}]"
_UNSPACED_RUN = rf"[{_UNSPACED}]"
# A Japanese word changes where its script does: "住んでいます" is the word 住 with its ending.
_RUNS = rf"([{_HAN}]+)|([\u3041-\u309f]+)|[\u30a0-\u30fa\u30fc-\u30ff]+|[^{_HAN}\u3040-\u30ff]+"
# The scripts without spaces come after this character; most tokens need no closer look.
_FIRST_UNSPACED = "\u0e00"
_APOSTROPHE = re.compile("['\u2019]")
_TAILS = frozenset({"s", "t", "d", "m", "re", "ve", "ll"})
# What French and Italian leave before an apostrophe.
_ELIDED = frozenset({"l", "d", "j", "c", "m", "n", "s", "t", "qu"})
# Ways of writing that do not tell words apart: ё, the forms of alef, the stroke that widens, the dot of Hindi, digits.
_SAME = str.maketrans(
    "ёЁأإآٱىکیँ" + "٠١٢٣٤٥٦٧٨٩०१२३४५६७८९",
    "еЕاااايكيं" + "01234567890123456789",
    "\u0640\u093c\u00ad\u200c\u200d",
)
_PARTICIPLE = re.compile(r"\Age(\w{3,}t)\Z")
_THIRD_PERSON = re.compile(r"\w\w[bdfghklmnpr]t\Z")
_ARABIC_BEGINNING = re.compile(r"\A(?:(?:[وبكف]ال|و?لل|ال)(?=..)|و(?=...))?(?:[يت](?=...))?")
_ARABIC_ENDING = re.compile(r"(?:(?<=..)(?:ت(?:ها|هم|نا|ي|ه|ك)|ة)|(?<=...)(?:ها|هم|نا|كم|ات|ان|ون|ين|وا|يه|[هيتك]))\Z")
_UNACCENTED = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "œ": "oe", "æ": "ae", "ı": "i"})
_ACCENT = re.compile("[\u0300-\u036f]")


def by_language(rows: Mapping[Language, T], *default: T) -> Mapping[Language, T]:
    """Return a table with a row for every language; one without a row has the default, and without a default fails."""
    missing = [code for code in LANGUAGES if code not in rows]
    if missing and not default:
        raise LookupError(f"the table has no row for {', '.join(missing)}")
    return {**dict.fromkeys(missing, *default), **rows}


def _listed(words: str) -> frozenset[str]:
    return frozenset(words.casefold().split())


# Grammar that is written into the run of a sentence: characters of Chinese, pairs of hiragana.
_HAN_STOPS = (
    "为什么|為什麼|什么|什麼|怎么|怎麼|哪里|哪裡|哪儿|多少|我们|你们|他们|她们|"
    "[我你您他她它的了是在吗嗎呢吧和也就都很谁誰哪这那有们們私僕君何]"
)
_HIRAGANA_STOPS = """ですか でした でしょう ですが ますか ました ません ましょう ています ていました ている
    ていた んでいる んでいた している して した する される された させる できる いる います ある あります あった
    から まで より こと もの とき ため という ので のに だった なかった ない では には とは ここ そこ どこ どこに
    だれ いつ なぜ なに どの どう どれ どんな いくつ いくら どちら わたし あなた くれ ください について それ これ
    あれ その この もう たか みま みました きました りました いました"""
# The languages of one script that have to be told apart, and letters that only some of them use.
LANGUAGES_IN_LATIN: tuple[Language, ...] = ("en", "de", "fr", "es")
_LETTERS_OF: Mapping[Language, str] = {"de": "äöü", "fr": "àâçèêëîïôœùû", "es": "ñáíóú"}
_SCRIPTS: tuple[tuple[Language, str], ...] = (
    ("ja", "\u3040-\u30ff"),
    ("zh", _HAN),
    ("ru", "\u0400-\u052f"),
    ("ar", "\u0600-\u06ff"),
    ("hi", "\u0900-\u097f"),
)
_GERMAN_ARTICLES = _listed(
    """der die das dem den des ein eine einem einen einer eines kein keine keinem keinen keiner mein meine meinem
    meinen meiner meines dein deine deinem deinen deiner sein seine seinem seinen seiner seines ihr ihre ihrem
    ihren ihrer ihres unser unsere unserem unseren euer eure welche welchem welchen welcher welches diese diesem
    diesen dieser dieses jede jedem jeden jeder jedes alle allen aller andere anderen viel zum zur im am vom
    beim ins"""
)
_BEFORE_NOUN = re.compile(r"(?:\A[^\W_A-ZÄÖÜ]\w*e[mnrs]?|\A[A-ZÄÖÜ]\w+s|\Azwei|\Adrei|\Avier|\A\d+)\Z")
# Ends the stems of the other Latin languages: the German stem of "Peter" is not the English word "pet".
_FOREIGN = "\u00b7"
_STEMMERS = by_language(
    {"en": "english", "de": "german", "fr": "french", "es": "spanish", "ru": "russian", "hi": "hindi"}, "english"
)
# In a text of another script, Latin words are read as English ones; so the index has them, too.
_LATIN_IN = by_language({code: code for code in LANGUAGES_IN_LATIN}, "en")
# A language is read off the beginning of a text, where it is as clear as in the whole.
_BEGINNING = 2_000
# By so many votes English leads in a text that is surely English.
_SURE = 4
# Stop words of one language that are words or parts of names in another, and so say less about it.
_WEAK = _listed(
    """die war man hat mal gab bin hin des car son plus ton tous ses pour tout fait ma mes sin era dos bajo bien para
    el la las los de un con comment pendant sobre y e o u a"""
)
_CONTRACTIONS = """it's i'm i've i'll i'd you're you've you'll he's she's they're we're we've that's there's what's
    who's let's don't didn't doesn't isn't aren't wasn't weren't can't couldn't won't wouldn't haven't hasn't"""

_stemmer_turn = Lock()


def checked(text: object, what: str, longest: int = LONGEST_TEXT) -> str:
    """Return a text unchanged; refuse it if it is empty, too long or not storable."""
    if not isinstance(text, str):
        raise Rejected(f"{what} must be text, not {type(text).__name__}", hint="give it as a string")
    if not text.strip():
        raise Rejected(f"{what} is empty", hint="give it some words")
    if len(text) > longest:
        raise Rejected(f"{what} has {len(text):,} characters", hint=f"split it: at most {longest:,} are allowed")
    return storable(text, what)


def storable(text: str, what: str) -> str:
    """Return a text unchanged, even an empty one; refuse characters that an engine cannot store."""
    if found := UNSTORABLE.search(text):
        raise Rejected(f"{what} contains the character U+{ord(found[0]):04X}, which cannot be stored", hint="remove it")
    return text


def checked_name(name: object, what: str) -> str:
    """Return a name trimmed and in composed form; refuse one that is not a single line with some letters."""
    text = checked(name, what, LONGEST_NAME)
    if any(unicodedata.category(char) == "Cc" for char in text):
        raise Rejected(f"{what} contains a control character", hint="write it on one line")
    if hidden := deceptive(text):
        raise Rejected(f"{what} contains the invisible character U+{ord(hidden):04X}", hint="write it without")
    folded = _SPACES.sub(" ", unicodedata.normalize("NFC", text)).strip()
    if not name_key(folded):
        raise Rejected(f"{what} {text!r} has no letters", hint="use at least one letter")
    return folded


def checked_limit(limit: int, most: int, what: str = "hits") -> int:
    """Return a limit on the number of results; refuse one outside 1 to `most`."""
    if not 1 <= limit <= most:
        message = f"the limit must be between 1 and {most:,}, not {limit:,}"
        raise Rejected(message, hint=f"ask for fewer {what}, or for at least one")
    return limit


def name_key(name: str) -> str:
    """Fold a name to its lookup key: case does not matter, and runs of spaces, `_` and `-` are equal."""
    # Composed again after folding, because folding a composed letter may decompose it.
    return _NAME_BREAKS.sub(" ", unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())).strip()


def checked_list(values: Iterable[T], what: str, most: int, *, least: int = 1) -> tuple[T, ...]:
    """Return a list as a tuple; refuse a wrong length, and a bare text, which is not a list of its letters."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise Rejected(
            f"expected a list, not {type(values).__name__}", hint="write it in brackets, even if it is a single item"
        )
    known = tuple(values)
    if not least <= len(known) <= most:
        raise Rejected(f"{what}: {len(known)} were given", hint=f"give {least} to {most}")
    return known


def checked_names(values: Iterable[str], what: str, most: int, *, least: int = 1) -> dict[str, str]:
    """Check names, and return the first spelling of each under its key."""
    found: dict[str, str] = {}
    for value in checked_list(values, f"{what}s", most, least=least):
        name = checked_name(value, what)
        found.setdefault(name_key(name), name)
    return found


def content_hash(text: str) -> str:
    """Hash a text, ignoring differences in white space and Unicode composition but not in case."""
    import hashlib  # noqa: PLC0415  loads OpenSSL

    folded = _SPACES.sub(" ", unicodedata.normalize("NFC", text)).strip()
    return hashlib.sha256(folded.encode()).hexdigest()


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    # Compiled on first use: the classes of letters take 20 ms, and a help page needs no words.
    return re.compile(pattern)


def analyse(text: str, language: Language | Undecided = "") -> list[str]:
    """Split a question into its words, in order: one for each, in its own language unless another one is given."""
    return [word for _, words in _asked(text, language) for word in words]


def indexed(text: str) -> list[str]:
    """Split a text into all the words by which a question may ask for it, in order.

    The language of a short text or question is a guess. So every word of a text that is not surely English gets its
    stem in each of the Latin languages: whichever one the question is taken for, it asks by one of them.
    """
    tokens, votes = _heard(text)
    if not tokens:
        return []
    spoken = _leading(votes) or "en"
    others = max(votes[code] for code in LANGUAGES_IN_LATIN if code != "en")
    languages: tuple[Language, ...] = ("en",) if votes["en"] >= others + _SURE else LANGUAGES_IN_LATIN
    read = _reader(languages, spoken)
    return [
        word for token in tokens for word in (read(token) if token[0] < _FIRST_UNSPACED else _pairs(token, singly=True))
    ]


@lru_cache(maxsize=256)
def language_of(text: str) -> Language | Undecided:
    """Tell the language of a text: by its script, or by its stop words and letters; empty if nothing tells."""
    beginning = unicodedata.normalize("NFKC", text[:_BEGINNING])
    if not beginning.isascii():
        found = {code: len(_compiled(f"[{letters}]").findall(beginning)) for code, letters in _SCRIPTS}
        # A Japanese text may have more Han than kana; a Chinese one has no kana.
        if found["ja"]:
            found["ja"] += found.pop("zh")
        code = max(found, key=found.__getitem__)
        if found[code] * 2 > sum(map(str.isalpha, beginning)) - found[code]:
            return code
    return _leading(_heard(beginning)[1])


def latin_languages(text: str) -> frozenset[Language]:
    """Return the Latin languages that a text may be in: those for which at least half as much speaks as for the first.

    Short texts of related languages have the same stop words: "de", "en" and "un" are French and Spanish.
    """
    votes = _heard(text[:_BEGINNING])[1]
    return frozenset(code for code in LANGUAGES_IN_LATIN if votes[code] * 2 >= max(votes.values()))


def folded_tokens(text: str) -> list[str]:
    """Split a text into tokens: lower case, no accents, cut at apostrophes; runs without spaces stay whole."""
    if text.isascii():
        return _PLAIN_WORD.findall(text.casefold())
    bare = _compiled(_POINT).sub("", unicodedata.normalize("NFKC", text).translate(_SAME)).casefold()
    bare = unicodedata.normalize("NFC", unaccented(bare))
    return [part for token in _compiled(_TOKEN).findall(bare) for part in _APOSTROPHE.split(token)]


def is_unspaced(token: str) -> bool:
    """Return whether a token is a run of words without spaces between them."""
    return token[0] >= _FIRST_UNSPACED and _compiled(_UNSPACED_RUN).match(token) is not None


def spellings(text: str) -> dict[str, str]:
    """Map each word of a text to its first spelling in the text."""
    found: dict[str, str] = {}
    for token, words in _asked(text):
        for word in words:
            found.setdefault(word, word if _compiled(_UNSPACED_RUN).match(token) else token)
    return found


def _asked(text: str, language: Language | Undecided = "") -> Iterator[tuple[str, Sequence[str]]]:
    """Yield each token of a question with its words."""
    tokens, votes = _heard(text)
    spoken = language or _leading(votes) or "en"
    read, read_name = _reader((spoken,), spoken), _reader(("en",), spoken)
    before = ""
    for token in tokens:
        if token[0] >= _FIRST_UNSPACED:
            yield token, list(_pairs(token, singly=False))
        # A name has no endings but the genitive's: Maria is not Mario.
        elif before and spoken != "en" and token[0].isupper() and _is_name_after(before, spoken):
            yield token, read_name(token)
        else:
            yield token, read(token)
        before = token


def _is_name_after(before: str, spoken: Language) -> bool:
    """Return whether a word with a capital is a name: inside a French or Spanish sentence always.

    In German it may be any noun. A noun follows an article, an adjective, a number or somebody whose it is; a name
    follows a verb or a preposition.
    """
    if spoken != "de":
        return True
    word = before.casefold()
    if word in stop_words("de"):
        return word not in _GERMAN_ARTICLES
    return _BEFORE_NOUN.search(before) is None


# Kept for a moment: what is split into words is asked for its language, too. Only a few, as they may be long.
@lru_cache(maxsize=4)
def _heard(text: str) -> tuple[list[str], dict[Language, int]]:
    """Split a text into tokens, and count what speaks for each Latin language."""
    if text.isascii():
        tokens = _PLAIN_TOKEN.findall(text)
    else:
        tokens = _compiled(_TOKEN).findall(unicodedata.normalize("NFKC", text).translate(_SAME))
    return tokens, _votes(tokens)


def _votes(tokens: Sequence[str]) -> dict[Language, int]:
    """Count what speaks for each Latin language: its stop words and its letters."""
    votes = dict.fromkeys(LANGUAGES_IN_LATIN, 0)
    known = _voters()
    for token in tokens[:_BEGINNING]:
        for code in known.get(token, ()):
            votes[code] += 1
    accented = [token for token in tokens if not token.isascii()]
    if not accented:
        return votes
    for token in accented:
        for code, letters in _LETTERS_OF.items():
            votes[code] += 2 * any(letter in token for letter in letters)
    # Spanish has it, too, but seldom.
    votes["fr"] += votes["fr"] >= votes["es"] and any("é" in token for token in accented)
    return votes


def _leading(votes: Mapping[Language, int]) -> Language | Undecided:
    """Choose the language with most votes, English first among equals; empty if none has two."""
    best = max(votes, key=votes.__getitem__)
    return best if votes[best] > 1 else ""


@cache
def _voters() -> dict[str, tuple[Language, ...]]:
    """Map each stop word, written small or with a capital, to its languages: twice, if no other uses the word."""
    known: dict[str, tuple[Language, ...]] = {}
    for code in LANGUAGES_IN_LATIN:
        for word in stop_words(code):
            known[word] = (*known.get(word, ()), code)
    weak = _WEAK.union(word for word, codes in known.items() if len(codes) > 1)
    known |= {word: codes * 2 for word, codes in known.items() if word not in weak}
    for word in _CONTRACTIONS.split():
        known[word] = known[word.replace("'", "\u2019")] = ("en", "en")
    return known | {word.capitalize(): codes for word, codes in known.items()}


@cache
def _stop_word_table() -> Mapping[Language, frozenset[str]]:
    from importlib.resources import files  # noqa: PLC0415  checking a name needs no words
    from tomllib import loads  # noqa: PLC0415

    rows = loads((files("everloom.kernel") / "stop_words.toml").read_text(encoding="utf-8"))
    # Chinese and Japanese have no words to list; their grammar is cut out of each run of characters.
    return by_language({code: _listed(rows[code]) for code in LANGUAGES if code in rows}, frozenset())


def stop_words(language: Language) -> frozenset[str]:
    """Return the words that say nothing in a language but which one it is."""
    return _stop_word_table()[language]


@cache
def _without_meaning(language: Language) -> frozenset[str]:
    """Return the words without meaning in a language, English ones always, and those of every other script."""
    codes: set[Language] = {"en", "ru", "ar", "hi", language}
    return frozenset(word.translate(_SAME) for code in codes for word in stop_words(code))


def _pairs(run: str, *, singly: bool) -> Iterator[str]:
    """Cut a run without spaces into overlapping pairs; `singly` adds the characters of Han, which are words, too.

    A token of a later script that has spaces, such as Korean, is a word of its own.
    """
    if not _compiled(_UNSPACED_RUN).match(run):
        yield from _reader(("en",), "en")(run)
        return
    for match in _compiled(_RUNS).finditer(run):
        if match[1]:
            for part in _compiled(_HAN_STOPS).split(match[1]):
                yield from _overlapping(part)
                if singly and len(part) > 1:
                    yield from part
        elif match[2]:
            yield from (pair for pair in _overlapping(match[2]) if len(pair) > 1 and pair not in _hiragana_stops())
        else:
            yield from _overlapping(match[0])


def _overlapping(part: str) -> list[str]:
    return [part[at : at + 2] for at in range(max(1, len(part) - 1))] if part else []


@cache
def _hiragana_stops() -> frozenset[str]:
    return frozenset(pair for word in _HIRAGANA_STOPS.split() for pair in _overlapping(word))


@cache
def _reader(languages: tuple[Language, ...], spoken: Language) -> Callable[[str], tuple[str, ...]]:
    """Return the function that reads a token; it remembers what it has read, because stemming is slow."""
    return lru_cache(maxsize=100_000)(partial(_read_token, languages=languages, spoken=spoken))


def _read_token(token: str, languages: tuple[Language, ...], spoken: Language) -> tuple[str, ...]:
    """Reduce a token to its words: a possessive or contraction loses its ending, and a stop word yields nothing."""
    parts = _APOSTROPHE.split(_compiled(_POINT).sub("", token.casefold()))
    if len(parts) > 1:
        *before, last = parts
        parts = [*(part for part in before if part not in _ELIDED), *([] if last in _TAILS else [last])]
    stops = _without_meaning(spoken)
    kept = [part[:LONGEST_WORD] for part in parts if part and part not in stops]
    return tuple(dict.fromkeys(stem(part, code)[:LONGEST_WORD] for part in kept for code in languages))


def stem(word: str, language: Language = "en") -> str:
    """Reduce a word to its stem: in Latin letters that of the language, otherwise that of its script."""
    first = word[0]
    if first < "\u0250" or "\u1e00" <= first < "\u1f00":
        return _latin_stem(word, _LATIN_IN[language])
    if "\u0400" <= first < "\u0530":
        return _snowball(word, "ru")
    if "\u0900" <= first < "\u0980":
        # The stemmer takes every vowel off a short word: of the name माया it leaves one letter.
        return root if len(root := _snowball(word, "hi")) > 1 else word
    return _arabic_stem(word) if "\u0600" <= first < "\u0700" else word


def _latin_stem(word: str, language: Language) -> str:
    """Stem a word and drop its accents. In English they go first: its stemmer does not know them."""
    if not word.isalpha():
        return unaccented(word)
    if language == "en":
        return _snowball(unaccented(word), "en")
    root = unaccented(_german_stem(word) if language == "de" else _snowball(word, language))
    return root + _FOREIGN


def unaccented(word: str) -> str:
    """Write a word of Latin letters without its accents."""
    return word if word.isascii() else _ACCENT.sub("", unicodedata.normalize("NFD", word.translate(_UNACCENTED)))


def _german_stem(word: str) -> str:
    """Stem a German word; a participle and the third person become the same as the infinitive."""
    root = _snowball(_PARTICIPLE.sub(r"\1", word), "de")
    return root[:-1] if _THIRD_PERSON.search(root) else root


def _arabic_stem(word: str) -> str:
    """Strip an Arabic word of its article, of words written together with it, and of its most frequent endings."""
    return _ARABIC_ENDING.sub("", _ARABIC_BEGINNING.sub("", word))


def _snowball(word: str, language: Language) -> str:
    # The stemmer stores the word it works on in itself, so threads must take turns.
    with _stemmer_turn:
        return str(_stemmer(language).stemWord(word))


@cache
def _stemmer(language: Language) -> Any:
    from Stemmer import Stemmer  # noqa: PLC0415  checking a name needs no stems

    # Without a memory of its own: a reader has one.
    return Stemmer(_STEMMERS[language], 0)
