import { type Spread, spreadOf } from '../gateway/rounds.ts';
import { type Figures, Unfinished } from './life.ts';

/** Entrant of a scenario. */
export interface Entrant {
  readonly name: string;
  /** Performs one complete run. Rejects with {@link Unfinished} if it did not complete the job. */
  run(round: number): Promise<Figures>;
}

/** A round that one entrant finished. */
export interface Finished {
  readonly round: number;
  readonly figures: Figures;
}

export type Outcome =
  | { readonly type: 'measured'; readonly name: string; readonly rounds: readonly Finished[] }
  /** Failed the job in at least one round, so it has no figures: half a job is not a fast one. */
  | { readonly type: 'failed'; readonly name: string; readonly why: string };

/** An entrant with what its rounds brought so far. */
interface Entry {
  readonly entrant: Entrant;
  readonly finished: Finished[];
  failure: string | undefined;
}

/**
 * Runs the entrants in turn, round by round, so that whatever else the machine does meets all of them. The first
 * `dropped` rounds warm up and count for nothing but their failures. One that failed runs no more: it has no figures.
 */
export async function interleaved(
  entrants: readonly Entrant[],
  { rounds, dropped }: { readonly rounds: number; readonly dropped: number },
  report: (line: string) => void = () => {},
): Promise<readonly Outcome[]> {
  const entries: readonly Entry[] = entrants.map((entrant) => ({
    entrant,
    finished: [],
    failure: undefined,
  }));
  for (let round = 0; round < rounds; round += 1) {
    // No entrant always follows the same other one.
    const turn = round % Math.max(1, entries.length);
    for (const entry of [...entries.slice(turn), ...entries.slice(0, turn)]) {
      const { entrant, finished, failure } = entry;
      if (failure !== undefined) continue;
      report(`round ${round + 1} of ${rounds}: ${entrant.name}`);
      try {
        const figures = await entrant.run(round);
        if (round >= dropped) finished.push({ round, figures });
      } catch (error) {
        if (!(error instanceof Unfinished)) throw error;
        report(`${entrant.name} failed: ${error.message}`);
        entry.failure = `round ${round + 1} of ${rounds}: ${error.message}`;
      }
    }
  }
  return entries.map(({ entrant: { name }, finished, failure }) =>
    failure === undefined
      ? { type: 'measured', name, rounds: finished }
      : { type: 'failed', name, why: failure },
  );
}

/** Returns the spread of a figure over an outcome's rounds; undefined if it failed or has no such figure. */
export function spreadOfFigure(outcome: Outcome | undefined, figure: string): Spread | undefined {
  if (outcome?.type !== 'measured') return undefined;
  const values = outcome.rounds.flatMap(({ figures }) => figures[figure] ?? []);
  return values.length > 0 ? spreadOf(values) : undefined;
}

/** Returns the ratio of one figure to the other's, round by round; undefined if a figure is missing or 0. */
export function ratioOf(
  one: Outcome | undefined,
  other: Outcome | undefined,
  figure: string,
): Spread | undefined {
  if (one?.type !== 'measured' || other?.type !== 'measured') return undefined;
  const ratios = one.rounds.flatMap(({ round, figures }) => {
    const against = other.rounds.find((candidate) => candidate.round === round)?.figures[figure];
    const value = figures[figure];
    return value === undefined || against === undefined || against === 0 ? [] : [value / against];
  });
  return ratios.length > 0 ? spreadOf(ratios) : undefined;
}
