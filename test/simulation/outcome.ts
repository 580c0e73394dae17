import type { Violation } from './oracle/scene.ts';

/** What came of one schedule, life or sequence. */
export interface Outcome {
  readonly violations: readonly Violation[];
  /** Billed seconds nobody wanted, per contract that had any. */
  readonly wastedSeconds: readonly number[];
  readonly trace: readonly string[];
  readonly traceHash: string;
  readonly virtualSeconds: number;
}
