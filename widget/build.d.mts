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
export function made(): Promise<Made>;
