import type { Random } from '../../lib/random.ts';
import type { Machine } from '../tables/machines.ts';
import { pick, round, span } from './draw.ts';
import type { GpuModel } from './gpu-models.ts';
import { PLACES, type Place, placeNamed } from './places.ts';

/* Machines of the market and what they are made of, drawn from a seed. PURE. */

const DAY = 86_400;

/** What offers of one machine have in common. */
export interface Traits {
  readonly place: Place;
  readonly verified: boolean;
  readonly datacenter: boolean;
  readonly diskGB: number;
  readonly directPorts: number;
  readonly pricePerGpu: number;
  readonly diskPrice: number;
  readonly cpu: { readonly name: string; readonly cores: number; readonly ghz: number };
  readonly ramMB: number;
  readonly cuda: number;
  readonly driver: string;
  readonly inetDown: number;
  readonly startSecondsAgo: number;
  readonly endSecondsAhead: number;
}

/** A machine of a host, up and listed. */
export function drawMachine(id: number, hostId: number, random: Random): Machine {
  return {
    id,
    hostId,
    publicAddress: `203.0.113.${1 + (id % 254)}`,
    state: 'up',
    stateUntil: null,
    pullFactor: round(span(random, 0.6, 1.6), 3),
    reliability: round(1 - 0.08 * random.next() ** 3, 6),
    listed: true,
  };
}

const SERVER_CPUS = [
  'AMD EPYC 7763 64-Core Processor',
  'AMD EPYC 9354 32-Core Processor',
  'Xeon® Platinum 8480+',
];
const DESK_CPUS = ['AMD Ryzen 9 5950X 16-Core Processor', 'Core™ i7-12700K', 'AMD Ryzen Threadripper 3960X'];
const DRIVERS = [
  ['535.183.01', 12.2],
  ['550.127.05', 12.4],
  ['560.35.03', 12.6],
  ['570.133.07', 12.8],
  ['580.82.09', 13],
] as const;

/** What the offers of one machine share: a server's board for server GPUs, a desktop's for the others. */
export function drawTraits(model: GpuModel, random: Random): Traits {
  const isServer = model.serverCpu;
  const [driver, cuda] = pick(DRIVERS, random) ?? DRIVERS[1];
  return {
    place: pick(PLACES, random) ?? placeNamed('California, US'),
    verified: random.next() < 0.72,
    datacenter: isServer && random.next() < 0.5,
    diskGB: round(span(random, 60, isServer ? 8000 : 1800), 1),
    directPorts: random.next() < 0.12 ? 0 : Math.floor(span(random, 2, 500)),
    pricePerGpu: model.price * span(random, 0.75, 1.6),
    diskPrice: round(span(random, 0.05, 0.3), 4),
    cpu: drawCpu(isServer, random),
    ramMB: (isServer ? 256_000 : 32_000) * (1 + Math.floor(random.next() * 4)),
    cuda,
    driver,
    inetDown: round(span(random, 80, isServer ? 9000 : 1500), 1),
    startSecondsAgo: Math.floor(span(random, 1, 200)) * DAY,
    endSecondsAhead: Math.floor(span(random, 3, 365)) * DAY,
  };
}

function drawCpu(isServer: boolean, random: Random): Traits['cpu'] {
  const [names, least, step] = isServer ? ([SERVER_CPUS, 64, 32] as const) : ([DESK_CPUS, 12, 4] as const);
  return {
    name: pick(names, random) ?? 'AMD EPYC 7763 64-Core Processor',
    cores: least + step * Math.floor(random.next() * (isServer ? 5 : 9)),
    ghz: round(span(random, 2.4, 4.9), 1),
  };
}
