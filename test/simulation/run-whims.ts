import { seededRandom } from '../../src/lib/random.ts';
import { formatTime } from '../../src/lib/time.ts';
import type { Contract } from '../../src/simulator/tables/contracts.ts';
import { rowsOf } from '../../src/simulator/world/world-store.ts';
import { Chance } from './chance.ts';
import type { Invariants } from './invariants.ts';
import type { JsonObject } from './memory-kube/json.ts';
import type { Fate } from './network.ts';
import { type Program, Programs } from './programs.ts';
import { offers } from './simulated-market.ts';
import { BY_BID, MACHINE } from './specs.ts';
import { CALLS } from './stories/stage.ts';
import type { Users } from './users.ts';
import { befall } from './weather.ts';
import type { ContainerOptions, FateOf, SimulatedWorld } from './world.ts';

type Call = Parameters<FateOf>[0];

const SECOND = 1000;
/** Share of schedules with runs. */
const SHARE = 0.35;
const MAX_RUNS = 3;
const MAX_JOBS = 2;
/** A log that the service shows in part. */
const MANY_LINES = 900;
const COMMAND = ['python', 'train.py'];
const REFUSED: Fate = {
  ...{ requestMs: 2, responseMs: 2 },
  refusal: { status: 503, body: '', headers: {} },
};

/** Returns true if objects of that schedule are runs: drawn from a stream of its own, so that all others stay as they are. */
export function hasRuns(seed: number): boolean {
  return seededRandom(seed * 4409 + 11).next() < SHARE;
}

/** Returns the properties of containers in a schedule with runs, of which none is documented. */
export function runContainers(seed: number): ContainerOptions {
  const chance = new Chance(seededRandom(seed * 4409 + 13));
  return {
    logsWhenStopped: !chance.isWithin(0.25),
    logTruncated: chance.oneOf(['never', 'never', 'begin', 'end']),
  };
}

export interface RunWhimsOptions {
  readonly world: SimulatedWorld;
  readonly users: Users;
  readonly invariants: Invariants;
  readonly seed: number;
  /** Number of operator processes. */
  readonly processes: number;
}

/** Calls that fail for a while. */
interface Spell {
  readonly pattern: RegExp;
  readonly until: number;
}

/** Runs of people and Jobs, what their programs do, and faults that only a run meets. Drawn from a stream of its own. */
export class RunWhims {
  readonly #options: RunWhimsOptions;
  readonly #chance: Chance;
  readonly #programs: Programs;
  readonly #spells: Spell[] = [];
  #refusesStopUntil = 0;
  #isCalm = false;
  #haveLeft = false;
  #made = 0;
  #jobs = 0;

  constructor(options: RunWhimsOptions) {
    const { world, users, seed } = options;
    this.#options = options;
    this.#chance = new Chance(seededRandom(seed * 4409 + 17));
    this.#programs = new Programs(world, users.console, {
      programOf: (_rental, id) => this.#programOf(id),
      refusesStop: () => !this.#isCalm && world.now < this.#refusesStopUntil,
      onEnd: () => undefined,
    });
  }

  /** Creates the first runs. */
  begin(): void {
    this.#create();
    if (this.#canRun) this.#createJob();
  }

  /** Ends the programs that are due. */
  follow(): void {
    this.#programs.follow();
  }

  /** Performs one random action. */
  act(): void {
    if (this.#haveLeft || !this.#canRun) return;
    const contract = this.#anyMachine();
    const run = this.#anyRun();
    this.#chance.doOneOf([
      [20, () => this.#create()],
      [10, () => this.#createJob()],
      [14, () => this.#actOnJob()],
      [6, () => run && this.#options.users.delete(run)],
      [8, () => run && this.#cancel(run)],
      [9, () => this.#goSilent(contract)],
      [8, () => contract && befall(this.#options.world, { name: 'outbid', instance: contract.id })],
      [8, () => this.#startByHand()],
      [6, () => this.#restart(contract)],
      [12, () => this.#cast()],
      [7, () => this.#leaveFor(60 * SECOND + this.#chance.below(240 * SECOND))],
    ]);
  }

  /** Deletes the Jobs, and stops all actions from now on. */
  deleteEverything(): void {
    this.leave();
    for (const name of this.#options.users.jobs.names()) this.#options.users.jobs.delete(name);
  }

  /** Stops all actions from now on. */
  leave(): void {
    this.#haveLeft = true;
  }

  /** Ends all faults of runs: every program that still runs, or will, ends soon and with success. */
  settle(): void {
    const isOver = this.#haveLeft;
    this.leave();
    this.#isCalm = true;
    this.#spells.length = 0;
    if (!isOver) for (const name of this.#options.users.jobs.names()) this.#relay(name);
  }

  /** Returns the fate of a call during a fault of runs. */
  fateOf({ side, request }: Call): Fate | undefined {
    if (side !== 'market' || this.#isCalm) return undefined;
    const name = `${request.method} ${request.path.split('?')[0]}`;
    const { now } = this.#options.world;
    return this.#spells.some(({ pattern, until }) => now < until && pattern.test(name)) ? REFUSED : undefined;
  }

  get #canRun(): boolean {
    return offers(this.#options.world.facts, 'selfEnd');
  }

  #programOf(id: number): Program {
    const chance = new Chance(seededRandom(this.#options.seed * 4409 + id));
    const drawn = {
      neverEnds: chance.isWithin(0.08),
      seconds: 15 + chance.below(150),
      isGood: chance.isWithin(0.65),
      exitCode: chance.oneOf([1, 7, 137]),
      shows: chance.isWithin(0.3) ? chance.oneOf(['files', 'log', 'log', 'nothing'] as const) : undefined,
      isOfOther: chance.isWithin(0.04),
      isLong: chance.isWithin(0.2),
      runsOn: chance.isWithin(0.12),
    };
    if (this.#isCalm) return { seconds: 20, exitCode: 0 };
    const { neverEnds, seconds, isGood, exitCode, isOfOther, isLong, runsOn } = drawn;
    // A result that no way shows is drawn as `nothing`.
    const { logsWhenStopped, logTruncated } = runContainers(this.#options.seed);
    const isLogShown = logsWhenStopped !== false && logTruncated !== 'end';
    const shows = drawn.shows === 'log' && !isLogShown ? undefined : drawn.shows;
    return {
      ...(!neverEnds && { seconds }),
      exitCode: isGood ? 0 : exitCode,
      runsOn,
      ...(shows && { shows }),
      ...(isOfOther && { nonce: 'a0a0a0a0a0a0' }),
      ...(isLong && { lines: MANY_LINES }),
    };
  }

  #create(): void {
    const { users } = this.#options;
    const standing = users.names().filter((name) => name.startsWith('run-'));
    if (standing.length >= MAX_RUNS) return;
    this.#made += 1;
    const limits = this.#limits();
    const isBid = this.#canRun && this.#chance.isWithin(0.25);
    users.createInstance(`run-${this.#made}`, {
      ...{ command: COMMAND, completion: this.#completion(), ...limits },
      ...(isBid && { offers: BY_BID }),
    });
  }

  #limits(): { readonly maxLifetime?: string; readonly maxTotalCost?: string } {
    const chance = this.#chance;
    if (chance.isWithin(0.8)) return {};
    return chance.oneOf([{ maxLifetime: '3m' }, { maxLifetime: '8m' }, { maxTotalCost: '0.02' }]);
  }

  #completion(): JsonObject {
    const chance = this.#chance;
    const after = () => (chance.isWithin(0.8) ? 'Destroy' : chance.oneOf(['Stop', 'Keep']));
    return {
      onSuccess: after(),
      onFailure: after(),
      backoffLimit: chance.below(4),
      lostLimit: chance.oneOf([1, 20, 20]),
      stopGrace: chance.oneOf(['0s', '30s']),
      ...(chance.isWithin(0.15) && { retryCodes: [7] }),
      ...(chance.isWithin(0.2) && { ttlAfterFinished: '2m' }),
    };
  }

  #cancel(name: string): void {
    const { users, world } = this.#options;
    const at = this.#chance.oneOf([0, 0, 60 * SECOND]);
    users.cancel(name, this.#chance.isWithin(0.1) ? 'soon' : formatTime(world.now + at));
  }

  /** Makes the host of a machine silent. */
  #goSilent(contract: Contract | undefined): void {
    const seconds = this.#chance.oneOf([60, 300]);
    if (contract) befall(this.#options.world, { name: 'offline', instance: contract.id, seconds });
  }

  /** Starts a stopped machine in the console. */
  #startByHand(): void {
    const { users } = this.#options;
    const [stopped] = this.#machines().filter(({ actualStatus }) => actualStatus === 'stopped');
    if (stopped) void users.console.start(stopped.id);
  }

  /** Makes the service start a running container again. */
  #restart(contract: Contract | undefined): void {
    const { world } = this.#options;
    if (contract?.actualStatus !== 'running') return;
    world.market.store.put('contracts', { ...contract, statusSince: world.now });
    world.note(`the service starts the container of machine ${contract.id} again`);
  }

  /** Lets reads of results, or stops, fail for a while. */
  #cast(): void {
    const { world } = this.#options;
    const until = world.now + 20 * SECOND + this.#chance.below(120 * SECOND);
    const what = this.#chance.oneOf(['readLog', 'listFiles', 'stop'] as const);
    world.note(`${what} fails for ${((until - world.now) / SECOND).toFixed(0)} s`);
    if (what === 'stop') this.#refusesStopUntil = until;
    this.#spells.push({ pattern: what === 'stop' ? CALLS.label : CALLS[what], until });
  }

  /** Takes the operator away for so long. */
  #leaveFor(ms: number): void {
    const { world, invariants, processes } = this.#options;
    if (world.processes.length === 0) return;
    world.away();
    world.scheduler.after(ms, () => {
      invariants.returned();
      for (let count = world.processes.length; count < processes; count += 1) world.startProcess();
    });
  }

  #createJob(): void {
    const { users } = this.#options;
    if (users.jobs.names().length >= MAX_JOBS) return;
    this.#jobs += 1;
    users.jobs.create(`train-${this.#jobs}`);
    this.#relay(`train-${this.#jobs}`);
  }

  #actOnJob(): void {
    const { jobs } = this.#options.users;
    const [first, ...others] = jobs.names();
    if (first === undefined) return;
    const name = this.#chance.oneOf([first, ...others]);
    jobs.report();
    this.#chance.doOneOf([
      [4, () => this.#relay(name)],
      [3, () => this.#evict(name)],
      [3, () => jobs.terminate(name, { isAnswered: false })],
      [1, () => this.#suspend(name)],
      [2, () => this.#deleteJob(name)],
    ]);
  }

  /** Starts two Pods at once, of which the later relay acts on what it read before. */
  #relay(name: string): void {
    const { jobs } = this.#options.users;
    const spec = {
      ...MACHINE,
      command: COMMAND,
      completion: { backoffLimit: 0 },
      replacement: { maxPerHour: 30 },
    };
    for (const decided of [jobs.startPod(name), jobs.startPod(name)])
      if (decided) jobs.carryOut(decided, spec);
  }

  #evict(name: string): void {
    const { jobs } = this.#options.users;
    jobs.evict(name);
    jobs.terminate(name, { isAnswered: this.#chance.isWithin(0.7) });
    this.#relay(name);
  }

  #suspend(name: string): void {
    const { jobs } = this.#options.users;
    jobs.suspend(name);
    jobs.terminate(name, { isAnswered: true });
  }

  #deleteJob(name: string): void {
    const { jobs } = this.#options.users;
    jobs.delete(name);
    jobs.terminate(name, { isAnswered: this.#chance.isWithin(0.5) });
  }

  #machines(): readonly Contract[] {
    const { contracts } = this.#options.world.market.store.current().tables;
    return rowsOf(contracts).filter(({ env }) => env['GPURENTAL_RUN'] !== undefined);
  }

  #anyMachine(): Contract | undefined {
    const machines = this.#machines();
    return machines[this.#chance.below(machines.length)];
  }

  #anyRun(): string | undefined {
    const names = this.#options.users.names().filter((name) => name.startsWith('run-'));
    return names[this.#chance.below(names.length)];
  }
}
