import { expect, test } from 'vitest';
import { given, row, withMachine } from '../../../../test/builders/observed.ts';
import { decide } from '../decide.ts';

const resting = { state: 'stopped', intendedPower: 'stopped' } as const;

test.each<[string, number | undefined, number]>([
  ['its present price, which is above that of its offer', 800_000, 800_000],
  ['the price of its offer where its row names none', undefined, 500_000],
])('a stopped machine asks to start at %s', (_, pricePerHour, asked) => {
  const step = decide(given(withMachine(row({ ...resting, pricePerHour }))));
  expect(step).toMatchObject({ actions: [{ type: 'start', pricePerHour: asked }] });
});
