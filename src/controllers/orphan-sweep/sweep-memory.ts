/** Period for which a consistent list of objects stays valid for the same machines, if nothing is destroyed by it. */
const SETTLED_MS = 60_000;

/** Memory about an orphan. */
export interface Sighting {
  /** In how many sweeps in a row no object claimed it. */
  readonly sweeps: number;
  /** The newest rental on record in the first of them. */
  readonly newestRecordAt: number;
}

/** Sightings of the orphans of each login. Losing them only makes sweeping slower. */
export class SweepMemory {
  readonly #byLogin = new Map<
    string,
    { readonly listBegunAt: number; readonly sightings: ReadonlyMap<string, Sighting> }
  >();

  readonly #settled = new Map<string, { readonly ids: string; readonly at: number }>();
  readonly #missedByCache = new Map<string, ReadonlySet<string>>();

  /**
   * Records that a consistent list of objects claimed none of the `orphans` at `at` (monotonic milliseconds).
   * `suspects` are the machines that the cache did not claim: a watch that missed an event lacks their objects.
   */
  settle(
    login: string,
    { orphans, suspects }: { readonly orphans: readonly string[]; readonly suspects: readonly string[] },
    at: number,
  ): void {
    this.#settled.set(login, { ids: orphans.join(), at });
    this.#missedByCache.set(login, new Set(suspects.filter((id) => !orphans.includes(id))));
  }

  /** Machines that the last consistent list of objects claimed, and the cache did not. */
  missedByCache(login: string): ReadonlySet<string> {
    return this.#missedByCache.get(login) ?? new Set();
  }

  /** Returns true if the same machines were settled a moment ago, so the sweep can report them without another list. */
  isSettled(login: string, orphans: readonly string[], now: number): boolean {
    const settled = this.#settled.get(login);
    return settled !== undefined && settled.ids === orphans.join() && now - settled.at < SETTLED_MS;
  }

  /** Sightings of the orphans of the login by the counted sweeps. */
  sightings(login: string): ReadonlyMap<string, Sighting> {
    return this.#byLogin.get(login)?.sightings ?? new Map();
  }

  /**
   * Adds this sweep and returns the sightings of its orphans. The same list of machines counts once, however often it
   * is read; a machine that was claimed in between starts again.
   */
  count(
    login: string,
    sweep: { readonly listBegunAt: number; readonly newestRecordAt: number },
    orphans: readonly string[],
  ): ReadonlyMap<string, Sighting> {
    const { listBegunAt, newestRecordAt } = sweep;
    const before = this.#byLogin.get(login);
    const step = before?.listBegunAt === listBegunAt ? 0 : 1;
    const sightings = new Map(
      orphans.map((id) => {
        const seen = before?.sightings.get(id) ?? { sweeps: 0, newestRecordAt };
        return [id, { ...seen, sweeps: Math.max(1, seen.sweeps + step) }] as const;
      }),
    );
    this.#byLogin.set(login, { listBegunAt, sightings });
    if (this.#settled.get(login)?.ids !== orphans.join()) this.#settled.delete(login);
    return sightings;
  }
}
