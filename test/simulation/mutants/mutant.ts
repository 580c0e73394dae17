import type { MarketName } from '../simulated-market.ts';

/** A text patch of one production file. */
export interface Patch {
  /** Under `src/`. */
  readonly file: string;
  /** Stands exactly once in the file. */
  readonly find: string;
  readonly replace: string;
}

/** Safety step removed or weakened. */
export interface Mutant extends Patch {
  readonly name: string;
  /** Loss that the mutant causes, for the table. */
  readonly loses: string;
  /** Patches that also remove a second guard of the same promise. */
  readonly also?: readonly Patch[];
  /** Worlds that judge it, instead of stories and schedules: those whose cluster is erased or away. */
  readonly worlds?: 'deadman';
  /** The market whose stories and schedules show it; that of the simulator by default. */
  readonly market?: MarketName;
  /** Reason why the simulation cannot detect it; a unit test does. */
  readonly unseen?: string;
}

/** Returns every patch of a mutant. */
export const patchesOf = (mutant: Mutant): readonly Patch[] => [mutant, ...(mutant.also ?? [])];
