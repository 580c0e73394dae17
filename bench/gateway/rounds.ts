/** Contender of a comparison. Figures have names, which say whether smaller or larger is better. */
export interface Contender {
  readonly name: string;
  /** Resolves when it takes requests; rejects with the reason why it cannot run here. */
  start(): Promise<Running>;
}

export interface Running {
  /** Runs one round. Rejects if nothing could be measured. */
  measure(): Promise<Round>;
  stop(): Promise<void>;
}

export interface Round {
  readonly sent: number;
  readonly failed: number;
  readonly figures: Readonly<Record<string, number>>;
}

/** Spread over the rounds that count. */
export interface Spread {
  readonly median: number;
  readonly least: number;
  readonly most: number;
}

export type Outcome =
  | {
      readonly type: 'measured';
      readonly name: string;
      readonly rounds: number;
      /** Requests of all rounds, including the first. */
      readonly sent: number;
      readonly failed: number;
      readonly figures: Readonly<Record<string, Spread>>;
    }
  /** Could not be started, or ended early. */
  | { readonly type: 'absent'; readonly name: string; readonly why: string };

/**
 * Measures contenders in turn, round by round, so that other load of the machine affects all of them. The first round
 * warms up; only its failures count. A contender that cannot run is listed with its reason. All processes run from
 * the first round to the last.
 */
export async function interleaved(
  contenders: readonly Contender[],
  rounds: number,
  report: (line: string) => void = () => {},
): Promise<readonly Outcome[]> {
  const entries: Entry[] = [];
  try {
    for (const { name, start } of contenders) {
      const entry: Entry = { name, rounds: [], running: undefined, why: undefined };
      entries.push(entry);
      report(`starting ${name}`);
      await attempt(entry, async () => {
        entry.running = await start();
      });
      if (entry.why !== undefined) report(`${name} does not take part: ${entry.why}`);
    }
    for (let round = 0; round <= rounds; round += 1) {
      // Nobody is always the one after the same other one.
      const turn = round % entries.length;
      for (const entry of [...entries.slice(turn), ...entries.slice(0, turn)]) {
        const { running } = entry;
        if (!running || entry.why !== undefined) continue;
        report(`round ${round} of ${rounds}: ${entry.name}`);
        await attempt(entry, async () => void entry.rounds.push(await running.measure()));
      }
    }
  } finally {
    for (const { running } of entries) await running?.stop();
  }
  return entries.map(outcomeOf);
}

interface Entry {
  readonly name: string;
  readonly rounds: Round[];
  running: Running | undefined;
  why: string | undefined;
}

async function attempt(entry: Entry, run: () => Promise<void>): Promise<void> {
  try {
    await run();
  } catch (error) {
    entry.why = error instanceof Error ? error.message : String(error);
  }
}

function outcomeOf({ name, rounds: all, why }: Entry): Outcome {
  const [, ...rounds] = all;
  if (why !== undefined || rounds.length === 0)
    return { type: 'absent', name, why: why ?? 'it was not measured' };
  const names = Object.keys(rounds[0]?.figures ?? {});
  const figures = names.map((figure) => [
    figure,
    spreadOf(rounds.map(({ figures: one }) => one[figure] ?? 0)),
  ]);
  return {
    type: 'measured',
    name,
    rounds: rounds.length,
    sent: all.reduce((sum, { sent }) => sum + sent, 0),
    failed: all.reduce((sum, { failed }) => sum + failed, 0),
    figures: Object.fromEntries(figures),
  };
}

/** Returns the spread of at least one value. */
export function spreadOf(values: readonly number[]): Spread {
  const sorted = values.toSorted((one, other) => one - other);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? 0;
  const lower = sorted.length % 2 === 0 ? (sorted[middle - 1] ?? upper) : upper;
  return { median: (lower + upper) / 2, least: sorted[0] ?? 0, most: sorted.at(-1) ?? 0 };
}
