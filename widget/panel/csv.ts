/** Tables as CSV files. */

type Cell = string | number;

export function csv(head: readonly Cell[], rows: readonly (readonly Cell[])[]): string {
  return [head, ...rows].map((row) => `${row.map(cell).join(",")}\r\n`).join("");
}

/** Visitors write the questions: no spreadsheet may run a question as a formula. */
function cell(value: Cell): string {
  if (typeof value === "number") return String(value);
  const plain = value.replace(/\s+/g, " ").trim();
  const safe = /^[=+\-@]/.test(plain) ? `'${plain}` : plain;
  return /[",]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** The file starts with a mark of UTF-8, for spreadsheets. */
export function csvFile(text: string): Blob {
  return new Blob(["\ufeff", text], { type: "text/csv;charset=utf-8" });
}
