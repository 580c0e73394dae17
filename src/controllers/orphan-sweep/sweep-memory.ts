/** In how many sweeps in a row each machine of a login was unclaimed. Losing it only makes sweeping slower. */
export class SweepMemory {
  readonly #byLogin = new Map<
    string,
    { readonly listBegunAt: number; readonly sweeps: ReadonlyMap<number, number> }
  >();

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
