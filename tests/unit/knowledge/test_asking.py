"""G36: what visitors say around the subject when they ask somebody finds nothing by itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from kefu.knowledge.finding import questions_in
from kefu.knowledge.pages import Block, PageText
from kefu.knowledge.simplified import simplified
from kefu.knowledge.terms import (
    asking_language,
    question_terms,
    terms,
    typed_terms,
    whole_term,
    whole_terms,
)
from kefu.stores.sqlite.knowledge.index import in_memory
from kefu.stores.sqlite.knowledge.read import KnowledgeFile

PLAIN_AND_POLITE = {
    "ar": ("بطارية الساعة", "السلام عليكم، لدي سؤال عن بطارية الساعة، هل يمكنكم مساعدتي؟ شكراً"),
    "bn": ("ঘড়ির ব্যাটারি", "নমস্কার, দয়া করে ঘড়ির ব্যাটারি সম্পর্কে বলবেন? ধন্যবাদ"),
    "cs": ("baterie hodinky", "Dobrý den, nevím si rady, můžete mi pomoci s baterie hodinky? Díky"),
    "da": ("batteri ur", "Hej, kan I hjælpe mig? Jeg har et spørgsmål om batteri ur, tak"),
    "de": ("Batterie Uhr", "Hallo, ich hätte eine Frage zur Batterie der Uhr, danke!"),
    "el": ("μπαταρία ρολόι", "Γεια σας, θα ήθελα να μάθω πώς είναι η μπαταρία ρολόι, ευχαριστώ"),
    "en": ("watch battery", "Hello, I have a question regarding the watch battery, thanks!"),
    "es": ("pila reloj", "Hola, quisiera saber algo sobre la pila del reloj, gracias"),
    "fa": ("باتری ساعت", "سلام، لطفاً درباره باتری ساعت توضیح دهید، خیلی ممنون"),
    "fi": ("pariston kello", "Hei, voisitteko kertoa minulle pariston kello"),
    "fr": ("pile montre", "Bonjour, pourriez-vous m'aider concernant la pile de ma montre ?"),
    "he": ("סוללה שעון", "בוקר טוב, אשמח לדעת עוד על סוללה שעון, תודה רבה"),
    "hi": ("घड़ी बैटरी", "नमस्ते, मुझे घड़ी बैटरी के बारे में जानना है, क्या आप मदद कर सकते हैं?"),
    "hu": ("óra elem", "Jó napot, szeretnék többet tudni: óra elem"),
    "id": ("baterai jam", "Halo, saya ingin bertanya tentang baterai jam, terima kasih"),
    "it": ("batteria orologio", "Buongiorno, potete aiutarmi? batteria orologio, grazie"),
    "ja": ("時計の電池", "こんにちは。時計の電池について教えていただけますか？"),
    "ko": ("시계 배터리", "안녕하세요, 시계 배터리에 대해 알려 주실 수 있나요?"),
    "nb": ("batteri klokke", "Hei, jeg har et spørsmål om batteri klokke, kan dere hjelpe meg?"),
    "nl": ("batterij horloge", "Hallo, kunnen jullie mij helpen met de batterij van het horloge?"),
    "pl": ("bateria zegarek", "Dzień dobry, mam pytanie: bateria zegarek, dziękuję"),
    "pt": ("pilha relógio", "Olá, gostaria de saber mais sobre a pilha do relógio, obrigado"),
    "ro": ("baterie ceas", "Bună ziua, aș dori să aflu mai multe despre baterie ceas, mulțumesc"),
    "ru": ("батарейка часы", "Здравствуйте, подскажите, пожалуйста, батарейка часы, спасибо"),
    "sv": ("batteri klocka", "Hej, kan ni hjälpa mig? batteri klocka, tack"),
    "th": ("แบตเตอรี่นาฬิกา", "สวัสดีค่ะ อยากทราบข้อมูลเพิ่มเติมเกี่ยวกับแบตเตอรี่นาฬิกา ขอบคุณค่ะ"),
    "tr": ("saat pili", "Merhaba, saat pili hakkında yardımcı olabilir misiniz?"),
    "uk": ("батарейка годинник", "Доброго дня, чи не могли б ви допомогти: батарейка годинник"),
    "vi": ("pin đồng hồ", "Xin chào, tôi muốn hỏi về pin đồng hồ, cảm ơn"),
}


@pytest.mark.parametrize("language", PLAIN_AND_POLITE)
def test_a_polite_question_has_the_terms_of_a_plain_one(language: str) -> None:
    plain, polite = PLAIN_AND_POLITE[language]
    asked = question_terms(polite, (language,))
    assert sorted(asked) == sorted(question_terms(plain, (language,)))


def test_words_of_another_language_are_subjects() -> None:
    """Spanish "hay" is "there is": a farm sells it in English."""
    assert question_terms("Do you sell hay?", ("en",)) == ["sell", "hay"]
    assert question_terms("¿Hay aparcamiento?", ("es",)) == question_terms("aparcamiento", ("es",))


@pytest.mark.parametrize(
    ("question", "subject", "language"),
    [
        ("Guten Tag, wie viel kostet ein Tag?", "kostet Tag viel", "de"),
        ("Buenas noches, ¿cuántas noches mínimo?", "cuántas noches mínimo", "es"),
        ("Hyvää päivää, 14 päivää?", "14 päivää", "fi"),
        ("支払い方法を教えてください", "支払い方法", "ja"),
        ("ぶどう", "ぶどう", "ja"),
        ("해외 배송", "해외 배송", "ko"),
        ("대한항공", "대한항공", "ko"),
        ("ผู้ช่วย", "ผู้ช่วย", "th"),
        ("คะแนน", "คะแนน", "th"),
        ("tiếng Anh", "tiếng Anh", "vi"),
    ],
)
def test_words_of_a_greeting_may_be_the_subject(question: str, subject: str, language: str) -> None:
    assert sorted(question_terms(question, (language,))) == sorted(terms(subject, language))


def test_polite_words_alone_are_looked_up() -> None:
    assert question_terms("Bonjour, merci", ("fr",)) == ["bonjour", "merc"]


def test_words_are_polite_without_their_accents_too() -> None:
    assert question_terms("gostaria de saber mais: relogio, ola", ("pt",)) == ["relogi"]


def test_a_heading_is_found_whole_in_a_polite_question() -> None:
    """Its own term stays that of earlier files, though it has a word such as "propos"."""
    whole = whole_term("À propos de la montre", "fr")
    assert whole in whole_terms("À propos de la montre", "fr")
    assert whole_term("Retours", "fr") in whole_terms("Bonjour, je voudrais savoir : retours", "fr")
    assert whole != whole_term("Montre", "fr")


def test_japanese_is_recognized_as_simplified_characters_too() -> None:
    """All questions are written so before they are looked up."""
    asked = "お世話になります。時計について詳しく知りたいのですが、よろしくお願いします。"
    assert question_terms(simplified(asked), ("ja",)) == question_terms("时计", ("ja",))


def test_a_sentence_of_thanks_is_no_question() -> None:
    asked = "Добрый день! Сколько стоит доставка в Омск. Заранее спасибо!"
    assert questions_in(asked, ("ru",)) == []


def test_the_words_around_a_subject_tell_the_language_of_a_question() -> None:
    languages = ("de", "en", "es")
    assert asking_language("Hallo, ich habe eine Frage zu hay", languages) == ("de",)
    assert asking_language("Do you sell a hat?", languages) == ("en",)
    assert asking_language("hat sizes", languages) == ()


def first_found(site: list[PageText], asked: str) -> str:
    """The page of the best passage."""
    file = KnowledgeFile(Path("site.kefu"), in_memory(site))
    found = file.find(asked, (), 3)
    file.close()
    return found[0].page


SITE = [
    PageText("help", "Aide et questions", [Block("Pour vous aider, merci de dire bonjour.")], "fr"),
    PageText(
        "faq", "Plus de questions", [Block("Vous pouvez savoir plus au sujet de tout.")], "fr"
    ),
    PageText("pile", "Changer la pile", [Block("Dévissez le fond et retirez-la.")], "fr"),
]


def test_a_page_of_greetings_is_not_before_the_page_that_was_meant() -> None:
    asked = "Bonjour, pourriez-vous m'aider à en savoir plus au sujet de la pile ? Merci d'avance !"
    assert first_found(SITE, asked) == "pile"


BILINGUAL = [
    PageText("welcome", "Bonjour et merci", [Block("Plus au sujet de notre savoir.")], "fr"),
    PageText("about", "About us", [Block("We sell watches and clocks since 1950.")], "en"),
    PageText("prices", "Prices", [Block("A battery costs five euros.")], "en"),
    PageText("battery", "Changer la batterie", [Block("Dévissez le fond avant la pile.")], "fr"),
]


def test_polite_words_are_left_out_beside_pages_in_another_language() -> None:
    """A page in English looked the French words of politeness up by their English stems."""
    asked = "Bonjour, je voudrais en savoir plus au sujet de la pile, merci"
    assert first_found(BILINGUAL, asked) == "battery"


def test_stop_words_without_accents_are_not_looked_up_as_words_with_accents() -> None:
    assert typed_terms("¿como puedo pagar?", ("es",)) == ["´pag"]
