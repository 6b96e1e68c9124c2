/** The last question is changed by ↑ in the empty text field (W24). */

import { expect, test } from "vitest";
import { answer, chunk, inSession, type Play } from "../scripted-service.ts";
import { violations } from "./axe.ts";
import { eventually, stage } from "./harness.ts";

const it = stage();

async function asked(...plays: readonly Play[]) {
  it.service.script(...plays);
  const visit = await it.visit({}, { reducedMotion: "reduce" });
  await visit.send("Do you ship to Norwy?");
  await visit.page.locator("kefu-chat .actions").waitFor();
  const editing = visit.page.locator("kefu-chat .editing");
  /** ↑, once the file that listens to it is there. */
  const up = async (): Promise<void> => {
    await eventually(async () => {
      await visit.input.press("ArrowUp");
      return editing.count();
    }, 1);
  };
  return { ...visit, editing, up, questions: visit.page.locator("kefu-chat .question") };
}

test("a changed question takes the place of the last one, where chats are not stored (W24)", async () => {
  const { input, up, editing, page, questions, answers, idle, errors } = await asked(
    answer(["No."]),
    answer(["Yes."]),
  );
  await up();
  expect(await input.inputValue()).toBe("Do you ship to Norwy?");
  expect(await editing.innerText()).toBe("You are changing your last question");
  expect(await violations(page)).toEqual([]);
  await input.fill("Do you ship to Norway?");
  await input.press("Enter");
  await eventually(() => answers.allInnerTexts(), ["Yes."]);
  await idle();
  expect(await questions.allInnerTexts()).toEqual(["You:\nDo you ship to Norway?"]);
  expect(await editing.count()).toBe(0);
  expect(await input.inputValue()).toBe("");
  expect(it.service.received[1]?.body.messages).toEqual([
    { role: "user", content: "Do you ship to Norway?" },
  ]);
  expect(errors).toEqual([]);
});

test("of a stored chat, the service replaces the question (W24)", async () => {
  it.service.kept = [];
  const { input, up, answers, idle, page } = await asked(
    inSession(answer(["No."]), "s1", "t"),
    inSession(answer(["Yes."]), "s1", "t"),
    inSession(answer(["Still yes."]), "s1", "t"),
  );
  await up();
  await input.fill("Do you ship to Norway?");
  await page.locator("kefu-chat .act").click();
  await eventually(() => answers.allInnerTexts(), ["Yes."]);
  await idle();
  await page.locator("kefu-chat .again").click();
  await eventually(() => answers.allInnerTexts(), ["Still yes."]);
  const [first, second, third] = it.service.received.map(({ body }) => body);
  expect(second).toMatchObject({
    message: "Do you ship to Norway?",
    session_id: "s1",
    again: first?.client_message_id,
  });
  expect(second?.client_message_id).not.toBe(first?.client_message_id);
  expect(third).toMatchObject({ again: first?.client_message_id });
});

test("Escape and the button leave the question as it was, and the panel open (W24)", async () => {
  const { input, up, editing, page, panel, questions, answers, send } = await asked(
    answer(["No."]),
    answer(["Yes."]),
  );
  await up();
  await input.press("Escape");
  await editing.waitFor({ state: "detached" });
  expect(await panel.isVisible()).toBe(true);
  expect(await input.inputValue()).toBe("");
  await up();
  await page.getByRole("button", { name: "Leave it as it was" }).click();
  await editing.waitFor({ state: "detached" });
  await send("And to Sweden?");
  await eventually(() => answers.allInnerTexts(), ["No.", "Yes."]);
  expect(await questions.count()).toBe(2);
});

test("↑ in a text, and during an answer, changes nothing (W24)", async () => {
  const { input, editing, send, up } = await asked(answer(["No."]), {
    acts: [{ send: chunk("Ye") }, "silence"],
  });
  await up();
  await input.fill("");
  await editing.waitFor({ state: "detached" });
  await input.fill("A draft");
  await input.press("ArrowUp");
  expect(await editing.count()).toBe(0);
  await send("And to Sweden?");
  await input.press("ArrowUp");
  expect(await editing.count()).toBe(0);
  expect(await input.inputValue()).toBe("");
});
