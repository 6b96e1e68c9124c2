export const PAGE: URL;
export const NAMES: readonly string[];
export function namesRead(): Promise<string[]>;
export function pageWithTable(): Promise<string>;
