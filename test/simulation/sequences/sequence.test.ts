import { expect, test } from 'vitest';
import type { Edit } from './edit.ts';
import { drawPlan, type SequencePlan } from './plans.ts';
import { playSequence } from './sequence.ts';
import { editedOf, SUBJECTS } from './subjects.ts';

const all = SUBJECTS.map(editedOf);
const [instance] = all;

/** Returns a plan with one edit of a GpuInstance for a minute. */
function planOf(edit: Edit, { backWithin = 900 } = {}): SequencePlan {
  if (!instance) throw new Error('there is no subject');
  const edited = { ...instance, subject: { ...instance.subject, backWithin } };
  return { name: edit.name, seed: 1, edited, steps: [{ edit, seconds: 60 }], isChain: false };
}

const brokenBy = async (plan: SequencePlan): Promise<readonly string[]> => [
  ...new Set((await playSequence(plan)).violations.map(({ invariant }) => invariant)),
];

const IMAGE: Edit = { name: 'another image', change: { image: 'example/other:2' }, answer: 'taken' };
const WRONG: Edit = { name: 'no power state', change: { powerState: 'Asleep' }, answer: 'refused' };

test('an edit that is undone breaks nothing, nor does a value that is refused', async () => {
  expect(await brokenBy(planOf(IMAGE))).toEqual([]);
  expect(await brokenBy(planOf(WRONG))).toEqual([]);
});

test('an object that is not what it was in time breaks A-B-A', async () => {
  expect(await brokenBy(planOf(IMAGE, { backWithin: 0 }))).toContain('A-B-A');
});

test('an unexpected answer is reported', async () => {
  expect(await brokenBy(planOf({ ...IMAGE, answer: 'refused' }))).toContain('Refusal');
  expect(await brokenBy(planOf({ ...WRONG, answer: 'taken' }))).toContain('Refusal');
});

test('a chain is played the same way each time', async () => {
  const [first, second] = [await playSequence(drawPlan(all, 5)), await playSequence(drawPlan(all, 5))];
  expect(first.violations).toEqual([]);
  expect(second.traceHash).toBe(first.traceHash);
});
