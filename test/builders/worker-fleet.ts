import type { RequestListener } from 'node:http';
import type { Clock } from '../../src/lib/clock.ts';
import { type Transport, TransportError } from '../../src/lib/transport.ts';
import { serve } from '../../src/replay/queueing.ts';
import { shownStatus } from '../../src/simulator/instances/boot.ts';
import type { Simulator } from '../../src/simulator/simulator.ts';
import type { Contract } from '../../src/simulator/tables/contracts.ts';

export interface FleetOptions {
  readonly simulator: Pick<Simulator, 'world'>;
  readonly clock: Clock;
  /** Work per second of each worker. */
  readonly perf: number;
  readonly maxQueueSeconds: number;
  /** Work of one request. */
  readonly requestSize?: number;
}

interface FleetWorker {
  queue: number;
  /** Load since the last response. */
  newLoad: number;
  rejectedLoad: number;
}

/** Response of a worker in place of its figures. */
export type Answer =
  | { readonly status: number; readonly body: string }
  | { readonly type: 'broken' }
  | { readonly type: 'silent' };

/**
 * Workers on simulated machines: a gateway spreads the offered work over those that the Service leads to, each does
 * what it can and tells its figures in the public worker protocol. Work in a machine that stops is lost, and counted.
 */
export class WorkerFleet {
  readonly #options: FleetOptions;
  readonly #workers = new Map<number, FleetWorker>();
  #published: ReadonlySet<number> = new Set();
  #at: number;
  /** Work offered per second. */
  offered = 0;
  /** Work that was in machines when they ended. */
  lost = 0;
  /** Work turned away, by workers or for want of any. */
  rejected = 0;
  done = 0;
  /** Requests for figures that were answered. */
  asked = 0;
  /** Answers in place of the figures. */
  answer: ((contract: Contract) => Answer | undefined) | undefined;
  /** Tokens that were shown, by contract. */
  readonly tokens = new Map<number, string | undefined>();

  constructor(options: FleetOptions) {
    this.#options = options;
    this.#at = options.clock.now();
  }

  /** Sets the public ports that the Service currently routes to. */
  publish(ports: ReadonlySet<number>): void {
    this.advance();
    this.#published = ports;
  }

  /** Work in all workers. */
  get queued(): number {
    return [...this.#workers.values()].reduce((sum, worker) => sum + worker.queue, 0);
  }

  /** Workers that run and that the Service leads to. */
  get open(): number {
    return this.#running().filter((contract) => this.#isPublished(contract)).length;
  }

  /** Machines that run. */
  get running(): number {
    return this.#running().length;
  }

  /** Brings every worker up to now. */
  advance(): void {
    const now = this.#options.clock.now();
    const seconds = (now - this.#at) / 1000;
    this.#at = now;
    const running = this.#running();
    this.#bury(running);
    if (seconds <= 0) return;
    const open = running.filter((contract) => this.#isPublished(contract));
    const work = this.offered * seconds;
    if (open.length === 0) this.rejected += work;
    for (const contract of running) {
      const share = open.includes(contract) ? work / open.length : 0;
      this.#serve(this.#workerOf(contract.id), share, seconds);
    }
  }

  /** Answers as the workers would, without a socket. */
  readonly transport: Transport = async ({ origin, headers }) => {
    const port = Number(new URL(origin).port);
    const contract = this.#running().find(({ ports }) => Object.values(ports).includes(port));
    if (!contract) throw new TransportError('refused', { sent: false });
    const answer = this.#answerFor(contract, headers['authorization']);
    if ('type' in answer) {
      if (answer.type === 'silent') return new Promise(() => {});
      throw new TransportError('reset', { sent: true });
    }
    return {
      status: answer.status,
      headers: { 'content-type': 'application/json' },
      body: (async function* () {
        yield Buffer.from(answer.body);
      })(),
      destroy() {},
    };
  };

  /** Answers on a port of a simulated machine. */
  listener(contract: Contract): RequestListener {
    return (request, response) => {
      request.resume();
      const answer = this.#answerFor(contract, request.headers.authorization);
      if ('type' in answer) {
        if (answer.type === 'broken') response.destroy();
        return;
      }
      response.writeHead(answer.status, { 'content-type': 'application/json' });
      response.end(answer.body);
    };
  }

  #answerFor(contract: Contract, authorization: string | undefined): Answer {
    this.tokens.set(contract.id, authorization);
    this.asked += 1;
    return this.answer?.(contract) ?? { status: 200, body: JSON.stringify(this.#figures(contract.id)) };
  }

  #figures(id: number): Record<string, unknown> {
    this.advance();
    const worker = this.#workerOf(id);
    const { newLoad, rejectedLoad, queue } = worker;
    Object.assign(worker, { newLoad: 0, rejectedLoad: 0 });
    return {
      new_load: newLoad,
      rej_load: rejectedLoad,
      cur_load: queue,
      max_perf: this.#options.perf,
      num_requests_working: Math.ceil(queue / (this.#options.requestSize ?? 10)),
      error_msg: '',
    };
  }

  #serve(worker: FleetWorker, offered: number, seconds: number): void {
    const { perf, maxQueueSeconds } = this.#options;
    const served = serve(worker.queue, offered, { perf, seconds, maxQueueSeconds });
    worker.queue = served.queue < 1e-6 ? 0 : served.queue;
    worker.newLoad += offered - served.rejected;
    worker.rejectedLoad += served.rejected;
    this.rejected += served.rejected;
    this.done += served.done;
  }

  /** Discards the requests in machines that no longer run. */
  #bury(running: readonly Contract[]): void {
    const alive = new Set(running.map(({ id }) => id));
    for (const [id, worker] of this.#workers) {
      if (alive.has(id)) continue;
      this.lost += worker.queue;
      this.#workers.delete(id);
    }
  }

  #running(): readonly Contract[] {
    const { tables } = this.#options.simulator.world();
    return Object.values(tables.contracts).filter(
      (contract) => shownStatus(contract, tables.machines[contract.machineId]) === 'running',
    );
  }

  #isPublished({ ports }: Contract): boolean {
    return Object.values(ports).some((port) => this.#published.has(port));
  }

  #workerOf(id: number): FleetWorker {
    const known = this.#workers.get(id) ?? { queue: 0, newLoad: 0, rejectedLoad: 0 };
    this.#workers.set(id, known);
    return known;
  }
}
