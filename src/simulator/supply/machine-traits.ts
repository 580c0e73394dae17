import type { Random } from '../../lib/random.ts';
import type { Machine } from '../tables/market.ts';
import { pick, round, span } from '../world/chance.ts';

/* Machines of the market and their properties, drawn from a seed. PURE. */

const DAY = 86_400;

/** Properties that offers of one machine share. */
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

/** Returns a machine of a host, up and listed. */
export function randomMachine(id: number, hostId: number, random: Random): Machine {
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

/**
 * Returns the shared properties of a machine's offers: a server board for server GPUs, a desktop board for the others.
 */
export function randomTraits(model: GpuModel, random: Random): Traits {
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
    cpu: randomCpu(isServer, random),
    ramMB: (isServer ? 256_000 : 32_000) * (1 + Math.floor(random.next() * 4)),
    cuda,
    driver,
    inetDown: round(span(random, 80, isServer ? 9000 : 1500), 1),
    startSecondsAgo: Math.floor(span(random, 1, 200)) * DAY,
    endSecondsAhead: Math.floor(span(random, 3, 365)) * DAY,
  };
}

function randomCpu(isServer: boolean, random: Random): Traits['cpu'] {
  const [names, least, step] = isServer ? ([SERVER_CPUS, 64, 32] as const) : ([DESK_CPUS, 12, 4] as const);
  return {
    name: pick(names, random) ?? 'AMD EPYC 7763 64-Core Processor',
    cores: least + step * Math.floor(random.next() * (isServer ? 5 : 9)),
    ghz: round(span(random, 2.4, 4.9), 1),
  };
}

/** A GPU model on the market: figures of one GPU. */
export interface GpuModel {
  readonly name: string;
  readonly arch: 'nvidia' | 'amd';
  /** Memory, MB. */
  readonly memoryMB: number;
  /** Capability times 100, as on the wire. */
  readonly computeCap: number;
  readonly tflops: number;
  readonly dlperf: number;
  readonly bandwidthGBps: number;
  readonly nvlinkGBps: number;
  readonly watts: number;
  /** Usual price, dollars an hour. */
  readonly price: number;
  /** Frequency relative to the others. */
  readonly weight: number;
  readonly serverCpu: boolean;
}

type Figures = readonly [
  name: string,
  memoryMB: number,
  computeCap: number,
  tflops: number,
  dlperf: number,
  bandwidthGBps: number,
  nvlinkGBps: number,
  watts: number,
  price: number,
  weight: number,
  serverCpu: boolean,
];

const NVIDIA: readonly Figures[] = [
  ['RTX 3060', 12_288, 860, 12.7, 12, 360, 0, 170, 0.07, 6, false],
  ['RTX 3070', 8192, 860, 20.3, 17, 448, 0, 220, 0.08, 4, false],
  ['RTX 3080', 10_240, 860, 29.8, 26, 760, 0, 320, 0.11, 4, false],
  ['RTX 3090', 24_576, 860, 35.6, 35, 936, 0, 350, 0.2, 12, false],
  ['RTX 4060 Ti', 16_380, 890, 22.1, 22, 288, 0, 165, 0.12, 4, false],
  ['RTX 4070S Ti', 16_376, 890, 44.1, 40, 672, 0, 285, 0.2, 3, false],
  ['RTX 4080', 16_376, 890, 48.7, 48, 717, 0, 320, 0.25, 4, false],
  ['RTX 4090', 24_564, 890, 82.6, 88, 1008, 0, 450, 0.39, 20, false],
  ['RTX 5080', 16_303, 1200, 56.3, 76, 960, 0, 360, 0.33, 3, false],
  ['RTX 5090', 32_607, 1200, 104.8, 150, 1792, 0, 575, 0.62, 10, false],
  ['RTX A4000', 16_376, 860, 19.2, 19, 448, 0, 140, 0.11, 3, true],
  ['RTX A5000', 24_564, 860, 27.8, 27, 768, 0, 230, 0.2, 3, true],
  ['RTX A6000', 49_140, 860, 38.7, 40, 768, 0, 300, 0.45, 5, true],
  ['RTX 6000Ada', 49_140, 890, 91.1, 84, 960, 0, 300, 0.72, 4, true],
  ['RTX PRO 6000 WS', 97_887, 1200, 126, 165, 1792, 0, 600, 1.1, 3, true],
  ['L4', 23_034, 890, 30.3, 29, 300, 0, 72, 0.3, 2, true],
  ['L40S', 46_068, 890, 91.6, 80, 864, 0, 350, 0.7, 4, true],
  ['Tesla T4', 15_360, 750, 8.1, 9, 320, 0, 70, 0.12, 2, true],
  ['Tesla V100', 16_384, 700, 14.1, 17, 897, 150, 300, 0.16, 2, true],
  ['A10', 23_028, 860, 31.2, 27, 600, 0, 150, 0.22, 2, true],
  ['A40', 46_068, 860, 37.4, 36, 696, 0, 300, 0.38, 3, true],
  ['A100 PCIE', 40_960, 800, 19.5, 47, 1555, 0, 250, 0.65, 3, true],
  ['A100 SXM4', 81_920, 800, 19.5, 60, 2039, 300, 400, 0.95, 5, true],
  ['H100 PCIE', 81_559, 900, 51.2, 95, 2000, 0, 350, 1.75, 2, true],
  ['H100 NVL', 95_830, 900, 60, 120, 3938, 300, 400, 2, 2, true],
  ['H100 SXM', 81_559, 900, 67, 145, 3350, 450, 700, 2.15, 6, true],
  ['H200', 143_771, 900, 67, 155, 4890, 450, 700, 2.6, 3, true],
  ['B200', 183_359, 1000, 80, 260, 7700, 900, 1000, 4.2, 1, true],
];

const AMD: readonly Figures[] = [['Instinct MI300X', 196_608, 0, 163.4, 130, 5300, 448, 750, 1.9, 1, true]];

const model =
  (arch: 'nvidia' | 'amd') =>
  ([
    name,
    memoryMB,
    computeCap,
    tflops,
    dlperf,
    bandwidthGBps,
    nvlinkGBps,
    watts,
    price,
    weight,
    serverCpu,
  ]: Figures): GpuModel => ({
    name,
    arch,
    memoryMB,
    computeCap,
    tflops,
    dlperf,
    bandwidthGBps,
    nvlinkGBps,
    watts,
    price,
    weight,
    serverCpu,
  });

/** Models that hosts list; most figures are those of their makers. */
export const GPU_MODELS: readonly GpuModel[] = [...NVIDIA.map(model('nvidia')), ...AMD.map(model('amd'))];

/** Location of a host in offers. */
export interface Place {
  readonly geolocation: string;
  /** Number of the country, with which a two-letter `geolocation` filter compares. */
  readonly geolocode: number;
}

const NAMES = [
  'California, US',
  'Texas, US',
  'Washington, US',
  'Virginia, US',
  'Quebec, CA',
  'Ontario, CA',
  'Sweden, SE',
  'Norway, NO',
  'Germany, DE',
  'Netherlands, NL',
  'France, FR',
  'United Kingdom, GB',
  'Poland, PL',
  'Czechia, CZ',
  'Spain, ES',
  'Bulgaria, BG',
  'Japan, JP',
  'South Korea, KR',
  'Taiwan, TW',
  'Singapore, SG',
  'Australia, AU',
  'India, IN',
  'Brazil, BR',
  'South Africa, ZA',
] as const;

/** Returns the number of a two-letter country; other texts get numbers that no country has. */
export function countryCode(country: string): number {
  const letters = country.trim().toUpperCase();
  if (!/^[A-Z]{2}$/.test(letters)) return -1;
  return (letters.charCodeAt(0) - 64) * 27 + (letters.charCodeAt(1) - 64);
}

/** Returns a place by its name, which ends in the letters of its country: `Sweden, SE`, or just `SE`. */
export function placeNamed(geolocation: string): Place {
  return { geolocation, geolocode: countryCode(geolocation.slice(geolocation.lastIndexOf(' ') + 1)) };
}

/** Places of the market. */
export const PLACES: readonly Place[] = NAMES.map(placeNamed);
