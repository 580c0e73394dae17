import { seededRandom } from '../../src/lib/random.ts';
import type { JsonObject } from '../../src/simulator/json.ts';
import { createSimulator, type Simulator, type SimulatorOptions } from '../../src/simulator/simulator.ts';
import type { SentCode } from '../../src/simulator/tables/tfa.ts';
import type { ApiKey, User } from '../../src/simulator/tables/users.ts';
import type { RowOf, TableName } from '../../src/simulator/world/world.ts';
import { createVirtualClock } from './virtual-clock.ts';

/** Response of a call; `body` is text if it is not JSON. */
export interface Answered {
  readonly status: number;
  // oxlint-disable-next-line typescript/no-explicit-any -- tests read replies by name, and a wrong name fails them
  readonly body: any;
  readonly headers: Readonly<Record<string, string>>;
}

/** Identity of a call (default: the full key of the first user). */
export interface CallOptions {
  /** null: no Authorization header. */
  readonly key?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as it is, in place of the JSON text of the body. */
  readonly rawBody?: string;
}

/** A simulator in this process whose clock stands still until a test moves it. */
export interface SimulatedService {
  readonly simulator: Simulator;
  call(spec: string, body?: unknown, options?: CallOptions): Promise<Answered>;
  advance(seconds: number): void;
  /** Returns the last code that was sent, through any channel. */
  lastCode(): string;
  outbox(): readonly SentCode[];
  user(): User;
  /** Changes the first user. */
  setUser(change: Partial<User>): void;
  put<T extends TableName>(table: T, row: RowOf<T>): void;
  addKey(change: Partial<ApiKey>): string;
}

const NOW = Date.UTC(2026, 0, 15, 12);

/** Starts the service at one fixed time, with few offers, no rate limits and control endpoints. */
export function simulatedService(options: SimulatorOptions = {}): SimulatedService {
  const simulator = createSimulator({
    clock: createVirtualClock({ startMs: NOW }),
    random: seededRandom(7),
    control: true,
    catalog: 40,
    ...options,
    settings: { pauses: { scale: 0 }, ...options.settings },
  });
  const user = (): User => {
    const [first] = Object.values(simulator.world().tables.users);
    if (!first) throw new Error('The simulated service has no user.');
    return first;
  };
  const outbox = () => Object.values(simulator.world().tables.sentCodes);
  return {
    simulator,
    call: (spec, body, callOptions) => call(simulator, { spec, body, ...callOptions }),
    advance: (seconds) => simulator.advance(seconds),
    lastCode: () => outbox().at(-1)?.code ?? '',
    outbox,
    user,
    setUser: (change) => simulator.store.put('users', { ...user(), ...change }),
    put: (table, row) => simulator.store.put(table, row),
    addKey: (change) => addKey(simulator, user(), change),
  };
}

async function call(
  simulator: Simulator,
  given: CallOptions & { spec: string; body: unknown },
): Promise<Answered> {
  const [method = '', path = ''] = given.spec.split(' ');
  const key = given.key === undefined ? simulator.apiKey : given.key;
  const body = given.rawBody ?? (given.body === undefined ? undefined : JSON.stringify(given.body));
  const response = await simulator.handle({
    method,
    origin: 'http://127.0.0.1:9',
    path,
    headers: {
      ...(key === null ? {} : { authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...given.headers,
    },
    ...(body === undefined ? {} : { body }),
  });
  const chunks: Uint8Array[] = [];
  for await (const chunk of response.body) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString('utf8');
  const isJson = response.headers['content-type'] === 'application/json';
  return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text };
}

function addKey(simulator: Simulator, user: User, change: Partial<ApiKey>): string {
  const id = simulator.store.nextId('apiKey');
  const key: ApiKey = {
    id,
    userId: user.id,
    name: `key ${id}`,
    secret: `secret-of-key-${id}`,
    permissions: null,
    keyParams: null,
    instanceId: null,
    session: false,
    createdAt: NOW,
    expiresAt: null,
    revokedAt: null,
    ...change,
  };
  simulator.store.put('apiKeys', key);
  return key.secret;
}

/** Returns a key's permissions, limited to categories. */
export function scoped(api: JsonObject): JsonObject {
  return { api };
}
