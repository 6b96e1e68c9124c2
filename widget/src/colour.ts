/** Contrast, so that any accent of a site owner stays readable. WCAG 2.2, relative luminance. */

type Rgb = readonly [number, number, number];

const BLACK: Rgb = [0, 0, 0];
const WHITE: Rgb = [255, 255, 255];

/** `#rgb` or `#rrggbb`. */
export function isHexColour(value: string): boolean {
  return /^#([0-9a-f]{3}|[0-9a-f]{6})$/i.test(value);
}

export function contrast(a: string, b: string): number {
  return ratio(parse(a), parse(b));
}

/** Black or white, whichever reads better on `colour`: always at least 4.5:1. */
export function inkOn(colour: string): "#000000" | "#ffffff" {
  const rgb = parse(colour);
  return ratio(rgb, WHITE) >= ratio(rgb, BLACK) ? "#ffffff" : "#000000";
}

/** `colour`, moved only as far as needed to stand out from `surface` by `wanted`:1. */
export function readableOn(surface: string, colour: string, wanted: number): string {
  const ground = parse(surface);
  const towards = ratio(ground, WHITE) >= ratio(ground, BLACK) ? WHITE : BLACK;
  let rgb = parse(colour);
  for (let i = 0; i < 20 && ratio(rgb, ground) < wanted; i++) rgb = mix(rgb, towards, 0.15);
  return format(rgb);
}

function parse(hex: string): Rgb {
  const digits = hex.length === 4 ? hex.replace(/[0-9a-f]/gi, "$&$&") : hex;
  const value = Number.parseInt(digits.slice(1), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}

function format(rgb: Rgb): string {
  return `#${rgb.map((part) => Math.round(part).toString(16).padStart(2, "0")).join("")}`;
}

function mix(a: Rgb, b: Rgb, share: number): Rgb {
  const part = (i: 0 | 1 | 2): number => a[i] + (b[i] - a[i]) * share;
  return [part(0), part(1), part(2)];
}

function ratio(a: Rgb, b: Rgb): number {
  const [light, dark] = [luminance(a), luminance(b)].sort((x, y) => y - x) as [number, number];
  return (light + 0.05) / (dark + 0.05);
}

function luminance([r, g, b]: Rgb): number {
  return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
}

function linear(part: number): number {
  const share = part / 255;
  return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
}
