"""The words of questions that ask for nothing but somebody, or how several stand to each other, in nine languages.

Pure data. A row is a regular expression, as in `everloom.kernel.search.languages`: a space is any white space, both
ends are ends of words. Longer phrases stand before the words that they begin with. If nothing is left of a question
without its names and these words, it is an overview. What is asked for in particular is in no row: "where", "when",
"tall", "car".
"""

from __future__ import annotations

import re
from functools import cache

from everloom.kernel.search.languages import Phrases

# What a question about one subject as a whole consists of.
ABOUT = Phrases(
    {
        "en": r"""(?:what|anything|something|everything) (?:i|we) should know|what you have on|(?:i|
            we)(?:'d| would)? (?:want|need|like) to (?:know|hear|learn)|for (?:me|us)|that|(?:(?:can|could|would|
            will) you |please )*(?:tell|give|remind|show|introduce) (?:me|us)(?: to)?|(?:can|could|would|will) you|
            what (?:else )?(?:do|can|did|should|must) (?:you|we|i)(?: (?:already|still|really|need to|
            have to))*(?: (?:know|remember|recall|have|say|tell (?:me|us)))?|(?:what|everything|anything|all|whatever|
            something|things)(?: that)? (?:you|we|i)(?: already)? (?:know|remember|recall|have)|(?:do|did) (?:you|
            we) (?:know|remember|recall|have)(?: (?:anything|something))?|what(?: exactly)?(?:'s| is| was) known|
            what (?:sort|kind|type) of (?:an? )?(?:person|man|woman|guy|girl|boy|human|human being|character|thing|
            place|company|project)(?: (?:is|was|are))?|who(?: (?:exactly|again))?(?:'s| (?:is|are|was|were))|
            what(?: exactly)?(?:'s| (?:is|are|was))|(?:the )?(?:deal|story|matter) with|(?:what|how) about|is like|
            (?:rundown|overview|summary|profile|portrait|picture|sketch|description|introduction|recap|lowdown|
            information|info|facts|notes)(?: (?:on|of|about|for))?|(?:everything|anything|something|more|a bit|
            a little|a bit more|all)(?: there is)?(?: to know)?|in (?:general|short|a nutshell|a few words)|
            is(?=\W*\Z)|who|about|describe|summari[sz]e|introduce|explain|again|exactly|please|like|so|and|of|an?|the|
            quick|short|brief|full|personality|character|background|mr|mrs|ms|dr|hey|ok|okay|well|now|then|fill (?:me|
            us) in(?: on)?|who's|whos|whats|'s""",
        "de": r"""diese[mnrs]?|jene[mnrs]?|ich (?:möchte|will|würde gerne?)|wissen|erfahren|(?:(?:kannst|könntest|
            würdest) du |bitte )*(?:mir|uns)?(?: bitte)?(?: (?:etwas|was|mehr|alles|ein bisschen))* (?:erzählen|sagen|
            berichten|beschreiben|vorstellen)|(?:kannst|könntest|würdest) du|(?:erzähl|sag|bericht|beschreib|schilder|
            stell)e?(?: (?:mir|uns))?(?: (?:bitte|mal|doch|kurz))*|was (?:weißt|weisst|wissen|wisst) (?:du|sie|wir|
            ihr)(?: (?:alles|noch|so))*|(?:alles,? )?was du(?: (?:über|von))?|was (?:ist|war) (?:bekannt|über)|
            (?:et)?was (?:über|von)|wer (?:ist|war|sind)(?: (?:eigentlich|denn|nochmal|noch mal|genau))*|
            was für ein(?:e|en|er)? (?:mensch|person|typ|kerl|mann|frau|firma|sache)(?: (?:ist|war))?|wie ist|was ist|
            (?:zusammenfassung|überblick|porträt|profil|steckbrief|hintergrund|beschreibung|infos?|informationen)|
            (?:etwas|mehr|alles|ein bisschen)|weißt|über|von|zu|vom|so|und|also|bitte|herrn?|frau|dr|der|die|das|den|
            dem|des|eine?n?|kurze?[nrs]?|denn|eigentlich|genau|überhaupt|nochmal|mir|uns|erzählen|sagen|verraten|
            berichten""",
        "fr": r"""(?:est-ce que )?(?:tu peux|vous pouvez|tu pourrais)(?: (?:me|nous))?(?: (?:parler|dire|raconter|
            décrire))?|je (?:veux|voudrais|aimerais) (?:en )?savoir|(?:(?:peux|pourrais)-tu |(?:pouvez|
            pourriez)-vous )(?:me |nous )?(?:parler|dire|raconter|décrire|présenter|résumer)|(?:parle|parlez|dis|
            dites|raconte|racontez|décris|décrivez|présente|présentez)-?(?:moi|nous)?|(?:que|
            qu'est-ce que) (?:(?:peux-tu|tu peux|pouvez-vous) (?:me |nous )?dire|sais-tu|savez-vous|sait-on|tu sais|
            vous savez|sais)|(?:tout )?ce que tu sais|qui (?:est|était|sont)(?: (?:donc|exactement|au juste))?|
            c'est qui|qui c'est|quel(?:le)? (?:genre|type|sorte) (?:de |d')(?:personne|homme|femme|
            type)(?: est| était)?|comment est|(?:résumé|portrait|profil|aperçu|présentation|description|infos?|
            informations?)|à propos|au sujet|qu'est-ce que|un peu|en général|en bref|plus|tout|résume|sur|des?|d'|du|
            le|la|les|l'|et|une?|s'il te plaît|s'il vous plaît|donc|monsieur|madame|mme|alors|ce|cet|cette""",
        "es": r"""(?:todo )?lo que (?:sabes|sabe|sabemos)|(?:quiero|quisiera|me gustaría) saber|ese|esa|este|esta|
            (?:me )?(?:puedes|podrías|puede|podría) (?:hablar|contar|decir|describir|presentar|resumir)(?:me|nos)?|
            (?:háblame|hábleme|cuéntame|cuénteme|dime|dígame|descríbeme|preséntame|recuérdame|habla|cuenta)|
            qué (?:más )?(?:me puedes (?:decir|contar)|sabes|sabe|sabemos|recuerdas|se sabe|puedes (?:decirme|
            contarme))|todo lo que sabes|quién (?:es|era|son)(?: exactamente)?|qué (?:tipo|clase) de (?:persona|
            hombre|mujer|gente)(?: es| era)?|cómo es|(?:resumen|perfil|retrato|descripción|información|datos)|(?:algo|
            más|todo|un poco)|acerca|sobre|en general|describe|resume|presenta|del?|el|la|los|las|y|e|un|una|
            por favor|señora?|don|doña|a""",
        "ru": r"""(?:я )?(?:хочу|хотел(?:а)? бы) (?:у?знать)|он|она|они|этот|эта|(?:ты |вы )?(?:можешь|можете|мог бы|
            могла бы)(?: ты| вы)?(?: (?:мне|нам))?(?: (?:рассказать|сказать|описать|напомнить))?|(?:расскажи|скажи|
            опиши|напомни|поведай|представь)(?:те)?(?: (?:мне|нам))?|что(?: (?:ты|вы|мы))?(?: (?:уже|ещ[её]|
            вообще))?(?: (?:знаешь|знаете|знаем|помнишь|помните|известно|можешь сказать|можешь рассказать))|
            вс[её],? что(?: ты)?(?: знаешь)?|кто(?: (?:это|вообще))?(?: так(?:ой|ая|ие|ов|ова))?|что за (?:человек|
            люди|женщина|мужчина|парень|девушка|тип)|какой человек|(?:портрет|описание|сводка|справка|информация|
            характеристика)|что-нибудь|что-то|подробнее|немного|поподробнее|вс[её]|обо?|о|про|насч[её]т|и|а|ну|
            пожалуйста|это|такой|такая|господин|госпожа""",
        "ja": r"""(?:を|が)?知りたい(?:です)?|(?:に)?(?:ついて|関して)|のこと|(?:を)?(?:教えて|聞かせて|話して|
            説明して|紹介して|語って|まとめて)(?:ください|下さい|くれますか|くれませんか|くれる|ほしい|欲しい|
            もらえますか|よ)?|(?:どんな|どういう|どのような)(?:人物|人|ひと|方|やつ|性格)|(?:誰|だれ|何者)|
            何を?(?:知って|覚えて)(?:いますか|いる|います|ますか|る)?|知っていること|概要|プロフィール|人物像|さん|
            ちゃん|くん|君|様|氏|先生|でしょうか|なんですか|ですか|なの|です|とは|という|って|もっと|詳しく|全部|
            すべて|簡単に|は|の|を|が|も|だ|か""",
        "zh": r"""我想(?:知道|了解)|(?:请|麻烦)?(?:你|您)?(?:给我|跟我|和我|向我|为我)?(?:介绍|说说|讲讲|谈谈|聊聊|
            描述|概括|总结)(?:一下|下)?|(?:跟我|给我|和我)?(?:说|讲|谈)一?下|告诉我|关于|(?:是|算)?个?(?:什么样的人|
            怎样的人|怎么样的人|什么人|何许人|何人|谁)|(?:你|您|我们)?(?:还)?(?:知道|了解|记得)(?:关于)?|(?:哪些|什么|
            些什么)?(?:事情|事|情况|资料|信息|概况|简介)|一切|所有|这个人|先生|女士|小姐|老师|同学|请问|请|究竟|到底|
            的|是|些|吗|呢|啊|有|怎么样|怎样|如何|那个人|个|也""",
        "ar": r"""[أا]ريد [أا]ن [أا]عرف|هذا|هذه|(?:[أا]خبرني|حدثني|حدّثني|احك[ِي]? لي|قل لي|قولي لي|صفي?(?: لي)?|
            عرفني|عرّفني|ذكرني)|(?:من|مَن|مين) (?:هو|هي|هم|هما|يكون|تكون|كان|كانت)|ماذا (?:تعرف|تعلم|نعرف|تعرفين|
            تتذكر|لديك)|ما الذي (?:تعرفه|تعرفينه)|كل (?:ما|شيء)(?: (?:تعرفه|لديك))?|(?:نبذة|ملخص|معلومات|لمحة)|
            [أا]ي (?:نوع من )?(?:شخص|الأشخاص|إنسان)|من فضلك|المزيد|[أا]كثر|عن|على|السيد|السيدة|الدكتور|الدكتورة|و""",
        "hi": r"""(?:मैं |मुझे )?जानना (?:चाहता|चाहती|चाहते|है)(?: (?:हूँ|हूं|हैं|है))?|यह|ये|वह|वे|में|से|(?:मुझे |
            हमें )?(?:कुछ |सब कुछ |और )?(?:बताओ|बताइए|बताइये|बताएं|बताएँ|बताना|बता (?:दो|सकते हो|सकते हैं))|(?:के |
            की )?(?:बारे|विषय) में|(?:आप|तुम|तू|हम)(?: लोग)?|(?:क्या )?(?:जानते|जानती|जानता|याद|पता)(?: (?:हो|हैं|
            है))?|कौन(?: (?:है|हैं|था|थी|थे))?|(?:कैसा|कैसी|कैसे|किस तरह का|किस तरह की)(?: (?:इंसान|आदमी|व्यक्ति|औरत|
            लड़का|लड़की))|(?:परिचय|सारांश|जानकारी|वर्णन)|मुझे|हमें|कुछ|और|क्या|का|की|के|को|है|हैं|हो|जी|श्री|श्रीमती|
            कृपया|ज़रा|जरा|आखिर""",
    }
)

# What is added if a question is about several subjects: how they stand to, see and treat each other.
BETWEEN = Phrases(
    {
        "en": r"""things|shared?|shares|nature|kind|sort|(?:what|which) (?:sort|kind|type|role|part|place)(?: of)?|
            (?:do|does|did|is|are|was|were|has|have|ca|could|would|wo)n't|can|could|will|would|should|must|not|never|
            always|very|much|more|most|too|also|just|about|of|an?|the|and|over|against|without|plays?|life|treats?|
            behaves?|acts?|reacts?|talks?|speaks?|(?:get|gets|getting|got|go|goes) (?:along|on)|going on|each other|
            one another|(?:how )?(?:do|does) (?:that|this|it|they|these) work|(?:work|works) together|make of|
            makes of|take on|point of view|fall(?:en|ing)?[ -]out|fell out|at odds|what(?:'s)?|how(?:'s)?(?: (?:well|
            close|much))?|why|is|are|was|were|be|been|do|does|did|has|have|had|there|any|some|still|currently|ever|
            really|lately|recently|nowadays|these days|at the moment|whats|hows|up|between|among|amongst|towards?|
            with|to|for|from|by|in|on|at|as|vs|versus|x|their|they|them|these|those|that|this|his|hers?|him|he|she|
            both|two|three|all|mutual(?:ly)?|together|in common|good|bad|well|badly|happy|unhappy|close|strained|near|
            distant|terms?|thinks?|thoughts?|feel|feels|feelings?|felt|sees?|views?|viewed|regards?|perceives?|
            considers?|treats?|opinions?|impressions?|attitudes?|perception|sentiments?|relat(?:e|es|ed|ing|ion|ions|
            ionship|ionships)|connect(?:s|ed|ion|ions)?|links?|linked|ties?|tied|bonds?|bonded|associated|association|
            acquainted|acquaintances?|knows?|known|dynamics?|chemistry|rapport|history|story|situation|status|matter|
            deal|dealings|arrangements?|trouble|problems?|issues?|tensions?|conflicts?|quarrel(?:s|led|ling)?|feuds?|
            arguments?|argu(?:e|es|ing)|disputes?|fights?|fighting|rivals?|rivalry|friction|collaborations?|partners?|
            partnership|cooperation|marriage|married|dating|couple|friends?|friendship|friendly|enem(?:y|ies)|
            colleagues?|coworkers?|neighbou?rs?|siblings?|brothers?|sisters?|cousins?|family|relatives?|parents?|
            mother|father|daughter|son|husband|wife|boss|mentor|teacher|lovers?|loves?|likes?|dislikes?|hates?|
            trusts?|respects?|admires?|resents?|envies|envy|angry|mad|upset|annoyed|jealous|fond|cross|fits?|stands?|
            standing|hangs?|compared?|compares|mean|means""",
        "de": r"""kann|können|könnte|soll|sollte|muss|müssen|will|wollen|wird|werden|würde|wurde|hat|haben|hatten?|
            nicht|kein(?:e[mnrs]?)?|mehr|sehr|immer|nie|welche[mnrs]?|diese[mnrs]?|ohne|um|nach|vor|rolle|spielen|
            spielt|leben|geht|gehen|behandelt|behandeln|redet|reden|spricht|sprechen|reagiert|wie|was|wer|warum|
            weshalb|wieso|ob|ist|sind|war|waren|steht|stehen|stand|hält|halten|denkt|denken|findet|finden|empfindet|
            empfinden|fühlt|fühlen|sieht|sehen|mag|mögen|liebt|lieben|hasst|hassen|schätzt|schätzen|vertraut|
            vertrauen|versteht|verstehen|vertragen|verträgt|kommt|kommen|aus|klar|zueinander|miteinander|füreinander|
            voneinander|übereinander|einander|gegenseitig|untereinander|zusammen|zwischen|verhältnis(?:se)?|
            beziehung(?:en)?|verbindung(?:en)?|verbunden|verbindet|freundschaft|freunde?|freundin|freundinnen|
            befreundet|ehe|verheiratet|paar|streit\w*|konflikte?|spannung(?:en)?|ärger|zoff|krach|probleme?|meinung|
            sicht|ansicht|eindruck|haltung|einstellung|gefühle?|blick|gegenüber|für|zum|zur|mit|gegen|sich|gut|
            schlecht|nahe?|eng|gibt|es|da|dort|los|läuft|noch|zurzeit|momentan|gerade|aktuell|sein(?:e[mnrs]?)?|
            ihr(?:e[mnrs]?)?|eine[mr]|auf|in|bei|im|verwandt|verwandte|bekannt|bekannte|kenn(?:t|en)|kollegen|
            kolleginnen|geschwister|bruder|schwester|passen|gehören|hängen|hängt|zusammenhang|dynamik|beiden?|drei|
            alle|wütend|sauer|böse|eifersüchtig|bedeutet""",
        "fr": r"""(?:[ldsn]'|qu')?(?:ne|pas|plus|peut|peuvent|doit|avait|avaient|cela|ça|lie|lient|unit|unissent|rôle|
            joue|jouent|vie|traite(?:nt)?|parle(?:nt)?|regarde(?:nt)?|contre|sans|dans|par|très|encore|toujours|aussi|
            quel(?:le)?s?|comment|pourquoi|que|qu'est-ce|qui|est-ce|est|sont|était|étaient|relations?|rapports?|
            liens?|lié(?:e)?s?|amitié|ami(?:e)?s?|mariage|marié(?:e)?s?|couple|entente|conflits?|disputes?|querelles?|
            brouille|tensions?|problèmes?|avis|opinion|point de vue|regard|vision|sentiments?|impression|attitude|
            entre|envers|vis-à-vis|avec|pour|à|au|aux|ensemble|une?|autre|les uns|les autres|mutuellement|se|entend|
            entendent|entendre|aime(?:nt)?|apprécie(?:nt)?|déteste(?:nt)?|pense(?:nt)?|ressent|ressentent|voit|voient|
            trouve|trouvent|considère|connaît|connaissent|fait|font|confiance|y|a|t|il|elle|ils|elles|ont|ce|cette|
            ces|son|sa|ses|leurs?|eux|lui|proches?|bien|mal|passe|tous|trois|deux|frères?|sœurs?|collègues?|
            fâché(?:e)?s?|jaloux|jalouse|représente|en|ces temps-ci|actuellement|en ce moment)|[ldsn]'|qu'""",
        "es": r"""qué tal|cuáles|no|por|sin|contra|pueden?|deben?|ha|han|había|muy|más|todavía|aún|siempre|también|
            papel|juegan?|vida|tratan?|hablan?|miran?|unen|vinculan?|del?|qué|cuál|cómo|quién|por qué|hay|es|son|era|
            eran|fue|está|están|relaci(?:ón|ones)|relacionan?|relacionad[oa]s|vínculos?|lazos?|amistad|amig[oa]s?|
            matrimonio|casad[oa]s?|pareja|conflictos?|peleas?|pelean|disputas?|tensi(?:ón|ones)|problemas?|opini(?:ón|
            ones)|opinan?|visión|impresión|actitud|sentimientos?|piensan?|sienten?|ven?|creen?|quieren?|aman?|odian?|
            aprecian?|confían?|llevan?|se|entre|sí|con|para|al|hacia|respecto|mutuamente|junt[oa]s|un[oa]s|otr[oa]s?|
            bien|mal|unid[oa]s|une|cercan[oa]s|conocen?|sus?|les?|lo|ellos|ellas|tienen?|en|común|los dos|los tres|
            todos|herman[oa]s?|colegas|enojad[oa]s?|enfadad[oa]s?|celos[oa]s?|significa|pasa|ambos|ahora|últimamente|
            actualmente""",
        "ru": r"""насколько|каков\w*|не|нет|бы|же|был[аи]?|может|могут|очень|ещ[её]|всегда|складыва\w+|сложил\w+|роль|
            играет|играют|жизн\w+|обраща\w+|говор[ия]т|смотр[ия]т|объединя\w+|против|без|при|по|эт(?:от|а|и|ой|им)|
            друг друга|друг с другом|друг к другу|как(?:ие|ая|ой|ов|ова|ое|ую)?|что|кто|кем|кому|чем|почему|за что|ли|
            отношени\w+|относ\w+|связ\w+|взаимосвяз\w+|ладят|ладит|уживаются|дружб\w+|друж[аи]т\w*|друзья|друг|
            подруг[аи]|люб[аи]т\w*|любовь|нравится|ненавид\w+|ссор\w+|спор\w*|конфликт\w*|напряж\w+|проблем\w+|
            мнени\w+|дума[ею]т\w*|чувств\w+|счита[ею]т|видит|видят|взгляд\w*|впечатлени\w+|приходится|приходятся|
            доводится|для|между|к|ко|с|со|у|на|от|из-за|вместе|муж|жена|брат|сестра|родственник\w*|коллег\w*|пара|
            женаты|они|он|она|их|ними|его|е[её]|ему|ей|есть|зл[иея]\w*|серди\w+|обижен\w*|обижа\w+|ревну\w+|доверя\w+|
            уважа\w+|знаком\w*|зна[ею]т|близк\w+|происходит|было|собой|сейчас|теперь|последнее время|так|там|оба|обе|
            трое|все|значит""",
        "ja": r"""から見た|から見て|役割|存在|人生|仲間|同士|扱って|だった|でした|のは|より|まだ|もう|とても|ない|
            ません|関係性|関係|間柄|仲良し|仲良く|仲|つながり|繋がり|絆|友情|友達|友人|夫婦|恋人|結婚|喧嘩|けんか|
            対立|問題|トラブル|どうなって(?:いますか|いる|います|る)?|どういう|どう|どんな|どのような|なぜ|何|なに|
            (?:思って|感じて|見て|考えて|怒って|嫌って)(?:いるのか|いますか|いる|います|る|ますか)?|思う|思い|感じる|
            考え|気持ち|印象|意見|評価|態度|見方|にとって|に対して|に対する|への|から|との|お互い|互い|二人|三人|
            みんな|良い|いい|悪い|よい|親しい|近い|最近|今|好き|嫌い|うまく|やって|いって|(?:あり|い)ますか|あった|
            ありました|ある|あります|いる|います|間|あいだ|そして|それと|や|と|に|で|へ|し|て|ね|よ|な|ん""",
        "zh": r"""眼中|眼里|心中|心目中|合得来|合不来|要好|交情|角色|扮演|这个|那个|这|那|个|很|还|也|都|被|把|让|会|
            能|可以|应该|不|关系|什么|之间|怎么样|如何|怎样|怎么|为什么|看待|看法|看|想|认为|觉得|评价|印象|态度|感情|
            感觉|感受|意见|对于|对|来说|而言|相处|处|得|不好|好|没有|没|矛盾|冲突|争吵|吵架|纠纷|问题|友谊|朋友|夫妻|
            夫妇|恋人|情侣|结婚|同事|兄弟|姐妹|亲戚|家人|联系|联结|他们|她们|最近|现在|三个人|两个人|三人|两人|三个|
            两个|三者|两者|俩|仨|彼此|互相|相互|喜欢|讨厌|爱|恨|信任|尊重|熟悉|熟|认识|人|一起|生气|在|了|和|跟|与|同|
            及|以及|还有|吧""",
        "ar": r"""طبيعة|لا|ليس|ليست|لم|قد|كانت?|[يت]كون(?:ان)?|هذا|هذه|ذلك|على|حول|ضد|دون|عند|لدى|[يت]نظر|وفاق|
            [يت]عامل|[يت]تحدث|دور|حياة|[يت]لعب|ما(?:ذا)?|كيف|هل|لماذا|من|هو|هي|هم|هما|(?:ال)?علاق(?:ة|ات|ته|تها|تهما|
            تهم)|ر[أا]ي(?:ه|ها)?|نظر(?:ة|ته|تها)|مشاعر|شعور|موقف|انطباع|بين|تجاه|نحو|مع|في|[إا]لى|النسبة|بعض(?:هما|هم|
            ا)?|البعض|[يت]شعر|[يت]فكر|[يت]ظن|[يت]عتقد|[يت]رى|[يت]حب|[يت]كره|[يت]ثق|[يت]حترم|صداقة|[أا]صدقاء|صديق\w*|
            زواج|زوج\w*|متزوج\w*|خلاف\w*|مشكلة|مشاكل|توتر|شجار|صلة|رابط\w*|[يت]جمع\w*|[يت]ربط\w*|معا\w?|[يت]تفق\w*|
            [يت]نسجم\w*|جيدة?|سيئة?|قريب\w*|هناك|[يت]وجد|[أا]ي|التي|الذي|لها|له|به|بها|[أا]خ|[أا]خت|[يت]عرف|غاضب\w*|
            الآن|حاليا|كل|الثلاثة""",
        "hi": r"""नहीं|भी|ही|तो|यह|ये|वह|वे|इस|उस|किस|किसी|जो|बहुत|व्यवहार|नज़र|नजर|भूमिका|जीवन|देखता|देखती|देखते|बात|
            होता|होती|होते|गया|रही|रहे|रिश्ता|रिश्ते|संबंध|सम्बन्ध|संबंधों|दोस्ती|दोस्त|मित्रता|मित्र|शादी|शादीशुदा|
            पति|पत्नी|झगड़\S*|लड़ाई|विवाद|तनाव|अनबन|मतभेद|समस्या|राय|विचार|ख़याल|नज़रिया|नजरिया|भावना\S*|सोच\S*|महसूस|
            लगता|लगती|लगते|बीच|साथ|एक[ -]दूसरे|आपस|आपसी|कैसा|कैसी|कैसे|क्यों|पसंद|नापसंद|प्यार|नफ़रत|नफरत|भरोसा|
            विश्वास|इज़्ज़त|करता|करती|करते|मानता|मानती|जुड़े|जुड़ा|पटती|बनती|अच्छ\S*|बुरा|बुरे|करीब|करीबी|प्रति|लिए|
            ने|में|से|पर|तथा|व|एवं|था|थे|थी|भाई|बहन|सहकर्मी|नाराज़|नाराज|गुस्सा|इनका|उनका|उनके|इनके|आजकल|अभी|इन दिनों|
            दोनों|तीनों|अपने|कोई|चल|रहा""",
    }
)

# What such words ask for in spite of it: what several like, or who is something to them.
IN_PARTICULAR = Phrases(
    {
        "en": r"""what (?:will|would|can|could|should|did) [^?]*\bdo\b|been (?:to|in|at)\b|what (?:do|does|
            did) [^?]*\b(?:do|like|love|hate|dislike|have|know|see|trust|fear|envy)(?=\W*\Z)|what (?:have|has|
            had) [^?]*|who(?:'s| is| are| was| were) [^?]*\b(?:friends?|partners?|colleagues?|rivals?|enem(?:y|ies)|
            neighbou?rs?|siblings?|brothers?|sisters?|cousins?|family|relatives?|parents?|mother|father|daughter|son|
            husband|wife|boss|mentor|teacher|lovers?)|who (?:do|does|did)""",
        "de": r"""was (?:mag|mögen|liebt|lieben|hasst|hassen|sieht|sehen|schätzt|schätzen)|wer (?:ist|sind|
            war) [^?]*\b(?:bruder|schwester|freunde?|freundin|kollegen|verwandte)""",
        "fr": r"""(?:que|qu'est-ce que?) [^?]*\b(?:aiment|aime|détestent|voient)(?=\W*\Z)|qui (?:est|sont) (?:le |la |
            les |l')(?:frères?|sœurs?|ami(?:e)?s?|collègues?)""",
        "es": r"""qué (?:quieren?|aman?|odian?|ven|tienen?)\b|quién(?:es)? (?:es|son) (?:el|la|los|
            las) (?:herman[oa]s?|amig[oa]s?|colegas)""",
        "ru": r"""что (?:люб[ия]т|видят?|зна[ею]т)|кто (?:муж|жена|брат|сестра|друзья|друг)""",
        "ja": r"(?:何|なに)(?:を|が(?!あ))|誰が|誰を",
        "zh": r"(?:喜欢|讨厌|爱|恨|认识)(?:什么|谁)|谁(?:喜欢|讨厌|认识|和|跟)",
        "ar": r"ماذا [يت](?:حب|كره|رى)|من (?:[أا]خ|[أا]خت|زوج|صديق)",
        "hi": r"क्या पसंद|(?:भाई|बहन|पति|पत्नी|दोस्त) कौन",
    }
)

# What nothing but the relationship of several is called by: beside it, a few other words may stand.
RELATIONSHIP = Phrases(
    {
        "en": r"relations?|relationships?|friendship|rapport|dynamics?|rivalry|feelings|get along",
        "de": r"verhältnis|beziehung(?:en)?|freundschaft|rivalität|gefühle",
        "fr": r"(?:[ld]')?(?:relations?|rapports|amitié|entente|rivalité)",
        "es": r"relaci(?:ón|ones)|amistad|vínculos?|rivalidad",
        "ru": r"(?:взаимо)?отношени\w+|дружб\w+|соперничеств\w+",
        "ja": r"関係|間柄|友情|絆",
        "zh": r"关系|交情|友谊|感情",
        "ar": r"(?:ال)?علاق(?:ة|ات|تهما|ته|تها)|(?:ال)?صداقة",
        "hi": r"रिश्ता|रिश्ते|संबंध|सम्बन्ध|दोस्ती",
    }
)
# What asks for a time, a place or a number even so.
MEASURES = Phrases(
    {
        "en": r"when|where|since|which|whose|whom|how (?:long|old|often|many|tall|far|big)|date|year|age|name|names",
        "de": r"wann|wo|woher|wohin|seit|wie (?:lange|alt|oft|viele?|groß)|name|namen|datum|jahre?",
        "fr": r"quand|où|depuis|combien|(?:l')?(?:âge|ans?|années?)|jour|date|noms?|prénoms?",
        "es": r"cuándo|dónde|adónde|desde|cuánt[oa]s?|edad|años?|fecha|nombres?",
        "ru": r"когда|где|куда|откуда|сколько|давно|возраст|год\w*|дат\w+|им[яе]\w*",
        "ja": r"いつ|どこ|何[年歳回人時日月]|どのくらい|どれくらい|名前|年齢|日付",
        "zh": r"什么时候|何时|哪|多[久少大高长远]|几|名字|年龄|日期|年",
        "ar": r"متى|[أا]ين|منذ|كم|عمر|سنة|تاريخ|اسم",
        "hi": r"कब|कहाँ|कहां|कितन\S*|किधर|नाम|उम्र|साल|तारीख",
    }
)

_ARTICLE = r"(?:the|der|die|das|den|le|la|el) |l['’]"
_QUOTE = "[\"'“”„«‘「『]?"
_NAME = rf"{_QUOTE}(?:{_ARTICLE})?{_QUOTE}([^\W\d_][\w\u0900-\u0963]*)"
_CALLING = (
    r"\bcall(?:s|ed)?(?: (?!the\b)\w+){0,2} NAME",
    r"\b(?:known(?: to \w+)? as|a\.?k\.?a\.?|goes by|nick-?named?|nick-?name is|answers to|short for) NAME",
    r"\(NAME (?:to|for) (?:everybody|everyone|all|most|his|her|their|friends|family)\b",
    r"\b(?:genannt|nennen(?: \w+){0,2}|nennt(?: \w+){0,2}|spitzname(?: ist)?|bekannt als) NAME",
    r"\b(?:surnommée?|dite?|appell?e(?:nt)?(?: \w+)?|surnom(?: est)?|connue? sous le nom de) NAME",
    r"\b(?:apodad[oa]|alias|apodo(?: es)?|(?:le|la|lo) (?:dicen|llaman)|conocid[oa] como) NAME",
    r"(?:зовут|зов[её]т|называют|называет|по прозвищу|прозвище|кличка|прозвали)(?: просто)? NAME",
    r"(?:لقبه |لقبها |الملقبة? (?:ب)?|[يت]لقب ب|[يت]نادون(?:ه|ها) |[يت]نادي(?:ه|ها) |المعروفة? ب)NAME",
    r"(?:उपनाम|प्यार से|सब उसे|सब उन्हें) NAME",
)


@cache
def calling() -> re.Pattern[str]:
    """Return how a text tells by which other name somebody is called; the name is the one group that matches."""
    return re.compile("|".join(_CALLING).replace("NAME", _NAME).replace(" ", r"\s+"), re.IGNORECASE)
