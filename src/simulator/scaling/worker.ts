import { between, type FieldValues, text } from '../calls/fields.ts';
import { shownStatus } from '../instances/boot.ts';
import type { JsonObject } from '../json.ts';
import type { Contract } from '../tables/contracts.ts';
import type { WorkerRow } from '../tables/endpoint-groups.ts';
import type { World } from '../world/world.ts';
import { MAX_WORK } from './options.ts';

/* A worker as `/get_endpoint_workers/` shows it: numbers are numbers or absent, never null. PURE. */

/** Returns the address for a worker's requests: the reported one, else the open port of its machine. */
export function workerUrl(world: World, worker: WorkerRow): string {
  if (worker.report?.url) return worker.report.url;
  const contract = world.tables.contracts[worker.id];
  const machine = contract && world.tables.machines[contract.machineId];
  const port = contract?.ports[`${world.settings.workers.workerPort}/tcp`] ?? contract?.sshPort ?? 0;
  return `http://${machine?.publicAddress ?? '0.0.0.0'}:${port}`;
}

export function workerRow(world: World, stored: WorkerRow): JsonObject {
  const worker = workUntil(stored, world.now);
  return {
    id: worker.id,
    workergroup_id: worker.groupId,
    status: statusOf(world, worker),
    ...loadColumns(worker),
    ...perfColumns(world, worker),
    ...offerColumns(world, worker),
    disk_usage: 0,
    started_at: worker.createdAt / 1000,
    ...(worker.loadedAt === null ? {} : { loaded_at: worker.loadedAt / 1000 }),
    url: workerUrl(world, worker),
  };
}

function loadColumns(worker: WorkerRow): JsonObject {
  const load = loadOf(worker);
  return {
    cur_load: load,
    new_load: worker.report?.newLoad ?? worker.routedSinceReport,
    cur_load_rolling_avg: load,
    reqs_working: worker.report?.requestsWorking ?? worker.taken.length,
  };
}

/** Returns the columns of performance. `measured_perf` is only set when the worker is idle. */
function perfColumns(world: World, worker: WorkerRow): JsonObject {
  return {
    perf: worker.perf,
    cur_perf: loadOf(worker) > 0 ? worker.perf : 0,
    measured_perf: workerStatus(world, worker) === 'idle' ? worker.perf : 0,
  };
}

function offerColumns(world: World, worker: WorkerRow): JsonObject {
  const contract = world.tables.contracts[worker.id];
  const columns = contract && world.tables.offers[contract.offerId]?.columns;
  if (!columns) return {};
  const { dlperf, reliability, gpu_name } = columns;
  return { dlperf: Number(dlperf ?? 0), reliability: Number(reliability ?? 0), gpu_name: String(gpu_name) };
}

/** Returns the status of the worker, or that it waits for its update. */
function statusOf(world: World, worker: WorkerRow): string {
  const status = workerStatus(world, worker);
  const isNext = world.tables.workerGroups[worker.groupId]?.updating.includes(worker.id) ?? false;
  return status === 'idle' && isNext ? 'update_ready' : status;
}

/** Values of `status` in a worker row, as in public clients. */
export type WorkerStatus =
  | 'idle'
  | 'model_loading'
  | 'loading'
  | 'creating'
  | 'created'
  | 'starting'
  | 'stopping'
  | 'stopped'
  | 'rebooting'
  | 'error'
  | 'unavail'
  | 'destroying';

const STATUSES: Readonly<Record<string, WorkerStatus>> = {
  created: 'created',
  loading: 'loading',
  rebooting: 'rebooting',
  exited: 'error',
  unknown: 'unavail',
  offline: 'unavail',
};

/** Returns the status of a worker: the state of its machine, then that of its model. PURE. */
export function workerStatus(world: World, worker: WorkerRow): WorkerStatus {
  const contract = world.tables.contracts[worker.id];
  if (!contract) return 'destroying';
  if (worker.report?.errorMessage) return 'error';
  const shown = shownStatus(contract, world.tables.machines[contract.machineId]);
  if (shown === null) return 'creating';
  if (shown === 'running') return runningStatus(contract, worker);
  if (shown === 'stopped') return stoppedStatus(contract);
  return STATUSES[shown] ?? 'unavail';
}

function runningStatus(contract: Contract, worker: WorkerRow): WorkerStatus {
  if (contract.intendedStatus !== 'running') return 'stopping';
  return worker.loadedAt === null ? 'model_loading' : 'idle';
}

function stoppedStatus(contract: Contract): WorkerStatus {
  return contract.intendedStatus === 'running' && contract.blockedBy === null ? 'starting' : 'stopped';
}

/** Returns true if the worker is permanently broken: it is then destroyed and another one is rented. */
export function isBroken(world: World, worker: WorkerRow): boolean {
  const status = workerStatus(world, worker);
  return status === 'error' || status === 'unavail';
}

/* Unfinished work of a worker. A simulated worker completes its requests one after the other. PURE. */

/**
 * Returns the worker at `now` without finished requests. A reporting worker reports them itself, so it stays unchanged.
 */
export function workUntil(worker: WorkerRow, now: number): WorkerRow {
  if (worker.report || worker.loadedAt === null) return { ...worker, workedUntil: now };
  let done = worker.doneOnFirst + (worker.perf * (now - worker.workedUntil)) / 1000;
  let finished = 0;
  for (const { cost } of worker.taken) {
    if (done < cost) break;
    done -= cost;
    finished += 1;
  }
  const taken = worker.taken.slice(finished);
  return { ...worker, taken, doneOnFirst: taken.length === 0 ? 0 : done, workedUntil: now };
}

/** Returns the units of unfinished work: the reported ones plus those routed since; else the simulated rest. */
export function loadOf(worker: WorkerRow): number {
  if (worker.report) return worker.report.curLoad + worker.routedSinceReport;
  return worker.taken.reduce((sum, { cost }) => sum + cost, 0) - worker.doneOnFirst;
}

/** Returns the seconds that a new request would wait. */
export function queueSeconds(worker: WorkerRow): number {
  return loadOf(worker) / Math.max(worker.perf, 1e-9);
}

/** Returns the worker with one more request. */
export function takeRequest(worker: WorkerRow, request: { index: number; cost: number }): WorkerRow {
  return {
    ...worker,
    taken: [...worker.taken, request],
    routedSinceReport: worker.routedSinceReport + request.cost,
  };
}

/** Returns the worker without the requests that it reports as finished. */
export function dropRequests(worker: WorkerRow, indexes: ReadonlySet<number>): WorkerRow {
  const [first] = worker.taken;
  const taken = worker.taken.filter(({ index }) => !indexes.has(index));
  return { ...worker, taken, doneOnFirst: taken[0] === first ? worker.doneOnFirst : 0 };
}

/* Report of a worker, `POST /worker_status/`. PURE. */

/** Changes by a report: the worker, and the work that did not arrive by `/route/`. */
export interface Reported {
  readonly worker: WorkerRow;
  readonly foreignLoad: number;
}

const figure = between({ min: -MAX_WORK, max: MAX_WORK });

/** The figures of a worker's report. */
export const REPORT = {
  max_perf: figure,
  new_load: figure,
  rej_load: figure,
  loadtime: figure,
  cur_load: figure,
  num_requests_working: figure,
  error_msg: text,
  url: text,
};

/**
 * Applies a report. `loadtime` is 0 until the model is loaded, `max_perf` is the benchmark result, a non-empty
 * `error_msg` means broken. `new_load` includes the work routed since the last report; only the rest is new.
 */
export function applyReport(worker: WorkerRow, body: FieldValues<typeof REPORT>, now: number): Reported {
  const perf = body.max_perf ?? 0;
  const newLoad = (body.new_load ?? 0) + (body.rej_load ?? 0);
  const isLoaded = (body.loadtime ?? 0) > 0;
  return {
    worker: {
      ...worker,
      report: {
        at: now,
        curLoad: body.cur_load ?? 0,
        newLoad,
        requestsWorking: body.num_requests_working ?? 0,
        errorMessage: body.error_msg ?? '',
        url: body.url || null,
      },
      perf: perf > 0 ? perf : worker.perf,
      loadedAt: isLoaded ? (worker.loadedAt ?? now) : null,
      routedSinceReport: 0,
      workedUntil: now,
    },
    foreignLoad: Math.max(0, newLoad - worker.routedSinceReport),
  };
}
