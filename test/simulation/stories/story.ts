import type { Stage } from './stage.ts';

/**
 * One stretch of an object's life that is written for one step of the protocol: what people do, and what strikes
 * which call. The operator is the one that ships, and the promises are those of every schedule.
 */
export interface Story {
  /** What happens, in a sentence. */
  readonly name: string;
  /** With a sweeper that destroys, and two machines may overlap for a while. */
  readonly sweeps?: boolean;
  /** By this second everything wanted has to be there, and nothing else. */
  readonly seconds: number;
  readonly plot: (stage: Stage) => void;
}
