import { expect, test } from 'vitest';
import { diskLoss, ONCE_RENTABLE } from './replacement-text.ts';

test.each([
  [32, 'the data on its disk (32 GB) is lost'],
  [undefined, 'the data on its disk is lost'],
])('names the loss of a disk of %s GB', (diskGB, text) => {
  expect(diskLoss(diskGB)).toBe(text);
});

test('names the condition of a replacement', () => {
  expect(ONCE_RENTABLE).toBe('once another machine can be rented');
});
