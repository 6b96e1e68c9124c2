/** Pictures of a shop with styles of its own that keeps chats: `SHOTS=folder npm run shots`. */

import { test } from "vitest";
import { answer, chunk, cited, DONE, finish, inSession } from "../scripted-service.ts";
import { tagWith } from "../site.ts";
import { stage } from "./harness.ts";
import { DESKTOP, openPage, PHONE, shoot } from "./picture.ts";

const it = stage();
const OUT = process.env.SHOTS;

/** A shop with a header, colours and styles of its own. */
const SHOP_STYLES =
  "body{margin:0;font:17px/1.6 Georgia,serif;background:#f3ead9;color:#31261c}" +
  "header{position:sticky;top:0;display:flex;gap:32px;padding:22px 36px;background:#3a2418;color:#f3ead9}" +
  "header a{color:inherit}main{max-width:640px;padding:8px 36px}" +
  "button{background:#c2410c;color:#fff;border:0;padding:12px 20px;text-transform:uppercase}" +
  "p{margin:2em 0}@media(prefers-color-scheme:dark){:root{color-scheme:dark}body{background:#1d1510;color:#eadfce}}";

const SHOP_WORDS = {
  en: {
    question: "Do you ship to Svalbard?",
    unknown: "The pages do not say whether we ship there. A colleague can tell you.",
    person: "And by sea, in spring?",
    line: "Hi! Yes, we do. It takes 7 to 10 working days.",
    name: "Ingrid",
    consent: "I agree that Nordlys keeps this message to answer me.",
  },
  "zh-CN": {
    question: "可以寄到斯瓦尔巴吗？",
    unknown: "页面上没有说明是否可以寄到那里。您可以询问我们的同事。",
    person: "春天可以海运吗？",
    line: "您好！可以，需要 7 到 10 个工作日。",
    name: "小林",
    consent: "我同意 Nordlys 保存此消息以便回复我。",
  },
  ar: {
    question: "هل تشحنون إلى سفالبارد؟",
    unknown: "لا تذكر الصفحات ما إذا كنا نشحن إلى هناك. يمكن لزميلنا أن يخبرك.",
    person: "وماذا عن الشحن بحرًا؟",
    line: "مرحبًا! نعم، خلال 7 إلى 10 أيام عمل.",
    name: "إنغريد",
    consent: "أوافق على أن تحتفظ Nordlys بهذه الرسالة للرد علي.",
  },
};

for (const [lang, colorScheme, viewport] of [
  ["en", "light", DESKTOP],
  ["en", "dark", DESKTOP],
  ["zh-CN", "light", PHONE],
  ["ar", "dark", PHONE],
] as const) {
  test.runIf(OUT !== undefined)(`a shop that keeps chats, ${lang}, ${colorScheme}`, async () => {
    const words = SHOP_WORDS[lang];
    const unanswered = cited([], false);
    const unknown = { acts: [{ send: chunk(words.unknown) + finish() + unanswered + DONE }] };
    it.service.script(inSession(unknown, "s1", "t1"), inSession(answer([]), "s1", "t1"));
    it.service.kept = [];
    const tag = tagWith({
      "data-api-url": it.service.url,
      "data-lang": lang,
      "data-accent": "#c2410c",
      "data-title": "Nordlys",
      "data-contact": "",
      "data-suggestions": words.question,
    });
    const css = it.site.page("/shop.css", SHOP_STYLES);
    it.site.page(
      "/shop",
      `<!doctype html><html lang="${lang}"><head><meta name="viewport" content="width=device-width"><title>Nordlys</title>
<link rel="stylesheet" href="${css}"></head><body><header><b>NORDLYS</b><a href="#">Jackets</a><a href="#">Boots</a></header>
<main><h1>Wool for the north</h1><p>${"Knitted in Tromsø from wool that has seen the weather. ".repeat(6)}</p><button>Buy</button></main>${tag}</body></html>`,
    );
    const page = await openPage(it, "/shop", { viewport, colorScheme });
    const line = { id: 9, content: words.line, operator: words.name };
    for (const [path, json] of [
      ["**/contact", { fields: ["email", "message"], consent: words.consent, link: "" }],
      ["**/person*", { state: "person", operator: words.name, messages: [line] }],
    ] as const) {
      const headers = { "Access-Control-Allow-Origin": "*" };
      await page.route(path, (route) => route.fulfill({ json, headers }));
    }
    const host = page.locator("kefu-chat");
    const size = viewport === PHONE ? "phone" : "desktop";
    const shot = (name: string) =>
      shoot(page, OUT ?? "", `shop-${lang}-${colorScheme}-${size}-${name}`);
    page.setDefaultTimeout(8_000);
    await host.locator(".launcher").click();
    await host.locator(".panel .suggestions").waitFor();
    await shot("empty");
    await host.locator("textarea").fill(words.question);
    await host.locator("textarea").press("Enter");
    await host.locator(".actions .person").waitFor();
    await shot("unanswered");
    await host.locator('.tool[aria-haspopup="menu"]').click();
    await host.locator(".card .erase").waitFor();
    await shot("menu");
    await page.keyboard.press("Escape");
    await host.locator(".actions .person").click();
    await host.locator("form.contact input[type=email]").fill("kari@example.no");
    await shot("form");
    await host.locator(".composer textarea").fill(words.person);
    await host.locator(".composer textarea").press("Enter");
    await host.locator(".turn:has(.by)").waitFor();
    await shot("person");
  });
}
