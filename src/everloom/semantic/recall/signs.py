"""The words by which a text tells of time and change, in the languages that the search is tested in.

Patterns only, for text in lower case. Words of languages that inflect are given by their stems; scripts without spaces
have no word boundaries.
"""

from __future__ import annotations

import re
from typing import NamedTuple


def _any_of(*rows: str) -> re.Pattern[str]:
    return re.compile("|".join(rows))


class StateWords(NamedTuple):
    """How a state is asked for, and how a text claims it or tells that it changed."""

    asks: re.Pattern[str]
    claims: re.Pattern[str]


# What there is one of at a time: a home, a job, a partner.
STATES = (
    StateWords(
        _any_of(
            r"\b(?:liv(?:e|es|ed|ing)|resid\w+|home|address|based)\b",
            r"\b(?:wohn\w*|leb(?:t|e|en)|zuhause)\b",
            r"\b(?:habit(?:e|es|ent|ait|er)|vi[tv]\w*)\b",
            r"\b(?:viv(?:e|en|ía|ió|ir)|reside)\b",
            r"жив[её]т|жил|проживает",
            r"住|يسكن|تسكن|يعيش|تعيش|रहत[ाी]|रहने",
        ),
        _any_of(
            r"\bliv(?:e|es|ed|ing) (?:in|at|on|near|with|by|around|close|outside|here|there|now)\b",
            r"\b(?:resid(?:e|es|ed|ing)|relocat\w+|settled|is based) (?:in|to)\b",
            r"\bmov(?:e|es|ed|ing) (?:to|into|in|out|away|back|house|from|here|there)\b|\b(?:address|home) is\b",
            r"\b(?:wohnt?|wohnte|lebte?|lebt|umgezogen|zieht|zog)\b",
            r"\b(?:habite|habitait|déménag\w+|vit|vivait)\b",
            r"\b(?:vive|vivía|vivió|mudó|mudado|reside)\b",
            r"жив[её]т|жил|переех|проживает",
            r"住|引っ越|搬|يسكن|تسكن|يعيش|تعيش|انتقل|रहत[ाी]",
        ),
    ),
    StateWords(
        _any_of(
            r"\b(?:work|works|working|job|profession|occupation|living|employer|employed)\b",
            r"\b(?:arbeite\w*|beruf\w*|job)\b",
            r"\b(?:travaill\w+|métier|emploi)\b",
            r"\b(?:trabaj\w+|empleo)\b",
            r"работа|働|仕事|工作|上班|يعمل|تعمل|وظيف|काम|नौकरी",
        ),
        _any_of(
            r"\bwork(?:s|ed|ing)? (?:as|at|for|in)\b",
            r"\b(?:job|employ\w+|hired|joined|quit|resigned|retired|profession)\b",
            r"\b(?:arbeitet (?:als|bei|für|in)|beruf|kündigte|gekündigt)\b",
            r"\b(?:travaille (?:comme|chez|pour|à)|métier|démissionné)\b",
            r"\b(?:trabaja (?:como|en|para)|empleo|dimitió)\b",
            r"работает|уволил|働|転職|工作|辞职|يعمل|تعمل|استقال|काम कर|नौकरी",
        ),
    ),
    StateWords(
        _any_of(
            r"\b(?:married|spouse|husband|wife|partner|girlfriend|boyfriend|single|dating)\b",
            r"verheiratet|partner|ehe(?:mann|frau)|marié|mari\b|femme de|casad|marido|esposa|женат|замуж|муж\b|жена",
            r"結婚|结婚|夫|妻|متزوج|زوج|शादी|पति|पत्नी",
        ),
        _any_of(
            r"\b(?:married|divorced|engaged|separated|widowed|husband|wife|partner|girlfriend|boyfriend|dating)\b",
            r"verheiratet|geschieden|getrennt|marié|divorcé|séparé|casad|divorciad|separad|женат|замуж|развел",
            r"結婚|離婚|结婚|离婚|متزوج|مطلق|शादी|तलाक",
        ),
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
    r"どこ|いつ|いくら|何歳|誰|は何(?:です|だ|？|\?)|哪|什么时候|多少|几岁|谁|是什[么麼]",
    r"أين|متى|كم|ما هو|ما هي",
    r"कहाँ|कहां|कब|कितन|कौन|क्या (?:है|था)",
    r"어디|언제|몇|얼마|누구|무엇(?:입니까|인가|이)|뭐(?:야|예요|에요)|ที่ไหน|เมื่อไ|เท่าไ|ใคร|คืออะไร",
    r"\b(?:איפה|מתי|כמה|מיהו|מיהי|מה ה\w+|πού|πότε|πόσ\w+|ποι[οαό]ς?|ποιά|τι είναι)\b",
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
