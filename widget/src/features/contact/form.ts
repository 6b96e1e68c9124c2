/** The form with which a visitor asks for a person. The form is part of the conversation. */

import type { AnswerTexts } from "../../answer/english.ts";
import { opensAgain } from "../../answer/opening.ts";
import type { Texts } from "../../open/english.ts";
import { own } from "../../open/own.ts";
import type { KeptChat } from "../../open/transport/transport.ts";
import { uuid } from "../../open/uuid.ts";
import { element } from "../../open/view/dom.ts";
import type { ContactTexts } from "./english.ts";

type Request = KeptChat["request"];
type Words = Texts & Pick<AnswerTexts, "failed"> & ContactTexts;

/** The longest question that the service accepts, in characters. */
const LONGEST = 4_000;

/**
 * Shows the form at the end of `log`; an existing form is focused again. `hasChat`: whether the
 * conversation goes with the request.
 */
export async function showForm(
  log: Element,
  texts: Words,
  speak: (text: string) => void,
  request: Request,
  message: string,
  hasChat: boolean,
  sent: () => void,
): Promise<void> {
  const open = log.querySelector<HTMLFormElement>(".contact");
  if (open) return focus(open);
  const response = await request("/contact");
  const form = response?.ok ? await response.json().catch(() => undefined) : undefined;
  const link = linkOf(form);
  if (link) {
    element("a", { href: link, target: "_blank", rel: "noopener" }).click();
    return;
  }
  const fields = own(form, "fields");
  if (!Array.isArray(fields) || fields.length === 0) {
    speak(texts.failed);
    const line = element("p", { className: "trouble contact-failed" }, texts.failed);
    log.querySelector(".contact-failed")?.remove();
    log.append(line);
    line.scrollIntoView({ block: "nearest" });
    return;
  }
  // The visitor may have pressed the button twice.
  for (const gone of log.querySelectorAll(".contact, .contact-failed, .handoff")) gone.remove();
  const consent = `${own(form, "consent") ?? ""}`;
  const opens = opensAgain(texts, own(form, "opens_at"));
  const node = contactForm(texts, speak, request, fields, consent, opens, message, hasChat, sent);
  log.append(node);
  focus(node);
}

function focus(form: HTMLFormElement): void {
  form.scrollIntoView({ block: "nearest" });
  form.querySelector<HTMLElement>("input, textarea")?.focus();
}

function contactForm(
  texts: Words,
  speak: (text: string) => void,
  request: Request,
  fields: readonly unknown[],
  consent: string,
  opens: string,
  message: string,
  hasChat: boolean,
  done: () => void,
): HTMLFormElement {
  const id = uuid();
  const trouble = element("p", { className: "trouble", hidden: true }, texts.failed);
  const submit = element("button", { type: "submit", className: "submit" }, texts.send);
  const labels = fields.flatMap((name) => labelOf(texts, name, message));
  const agreed = element("input", { type: "checkbox", name: "consent", required: true });
  const agreement = element(
    "label",
    { className: "check" },
    agreed,
    element("span", { dir: "auto" }, consent),
  );
  const send = async (): Promise<void> => {
    submit.ariaDisabled = "true";
    const given = Object.fromEntries(new FormData(form));
    const response = await request("/contact", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ ...given, consent: agreed.checked, client_message_id: id }),
    });
    submit.ariaDisabled = null;
    if (response?.status === 204) {
      const text = [texts.requestSent, opens].filter(Boolean).join(" ");
      const sent = element("p", { className: "sent", tabIndex: -1 }, text);
      form.replaceWith(sent);
      sent.focus();
      done();
      return;
    }
    trouble.hidden = false;
    speak(texts.failed);
  };
  const form = element(
    "form",
    {
      className: "contact",
      ariaLabel: texts.person,
      onsubmit: (event: SubmitEvent) => {
        event.preventDefault();
        if (submit.ariaDisabled) return;
        trouble.hidden = true;
        send();
      },
    },
    element("h3", {}, texts.weWrite),
    ...(opens ? [element("p", { className: "opens" }, opens)] : []),
    ...(hasChat ? [element("p", { className: "quiet" }, texts.goesWith)] : []),
    ...labels,
    ...(consent ? [agreement] : []),
    trouble,
    submit,
  );
  return form;
}

function labelOf(texts: Words, name: unknown, message: string): HTMLElement[] {
  if (name === "message") {
    const value = message.slice(0, LONGEST);
    const area = { name, rows: 3, maxLength: LONGEST, required: true, value };
    const field = element("textarea", { ...area, dir: "auto" });
    return [element("label", {}, texts.yourQuestion, field)];
  }
  if (name === "email") {
    const input = { name, type: "email", maxLength: 254, required: true, dir: "ltr" };
    const field = element("input", { ...input, autocomplete: "email" });
    return [element("label", {}, texts.email, field)];
  }
  if (name === "name") {
    const input = { name, maxLength: 200, required: true, dir: "auto" };
    const field = element("input", { ...input, autocomplete: "name" });
    return [element("label", {}, texts.yourName, field)];
  }
  return [];
}

/** The link to a person that the service names, if its scheme is allowed. */
export function linkOf(form: unknown): string | undefined {
  const link = own(form, "link");
  return typeof link === "string" && /^(https|mailto|tel):/.test(link) ? link : undefined;
}
