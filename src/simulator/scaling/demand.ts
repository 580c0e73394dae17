import type { EndpointGroupRow } from '../tables/endpoint-groups.ts';
import type { WorkerRow } from '../tables/workers.ts';
import type { World } from '../world/world.ts';
import type { Demand } from './targets.ts';
import { loadOf } from './worker-work.ts';

/* What is known of the load of an endpoint group. PURE. */

/** The group with `amount` of work arriving now. */
export function recordArrival(endpoint: EndpointGroupRow, now: number, amount: number): EndpointGroupRow {
  if (amount <= 0) return endpoint;
  return { ...endpoint, arrivals: [...endpoint.arrivals, { at: now, amount }], lastActivityAt: now };
}

/** The group without what has left its windows, and with the present rate noted. */
export function noteRate(world: World, endpoint: EndpointGroupRow): EndpointGroupRow {
  const { rateSeconds, longSeconds } = world.settings.workers;
  const arrivals = endpoint.arrivals.filter(({ at }) => at > world.now - rateSeconds * 1000);
  const rate = { at: world.now, amount: rateOf(world, { ...endpoint, arrivals }) };
  const rates = [...endpoint.rates, rate].filter(({ at }) => at > world.now - longSeconds * 1000);
  const queue = endpoint.queue.filter(({ expiresAt }) => expiresAt > world.now);
  return { ...endpoint, arrivals, rates, queue };
}

/** The demand on a group whose rate was just noted. */
export function demandOn(world: World, endpoint: EndpointGroupRow, workers: readonly WorkerRow[]): Demand {
  const queued = endpoint.queue.reduce((sum, { cost }) => sum + cost, 0);
  const inHand = workers.reduce((sum, worker) => sum + loadOf(worker), 0);
  const perfs = workers.map(({ perf }) => perf);
  return {
    rate: endpoint.rates.at(-1)?.amount ?? 0,
    peakRate: Math.max(0, ...endpoint.rates.map(({ amount }) => amount)),
    backlog: queued + inHand,
    perf:
      perfs.length === 0
        ? world.settings.workers.unknownPerf
        : perfs.reduce((sum, perf) => sum + perf, 0) / perfs.length,
    isPerfKnown: perfs.length > 0,
    idleSeconds: (world.now - endpoint.lastActivityAt) / 1000,
  };
}

/** Work per second over the rate span, or over the life of a younger group. */
function rateOf(world: World, endpoint: EndpointGroupRow): number {
  const { rateSeconds, tickSeconds } = world.settings.workers;
  const ageSeconds = (world.now - endpoint.createdAt) / 1000;
  const seconds = Math.max(1, Math.min(rateSeconds, Math.max(ageSeconds, tickSeconds)));
  return endpoint.arrivals.reduce((sum, { amount }) => sum + amount, 0) / seconds;
}
