// Brings the real widget into each of its states. A scripted service in this page answers it.

const WORDS = {
  en: {
    suggestions: "How long does a visa take?|What does it cost?",
    consent: "Your messages are answered by an AI service and kept for 30 days.",
    question: "Which papers do I need?",
    more: "And how do I check them?",
    draft: "One more thing",
    answer:
      "For a medical visit, apply for an **S2 or M visa**. You need:\n\n- a passport valid for six months\n- the [invitation](https://example.com) of the hospital\n- proof of funds",
    table:
      "| Visa | Stay | Takes |\n|---|---|---|\n| S2 | 30–90 days | 4 workdays |\n| M | 30 days | 4 workdays |\n| M, express | 30 days | 2 workdays |\n\nThe fee depends on your country.",
    code: "Send them to the form as JSON:",
    tip: "Questions about your visa?",
    wide: "| Visa | Purpose | Stay | Consulate fee | Processing time | Extension |\n|---|---|---|---|---|---|\n| S2 | Private visit of up to 180 days | 30–90 days | 140 USD | 4 workdays | once, at the exit-entry office |\n| M | Trade, also medical treatment | 30 days | 140 USD | 4 workdays | possible |\n\nThe energy needed is $E = mc^2$, or \\(a_1 \\leq b\\).",
    cited: "Medical visitors apply for an S2 or M visa [1]. Processing takes four workdays [2].",
    pages: ["Visas for patients", "Processing times"],
    part: "It takes four workdays once all papers are there. The express service",
  },
  "zh-CN": {
    suggestions: "需要多长时间？|费用大概多少",
    consent: "您的消息由 AI 服务回答，保存 30 天。",
    question: "你好，我想咨询签证",
    more: "怎么提交材料？",
    draft: "还有一个问题",
    answer:
      "来华就医通常申请 **S2 或 M 类签证**，需要准备：\n\n- 有效期六个月以上的护照\n- 医院出具的[诊疗邀请函](https://example.com)\n- 费用预估与资金证明",
    table:
      "| 类型 | 停留 | 办理时间 |\n|---|---|---|\n| S2 | 30–90 天 | 4 个工作日 |\n| M | 30 天 | 4 个工作日 |\n| M 加急 | 30 天 | 2 个工作日 |\n\n费用因国籍而异。",
    code: "请以 JSON 格式提交：",
    tip: "签证有问题？问问我们",
    wide: "| 类型 | 用途 | 停留 | 领事费 | 办理时间 | 延期 |\n|---|---|---|---|---|---|\n| S2 | 不超过一百八十天的私人访问 | 30–90 天 | 140 美元 | 4 个工作日 | 可在出入境管理局办理一次 |\n| M | 贸易，也包括就医 | 30 天 | 140 美元 | 4 个工作日 | 可以 |",
    cited: "就医者申请 S2 或 M 类签证 [1]。办理需要四个工作日 [2]。",
    pages: ["就医签证", "办理时间"],
    part: "材料齐全后一般 4 个工作日可以出签，加急",
  },
  ar: {
    suggestions: "كم تستغرق التأشيرة؟|كم التكلفة؟",
    consent: "تجيب عن رسائلك خدمة ذكاء اصطناعي، وتُحفظ 30 يومًا.",
    question: "ما هي أوقات العمل؟",
    more: "وكيف أرسل الوثائق؟",
    draft: "سؤال آخر",
    answer:
      "نعمل **من الأحد إلى الخميس**، من التاسعة صباحًا حتى السادسة مساءً. تحتاج إلى:\n\n- جواز سفر صالح ستة أشهر\n- [دعوة](https://example.com) من المستشفى\n- إثبات القدرة المالية",
    table:
      "| التأشيرة | الإقامة | المدة |\n|---|---|---|\n| S2 | 30–90 يومًا | 4 أيام عمل |\n| M | 30 يومًا | 4 أيام عمل |",
    code: "أرسلها إلى النموذج بصيغة JSON:",
    tip: "هل لديكم أسئلة عن التأشيرة؟",
    wide: "| التأشيرة | الغرض | الإقامة | رسوم القنصلية | مدة المعالجة | التمديد |\n|---|---|---|---|---|---|\n| S2 | زيارة خاصة لا تتجاوز 180 يومًا | 30–90 يومًا | 140 دولارًا | 4 أيام عمل | مرة واحدة في مكتب الهجرة |\n| M | التجارة والعلاج الطبي | 30 يومًا | 140 دولارًا | 4 أيام عمل | ممكن |",
    cited: "يتقدم المرضى بطلب تأشيرة S2 أو M [1]. تستغرق المعالجة أربعة أيام عمل [2].",
    pages: ["تأشيرات المرضى", "مدة المعالجة"],
    part: "تستغرق أربعة أيام عمل بعد اكتمال الوثائق. أما الخدمة السريعة",
  },
};

const CODE =
  '```js\nconst answer = await fetch("https://api.example.com/v1/visa", {\n  method: "POST",\n  headers: { "Content-Type": "application/json" },\n  body: JSON.stringify({ passport: "E12345678", invitation: "hospital.pdf" }),\n});\nif (!answer.ok) throw new Error("refused: " + answer.status);\n```\n';

const LOGO =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 48 48'%3E%3Crect width='48' height='48' rx='14' fill='%23b4552d'/%3E%3Cpath d='M10 34 20 17l7 11 5-7 7 13Z' fill='%23fff4e6'/%3E%3C/svg%3E";

const LONG = 600;

function event(delta, reason = null) {
  const choices = [{ index: 0, delta, finish_reason: reason }];
  return `data: ${JSON.stringify({ object: "chat.completion.chunk", choices })}\n\n`;
}

function whole(text) {
  return `${event({ content: text })}${event({}, "stop")}data: [DONE]\n\n`;
}

/**
 * An answer from learnt pages: between two events that name the pages, and those that it cites, with the
 * questions to go on.
 */
function grounded(text, titles, questions) {
  const paths = ["visa", "times"];
  const sources = titles.map((title, at) => {
    return { number: at + 1, title, url: `https://example.com/help/${paths[at]}` };
  });
  const [found, used] = [
    { sources, links: [] },
    { used: [1, 2], answered: true, follow_ups: questions?.split("|") },
  ].map(
    (fields) => `data: ${JSON.stringify({ object: "kefu.sources", choices: [], ...fields })}\n\n`,
  );
  return `${found}${event({ content: text })}${event({}, "stop")}${used}data: [DONE]\n\n`;
}

/**
 * A response with `text` as its body. It stays open until the widget aborts it, unless the text
 * ends the stream.
 */
function streamed(text, signal) {
  const body = new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode(text));
      if (text.endsWith("[DONE]\n\n")) controller.close();
      else signal?.addEventListener("abort", () => controller.error(signal.reason));
    },
  });
  return new Response(body, { headers: { "Content-Type": "text/event-stream" } });
}

function refused(status, code, headers = {}) {
  const error = { message: "", type: "server_error", param: null, code };
  return Response.json({ error }, { status, headers });
}

/**
 * Replaces `fetch`: the functions in `plays` answer one request each; later requests get no
 * response.
 */
function serve(plays) {
  const left = [...plays];
  const real = window.fetch;
  window.fetch = (url, options = {}) => {
    const { signal } = options;
    // The widget's dictionaries come from the real server.
    if (/chat-widget-[^/]+\.json$/.test(url)) return real(url, options);
    if (/\/(cancel|feedback)$/.test(url)) return Promise.resolve(new Response(null));
    if (/\/health$/.test(url)) return Promise.resolve(Response.json({ sessions: false }));
    const play = left.shift();
    if (play !== undefined) return Promise.resolve(play(signal));
    return new Promise((_, refuse) => {
      signal?.addEventListener("abort", () => refuse(signal.reason));
    });
  };
}

/** Waits until the widget shows an element for the selector, and returns it. */
async function seen(selector) {
  for (;;) {
    const found = document.querySelector("kefu-chat")?.shadowRoot?.querySelector(selector);
    if (found?.checkVisibility()) return found;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function ask(text, isSent = true) {
  const input = await seen("textarea");
  input.value = text;
  input.dispatchEvent(new Event("input"));
  if (isSent) input.form.requestSubmit();
}

/** A scene: the widget's settings, the responses of the service, and what the visitor does, if anything. */
function scene({
  settings = {},
  plays = () => [],
  act = async () => {},
  isOpen = true,
  isIgnored = false,
}) {
  return async (script, language) => {
    const words = WORDS[language] ?? WORDS.en;
    Object.assign(script.dataset, { persist: "none", stallTimeout: LONG, firstByteTimeout: LONG });
    const own = typeof settings === "function" ? settings(words) : settings;
    Object.assign(script.dataset, own);
    serve(plays(words));
    document.head.append(script);
    if (!isIgnored) (await seen(".launcher")).click();
    if (isOpen) await seen("textarea");
    else if (!isIgnored) (await seen(".panel .close")).click();
    await act(words);
    const focused = document.querySelector("kefu-chat").shadowRoot.activeElement;
    // Without the focus the menu would close.
    if (focused?.role !== "menuitem") focused?.blur();
  };
}

const answered = (words) => [() => streamed(whole(words.answer))];
const failing = (words) => [...answered(words), () => refused(503, "upstream_service_unavailable")];

async function askTwice(words) {
  await ask(words.question);
  await seen(".actions");
  await ask(words.more);
}

export const SCENES = {
  closed: scene({ isOpen: false }),
  empty: scene({}),
  logo: scene({
    settings: ({ suggestions }) => ({ suggestions, logo: LOGO }),
    act: () => seen("img"),
  }),
  suggestions: scene({ settings: ({ suggestions }) => ({ suggestions }) }),
  consent: scene({
    settings: ({ consent }) => ({ consent }),
    act: ({ question }) => ask(question, false),
  }),
  awaiting: scene({ act: ({ question }) => ask(question).then(() => seen(".icon-stop")) }),
  waiting: scene({
    plays: () => [() => refused(429, "rate_limit_exceeded", { "Retry-After": "60" })],
    act: ({ question }) => ask(question).then(() => seen(".trouble")),
  }),
  streaming: scene({
    plays: (words) => [
      ...answered(words),
      (signal) => streamed(event({ content: words.part }), signal),
    ],
    act: async (words) => {
      await askTwice(words);
      await seen(".icon-stop");
    },
  }),
  answered: scene({
    plays: answered,
    act: async ({ question, draft }) => {
      await ask(question);
      await seen(".actions");
      await ask(draft, false);
    },
  }),
  unread: scene({
    plays: (words) => [
      (signal) =>
        new Promise((answer) => {
          // The answer waits until the visitor has closed the panel.
          setTimeout(() => answer(streamed(whole(words.answer), signal)), 300);
        }),
    ],
    act: async ({ question }) => {
      await ask(question);
      (await seen(".panel .close")).click();
      await seen(".unread");
    },
  }),
  tip: scene({
    settings: ({ tip }) => ({ tip, tipWhen: "0.1s" }),
    act: () => seen(".tip"),
    isOpen: false,
    isIgnored: true,
  }),
  menu: scene({
    plays: answered,
    act: async ({ question }) => {
      await ask(question);
      await seen(".actions");
      (await seen('.tool[aria-haspopup="menu"]')).click();
    },
  }),
  scrolled: scene({
    plays: ({ answer, wide }) => [() => streamed(whole(`${`${answer}\n\n`.repeat(5)}${wide}`))],
    act: async ({ question }) => {
      await ask(question);
      await seen(".actions");
      const log = await seen(".log");
      log.scrollTop = (log.scrollHeight - log.clientHeight) / 2;
      await seen(".jump");
    },
  }),
  large: scene({
    plays: ({ wide }) => [() => streamed(whole(wide))],
    act: async ({ question }) => {
      await ask(question);
      await seen(".actions");
      document.querySelector("kefu-chat").shadowRoot.querySelector(".enlarge").click();
    },
  }),
  wide: scene({
    plays: ({ wide }) => [() => streamed(whole(wide))],
    act: ({ question }) => ask(question).then(() => seen(".actions")),
  }),
  sources: scene({
    plays: ({ cited, pages }) => [() => streamed(grounded(cited, pages))],
    act: ({ question }) => ask(question).then(() => seen(".sources")),
  }),
  followUps: scene({
    plays: ({ cited, pages, suggestions }) => [() => streamed(grounded(cited, pages, suggestions))],
    act: ({ question }) => ask(question).then(() => seen(".follow-ups")),
  }),
  editing: scene({
    plays: answered,
    act: async ({ question }) => {
      await ask(question);
      await seen(".actions");
      const input = await seen("textarea");
      while (!document.querySelector("kefu-chat").shadowRoot.querySelector(".editing")) {
        input.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowUp", bubbles: true }));
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    },
  }),
  table: scene({
    plays: ({ table }) => [() => streamed(whole(table))],
    act: ({ question }) => ask(question).then(() => seen(".actions")),
  }),
  code: scene({
    plays: ({ code }) => [() => streamed(whole(`${code}\n\n${CODE}`))],
    act: ({ more }) => ask(more).then(() => seen(".actions")),
  }),
  stopped: scene({
    plays: ({ part }) => [(signal) => streamed(event({ content: part }), signal)],
    act: async ({ question }) => {
      await ask(question);
      await seen(".icon-stop");
      // The widget ignores a click directly after sending, because it may be a double click.
      await new Promise((resolve) => setTimeout(resolve, 700));
      (await seen(".act")).click();
      await seen(".actions");
    },
  }),
  failed: scene({
    plays: failing,
    act: (words) => askTwice(words).then(() => seen(".retry")),
  }),
  disconnected: scene({
    settings: { stallTimeout: "0.6" },
    plays: ({ part }) => [(signal) => streamed(event({ content: part }), signal)],
    act: ({ question }) => ask(question).then(() => seen(".retry")),
  }),
  offline: scene({
    act: async ({ question }) => {
      Object.defineProperty(navigator, "onLine", { value: false });
      window.dispatchEvent(new Event("offline"));
      await ask(question);
      await seen(".trouble");
    },
  }),
};
