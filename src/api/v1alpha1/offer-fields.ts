import type * as z from 'zod';
import { countryCode } from '../../lib/country.ts';
import { parseQuantity } from '../../lib/quantity.ts';
import { choice, dollars, dollarsAboveZero, flag, integer, list, percentage, text } from './schema.ts';

/** A value of a field of an offer. */
export type FactValue = string | number | boolean | null;

/** A value that is known. */
type Fact = Exclude<FactValue, null>;

/** Comparison of the fact of an offer with the requested value. */
type Comparison = 'oneOf' | 'equal' | 'atLeast' | 'atMost';

/** Requested value of a field, and the requirement in the user's form: `gpuNames RTX 4090`. */
export interface Ask {
  readonly label: string;
  readonly value: FactValue | readonly FactValue[];
}

/**
 * A field of an offer with all the operator's knowledge of it. The schema of `spec.offers`, the facts that `filters`
 * may not name, the search, the choice, shared searches, recorded facts and drift derive from these rows. A new fact
 * also needs a field of `Offer` in `src/market/offer.ts` and a column of each market that has it; the compiler
 * reports both.
 */
export interface OfferField {
  /** Schema of the field in an alternative of `spec.offers`; a row without one is set elsewhere. */
  readonly schema?: z.ZodType;
  /** Path of the field for users, if it differs from the name of the row; null if only the operator sets it. */
  readonly place?: string | null;
  /** Object that has it. Only a machine, its host and its contract drift. */
  readonly of: 'machine' | 'host' | 'contract' | 'price' | 'search';
  readonly compares: Comparison;
  /** Name in `order`, in a search, of an offer of the port, and in the recorded facts of a machine; the same for every market. */
  readonly fact: string;
  readonly type: 'text' | 'number' | 'boolean';
  /** True if the list of machines shows it too. */
  readonly isShown?: true;
  /**
   * Requirement of an alternative; undefined if it sets none. `directPorts`: number of direct ports that its ports
   * and SSH need.
   */
  asks?(value: unknown, directPorts: number): Ask | undefined;
  /** Part of a fact that is compared. */
  reads?(fact: Fact): Fact;
  /** Difference of the shown machine from the rented one, for people. */
  differs?(shown: Fact, rented: Fact): string | undefined;
}

/** Returns a row with its schema; `asks` accepts the values of the schema. */
function field<Schema extends z.ZodType, const Row extends Omit<OfferField, 'schema' | 'asks'>>(
  schema: Schema,
  row: Row,
  asks?: (value: z.output<Schema>, directPorts: number) => Ask | undefined,
): Row & Pick<OfferField, 'asks'> & { readonly schema: Schema } {
  return { ...row, schema, ...(asks && { asks }) };
}

/** Rows state the memory of one GPU model with small differences. */
const MEMORY_TOLERANCE = 0.05;

const minGpuMemory = text({
  description: 'Minimum memory of one GPU. The marketplace counts decimal GB: 24G is 24,000 MB.',
  example: '24G',
  form: 'quantity',
  maxLength: 16,
  rules: [
    {
      rule: "!self.matches('^[0-9]+([.][0-9]+)?[MGT]i$')",
      message: 'write 24G: the marketplace counts GPU memory in decimal GB',
      messageExpression:
        "'write ' + self.substring(0, size(self) - 1) + ': the marketplace counts GPU memory in decimal GB'",
    },
    {
      rule: "self.matches('^[0-9]{1,7}([.][0-9]{1,3})?[MGT]i?$')",
      message: 'write the memory of one GPU with its unit, such as 24G or 24000M',
    },
  ],
});

/** The fields of an offer, in the order of an alternative of `spec.offers`. */
export const OFFER_FIELDS = {
  rentable: {
    place: null,
    of: 'search',
    compares: 'equal',
    fact: 'rentable',
    type: 'boolean',
  },
  gpuNames: field(
    list(text({ description: "A GPU model by the marketplace's name.", maxLength: 64 }), {
      description: "GPU models that will do, by the marketplace's names. Any when left out.",
      example: '[RTX 4090, RTX 3090]',
      max: 32,
      list: { type: 'set' },
    }).optional(),
    {
      of: 'machine',
      compares: 'oneOf',
      fact: 'gpuName',
      type: 'text',
      isShown: true,
      differs: (shown, rented) => (shown === rented ? undefined : `GPU ${shown} instead of ${rented}`),
    },
    (names) => names && { label: `gpuNames ${names.join(', ')}`, value: names },
  ),
  gpuCount: field(
    integer({ description: 'GPUs of the machine.', min: 1, max: 64 }).default(1),
    {
      of: 'machine',
      compares: 'equal',
      fact: 'gpuCount',
      type: 'number',
      isShown: true,
      differs: (shown, rented) => (shown < rented ? `${shown} GPUs instead of ${rented}` : undefined),
    },
    (count) => ({ label: `gpuCount ${count}`, value: count }),
  ),
  minGpuMemory: field(
    minGpuMemory.optional(),
    {
      of: 'machine',
      compares: 'atLeast',
      fact: 'gpuMemoryMB',
      type: 'number',
      isShown: true,
      differs: (shown, rented) =>
        Number(shown) < Number(rented) * (1 - MEMORY_TOLERANCE)
          ? `${shown}M of GPU memory instead of ${rented}M`
          : undefined,
    },
    (memory) =>
      memory === undefined
        ? undefined
        : { label: `minGpuMemory ${memory}`, value: Math.floor((parseQuantity(memory) ?? 0) / 1e6) },
  ),
  minDirectPorts: field(
    integer({
      description: 'Minimum number of directly reachable ports.',
      example: '4',
      min: 0,
      max: 65535,
    }).optional(),
    {
      of: 'machine',
      compares: 'atLeast',
      fact: 'directPorts',
      type: 'number',
    },
    (ports, needed) => {
      if (ports === undefined && needed === 0) return undefined;
      const isEnough = (ports ?? 0) >= needed;
      const label = isEnough ? `minDirectPorts ${ports}` : `${needed} direct ports for ports and ssh`;
      return { label, value: Math.max(ports ?? 0, needed) };
    },
  ),
  minReliability: field(
    percentage({
      description: "Minimum reliability of the host in the marketplace's own measure.",
    }).optional(),
    {
      of: 'host',
      compares: 'atLeast',
      fact: 'reliability',
      type: 'number',
    },
    (share) =>
      share === undefined
        ? undefined
        : { label: `minReliability ${share}`, value: Number.parseFloat(share) / 100 },
  ),
  regions: field(
    list(
      text({
        description: 'A country.',
        // Room for a longer name, so that the rule refuses it and not the length.
        maxLength: 32,
        pattern: '^[A-Z]{2}$',
        write: 'write the two-letter code of a country in capitals, such as US',
      }),
      {
        description:
          'Accepted countries, as two-letter codes in quotes (YAML reads a bare NO as false). Any by default.',
        example: '["SE", "NO", "FI"]',
        max: 64,
        list: { type: 'set' },
      },
    ).optional(),
    {
      of: 'host',
      compares: 'oneOf',
      fact: 'region',
      type: 'text',
      isShown: true,
      // Services write a place as `California, US`; the country is after the last comma.
      reads: (place) =>
        String(place)
          .slice(String(place).lastIndexOf(',') + 1)
          .trim(),
    },
    (given) => {
      const countries = given?.map(countryCode);
      return countries && { label: `regions ${countries.join(', ')}`, value: countries };
    },
  ),
  verified: field(
    flag({ description: 'True for hosts whose identity the marketplace has verified.' }).default(true),
    {
      of: 'host',
      compares: 'equal',
      fact: 'verified',
      type: 'boolean',
    },
    (isRequired) => (isRequired ? { label: 'verified true', value: true } : undefined),
  ),
  pricing: field(
    choice(['OnDemand', 'Interruptible'], {
      description: 'OnDemand: at a fixed price. Interruptible: at your bid; a higher bid stops the machine.',
    }).default('OnDemand'),
    {
      of: 'contract',
      compares: 'equal',
      fact: 'pricing',
      type: 'text',
    },
    (pricing) => ({ label: `pricing ${pricing}`, value: pricing }),
  ),
  bid: field(
    dollars({
      description: 'Your bid per hour of the machine. Only with `pricing: Interruptible`.',
      example: '"0.25"',
    }).optional(),
    { of: 'price', compares: 'atMost', fact: 'minBid', type: 'number' },
  ),
  maxPricePerHour: field(
    dollarsAboveZero({
      write: 'write more than 0: no machine is free',
      description:
        'Maximum price of the machine in an hour, disk included. Required unless the account sets one.',
    }).optional(),
    {
      of: 'price',
      compares: 'atMost',
      fact: 'pricePerHour',
      type: 'number',
    },
  ),
  disk: {
    place: 'spec.disk',
    of: 'search',
    compares: 'atLeast',
    fact: 'diskGB',
    type: 'number',
  },
} as const satisfies Readonly<Record<string, OfferField>>;

/** Name of a row of {@link OFFER_FIELDS}. */
export type OfferFieldName = keyof typeof OFFER_FIELDS;

/** All rows by name. */
export const OFFER_FIELD_ROWS: readonly (readonly [name: string, row: OfferField])[] =
  Object.entries(OFFER_FIELDS);

type Rows = typeof OFFER_FIELDS;
type Values = { readonly text: string; readonly number: number; readonly boolean: boolean };

/** Ids of the machine and the host of an offer: workers are spread by filters that name them. */
const ID_FACTS = ['machineId', 'hostId'] as const;

/** Name of a fact that is an id. */
export type IdFact = (typeof ID_FACTS)[number];

/** Reports whether a fact is an id, which is text even if it looks like a number. */
export function isIdFact(name: string): boolean {
  return ID_FACTS.some((id) => id === name);
}

const FACTS: ReadonlySet<string> = new Set([...OFFER_FIELD_ROWS.map(([, { fact }]) => fact), ...ID_FACTS]);

/** Reports whether offers of every market have a field of that name. */
export function isOfferFact(name: string): boolean {
  return FACTS.has(name);
}

/**
 * Known facts of an offer, or of the machine that was rented from it. An undefined fact is unknown, and excludes
 * nothing.
 */
export type OfferFacts = {
  readonly [Name in OfferFieldName as Rows[Name]['fact']]?: Values[Rows[Name]['type']] | undefined;
} & { readonly [Name in IdFact]?: string | undefined } & {
  /** Recorded facts by name, and fields that only this market has. */
  readonly fields: Readonly<Record<string, FactValue | undefined>>;
};

/** Returns the fact of a row; undefined if it is unknown or of another type. */
export function factOf(row: OfferField, facts: Partial<OfferFacts>): Fact | undefined {
  const named: Readonly<Record<string, unknown>> = facts;
  const value = row.fact in named ? named[row.fact] : facts.fields?.[row.fact];
  if (typeof value === 'string') return row.type === 'text' ? value : undefined;
  if (typeof value === 'number') return row.type === 'number' ? value : undefined;
  return typeof value === 'boolean' && row.type === 'boolean' ? value : undefined;
}

/** Returns the reader of the part of a field that requirements compare, such as the country of a place. */
export function comparedPart(name: string): (value: Fact) => Fact {
  const row = OFFER_FIELD_ROWS.find(([, { fact }]) => fact === name)?.[1];
  return (value) => row?.reads?.(value) ?? value;
}

/** Returns a fact, or a field that only one market has; undefined if it is unknown. */
export function valueIn(facts: Partial<OfferFacts>, name: string): FactValue | undefined {
  const named: Readonly<Record<string, unknown>> = facts;
  return isOfferFact(name) && name in named ? (named[name] as FactValue | undefined) : facts.fields?.[name];
}

/** Returns true if a machine may cease to satisfy the row, so that its facts record it. */
export function isRecorded({ of }: OfferField): boolean {
  return of === 'machine' || of === 'host' || of === 'contract';
}

type Shown = {
  [Name in OfferFieldName]: Rows[Name] extends { readonly isShown: true } ? Rows[Name]['fact'] : never;
}[OfferFieldName];

/** Facts that the list of machines shows too. */
export const SHOWN_FACTS = OFFER_FIELD_ROWS.flatMap(([, { isShown, fact }]) =>
  isShown ? [fact] : [],
) as readonly Shown[];

const COVERS = { oneOf: 'any', equal: 'any', atLeast: 'gte', atMost: 'lte' } as const;

/** Facts by which a search filters, and the comparison of two filters: by values or by bound. */
export function searchCover(): Readonly<Record<string, 'gte' | 'lte' | 'any'>> {
  const searched = OFFER_FIELD_ROWS.filter(([, { of }]) => of !== 'contract');
  return Object.fromEntries(searched.map(([, { fact, compares }]) => [fact, COVERS[compares]]));
}
