import { valueIn } from '../../src/api/v1alpha1/offer-fields.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { Secret } from '../../src/lib/secret.ts';
import type { CallOptions } from '../../src/market/call-options.ts';
import { MarketplaceError, type MarketplaceErrorKind } from '../../src/market/errors.ts';
import type { MachineRow } from '../../src/market/machine.ts';
import type { Market, MarketFacts, MarketOptions } from '../../src/market/market.ts';
import type { Offer, OfferQuery, OfferScalar } from '../../src/market/offer.ts';

/** Machine type of the catalogue, in one place. Any number of customers may rent it while hosts are free. */
interface Kind {
  readonly gpu: string;
  readonly count: number;
  readonly place: string;
  readonly dollarsPerHour: number;
  readonly hosts: number;
}

const CATALOGUE: readonly Kind[] = [
  { gpu: 'RTX 4090', count: 1, place: 'Oslo, NO', dollarsPerHour: 0.42, hosts: 3 },
  { gpu: 'RTX 4090', count: 2, place: 'Oslo, NO', dollarsPerHour: 0.84, hosts: 1 },
  { gpu: 'H100 SXM', count: 1, place: 'Texas, US', dollarsPerHour: 2.1, hosts: 2 },
];

const BOOT_MS = 30_000;

interface Machine {
  readonly id: string;
  readonly kind: Kind;
  readonly image: string | undefined;
  readonly startedAt: number;
}

/** Capabilities of the toy: a catalogue instead of offers, no labels, no stop, no bids. */
export const toyFacts: MarketFacts = {
  name: 'Toy',
  label: { kept: 'never' },
  hasBids: false,
  hasStop: false,
  hasUtilization: false,
  namesHosts: false,
  script: {
    max: 1_000,
    pack: (script) =>
      script.length <= 1_000
        ? { type: 'fits', script }
        : { type: 'tooLong', bytes: Buffer.byteLength(script), packedLength: script.length },
    tooLong: () => undefined,
  },
  offerFields: {
    facts: new Set(['gpuName', 'gpuCount', 'verified', 'rentable', 'pricePerHour', 'region']),
    unknown: (name) => (name === 'place' ? undefined : `"${name}" is no field of an offer: only place is`),
    impossible: () => undefined,
  },
};

/** The service: it outlives the markets that are opened on it. */
export interface Toy {
  open(options: Pick<MarketOptions, 'key'>): Market;
  /** The key of its one user. */
  readonly key: string;
  /** Requests that created a machine. */
  readonly created: () => number;
}

/** Creates an in-memory market that differs from Vast.ai as much as the port allows. */
export function toyService(clock: Pick<Clock, 'now'>): Toy {
  const key = 'the-only-key';
  const machines = new Map<string, Machine>();
  let nextId = 0;

  const free = (kind: Kind) =>
    kind.hosts - [...machines.values()].filter((machine) => machine.kind === kind).length;

  function open({ key: given }: Pick<MarketOptions, 'key'>): Market {
    /** Checks the caller's `mayLeave`, then the key; every call starts here. */
    const enter = async (purpose: 'read' | 'destroy' | 'change', call: CallOptions = {}) => {
      if (call.mayLeave && !(await call.mayLeave())) throw refusal('aborted', 'the call was taken back');
      const used = typeof given === 'function' ? given(purpose) : given;
      if (!used.equals(new Secret(key))) throw refusal('unauthorized', 'no such key');
    };
    return {
      about: toyFacts,
      async offers(query, call) {
        await enter('read', call);
        const offers = CATALOGUE.filter((kind) => free(kind) > 0).map((kind) => ({
          ...offerOf(kind),
          stock: free(kind),
        }));
        return query.pricing === 'bid'
          ? []
          : ordered(
              offers.filter((offer) => matches(offer, query)),
              query,
            );
      },
      async rent(offerId, request, call) {
        await enter('change', call);
        const kind = CATALOGUE.find((each) => offerOf(each).id === offerId);
        if (!kind || free(kind) === 0) throw refusal('offerGone', 'no host of this kind is free');
        nextId += 1;
        const id = `toy-${nextId}`;
        machines.set(id, { id, kind, image: request.image, startedAt: clock.now() });
        return { instanceId: id, instanceApiKey: undefined, answeredAt: clock.now() };
      },
      async machines(call) {
        await enter('read', call);
        return { machines: [...machines.values()].map((machine) => rowOf(machine, clock.now())) };
      },
      async machine(id, call) {
        await enter('read', call);
        const machine = machines.get(id);
        return machine ? rowOf(machine, clock.now()) : null;
      },
      async destroy(id, call) {
        await enter('destroy', call);
        if (!machines.delete(id)) throw refusal('notFound', 'no such machine');
        return { answeredAt: clock.now() };
      },
      async login(call) {
        await enter('read', call);
        return { id: 'toy-user', credit: undefined, sshKey: undefined, twoFactor: undefined };
      },
      async mayDestroy(call) {
        await enter('read', call);
        return true;
      },
    };
  }
  return { open, key, created: () => nextId };
}

function refusal(kind: MarketplaceErrorKind, why: string): MarketplaceError {
  return new MarketplaceError(`toy: ${why}`, { kind, outcome: 'refused' });
}

/**
 * Returns the offer of a machine type. Its ID is the type: nothing is reserved, and the same offer can be rented
 * again.
 */
function offerOf(kind: Kind): Offer {
  const { gpu, count, place, dollarsPerHour } = kind;
  return {
    id: `${gpu}/${count}/${place}`,
    gpuName: gpu,
    gpuCount: count,
    verified: true,
    rentable: true,
    pricePerHour: Math.round(dollarsPerHour * 1e6),
    region: place,
    fields: { place },
  };
}

/** Returns true if an offer matches. Unknown fields match, as at a service that ignores a filter. */
function matches(offer: Offer, { filters }: OfferQuery): boolean {
  return filters.every(({ field, operator, value }) => {
    const known = valueIn(offer, field);
    if (known === undefined || known === null) return true;
    const values: readonly OfferScalar[] = Array.isArray(value) ? value : [value as OfferScalar];
    if (operator === 'eq' || operator === 'in') return values.includes(known);
    if (operator === 'lte') return Number(known) <= Number(value);
    return operator === 'gte' ? Number(known) >= Number(value) : true;
  });
}

function ordered(offers: readonly Offer[], { order = [] }: OfferQuery): readonly Offer[] {
  const [first] = order;
  const isByPrice = first?.field === 'pricePerHour';
  return isByPrice ? offers.toSorted((a, b) => (a.pricePerHour ?? 0) - (b.pricePerHour ?? 0)) : offers;
}

function rowOf({ id, kind, image, startedAt }: Machine, now: number): MachineRow {
  const runs = now - startedAt >= BOOT_MS;
  return {
    id,
    label: undefined,
    state: runs ? 'running' : 'loading',
    marketStatus: runs ? 'UP' : 'COMING_UP',
    intendedPower: undefined,
    machineId: undefined,
    hostId: undefined,
    startedAt,
    pricePerHour: Math.round(kind.dollarsPerHour * 1e6),
    storagePricePerHour: undefined,
    sshHost: runs ? '203.0.113.9' : undefined,
    sshPort: runs ? 22_000 : undefined,
    publicAddress: runs ? '203.0.113.9' : undefined,
    ports: {},
    gpuName: kind.gpu,
    gpuCount: kind.count,
    gpuMemoryMB: undefined,
    gpuUtilization: undefined,
    diskGB: undefined,
    image,
    interruptible: false,
    region: kind.place,
    statusMessage: undefined,
  };
}
