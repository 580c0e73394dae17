import type { MarketName } from '../simulated-market.ts';

/** A text patch of one production file. */
export interface Patch {
  /** Under `src/`. */
  readonly file: string;
  /** Stands exactly once in the file. */
  readonly find: string;
  readonly replace: string;
}

/** One safety step removed or weakened. */
export interface Mutant extends Patch {
  readonly name: string;
  /** What is lost, for the table. */
  readonly loses: string;
  /** Where a second guard keeps the same promise, the patches that take that away, too. */
  readonly also?: readonly Patch[];
  /** The market whose stories and schedules show it; that of the simulator by default. */
  readonly market?: MarketName;
  /** Why nothing in the simulation shows it, where that is so; a unit test does. */
  readonly unseen?: string;
}

/** Every place that a mutant changes. */
export const patchesOf = (mutant: Mutant): readonly Patch[] => [mutant, ...(mutant.also ?? [])];
