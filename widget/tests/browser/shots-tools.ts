/** Pictures of answers with tools in a shop with styles of its own: `SHOTS=folder npm run shots`. */

import type { Page } from "playwright-core";
import { test } from "vitest";
import {
  type Act,
  answer,
  approval,
  chunk,
  DONE,
  finish,
  gate,
  inSession,
  type KeptMessage,
  type Play,
  step,
} from "../scripted-service.ts";
import { tagWith } from "../site.ts";
import { stage } from "./harness.ts";
import { DESKTOP, openPage, PHONE, shoot } from "./picture.ts";

const it = stage();
const OUT = process.env.SHOTS;

const SHOP_STYLES =
  "body{margin:0;font:17px/1.6 Georgia,serif;background:#f3ead9;color:#31261c}" +
  "header{padding:22px 36px;background:#3a2418;color:#f3ead9}main{max-width:640px;padding:8px 36px}" +
  "button,summary{background:#c2410c;color:#fff;border:0;padding:12px 20px;text-transform:uppercase}" +
  "p{margin:2em 0}@media(prefers-color-scheme:dark){:root{color-scheme:dark}body{background:#1d1510;color:#eadfce}}";

const WORDS = {
  en: {
    where: "Where is my order 12345, and can you cancel the rain jacket?",
    order: "Looking up your order",
    stock: "Checking what can be cancelled",
    cancelling: "Cancelling the item",
    found: "It left our warehouse **yesterday at 16:10**. The rain jacket ships separately.",
    card: "Cancel 1 item of order 12345? Rain jacket, size M, 89.00 EUR",
    done: "Done. The refund of 89.00 EUR is on its way.",
  },
  "zh-CN": {
    where: "我的订单 12345 到哪里了？可以取消那件雨衣吗？",
    order: "查询您的订单",
    stock: "检查可以取消的商品",
    cancelling: "取消商品",
    found: "包裹**昨天 16:10** 已离开仓库。雨衣将单独发货。",
    card: "取消订单 12345 中的 1 件商品？雨衣，M 码，89.00 欧元",
    done: "已取消，89.00 欧元将原路退回。",
  },
  ar: {
    where: "أين طلبي 12345؟ وهل يمكن إلغاء معطف المطر؟",
    order: "البحث عن طلبك",
    stock: "التحقق مما يمكن إلغاؤه",
    cancelling: "إلغاء المنتج",
    found: "غادر الطرد مستودعنا **أمس الساعة 16:10**. يُشحن معطف المطر على حدة.",
    card: "هل تريد إلغاء منتج واحد من الطلب \u206812345\u2069؟ معطف مطر، مقاس \u2068M\u2069، \u206889.00 EUR\u2069",
    done: "تم الإلغاء، وسيُعاد إليك مبلغ 89.00 يورو.",
  },
  de: {
    where: "Wo ist meine Bestellung 12345, und kann die Regenjacke storniert werden?",
    order: "Ihre Bestellung wird gesucht",
    stock: "Es wird geprüft, was storniert werden kann",
    cancelling: "Der Artikel wird storniert",
    found: "Sie hat unser Lager **gestern um 16:10** verlassen. Die Regenjacke kommt getrennt.",
    card: "1 Artikel der Bestellung 12345 stornieren? Regenjacke, Größe M, 89,00 EUR",
    done: "Storniert. 89,00 EUR sind auf dem Weg zu Ihnen zurück.",
  },
  ja: {
    where: "注文 12345 は今どこですか？レインジャケットをキャンセルできますか？",
    order: "ご注文を確認しています",
    stock: "キャンセルできる商品を確認しています",
    cancelling: "商品をキャンセルしています",
    found: "**昨日 16:10** に倉庫から出荷されました。レインジャケットは別送です。",
    card: "注文 12345 の商品 1 点をキャンセルしますか？レインジャケット、M、89.00 EUR",
    done: "キャンセルしました。89.00 EUR を返金します。",
  },
};

type Words = (typeof WORDS)["en"];

const mine = (...acts: readonly Act[]): Play => inSession({ acts }, "s1", "t1");
const END = finish() + DONE;
const ID = "approval-1-0f";

function asking({ order, stock, found, card }: Words, held: Act): Play {
  const second = { tool_call_id: "s0c1", tool: "stock" };
  const question = { id: ID, tool_call_id: "s1c0", tool: "cancel_item", text: card };
  const expires = Date.now() / 1_000 + 600;
  return mine(
    { send: step("input-available", order) },
    { send: step("output-available", order) + step("input-available", stock, second) },
    held,
    { send: step("output-available", stock, second) },
    { send: chunk(found) + approval({ ...question, expires }) + END },
  );
}

/** The answer to a click, whose step ends in `state`. */
function acting({ cancelling, done }: Words, state: string, held: Act): Play {
  return mine({ send: step("input-available", cancelling, { tool_call_id: "s0c0" }) }, held, {
    send: step(state, cancelling, { tool_call_id: "s0c0" }) + chunk(done) + END,
  });
}

async function open(lang: string, colorScheme: "light" | "dark", viewport: object): Promise<Page> {
  const tag = tagWith({
    "data-api-url": it.service.url,
    "data-lang": lang,
    "data-open": "",
    "data-contact": "",
    "data-title": "Nordlys",
  });
  const css = it.site.page("/shop.css", SHOP_STYLES);
  it.site.page(
    "/shop",
    `<!doctype html><html lang="${lang}"><head><meta charset="utf-8"><title>Nordlys</title>
<meta name="viewport" content="width=device-width"><link rel="icon" href="data:,"><link rel="stylesheet" href="${css}"></head>
<body><header>Nordlys</header><main><h1>Rain jacket</h1><p>For wet days.</p><button>Buy</button></main>${tag}</body></html>`,
  );
  const page = await openPage(it, "/shop", { viewport: viewport as never, colorScheme });
  const launcher = page.locator("kefu-chat .launcher");
  await launcher.dispatchEvent("pointerenter");
  await page.locator("kefu-chat .panel").waitFor({ state: "attached" });
  if (await page.locator("kefu-chat .panel").isHidden()) await launcher.click();
  return page;
}

for (const [lang, colorScheme, size] of [
  ["en", "light", "desktop"],
  ["en", "dark", "desktop"],
  ["zh-CN", "light", "phone"],
  ["ar", "dark", "phone"],
  ["ar", "light", "desktop"],
  ["de", "light", "phone"],
  ["ja", "dark", "phone"],
] as const) {
  test.runIf(OUT !== undefined)(`tools, ${lang}, ${colorScheme}, ${size}`, async () => {
    const words = WORDS[lang];
    const first = gate();
    const second = gate();
    it.service.script(asking(words, first), acting(words, "output-available", second));
    it.service.kept = [];
    const page = await open(lang, colorScheme, size === "phone" ? PHONE : DESKTOP);
    const host = page.locator("kefu-chat");
    const shot = (name: string) =>
      shoot(page, OUT ?? "", `tools-${lang}-${colorScheme}-${size}-${name}`);
    await host.locator("textarea").fill(words.where);
    await host.locator("textarea").press("Enter");
    await host.locator(".ring").waitFor();
    await shot("1-running");
    first.open();
    await host.locator(".yes:not([aria-disabled])").waitFor();
    await host.locator(".actions .copy").waitFor();
    await shot("2-card");
    await host.locator("summary").click();
    await host.locator(".yes").click();
    await host.locator("[data-state=working]").waitFor();
    await host.locator(".turn:last-child .ring").waitFor();
    await shot("3-working");
    second.open();
    await host.locator("[data-state=done]").waitFor();
    await host.locator(".actions .copy").nth(1).waitFor();
    await shot("4-done");
  });
}

for (const [lang, colorScheme, size, state] of [
  ["en", "light", "desktop", "output-unsure"],
  ["zh-CN", "dark", "phone", "output-unsure"],
  ["en", "light", "phone", "output-error"],
] as const) {
  test.runIf(OUT !== undefined)(`tools, ${state}, ${lang}, ${colorScheme}, ${size}`, async () => {
    const words = WORDS[lang];
    const now: Act = { wait: 0 };
    it.service.script(asking(words, now), acting({ ...words, done: "…" }, state, now));
    it.service.kept = [];
    const page = await open(lang, colorScheme, size === "phone" ? PHONE : DESKTOP);
    const host = page.locator("kefu-chat");
    await host.locator("textarea").fill(words.where);
    await host.locator("textarea").press("Enter");
    await host.locator(".yes:not([aria-disabled])").click();
    await host.locator(".turn:nth-of-type(2) .actions .copy").waitFor();
    if (state === "output-unsure") await host.locator(".approval .person").waitFor();
    await shoot(page, OUT ?? "", `tools-${lang}-${colorScheme}-${size}-${state}`);
  });
}

/** A card of a stored chat, with what came after it. */
function past(at: number, state: string, words: Words, ended: string | undefined): KeptMessage[] {
  const card = {
    id: `approval-${at}-0f`,
    tool_call_id: "s1c0",
    tool: "cancel_item",
    text: words.card,
  };
  const expires = Date.now() / 1_000 + 600;
  const steps = [
    { tool_call_id: "s0c0", tool: "stock", title: words.stock, state: "output-available" },
  ];
  const mark = state === "denied" ? "✗" : "✓";
  const click: KeptMessage[] = [
    { role: "user", content: `${mark} ${words.card}`, status: "ok" },
    {
      role: "assistant",
      content: words.done,
      status: "ok",
      steps: ended ? [{ ...steps[0], title: words.cancelling, state: ended }] : [],
    },
  ];
  return [
    { role: "user", content: words.where, status: "ok" },
    {
      role: "assistant",
      content: words.card,
      status: "ok",
      steps,
      approval: { ...card, expires, state },
    },
    ...(/expired|requested/.test(state) ? [] : click),
  ];
}

for (const [lang, colorScheme, size, forcedColors] of [
  ["en", "light", "phone", "none"],
  ["en", "dark", "phone", "active"],
  ["ar", "light", "phone", "none"],
] as const) {
  test.runIf(OUT !== undefined)(
    `tools, all states, ${lang}, ${colorScheme}, ${forcedColors}`,
    async () => {
      const words = WORDS[lang];
      it.service.script(inSession(answer([words.found]), "s1", "t1"));
      it.service.kept = [];
      const page = await open(lang, colorScheme, { width: 390, height: 1900 });
      const host = page.locator("kefu-chat");
      await host.locator("textarea").fill(words.where);
      await host.locator("textarea").press("Enter");
      await host.locator(".actions .copy").waitFor();
      it.service.kept = [
        ...past(1, "denied", words, undefined),
        ...past(2, "approved", words, "output-error"),
        ...past(3, "approved", words, "output-unsure"),
        ...past(4, "expired", words, undefined),
        ...past(5, "requested", words, undefined),
      ];
      await page.emulateMedia({ forcedColors });
      await page.reload();
      await host.locator(".yes").waitFor({ state: "attached" });
      await host.locator(".launcher").click();
      await shoot(page, OUT ?? "", `tools-${lang}-${colorScheme}-${size}-states-${forcedColors}`);
    },
  );
}
