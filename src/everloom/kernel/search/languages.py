"""Phrases of questions and texts in nine languages: who speaks, who is addressed, how one asks, what one always wants,
and how one tells the time.

Pure data and one reader of it. A row is a regular expression in which a space is any white space, an apostrophe is
either form of it, and both ends are ends of words. A new language is one row in each table.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import NamedTuple

from everloom.kernel.texts import LANGUAGES_IN_LATIN, Language, by_language, language_of

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

    def __init__(self, rows: Mapping[Language, str], *, is_opening: bool = False) -> None:
        self._rows = by_language(rows)
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
        latin = tuple(code for code in languages_in(text) if code in LANGUAGES_IN_LATIN)
        if text.isascii():
            return _compiled(self, latin)
        # Han alone is read as Chinese: a Japanese sentence is never without kana.
        han: Language = "ja" if _KANA.search(text) else "zh"
        return _compiled(self, (*latin, han, "ru", "ar", "hi"))

    def spelled(self, languages: Iterable[Language]) -> str:
        """Return the regular expression for some of the languages."""
        return "|".join(self._edged(language, _spelled(self._rows[language])) for language in languages)

    def _edged(self, language: Language, row: str) -> str:
        if language in _UNSPACED:
            return f"(?:{row})"
        before = _CLITICS if language == "ar" else ""
        if self._is_opening and language != "hi":
            return f"(?:{_BEGINNING}{before}(?:{row})(?!{_LETTER}))"
        return f"(?:{whole(f'{before}(?:{row})', language)})"


def languages_in(text: str) -> tuple[Language, ...]:
    """Return the language of a text, or the Latin ones if it does not tell."""
    known = language_of(text)
    return (known,) if known else LANGUAGES_IN_LATIN


def whole(pattern: str, language: Language) -> str:
    """Let a regular expression match whole words only, in a language that has spaces between them."""
    return pattern if language in _UNSPACED else f"(?<!{_LETTER})(?:{pattern})(?!{_LETTER})"


@cache
def _compiled(phrases: Phrases, languages: tuple[Language, ...]) -> re.Pattern[str]:
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
            j'aimerais savoir|je me demande)(?: (?:me|m'|nous) ?(?:dire|rappeler|montrer|donner|expliquer|
            aider à))?""",
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


class Calendar(NamedTuple):
    """How a language tells the time. Its words are regular expressions, separated by spaces; `_` is a space.

    `units` are day, week, weekend, month and year; `seasons` begin with spring; `near` are today, yesterday and the day
    before. `forms` has, for each kind of time, ways to say it with these words in the place of their names.
    """

    months: str
    days: str
    seasons: str
    units: str
    counts: str
    near: str
    last: str
    this: str
    forms: Mapping[str, str]
    twos: str = "- - - - -"


# The forms of one kind are separated by lines. "which" is a last or this week; "then" is a month of last year.
CALENDARS: Mapping[Language, Calendar] = {
    "en": Calendar(
        months="""jan(?:uary)? feb(?:ruary)? mar(?:ch)? apr(?:il)? may june? july? aug(?:ust)? sept?(?:ember)?
            oct(?:ober)?
            nov(?:ember)? dec(?:ember)?""",
        days="monday tuesday wednesday thursday friday saturday sunday",
        seasons="spring summer autumn|fall winter",
        units="days? weeks? weekends? months? years?",
        counts="an?|one two|a_couple_of|couple_of three|a_few|few four five six seven eight nine ten",
        near="today|tonight|this_morning yesterday|last_night day_before_yesterday",
        last="last|previous",
        this="this",
        forms={
            "date": """DAY(?:st|nd|rd|th)?(?: of)? MONTH(?:(?: of)? YEAR)?
                MONTH DAY(?:st|nd|rd|th)?(?: YEAR)?""",
            "near": "NEAR",
            "ago": "COUNT UNIT ago",
            "past": "(?:last|past|previous) COUNT UNIT",
            "then": """MONTH(?: of)? last year
                last year in MONTH""",
            "which": r"WHICH WHAT(?! (?:19|20)\d\d)",
            "month": """MONTH(?: of)? YEAR
                (?:in|during|since|early|mid|late|of) MONTH""",
            "season": "SEASON(?: of)? YEAR",
            "year": "(?:in|during|of|since|by) YEAR",
        },
    ),
    "de": Calendar(
        months="""j[aä]n(?:uar|ner)? feb(?:ruar)? märz|maerz apr(?:il)? mai juni? juli? aug(?:ust)?
            sept?(?:ember)? okt(?:ober)?
            nov(?:ember)? dez(?:ember)?""",
        days="montags? dienstags? mittwochs? donnerstags? freitags? samstags?|sonnabends? sonntags?",
        seasons="frühlings?|frühjahrs? sommers? herbst(?:es)? winters?",
        units="tag(?:en?|s)? wochen? wochenenden?|wochenendes monat(?:en?|s)? jahr(?:en?|es)?",
        counts="ein(?:e[mnrs]?)? zwei|ein_paar drei vier fünf sechs sieben acht neun zehn",
        near="heute(?:_morgen|_früh|_abend)? gestern(?:_abend|_morgen|_nacht)?|letzte_nacht vorgestern",
        last="letzte[mnrs]?|vergangene[mnrs]?|vorige[mnrs]?",
        this="diese[mnrs]?",
        forms={
            "date": r"DAY\.? MONTH(?: YEAR)?",
            "near": "NEAR",
            "ago": "vor COUNT UNIT",
            "past": "(?:letzten|vergangenen) COUNT UNIT",
            "then": """(?:im )?MONTH (?:letzten|vergangenen|vorigen) jahres
                letztes jahr im MONTH""",
            "which": "(?:am |im |in |an )?(?:der |dem |den )?WHICH WHAT",
            "month": """MONTH YEAR
                (?:im|anfang|mitte|ende|seit) MONTH""",
            "season": "SEASON YEAR",
            "year": "(?:in|im jahre?|seit|von) YEAR",
        },
    ),
    "fr": Calendar(
        months="""janv(?:ier)? févr(?:ier)?|fevrier mars avr(?:il)? mai juin juil(?:let)? ao[uû]t
            sept(?:embre)? oct(?:obre)?
            nov(?:embre)? d[eé]c(?:embre)?""",
        days="lundi mardi mercredi jeudi vendredi samedi dimanche",
        seasons="printemps été automne hiver",
        units="jours? semaines? week-?ends?|fins?_de_semaine mois ans?|années?",
        counts="une? deux trois|quelques quatre cinq six sept huit neuf dix",
        near="aujourd'hui|ce_matin|ce_soir hier(?:_soir|_matin)? avant-hier",
        last="derni[eè]re?|pass[eé]e?",
        this="cette|cet|ce",
        forms={
            "date": "DAY(?:er)? MONTH(?: YEAR)?",
            "near": "NEAR",
            "ago": "il y a COUNT UNIT",
            "past": "(?:ces|les) COUNT derni[eè]re?s UNIT",
            "then": "(?:en )?MONTH (?:de )?l'(?:an|année) (?:derni[eè]re?|pass[eé]e?)",
            "which": """(?:la |le |l'|en )?WHAT LAST
                THIS WHAT""",
            "month": """MONTH YEAR
                (?:en|de|d'|début|fin|mi|depuis) MONTH""",
            "season": "SEASON(?: de)? YEAR",
            "year": "(?:en|de|depuis) YEAR",
        },
    ),
    "es": Calendar(
        months="""ene(?:ro)? feb(?:rero)? marzo abr(?:il)? mayo jun(?:io)? jul(?:io)? ago(?:sto)?
            sept?(?:iembre)?|setiembre
            oct(?:ubre)? nov(?:iembre)? dic(?:iembre)?""",
        days="lunes martes mi[eé]rcoles jueves viernes s[aá]bado domingo",
        seasons="primavera verano otoño invierno",
        units="d[ií]as? semanas? fin(?:es)?_de_semana mes(?:es)? años?",
        counts="una?|un dos|un_par_de tres|unos|unas cuatro cinco seis siete ocho nueve diez",
        near="hoy|esta_mañana|esta_noche ayer|anoche anteayer|antier|antes_de_ayer",
        last="pasad[oa]|últim[oa]|ultim[oa]",
        this="est[ea]",
        forms={
            "date": "DAY(?: de)? MONTH(?:(?: del?)? YEAR)?",
            "near": "NEAR",
            "ago": "hace COUNT UNIT",
            "past": "[uú]ltim[oa]s COUNT UNIT",
            "then": "(?:en )?MONTH del año pasado",
            "which": """(?:en |el |la )*WHAT LAST
                (?:en |el |la )*LAST WHAT
                THIS WHAT""",
            "month": """MONTH(?: del?)? YEAR
                (?:en|de|desde) MONTH""",
            "season": "SEASON(?: del?)? YEAR",
            "year": "(?:en|de|del|desde) YEAR",
        },
    ),
    "ru": Calendar(
        months="""январ[ьяе] феврал[ьяе] март[ае]? апрел[ьяе] ма[йяе] июн[ьяе] июл[ьяе] август[ае]?
            сентябр[ьяе] октябр[ьяе]
            ноябр[ьяе] декабр[ьяе]""",
        days="понедельник вторник сред[ау] четверг пятниц[ау] суббот[ау] воскресенье",
        seasons="весн(?:а|ой|у|ы) лет(?:о|ом|а) осень?ю?|осени зим(?:а|ой|у|ы)",
        units="д(?:ень|ня|ней) недел[яюиье]|недель выходны[ехм]|выходные месяц(?:а|ев|е|у)? год(?:а|у|ы)?|лет",
        counts="один|одну|одна два|две|пару три|несколько четыре пять шесть семь восемь девять десять",
        near="сегодня вчера позавчера",
        last="прошл(?:ый|ая|ое|ом|ой|ую|ого|ым|ые|ых)",
        this="эт(?:от|а|о|ом|ой|у|ого|им|и|их)",
        forms={
            "date": "DAY(?:-го)? MONTH(?: YEAR)?",
            "near": "NEAR",
            "ago": """COUNT UNIT назад
                UNIT назад""",
            "past": "последни[ех] COUNT UNIT",
            "then": "(?:в )?MONTH прошлого года",
            "which": "(?:на |в |во )?WHICH WHAT",
            "month": """MONTH YEAR
                (?:в|с|до) MONTH""",
            "season": "SEASON YEAR",
            "year": "(?:в|с|за) YEAR",
        },
    ),
    "ja": Calendar(
        months="""1月|一月 2月|二月 3月|三月 4月|四月 5月|五月 6月|六月 7月|七月 8月|八月 9月|九月 10月|十月
            11月|十一月 12月|十二月""",
        days="月曜日? 火曜日? 水曜日? 木曜日? 金曜日? 土曜日? 日曜日?",
        seasons="春 夏 秋 冬",
        units="日 週(?!末)間? 週末 [かヶカケ箇]?月 年間?",
        counts="一 二 三|数 四 五 六 七 八 九 十",
        near="今日|きょう|今朝|今夜|今晩 昨日|きのう|昨夜|昨晩|ゆうべ 一昨日|おととい",
        last="先|昨|去|この前の",
        this="今|この",
        forms={
            "date": "(?:YEAR年)?MONTHDAY日",
            "near": "NEAR",
            "ago": "COUNTUNIT前",
            "past": "(?:過去|ここ|この)COUNTUNIT",
            "then": "(?:去年|昨年)の?(?:MONTH|SEASON)",
            "which": "WHICH(?:週の)?WHAT",
            "month": """YEAR年の?MONTH
                MONTH""",
            "season": "YEAR年の?SEASON",
            "year": "YEAR年",
        },
    ),
    "zh": Calendar(
        months="""1月|一月 2月|二月 3月|三月 4月|四月 5月|五月 6月|六月 7月|七月 8月|八月 9月|九月 10月|十月
            11月|十一月 12月|十二月""",
        days="""(?:周|星期|礼拜)一 (?:周|星期|礼拜)二 (?:周|星期|礼拜)三 (?:周|星期|礼拜)四 (?:周|星期|礼拜)五
            (?:周|星期|礼拜)六
            (?:周|星期|礼拜)[日天]""",
        seasons="春天?|春季 夏天?|夏季 秋天?|秋季 冬天?|冬季",
        units="[天日] 周(?!末)|星期|礼拜 周末 月 年",
        counts="一 [二两兩] 三|几 四 五 六 七 八 九 十",
        near="今天|今日|今早|今晚 昨天|昨日|昨晚 前天|前日",
        last="上个?|上個|去",
        this="这个?|這個?|今|本",
        forms={
            "date": "(?:YEAR年)?MONTHDAY[日号號]",
            "near": "NEAR",
            "ago": "COUNT[个個]?UNIT[以之]?前",
            "past": "(?:过去|最近|過去)COUNT[个個]?UNIT",
            "then": "去年的?(?:MONTH|SEASON)",
            "which": "WHICHWHAT",
            "month": """YEAR年的?MONTH
                MONTH份?""",
            "season": "YEAR年的?SEASON",
            "year": "YEAR年",
        },
    ),
    "ar": Calendar(
        months="""يناير|كانون_الثاني فبراير|شباط مارس|[آا]ذار [أا]بريل|نيسان مايو|[أا]يار يونيو|حزيران
            يوليو|تموز [أا]غسطس|[آا]ب
            سبتمبر|[أا]يلول [أا]كتوبر|تشرين_ال[أا]ول نوفمبر|تشرين_الثاني ديسمبر|كانون_ال[أا]ول""",
        days="ال[إا]ثنين الثلاثاء ال[أا]ربعاء الخميس الجمعة السبت ال[أا]حد",
        seasons="(?:ال)?ربيع (?:ال)?صيف (?:ال)?خريف (?:ال)?شتاء",
        units="""(?:ال)?يوم|[أا]يام (?:ال)?[أا]سبوع|[أا]سابيع عطلة_نهاية_ال[أا]سبوع|نهاية_ال[أا]سبوع
            (?:ال)?شهر|[أا]شهر|شهور
            (?:ال)?عام|(?:ال)?سنة|سنوات|[أا]عوام""",
        counts="واحد|واحدة [إا]ثنين ثلاثة?|بضعة? [أا]ربعة? خمسة? ستة? سبعة? ثماني|ثمانية تسعة? عشرة?",
        near="اليوم|الليلة|هذا_الصباح [أا]مس|البارحة [أا]ول_[أا]مس|قبل_[أا]مس",
        last="الماضي|الماضية|المنصرم|الفائت",
        this="هذا|هذه",
        forms={
            "date": "DAY MONTH(?: YEAR)?",
            "near": "NEAR",
            "ago": """(?:قبل|منذ) COUNT UNIT
                (?:قبل|منذ) TWO
                (?:قبل|منذ) UNIT""",
            "past": "[آا]خر COUNT UNIT",
            "then": "(?:في )?MONTH (?:من )?(?:العام|السنة) (?:الماضي|الماضية)",
            "which": """(?:في |يوم )*WHAT LAST
                THIS WHAT""",
            "month": """MONTH YEAR
                (?:في|منذ|شهر) MONTH""",
            "season": "SEASON YEAR",
            "year": "(?:في عام|في سنة|عام|سنة|في) YEAR",
        },
        twos="يومين [أا]سبوعين - شهرين سنتين|عامين",
    ),
    # "कल" is yesterday or tomorrow; a memory is asked about yesterday.
    "hi": Calendar(
        months="""जनवरी फ़?रवरी|फरवरी मार्च अप्रैल मई जून जुलाई अगस्त सितंबर|सितम्बर अक्टूबर|अक्तूबर
            नवंबर|नवम्बर दिसंबर|दिसम्बर""",
        days="सोमवार मंगलवार बुधवार गुरुवार|बृहस्पतिवार शुक्रवार शनिवार रविवार|इतवार",
        seasons="वसंत|बसंत गर्मी|गर्मियों|गर्मियाँ शरद|पतझड़ सर्दी|सर्दियों|सर्दियाँ|जाड़े",
        units="दिन|दिनों हफ़?्त(?:े|ों|ा)|सप्ताह|सप्ताहों सप्ताहांत|वीकेंड महीन(?:े|ों|ा)|माह साल|सालों|वर्ष|बरस",
        counts="एक दो तीन|कुछ चार पाँच|पांच छह|छः|छै सात आठ नौ दस",
        near="आज कल परसों",
        last="पिछल(?:े|ा|ी)|गत|बीत(?:े|ा|ी)",
        this="इस",
        forms={
            "date": "DAY MONTH(?: YEAR)?",
            "near": "NEAR",
            "ago": "COUNT UNIT पहले",
            "past": "पिछले COUNT UNIT",
            "then": "पिछले (?:साल|वर्ष) MONTH",
            "which": "WHICH WHAT",
            "month": """MONTH YEAR
                MONTH (?:में|के|को|से)""",
            "season": "YEAR की SEASON",
            "year": "(?:सन )?YEAR (?:में|के|से)",
        },
    ),
}
by_language(CALENDARS)  # fails at import if a language has no calendar

# How a question begins that has no question mark.
INTERROGATIVES = Phrases(
    {
        "en": r"""who|whose|whom|what|when|where|why|which|how|is|are|was|were|am|do|does|did|has|have|had|can|
            could|will|
            would|should|may|must""",
        "de": r"""wer|wessen|wem|wen|was|wann|wo\w*|warum|weshalb|wieso|welche[mnrs]?|wie\w*|ist|sind|war|waren|hat|
            haben|
            kann|können|darf|muss|soll|gibt es""",
        "fr": r"""qui|que|quoi|quand|où|pourquoi|quel(?:le)?s?|comment|combien|est-ce que|est-il|est-elle|y a-t-il|
            à quel(?:le)?|de quel(?:le)?|dans quel(?:le)?|avec qui|chez qui""",
        "es": r"""quién(?:es)?|qué|cuándo|dónde|adónde|por qué|cuál(?:es)?|cómo|cuánt[oa]s?|a qué|de qué|en qué|
            con quién|hay""",
        "ru": r"""кто|кого|кому|кем|что|чего|чем|когда|где|куда|откуда|почему|зачем|как\w*|сколько|чей|чья|чьё|
            есть ли""",
        "ja": r"誰|だれ|何|なに|いつ|どこ|なぜ|どうして|どの|どれ|どう|いくつ|いくら|どんな",
        "zh": r"谁|什么|何时|什么时候|哪|为什么|怎么|怎样|多少|几|是不是|有没有",
        "ar": r"من|ما|ماذا|متى|[أا]ين|لماذا|كيف|كم|هل|[أا]ي",
        "hi": r"कौन|किस\w*|क्या|कब|कहाँ|कहां|क्यों|कैसे|कितन\w*",
    },
    is_opening=True,
)
# That a number is asked for. German and Russian write "how many" in forms; scripts without spaces need no ends.
QUANTITIES = Phrases(
    {
        "en": r"""how (?:many|much|old|tall|long|far|big|large|heavy|wide|high|deep|fast|often)|what (?:number|age|
            size|
            height|weight|percentage|share)""",
        "de": r"wie (?:viele?[nrs]?|alt|groß|lange?|weit|schwer|breit|hoch|tief|schnell|oft|teuer)|wieviele?",
        "fr": r"combien|quel âge|quelle (?:taille|hauteur|distance|pointure|longueur)|à quelle fréquence",
        "es": r"cuánt[oa]s?|qué (?:edad|altura|tamaño|distancia|talla|porcentaje)|con qué frecuencia",
        "ru": r"скольк(?:о|их|им|ими)|какого (?:роста|возраста|размера)|насколько|как (?:часто|долго|далеко)",
        "ja": r"""いくつ|いくら|何(?:人|歳|個|本|枚|回|年間|時間|キロ|メートル|センチ|円|匹|冊|台|杯|割|パーセント)|
            どのくらい|どれくらい""",
        "zh": r"多少|几(?:个|位|岁|次|年|天|只|本|台|斤|公里|小时|元|块|号)|多(?:大|高|长|远|重|久|快)",
        "ar": r"كم|ما (?:عدد|طول|وزن|عمر|مقدار|نسبة)",
        "hi": r"कितन(?:े|ी|ा)",
    }
)
# What tells a number, beside digits.
NUMBERS = Phrases(
    {
        "en": r"""one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|\w+ty(?:-\w+)?|hundreds?|
            thousands?|millions?|dozens?|half|quarter|twice|once|double|both|pair|twins?|single|daily|weekly|monthly|
            yearly|every|each|all|no|none|nothing|zero|free|first|second|third|fourth|fifth""",
        "de": r"""ein(?:e[mnrs]?|s)?|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf|\w+zehn|\w+zig|
            \w*hundert|
            \w*tausend|million(?:en)?|dutzend|halb\w*|viertel|\w+mal|beide\w*|paar|zwillinge?|täglich|wöchentlich|
            monatlich|jede[mnrs]?|alle|kein\w*|null|gratis|umsonst|erste[nrs]?|zweite[nrs]?|dritte[nrs]?""",
        "fr": r"""une?|deux|trois|quatre|cinq|six|sept|huit|neuf|dix|onze|douze|treize|quatorze|quinze|seize|vingt\w*|
            trente|quarante|cinquante|soixante|cents?|mille|millions?|douzaine|demi\w*|quart|fois|double|jumeaux|
            jumelles|chaque|tou(?:s|tes)|aucune?|zéro|gratuit\w*|premi(?:er|ère)|seconde?|troisième""",
        "es": r"""una?|uno|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|once|doce|trece|catorce|quince|veint\w+|
            treinta|cuarenta|cincuenta|sesenta|setenta|ochenta|noventa|cien(?:to)?s?|mil|millon(?:es)?|docena|
            medi[oa]|
            doble|ve(?:z|ces)|gemel[oa]s|cada|tod[oa]s|ningun[oa]?|cero|gratis|primer[oa]?|segund[oa]|tercer[oa]?""",
        "ru": r"""од(?:ин|на|но|ного|ной)|дв[аеух]\w*|тр(?:и|ёх|ех|ём|ем)\w*|четыр\w+|пят\w+|шест\w+|сем[ьи]\w*|
            восем\w+|
            девят\w+|десят\w+|дюжин\w+|сто|ст[оа]\w*|тысяч\w*|миллион\w*|пол\w*|четверт\w+|раз\w*|вдвое|оба|обе|
            пар[аыу]|
            близнец\w*|кажд\w+|все|ни одн\w+|ноль|бесплатно|перв\w+|втор\w+|трет\w+""",
        "ja": r"[一二三四五六七八九十百千万両半倍]|ひとつ|ふたつ|みっつ|一人|毎|全部|無料|双子|ゼロ",
        "zh": r"[一二三四五六七八九十百千万两半双每]|全部|免费|零|倍",
        "ar": r"""واحد\w*|[إا]ثن\w+|ثلاث\w*|[أا]ربع\w*|خمس\w*|ست\w*|سبع\w*|ثمان\w*|تسع\w*|عشر\w*|مئ\w*|مائ\w*|
            [أا]لف\w*|مليون\w*|
            نصف|ربع|مر(?:ة|تين|ات)|كل|جميع|مجان\w*|صفر|توأم\w*|[أا]ول\w*|ثان\w*|ثالث\w*|يومي\w*|[أا]سبوعي\w*|
            شهري\w*""",
        "hi": r"""एक|दो|तीन|चार|पाँच|पांच|छह|छः|सात|आठ|नौ|दस|ग्यारह|बारह|पंद्रह|बीस|तीस|चालीस|पचास|साठ|सौ|हज़ार|
            हजार|लाख|करोड़|
            आधा|आधी|डेढ़|ढाई|दर्जन|बार|हर|सब|सभी|दोनों|मुफ़्त|मुफ्त|शून्य|जुड़वाँ|पहल[ाीे]|दूसर[ाीे]|तीसर[ाीे]""",
    }
)
