"""What the service itself says to visitors, in the languages of the widget."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class VisitorTexts(NamedTuple):
    not_answered: str
    """Instead of an answer that says only that the model cannot answer."""
    every_page: str
    """The title of the lines that stand on every page of a site."""
    answered: str
    """The name of a source that a person has written: with `name` and `date`."""
    this_site: str
    """The name of an author who gave none."""
    subject: str
    """Of a mail to a visitor: with `host`."""
    wrote: str
    """The first line of the mail: with `name` and `host`."""
    go_on: str
    """With the address of the `site`."""
    agreed: str
    """Stands before the sentence of the form to which the visitor has agreed."""


def texts_in(language: str) -> VisitorTexts:
    """The texts in a language, such as `de` or `zh-TW`; the English ones for any other."""
    return _TEXTS.get(language) or _TEXTS["en"]


_TEXTS: Mapping[str, VisitorTexts] = {
    "en": VisitorTexts(
        "The pages of this site do not answer that.",
        "On every page",
        "Answered by {name}, {date.day} {date:%b %Y}",
        "this site",
        "Answer from {host}",
        "{name} has answered you in the chat on {host}:",
        "To go on, answer this mail, or write in the chat again: {site}",
        "You agreed to this mail in the form:",
    ),
    "zh": VisitorTexts(
        "本站页面没有回答这个问题。",
        "每个页面上",
        "{name} 于 {date.year} 年 {date.month} 月 {date.day} 日回答",
        "本站",
        "来自 {host} 的回复",
        "{name} 在 {host} 的聊天中回复了您:",
        "如需继续,请直接回复此邮件,或再次在聊天中留言:{site}",
        "您在表单中同意接收此邮件:",
    ),
    "zh-TW": VisitorTexts(
        "本站頁面沒有回答這個問題。",
        "每個頁面上",
        "{name} 於 {date.year} 年 {date.month} 月 {date.day} 日回答",
        "本站",
        "來自 {host} 的回覆",
        "{name} 在 {host} 的聊天中回覆了您:",
        "如需繼續,請直接回覆此郵件,或再次在聊天中留言:{site}",
        "您在表單中同意接收此郵件:",
    ),
    "ja": VisitorTexts(
        "このサイトのページには、その答えがありません。",
        "すべてのページに共通",
        "{name}の回答({date.year}年{date.month}月{date.day}日)",
        "当サイト",
        "{host}からの回答",
        "{host}のチャットで{name}が回答しました:",
        "続けるには、このメールに返信するか、もう一度チャットでお書きください:{site}",
        "フォームでこのメールの受信に同意されています:",
    ),
    "ko": VisitorTexts(
        "이 사이트의 페이지에는 그에 대한 답변이 없습니다.",
        "모든 페이지 공통",
        "{name}의 답변, {date.year}년 {date.month}월 {date.day}일",
        "이 사이트",
        "{host}의 답변",
        "{host}의 채팅에서 {name} 님이 답변했습니다:",
        "계속하려면 이 메일에 답장하거나 채팅에 다시 남겨 주세요: {site}",
        "양식에서 이 메일의 수신에 동의하셨습니다:",
    ),
    "es": VisitorTexts(
        "Las páginas de este sitio no responden a eso.",
        "En todas las páginas",
        "Respondido por {name}, {date:%d/%m/%Y}",
        "este sitio",
        "Respuesta de {host}",
        "{name} le ha respondido en el chat de {host}:",
        "Para continuar, responda a este correo o escriba de nuevo en el chat: {site}",
        "Usted aceptó este correo en el formulario:",
    ),
    "fr": VisitorTexts(
        "Les pages de ce site ne répondent pas à cette question.",
        "Sur toutes les pages",
        "Réponse de {name}, {date:%d/%m/%Y}",
        "ce site",
        "Réponse de {host}",
        "{name} vous a répondu dans le chat de {host} :",
        "Pour continuer, répondez à cet e-mail ou écrivez à nouveau dans le chat : {site}",
        "Vous avez accepté cet e-mail dans le formulaire :",
    ),
    "de": VisitorTexts(
        "Die Seiten dieser Website beantworten das nicht.",
        "Auf jeder Seite",
        "Antwort von {name}, {date:%d.%m.%Y}",
        "dieser Website",
        "Antwort von {host}",
        "{name} hat Ihnen im Chat auf {host} geantwortet:",
        "Antworten Sie auf diese E-Mail, oder schreiben Sie wieder in den Chat: {site}",
        "Im Formular haben Sie dieser E-Mail zugestimmt:",
    ),
    "pt": VisitorTexts(
        "As páginas deste site não respondem a isso.",
        "Em todas as páginas",
        "Respondido por {name}, {date:%d/%m/%Y}",
        "este site",
        "Resposta de {host}",
        "{name} respondeu a você no chat de {host}:",
        "Para continuar, responda a este e-mail ou escreva novamente no chat: {site}",
        "Você concordou com este e-mail no formulário:",
    ),
    "ru": VisitorTexts(
        "На страницах этого сайта нет ответа на этот вопрос.",
        "На каждой странице",
        "Ответ: {name}, {date:%d.%m.%Y}",
        "сайт",
        "Ответ от {host}",
        "{name} отвечает вам в чате на {host}:",
        "Чтобы продолжить, ответьте на это письмо или снова напишите в чат: {site}",
        "В форме вы согласились на это письмо:",
    ),
    "ar": VisitorTexts(
        "صفحات هذا الموقع لا تجيب عن ذلك.",
        "في كل الصفحات",
        "إجابة {name}، {date:%d/%m/%Y}",
        "هذا الموقع",
        "رد من {host}",
        "رد عليك {name} في المحادثة على {host}:",
        "للمتابعة، أجب عن هذه الرسالة أو اكتب في المحادثة مرة أخرى: {site}",
        "لقد وافقت على هذه الرسالة في النموذج:",
    ),
    "he": VisitorTexts(
        "בדפי האתר הזה אין תשובה לכך.",
        "בכל הדפים",
        "תשובה מאת {name}, {date:%d.%m.%Y}",
        "האתר",
        "תשובה מאת {host}",
        "קיבלת תשובה מאת {name} בצ'אט של {host}:",
        "כדי להמשיך אפשר להשיב להודעה זו או לכתוב שוב בצ'אט: {site}",
        "בטופס הסכמת לקבל את ההודעה הזו:",
    ),
    "vi": VisitorTexts(
        "Các trang của website này không trả lời câu hỏi đó.",
        "Trên mọi trang",
        "{name} trả lời, {date:%d/%m/%Y}",
        "Website này",
        "Trả lời từ {host}",
        "{name} đã trả lời bạn trong cuộc trò chuyện trên {host}:",
        "Để tiếp tục, hãy trả lời email này hoặc viết lại trong cuộc trò chuyện: {site}",
        "Bạn đã đồng ý nhận email này trong biểu mẫu:",
    ),
    "id": VisitorTexts(
        "Halaman situs ini tidak menjawab hal itu.",
        "Di setiap halaman",
        "Dijawab oleh {name}, {date:%d/%m/%Y}",
        "situs ini",
        "Jawaban dari {host}",
        "{name} telah menjawab Anda di obrolan di {host}:",
        "Untuk melanjutkan, balas email ini atau tulis lagi di obrolan: {site}",
        "Anda menyetujui email ini di formulir:",
    ),
}
