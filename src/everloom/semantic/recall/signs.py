"""The words by which a text tells of time and change, in the languages that the search is tested in.

Patterns only, for text in lower case. Words of languages that inflect are given by their stems; scripts without spaces
have no word boundaries.
"""

from __future__ import annotations

import re

_WHOLE_WORDS = re.compile(r"\\b\(\?:((?:[^()]|\([^()]*\))*)\)\\b")


def _any_of(*rows: str) -> re.Pattern[str]:
    """Compile rows into one pattern; those of whole words are looked for together, as that is faster."""
    words = [found[1] for row in rows if (found := _WHOLE_WORDS.fullmatch(row))]
    others = [row for row in rows if not _WHOLE_WORDS.fullmatch(row)]
    return re.compile("|".join([*others, rf"\b(?:{'|'.join(words)})\b"] if words else others))


# That something is no longer as it was.
CHANGE = _any_of(
    r"\b(?:now|nowadays|currently|no longer|not any ?more|anymore|instead|since|from now on|as of|at last|by now)\b",
    r"\b(?:moved|relocated|switched|swapped|changed|became|joined|quit|resigned|retired|divorced|replaced|dropped)\b",
    r"\b(?:sold|stopped|started|gave up|given up|gone back|went up)\b",
    r"\b(?:went down|put up|raised|lowered|reduced|cancell?ed)\b",
    r"\b(?:postponed|rescheduled|withdrew|broke up|split up|traded)\b",
    r"\b(?:renamed|carried over|took over|taken over|made \w+)\b",
    r"\b(?:rid of|handed in|is over|has left|left (?:for|the|his|her))\b",
    r"\b(?:grew|rose|fell|fallen|turned|again|newest|upgraded|tagged|migrated|transferred|promoted|appointed)\b",
    r"\b(?:closed|finished|deleted|removed|opened|died|dead|passed away|cut out|expired|bought an?|only .{3,30}this)\b",
    r"\b(?:his|her|their|our|my|the|'s) new\b|\bany more\b|\b(?:gave|given) away\b|\bcalled off\b",
    r"\b(?:scrapped|broke off|dropped out|lost|cut (?:his|her|their|my)|swore off)\b",
    r"\b(?:went back|back (?:to|on) \w+|these days|at present)\b",
    r"\b(?:has|have|had|there is|with) an? (?:new|different)\b|\bnew(?:ly)? (?:\w+ )?(?:is|are)\b|\b(?:is|are) off\b",
    r"\b(?:jetzt|nun|inzwischen|mittlerweile|neuerdings|nicht mehr)\b",
    r"\b(?:stattdessen|seit|ab sofort|künftig|kein\w* mehr)\b",
    r"\b(?:umgezogen|gezogen|gewechselt|geändert|gekündigt|verlegt)\b",
    r"\b(?:verschoben|abgesagt|verkauft|aufgehört|aufgegeben|eröffnet|gestorben|geschlossen|gelöscht|umgeschult)\b",
    r"\b(?:verschrottet|abgebrochen|angehoben|verschenkt|aufgelöst|verloren|umbenannt|gekauft|abgeschafft|entlassen)\b",
    r"\b(?:neue[mnrs]? \w+ ist|heißt jetzt|nur noch|von nun an|angefangen|begonnen|läuft aus|beendet|befördert)\b",
    r"\b(?:erhöht|gesenkt|umgestiegen|ersetzt|getrennt|geschieden|übernommen|wechselt\w*|gestiegen|wurde|wieder)\b",
    r"\b(?:maintenant|désormais|dorénavant|depuis|déménag\w+|chang\w+|au lieu|à la place|n'est plus|remplac\w+)\b",
    r"\b(?:quitté|vendu|arrêté|passé\w* à|reporté\w*|annulé\w*|augmenté|rédui\w+|séparé\w*|devenu\w*|s'est mis\w*)\b",
    r"\b(?:ouvert|fermé\w*|mort\w*|déplacé\w*|supprimé\w*|terminé\w*|commencé|nommé\w*|nouve(?:au|lle) \w+ est)\b",
    r"\b(?:à présent|de nouveau|abandonné|donné|perdu|rompu|fini)\b",
    r"\b(?:acheté|racheté|baissé|monté|descendu\w*|relevé|renommé\w*)\b",
    r"\b(?:installé\w*|transféré\w*|muté\w*|promu\w*|migré\w*|reconverti\w*|à partir de)\b|\bn[e'’].{1,30}\bplus\b",
    r"\b(?:ahora|ya no|mud(?:ó|ado|ada|aron)|cambi(?:ó|ado|aron|a|amos)|dej(?:ó|ado|aron|é)|en vez|en lugar|desde)\b",
    r"\b(?:vendi(?:ó|do|eron)|se pasa|pasa a|pasó a|subi(?:ó|do))\b",
    r"\b(?:baj(?:ó|ado)|aplaz\w+|cancel\w+|reemplaz\w+|renunció)\b",
    r"\b(?:abri(?:ó|do)|cerr(?:ó|ado|aron)|murió|muerto|traslad\w+|migr\w+|empezó|terminó|termin(?:aron|ado)|ascendi\w+)\b",
    r"\b(?:ya|regal(?:ó|aron|ado)|romp(?:ió|ieron)|perd(?:ió|ieron|ido)|compr(?:ó|aron|ado)|abandon(?:ó|aron|ado))\b",
    r"\b(?:de nuevo|vuelve a|volvió a|desde hace poco|renombr\w+|despid\w+|quit(?:ó|aron|ado))\b",
    r"\b(?:separ\w+|se hizo|actualiz\w+|nuev[oa] \w+ es|de ahora en adelante)\b",
    r"\b(?:теперь|сейчас|больше не|уже не|вместо|отныне|недавно|переш[её]л|перешл[аи]|ушла|уш[её]л|стал[аои]?)\b",
    r"\b(?:переех|сменил|уволил|продал|бросил|перен[её]с|отмен|заменил|повысил|снизил|расстал|развел|подорож)\w*",
    r"\b(?:перев[её]л|перевел|закрыл|открыл|умер|удалил|начал|законч|назначен|мигрир|обновил|подня|больше нет)\w*",
    r"\b(?:отдал|разорв|потерял|купил|переименов|снова|опять|убрал|подарил|расторг|поменя|измени|пересел|перевел)\w*",
    r"異動|配属|禁煙|禁酒|禁止|譲っ|失っ|買っ|改名|再び|移し|解消|退会|退学|離れ|止め|卒業し",
    r"送人|送给|丢了|买了|改名|重新|解除|退出|退学|退掉|解散",
    r"جديد|رفع|فسخ|أهد|فقد|نقل|عاد|عادت|خفض|استبدل|هجر",
    r"टूट|दे दी|दे दिय|ख़रीद|खरीद|फिर से|हटा|निकाल|तोड़|त्याग",
    r"開い|開業|始め|亡くな|死ん|閉店|閉ま|移行|昇進|終わ|替え|交代|就任|なくな|減ら|増え",
    r"开始|开了|关门了|关闭|死了|去世|迁移|结束|换成|接任|升为|当上|调到|离开",
    r"توفي|مات|أغلق|افتتح|بدأ|اشترى|اشترت|تولى|تولت|تحول|رُقي|تخلى|أقلع|انتهى",
    r"शुरू कर|खोल लि|बंद हो|मर गय|गुज़र गय|शिफ्ट|स्थानांतरित|तबादला|ख़त्म|खत्म|बन गय|बन गई|ले लि|ख़रीद ली|तलाक",
    r"今は|現在|引っ越|もう|転職|今では|変わ|変え|やめ|辞め|移っ|移転|になった|代わり|売っ|中止|延期|別れ|値上|値下|新し",
    r"以降|から.{1,12}に(?:変|な)|乗り換え|切り替え",
    r"现在|已经|不再|搬|改|换|不用|取消|推迟|卖|涨|降|辞|戒|分手|离婚|变成|升级|停|从今|起改|转",
    r"الآن|الان|انتقل|لم يعد|لم تعد|بدلا|تغير|غيّ?ر|صار|أصبح|ترك",
    r"باع|توقف|ألغ|تأجل|أجل|ارتفع|انخفض|انفصل|منذ|استقال|حاليا",
    r"अब|बदल|छोड़|बंद कर|के बजाय|की जगह|रद्द|बढ़|घट|बेच|नहीं रह|होने लग|हो गय|हो गई|चला गया|चली गई|अलग हो|स्थगित|टल",
)
# Of these signs, those that need not be about what was so before: something may be so "now" that never changed.
WEAK = _any_of(
    r"\b(?:now|nowadays|currently|since|again|new|opened|closed|started|finished|these days|at present|by now)\b",
    r"\b(?:jetzt|nun|inzwischen|mittlerweile|seit|wieder|wurde|neue[mnrs]?|eröffnet|geschlossen|begonnen|beendet)\b",
    r"\b(?:maintenant|désormais|depuis|ouvert|fermé\w*|commencé|de nouveau|à présent|nouve(?:au|lle)|à partir de)\b",
    r"\b(?:ahora|desde|ya|abri(?:ó|do)|cerr(?:ó|ado)|empezó|de nuevo|nuev[oa]|теперь|сейчас|недавно|снова|опять)\b",
    r"\b(?:закрыл|открыл|начал|законч)\w*|今は|現在|もう|新し|から|始め|開い|以降|现在|已经|开始|从|又|新",
    r"الآن|الان|منذ|جديد|بدأ|افتتح|حاليا|अब|शुरू|नया|नई",
)
# That a text denies something.
NEGATED = _any_of(
    r"\b(?:not|no|never|none|without|cannot|nothing)\b|n['’]t\b|\b(?:kein\w*|nicht|nie|niemals|ohne|nichts)\b",
    r"\b(?:ne|n['’]\w+|pas|jamais|sans|aucun\w*|sin|nunca|jamás|ningun\w*|tampoco|не|нет|никогда|без)\b",
    r"ない|ません|なく|ずに|不|没|無|无|别|(?:^|\s)(?:لا|لم|لن|ليس|ليست|ما|بدون|دون)\s|(?:^|\s)(?:नहीं|न|मत|बिना)\s",
)
# That a text tells of an earlier time, unless it tells of a change: habits and states in the past tense.
FORMER = _any_of(
    r"\b(?:used to|back in|back then|formerly|previously|in the past|in those days|at the time|had been|years ago)\b",
    r"\bas an? (?:child|boy|girl|student|teenager|young)\b",
    r"\buntil\b.{1,80}\b(?:\w+ed|drove|took|went|held|was|were|had|ran)\b",
    r"\b(?:lived|worked|resided|owned|drove|smoked|drank|dated|studied|rented|earned|weighed|belonged|cost|met on)\b",
    r"\b(?:was|were)\b(?! (?:made|moved|promoted|postponed|carried|replaced|cancel|sold|appointed|raised|cut|named))",
    r"\b(?:früher|damals|ehemals|einst|seinerzeit|zuvor|vormals)\b",
    r"\b(?:wohnte|lebte|arbeitete|fuhr|trank|rauchte|war|hatte)\b",
    r"\b(?:autrefois|jadis|auparavant|à l'époque|avant|(?!fait|lait|parfait|sait|plaît|trait)\w{3,}aient|était)\b",
    r"\b(?!parfait|portrait|souhait|extrait|refait|connait|parait)\w{2,}[^fl\W]ait\b",
    r"\b(?:antes|antiguamente|solía|vivía|tenía|había|era|hacía|comía|bebía|salía|conducía|(?!acaba)\w{2,}aba)\b",
    r"\b(?:раньше|прежде|когда-то|в прошлом|тогда|бывш\w+|жил[аи]?|работал[аи]?|ездил[аи]?|курил[аи]?|был[аио]?)\b",
    r"\b(?:водил[аи]?|учил(?:ся|ась)|стоил[аои]?|пил[аи]?)\b",
    r"以前|かつて|昔|当時|[てで]いた|[てで]いました|だった|でした",
    r"以前|曾|过去|当时|那时|从前|原先|原来",
    r"كان|سابقا|قديما|في الماضي|آنذاك",
    r"पहले|(?:^|\s)(?:था|थी|थे)(?:[\s।.,]|$)|उन दिनों",
)
# That what a text tells began at the time that it mentions, and lasts.
SINCE = _any_of(
    r"\b(?:since|as of|from|seit\w*|ab|depuis|dès|desde|a partir de|с|со|начиная)\b",
    r"から|以来|以降|自|从|起|منذ|(?:^|\s)से(?=\s)",
)
# That a text tells what is to come: until then, the earlier state holds.
PLANNED = _any_of(
    r"\b(?:will|'ll|(?:is|are|am) going to|plans? to|wants? to)\b",
    r"\b(?:hopes? to|would like to|thinking of|dreams? of|intends? to)\b",
    r"\b(?:wird|will|werden|möchte|plant|hat vor|überlegt|träumt)\b.{1,80}\b\w+(?:en|eln|ern)\b",
    r"\b(?:va|vais|vont|veut|voudrait|aimerait|compte|prévoit de|envisage de|rêve de) \w*\s?\w+(?:er|ir|re)\b",
    r"\b(?:va a|van a|voy a|quiere|quisiera|piensa|planea|sueña con) (?:\w+(?:ar|er|ir)(?:se)?)\b",
    r"\b(?:собирается|планирует|хочет|мечтает|думает|будет|переедет|скоро)\b",
    r"予定|つもり|したい|たがって|計画",
    r"打算|计划|准备|想要?(?:搬|换|去|学)|将要?|即将",
    r"سوف|ينوي|تنوي|يخطط|تخطط|يريد أن|تريد أن|\bسي\w+|\bست[^\W\d]{3,}",
    r"(?:एगा|एगी|ेगा|ेगी|ेंगे)(?:[\s।.,]|$)|योजना|सोच रह|चाहत",
)
# Attributes of which there is one at a time, whatever else is said of a subject; of others there may be several.
SINGLE = frozenset(
    """home address job salary partner age birthday height weight name phone email car diet smoking password version
    deadline doctor school studies leader religion bank sleep health place colour""".split()
)
# Attributes of which each thing of a subject may have one of its own.
VALUED = frozenset({"price", "schedule", "deadline", "medicine"})
# Attributes whose coming state somebody may tell long before it holds; a coming date or price is what is asked for.
LASTING = frozenset("home address job partner studies school car pet name diet religion doctor phone".split())
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
# That a question asks for several things or for their order: none replaces another.
IN_ORDER = _any_of(
    r"\bor\b.{1,60}\bfirst\b|\bfirst\b.{1,60}\bor\b|\b(?:order|sequence|chronolog\w*|timeline)\b",
    r"\boder\b.{1,60}\bzuerst\b|\bzuerst\b.{1,60}\boder\b|\b(?:reihenfolge|chronolog\w*)\b",
    r"\b(?P<asks>when|wann|quand|cuándo|когда)\b.{1,80}\b(?P=asks)\b",
    r"\b(?:dans quel ordre|en qué orden|в каком порядке)\b|順番|順序|顺序|先后|ترتيب|किस क्रम",
)
# That a question is about the beginning of the time that it mentions.
AT_THE_START = _any_of(
    r"\b(?:start|beginning|early|anfang|beginn|début|principios?|comienzos?|inicios?|начал[еоа])\b",
    r"年初|初め|初頭|はじめ|مطلع|بداية|أوائل|शुरुआत|आरंभ",
)
# That a question asks for a time.
WHEN = _any_of(r"\b(?:when|wann|quand|cuándo|когда)\b|いつ|什么时候|何时|متى|कब")
# That a question is about the first state of all.
ORIGINAL = _any_of(
    r"\b(?:original(?:ly)?|at first|initial(?:ly)?|ursprünglich\w*)\b",
    r"\b(?:zuerst|anfangs|au départ|à l'origine|d'abord|initial\w*)\b",
    r"\b(?:originalmente|al principio|inicialmente|original|сначала|изначально|первоначальн\w+)\b",
    r"最初|当初|元々|もともと|一开始|起初|最早|في البداية|في الأصل|शुरू में|मूल रूप",
)
# That a question is about an earlier state.
PAST = _any_of(
    r"\b(?:before|formerly|former|previous(?:ly)?|used to|earlier|back then|in the past)\b",
    r"\b(?:früher\w*|vorher\w*|zuvor|damals|ehemalig\w*|vorige\w*|bisherig\w*)\b",
    r"\b(?:avant|auparavant|autrefois|jadis|ancien\w*|précédent\w*)\b",
    r"\b(?:antes|anteriormente|antiguamente|anterior|antigu[oa])\b",
    r"\b(?:раньше|прежде|ранее|прежн\w+|предыдущ\w+|бывш\w+)\b",
    r"以前|かつて|前は|前の|昔|之前|过去|从前|原来",
    r"سابق|من قبل|قبل ذلك|القديم",
    r"पहले|पिछल[ाी]|पुराना|पुरानी",
    ORIGINAL.pattern,
)
# That a question is about the present, whatever else it says.
NOW = _any_of(
    r"\b(?:now|nowadays|currently|current|today|these days|at the moment|at present|still|any ?more|latest|newest)\b",
    r"\b(?:jetzt|heute|heutzutage|derzeit|gerade|aktuell\w*|zurzeit|noch|inzwischen)\b",
    r"\b(?:maintenant|actuel\w*|aujourd'hui|désormais|en ce moment|encore|toujours)\b",
    r"\b(?:ahora|actual\w*|hoy|todavía|aún|сейчас|теперь|сегодня|нынче|ещ[её])\b",
    r"今(?!年|月|週|度)|現在|まだ|现在|目前|如今|眼下|还|الآن|الان|حاليا|ما زال|अब|अभी|आजकल",
)
