/** The texts of contact.ts in all languages, in one file: most sites have no contact form. */

export interface ContactTexts {
  /** The button that opens the form, and the accessible name of the form. */
  readonly person: string;
  readonly weWrite: string;
  readonly goesWith: string;
  readonly yourName: string;
  readonly email: string;
  readonly yourQuestion: string;
  readonly requestSent: string;
}

const ENGLISH: ContactTexts = {
  person: "Talk to a person",
  weWrite: "We will write to you",
  goesWith: "This conversation goes with your message.",
  yourName: "Your name",
  email: "E-mail",
  yourQuestion: "Your question",
  requestSent: "Thank you. We have your message and will write to you.",
};

/** The texts by the tag of their language. */
export const CONTACT_TEXTS: Readonly<Record<string, ContactTexts>> = {
  en: ENGLISH,
  ar: {
    person: "التحدث إلى شخص",
    weWrite: "سنكتب إليك",
    goesWith: "تُرسل هذه المحادثة مع رسالتك.",
    yourName: "اسمك",
    email: "البريد الإلكتروني",
    yourQuestion: "سؤالك",
    requestSent: "شكرًا. وصلتنا رسالتك وسنكتب إليك.",
  },
  de: {
    person: "Mit einem Menschen sprechen",
    weWrite: "Wir schreiben Ihnen",
    goesWith: "Dieses Gespräch geht mit Ihrer Nachricht mit.",
    yourName: "Ihr Name",
    email: "E-Mail-Adresse",
    yourQuestion: "Ihre Frage",
    requestSent: "Danke. Wir haben Ihre Nachricht und schreiben Ihnen.",
  },
  es: {
    person: "Hablar con una persona",
    weWrite: "Le escribiremos",
    goesWith: "Esta conversación se envía con su mensaje.",
    yourName: "Su nombre",
    email: "Correo electrónico",
    yourQuestion: "Su pregunta",
    requestSent: "Gracias. Tenemos su mensaje y le escribiremos.",
  },
  fr: {
    person: "Parler à une personne",
    weWrite: "Nous vous écrirons",
    goesWith: "Cette conversation accompagne votre message.",
    yourName: "Votre nom",
    email: "Adresse e-mail",
    yourQuestion: "Votre question",
    requestSent: "Merci. Nous avons votre message et vous écrirons.",
  },
  he: {
    person: "לדבר עם אדם",
    weWrite: "נכתוב אליכם",
    goesWith: "השיחה הזו נשלחת עם ההודעה שלכם.",
    yourName: "השם שלכם",
    email: "דוא״ל",
    yourQuestion: "השאלה שלכם",
    requestSent: "תודה. ההודעה שלכם התקבלה ונכתוב אליכם.",
  },
  id: {
    person: "Bicara dengan petugas",
    weWrite: "Kami akan menulis kepada Anda",
    goesWith: "Percakapan ini dikirim bersama pesan Anda.",
    yourName: "Nama Anda",
    email: "Alamat email",
    yourQuestion: "Pertanyaan Anda",
    requestSent: "Terima kasih. Pesan Anda kami terima dan akan kami balas.",
  },
  ja: {
    person: "担当者に相談する",
    weWrite: "担当者からご連絡します",
    goesWith: "この会話もメッセージと一緒に送信されます。",
    yourName: "お名前",
    email: "メールアドレス",
    yourQuestion: "ご質問",
    requestSent: "ありがとうございます。メッセージを受け付けました。追ってご連絡します。",
  },
  ko: {
    person: "상담원과 대화하기",
    weWrite: "답장을 보내 드리겠습니다",
    goesWith: "이 대화가 메시지와 함께 전송됩니다.",
    yourName: "이름",
    email: "이메일",
    yourQuestion: "문의 내용",
    requestSent: "감사합니다. 메시지를 받았으며 답장을 보내 드리겠습니다.",
  },
  pt: {
    person: "Falar com uma pessoa",
    weWrite: "Vamos escrever para você",
    goesWith: "Esta conversa vai junto com a sua mensagem.",
    yourName: "Seu nome",
    email: "Endereço de e-mail",
    yourQuestion: "Sua pergunta",
    requestSent: "Obrigado. Recebemos sua mensagem e vamos escrever para você.",
  },
  ru: {
    person: "Поговорить с человеком",
    weWrite: "Мы вам напишем",
    goesWith: "Этот разговор будет отправлен вместе с сообщением.",
    yourName: "Ваше имя",
    email: "Электронная почта",
    yourQuestion: "Ваш вопрос",
    requestSent: "Спасибо. Мы получили сообщение и напишем вам.",
  },
  vi: {
    person: "Trò chuyện với nhân viên",
    weWrite: "Chúng tôi sẽ viết cho bạn",
    goesWith: "Cuộc trò chuyện này được gửi kèm tin nhắn của bạn.",
    yourName: "Tên của bạn",
    email: "Địa chỉ email",
    yourQuestion: "Câu hỏi của bạn",
    requestSent: "Cảm ơn bạn. Chúng tôi đã nhận tin nhắn và sẽ viết cho bạn.",
  },
  "zh-CN": {
    person: "转人工",
    weWrite: "我们会给您回复",
    goesWith: "本次对话会随留言一起发送。",
    yourName: "您的姓名",
    email: "电子邮箱",
    yourQuestion: "您的问题",
    requestSent: "谢谢，我们已收到您的留言，会尽快回复。",
  },
  "zh-TW": {
    person: "轉接真人客服",
    weWrite: "我們會回覆您",
    goesWith: "本次對話會隨留言一併傳送。",
    yourName: "您的姓名",
    email: "電子郵件",
    yourQuestion: "您的問題",
    requestSent: "謝謝，我們已收到您的留言，會盡快回覆。",
  },
};

/** The texts of the language `lang`, or the English texts. */
export function contactTextsOf(lang: string): ContactTexts {
  return CONTACT_TEXTS[lang] ?? ENGLISH;
}
