// Two users of a site, one after the other in one tab of Chromium. Returns what the widget
// shows and stores for each.

const html = (service, persist) => `<!doctype html><html lang="en"><title>A shop</title>
<link rel="icon" href="data:,">
<script>window.ChatWidgetConfig = { userToken: () => /user=([^;]+)/.exec(document.cookie)?.[1] };</script>
<script src="/chat-widget.js" data-api-url="${service}/api/chat" data-open data-persist="${persist}" defer></script>`;

/** `persist`: a value of data-persist; `ann`, `bob`: tokens of users. */
export default async function visit(browser, service, persist, ann, bob) {
  const page = await browser.newPage({ locale: "en-US" });
  const shop = { body: html(service, persist), contentType: "text/html" };
  await page.route("**/shop", (route) => route.fulfill(shop));
  const chat = page.locator("kefu-chat");

  const signIn = async (token) => {
    await page.context().clearCookies();
    await page.context().addCookies([{ name: "user", value: token, url: service }]);
  };
  const seen = async () => ({
    questions: await chat.locator(".question").allInnerTexts(),
    answers: await chat.locator("div.answer").allInnerTexts(),
    stored: await page.evaluate(() => JSON.stringify([{ ...sessionStorage }, { ...localStorage }])),
  });
  const ask = async (question) => {
    await chat.locator("textarea").fill(question);
    await chat.locator("textarea").press("Enter");
    await chat.locator(".turn", { hasText: question }).locator(".actions").waitFor();
    return seen();
  };
  const load = async (restored) => {
    await page.goto(`${service}/shop`);
    await chat.locator(".panel").waitFor();
    if (restored) await chat.locator(".turn .actions").waitFor();
    return seen();
  };

  await signIn(ann);
  await load();
  const annAsked = await ask("Ann's question");
  const annAgain = await load(persist !== "none");
  await signIn(bob);
  const bobArrived = await load();
  const bobAsked = await ask("Bob's question");
  // The site's own script signs Ann in, without loading another page.
  await signIn(ann);
  await chat.locator(".question").waitFor({ state: "detached" });
  const annBack = await seen();
  return { annAsked, annAgain, bobArrived, bobAsked, annBack };
}
