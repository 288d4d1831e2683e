"""A long conversation in two languages, made up: facts that change, promises, names, numbers, and much small talk.

The same every time. Each fact has a question and the words that answer it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

# (what the person says, what the agent replies, the question, the answer that the newest of these sentences gives)
_TOLD = [
    ("My sister Mirela moved to Tampere last week.", "", "Where did Mirela move to?", "Tampere"),
    ("By the way, the code of the boat shed is 7741.", "", "What is the code of the boat shed?", "7741"),
    ("The dog is called Bramble, after the hedge he was found in.", "", "What is the dog called?", "Bramble"),
    ("Mein Zahnarzt heißt Doktor Ewersloh.", "", "Wie heißt mein Zahnarzt?", "Ewersloh"),
    ("Die Heizung wurde 1987 eingebaut.", "", "Wann wurde die Heizung eingebaut?", "1987"),
    ("I am allergic to hazelnuts, badly.", "", "What am I allergic to?", "hazelnuts"),
    ("Mum turns seventy on 14 March.", "", "When does mum turn seventy?", "14 March"),
    ("Unsere Nachbarin Frau Özkan gießt die Tomaten.", "", "Wer gießt die Tomaten?", "Özkan"),
    ("The landlord wants 940 euros from January on.", "", "How much does the landlord want?", "940"),
    ("My thesis is about lichens on roof tiles.", "", "What is my thesis about?", "lichens"),
    ("Das Passwort für die Gäste steht unter der Teekanne.", "", "Wo steht das Passwort für die Gäste?", "Teekanne"),
    ("I call the old bicycle Ferdinand.", "", "What do I call the old bicycle?", "Ferdinand"),
    ("Der Zug nach Görlitz fährt um 6:52 Uhr.", "", "Wann fährt der Zug nach Görlitz?", "6:52"),
    ("Please never call before nine, I work nights.", "", "When must nobody call?", "nine"),
    ("The vet said the tablets are 2.5 mg twice daily.", "", "How many mg are the tablets of the vet?", "2.5 mg"),
    ("Onkel Henrik schuldet mir noch 300 Kronen.", "", "Wie viel schuldet mir Onkel Henrik?", "300"),
    ("My favourite tea is Lapsang, the smoky one.", "", "What is my favourite tea?", "Lapsang"),
    ("Der Verein trifft sich im Gasthof Zur Linde.", "", "Wo trifft sich der Verein?", "Linde"),
    ("I left the umbrella at the Kestrel bookshop.", "", "Where did I leave the umbrella?", "Kestrel"),
    ("Grandpa's recipe takes four figs and no sugar.", "", "How many figs does grandpa's recipe take?", "four figs"),
    ("Die Versicherungsnummer endet auf 58-KR.", "", "Worauf endet die Versicherungsnummer?", "58-KR"),
    ("We want to sail to Utö in the second week of June.", "", "Where do we want to sail to in June?", "Utö"),
    ("Could you help me with the tax papers in spring?", "I promise to remind you of the tax papers on 2 April.",
     "On which day did you promise to remind me of the tax papers?", "2 April"),
    ("Kannst du mich an die Impfung erinnern?", "Versprochen: Ich erinnere dich am 9. Mai an die Impfung.",
     "Wann erinnerst du mich an die Impfung?", "9. Mai"),
    ("I would like us to be blunt with each other.", "Agreed: blunt it is, and no flattery.",
     "What did we agree on, to be blunt or polite?", "blunt"),
]  # fmt: skip
# First said, later corrected: only the later one is right.
_CHANGED = [
    ("My flight leaves at 18:40 on Friday.", "The flight was moved, it leaves at 21:15 now.",
     "When does my flight leave now?", "21:15"),
    ("Anouk is my manager.", "Since the reorganisation Piotr is my manager.",
     "Who is my manager since the reorganisation?", "Piotr"),
    ("Die Feier ist am Samstag im Garten.", "Die Feier ist nun am Sonntag in der Scheune.", "Wo ist die Feier nun?",
     "Scheune"),
    ("The kitchen will be painted yellow.", "We decided otherwise: the kitchen will be painted sage green.",
     "Which colour will the kitchen be painted?", "sage green"),
    ("Meine Nummer im Büro ist 4410.", "Meine Nummer im Büro ist jetzt 5523.", "Was ist jetzt meine Nummer im Büro?",
     "5523"),
]  # fmt: skip
_CHAT = {
    "openings": "Well, today was long.|Morning!|Nothing much happened.|Na ja, es regnet wieder.|So, wieder zu Hause."
    "|Hm, let me think.|Das war ein Tag.|I just sat down with tea.|Kurz etwas anderes.|Listen.",
    "middles": "the bus was late again|the neighbours are mowing|I read a little|it rained all afternoon|we had soup"
    "|ich habe lange geschlafen|das Wetter ist grau|der Kaffee war kalt|wir waren spazieren|die Katze schläft",
    "ends": "and that was it.|and now I am tired.|which was nice.|und das war gut so.|und mehr war nicht.|as always.",
    "replies": "That sounds like a calm day. How do you feel?|Das klingt gemütlich. Und sonst?|I see. Go on.|Ach so."
    "|Thanks for telling me. What comes next?|Schön, dass du erzählst. Wie geht es weiter?",
}


@dataclass(frozen=True, slots=True)
class Said:
    """One exchange of the corpus."""

    heard: str
    reply: str


@dataclass(frozen=True, slots=True)
class Asked:
    """A question of the reader, the words that answer it, and after which exchange it can be asked."""

    question: str
    answer: str
    since: int


def conversation(length: int = 400, seed: int = 16) -> tuple[list[Said], list[Asked]]:
    """Make a conversation of so many exchanges, and the questions about it."""
    chance = random.Random(seed)
    told = [*((heard, reply) for heard, reply, _, _ in _TOLD), *((first, "") for first, *_ in _CHANGED)]
    chance.shuffle(told)
    # What is changed is said in the first half, and corrected in the second; the last tenth is small talk alone.
    places = sorted(chance.sample(range(length * 9 // 10 - len(_CHANGED)), len(told)))
    first = dict(zip(places, told, strict=True))
    later = {each[0]: each for each in _CHANGED}
    said: list[Said] = []
    waiting: list[tuple[str, str, str, str]] = []
    asked: dict[str, Asked] = {}
    for number in range(length):
        heard, reply = first.get(number, ("", ""))
        if heard in later:
            waiting.append(later[heard])
        elif not heard and waiting and number >= length // 2 and chance.random() < 0.2:
            _, heard, question, answer = waiting.pop(0)
            asked[question] = Asked(question, answer, number)
        for spoken, _, question, answer in _TOLD:
            if heard and spoken == heard:
                asked[question] = Asked(question, answer, number)
        said.append(Said(_padded(heard, chance), reply or chance.choice(_CHAT["replies"].split("|"))))
    return said, list(asked.values())


def _padded(fact: str, chance: random.Random) -> str:
    """Put small talk around a fact, as people do: the fact is seldom the first sentence."""
    parts = list(_small_talk(chance))
    if fact:
        parts.insert(chance.randrange(len(parts) + 1), fact)
    return " ".join(parts)


def _small_talk(chance: random.Random) -> Iterator[str]:
    yield chance.choice(_CHAT["openings"].split("|"))
    for _ in range(chance.choice([1, 1, 2])):
        middle, end = (chance.choice(_CHAT[part].split("|")) for part in ("middles", "ends"))
        yield f"{middle[0].upper()}{middle[1:]} {end}"
