import { expect, test } from 'vitest';
import { Lane, LaneFull } from './lane.ts';

test('runs as many calls as its width, lets as many wait as it has places, and refuses the rest', async () => {
  const lane = new Lane(2, 1);
  const gates = [0, 1, 2].map(() => Promise.withResolvers<void>());
  const begun: number[] = [];
  const calls = gates.map(({ promise }, at) =>
    lane.run(async () => {
      begun.push(at);
      await promise;
    }),
  );
  await expect(lane.run(async () => {})).rejects.toBeInstanceOf(LaneFull);
  expect(begun).toEqual([0, 1]);
  gates[0]?.resolve();
  await calls[0];
  await Promise.resolve();
  expect(begun).toEqual([0, 1, 2]);
  for (const gate of gates) gate.resolve();
  await Promise.all(calls);
});

test('a failed call frees its place', async () => {
  const lane = new Lane(1, 0);
  await expect(lane.run(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(await lane.run(async () => 'yes')).toBe('yes');
});
