/**
 * Resolves with what `read` gives once that is neither undefined nor false; rejects with `what` after `limitMs`
 * of real time. For tests of whole processes, where time is the machine's own.
 */
export async function until<T>(
  what: string,
  read: () => T | Promise<T>,
  limitMs = 60_000,
): Promise<Exclude<T, undefined | false>> {
  const end = performance.now() + limitMs;
  for (;;) {
    const found = await read();
    if (found !== undefined && found !== false) return found as Exclude<T, undefined | false>;
    if (performance.now() > end) throw new Error(`Not within ${limitMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 30));
  }
}
