import type { Contract } from '../../../src/simulator/tables/contracts.ts';

/** What a contract that runs costs in an hour, in micro-dollars: who has bid pays the bid. */
export function priceOf({ bidPerHour, gpuPricePerHour, diskPricePerHour }: Contract): number {
  return (bidPerHour ?? gpuPricePerHour) + diskPricePerHour;
}
