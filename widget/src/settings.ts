/**
 * The settings of the site owner: attributes of the script tag, or `window.ChatWidgetConfig`;
 * attributes take precedence. Invalid values get their defaults. The address of the service has no
 * default.
 */

/** Values by name, in camel case. No prototype, because a page may extend Object.prototype. */
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
 * The addresses that messages may be sent to: over TLS or to loopback, and without a password.
 */
export const USABLE =
  /^http(s:\/\/[^/@]+|:\/\/(([^/@]+\.)?localhost|\[::1]|127(\.\d+){3})(:\d+)?)\//;

/** The languages that are written from right to left. */
export const RTL = /^(ar|he)\b/i;

/** The CSS rules that depend on the settings; they follow those of launcher.css. */
export function lookOf({ accent, position, theme }: Settings, language: unknown): string {
  // By default the right side, for right-to-left languages the left side.
  const [side] = /left|right/.exec(position as string) ?? [
    RTL.test(language as string) ? "left" : "right",
  ];
  const colour = /^#([\da-f]{3}){1,2}$/i.test(accent as string)
    ? `--kefu-accent:${accent}!important;`
    : "";
  // By default the page's scheme, which may follow the visitor's system.
  const scheme = /^(light|dark)$/.test(theme as string) ? theme : "inherit";
  return `:host{${colour}color-scheme:${scheme}!important;${side}:var(--kefu-offset, 20px)!important}.panel{${side}:0;--side:${side}}`;
}
