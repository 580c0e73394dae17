import { expect, test } from 'vitest';
import { compareIds } from './ids.ts';

test('ids are ordered as their numbers are, and any others in a fixed order', () => {
  expect(['100', '9', '10', '9'].toSorted(compareIds)).toEqual(['9', '9', '10', '100']);
  expect(['b1', 'a2', 'a1'].toSorted(compareIds)).toEqual(['a1', 'a2', 'b1']);
});
