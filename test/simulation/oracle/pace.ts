import type { TransportRequest } from '../../../src/lib/transport.ts';
import type { Machine } from '../machine.ts';
import type { Scene } from './scene.ts';

interface Pace {
  readonly name: string;
  readonly method: string;
  readonly path: RegExp;
  /** Maximum calls of one login within that many milliseconds (documented by the public service). */
  readonly calls: number;
  readonly ms: number;
}

/** The first that fits counts. */
const PACES: readonly Pace[] = [
  { name: 'rent', method: 'PUT', path: /^\/api\/v0\/asks\//, calls: 1, ms: 4500 },
  { name: 'destroy', method: 'DELETE', path: /^\/api\/v0\/instances\/\d+\//, calls: 1, ms: 3000 },
  { name: 'change', method: 'PUT', path: /^\/api\/v0\/instances\/\d+\//, calls: 1, ms: 1000 },
  { name: 'read', method: 'GET', path: /^\/api\/v0\/instances\/\d+\//, calls: 1, ms: 2000 },
  { name: 'list', method: 'GET', path: /^\/api\/v[01]\/instances\//, calls: 1, ms: 1000 },
  { name: 'search', method: 'POST', path: /^\/api\/v0\/bundles\//, calls: 10, ms: 60_000 },
];

/** I10: no process asks the marketplace more often than it allows. */
export class PaceWatch {
  readonly #scene: Scene;
  readonly #latest = new WeakMap<Machine, Map<string, readonly number[]>>();

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  sent(machine: Machine, request: TransportRequest): void {
    const { method, path } = request;
    const pace = PACES.find((each) => each.method === method && each.path.test(path));
    if (!pace || !this.#scene.paced) return;
    const times = this.#latest.get(machine) ?? new Map<string, readonly number[]>();
    this.#latest.set(machine, times);
    const kind = `${pace.name} of ${this.#scene.loginOf(request)}`;
    const { now } = this.#scene;
    const latest = times.get(kind) ?? [];
    times.set(kind, [...latest, now].slice(-pace.calls));
    const passed = now - (latest[0] ?? Number.NEGATIVE_INFINITY);
    if (latest.length < pace.calls || passed >= pace.ms) return;
    const text = `${machine.name} sent ${pace.calls + 1} calls to ${pace.name} within ${passed.toFixed(0)} ms, ${pace.ms} are due`;
    this.#scene.broken('I10', text);
  }
}
