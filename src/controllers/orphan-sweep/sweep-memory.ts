/** How long a consistent list of objects speaks for the same machines, where nothing is destroyed by it. */
const SETTLED_MS = 60_000;

/** In how many sweeps in a row each machine of a login was unclaimed. Losing it only makes sweeping slower. */
export class SweepMemory {
  readonly #byLogin = new Map<
    string,
    { readonly listBegunAt: number; readonly sweeps: ReadonlyMap<number, number> }
  >();

  readonly #settled = new Map<string, { readonly ids: string; readonly at: number }>();

  /** A consistent list of objects claimed none of these machines, at `at` on a clock that never goes back. */
  settle(login: string, unclaimed: readonly number[], at: number): void {
    this.#settled.set(login, { ids: unclaimed.join(), at });
  }

  /** Whether the very same machines were settled a moment ago, so that reporting them needs no other list. */
  isSettled(login: string, unclaimed: readonly number[], now: number): boolean {
    const settled = this.#settled.get(login);
    return settled !== undefined && settled.ids === unclaimed.join() && now - settled.at < SETTLED_MS;
  }

  /**
   * Counts this sweep in and gives the counts. The same list of machines counts once, however often it is
   * looked at; a machine that was claimed in between starts anew.
   */
  count(login: string, listBegunAt: number, unclaimed: readonly number[]): ReadonlyMap<number, number> {
    const before = this.#byLogin.get(login);
    const step = before?.listBegunAt === listBegunAt ? 0 : 1;
    const sweeps = new Map(
      unclaimed.map((id) => [id, Math.max(1, (before?.sweeps.get(id) ?? 0) + step)] as const),
    );
    this.#byLogin.set(login, { listBegunAt, sweeps });
    return sweeps;
  }
}
