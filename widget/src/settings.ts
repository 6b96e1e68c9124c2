/**
 * What the site owner may set: attributes of the script tag, or `window.ChatWidgetConfig`;
 * attributes win. A wrong value falls back to its default, except the address of the service:
 * without it there is nothing to talk to.
 */

/** By name, in camel case. Without a prototype: a page may have extended that of all objects. */
export type Settings = Readonly<Record<string, unknown>>;

/** As the page has them now. */
export function settingsOf(config: unknown, script: HTMLScriptElement | null): Settings {
  return { __proto__: null, ...(config as object), ...script?.dataset };
}

/** A text that says something, or a number of the config; else undefined. */
export function textOf(value: unknown): string | undefined {
  const text = typeof value === "number" ? `${value}` : value;
  return (typeof text === "string" && text.trim()) || undefined;
}

/** `data-open` without a value is on, as with HTML's own boolean attributes. */
export function isOn(value: unknown): boolean {
  return ["", "true", true].includes(value as string);
}

/** Whether a visitor's words may go there: safely, and to an address that holds no password. */
export function isUsable(address: string): boolean {
  return /^https:\/\/[^/@]+\/|^http:\/\/(([^/@]+\.)?localhost|\[::1]|127(\.\d+){3})(:\d+)?\//.test(
    address,
  );
}

export function isRtl(language: unknown): boolean {
  return /^(ar|he)\b/i.test(language as string);
}

/** By itself where a line of the language ends. */
function sideOf(position: unknown, language: unknown): "left" | "right" {
  return position === "bottom-left" || (position !== "bottom-right" && isRtl(language))
    ? "left"
    : "right";
}

/** The rules that depend on the settings, behind those of launcher.css. */
export function lookOf({ accent, position, theme }: Settings, language: unknown): string {
  const side = sideOf(position, language);
  const colour = /^#([\da-f]{3}){1,2}$/i.test(accent as string)
    ? `--kefu-accent:${accent}!important;`
    : "";
  const scheme = /^(light|dark)$/.test(theme as string) ? theme : "light dark";
  return `:host{${colour}color-scheme:${scheme}!important;${side}:var(--kefu-offset,20px)!important}.panel{${side}:0}`;
}
