"""Languages: which one a text is in, and who speaks, asks and wishes in it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from importlib import import_module
from itertools import product
from pkgutil import walk_packages

import pytest

import everloom.kernel
from everloom.episodic.patrol.prototypes import shipped_prototypes
from everloom.kernel.search.languages import ADDRESSED, FIRST_PERSON, REQUESTS, WISHES
from everloom.kernel.texts import LANGUAGES, Language, analyse, by_language, indexed, language_of, stem


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("What is the name of the cat?", "en"),
        ("Why did the man die in the war?", "en"),
        ("Wo arbeitet Anna jetzt?", "de"),
        ("Où sont mes clés ?", "fr"),
        ("El mes pasado viajé a Porto", "es"),
        ("Где живёт Анна?", "ru"),
        ("猫の名前は何ですか", "ja"),
        ("猫叫什么名字", "zh"),
        ("ما اسم القطة؟", "ar"),
        ("बिल्ली का नाम क्या है", "hi"),
        ("Porto", ""),
        ("Where is 東京 on the map of Asia?", "en"),
    ],
)
def test_the_language_of_a_text_is_told_by_its_script_its_stop_words_and_its_letters(text: str, language: str) -> None:
    assert language_of(text) == language


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("What did I say about my cat?", ["I", "my"]),
        ("How many states does the US have?", []),
        ("Wo habe ich meine Schlüssel?", ["ich", "meine"]),
        ("J’ai perdu mes clés dans la rue", ["J’ai", "mes"]),
        ("El mes pasado viajé a Porto", ["viajé"]),
        ("Где я живу и как зовут мою кошку?", ["я", "мою"]),
        ("私の猫の名前は何ですか", ["私"]),
        ("我的猫叫什么", ["我"]),
        ("私人医院在哪里", []),
        ("ما اسمي وأين أنا؟", ["اسمي", "أنا"]),
        ("मेरी बिल्ली का नाम क्या है", ["मेरी"]),
    ],
)
def test_the_first_person_is_heard_in_nine_languages(text: str, found: list[str]) -> None:
    assert FIRST_PERSON.findall(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("What did you recommend for the trip?", ["you"]),
        ("How heavy is a ton of steel?", []),
        ("Was hast du mir geraten?", ["du"]),
        ("Was haben Sie empfohlen?", ["Sie"]),
        ("Quel est ton conseil ?", ["ton"]),
        ("¿Qué me recomendaste?", ["recomendaste"]),
        ("Что ты мне посоветовал?", ["ты"]),
        ("あなたは何を勧めましたか", ["あなた"]),
        ("你推荐了什么", ["你"]),
        ("ما نصيحتك؟", ["نصيحتك"]),
        ("आपने क्या सलाह दी", ["आपने"]),
    ],
)
def test_the_assistant_is_addressed_in_nine_languages(text: str, found: list[str]) -> None:
    assert ADDRESSED.findall(text) == found


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("Can you tell me where Maya lives?", "where Maya lives?"),
        ("Where can you tell me apart?", "Where can you tell me apart?"),
        ("Kannst du mir sagen, wo Maya wohnt?", ", wo Maya wohnt?"),
        ("Peux-tu me rappeler où vit Maya ?", "où vit Maya ?"),
        ("¿Puedes decirme dónde vive Maya?", "dónde vive Maya?"),
        ("Можешь мне напомнить, где живёт Майя?", ", где живёт Майя?"),
        ("マヤはどこに住んでいるか教えてください", "マヤはどこに住んでいる"),
        ("你能告诉我玛雅住在哪里吗", "玛雅住在哪里吗"),
        ("هل يمكنك أن تخبرني أين تسكن مايا؟", "أين تسكن مايا؟"),
        ("क्या आप मुझे बता सकते हैं कि माया कहाँ रहती है?", "माया कहाँ रहती है?"),
    ],
)
def test_the_frame_of_a_request_is_told_from_what_it_asks(text: str, rest: str) -> None:
    assert REQUESTS.sub(" ", text).strip() == rest


@pytest.mark.parametrize(
    "text",
    [
        "From now on answer in two sentences.",
        "I'd rather have tea.",
        "Bitte antworte ab jetzt immer kurz.",
        "Je préfère le thé.",
        "Prefiero el té al café.",
        "Пожалуйста, всегда отвечай коротко.",
        "今後は短く答えてください",
        "我更喜欢喝茶",
        "من الآن فصاعدا أجب باختصار",
        "मैं हमेशा चाय पीता हूँ",
    ],
)
def test_a_standing_wish_is_heard_in_nine_languages(text: str) -> None:
    assert WISHES.search(text)


@pytest.mark.parametrize(
    "text", ["Maya lives in Porto.", "Maya wohnt in Porto.", "Maya vit à Porto.", "マヤは東京に住む"]
)
def test_a_plain_statement_is_neither_wish_nor_request(text: str) -> None:
    assert not any(phrases.search(text) for phrases in (FIRST_PERSON, ADDRESSED, REQUESTS, WISHES))


@pytest.mark.promise("words.languages")
@pytest.mark.parametrize(
    ("text", "question", "shared"),
    [
        ("Anna arbeitet in einer Bäckerei.", "Wo hat Anna gearbeitet?", 2),
        ("Peter hat zwei Katzen.", "Wie heißt Peters Katze?", 2),
        ("Frau Müller wohnt in Kiel.", "Wo wohnte Frau Müller?", 3),
        ("Marie travaillait à Lyon.", "Où travaille Marie ?", 2),
        ("Les chevaux de l’école sont blancs.", "De quelle couleur est le cheval de l'ecole ?", 2),
        ("Maria trabajó en Lisboa.", "¿Dónde trabaja Maria?", 2),
        ("Receta: paella valenciana", "¿Dónde está la receta de la paella?", 2),
        ("Анна купила новую книгу.", "Какие книги купила Анна?", 3),
        ("Пётр живёт в Киеве.", "Где живет Петр?", 2),
        ("東京に住んでいます。", "どこに住みましたか", 1),
        ("私の猫の名前はタマです。", "猫の名前は何ですか", 2),
        ("我家有一只黑猫", "猫在哪里", 1),
        ("سيارة أحمد زرقاء", "ما لون السيارة؟", 1),
        ("تسكن مايا في القاهرة", "أين يسكن احمد؟", 1),
        ("माया की दो बिल्लियाँ हैं", "माया की बिल्ली का नाम क्या है", 2),
        ("कमरे में क़लम है", "कलम कहाँ है", 1),
        ("Zoë's café is closed", "zoe cafe", 2),
    ],
)
def test_a_question_shares_inflected_words_with_the_text_it_asks_for(text: str, question: str, shared: int) -> None:
    assert len(set(analyse(question)) & set(indexed(text))) == shared


@pytest.mark.promise("words.languages")
@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Which pet does she have?", "Peter hat einen Termin."),
        ("Where is the port?", "Maria vive en Porto."),
        ("¿Dónde vive Mario?", "Maria vive en Lisboa."),
        ("car", "Il est venu, car il pleut."),
    ],
)
def test_a_stem_of_one_language_is_not_a_word_of_another(question: str, text: str) -> None:
    assert not {"pet", "port", "maria", "mari", "car"} & set(analyse(question)) & set(indexed(text))


@pytest.mark.promise("words.languages")
@pytest.mark.parametrize("text", ["car", "die hard", "Los Angeles hotel", "war", "sale", "hat size"])
def test_a_few_english_words_are_not_taken_for_another_language(text: str) -> None:
    assert len(analyse(text)) == len(text.split())
    assert analyse(text) == analyse(text, "en")


@pytest.mark.promise("words.languages")
def test_a_text_that_is_surely_english_is_indexed_by_its_english_stems_alone() -> None:
    text = "Peter said that he would like to see the sailing boats of his brother."
    assert indexed(text) == analyse(text)


@pytest.mark.promise("words.languages")
@pytest.mark.parametrize(
    ("language", "beginnings", "endings", "digest"),
    [
        (
            "en",
            "be ca de fli gen hop lo mo ny pro stu tri vex",
            "ing ed ly ational ization fulness ies s est y ous",
            "49acc3521d444864",
        ),
        (
            "de",
            "ab be füh ge grün haus kind lauf mäd schö über",
            "heit keit lich isch ung en ern em st end ß",
            "0987514c788e7cbd",
        ),
        (
            "fr",
            "ab bê ca cré fi gou hé jou lan mon œuv préf",
            "issement atrice ement ités euse iraient ée ir",
            "18323a6df1cb8834",
        ),
        (
            "es",
            "ac be ca cor dí fá gu ha ju lla niñ pre",
            "amiento adora ación logía idad ivas iéndolo os ó",
            "c85a5a5a35260f3c",
        ),
        (
            "ru",
            "бе вод год дом жи зна кни лю мо нес при сто",
            "ывшись ость ейшее ала ыми ого ему ющая ешь ов",
            "717f6f1770f61ab3",
        ),
        ("hi", "कर खा गा घर चल जा दे पढ़ बच्च लड़क सो", "ियाँ ाओं ाएगी ना ता ते ों ाती ूंगा ोगे ी", "26a9034720540d90"),
    ],
)
def test_stems_are_the_ones_that_stores_hold(language: Language, beginnings: str, endings: str, digest: str) -> None:
    starts = beginnings.split()
    made = ["".join(parts) for parts in product(starts, ["", *starts], ["", *endings.split()])]
    stems = " ".join(stem(word, language) for word in made)
    assert hashlib.sha256(stems.encode()).hexdigest()[:16] == digest, "other stems need a migration, like 0012"


# Of the tables that are keyed by language, those that say so little of the others that these have no row.
PARTIAL = {"_LETTERS_OF"}


def test_every_table_has_a_row_for_every_language() -> None:
    found = {}
    for module in walk_packages(everloom.kernel.__path__, "everloom.kernel."):
        for name, value in vars(import_module(module.name)).items():
            if isinstance(value, Mapping) and len(value) > 1 and set(value) <= set(LANGUAGES):
                found[name] = set(value)
    assert {"CALENDARS", "_STEMMERS"} <= found.keys()
    assert {name for name, rows in found.items() if rows != set(LANGUAGES)} == PARTIAL
    assert shipped_prototypes().keys() >= {""}
    with pytest.raises(LookupError, match="no row for de, fr"):
        by_language({"en": 1})


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_can_be_used_wherever_a_language_is_given(language: Language) -> None:
    text = "iPhone 15, Müller's café, été; телефон هاتف फोन 手机 電話です 전화 טלפון โทรศัพท์ τηλέφωνο 🙂"
    assert "iphon" in {word.removesuffix("\u00b7")[:5] for word in analyse(text, language)}
    assert all(stem(word, language) for word in text.split())
    assert all(phrases.spelled([language]) for phrases in (ADDRESSED, FIRST_PERSON, REQUESTS, WISHES))
