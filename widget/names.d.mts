export function built(name: string): string;
