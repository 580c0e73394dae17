import type { JsonObject } from '../json.ts';
import type { Contract } from '../tables/contracts.ts';
import type { WorkerRow } from '../tables/workers.ts';
import type { World } from '../world/world.ts';
import { workerWord } from './worker-word.ts';
import { loadOf, workUntil } from './worker-work.ts';

/* A worker as `/get_endpoint_workers/` shows it: numbers are numbers or absent, never null. PURE. */

/** Where a worker takes requests: as it reports, else the open port of its machine. */
export function workerUrl(world: World, worker: WorkerRow): string {
  if (worker.report?.url) return worker.report.url;
  const contract = world.tables.contracts[worker.id];
  const machine = contract && world.tables.machines[contract.machineId];
  return `http://${machine?.publicAddress ?? '0.0.0.0'}:${contract ? workerPort(world, contract) : 0}`;
}

function workerPort(world: World, contract: Contract): number {
  return contract.ports[`${world.settings.workers.workerPort}/tcp`] ?? contract.sshPort;
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

/** `measured_perf` means something once the worker is idle. */
function perfColumns(world: World, worker: WorkerRow): JsonObject {
  return {
    perf: worker.perf,
    cur_perf: loadOf(worker) > 0 ? worker.perf : 0,
    measured_perf: workerWord(world, worker) === 'idle' ? worker.perf : 0,
  };
}

function offerColumns(world: World, worker: WorkerRow): JsonObject {
  const contract = world.tables.contracts[worker.id];
  const columns = contract && world.tables.offers[contract.offerId]?.columns;
  if (!columns) return {};
  const { dlperf, reliability, gpu_name } = columns;
  return { dlperf: Number(dlperf ?? 0), reliability: Number(reliability ?? 0), gpu_name: String(gpu_name) };
}

/** The word of the worker, or that it waits for its turn to be updated. */
function statusOf(world: World, worker: WorkerRow): string {
  const word = workerWord(world, worker);
  const isNext = world.tables.workerGroups[worker.groupId]?.updating.includes(worker.id) ?? false;
  return word === 'idle' && isNext ? 'update_ready' : word;
}
