/** Runs the bot check of a provider before a question is sent, for sites with `data-bot-check`. */

import type { Feature, Kit } from "../../answer/feature.ts";
import { errorOf } from "../../open/transport/http.ts";
import type { Ask } from "../../open/transport/transport.ts";
import { element } from "../../open/view/dom.ts";

declare global {
  interface Window {
    trustedTypes?: {
      createPolicy(
        name: string,
        rules: { createScriptURL: (url: string) => string },
      ): { createScriptURL(url: string): string };
    };
  }
}

/** Maximum wait for the provider's script. The visitor may take as long as they need. */
const LONGEST_WAIT_MS = 10_000;
const POLL_MS = 50;

/** Options of `render` that Turnstile and hCaptcha share; each ignores the other's options. */
interface Challenge {
  readonly sitekey: string;
  readonly action: string;
  readonly appearance: string;
  readonly retry: string;
  readonly theme: string;
  callback(token: string): void;
  "error-callback"(): boolean;
}

interface Provider {
  render(box: HTMLElement, challenge: Challenge): unknown;
  remove(id: unknown): void;
}

/** The script of each provider, which defines a global object of the same name. */
const PROVIDERS: Readonly<Record<string, string>> = {
  turnstile: "https://challenges.cloudflare.com/turnstile/v0/api.js?render=explicit",
  hcaptcha: "https://js.hcaptcha.com/1/api.js?render=explicit",
};

/** The provider's box is shown above the input. */
export default function check({ root: shadow, settings, apiUrl, script: loader }: Kit): Feature {
  const root = shadow as ShadowRoot;
  const [, name = "", sitekey = ""] =
    /^(turnstile|hcaptcha):(.+)$/.exec(`${settings.botCheck}`) ?? [];
  if (!name)
    console.error("Chat widget: data-bot-check must be turnstile:SITEKEY or hcaptcha:SITEKEY");
  const page = root.ownerDocument.defaultView as unknown as Window & Record<string, unknown>;
  let pass: string | undefined;
  let token: string | undefined;
  let pending: Promise<void> | undefined;

  const ready = (): Provider | undefined => {
    const provider = page[name] as Provider | undefined;
    return typeof provider?.render === "function" ? provider : undefined;
  };

  const provider = async (): Promise<Provider | undefined> => {
    if (!name || ready()) return ready();
    const url = PROVIDERS[name] as string;
    const script = element("script", { nonce: loader?.nonce as string });
    const rules = { createScriptURL: () => url };
    script.src = page.trustedTypes?.createPolicy("kefu-check", rules).createScriptURL(url) ?? url;
    let hasFailed = false;
    script.onerror = () => {
      hasFailed = true;
    };
    root.ownerDocument.head.append(script);
    const until = Date.now() + LONGEST_WAIT_MS;
    while (!ready() && !hasFailed && Date.now() < until) {
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
    if (!ready()) console.error(`Chat widget: data-bot-check: ${url} did not load`);
    return ready();
  };

  /** The token of a passed check; undefined if the check cannot be run. */
  const challenge = async (): Promise<string | undefined> => {
    const runs = await provider();
    if (!runs) return undefined;
    const isDark = page.matchMedia("(prefers-color-scheme: dark)").matches;
    // The providers' scripts find only a box in the page: a child of the widget's element.
    const box = element("div", { slot: "check" });
    const place = element("div", {}, element("slot", { name: "check" }));
    place.style.cssText = "display:flex;justify-content:center;margin:0 14px 10px";
    root.querySelector(".composer")?.before(place);
    root.host.append(box);
    let id: unknown;
    const said = await new Promise<string | undefined>((resolve) => {
      id = runs.render(box, {
        sitekey,
        action: "chat",
        appearance: "interaction-only",
        retry: "never",
        theme: isDark ? "dark" : "light",
        callback: resolve,
        "error-callback": () => {
          resolve(undefined);
          return true;
        },
      });
    });
    runs.remove(id);
    box.remove();
    place.remove();
    return said;
  };

  /** Resolves when there is a pass or a token, or when there will be none. */
  const prove = (): Promise<void> => {
    if (pass || token) return Promise.resolve();
    pending ??= challenge()
      .catch(() => undefined)
      .then((said) => {
        token = said;
        pending = undefined;
      });
    return pending;
  };

  /** Adds the pass or the token to a question or a contact form, and keeps the pass of the response. */
  const proven = async (ask: Ask, ...[url, init]: Parameters<Ask>): Promise<Response> => {
    const isGuarded = `${url}` === `${apiUrl}` || url.pathname.endsWith("/contact");
    if (!isGuarded || init.method !== "POST") return ask(url, init);
    const proof = pass ? { verification_pass: pass } : { verification_token: token };
    const [field, value] = Object.entries(proof)[0] as [string, string | undefined];
    token = undefined;
    // The body is not parsed: `outgoing` has protected its array against the page's toJSON.
    const added = value ? `,${JSON.stringify(field)}:${JSON.stringify(value)}}` : "}";
    const response = await ask(url, { ...init, body: `${init.body}`.slice(0, -1) + added });
    const wasOld = pass !== undefined && response.status === 403;
    pass = response.headers.get("X-Verification-Pass") ?? pass;
    if (wasOld && (await errorOf(response.clone(), "code"))[0] === "verification_required") {
      pass = undefined;
      // The caller tries once more after this status, after the check.
      return new Response(null, { status: 504 });
    }
    return response;
  };
  return {
    asking: async (_turn, ask) => {
      await prove();
      return (...request) => proven(ask, ...request);
    },
  };
}
