/** Recognizes a visitor who asks for a person, in the languages of the widget. */

const PHRASES: readonly RegExp[] = [
  // English
  /\b(talk|speak|chat|connect me|put me through|transfer me|write) (to|with) (an? |the |some ?)?(real |live |actual )?(person|people|human|one|body|agent|representative|colleague|operator)\b/i,
  /\b(real|live|human) (person|human|agent|support)\b/i,
  // German
  /\bmit (einem|einer|jemand\w*) ?(echten |richtigen )?(mensch|person|mitarbeiter|kolleg|berater)?\w* ?(sprechen|reden|schreiben|chatten|verb)/i,
  // French
  /\bparler (à|avec) (un |une |quelqu|des )(vrai |vraie )?(.un|humain|personne|conseill|agent)/i,
  // Spanish
  /\bhablar con (un |una |alguien)(persona|humano|agente|asesor|operador|.?$)/i,
  // Portuguese
  /\bfalar com (um |uma )(pessoa|humano|atendente|agente)/i,
  // Russian
  /(с|со) (живым )?(человеком|оператором|менеджером|сотрудником)|позовите (оператора|человека)/i,
  // Vietnamese
  /(nói chuyện|trò chuyện|chat|gặp) (với )?(người thật|nhân viên|tư vấn viên)/i,
  // Indonesian
  /(bicara|berbicara|chat) (dengan|sama) (orang|manusia|petugas|staf)/i,
  // Chinese
  /人工|真人/,
  // Japanese
  /人と(話|はな)|オペレーター|担当者/,
  // Korean
  /상담원|상담사|사람과 (이야기|대화|통화)/,
  // Arabic
  /(التحدث|أتحدث|اتحدث|أتكلم|التكلم) (مع|إلى) (شخص|موظف|إنسان|ممثل)/,
  // Hebrew
  /לדבר עם (בן אדם|אדם|נציג|מישהו)|נציג אנושי/,
];

export function asksForPerson(text: string): boolean {
  return PHRASES.some((phrase) => phrase.test(text));
}
