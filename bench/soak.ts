/**
 * A day of the operator in virtual time: what it holds in memory after a forced collection, timers that it leaves
 * behind when it stops, and sockets of its transport. From the environment: INSTANCES (2000), HOURS (24), EVENTS
 * (1000000 changes of instances). Prints one JSON line; exit 1 where memory grows by 2 MB, or a timer or socket is
 * left, 2 where a setting means nothing.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { seededRandom } from '../src/lib/random.ts';
import { settingsOrExit } from '../test/settings/or-exit.ts';
import { readStrictly } from '../test/settings/reader.ts';
import { SoakWorld } from './soak/soak-world.ts';
import { measureSockets } from './soak/sockets.ts';

const { INSTANCES, HOURS, EVENTS } = settingsOrExit(() =>
  readStrictly(process.env, (reader) => ({
    INSTANCES: reader.whole('INSTANCES', 1, 100_000) ?? 2000,
    HOURS: reader.whole('HOURS', 1, 8760) ?? 24,
    EVENTS: reader.whole('EVENTS', 1, 1_000_000_000) ?? 1_000_000,
  })),
);
/** Share of the day for the warm-up: everything is rented, caches and code are warm. */
const WARM_UP_SHARE = 1 / 6;
const MOST_GROWTH_MB = 2;
const SECOND = 1000;
const HOUR_MS = 3600 * SECOND;
const STEP_MS = 10 * SECOND;
/** An object goes and another comes this often. */
const CHURN_EVERY_MS = 120 * SECOND;
const FORGET_EVERY_MS = 300 * SECOND;

setFlagsFromString('--expose-gc');
const collect: () => void = runInNewContext('gc');

/** Megabytes that are still reachable. */
async function heapUsedMB(): Promise<number> {
  for (let round = 0; round < 4; round += 1) {
    collect();
    await new Promise((resolve) => setImmediate(resolve));
  }
  return Math.round(process.memoryUsage().heapUsed / 1e4) / 100;
}

class Soak {
  readonly #world = new SoakWorld({ instances: INSTANCES, seed: 1 });
  readonly #random = seededRandom(3);
  readonly #samples: number[] = [];
  #marks = 0;

  async run(): Promise<Record<string, unknown>> {
    const world = this.#world;
    for (let index = 0; index < INSTANCES; index += 1) world.createInstance();
    const begin = world.scheduler.now;
    for (let hour = 1; hour <= HOURS; hour += 1) {
      await this.#hour();
      this.#samples.push(await heapUsedMB());
      const { running, watchEvents } = world;
      process.stderr.write(
        `hour ${hour}: ${running} running, ${watchEvents} events, ${this.#samples.at(-1)} MB\n`,
      );
    }
    const { running, watchEvents } = world;
    await world.stop(60 * SECOND);
    const warm = this.#samples.slice(Math.floor(HOURS * WARM_UP_SHARE));
    const third = Math.max(1, Math.floor(warm.length / 3));
    return {
      instances: INSTANCES,
      virtualHours: (world.scheduler.now - begin - 60 * SECOND) / HOUR_MS,
      watchEvents,
      running,
      heapUsedMB: { afterWarmUp: warm[0], atEnd: warm.at(-1) },
      growthMB: rounded(median(warm.slice(-third)) - median(warm.slice(0, third))),
      timersLeft: world.operatorClock.pending,
      sockets: await measureSockets(20_000),
    };
  }

  async #hour(): Promise<void> {
    const world = this.#world;
    const perStep = (EVENTS / HOURS / HOUR_MS) * STEP_MS;
    const end = world.scheduler.now + HOUR_MS;
    let due = 0;
    while (world.scheduler.now < end) {
      due += perStep;
      const { now } = world.scheduler;
      if (now % CHURN_EVERY_MS === 0) this.#replaceOne();
      if (now % FORGET_EVERY_MS === 0) world.forgetHistory();
      const names = world.living;
      for (; due >= 1; due -= 1) this.#touchOne(names);
      await world.scheduler.runUntil(now + STEP_MS, () => true);
    }
  }

  #touchOne(names: readonly string[]): void {
    this.#marks += 1;
    const name = names[this.#marks % names.length];
    if (name !== undefined) this.#world.touch(name, this.#marks);
  }

  #replaceOne(): void {
    const { living } = this.#world;
    const name = living[Math.floor(this.#random.next() * living.length)];
    if (name === undefined) return;
    this.#world.delete(name);
    this.#world.createInstance();
  }
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

const rounded = (value: number): number => Math.round(value * 100) / 100;

const figures = await new Soak().run();
process.stdout.write(`${JSON.stringify(figures)}\n`);
const { growthMB, timersLeft, sockets } = figures as {
  growthMB: number;
  timersLeft: number;
  sockets: { afterWarmUp: number; atEnd: number };
};
const isSteady = growthMB < MOST_GROWTH_MB && timersLeft === 0 && sockets.atEnd <= sockets.afterWarmUp;
process.exit(isSteady ? 0 : 1);
