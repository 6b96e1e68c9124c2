/** Pictures of the visitor (W21). */

import type { BrowserContextOptions, Locator } from "playwright-core";
import { expect, test } from "vitest";
import { sizeOf } from "../../src/features/images/header.ts";
import { answer, inSession, type Play } from "../scripted-service.ts";
import { pageWith } from "../site.ts";
import { violations } from "./axe.ts";
import { eventually, stage, testInChromium, type Visit } from "./harness.ts";
import { jpeg, PLACE, photo, type Upload, upload, withExif } from "./photos.ts";

const it = stage();

const QUIET: BrowserContextOptions = { reducedMotion: "reduce" };

async function visit(
  attributes: Readonly<Record<string, string>> = {},
  options: BrowserContextOptions = {},
) {
  const visit = await it.visit({ "data-images": "on", ...attributes }, { ...QUIET, ...options });
  return { ...visit, ...partsOf(visit) };
}

function partsOf({ page }: Visit) {
  const tray = page.locator("kefu-chat .tray");
  const field = page.locator("kefu-chat input[type=file]");
  const thumbs = tray.locator("canvas");
  const choose = (...files: readonly Upload[]) => upload(page, ...files);
  const refused = tray.locator(".refused");
  return { tray, field, thumbs, choose, refused };
}

/** The pictures in the message that came as number `at`. */
function sent(at = 0): readonly Buffer[] {
  return (it.service.received[at]?.body.images ?? []).map((url) => {
    expect(url).toMatch(/^data:image\/jpeg;base64,/);
    return Buffer.from(url.split(",")[1] as string, "base64");
  });
}

/** The colour in the middle of the left and the right half of a canvas. */
function halves(canvas: Locator): Promise<readonly string[]> {
  return canvas.evaluate((node) => {
    const { width, height } = node as HTMLCanvasElement;
    const context = (node as HTMLCanvasElement).getContext("2d") as CanvasRenderingContext2D;
    return [width / 4, (width * 3) / 4].map((x) => {
      const [red = 0, , blue = 0, alpha] = context.getImageData(x, height / 2, 1, 1).data;
      if (alpha === 0) return "none";
      return red > blue ? "red" : "blue";
    });
  });
}

test("a chosen picture goes with the question, is shown in it, and the tray is empty again (W21)", async () => {
  it.service.script(answer(["A red and a blue half."]), answer(["You are welcome."]));
  const { page, choose, thumbs, tray, input, send, answers, idle, errors } = await visit();
  const placeholder = await input.getAttribute("placeholder");
  await choose(jpeg(await photo(page, 1_000, 500)));
  await eventually(() => halves(thumbs.first()), ["red", "blue"]);
  expect(await input.getAttribute("placeholder")).toBe("Ask about the picture…");
  expect(await tray.innerText()).toContain("The AI sees the picture");
  expect(await violations(page)).toEqual([]);
  await send("What is this?");
  await eventually(() => answers.allInnerTexts(), ["A red and a blue half."]);
  const [picture] = sent();
  expect(sizeOf(picture as Buffer)).toEqual({ width: 1_000, height: 500 });
  expect(it.service.received[0]?.body.messages).toEqual([
    { role: "user", content: "What is this?" },
  ]);
  const shown = page.locator("kefu-chat .question canvas");
  await eventually(() => halves(shown), ["red", "blue"]);
  expect(await shown.getAttribute("aria-label")).toBe("photo.jpg");
  expect(await tray.isVisible()).toBe(false);
  expect(await input.getAttribute("placeholder")).toBe(placeholder);
  await idle();
  expect(await violations(page)).toEqual([]);
  await send("Thank you");
  await eventually(() => it.service.received.length, 2);
  expect(it.service.received[1]?.body.images).toBeUndefined();
  expect(errors).toEqual([]);
});

test("a picture alone is sent, by the button and by Enter, and nothing is sent without one (W21)", async () => {
  it.service.script(answer(["A red and a blue half."]), answer(["The same."]));
  const { page, choose, thumbs, tray, input, act, answers, idle, errors } = await visit();
  const picture = jpeg(await photo(page, 100, 50));
  const disabled = () => act.getAttribute("aria-disabled");
  await choose(picture);
  await eventually(disabled, "false");
  await tray.locator(".remove").click();
  await eventually(disabled, "true");
  await choose(picture);
  await eventually(() => thumbs.count(), 1);
  await act.click();
  await eventually(() => answers.allInnerTexts(), ["A red and a blue half."]);
  await idle();
  expect(await disabled()).toBe("true");
  await input.press("Enter");
  await choose(picture);
  await eventually(disabled, "false");
  await input.press("Enter");
  await eventually(() => answers.allInnerTexts(), ["A red and a blue half.", "The same."]);
  expect(it.service.received.map(({ body }) => body.messages?.at(-1)?.content)).toEqual([
    "Picture",
    "Picture",
  ]);
  expect([sent(0).length, sent(1).length]).toEqual([1, 1]);
  expect(await input.inputValue()).toBe("");
  expect(errors).toEqual([]);
});

test("a photo of 40 megapixels is sent small, upright, and without what the camera knows (W21)", async () => {
  it.service.script(answer(["Fine."]));
  const { page, choose, thumbs, send, answers, errors } = await visit();
  const photograph = withExif(await photo(page, 7_360, 5_520));
  expect(photograph.includes(PLACE)).toBe(true);
  await choose(jpeg(photograph));
  await eventually(
    () => thumbs.first().evaluate((node) => (node as HTMLCanvasElement).height),
    192,
  );
  await send("What is this?");
  await eventually(() => answers.allInnerTexts(), ["Fine."]);
  const [picture] = sent() as [Buffer];
  expect(sizeOf(picture)).toEqual({ width: 1_176, height: 1_568 });
  expect(picture.length).toBeLessThanOrEqual(1_000_000);
  expect(picture.includes(PLACE)).toBe(false);
  expect(picture.includes("Exif")).toBe(false);
  expect(errors).toEqual([]);
});

test("a picture that is hard to compress becomes small enough, and a PNG loses its transparency (W21)", async () => {
  it.service.script(answer(["Fine."]));
  const { page, choose, thumbs, send, answers } = await visit();
  const noise = await photo(page, 2_000, 2_000, "image/png", true);
  expect(noise.length).toBeGreaterThan(10_000_000);
  const webp = await photo(page, 300, 200, "image/webp");
  await choose(
    { name: "noise.png", mimeType: "image/png", buffer: noise },
    { name: "small.webp", mimeType: "image/webp", buffer: webp },
  );
  await eventually(() => thumbs.count(), 2);
  await send("What are these?");
  await eventually(() => answers.allInnerTexts(), ["Fine."]);
  const [first, second] = sent() as [Buffer, Buffer];
  expect(first.length).toBeLessThanOrEqual(1_000_000);
  expect(sizeOf(second)).toEqual({ width: 300, height: 200 });
});

// In Firefox, an event that a script has made has no files to paste.
testInChromium(
  "pasted and dropped pictures come into the tray; pasted text stays text (W21)",
  async () => {
    const { page, input, panel, field, thumbs } = await visit();
    await field.waitFor({ state: "attached" });
    const picture = (await photo(page, 60, 40, "image/png")).toString("base64");
    const give = (target: Locator, type: string, text: string) =>
      target.evaluate(
        (node, [base64, type, text]) => {
          const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
          const given = new DataTransfer();
          given.items.add(new File([bytes], "image.png", { type: "image/png" }));
          if (text) given.setData("text/plain", text);
          const common = { bubbles: true, cancelable: true };
          const event =
            type === "paste"
              ? new ClipboardEvent(type, { ...common, clipboardData: given })
              : new DragEvent(type, { ...common, dataTransfer: given });
          node.dispatchEvent(event);
          return event.defaultPrevented;
        },
        [picture, type, text] as const,
      );
    expect(await give(input, "paste", "")).toBe(true);
    await eventually(() => thumbs.count(), 1);
    expect(await give(panel, "dragover", "")).toBe(true);
    await page.locator("kefu-chat .panel.receives").waitFor();
    expect(await give(panel, "drop", "")).toBe(true);
    await eventually(() => thumbs.count(), 2);
    expect(await page.locator("kefu-chat .panel.receives").count()).toBe(0);
    expect(await give(input, "paste", "A1\tB1")).toBe(false);
    expect(await thumbs.count()).toBe(2);
  },
);

const HEIC = Buffer.concat([
  Buffer.from("\0\0\0\x18ftypheic\0\0\0\0mif1heic\0\0\0\x14ispe\0\0\0\0", "latin1"),
  Buffer.from([0, 0, 0x0f, 0xc0, 0, 0, 0x0b, 0xd0]),
]);

/** A PNG whose header claims 20,000 × 20,000 pixels. */
function huge(): Buffer {
  const header = Buffer.from("\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0N \0\0N \x08\x02\0\0\0", "latin1");
  return Buffer.concat([header, Buffer.alloc(40)]);
}

const CANNOT = "This file cannot be sent. Pictures in JPEG, PNG or WebP can.";

test.each([
  ["photo.heic", "image/heic", HEIC, CANNOT],
  [
    "drawing.svg",
    "image/svg+xml",
    Buffer.from("<svg xmlns='http://www.w3.org/2000/svg'/>"),
    CANNOT,
  ],
  ["scan.jpg", "image/jpeg", Buffer.from("%PDF-1.7 and more"), CANNOT],
  ["broken.jpg", "image/jpeg", Buffer.from("\xff\xd8\xff\xe0\0\x10JFIF\0", "latin1"), CANNOT],
  ["map.png", "image/png", huge(), "This picture is too large to be sent."],
])(
  "%s is refused with a sentence, and the others are taken (W21)",
  async (name, mimeType, buffer, sentence) => {
    const { page, choose, thumbs, refused, input, errors } = await visit();
    await choose({ name, mimeType, buffer }, jpeg(await photo(page, 60, 40)));
    await eventually(() => refused.innerText(), `${name}: ${sentence}`);
    await eventually(() => thumbs.count(), 1);
    await page
      .locator("kefu-chat [role=status]")
      .getByText(sentence)
      .waitFor({ state: "attached" });
    expect(await input.inputValue()).toBe("");
    expect(await violations(page)).toEqual([]);
    expect(errors).toEqual([]);
  },
);

test("three pictures at most; each is removed by keyboard, and the focus stays near (W21)", async () => {
  const { page, choose, thumbs, refused, tray, input } = await visit();
  const one = await photo(page, 60, 40);
  await choose(...["a.jpg", "b.jpg", "c.jpg", "d.jpg"].map((name) => jpeg(one, name)));
  await eventually(
    () => refused.allInnerTexts(),
    ["At most three pictures can be sent with a question."],
  );
  expect(await thumbs.count()).toBe(3);
  const label = () => tray.locator("button:focus").getAttribute("aria-label");
  await tray.getByRole("button", { name: "Remove the picture: b.jpg" }).press("Enter");
  expect(await label()).toBe("Remove the picture: a.jpg");
  expect(await page.locator("kefu-chat [role=status]").innerText()).toBe("Pictures to send: 2");
  await page.keyboard.press("Space");
  expect(await label()).toBe("Remove the picture: c.jpg");
  await page.keyboard.press("Enter");
  expect(await tray.isVisible()).toBe(false);
  expect(await input.evaluate((node) => node.matches(":focus"))).toBe(true);
});

test("three large pictures in a question leave the conversation at its end (W8, W21)", async () => {
  it.service.script(answer(["Fine."]));
  const { page, choose, thumbs, send, answers } = await visit();
  const tall = await photo(page, 400, 900);
  await choose(
    jpeg(tall, "a.jpg"),
    jpeg(tall, "b.jpg"),
    jpeg(await photo(page, 900, 400), "c.jpg"),
  );
  await eventually(() => thumbs.count(), 3);
  await send("What are these, and which of them do you have in green? ".repeat(9));
  await eventually(() => answers.allInnerTexts(), ["Fine."]);
  await page.locator("kefu-chat .actions").waitFor();
  const shown = page.locator("kefu-chat .question canvas");
  await eventually(() => halves(shown.last()), ["red", "blue"]);
  const gap = await page
    .locator("kefu-chat .log")
    .evaluate(
      ({ scrollHeight, scrollTop, clientHeight }) => scrollHeight - scrollTop - clientHeight,
    );
  expect(Math.abs(gap)).toBeLessThanOrEqual(2);
});

test("a cut line sends the question again with its pictures, as one message (W21)", async () => {
  it.service.script({ acts: ["reset"] }, answer(["A jacket."]));
  const { page, choose, thumbs, send, answers, retry, idle } = await visit();
  await choose(jpeg(await photo(page, 60, 40)));
  await eventually(() => thumbs.count(), 1);
  await send("What is this?");
  await retry.click();
  await eventually(() => answers.allInnerTexts(), ["A jacket."]);
  await idle();
  const [first, second] = it.service.received.map(({ body }) => body);
  expect(it.service.received).toHaveLength(2);
  expect(first?.images).toHaveLength(1);
  expect(second).toEqual(first);
  expect(await page.locator("kefu-chat .question canvas").count()).toBe(1);
});

const KEPT = [
  {
    role: "user",
    content: "What is this?",
    status: "ok",
    images: [{ id: "1-0", type: "image/jpeg", width: 60, height: 40 }],
  },
  { role: "assistant", content: "A jacket.", status: "ok" },
] as const;

async function reloaded(...plays: readonly Play[]) {
  it.service.script(inSession(answer(["A jacket."]), "s1", "t1"), ...plays);
  it.service.kept = [];
  const first = await visit();
  const { page, choose, thumbs, send, idle } = first;
  const picture = await photo(page, 60, 40);
  it.service.pictures.set("1-0", picture);
  await choose(jpeg(picture));
  await eventually(() => thumbs.count(), 1);
  await send("What is this?");
  await page.locator("kefu-chat .actions").waitFor();
  await idle();
  it.service.kept = KEPT;
  await page.reload();
  await page.locator("kefu-chat .panel").waitFor();
  return { ...first, shown: page.locator("kefu-chat .question canvas") };
}

test("after a reload of a stored chat its pictures come from the service, with the chat's token (W21)", async () => {
  const { shown, errors } = await reloaded();
  await eventually(() => halves(shown), ["red", "blue"]);
  expect(it.service.looked.filter((line) => line.includes("/images/"))).toEqual([
    "GET /api/sessions/s1/images/1-0 t1",
  ]);
  expect(errors).toEqual([]);
});

test("a picture that the service has lost does not take the chat with it (W21)", async () => {
  const { page, shown, answers } = await reloaded();
  await eventually(() => shown.count(), 1);
  it.service.pictures.clear();
  await page.reload();
  await page.locator("kefu-chat .question").getByText("The picture is not here any more").waitFor();
  expect(await answers.allInnerTexts()).toEqual(["A jacket."]);
});

test("a changed question keeps its pictures, or goes without those that are removed (W21)", async () => {
  const again = (text: string) => inSession(answer([text]), "s1", "t1");
  const { page, input, thumbs, tray, answers, idle } = await reloaded(
    again("Blue."),
    again("None."),
  );
  const up = async (): Promise<void> => {
    await eventually(async () => {
      await input.press("ArrowUp");
      return page.locator("kefu-chat .editing").count();
    }, 1);
  };
  await up();
  await eventually(() => halves(thumbs.first()), ["red", "blue"]);
  await input.press("Escape");
  expect(await tray.isVisible()).toBe(false);
  await up();
  await eventually(() => thumbs.count(), 1);
  await input.fill("Which colour is it?");
  await input.press("Enter");
  await eventually(() => answers.allInnerTexts(), ["Blue."]);
  await idle();
  expect(sizeOf(sent(1)[0] as Buffer)).toEqual({ width: 60, height: 40 });
  await up();
  await tray.getByRole("button").click();
  await input.fill("And without?");
  await input.press("Enter");
  await eventually(() => answers.allInnerTexts(), ["None."]);
  expect(it.service.received[2]?.body.images).toEqual([]);
  expect(await page.locator("kefu-chat .question canvas").count()).toBe(0);
});

test("a service without images tells the visitor, and the next question goes without them (W21)", async () => {
  const refusal = { code: "invalid_request", message: "Pictures are off here", param: "images" };
  it.service.script(
    { status: 400, acts: [{ send: JSON.stringify({ error: refusal }) }] },
    answer(["Fine."]),
  );
  const { page, choose, thumbs, send } = await visit();
  await choose(jpeg(await photo(page, 100, 50)));
  await thumbs.first().waitFor();
  await send("What is this?");
  const sentence = "The question was refused with its pictures. Please send it without them.";
  const note = page.locator("kefu-chat .trouble");
  await eventually(() => note.allInnerTexts(), [sentence]);
  await eventually(() => page.locator("kefu-chat [role=status]").innerText(), sentence);
  await send("What is a tent?");
  await eventually(() => page.locator("kefu-chat .turn:last-child .answer").innerText(), "Fine.");
});

test("a policy without any source of images is enough (W14, W21)", async () => {
  it.service.script(answer(["Fine."]));
  const attributes = { "data-api-url": it.service.url, "data-open": "", "data-images": "on" };
  const policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self' http://127.0.0.1:*;" +
    " require-trusted-types-for 'script'";
  const html = pageWith(attributes).replace(/<link rel="icon"[^>]*>/, "");
  const visit = await it.open(it.site.page("/bare", html, "", policy), QUIET);
  const { choose, thumbs } = partsOf(visit);
  const { page, send, answers, errors } = visit;
  await choose(jpeg(await photo(page, 60, 40)));
  await eventually(() => halves(thumbs.first()), ["red", "blue"]);
  await send("What is this?");
  await eventually(() => answers.allInnerTexts(), ["Fine."]);
  await eventually(() => halves(page.locator("kefu-chat .question canvas")), ["red", "blue"]);
  expect(errors.filter((error) => !error.includes("favicon"))).toEqual([]);
});

test("without data-images there is no button, and its file is not fetched (W21)", async () => {
  it.service.script(answer(["Hello."]));
  const { page, send, answers, requests } = await it.visit({ "data-images": "off" }, QUIET);
  await send("Hello");
  await eventually(() => answers.allInnerTexts(), ["Hello."]);
  expect(await page.locator("kefu-chat input[type=file]").count()).toBe(0);
  expect(requests.filter((url) => url.includes("chat-widget-answer"))).toHaveLength(1);
  expect(requests.filter((url) => url.includes("images"))).toEqual([]);
});

const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true };

test.each([
  ["ar", "light", {}],
  ["en", "dark", PHONE],
  ["zh-CN", "dark", {}],
] as const)("axe finds nothing with pictures: %s, %s (W11, W21)", async (lang, theme, options) => {
  it.service.script(answer(["1"]));
  const visited = await visit({ "data-lang": lang, "data-theme": theme, "data-open": "" }, options);
  const { page, launcher, panel, choose, thumbs, refused, send, answers } = visited;
  if (!(await panel.isVisible())) await launcher.click();
  await choose(jpeg(await photo(page, 90, 60)), {
    name: "drawing.svg",
    mimeType: "image/svg+xml",
    buffer: Buffer.from("<svg/>"),
  });
  await refused.waitFor();
  await eventually(() => thumbs.count(), 1);
  expect(await violations(page)).toEqual([]);
  if (lang !== "en") expect(await visited.tray.innerText()).not.toMatch(/cannot|picture/i);
  await send("2");
  await eventually(() => answers.allInnerTexts(), ["1"]);
  await page.locator("kefu-chat .actions").waitFor();
  expect(await violations(page)).toEqual([]);
});
