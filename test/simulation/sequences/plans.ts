import { type Random, seededRandom } from '../../../src/lib/random.ts';
import type { Edit } from './edit.ts';
import type { Edited } from './subjects.ts';
import { topicOf } from './topics.ts';

/** Edit of a sequence, and the seconds after it. */
export interface Step {
  readonly edit: Edit;
  readonly seconds: number;
}

/** Steps for one object, in this order; afterwards they are undone step by step. */
export interface SequencePlan {
  readonly name: string;
  readonly seed: number;
  readonly edited: Edited;
  readonly steps: readonly Step[];
  /** True if the plan was drawn, so that its seed alone reproduces it. */
  readonly isChain: boolean;
}

/** Longer than the shortest lifetime that is tried. */
const EDITED_FOR = 120;
const REFUSED_FOR = 5;
const CHAIN = { least: 3, most: 5 };
const SHARE_OF_REFUSED = 0.3;
const PAUSE = { least: 5, most: 120 };

/** Returns one plan per accepted edit, and one per top-level field for its refused edits in sequence. */
export function singlePlans(edited: Edited, seed: number): readonly SequencePlan[] {
  const { plural } = edited.subject;
  const taken = edited.edits.filter(({ answer }) => answer === 'taken');
  const refused = Map.groupBy(
    edited.edits.filter(({ answer }) => answer === 'refused'),
    (edit) => topicOf(Object.keys(edit.change)[0] ?? ''),
  );
  return [
    ...taken.map((edit) => ({
      ...{ edited, seed, isChain: false, name: `${plural} ${edit.name}` },
      steps: [{ edit, seconds: EDITED_FOR }],
    })),
    ...[...refused].map(([topic, edits]) => ({
      ...{ edited, seed, isChain: false, name: `${plural} ${edits.length} wrong values of ${topic}` },
      steps: edits.map((edit) => ({ edit, seconds: REFUSED_FOR })),
    })),
  ];
}

/** Draws a chain of three to five edits of one kind, valid and invalid; the same seed draws the same chain. */
export function drawPlan(all: readonly Edited[], seed: number): SequencePlan {
  const random = seededRandom(seed);
  const edited = oneOf(all, random);
  const [taken, refused] = (['taken', 'refused'] as const).map((answer) =>
    edited.edits.filter((edit) => edit.answer === answer),
  );
  const steps = Array.from({ length: between(CHAIN, random) }, () => ({
    edit: oneOf((random.next() < SHARE_OF_REFUSED ? refused : taken) ?? [], random),
    seconds: between(PAUSE, random),
  }));
  const names = steps.map(({ edit, seconds }) => `${edit.name} for ${seconds} s`);
  const name = `seed ${seed}: ${edited.subject.plural} ${names.join(', ')}`;
  return { name, seed, edited, steps, isChain: true };
}

function between({ least, most }: { readonly least: number; readonly most: number }, random: Random): number {
  return least + Math.floor(random.next() * (most - least + 1));
}

function oneOf<T>(options: readonly T[], random: Random): T {
  const option = options[Math.floor(random.next() * options.length)];
  if (option === undefined) throw new Error('There is nothing to draw from');
  return option;
}
