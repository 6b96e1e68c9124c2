// A visitor of a page with a bot check, in Chromium, with a stand-in for the provider's script. Returns
// what the visitor sees.

const html = (service, provider) => `<!doctype html><html lang="en"><title>A shop</title>
<link rel="icon" href="data:,">
<script src="/chat-widget.js" data-api-url="${service}/api/chat" data-open defer
  data-bot-check="${provider}:the-key" data-contact data-consent="I agree."></script>`;

// The box has one button. Each press gives a token that the provider has not given before.
const script = (provider, outcome) => `{
  let count = Number(sessionStorage.count ?? 0); // a reload does not begin again
  window.${provider} = {
    render(box, options) {
      const button = document.createElement("button");
      button.textContent = "I am human: " + options.sitekey + " " + options.action;
      button.onclick = () => {
        sessionStorage.count = count += 1;
        ${outcome === "pass" ? 'options.callback("good-" + count)' : 'options["error-callback"]()'};
      };
      box.append(button);
      return "box " + count;
    },
    remove() {},
  };
}`;

/** `outcome`: pass or fail. */
export default async function visit(browser, service, provider, outcome) {
  const page = await browser.newPage({ locale: "en-US" });
  const scripts = [];
  const shop = { body: html(service, provider), contentType: "text/html" };
  await page.route("**/shop", (route) => route.fulfill(shop));
  await page.route(/challenges\.cloudflare\.com|hcaptcha\.com/, (route) => {
    scripts.push(new URL(route.request().url()).host);
    return route.fulfill({ body: script(provider, outcome), contentType: "text/javascript" });
  });
  const chat = page.locator("kefu-chat");
  const human = page.getByRole("button", { name: "I am human" });
  await page.goto(`${service}/shop`);
  const ask = async (question) => {
    await chat.locator("textarea").fill(question);
    await chat.locator("textarea").press("Enter");
  };
  const ended = async (question) => {
    const turn = chat.locator(".turn", { hasText: question });
    await turn.locator(".actions, .trouble").first().waitFor();
  };
  await ask("first");
  await chat.locator(".consent").waitFor();
  const before = [...scripts];
  // A click right after the question is not taken for an agreement.
  while ((await chat.locator(".consent").count()) > 0) {
    await chat.getByRole("button", { name: "Agree" }).click({ timeout: 500 }).catch(() => {});
  }
  await human.waitFor();
  const label = await human.innerText();
  const [box, input] = [await human.boundingBox(), await chat.locator(".composer").boundingBox()];
  const isAbove = box.y + box.height <= input.y;
  await page.screenshot({ path: process.env.SHOTS ? `${process.env.SHOTS}/check.png` : undefined });
  await human.click();
  await ended("first");
  if (outcome === "pass") {
    await ask("second");
    await ended("second");
    await chat.locator("[aria-haspopup=menu]").click();
    await chat.locator("[role=menuitem]", { hasText: "Talk to a person" }).click();
    await chat.locator(".contact textarea").fill("Svalbard?");
    await chat.locator(".submit").click();
    await chat.locator(".sent").waitFor();
    // The next page has no pass, and its chat is the one of this page or none.
    await page.reload();
    const open = chat.getByRole("menuitem", { name: "Talk to a person", includeHidden: true });
    await open.waitFor({ state: "attached" });
    await open.evaluate((item) => item.click());
    await chat.locator(".contact textarea").fill("And Jan Mayen?");
    await chat.locator(".submit").click();
    await human.click();
    await chat.locator(".sent").waitFor();
  } else {
    await page.waitForFunction(() =>
      document
        .querySelector("kefu-chat")
        .shadowRoot.querySelector(".trouble")
        .textContent.startsWith("The check for robots"),
    );
  }
  const answers = await chat.locator("div.answer").allInnerTexts();
  const trouble = await chat.locator(".trouble").allInnerTexts();
  const left = await human.count();
  return { before, scripts, label, isAbove, answers, trouble, left };
}
