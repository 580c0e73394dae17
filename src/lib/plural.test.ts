import { expect, test } from 'vitest';
import { agreeing, counted } from './plural.ts';

test.for([
  { count: 0, said: '0 workers wait' },
  { count: 1, said: '1 worker waits' },
  { count: 2, said: '2 workers wait' },
])('R7: number, noun and verb agree in "$said"', ({ count, said }) => {
  expect(`${counted(count, 'worker')} ${agreeing(count, 'waits', 'wait')}`).toBe(said);
});

test('R7: takes the plural of an irregular noun', () => {
  expect([counted(1, 'reply', 'replies'), counted(3, 'reply', 'replies')]).toEqual(['1 reply', '3 replies']);
});
