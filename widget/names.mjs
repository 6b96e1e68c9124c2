/** Names that the build shortens, for those who have to find them again. */

/** Custom properties of the stylesheets alone: a letter each. */
const PROPERTIES =
  "accent accent-ink control dark ink light line muted on-accent quiet surface tint warm warm-line".split(
    " ",
  );

/** The built name of a custom property, both without the dashes; one that is not ours stays. */
export function built(name) {
  const at = PROPERTIES.indexOf(name);
  return at < 0 ? name : String.fromCharCode(97 + at);
}
