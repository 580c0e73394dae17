import type { RowOf, TableName, World } from './world.ts';

/** A field of the rows of one table that holds the id of a row of another, or null. */
interface Reference {
  readonly from: TableName;
  readonly field: string;
  readonly to: TableName;
}

function reference<T extends TableName>(from: T, field: keyof RowOf<T> & string, to: TableName): Reference {
  return { from, field, to };
}

/** What always holds in a market. History (`ended…`), keys and price rises of ended contracts name what is gone. */
const REFERENCES: readonly Reference[] = [
  reference('apiKeys', 'userId', 'users'),
  reference('offers', 'machineId', 'machines'),
  reference('offers', 'rentedBy', 'contracts'),
  reference('contracts', 'userId', 'users'),
  reference('contracts', 'offerId', 'offers'),
  reference('contracts', 'machineId', 'machines'),
  reference('templates', 'userId', 'users'),
  reference('sshKeys', 'userId', 'users'),
  reference('variables', 'userId', 'users'),
  reference('tfaAccounts', 'id', 'users'),
  reference('volumeListings', 'machineId', 'machines'),
  reference('volumes', 'listingId', 'volumeListings'),
  reference('volumes', 'machineId', 'machines'),
  reference('endpointGroups', 'userId', 'users'),
  reference('workerGroups', 'userId', 'users'),
  reference('workerGroups', 'endpointId', 'endpointGroups'),
  reference('deployments', 'userId', 'users'),
  reference('deployments', 'endpointId', 'endpointGroups'),
  reference('deployments', 'workerGroupId', 'workerGroups'),
];

/** The table of machines has another name in the document. */
const shown = (table: TableName): string => (table === 'machines' ? 'hosts' : table);

/**
 * Says which row names one that is not there, and what to do; undefined where each is there. Looks at what
 * the given tables name and at what names them. PURE.
 */
export function danglingReference(
  tables: World['tables'],
  given: ReadonlySet<TableName>,
): string | undefined {
  for (const { from, field, to } of REFERENCES) {
    if (!given.has(from) && !given.has(to)) continue;
    for (const row of Object.values(tables[from]) as readonly Record<string, unknown>[]) {
      const id = row[field];
      if (id === null || tables[to][id as number] !== undefined) continue;
      return `${shown(from)} ${row.id}: ${field} is ${id}, but ${shown(to)} has no row of that id; give that row too, or change ${shown(from)}.`;
    }
  }
  return undefined;
}
