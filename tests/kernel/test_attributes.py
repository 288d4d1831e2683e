"""Which everyday attribute a question asks for and a text tells, in nine languages."""

from __future__ import annotations

import tomllib
from importlib.resources import files

import pytest

from everloom.kernel.search.judging.attributes import asked_attributes, told_attributes
from everloom.kernel.texts import LANGUAGES

pytestmark = pytest.mark.promise("trust.attributes")


def test_every_attribute_is_put_in_every_language() -> None:
    rows = tomllib.loads((files("everloom.kernel.search.judging") / "attributes.toml").read_text(encoding="utf-8"))
    assert all(row[code].strip() for row in rows.values() for code in LANGUAGES)


@pytest.mark.parametrize(
    ("question", "attribute"),
    [
        ("Where does Petra live nowadays?", "home"),
        ("In welcher Stadt wohnt Petra?", "home"),
        ("Où habite Petra ?", "home"),
        ("¿Dónde vive Petra?", "home"),
        ("Где живёт Пётр?", "home"),
        ("ペトラはどこに住んでいますか", "home"),
        ("佩特拉住在哪里？", "home"),
        ("أين تسكن بترا؟", "home"),
        ("पेत्रा कहाँ रहती है?", "home"),
        ("How tall is Petra?", "height"),
        ("Wie groß ist Petra?", "height"),
        ("¿Cuánto mide Petra?", "height"),
        ("ペトラの身長は？", "height"),
        ("What is Petra's surname?", "name"),
        ("Quel âge a Petra ?", "age"),
        ("कितने बजे कक्षा है?", "schedule"),
        ("كم سعر التذكرة؟", "price"),
        ("Какой пароль от сети?", "password"),
        ("佩特拉的血型是什么？", "blood"),
        ("Is Petra seeing anybody?", "partner"),
    ],
)
def test_a_question_asks_for_its_attribute(question: str, attribute: str) -> None:
    assert attribute in asked_attributes(question)


def test_whose_attribute_it_is_is_not_asked_itself() -> None:
    assert asked_attributes("How old is my daughter's dog?") == {"age"}
    assert asked_attributes("Do we have a dog?") == {"pet"}
    assert not asked_attributes("Why did Petra leave the party?")


@pytest.mark.parametrize(
    ("text", "attribute"),
    [
        ("Petra has packed her boxes and moved to Ghent.", "home"),
        ("Petra ist nach Gent umgezogen.", "home"),
        ("Petra s'est installée à Gand.", "home"),
        ("Petra se mudó a Gante.", "home"),
        ("Пётр переехал в Гент.", "home"),
        ("ペトラはゲントに引っ越した。", "home"),
        ("佩特拉搬到了根特。", "home"),
        ("انتقلت بترا إلى غنت", "home"),
        ("पेत्रा गेंट में रहती है।", "home"),
        ("Petra is 1.82 m.", "height"),
        ("Petra is 44 years old.", "age"),
        ("佩特拉今年四十岁。", "age"),
        ("Write to petra@example.org.", "email"),
        ("The ferry is 12 € each way.", "price"),
        ("The class is on Thursdays.", "schedule"),
        ("पेत्रा एक बैंक में नौकरी करती है।", "job"),
    ],
)
def test_a_text_tells_its_attributes(text: str, attribute: str) -> None:
    assert attribute in told_attributes(text)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("How tall is Petra?", "Petra's grandmother left her a box of recipes."),
        ("What is Petra's surname?", "Petra's birthday is on the third of May."),
        ("How old is Petra?", "Petra taught Ivo to sail."),
        ("Wie groß ist Petra?", "Petra trinkt morgens Kaffee."),
        ("ペトラの血液型は？", "ペトラは猫を飼っている。"),
        ("佩特拉多高？", "佩特拉喜欢喝茶。"),
        ("Какая фамилия у Петры?", "Петра боится высоты."),
        ("ما فصيلة دم بترا؟", "بترا تحب القهوة"),
    ],
)
def test_a_text_about_something_else_does_not_tell_what_is_asked(question: str, text: str) -> None:
    assert asked_attributes(question)
    assert not asked_attributes(question) & told_attributes(text)
