import { expect, test } from 'vitest';
import { Users } from '../../../test/simulation/users.ts';
import { SimulatedWorld } from '../../../test/simulation/world.ts';
import { seededRandom } from '../../lib/random.ts';

const QUIET = { requestMs: 2, responseMs: 2 };

test('a proof that is not answered is asked for again after 5 s, then twice as long, at most after the interval', async () => {
  const askedAt: number[] = [];
  const world = new SimulatedWorld({
    seed: 1,
    keepTrace: false,
    fate: ({ side, request }) => {
      if (side !== 'market' || !request.path.startsWith('/api/v0/users/current')) return QUIET;
      askedAt.push(world.second);
      return { ...QUIET, loseResponse: true };
    },
  });
  new Users(world, seededRandom(1)).createAccount('Report');
  world.startProcess();
  await world.scheduler.runUntil(world.now + 240_000, () => true);
  // A check asks again by itself within its first second; what counts is how the checks are spaced.
  const checks = askedAt.filter((at, index) => index === 0 || at - (askedAt[index - 1] ?? 0) > 4);
  const pauses = checks.slice(1).map((at, index) => Math.round(at - (checks[index] ?? 0)));
  expect(pauses.slice(0, 5)).toEqual([6, 11, 21, 41, 61]);
});
