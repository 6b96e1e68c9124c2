/** The icon of the launcher, and the function that draws icons. */

export const CHAT =
  "M9.1 18.5 4.6 20.5l.9-3.9a9 7.7 0 1 1 3.6 1.9ZM8.2 11.3h.01m3.8 0h.01m3.8 0h.01";

export function drawing(d: string): SVGSVGElement {
  const make = (tag: string) => document.createElementNS("http://www.w3.org/2000/svg", tag);
  const svg = make("svg") as SVGSVGElement;
  const path = make("path");
  svg.setAttribute("viewBox", "0 0 24 24");
  path.setAttribute("d", d);
  svg.append(path);
  return svg;
}
