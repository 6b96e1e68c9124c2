// A signed-in user on several devices: each has a browser context of its own. Returns what the widget
// shows on each, and how often a page asked for the list of chats.

const html = (service) => `<!doctype html><html lang="en"><title>A shop</title>
<link rel="icon" href="data:,">
<script>window.ChatWidgetConfig = { userToken: () => /user=([^;]+)/.exec(document.cookie)?.[1] };</script>
<script src="/chat-widget.js" data-api-url="${service}/api/chat" defer></script>`;

/** `ann`, `bob`: tokens of users; `expired`: one of Ann's that is not valid any more. */
export default async function visit(browser, service, ann, bob, expired) {
  const device = async () => {
    const context = await browser.newContext({ locale: "en-US" });
    const shop = { body: html(service), contentType: "text/html" };
    await context.route("**/shop", (route) => route.fulfill(shop));
    return new Device(context, await context.newPage(), service);
  };
  const [laptop, phone, other] = [await device(), await device(), await device()];

  await laptop.load(ann);
  const laptopAsked = await laptop.ask("Where is my parcel?");
  const phoneArrived = await phone.load(ann);
  const phoneAsked = await phone.ask("And now?");
  const laptopAgain = await laptop.load(ann);
  const bobArrived = await other.load(bob);
  const bobAgain = await other.load(bob);
  const bobLists = other.lists;
  const nobody = await other.load("");

  const signedOut = await laptop.load("");
  const signedIn = await laptop.load(ann);
  const hasExpired = await laptop.load(expired);
  const renewed = await laptop.load(ann);

  await phone.renew();
  const renewedAgain = await phone.load(ann);
  const lists = phone.lists;
  await phone.reopen();
  const newTab = await phone.load(ann);
  return {
    laptopAsked, phoneArrived, phoneAsked, laptopAgain, bobArrived, bobAgain, bobLists, nobody,
    otherLists: other.lists, signedOut, signedIn, hasExpired, renewed, renewedAgain, lists, newTab,
  };
}

class Device {
  lists = 0;

  constructor(context, page, service) {
    this.context = context;
    this.service = service;
    this.use(page);
  }

  use(page) {
    this.page = page;
    this.chat = page.locator("kefu-chat");
    page.on("request", (request) => {
      if (/\/api\/sessions\?/.test(request.url())) this.lists += 1;
    });
  }

  /** Loads a page of the shop as the user of this token, and opens the chat. */
  async load(user) {
    await this.context.clearCookies();
    if (user) await this.context.addCookies([{ name: "user", value: user, url: this.service }]);
    await this.page.goto(`${this.service}/shop`);
    await this.page.evaluate(() => window.ChatWidget.open());
    await this.chat.locator("textarea").waitFor();
    return this.seen();
  }

  /** The questions, without the hidden words in front of them. */
  async seen() {
    const questions = await this.chat.locator(".question").allInnerTexts();
    return questions.map((text) => text.replace("You:\n", ""));
  }

  async ask(question) {
    await this.chat.locator("textarea").fill(question);
    await this.chat.locator("textarea").press("Enter");
    await this.chat.locator(".turn", { hasText: question }).locator(".actions").waitFor();
    return this.seen();
  }

  async renew() {
    await this.chat.locator(".menu-button, [aria-haspopup=menu]").click();
    await this.chat.locator("[role=menuitem]", { hasText: "New" }).click();
    await this.chat.locator(".question").first().waitFor({ state: "detached" });
  }

  async reopen() {
    await this.page.close();
    this.use(await this.context.newPage());
  }
}
