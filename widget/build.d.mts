export interface Tag {
  readonly file: string;
  readonly integrity: string;
}

export interface Made {
  readonly files: ReadonlyMap<string, Buffer>;
  readonly maps: ReadonlyMap<string, string>;
  readonly manifest: Tag & { readonly loader: Tag };
  /** The scripts, by the name of their source. */
  readonly sizes: Readonly<Record<"loader" | "open" | "answer" | "all", Buffer>>;
  /** The names of the features. */
  readonly features: readonly string[];
}

type Measures = Readonly<Record<"loader" | "panel" | "first answer" | "feature", number>>;
export const LIMITS: Measures;
export function measured(made: Made): Measures;
export function sizeOf(code: Buffer): number;
type Texts = Readonly<Record<string, string | Readonly<Record<string, string>>>>;
/** The English texts below a folder of the sources; all without one. */
export function english(folder?: string): Promise<Texts>;
/** The translated texts, by language. */
export function dictionaries(): Promise<ReadonlyMap<string, Texts>>;
export function made(): Promise<Made>;
