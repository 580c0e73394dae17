import type { MicroDollars } from '../../lib/money.ts';
import type { BillingSpan, Contract } from '../tables/contracts.ts';
import type { Volume } from '../tables/market.ts';
import type { User } from '../tables/users.ts';
import type { World } from './world.ts';
import { rowsOf } from './world-store.ts';

/*
 * Costs of contracts. Money is counted in whole seconds of simulated time, span by span; spans of one contract touch
 * and never overlap, so no second is billed twice. PURE.
 */

const SECONDS_PER_HOUR = 3600;

/** Returns the whole second of a time. */
export const secondOf = (time: number): number => Math.floor(time / 1000);

/** Returns the cost of one span up to `now`. */
export function spanMicros(span: BillingSpan, now: number): MicroDollars {
  const end = span.until === null ? now : Math.min(span.until, now);
  const seconds = Math.max(0, secondOf(end) - secondOf(span.from));
  return Math.round(((span.gpuPerHour + span.diskPerHour) * seconds) / SECONDS_PER_HOUR);
}

/** Returns the cost of a contract until `now`. */
export function contractMicros(contract: Contract, now: number): MicroDollars {
  let sum = 0;
  for (const span of contract.spans) sum += spanMicros(span, now);
  return sum;
}

/** Returns the cost of a rented volume until `now`. */
export function volumeMicros(volume: Volume, now: number): MicroDollars {
  return spanMicros(
    { from: volume.createdAt, until: null, gpuPerHour: 0, diskPerHour: volume.pricePerHour },
    now,
  );
}

/** Returns the present dollars per hour of a contract. */
export function ratePerHour(contract: Contract): MicroDollars {
  const open = contract.spans.at(-1);
  return open && open.until === null ? open.gpuPerHour + open.diskPerHour : 0;
}

/** Ends the running span at `now` and begins one at the new prices; the same prices change nothing. */
export function rebill(
  contract: Contract,
  now: number,
  rates: { gpuPerHour: MicroDollars; diskPerHour: MicroDollars },
): Contract {
  const open = contract.spans.at(-1);
  if (
    open?.until === null &&
    open.gpuPerHour === rates.gpuPerHour &&
    open.diskPerHour === rates.diskPerHour
  ) {
    return contract;
  }
  return { ...contract, spans: [...closed(contract.spans, now), { from: now, until: null, ...rates }] };
}

/** Ends all billing at `now`. */
export function stopBilling(contract: Contract, now: number): Contract {
  return { ...contract, spans: closed(contract.spans, now) };
}

function closed(spans: readonly BillingSpan[], now: number): readonly BillingSpan[] {
  return spans.map((span) => (span.until === null ? { ...span, until: Math.max(now, span.from) } : span));
}

/** Returns the contracts of one user that have not been destroyed. */
export function contractsOf(world: World, userId: number): Contract[] {
  return rowsOf(world.tables.contracts).filter((contract) => contract.userId === userId);
}

/** Returns the remaining credit: payments less all charges until `now`. May be negative: disks are still billed. */
export function creditMicros(world: World, user: User, now: number): MicroDollars {
  let spent = user.settledMicros;
  for (const contract of rowsOf(world.tables.contracts)) {
    if (contract.userId === user.id) spent += contractMicros(contract, now);
  }
  for (const volume of rowsOf(world.tables.volumes)) {
    if (volume.userId === user.id) spent += volumeMicros(volume, now);
  }
  return user.depositedMicros - spent;
}

/** A row of `GET /sim/ledger`; times are epoch seconds, money is dollars. */
export interface LedgerRow {
  readonly id: number;
  readonly label: string | null;
  readonly start: number;
  readonly end: number | null;
  readonly dollars: number;
}

/** Returns all contracts ever, including rented volumes, by id; their total cost, and the number that still bills. */
export function ledger(world: World): {
  readonly now: number;
  readonly dollars: number;
  readonly billing: number;
  readonly contracts: readonly LedgerRow[];
} {
  const live = [...liveContracts(world), ...liveVolumes(world)];
  const ended = [...rowsOf(world.tables.endedContracts), ...endedVolumes(world)];
  const rows = [
    ...ended.map((row) => ledgerRow(row, row.endedAt, row.dollarsMicros)),
    ...live.map((row) => ledgerRow(row, null, row.dollarsMicros)),
  ].sort((left, right) => left.id - right.id);
  const micros =
    ended.reduce((sum, row) => sum + row.dollarsMicros, 0) +
    live.reduce((sum, row) => sum + row.dollarsMicros, 0);
  return { now: world.now / 1000, dollars: micros / 1e6, billing: live.length, contracts: rows };
}

interface Cost {
  readonly id: number;
  readonly label: string | null;
  readonly createdAt: number;
  readonly dollarsMicros: MicroDollars;
}

function liveContracts(world: World): readonly Cost[] {
  return rowsOf(world.tables.contracts).map((contract) => ({
    id: contract.id,
    label: contract.label,
    createdAt: contract.createdAt,
    dollarsMicros: contractMicros(contract, world.now),
  }));
}

/** Returns the volumes with a price; they bill until they are deleted. */
function liveVolumes(world: World): readonly Cost[] {
  return rowsOf(world.tables.volumes)
    .filter(({ pricePerHour }) => pricePerHour > 0)
    .map((volume) => ({
      id: volume.id,
      label: volume.name,
      createdAt: volume.createdAt,
      dollarsMicros: volumeMicros(volume, world.now),
    }));
}

function endedVolumes(world: World): readonly (Cost & { readonly endedAt: number })[] {
  return rowsOf(world.tables.endedVolumes).map((volume) => ({ ...volume, label: volume.name }));
}

function ledgerRow(
  row: { id: number; label: string | null; createdAt: number },
  endedAt: number | null,
  micros: MicroDollars,
): LedgerRow {
  return {
    id: row.id,
    label: row.label,
    start: secondOf(row.createdAt),
    end: endedAt === null ? null : secondOf(endedAt),
    dollars: micros / 1e6,
  };
}
