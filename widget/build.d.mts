export interface Tag {
  readonly file: string;
  readonly integrity: string;
}

export interface Made {
  readonly files: ReadonlyMap<string, Buffer>;
  readonly maps: ReadonlyMap<string, string>;
  readonly manifest: Tag & { readonly loader: Tag };
  readonly sizes: Readonly<
    Record<"loader" | "open" | "answer" | "contact" | "tools" | "tip" | "all", Buffer>
  >;
}

type Measures = Readonly<Record<"loader" | "first answer" | "tools", number>>;
export const LIMITS: Measures;
export function measured(sizes: Made["sizes"]): Measures;
export function sizeOf(code: Buffer): number;
type Texts = Readonly<Record<string, string | Readonly<Record<string, string>>>>;
/** All texts in English. */
export function english(): Promise<Texts>;
/** The translated texts, by language. */
export function dictionaries(): Promise<ReadonlyMap<string, Texts>>;
export function made(): Promise<Made>;
