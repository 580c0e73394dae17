import type { HeldOffers } from '../../accounts/admission.ts';
import { type AccountLimits, refusesUnknownPrice } from '../../accounts/spend-limits.ts';
import { fieldName } from '../../api/v1alpha1/former-columns.ts';
import { valueIn } from '../../api/v1alpha1/offer-fields.ts';
import type { OfferRequirements } from '../../api/v1alpha1/offer-requirements.ts';
import {
  type DeclaredPorts,
  filterRequirements,
  neededDirectPorts,
  type Requirement,
  requirementOn,
  requirementsOn,
  searchFilter,
} from '../../api/v1alpha1/requirements.ts';
import { LazyOrder } from '../../lib/lazy-order.ts';
import { formatDollars, type MicroDollars, parseDollars } from '../../lib/money.ts';
import { alternatives, nearestModels } from '../../lib/text.ts';
import { compareIds } from '../../market/ids.ts';
import type { Offer, OfferQuery, OfferFilter as QueryFilter } from '../../market/offer.ts';

/** Current exclusions of offers, in addition to the requirements. */
export interface Exclusions {
  readonly offers: ReadonlySet<string>;
  /** Offers that other objects are about to rent. */
  readonly reserved?: HeldOffers;
  readonly machines: ReadonlySet<string>;
  readonly hosts: ReadonlySet<string>;
}

export interface ChoiceInput {
  readonly requirements: OfferRequirements;
  readonly limits: AccountLimits;
  readonly diskGB: number;
  /** Ports that have to be reached from outside. */
  readonly requiredPorts: DeclaredPorts;
  readonly offers: readonly Offer[];
  readonly excluded: Exclusions;
  /** Required lifetime of the machine: offers that end earlier rank last. */
  readonly neededMs?: number | undefined;
  /** True if the search was wider than the requirements: a fact that an offer lacks does not count as met. */
  readonly mustState?: boolean;
}

/** Requirement that no offer of a search satisfies. */
export type Lack = 'match' | 'affordable' | 'priced';

/** The offer to rent, or the reason why none of the found offers is suitable. */
export type Choice =
  | { readonly type: 'chosen'; readonly offer: Offer; readonly pricePerHour: MicroDollars | undefined }
  /** No offer states that it fits, and some may fit: only a search by the requirements can decide. */
  | { readonly type: 'unclear' }
  | { readonly type: 'none'; readonly lacks: Lack };

/**
 * Returns the first offer in the order of preference that passes every check and is not excluded. Ties go to the
 * lowest id.
 */
export function chooseOffer(input: ChoiceInput): Choice {
  const candidates = candidatesOf(input);
  const isFree = (offer: Offer) => !isExcluded(offer, input.excluded);
  const first = firstWhere(candidates.ordered, (offer) => isFree(offer) && candidates.isTelling(offer));
  if (first) return { type: 'chosen', offer: first, pricePerHour: totalPrice(first, input.requirements) };
  if (candidates.affordable.some(isFree)) return { type: 'unclear' };
  return { type: 'none', lacks: lackOf(candidates) };
}

/** Offers that pass every check, including currently excluded ones. */
export function matchingOffers(input: ChoiceInput): readonly Offer[] {
  const { affordable, isTelling } = candidatesOf(input);
  return affordable.filter(isTelling);
}

/** Offers of one reply for one want, without regard to exclusions. */
interface Candidates {
  readonly checks: readonly OfferCheck[];
  /** Offers that fit, at any price. */
  readonly matching: readonly Offer[];
  /** Offers that pass every check. */
  readonly affordable: readonly Offer[];
  /** The affordable offers in the order of preference. */
  readonly ordered: Iterable<Offer>;
  /** Returns true if the facts of the offer alone show that it may be rented. */
  readonly isTelling: (offer: Offer) => boolean;
}

/**
 * Candidates by reply and request. Many equal objects read one reply: it is filtered and ordered once for all of
 * them, and each object takes the first candidate that is still free.
 */
const known = new WeakMap<readonly Offer[], Map<string, Candidates>>();
/** Maximum wants of one reply whose candidates are kept. */
const MAX_WANTS = 16;

function candidatesOf(input: ChoiceInput): Candidates {
  const wants = known.get(input.offers) ?? new Map<string, Candidates>();
  known.set(input.offers, wants);
  const key = wantKey(input);
  const found = wants.get(key) ?? newCandidates(input);
  // The least recently used request comes first.
  wants.delete(key);
  wants.set(key, found);
  const [oldest] = wants.keys();
  if (wants.size > MAX_WANTS && oldest !== undefined) wants.delete(oldest);
  return found;
}

/** Returns the text of all inputs that decide which offers pass, and their order. */
function wantKey({ requirements, limits, diskGB, requiredPorts, neededMs, mustState }: ChoiceInput): string {
  const ports = neededDirectPorts(requiredPorts);
  return JSON.stringify([requirements, limits, diskGB, ports, neededMs ?? 0, mustState === true]);
}

function newCandidates(input: ChoiceInput): Candidates {
  const { requirements, neededMs, mustState = false } = input;
  const checks = offerChecks(requirements, input);
  const fitting = checks.filter(({ kind }) => kind === 'fit');
  const matching = forRent(input.offers).filter((offer) => passes(fitting, offer));
  const affordable = matching.filter((offer) => passes(checks, offer));
  return {
    ...{ checks, matching, affordable },
    ordered: new LazyOrder(affordable, byOrder(requirements.order, neededMs)),
    isTelling: (offer) => !mustState || checks.every((check) => check.isKnown(offer)),
  };
}

function firstWhere<T>(items: Iterable<T>, holds: (item: T) => boolean): T | undefined {
  for (const item of items) if (holds(item)) return item;
  return undefined;
}

/** Returns the rentable offers: every search requests them, and a row that contradicts it is ignored. */
function forRent(offers: readonly Offer[]): readonly Offer[] {
  return offers.filter(({ rentable }) => rentable !== false);
}

/**
 * Returns the number of matching offers without each single requirement, the most helpful first. It leaves out
 * requirements whose removal changes nothing.
 */
export function wouldMatchWithout(
  input: ChoiceInput,
): readonly { readonly name: string; readonly count: number }[] {
  const checks = offerChecks(input.requirements, input);
  const rentable = forRent(input.offers);
  return checks
    .map((dropped) => {
      const others = checks.filter((check) => check !== dropped);
      return { name: dropped.label, count: rentable.filter((offer) => passes(others, offer)).length };
    })
    .filter(({ count }) => count > 0)
    .sort((left, right) => right.count - left.count || (left.name < right.name ? -1 : 1));
}

/**
 * Hints, in sentences, if no offer matches: the price of the cheapest offer that meets all other requirements, and
 * likely GPU names for unknown ones.
 */
export function helpFor(input: ChoiceInput): readonly string[] {
  const { requirements, limits, offers } = input;
  const others = offerChecks(requirements, input).filter(({ kind }) => kind !== 'price');
  const prices = forRent(offers).flatMap((offer) =>
    passes(others, offer) ? (totalPrice(offer, requirements) ?? []) : [],
  );
  const cap = priceCap(requirements, limits);
  const isAboveLimit = cap !== undefined && prices.length > 0 && Math.min(...prices) > cap;
  const names = [...new Set(offers.flatMap(({ gpuName }) => gpuName ?? []))];
  const unknown = (requirements.gpuNames ?? []).filter((name) => names.length > 0 && !names.includes(name));
  return [
    ...unknown.map((name) => {
      const meant = nearestModels(name, names);
      return `No offer has the GPU ${name}${meant.length === 0 ? '.' : `; did you mean ${alternatives(meant)}?`}`;
    }),
    ...(isAboveLimit
      ? [`The cheapest costs $${formatDollars(Math.min(...prices))}/h; the limit is $${formatDollars(cap)}.`]
      : []),
  ];
}

function passes(checks: readonly OfferCheck[], offer: Offer): boolean {
  return checks.every((check) => check.passes(offer));
}

function isExcluded(offer: Offer, excluded: Exclusions): boolean {
  return (
    excluded.offers.has(offer.id) ||
    excluded.reserved?.has(offer.id) === true ||
    (offer.machineId !== undefined && excluded.machines.has(offer.machineId)) ||
    (offer.hostId !== undefined && excluded.hosts.has(offer.hostId))
  );
}

function lackOf({ checks, ...all }: Candidates): Lack {
  const [matching, affordable] = [all.matching.filter(all.isTelling), all.affordable.filter(all.isTelling)];
  if (matching.length === 0 || affordable.length > 0) return 'match';
  const others = checks.filter(({ kind }) => kind !== 'price');
  const priced = matching.filter((offer) => passes(others, offer));
  return priced.length > 0 ? 'affordable' : 'priced';
}

/**
 * Returns the order of offers: unknown values come last in either direction, and offers that end too soon after all
 * others.
 */
function byOrder(order: OfferRequirements['order'], neededMs = 0): (left: Offer, right: Offer) => number {
  const endsTooSoon = ({ remainingSeconds = Number.POSITIVE_INFINITY }: Offer) =>
    Number(remainingSeconds * 1000 < neededMs);
  return (left, right) => {
    const sooner = endsTooSoon(left) - endsTooSoon(right);
    if (sooner !== 0) return sooner;
    for (const { field, direction } of order) {
      const one = valueIn(left, fieldName(field)) ?? undefined;
      const other = valueIn(right, fieldName(field)) ?? undefined;
      if (one === other) continue;
      if (one === undefined || other === undefined) return one === undefined ? 1 : -1;
      return one < other === (direction === 'Desc') ? 1 : -1;
    }
    return compareIds(left.id, right.id);
  };
}

/** Requirement on an offer: its test here and its filter in the search. */
interface OfferCheck {
  /**
   * Category of the failure if only this check fails: an unsuitable machine, a price above the limit, or an unknown
   * price.
   */
  readonly kind: 'fit' | 'price' | 'knownPrice';
  /** The requirement in the user's form: `gpuNames RTX 4090`. */
  readonly label: string;
  /**
   * Test of an offer. A field that the service leaves out passes, since the search filters by it; only a price must be
   * present.
   */
  readonly passes: (offer: Offer) => boolean;
  /** Returns true if the offer has the fact that {@link passes} checks. */
  readonly isKnown: (offer: Offer) => boolean;
  readonly filters: readonly QueryFilter[];
}

interface Context {
  readonly limits: AccountLimits;
  readonly diskGB: number;
  /** Ports that must be reachable from outside, and so need direct ports. */
  readonly requiredPorts: DeclaredPorts;
}

/** Returns the requirements of one alternative, in the order of its fields. */
export function offerChecks(requirements: OfferRequirements, context: Context): readonly OfferCheck[] {
  const { diskGB } = context;
  return [
    ...checksOf(requirementsOn('machine', requirements, context.requiredPorts)),
    ...checksOf([requirementOn('disk', { label: `disk ${diskGB}G`, value: diskGB })]),
    ...checksOf(requirementsOn('host', requirements, context.requiredPorts)),
    ...priceChecks(requirements, context),
    ...checksOf(filterRequirements(requirements)),
  ];
}

/** Maximum rows of a search: enough for many equal objects, and enough to explain why nothing matched. */
const SEARCH_LIMIT = { exact: 200, broad: 2000 } as const;

/** Broad searches differ only in the price basis, so that objects share them. */
const BROAD_ORDER = [{ field: 'pricePerHour', direction: 'asc' }] as const;

/** Returns the search for one alternative. `broad` requests all offers, to explain why nothing matched. */
export function offerQuery(
  requirements: OfferRequirements,
  context: Context,
  breadth: 'exact' | 'broad',
): OfferQuery {
  const rentable = searchFilter('rentable', true);
  const checks = breadth === 'exact' ? offerChecks(requirements, context) : [];
  return {
    filters: [rentable, ...checks.flatMap((check) => check.filters)],
    order:
      breadth === 'broad'
        ? BROAD_ORDER
        : requirements.order.map(({ field, direction }) => ({
            field: fieldName(field),
            direction: direction === 'Desc' ? 'desc' : 'asc',
          })),
    pricing: requirements.pricing === 'Interruptible' ? 'bid' : 'on-demand',
    limit: SEARCH_LIMIT[breadth],
    storageGB: context.diskGB,
  };
}

/** Returns the requirements as checks; every requirement on a machine has the kind `fit`. */
function checksOf(requirements: readonly Requirement[]): readonly OfferCheck[] {
  return requirements.map((requirement) => ({ kind: 'fit', ...requirement }));
}

function priceChecks(requirements: OfferRequirements, { limits }: Context): readonly OfferCheck[] {
  const cap = priceCap(requirements, limits);
  const bid = parseDollars(requirements.bid);
  const price = (offer: Offer) => totalPrice(offer, requirements);
  const isForbidden = refusesUnknownPrice(limits);
  return [
    {
      kind: 'knownPrice',
      label: `allowUnknownPrice false${requirements.allowUnknownPrice ? ' of the account' : ''}`,
      passes: (offer) => (requirements.allowUnknownPrice && !isForbidden) || price(offer) !== undefined,
      isKnown: () => true,
      filters: [],
    },
    ...(cap === undefined
      ? []
      : [
          {
            kind: 'price' as const,
            label: `maxPricePerHour ${formatDollars(cap)}`,
            passes: (offer: Offer) => (price(offer) ?? 0) <= cap,
            isKnown: (offer: Offer) => price(offer) !== undefined,
            // If any price is acceptable, or a bid sets the price, the search has no price filter.
            filters:
              requirements.allowUnknownPrice || requirements.pricing === 'Interruptible'
                ? []
                : [searchFilter('maxPricePerHour', cap)],
          },
        ]),
    ...(bid === undefined
      ? []
      : [
          {
            kind: 'fit' as const,
            label: `bid ${formatDollars(bid)}`,
            passes: (offer: Offer) => (offer.minBid ?? 0) <= bid,
            isKnown: (offer: Offer) => offer.minBid !== undefined,
            filters: [searchFilter('bid', bid)],
          },
        ]),
  ];
}

/** Returns the total price of a rental, disk included: the offer's own, or the bid and the disk. */
export function totalPrice(offer: Offer, requirements: OfferRequirements): MicroDollars | undefined {
  if (requirements.pricing === 'OnDemand') return offer.pricePerHour;
  const bid = parseDollars(requirements.bid);
  const disk = Math.max(0, offer.storagePricePerHour ?? 0);
  return bid === undefined ? undefined : bid + disk;
}

/**
 * Returns the price at which a machine counts if no row and no offer has one: its maximum. Without a maximum per
 * machine it is the account's hourly limit; undefined without that limit, too.
 */
export function unknownPrice(
  alternatives: readonly OfferRequirements[],
  limits: AccountLimits,
): MicroDollars | undefined {
  return highestCap(alternatives, limits) ?? limits.maxSpendPerHour;
}

/** Returns the highest maximum price of these alternatives; without alternatives the account's limit. */
export function highestCap(
  alternatives: readonly OfferRequirements[],
  limits: AccountLimits,
): MicroDollars | undefined {
  if (alternatives.length === 0) return limits.maxPricePerHour;
  const caps = alternatives.map((requirements) => priceCap(requirements, limits) ?? Number.POSITIVE_INFINITY);
  const highest = Math.max(...caps);
  return Number.isFinite(highest) ? highest : undefined;
}

/**
 * Returns true if a limit determines the maximum cost of a machine by these requirements. `allowUnknownPrice`
 * replaces such a limit only if no limit on total spending exists, which could not count a machine without a price.
 */
export function hasPriceRule(
  requirements: OfferRequirements,
  limits: AccountLimits,
  { maxTotalCost }: { readonly maxTotalCost?: string | undefined },
): boolean {
  if (priceCap(requirements, limits) !== undefined) return true;
  const isCounted = limits.maxSpendPerMonth !== undefined || maxTotalCost !== undefined;
  return requirements.allowUnknownPrice && (limits.maxSpendPerHour !== undefined || !isCounted);
}

/** Returns the maximum price of one machine: the lower of the alternative's and the account's limit. */
function priceCap(requirements: OfferRequirements, limits: AccountLimits): MicroDollars | undefined {
  const own = parseDollars(requirements.maxPricePerHour);
  const { maxPricePerHour } = limits;
  if (own === undefined || maxPricePerHour === undefined) return own ?? maxPricePerHour;
  return Math.min(own, maxPricePerHour);
}
