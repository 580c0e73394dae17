import { assignPorts, bootTimeline, containerPorts, shownStatus } from '../instances/boot.ts';
import { readEnv } from '../instances/container-options.ts';
import { endContract, startContract, stopContract } from '../instances/contract-state.ts';
import { isObject, type JsonObject } from '../json.ts';
import { diskMicrosPerHour } from '../supply/offer-row.ts';
import { matching, viewOf } from '../supply/search.ts';
import { readSearch } from '../supply/search-query.ts';
import type { Contract, Template } from '../tables/contracts.ts';
import type { EndpointGroupRow, WorkerGroupRow, WorkerRow } from '../tables/endpoint-groups.ts';
import type { Offer } from '../tables/market.ts';
import { chance } from '../world/chance.ts';
import { contractsOf, creditMicros } from '../world/ledger.ts';
import type { World } from '../world/world.ts';
import { withoutRows, withRows } from '../world/world-store.ts';
import { parseSearchText } from './search-text.ts';
import { workUntil } from './worker.ts';

/* Renting the machine of a worker, without a request of its user. PURE. */

/** An offer for a group, with its performance per dollar, by which groups compete. */
interface Candidate {
  readonly group: WorkerGroupRow;
  readonly offer: Offer;
}

/** Returns the world with one more worker; undefined if no group finds an offer or the credit is used up. */
export function rentWorker(
  world: World,
  endpoint: EndpointGroupRow,
  groups: readonly WorkerGroupRow[],
): { world: World; worker: WorkerRow } | undefined {
  const user = world.tables.users[endpoint.userId];
  if (!user || creditMicros(world, user, world.now) <= 0) return undefined;
  const best = groups
    .flatMap((group) => bestOffer(world, group) ?? [])
    .toSorted((left, right) => value(right.offer) - value(left.offer))[0];
  return best && place(world, endpoint, best);
}

const value = (offer: Offer): number =>
  Number(offer.columns.dlperf ?? 0) / Math.max(1, offer.gpuPricePerHour);

/**
 * Filter for machines with open ports, unless the search has another: each worker is called at its own port.
 */
const REACHABLE = { direct_port_count: { gte: 1 } };

function bestOffer(world: World, group: WorkerGroupRow): Candidate | undefined {
  const order = [['dlperf_per_dphtotal', 'desc']];
  const query = readSearch(
    { order, ...REACHABLE, ...readFilters(group), rentable: { eq: true }, limit: 1 },
    world.settings,
  );
  const [offer] = matching(query, viewOf(world, query, group.userId));
  return offer && { group, offer };
}

/** Returns `search_params` as filters; it is text, or the JSON text of an object. */
export function readFilters(group: Pick<WorkerGroupRow, 'searchParams'>): JsonObject {
  const text = group.searchParams.trim();
  if (!text.startsWith('{')) return parseSearchText(text);
  const parsed: unknown = JSON.parse(text);
  return parsed as JsonObject;
}

function place(
  world: World,
  endpoint: EndpointGroupRow,
  candidate: Candidate,
): { world: World; worker: WorkerRow } | undefined {
  const machine = world.tables.machines[candidate.offer.machineId];
  if (!machine) return undefined;
  const id = (world.counters.contract ?? 0) + 1;
  const { perfPerDlperf } = world.settings.workers;
  const worker: WorkerRow = {
    id,
    groupId: candidate.group.id,
    endpointId: endpoint.id,
    createdAt: world.now,
    token: workerToken(world.seed, id),
    loadedAt: null,
    perf: Math.max(1, Number(candidate.offer.columns.dlperf ?? 0) * perfPerDlperf),
    taken: [],
    doneOnFirst: 0,
    workedUntil: world.now,
    report: null,
    routedSinceReport: 0,
  };
  const timeline = bootTimeline({ settings: world.settings, seed: world.seed, machine, now: world.now });
  const contract = { ...workerContract(world, { worker, endpoint, candidate }), timeline };
  const counted = { ...world, counters: { ...world.counters, contract: id } };
  const withContract = withRows(counted, 'contracts', [contract]);
  const withOffer = withRows(withContract, 'offers', [{ ...candidate.offer, rentedBy: id }]);
  return { world: withRows(withOffer, 'workers', [worker]), worker };
}

/** Returns 128 bits that depend only on world and worker. */
function workerToken(seed: number, id: number): string {
  const words = [1, 2, 3, 4].map((part) => Math.floor(chance(seed, id, 900 + part) * 2 ** 32));
  return words.map((part) => part.toString(16).padStart(8, '0')).join('');
}

/** Fields of a contract that a worker group cannot set. */
const BARE = {
  runtype: 'ssh',
  args: [],
  imageLogin: null,
  isBid: false,
  bidPerHour: null,
  actualStatus: null,
  intendedStatus: 'running',
  statusMessage: null,
  timeline: [],
  blockedBy: null,
  prepaidMicros: 0,
  volumes: [],
} as const;

function workerContract(
  world: World,
  given: { worker: WorkerRow; endpoint: EndpointGroupRow; candidate: Candidate },
): Contract {
  const { offer, group } = given.candidate;
  const { settings, now } = world;
  const template = templateOf(world, group);
  const diskGB = workerDiskGB(world, template, offer);
  const diskPerHour = diskMicrosPerHour(offer, diskGB, settings);
  const port = settings.workers.workerPort;
  const asked = { ...templateEnv(template), [`-p ${port}:${port}`]: '1' };
  const assigned = assignPorts(world, containerPorts(BARE.runtype, asked), offer);
  return {
    id: given.worker.id,
    userId: given.endpoint.userId,
    offerId: offer.id,
    machineId: offer.machineId,
    hostId: offer.hostId,
    label: `${given.endpoint.name}-${contractsOf(world, given.endpoint.userId).length + 1}`,
    image: textOf(template?.body.image) ?? 'simulated/worker:latest',
    onstart: textOf(template?.body.onstart) ?? null,
    env: { ...asked, ...workerEnv(world, { ...given, offer, ports: assigned.ports }) },
    ...BARE,
    templateId: group.templateId,
    templateHash: group.templateHash,
    diskGB,
    gpuPricePerHour: offer.gpuPricePerHour,
    diskPricePerHour: diskPerHour,
    createdAt: now,
    statusSince: now,
    spans: [{ from: now, until: null, gpuPerHour: offer.gpuPricePerHour, diskPerHour }],
    ...assigned,
    jupyterToken: given.worker.token,
    notes: { workerGroup: group.id, endpoint: given.endpoint.id },
  };
}

/** Returns the disk of the template, at most that of the offer. */
function workerDiskGB(world: World, template: Template | undefined, offer: Offer): number {
  const fallback = world.settings.workers.workerDiskGB;
  return Math.min(numberOf(template?.body.disk) ?? fallback, numberOf(offer.columns.disk_space) ?? fallback);
}

/** Returns the environment of the template, in either form; none if it is unreadable. */
function templateEnv(template: Template | undefined): Readonly<Record<string, string>> {
  const given = template?.body.env;
  return typeof given === 'string' || isObject(given) ? readEnv(given) : {};
}

/** Returns the variables that the worker library reads in its container (wire reference, section 13). */
function workerEnv(
  world: World,
  given: { worker: WorkerRow; endpoint: EndpointGroupRow; offer: Offer; ports: Contract['ports'] },
): Readonly<Record<string, string>> {
  const { worker, endpoint, offer, ports } = given;
  const port = String(world.settings.workers.workerPort);
  const hostPort = ports[`${port}/tcp`];
  return {
    CONTAINER_ID: String(worker.id),
    MASTER_TOKEN: worker.token,
    REPORT_ADDR: endpoint.reportAddress,
    PUBLIC_IPADDR: world.tables.machines[offer.machineId]?.publicAddress ?? '',
    WORKER_PORT: port,
    ...(hostPort === undefined ? {} : { [`VAST_TCP_PORT_${port}`]: String(hostPort) }),
    USE_SSL: 'false',
    UNSECURED: 'false',
  };
}

function templateOf(world: World, group: WorkerGroupRow): Template | undefined {
  if (group.templateHash === null && group.templateId === null) return undefined;
  return Object.values(world.tables.templates).find(
    ({ id, hashId }) => id === group.templateId || hashId === group.templateHash,
  );
}

const numberOf = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined);
const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;

/* Changes of a worker's machine by the scaling rule, without a user's request. PURE. */

/** Destroys the machine, frees its offer and removes the worker. */
export function destroyWorker(world: World, id: number): World {
  const without = withoutRows(world, 'workers', [id]);
  const contract = world.tables.contracts[id];
  if (!contract) return without;
  const ended = endContract(contract, world.now);
  const user = world.tables.users[contract.userId];
  const offer = world.tables.offers[contract.offerId];
  const paid = user ? [{ ...user, settledMicros: user.settledMicros + ended.dollarsMicros }] : [];
  const freed = offer?.rentedBy === id ? [{ ...offer, rentedBy: null }] : [];
  const settled = withRows(withoutRows(without, 'contracts', [id]), 'endedContracts', [ended]);
  return withRows(withRows(settled, 'users', paid), 'offers', freed);
}

/** Stops a worker: compute is no longer billed, its disk is kept. */
export function stopWorker(world: World, id: number): World {
  const contract = world.tables.contracts[id];
  if (!contract) return world;
  return withRows(world, 'contracts', [stopContract(contract, world.now, world.settings)]);
}

/** Starts a cold worker. */
export function startWorker(world: World, id: number): World {
  const contract = world.tables.contracts[id];
  if (!contract) return world;
  return withRows(world, 'contracts', [startContract(contract, world.now, world.settings)]);
}

/* Changed states of workers since the last run. PURE. */

/** Returns the workers of an endpoint, oldest first. */
export function workersOf(world: World, endpointId: number): readonly WorkerRow[] {
  return Object.values(world.tables.workers).filter((worker) => worker.endpointId === endpointId);
}

/** Returns the world with the workers of an endpoint as of now, without those whose machine was destroyed. */
export function refreshWorkers(world: World, endpointId: number): World {
  const workers = workersOf(world, endpointId);
  const gone = workers.filter(({ id }) => world.tables.contracts[id] === undefined);
  const present = workers.filter(({ id }) => world.tables.contracts[id] !== undefined);
  const refreshed = present.map((worker) => workUntil(loaded(world, trusted(world, worker)), world.now));
  return withRows(
    withoutRows(
      world,
      'workers',
      gone.map(({ id }) => id),
    ),
    'workers',
    refreshed,
  );
}

/** Returns the worker, without a stale report. */
function trusted(world: World, worker: WorkerRow): WorkerRow {
  const staleMs = world.settings.workers.staleReportSeconds * 1000;
  const isStale = worker.report !== null && world.now - worker.report.at > staleMs;
  return isStale ? { ...worker, report: null } : worker;
}

/**
 * Returns the worker with its model loaded some time after its machine runs; a stop unloads it. Reporting workers
 * report it themselves.
 */
function loaded(world: World, worker: WorkerRow): WorkerRow {
  const since = runningSince(world, worker.id);
  if (since === undefined) return { ...worker, loadedAt: null, taken: [], doneOnFirst: 0 };
  if (worker.loadedAt !== null || worker.report) return worker;
  const { settings } = world;
  const at = since + settings.workers.modelLoadSeconds * settings.boot.scale * 1000;
  return at > world.now ? worker : { ...worker, loadedAt: at, workedUntil: at };
}

/** Returns the time since which the machine of a worker has been running as intended; undefined if it is not. */
export function runningSince(world: World, contractId: number): number | undefined {
  const contract = world.tables.contracts[contractId];
  if (contract?.intendedStatus !== 'running') return undefined;
  const status = shownStatus(contract, world.tables.machines[contract.machineId]);
  return status === 'running' ? contract.statusSince : undefined;
}
