import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import * as z from 'zod';
import { coverageOf, coverOf } from '../../src/accounts/queue/search-cover.ts';
import { FORMER_COLUMNS } from '../../src/api/v1alpha1/former-columns.ts';
import { driftOf, machineFacts, specHash } from '../../src/api/v1alpha1/machine-drift.ts';
import {
  type Ask,
  isRecorded,
  OFFER_FIELD_ROWS,
  type OfferField,
} from '../../src/api/v1alpha1/offer-fields.ts';
import { offerRequirements } from '../../src/api/v1alpha1/offer-requirements.ts';
import { chooseOffer, offerQuery } from '../../src/controllers/gpu-instance/offers.ts';
import { columnOfFact } from '../../src/markets/vast/offers/columns.ts';
import { offerRow, toOffer, toOfferSearch } from '../../src/markets/vast/offers/offers.ts';
import { spec } from '../builders/observed.ts';

const CONTEXT = { limits: {}, diskGB: 10, requiredPorts: {} };
const NOTHING = { offers: new Set<string>(), machines: new Set<string>(), hosts: new Set<string>() };
/** A row of the marketplace that satisfies every example. */
const WIRE = { id: 1, rentable: true, dph_total: 0.1, min_bid: 0.01, disk_space: 1_000 };

/** Returns the schema's example, as a person writes the field; the default if it has none. */
function exampleOf({ schema }: OfferField): unknown {
  const { 'x-example': example } = z.toJSONSchema(schema ?? z.unknown(), { unrepresentable: 'any' });
  return typeof example === 'string' ? parse(example) : schema?.parse(undefined);
}

/** Returns the marketplace's column for the fact; a contract has none. Throws for a fact that the table lacks. */
function columnOf({ fact, of }: OfferField): string {
  const column = columnOfFact(fact)?.name;
  if (column === undefined && of !== 'contract') throw new Error(`no column for ${fact}`);
  return column ?? fact;
}

/** Facts that satisfy a request and that do not. */
function factsFor({ compares }: OfferField, { value }: Ask): { fits: unknown; lacks: unknown } {
  const [first] = [value].flat();
  if (compares === 'oneOf') return { fits: first, lacks: 'elsewhere' };
  if (typeof first === 'boolean') return { fits: first, lacks: !first };
  if (typeof first === 'string') return { fits: first, lacks: `not ${first}` };
  const number = Number(first);
  return { fits: number, lacks: compares === 'atLeast' ? number / 2 : number + 1 };
}

const requirementsWith = (name: string, value: unknown) =>
  offerRequirements.parse({ maxPricePerHour: '1', verified: false, [name]: value });

const REQUESTED = OFFER_FIELD_ROWS.flatMap(([name, row]) => {
  const example = exampleOf(row);
  const ask = row.asks?.(example, 0);
  return ask ? [{ name, row, example, ask, ...factsFor(row, ask) }] : [];
});
const SEARCHED = REQUESTED.filter(({ row }) => row.of !== 'contract');

test('every row with a schema has a requirement or is compared with a price', () => {
  const requested = new Set(REQUESTED.map(({ name }) => name));
  const others = OFFER_FIELD_ROWS.filter(([name, { schema }]) => schema && !requested.has(name));
  expect(others.map(([, { of }]) => of)).toEqual(others.map(() => 'price'));
  expect(requested.size).toBeGreaterThan(7);
});

describe.each(OFFER_FIELD_ROWS.filter(([, { schema }]) => schema))('row %s', (name, row) => {
  test('accepts its example', () => {
    const example = exampleOf(row);
    const bid = name === 'bid' ? { pricing: 'Interruptible' } : {};
    expect(offerRequirements.parse({ ...bid, [name]: example })).toMatchObject(
      example === undefined ? {} : { [name]: example },
    );
  });

  test('keeps its fact and its former columns out of filters', () => {
    const rules = JSON.stringify(z.toJSONSchema(offerRequirements, { unrepresentable: 'any' }));
    const former = [...FORMER_COLUMNS].flatMap(([column, fact]) => (fact === row.fact ? [column] : []));
    for (const own of [row.fact, ...former]) expect(rules).toContain(`'${own}': '${name}'`);
  });
});

test.each(['pciGeneration', 'pricing', 'fields', 'constructor'])(
  'refuses a search by %s, which has no column',
  (field) => {
    const filters = [{ field, operator: 'gte', value: 4 }] as const;
    expect(() => toOfferSearch({ filters })).toThrow(`"${field}" is no field of an offer`);
    expect(() => toOfferSearch({ filters: [], order: [{ field, direction: 'asc' }] })).toThrow(field);
  },
);

describe.each(SEARCHED)('row $name', ({ name, row, example, ask, fits, lacks }) => {
  const requirements = requirementsWith(name, example);
  const query = (value: unknown) => offerQuery(requirementsWith(name, value), CONTEXT, 'exact');
  const choose = (fact: unknown) =>
    chooseOffer({
      ...CONTEXT,
      requirements,
      offers: [toOffer(offerRow.parse({ ...WIRE, [columnOf(row)]: fact }))],
      excluded: NOTHING,
      mustState: false,
    }).type;

  test('is a filter of the search', () => {
    expect(query(example).filters.map(({ field }) => field)).toContain(row.fact);
    expect(Object.keys(toOfferSearch(query(example)))).toContain(columnOf(row));
  });

  test('decides the choice among rows of the marketplace', () => {
    expect([choose(fits), choose(undefined), choose(lacks)]).toEqual(['chosen', 'chosen', 'none']);
  });

  test('is covered by a search for several objects', () => {
    const other = { ...query(example), limit: 7 };
    const bare = { ...other, filters: other.filters.filter(({ field }) => field !== row.fact) };
    const same = coverOf([query(example), other]);
    expect(same.filters.map(({ field }) => field)).toContain(row.fact);
    const wider = coverOf([query(example), bare]);
    expect(wider.filters.map(({ field }) => field)).not.toContain(row.fact);
    for (const cover of [same, wider]) expect(coverageOf(cover)(query(example))).toBe(true);
    expect(coverageOf(same)(bare)).toBe(false);
  });

  test('is written as the user writes it', () => {
    expect(ask.label).toMatch(new RegExp(`^${name} `));
  });
});

describe.each(REQUESTED)('row $name', ({ name, row, example, ask, fits, lacks }) => {
  const wanted = spec({
    offers: [{ maxPricePerHour: '1', verified: false, bid: undefined, [name]: example }],
  });
  const machine = (fact: unknown) => {
    const offer = toOffer(offerRow.parse({ ...WIRE, [columnOf(row)]: fact }));
    const known = name === 'pricing' ? { ...offer, pricing: String(fact) } : offer;
    return { specHash: specHash(wanted), facts: machineFacts(known, []) };
  };

  test('drifts if the recorded facts lack it, and only then', () => {
    expect(isRecorded(row)).toBe(true);
    expect(driftOf(machine(fits), wanted)).toBeUndefined();
    expect(driftOf({ ...machine(fits), facts: [] }, wanted)).toBeUndefined();
    expect(driftOf(machine(lacks), wanted)).toMatchObject({
      type: 'offers',
      detail: expect.stringContaining(ask.label),
    });
  });
});
