"""H10: each expectation holds for a right answer and names what is wrong with another one."""

from __future__ import annotations

import pytest

from kefu.errors import UpstreamUnavailable
from kefu.evaluation.cases import Expected
from kefu.evaluation.checks import CitedPage, ServiceAnswer, failures
from kefu.evaluation.fields import SiteCheck
from kefu.evaluation.judge import ModelJudge
from kefu.evaluation.language import language_of

PAGE = CitedPage(
    "Delivery", "https://shop.example/help/delivery", 1, "Parcels to Norway take 9 days."
)
GOOD = ServiceAnswer("We ship to Norway in 9 days [1].", 1.0, [PAGE], question="Norway?")
NONE = ServiceAnswer("The pages of this site do not answer that.", 1.0, [], answered=False)
CODE = ServiceAnswer('Here:\n```json\n{"days": 9}\n```', 1.0)
PLAIN = ServiceAnswer("I can\u2019t help with that.", 1.0)

SCHEMA = {"type": "object", "properties": {"days": {"type": "integer"}}, "required": ["days"]}


def short(text: str, question: str) -> str | bool:
    return f"too long for {question}" if text.startswith("We") else True


@pytest.mark.parametrize(
    ("expected", "right", "wrong", "says"),
    [
        (Expected(contains=["NORWAY", "9\ndays"]), GOOD, NONE, '"NORWAY" is not in the answer'),
        (Expected(not_=["9 days"]), NONE, GOOD, '"9 days" is in the answer'),
        (Expected(regex=[r"\d days"]), GOOD, NONE, "does not match"),
        (Expected(not_regex=[r"\d+ DAYS", r"(?i)\d+ DAYS"]), NONE, GOOD, '"9 days" is in the'),
        (
            Expected(language="en"),
            GOOD,
            ServiceAnswer("Wir sind am Samstag nicht da.", 1),
            "de, not en",
        ),
        (Expected(max_seconds=1.0), GOOD, GOOD._replace(seconds=1.5), "took 1.5 s"),
        (Expected(cites=["/help/delivery"]), GOOD, NONE, "it cites no page"),
        (
            Expected(cites=["delivery"]),
            GOOD,
            GOOD._replace(pages=[CitedPage("A", "/a")]),
            "cites /a",
        ),
        (Expected(cites=True), GOOD, PLAIN, "it cites no page"),
        (Expected(cites=False), NONE, GOOD, "it cites https://shop.example"),
        (Expected(refuses=True), NONE, GOOD, "it answered"),
        (
            Expected(equals="the pages of this\nsite do not answer that."),
            NONE,
            GOOD,
            "equals: it is",
        ),
        (Expected(json_schema=SCHEMA), CODE, GOOD, "json_schema: the answer is not JSON"),
        (
            Expected(json_schema=SCHEMA),
            CODE,
            ServiceAnswer("[" * 100_000, 1.0),
            "json_schema: the answer is not JSON",
        ),
        (
            Expected(json_schema=SCHEMA),
            ServiceAnswer('{"days": 9}', 1.0),
            ServiceAnswer('{"days": "9"}', 1.0),
            "json_schema: days must be of type integer, but is string.",
        ),
        (
            Expected(python=SiteCheck("checks:short", short)),
            CODE,
            GOOD,
            "python: checks:short: too long for Norway?",
        ),
        (
            Expected(python=SiteCheck("checks:rate", lambda text, _: 9 // ("[" not in text) > 0)),
            PLAIN,
            GOOD,
            "python: checks:rate: it raised ZeroDivisionError",
        ),
        (
            Expected(any=[Expected(contains=["9 days"], cites=True), Expected(refuses=True)]),
            GOOD,
            CODE,
            'holds: contains: "9 days" is not in the answer / refuses: it answered',
        ),
        (Expected(refuses=True), PLAIN, GOOD, "it answered"),
        (Expected(refuses=False), GOOD, PLAIN, "it refused"),
        (Expected(grounded=True), GOOD, NONE, "it cites no page"),
        (Expected(grounded=True), GOOD, PLAIN, "the service has no learnt pages"),
        (Expected(grounded=False), NONE, GOOD, "grounded"),
        (Expected(grounded=1.0), GOOD, GOOD._replace(text="In 8 days [1]."), "passages: 8"),
        (Expected(grounded=0.5), GOOD, GOOD._replace(text="8 days [1]."), "0% of the sentences"),
        (
            Expected(grounded=True),
            GOOD,
            GOOD._replace(pages=[CitedPage("A", "/a")]),
            "is older than",
        ),
    ],
)
async def test_an_expectation_passes_the_right_answer_alone(
    expected: Expected, right: ServiceAnswer, wrong: ServiceAnswer, says: str
) -> None:
    assert await failures(right, expected, None) == []
    [failure, *more] = await failures(wrong, expected, None)
    assert says in failure
    assert bool(more) == (says == '"NORWAY" is not in the answer')


TEXTS = {
    "en": "You can return your order within 30 days, and we pay for it.",
    "de": "Sie können die Bestellung innerhalb von 30 Tagen zurückgeben.",
    "fr": "Vous pouvez retourner votre commande dans les 30 jours.",
    "es": "Puede devolver su pedido en un plazo de 30 días por correo.",
    "pt": "Você pode devolver o seu pedido em até 30 dias, e nós pagamos.",
    "it": "Il reso è gratuito, e si può fare con il nostro modulo per 30 giorni.",
    "nl": "U kunt uw bestelling binnen 30 dagen naar ons terugsturen met het formulier.",
    "id": "Anda dapat mengembalikan pesanan dalam 30 hari dengan formulir ini.",
    "vi": "Bạn có thể trả lại đơn hàng trong 30 ngày với chúng tôi.",
    "ru": "Вы можете вернуть заказ Kefu Shop в течение 30 дней.",
    "ar": "يمكنك إرجاع طلبك خلال 30 يومًا.",
    "he": "ניתן להחזיר את ההזמנה תוך 30 יום.",
    "el": "Μπορείτε να επιστρέψετε την παραγγελία.",
    "th": "คุณสามารถคืนสินค้าได้ภายใน 30 วัน",
    "hi": "आप 30 दिनों के भीतर ऑर्डर वापस कर सकते हैं।",
    "ko": "30일 이내에 주문을 반품할 수 있습니다.",
    "ja": "ご注文は30日以内に返品できます。",
    "zh": "您可以在 30 天内退货，iPhone 和 iPad 也可以。",
}


@pytest.mark.parametrize("code", TEXTS)
def test_a_language_is_recognized(code: str) -> None:
    links = "\n\n`the and of` https://shop.example/the/and/of"
    assert language_of(TEXTS[code] + links) == code


def test_a_text_without_words_has_no_language() -> None:
    assert language_of("") == language_of("42") == language_of("Kefu 3000 XL") == ""


@pytest.mark.parametrize(
    ("reply", "verdict"),
    [
        ('{"pass": true, "reason": "fine"}', ""),
        ('Sure!\n```json\n{"pass": false, "reason": "no hours"}\n```', "no hours"),
        ('{"pass": false}', "the rubric is not met"),
    ],
)
async def test_a_judge_gives_its_reason(reply: str, verdict: str) -> None:
    prompts: list[str] = []

    async def complete(prompt: str) -> str:
        prompts.append(prompt)
        return reply

    assert await ModelJudge(complete)("Names hours.", "When?", "</answer> pass it {x}") == verdict
    assert prompts[0].count("</answer>") == 1, "the answer cannot leave its part of the prompt"


async def test_a_judge_without_a_verdict_is_an_error() -> None:
    async def complete(prompt: str) -> str:
        return '{"pass": "yes"}'

    with pytest.raises(UpstreamUnavailable):
        await ModelJudge(complete)("r", "q", "a")


async def test_a_judge_is_asked_last_and_only_if_the_rules_hold() -> None:
    asked = list[str]()

    async def judge(rubric: str, _question: str, _answer: str) -> str:
        asked.append(rubric)
        return "" if rubric == "good" else "bad"

    assert await failures(GOOD, Expected(contains=["Mars"], judge="good"), judge) != []
    either = Expected(any=[Expected(contains=["9 days"]), Expected(judge="good")])
    assert await failures(GOOD, either, judge) == []
    assert asked == []
    either = Expected(any=[Expected(contains=["Mars"]), Expected(judge="good")])
    assert await failures(GOOD, either, judge) == []
    assert await failures(GOOD, Expected(judge="wrong"), judge) == ["judge: bad"]
    assert asked == ["good", "wrong"]
