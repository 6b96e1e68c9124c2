/** A stored chat: its requests, its restoring after a reload, and its menu. */

import { readFile } from "node:fs/promises";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { answer, chunk, gate, inSession, type Play, refusal } from "../scripted-service.ts";
import { pageWith } from "../site.ts";
import { tokenOf } from "../user-token.ts";
import { violations } from "./axe.ts";
import { daily, eventually, pause, stage, testInChromium } from "./harness.ts";

const it = stage();
const mine = (play: Play, token = "t1", id = "s1"): Play => inSession(play, id, token);
const sent = () =>
  it.service.received.map(({ body, headers }) => [
    body.message ?? body.messages.at(-1)?.content,
    body.session_id,
    headers["x-session-token"],
  ]);
const users = () => it.service.received.map(({ headers }) => headers["x-user-token"]);
const stored = (page: Page): Promise<string> =>
  page.evaluate(() => JSON.stringify([{ ...sessionStorage }, { ...localStorage }]));

/** Plays, in a service that keeps chats. */
function keeping(...plays: readonly Play[]): void {
  it.service.script(...plays);
  it.service.kept = [];
}

test("one message at a time goes out, with the session and the newest token in a header (P34, P35)", async () => {
  keeping(mine(answer(["one"])), mine(answer(["two"]), "t2"), mine(answer(["three"]), "t3"));
  const { send, idle, answers, errors } = await it.visit();
  for (const question of ["first", "second", "third"]) {
    await send(question);
    await idle();
  }
  expect(await answers.allInnerTexts()).toEqual(["one", "two", "three"]);
  expect(sent()).toEqual([
    ["first", undefined, undefined],
    ["second", "s1", "t1"],
    ["third", "s1", "t2"],
  ]);
  expect(it.service.received[1]?.body).not.toHaveProperty("messages");
  expect(errors).toEqual([]);
});

for (const [persist, keeps] of [
  ["session", true],
  ["local", true],
  ["none", false],
] as const) {
  test(
    `data-persist=${persist}: the session is ${keeps ? "kept" : "forgotten"} on the next page (P35)`,
    daily(persist !== "local"),
    async () => {
      keeping(mine(answer(["one"])), mine(answer(["two"])));
      const { page, send, idle, input } = await it.visit({ "data-persist": persist });
      await send("first");
      await idle();
      expect((await stored(page)).includes("t1")).toBe(keeps);
      await page.reload();
      await input.waitFor();
      await send("second");
      await idle();
      expect(sent()[1]).toEqual(["second", keeps ? "s1" : undefined, keeps ? "t1" : undefined]);
    },
  );
}

test("with every request goes who the visitor is, as the site's tag says at that time (T16)", async () => {
  keeping(mine(answer(["one"])), mine(answer(["two"])));
  const soon = Math.floor(Date.now() / 1_000) + 600;
  const [first, renewed] = [tokenOf("ann", soon), tokenOf("ann", soon + 600)];
  const { page, send, idle } = await it.visit({ "data-user-token": first });
  await send("first");
  await idle();
  await page.locator("script[data-user-token]").evaluate((tag, token) => {
    (tag as HTMLElement).dataset.userToken = token;
  }, renewed);
  await send("second");
  await idle();
  expect(users()).toEqual([first, renewed]);
  await page.reload();
  await eventually(
    () => it.service.looked,
    [`GET /api/sessions/s1/messages?limit=100&sources=true&steps=true t1 ${first}`],
  );
});

test("ChatWidgetConfig.userToken may be a function, asked each time; nothing goes out where it fails (T16)", async () => {
  keeping(mine(answer(["one"])), mine(answer(["two"])));
  const { page, send, idle, trouble, retry, answers } = await it.visit();
  await page.evaluate(() => {
    const site = { isReady: true };
    const userToken = (): string | undefined => {
      if (!site.isReady) throw new Error("the site does not know yet");
      return undefined;
    };
    Object.assign(window, { ChatWidgetConfig: { userToken }, site });
  });
  await send("first");
  await idle();
  const become = (isReady: boolean): Promise<void> =>
    page.evaluate((now) => {
      (window as unknown as { site: { isReady: boolean } }).site.isReady = now;
    }, isReady);
  await become(false);
  await send("second");
  await trouble.waitFor();
  expect(sent()).toHaveLength(1);
  await become(true);
  await retry.click();
  await eventually(() => answers.allInnerTexts(), ["one", "two"]);
  expect(sent()).toEqual([
    ["first", undefined, undefined],
    ["second", "s1", "t1"],
  ]);
});

test("after a reload the service's word counts: what was cut here is whole, what was asked elsewhere is there (P14)", async () => {
  const held = gate();
  keeping(mine({ acts: [{ send: chunk("half") }, held, "reset"] }));
  const { page, send, trouble, answers, idle, errors } = await it.visit();
  await send("first");
  await eventually(() => answers.allInnerTexts(), ["half"]);
  held.open();
  // The note may show for a moment before the answer is asked for again.
  await eventually(() => it.service.looked, ["POST /api/sessions/s1/answer t1"]);
  await trouble.waitFor();
  it.service.kept = [
    { role: "user", content: "first", status: "ok" },
    { role: "assistant", content: "half and **half**", status: "ok" },
    { role: "user", content: "from the phone", status: "ok" },
    { role: "assistant", content: "yes", status: "ok" },
  ];
  await page.reload();
  await eventually(() => answers.allInnerTexts(), ["half and half", "yes"]);
  expect(it.service.looked).toEqual([
    "POST /api/sessions/s1/answer t1",
    "GET /api/sessions/s1/messages?limit=100&sources=true&steps=true t1",
  ]);
  expect(await trouble.count()).toBe(0);
  await idle();
  await page.reload();
  await eventually(() => answers.allInnerTexts(), ["half and half", "yes"]);
  await page.locator("kefu-chat .kept .tools").waitFor();
  // The answer to a question from elsewhere has no id here.
  expect(await page.locator("kefu-chat .again").count()).toBe(0);
  expect(errors.filter((text) => !/ERR_CONNECTION_RESET|status of 503/.test(text))).toEqual([]);
});

test("before anybody is interested nothing is asked; what the service cannot say leaves what is known here", async () => {
  keeping(mine(answer(["one"])));
  const { page, send, idle, answers, launcher } = await it.visit({ "data-open": "false" });
  await launcher.click();
  await send("first");
  await idle();
  await launcher.click();
  let looks = 0;
  await page.route("**/api/sessions/**", (route) => {
    looks += 1;
    return route.fulfill({ status: 503, headers: { "Access-Control-Allow-Origin": "*" } });
  });
  await page.reload();
  await launcher.waitFor();
  await pause(300);
  expect(looks).toBe(0);
  await launcher.click();
  await eventually(() => answers.allInnerTexts(), ["one"]);
  expect(looks).toBe(1);
});

test("a retry is the same message of the same session (P17)", async () => {
  keeping(mine(refusal(503, "upstream_service_unavailable")), mine(answer(["one"])));
  const { send, retry, answers } = await it.visit();
  await send("first");
  await retry.click();
  await eventually(() => answers.innerText(), "one");
  expect(sent()).toEqual([
    ["first", undefined, undefined],
    ["first", "s1", "t1"],
  ]);
  const ids = it.service.received.map(({ body }) => body.client_message_id);
  expect(new Set(ids).size).toBe(1);
});

test("409: waits as long as the service says and asks again, within data-retry (D9)", async () => {
  const busy = mine(refusal(409, "session_busy", { "Retry-After": "1" }));
  keeping(busy, mine(answer(["one"])), busy, busy);
  const { send, idle, answers, trouble } = await it.visit({ "data-retry": "1" });
  await send("first");
  await idle();
  expect(await answers.innerText()).toBe("one");
  const [first, second] = it.service.received;
  expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(990);
  await send("second");
  await eventually(() => it.service.received.length, 4);
  await idle();
  expect(await trouble.innerText()).toContain("wait a moment");
});

test("404: the chat is removed, also from the page, and the question begins a new one (P3)", async () => {
  keeping(
    mine(answer(["one"])),
    refusal(404, "session_not_found"),
    mine(answer(["two"]), "t9", "s9"),
    mine(answer(["three"]), "t9", "s9"),
  );
  const { send, idle, answers } = await it.visit();
  for (const question of ["first", "second", "third"]) {
    await send(question);
    await idle();
  }
  expect(await answers.allInnerTexts()).toEqual(["two", "three"]);
  expect(sent().slice(1)).toEqual([
    ["second", "s1", "t1"],
    ["second", undefined, undefined],
    ["third", "s9", "t9"],
  ]);
});

for (const code of ["store_full", "store_failed"]) {
  test(
    `503 ${code}: the rest of the chat goes out without being kept, a new chat is tried again (D5, H16)`,
    daily(code === "store_full"),
    async () => {
      keeping(
        mine(answer(["one"])),
        refusal(503, code, { "Retry-After": "60" }),
        answer(["two"]),
        answer(["three"]),
        mine(answer(["four"]), "t2", "s2"),
      );
      const { page, send, idle, answers, trouble } = await it.visit();
      for (const question of ["first", "second", "third"]) {
        await send(question);
        await idle();
      }
      expect(await answers.allInnerTexts()).toEqual(["one", "two", "three"]);
      expect(await trouble.count()).toBe(0);
      const whole = it.service.received.map(({ body }) =>
        body.messages?.map(({ content }: { content: string }) => content),
      );
      expect(whole).toEqual([
        ["first"],
        undefined,
        ["first", "one", "second"],
        ["first", "one", "second", "two", "third"],
      ]);
      await page.getByRole("button", { name: "More" }).click();
      expect(await page.getByRole("menuitem", { name: "Delete chat" }).isVisible()).toBe(true);
      await page.getByRole("menuitem", { name: "New chat" }).click();
      await send("fourth");
      await idle();
      expect(sent().at(-1)).toEqual(["fourth", undefined, undefined]);
    },
  );
}

test("another answer in a kept chat names the message that it answers, also after a failure and a reload (W8)", async () => {
  keeping(
    mine(answer(["one"])),
    refusal(503, "any"),
    mine(answer(["two"])),
    mine(answer(["three"])),
  );
  const { page, send, idle, answers, retry } = await it.visit();
  await send("first");
  await idle();
  await page.locator("kefu-chat .again").click();
  await retry.waitFor();
  it.service.kept = [
    { role: "user", content: "first", status: "ok" },
    { role: "assistant", content: "one", status: "ok" },
  ];
  await page.reload();
  await eventually(() => answers.allInnerTexts(), ["one"]);
  await page.locator("kefu-chat .again").click();
  await eventually(() => answers.allInnerTexts(), ["two"]);
  await page.locator("kefu-chat .again").click();
  await eventually(() => answers.allInnerTexts(), ["three"]);
  const bodies = it.service.received.map(({ body }) => body);
  const [first, ...others] = bodies;
  for (const body of others) {
    expect(body).toMatchObject({ message: "first", session_id: "s1" });
    expect(body.again).toBe(first?.client_message_id);
  }
  expect(new Set(bodies.map((body) => body.client_message_id)).size).toBe(4);
  await page.locator("kefu-chat .down").click();
  await eventually(
    () => it.service.rated,
    [{ client_message_id: first?.client_message_id, rating: "down", session_id: "s1" }],
  );
});

test("thumbs of a kept chat name the session (P17)", async () => {
  keeping(mine(answer(["one"])));
  const { page, send, idle } = await it.visit();
  await send("first");
  await idle();
  await page.locator("kefu-chat .up").click();
  await eventually(
    () => it.service.rated,
    [
      {
        client_message_id: it.service.received[0]?.body.client_message_id,
        rating: "up",
        session_id: "s1",
      },
    ],
  );
});

test("a chat is deleted after a second click, here and there (P36)", async () => {
  keeping(mine(answer(["one"])), mine(answer(["two"]), "t2", "s2"));
  const { page, send, idle, answers, input, errors } = await it.visit();
  const button = (name: string) => page.getByRole("menuitem", { name, exact: true });
  const more = page.getByRole("button", { name: "More", exact: true });
  await send("first");
  await idle();
  await more.click();
  await button("Delete chat").dblclick();
  await input.focus();
  expect(it.service.looked).toEqual([]);
  await more.click();
  await button("Delete chat").click();
  await eventually(() => page.locator("kefu-chat [role=status]").textContent(), "Delete for good?");
  await pause(600);
  await button("Delete for good?").click();
  await eventually(() => answers.count(), 0);
  expect(it.service.looked).toEqual(["DELETE /api/sessions/s1 t1"]);
  expect(await stored(page)).not.toMatch(/first|one|s1|t1/);
  expect(await input.evaluate((node: HTMLElement) => node.matches(":focus"))).toBe(true);
  await more.click();
  expect(await page.getByRole("menuitem").allInnerTexts()).toEqual([
    "New chat",
    "Copy chat",
    "Text size",
  ]);
  await send("second");
  await idle();
  expect(sent()[1]).toEqual(["second", undefined, undefined]);
  expect(errors).toEqual([]);
});

test("a chat that could not be deleted stays, with a message for the visitor (P36)", async () => {
  keeping(mine(answer(["one"])));
  const { page, send, idle, answers } = await it.visit();
  await send("first");
  await idle();
  await page.route("**/api/sessions/**", (route) => route.abort());
  await page.getByRole("button", { name: "More" }).click();
  await page.getByRole("menuitem", { name: "Delete chat" }).click();
  await pause(600);
  await page.getByRole("menuitem", { name: "Delete for good?" }).click();
  await eventually(
    () => page.locator("kefu-chat .card").innerText(),
    expect.stringContaining("That did not work"),
  );
  expect(await answers.allInnerTexts()).toEqual(["one"]);
});

// In Firefox, Playwright sees no download of a file that the page has made.
testInChromium("a chat is taken along as a file (P36)", async () => {
  keeping(mine(answer(["one"])));
  const { page, send, idle } = await it.visit();
  await send("first");
  await idle();
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: "More" }).click();
  await page.getByRole("menuitem", { name: "Download chat" }).click();
  const file = await download;
  expect(file.suggestedFilename()).toBe("chat.md");
  expect(await readFile(await file.path(), "utf8")).toBe("# A chat");
  expect(it.service.looked).toEqual(["GET /api/sessions/s1/export?format=md t1"]);
});

test("New chat begins another session and leaves the old one alone (W8)", async () => {
  keeping(mine(answer(["one"])), mine(answer(["two"]), "t2", "s2"));
  const { page, send, idle } = await it.visit();
  await send("first");
  await idle();
  await page.getByRole("button", { name: "More" }).click();
  await page.getByRole("menuitem", { name: "New chat" }).click();
  await send("second");
  await idle();
  expect(sent()[1]).toEqual(["second", undefined, undefined]);
  expect(it.service.looked).toEqual([]);
});

for (const form of ["chat-widget.js", "chat-widget.all.js"]) {
  test(
    `${form} asks at once: no other request comes before the question (W2)`,
    daily(form === "chat-widget.js"),
    async () => {
      const html = pageWith({ "data-api-url": it.service.url, "data-open": "", "data-lang": "en" });
      for (const keeps of [false, true]) {
        it.service.script(mine(answer(["one"])));
        if (keeps) it.service.kept = [];
        const { page, send, idle } = await it.visit({}, {}, html.replace("chat-widget.js", form));
        const asked: string[] = [];
        page.on("request", (request) => asked.push(new URL(request.url()).pathname));
        await send("first");
        await idle();
        expect(asked[0]).toBe("/api/chat");
        expect(asked.filter((path) => !path.startsWith("/chat-widget-"))).toHaveLength(1);
        expect(it.service.received[0]?.body).toMatchObject({
          messages: [{ content: "first" }],
          store: true,
        });
      }
    },
  );
}

test("a nonce alone is enough for that file, with Trusted Types too (W14)", async () => {
  keeping(mine(answer(["one"])));
  const policy =
    `default-src 'none'; script-src 'nonce-r4nd0m'; style-src 'self'; ` +
    `connect-src ${new URL(it.service.url).origin}; require-trusted-types-for 'script'`;
  const tag = { "data-api-url": it.service.url, "data-open": "", "data-lang": "en" };
  const html = pageWith(tag).replace("<script ", '<script nonce="r4nd0m" ');
  const { send, idle } = await it.open(it.site.page("/nonce", html, `, ${policy}`));
  await send("first");
  await idle();
  expect(sent()).toEqual([["first", undefined, undefined]]);
});

test("axe finds nothing in a kept chat (W11)", async () => {
  keeping(mine(answer(["one"])));
  const { page, send, idle } = await it.visit({}, { reducedMotion: "reduce" });
  await send("first");
  await idle();
  await page.locator("kefu-chat .kept .tools").waitFor();
  expect(await violations(page)).toEqual([]);
});
