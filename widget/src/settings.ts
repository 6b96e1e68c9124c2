/**
 * The settings of the site owner: attributes of the script tag, or `window.ChatWidgetConfig`;
 * attributes take precedence. Invalid values get their defaults. The address of the service has no
 * default.
 */

/** Values by name, in camel case. Without a prototype, because a page may extend Object.prototype. */
export type Settings = Readonly<Record<string, unknown>>;

/** The current settings of the page. */
export function settingsOf(config: unknown, script: HTMLScriptElement | null): Settings {
  return { __proto__: null, ...(config as object), ...script?.dataset };
}

/** A text that is not blank, or a number of the config; else undefined. */
export function textOf(value: unknown): string | undefined {
  const text = typeof value === "number" ? `${value}` : value;
  return (typeof text === "string" && text.trim()) || undefined;
}

/** The user's token, read at each use, because the page may renew it or change users. May throw. */
export function userTokenOf(settings: Settings): string | undefined {
  const token = settings.userToken;
  return textOf(typeof token === "function" ? token() : token);
}

/** Whether a boolean setting is on; an attribute without a value is on, as in HTML. */
export function isOn(value: unknown): boolean {
  return ["", "true", true].includes(value as string);
}

/**
 * Whether messages may be sent to this address: over TLS or to loopback, and without a password.
 */
export function isUsable(address: string): boolean {
  return /^https:\/\/[^/@]+\/|^http:\/\/(([^/@]+\.)?localhost|\[::1]|127(\.\d+){3})(:\d+)?\//.test(
    address,
  );
}

export function isRtl(language: unknown): boolean {
  return /^(ar|he)\b/i.test(language as string);
}

/** The side of the launcher: by default the right one, for right-to-left languages the left one. */
function sideOf(position: unknown, language: unknown): "left" | "right" {
  return position === "bottom-left" || (position !== "bottom-right" && isRtl(language))
    ? "left"
    : "right";
}

/** The CSS rules that depend on the settings; they follow those of launcher.css. */
export function lookOf({ accent, position, theme }: Settings, language: unknown): string {
  const side = sideOf(position, language);
  const colour = /^#([\da-f]{3}){1,2}$/i.test(accent as string)
    ? `--kefu-accent:${accent}!important;`
    : "";
  const scheme = /^(light|dark)$/.test(theme as string) ? theme : "light dark";
  return `:host{${colour}color-scheme:${scheme}!important;${side}:var(--kefu-offset,20px)!important}.panel{${side}:0}`;
}
