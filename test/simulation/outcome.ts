import type { Violation } from './oracle/scene.ts';

/** Result of one schedule, life or sequence. */
export interface Outcome {
  readonly violations: readonly Violation[];
  /** Seconds billed without need, per affected contract. */
  readonly wastedSeconds: readonly number[];
  readonly trace: readonly string[];
  readonly traceHash: string;
  readonly virtualSeconds: number;
}
