import { seededRandom } from '../../../src/lib/random.ts';
import { parseDuration } from '../../../src/lib/time.ts';
import { Chance } from '../chance.ts';
import type { Fate } from '../network.ts';
import { minding } from '../oracle/faults.ts';
import type { Violation } from '../oracle/scene.ts';
import { Users } from '../users.ts';
import { causeFault } from '../weather.ts';
import { type FateOf, SimulatedWorld } from '../world.ts';
import { FuseJudge } from './judge.ts';
import type { DeadmanKind } from './kinds.ts';
import { type FuseMachine, FuseMachines } from './machines.ts';

export interface DeadmanOptions {
  readonly seed: number;
  readonly kind: DeadmanKind;
  readonly keepTrace?: boolean;
}

export interface DeadmanResult {
  readonly violations: readonly Violation[];
  /** Machines that ended themselves, and those of them that had no reason to. */
  readonly ended: number;
  readonly falseKills: number;
  /** Renewals of leases, by SSH and by programs. */
  readonly renewals: number;
  readonly traceHash: string;
  readonly trace: readonly string[];
  readonly virtualSeconds: number;
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const YEAR = 365 * 24 * 60 * MINUTE;
const LIFETIMES = ['15m', '40m', '2h'] as const;
const LEASES = ['30m', '45m', '1h'] as const;
const SHORTEST_LEASE_MS = Math.min(...LEASES.map((lease) => parseDuration(lease) ?? 0));
const LAST_ERASED_MS = 60 * MINUTE;
/** Longer than each life and lease, with pauses and boot. */
const UNTIL_ENDED_MS = 5 * 60 * MINUTE;
/** I8: a channel may be away for less than this share of the lease. */
const AWAY_SHARE = 0.75;
/** Between two outages of the channel. */
const CALM_MS = 3 * MINUTE;
/** Maximum time between two steps of a world. */
const STEP_MS = 5 * SECOND;
/** Time within which an operator that can work again shows what it knows. */
const SHOWN_MS = 3 * MINUTE;
/** A machine has booted by then. */
const BOOTED_MS = 4 * MINUTE;

const QUIET: Fate = { requestMs: 2, responseMs: 2 };
const FLAGS = {
  ...{ leaderElect: 'false', pacing: 'off' },
  ...{ workerReportBindAddress: ':8082', workerReportUrl: 'https://reports.example' },
} as const;

/** Plays one world with the production operator, whose machines run the model of their start texts. */
export function playDeadman(options: DeadmanOptions): Promise<DeadmanResult> {
  return new DeadmanWorld(options).play();
}

class DeadmanWorld {
  readonly #kind: DeadmanKind;
  readonly #chance: Chance;
  readonly #world: SimulatedWorld;
  readonly #users: Users;
  readonly #machines: FuseMachines;
  readonly #judge: FuseJudge;
  /** The shortest lease that an object of the world may have. */
  #leaseMs = Number.POSITIVE_INFINITY;
  /** When programs stop renewing. */
  readonly #hangsAt: number;
  readonly #jumpsClocks: boolean;
  #isErased = false;
  /** When an operator that is not frozen or away last began to reach the API server; in the future while none does. */
  #ableSince = 0;
  #isKubeDown = false;

  constructor({ seed, kind, keepTrace = false }: DeadmanOptions) {
    const chance = new Chance(seededRandom(seed * 7_919 + (kind === 'erased' ? 5 : 6)));
    this.#kind = kind;
    this.#chance = chance;
    this.#world = new SimulatedWorld({
      ...{ seed, keepTrace, flags: FLAGS },
      fate: (call) => this.#fateOf(call),
      runSsh: (machine) => this.#machines.runSsh(machine),
    });
    this.#users = new Users(this.#world, seededRandom(seed + 17));
    this.#hangsAt =
      kind === 'erased' ? this.#world.now + chance.below(2 * LAST_ERASED_MS) : Number.POSITIVE_INFINITY;
    this.#jumpsClocks = chance.isWithin(0.5);
    this.#judge = new FuseJudge({
      world: this.#world,
      machines: () => this.#machines,
      mayBeSilent: ({ isByProgram }) => this.#isErased || (isByProgram && this.#world.now > this.#hangsAt),
      hasTrueClocks: () => !this.#jumpsClocks,
      mustWarn: () =>
        !this.#isErased &&
        this.#world.now - Math.max(this.#ableSince, this.#machines.isolatedUntil) >= SHOWN_MS,
    });
    this.#machines = new FuseMachines({
      ...{ world: this.#world, chance },
      onArrival: (machine) => this.#judge.arrived(machine),
      onEnd: (end) => this.#judge.selfEnded(end),
      onWrong: (text) => this.#judge.broken('I9', text),
      isOperatorAway: () => this.#isKubeDown,
    });
  }

  async play(): Promise<DeadmanResult> {
    const judge = this.#judge;
    await minding({ report: (invariant, text) => judge.broken(invariant, text) }, () => this.#play());
    const { trace, second } = this.#world;
    return {
      ...{ violations: judge.violations, ended: judge.ended, falseKills: judge.falseKills },
      renewals: this.#machines.renewals,
      ...{ traceHash: trace.digest(), trace: trace.lines, virtualSeconds: second },
    };
  }

  async #play(): Promise<void> {
    this.#users.account.create('Report');
    this.#users.account.set({ pollInterval: '1m' });
    const count = this.#chance.upTo(3);
    for (let number = 1; number <= count; number += 1) this.#createObject(`m-${number}`);
    if (this.#kind === 'erased' && this.#chance.isWithin(0.2)) this.#createGroup();
    // A monotonic clock that looks like no time since the epoch shows where one is taken for the other.
    this.#world.bornMonotonicMs = SECOND;
    this.#world.startProcess();
    this.#passTime();
    this.#renewPrograms((2 + this.#chance.below(4)) * MINUTE);
    if (this.#jumpsClocks) this.#jumpClocks();
    if (this.#kind === 'erased') await this.#erase();
    else await this.#outages();
  }

  #createObject(name: string): void {
    const chance = this.#chance;
    const hasLease = this.#kind === 'outages' || chance.isWithin(0.6);
    const duration = hasLease ? chance.oneOf(LEASES) : undefined;
    const by = chance.oneOf(['SSH', 'SSH', 'Report', 'Report', 'Program']);
    const hasLife = duration === undefined || chance.isWithin(0.5);
    if (duration) this.#leaseMs = Math.min(this.#leaseMs, parseDuration(duration) ?? 0);
    this.#users.createInstance(name, {
      ssh: true,
      ...(hasLife && { maxLifetime: chance.oneOf(LIFETIMES) }),
      ...(!duration && chance.isWithin(0.2) && { deletionPolicy: 'Retain' }),
      ...(duration && { lease: { duration, by } }),
    });
    // A machine of this object outlives what lists say of it.
    if (chance.isWithin(0.4))
      this.#users.setPolicies(name, { replacement: { policy: 'Never', maxPerHour: 30 } });
  }

  /** Workers of a group have the fuse of its template. */
  #createGroup(): void {
    this.#users.groups.setTemplate({ maxLifetime: this.#chance.oneOf(LIFETIMES) });
    this.#users.groups.create('group', 150);
  }

  /** Takes a step every few seconds: containers also restart while no component calls the marketplace. */
  #passTime(): void {
    this.#world.scheduler.after(STEP_MS, () => this.#passTime());
  }

  /** Programs show their own progress until they hang. */
  #renewPrograms(everyMs: number): void {
    this.#world.scheduler.after(everyMs, () => {
      if (this.#world.now > this.#hangsAt) return;
      for (const machine of this.#machines.all())
        if (this.#judge.termsOf(machine).isByProgram) this.#machines.renewByProgram(machine);
      this.#renewPrograms(everyMs);
    });
  }

  /** Sets wall clocks of processes, now and of those that start later. */
  #jumpClocks(): void {
    const { scheduler, processes } = this.#world;
    scheduler.after(this.#chance.below(40 * MINUTE), () => {
      const aheads = [0, -YEAR, -60 * MINUTE, -10 * MINUTE, 5 * MINUTE, 60 * MINUTE, YEAR] as const;
      this.#world.bornAheadMs = this.#chance.oneOf(aheads);
      for (const { machine } of processes) machine.wallSkewMs = this.#world.bornAheadMs;
      this.#world.note(`clocks are ahead by ${this.#world.bornAheadMs / SECOND} s`);
      this.#jumpClocks();
    });
  }

  /** Erases the cluster at a random moment; machines must end by themselves. */
  async #erase(): Promise<void> {
    const { scheduler } = this.#world;
    const erasedAt = this.#world.now + 30 * SECOND + this.#chance.below(LAST_ERASED_MS);
    this.#planTroubles(erasedAt);
    this.#planEdits(erasedAt);
    await scheduler.runUntil(erasedAt, () => this.#check());
    this.#isErased = true;
    this.#world.away();
    this.#world.note('the cluster is erased');
    const until = erasedAt + UNTIL_ENDED_MS;
    this.#planTroubles(until);
    await scheduler.runUntil(until, () => this.#check() && !this.#judge.isAllEnded());
    if (this.#check() && !this.#judge.isAllEnded())
      this.#judge.broken('I7', 'a machine still bills at the end');
  }

  /** Outages of the channel, one after the other, each for less than three quarters of the shortest lease. */
  async #outages(): Promise<void> {
    const { scheduler } = this.#world;
    const until = this.#world.now + 2 * this.#leaseMs + this.#chance.below(60 * MINUTE);
    this.#planTroubles(until);
    this.#planEdits(until);
    this.#planOutage(BOOTED_MS + this.#chance.below(20 * MINUTE), until);
    await scheduler.runUntil(until, () => this.#check());
  }

  /** Plans an outage and, after a time in which every machine could be reached, the next one. */
  #planOutage(afterMs: number, until: number): void {
    const { scheduler } = this.#world;
    const longest = AWAY_SHARE * this.#leaseMs;
    const isLong = this.#chance.isWithin(0.5);
    const ms = isLong ? longest - this.#chance.below(MINUTE) : this.#chance.below(longest);
    const begin = () => {
      if (this.#world.now >= until) return;
      // To a machine whose host was frozen between two outages, they are a single one.
      if (!this.#areReachable()) {
        scheduler.after(MINUTE, begin);
        return;
      }
      this.#takeChannel(ms);
      this.#planOutage(ms + CALM_MS + this.#chance.below(20 * MINUTE), until);
    };
    scheduler.after(afterMs, begin);
  }

  /** Returns true if no host was frozen for a while. */
  #areReachable(): boolean {
    return this.#machines.all().every(({ pausedUntil }) => this.#world.now - pausedUntil >= CALM_MS);
  }

  #check(): boolean {
    this.#machines.follow();
    return this.#judge.check();
  }

  /** Plans crashes, frozen hosts, restarts of containers, outages of the marketplace, and wrong words in its lists. */
  #planTroubles(until: number): void {
    const chance = this.#chance;
    this.#some(until, 0.5, 15 * MINUTE, () => this.#crash());
    this.#some(until, 0.3, 30 * MINUTE, () => this.#isolate(chance.below(10 * MINUTE)));
    this.#some(until, 0.3, 40 * MINUTE, () => this.#pauseOne(chance.below(20 * MINUTE)));
    this.#some(until, 0.3, 40 * MINUTE, () => void this.#restartOne());
    this.#some(until, 0.3, 40 * MINUTE, () => this.#misreportOne(chance.below(60 * MINUTE)));
  }

  /** Plans replaced machines, and edits of leases, which are for the next machine. */
  #planEdits(until: number): void {
    const chance = this.#chance;
    const anyName = () => `m-${chance.upTo(3)}`;
    this.#some(until, 0.25, 30 * MINUTE, () => this.#users.askForAnother(anyName()));
    const leases = [
      null,
      ...LEASES.flatMap((duration) => [
        { duration, by: 'SSH' },
        { duration, by: 'Report' },
        { duration, by: 'Program' },
      ]),
    ] as const;
    const areLeasesEdited = this.#some(until, 0.25, 30 * MINUTE, () =>
      this.#users.setPolicies(anyName(), { lease: leases[chance.below(leases.length)] ?? null }),
    );
    if (areLeasesEdited) this.#leaseMs = SHORTEST_LEASE_MS;
  }

  /** Schedules an act at intervals, in that share of worlds. Returns true if this world is one of them. */
  #some(until: number, share: number, everyMs: number, act: () => void): boolean {
    if (!this.#chance.isWithin(share)) return false;
    let at = this.#chance.below(everyMs);
    while (this.#world.now + at < until) {
      this.#world.scheduler.after(at, act);
      at += 1 + this.#chance.below(2 * everyMs);
    }
    return true;
  }

  #takeChannel(ms: number): void {
    const world = this.#world;
    /** Records that the operator can do nothing for that time. */
    const hold = () => {
      this.#ableSince = world.now + ms;
    };
    const seconds = (ms / SECOND).toFixed(0);
    this.#chance.doOneOf([
      [
        3,
        () => {
          hold();
          world.away();
          world.scheduler.after(ms, () => world.startProcess());
        },
      ],
      [
        2,
        () => {
          hold();
          world.note(`processes freeze for ${seconds} s`);
          for (const { machine } of world.processes) machine.freeze(ms);
        },
      ],
      [
        3,
        () => {
          world.note(`no process reaches a machine for ${seconds} s`);
          this.#machines.cutSsh(ms);
        },
      ],
      [
        2,
        () => {
          hold();
          world.note(`the API server is away for ${seconds} s`);
          this.#isKubeDown = true;
          world.scheduler.after(ms, () => {
            this.#isKubeDown = false;
          });
        },
      ],
    ]);
  }

  #crash(): void {
    const [process] = this.#world.processes;
    this.#ableSince = Math.max(this.#ableSince, this.#world.now);
    if (process) this.#world.crash(process.machine, 'by SIGKILL');
  }

  #isolate(ms: number): void {
    this.#world.note(`the marketplace does not answer for ${(ms / SECOND).toFixed(0)} s`);
    this.#machines.isolate(ms);
  }

  #pauseOne(ms: number): void {
    const machine = this.#anyMachine();
    if (!machine) return;
    this.#world.note(`machine ${machine.id} freezes for ${(ms / SECOND).toFixed(0)} s`);
    this.#machines.pause(machine, ms);
  }

  async #restartOne(): Promise<void> {
    const machine = this.#anyMachine();
    if (!machine) return;
    this.#world.note(`the container of machine ${machine.id} restarts`);
    await this.#users.console.call('PUT', `/api/v0/instances/reboot/${machine.id}/`).catch(() => undefined);
  }

  /** Lists and reads show another word for a machine that works. */
  #misreportOne(ms: number): void {
    const machine = this.#anyMachine();
    if (!machine) return;
    const value = this.#chance.oneOf(['offline', 'unknown', 'odd']);
    this.#world.note(`replies show machine ${machine.id} ${value} for ${(ms / SECOND).toFixed(0)} s`);
    const fault = { name: 'wrong-field', field: 'actual_status', change: 'set', value };
    for (const endpoint of ['list', 'get'])
      void causeFault(this.#world, { ...fault, endpoint, instance: machine.id, seconds: ms / SECOND });
  }

  #anyMachine(): FuseMachine | undefined {
    const machines = this.#machines.all();
    return machines[this.#chance.below(machines.length)];
  }

  #fateOf({ side }: Parameters<FateOf>[0]): Fate {
    const isDown = side === 'kube' ? this.#isKubeDown : this.#machines.isIsolated;
    return isDown ? { ...QUIET, loseRequest: true } : QUIET;
  }
}
