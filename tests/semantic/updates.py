"""Small memories in nine languages in which something changed: which statement answers, and which ones it replaced.

Of each story the first texts are what was so, the oldest first; the last one before the others is what is so now.
"""

from __future__ import annotations

from typing import NamedTuple


class Update(NamedTuple):
    """A subject, dated statements about one thing (oldest first), other statements, and questions."""

    subject: str
    states: tuple[tuple[str, str], ...]
    others: tuple[tuple[str, str], ...]
    now: str
    before: str = ""


UPDATES = (
    Update(
        "deploys",
        (
            ("2026-01-08", "Deploys happen Thursdays."),
            ("2026-11-03", "Deploys now happen Tuesdays, no longer Thursdays."),
        ),
        (
            ("2026-03-01", "Deploys are announced in the ops channel."),
            ("2026-11-05", "Deploys take about eleven minutes."),
        ),
        "On which day do deploys happen?",
        "On which day did deploys happen before?",
    ),
    Update(
        "Gareth",
        (("2025-02-02", "Gareth's number is 555-0142."), ("2026-04-02", "Gareth's number is 555-0199.")),
        (("2026-05-01", "Gareth collects beer mats."), ("2025-05-01", "Gareth is colour-blind.")),
        "What is Gareth's phone number?",
    ),
    Update(
        "Wanda",
        (("2025-03-01", "Wanda keeps a spaniel called Biscuit."), ("2026-02-01", "Wanda's spaniel died last week.")),
        (("2025-06-01", "Wanda repairs clocks."), ("2026-03-03", "Wanda grows leeks.")),
        "Does Wanda have a dog?",
    ),
    Update(
        "Oskar",
        (
            ("2025-01-10", "Oskar trinkt jeden Morgen zwei Tassen Kaffee."),
            ("2026-01-10", "Oskar trinkt keinen Kaffee mehr, nur noch Tee."),
        ),
        (("2026-02-01", "Oskar fährt gern Kajak."), ("2025-02-01", "Oskar hat Höhenangst.")),
        "Was trinkt Oskar morgens?",
        "Was trank Oskar früher?",
    ),
    Update(
        "Stammtisch",
        (
            ("2025-04-01", "Der Stammtisch trifft sich mittwochs um 19 Uhr."),
            ("2026-04-01", "Der Stammtisch wurde auf Montag um 20 Uhr verlegt."),
        ),
        (("2026-04-20", "Beim Stammtisch wird viel gelacht."), ("2025-05-01", "Der Stammtisch hat elf Mitglieder.")),
        "Wann trifft sich der Stammtisch?",
        "Wann traf sich der Stammtisch vorher?",
    ),
    Update(
        "Maëlle",
        (
            ("2025-02-01", "Maëlle roule en Clio rouge."),
            ("2026-03-01", "Maëlle a vendu sa Clio et roule maintenant en Zoé."),
        ),
        (("2026-04-01", "Maëlle déteste les olives."), ("2025-06-01", "Maëlle chante dans une chorale.")),
        "Quelle voiture a Maëlle ?",
    ),
    Update(
        "cantine",
        (
            ("2025-09-01", "Le repas à la cantine coûte 4 euros."),
            ("2026-09-01", "Le repas à la cantine est passé à 5,20 euros."),
        ),
        (("2026-09-15", "La cantine sert du poisson le vendredi."), ("2025-10-01", "La cantine a été repeinte.")),
        "Combien coûte le repas à la cantine ?",
        "Combien coûtait le repas à la cantine avant ?",
    ),
    Update(
        "Rocío",
        (
            ("2025-01-15", "Rocío trabaja de camarera en un hotel."),
            ("2026-05-15", "Rocío dejó el hotel y ahora es conductora de autobús."),
        ),
        (("2026-06-01", "Rocío pinta acuarelas."), ("2025-07-01", "Rocío teme a las arañas.")),
        "¿En qué trabaja Rocío?",
        "¿En qué trabajaba Rocío antes?",
    ),
    Update(
        "clase de cerámica",
        (
            ("2025-10-01", "La clase de cerámica es los jueves a las seis."),
            ("2026-02-01", "La clase de cerámica ahora es los lunes a las siete."),
        ),
        (("2026-03-01", "En la clase de cerámica hay un horno nuevo."),),
        "¿Qué día es la clase de cerámica?",
    ),
    Update(
        "Глеб",
        (
            ("2025-02-01", "Глеб женат на Вере."),
            ("2026-02-01", "Глеб и Вера развелись в январе."),
        ),
        (("2026-03-01", "Глеб собирает грибы."), ("2025-05-01", "Глеб боится собак.")),
        "Глеб женат?",
    ),
    Update(
        "абонемент",
        (
            ("2025-01-01", "Абонемент в бассейн стоит 3000 рублей."),
            ("2026-01-01", "Абонемент в бассейн подорожал до 3600 рублей."),
        ),
        (("2026-02-01", "Абонемент лежит в синей сумке."),),
        "Сколько стоит абонемент?",
        "Сколько раньше стоил абонемент?",
    ),
    Update(
        "大輔",
        (
            ("2025-03-01", "大輔は福岡に住んでいる。"),
            ("2026-03-01", "大輔は仙台に引っ越した。"),
        ),
        (("2026-04-01", "大輔は将棋が好きだ。"), ("2025-08-01", "大輔は納豆が嫌いだ。")),
        "大輔はどこに住んでいますか？",
        "大輔は以前どこに住んでいましたか？",
    ),
    Update(
        "定例会議",
        (
            ("2025-05-01", "定例会議は火曜日の十時にある。"),
            ("2026-05-01", "定例会議は木曜日の十五時に変わった。"),
        ),
        (("2026-06-01", "定例会議の議事録は森さんが書く。"),),
        "定例会議は何曜日ですか？",
    ),
    Update(
        "王磊",
        (
            ("2025-02-01", "王磊在一家银行上班。"),
            ("2026-02-01", "王磊辞职了，现在开了一家书店。"),
        ),
        (("2026-03-01", "王磊喜欢爬山。"), ("2025-06-01", "王磊对花生过敏。")),
        "王磊做什么工作？",
        "王磊以前做什么工作？",
    ),
    Update(
        "停车费",
        (
            ("2025-02-01", "小区停车费每月三百元。"),
            ("2026-02-01", "小区停车费涨到每月四百元。"),
        ),
        (("2026-03-01", "停车费由物业收取。"),),
        "停车费多少钱？",
    ),
    Update(
        "ريم",
        (
            ("2025-02-01", "ريم تسكن في الإسكندرية."),
            ("2026-02-01", "انتقلت ريم إلى طنطا."),
        ),
        (("2026-03-01", "ريم تحب البطيخ."), ("2025-07-01", "ريم تخاف من العناكب.")),
        "أين تسكن ريم؟",
        "أين كانت تسكن ريم من قبل؟",
    ),
    Update(
        "درس الرسم",
        (
            ("2025-02-01", "درس الرسم يوم الاثنين الساعة الخامسة."),
            ("2026-02-01", "صار درس الرسم يوم الأربعاء الساعة السادسة."),
        ),
        (("2026-03-01", "في درس الرسم عشرة طلاب."),),
        "متى موعد درس الرسم؟",
    ),
    Update(
        "रोहन",
        (
            ("2025-02-01", "रोहन एक स्कूल में शिक्षक है।"),
            ("2026-02-01", "रोहन अब एक अख़बार में नौकरी करता है।"),
        ),
        (("2026-03-01", "रोहन को आम पसंद हैं।"), ("2025-07-01", "रोहन को ऊँचाई से डर लगता है।")),
        "रोहन क्या काम करता है?",
    ),
    Update(
        "योग कक्षा",
        (
            ("2025-02-01", "योग कक्षा मंगलवार को सुबह छह बजे होती है।"),
            ("2026-02-01", "योग कक्षा अब शनिवार को सुबह सात बजे होती है।"),
        ),
        (("2026-03-01", "योग कक्षा में दरी ले जानी पड़ती है।"),),
        "योग कक्षा किस दिन होती है?",
        "योग कक्षा पहले किस दिन होती थी?",
    ),
)

# Written with the others, and not looked at until the rules were done.
ASIDE = (
    Update(
        "Imogen",
        (
            ("2025-03-03", "Imogen takes sugar in her tea."),
            ("2026-03-03", "Imogen has cut out sugar since the check-up, her tea stays unsweetened."),
        ),
        (("2026-04-04", "Imogen edits a parish magazine."), ("2025-06-06", "Imogen has perfect pitch.")),
        "Does Imogen take sugar in her tea?",
    ),
    Update(
        "invoice tool",
        (
            ("2025-03-03", "The invoice tool stores its data in MySQL."),
            ("2026-03-03", "The invoice tool was migrated from MySQL to Postgres."),
        ),
        (("2026-04-04", "The invoice tool has a dark theme."), ("2025-06-06", "The invoice tool is written in Ruby.")),
        "Which database does the invoice tool use?",
        "Which database did the invoice tool use before?",
    ),
    Update(
        "Bertram",
        (("2025-01-01", "Bertram's boss is Mrs Okoye."), ("2026-01-01", "Bertram's new boss is Mr Lind.")),
        (("2026-02-02", "Bertram snores."), ("2025-04-04", "Bertram owns a canoe.")),
        "Who is Bertram's boss?",
    ),
    Update(
        "Leonie",
        (
            ("2025-01-10", "Leonie arbeitet als Floristin in Ulm."),
            ("2026-01-10", "Leonie hat umgeschult und ist jetzt Lokführerin."),
        ),
        (("2026-02-10", "Leonie sammelt Muscheln."), ("2025-05-10", "Leonie kann nicht pfeifen.")),
        "Was ist Leonie von Beruf?",
        "Was war Leonie früher von Beruf?",
    ),
    Update(
        "WLAN",
        (
            ("2025-01-10", "Das WLAN-Passwort ist Birne77."),
            ("2026-01-10", "Das WLAN-Passwort lautet neuerdings Kiwi31."),
        ),
        (("2026-02-10", "Das WLAN reicht nicht bis in den Keller."),),
        "Wie lautet das WLAN-Passwort?",
    ),
    Update(
        "Bastien",
        (
            ("2025-02-01", "Bastien habite chez ses parents à Dijon."),
            ("2026-02-01", "Bastien s'est installé à Quimper avec Zoé."),
        ),
        (("2026-03-01", "Bastien bricole des radios."), ("2025-06-01", "Bastien est daltonien.")),
        "Où habite Bastien ?",
        "Où habitait Bastien avant ?",
    ),
    Update(
        "réunion d'équipe",
        (
            ("2025-02-01", "La réunion d'équipe a lieu le lundi à 9 heures."),
            ("2026-02-01", "La réunion d'équipe a été déplacée au jeudi à 14 heures."),
        ),
        (("2026-03-01", "La réunion d'équipe dure une heure."),),
        "Quel jour a lieu la réunion d'équipe ?",
    ),
    Update(
        "Nicanor",
        (
            ("2025-02-01", "Nicanor fuma un paquete al día."),
            ("2026-02-01", "Nicanor ya no fuma desde Nochevieja."),
        ),
        (("2026-03-01", "Nicanor cuida abejas."), ("2025-06-01", "Nicanor juega al dominó.")),
        "¿Nicanor fuma?",
    ),
    Update(
        "alquiler",
        (
            ("2025-02-01", "El alquiler del local es de 700 euros."),
            ("2026-02-01", "El alquiler del local subió a 780 euros."),
        ),
        (("2026-03-01", "El alquiler del local se paga por transferencia."),),
        "¿Cuánto es el alquiler del local?",
        "¿Cuánto era antes el alquiler del local?",
    ),
    Update(
        "Арина",
        (
            ("2025-02-01", "Арина учится на юриста."),
            ("2026-02-01", "Арина перевелась на факультет биологии."),
        ),
        (("2026-03-01", "Арина играет на баяне."), ("2025-06-01", "Арина не ест рыбу.")),
        "На кого учится Арина?",
    ),
    Update(
        "планёрка",
        (
            ("2025-02-01", "Планёрка проходит по понедельникам в десять утра."),
            ("2026-02-01", "Планёрку перенесли на среду, на девять утра."),
        ),
        (("2026-03-01", "На планёрке всегда есть печенье."),),
        "Когда проходит планёрка?",
        "Когда раньше проходила планёрка?",
    ),
    Update(
        "美咲",
        (
            ("2025-02-01", "美咲は銀行で働いている。"),
            ("2026-02-01", "美咲は転職して、今は動物園の飼育員だ。"),
        ),
        (("2026-03-01", "美咲は泳げない。"), ("2025-06-01", "美咲は切手を集めている。")),
        "美咲の仕事は何ですか？",
        "美咲の以前の仕事は何ですか？",
    ),
    Update(
        "駐車場",
        (
            ("2025-02-01", "駐車場の料金は月八千円だ。"),
            ("2026-02-01", "駐車場の料金は月九千円に値上げされた。"),
        ),
        (("2026-03-01", "駐車場は建物の裏にある。"),),
        "駐車場の料金はいくらですか？",
    ),
    Update(
        "陈静",
        (
            ("2025-02-01", "陈静和张伟在谈恋爱。"),
            ("2026-02-01", "陈静和张伟上个月分手了。"),
        ),
        (("2026-03-01", "陈静会游泳。"), ("2025-06-01", "陈静怕黑。")),
        "陈静有男朋友吗？",
    ),
    Update(
        "图书馆",
        (
            ("2025-02-01", "图书馆每天晚上九点关门。"),
            ("2026-02-01", "图书馆现在晚上七点就关门。"),
        ),
        (("2026-03-01", "图书馆有三层。"),),
        "图书馆几点关门？",
        "图书馆以前几点关门？",
    ),
    Update(
        "طارق",
        (
            ("2025-02-01", "طارق يقود سيارة تويوتا قديمة."),
            ("2026-02-01", "باع طارق سيارته واشترى دراجة نارية."),
        ),
        (("2026-03-01", "طارق يجيد الطبخ."), ("2025-07-01", "طارق لا يحب البحر.")),
        "ماذا يقود طارق؟",
    ),
    Update(
        "الإيجار",
        (
            ("2025-02-01", "إيجار الشقة 400 دينار."),
            ("2026-02-01", "ارتفع إيجار الشقة إلى 450 دينارا."),
        ),
        (("2026-03-01", "إيجار الشقة يدفع نقدا."),),
        "كم إيجار الشقة؟",
        "كم كان إيجار الشقة من قبل؟",
    ),
    Update(
        "कविता",
        (
            ("2025-02-01", "कविता नागपुर में रहती है।"),
            ("2026-02-01", "कविता इंदौर शिफ्ट हो गई है।"),
        ),
        (("2026-03-01", "कविता को तैरना नहीं आता।"), ("2025-07-01", "कविता कविताएँ लिखती है।")),
        "कविता कहाँ रहती है?",
        "कविता पहले कहाँ रहती थी?",
    ),
    Update(
        "दूध",
        (
            ("2025-02-01", "दूध का दाम 56 रुपये लीटर है।"),
            ("2026-02-01", "दूध का दाम बढ़कर 62 रुपये लीटर हो गया है।"),
        ),
        (("2026-03-01", "दूध रामू काका लाते हैं।"),),
        "दूध का दाम क्या है?",
    ),
)
