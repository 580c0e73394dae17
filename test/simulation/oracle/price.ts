import { parseDollars } from '../../../src/lib/money.ts';
import type { Contract } from '../../../src/simulator/tables/contracts.ts';
import { isObject, type JsonObject, listAt, objectAt } from '../memory-kube/json.ts';

/** What a contract that runs costs in an hour, in micro-dollars: who has bid pays the bid. */
export function priceOf({ bidPerHour, gpuPricePerHour, diskPricePerHour }: Contract): number {
  return (bidPerHour ?? gpuPricePerHour) + diskPricePerHour;
}

/** What the dearest of an object's alternatives may cost; undefined where one has no limit of its own, or may be rented without a price. */
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
