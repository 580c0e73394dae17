import type { TransportRequest } from '../../../src/lib/transport.ts';
import type { Machine } from '../machine.ts';
import type { Scene } from './scene.ts';

interface Pace {
  readonly name: string;
  readonly method: string;
  readonly path: RegExp;
  /** Least milliseconds between two calls of one login (documented by the public service). */
  readonly gapMs: number;
}

/** The first that fits counts. */
const PACES: readonly Pace[] = [
  { name: 'rent', method: 'PUT', path: /^\/api\/v0\/asks\//, gapMs: 4500 },
  { name: 'destroy', method: 'DELETE', path: /^\/api\/v0\/instances\/\d+\//, gapMs: 3000 },
  { name: 'change', method: 'PUT', path: /^\/api\/v0\/instances\/\d+\//, gapMs: 1000 },
  { name: 'read', method: 'GET', path: /^\/api\/v0\/instances\/\d+\//, gapMs: 2000 },
  { name: 'list', method: 'GET', path: /^\/api\/v[01]\/instances\//, gapMs: 1000 },
  { name: 'search', method: 'POST', path: /^\/api\/v0\/bundles\//, gapMs: 6000 },
];

/** I10: no process asks the marketplace more often than it allows. */
export class PaceWatch {
  readonly #scene: Scene;
  readonly #lastAt = new WeakMap<Machine, Map<string, number>>();

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  sent(machine: Machine, request: TransportRequest): void {
    const { method, path } = request;
    const pace = PACES.find((each) => each.method === method && each.path.test(path));
    if (!pace || !this.#scene.paced) return;
    const times = this.#lastAt.get(machine) ?? new Map<string, number>();
    this.#lastAt.set(machine, times);
    const kind = `${pace.name} of ${this.#scene.loginOf(request)}`;
    const passed = this.#scene.now - (times.get(kind) ?? Number.NEGATIVE_INFINITY);
    times.set(kind, this.#scene.now);
    if (passed >= pace.gapMs) return;
    const text = `${machine.name} sent two calls to ${pace.name} within ${passed.toFixed(0)} ms, ${pace.gapMs} are due`;
    this.#scene.broken('I10', text);
  }
}
