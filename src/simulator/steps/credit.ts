import type { AdvanceStep } from '../advance.ts';
import { holdContract } from '../contract-state.ts';
import { creditMicros, ratePerHour, secondOf } from '../ledger.ts';
import { withRows } from '../rows.ts';
import type { Contract, World } from '../world.ts';

/*
 * Machines stop when the credit of their user is used up; their disks go on costing, as at the public
 * service. PURE.
 */

const SECONDS_PER_HOUR = 3600;

/** Contracts that cost compute now, by user. */
function computing(world: World): Map<number, Contract[]> {
  const byUser = new Map<number, Contract[]>();
  for (const contract of Object.values(world.tables.contracts)) {
    const open = contract.spans.at(-1);
    if (open?.until !== null || open.gpuPerHour === 0) continue;
    const list = byUser.get(contract.userId);
    if (list) list.push(contract);
    else byUser.set(contract.userId, [contract]);
  }
  return byUser;
}

/** When the credit of a user is used up at present rates: the first whole second at which none is left. */
function exhaustedAt(world: World, userId: number): number {
  const user = world.tables.users[userId];
  if (!user) return Number.POSITIVE_INFINITY;
  const leftAt = (second: number): number => creditMicros(world, user, second * 1000);
  const now = secondOf(world.now);
  const left = leftAt(now);
  if (left <= 0) return world.now;
  // Money moves in whole seconds, so the guess is at most a rounding away from the second sought.
  let second = now + Math.max(1, Math.round((left / rateOf(world, userId)) * SECONDS_PER_HOUR));
  while (leftAt(second) > 0) second += 1;
  while (second > now + 1 && leftAt(second - 1) <= 0) second -= 1;
  return second * 1000;
}

/** Micro-dollars an hour that all contracts of a user cost now. */
function rateOf(world: World, userId: number): number {
  let rate = 0;
  for (const contract of Object.values(world.tables.contracts)) {
    if (contract.userId === userId) rate += ratePerHour(contract);
  }
  return rate;
}

export const creditStep: AdvanceStep = {
  name: 'credit',
  nextAt(world) {
    if (!world.settings.billing.stopAtZeroCredit) return Number.POSITIVE_INFINITY;
    let next = Number.POSITIVE_INFINITY;
    for (const userId of computing(world).keys()) next = Math.min(next, exhaustedAt(world, userId));
    return next;
  },
  run(world) {
    const stopped: Contract[] = [];
    for (const [userId, contracts] of computing(world)) {
      if (exhaustedAt(world, userId) > world.now) continue;
      for (const contract of contracts) stopped.push(holdContract(contract, world.now, 'credit'));
    }
    return withRows(world, 'contracts', stopped);
  },
};
