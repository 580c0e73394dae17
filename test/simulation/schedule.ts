import type { RawOptions } from '../../src/config.ts';
import type { LogFields, Logger } from '../../src/lib/logger.ts';
import { seededRandom } from '../../src/lib/random.ts';
import { PRICE_LIMIT } from './account-whims.ts';
import { Chance } from './chance.ts';
import { Foreigners } from './foreigners.ts';
import { Installer, OTHER_NAMESPACE } from './installer.ts';
import { Invariants } from './invariants.ts';
import {
  drawLongFaults,
  EXTRA_OBJECTS,
  LATE_ORPHAN_AGE,
  type LongFaultPlan,
  SHORT_HOLD,
} from './long-faults.ts';
import type { Machine } from './machine.ts';
import type { Fate } from './network.ts';
import { minding } from './oracle/faults.ts';
import type { Waste } from './oracle/waste.ts';
import type { Outcome } from './outcome.ts';
import { hasRuns, RunWhims, runContainers } from './run-whims.ts';
import { type MarketName, offers, SIMULATED_MARKETS } from './simulated-market.ts';
import { type Fault, Storm } from './storm.ts';
import { Users } from './users.ts';
import { causeFault, drawClimate } from './weather.ts';
import { Whims } from './whims.ts';
import { type FateOf, SimulatedWorld } from './world.ts';
import { hasWrongFacts } from './wrong-facts.ts';

export type Mode = 'all' | 'sweeperOff';

export interface ScheduleOptions {
  readonly seed: number;
  readonly mode: Mode;
  /** The market that is rented at. */
  readonly market?: MarketName | undefined;
  readonly keepTrace: boolean;
  /** Ends at the first violation. */
  readonly untilViolation?: boolean;
  /** Adds the log lines of processes to the trace. */
  readonly logLines?: boolean;
  /** Filters the faults that may strike (default: all). For shrinking. */
  readonly allow?: (fault: Fault) => boolean;
}

export interface ScheduleResult extends Outcome {
  /** Unneeded billing of contracts, with the reasons. */
  readonly waste: readonly ContractWaste[];
  readonly steps: number;
  /** The faults that struck, in order. */
  readonly faults: readonly Fault[];
  /** Many machines failed, or their objects went, at once. */
  readonly isMassive: boolean;
}

/** Unneeded billing of one contract. */
export interface ContractWaste {
  readonly contract: number;
  readonly seconds: number;
  readonly reasons: Readonly<Partial<Record<Waste, number>>>;
}

const SECOND = 1000;
const FAULTS_MS = 600 * SECOND;
/** Maximum recovery time: the longest boot, and ten minutes until it is settled whether the machine can end itself. */
const RECOVERY_MS = 1_200 * SECOND;
/**
 * The same with runs, whose results may be searched for ten minutes, and whose attempts wait for each other. More than the
 * hour after which a group forgets the load of the storm.
 */
const RUN_RECOVERY_MS = 3_900 * SECOND;
/** Time without any write that proves that the cluster has settled. */
const QUIET_MS = 600 * SECOND;
const CHECK_EVERY_MS = 20 * SECOND;
/** Interval at which a person reads the reports and follows the messages. */
const PERSON_CHECKS_EVERY_MS = 120 * SECOND;
/** Every so many seeds silence is watched to the end of the time that recovery may take, however soon all was well. */
const LONG_WATCH_EVERY = 7;
/**
 * Interval in seeds, each a long one, at which the heap is searched; this costs as much as one and a half schedules.
 */
const MEMORY_EVERY = 35;
/** Every so many seeds all is deleted in the end, the account as well. */
const TEARDOWN_EVERY = 5;
const TEARDOWN_MS = 440 * SECOND;
const TEARDOWN_TAKES_MS = 20 * SECOND;
const COPY_LABELS_AT_MS = 120 * SECOND;
/** Returns true if the third object is a group with up to three workers: every second schedule. */
const hasGroup = (seed: number): boolean => seed % 2 === 0;
/** Returns true if Prometheus reports the group's load instead of its spec: every third schedule with a group. */
const hasGateway = (seed: number): boolean => seed % 6 === 2;
/** Returns true if the third object is in another namespace: every sixth schedule, and the hostile ones. */
const hasFar = (seed: number): boolean => seed % 6 === 1 || isHostile(seed);
/**
 * Returns true for every twentieth schedule: its group leaves the price to the account, the keys of its two accounts
 * come and go, and tenants of another namespace request machines of others.
 */
const isHostile = (seed: number): boolean => seed % 20 === 16;
/**
 * Returns true for every thirteenth schedule: for some minutes of the storm it has a crowd of objects, most of which
 * request offers that do not exist.
 */
const hasCrowd = (seed: number): boolean => seed % 13 === 5;
/**
 * Returns true if there is a second account, in every seventh schedule: of the same login for odd seeds, of another
 * login for even ones.
 */
const hasSecond = (seed: number): boolean => seed % 7 === 3 || isHostile(seed);
/** Returns the change of every label by the market: in every 29th schedule one. */
const labelChangeOf = (seed: number): string | undefined =>
  seed % 29 === 7 ? (seed % 2 === 0 ? 'label-cut' : 'label-lower-cased') : undefined;
/** Returns true if a person sets and changes budgets of the namespaces: every ninth schedule. */
const hasBudgets = (seed: number): boolean => seed % 9 === 4;
/** Returns the number of processes: two of four seeds have one, as the chart installs it, and two have a standby. */
const processesOf = (seed: number): number => (seed % 4 < 2 ? 2 : 1);
/**
 * Returns the flags. With the default retry period of two seconds in every schedule, half of all calls would be lease
 * renewals. Schedules without a sweeper keep the default: their waste is bounded, and rare renewals lose the leader
 * more often.
 */
const flagsOf = (seed: number, mode: Mode): RawOptions =>
  mode === 'all' && seed % 11 >= 3 ? { leaderElectRetryPeriod: '5s' } : {};
const GROUP = 'group';
const CROWD_COMES_MS = 90 * SECOND;
const CROWD_GOES_MS = 420 * SECOND;
const CROWD_SIZE = 24;
const HOSTILE_EVERY_MS = 25 * SECOND;
const BUDGET_EVERY_MS = 35 * SECOND;
const FIRST_LOAD = 150;
/** The default: low enough to hold at times. */
const TIGHT_BRAKE = { maxPerHour: 5 };
const CHECKS_BEFORE_CONSOLE = 3;
const CONSOLE_EVERY_MS = 7 * SECOND;
const FIRST_NAMES = ['a', 'b'];
/** Beyond every schedule: only a wrong time, or a wrong price, reaches them. */
const LONG_LIMITS = { maxLifetime: '12h', maxTotalCost: '10' };
const MONTH_LIMIT = { maxSpendPerMonth: '100' };

/**
 * Plays one seeded life of a small cluster: faults for ten minutes, then calm until it must be converged and silent.
 */
export async function runSchedule(options: ScheduleOptions): Promise<ScheduleResult> {
  const schedule = new Schedule(options);
  return schedule.run();
}

/** Rentals that begin after every deadline, and machines whose objects are removed by force, are known by their labels alone. */
function plannedAt(isLabelled: boolean, plan: LongFaultPlan): LongFaultPlan {
  if (isLabelled) return plan;
  return { ...plan, lateRentals: 0, removal: plan.removal && { ...plan.removal, isByForce: false } };
}

class Schedule {
  readonly #options: ScheduleOptions;
  readonly #world: SimulatedWorld;
  readonly #users: Users;
  readonly #invariants: Invariants;
  readonly #foreigners: Foreigners;
  readonly #storm: Storm;
  readonly #whims: Whims;
  readonly #plan: LongFaultPlan;
  readonly #runs: RunWhims | undefined;
  /** Number of checks by a person since the faults stopped. */
  #checks = 0;

  constructor(options: ScheduleOptions) {
    const { seed, mode, allow, keepTrace } = options;
    const isStrict = mode === 'sweeperOff';
    const random = seededRandom(seed * 7919 + (isStrict ? 2 : 1));
    const climate = drawClimate(random, { calmProcesses: isStrict });
    const { facts } = SIMULATED_MARKETS[options.market ?? 'vast'];
    const isLabelled = offers(facts, 'labels') && labelChangeOf(seed) === undefined;
    const plan = plannedAt(isLabelled, drawLongFaults({ seed, isStrict }));
    const lateFlags = plan.lateRentals > 0 ? { lateOrphanAge: LATE_ORPHAN_AGE } : {};
    const world = new SimulatedWorld({
      ...{
        seed,
        keepTrace,
        flags: { ...flagsOf(seed, mode), ...lateFlags },
        hasGateway: hasGateway(seed),
        market: options.market,
        ...(hasRuns(seed) && { containers: runContainers(seed) }),
      },
      fate: (call) => this.#fateOf(call),
      log: (machine) => this.#logOf(machine),
    });
    const users = new Users(world, seededRandom(seed + 17));
    const invariants = new Invariants(world, { strict: isStrict });
    const created = FIRST_NAMES.length + 1;
    const whims = new Whims({
      ...{ world, users, invariants, random, created },
      hasGroup: hasGroup(seed),
      hasFar: hasFar(seed),
      hasSecond: hasSecond(seed),
      isSwept: !isStrict,
      keepsBreaker: plan.keepsBreaker,
      leavesPrice: isHostile(seed),
    });
    this.#plan = plan;
    this.#options = options;
    this.#world = world;
    this.#users = users;
    this.#invariants = invariants;
    this.#foreigners = new Foreigners(world, users);
    this.#whims = whims;
    const installer = new Installer({
      world,
      invariants,
      chance: new Chance(random),
      mayNarrow: hasFar(seed) && !this.#isTeardown,
    });
    const processes = processesOf(seed);
    this.#runs = hasRuns(seed) ? new RunWhims({ world, users, invariants, seed, processes }) : undefined;
    this.#storm = new Storm({
      runs: this.#runs,
      ...{ world, climate, random, invariants, whims, installer, users, seed, isStrict, plan, allow },
      hasWrongFacts: this.#hasWrongFacts,
    });
  }

  run(): Promise<ScheduleResult> {
    return minding(this.#invariants, () => this.#run());
  }

  async #run(): Promise<ScheduleResult> {
    const world = this.#world;
    const begin = world.now;
    const check = (): boolean => {
      this.#runs?.follow();
      this.#invariants.check();
      return this.#options.untilViolation !== true || this.#invariants.violations.length === 0;
    };
    const { seed } = this.#options;
    const { orphanPolicy, keepsBreaker, wrongDates, outage, removal, lateRentals } = this.#plan;
    this.#users.account.create(orphanPolicy);
    if (hasSecond(seed))
      this.#users.second.create(orphanPolicy, seed % 2 === 0 ? world.addLogin() : world.addKey());
    if (keepsBreaker)
      for (const account of this.#users.accounts) account.set({ maxUnhealthyHold: SHORT_HOLD });
    for (const name of FIRST_NAMES)
      this.#users.createInstance(name, {
        isOfSecond: hasSecond(seed) && name === 'b',
        ...((wrongDates || this.#hasWrongFacts) && LONG_LIMITS),
      });
    if (outage || removal) for (const name of EXTRA_OBJECTS) this.#users.createInstance(name);
    if (this.#hasWrongFacts) for (const account of this.#users.accounts) account.set({ limits: MONTH_LIMIT });
    if (isHostile(seed)) this.#invite();
    if (hasFar(seed)) this.#goFar();
    if (hasGroup(seed)) this.#users.groups.create(GROUP, FIRST_LOAD);
    else if (!hasFar(seed)) this.#users.createInstance('c', TIGHT_BRAKE);
    this.#runs?.begin();
    await this.#foreigners.settle();
    const labelChange = labelChangeOf(seed);
    if (labelChange !== undefined) await causeFault(world, { name: labelChange });
    else if (offers(world.facts, 'labels'))
      world.scheduler.after(COPY_LABELS_AT_MS, () =>
        this.#foreigners.copyLabels({ hasLateRentals: lateRentals > 0 }),
      );
    const processes = processesOf(this.#options.seed);
    for (let count = 0; count < processes; count += 1) world.startProcess();
    this.#storm.begin();
    if (hasCrowd(seed)) this.#planCrowd();
    if (isHostile(seed)) this.#planHostilities();
    if (hasBudgets(seed) && !this.#hasWrongFacts) this.#planBudgets();
    if (this.#isTeardown) this.#planTeardown();
    await world.scheduler.runUntil(begin + FAULTS_MS, check);
    this.#storm.end();
    this.#users.budgets.settle();
    this.#personChecks();
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
      faults: this.#storm.faults,
      isMassive:
        this.#plan.outage !== undefined || this.#plan.removal !== undefined || hasCrowd(this.#options.seed),
    };
  }

  /** Creates an object of another tenant of the same account. */
  #goFar(): void {
    this.#users.createNamespace(OTHER_NAMESPACE);
    for (const account of this.#users.accounts) account.set({ allowedNamespaces: { from: 'All' } });
    this.#users.createInstance(`far.${OTHER_NAMESPACE}`);
  }

  /** Groups leave the price to the account, which says it. */
  #invite(): void {
    this.#users.groups.leavePriceToAccount();
    for (const account of this.#users.accounts) account.set({ limits: PRICE_LIMIT });
  }

  #planHostilities(): void {
    for (let at = HOSTILE_EVERY_MS; at < FAULTS_MS; at += HOSTILE_EVERY_MS)
      this.#world.scheduler.after(at, () => this.#whims.actHostile());
  }

  /** Plans budgets from the beginning, from a seed of their own: other schedules stay as they are. */
  #planBudgets(): void {
    const { seed } = this.#options;
    const chance = new Chance(seededRandom(seed + 29));
    const act = () => this.#users.budgets.act(chance, hasFar(seed) ? OTHER_NAMESPACE : undefined);
    act();
    for (let at = BUDGET_EVERY_MS; at < FAULTS_MS; at += BUDGET_EVERY_MS)
      this.#world.scheduler.after(at, act);
  }

  /**
   * Plans the crowd: every fourth object requests an existing offer, the others each a different GPU that no host
   * offers.
   */
  #planCrowd(): void {
    const { scheduler } = this.#world;
    const crowd = Array.from({ length: CROWD_SIZE }, (_, index) => `crowd-${index}`);
    scheduler.after(CROWD_COMES_MS, () => {
      for (const [index, name] of crowd.entries()) {
        const gpuNames = [index % 4 === 0 ? 'RTX 4090' : `NOBODY ${index}`];
        this.#users.createInstance(name, { offers: [{ gpuNames, maxPricePerHour: '0.90' }] });
      }
    });
    scheduler.after(CROWD_GOES_MS, () => {
      for (const name of crowd) this.#users.delete(name);
    });
  }

  get #hasWrongFacts(): boolean {
    const { seed, mode } = this.#options;
    return hasWrongFacts(seed, mode === 'sweeperOff');
  }

  get #isLong(): boolean {
    return this.#options.seed % LONG_WATCH_EVERY === 0;
  }

  /**
   * True if the schedule ends with a teardown. Not with a sweeper, where users remove finalizers: the account would
   * be removed before its orphans are swept.
   */
  get #isTeardown(): boolean {
    const { mode, seed } = this.#options;
    return mode === 'sweeperOff' && seed % TEARDOWN_EVERY === TEARDOWN_EVERY - 1;
  }

  /** Plans the deletion of everything; the account goes shortly before, with, or after the rest. */
  #planTeardown(): void {
    const { scheduler } = this.#world;
    const accountGoesAt = TEARDOWN_MS + ((this.#options.seed % 3) - 1) * TEARDOWN_TAKES_MS;
    scheduler.after(accountGoesAt, () => {
      for (const account of this.#users.accounts) account.delete();
    });
    scheduler.after(TEARDOWN_MS, () => {
      this.#whims.leave();
      this.#runs?.deleteEverything();
      this.#users.deleteEverything();
    });
  }

  get #asksMemory(): boolean {
    const { mode, seed } = this.#options;
    return mode === 'all' && seed % MEMORY_EVERY === 0;
  }

  /**
   * Runs on until everything wanted is there and nothing was written for ten minutes. Not being there in time, or
   * being written to later than that, is a violation.
   */
  async #recover(check: () => boolean): Promise<void> {
    const { scheduler } = this.#world;
    const calmFrom = this.#world.now;
    const inTimeUntil = this.#storm.recoversUntil(calmFrom, this.#runs ? RUN_RECOVERY_MS : RECOVERY_MS);
    for (;;) {
      await scheduler.runUntil(this.#world.now + CHECK_EVERY_MS, check);
      if (this.#invariants.isUnsettledAfter(inTimeUntil)) return;
      if (this.#world.now > inTimeUntil + QUIET_MS) return;
      const silentFrom = Math.max(calmFrom, this.#invariants.lastWriteAt);
      const isSilent = this.#world.now - silentFrom >= QUIET_MS;
      if (isSilent && (!this.#isLong || this.#world.now > inTimeUntil) && this.#invariants.isConverged())
        return;
    }
  }

  #fateOf(call: Parameters<FateOf>[0]): Fate {
    const fate = this.#storm.fateOf(call);
    this.#invariants.sent(call, fate);
    return fate;
  }

  /**
   * Returns the logger of a process: all lines are searched for secrets, and the trace records actions, or all lines
   * if requested.
   */
  #logOf(machine: Machine): Logger {
    const logAt = (level: string) => (message: string, fields?: LogFields) => {
      const text = this.#invariants.logged(machine, message, fields);
      if (level === 'info') this.#world.note(`${machine.name}: ${text}`);
      else if (this.#options.logLines) this.#world.note(`${machine.name} ${level}: ${text}`);
    };
    const log: Logger = {
      debug: logAt('debug'),
      info: logAt('info'),
      warn: logAt('warn'),
      error: logAt('error'),
      child: () => log,
    };
    return log;
  }

  #personChecks(): void {
    this.#world.scheduler.after(PERSON_CHECKS_EVERY_MS, () => {
      for (const account of this.#users.accounts) if (account.seesRollback()) account.confirmRollback();
      for (const id of this.#users.machinesInDoubt()) void this.#labelOwn(id);
      this.#endInConsole(this.#users.lateMachines());
      this.#checks += 1;
      if (this.#plan.removal?.isByForce) this.#handleOrphans();
      this.#personChecks();
    });
  }

  /** Handles orphans as a person does: first confirms them, later destroys the remaining ones in the console. */
  #handleOrphans(): void {
    const latched = this.#users.accounts.filter((account) => account.seesMassOrphans());
    for (const account of latched) account.confirmOrphans();
    if (this.#checks >= CHECKS_BEFORE_CONSOLE) this.#endInConsole(this.#invariants.orphans());
  }

  /** Destroys machines one after the other: the service refuses calls in quick succession. */
  #endInConsole(ids: readonly number[]): void {
    for (const [index, id] of ids.entries())
      this.#world.scheduler.after(index * CONSOLE_EVERY_MS, () => {
        if (!this.#users.console.machines().includes(id)) return;
        this.#invariants.destroyedElsewhere(id);
        void this.#users.console.destroy(id);
      });
  }

  async #labelOwn(id: number): Promise<void> {
    this.#invariants.labelledElsewhere(id);
    await this.#users.console.label(id, 'mine');
  }
}
