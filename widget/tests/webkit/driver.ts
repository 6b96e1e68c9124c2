/** WebKitGTK's browser, driven by the W3C WebDriver protocol on a display that nobody sees. */

import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { delimiter, join } from "node:path";
import type { Readable } from "node:stream";

const PROGRAMS = ["WebKitWebDriver", "Xvfb"];

const KEYS = { Enter: "\uE007", Escape: "\uE00C", Tab: "\uE004", Shift: "\uE008" } as const;

type Key = keyof typeof KEYS;

/** Those that are not installed. */
export const MISSING = PROGRAMS.filter(
  (name) =>
    !(process.env.PATH ?? "").split(delimiter).some((folder) => existsSync(join(folder, name))),
);

export class WebKit {
  readonly version: string;
  readonly #session: string;
  readonly #processes: readonly ChildProcess[];

  private constructor(session: string, version: string, processes: readonly ChildProcess[]) {
    [this.#session, this.version, this.#processes] = [session, version, processes];
  }

  static async start(): Promise<WebKit> {
    const display = spawn("Xvfb", ["-displayfd", "1", "-screen", "0", "1400x1000x24"], {
      stdio: ["ignore", "pipe", "ignore"],
    });
    const DISPLAY = `:${await firstLine(display.stdout)}`;
    const port = await freePort();
    const driver = spawn("WebKitWebDriver", [`--port=${port}`], {
      stdio: "ignore",
      env: { ...process.env, DISPLAY, GDK_BACKEND: "x11" },
    });
    const address = `http://127.0.0.1:${port}/session`;
    const capabilities = { alwaysMatch: { timeouts: { script: 60_000 } } };
    const started = (await asSoonAsItListens(() => send("POST", address, { capabilities }))) as {
      sessionId: string;
      capabilities: { browserVersion: string };
    };
    const session = `${address}/${started.sessionId}`;
    return new WebKit(session, started.capabilities.browserVersion, [driver, display]);
  }

  async goto(url: string): Promise<void> {
    await send("POST", `${this.#session}/url`, { url });
  }

  async back(): Promise<void> {
    await send("POST", `${this.#session}/back`, {});
  }

  /** Calls a function in the page; its arguments and its result are JSON. */
  run<Given extends readonly unknown[], Result>(
    called: (...given: Given) => Result,
    ...given: Given
  ): Promise<Awaited<Result>> {
    const script = `const done = arguments[arguments.length - 1];
      Promise.resolve((${called})(...Array.prototype.slice.call(arguments, 0, -1))).then(done);`;
    return this.evaluate(script, given) as Promise<Awaited<Result>>;
  }

  /** Runs a script in the page; its result is what the script gives to its last argument. */
  evaluate(script: string, args: readonly unknown[] = []): Promise<unknown> {
    return send("POST", `${this.#session}/execute/async`, { script, args });
  }

  /** Types text, or one key, which may be held together with Shift. */
  async type(text: string): Promise<void> {
    await this.#keys([...text]);
  }

  async press(key: Key, held?: Key): Promise<void> {
    await this.#keys([KEYS[key]], held && KEYS[held]);
  }

  async #keys(keys: readonly string[], held?: string): Promise<void> {
    const down = (value: string) => ({ type: "keyDown", value });
    const up = (value: string) => ({ type: "keyUp", value });
    const pressed = keys.flatMap((key) => [down(key), up(key)]);
    const all = held ? [down(held), ...pressed, up(held)] : pressed;
    await this.#act({ type: "key", id: "keyboard", actions: all });
  }

  /** Clicks with the mouse at this place of the window. */
  async click(x: number, y: number): Promise<void> {
    const move = { type: "pointerMove", duration: 0, origin: "viewport", x, y };
    const actions = [move, { type: "pointerDown", button: 0 }, { type: "pointerUp", button: 0 }];
    await this.#act({ type: "pointer", id: "mouse", actions });
  }

  async #act(source: object): Promise<void> {
    await send("POST", `${this.#session}/actions`, { actions: [source] });
  }

  async screenshot(): Promise<Buffer> {
    return Buffer.from((await send("GET", `${this.#session}/screenshot`)) as string, "base64");
  }

  async stop(): Promise<void> {
    await send("DELETE", this.#session).catch(() => undefined);
    for (const process of this.#processes) process.kill();
  }
}

/** One command. Returns its value; an error of the driver becomes an exception. */
async function send(method: string, url: string, body?: object): Promise<unknown> {
  const content = body ? { body: JSON.stringify(body) } : {};
  const response = await fetch(url, { method, ...content });
  const { value } = (await response.json()) as { value: { error?: string; message?: string } };
  if (response.ok) return value;
  throw new Error(`${value.error}: ${value.message}`);
}

async function asSoonAsItListens<T>(attempt: () => Promise<T>): Promise<T> {
  const deadline = Date.now() + 60_000;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      // Nothing listens yet: `fetch` itself failed.
      if (!(error instanceof TypeError) || Date.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

function firstLine(output: Readable): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    output.on("data", (part) => {
      text += part;
      if (text.includes("\n")) resolve(text.trim());
    });
    output.on("close", () => reject(new Error("Xvfb did not start")));
  });
}

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, "127.0.0.1", resolve));
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return port;
}
