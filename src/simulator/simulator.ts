import { type Clock, systemClock } from '../lib/clock.ts';
import { type Random, systemRandom } from '../lib/random.ts';
import {
  type Transport,
  TransportError,
  type TransportRequest,
  type TransportResponse,
} from '../lib/transport.ts';
import type { Answer } from './calls/answer.ts';
import { type BodyBounds, bodyLimit } from './calls/incoming-request.ts';
import type { Profile, Route } from './calls/route.ts';
import { advanceSteps, catchUp, createSimulatedTime, type SimulatedTime } from './catch-up.ts';
import { type Listening, type ListenOptions, listenAt, type Served } from './http-server.ts';
import { type MachineHttp, type MachineShell, serveMachines } from './instances/machine-servers.ts';
import { type RunningMachines, type RunOptions, runMachines } from './machines/run-machines.ts';
import { makeKey, newWorld } from './new-world.ts';
import { controlRoutes } from './routes/control.ts';
import { routes } from './routes/registry.ts';
import { createService, type Service } from './service.ts';
import { defaultSettings, type SettingsOverride, withSettings } from './settings.ts';
import { advance } from './steps/advance.ts';
import type { OfferSketch } from './supply/catalog.ts';
import type { ApiKey } from './tables/users.ts';
import type { World } from './world/world.ts';
import type { WorldFile } from './world/world-file.ts';
import { type Change, createWorldStore, type WorldStore } from './world/world-store.ts';

/** Options of a simulator, with defaults; a seeded simulation passes clock and random. */
export interface SimulatorOptions {
  readonly profile?: Profile;
  readonly seed?: number;
  /** Simulated seconds per second of the clock; default 1. */
  readonly timeScale?: number;
  /** Key of the first user; random by default. */
  readonly apiKey?: string;
  /** Serves `/sim/` if set. */
  readonly control?: boolean;
  readonly clock?: Clock;
  readonly random?: Random;
  readonly settings?: SettingsOverride;
  /** A number of seeded offers, or exactly the listed offers. */
  readonly catalog?: number | readonly OfferSketch[];
  /** A world to continue, instead of a new one. */
  readonly world?: World;
  /** File of the world; a world found there continues without a gap. */
  readonly file?: WorldFile;
  /** Serves the ports of running machines on its own address while the simulator listens; true for a default answer. */
  readonly machineServer?: boolean | MachineHttp;
  /** Handler of SSH of running machines, if their ports are served. */
  readonly machineShell?: MachineShell;
  /**
   * Runs the machines as processes of this computer while the simulator listens, if set. Every key that may rent then runs
   * programs as the user of this process.
   */
  readonly runMachines?: RunOptions;
  /** Called with a bug: a request that ended in an exception. */
  readonly onError?: (error: unknown) => void;
}

/** A marketplace that runs in this process. */
export interface Simulator {
  /** Answers without a socket; for use as the marketplace transport of a simulation. */
  readonly handle: Transport;
  /** Serves HTTP, or HTTPS with a certificate; on loopback by default. A number is the port. */
  listen(where?: number | ListenOptions): Promise<Listening>;
  /** Returns the world advanced to now. */
  world(): World;
  /** For tests that need a state which no call can create. */
  readonly store: WorldStore;
  /** Key of the first user. */
  readonly apiKey: string;
  /** Returns the simulated time, ms since the epoch. */
  now(): number;
  /** Advances simulated time. */
  advance(seconds: number): void;
}

/** Creates a whole marketplace in memory. `handle`, `listen` and the control endpoints share its world. */
export function createSimulator(options: SimulatorOptions = {}): Simulator {
  const clock = options.clock ?? systemClock;
  const random = options.random ?? systemRandom;
  const { store, time, saved } = openWorld(options, clock, random);
  const apiKey = ensureKey(store, options.apiKey);
  saved();
  const upToNow = (): World => {
    store.replace(advance(store.current(), time.now(), advanceSteps));
    return store.current();
  };
  const profile = options.profile ?? 'public';
  const control = options.control ? controlRoutes({ store, time, clock, routes }) : [];
  let machines: RunningMachines | undefined;
  const disks = () => machines?.disks;
  const serviceOf = (served: readonly Route[]): Service =>
    createService({ store, time, clock, random, profile, routes: served, disks, saved });
  const service = serviceOf([...routes, ...control]);
  const parts = options.control
    ? () => ({ market: serviceOf(routes), control: serviceOf(control) })
    : undefined;
  return {
    handle: inProcessTransport(service),
    listen: (where = {}) =>
      listenWithMachines(
        {
          ...{ options, services: { whole: service, parts }, store, clock, time, saved },
          onRunning: (running) => {
            machines = running;
          },
        },
        typeof where === 'number' ? { port: where } : where,
      ),
    world: upToNow,
    store,
    apiKey,
    now: () => time.now(),
    advance(seconds) {
      time.advance(seconds * 1000);
      upToNow();
    },
  };
}

interface OpenWorld {
  readonly store: WorldStore;
  readonly time: SimulatedTime;
  /** Writes the changes to the file, if there is one. */
  readonly saved: () => void;
}

/** Returns a new world, the given one, or the one in the file. */
function openWorld(options: SimulatorOptions, clock: Clock, random: Random): OpenWorld {
  const { file } = options;
  const kept = file?.load();
  const scale = options.timeScale ?? 1;
  const time = createSimulatedTime({ clock, scale, ...(kept ? { anchor: kept.anchor } : {}) });
  const initial = kept ? resumed(kept.world, options) : firstWorld(options, time, random);
  const store = createWorldStore(initial, { trackChanges: file !== undefined });
  return { store, time, saved: keeper({ file, fresh: kept === undefined, store, time }) };
}

interface ListenParts {
  readonly options: SimulatorOptions;
  readonly services: Pick<Served, 'whole' | 'parts'>;
  readonly store: WorldStore;
  readonly clock: Clock;
  readonly time: SimulatedTime;
  readonly saved: () => void;
  /** Called with the machines that run as processes, and with undefined when they have ended. */
  readonly onRunning: (machines: RunningMachines | undefined) => void;
}

async function listenWithMachines(parts: ListenParts, where: ListenOptions): Promise<Listening> {
  const { options, store } = parts;
  const onError = options.onError ?? (() => undefined);
  const bounds = (url: string): BodyBounds => ({
    ...store.current().settings.limits,
    bodyBytes: bodyLimit(store.current(), url, options.control ?? false),
  });
  const machines = openMachines(parts, where);
  const closeMachines = async (): Promise<void> => {
    await Promise.all(machines.map(async (each) => each.close()));
    parts.onRunning(undefined);
  };
  const services = machines.reduce(withMachines, parts.services);
  try {
    const listening = await listenAt({ ...services, bounds, onError }, where);
    return {
      ...listening,
      async close() {
        await Promise.all([closeMachines(), listening.close()]);
      },
    };
  } catch (error) {
    await closeMachines();
    throw error;
  }
}

/** Follower of the machines of the world. */
interface Follower {
  follow(): void;
  close(): void | Promise<void>;
}

/** Returns the listeners at the ports of machines, and their processes, as the options say. */
function openMachines({ options, store, clock, time, saved, onRunning }: ListenParts, where: ListenOptions) {
  const { machineServer, machineShell: shell, runMachines: run } = options;
  const world = (): World => {
    catchUp({ store, time, clock });
    return store.current();
  };
  const followers: Follower[] = [];
  if (machineServer) {
    const http: MachineHttp = machineServer === true ? () => undefined : machineServer;
    followers.push(serveMachines({ host: where.host ?? '127.0.0.1', store, clock, world, http, shell }));
  }
  if (run) {
    const running = runMachines({ options: run, store, clock, world, saved });
    onRunning(running);
    followers.push(running);
  }
  return followers;
}

/** Opens the ports of a machine, and starts its program, before a reply shows that it runs. */
function withMachines(
  { whole, parts }: ListenParts['services'],
  machines: Follower,
): ListenParts['services'] {
  const followed = (service: Service): Service => ({
    ...service,
    async answer(request) {
      const answer = await service.answer(request);
      machines.follow();
      return answer;
    },
  });
  const inParts = (split: NonNullable<typeof parts>) => () => {
    const { market, control } = split();
    return { market: followed(market), control: followed(control) };
  };
  return { whole: followed(whole), parts: parts && inParts(parts) };
}

function firstWorld(options: SimulatorOptions, time: SimulatedTime, random: Random): World {
  if (options.world) return structuredClone(options.world);
  return newWorld({ ...options, now: time.now(), seed: options.seed ?? 1, random });
}

/** Returns a kept world with the requested settings; settings that are newer than the world have their defaults. */
function resumed(world: World, options: SimulatorOptions): World {
  const complete = withSettings(defaultSettings, world.settings);
  return { ...world, nextEventAt: 0, settings: withSettings(complete, options.settings) };
}

/** Returns true if the key is neither scoped nor revoked, nor of an instance, nor a session of a login. */
const isFullKey = (key: ApiKey): boolean =>
  key.instanceId === null && key.revokedAt === null && key.permissions === null && !key.session;

/** Returns the key for callers; a requested one is added if a kept world lacks it or revoked it. */
function ensureKey(store: WorldStore, requested: string | undefined): string {
  const { users, apiKeys } = store.current().tables;
  if (requested === undefined) return Object.values(apiKeys).find(isFullKey)?.secret ?? '';
  const user = Object.values(users)[0];
  if (user && store.keyBySecret(requested)?.revokedAt !== null) {
    const id = store.nextId('apiKey');
    store.put('apiKeys', makeKey({ id, user, secret: requested, now: store.current().now }));
  }
  return requested;
}

/** Saves the changes after each call; the whole world if the file did not contain it yet. */
function keeper(parts: {
  file: WorldFile | undefined;
  fresh: boolean;
  store: WorldStore;
  time: SimulatedTime;
}): () => void {
  const { file, fresh, store, time } = parts;
  if (!file) return () => undefined;
  let saved = {
    settings: store.current().settings,
    counters: store.current().counters,
    pushed: time.pushed(),
  };
  // Changes that a full disk refused, to write when it has space again.
  let unsaved: readonly Change[] = [];
  const save = (): void => {
    const { settings, counters } = store.current();
    unsaved = [...unsaved, ...store.takeChanges()];
    const pushed = time.pushed();
    const isSame = settings === saved.settings && counters === saved.counters && pushed === saved.pushed;
    if (unsaved.length === 0 && isSame) return;
    file.save(store.current(), unsaved, time.anchor());
    unsaved = [];
    saved = { settings, counters, pushed };
  };
  if (fresh) file.saveAll(store.current(), time.anchor());
  return save;
}

/** Returns a transport that reaches the service without a socket. An aborted call still takes effect. */
function inProcessTransport(service: Service): Transport {
  return async (request) => {
    request.signal?.throwIfAborted();
    const answer = service.answer({
      method: request.method,
      url: request.path,
      headers: Object.fromEntries(
        Object.entries(request.headers).map(([name, value]) => [name.toLowerCase(), value]),
      ),
      body: request.body,
      address: 'in-process',
      origin: request.origin,
    });
    if (!(answer instanceof Promise)) return responseOf(answer);
    return responseOf(await unlessAborted(answer, request));
  };
}

function unlessAborted(answer: Promise<Answer>, request: TransportRequest): Promise<Answer> {
  const { signal } = request;
  if (!signal) return answer;
  return new Promise((resolve, reject) => {
    const onAbort = (): void =>
      reject(new TransportError('The caller gave up.', { sent: true, cause: signal.reason }));
    signal.addEventListener('abort', onAbort, { once: true });
    answer.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

function responseOf(answer: Answer): TransportResponse {
  if (answer.type === 'reset') {
    const message = answer.sent ? 'The connection was reset.' : 'The connection was refused.';
    throw new TransportError(message, { sent: answer.sent });
  }
  let destroyed = false;
  const isDestroyed = (): boolean => destroyed;
  return {
    status: answer.status,
    headers: answer.headers,
    body:
      answer.type === 'stream' ? until(answer.chunks, isDestroyed) : wholeUnless(isDestroyed, answer.body),
    destroy() {
      destroyed = true;
    },
  };
}

async function* wholeUnless(stopped: () => boolean, body: string | Uint8Array): AsyncIterable<Uint8Array> {
  if (!stopped()) yield typeof body === 'string' ? Buffer.from(body) : body;
}

async function* until(chunks: AsyncIterable<Uint8Array>, stopped: () => boolean): AsyncIterable<Uint8Array> {
  for await (const chunk of chunks) {
    if (stopped()) return;
    yield chunk;
  }
}
