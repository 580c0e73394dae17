import { type Random, seededRandom } from '../../lib/random.ts';
import type { Column, Machine, Offer } from '../tables/market.ts';
import { pick } from '../world/chance.ts';
import {
  GPU_MODELS,
  type GpuModel,
  placeNamed,
  randomMachine,
  randomTraits,
  type Traits,
} from './machine-traits.ts';
import { FIRST_OFFER, makeOffer, micros } from './offer-row.ts';

/*
 * A market to search: machines of hosts with offers, with consistent figures in every column of the wire, and equal
 * for equal seeds. PURE.
 */

/** First id, high enough never to be confused with an index. */
const FIRST_MACHINE = 10_001;
const FIRST_HOST = 50_001;

export interface Catalog {
  readonly machines: readonly Machine[];
  readonly offers: readonly Offer[];
}

/** Fields of an offer that a test or demo sets; defaults fill the rest. Money is dollars. */
export interface OfferSketch {
  readonly id?: number;
  readonly machineId?: number;
  readonly hostId?: number;
  readonly gpuName?: string;
  readonly gpuCount?: number;
  readonly pricePerHour?: number;
  readonly diskPricePerGBMonth?: number;
  readonly minBid?: number;
  readonly reliability?: number;
  readonly verified?: boolean;
  readonly country?: string;
  readonly directPorts?: number;
  readonly diskGB?: number;
  /** Any further wire columns. */
  readonly columns?: Readonly<Record<string, Column>>;
}

/** Returns at least `count` offers of a seeded market. `now` is milliseconds. */
export function seededCatalog(options: { seed: number; count: number; now: number }): Catalog {
  const random = seededRandom(options.seed ^ 0x0ff3);
  const machines: Machine[] = [];
  const offers: Offer[] = [];
  let host = FIRST_HOST;
  while (offers.length < options.count) {
    if (random.next() < 0.45) host += 1;
    const model = pickModel(random);
    const machine = randomMachine(FIRST_MACHINE + machines.length, host, random);
    machines.push(machine);
    const traits = randomTraits(model, random);
    for (const gpuCount of slices(model, random)) {
      offers.push(
        makeOffer({
          id: FIRST_OFFER + offers.length,
          machine,
          model,
          gpuCount,
          traits,
          now: options.now,
          random,
        }),
      );
    }
  }
  return { machines, offers };
}

/** Returns exactly the given offers; offers that name one machine share it. */
export function catalogOf(sketches: readonly OfferSketch[], now: number): Catalog {
  const random = seededRandom(sketches.length + 1);
  const machines = new Map<number, Machine>();
  const offers = sketches.map((sketch, index) => {
    const machineId = sketch.machineId ?? FIRST_MACHINE + index;
    const machine = machines.get(machineId) ?? {
      ...randomMachine(machineId, sketch.hostId ?? FIRST_HOST + index, random),
      pullFactor: 1,
      reliability: sketch.reliability ?? 0.995,
    };
    machines.set(machineId, machine);
    return sketched(sketch, { id: sketch.id ?? FIRST_OFFER + index, machine, now, random });
  });
  return { machines: [...machines.values()], offers };
}

/** Defaults of a sketch. */
const PLAIN = {
  gpuName: 'RTX 4090',
  gpuCount: 1,
  country: 'California, US',
  verified: true,
  diskGB: 500,
  directPorts: 64,
  diskPricePerGBMonth: 0.15,
} as const;

function sketched(
  sketch: OfferSketch,
  base: { id: number; machine: Machine; now: number; random: Random },
): Offer {
  const given = { ...PLAIN, ...sketch };
  // A model of the list, or a new model of that name with the figures of the first.
  const model = GPU_MODELS.find((known) => known.name === given.gpuName) ?? {
    ...defaultModel(),
    name: given.gpuName,
  };
  const traits: Traits = {
    ...randomTraits(model, base.random),
    place: placeNamed(given.country),
    verified: given.verified,
    diskGB: given.diskGB,
    directPorts: given.directPorts,
    pricePerGpu: (given.pricePerHour ?? model.price) / given.gpuCount,
    diskPrice: given.diskPricePerGBMonth,
  };
  const offer = makeOffer({ ...base, model, gpuCount: given.gpuCount, traits });
  const minBidPerHour = given.minBid === undefined ? offer.minBidPerHour : micros(given.minBid);
  return { ...offer, minBidPerHour, columns: { ...offer.columns, ...given.columns } };
}

function defaultModel(): GpuModel {
  const [first] = GPU_MODELS;
  if (!first) throw new Error('The list of GPU models is empty.');
  return first;
}

function pickModel(random: Random): GpuModel {
  const total = GPU_MODELS.reduce((sum, model) => sum + model.weight, 0);
  let mark = random.next() * total;
  for (const model of GPU_MODELS) {
    mark -= model.weight;
    if (mark < 0) return model;
  }
  return defaultModel();
}

/** Returns the GPU counts of the offers into which a machine is divided. */
function slices(model: GpuModel, random: Random): readonly number[] {
  const cuts: readonly (readonly number[])[] = model.serverCpu
    ? [[8], [4, 4], [4, 2, 1, 1], [2, 2], [1], [1, 1], [8]]
    : [[1], [1], [1], [2], [1, 1], [4], [2, 1, 1]];
  return pick(cuts, random) ?? [1];
}
