/** Prints the figures of a bench as one JSON object, rounded to three places. */
export function report(figures) {
  const rounded = Object.entries(figures).map(([name, value]) => [name, Number(value.toFixed(3))]);
  console.log(JSON.stringify(Object.fromEntries(rounded)));
}

/** The middle one of the values; of an even number of them, the larger one of the middle two. */
export function median(values) {
  return values.toSorted((one, other) => one - other)[values.length >> 1];
}
