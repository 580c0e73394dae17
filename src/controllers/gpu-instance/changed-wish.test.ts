import { expect, test } from 'vitest';
import { given } from '../../../test/builders/observed.ts';
import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { isWishChanged } from './changed-wish.ts';

const HELD = { 'gpurental.dev/hold': 'mine' };

function copy(generation: number, annotations: Record<string, string> = {}): GpuInstance {
  const { object } = given();
  return { ...object, metadata: { ...object.metadata, generation, annotations } };
}

test.for<[string, GpuInstance, GpuInstance | undefined, boolean]>([
  ['the same object asks for the same', copy(2), copy(2), false],
  ['a newer spec, or a deletion, is another wish', copy(2), copy(3), true],
  ['a copy that is behind changes nothing', copy(3), copy(2), false],
  ['a machine that is held now is another wish', copy(2), copy(2, HELD), true],
  ['one that was held all the time is none', copy(2, HELD), copy(2, HELD), false],
  ['one that is let go meanwhile waits for the next pass', copy(2, HELD), copy(2), false],
  ['an object that is gone asks for nothing new', copy(2), undefined, false],
])('%s', ([, decidedOn, newest, expected]) => {
  expect(isWishChanged(decidedOn, newest)).toBe(expected);
});
