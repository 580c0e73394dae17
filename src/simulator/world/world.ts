import type { MicroDollars } from '../../lib/money.ts';
import type { JsonObject } from '../json.ts';
import type { EndpointGroupRow, WorkerGroupRow, WorkerRow } from '../scaling/rows.ts';
import type { SigningKey } from '../scaling/signing-key.ts';
import { defaultSettings, type Settings } from '../settings.ts';
import type { SentCode, TfaAccount } from '../tfa/state.ts';
import type { EndedVolume, MountedVolume, SshKey, Variable, Volume, VolumeListing } from './account-rows.ts';
import type { DeploymentRow } from './deployment-rows.ts';

/*
 * The whole market as one plain value: no class, no function, no reference cycle, so that it can be
 * stored, compared, sent over `/sim/world` and replayed. Rows are never changed in place: a change puts
 * a new row under the same id. All times are milliseconds of simulated time since the epoch.
 *
 * To add a table: declare its row (with a numeric `id`) in a file of your own, then add one line to
 * `Tables` and one to `emptyTables` below. Persistence and `/sim/world` follow by themselves.
 */

/** A login of the marketplace (specification 2.4). */
export interface User {
  readonly id: number;
  readonly email: string | null;
  readonly username: string;
  readonly fullName: string;
  readonly sshKey: string;
  /** Paid in so far; credit is this less all that the ledger charged. */
  readonly depositedMicros: MicroDollars;
  /** Charged by contracts that have ended; those of live ones are computed when asked. */
  readonly settledMicros: MicroDollars;
  readonly emailVerifiedAt: number | null;
  readonly phoneNumber: string | null;
  readonly tfaStatus: 'enabled' | 'disabled' | 'legacy';
  readonly hasBilling: boolean;
  readonly isAdmin: boolean;
  /** True where calls of this login are made in a team's context. */
  readonly inTeam: boolean;
  readonly createdAt: number;
}

/** A key; `permissions` null is full access, `instanceId` marks the restricted key of one instance. */
export interface ApiKey {
  readonly id: number;
  readonly userId: number;
  readonly name: string;
  readonly secret: string;
  readonly permissions: JsonObject | null;
  readonly keyParams: string | null;
  readonly instanceId: number | null;
  /** Set for the session keys that a 2FA login gives out. */
  readonly session: boolean;
  readonly createdAt: number;
  readonly expiresAt: number | null;
  readonly revokedAt: number | null;
}

/** A physical machine of a host. */
export interface Machine {
  readonly id: number;
  readonly hostId: number;
  readonly publicAddress: string;
  /** `up`, `offline` (host disconnected), `unknown` (no heartbeat), `dead` (never comes back). */
  readonly state: 'up' | 'offline' | 'unknown' | 'dead';
  /** End of a passing outage; null while up and for ever when dead. */
  readonly stateUntil: number | null;
  /** Multiplies the image pull of this machine. */
  readonly pullFactor: number;
  readonly reliability: number;
  readonly listed: boolean;
}

/** Value of an offer's column. */
export type Column = string | number | boolean | null;

/** A listing that can be rented once at a time. */
export interface Offer {
  readonly id: number;
  readonly machineId: number;
  readonly hostId: number;
  /** Contract that holds it now. */
  readonly rentedBy: number | null;
  readonly gpuPricePerHour: MicroDollars;
  readonly diskPricePerGBMonth: MicroDollars;
  readonly minBidPerHour: MicroDollars;
  /** Columns in wire names that neither time, request nor caller changes. */
  readonly columns: Readonly<Record<string, Column>>;
}

/** A stretch of a contract's life at one price; `until` null is the stretch that runs now. */
export interface BillingSpan {
  readonly from: number;
  readonly until: number | null;
  readonly gpuPerHour: MicroDollars;
  readonly diskPerHour: MicroDollars;
}

/** A change of state that will happen by itself. */
export interface Transition {
  readonly at: number;
  readonly status: string | null;
  readonly message?: string;
}

/** A rented instance that has not been destroyed. */
export interface Contract {
  readonly id: number;
  readonly userId: number;
  readonly offerId: number;
  readonly machineId: number;
  readonly hostId: number;
  readonly label: string | null;
  readonly image: string;
  readonly runtype: string;
  readonly onstart: string | null;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly imageLogin: string | null;
  readonly templateId: number | null;
  readonly templateHash: string | null;
  readonly diskGB: number;
  readonly isBid: boolean;
  readonly bidPerHour: MicroDollars | null;
  readonly gpuPricePerHour: MicroDollars;
  readonly diskPricePerHour: MicroDollars;
  readonly createdAt: number;
  /** What it would show if its machine were up; {@link shownStatus} adds the machine's own state. */
  readonly actualStatus: string | null;
  readonly intendedStatus: 'running' | 'stopped' | 'frozen';
  readonly statusMessage: string | null;
  /** When the present `actualStatus` was entered. */
  readonly statusSince: number;
  /** Coming changes, earliest first. */
  readonly timeline: readonly Transition[];
  readonly spans: readonly BillingSpan[];
  /** Host ports by container port (`22/tcp`), given at the first boot and kept. */
  readonly ports: Readonly<Record<string, number>>;
  readonly sshPort: number;
  readonly jupyterToken: string;
  /** Why it stands still although its user wants it to run. */
  readonly heldBy: 'outbid' | 'credit' | 'cannot-start' | null;
  readonly prepaidMicros: MicroDollars;
  readonly volumes: readonly MountedVolume[];
  /** Free-form notes of other parts, such as the worker group that owns it. */
  readonly notes: JsonObject;
}

/** What is left of a destroyed contract. */
export interface EndedContract {
  readonly id: number;
  readonly userId: number;
  readonly offerId: number;
  readonly machineId: number;
  readonly hostId: number;
  readonly label: string | null;
  readonly createdAt: number;
  readonly endedAt: number;
  readonly dollarsMicros: MicroDollars;
  /** The contract as it was when it ended, for lists that still show it. */
  readonly last: Contract;
}

/** A template that a rental may name. */
export interface Template {
  readonly id: number;
  readonly userId: number;
  readonly hashId: string;
  readonly name: string;
  readonly body: JsonObject;
  readonly createdAt: number;
}

/** A price increase that a user has not answered yet. */
export interface PriceIncrease {
  readonly id: number;
  readonly contractId: number;
  readonly userId: number;
  readonly gpuPricePerHour: MicroDollars;
  readonly announcedAt: number;
  readonly dueAt: number;
}

/** A fault that has been asked for and is not used up. */
export interface ActiveFault {
  readonly id: number;
  readonly name: string;
  readonly endpoint: string | null;
  readonly remaining: number | null;
  readonly probability: number | null;
  readonly seconds: number | null;
  readonly instance: number | null;
  readonly host: number | null;
  readonly createdAt: number;
  /** When it goes away by itself; null where count or deletion ends it. */
  readonly expiresAt: number | null;
  /** Contracts as they were when a `stale-list` was set. */
  readonly snapshot?: readonly Contract[];
  /** Ids of what a fault of the world struck when it was set. */
  readonly struck?: { readonly contracts: readonly number[]; readonly machines: readonly number[] };
}

type Table<Row> = Readonly<Record<number, Row>>;

export interface Tables {
  readonly users: Table<User>;
  readonly apiKeys: Table<ApiKey>;
  readonly machines: Table<Machine>;
  readonly offers: Table<Offer>;
  readonly contracts: Table<Contract>;
  readonly endedContracts: Table<EndedContract>;
  readonly templates: Table<Template>;
  readonly priceIncreases: Table<PriceIncrease>;
  readonly faults: Table<ActiveFault>;
  readonly tfaAccounts: Table<TfaAccount>;
  readonly sentCodes: Table<SentCode>;
  readonly sshKeys: Table<SshKey>;
  readonly variables: Table<Variable>;
  readonly volumeListings: Table<VolumeListing>;
  readonly volumes: Table<Volume>;
  readonly endedVolumes: Table<EndedVolume>;
  readonly endpointGroups: Table<EndpointGroupRow>;
  readonly workerGroups: Table<WorkerGroupRow>;
  readonly workers: Table<WorkerRow>;
  readonly signingKeys: Table<SigningKey>;
  readonly deployments: Table<DeploymentRow>;
}

export type TableName = keyof Tables;
/** The row of a table. */
export type RowOf<T extends TableName> = Tables[T][number];

export interface World {
  /** Simulated time that the world has been brought to. */
  readonly now: number;
  /** Nothing changes by itself before this time; 0 after every write. */
  readonly nextEventAt: number;
  readonly seed: number;
  readonly settings: Settings;
  /** Last number given out, by kind. */
  readonly counters: Readonly<Record<string, number>>;
  readonly tables: Tables;
}

/** Tables without a row. */
export function emptyTables(): Tables {
  return {
    users: {},
    apiKeys: {},
    machines: {},
    offers: {},
    contracts: {},
    endedContracts: {},
    templates: {},
    priceIncreases: {},
    faults: {},
    tfaAccounts: {},
    sentCodes: {},
    sshKeys: {},
    variables: {},
    volumeListings: {},
    volumes: {},
    endedVolumes: {},
    endpointGroups: {},
    workerGroups: {},
    workers: {},
    signingKeys: {},
    deployments: {},
  };
}

/** A world in which nothing exists yet. */
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
