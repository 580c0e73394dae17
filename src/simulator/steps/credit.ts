import type { AdvanceStep } from '../advance.ts';
import { holdContract } from '../contract-state.ts';
import { creditMicros, ratePerHour } from '../ledger.ts';
import { withRows } from '../rows.ts';
import type { Contract, World } from '../world.ts';

/*
 * Machines stop when the credit of their user is used up; their disks go on costing, as at the public
 * service. PURE.
 */

const MS_PER_HOUR = 3_600_000;

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

/** When the credit of a user is used up at present rates; never before the next whole second. */
function exhaustedAt(world: World, userId: number): number {
  const user = world.tables.users[userId];
  if (!user) return Number.POSITIVE_INFINITY;
  const credit = creditMicros(world, user, world.now);
  if (credit <= 0) return world.now;
  let rate = 0;
  for (const contract of Object.values(world.tables.contracts)) {
    if (contract.userId === userId) rate += ratePerHour(contract);
  }
  const hours = credit / rate;
  return Math.max(world.now + 1000, world.now + hours * MS_PER_HOUR);
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
