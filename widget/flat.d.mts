export function flat(code: string): string;
