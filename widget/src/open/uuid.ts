/** crypto.randomUUID exists only on secure pages, but a page on http may embed the widget, too. */
export function uuid(): string {
  const pattern = "10000000-1000-4000-8000-100000000000";
  return pattern.replace(/[018]/g, (digit) => {
    const [random = 0] = crypto.getRandomValues(new Uint8Array(1));
    // RFC 9562, version 4: random bits, except for the version and two bits of the variant.
    return (digit === "8" ? 8 + (random & 3) : random & 15).toString(16);
  });
}
