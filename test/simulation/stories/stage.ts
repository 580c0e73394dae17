import type { ChangeName } from '../../../src/simulator/fault-catalogue.ts';
import { BY_HAND } from '../console.ts';
import type { Invariants } from '../invariants.ts';
import type { Machine } from '../machine.ts';
import { isObject, type JsonObject, listAt } from '../memory-kube/json.ts';
import type { Fate } from '../network.ts';
import { statusAt } from '../status-at.ts';
import type { Users } from '../users.ts';
import { causeFault } from '../weather.ts';
import { type FateOf, NAMESPACE, type SimulatedWorld } from '../world.ts';

type Call = Parameters<FateOf>[0];

/** Calls by purpose. A key is tested with machine 0, which does not exist. */
export const CALLS = {
  rent: /^PUT \/api\/v0\/asks\//,
  destroy: /^DELETE \/api\/v0\/instances\/[1-9]\d*\/$/,
  label: /^PUT \/api\/v0\/instances\/\d+\/$/,
  list: /^GET \/api\/v[01]\/instances\/$/,
  search: /^POST \/api\/v0\/bundles\/$/,
  read: /^GET \/api\/v0\/instances\/\d+\/$/,
  accounts: /^GET .*\/marketplaceaccounts$/,
  accountStatus: /^P\w+ .*\/marketplaceaccounts\/[^/]+\/status$/,
  objects: /^GET .*\/gpuinstances$/,
  object: /^GET .*\/gpuinstances\/[^/]+$/,
  user: /^GET \/api\/v0\/users\/current\/$/,
  intent: /^PATCH .*\/gpuinstances\/[^/]+$/,
  groupStatus: /^P\w+ .*\/endpointgroups\/[^/]+\/status$/,
  makeWorker: /^POST .*\/gpuinstances$/,
  readLog: /^PUT \/api\/v0\/instances\/request_logs\/\d+\/$/,
  listFiles: /^PUT \/api\/v0\/instances\/command\/\d+\/$/,
  makeSecret: /^POST .*\/secrets$/,
  keySecret: /^GET .*\/secrets\/marketplace-key$/,
  status: /^P\w+ .*\/gpuinstances\/[^/]+\/status$/,
} as const satisfies Readonly<Record<string, RegExp>>;
type CallName = keyof typeof CALLS;

const QUIET: Fate = { requestMs: 2, responseMs: 2 };
const SECOND = 1000;
/** The operator's `--late-call`. */
const LATEST_CALL_MS = 120_000;

/** For how long no call of a kind may be sent, from now on. */
export interface Ban {
  readonly call: CallName;
  readonly seconds: number;
  readonly why: string;
}

/** Strike on one call of a kind. */
export interface Blow {
  readonly call: CallName;
  /** Number of the call, from 1. */
  readonly nth?: number;
  readonly fate?: Partial<Fate>;
  /** Runs at the moment the call is sent. */
  readonly meanwhile?: (machine: Machine) => void;
}

/** For how long all calls of a kind meet one fate, from now on. */
export interface Spell {
  readonly call: CallName;
  readonly seconds: number;
  readonly fate: Partial<Fate>;
}

/** A call of a kind may be sent so many times at most, from now on for so many seconds. */
export interface Allowance {
  readonly call: CallName;
  readonly seconds: number;
  readonly max: number;
  /** The invariant that more of them break. */
  readonly invariant: string;
}

/** Wrong field in replies, as `/sim/faults` accepts it. */
export interface WrongField {
  readonly endpoint: string;
  readonly field: string;
  readonly change: ChangeName;
  readonly value?: number | string | null;
  readonly instance?: number;
  readonly count?: number;
}

interface ExpectedCall {
  readonly blow: Blow;
  left: number;
}

const PASSES = /^controller_runtime_reconcile_total\{[^}]*controller="gpuinstance"[^}]*\} (\d+)/gm;

/** Stage of a story: people, the marketplace, and the fate of calls. */
export class Stage {
  readonly world: SimulatedWorld;
  readonly users: Users;
  readonly invariants: Invariants;
  readonly #expected: ExpectedCall[] = [];
  readonly #wrong: { readonly what: string; readonly fault: WrongField }[] = [];
  #lister: Machine | undefined;
  readonly #lagging = new Map<string, { readonly until: number; readonly plural: string }>();
  readonly #blind = new Map<string, number>();
  #deaf: { readonly plural: string; readonly until: number } | undefined;
  readonly #bans: { readonly ban: Ban; readonly until: number }[] = [];
  readonly #allowances: { readonly allowance: Allowance; readonly until: number; sent: number }[] = [];
  readonly #afterProgram: ((id: number) => void)[] = [];
  readonly #spells: { readonly spell: Spell; readonly until: number }[] = [];

  constructor(world: SimulatedWorld, users: Users, invariants: Invariants) {
    this.world = world;
    this.users = users;
    this.invariants = invariants;
  }

  /** Schedules an action at that second of the story; call it before the story begins. */
  at(second: number, act: () => void): void {
    this.world.scheduler.after(second * SECOND, act);
  }

  /** Schedules an action after the given seconds. */
  after(seconds: number, act: () => void): void {
    this.world.scheduler.after(seconds * SECOND, act);
  }

  /** Schedules an action so many seconds after the first program of a run has ended; call it before the story begins. */
  afterProgram(seconds: number, act: (id: number) => void): void {
    this.#afterProgram.push((id) => this.after(seconds, () => act(id)));
  }

  /** Records that the program of a run has ended on that machine. */
  programEnded(id: number): void {
    for (const act of this.#afterProgram.splice(0)) act(id);
  }

  /** Strikes one call that is still to come. A story whose call never comes tells nothing, and says so. */
  strike(blow: Blow): void {
    this.#checkNeeds(blow);
    this.#expected.push({ blow, left: blow.nth ?? 1 });
  }

  /** Records that labels are needed: only its label identifies a rental that is carried out twice or too late. */
  #checkNeeds({ call, fate = {} }: Blow): void {
    const isUnbounded = fate.duplicateAfterMs !== undefined || (fate.lateMs ?? 0) > LATEST_CALL_MS;
    if (call === 'label' || (call === 'rent' && isUnbounded)) this.world.has('labels');
  }

  /** Forbids a call: it violates I4, because the story gives no reason for it. */
  forbid(ban: Ban): void {
    this.#bans.push({ ban, until: this.world.now + ban.seconds * SECOND });
  }

  allow(allowance: Allowance): void {
    const until = this.world.now + allowance.seconds * SECOND;
    this.#allowances.push({ allowance, until, sent: 0 });
  }

  /** Returns the number of GpuInstance reconciles of all processes. */
  async passes(): Promise<number> {
    const texts = await Promise.all(this.world.processes.map(({ registry }) => registry.expose()));
    const counts = texts.flatMap((text) => [...text.matchAll(PASSES)].map(([, count]) => Number(count)));
    return counts.reduce((sum, count) => sum + count, 0);
  }

  cast(spell: Spell): void {
    this.#spells.push({ spell, until: this.world.now + spell.seconds * SECOND });
  }

  /** Starts a fault of the marketplace. */
  cause(fault: Readonly<Record<string, unknown>>): void {
    void causeFault(this.world, fault);
  }

  /**
   * Makes one field of the next `count` replies of a kind wrong. The story reports an error if fewer of them arrive.
   */
  wrong(fault: WrongField): void {
    const what = `wrong ${fault.field} of ${fault.endpoint}`;
    this.#wrong.push({ what, fault });
    void causeFault(this.world, { name: 'wrong-field', count: 1, ...fault });
  }

  /** Applies a one-time fault to a machine; no fault of the service remains. */
  befall(fault: Readonly<Record<string, unknown>>): void {
    const { store } = this.world.market;
    const known = new Set(Object.keys(store.current().tables.faults));
    const forget = () => {
      for (const id of Object.keys(store.current().tables.faults))
        if (!known.has(id)) store.remove('faults', Number(id));
    };
    void causeFault(this.world, fault).then(forget);
  }

  /** Returns the machine that a person rented in the console. */
  manualId(): number {
    const contracts = Object.values(this.world.market.store.current().tables.contracts);
    return contracts.find(({ image }) => image === BY_HAND)?.id ?? Number.NaN;
  }

  /** Captures an object at that second of the story; call the result later. */
  backupAt(second: number, name: string): () => JsonObject {
    let backup: JsonObject = {};
    this.at(second, () => {
      backup = this.users.backup(name);
    });
    return () => backup;
  }

  /** Returns the machine that the object records. */
  machineOf(name: string): number {
    const kind = this.world.kube.kind('gpuinstances');
    const object = this.world.kube.writes.read({ kind, namespace: NAMESPACE, name }) ?? {};
    return Number(statusAt(object)['instanceId']);
  }

  /** Freezes a process that long, so many seconds from now. */
  freezeIn(inSeconds: number, seconds: number): (machine: Machine) => void {
    return (machine) =>
      this.after(inSeconds, () => {
        this.world.note(`${machine.name} freezes for ${seconds} s`);
        machine.freeze(seconds * SECOND);
      });
  }

  /** Freezes the process that asked for the lists last. */
  freezeLeader(seconds: number): void {
    if (this.#lister) this.freezeIn(0, seconds)(this.#lister);
  }

  /** Delays events for the watches of a process for the given seconds: all watches, or those of one resource. */
  lag(processName: string, seconds: number, plural = ''): void {
    this.#lagging.set(processName, { until: this.world.now + seconds * SECOND, plural });
  }

  /** Delays events for every process that did not send the last list call. */
  lagFollowers(seconds: number): void {
    for (const { machine } of this.world.processes)
      if (machine !== this.#lister) this.lag(machine.name, seconds);
  }

  /** Hides events for the given seconds from processes that did not send the last list call. */
  blindFollowers(seconds: number): void {
    for (const { machine } of this.world.processes)
      if (machine !== this.#lister) this.#blind.set(machine.name, this.world.now + seconds * SECOND);
  }

  /** Hides events for the given seconds from the process that sent the last list call. */
  blindLeader(seconds: number): void {
    if (this.#lister) this.#blind.set(this.#lister.name, this.world.now + seconds * SECOND);
  }

  /** Makes the first stream of a cache of that resource lose its first object, for the given seconds. */
  loseFirstObject(plural: string, seconds: number): void {
    this.#deaf = { plural, until: this.world.now + seconds * SECOND };
  }

  /** Ends every process at that second, and starts one so many seconds later. */
  awayAt(second: number, seconds: number): void {
    this.at(second, () => this.world.away());
    this.at(second + seconds, () => {
      this.invariants.returned();
      this.world.startProcess();
    });
  }

  /** Kills every process. */
  killAll(): void {
    for (const { machine } of [...this.world.processes]) this.world.crash(machine, 'by SIGKILL');
  }

  /** Reinstalls the operator to watch those namespaces; all namespaces if none is given. */
  watchOnly(...namespaces: readonly string[]): void {
    this.world.flags = { ...this.world.flags, watchNamespace: namespaces };
    this.killAll();
  }

  /** Returns the fate of a call; undefined if the story has none for it. */
  fateOf({ machine, request }: Call): Fate | undefined {
    if (request.path.includes('watch=true')) return this.#watchOf(machine, request.path);
    const name = `${request.method} ${request.path.split('?')[0]}`;
    if (process.env['CALLS']) this.world.note(`${machine.name} ${name}`);
    if (CALLS.list.test(name)) this.#lister = machine;
    const banned = this.#bans.find(({ ban, until }) => this.world.now < until && CALLS[ban.call].test(name));
    if (banned) this.invariants.report('I4', `${name} was sent although ${banned.ban.why}`);
    this.#count(name);
    const blow = this.#due(name);
    if (blow) {
      this.world.note(`${machine.name}: ${name} meets its fate`);
      blow.meanwhile?.(machine);
      if (blow.fate) return { ...QUIET, ...blow.fate };
    }
    const cast = this.#spells.find(
      ({ spell, until }) => this.world.now < until && CALLS[spell.call].test(name),
    );
    return cast && { ...QUIET, ...cast.spell.fate };
  }

  #count(name: string): void {
    for (const counted of this.#allowances) {
      const { call, max, seconds, invariant } = counted.allowance;
      if (this.world.now >= counted.until || !CALLS[call].test(name)) continue;
      counted.sent += 1;
      if (counted.sent === max + 1)
        this.invariants.report(invariant, `${name} was sent more than ${max} times within ${seconds} s`);
    }
  }

  #watchOf({ name }: Machine, path: string): Fate {
    const left = () => {
      const lag = this.#lagging.get(name);
      return lag && path.includes(lag.plural) ? lag.until - this.world.now : 0;
    };
    let losesNext = this.#losesFirstObject(path);
    const losesFirst = () => {
      const isLost = losesNext;
      losesNext = false;
      return isLost;
    };
    return {
      ...QUIET,
      chunkDelayMs: () => Math.max(0, left()),
      dropChunk: () => losesFirst() || this.world.now < (this.#blind.get(name) ?? 0),
    };
  }

  #losesFirstObject(path: string): boolean {
    if (this.#deaf === undefined || this.world.now >= this.#deaf.until) return false;
    return path.includes(this.#deaf.plural) && path.includes('sendInitialEvents=true');
  }

  /** Calls and replies that were to be struck and never came. */
  unstruck(): readonly string[] {
    const calls = this.#expected.filter(({ left }) => left > 0);
    const faults = Object.values(this.world.market.store.current().tables.faults);
    const isWaiting = ({ endpoint, field, instance }: WrongField) =>
      faults.some(
        (fault) =>
          fault.endpoint === endpoint &&
          fault.wrong?.field === field &&
          fault.instance === (instance ?? null),
      );
    return [
      ...calls.map(({ blow }) => `${blow.call} ${blow.nth ?? 1}`),
      ...this.#wrong.filter(({ fault }) => isWaiting(fault)).map(({ what }) => what),
    ];
  }

  #due(name: string): Blow | undefined {
    let due: Blow | undefined;
    for (const expected of this.#expected) {
      if (expected.left === 0 || !CALLS[expected.blow.call].test(name)) continue;
      expected.left -= 1;
      if (expected.left === 0) due ??= expected.blow;
    }
    return due;
  }
}

/** Returns the Ready condition of an object. */
export function readyOf(stage: Stage, name: string): JsonObject | undefined {
  const conditions = listAt(statusAt(stage.users.backup(name)), 'conditions').filter(isObject);
  return conditions.find(({ type }) => type === 'Ready');
}

/** Returns a fate with a successful response in the server's place, without effect. */
export function answered(body: unknown, status = 200): Partial<Fate> {
  return { refusal: { status, body: JSON.stringify(body), headers: { 'content-type': 'application/json' } } };
}
