import { classify, type Stage } from '../stage.ts';
import type { Decision, Observed } from '../types.ts';
import { idle } from './idle.ts';

/** Milliseconds for which an object may wait without a word of why. */
export const SILENCE_MS = 1_000;

const DETAIL = 'Others are before it: the marketplace spaces searches and rentals, and its turn comes.';

/** Whether the status says something of this generation. */
export function isTold({ object }: Observed): boolean {
  return object.status?.observedGeneration === object.metadata.generation;
}

/** Says that nothing is rented since others come first; the next pass waits. */
export function sayItsTurnComes(
  observed: Observed,
  stage: Extract<Stage, { type: 'unrented' }>,
  afterMs = 0,
): Decision {
  return idle(observed, stage, { reason: 'Pending', detail: DETAIL, look: { afterMs } });
}

/**
 * What there is to say where a rental was decided and its place comes in `afterMs` only: nothing where the wait is short,
 * and where the status tells of this generation already.
 */
export function waitForTurn(observed: Observed, afterMs: number): Decision | undefined {
  const stage = classify(observed);
  if (stage.type !== 'unrented' || isTold(observed) || afterMs <= SILENCE_MS) return undefined;
  return sayItsTurnComes(observed, stage, afterMs);
}

/** A wait for one's turn is no failure. */
export function isWaitForTurn({ status }: Decision): boolean {
  return status?.verdict.Ready.reason === 'Pending';
}
