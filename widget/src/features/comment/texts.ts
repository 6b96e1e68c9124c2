/** The texts of comment.ts in all languages, in its file: few visitors rate an answer. */

export interface CommentTexts {
  /** The label of the text field below an answer that the visitor rated as not helpful. */
  readonly whatIsWrong: string;
  /** Shown after the comment was stored. */
  readonly thanks: string;
}

const ENGLISH: CommentTexts = {
  whatIsWrong: "What was wrong with this answer? (optional)",
  thanks: "Thank you for telling us",
};

/** The texts by the tag of their language. */
export const COMMENT_TEXTS: Readonly<Record<string, CommentTexts>> = {
  en: ENGLISH,
  ar: {
    whatIsWrong: "ما الخطأ في هذه الإجابة؟ (اختياري)",
    thanks: "شكرًا على ملاحظتك",
  },
  de: {
    whatIsWrong: "Was war an dieser Antwort falsch? (freiwillig)",
    thanks: "Danke für Ihren Hinweis",
  },
  es: {
    whatIsWrong: "¿Qué falla en esta respuesta? (opcional)",
    thanks: "Gracias por decírnoslo",
  },
  fr: {
    whatIsWrong: "Qu’est-ce qui ne va pas dans cette réponse ? (facultatif)",
    thanks: "Merci de nous l’avoir dit",
  },
  he: {
    whatIsWrong: "מה לא היה נכון בתשובה? (לא חובה)",
    thanks: "תודה על המשוב",
  },
  id: {
    whatIsWrong: "Apa yang salah dengan jawaban ini? (opsional)",
    thanks: "Terima kasih atas masukan Anda",
  },
  ja: {
    whatIsWrong: "この回答のどこが問題でしたか？（任意）",
    thanks: "ご意見ありがとうございます",
  },
  ko: {
    whatIsWrong: "이 답변의 어떤 점이 잘못되었나요? (선택 사항)",
    thanks: "의견을 보내 주셔서 감사합니다",
  },
  pt: {
    whatIsWrong: "O que estava errado nesta resposta? (opcional)",
    thanks: "Agradecemos o seu comentário",
  },
  ru: {
    whatIsWrong: "Что не так в этом ответе? (необязательно)",
    thanks: "Спасибо за отзыв",
  },
  vi: {
    whatIsWrong: "Câu trả lời này có gì chưa đúng? (không bắt buộc)",
    thanks: "Cảm ơn bạn đã góp ý",
  },
  "zh-CN": {
    whatIsWrong: "这个回答有什么不对？（选填）",
    thanks: "感谢您的反馈",
  },
  "zh-TW": {
    whatIsWrong: "這個回答有什麼不對？（選填）",
    thanks: "感謝您的回饋",
  },
};

/** The texts of the language `lang`, or the English texts. */
export function commentTextsOf(lang: string): CommentTexts {
  return COMMENT_TEXTS[lang] ?? ENGLISH;
}
