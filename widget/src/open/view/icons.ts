/** Line icons in one style, on a grid of 24: each with its name and its path. */

import { drawing } from "../../drawing.ts";

type Icon = readonly [name: string, path: string];

export const CLOSE: Icon = ["close", "M6 6l12 12M18 6 6 18"];
export const MORE: Icon = ["more", "M5.5 12h.01M12 12h.01M18.5 12h.01"];
export const ENLARGE: Icon = ["enlarge", "M14 5h5v5M10 19H5v-5M19 5l-6 6M5 19l6-6"];
export const DOWN: Icon = ["down", "M6 9.5l6 6 6-6"];
export const COPY: Icon = ["copy", "M9.5 9.5h10v10h-10ZM14.5 9.5v-5h-10v10h5"];
export const CHECK: Icon = ["check", "M5 12.5l4.5 4.5L19 7.5"];
export const AGAIN: Icon = ["again", "M19.5 12a7.5 7.5 0 1 1-2.2-5.3L20 9.5M20 4.5v5h-5"];
export const THUMB: Icon = [
  "up",
  "M7.5 11v9H4v-9ZM7.5 11 12 3.5c1.5 0 2.5 1 2.5 2.5v3.5H20L18.5 20h-11",
];
export const SEND: Icon = ["send", "M12 19V5M5.5 11.5 12 5l6.5 6.5"];
export const NEWEST: Icon = ["newest", "M12 5v14M5.5 12.5 12 19l6.5-6.5"];
export const STOP: Icon = [
  "stop",
  "M8.5 7.5h7a1 1 0 0 1 1 1v7a1 1 0 0 1-1 1h-7a1 1 0 0 1-1-1v-7a1 1 0 0 1 1-1Z",
];

export function icon([name, path]: Icon): SVGSVGElement {
  const svg = drawing(path);
  svg.setAttribute("class", `icon icon-${name}`);
  svg.ariaHidden = "true";
  return svg;
}
