export interface Tag {
  readonly file: string;
  readonly integrity: string;
}

export interface Made {
  readonly files: ReadonlyMap<string, Buffer>;
  readonly manifest: Tag & { readonly loader: Tag };
  readonly sizes: Readonly<Record<"loader" | "chat" | "kept" | "all", Buffer>>;
}

export function made(): Promise<Made>;
export function packed(content: Buffer): Buffer;
