/** The texts of talk.ts in all languages, in its file: few visitors talk to a person. */

export interface TalkTexts {
  /** Shown between two messages. `{name}`: the person's name. */
  readonly joined: string;
  readonly left: string;
  readonly ended: string;
  /** The line below the title. */
  readonly waits: string;
  readonly answers: string;
  /** The line below the input. */
  readonly withPerson: string;
  /** Announced for a line of the person that the visitor has not seen. */
  readonly wrote: string;
  /** Announced when a message has reached the person's panel. */
  readonly delivered: string;
}

const ENGLISH: TalkTexts = {
  joined: "{name} joined the conversation",
  left: "The AI assistant answers again",
  ended: "The conversation with {name} has ended",
  waits: "Waiting for a person",
  answers: "{name} answers you",
  withPerson: "You are talking to a person",
  wrote: "{name} wrote to you",
  delivered: "Your message was sent",
};

/** The texts by the tag of their language. */
export const TALK_TEXTS: Readonly<Record<string, TalkTexts>> = {
  en: ENGLISH,
  ar: {
    joined: "{name} معك الآن في المحادثة",
    left: "المساعد الآلي يجيب من جديد",
    ended: "انتهت المحادثة مع {name}",
    waits: "في انتظار شخص",
    answers: "{name} في خدمتك الآن",
    withPerson: "أنت تتحدث الآن مع شخص",
    wrote: "رسالة جديدة من {name}",
    delivered: "تم إرسال رسالتك",
  },
  de: {
    joined: "{name} ist jetzt im Gespräch",
    left: "Ab jetzt antwortet wieder der KI-Assistent",
    ended: "Das Gespräch mit {name} ist beendet",
    waits: "Warten auf einen Menschen",
    answers: "{name} antwortet Ihnen",
    withPerson: "Sie sprechen mit einem Menschen",
    wrote: "{name} hat Ihnen geschrieben",
    delivered: "Ihre Nachricht wurde gesendet",
  },
  es: {
    joined: "{name} se ha unido a la conversación",
    left: "El asistente de IA vuelve a responder",
    ended: "La conversación con {name} ha terminado",
    waits: "Esperando a una persona",
    answers: "{name} le atiende",
    withPerson: "Está hablando con una persona",
    wrote: "{name} le ha escrito",
    delivered: "Su mensaje se ha enviado",
  },
  fr: {
    joined: "{name} a rejoint la conversation",
    left: "L’assistant IA répond de nouveau",
    ended: "La conversation avec {name} est terminée",
    waits: "En attente d’une personne",
    answers: "{name} vous répond",
    withPerson: "Vous parlez à une personne",
    wrote: "{name} vous a écrit",
    delivered: "Votre message a été envoyé",
  },
  he: {
    joined: "{name} בשיחה עכשיו",
    left: "עוזר ה-AI עונה שוב",
    ended: "השיחה עם {name} הסתיימה",
    waits: "ממתינים לנציג",
    answers: "{name} כאן לשירותכם",
    withPerson: "אתם מדברים עם אדם",
    wrote: "הודעה חדשה מאת {name}",
    delivered: "ההודעה נשלחה",
  },
  id: {
    joined: "{name} bergabung dalam percakapan",
    left: "Asisten AI menjawab lagi",
    ended: "Percakapan dengan {name} telah berakhir",
    waits: "Menunggu petugas",
    answers: "{name} melayani Anda",
    withPerson: "Anda berbicara dengan petugas",
    wrote: "{name} menulis kepada Anda",
    delivered: "Pesan Anda telah terkirim",
  },
  ja: {
    joined: "{name}が会話に参加しました",
    left: "再びAIアシスタントがお答えします",
    ended: "{name}との会話は終了しました",
    waits: "担当者をお待ちください",
    answers: "{name}が対応しています",
    withPerson: "担当者と会話しています",
    wrote: "{name}からメッセージが届いています",
    delivered: "メッセージを送信しました",
  },
  ko: {
    joined: "{name} 님이 대화에 참여했습니다",
    left: "이제 AI 도우미가 다시 답변합니다",
    ended: "{name} 님과의 대화가 종료되었습니다",
    waits: "상담원을 기다리는 중",
    answers: "{name} 님이 상담 중입니다",
    withPerson: "상담원과 대화하고 있습니다",
    wrote: "{name} 님이 메시지를 보냈습니다",
    delivered: "메시지를 보냈습니다",
  },
  pt: {
    joined: "{name} entrou na conversa",
    left: "O assistente de IA voltou a responder",
    ended: "A conversa com {name} terminou",
    waits: "Aguardando uma pessoa",
    answers: "{name} está atendendo você",
    withPerson: "Você está falando com uma pessoa",
    wrote: "{name} escreveu para você",
    delivered: "Sua mensagem foi enviada",
  },
  ru: {
    joined: "{name} теперь в чате",
    left: "Снова отвечает ИИ-помощник",
    ended: "Разговор с {name} завершён",
    waits: "Ожидаем сотрудника",
    answers: "Вам отвечает {name}",
    withPerson: "Вы общаетесь с человеком",
    wrote: "Новое сообщение от {name}",
    delivered: "Сообщение отправлено",
  },
  vi: {
    joined: "{name} đã tham gia cuộc trò chuyện",
    left: "Trợ lý AI lại trả lời bạn",
    ended: "Cuộc trò chuyện với {name} đã kết thúc",
    waits: "Đang chờ nhân viên",
    answers: "{name} đang trả lời bạn",
    withPerson: "Bạn đang trò chuyện với nhân viên",
    wrote: "{name} đã nhắn cho bạn",
    delivered: "Tin nhắn đã được gửi",
  },
  "zh-CN": {
    joined: "{name} 已加入对话",
    left: "现在由 AI 助手继续回答",
    ended: "与 {name} 的对话已结束",
    waits: "正在等待人工客服",
    answers: "{name} 正在为您服务",
    withPerson: "您正在与人工客服对话",
    wrote: "{name} 给您发来消息",
    delivered: "消息已发送",
  },
  "zh-TW": {
    joined: "{name} 已加入對話",
    left: "現在由 AI 助理繼續回答",
    ended: "與 {name} 的對話已結束",
    waits: "正在等待真人客服",
    answers: "{name} 正在為您服務",
    withPerson: "您正在與真人客服對話",
    wrote: "{name} 傳來新訊息",
    delivered: "訊息已傳送",
  },
};

/** The texts of the language `lang`, or the English texts. */
export function talkTextsOf(lang: string): TalkTexts {
  return TALK_TEXTS[lang] ?? ENGLISH;
}
