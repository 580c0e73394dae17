import { expect, test } from 'vitest';
import { isLeading } from './leading.ts';

test.each([
  ['an election that leaves more of the lease than the margin', 3_001, true],
  ['one that leaves no more than the margin: what begins now may end under another leader', 3_000, false],
  ['one that is not won', 0, false],
  ['no election', undefined, true],
])('by %s', (_, leftMs, leads) => {
  const election = leftMs === undefined ? undefined : { leaseRemainingMs: () => leftMs };
  expect(isLeading({ election, constants: { leaseMarginMs: 3_000 } })).toBe(leads);
});
