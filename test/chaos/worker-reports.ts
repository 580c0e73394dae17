import { WORKER_TOKEN_ENV } from '../../src/api/v1alpha1/names.ts';
import { shownStatus } from '../../src/simulator/instances/boot.ts';
import type { Simulator } from '../../src/simulator/simulator.ts';
import type { Contract } from '../../src/simulator/tables/contracts.ts';
import { type GroupName, imageOf, PERF } from './groups.ts';

export interface WorkerReportsOptions {
  readonly simulator: Pick<Simulator, 'world'>;
  readonly group: GroupName;
  /** URLs at which operators accept reports; standbys refuse them. */
  readonly urls: readonly string[];
}

const EVERY_MS = 250;
/** A frozen operator takes a connection and answers nothing. */
const PATIENCE_MS = 1_000;

/**
 * Workers of one group on simulated machines: the load offered is spread over those that run, and each reports what
 * it got since its last report that an operator took.
 */
export class WorkerReports {
  readonly #options: WorkerReportsOptions;
  /** Load that each machine has not reported yet. */
  readonly #owed = new Map<number, number>();
  readonly #reporting = new Set<number>();
  readonly #timer: NodeJS.Timeout;
  #at = performance.now();
  /** Work per second. */
  offered = 0;
  accepted = 0;

  constructor(options: WorkerReportsOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.#round(), EVERY_MS);
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #round(): void {
    const running = this.#running();
    const now = performance.now();
    const each = (this.offered * (now - this.#at)) / 1000 / Math.max(1, running.length);
    this.#at = now;
    for (const contract of running) {
      this.#owed.set(contract.id, (this.#owed.get(contract.id) ?? 0) + each);
      if (!this.#reporting.has(contract.id)) void this.#report(contract);
    }
  }

  #running(): readonly Contract[] {
    const { contracts, machines } = this.#options.simulator.world().tables;
    const prefix = imageOf(this.#options.group, 0).slice(0, -1);
    return Object.values(contracts).filter(
      (contract) =>
        contract.image.startsWith(prefix) &&
        shownStatus(contract, machines[contract.machineId]) === 'running',
    );
  }

  async #report({ id, env }: Contract): Promise<void> {
    this.#reporting.add(id);
    const owed = this.#owed.get(id) ?? 0;
    const figures = { new_load: owed, cur_load: 0, max_perf: PERF, num_requests_working: 0 };
    const body = JSON.stringify({ id, mtoken: env[WORKER_TOKEN_ENV], ...figures });
    const taken = await Promise.all(this.#options.urls.map((url) => isTaken(url, body)));
    this.#reporting.delete(id);
    if (!taken.includes(true)) return;
    this.accepted += 1;
    this.#owed.set(id, (this.#owed.get(id) ?? 0) - owed);
  }
}

/** Sends a report. Returns false if that operator is dead, frozen or not the leader. */
async function isTaken(url: string, body: string): Promise<boolean> {
  try {
    const headers = { 'content-type': 'application/json' };
    const signal = AbortSignal.timeout(PATIENCE_MS);
    const reply = await fetch(`${url}/worker_status/`, { method: 'POST', headers, body, signal });
    await reply.arrayBuffer();
    return reply.status === 200;
  } catch {
    return false;
  }
}
