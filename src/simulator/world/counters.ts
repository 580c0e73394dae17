import { isObject, textOf } from '../calls/fields.ts';
import { badRequest } from '../calls/refusal.ts';
import type { Json } from '../json.ts';
import { FIRST_LISTING } from './volumes.ts';
import { emptyTables, type World } from './world.ts';

type Counters = World['counters'];

/**
 * The counters, replaced by those that a document has. Throws a 400 `bad_request` for an unknown name or what is not a
 * whole number. PURE.
 */
export function readCounters(current: Counters, given: Json | undefined): Counters {
  if (given === undefined || given === null) return current;
  if (!isObject(given)) throw badRequest('counters must be an object of whole numbers by kind.');
  for (const [kind, value] of Object.entries(given)) {
    if (!isKind(kind)) {
      throw badRequest(`counters.${kind}: there is no such counter; there are ${KINDS.join(', ')}.`);
    }
    if (!isCount(kind, value)) {
      throw badRequest(
        `counters.${kind} must be a whole number, 0 or more, not ${textOf(value).slice(0, 50)}.`,
      );
    }
  }
  return { ...current, ...(given as Counters) };
}

/** Counters behind which no row lies: the next number would be that of a row, and take its place. PURE. */
export function aheadOfRows(counters: Counters, tables: World['tables']): Counters {
  const raised = Object.entries(idsByKind(tables)).flatMap(([kind, ids]) => {
    const highest = ids.reduce((most, id) => Math.max(most, id), counters[kind] ?? 0);
    return highest > (counters[kind] ?? 0) ? [[kind, highest] as const] : [];
  });
  return raised.length === 0 ? counters : { ...counters, ...Object.fromEntries(raised) };
}

const ids = (...tables: readonly object[]): readonly number[] =>
  tables.flatMap((table) => Object.keys(table).map(Number));

/** The numbers that rows have, by the kind from which the next one is drawn. */
function idsByKind(tables: World['tables']) {
  return {
    user: ids(tables.users),
    apiKey: ids(tables.apiKeys),
    contract: ids(tables.contracts, tables.endedContracts),
    template: ids(tables.templates),
    priceIncrease: ids(tables.priceIncreases),
    fault: ids(tables.faults),
    sentCode: ids(tables.sentCodes),
    sshKey: ids(tables.sshKeys),
    variable: ids(tables.variables),
    volume: ids(tables.volumes, tables.endedVolumes),
    // Those of a seeded market have numbers of their own, far ahead.
    volumeListing: ids(tables.volumeListings).filter((id) => id < FIRST_LISTING),
    endpointGroup: ids(tables.endpointGroups),
    workerGroup: ids(tables.workerGroups),
    deployment: ids(tables.deployments),
    deploymentVersion: Object.values(tables.deployments).flatMap((row) => row.versions.map(({ id }) => id)),
    tfaMethod: Object.values(tables.tfaAccounts).flatMap((row) => row.methods.map(({ id }) => id)),
  };
}

/** A time in milliseconds, kept among the counters: the last change of bid prices. */
const LAST_PRICES = 'bidPricesAt';

const KINDS: readonly string[] = [...Object.keys(idsByKind(emptyTables())), 'networkDisk', LAST_PRICES];

const isKind = (kind: string): boolean => KINDS.includes(kind) || /^flap-\d+$/.test(kind);

const isCount = (kind: string, value: Json): boolean =>
  typeof value === 'number' && value >= 0 && (kind === LAST_PRICES || Number.isSafeInteger(value));
