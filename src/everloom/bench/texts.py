"""Generated texts with names, places, dates and rare words, as varied as real memories. Pure.

The same seed gives the same texts. Common words are few and frequent, proper names many and rare, so that a keyword
index has to handle both.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

_SYLLABLES = """ka lo mi ran tes vor el du shi bra nor tal quin ze phi mor lan ster gha wu ior pel sin dar vex tu ob ri
ach um fen sol kri jet hul nym pas rov""".split()
_PEOPLE = """James Audrey Maria Tomas Lena Igor Priya Kenji Fatima Oliver Ingrid Mateo Chloe Samir Hanna Diego Yuki Noah
Amara Felix Zofia Omar Elena Victor""".split()
_ACTIONS = """repaired painted sold borrowed measured baked photographed translated deployed rewrote cancelled rehearsed
planted inherited misplaced renovated tested documented negotiated postponed archived tuned polished donated""".split()
_THINGS = """bicycle telescope invoice garden kitchen guitar database contract boat novel greenhouse printer violin
piano recipe tent budget mural lamp archive sensor engine quilt speech passport website fireplace orchard sculpture
curriculum microscope pipeline""".split()
_QUALITIES = """old broken blue unfinished expensive tiny favourite rusty wooden second-hand electric noisy elegant
heavy secret temporary German portable faded striped""".split()
_REASONS = """because the rain would not stop|after a long talk with the neighbours|before the deadline in autumn
|while the children were asleep|although nobody had asked for it|to surprise the whole team
|since the warranty had run out|so that the exhibition could open on time|despite the warning of the doctor
|as a present for the anniversary|during the power cut|instead of flying home""".replace("\n", "").split("|")
_MONTHS = """January February March April May June July August September October November December""".split()


@dataclass(frozen=True, slots=True)
class SampleMemory:
    """A generated text and a question that it answers."""

    text: str
    question: str


def memories(count: int, seed: int = 7) -> Iterator[SampleMemory]:
    """Generate texts, each with a question about it."""
    random = Random(seed)
    for _ in range(count):
        person, place = _proper_name(random, _PEOPLE), _invented(random)
        action, thing, quality = (random.choice(words) for words in (_ACTIONS, _THINGS, _QUALITIES))
        day, year = f"{random.randint(1, 28)} {random.choice(_MONTHS)}", random.randint(2015, 2026)
        reason, maker = random.choice(_REASONS), _invented(random)
        text = f"{person} {action} the {quality} {thing} from {maker} in {place} on {day} {year} {reason}."
        yield SampleMemory(text, question(random, person, action, thing, place, maker))


def question(random: Random, person: str, action: str, thing: str, place: str, maker: str) -> str:
    """Ask about one aspect of a text, in some of its words."""
    forms = (
        f"what did {person} do with the {thing} in {place}?",
        f"when was the {maker} {thing} {action}?",
        f"who {action} something in {place}?",
        f"why was the {thing} in {place} {action} by {person}?",
    )
    return random.choice(forms)


def _proper_name(random: Random, known: list[str]) -> str:
    """Choose a name: usually a known one, sometimes an invented one."""
    return random.choice(known) if random.random() < 0.7 else _invented(random)


def _invented(random: Random) -> str:
    """Make up a proper name."""
    return "".join(random.choices(_SYLLABLES, k=random.randint(2, 3))).capitalize()
