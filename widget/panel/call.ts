/** One call: its outcome, its times, its keys, and the bodies of request and response. */

import { copyButton, curl } from "./copy.ts";
import { changes, fields, messagesOf, type Told } from "./diff.ts";
import { type Child, el, svg } from "./dom.ts";
import { money, percent, seconds, t, tool, whole } from "./texts.ts";
import type { About, Call, Message } from "./types.ts";
import { findings, hasFailed, leftOut, reasons } from "./why.ts";

export interface Around {
  readonly messages: readonly Message[];
  /** The previous call whose request was stored. */
  readonly previous: Call | undefined;
  readonly about: About | undefined;
  /**
   * The number of a call among the calls of its message. A resent message leaves gaps.
   */
  readonly place: (call: Call) => number;
  /** The call comes from a log file, so it has no request. */
  readonly fromLog: boolean;
}

export function callCard(call: Call, around: Around): HTMLElement {
  const found = findings(call, around.messages);
  const level = found.some((one) => one.level === "bad") ? "bad" : "good";
  const heading = el(
    "h3",
    {},
    el("span", { className: `dot ${level}` }),
    t.call(around.place(call)),
    el("span", { className: "muted" }, brief(call)),
  );
  const why = el("ul", { className: "why" });
  for (const { level, text } of found) why.append(el("li", { className: level }, text));
  if (!found.length) why.append(el("li", { className: "fine" }, t.fine));
  const id = `c-${call.message_id}-${call.number}`;
  return el(
    "article",
    {
      className: "call",
      id,
      tabIndex: -1,
      ariaLabel: `${t.call(around.place(call))}: ${found[0]?.text ?? t.fine}`,
    },
    heading,
    why,
    timeline(call),
    tried(call),
    facts(call, around),
    ...(call.tools ?? []).map((one) =>
      el(
        "details",
        { className: "tool" },
        el("summary", {}, `${tool.tool}: ${one.tool}${one.ok ? "" : " ✗"}`),
        el("pre", { tabIndex: 0 }, one.input),
        el("pre", { tabIndex: 0 }, one.output),
      ),
    ),
    tabs(call, around, id),
  );
}

function brief(call: Call): string {
  const parts = [call.duration ? seconds(call.duration) : ""];
  if (call.prompt_tokens !== null) {
    parts.push(t.tokensN(`${whole(call.prompt_tokens)} + ${whole(call.completion_tokens ?? 0)}`));
  }
  return parts.filter(Boolean).join(" · ");
}

/** Attempts one after the other, then the wait for the first word, then the answer. */
function timeline(call: Call): Child {
  const total = Math.max(call.duration, call.ttft ?? 0, 0.001);
  if (!call.duration) return null;
  const attempts = call.meta.attempts ?? [];
  const parts: [string, number, number, string][] = [];
  let at = 0;
  for (const { key, outcome, ms, at: asked } of attempts) {
    if (asked !== undefined) at = asked / 1000;
    if (outcome === "ok") continue;
    parts.push(["failed", at, ms / 1000, `${key} ${outcome}`]);
    at += ms / 1000;
  }
  const first = call.ttft;
  if (first === null) {
    if (!call.error || attempts.length === 0) parts.push(["wait", at, total - at, t.waiting]);
  } else {
    parts.push(["wait", at, first - at, `${t.first} ${seconds(first)}`]);
    parts.push(["stream", first, total - first, `${t.streaming} ${seconds(total - first)}`]);
  }
  const label = parts
    .map(([, , length, what]) => `${what} ${seconds(Math.max(0, length))}`)
    .join(", ");
  const bar = svg("svg", {
    class: "bar",
    viewBox: "0 0 1000 14",
    preserveAspectRatio: "none",
    role: "img",
    "aria-label": label,
  });
  for (const [kind, start, length, what] of parts) {
    const x = Math.min(996, (1000 * start) / total);
    const width = Math.max(3, Math.min(1000 - x, (1000 * length) / total));
    bar.append(svg("rect", { class: kind, x, width, y: 0, height: 14 }, svg("title", {}, what)));
  }
  const legend = el("p", { className: "legend" });
  if (first !== null) {
    legend.append(el("span", { className: "k-wait" }, `${t.first} ${seconds(first)}`));
    legend.append(
      el(
        "span",
        { className: "k-stream" },
        `${t.streaming} ${seconds(Math.max(0, total - first))}`,
      ),
    );
  }
  legend.append(el("span", {}, `${t.total} ${seconds(call.duration)}`));
  return el("div", { className: "timeline" }, bar, legend);
}

function tried(call: Call): Child {
  const attempts = call.meta.attempts ?? [];
  if (!attempts.length) return null;
  const list = el("ol", { className: "tries" });
  for (const { key, outcome, ms, rested, failing, upstream, said } of attempts) {
    const notes = [seconds(ms / 1000), upstream, rested && t.rests, failing && t.state.failing];
    list.append(
      el(
        "li",
        { className: outcome === "ok" ? "ok" : hasFailed(outcome) ? "failed" : "" },
        el("code", {}, key || "–"),
        ` ${outcome}`,
        el("span", { className: "muted" }, ` ${notes.filter(Boolean).join(" · ")}`),
        said && el("pre", { className: "said" }, said),
      ),
    );
  }
  return list;
}

function facts(call: Call, around: Around): HTMLElement {
  const list = el("dl", { className: "facts" });
  const add = (name: string, value: Child) => {
    if (value) list.append(el("div", {}, el("dt", {}, name), el("dd", {}, value)));
  };
  const { meta } = call;
  add(t.finish, call.finish_reason ?? call.error?.code ?? "–");
  if (call.prompt_tokens !== null) {
    const [p, a] = [whole(call.prompt_tokens), whole(call.completion_tokens ?? 0)];
    add(t.byUsage, t.promptAnswer(p, a));
  }
  if (meta.local?.prompt) add(t.byCount, t.prompt(whole(meta.local.prompt)));
  add(t.window, share(call));
  add(t.trim, cut(call, around));
  const told = meta.history;
  if (told) add(t.history, t.historyN(told.read, told.told));
  add(t.passages, passages(call));
  add(t.cost, cost(call, around.about));
  add(t.model, modelOf(call));
  if (meta.config_id && meta.config_id !== "default") add(t.config, meta.config_id);
  if (meta.page) {
    const told = Object.entries(meta.page).map(([name, text]) => `${name}: ${text}`);
    add(t.page, told.join(" · "));
  }
  add(t.host, meta.host);
  if (meta.timings?.chunk_count) add(t.chunks, whole(meta.timings.chunk_count));
  if (meta.request_id) add(t.requestId, el("code", {}, meta.request_id));
  return list;
}

function share(call: Call): Child {
  const { local } = call.meta;
  const used = call.prompt_tokens ?? local?.prompt;
  if (!local?.window || !used) return null;
  const part = Math.min(1, used / local.window);
  const meter = svg(
    "svg",
    { class: "meter", viewBox: "0 0 100 6", preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("rect", { class: "ground", width: 100, height: 6, rx: 3 }),
    svg("rect", {
      class: part > 0.9 ? "failed" : "stream",
      width: Math.max(1, 100 * part),
      height: 6,
    }),
  );
  return el("span", {}, meter, t.ofWindow(whole(used), whole(local.window), percent(part)));
}

/** The passages of the site's pages that the model was given, and which of them it cited. */
function passages(call: Call): Child {
  const { knowledge } = call.meta;
  if (!knowledge) return null;
  const { passages: given, used, answered, words } = knowledge;
  const searched = words ? ` · ${t.searched(words)}` : "";
  if (given.length === 0) return t.nothingFound + searched;
  const said = answered ? t.cited(used.join(", ") || "–") : t.notAnswered;
  const items = given.map(({ n, title, heading, url, score, terms }) =>
    el(
      "li",
      {},
      el("b", {}, `[${n}] ${[title, heading].filter(Boolean).join(" › ")}`),
      ` · ${url} · ${score.toFixed(1)} · ${terms.join(", ")}`,
    ),
  );
  return el(
    "details",
    {},
    el("summary", {}, `${given.length} · ${said}${searched}`),
    el("ul", {}, ...items),
  );
}

function cut(call: Call, around: Around): Child {
  const { trimmed, local } = call.meta;
  if (!trimmed) return null;
  const room = trimmed.limit
    ? t.room(whole(trimmed.tokens), whole(trimmed.limit), local?.strategy ?? "")
    : "";
  if (!trimmed.dropped) return `${t.nothing}${room ? ` · ${room}` : ""}`;
  const list = el("ul", {});
  const known = leftOut(call, around.messages);
  for (const [start, stop, reason] of trimmed.left_out) {
    const ids = known?.find((_, n) => trimmed.left_out[n]?.[0] === start)?.ids ?? [];
    const [from, to] = [ids[0], ids.at(-1)];
    const where =
      from === undefined || to === undefined ? t.inPrompt(start, stop - 1) : t.position(from, to);
    list.append(el("li", {}, `${where}: ${t.reason[reason] ?? reason}`));
  }
  const summary = el("summary", {}, `${trimmed.dropped}: ${reasons(trimmed.reasons)} · ${room}`);
  return el("details", {}, summary, list);
}

/** Tokens by usage, or by own count where the upstream sends no usage. */
export function tokensOf(call: Call): number {
  const { local } = call.meta;
  const prompt = call.prompt_tokens ?? local?.prompt ?? 0;
  return prompt + (call.completion_tokens ?? local?.completion ?? 0);
}

export function cost(call: Call, about: About | undefined): string {
  if (!about || (about.price_input === null && about.price_output === null)) return "";
  const used = call.prompt_tokens ?? call.meta.local?.prompt ?? 0;
  const made = call.completion_tokens ?? call.meta.local?.completion ?? 0;
  return money((used * (about.price_input ?? 0) + made * (about.price_output ?? 0)) / 1e6);
}

function modelOf(call: Call): string {
  const body = parsed(call.request) as { model?: unknown } | undefined;
  const said = (call.response as { model?: unknown } | null)?.model;
  return call.meta.model || String(body?.model ?? said ?? "");
}

function tabs(call: Call, around: Around, id: string): HTMLElement {
  const kinds: [string, () => HTMLElement][] = [
    [t.request, () => request(call, around)],
    [t.response, () => block(call.response)],
    [t.error, () => (call.error ? block(call.error) : el("p", { className: "muted" }, t.noError))],
    [t.diff, () => difference(call, around)],
  ];
  const list = el("div", { role: "tablist", ariaLabel: t.call(around.place(call)) });
  const panel = el("div", { role: "tabpanel", id: `${id}-panel`, hidden: true, tabIndex: 0 });
  const select = (index: number, open: boolean) => {
    [...list.children].forEach((node, n) => {
      node.setAttribute("aria-selected", String(open && n === index));
      node.setAttribute("tabindex", n === index ? "0" : "-1");
    });
    panel.hidden = !open;
    const kind = kinds[index];
    if (open && kind) {
      panel.replaceChildren(kind[1]());
      panel.setAttribute("aria-labelledby", `${id}-tab-${index}`);
    }
  };
  kinds.forEach(([name], index) => {
    const tab = el("button", { type: "button", role: "tab", id: `${id}-tab-${index}` }, name);
    tab.setAttribute("aria-controls", panel.id);
    tab.addEventListener("click", () => {
      select(index, tab.getAttribute("aria-selected") !== "true");
    });
    tab.addEventListener("keydown", ({ key }) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[key];
      if (!step) return;
      const next = (index + step + kinds.length) % kinds.length;
      select(next, true);
      (list.children[next] as HTMLElement).focus();
    });
    list.append(tab);
  });
  select(0, false);
  return el("div", { className: "tabs" }, list, panel);
}

function request(call: Call, around: Around): HTMLElement {
  const sent = call.request;
  if (sent === null)
    return el("p", { className: "muted" }, around.fromLog ? t.noRequest : t.notKept);
  const body = parsed(sent);
  return el(
    "div",
    {},
    el(
      "p",
      { className: "tools" },
      el("span", { className: "muted" }, call.meta.redacted ? t.redacted : t.pretty),
      copyButton(t.copy, () => sent),
      copyButton(t.curl, () => curl(call)),
    ),
    el("pre", { tabIndex: 0 }, body === undefined ? sent : JSON.stringify(body, null, 2)),
  );
}

function block(value: unknown): HTMLElement {
  if (value === null || value === undefined) return el("p", { className: "muted" }, t.notKept);
  const text = typeof value === "string" ? value : JSON.stringify(value, null, 2);
  return el(
    "div",
    {},
    el(
      "p",
      { className: "tools" },
      copyButton(t.copy, () => text),
    ),
    el("pre", { tabIndex: 0 }, text),
  );
}

function difference(call: Call, around: Around): HTMLElement {
  const { previous } = around;
  if (call.request === null) {
    return el("p", { className: "muted" }, around.fromLog ? t.noRequest : t.notKept);
  }
  if (!previous) return el("p", { className: "muted" }, t.noPrevious);
  const [before, after] = [parsed(previous.request), parsed(call.request)];
  const node = el(
    "div",
    { className: "diff" },
    el("p", { className: "muted" }, t.against(around.place(previous), previous.message_id)),
  );
  for (const [name, was, is] of fields(before, after)) {
    node.append(
      el(
        "p",
        { className: "field" },
        el("code", {}, name),
        ": ",
        el("del", {}, was),
        " ",
        el("ins", {}, is),
      ),
    );
  }
  for (const { kind, messages } of changes(messagesOf(before), messagesOf(after))) {
    if (kind === "same") node.append(el("p", { className: "muted same" }, t.same(messages.length)));
    else for (const message of messages) node.append(changed(kind, message));
  }
  return node;
}

function changed(kind: "gone" | "new", { role, content }: Told): HTMLElement {
  const sign = kind === "new" ? "+" : "−";
  const inner = el(kind === "new" ? "ins" : "del", {}, content);
  return el("div", { className: `change ${kind}` }, el("span", {}, `${sign} ${role}`), inner);
}

function parsed(text: string | null): unknown {
  try {
    return text === null ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}
