// A visitor in a real Chromium reloads the page, or loses the connection, at chosen words of an answer.
// Returns what the page then shows. With SHOTS=folder it also takes pictures.

import { connect, createServer } from "node:net";

const html = (url) => `<!doctype html><html lang="en"><title>A shop</title><link rel="icon" href="data:,">
<main><h1>A shop</h1></main>
<script src="/chat-widget.js" data-api-url="${url}/api/chat" data-open="true"
data-persist="local" defer></script>`;

async function opened(context, url, seen) {
  const page = await context.newPage();
  page.on("pageerror", (error) => seen.errors.push(String(error)));
  page.on("request", (request) => {
    const { pathname } = new URL(request.url());
    if (request.method() !== "POST") return;
    if (pathname === "/api/chat") seen.posts += 1;
    if (pathname.endsWith("/answer")) seen.resumed += 1;
    if (pathname.endsWith("/cancel")) seen.cancels += 1;
  });
  const shop = { body: html(url), contentType: "text/html" };
  await page.route("**/shop", (route) => route.fulfill(shop));
  await page.goto(`${url}/shop`);
  return page;
}

/** A line to the service: its address, and a function that breaks all of its connections. */
async function line(service) {
  const { hostname, port } = new URL(service);
  const sockets = new Set();
  const server = createServer((client) => {
    const away = connect(Number(port), hostname);
    for (const [socket, other] of [[client, away], [away, client]]) {
      sockets.add(socket);
      socket.on("error", () => {}).on("close", () => other.destroy());
      socket.pipe(other);
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  return { url: `http://127.0.0.1:${server.address().port}`, cut, close: () => server.close() };
}

async function told(browser, service, seen, { how, word, question, last }) {
  const context = await browser.newContext({ locale: "en-US", viewport: { width: 560, height: 780 } });
  const { url, cut, close } = await line(service);
  let page = await opened(context, url, seen);
  const log = () => page.locator("kefu-chat .log");
  const answer = () => log().locator(".turn:last-child .answer");
  const input = page.locator("kefu-chat .composer textarea");
  await input.fill(question);
  await input.press("Enter");
  await answer().getByText(word).waitFor();
  if (how === "reload") await page.reload();
  else if (how === "next page") {
    await page.close();
    page = await opened(context, url, seen);
  } else cut();
  await answer().getByText(last).waitFor({ timeout: 60_000 });
  await log().locator(".actions").last().waitFor();
  if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/${how}.png` });
  const shown = {
    text: await answer().innerText(),
    questions: await log().locator(".question:visible").count(),
    troubles: await log().locator(".trouble").count(),
  };
  await context.close();
  cut();
  close();
  return shown;
}

/** `questions` is JSON: [{how, word, question, last}, …] */
export default async function visit(browser, service, questions) {
  const seen = { errors: [], answers: [], posts: 0, resumed: 0, cancels: 0 };
  // Four visitors at once: each waits for a model that takes its time.
  const cases = JSON.parse(questions);
  for (let at = 0; at < cases.length; at += 4) {
    const some = cases.slice(at, at + 4).map((one) => told(browser, service, seen, one));
    seen.answers.push(...(await Promise.all(some)));
  }
  return seen;
}
