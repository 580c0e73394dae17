import { defaultSettings, type Settings } from '../settings.ts';
import { contractRow, endedContractRow, priceIncreaseRow, templateRow } from '../tables/contracts.ts';
import {
  deploymentRow,
  endpointGroupRow,
  signingKeyRow,
  workerGroupRow,
  workerRow,
} from '../tables/endpoint-groups.ts';
import { faultRow } from '../tables/faults.ts';
import { endedVolumeRow, machineRow, offerRow, volumeListingRow, volumeRow } from '../tables/market.ts';
import type { Row } from '../tables/row.ts';
import { sentCodeRow, tfaAccountRow } from '../tables/tfa.ts';
import { apiKeyRow, sshKeyRow, userRow, variableRow } from '../tables/users.ts';

/*
 * The whole market as one plain value: no class, no function, no reference cycle, so that it can be stored, compared,
 * sent over `/sim/world` and replayed. Rows are never changed in place: a change puts a new row under the same id.
 * All times are milliseconds of simulated time since the epoch.
 *
 * To add a table: declare the schema of its row (with a numeric `id`) in a file of `tables/` and add a line to
 * `tableSchemas` below. Persistence and `/sim/world` need no further code.
 */

/** Schemas of the rows of each table, for input from outside. */
export const tableSchemas = {
  users: userRow,
  apiKeys: apiKeyRow,
  machines: machineRow,
  offers: offerRow,
  contracts: contractRow,
  endedContracts: endedContractRow,
  templates: templateRow,
  priceIncreases: priceIncreaseRow,
  faults: faultRow,
  tfaAccounts: tfaAccountRow,
  sentCodes: sentCodeRow,
  sshKeys: sshKeyRow,
  variables: variableRow,
  volumeListings: volumeListingRow,
  volumes: volumeRow,
  endedVolumes: endedVolumeRow,
  endpointGroups: endpointGroupRow,
  workerGroups: workerGroupRow,
  workers: workerRow,
  signingKeys: signingKeyRow,
  deployments: deploymentRow,
};

export type Tables = {
  readonly [T in keyof typeof tableSchemas]: Readonly<Record<number, Row<(typeof tableSchemas)[T]>>>;
};

export type TableName = keyof Tables;
/** The row of a table. */
export type RowOf<T extends TableName> = Tables[T][number];

export interface World {
  /** Simulated time of the world. */
  readonly now: number;
  /** Time before which no step is due; 0 after every write. */
  readonly nextEventAt: number;
  readonly seed: number;
  readonly settings: Settings;
  /** Last assigned number, by kind. */
  readonly counters: Readonly<Record<string, number>>;
  readonly tables: Tables;
}

/** Returns tables without a row. */
export function emptyTables(): Tables {
  return Object.fromEntries(Object.keys(tableSchemas).map((name) => [name, {}])) as unknown as Tables;
}

/** Returns an empty world. */
export function emptyWorld(options: { now: number; seed: number; settings?: Settings }): World {
  return {
    now: options.now,
    nextEventAt: 0,
    seed: options.seed,
    settings: options.settings ?? defaultSettings,
    counters: {},
    tables: emptyTables(),
  };
}
