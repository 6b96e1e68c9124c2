/** Finds out why the service cannot be reached. */

/**
 * Whether the service answers, but not to this page: it answers every page at `/health`, and at the
 * address of the chat only allowed pages.
 */
export async function refusesPage(apiUrl: string): Promise<boolean> {
  const answers = (url: URL | string): Promise<boolean> =>
    fetch(url, { credentials: "omit", cache: "no-store" }).then(
      () => true,
      () => false,
    );
  return (await answers(new URL("../health", apiUrl))) && !(await answers(apiUrl));
}
