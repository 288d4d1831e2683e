"""Phrases of questions and texts in nine languages: who speaks, who is addressed, how one asks, what one always wants.

Pure data and one reader of it. A row is a regular expression in which a space is any white space, an apostrophe is
either form of it, and both ends are ends of words. A new language is one row in each table.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache

from everloom.kernel.texts import LANGUAGES_IN_LATIN, language_of

# Python counts the vowel signs of Hindi and Arabic as no part of a word, so the ends of words are spelled out.
_LETTER = r"[\w\u0300-\u036f\u064b-\u065f\u0670\u0900-\u0963]"
_KANA = re.compile(r"[\u3040-\u30ff]")
# Written without spaces: a phrase may stand inside a run of letters.
_UNSPACED = ("ja", "zh")
# Arabic writes "and", "so", "by" and "for" together with the word that follows.
_CLITICS = "[وفبل]?"
_BEGINNING = r"(?:\A|(?<=[.!?;:,…।。！？，、؟،\n]))[\s¿¡\"'“«]*"


class Phrases:
    """Phrases of several languages, searched in the languages that a text may be in; compiled on first use."""

    __slots__ = ("_is_opening", "_rows")

    def __init__(self, rows: Mapping[str, str], *, is_opening: bool = False) -> None:
        self._rows = rows
        self._is_opening = is_opening

    def search(self, text: str) -> re.Match[str] | None:
        """Find the first of the phrases in a text."""
        return self._pattern(text).search(text)

    def findall(self, text: str) -> list[str]:
        """Find all of the phrases in a text, in order."""
        return [match[0] for match in self._pattern(text).finditer(text)]

    def sub(self, by: str, text: str) -> str:
        """Replace all of the phrases in a text."""
        return self._pattern(text).sub(by, text)

    def _pattern(self, text: str) -> re.Pattern[str]:
        known = language_of(text)
        latin = (known,) if known in LANGUAGES_IN_LATIN else () if known else LANGUAGES_IN_LATIN
        if text.isascii():
            return _compiled(self, latin)
        # Han alone is read as Chinese: a Japanese sentence is never without kana.
        han = "ja" if _KANA.search(text) else "zh"
        return _compiled(self, (*latin, han, "ru", "ar", "hi"))

    def spelled(self, languages: Iterable[str]) -> str:
        """Return the regular expression for some of the languages."""
        return "|".join(self._edged(language, _spelled(self._rows[language])) for language in languages)

    def _edged(self, language: str, row: str) -> str:
        if language in _UNSPACED:
            return f"(?:{row})"
        before = _CLITICS if language == "ar" else ""
        if self._is_opening and language != "hi":
            return f"(?:{_BEGINNING}{before}(?:{row})(?!{_LETTER}))"
        return f"(?:(?<!{_LETTER}){before}(?:{row})(?!{_LETTER}))"


@cache
def _compiled(phrases: Phrases, languages: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(phrases.spelled(languages), re.IGNORECASE)


def _spelled(row: str) -> str:
    lines = "".join(line.strip() for line in row.splitlines())
    return lines.replace(" ", r"\s+").replace("'", "['\u2019]")


# Whoever speaks of themselves. Spanish and Arabic often say it in the verb or the noun alone; frequent ones are listed.
FIRST_PERSON = Phrases(
    {
        "en": r"""i(?!\.\w)|i'm|i've|i'd|i'll|me|my|mine|myself|we|we're|we've|we'd|we'll|(?-i:us)|our|ours|
            ourselves""",
        "de": r"ich|mich|mir|mein(?:e[mnrs]?|s)?|wir|uns|unser(?:e[mnrs]?|[mn])?|unsre[mnrs]?",
        "fr": r"je|j'\w+|me|m'\w+|moi|mon|ma|mes|miens?|miennes?|nous|notre|nos|nôtres?",
        "es": r"""yo|me|mí|mis?|mí[oa]s?|conmigo|nosotr[oa]s|nos|nuestr[oa]s?|soy|estoy|tengo|quiero|vivo|hago|voy|
            fui|hice|dije|tuve|estuve|puse|pude|compré|mencioné|conté|pregunté|empecé|viajé|conocí|he \w+[ai]do""",
        "ru": r"""я|меня|мне|мно[йю]|мой|моя|мо[её]|мои|моего|моей|моему|моими?|моих|мо[юё]м?|мы|нас|нам|нами|
            наш(?:а|е|и|его|ей|ему|ими?|их|у|ем)?""",
        "ja": r"私|わたし|わたくし|僕|ぼく|俺|おれ|自分|我々|我が|うちの",
        "zh": r"我|咱",
        "ar": r"""[أا]نا|نحن|لي|عندي|لدي|لديّ|معي|لنا|عندنا|لدينا|معنا|مني|عني|نفسي|اسمي|عمري|بيتي|منزلي|عملي|
            [أا]مي|[أا]بي|[أا]خي|[أا]ختي|زوجتي|زوجي|ابني|ابنتي|صديقي|صديقتي|طبيبي|سيارتي|كلبي|قطتي|مكتبي|عائلتي|
            هاتفي|موعدي|سفري|رحلتي""",
        "hi": r"मैं|मैंने|मुझे|मुझको|मुझसे|मुझमें|मुझ|मेरा|मेरी|मेरे|हम|हमें|हमने|हमको|हमसे|हमारा|हमारी|हमारे",
    }
)

# The assistant, as the one who is spoken to. The German "Sie" at the beginning of a sentence may be "she" or "they".
ADDRESSED = Phrases(
    {
        "en": r"you|you're|you've|you'd|you'll|your|yours|yourself",
        "de": r"du|dich|dir|dein(?:e[mnrs]?|s)?|(?<=[\w,]\s)(?-i:Sie|Ihnen|Ihre[mnrs]?)",
        "fr": r"tu|toi|te|t'\w+|ton|ta|tes|tiens?|tiennes?|vous|votre|vos|vôtres?",
        "es": r"""tú|tus?|te|ti|contigo|ustedes|usted|vos|vosotr[oa]s|vuestr[oa]s?|dijiste|recomendaste|sugeriste|
            mencionaste|explicaste|propusiste|aconsejaste|diste|contaste|recuerdas|sabes|puedes|podrías|crees""",
        "ru": r"""ты|тебя|тебе|тобой|твой|твоя|тво[её]|твои|твоего|твоей|твоему|твоими?|твоих|твою|твоем|вы|вас|вам|
            вами|ваш(?:а|е|и|его|ей|ему|ими?|их|у|ем)?""",
        "ja": r"あなた|貴方|きみ|君(?=[はがのにをもと])|お前",
        "zh": r"你|您",
        "ar": r"[أا]نت[َِ]?|[أا]نتم|[أا]نتما|لك|لكم|منك|عندك|لديك|ر[أا]يك|نصيحتك|اقتراحك|توصيتك|نصائحك|حضرتك|كلامك",
        "hi": r"""आप|आपने|आपको|आपसे|आपका|आपकी|आपके|तुम|तुमने|तुम्हें|तुमसे|तुम्हारा|तुम्हारी|तुम्हारे|तू|तूने|तेरा|
            तेरी|तेरे|तुझे""",
    }
)

# The frame of a request, in which "you" and "me" ask for nothing. It opens a sentence; in Japanese and Hindi it may
# close it.
REQUESTS = Phrases(
    {
        "en": r"""(?:(?:please|hey|hi|hello|so|and|ok|okay|well),? )*(?:(?:can|could|would|will) (?:you|
            u)(?: please| kindly| also| maybe)*(?: (?:tell|remind|show|give|help) (?:me|us))?|(?:tell|remind|show|
            give|help) (?:me|us)|please|(?:do|did|would) you (?:happen to )?(?:know|remember|recall)|
            i(?:'d| would) like(?: you)? to(?: know)?|i(?:'m| am| was) (?:just )?(?:wondering|curious)|
            i want to know|(?:can|could|may) i ask)""",
        "de": r"""(?:(?:bitte|hallo|hey|hi|also|und|ok),? )*(?:(?:kannst|könntest|würdest|
            magst) du(?: mir| mich| uns)?(?: bitte)?(?: (?:sagen|erklären|zeigen|verraten|erinnern))?|(?:können|
            könnten|würden) sie(?: mir| mich| uns)?(?: bitte)?(?: (?:sagen|erklären|zeigen|verraten|erinnern))?|
            (?:sag|sage|erzähl|erzähle|zeig|zeige|erklär|erkläre|gib|hilf) (?:mir|uns)|(?:sagen|zeigen|
            erklären) sie mir|erinnere? (?:mich|uns)(?: daran)?|bitte|weißt du(?: noch)?|wissen sie(?: noch)?|
            erinnerst du dich(?: noch)?(?: daran)?|ich (?:würde|möchte|will) (?:gerne? )?wissen|ich frage mich)""",
        "fr": r"""(?:(?:bonjour|salut|alors|et|ok|s'il te plaît|s'il vous plaît),? )*(?:(?:peux|pourrais|veux)-tu|
            (?:pouvez|pourriez|voulez)-vous|(?:est-ce que )?tu (?:peux|pourrais)|(?:est-ce que )?vous (?:pouvez|
            pourriez)|(?:dis|rappelle|montre|donne|explique|raconte)-moi|(?:dites|rappelez|montrez|donnez|
            expliquez)-moi|s'il te plaît|s'il vous plaît|sais-tu|savez-vous|(?:est-ce que )?tu (?:sais|te souviens|
            te rappelles)|te (?:souviens|rappelles)-tu|vous souvenez-vous|je (?:voudrais|veux|aimerais) savoir|
            j'aimerais savoir|je me demande)(?: (?:me|m'|nous) ?(?:dire|rappeler|montrer|donner|expliquer|aider à))?""",
        "es": r"""(?:(?:hola|oye|y|bueno|ok|por favor),? )*(?:(?:me )?(?:puedes|podrías|puede|
            podría)(?: por favor)?(?: (?:decir|recordar|mostrar|dar|explicar|contar|ayudar)(?:me|nos)?(?: a)?)?|
            dime|dígame|recuérdame|recuerdame|muéstrame|dame|cuéntame|explícame|ayúdame(?: a)?|por favor|sabes|
            sabe usted|te acuerdas(?: de)?|recuerdas|quisiera saber|me gustaría saber|quiero saber|me pregunto)""",
        "ru": r"""(?:(?:пожалуйста|привет|а|и|ну),? )*(?:(?:ты |вы )?(?:не )?(?:можешь|можете|мог(?:ла|
            ли)? бы)(?: ли)?(?: ты| вы)?(?: мне)?(?: пожалуйста)?(?: (?:сказать|напомнить|рассказать|подсказать|
            показать|объяснить|помочь))?|(?:скажи|расскажи|напомни|подскажи|покажи|объясни|
            помоги)(?:те)?(?: мне)?(?:,? пожалуйста)?|пожалуйста|(?:ты |вы )?(?:не )?(?:знаешь|знаете|помнишь|
            помните)(?: ли)?(?: ты| вы)?|(?:я )?(?:хотел|хотела) бы (?:у)?знать|я хочу (?:у)?знать|мне интересно)""",
        "ja": r"""(?:を|か)?(?:教えて|思い出させて|見せて)(?:くれますか|くれませんか|くれる|ください|下さい|
            いただけますか|もらえますか|欲しい|ほしい)?|覚えて(?:いますか|いる|ますか|る)|知って(?:いますか|いる|
            ますか|る)|お願いします""",
        "zh": r"""请问|请(?:你|您)?(?:告诉我|提醒我|帮我)?|(?:你|您)?(?:可不可以|能不能|可以|能够|能|
            可否)(?:请)?(?:告诉我|提醒我|帮我|给我)|告诉我|提醒我|(?:你|您)(?:还)?(?:记得|记不记得|知道|知不知道)|
            我想知道|我想问""",
        "ar": r"""هل (?:يمكنك|تستطيع|ب[إا]مكانك|تعرف|تتذكر|تذكر|ممكن)(?: [أا]ن)?(?: (?:تخبرني|تذكرني|تقول لي|
            تساعدني))?|من فضلك|لو سمحت|[أا]خبرني|قل لي|ذكرني|[أا]رني|[أا]ريد [أا]ن [أا]عرف|[أا]ود [أا]ن [أا]عرف""",
        "hi": r"""(?:कृपया )?(?:क्या )?(?:आप|तुम)(?: मुझे)?(?: यह)? (?:बता|याद दिला|दिखा) सकते (?:हैं|हो)(?: कि)?|
            (?:क्या )?(?:आपको|तुम्हें) (?:पता|याद|मालूम) है(?: कि)?|कृपया(?: मुझे)?(?: (?:बताइए|बताएं|बताएँ|बताओ))?|
            (?:मुझे )?(?:बताइए|बताएं|बताएँ|बताओ|याद दिलाओ|याद दिलाइए)(?: कि)?""",
    },
    is_opening=True,
)

# What somebody wants in every case, not just now: an instruction or a preference that stays.
WISHES = Phrases(
    {
        "en": r"""always|never|from now on|going forward|in (?:the )?future|from today|every time|each time|
            whenever|i(?:'d| would) (?:prefer|rather|like)|i (?:really |much |strongly |usually )?prefer|
            my preference|i (?:want|need|expect|would like) you to|i'd like you to|please (?:don't|do not|avoid|use|
            keep|stop|make sure|remember)|(?:don't|do not) ever|make sure|keep in mind|by default""",
        "de": r"""immer|nie|niemals|nie wieder|ab jetzt|ab sofort|ab heute|von nun an|von jetzt an|künftig|
            in zukunft|zukünftig|jedes mal|jedesmal|ich bevorzuge|ich ziehe|mir ist lieber|ich mag lieber|
            ich hätte (?:gerne?|lieber)|ich möchte(?:,)? dass|ich will(?:,)? dass|bitte (?:nicht|kein\w*|nur|stets|
            verwende|benutze|achte)|achte darauf|denk daran|standardmäßig|grundsätzlich|stets""",
        "fr": r"""toujours|jamais|désormais|dorénavant|à partir de maintenant|à partir d'aujourd'hui|à l'avenir|
            chaque fois|à chaque fois|je préfère|je préférerais|je préférais|j'aime mieux|j'aimerais que|
            je veux que|je voudrais que|ne \w+ plus jamais|veille à|veillez à|assure-toi|par défaut|évite|évitez""",
        "es": r"""siempre|nunca|jamás|de ahora en adelante|a partir de ahora|a partir de hoy|desde ahora|
            en el futuro|en adelante|cada vez|prefiero|preferiría|me gusta más|me gustaría que|quiero que|
            quisiera que|por favor no|asegúrate|ten en cuenta|por defecto|evita""",
        "ru": r"""всегда|никогда|отныне|впредь|с этого момента|с этого дня|начиная с сегодняшнего дня|в будущем|
            каждый раз|я предпочитаю|предпочитаю|я бы предпоч[её]л|я бы предпочла|мне больше нравится|
            я хочу(?:,)? чтобы|пожалуйста(?:,)? не|имей в виду|по умолчанию|больше не|избегай""",
        "ja": r"""いつも|常に|必ず|決して|絶対に|二度と|今後|これから(?:は|も)|以降|毎回|(?:の|ほう|方)が(?:好き|
            いい|良い)|好む|好みます|(?:ないで|て)(?:ほしい|欲しい)|しないで(?:ください)?|ようにして(?:ください)?""",
        "zh": r"""总是|永远|一直|从不|绝不|决不|再也不|从现在(?:开始|起)|从今(?:天|以后|往后)|今后|以后|每次|每当|
            更?喜欢用|偏好|宁愿|宁可|更喜欢|请不要|请勿|别再|不要再|务必|一定要|记得要|默认""",
        "ar": r"""دائما|دائمًا|دائماً|[أا]بدا|[أا]بدًا|[أا]بداً|من الآن فصاعدا|من الآن فصاعدًا|من الآن|من اليوم|
            مستقبلا|في المستقبل|في كل مرة|كل مرة|كلما|[أا]فضل|[أا]فضّل|[أا]ريدك [أا]ن|[أا]ريد منك|لا ت\w+ [أا]بد\w*|
            من فضلك لا|ت[أا]كد من|افتراضيا""",
        "hi": r"""हमेशा|सदा|कभी नहीं|कभी भी नहीं|कभी मत|अब से|आज से|आगे से|भविष्य में|हर बार|जब भी|(?:ज़्यादा |
            ज्यादा )?पसंद (?:करता|करती) (?:हूँ|हूं)|मुझे (?:\S+ ){0,3}(?:ज़्यादा |ज्यादा )?पसंद|प्राथमिकता|
            मैं चाहता हूँ कि|मैं चाहती हूँ कि|कृपया (?:\S+ ){0,3}(?:मत|न करें)|ध्यान रखें|ध्यान रखना|याद रखना""",
    }
)
