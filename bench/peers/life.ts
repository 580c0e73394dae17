import { type Clock, sleep } from '../../src/lib/clock.ts';
import type { Market, MarketState } from './market.ts';
import type { Objects, Requests } from './stage.ts';

/** A contender's process while it runs. */
export interface Contestant {
  readonly startedAt: number;
  cpuMs(): number;
  residentMiB(): number;
  peakMiB(): number;
  /** Throws if it has ended. */
  check(): void;
  /** Kills it as a machine failure does: it releases nothing. */
  kill(): void;
  stop(): Promise<void>;
}

/** Environment of a run of one contender. */
export interface Scene {
  readonly clock: Clock;
  readonly objects: Pick<
    Objects,
    'live' | 'lastDeletedAt' | 'create' | 'createGroups' | 'deleteAll' | 'connectionSecrets'
  >;
  readonly market: Pick<Market, 'state' | 'requests' | 'fault'>;
  readonly roundTripMs: number;
  /** True if the marketplace applies its documented rate limits. */
  readonly paced: boolean;
  /** Starts the contender with that poll interval. */
  start(pollSeconds: number): Promise<Contestant>;
  countRequests(): () => Requests;
  serversCpuMs(): number;
}

/** Parts of a run. A part that is 0 or false is skipped. */
export interface Plan {
  readonly objects: number;
  /** Number of objects per EndpointGroup if they are its workers; 0 creates plain objects. */
  readonly workersPerGroup: number;
  /** Objects made one after the other before the others, every 200 ms. */
  readonly trickle: number;
  readonly pollSeconds: number;
  readonly outage: boolean;
  /** The process is killed while a second one stands by. */
  readonly failover: boolean;
  readonly restart: boolean;
  readonly restPollSeconds: number;
  readonly restSeconds: number;
  readonly deletion: boolean;
  /** After so long a part that has not come to its end has failed. */
  readonly limitSeconds: number;
}

export type Figures = Readonly<Record<string, number>>;

/** The job was not done, or not in time: no figure of such a run counts. */
export class Unfinished extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'Unfinished';
  }
}

function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
}

const TRICKLE_GAP_MS = 200;
const WATCH_EVERY_MS = 100;
const SETTLE_MS = 6_000;
/** After a restart a process collects what its start left; that is not the cost of being there. */
const REST_SETTLE_MS = 20_000;
const STANDBY_MS = 5_000;
const START_SETTLE_MS = 1_000;

/** Runs a contender from its start. Rejects with {@link Unfinished} if it did not complete the job. */
export async function live(scene: Scene, plan: Plan): Promise<Figures> {
  let contestant = await scene.start(plan.pollSeconds);
  const restarted = async (): Promise<void> => {
    await contestant.stop();
    await scene.objects.create(['made-while-down']);
    contestant = await scene.start(plan.restPollSeconds);
  };
  const standby = async (): Promise<Contestant> => {
    const next = await scene.start(plan.pollSeconds);
    await sleep(scene.clock, STANDBY_MS);
    return next;
  };
  const run: Run = { scene, plan, contestant: () => contestant, expected: 0 };
  try {
    const figures: Record<string, number> = { 'start, s': await started(run) };
    // What a process does once after its start is not the cost of an object.
    await sleep(scene.clock, START_SETTLE_MS);
    if (plan.trickle > 0) Object.assign(figures, await trickle(run));
    Object.assign(figures, await burst(run));
    if (plan.outage) Object.assign(figures, await outage(run));
    if (plan.failover) {
      const next = await standby();
      const killed = contestant;
      contestant = next;
      Object.assign(figures, await failover(run, killed));
    }
    if (plan.restart) Object.assign(figures, await restart(run, restarted));
    if (plan.restSeconds > 0) Object.assign(figures, await rest(run));
    if (plan.deletion) Object.assign(figures, await deletion(run));
    return figures;
  } finally {
    await contestant.stop();
  }
}

interface Run {
  readonly scene: Scene;
  readonly plan: Plan;
  readonly contestant: () => Contestant;
  /** Objects that there are, and so machines that there have to be. */
  expected: number;
}

async function waitFor(
  { scene, plan, contestant }: Run,
  what: string,
  isSo: () => boolean | Promise<boolean>,
): Promise<void> {
  const end = scene.clock.monotonic() + plan.limitSeconds * 1000;
  while (!(await isSo())) {
    try {
      contestant().check();
    } catch (error) {
      throw new Unfinished(error instanceof Error ? error.message : String(error));
    }
    if (scene.clock.monotonic() > end) throw new Unfinished(`${what} after ${plan.limitSeconds} s`);
    await sleep(scene.clock, WATCH_EVERY_MS);
  }
}

const runningOf = ({ scene }: Run): number =>
  [...scene.objects.live.values()].filter(({ phase }) => phase === 'Running').length;

async function started(run: Run): Promise<number> {
  const { scene, contestant } = run;
  await waitFor(run, 'no list was asked for', async () => ((await scene.market.requests())['list'] ?? 0) > 0);
  return (scene.clock.now() - contestant().startedAt) / 1000;
}

async function create(run: Run, names: readonly string[]): Promise<void> {
  run.expected += names.length;
  await run.scene.objects.create(names);
}

async function trickle(run: Run): Promise<Figures> {
  const { scene, plan } = run;
  for (let index = 0; index < plan.trickle; index += 1) {
    await create(run, [`trickle-${index}`]);
    await sleep(scene.clock, TRICKLE_GAP_MS);
  }
  await waitFor(run, 'the trickle is not rented', async () => {
    return (await scene.market.state()).live.length >= run.expected;
  });
  const { live: machines } = await scene.market.state();
  const latencies = [...scene.objects.live.values()].map(({ uid, createdAt }) => {
    const machine = machines.find(({ label }) => label.includes(uid));
    if (!machine) throw new Unfinished(`no machine carries the uid ${uid} in its label`);
    return machine.createdAt - scene.roundTripMs / 2 - createdAt;
  });
  return {
    'creation to rent call, p50, ms': percentile(latencies, 0.5),
    'creation to rent call, p99, ms': percentile(latencies, 0.99),
  };
}

async function createBurst(run: Run): Promise<void> {
  const { objects, workersPerGroup } = run.plan;
  const names = (count: number, kind: string) =>
    Array.from({ length: count }, (_, index) => `${kind}-${index}`);
  if (workersPerGroup === 0) return create(run, names(objects, 'burst'));
  run.expected += objects;
  return run.scene.objects.createGroups(names(objects / workersPerGroup, 'group'), workersPerGroup);
}

async function burst(run: Run): Promise<Figures> {
  const { scene, plan, contestant } = run;
  const requests = scene.countRequests();
  const before = { cpu: contestant().cpuMs(), servers: scene.serversCpuMs(), at: scene.clock.now() };
  const marketBefore = await scene.market.requests();
  await createBurst(run);
  await waitFor(run, 'not all', () => runningOf(run) >= run.expected).catch((error: unknown) => {
    if (!(error instanceof Unfinished)) throw error;
    throw new Unfinished(`${runningOf(run)} of ${run.expected} run: ${error.message}`);
  });
  const { objects } = plan;
  const cpu = contestant().cpuMs() - before.cpu;
  const servers = scene.serversCpuMs() - before.servers;
  const state = await scene.market.state();
  await requireDone(run, state);
  const runningAt = Math.max(...[...scene.objects.live.values()].map((seen) => seen.runningAt ?? 0));
  const rentedAt = Math.max(...state.live.map(({ createdAt }) => createdAt));
  return {
    'all rented, s': (rentedAt - before.at) / 1000,
    'all running, s': (runningAt - before.at) / 1000,
    'processor time per object, ms': cpu / objects,
    'processor time of API server and etcd per object, ms': servers / objects,
    'resident at the peak, MiB': contestant().peakMiB(),
    'rent calls in flight, most': state.maxRentsInFlight,
    'answers 429': state.tooManyRequests,
    'marketplace requests per object': (sum(state.requests) - sum(marketBefore)) / objects,
    ...(scene.paced && { 'share of the allowed rent calls': shareOfPace(state) }),
    ...writesPerObject(requests(), objects),
  };
}

/** Documented pause between rent calls. */
const RENT_PAUSE_MS = 4_500;

/** Returns the share of the elapsed time that the pauses between rent calls need. */
function shareOfPace({ live: machines }: MarketState): number {
  const times = machines.map(({ createdAt }) => createdAt);
  return ((times.length - 1) * RENT_PAUSE_MS) / (Math.max(...times) - Math.min(...times));
}

const sum = (counts: Readonly<Record<string, number>>): number =>
  Object.values(counts).reduce((total, count) => total + count, 0);

const isWrite = (request: string): boolean => /^(create|update|patch|delete)/.test(request);

function writesPerObject(requests: Requests, objects: number): Figures {
  const writes = (resource: RegExp): number =>
    sum(
      Object.fromEntries(Object.entries(requests).filter(([name]) => isWrite(name) && resource.test(name))),
    );
  return {
    'writes of the object': writes(/ gpuinstances(\/status)?$/) / objects,
    'writes of its Secret': writes(/ secrets$/) / objects,
    'writes of events': writes(/ events$/) / objects,
    'reads and other writes per object':
      (sum(requests) - writes(/ (gpuinstances(\/status)?|secrets|events)$/)) / objects,
  };
}

/** Checks, by what no contender writes, that each object has exactly one machine, knows it, and has its Secret. */
async function requireDone(run: Run, state: MarketState): Promise<void> {
  const { objects } = run.scene;
  const seen = [...objects.live.values()];
  if (state.live.length + state.ended !== run.expected)
    throw new Unfinished(
      `${state.live.length + state.ended} machines were rented for ${run.expected} objects`,
    );
  for (const { uid, instanceId } of seen) {
    const machine = state.live.find(({ id }) => String(id) === instanceId);
    if (!machine?.label.includes(uid))
      throw new Unfinished(`the status of ${uid} names machine "${instanceId}", which is not its own`);
  }
  const secrets = await objects.connectionSecrets();
  if (secrets !== run.expected) throw new Unfinished(`${secrets} connection Secrets of ${run.expected}`);
}

/** Reports all machines as offline for a time. Nothing may be destroyed, and all statuses must recover. */
async function outage(run: Run): Promise<Figures> {
  const { scene, contestant } = run;
  const requests = scene.countRequests();
  const cpu = contestant().cpuMs();
  const seconds = 3 * run.plan.pollSeconds;
  await scene.market.fault({ name: 'mass-outage', probability: 1, seconds });
  const overAt = scene.clock.now() + seconds * 1000;
  await sleep(scene.clock, seconds * 1000);
  await waitFor(run, 'not all run after the outage', () => runningOf(run) >= run.expected);
  const backAt = scene.clock.now();
  await sleep(scene.clock, SETTLE_MS);
  const state = await scene.market.state();
  if (state.live.length !== run.expected) throw new Unfinished('machines were lost in an outage that ended');
  return {
    'running again after an outage, s': (backAt - overAt) / 1000,
    'processor time per object in an outage, ms': (contestant().cpuMs() - cpu) / run.expected,
    'requests per object in an outage': sum(requests()) / run.expected,
  };
}

/** Measures the time from the leader's death until another process rents for an object created right after it. */
async function failover(run: Run, killed: Contestant): Promise<Figures> {
  const { scene } = run;
  const killedAt = scene.clock.now();
  killed.kill();
  await killed.stop();
  await create(run, ['made-after-the-kill']);
  await waitFor(run, 'the standby rents nothing', async () => {
    return (await scene.market.state()).live.length >= run.expected;
  });
  const rentedAt = Math.max(...(await scene.market.state()).live.map(({ createdAt }) => createdAt));
  await waitFor(run, 'not all run after the failover', () => runningOf(run) >= run.expected);
  await requireDone(run, await scene.market.state());
  return { 'kill to the first rental of the standby, s': (rentedAt - killedAt) / 1000 };
}

async function restart(run: Run, restarted: () => Promise<void>): Promise<Figures> {
  const { scene, contestant } = run;
  run.expected += 1;
  await restarted();
  await waitFor(run, 'what was made while it was down is not rented', async () => {
    return (await scene.market.state()).live.length >= run.expected;
  });
  const machines = (await scene.market.state()).live;
  const rentedAt = Math.max(...machines.map(({ createdAt }) => createdAt));
  await waitFor(run, 'not all run after the restart', () => runningOf(run) >= run.expected);
  return { 'restart to the first rental, s': (rentedAt - contestant().startedAt) / 1000 };
}

async function rest(run: Run): Promise<Figures> {
  const { scene, plan, contestant } = run;
  await sleep(scene.clock, REST_SETTLE_MS);
  const requests = scene.countRequests();
  const market = await scene.market.requests();
  const cpu = contestant().cpuMs();
  await sleep(scene.clock, plan.restSeconds * 1000);
  const lists = (await scene.market.requests())['list'] ?? 0;
  const writes = Object.entries(requests()).filter(([name]) => isWrite(name));
  return {
    'at rest, % of a core': (contestant().cpuMs() - cpu) / (plan.restSeconds * 10),
    'at rest, resident, MiB': contestant().residentMiB(),
    'at rest, writes': sum(Object.fromEntries(writes)),
    'at rest, lists': lists - (market['list'] ?? 0),
  };
}

async function deletion(run: Run): Promise<Figures> {
  const { scene, plan, contestant } = run;
  const before = { at: scene.clock.now(), cpu: contestant().cpuMs() };
  await scene.objects.deleteAll();
  await waitFor(run, 'objects are left', () => scene.objects.live.size === 0);
  const state = await scene.market.state();
  if (state.live.length > 0)
    throw new Unfinished(`${state.live.length} machines bill after all objects are gone`);
  const goneAt = scene.objects.lastDeletedAt() ?? scene.clock.now();
  return {
    'all gone, s': (goneAt - before.at) / 1000,
    'from the last DELETE until all gone, polls':
      (goneAt - (state.lastDestroyAt ?? goneAt)) /
      1000 /
      (plan.restart ? plan.restPollSeconds : plan.pollSeconds),
    'processor time per deletion, ms': (contestant().cpuMs() - before.cpu) / run.expected,
  };
}
