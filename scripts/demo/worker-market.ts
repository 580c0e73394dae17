import { systemClock } from '../../src/lib/clock.ts';
import { createSimulator, type Simulator } from '../../src/simulator/simulator.ts';
import { WorkerFleet } from '../../test/builders/worker-fleet.ts';
import type { Marketplace } from './simulator.ts';

/** Work per second of every simulated worker. */
export const WORKER_PERF = 100;
/** Work of one request. */
export const REQUEST_SIZE = 10;
/** Container port of `http` in the sample. */
const WORKER_PORT = '8000/tcp';
const BOOT_SCALE = 0.02;

/** A simulated marketplace in this process, whose machines are workers that serve, queue, reject and report. */
export interface WorkerMarket {
  readonly simulator: Simulator;
  readonly fleet: WorkerFleet;
  open(): Promise<Marketplace>;
}

/** `maxQueueSeconds` is how long a worker lets a request wait before it rejects. */
export function workerMarket(maxQueueSeconds: number): WorkerMarket {
  const simulator = createSimulator({
    control: true,
    seed: 42,
    settings: { boot: { scale: BOOT_SCALE } },
    machineServer: ({ contract, containerPort }) =>
      containerPort === WORKER_PORT ? fleet.listener(contract) : undefined,
  });
  const fleet: WorkerFleet = new WorkerFleet({
    simulator,
    clock: systemClock,
    perf: WORKER_PERF,
    requestSize: REQUEST_SIZE,
    maxQueueSeconds,
  });
  const open = async (): Promise<Marketplace> => {
    const { url, close } = await simulator.listen(0);
    return { url, apiKey: simulator.apiKey, controlUrl: `${url}/sim`, stop: close };
  };
  return { simulator, fleet, open };
}
