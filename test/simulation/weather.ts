import type { Random } from '../../src/lib/random.ts';
import type { TransportRequest } from '../../src/lib/transport.ts';
import type { Fate } from './network.ts';
import { needOfFault } from './simulated-market.ts';
import type { Side, SimulatedWorld } from './world.ts';

/** Probability of each fault of one schedule. A seed picks a few kinds; zero means never. */
export interface Climate {
  /** Per call. */
  readonly loseRequest: number;
  readonly loseResponse: number;
  readonly late: number;
  readonly duplicate: number;
  readonly crashBefore: number;
  readonly crashAfter: number;
  readonly conflict: number;
  readonly throttled: number;
  readonly serverError: number;
  readonly slow: number;
  /** Per watch. */
  readonly cutWatch: number;
  readonly dropEvent: number;
  readonly delayEvents: number;
  /** Mean seconds between two of a kind; 0 is never. */
  readonly marketFaultEvery: number;
  readonly killEvery: number;
  readonly freezeEvery: number;
  readonly clockJumpEvery: number;
  readonly compactEvery: number;
  readonly userEvery: number;
  readonly installEvery: number;
}

export interface ClimateOptions {
  /** Without pauses: no freezes, no clock jumps, no hands that remove finalizers. */
  readonly calmProcesses: boolean;
}

const PER_CALL = [
  'loseRequest',
  'loseResponse',
  'late',
  'duplicate',
  'crashBefore',
  'crashAfter',
  'conflict',
  'throttled',
  'serverError',
  'slow',
  'cutWatch',
  'dropEvent',
  'delayEvents',
] as const;

/** Draws the climate of one schedule: about half of the kinds, each with a strength of its own. */
export function drawClimate(random: Random, { calmProcesses }: ClimateOptions): Climate {
  const strength = () => (random.next() < 0.5 ? 0 : random.next() ** 2 * 0.15);
  const perCall = Object.fromEntries(PER_CALL.map((name) => [name, strength()])) as Record<
    (typeof PER_CALL)[number],
    number
  >;
  const every = (least: number, most: number) =>
    random.next() < 0.4 ? 0 : least + random.next() * (most - least);
  return {
    ...perCall,
    crashBefore: perCall.crashBefore / 4,
    crashAfter: perCall.crashAfter / 4,
    dropEvent: perCall.dropEvent / 4,
    marketFaultEvery: every(20, 120),
    killEvery: every(20, 160),
    freezeEvery: calmProcesses ? 0 : every(40, 200),
    clockJumpEvery: calmProcesses ? 0 : every(100, 400),
    compactEvery: every(60, 300),
    userEvery: every(20, 120),
    installEvery: random.next() < 0.8 ? 0 : 80 + random.next() * 220,
  };
}

const QUIET: Fate = { requestMs: 2, responseMs: 2 };

function refusalOf(status: number, reason: string): Fate {
  const body = JSON.stringify({
    kind: 'Status',
    apiVersion: 'v1',
    status: 'Failure',
    reason,
    code: status,
    message: 'injected',
  });
  return { ...QUIET, refusal: { status, body, headers: status === 429 ? { 'retry-after': '1' } : {} } };
}

interface Roll {
  readonly name: keyof Climate;
  /** Returns true if the fault can affect this call. */
  readonly applies: (side: Side, request: TransportRequest) => boolean;
  readonly fate: (random: Random, side: Side) => Fate;
}

const isWatch = (_side: Side, request: TransportRequest) => request.path.includes('watch=true');
const isCall = (side: Side, request: TransportRequest) => !isWatch(side, request);
const isWrite = (_side: Side, request: TransportRequest) => request.method !== 'GET';
const onKube = (side: Side) => side === 'kube';
const legMs = (random: Random) => 1 + random.next() * 60;

const ROLLS: readonly Roll[] = [
  { name: 'crashBefore', applies: isWrite, fate: () => ({ ...QUIET, crash: 'before' }) },
  { name: 'crashAfter', applies: isWrite, fate: () => ({ ...QUIET, crash: 'after' }) },
  { name: 'loseRequest', applies: isCall, fate: () => ({ ...QUIET, loseRequest: true }) },
  { name: 'loseResponse', applies: isCall, fate: () => ({ ...QUIET, loseResponse: true }) },
  {
    name: 'late',
    applies: isWrite,
    fate: (random, side) => ({ ...QUIET, lateMs: random.next() * (side === 'kube' ? 5000 : 120_000) }),
  },
  {
    name: 'duplicate',
    applies: isWrite,
    fate: (random) => ({ ...QUIET, duplicateAfterMs: random.next() * 20_000 }),
  },
  {
    name: 'conflict',
    applies: (side, request) => onKube(side) && request.method === 'PUT',
    fate: () => refusalOf(409, 'Conflict'),
  },
  { name: 'throttled', applies: isCall, fate: () => refusalOf(429, 'TooManyRequests') },
  { name: 'serverError', applies: isCall, fate: () => refusalOf(500, 'InternalError') },
  {
    name: 'slow',
    applies: isCall,
    fate: (random) => ({ requestMs: random.next() * 8000, responseMs: random.next() * 8000 }),
  },
  {
    name: 'cutWatch',
    applies: isWatch,
    fate: (random) => ({ ...QUIET, cutAfterChunks: Math.floor(random.next() * 12) }),
  },
  {
    name: 'dropEvent',
    applies: isWatch,
    fate: (random) => ({ ...QUIET, dropChunk: () => random.next() < 0.05 }),
  },
  {
    name: 'delayEvents',
    applies: isWatch,
    fate: (random) => ({ ...QUIET, chunkDelayMs: () => random.next() * 3000 }),
  },
];

/** Returns the fate of one call in this climate. */
export function fateIn(
  climate: Climate,
  random: Random,
  { side, request }: { readonly side: Side; readonly request: TransportRequest },
): { readonly fate: Fate; readonly name: string | undefined } {
  for (const { name, applies, fate } of ROLLS) {
    if (!applies(side, request)) continue;
    if (random.next() < climate[name]) return { fate: fate(random, side), name };
  }
  return { fate: { requestMs: legMs(random), responseMs: legMs(random) }, name: undefined };
}

/** Body of a request to `/sim/faults`. */
interface MarketFault {
  readonly name: string;
  readonly seconds?: number;
}

/** Calls for half of the faults; the others affect the next call, which is rarely an important one. */
const FAULTY_ENDPOINTS = ['rent', 'list', 'destroy'] as const;

/**
 * Marketplace faults that a swarm draws from. Tests cover those that take a minute of real time (100 MB, a byte per
 * second). Stories and integration tests cover labels that a service loses: without any label, the operator by design
 * takes a machine that a person rents for its own purchase without a response.
 */
const CALL_FAULTS: readonly MarketFault[] = [
  { name: 'refused' },
  { name: '429-json' },
  { name: 'forbidden' },
  { name: 'redirect' },
  { name: 'delayed-reply', seconds: 40 },
  { name: 'reset-after' },
  { name: 'reset-before' },
  { name: 'delayed', seconds: 40 },
  { name: 'duplicated' },
  { name: '429-text' },
  { name: '429-retry-after' },
  { name: '5xx' },
  { name: '5xx-with-effect' },
  { name: 'error-with-effect' },
  { name: 'success-false' },
  { name: 'success-false-with-effect' },
  { name: 'auth-as-404' },
  { name: 'revoked-key', seconds: 30 },
  { name: 'rubbish-reply' },
];

const SERVICE_FAULTS: readonly MarketFault[] = [
  { name: 'odd-row' },
  { name: 'next-token-loop' },
  { name: 'price-missing', seconds: 30 },
  { name: 'slow-pull', seconds: 120 },
  { name: 'crash-image', seconds: 60 },
  { name: 'empty-list' },
  { name: 'truncated-list' },
  { name: 'offer-gone' },
  { name: 'create-stopped' },
  { name: 'stuck-loading' },
  { name: 'stale-list', seconds: 30 },
  { name: 'lagging-list', seconds: 45 },
  { name: 'ghost-rows', seconds: 45 },
  { name: 'unknown-status', seconds: 30 },
  { name: 'flap', seconds: 60 },
  { name: 'delete-ignored' },
  { name: 'cannot-start', seconds: 60 },
  { name: 'mass-outage', seconds: 20 },
  { name: 'mass-outage', seconds: 150 },
  { name: 'credit-out' },
];

const MACHINE_FAULTS: readonly MarketFault[] = [
  { name: 'offline', seconds: 40 },
  { name: 'offline', seconds: 400 },
  { name: 'unknown', seconds: 90 },
  { name: 'exited' },
  { name: 'host-death' },
  { name: 'destroyed-elsewhere' },
  { name: 'price-increase', seconds: 60 },
  { name: 'outbid' },
];

/** Asks the simulator for a fault, as `/sim/faults` does. */
export async function causeFault(
  world: SimulatedWorld,
  fault: Readonly<Record<string, unknown>>,
): Promise<void> {
  const need = needOfFault(fault);
  if (need && !world.has(need)) return;
  const response = await world.market.handle({
    method: 'POST',
    origin: 'http://simulator',
    path: '/sim/faults',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(fault),
  });
  world.note(`the marketplace: ${JSON.stringify(fault)} (${response.status})`);
}

/** Strikes machines with a fault, and leaves none at the service: what is not struck is as it was. */
export function befall(world: SimulatedWorld, fault: Readonly<Record<string, unknown>>): void {
  const { store } = world.market;
  const known = new Set(Object.keys(store.current().tables.faults));
  void causeFault(world, fault).then(() => {
    for (const id of Object.keys(store.current().tables.faults))
      if (!known.has(id)) store.remove('faults', Number(id));
  });
}

/** Takes every fault of the marketplace back, except a change of labels: a market either returns them or does not. */
export function clearFaults(world: SimulatedWorld): void {
  const { store } = world.market;
  for (const [id, { name }] of Object.entries(store.current().tables.faults))
    if (!name.startsWith('label-')) store.remove('faults', Number(id));
}

/** Draws one fault of the marketplace; one of a machine strikes one of `contracts`. */
export function drawMarketFault(
  contracts: readonly number[],
  random: Random,
): Readonly<Record<string, unknown>> {
  const instance = oneOf(contracts, random);
  if (instance !== undefined && random.next() < 0.5)
    return { count: 1, ...oneOf(MACHINE_FAULTS, random), instance };
  const drawn = oneOf([...CALL_FAULTS, ...SERVICE_FAULTS], random) ?? { name: '5xx' };
  const endpoint = random.next() < 0.5 ? oneOf(FAULTY_ENDPOINTS, random) : undefined;
  return { count: 1, ...drawn, ...(CALL_FAULTS.includes(drawn) && endpoint ? { endpoint } : {}) };
}

const oneOf = <T>(choices: readonly T[], random: Random): T | undefined =>
  choices[Math.floor(random.next() * choices.length)];
