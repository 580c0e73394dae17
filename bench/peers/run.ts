import { systemClock } from '../../src/lib/clock.ts';
import { type Contender, OWN } from './contenders.ts';
import { type Figures, live } from './life.ts';
import type { Market } from './market.ts';
import type { Scenario } from './scenarios.ts';
import type { Stage, WrittenObject } from './stage.ts';

/** Shared parts of all runs of a scenario. */
export interface Ground {
  readonly stage: Stage;
  readonly market: Market;
  /** For what the processes print. */
  readonly folder: string;
  /** Object that the operator wrote last, for the bare client. */
  ownObject: WrittenObject | undefined;
}

const BOOT_SCALE = 0.001;
let runs = 0;

/** Runs a contender with a separate namespace and marketplace, so that other runs do not interfere. */
export async function runOf(contender: Contender, scenario: Scenario, ground: Ground): Promise<Figures> {
  runs += 1;
  const { stage, market, folder, ownObject } = ground;
  const namespace = `bench-${runs}`;
  const { plan, roundTripMs, paced } = scenario;
  // Four in ten are what the operator looks for by default: verified, with one GPU.
  const offers = plan.objects * 4 + 500;
  const { url, apiKey } = await market.open({
    offers,
    roundTripMs,
    rateLimits: paced,
    bootScale: BOOT_SCALE,
  });
  const objects = await stage.openObjects(namespace);
  const where = { stage, namespace, marketplaceUrl: url, apiKey, paced, logFolder: folder, ownObject };
  const scene = {
    ...{ clock: systemClock, objects, market, roundTripMs, paced },
    start: (pollSeconds: number) => contender.start({ ...where, pollSeconds }),
    countRequests: () => stage.countRequests(contender.serviceAccount),
    serversCpuMs: () => stage.serversCpuMs(),
  };
  try {
    return await live(scene, plan);
  } finally {
    if (contender === OWN) ground.ownObject = objects.lastRunning();
    await objects.close();
  }
}
