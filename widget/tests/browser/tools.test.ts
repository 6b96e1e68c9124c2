/** Tools in the widget: the steps of an answer, and the card before something is changed. */

import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import {
  type Act,
  answer,
  approval,
  chunk,
  DONE,
  errorEvent,
  finish,
  gate,
  inSession,
  type KeptMessage,
  type Play,
  step,
} from "../scripted-service.ts";
import { violations } from "./axe.ts";
import { daily, eventually, pause, stage, type Visit } from "./harness.ts";

const it = stage();

const ID = "approval-1-0f";
const TEXT = "Cancel order 5? 2 items, 89.00 EUR";
const END = finish() + DONE;
const ORDER = "Looking up your order";
const STOCK = "Checking the stock";
const CANCEL = "Cancelling your order";
const CALL = { tool_call_id: "s0c1", tool: "cancel_order" };

const mine = (...acts: readonly Act[]): Play => inSession({ acts }, "s1", "t1");
const stock = (state: string): string =>
  step(state, STOCK, { tool_call_id: "s0c2", tool: "stock" });
const cancelling = (state: string): string => step(state, CANCEL, { tool: "cancel_order" });

function card(leftSeconds = 600) {
  const expires = Math.floor(Date.now() / 1_000) + leftSeconds;
  return { id: ID, ...CALL, text: TEXT, expires };
}

/** An answer that looks something up and then asks. */
function asking(text = "I can cancel it.", leftSeconds = 600): Play {
  const steps = step("input-available", ORDER) + step("output-available", ORDER);
  return mine({ send: steps + chunk(text) + approval(card(leftSeconds)) + END });
}

const parts = ({ page }: Visit) => {
  const host = page.locator("kefu-chat");
  return {
    approval: host.locator(".approval"),
    yes: host.locator(".yes:not([aria-disabled])"),
    no: host.locator(".no"),
    steps: host.locator(".step"),
    folded: host.locator("summary"),
    state: () => host.locator(".approval").getAttribute("data-state"),
    outcome: () => host.locator(".approval .foot").innerText(),
  };
};

/** The number of rings that turn. */
const turning = (page: Page): Promise<number> =>
  page
    .locator("kefu-chat .ring")
    .evaluateAll(
      (rings) =>
        rings.filter((ring) => ring.checkVisibility() && ring.getAnimations().length).length,
    );

const focusIn = (page: Page): Promise<string> =>
  page.evaluate(() => {
    const focused = document.querySelector("kefu-chat")?.shadowRoot?.activeElement;
    return focused?.ariaLabel ?? focused?.textContent ?? "";
  });

/** A visitor who has asked, and sees the card. */
async function asked(
  first: Play,
  ...later: readonly Play[]
): Promise<Visit & ReturnType<typeof parts>> {
  it.service.script(first, ...later);
  it.service.kept = [];
  const visit = await it.visit();
  await visit.send("Cancel my order");
  await parts(visit).yes.waitFor();
  return { ...visit, ...parts(visit) };
}

test("a chat without tools fetches nothing more, and asks for steps in its language (A19)", async () => {
  it.service.script(inSession(answer(["Yes."]), "s1", "t1"));
  it.service.kept = [];
  const visit = await it.visit({ "data-lang": "de" });
  await visit.send("Ships?");
  await visit.page.locator("kefu-chat .actions").waitFor();
  expect(visit.requests.filter((url) => url.includes("chat-widget-tools"))).toEqual([]);
  const [{ body, headers } = expect.fail("no request")] = it.service.received;
  expect([body.steps, headers["accept-language"]]).toEqual([true, "de"]);
});

test("each step is a line while it runs; several become one line that opens to their titles (A14)", async () => {
  const held = gate();
  it.service.script(
    mine(
      { send: step("input-available", ORDER) },
      { send: step("output-available", ORDER) + stock("input-available") },
      held,
      { send: stock("output-error") + chunk("It is on its way.") + END },
    ),
  );
  it.service.kept = [];
  const visit = await it.visit();
  const { steps, folded } = parts(visit);
  await visit.send("Where?");
  await eventually(() => steps.locator("bdi").allInnerTexts(), [ORDER, `${STOCK}…`]);
  expect(await turning(visit.page)).toBe(1);
  expect(await visit.page.locator("kefu-chat .dots").isVisible()).toBe(false);
  held.open();
  await visit.idle();
  await eventually(() => folded.allInnerTexts(), ["Looked up 2 things · not everything worked"]);
  expect(await steps.first().isVisible()).toBe(false);
  await folded.focus();
  await visit.page.keyboard.press("Enter");
  await steps.first().waitFor();
  expect(await steps.allInnerTexts()).toEqual([
    expect.stringContaining(ORDER),
    expect.stringContaining("did not work"),
  ]);
  expect(await turning(visit.page)).toBe(0);
  expect(await visit.page.locator("kefu-chat .answer .steps").count()).toBe(0);
  expect(visit.errors).toEqual([]);
});

test("one step stays one line, with its state in words (A14)", async () => {
  for (const [state, words] of [
    ["output-available", "Done"],
    ["output-error", "did not work"],
    ["output-unsure", "not sure that it worked"],
  ] as const) {
    it.service.script(mine({ send: step(state, ORDER) + chunk("Well.") + END }));
    it.service.kept = [];
    const visit = await it.visit();
    await visit.send("Where?");
    await visit.idle();
    const { steps, folded } = parts(visit);
    await eventually(() => steps.locator("bdi, small").allTextContents(), [ORDER, words]);
    expect(await folded.count()).toBe(0);
    await visit.page.context().close();
  }
});

/** What the service plays after a yes -> the state of the card, its words, the trouble below */
const CLICKS: readonly (readonly [string, Play, string, string, number])[] = [
  [
    "done",
    mine({
      send: cancelling("input-available") + cancelling("output-available") + chunk("Done.") + END,
    }),
    "done",
    "Done",
    0,
  ],
  [
    "failed",
    mine({ send: cancelling("output-error") + chunk("No.") + END }),
    "failed",
    "That did not work. Nothing was changed.",
    0,
  ],
  [
    "not sure",
    mine({ send: cancelling("output-unsure") + chunk("Hm.") + END }),
    "unsure",
    "We are not sure that it worked. It will not be done twice.",
    0,
  ],
  [
    "done, and its text failed",
    mine({ send: cancelling("output-available") + errorEvent("gateway_timeout") }),
    "done",
    "Done",
    1,
  ],
  [
    "failed while it ran",
    mine({ send: cancelling("input-available") + chunk("W") + errorEvent("gateway_timeout") }),
    "unsure",
    "We are not sure that it worked. It will not be done twice.",
    1,
  ],
  ["refused by the service", { status: 503, acts: [] }, "unfinished", "Not finished", 1],
];

for (const [what, play, state, words, troubles] of CLICKS) {
  test(`a yes that is ${what} (A9, A14)`, async () => {
    const visit = await asked(asking(), play);
    await visit.yes.click();
    await visit.idle();
    await eventually(visit.state, state);
    expect(await visit.outcome()).toBe(words);
    expect(await visit.page.locator("kefu-chat .yes, kefu-chat .no").count()).toBe(0);
    const questions = visit.page.locator("kefu-chat .question");
    expect(await questions.last().textContent()).toBe(`You: ✓ ${TEXT}`);
    expect(it.service.received[1]?.body).toEqual({
      session_id: "s1",
      sources: true,
      steps: true,
      approval: { id: ID, approved: true },
    });
    expect(await turning(visit.page)).toBe(0);
    expect(await visit.trouble.count()).toBe(troubles);
    expect(await visit.page.locator("kefu-chat .again").count()).toBe(0);
  });
}

test("while the click is on its way the card works, without buttons, and the focus stays there (A14)", async () => {
  const visit = await asked(asking(), mine({ send: cancelling("input-available") }, "silence"));
  await visit.yes.focus();
  await visit.page.keyboard.press("Enter");
  await eventually(visit.state, "working");
  expect(await visit.outcome()).toBe("Working on it…");
  expect(await focusIn(visit.page)).toBe("Working on it…");
  await eventually(() => turning(visit.page), 2);
  // Until then a click on Stop is the second half of a double click.
  await pause(600);
  await visit.act.click();
  await visit.idle();
  await eventually(visit.state, "unsure");
  expect(await turning(visit.page)).toBe(0);
  expect(it.service.cancelled).toEqual([ID]);
});

test("a no sends a no, and the card says that nothing was changed (A9)", async () => {
  const visit = await asked(asking(), mine({ send: chunk("All right.") + END }));
  await visit.no.click();
  await visit.idle();
  await eventually(visit.state, "declined");
  expect(await visit.outcome()).toBe("Not done. Nothing was changed.");
  expect(it.service.received[1]?.body.approval).toEqual({ id: ID, approved: false });
});

test("another message instead of a click is a no (A10)", async () => {
  const visit = await asked(asking(), mine({ send: chunk("Then not.") + END }));
  await visit.send("What does it cost?");
  await eventually(visit.state, "declined");
  await visit.idle();
  expect(it.service.received[1]?.body.message).toBe("What does it cost?");
});

test("a new answer takes the card away; if it is stopped before it begins, the card is back (A10)", async () => {
  const late = (wait: number) => mine({ wait }, { send: chunk("Without a card.") + END });
  const visit = await asked(asking(), late(4_000), late(0));
  const again = visit.page.locator("kefu-chat .again");
  await again.click();
  await eventually(() => visit.approval.count(), 0);
  await pause(600);
  await visit.act.click();
  await visit.yes.waitFor();
  await again.click();
  await eventually(() => visit.answers.last().innerText(), "Without a card.");
  await visit.idle();
  expect(await visit.approval.count()).toBe(0);
  expect(await visit.steps.count()).toBe(0);
});

test("a double click sends once (A10)", async () => {
  const done = mine({ send: cancelling("output-available") + chunk("Done.") + END });
  const visit = await asked(asking(), done);
  await visit.yes.dblclick();
  await visit.idle();
  await eventually(visit.state, "done");
  await pause(300);
  expect(it.service.received).toHaveLength(2);
});

test("a refused click says the service's sentence, and offers no rating (A10)", async () => {
  const message = "A person has taken over this chat.";
  const error = { code: "approval_gone", reason: "taken", message };
  const visit = await asked(asking(), { status: 409, acts: [{ send: JSON.stringify({ error }) }] });
  await visit.yes.click();
  await visit.idle();
  await eventually(visit.state, "gone");
  expect(await visit.outcome()).toBe("This is no longer possible.");
  await eventually(() => visit.answers.last().innerText(), error.message);
  expect(await visit.page.locator("kefu-chat .turn:last-child .actions").isVisible()).toBe(false);
  expect(await visit.trouble.count()).toBe(0);
});

test("a click while the service is busy is repeated by itself (A10)", async () => {
  const error = { code: "session_busy", message: "busy" };
  const busy = {
    status: 409,
    headers: { "Retry-After": "0" },
    acts: [{ send: JSON.stringify({ error }) }],
  };
  const visit = await asked(
    asking(),
    busy,
    mine({ send: cancelling("output-available") + chunk("Done.") + END }),
  );
  await visit.yes.click();
  await eventually(visit.state, "done");
  const clicks = it.service.received.slice(1).map(({ body }) => body.approval);
  expect(clicks).toEqual(Array(2).fill({ id: ID, approved: true }));
});

test("a click that did not get there is sent again as a click by Retry, also after a reload (A10)", async () => {
  const done = mine({ send: cancelling("output-available") + chunk("Done.") + END });
  const visit = await asked(asking(), { status: 503, acts: [] }, { status: 503, acts: [] }, done);
  await visit.yes.click();
  await visit.retry.click();
  await eventually(() => it.service.received.length, 3);
  await visit.retry.waitFor();
  it.service.kept = kept("requested");
  await visit.page.reload();
  await visit.retry.click();
  await eventually(visit.state, "done");
  const clicks = it.service.received.slice(1).map(({ body }) => [body.message, body.approval]);
  expect(clicks).toEqual(Array(3).fill([undefined, { id: ID, approved: true }]));
});

test("two tabs: the second click gets the stored answer, and shows what happened (A10)", async () => {
  const done = mine({ send: cancelling("output-available") + chunk("Cancelled.") + END });
  it.service.script(asking(), done, done);
  it.service.kept = [];
  const first = await it.visit({ "data-persist": "local" });
  await first.send("Cancel my order");
  await parts(first).yes.waitFor();
  it.service.kept = kept("requested");
  const page = await first.page.context().newPage();
  await page.goto(first.page.url());
  const second = page.locator("kefu-chat");
  await second.locator(".launcher").dispatchEvent("pointerenter");
  await second.locator(".yes").waitFor();
  await parts(first).yes.click();
  await eventually(parts(first).state, "done");
  await second.locator(".no").click();
  await second.locator("[data-state=done]").waitFor();
  await eventually(() => second.locator("div.answer").last().innerText(), "Cancelled.");
  expect(it.service.received.slice(1).map(({ body }) => body.approval)).toEqual([
    { id: ID, approved: true },
    { id: ID, approved: false },
  ]);
});

test("a card expires by itself, and says so (A10, A14)", async () => {
  const visit = await asked(asking("I can.", 3));
  await visit.yes.focus();
  await eventually(visit.state, "expired");
  expect(await visit.outcome()).toBe("This question has expired. Please ask again.");
  expect(await focusIn(visit.page)).toBe("This question has expired. Please ask again.");
  const status = visit.page.locator("kefu-chat [role=status]");
  await eventually(() => status.innerText(), "This question has expired. Please ask again.");
  expect(it.service.received).toHaveLength(1);
});

test("a device whose clock is wrong has ten minutes from the card on (A10)", async () => {
  const visit = await asked(asking("I can.", -3_600));
  await pause(200);
  expect(await visit.state()).toBe("asked");
});

/** The stored chat of a visitor who was asked, and what came then. */
function kept(state: string, ...later: readonly KeptMessage[]): readonly KeptMessage[] {
  const steps = [
    { tool_call_id: "s0c0", tool: "order_status", title: ORDER, state: "output-available" },
  ];
  return [
    { role: "user", content: "Cancel my order", status: "ok" },
    {
      role: "assistant",
      content: "I can cancel it.",
      status: "ok",
      steps,
      approval: { ...card(), state },
    },
    ...later,
  ];
}

function after(mark: string, state?: string, status: KeptMessage["status"] = "ok"): KeptMessage[] {
  const steps = state ? [{ tool_call_id: "s0c0", tool: "cancel_order", title: CANCEL, state }] : [];
  const question: KeptMessage = { role: "user", content: `${mark} ${TEXT}`, status };
  return status === "pending"
    ? [question]
    : [question, { role: "assistant", content: "Well.", status, steps }];
}

const RELOADS: readonly (readonly [string, readonly KeptMessage[]])[] = [
  ["asked", kept("requested")],
  ["expired", kept("expired")],
  ["declined", kept("denied", { role: "user", content: "Or not", status: "ok" })],
  ["declined", kept("denied", ...after("✗"))],
  ["done", kept("approved", ...after("✓", "output-available"))],
  ["failed", kept("approved", ...after("✓", "output-error"))],
  ["unsure", kept("approved", ...after("✓", "output-unsure"))],
  ["answered", kept("approved", ...after("✓"))],
];

for (const [state, messages] of RELOADS) {
  test(`after a reload the card is ${state}, with and without this browser's copy (A10, A14)`, async () => {
    const visit = await asked(asking());
    it.service.kept = messages;
    await visit.page.reload();
    await eventually(visit.state, state);
    await eventually(() => visit.steps.first().locator("bdi").innerText(), ORDER);
    expect(await turning(visit.page)).toBe(0);
    expect(await visit.yes.count()).toBe(state === "asked" ? 1 : 0);
    // Only the session is left.
    await visit.page.evaluate(() => {
      for (const [name, value] of Object.entries(sessionStorage)) {
        sessionStorage.setItem(name, JSON.stringify({ ...JSON.parse(value), turns: [] }));
      }
    });
    await visit.page.goto(visit.page.url());
    await eventually(visit.state, state);
    expect(it.service.looked).toContain(
      "GET /api/sessions/s1/messages?limit=100&sources=true&steps=true t1",
    );
    expect(visit.errors).toEqual([]);
  });
}

test("after a reload a click that is being answered goes on, by the card's id (A10, A14)", async () => {
  const visit = await asked(asking(), mine({ send: cancelling("input-available") }, "silence"));
  await visit.yes.click();
  await eventually(visit.state, "working");
  it.service.kept = kept("approved", ...after("✓", undefined, "pending"));
  it.service.answers.push({
    acts: [{ wait: 200 }, { send: cancelling("output-available") + chunk("Cancelled.") + END }],
  });
  const bodies: unknown[] = [];
  visit.page.on("request", (request) => {
    if (request.url().endsWith("/answer")) bodies.push(request.postDataJSON());
  });
  await visit.page.reload();
  await eventually(visit.state, "done");
  await eventually(() => visit.answers.last().innerText(), "Cancelled.");
  expect(bodies).toEqual([{ client_message_id: ID, sources: true, steps: true }]);
  expect(it.service.received).toHaveLength(2);
});

const EVENTS = [
  step("input-available", ORDER),
  stock("input-available"),
  step("output-available", ORDER),
  stock("output-available"),
  chunk("I can "),
  chunk("cancel it."),
  approval(card()),
];

for (const [at] of EVENTS.entries()) {
  test(
    `a line that is cut after event ${at + 1} is taken up, and no ring turns for ever (A14)`,
    daily(at % 3 === 0),
    async () => {
      const whole: Play = { acts: [{ send: EVENTS.join("") + END }] };
      for (const answers of [[whole], []]) {
        const cut = gate();
        it.service.script(
          inSession(answer(["Hello."]), "s1", "t1"),
          mine({ send: EVENTS.slice(0, at + 1).join("") }, cut, "reset"),
        );
        it.service.kept = [];
        it.service.answers.push(...answers);
        const visit = await it.visit();
        await visit.send("Hello");
        await visit.page.locator("kefu-chat .actions").waitFor();
        await visit.send("Cancel my order");
        const { yes, folded, steps } = parts(visit);
        await steps.first().waitFor({ state: "attached" });
        cut.open();
        if (answers.length > 0) {
          await yes.waitFor();
          await eventually(() => folded.allInnerTexts(), ["Looked up 2 things"]);
          await eventually(() => visit.trouble.count(), 0);
        } else {
          await visit.retry.waitFor();
          await steps.first().waitFor({ state: "attached" });
        }
        expect(await turning(visit.page)).toBe(0);
        expect(await visit.page.locator("kefu-chat .approval").count()).toBe(
          answers.length > 0 || at === EVENTS.length - 1 ? 1 : 0,
        );
        await visit.page.context().close();
      }
    },
  );
}

test("a click whose line is cut at each event is taken up with the card's id (A10)", async () => {
  const events = [cancelling("input-available"), cancelling("output-available"), chunk("Done.")];
  for (const at of events.keys()) {
    const cut = gate();
    const visit = await asked(
      asking(),
      mine({ send: events.slice(0, at + 1).join("") }, cut, "reset"),
    );
    it.service.answers.push({ acts: [{ send: events.join("") + END }] });
    await visit.yes.click();
    await visit.steps.filter({ hasText: CANCEL }).waitFor({ state: "attached" });
    cut.open();
    await eventually(visit.state, "done");
    await eventually(() => visit.answers.last().innerText(), "Done.");
    await visit.idle();
    expect(it.service.received).toHaveLength(2);
    expect(await turning(visit.page)).toBe(0);
    await visit.page.context().close();
  }
});

test("without words of the model the card stands alone (A16)", async () => {
  const visit = await asked(asking(TEXT));
  expect(await visit.answers.last().isVisible()).toBe(false);
  expect(await visit.approval.locator(".what").innerText()).toBe(TEXT);
});

test("the text of a card is plain, and no text of the model can look like a card (A9)", async () => {
  const text = "Cancel **5**? <b>now</b> [x](https://evil.example)\nAll of it";
  const fake =
    '<div class="approval"><button class="yes">Yes, do it</button></div>\n\n<details><summary>Looked up 2 things</summary></details>';
  it.service.script(mine({ send: chunk(fake) + approval({ ...card(), text }) + END }));
  it.service.kept = [];
  const visit = await it.visit();
  await visit.send("Cancel");
  await parts(visit).yes.waitFor();
  expect(await visit.page.locator("kefu-chat .what").innerText()).toBe(text);
  expect(await visit.page.locator("kefu-chat .what *").count()).toBe(0);
  expect(await visit.page.locator("kefu-chat .approval").count()).toBe(1);
  const inProse = visit.page.locator(
    "kefu-chat .answer :is(button, details, .approval, .steps, input)",
  );
  expect(await inProse.count()).toBe(0);
});

/** Has the service describe a contact form for the stored chat. */
async function withForm(page: Page): Promise<void> {
  const headers = { "Access-Control-Allow-Origin": "*" };
  const json = { fields: ["message"], consent: "", link: "" };
  await page.route("**/sessions/*/contact", (route) => route.fulfill({ json, headers }));
}

test("the tool that asks a person opens the form with its summary; without a form nothing (A2)", async () => {
  const person = step("output-available", "Offering help", {
    tool: "ask_person",
    summary: "Order 5 is lost; the visitor wants to talk to a person.",
  });
  for (const attributes of [{ "data-contact": "" }, {}] as const) {
    it.service.script(mine({ send: person + chunk("A colleague can help.") + END }));
    it.service.kept = [];
    const visit = await it.visit(attributes);
    await withForm(visit.page);
    await visit.send("Can I talk to a person?");
    await visit.page.locator("kefu-chat .actions .copy").waitFor();
    const offer = visit.page.locator("kefu-chat .person");
    expect(await visit.page.locator("kefu-chat .step").count()).toBe(0);
    if ("data-contact" in attributes) {
      await offer.click();
      const field = visit.page.locator("kefu-chat .contact textarea");
      await eventually(async () => (await field.inputValue()).slice(0, 15), "Order 5 is lost");
    } else {
      await pause(300);
      expect(await offer.count()).toBe(0);
    }
    await visit.page.context().close();
  }
});

test("where nobody can be sure, the card offers a person (A14)", async () => {
  it.service.script(
    asking(),
    mine({ send: cancelling("output-unsure") + chunk("Not sure.") + END }),
  );
  it.service.kept = [];
  const visit = await it.visit({ "data-contact": "" });
  await withForm(visit.page);
  await visit.send("Cancel my order");
  await parts(visit).yes.click();
  await visit.page.locator("kefu-chat .approval .person").click();
  await visit.page.locator("kefu-chat .contact textarea").waitFor();
});

test("screen readers hear each step once, the question and what became of it (A14)", async () => {
  const done = mine({ send: cancelling("output-available") + chunk("Done.") + END });
  it.service.script(asking(), done);
  it.service.kept = [];
  const visit = await it.visit();
  await visit.page.evaluate(() => {
    const status = document.querySelector("kefu-chat")?.shadowRoot?.querySelector("[role=status]");
    const said: string[] = [];
    new MutationObserver(() => said.push(status?.textContent ?? "")).observe(status as Node, {
      childList: true,
    });
    Object.assign(window, { said });
  });
  const said = (): Promise<string[]> =>
    visit.page.evaluate(() => (window as unknown as { said: string[] }).said);
  await visit.send("Cancel my order");
  await parts(visit).yes.waitFor();
  await eventually(async () => (await said()).at(-1), `Please confirm: ${TEXT}`);
  const group = visit.page.getByRole("group", { name: "Please confirm" });
  expect(await group.getByRole("button").allInnerTexts()).toEqual(["Yes, do it", "No"]);
  await parts(visit).yes.click();
  await visit.idle();
  await eventually(async () => (await said()).filter((text) => text === "Done").length, 1);
  expect((await said()).filter((text) => text === `Please confirm: ${TEXT}`)).toHaveLength(1);
});

for (const [lang, colorScheme, width] of [
  ["en", "light", 1280],
  ["en", "dark", 400],
  ["ar", "light", 400],
  ["he", "dark", 1280],
  ["zh-CN", "light", 400],
] as const) {
  test(
    `axe finds nothing in any state, ${lang}, ${colorScheme}, ${width} px (A14)`,
    daily(width === 400 && lang !== "zh-CN"),
    async () => {
      it.service.script(
        mine({
          send:
            step("output-available", ORDER) +
            stock("output-error") +
            chunk("Well.") +
            approval(card()) +
            END,
        }),
        mine({ send: cancelling("input-available") }, "silence"),
      );
      it.service.kept = [];
      const visit = await it.visit(
        { "data-lang": lang },
        { colorScheme, viewport: { width, height: 800 }, reducedMotion: "reduce" },
      );
      const { yes, folded, approval: node, state } = parts(visit);
      if (await visit.panel.isHidden()) await visit.launcher.click();
      await visit.send("Cancel my order");
      await yes.waitFor();
      await folded.click();
      expect(await violations(visit.page)).toEqual([]);
      const [box, buttons, panel] = await Promise.all([
        node.boundingBox(),
        yes.boundingBox(),
        visit.panel.boundingBox(),
      ]);
      if (!box || !buttons || !panel) throw new Error("not shown");
      expect(box.x).toBeGreaterThanOrEqual(panel.x);
      expect(box.x + box.width).toBeLessThanOrEqual(panel.x + panel.width);
      const isAtRight = buttons.x - box.x > box.x + box.width - (buttons.x + buttons.width);
      expect(isAtRight).toBe(lang === "ar" || lang === "he");
      const overflow = await visit.page
        .locator("kefu-chat .log")
        .evaluate((log) => log.scrollWidth - log.clientWidth);
      expect(overflow).toBe(0);
      await yes.click();
      await eventually(state, "working");
      expect(await violations(visit.page)).toEqual([]);
      await pause(600);
      await visit.act.click();
      await eventually(state, "unsure");
      expect(await violations(visit.page)).toEqual([]);
    },
  );
}

test("with reduced motion no ring turns (A14)", async () => {
  it.service.script(mine({ send: step("input-available", ORDER) }, "silence"));
  it.service.kept = [];
  const visit = await it.visit({}, { reducedMotion: "reduce" });
  await visit.send("Where?");
  await visit.page.locator("kefu-chat .ring").waitFor();
  expect(await turning(visit.page)).toBe(0);
});

test("if the file of the tools cannot be fetched, the card is read as text (A16)", async () => {
  it.service.script(asking(TEXT));
  it.service.kept = [];
  const visit = await it.visit();
  await visit.page.route("**/chat-widget-tools.*", (route) => route.abort());
  await visit.send("Cancel my order");
  await visit.idle();
  await eventually(() => visit.answers.last().innerText(), TEXT);
});
