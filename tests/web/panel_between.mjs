// An operator goes from chat to chat in a real Chromium, also while one is slow or missing.

import { openPanel } from "./operator.mjs";

/**
 * `anna`, `bert`: the ids of long chats that the operator has. `carl`: that of a chat that nobody has,
 * and `headers` those of its visitor.
 */
export default async function visit(browser, service, token, anna, bert, name, carl, headers) {
  const viewport = { width: 1360, height: 900 };
  const { page, errors } = await openPanel(browser, { service, token, theme: "light", viewport });
  await page.locator(".rows a").first().waitFor();
  await page.evaluate((own) => sessionStorage.setItem("kefu-panel-operator", own), name);
  await page.reload();
  const row = (id) => page.locator(`.rows a[href="#s=${id}"]`);
  const chat = (id) => page.locator(".content code", { hasText: id });
  const field = page.locator(".talk textarea");
  const gap = () =>
    page.locator(".pane").evaluate((pane) => pane.scrollHeight - pane.scrollTop - pane.clientHeight);
  /** Holds the answer with a chat back, until the returned function is called. */
  const hold = async (id) => {
    let free = () => {};
    const held = new Promise((resolve) => {
      free = resolve;
    });
    await page.route(`**/sessions/${id}`, async (route) => {
      await held;
      await route.continue();
    });
    return free;
  };
  const seen = {};

  await row(anna).click();
  await chat(anna).waitFor({ state: "attached" });
  await page.waitForFunction(() => document.querySelector(".talk.live"));
  seen.gaps = [await gap()];
  await row(bert).click();
  await chat(bert).waitFor({ state: "attached" });
  seen.gaps.push(await gap());

  // The next chat is slow: nothing can be written into the one before.
  await row(anna).click();
  await chat(anna).waitFor({ state: "attached" });
  await field.waitFor();
  const free = await hold(bert);
  await row(bert).click();
  await field.waitFor({ state: "detached" });
  // What somebody types meanwhile is no shortcut of the next chat, in which "e" ends the talk.
  await page.keyboard.press("r");
  free();
  await chat(bert).waitFor({ state: "attached" });
  await page.evaluate(() => {
    for (const key of "there is one")
      document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  });
  await page.waitForTimeout(1_000);
  seen.after = await page.locator(".talk .muted").first().innerText();
  await page.unroute(`**/sessions/${bert}`);

  // A chat that does not exist shows no other chat.
  await page.goto(`${service}/admin#s=${"0".repeat(32)}`);
  await page.locator(".pane > .trouble", { hasText: "no such session" }).waitFor();
  seen.missing = await page.locator(".content > *").count();

  // A chat that comes after the one opened next does not end the requests of that one: see below.
  const release = await hold(anna);
  await row(anna).click();

  // A session is opened by its id once.
  const id = page.locator("input[name=id]");
  if (!(await id.isVisible())) await page.locator(".filters summary, form summary").first().click();
  await id.fill(carl);
  await id.press("Enter");
  await chat(carl).waitFor({ state: "attached" });
  seen.id = await id.inputValue();
  const came = page.waitForResponse((one) => one.url().endsWith(`/sessions/${anna}`));
  release();
  await (await came).finished();
  await page.waitForTimeout(300);
  await page.unroute(`**/sessions/${anna}`);

  // A chat that nobody has shows what its visitor writes, when its row does.
  const writes = async (message) => {
    const answer = await fetch(`${service}/api/chat`, {
      method: "POST",
      headers: { ...JSON.parse(headers), "Content-Type": "application/json" },
      body: JSON.stringify({ message, session_id: carl }),
    });
    await answer.text();
    await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
  };
  await writes("And to Oslo?");
  await page.locator(".bubble.user", { hasText: "And to Oslo?" }).waitFor();

  // Taken over while the model answers: its answer ends, and comes below its question.
  const asked = writes("Do you wrap gifts?");
  await page.locator(".rows li", { hasText: "Do you wrap gifts?" }).waitFor();
  await page.reload();
  const gift = page.locator(".turn:has(> .said)", { hasText: "Do you wrap gifts?" });
  await gift.locator(".status").waitFor();
  await page.keyboard.press("r");
  await page.locator(".talk button[type=submit]").first().click();
  await field.fill("We do.");
  await field.press("Enter");
  await page.locator(".bubble.person", { hasText: "We do." }).waitFor();
  await asked;
  await page.locator(".bubble.assistant", { hasText: "Wrapped" }).waitFor();
  seen.status = await gift.locator(".status").count();
  seen.order = (await page.locator(".lines .bubble").allInnerTexts()).slice(-3);

  // Who asks for a person again, says so in the open chat.
  await page.locator(".talk button", { hasText: "Close" }).click();
  await page.locator(".talk:not(.live)").waitFor();
  const again = { message: "One more thing.", email: "carl@shop.example", consent: true };
  const sent = await fetch(`${service}/api/sessions/${carl}/contact`, {
    method: "POST",
    headers: { ...JSON.parse(headers), "Content-Type": "application/json" },
    body: JSON.stringify({ client_message_id: crypto.randomUUID(), ...again }),
  });
  if (!sent.ok) throw new Error(await sent.text());
  await page.locator(".asked", { hasText: "One more thing." }).waitFor();

  // The button of the search field brings the list back.
  const search = page.locator("input[name=text]");
  await search.fill("zzzznothing");
  await search.press("Enter");
  await page.locator(".loading", { hasText: "No sessions" }).waitFor();
  await search.press("Escape");
  await row(anna).waitFor();

  // A chat that was left is asked for no more.
  await page.evaluate(() => {
    location.hash = "";
  });
  await page.locator(".pick").waitFor();
  seen.asked = 0;
  page.on("request", (request) => {
    if (request.url().includes(`/sessions/${carl}`)) seen.asked += 1;
  });
  await writes("Hello?");
  await page.locator(".rows", { hasText: "Hello?" }).waitFor();
  await page.waitForTimeout(300);
  page.removeAllListeners("request");

  // A server that does not answer is named, also if nobody clicks: the list may be old.
  const api = "**/admin/api/**";
  await page.route(api, (route) => route.abort());
  const told = page.locator("aside .trouble", { hasText: "The server cannot be reached." });
  await told.waitFor();
  seen.again = await told.locator("button:visible").count();
  await row(bert).click();
  await page.locator(".pane > .trouble", { hasText: "The server cannot be reached." }).waitFor();
  await page.unroute(api);

  // The messages before those on the screen come above them.
  await row(bert).click();
  await chat(bert).waitFor({ state: "attached" });
  await page.getByRole("button", { name: "Earlier messages" }).click();
  await page.locator(".bubble.user", { hasText: "Question 0." }).waitFor({ state: "attached" });
  await page.waitForTimeout(200);
  seen.first = await page.evaluate(() => {
    const { x, y, width } = document.querySelector(".pane").getBoundingClientRect();
    const at = document.elementsFromPoint(x + width / 2, y + 60);
    return at.map((node) => node.closest(".turn")?.innerText).find(Boolean);
  });

  // Who has read above sees the line that they write.
  await row(anna).click();
  await field.waitFor();
  await page.locator(".pane").evaluate((pane) => pane.scrollTo(0, 0));
  await field.fill("I look into it.");
  await field.press("Enter");
  await page.locator(".bubble.person", { hasText: "I look into it." }).waitFor();
  seen.gaps.push(await gap());

  // Closed: the focus is in the chat, and not at the begin of the page.
  await row(anna).click();
  await page.locator(".talk button", { hasText: "Close" }).click();
  await page.locator(".talk:not(.live)").waitFor();
  await page.waitForFunction(() => document.activeElement.matches("h2"));

  // A chat that another operator or its visitor deletes says so, and has nothing to click.
  const gone = page.locator(".talk", { hasText: "This chat was deleted." });
  const remove = async (path, own) => {
    const answer = await fetch(`${service}${path}`, { method: "DELETE", headers: own });
    if (!answer.ok) throw new Error(await answer.text());
  };
  await row(bert).click();
  await page.locator(".talk", { hasText: "No page of the visitor shows new lines now." }).waitFor();
  await field.fill("draft");
  await remove(`/admin/api/sessions/${bert}`, { Authorization: `Bearer ${token}` });
  await gone.waitFor();
  seen.gone = [await page.locator(".talk").innerText(), await gone.locator("button, textarea").count()];
  seen.gone.push(await page.locator(".content button:visible").count());
  await row(carl).click();
  await chat(carl).waitFor({ state: "attached" });
  await page.locator(".talk button", { hasText: "Close" }).click();
  await page.locator(".talk:not(.live)").waitFor();
  await row(carl).waitFor();
  await remove(`/api/sessions/${carl}`, JSON.parse(headers));
  await row(carl).waitFor({ state: "detached", timeout: 60_000 });
  await gone.waitFor();
  seen.gone.push(await gone.locator("button").count());

  // A browser that refuses notifications still sounds.
  await page.getByRole("button", { name: "Notify me" }).click();
  await page.locator("button[aria-pressed=true]", { hasText: "Notify me" }).waitFor();
  return { ...seen, errors };
}
