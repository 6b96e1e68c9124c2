/** Reads own properties only: a page may have extended Object.prototype, or named a form alike. */
export function own(from: unknown, name: string): unknown {
  return typeof from === "object" && from && Object.hasOwn(from, name)
    ? (from as Record<string, unknown>)[name]
    : undefined;
}
