import type { Random } from '../../src/lib/random.ts';

/** A call of a tool: both parts may be anything. */
export interface HostileCall {
  readonly tool: string;
  readonly arguments: unknown;
}

/** Names in the cluster that the caller knows. */
export interface KnownNames {
  /** Objects of other creators in the namespace of the server. */
  readonly foreign: readonly string[];
  readonly otherNamespace: string;
}

const KEYS = 60;
/** Ceilings of its runs. A budget of ten dollars leaves no room for the last one. */
const MAX_COSTS = ['0.3', '0.8', '2', '4', '50'];
/** Highest ceiling in dollars that such a budget has room for. */
export const MAX_HOSTILE_COST = 4;

/** Draws calls of a caller that wants machines and breaks rules. Equal seeds draw equal calls. */
export class HostileCalls {
  readonly #random: Random;
  readonly #names: KnownNames;
  /** Keys get a new generation, since an ended one is never rented again. */
  #generation = 0;
  #drawn = 0;
  /** Names of objects that were admitted and not stopped, the oldest first. */
  readonly #started: string[] = [];

  constructor(random: Random, names: KnownNames) {
    this.#random = random;
    this.#names = names;
  }

  next(): HostileCall {
    this.#drawn += 1;
    if (this.#drawn % (KEYS * 4) === 0) this.#generation += 1;
    const roll = this.#random.next();
    if (roll < 0.34) return { tool: 'run', arguments: this.#run() };
    if (roll < 0.4) return { tool: 'job', arguments: { ...this.#run(), maxRetries: this.#pick([0, 1, 20]) } };
    if (roll < 0.5) return { tool: this.#pick(['run', 'job', 'plan']), arguments: this.#wrongRun() };
    if (roll < 0.51) return { tool: 'stop', arguments: { name: this.#started.shift() ?? this.#anyName() } };
    if (roll < 0.68) return { tool: 'stop', arguments: { name: this.#anyName() } };
    if (roll < 0.8) return { tool: 'status', arguments: this.#pick([{}, { name: this.#anyName() }]) };
    if (roll < 0.86) return { tool: 'cost', arguments: {} };
    if (roll < 0.875) return { tool: 'logs', arguments: { name: this.#anyName(), tailLines: 5 } };
    if (roll < 0.88) return { tool: 'list_gpus', arguments: {} };
    if (roll < 0.89) return { tool: 'plan', arguments: this.#run() };
    return this.#nonsense();
  }

  /** Records that a run has begun: later calls stop it. */
  started(call: HostileCall): void {
    const key = (call.arguments as { readonly idempotencyKey?: unknown }).idempotencyKey;
    if (typeof key === 'string' && !this.#started.includes(key)) this.#started.push(key);
  }

  #pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.#random.next() * from.length)] as T;
  }

  #key(): string {
    return `job-${this.#generation}-${Math.floor(this.#random.next() * KEYS)}`;
  }

  #anyName(): string {
    const { foreign, otherNamespace } = this.#names;
    const own = this.#key();
    return this.#pick([own, own, own, this.#pick(foreign), `${otherNamespace}/theirs`, 'theirs']);
  }

  #run(): Record<string, unknown> {
    return {
      idempotencyKey: this.#key(),
      image: 'example/image:1',
      onStart: 'sleep 1000',
      maxPrice: this.#random.next() < 0.05 ? '0.01' : this.#pick(['400', '150']),
      maxCost: this.#pick(MAX_COSTS),
      maxLifetime: this.#pick(['1m', '5m', '1h']),
    };
  }

  /** Returns a run with a trick: a field of another tool, a label, a missing ceiling, another's name. */
  #wrongRun(): unknown {
    const run = this.#run();
    const { foreign, otherNamespace } = this.#names;
    return this.#pick<() => unknown>([
      () => ({ ...run, idempotencyKey: this.#pick(foreign) }),
      () => ({ ...run, namespace: otherNamespace }),
      () => ({ ...run, idempotencyKey: `${otherNamespace}/x` }),
      () => ({ ...run, labels: { 'gpurental.dev/agent': 'other' } }),
      () => ({ ...run, metadata: { labels: {}, annotations: { 'gpurental.dev/agent-max-cost': '0' } } }),
      () => ({ ...run, maxCost: undefined }),
      () => ({ ...run, maxLifetime: undefined }),
      () => ({ ...run, maxPrice: undefined }),
      () => ({ ...run, maxCost: '0' }),
      () => ({ ...run, maxCost: '-5' }),
      () => ({ ...run, maxCost: '1e9' }),
      () => ({ ...run, maxCost: 4 }),
      () => ({ ...run, maxCost: ['4'] }),
      () => ({ ...run, deletionPolicy: 'Retain' }),
      () => ({ ...run, adopt: { instanceId: '1', policy: 'Manage' } }),
      () => ({ ...run, paused: false }),
      () => ({ ...run, image: 'x'.repeat(100_000) }),
      () => ({ ...run, onStart: 'x'.repeat(200_000) }),
      () => ({ ...run, image: 'UPPER/case image' }),
      () => ({ ...run, args: [], ssh: true }),
      () => ({ ...run, env: { GPURENTAL_X: '1' } }),
      () => ({ ...run, env: Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`A${at}`, 'x'])) }),
      () => ({ ...run, ports: [0] }),
      () => ({ ...run, ports: Array.from({ length: 1_000 }, () => 80) }),
      () => ({ ...run, gpuNames: ['No Such GPU'] }),
      () => ({ ...run, gpuCount: 1e300 }),
      () => ({ ...run, account: 'nobody' }),
      () => ({ ...run, maxLifetime: '1s' }),
      () => ({ ...run, maxLifetime: 'forever' }),
    ])();
  }

  #nonsense(): HostileCall {
    return this.#pick<() => HostileCall>([
      () => ({
        tool: this.#pick(['kubectl', 'secrets', 'adopt', 'ssh', 'exec', 'constructor', '__proto__', '']),
        arguments: {},
      }),
      () => ({ tool: 'x'.repeat(50_000), arguments: {} }),
      () => ({ tool: 'status', arguments: { name: '../../secrets/marketplace-key' } }),
      () => ({ tool: 'status', arguments: { name: 'a?b', waitSeconds: 1e9 } }),
      () => ({ tool: 'status', arguments: { name: '\u202ejob\u0000\n' } }),
      () => ({ tool: 'stop', arguments: { name: ['job-0-1'] } }),
      () => ({ tool: 'stop', arguments: { name: '*' } }),
      () => ({ tool: 'stop', arguments: { any: true, name: this.#pick(this.#names.foreign) } }),
      () => ({ tool: 'stop', arguments: {} }),
      () => ({ tool: 'cost', arguments: { namespace: this.#names.otherNamespace } }),
      () => ({ tool: 'logs', arguments: { name: this.#key(), tailLines: -1 } }),
      () => ({ tool: 'plan', arguments: { nested: nested(500) } }),
      () => ({ tool: 'list_gpus', arguments: { a: Array.from({ length: 20_000 }, () => 0) } }),
    ])();
  }
}

function nested(depth: number): unknown {
  let value: unknown = 1;
  for (let at = 0; at < depth; at += 1) value = { value };
  return value;
}
