"""Words that say nothing about the subject of a question. Only questions lose their stop words."""

from __future__ import annotations

import re
import unicodedata
from functools import cache

_ENGLISH = """
a about all also am an and any are as at be been being but by can could d did do does find for from
get got had has have how i if in into is it its just know like ll m may me my need no not of on one
or our out please re s so some t tell that the their them then there these they this to up us ve
want was we were what when where which who whom whose why will with would you your
"""
ENGLISH = frozenset(_ENGLISH.split())
"""The stop words of questions in English."""

_OTHERS = {
    "de": "der die das den dem des ein eine einen einem einer ist sind war und oder wie wo wann"
    " warum welche welcher welches wer ich sie wir kann mit von zu zum zur für auf im bei",
    "fr": "le la les un une des du de et ou est sont que qui quoi comment où quand pourquoi"
    " quel quelle quels quelles je vous nous il elle dans pour sur avec ce cette mon ma"
    " mes votre vos l d qu n",
    "es": "el la los las de un una unos del y o es son que qué cómo cuándo dónde quién cuál por"
    " para con en mi su se",
    "pt": "o os uma de do da dos das e é são que qual como quando onde quem por para em na os"
    " meu minha se as",
    "it": "il lo la gli le un una di del della che è e mi su con",
    "ro": "în și de la un o ce cum cine care",
    "nl": "de het een van en is wat hoe waar",
    "id": "yang dan di ke apa bagaimana",
    "tr": "bir bu ve ne nasıl mi mı",
    "ru": "и в на с по что как где когда кто какой какая какие это я мы вы у за для из к о не ли",
    "vi": "là gì của và có được như thế nào ở đâu khi",
}
OTHERS_BY_LANGUAGE = {language: frozenset(words.split()) for language, words in _OTHERS.items()}
OTHERS = frozenset[str]().union(*OTHERS_BY_LANGUAGE.values())
"""The stop words of questions in other languages. Some are English words, too."""

_ASKING = {
    "ar": "مرحبا مرحبًا مرحباً أهلا أهلاً شكرا شكراً جزيلا جزيلاً فضلك فضلكم سمحت سمحتم رجاء سؤال"
    " استفسار لدي عندي أنا انا نحن أنت هل يمكن يمكنني يمكنكم يمكنك ممكن أريد اريد أود اود نريد"
    " معرفة أعرف اعرف نعرف تشرح تشرحوا تشرحون شرح مساعدة مساعدتي تساعدوني المساعدة المزيد حول عن"
    " كيف ما ماذا ماهي ماهو هو هي متى أين اين لماذا كم من في على إلى الى مع و أو أن ان لي لنا يجب"
    " علي أفعل افعل هذا هذه ذلك مشكلة",
    "bn": "নমস্কার হ্যালো ধন্যবাদ অনেক দয়া করে প্রশ্ন সম্পর্কে আমি আমার আমাকে আমরা আমাদের আপনি"
    " আপনার আপনারা একটি একটু কি কী কিভাবে কীভাবে কেন কখন কোথায় কে কত আছে হয় হচ্ছে এবং ও বা এই"
    " করতে করবো করব পারি পারবেন পারেন সাহায্য জানতে চাই চাচ্ছি আরও বলবেন বলুন বুঝিয়ে উচিত নিয়ে"
    " সমস্যা",
    "cs": "ahoj zdravím prosím děkuji děkuju díky moc předem otázka dotaz mám máme máte mít já mi"
    " mně my vy vás vám nám jsem jste je jsou být bych bychom byste by chci chceme chtěl chtěla"
    " chtěli rád ráda mohu můžu můžeme můžete může mohl mohla lze jde dá dají zeptat vědět nevím"
    " rady poradit poradíte pomoc pomoct pomoci pomůžete potřebuji potřebuju potřebujeme vysvětlit"
    " říct najdu najít něco více víc o jak co kde kdy proč kdo kolik jaký jaká jaké který která"
    " které jestli zda že tento tato toto tím tímto to ten ta se si a i nebo ale na v ve s z ze k"
    " ke do od pro při u za po dělat udělat musím nefunguje nejde nemohu nemůžu problém problémy"
    " odpověď",
    "da": "hej goddag tak mange undskyld spørgsmål har jeg vi i du de man kan kunne vil ville"
    " gerne skal skulle må vide ved hjælpe fortælle forklare mig os jer mere om hvordan hvad hvor"
    " hvornår hvorfor hvem hvilken hvilket hvilke er det den en et og eller på til med for af at"
    " som gøre gør være muligt forstår ikke problem problemer",
    "de": "hallo moin hi liebes team bitte danke vielen dank gerne gern habe hätte haben hat"
    " frage fragen würde möchte wollte könnte könnten können könnt kannst darf muss soll"
    " sollte helfen weiterhelfen sagen erklären wissen erfahren mehr mir mich uns euch ihr ihnen"
    " du man es gibt machen mache tun geht funktioniert etwas über bezüglich brauche problem"
    " probleme am an aus dass wenn wird werden um noch",
    "el": "γεια σας σου καλημέρα καλησπέρα χαίρετε ευχαριστώ πολύ παρακαλώ συγγνώμη ερώτηση"
    " απορία έχω έχουμε έχετε μπορώ μπορείτε μπορείς μπορούμε θα να ήθελα θέλω θέλουμε ξέρω"
    " ξέρετε μάθω γνωρίζω βοηθήσετε βοήθεια πείτε εξηγήσετε μου μας με εγώ εσείς σχετικά για"
    " περισσότερα πώς πως τι πού που πότε γιατί ποιος ποια ποιο πόσο είναι υπάρχει γίνεται ο η το"
    " οι τα τον την του της των ένα μια ένας και ή σε στο στη στην από μήπως πρέπει κάνω αν"
    " δυνατόν πρόβλημα",
    "en": "hello hi hey dear thanks thank question questions help helping possible should"
    " must might wonder wondering looking explain understand trouble problem problems regarding"
    " concerning hoping more appreciate",
    "es": "hola gracias muchas favor pregunta duda tengo tiene tienen puedo puede pueden podría"
    " podrían podéis puedes quiero quisiera queria quería querría gustaría necesito saber ayudar"
    " ayudarme decir decirme explicar explicarme me nos les te lo sobre acerca hay hacer hago"
    " debo al más esto esta este algo problema yo usted",
    "fa": "سلام درود ممنون متشکرم مرسی سپاس خیلی لطفا لطفاً ببخشید پیشاپیش سوال سؤال سوالی دارم"
    " داریم من ما شما آیا میتوانم میتوانید میتونم میتونید میشه میشود امکان دارد میخواهم میخواستم"
    " میخوام بدانم بدونم بگید بگویید توضیح دهید بدهید کمک کنید کنم کند بکنم کردن بیشتر درباره"
    " درمورد مورد راجع چگونه چطور چطوری چیست چی چه هست است کی کجا چرا کدام چند از به در با را رو"
    " برای و یا که این آن یک باید مشکل مشکلی",
    "fi": "hei moi terve kiitos kysymys minulla minä on onko olisi voinko voin voisin voiko"
    " voitte voitteko voisitteko voisitko voitko auttaa kertoa selittää haluan haluaisin tietää"
    " lisää aiheesta koskien miten mitä mikä missä milloin miksi kuka ja tai jos että pitäisi"
    " tehdä minun minulle ongelma",
    "fr": "bonjour bonsoir salut merci question ai avez a ont pourriez pourrais pourrait pouvez"
    " pouvons peux peut peuvent puis voudrais souhaite souhaiterais aimerais veux savoir aider"
    " aidez dire dites expliquer expliquez me m moi s si te t plaît plait svp concernant propos"
    " sujet plus en y au aux par se c ça cela j faire fais fait faut dois doit besoin cherche"
    " problème possible suis être",
    "he": "שלום היי הי תודה רבה מראש בבקשה סליחה שאלה יש לי לנו לכם אני אנחנו אתם אתה האם אפשר"
    " אוכל יכול יכולה יכולים תוכלו תוכל ניתן אשמח רוצה רוצים לדעת לעזור עזרה להסביר עוד לגבי על"
    " בנוגע איך כיצד מה מהו מהי מתי איפה היכן למה מדוע מי כמה איזה זה זו זאת הוא היא את של עם או"
    " לא כדי צריך צריכה עליי עלי לעשות בעיה",
    "hi": "नमस्ते नमस्कार हैलो धन्यवाद शुक्रिया बहुत कृपया सवाल प्रश्न मैं मेरा मेरी मेरे मुझे"
    " मुझको हम हमें आप आपका आपकी आपके क्या कैसे क्यों कब कहाँ कहां कौन कितना कितने कितनी है हैं"
    " हूँ हूं हो होता होती रहा रही रहे था का की के में को से पर ने और या एक यह वह कि बारे मदद कर"
    " करें करूँ करूं करना करने किया सकते सकता सकती चाहता चाहती चाहिए चाहते जानना जानने बताइए"
    " बताएं बताएँ बताओ समझा समझाएं जाता जाती समस्या",
    "hu": "üdv üdvözlöm szia sziasztok köszönöm köszönet kérdés kérdésem lenne van volna ezzel"
    " kapcsolatban erről tudnának tudnátok tudna tudnál tudok segíteni segítsen mondani"
    " magyarázni szeretnék szeretném tudni hogyan hogy mi mit mik hol mikor miért ki melyik a az"
    " egy és vagy lehet kell tegyek többet probléma problémám",
    "id": "halo hai terima kasih tolong mohon pertanyaan saya kami bisa bisakah dapat dapatkah"
    " boleh ingin mau tahu bertanya tanya membantu bantu menjelaskan jelaskan tentang mengenai"
    " ada adalah cara kapan siapa mengapa kenapa masalah anda kamu kak punya apakah mungkin lebih"
    " lanjut banyak kepada dengan untuk pada itu ini yg gimana caranya nanya dong harus lakukan"
    " sebelumnya permisi",
    "it": "ciao buongiorno buonasera salve grazie prego favore domanda ho ha avete hanno posso"
    " può potete potreste potrebbe puoi vorrei voglio gradirei sapere aiutare aiutarmi dire"
    " dirmi spiegare spiegarmi ci vi cosa come quando dove perché chi quale quali riguardo"
    " i in a al sul sulla per da fare faccio devo si sono più problema",
    "nb": "hei heisann takk tusen unnskyld spørsmål har jeg vi dere du de man kan kunne vil ville"
    " gjerne skal skulle må hadde vite vet hjelpe fortelle forklare meg oss mer om hvordan hva"
    " hvor når hvorfor hvem hvilken hvilket hvilke er det den en ei et og eller i på til med for"
    " av at som gjøre gjør vært mulig forstår ikke problem problemer",
    "nl": "hallo goedemorgen goedemiddag goedenavond bedankt dank dankjewel alstublieft"
    " alsjeblieft vraag vragen heb hebben heeft kan kunnen kunt kun zou zouden mag moet wil"
    " willen graag weten helpen vertellen uitleggen ik mij me ons wij we u jullie je over meer"
    " op met voor bij er doen doe werkt wanneer waarom wie welke probleem",
    "pl": "cześć witam dziękuję proszę pytanie mam mają macie czy mogę może mogą możecie mógłby"
    " mogliby można państwo pan pani chcę chciałbym chciałabym chcielibyśmy wiedzieć dowiedzieć"
    " pomóc powiedzieć wyjaśnić mi mnie nam więcej temat o na dotyczące dotyczy jak co gdzie"
    " kiedy dlaczego kto jaki jaka jakie który w z i a to jest są się zrobić robić powinienem"
    " powinnam problem",
    "pt": "olá oi obrigado obrigada agradeço favor pergunta dúvida tenho tem têm posso pode"
    " podem poderia poderiam podes queria quero gostaria preciso saber ajudar me nos dizer"
    " explicar sobre mais vocês você eu ao no fazer faço devo estou há isso algo com um"
    " problema",
    "ro": "bună salut mulțumesc mulțumim mersi frumos rog întrebare am are avem aveți pot poate"
    " puteți puteam putea aș ați dori doresc vreau vrea știu știți știe ști afla aflu ajuta ajutați"
    " spune spuneți explica explicați îmi mi mă ne vă eu noi mai multe mult despre cum ce cine"
    " care când unde cât câte este e sunt fi se să nu da în din la cu pe de pentru o un și sau ar"
    " trebui fac face posibil problemă probleme",
    "ru": "здравствуйте привет спасибо заранее пожалуйста вопрос вопросы есть можно могу можете"
    " могли мог бы хочу хотел хотела хотелось узнать знать подскажите скажите сказать объяснить"
    " объясните помочь помогите мне меня нам вас вам про об нужно надо сделать делать то а но"
    " же такое так более подробнее проблема",
    "sv": "hej hejsan tack snälla fråga frågor har hade jag vi ni du kan kunde skulle vill ville"
    " vilja gärna behöver får måste veta hjälpa berätta förklara mig oss er mer om hur vad var"
    " när varför vem vilken vilket är det den en ett och eller i på till med för göra gör ska"
    " problem",
    "tr": "merhaba selam teşekkürler teşekkür ederim lütfen soru sorum var yok miyim misiniz"
    " mısınız musunuz müsünüz olabilir yardımcı yardım eder edebilir istiyorum isterim öğrenmek"
    " bilmek söyler açıklar hakkında ilgili ile için ben biz siz bana bize nerede zaman neden"
    " kim hangi kaç yapabilirim yapmalıyım nedir sorun",
    "uk": "вітаю привіт дякую дуже заздалегідь будь ласка питання запитання є у мене мені нам нас"
    " я ми ви вас вам чи б би не можна можу можете могли міг хотів хотіла хотілося хочу знати"
    " дізнатися підкажіть скажіть сказати пояснити допомогти допоможіть щодо про більше як що"
    " таке це де коли чому навіщо хто який яка яке які скільки і й та а але або в на з із до за"
    " для по робити зробити треба потрібно проблема",
    "vi": "xin chào cảm ơn vui lòng tôi mình có thể muốn biết hỏi cho giúp giải thích về một các"
    " những bao nhiêu tại nào làm phải vấn đề ạ bạn chị ơi không được với rất nhiều nên thế vậy"
    " đang gặp trước giùm nhé",
}
_ASKING["nn"] = _ASKING["no"] = _ASKING["nb"]
ASKING = {
    language: frozenset(unicodedata.normalize("NFKC", words).casefold().split())
    for language, words in _ASKING.items()
}
"""What people say around the subject when they ask somebody, on sites in a language: more words
beside the stop words above.
"""

_GREETINGS = (
    "guten (?:tag|morgen|abend)|good (?:morning|afternoon|evening|day)"
    "|buen(?:os|as|) (?:d[ií]as?|tardes|noches)|d[’']avance|bo[am] (?:dia|tarde|noite)"
    "|j[óo] (?:napot|reggelt|est[ée]t)|hyv[äa]{2} p[äa]iv[äa]{2}|selamat (?:pagi|siang|sore|malam)"
    "|dzie[ńn] dobry|goe?de(?:n|) ?(?:dag|morgen|middag|avond)|добрый (?:день|вечер)|доброе утро"
    "|god (?:morgon|morgen|dag|aften|kv[äa]ll)|iyi (?:g[üu]nler|ak[şs]amlar)|p[åa] f[oö]rh[aå]nd"
    "|bun[ăa] (?:ziua|seara|diminea[țţt]a)|dobr[ýy] (?:den|ve[čc]er)|dobr[ée] r[áa]no"
    "|доброго (?:дня|ранку)|добрий (?:день|вечір|ранок)|(?:صباح|مساء) الخير|السلام عليكم"
    "|(?:صبح|وقت|روز) بخیر|(?:בוקר|ערב) טוב|शुभ प्रभात|सुप्रभात|শুভ (?:সকাল|সন্ধ্যা)"
    "|chào buổi (?:sáng|chiều|tối)|biết thêm|câu hỏi|(?:tại|làm) sao|shop ơi|thanks in advance"
    "|any idea|quick question|(?:i[’']d|would) love to"
)
_ASKING_UNSPACED = (
    "こんにちは|こんばんは|おはようございます|はじめまして|お世[話话]になって(?:います|おります)"
    "|お世[話话]になります|ありがとうございま(?:す|した)|すみませんが?|恐れ入りますが"
    "|(?:どうぞ)?(?:よろしく)?お[願愿]い(?:いた)?します|に(?:ついて|[関关]して|[関关]する)"
    "|[質质][問问]が?(?:あります|です)|[をのはが]?教えて|が?うまくいき(?:ません|ない)"
    "|(?:いただけ|もらえ|くださ|下さ)(?:ますか|ませんか|ますでしょうか|い)"
    "|[はがを]?どう(?:やって|すれば|したら)|(?:いい|よい|良い)(?:です|でしょう)か"
    "|(?:とは)?(?:何|なん)(?:です|でしょう)か|(?:です|でしょう|ます|ません)か"
    "|(?:知り|し|でき|[見见]き?|[聞闻]き)たい(?:の)?(?:です)?が?|ですが|(?:もう)?(?:少し)?[詳详]しく"
    "|안녕하세요|감사합니다|수고하(?:십니다|세요)|죄송(?:합니다|하지만)|부탁(?:드립니다|드려요|합니다)"
    r"|질문[이을]|문의(?:드립니다|합니다)|궁금(?:합니다|해요|한)|에\s*(?:대해서?|관해서?|대한|관한)"
    r"|[은는이가을를]?\s*어떻게|(?:이란|란)?\s*무엇(?:인가요|입니까|이에요|인지)|해야\s*(?:하나요|되나요|할까요|합니까|하죠)"
    r"|[하되있인없]나요|(?:해|알려|말해|도와|설명해)\s*(?:주(?:세요|시겠어요|실|십시오)|줄)"
    r"|수\s*있(?:나요|을까요|습니까|어요)|(?:알고|하고)\s*싶(?:습니다|어요|은데요?)|할까요|합니까"
    r"|[이가]?\s*잘\s*안\s*(?:됩니다|돼요|되네요)"
    "|สวัสดี|ขอบคุณ(?:มาก|ล่วงหน้า)?|รบกวน(?=สอบถาม|ถาม|ช่วย)|ขอ(?:สอบ)?ถาม(?:หน่อย)?|(?:มี)?คำถามเกี่ยวกับ|เกี่ยวกับ"
    "|อยาก(?:จะ)?(?:ทราบ|รู้)(?:ว่า)?(?:ข้อมูลเพิ่มเติม)?|(?<!ผู้)ช่วย(?:อธิบาย|(?!เหลือ))|(?:ให้)?หน่อย|ได้(?:ไหม|มั้ย|หรือไม่|อย่างไร|ยังไง)"
    "|คืออะไร|(?:ต้อง|ควร)?ทำ(?:อย่างไร|ยังไง)(?:ดี)?|มีปัญหา(?:กับ)?|(?:ค่ะ|ครับ|คะ)(?![ก-๎])"
)
_HAN = (
    "为什么|怎么样|怎么办|怎么|怎样|什么|哪些|哪个|哪里|哪儿|多少|如何|是不是|有没有|能不能|可不可以"
    "|可以|请问|一下|我们|你们|他们|我的|你的|这个|那个|的|了|吗|呢|吧|啊|是|我|你|他|她|它|请|和|与|及"
    "|為什麼|怎麼樣|怎麼辦|怎麼|怎樣|什麼|哪個|哪裡|請問|們|這個|那個|嗎|請|與"
)


@cache
def han() -> re.Pattern[str]:
    """Words and particles of questions in Chinese, which has no spaces between words."""
    return re.compile(_HAN)


@cache
def asking_unspaced() -> re.Pattern[str]:
    """`ASKING` in Japanese, Korean and Thai, whose words have endings or no spaces.

    Compiled by the first question that needs it: that takes 4 ms of a cold start.
    """
    return re.compile(unicodedata.normalize("NFKC", _ASKING_UNSPACED))


@cache
def greetings() -> re.Pattern[str]:
    """Greetings whose words are subjects by themselves, such as the days of a delivery."""
    return re.compile(rf"\b(?:{_GREETINGS})\b")
