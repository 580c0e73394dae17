import type * as z from 'zod';
import { type MicroDollars, microDollars } from '../../../lib/money.ts';
import type { Offer, OfferFact, OfferScalar } from '../../../market/offer.ts';
import { toId } from '../ids.ts';
import { looseBoolean, looseInteger, looseNumber, looseText } from '../scalars.ts';

/** A row of a search after its columns were read, by wire name. */
type Row = Readonly<Record<string, unknown>>;

/** Column of a fact: its name in filters and order, its schema, and both conversions. */
export interface OfferColumn<Value = unknown> {
  /** Name in filters and in the order of a search. */
  readonly name: string;
  /** Schemas of the columns that {@link read} uses, by wire name. */
  readonly shape: Readonly<Record<string, z.ZodType>>;
  /** Returns the fact; undefined if the row lacks it. */
  read(row: Row): Value | undefined;
  /** Returns the value of a filter in the unit of the column. */
  toWire(value: OfferScalar): OfferScalar;
}

/** Reads one column of a row. The row was parsed by the same schema, so the value has its type. */
const cellOf = <Wire>(row: Row, name: string, _schema: z.ZodType<Wire>): Wire | undefined =>
  row[name] as Wire | undefined;

const unchanged = (value: OfferScalar): OfferScalar => value;
const inUnitsOf =
  (unit: number) =>
  (value: OfferScalar): OfferScalar =>
    value === null ? value : Number(value) / unit;

/** Returns a column that has the fact in the unit of {@link Offer}. */
function column<Value>(name: string, schema: z.ZodType<Value | undefined>): OfferColumn<Value> {
  return { name, shape: { [name]: schema }, read: (row) => cellOf(row, name, schema), toWire: unchanged };
}

/** Returns the column of an ID, which is a number on the wire. */
function idColumn(name: string): OfferColumn<string> {
  const schema = looseInteger;
  return {
    name,
    shape: { [name]: schema },
    read: (row) => toId(cellOf(row, name, schema)),
    toWire: inUnitsOf(1),
  };
}

/** Returns a column of dollars. */
function priceColumn(name: string): OfferColumn<MicroDollars> {
  const schema = looseNumber;
  return {
    name,
    shape: { [name]: schema },
    read(row) {
      const dollars = cellOf(row, name, schema);
      return dollars === undefined ? undefined : microDollars(dollars);
    },
    toWire: inUnitsOf(1_000_000),
  };
}

const reliability: OfferColumn<number> = {
  name: 'reliability',
  shape: { reliability: looseNumber, reliability2: looseNumber },
  read: (row) => cellOf(row, 'reliability', looseNumber) ?? cellOf(row, 'reliability2', looseNumber),
  toWire: unchanged,
};

const verified: OfferColumn<boolean> = {
  name: 'verified',
  shape: { verified: looseBoolean, verification: looseText },
  read(row) {
    const status = cellOf(row, 'verification', looseText);
    return (
      cellOf(row, 'verified', looseBoolean) ?? (status === undefined ? undefined : status === 'verified')
    );
  },
  toWire: unchanged,
};

type Columns = { readonly [Fact in OfferFact]-?: OfferColumn<NonNullable<Offer[Fact]>> };

/**
 * Columns of Vast.ai by fact. Schema of a row, {@link Offer}, filters and order derive from this table; a fact without
 * a column does not compile, because a search would ignore it.
 */
export const OFFER_COLUMNS: Columns = {
  machineId: idColumn('machine_id'),
  hostId: idColumn('host_id'),
  gpuName: column('gpu_name', looseText),
  gpuCount: column('num_gpus', looseInteger),
  gpuMemoryMB: column('gpu_ram', looseNumber),
  memoryMB: column('cpu_ram', looseNumber),
  cpuCores: column('cpu_cores_effective', looseNumber),
  diskGB: column('disk_space', looseNumber),
  directPorts: column('direct_port_count', looseInteger),
  reliability,
  verified,
  rentable: column('rentable', looseBoolean),
  pricePerHour: priceColumn('dph_total'),
  minBid: priceColumn('min_bid'),
  storagePricePerHour: priceColumn('storage_total_cost'),
  region: column('geolocation', looseText),
  cudaVersion: column('cuda_max_good', looseNumber),
  performance: column('dlperf', looseNumber),
  remainingSeconds: column('duration', looseNumber),
};

const COLUMNS: ReadonlyMap<string, OfferColumn> = new Map(Object.entries(OFFER_COLUMNS));

/** Facts that offers of Vast.ai have and that its search filters by. */
export const OFFER_FACTS: ReadonlySet<string> = new Set(COLUMNS.keys());

/** Schemas of all columns by wire name, in the order of the table. */
export const COLUMN_SHAPE: Readonly<Record<string, z.ZodType>> = Object.assign(
  {},
  ...[...COLUMNS.values()].map(({ shape }) => shape),
);

/** Returns the column of a fact; undefined if the name is no fact. */
export function columnOfFact(name: string): OfferColumn | undefined {
  return COLUMNS.get(name);
}

/** Returns every fact of a row that {@link COLUMN_SHAPE} has parsed. */
export function factsOfRow(row: Row): Pick<Offer, OfferFact> {
  const facts: Record<string, unknown> = {};
  for (const [fact, { read }] of COLUMNS) facts[fact] = read(row);
  // Each value has the type of its fact, as the table defines.
  return facts as Pick<Offer, OfferFact>;
}
