"""Search in nine languages, in a real store with the default embedder: inflected words, times, who speaks, and names
asked for in another language."""

from __future__ import annotations

from datetime import timedelta

import pytest

from everloom.kernel.search import Recipe
from everloom.loom import Workspace
from tests.store.ground import NOW, note

BY_WORDS = Recipe(vectors=0.0)
# Facts about one person in most languages, and a question for each that has one of its words in another form.
FACTS = {
    "de": {
        "Anna arbeitet am Hafen.": "Wo hat Anna gearbeitet?",
        "Anna wohnt seit Mai in Kiel.": "Wo hat Anna früher gewohnt?",
        "Anna hat die Boote blau gestrichen.": "Welche Farbe hat das Boot von Anna?",
        "Anna kauft jeden Freitag Brot.": "Wann hat Anna etwas gekauft?",
        "Anna liebt kleine Katzen.": "Wie heißt die Katze von Anna?",
        "Anna spielt abends Klavier.": "Was hat Anna gespielt?",
    },
    "fr": {
        "Marie travaillait à Lyon.": "Où travaille Marie ?",
        "Marie habite près du port.": "Où habitait Marie ?",
        "Marie a deux chevaux blancs.": "Comment s'appelle le cheval de Marie ?",
        "Marie chante le dimanche.": "Quand Marie chantait-elle ?",
        "Marie préfère le thé vert.": "Que préférait Marie ?",
        "Marie achète des livres anciens.": "Quel livre plaît à Marie ?",
    },
    "es": {
        "Maria trabajó en el puerto.": "¿Dónde trabaja Maria?",
        "Maria vive cerca del río.": "¿Dónde vivía Maria?",
        "Maria tiene dos gatos negros.": "¿Cómo se llama la gata de Maria?",
        "Maria canta los domingos.": "¿Cuándo cantó Maria?",
        "Maria compraba libros antiguos.": "¿Qué libro quiere Maria?",
        "Maria escucha canciones tristes.": "¿Qué canción conoce Maria?",
    },
    "ru": {
        "Анна купила новую книгу о звёздах.": "Какие книги купила Анна?",
        "Пётр живёт в старом доме у реки.": "Где живет Петр?",
        "Кошка Марины спит на подоконнике.": "Где спала кошка Марины?",
        "Врач перенёс приём на пятницу.": "Когда приёмы у врача?",
        "Мы посадили яблони за домом.": "Где растёт яблоня?",
        "Сергей работает учителем в школе.": "В какой школе работал Сергей?",
    },
    "ja": {
        "太郎は東京の銀行で働いています。": "太郎はどこで働きましたか",
        "猫の名前はタマです。": "猫の名前は何ですか",
        "花子は毎朝コーヒーを飲みます。": "花子が飲んだものは何ですか",
        "歯医者の予約は金曜日に変わりました。": "歯医者の予約はいつですか",
        "弟は去る春に青い自転車を買った。": "弟が買う自転車は何色ですか",
        "会議は三階の大きな部屋で開かれる。": "会議はどの部屋で開きますか",
    },
    "zh": {
        "小明养了一只黑猫。": "小明的猫是什么颜色",
        "小明爱喝绿茶。": "小明喜欢什么茶",
        "小明有一辆新车。": "小明的车在哪里",
        "小明家里有很多书。": "小明的书是什么",
        "小明的狗叫旺财。": "小明有狗吗",
        "小明每天晚上弹琴。": "小明的琴在哪里",
    },
    "ar": {
        "يعمل أحمد في بنك كبير.": "أين كان عمل احمد؟",
        "سيارة ليلى زرقاء اللون.": "ما لون السيارة؟",
        "تسكن مريم في القاهرة قرب النهر.": "أين سكنت مريم؟",
        "اشترى خالد كتابا عن النجوم.": "أين الكتاب عن النجوم؟",
        "القطة تنام في المطبخ كل مساء.": "أين قطتي؟",
        "موعد الطبيب يوم الجمعة.": "متى الموعد مع طبيب؟",
    },
    "hi": {
        "माया की दो बिल्लियाँ हैं।": "माया की बिल्ली का नाम क्या है?",
        "माया किताबें पढ़ती है।": "माया की किताब कहाँ है?",
        "माया को पीले फूल पसंद हैं।": "माया के फूलों का रंग क्या है?",
        "माया दिल्ली में रहती है।": "माया कहाँ रहते थे?",
        "माया दवाइयाँ लेती है।": "माया की दवाई कौन सी है?",
        "माया के लड़के स्कूल जाते हैं।": "माया का लड़का कहाँ है?",
    },
}
# Something of yesterday, something of a year ago, and a question about each.
TIMES = {
    "de": ("Wir aßen Fisch am Hafen.", "Was haben wir gestern gegessen?", "Was aßen wir letztes Jahr?"),
    "fr": ("Nous avons mangé du poisson au port.", "Qu'avons-nous mangé hier ?", "Qu'avons-nous mangé l'an dernier ?"),
    "es": ("Comimos pescado en el puerto.", "¿Qué comimos ayer?", "¿Qué comimos el año pasado?"),
    "ru": ("Мы ели рыбу в порту.", "Что мы ели вчера?", "Что мы ели в прошлом году?"),
    "ja": ("港で魚を食べた。", "昨日何を食べましたか", "去年何を食べましたか"),
    "zh": ("我们在港口吃鱼。", "我们昨天吃了什么", "我们去年吃了什么"),
    "ar": ("أكلنا السمك في الميناء.", "ماذا أكلنا أمس؟", "ماذا أكلنا العام الماضي؟"),
    "hi": ("हमने बंदरगाह पर मछली खाई।", "हमने कल क्या खाया?", "हमने पिछले साल क्या खाया?"),
}


@pytest.mark.promise("words.languages")
@pytest.mark.parametrize("language", FACTS)
def test_inflected_words_find_their_fact_by_words_alone(workspace: Workspace, language: str) -> None:
    facts = FACTS[language]
    ids = dict(zip(facts, workspace.add([note(text) for text in facts]), strict=True))
    missed = {
        question: text
        for text, question in facts.items()
        if [hit.id for hit in workspace.search(question, recipe=BY_WORDS)][:1] != [ids[text]]
    }
    assert missed == {}


@pytest.mark.promise("words.languages")
@pytest.mark.parametrize("language", FACTS)
def test_inflected_words_find_their_fact_beside_the_vectors(workspace: Workspace, language: str) -> None:
    facts = FACTS[language]
    ids = dict(zip(facts, workspace.add([note(text) for text in facts]), strict=True))
    found = [ids[text] in [hit.id for hit in workspace.search(question)][:2] for text, question in facts.items()]
    assert all(found)


@pytest.mark.promise("search.time")
@pytest.mark.parametrize("language", TIMES)
def test_a_time_in_a_question_chooses_between_like_facts(workspace: Workspace, language: str) -> None:
    text, of_yesterday, of_last_year = TIMES[language]
    lately, earlier = workspace.add(
        [note(text, happened_at=NOW - timedelta(days=1)), note(text, happened_at=NOW - timedelta(days=365))]
    )
    for question, wanted in ((of_yesterday, lately), (of_last_year, earlier)):
        first = workspace.search(question)[0]
        assert first.id == wanted, question


# What a person said and what the assistant said about the same thing, and a question for each.
SIDES = {
    "de": (
        "Ich koche Suppe mit Linsen.",
        "Koche die Suppe mit Linsen.",
        "Was koche ich mit Linsen?",
        "Was hast du zur Suppe geraten?",
    ),
    "fr": (
        "Je prépare la soupe aux lentilles.",
        "Prépare la soupe aux lentilles.",
        "Qu'est-ce que je prépare ?",
        "Quel est ton conseil pour la soupe ?",
    ),
    "es": (
        "Yo preparo la sopa de lentejas.",
        "Prepara la sopa de lentejas.",
        "¿Qué sopa preparo yo?",
        "¿Qué sopa recomendaste?",
    ),
    "ru": ("Я варю суп из чечевицы.", "Вари суп из чечевицы.", "Какой суп я варю?", "Какой суп ты посоветовал?"),
    "ja": (
        "私はスープを作ります。",
        "スープを作るといいです。",
        "私は何のスープを作りますか",
        "あなたはどのスープを勧めましたか",
    ),
    "zh": ("我做扁豆汤。", "可以做扁豆汤。", "我做什么汤", "你推荐做什么汤"),
    "ar": ("أنا أطبخ حساء العدس.", "اطبخ حساء العدس.", "ماذا أنا أطبخ من العدس؟", "ما نصيحتك عن حساء العدس؟"),
    "hi": ("मैं दाल का सूप बनाता हूँ।", "दाल का सूप बनाइए।", "मैं कौन सा सूप बनाता हूँ?", "आपने कौन सा सूप बताया?"),
}


@pytest.mark.parametrize("language", SIDES)
def test_who_is_asked_about_is_whose_words_come_first(workspace: Workspace, language: str) -> None:
    said, advised, of_person, of_assistant = SIDES[language]
    person, assistant = workspace.add([note(said, labels=("user",)), note(advised, labels=("assistant",))])
    for question, wanted in ((of_person, person), (of_assistant, assistant)):
        assert workspace.search(question)[0].id == wanted, question


@pytest.mark.promise("words.languages")
@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Wo arbeitet Thomas?", "Thomas has been working in a bakery by the sea for years."),
        ("Where does Thomas work?", "Thomas arbeitet seit Jahren in einer Bäckerei am Meer."),
        ("¿Dónde vive Maria?", "Maria has moved to a house by the river with her dog."),
        ("Where does Maria live?", "Maria vive con su perro en una casa cerca del río."),
        ("Où habite Peter ?", "Peter wohnt mit seinem Hund in einem Haus am Fluss."),
        ("Wo wohnt Peter?", "Peter habite avec son chien dans une maison près de la rivière."),
    ],
)
def test_a_name_is_found_from_another_language(workspace: Workspace, question: str, text: str) -> None:
    (wanted, *_) = workspace.add([note(text), note("The weather was fine."), note("Das Wetter war schön.")])
    assert [hit.id for hit in workspace.search(question, recipe=BY_WORDS)] == [wanted]
