import { type AccountLimits, refusesUnknownPrice } from '../../../accounts/tickets/limits.ts';
import type { OfferFilter, OfferRequirements } from '../../../api/v1alpha1/offer-requirements.ts';
import { formatDollars, parseDollars } from '../../../lib/money.ts';
import { parseQuantity } from '../../../lib/quantity.ts';
import type {
  Offer,
  OfferQuery,
  OfferScalar,
  OfferFilter as QueryFilter,
} from '../../../marketplace/offers/offers.ts';
import { priceCap, totalPrice } from './offer-price.ts';

/** One requirement on an offer: how it is tested here and what the search is asked for. */
export interface OfferCheck {
  /** What is missing where it alone fails: a machine that fits, one within the price, or a price at all. */
  readonly kind: 'fit' | 'price' | 'knownPrice';
  /** As a person wrote it: `gpuNames RTX 4090`. */
  readonly label: string;
  /** What a service does not tell passes, since it was asked for; a price alone must be told. */
  readonly passes: (offer: Offer) => boolean;
  /** Whether the offer says what {@link passes} looks at. */
  readonly tells: (offer: Offer) => boolean;
  readonly filters: readonly QueryFilter[];
}

interface Context {
  readonly limits: AccountLimits;
  readonly diskGB: number;
}

/** The requirements of one alternative, in the order of its fields. */
export function offerChecks(requirements: OfferRequirements, context: Context): readonly OfferCheck[] {
  const { filters = [] } = requirements;
  return [
    ...machineChecks(requirements, context),
    ...hostChecks(requirements),
    ...priceChecks(requirements, context),
    ...filters.map(filterCheck),
  ];
}

/** Most rows of a search: enough for a burst of equal objects, and enough to say why nothing matched. */
const SEARCH_LIMIT = { exact: 200, broad: 2000 } as const;

/** Searches for everything differ in nothing but what the prices include, so that objects share them. */
const BROAD_ORDER = [{ field: 'dph_total', direction: 'asc' }] as const;

/** The search for one alternative. `broad` asks for everything that is for rent, to say why nothing matched. */
export function offerQuery(
  requirements: OfferRequirements,
  context: Context,
  breadth: 'exact' | 'broad',
): OfferQuery {
  const rentable: QueryFilter = { field: 'rentable', operator: 'eq', value: true };
  const checks = breadth === 'exact' ? offerChecks(requirements, context) : [];
  return {
    filters: [rentable, ...checks.flatMap((check) => check.filters)],
    order:
      breadth === 'broad'
        ? BROAD_ORDER
        : requirements.order.map(({ field, direction }) => ({
            field,
            direction: direction === 'Desc' ? 'desc' : 'asc',
          })),
    pricing: requirements.pricing === 'Interruptible' ? 'bid' : 'on-demand',
    limit: SEARCH_LIMIT[breadth],
    storageGB: context.diskGB,
  };
}

function machineChecks(requirements: OfferRequirements, { diskGB }: Context): readonly OfferCheck[] {
  const { gpuNames, gpuCount, minGpuMemory, minDirectPorts } = requirements;
  const memoryMB =
    minGpuMemory === undefined ? undefined : Math.floor((parseQuantity(minGpuMemory) ?? 0) / 1e6);
  return [
    ...(gpuNames === undefined ? [] : [namesCheck(gpuNames)]),
    {
      kind: 'fit',
      label: `gpuCount ${gpuCount}`,
      passes: (offer) => offer.gpuCount === undefined || offer.gpuCount === gpuCount,
      tells: (offer) => offer.gpuCount !== undefined,
      filters: [{ field: 'num_gpus', operator: 'eq', value: gpuCount }],
    },
    ...atLeast(
      { name: 'minGpuMemory', field: 'gpu_ram', written: minGpuMemory, least: memoryMB },
      (o) => o.gpuMemoryMB,
    ),
    ...atLeast(
      { name: 'minDirectPorts', field: 'direct_port_count', written: minDirectPorts, least: minDirectPorts },
      (offer) => offer.directPorts,
    ),
    ...atLeast(
      { name: 'disk', field: 'disk_space', written: `${diskGB}G`, least: diskGB },
      (offer) => offer.diskGB,
    ),
  ];
}

function namesCheck(gpuNames: readonly string[]): OfferCheck {
  return {
    kind: 'fit',
    label: `gpuNames ${gpuNames.join(', ')}`,
    passes: (offer) => offer.gpuName === undefined || gpuNames.includes(offer.gpuName),
    tells: (offer) => offer.gpuName !== undefined,
    filters: [oneOf('gpu_name', gpuNames)],
  };
}

function oneOf(field: string, values: readonly string[]): QueryFilter {
  const [first = '', ...others] = values;
  return others.length === 0
    ? { field, operator: 'eq', value: first }
    : { field, operator: 'in', value: values };
}

function hostChecks({ minReliability, regions, verified }: OfferRequirements): readonly OfferCheck[] {
  const share = minReliability === undefined ? undefined : Number.parseFloat(minReliability) / 100;
  return [
    ...atLeast(
      { name: 'minReliability', field: 'reliability', written: minReliability, least: share },
      (offer) => offer.reliability,
    ),
    ...(regions === undefined ? [] : [regionCheck(regions)]),
    ...(verified
      ? [
          {
            kind: 'fit' as const,
            label: 'verified true',
            passes: (offer: Offer) => offer.verified !== false,
            tells: (offer: Offer) => offer.verified !== undefined,
            filters: [{ field: 'verified', operator: 'eq', value: true } as const],
          },
        ]
      : []),
  ];
}

/** Services word a place as `California, US`; the country is what stands behind the last comma. */
function regionCheck(regions: readonly string[]): OfferCheck {
  return {
    kind: 'fit',
    label: `regions ${regions.join(', ')}`,
    passes: ({ region }) =>
      region === undefined || regions.includes(region.slice(region.lastIndexOf(',') + 1).trim()),
    tells: ({ region }) => region !== undefined,
    filters: [oneOf('geolocation', regions)],
  };
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
      tells: () => true,
      filters: [],
    },
    ...(cap === undefined
      ? []
      : [
          {
            kind: 'price' as const,
            label: `maxPricePerHour ${formatDollars(cap)}`,
            passes: (offer: Offer) => (price(offer) ?? 0) <= cap,
            tells: (offer: Offer) => price(offer) !== undefined,
            filters: priceFilter(requirements, cap),
          },
        ]),
    ...(bid === undefined
      ? []
      : [
          {
            kind: 'fit' as const,
            label: `bid ${formatDollars(bid)}`,
            passes: (offer: Offer) => (offer.minBid ?? 0) <= bid,
            tells: (offer: Offer) => offer.minBid !== undefined,
            filters: [{ field: 'min_bid', operator: 'lte', value: bid / 1_000_000 } as const],
          },
        ]),
  ];
}

/** Where any price will do, or a bid makes the price, the search is not narrowed by it. */
function priceFilter(requirements: OfferRequirements, cap: number): readonly QueryFilter[] {
  if (requirements.allowUnknownPrice || requirements.pricing === 'Interruptible') return [];
  return [{ field: 'dph_total', operator: 'lte', value: cap / 1_000_000 }];
}

interface Least {
  readonly name: string;
  readonly field: string;
  readonly written: string | number | undefined;
  readonly least: number | undefined;
}

function atLeast(
  { name, field, written, least }: Least,
  value: (offer: Offer) => number | undefined,
): readonly OfferCheck[] {
  if (least === undefined) return [];
  return [
    {
      kind: 'fit',
      label: `${name} ${written}`,
      passes: (offer) => (value(offer) ?? least) >= least,
      tells: (offer) => value(offer) !== undefined,
      filters: [{ field, operator: 'gte', value: least }],
    },
  ];
}

type Comparison = (left: OfferScalar, right: OfferScalar) => boolean;

/** What is null is neither more nor less than anything. */
const ordered =
  (compares: (left: Known, right: Known) => boolean): Comparison =>
  (left, right) =>
    left !== null && right !== null && compares(left, right);

type Known = Exclude<OfferScalar, null>;

const OPERATORS: Readonly<
  Record<Exclude<OfferFilter['operator'], 'In' | 'NotIn'>, readonly [QueryFilter['operator'], Comparison]>
> = {
  Eq: ['eq', (left, right) => left === right],
  Neq: ['neq', (left, right) => left !== right],
  Gt: ['gt', ordered((left, right) => left > right)],
  Gte: ['gte', ordered((left, right) => left >= right)],
  Lt: ['lt', ordered((left, right) => left < right)],
  Lte: ['lte', ordered((left, right) => left <= right)],
};

/** A requirement on a field that has no place of its own. Columns that only the service resolves pass here. */
function filterCheck(filter: OfferFilter): OfferCheck {
  const { field, operator, value: written = '', values: listed = [written] } = filter;
  const values = listed.map(scalarOf);
  const label = `filter ${field} ${operator} ${listed.join(', ')}`;
  if (operator === 'In' || operator === 'NotIn') {
    const wanted = operator === 'In';
    return {
      kind: 'fit',
      label,
      passes: (offer) => offer.fields[field] === undefined || values.includes(offer.fields[field]) === wanted,
      tells: (offer) => offer.fields[field] !== undefined,
      filters: [{ field, operator: wanted ? 'in' : 'notin', value: values }],
    };
  }
  const [wireOperator, compares] = OPERATORS[operator];
  const value = scalarOf(written);
  return {
    kind: 'fit',
    label,
    passes: (offer) => offer.fields[field] === undefined || compares(offer.fields[field], value),
    tells: (offer) => offer.fields[field] !== undefined,
    filters: [{ field, operator: wireOperator, value }],
  };
}

/** A filter's value as people write it in quotes: a number, true, false or a word. */
function scalarOf(text: string): OfferScalar {
  if (text === 'true' || text === 'false') return text === 'true';
  return /^-?[0-9]+(\.[0-9]+)?$/.test(text) ? Number(text) : text;
}
