/** Who asks for a person, and who does not (H1). */

import { expect, test } from "vitest";
import { asksForPerson } from "../../src/features/contact/person.ts";

const ASKS = [
  "Can I talk to a person?",
  "please connect me to an agent",
  "I want to speak with a real human",
  "Kann ich mit einem Menschen sprechen?",
  "Ich möchte mit einem Mitarbeiter reden",
  "Je voudrais parler à un humain",
  "Puis-je parler à quelqu’un ?",
  "Quiero hablar con una persona",
  "quero falar com um atendente",
  "Хочу поговорить с живым человеком",
  "转人工",
  "我要真人客服",
  "請幫我轉接真人客服",
  "オペレーターにつないでください",
  "상담원 연결해 주세요",
  "أريد التحدث مع شخص",
  "אני רוצה לדבר עם נציג",
  "Tôi muốn nói chuyện với nhân viên",
  "Saya ingin bicara dengan petugas",
];

const ASKS_NOT = [
  "Which size fits a tall person?",
  "Do you ship to Norway?",
  "How many people work for you?",
  "I talk to my phone all day",
  "Ist das Spiel für eine Person?",
  "¿Cuánto cuesta por persona?",
  "这件衣服有几种颜色？",
  "人気の商品は何ですか",
  "Сколько человек помещается в палатку?",
  "كم شخصًا يتسع للخيمة؟",
];

for (const text of ASKS) {
  test(`asks for a person: ${text}`, () => expect(asksForPerson(text)).toBe(true));
}

for (const text of ASKS_NOT) {
  test(`asks for no person: ${text}`, () => expect(asksForPerson(text)).toBe(false));
}
