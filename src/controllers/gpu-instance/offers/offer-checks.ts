import type { AccountLimits } from '../../../accounts/tickets/limits.ts';
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
  readonly name: string;
  /** As a person wrote it: `gpuNames RTX 4090`. */
  readonly label: string;
  /** What a service does not tell passes, since it was asked for; a price alone must be told. */
  readonly passes: (offer: Offer) => boolean;
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
    order: requirements.order.map(({ field, direction }) => ({
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
      name: 'gpuCount',
      label: `gpuCount ${gpuCount}`,
      passes: (offer) => offer.gpuCount === undefined || offer.gpuCount === gpuCount,
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
  const [only] = gpuNames;
  return {
    name: 'gpuNames',
    label: `gpuNames ${gpuNames.join(', ')}`,
    passes: (offer) => offer.gpuName === undefined || gpuNames.includes(offer.gpuName),
    filters: [
      gpuNames.length === 1 && only !== undefined
        ? { field: 'gpu_name', operator: 'eq', value: only }
        : { field: 'gpu_name', operator: 'in', value: gpuNames },
    ],
  };
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
            name: 'verified',
            label: 'verified true',
            passes: (offer: Offer) => offer.verified !== false,
            filters: [{ field: 'verified', operator: 'eq', value: true } as const],
          },
        ]
      : []),
  ];
}

/** Services word a place as `California, US`; the country is what stands behind the last comma. */
function regionCheck(regions: readonly string[]): OfferCheck {
  const [only] = regions;
  return {
    name: 'regions',
    label: `regions ${regions.join(', ')}`,
    passes: (offer) =>
      offer.region === undefined || regions.includes(offer.region.split(',').at(-1)?.trim() ?? ''),
    filters: [
      regions.length === 1 && only !== undefined
        ? { field: 'geolocation', operator: 'eq', value: only }
        : { field: 'geolocation', operator: 'in', value: regions },
    ],
  };
}

function priceChecks(requirements: OfferRequirements, { limits }: Context): readonly OfferCheck[] {
  const cap = priceCap(requirements, limits);
  const bid = parseDollars(requirements.bid);
  const price = (offer: Offer) => totalPrice(offer, requirements);
  return [
    {
      name: 'knownPrice',
      label: 'allowUnknownPrice false',
      passes: (offer) => requirements.allowUnknownPrice || price(offer) !== undefined,
      filters: [],
    },
    ...(cap === undefined
      ? []
      : [
          {
            name: 'price',
            label: `maxPricePerHour ${formatDollars(cap)}`,
            passes: (offer: Offer) => (price(offer) ?? 0) <= cap,
            filters: priceFilter(requirements, cap),
          },
        ]),
    ...(bid === undefined
      ? []
      : [
          {
            name: 'bid',
            label: `bid ${formatDollars(bid)}`,
            passes: (offer: Offer) => (offer.minBid ?? 0) <= bid,
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
      name,
      label: `${name} ${written}`,
      passes: (offer) => (value(offer) ?? least) >= least,
      filters: [{ field, operator: 'gte', value: least }],
    },
  ];
}

type Comparison = (left: OfferScalar, right: OfferScalar) => boolean;

const OPERATORS: Readonly<
  Record<Exclude<OfferFilter['operator'], 'In' | 'NotIn'>, readonly [QueryFilter['operator'], Comparison]>
> = {
  Eq: ['eq', (left, right) => left === right],
  Neq: ['neq', (left, right) => left !== right],
  Gt: ['gt', (left, right) => left !== null && right !== null && left > right],
  Gte: ['gte', (left, right) => left !== null && right !== null && left >= right],
  Lt: ['lt', (left, right) => left !== null && right !== null && left < right],
  Lte: ['lte', (left, right) => left !== null && right !== null && left <= right],
};

/** A requirement on a field that has no place of its own. Columns that only the service resolves pass here. */
function filterCheck(filter: OfferFilter, index: number): OfferCheck {
  const { field, operator } = filter;
  const values = (filter.values ?? (filter.value === undefined ? [] : [filter.value])).map(scalarOf);
  const label = `filter ${field} ${operator} ${(filter.values ?? [filter.value]).join(', ')}`;
  const name = `filter-${index}`;
  if (operator === 'In' || operator === 'NotIn') {
    const wanted = operator === 'In';
    return {
      name,
      label,
      passes: (offer) => offer.fields[field] === undefined || values.includes(offer.fields[field]) === wanted,
      filters: [{ field, operator: wanted ? 'in' : 'notin', value: values }],
    };
  }
  const [wireOperator, compares] = OPERATORS[operator];
  const value = values[0] ?? null;
  return {
    name,
    label,
    passes: (offer) => offer.fields[field] === undefined || compares(offer.fields[field], value),
    filters: [{ field, operator: wireOperator, value }],
  };
}

/** A filter's value as people write it in quotes: a number, true, false or a word. */
function scalarOf(text: string): OfferScalar {
  if (text === 'true' || text === 'false') return text === 'true';
  return /^-?[0-9]+(\.[0-9]+)?$/.test(text) ? Number(text) : text;
}
