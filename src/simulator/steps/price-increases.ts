import type { Contract, PriceIncrease } from '../tables/contracts.ts';
import { ratePerHour, rebill } from '../world/ledger.ts';
import { withoutRows, withRows } from '../world/rows.ts';
import type { World } from '../world/world.ts';
import type { AdvanceStep } from './advance.ts';

/** The contract at its new price; compute is billed at it from `now` where compute is billed at all. PURE. */
export function atNewPrice(contract: Contract, increase: PriceIncrease, now: number): Contract {
  const priced = { ...contract, gpuPricePerHour: increase.gpuPricePerHour };
  const computes = ratePerHour(contract) > contract.diskPricePerHour;
  if (!computes || contract.isBid) return priced;
  return rebill(priced, now, {
    gpuPerHour: increase.gpuPricePerHour,
    diskPerHour: contract.diskPricePerHour,
  });
}

/** A price increase that nobody answered takes effect when it is due. PURE. */
export const priceIncreasesStep: AdvanceStep = {
  name: 'price increases',
  nextAt(world) {
    let next = Number.POSITIVE_INFINITY;
    for (const increase of Object.values(world.tables.priceIncreases)) next = Math.min(next, increase.dueAt);
    return next;
  },
  run(world) {
    const due = Object.values(world.tables.priceIncreases).filter((row) => row.dueAt <= world.now);
    const contracts = due.map((increase) => raised(world, increase)).filter((row) => row !== undefined);
    const ids = due.map((increase) => increase.id);
    return withoutRows(withRows(world, 'contracts', contracts), 'priceIncreases', ids);
  },
};

function raised(world: World, increase: PriceIncrease): Contract | undefined {
  const contract = world.tables.contracts[increase.contractId];
  return contract && atNewPrice(contract, increase, world.now);
}
