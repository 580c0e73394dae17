import { type Clock, systemClock } from '../lib/clock.ts';
import { type Random, systemRandom } from '../lib/random.ts';
import type { Transport } from '../lib/transport.ts';
import { advance } from './advance.ts';
import { advanceSteps } from './advance-steps.ts';
import type { OfferSketch } from './catalog.ts';
import { type Listening, listen } from './http-server.ts';
import { inProcessTransport } from './in-process.ts';
import { newWorld } from './new-world.ts';
import type { Profile } from './route.ts';
import { controlRoutes } from './routes/control.ts';
import { routes } from './routes/registry.ts';
import { createService } from './service.ts';
import type { SettingsOverride } from './settings.ts';
import { createSimulatedTime } from './simulated-time.ts';
import type { World } from './world.ts';
import { createWorldStore, type WorldStore } from './world-store.ts';

/** How a simulator is made. Everything has a default; a seeded simulation gives clock and random. */
export interface SimulatorOptions {
  readonly profile?: Profile;
  readonly seed?: number;
  /** Simulated seconds per second of the clock; 1 unless given. */
  readonly timeScale?: number;
  /** Key of the first user; drawn when absent. */
  readonly apiKey?: string;
  /** Serves `/sim/`. */
  readonly control?: boolean;
  readonly clock?: Clock;
  readonly random?: Random;
  readonly settings?: SettingsOverride;
  /** A number of seeded offers, or exactly the offers listed. */
  readonly catalog?: number | readonly OfferSketch[];
  /** A world to go on from, instead of a fresh one. */
  readonly world?: World;
  /** Told of a bug: a request that ended in an exception. */
  readonly onError?: (error: unknown) => void;
}

/** A marketplace that runs in this process. */
export interface Simulator {
  /** Answers without a socket; for use as the marketplace transport of a simulation. */
  readonly handle: Transport;
  /** Serves HTTP on loopback; port 0 picks one. */
  listen(port?: number): Promise<Listening>;
  /** The world brought up to now. */
  world(): World;
  readonly store: WorldStore;
  /** Key of the first user. */
  readonly apiKey: string;
  /** Simulated time, ms since the epoch. */
  now(): number;
  /** Pushes simulated time ahead. */
  advance(seconds: number): void;
}

/** A whole marketplace in memory. Its world is what `handle`, `listen` and the control endpoints share. */
export function createSimulator(options: SimulatorOptions = {}): Simulator {
  const clock = options.clock ?? systemClock;
  const random = options.random ?? systemRandom;
  const time = createSimulatedTime({ clock, scale: options.timeScale ?? 1 });
  const initial = options.world
    ? structuredClone(options.world)
    : newWorld({ ...options, now: time.now(), seed: options.seed ?? 1, random });
  const store = createWorldStore(initial, { trackChanges: false });
  const catchUp = (): void => store.replace(advance(store.current(), time.now(), advanceSteps));
  const service = createService({
    store,
    time,
    clock,
    random,
    profile: options.profile ?? 'public',
    routes: options.control ? [...routes, ...controlRoutes({ store, time, catchUp })] : routes,
    saved: () => undefined,
  });
  return {
    handle: inProcessTransport(service),
    listen: (port = 0) =>
      listen(service, {
        port,
        bodyBytes: initial.settings.limits.bodyBytes,
        bodyTimeoutSeconds: initial.settings.limits.bodyTimeoutSeconds,
        onError: options.onError ?? (() => undefined),
      }),
    world() {
      catchUp();
      return store.current();
    },
    store,
    apiKey: Object.values(initial.tables.apiKeys)[0]?.secret ?? '',
    now: () => time.now(),
    advance(seconds) {
      time.advance(seconds * 1000);
      catchUp();
    },
  };
}
