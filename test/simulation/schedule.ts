import type { LogFields, Logger } from '../../src/lib/logger.ts';
import { type Random, seededRandom } from '../../src/lib/random.ts';
import { Foreigners } from './foreigners.ts';
import { Invariants, type Violation } from './invariants.ts';
import type { Machine } from './machine.ts';
import type { Fate } from './network.ts';
import { loggedText } from './oracle/secrets.ts';
import type { Waste } from './oracle/waste.ts';
import { Users } from './users.ts';
import { type Climate, causeFault, clearFaults, drawClimate, drawMarketFault, fateIn } from './weather.ts';
import { type FateOf, SimulatedWorld } from './world.ts';

export type Mode = 'all' | 'sweeperOff';

export interface ScheduleOptions {
  readonly seed: number;
  readonly mode: Mode;
  readonly keepTrace: boolean;
  /** Ends at the first violation. */
  readonly untilViolation?: boolean;
  /** What processes log goes into the trace, too. */
  readonly logLines?: boolean;
  /** Which faults may strike; all where absent. For shrinking and for replays. */
  readonly allow?: (fault: Fault) => boolean;
}

/** One fault of a schedule: its number in order, and its kind. */
export interface Fault {
  readonly index: number;
  readonly kind: string;
}

export interface ScheduleResult {
  readonly violations: readonly Violation[];
  /** Billed seconds nobody wanted, per contract that had any. */
  readonly wastedSeconds: readonly number[];
  /** The same by contract, with the reasons. */
  readonly waste: readonly ContractWaste[];
  readonly traceHash: string;
  readonly trace: readonly string[];
  readonly steps: number;
  readonly virtualSeconds: number;
  /** The faults that struck, in order. */
  readonly faults: readonly Fault[];
}

/** What one contract billed for nothing. */
export interface ContractWaste {
  readonly contract: number;
  readonly seconds: number;
  readonly reasons: Readonly<Partial<Record<Waste, number>>>;
}

const SECOND = 1000;
const FAULTS_MS = 600 * SECOND;
/** What recovery may take: the longest boot, settle and backoff together. */
const RECOVERY_MS = 900 * SECOND;
/** How long nothing may be written once all is well. */
const QUIET_MS = 600 * SECOND;
const LOOK_EVERY_MS = 20 * SECOND;
/** How often a person looks at what is reported, and acts as the messages ask. */
const PERSON_LOOKS_EVERY_MS = 120 * SECOND;
/** Every so many seeds silence is watched to the end of the time that recovery may take, however soon all was well. */
const LONG_WATCH_EVERY = 7;
/** Every so many seeds, each a long one, the heap is asked what it still holds: as dear as one and a half schedules. */
const MEMORY_EVERY = 35;
const COPY_LABELS_AT_MS = 120 * SECOND;
/** The third object of every second schedule is a group, which has up to three workers. */
const GROUP_EVERY = 2;
const GROUP = 'group';
const FIRST_LOAD = 150;
/** Hundreds of work per second that a user asks a group for; a worker does one of them, and four are too many. */
const MOST_LOAD = 4;
/** The default: low enough to hold at times. */
const TIGHT_BRAKE = { maxPerHour: 5 };
const FIRST_NAMES = ['a', 'b'];

/** One seeded life of a small cluster: faults for ten minutes, then calm until it has to be well and silent. */
export async function runSchedule(options: ScheduleOptions): Promise<ScheduleResult> {
  const schedule = new Schedule(options);
  return schedule.run();
}

class Schedule {
  readonly #options: ScheduleOptions;
  readonly #random: Random;
  readonly #climate: Climate;
  readonly #world: SimulatedWorld;
  readonly #users: Users;
  readonly #invariants: Invariants;
  readonly #foreigners: Foreigners;
  #isStormy = true;
  #drawn = 0;
  readonly #struck: Fault[] = [];
  #created = FIRST_NAMES.length + 1;

  constructor(options: ScheduleOptions) {
    this.#options = options;
    this.#random = seededRandom(options.seed * 7919 + (options.mode === 'all' ? 1 : 2));
    this.#climate = drawClimate(this.#random, { calmProcesses: options.mode === 'sweeperOff' });
    this.#world = new SimulatedWorld({
      seed: options.seed,
      keepTrace: options.keepTrace,
      fate: (call) => this.#fate(call),
      log: (machine) => this.#logOf(machine),
    });
    this.#users = new Users(this.#world, seededRandom(options.seed + 17));
    this.#invariants = new Invariants(this.#world, { strict: options.mode === 'sweeperOff' });
    this.#foreigners = new Foreigners(this.#world, this.#users);
  }

  async run(): Promise<ScheduleResult> {
    const world = this.#world;
    const begin = world.now;
    const check = (): boolean => {
      this.#invariants.check();
      return this.#options.untilViolation !== true || this.#invariants.violations.length === 0;
    };
    this.#users.createAccount(this.#options.mode === 'all' ? 'Destroy' : 'Report');
    for (const name of FIRST_NAMES) this.#users.createInstance(name);
    if (this.#hasGroup) this.#users.createGroup(GROUP, FIRST_LOAD);
    else this.#users.createInstance('c', TIGHT_BRAKE);
    await this.#foreigners.settle();
    world.scheduler.after(COPY_LABELS_AT_MS, () => void this.#foreigners.copyLabels());
    world.startProcess();
    world.startProcess();
    this.#scheduleStorm();
    await world.scheduler.runUntil(begin + FAULTS_MS, check);
    this.#calm();
    await this.#recover(check);
    this.#invariants.checkConverged();
    await this.#invariants.checkMetrics();
    if (this.#asksMemory) await this.#invariants.checkMemory();
    const { violations, wastedMs } = this.#invariants;
    return {
      violations,
      wastedSeconds: [...wastedMs.values()].map((ms) => ms / SECOND),
      waste: [...wastedMs].map(([contract, ms]) => ({
        contract,
        seconds: ms / SECOND,
        reasons: this.#invariants.wasteOf(contract),
      })),
      traceHash: world.trace.digest(),
      trace: world.trace.lines,
      steps: world.scheduler.steps,
      virtualSeconds: world.second,
      faults: this.#struck,
    };
  }

  get #hasGroup(): boolean {
    return this.#options.seed % GROUP_EVERY === 0;
  }

  get #isLong(): boolean {
    return this.#options.seed % LONG_WATCH_EVERY === 0;
  }

  get #asksMemory(): boolean {
    return this.#options.mode === 'all' && this.#options.seed % MEMORY_EVERY === 0;
  }

  /**
   * Runs on until everything wanted is there and nothing was written for ten minutes. Not being there in time, or
   * being written to later than that, is a violation.
   */
  async #recover(check: () => boolean): Promise<void> {
    const { scheduler } = this.#world;
    const calmFrom = this.#world.now;
    const inTimeUntil = calmFrom + RECOVERY_MS;
    for (;;) {
      await scheduler.runUntil(this.#world.now + LOOK_EVERY_MS, check);
      if (this.#invariants.isUnsettledAfter(inTimeUntil)) return;
      if (this.#world.now > inTimeUntil + QUIET_MS) return;
      const silentFrom = Math.max(calmFrom, this.#invariants.lastWriteAt);
      const isSilent = this.#world.now - silentFrom >= QUIET_MS;
      if (isSilent && (!this.#isLong || this.#world.now > inTimeUntil) && this.#invariants.isConverged())
        return;
    }
  }

  /** What processes log is looked through for secrets, and told where a story is wanted. */
  #logOf(machine: Machine): Logger {
    const hear = (level: string) => (message: string, fields?: LogFields) => {
      this.#invariants.logged(machine, message, fields);
      if (this.#options.logLines)
        this.#world.tell(`${machine.name} ${level}: ${loggedText(message, fields)}`);
    };
    const log: Logger = {
      debug: hear('debug'),
      info: hear('info'),
      warn: hear('warn'),
      error: hear('error'),
      child: () => log,
    };
    return log;
  }

  /** Whether the next fault strikes; numbered, so that a shrinking run can leave some out. */
  #strikes(kind: string): boolean {
    this.#drawn += 1;
    const fault = { index: this.#drawn, kind };
    if (this.#options.allow?.(fault) === false) return false;
    this.#struck.push(fault);
    return true;
  }

  #fate(call: Parameters<FateOf>[0]): Fate {
    const fate = this.#drawFate(call);
    this.#invariants.sent(call, fate);
    return fate;
  }

  #drawFate(call: Parameters<FateOf>[0]): Fate {
    const quiet = { requestMs: 2, responseMs: 2 };
    if (!this.#isStormy) return quiet;
    const { fate, name } = fateIn(this.#climate, this.#random, call);
    if (name === undefined) return fate;
    if (!this.#strikes(name)) return quiet;
    const path = call.request.path.split('?')[0];
    this.#world.tell(
      `${call.machine.name}: ${name} at ${call.request.method} ${path} (fault ${this.#drawn})`,
    );
    return this.#whileStormy(fate);
  }

  /** A stream outlives the storm; what happens to its chunks does not. */
  #whileStormy(fate: Fate): Fate {
    const { chunkDelayMs, dropChunk } = fate;
    return {
      ...fate,
      ...(chunkDelayMs ? { chunkDelayMs: () => (this.#isStormy ? chunkDelayMs() : 0) } : {}),
      ...(dropChunk ? { dropChunk: () => this.#isStormy && this.#drops(dropChunk) } : {}),
    };
  }

  #drops(dropChunk: () => boolean): boolean {
    const isDropped = dropChunk();
    if (isDropped) this.#invariants.hindered();
    return isDropped;
  }

  #scheduleStorm(): void {
    const { marketFaultEvery, killEvery, freezeEvery, clockJumpEvery, compactEvery, userEvery } =
      this.#climate;
    this.#every(marketFaultEvery, 'marketFault', () => this.#marketFault());
    this.#every(killEvery, 'kill', () => this.#kill());
    this.#every(freezeEvery, 'freeze', () => this.#freeze());
    this.#every(clockJumpEvery, 'clockJump', () => this.#jumpClock());
    this.#every(compactEvery, 'compact', () => {
      this.#world.kube.store.compact();
      this.#world.kube.closeWatches();
      this.#world.tell('etcd is compacted and the API server restarts');
    });
    this.#every(userEvery, 'user', () => this.#userActs());
  }

  #every(meanSeconds: number, kind: string, act: () => void): void {
    if (meanSeconds === 0) return;
    const wait = -Math.log(1 - this.#random.next()) * meanSeconds * SECOND;
    this.#world.scheduler.after(wait, () => {
      if (!this.#isStormy) return;
      if (this.#strikes(kind)) act();
      this.#every(meanSeconds, kind, act);
    });
  }

  #marketFault(): void {
    const { contracts } = this.#world.market.store.current().tables;
    const ours = Object.keys(contracts)
      .map(Number)
      .filter((id) => !this.#invariants.isForeign(id));
    const fault = drawMarketFault(ours, this.#random);
    if (fault['name'] === 'destroyed-elsewhere')
      this.#invariants.destroyedElsewhere(Number(fault['instance']));
    void causeFault(this.#world, fault);
  }

  #anyProcess() {
    const { processes } = this.#world;
    return processes[Math.floor(this.#random.next() * processes.length)];
  }

  #kill(): void {
    const process = this.#anyProcess();
    if (process) this.#world.crash(process.machine, 'by SIGKILL');
  }

  #freeze(): void {
    const process = this.#anyProcess();
    if (!process) return;
    const seconds = 5 + this.#random.next() * 60;
    this.#world.tell(`${process.machine.name} freezes for ${seconds.toFixed(0)} s`);
    process.machine.freeze(seconds * SECOND);
    this.#world.scheduler.after(seconds * SECOND, () => this.#invariants.hindered());
  }

  #jumpClock(): void {
    const process = this.#anyProcess();
    if (!process) return;
    const hours = this.#random.next() < 0.5 ? 1 : -1;
    process.machine.wallSkewMs += hours * 3_600_000;
    this.#invariants.clockJumped();
    this.#world.tell(`the clock of ${process.machine.name} jumps by ${hours} h`);
  }

  #userActs(): void {
    if (this.#hasGroup && this.#random.next() < 0.4) this.#userActsOnGroup();
    else this.#userActsOnInstance();
  }

  #userActsOnGroup(): void {
    const name = this.#users.anyGroup();
    const worker = this.#users.anyWorker();
    const roll = this.#random.next();
    const load = Math.round(this.#random.next() * MOST_LOAD * 100);
    if (name === undefined) {
      this.#created += 1;
      this.#users.createGroup(`${GROUP}${this.#created}`, load);
    } else if (roll < 0.6) this.#users.setLoad(name, load);
    else if (roll < 0.8) this.#users.deleteGroup(name);
    else if (worker !== undefined) this.#users.delete(worker);
  }

  #userActsOnInstance(): void {
    const name = this.#users.anyName();
    const roll = this.#random.next();
    if (name === undefined || roll < 0.2) {
      this.#created += 1;
      if (this.#users.names().length < 4) this.#users.createInstance(`n${this.#created}`);
    } else if (roll < 0.5) this.#users.delete(name);
    else if (roll < 0.65) this.#users.setPowerState(name, this.#random.next() < 0.5 ? 'Stopped' : 'Running');
    else if (roll < 0.8) this.#users.setImage(name, `example/work:${Math.ceil(this.#random.next() * 3)}`);
    else this.#handsOn(name);
  }

  /** What only a sweeper can mend, so that it happens where one runs. */
  #handsOn(name: string): void {
    if (this.#options.mode === 'sweeperOff') return;
    this.#invariants.handsOn(name);
    if (this.#random.next() < 0.5) this.#users.removeFinalizers(name);
    else this.#users.editStatus(name, Math.ceil(this.#random.next() * 50));
  }

  /** Everything works again and stays so. */
  #calm(): void {
    this.#isStormy = false;
    this.#world.tell('the faults stop');
    clearFaults(this.#world);
    for (const { machine } of this.#world.processes) {
      if (machine.wallSkewMs !== 0) this.#invariants.clockJumped();
      machine.wallSkewMs = 0;
    }
    this.#personLooks();
  }

  #personLooks(): void {
    this.#world.scheduler.after(PERSON_LOOKS_EVERY_MS, () => {
      if (this.#users.seesRollback()) this.#users.confirmRollback();
      for (const id of this.#users.machinesInDoubt()) void this.#labelOwn(id);
      this.#personLooks();
    });
  }

  async #labelOwn(id: number): Promise<void> {
    this.#invariants.labelledElsewhere(id);
    await this.#users.labelByHand(id);
  }
}
