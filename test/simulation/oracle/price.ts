import { parseDollars } from '../../../src/lib/money.ts';
import type { Contract } from '../../../src/simulator/tables/contracts.ts';
import { isObject, type JsonObject, listAt, objectAt } from '../memory-kube/json.ts';

/** Returns the hourly price of a running contract, in micro-dollars: an interruptible one pays its bid. */
export function priceOf({ bidPerHour, gpuPricePerHour, diskPricePerHour }: Contract): number {
  return (bidPerHour ?? gpuPricePerHour) + diskPricePerHour;
}

/** Returns the hourly cost of a contract: that of its disk while it is stopped, by a person or the service. */
export function currentCost(contract: Contract): number {
  const isStopped = contract.intendedStatus === 'stopped' || contract.blockedBy !== null;
  return isStopped ? contract.diskPricePerHour : priceOf(contract);
}

/**
 * Returns the maximum price of an object's alternatives; undefined if one has no limit of its own, or may be rented
 * without a price.
 */
export function maxPriceOf(object: JsonObject): number | undefined {
  const offers = listAt(objectAt(object, 'spec'), 'offers').filter(isObject);
  const limits = offers.map(({ maxPricePerHour, allowUnknownPrice }) =>
    allowUnknownPrice === true ? undefined : parseDollars(String(maxPricePerHour)),
  );
  return limits.reduce<number | undefined>(
    (most, limit) => (most === undefined || limit === undefined ? undefined : Math.max(most, limit)),
    0,
  );
}
