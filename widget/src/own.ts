/** Own properties only: a page may have extended Object.prototype, or clobbered the name. */
export function own(from: unknown, name: string): unknown {
  return typeof from === "object" && from && Object.hasOwn(from, name)
    ? (from as Record<string, unknown>)[name]
    : undefined;
}
