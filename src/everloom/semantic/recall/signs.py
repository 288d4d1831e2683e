"""The words by which a text tells of time and change, in the languages that the search is tested in.

Patterns only, for text in lower case. Words of languages that inflect are given by their stems; scripts without spaces
have no word boundaries.
"""

from __future__ import annotations

import re


def _any_of(*rows: str) -> re.Pattern[str]:
    return re.compile("|".join(rows))


# What there is one of at a time (a home, a job, a partner), with the words by which it changes.
STATES = (
    _any_of(
        r"\b(?:liv(?:e|es|ed|ing)|resid\w+|mov(?:e|es|ed|ing)|relocat\w+|address)\b",
        r"\b(?:wohn|leb(?:t|en)|umgezog|zieht|zog )",
        r"habit|déménag|\bvi(?:t|vre|vai[st])\b",
        r"\b(?:viv[eíi]|mud[óoa]|reside)",
        r"(?:жив[её]|переех|проживает)",
        r"住|引っ越|搬",
        r"يسكن|تسكن|يعيش|تعيش|انتقل",
        r"रहत[ाी]|रहने",
    ),
    _any_of(
        r"\b(?:work(?:s|ed|ing)?|job|employ\w*|hired|joined|quit|resigned|retired|profession|occupation)\b",
        r"\b(?:arbeite|beruf|gekündigt|kündigt)",
        r"travaill|métier|emploi",
        r"trabaj|emple[oa]",
        r"работа|уволи",
        r"働|仕事|転職|工作|上班|辞职",
        r"يعمل|تعمل|وظيف",
        r"काम|नौकरी",
    ),
    _any_of(
        r"\b(?:married|marries|spouse|husband|wife|divorced|engaged|partner|girlfriend|boyfriend|single|dating)\b",
        r"verheiratet|geschieden|ehe(?:mann|frau)",
        r"marié|divorcé",
        r"casad|divorciad",
        r"женат|замуж|развел",
        r"結婚|離婚|结婚|离婚",
        r"متزوج|مطلق",
        r"शादी|तलाक",
    ),
)
# That something is no longer as it was.
CHANGE = _any_of(
    r"\b(?:now|nowadays|currently|no longer|not any ?more|anymore|instead|since|moved|relocated|switched|changed)\b",
    r"\b(?:became|joined|quit|resigned|retired|divorced)\b",
    r"\b(?:jetzt|nun|inzwischen|nicht mehr|stattdessen|umgezogen|gewechselt|geändert|gekündigt)\b",
    r"\b(?:maintenant|désormais|déménagé|changé|au lieu)\b|\bn['’e].{1,30}\bplus\b",
    r"\b(?:ahora|ya no|mudó|mudado|cambió|cambiado|dejó)\b",
    r"\b(?:теперь|сейчас|больше не|переехал\w*|сменил\w*|уволил\w*)\b",
    r"今は|現在|引っ越|もう|転職|现在|已经|不再|搬|改",
    r"الآن|انتقل|لم يعد|بدلا",
    r"अब|बदल",
)
# A question that has one answer at a time: where, when, how much, who or what something is.
ONE_ANSWER = _any_of(
    r"\b(?:where|when|how (?:old|much|many|tall|long|far|big|heavy)|what time|what colou?r)\b",
    r"\b(?:what|who|which)(?:'s| is| was)\b",
    r"\b(?:wo|wohin|wann|wie (?:alt|viele?|groß|lange?|heißt)|wer ist|was ist|welche[rsn]?)\b",
    r"\b(?:où|quand|combien|qui est|quel(?:le)? (?:est|âge))\b",
    r"\b(?:dónde|adónde|cuándo|cuánt\w+|cuál|quién es|qué edad)\b",
    r"\b(?:где|куда|когда|сколько|как(?:ой|ая|ое)|кто)\b",
    r"どこ|いつ|いくら|何歳|誰|哪|什么时候|多少|几岁|谁",
    r"أين|متى|كم|ما هو|ما هي",
    r"कहाँ|कहां|कब|कितन|कौन",
)
# That a question is about an earlier state.
PAST = _any_of(
    r"\b(?:before|formerly|former|previous(?:ly)?|used to|earlier|originally|at first|back then|in the past)\b",
    r"\b(?:früher|vorher|zuvor|damals|ursprünglich|ehemalig\w*)\b",
    r"\b(?:avant|auparavant|autrefois|jadis)\b",
    r"\b(?:antes|anteriormente|antiguamente)\b",
    r"\b(?:раньше|прежде|ранее)\b",
    r"以前|かつて|之前|过去",
    r"سابق|من قبل",
    r"पहले",
)
# That a question is about the present, whatever else it says.
NOW = _any_of(
    r"\b(?:now|currently|today|these days|at the moment|still|jetzt|heute|derzeit|maintenant|actuellement)\b",
    r"\b(?:ahora|actualmente|hoy|сейчас|теперь)\b",
    r"今|現在|现在|目前|الآن|अब|अभी",
)
