import type { Outcome } from '../outcome.ts';
import { drawPlan, type SequencePlan, singlePlans } from './plans.ts';
import { playSequence } from './sequence.ts';
import { editedOf, SUBJECTS } from './subjects.ts';

export interface SequencesOptions {
  readonly firstSeed: number;
  /** Number of random chains, one per seed. */
  readonly seeds: number;
  /** True if each edit is also made alone, before the chains. */
  readonly singles: boolean;
  readonly goOn: () => boolean;
  readonly onBegin: (plan: SequencePlan) => void;
  readonly onEnd: (plan: SequencePlan, result: Outcome) => void;
  /** Wraps each sequence, to measure it. */
  readonly measure: (run: () => Promise<Outcome>) => Promise<Outcome>;
}

/** Plays every edit of every field of every kind on a running object, then chains of edits drawn by seed. */
export async function runSequences(options: SequencesOptions): Promise<void> {
  for (const plan of plansOf(options)) {
    if (!options.goOn()) return;
    options.onBegin(plan);
    options.onEnd(plan, await options.measure(() => playSequence(plan)));
  }
}

function* plansOf({ firstSeed, seeds, singles }: SequencesOptions): Generator<SequencePlan> {
  const all = SUBJECTS.map(editedOf);
  if (singles) for (const edited of all) yield* singlePlans(edited, firstSeed);
  for (let seed = firstSeed; seed < firstSeed + seeds; seed += 1) yield drawPlan(all, seed);
}
