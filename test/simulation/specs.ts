import type { JsonObject } from './memory-kube/json.ts';

/** Usual spec of a machine. */
export const MACHINE: JsonObject = {
  offers: [{ gpuNames: ['RTX 4090'], maxPricePerHour: '0.90' }],
  image: 'example/work:1',
  disk: '20G',
  timeouts: { provisioning: '2m', loading: '3m', start: '1m' },
};

/** Offers of a machine rented by a bid, which another renter may outbid. */
export const BY_BID: JsonObject[] = [
  { gpuNames: ['RTX 4090'], pricing: 'Interruptible', bid: '0.45', maxPricePerHour: '0.90' },
];

/** Offers of a machine whose price may be unknown. */
export const AT_ANY_PRICE: JsonObject[] = [
  { gpuNames: ['RTX 4090'], maxPricePerHour: '0.90', allowUnknownPrice: true },
];

/** Work per second of one worker of a group. */
export const WORKER_PERF = 100;

/** A group of at most three workers under a ceiling that binds at times; its load and its template come beside this. */
export const GROUP_SPEC: JsonObject = {
  expectedPerf: String(WORKER_PERF),
  targetUtilizationPercent: 100,
  minLoad: '0',
  coldMultiplier: '1',
  coldWorkers: 0,
  maxWorkers: 3,
  maxSpendPerHour: '1.50',
  scaleToZero: 'Allow',
  wakeTimeout: '60s',
  spreadBy: 'None',
  updateStrategy: { type: 'RollingUpdate', maxUnavailable: 1 },
  pause: {},
  replicas: null,
  endpointName: null,
};
