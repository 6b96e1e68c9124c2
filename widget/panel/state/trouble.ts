/** Why an act of the operator failed. */

/** A state that holds why the last act failed; empty if it did not. */
interface Troubled {
  patch(fields: { readonly trouble: string }): void;
}

/** What a request was about does not exist, or not any more. */
export class Missing extends Error {}

export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Returns whether the work succeeded; the state has the reason if it did not. */
export async function tried(state: Troubled, work: () => Promise<void>): Promise<boolean> {
  state.patch({ trouble: "" });
  try {
    await work();
    return true;
  } catch (error) {
    state.patch({ trouble: reasonOf(error) });
    return false;
  }
}
