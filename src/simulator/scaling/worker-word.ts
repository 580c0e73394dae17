import { shownStatus } from '../instances/boot.ts';
import type { Contract } from '../tables/contracts.ts';
import type { WorkerRow } from '../tables/workers.ts';
import type { World } from '../world/world.ts';

/** Words of `status` in a worker row, as public clients know them. */
export type WorkerWord =
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

const WORDS: Readonly<Record<string, WorkerWord>> = {
  created: 'created',
  loading: 'loading',
  rebooting: 'rebooting',
  exited: 'error',
  unknown: 'unavail',
  offline: 'unavail',
};

/** What a worker is doing: the state of its machine, then of its model. PURE. */
export function workerWord(world: World, worker: WorkerRow): WorkerWord {
  const contract = world.tables.contracts[worker.id];
  if (!contract) return 'destroying';
  if (worker.report?.errorMessage) return 'error';
  const shown = shownStatus(contract, world.tables.machines[contract.machineId]);
  if (shown === null) return 'creating';
  if (shown === 'running') return runningWord(contract, worker);
  if (shown === 'stopped') return stoppedWord(contract);
  return WORDS[shown] ?? 'unavail';
}

function runningWord(contract: Contract, worker: WorkerRow): WorkerWord {
  if (contract.intendedStatus !== 'running') return 'stopping';
  return worker.loadedAt === null ? 'model_loading' : 'idle';
}

function stoppedWord(contract: Contract): WorkerWord {
  return contract.intendedStatus === 'running' && contract.heldBy === null ? 'starting' : 'stopped';
}

/** Broken for good: it is destroyed and another one is rented. */
export function isBroken(world: World, worker: WorkerRow): boolean {
  const word = workerWord(world, worker);
  return word === 'error' || word === 'unavail';
}
