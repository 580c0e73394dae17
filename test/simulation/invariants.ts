import type { LogFields } from '../../src/lib/logger.ts';
import type { ActiveFault } from '../../src/simulator/tables/faults.ts';
import { calledOf } from './kubectl.ts';
import type { Machine } from './machine.ts';
import { isObject, type JsonObject, metadataOf, textAt, textOf } from './memory-kube/json.ts';
import type { Commit } from './memory-kube/store.ts';
import type { Fate } from './network.ts';
import { AttemptWatch } from './oracle/attempts.ts';
import { BrakeWatch } from './oracle/brake.ts';
import { BreakerWatch } from './oracle/breaker.ts';
import { BudgetWatch } from './oracle/budgets.ts';
import { type Shortfall, shortfallsOf } from './oracle/converged.ts';
import { waitsForOffers } from './oracle/free-offers.ts';
import { GroupWatch } from './oracle/groups.ts';
import { rememberedNames } from './oracle/heap.ts';
import { IdleWatch } from './oracle/idle.ts';
import { IdleSlotWatch } from './oracle/idle-slots.ts';
import { inputBytes, MAX_INPUT_BYTES } from './oracle/inputs.ts';
import { KeptWatch } from './oracle/kept.ts';
import { KeyWatch } from './oracle/keys.ts';
import { LeakWatch } from './oracle/leaks.ts';
import { LimitWatch } from './oracle/limits.ts';
import { MachineWatch } from './oracle/machines.ts';
import { MoneyWatch } from './oracle/money.ts';
import { NewestLists, shownBy } from './oracle/newest-lists.ts';
import { PaceWatch } from './oracle/pace.ts';
import { PermitWatch } from './oracle/permits.ts';
import { type Purchase, readPurchase } from './oracle/purchase.ts';
import { RecordWatch } from './oracle/records.ts';
import { RefusedDecisionWatch } from './oracle/refused-decisions.ts';
import { RestraintWatch } from './oracle/restraints.ts';
import { RunWatch } from './oracle/runs.ts';
import { keyOf, nameOf, Scene, type SceneOptions, type Violation } from './oracle/scene.ts';
import { loggedText, SecretWatch } from './oracle/secrets.ts';
import { ServingWatch } from './oracle/serving.ts';
import { SpendingWatch } from './oracle/spending.ts';
import { StatusWatch } from './oracle/statuses.ts';
import { SuspensionWatch } from './oracle/suspension.ts';
import { SweepWatch } from './oracle/sweeps.ts';
import { TruthWatch } from './oracle/truth.ts';
import { UnrecordedWatch } from './oracle/unrecorded.ts';
import { type Waste, WasteMeter } from './oracle/waste.ts';
import { WorkerWatch } from './oracle/workers.ts';
import type { FateOf, SimulatedWorld } from './world.ts';

type Call = Parameters<FateOf>[0];

const LIST_PATH = /^\/api\/v[01]\/instances\/(?:\?|$)/;
const INSTANCES_PATH = /^\/api\/v[01]\/instances\//;
const SLOW_MS = 1000;
/** Time for which the operator may remember a deleted object: event series and delayed lists. */
const FORGET_WITHIN_MS = 600_000;
/** A copy is compared with the API server every ten minutes. */
const AUDITED_WITHIN_MS = 630_000;
/** Kinds that say who may use which account. */
const PERMITTING: ReadonlySet<string> = new Set(['marketplaceaccounts', 'namespaces', 'gpuinstances']);
const DESTROY_PATH = /^\/api\/v0\/instances\/(\d+)\//;

/** Watches a simulated world after every step. The marketplace's own ledger is the oracle, never the operator. */
export class Invariants {
  readonly #scene: Scene;
  readonly #machines: MachineWatch;
  readonly #attempts: AttemptWatch;
  readonly #waste: WasteMeter;
  readonly #brake: BrakeWatch;
  readonly #pace: PaceWatch;
  readonly #secrets: SecretWatch;
  readonly #truth: TruthWatch;
  readonly #leaks: LeakWatch;
  readonly #groups: GroupWatch;
  readonly #records: RecordWatch;
  readonly #refusedDecisions: RefusedDecisionWatch;
  readonly #sweeps: SweepWatch;
  readonly #breaker: BreakerWatch;
  readonly #unrecorded: UnrecordedWatch;
  readonly #blindUntil = new WeakMap<Machine, number>();
  /** Processes that lost the lease: they end the calls that are under way, and may neither write nor destroy. */
  readonly #formerLeaders = new WeakSet<Machine>();
  readonly #workers: WorkerWatch;
  readonly #limits: LimitWatch;
  readonly #budgets: BudgetWatch;
  readonly #kept: KeptWatch;
  readonly #restraints: RestraintWatch;
  readonly #statuses: StatusWatch;
  readonly #serving: ServingWatch;
  readonly #permits: PermitWatch;
  readonly #suspension: SuspensionWatch;
  readonly #spending: SpendingWatch;
  readonly #keys: KeyWatch;
  readonly #idleSlots: IdleSlotWatch;
  readonly #idle: IdleWatch;
  readonly #runs: RunWatch;
  readonly #newest: NewestLists;
  readonly #money: MoneyWatch;
  #lastWriteAt = 0;
  /** Last report per name of an object. By name, because the memory check searches for UIDs. */
  readonly #reportedAt = new Map<string, number>();
  #isByPerson = false;

  constructor(world: SimulatedWorld, options: SceneOptions) {
    this.#scene = new Scene(world, options);
    this.#machines = new MachineWatch(this.#scene, (purchase) => this.#brake.began(purchase));
    this.#attempts = new AttemptWatch(this.#scene);
    this.#waste = new WasteMeter(this.#scene);
    this.#brake = new BrakeWatch(this.#scene);
    this.#pace = new PaceWatch(this.#scene);
    this.#secrets = new SecretWatch(this.#scene);
    this.#truth = new TruthWatch(this.#scene);
    this.#leaks = new LeakWatch(this.#scene);
    this.#groups = new GroupWatch(this.#scene);
    this.#records = new RecordWatch(this.#scene);
    this.#refusedDecisions = new RefusedDecisionWatch(this.#scene);
    this.#sweeps = new SweepWatch(this.#scene);
    this.#breaker = new BreakerWatch(this.#scene);
    this.#unrecorded = new UnrecordedWatch(this.#scene);
    this.#workers = new WorkerWatch(this.#scene);
    this.#limits = new LimitWatch(this.#scene);
    this.#budgets = new BudgetWatch(this.#scene);
    this.#kept = new KeptWatch(this.#scene);
    this.#restraints = new RestraintWatch(this.#scene);
    this.#statuses = new StatusWatch(this.#scene);
    this.#serving = new ServingWatch(this.#scene);
    this.#permits = new PermitWatch(this.#scene);
    this.#suspension = new SuspensionWatch(this.#scene);
    this.#spending = new SpendingWatch(this.#scene, [this.#permits, this.#suspension]);
    this.#keys = new KeyWatch(this.#scene);
    this.#idleSlots = new IdleSlotWatch(this.#scene);
    this.#idle = new IdleWatch(this.#scene);
    this.#runs = new RunWatch(this.#scene);
    this.#money = new MoneyWatch(this.#scene);
    this.#newest = new NewestLists(() => world.now);
    world.onList((machine, request, body) => this.listRead({ machine, request }, body));
    world.kube.store.onCommit((commit) => this.#onCommit(commit));
  }

  get violations(): readonly Violation[] {
    return this.#scene.violations;
  }

  /** Billed milliseconds per contract that was orphaned, surplus, or past a requested deletion. */
  get wastedMs(): ReadonlyMap<number, number> {
    return this.#waste.perContract();
  }

  /** Returns the time that a contract billed without need, per reason. */
  wasteOf(contract: number): Readonly<Partial<Record<Waste, number>>> {
    return this.#waste.reasonsOf(contract);
  }

  /** When something other than a lease or a paced report was last written to the cluster. */
  get lastWriteAt(): number {
    return this.#lastWriteAt;
  }

  /** Marks an object as edited by hand, so that promises about such states no longer apply. */
  markHandled(name: string): void {
    for (const [uid, object] of this.#scene.objects)
      if (calledOf(object) === name) this.#scene.markHandled(uid);
  }

  /** Records that the cluster is about to be restored to a moment before that object was created. */
  forgotten(name: string): void {
    this.markHandled(name);
    for (const [uid, object] of this.#scene.objects)
      if (calledOf(object) === name) this.#sweeps.forgotten(uid);
  }

  /** Records that a person removes all objects at once, the named ones by force. */
  removedInMass(byForce: readonly string[]): void {
    for (const name of byForce) this.markHandled(name);
    this.#runs.removedInMass();
    this.#waste.removedInMass(byForce.flatMap((name) => this.#uidsOf(name)));
  }

  #uidsOf(name: string): readonly string[] {
    return [...this.#scene.objects].flatMap(([uid, object]) => (calledOf(object) === name ? [uid] : []));
  }

  /** Machines of objects that do not work, and that their objects would replace. */
  badMachines(): number {
    return this.#breaker.badMachines();
  }

  /** Machines that carry our label and that no object claims. */
  orphans(): readonly number[] {
    return this.#sweeps.orphans();
  }

  /** Runs a person's write, which itself violates no promise; its consequences may. */
  byPerson(act: () => void): void {
    this.#isByPerson = true;
    act();
    this.#isByPerson = false;
  }

  /** Reports a violation that another oracle found. */
  report(invariant: string, text: string): void {
    this.#scene.broken(invariant, text);
  }

  isForeign(id: number): boolean {
    return this.#machines.isForeign(id);
  }

  /** Records that a person destroys that contract in the console. */
  destroyedElsewhere(id: number): void {
    this.#machines.destroyedElsewhere(id);
  }

  /** Records that the service hides that contract for longer than any proof takes. */
  hiddenFromProofs(id: number): void {
    this.#scene.world.has('labels');
    this.#machines.hiddenFromProofs(id);
  }

  /** Returns true if that machine outlives its object on purpose. */
  isKept(id: number): boolean {
    const contract = this.#scene.contracts()[id];
    return contract !== undefined && this.#scene.isKept(contract) && !this.#scene.ownerOf(contract);
  }

  /** Records that the person who rented that machine labels it in the console. */
  labelledElsewhere(id: number): void {
    this.#machines.labelledElsewhere(id);
  }

  /** Looks at everything that can be wrong now. */
  check(): void {
    if (this.#scene.refresh()) {
      this.#machines.changed();
      this.#waste.changed();
      this.#truth.changed();
      this.#groups.changed();
      this.#sweeps.changed();
      this.#unrecorded.changed();
      this.#limits.changed();
      this.#budgets.changed();
      this.#kept.changed();
      this.#runs.changed();
    }
    this.#machines.elapsed();
    this.#truth.elapsed();
    this.#leaks.elapsed();
    this.#unrecorded.elapsed();
    this.#workers.elapsed();
    this.#limits.elapsed();
    this.#budgets.elapsed();
    this.#idleSlots.elapsed();
    this.#idle.elapsed();
    this.#runs.elapsed();
    this.#serving.elapsed();
  }

  /** Returns true if exactly the desired machines exist. */
  isConverged(): boolean {
    this.check();
    return this.#shortfalls().length === 0;
  }

  /**
   * Reports every remaining shortfall as a violation. Call it after the faults have stopped and the recovery time has
   * passed.
   */
  checkConverged(): void {
    this.check();
    for (const { invariant, text } of [...this.#shortfalls(), ...this.#money.shortfalls()])
      this.#scene.broken(invariant, text);
  }

  #shortfalls(): readonly Shortfall[] {
    const { ownLimits } = this.#machines;
    const isBlockedByBrake = (uid: string) => this.#brake.isBlockedByBrake(uid);
    const hasFormerImage = (object: JsonObject) => this.#machines.hasFormerImage(object);
    const ofObjects = shortfallsOf(this.#scene, { isBlockedByBrake, ownLimits, hasFormerImage });
    return [
      ...ofObjects,
      ...this.#groups.shortfalls(),
      ...this.#serving.shortfalls(),
      ...this.#idle.shortfalls(),
      ...this.#runs.shortfalls(),
    ];
  }

  /** Returns true, and reports a violation of I11, if the cluster was written to after it had time to settle. */
  isUnsettledAfter(inTimeUntil: number): boolean {
    if (this.#lastWriteAt <= inTimeUntil) return false;
    this.#scene.broken('I11', 'the cluster was still written to after it had time to settle');
    return true;
  }

  /** Records a request of a process and its fate. */
  sent({ side, machine, request }: Call, fate: Fate): void {
    const misleads = hasWrongTime(fate) && fate.refusal === undefined && hasServiceTime(side, request);
    if (isHindrance(fate) || misleads) this.hindered();
    if (misleads) this.#timeDoubted();
    if (side === 'kube') {
      this.#workers.sent(machine, request);
      this.#refusedDecisions.sent(machine, request, fate);
      this.#secrets.writeSent(request);
      return;
    }
    this.#pace.sent(machine, request);
    this.#keys.sent(request);
    this.#spending.sent(machine, request);
    this.#limits.sent(machine, request);
    this.#budgets.sent(machine, request);
    this.#machines.changeSent(request);
    this.#idle.changeSent(request);
    const { method, path } = request;
    if (path.startsWith('/api/v0/asks/')) this.#secrets.rentSent(request.body ?? '');
    if (method === 'GET' && LIST_PATH.test(path)) this.#listSent(machine, this.#scene.loginOf(request), fate);
    else if (method === 'DELETE') this.#destroySent(machine, request, fate);
    else if (method === 'PUT' && path.startsWith('/api/v0/asks/')) this.#rentSent(machine, request, fate);
  }

  /** Records that a process has read a complete list response. */
  listRead({ machine, request }: Omit<Call, 'side'>, body: string): void {
    const shown = shownBy(body);
    const login = this.#scene.loginOf(request);
    const isBlind = this.#scene.now < (this.#blindUntil.get(machine) ?? 0);
    this.#newest.read(machine, request, shown);
    this.#breaker.listRead(machine, login, { shown, isBlind });
    this.#sweeps.listRead(login, shown);
    this.#idle.listRead(machine, shown);
  }

  /** Records that the wall clock of a process was set. */
  clockJumped(): void {
    this.#brake.clockJumped();
    this.#limits.clockJumped();
    this.#timeDoubted();
    this.hindered();
  }

  #timeDoubted(): void {
    this.#leaks.timeDoubted();
    this.#money.timeDoubted();
  }

  /** Records that the operator returns: it learns only now what happened while it was away. */
  returned(): void {
    this.hindered();
  }

  /** Records that the operator was reinstalled, perhaps with other flags. */
  installed(): void {
    this.#permits.changed();
    this.hindered();
  }

  /** Records that a process was delayed or misled by something other than a call. */
  hindered(): void {
    this.#truth.hindered();
    this.#leaks.hindered();
    this.#breaker.hindered();
    this.#unrecorded.hindered();
    this.#workers.hindered();
    this.#idleSlots.hindered();
    this.#serving.hindered();
    this.#money.hindered();
    this.#idle.disturbed();
  }

  /** Records that a watch lost an event: until the cache is audited, the process may not know an object. */
  missedEvent(machine: Machine, path: string): void {
    this.hindered();
    const until = this.#scene.now + AUDITED_WITHIN_MS;
    this.#idleSlots.blindUntil(until);
    const isOf = (resource: string) => path.includes(`/${resource}`);
    if (isOf('marketplaceaccounts') || isOf('gpuinstances'))
      this.#limits.blind(machine, { until, knowsAccounts: isOf('gpuinstances') });
    if (isOf('marketplaceaccounts')) this.#spending.blind(machine, until);
    if (isOf('marketplaceaccounts') || isOf('gpuinstances') || isOf('spendbudgets'))
      this.#budgets.blind(machine, until);
    if (isOf('gpuinstances')) this.#blindUntil.set(machine, until);
  }

  /** Records a log line of a process. Returns its text. */
  logged(machine: Machine, message: string, fields: LogFields | undefined): string {
    if (message === 'Lost the lease') this.#formerLeaders.add(machine);
    const text = loggedText(message, fields);
    this.#secrets.read(`the log of ${machine.name}`, text);
    return text;
  }

  /** Checks at the end that no metric contains a secret. */
  async checkMetrics(): Promise<void> {
    for (const { machine, registry } of this.#scene.world.processes) {
      this.#secrets.read(`the metrics of ${machine.name}`, await registry.expose());
    }
  }

  /**
   * Checks at the end that no process remembers objects deleted a while ago (I13), except those that lists still
   * show.
   */
  async checkMemory(): Promise<void> {
    const labels = Object.values(this.#scene.contracts()).map(({ label }) => label ?? '');
    const gone = this.#scene.gone.filter(
      ({ uid, at }) =>
        this.#scene.now - at > FORGET_WITHIN_MS && !labels.some((label) => label.includes(uid)),
    );
    if (gone.length === 0) return;
    const { objects, groups, budgets } = this.#scene;
    const standing = [objects, groups, budgets].flatMap((each) => [...each.values()].map(keyOf));
    // A worker that outlives its group stands under the group's name, which no new worker may take for its own.
    const isNamed = (key: string) => standing.some((other) => other === key || other.startsWith(`${key}-`));
    const names = gone.flatMap(({ uid, key }) => (isNamed(key) ? [uid] : [uid, key]));
    for (const name of await rememberedNames(names)) {
      this.#scene.broken('I13', `${name} is gone, and a process still remembers it`);
    }
  }

  #listSent(machine: Machine, login: number | undefined, { refusal }: Fate): void {
    if (refusal !== undefined && refusal.status >= 500) {
      this.#breaker.listFails(machine, login);
      return;
    }
    this.#breaker.answered(machine, login);
    this.#listed(machine, login);
  }

  #listed(machine: Machine, login: number | undefined): void {
    this.#limits.listed(machine);
    if (this.#formerLeaders.has(machine)) return;
    this.#idleSlots.listed(machine, login);
    if (this.#faultsInForce().length > 0) {
      this.hindered();
      return;
    }
    this.#leaks.listed(machine, login);
    if (this.#scene.now < (this.#blindUntil.get(machine) ?? 0)) return;
    this.#truth.listed(machine, login);
    this.#unrecorded.listed(machine, login);
  }

  #rentSent(machine: Machine, request: Call['request'], { refusal }: Fate): void {
    const { path, body = '' } = request;
    const purchase = purchaseIn(body);
    if (!purchase) return;
    const inputs = inputBytes(body);
    if (inputs > MAX_INPUT_BYTES)
      this.#scene.broken('I15', `a machine is asked for with ${inputs} bytes of environment and script`);
    const offer = Number(path.split('/')[4]);
    const isRefused = (refusal !== undefined && refusal.status < 500) || this.#isMarketFaulty('rent');
    const login = this.#scene.loginOf(request);
    this.#idleSlots.rentSent(login);
    this.#runs.rentSent(purchase);
    this.#attempts.rentSent(machine, { offer, login, isRefused }, purchase);
    this.#limits.rentSent(machine, purchase);
    this.#budgets.rentSent(machine, purchase);
    this.#spending.rentSent(machine, purchase);
    this.#brake.rentSent(purchase);
    this.#machines.rentSent(purchase);
    this.#sweeps.rentSent(purchase);
    this.#scene.rentSent(offer, purchase);
  }

  #faultsInForce(): readonly ActiveFault[] {
    const { tables, now } = this.#scene.world.market.store.current();
    return Object.values(tables.faults).filter(({ expiresAt }) => expiresAt === null || expiresAt > now);
  }

  /** Returns true if a configured fault may affect the next call of that kind. */
  #isMarketFaulty(endpoint: string): boolean {
    return this.#faultsInForce().some((fault) => fault.endpoint === null || fault.endpoint === endpoint);
  }

  #destroySent(machine: Machine, request: Call['request'], { crash, loseRequest, refusal }: Fate): void {
    const id = Number(DESTROY_PATH.exec(request.path)?.[1]);
    if (Number.isNaN(id)) return;
    this.#kept.destroySent(id);
    this.#money.destroySent(id);
    this.#budgets.destroySent(id);
    this.#idle.destroySent(id);
    this.#runs.destroySent(id);
    this.#leaks.destroySent(id);
    this.#machines.destroySent(id, { isListedRunning: this.#newest.showRunning(machine, request, id) });
    this.#sweeps.destroySent(id, { machine, isBreakerOpen: this.#breaker.isOpenFor(machine, id) });
    const arrives = crash !== 'before' && loseRequest !== true && refusal === undefined;
    this.#breaker.destroySent(machine, id, { isByLimit: this.#machines.isEndedByLimits(id), arrives });
  }

  /** Returns true if a write reports another search without result, or more spending; at most one a minute is allowed. */
  #isPacedReport({ kind, object }: Commit): boolean {
    if (kind.plural !== 'spendbudgets' && !waitsForOffers(this.#scene, object)) return false;
    const name = nameOf(object);
    const before = this.#reportedAt.get(name) ?? Number.NEGATIVE_INFINITY;
    this.#reportedAt.set(name, this.#scene.now);
    return this.#scene.now - before >= 60_000;
  }

  #onCommit(commit: Commit): void {
    const { kind, object, type } = commit;
    if (kind.plural !== 'leases') {
      if (!this.#isPacedReport(commit)) this.#lastWriteAt = this.#scene.now;
      this.#scene.world.note(`cluster: ${type} ${kind.plural} ${nameOf(object)} at ${commit.revision}`);
    }
    if (kind.plural === 'secrets') this.#secrets.stored(object);
    else this.#secrets.read(`${kind.plural} ${nameOf(object)}`, textOf(object));
    if (kind.plural === 'endpointslices') {
      this.#workers.sliceWritten(object, type !== 'DELETED');
      this.#serving.sliceWritten(object, type !== 'DELETED');
    }
    const uid = String(metadataOf(object)['uid']);
    const before = this.#scene.objects.get(uid);
    const groupBefore = this.#scene.groups.get(uid);
    this.#scene.committed(commit);
    this.#keys.committed(commit);
    this.#budgets.committed(commit);
    this.#kept.committed(commit);
    this.#machines.committed(commit);
    if (PERMITTING.has(kind.plural)) this.#permits.changed();
    if (kind.plural === 'marketplaceaccounts') this.#suspension.committed(object, type !== 'DELETED');
    if (kind.plural === 'gpuinstances' && !this.#isByPerson) this.#permits.written(object);
    if (kind.group === 'gpurental.dev' && type !== 'DELETED' && !this.#isByPerson)
      this.#statuses.written(object);
    if (kind.plural === 'endpointgroups' && type === 'DELETED') this.#groups.released(uid, object);
    else if (groupBefore) this.#workers.groupRewritten(groupBefore, object);
    if (kind.plural !== 'gpuinstances') return;
    if (type === 'DELETED') {
      this.#breaker.removed(object);
      this.#machines.released(uid, object);
      this.#sweeps.released(uid, object);
      this.#serving.released(object);
      return;
    }
    this.#brake.rewritten(uid, object);
    this.#money.rewritten(object);
    this.#breaker.rewritten(uid, object);
    if (!before || this.#isByPerson || this.#scene.isHandled(uid)) return;
    this.#breaker.gaveUp(before, object);
    this.#records.rewritten(before, object);
    this.#restraints.rewritten(before, object);
    this.#idle.rewritten(before, object);
    this.#runs.rewritten(before, object);
    this.#workers.rewritten(before, object);
    this.#attempts.rewritten(before, object);
  }
}

/** Returns true if a call fails, or arrives too late to be of use. */
function isHindrance(fate: Fate): boolean {
  const { loseRequest, loseResponse, lateMs, refusal, crash } = fate;
  return (
    [loseRequest, loseResponse, lateMs, refusal, crash].some((each) => each !== undefined) ||
    fate.requestMs + fate.responseMs > SLOW_MS
  );
}

/** Returns true for calls whose successful replies show machines: only those give a process the service's time (H2). */
function hasServiceTime(side: Call['side'], { method, path }: Call['request']): boolean {
  return side === 'market' && method === 'GET' && INSTANCES_PATH.test(path);
}

function hasWrongTime({ dateOffMs, ageSeconds }: Fate): boolean {
  return dateOffMs !== undefined || ageSeconds !== undefined;
}

function purchaseIn(body: string): Purchase | undefined {
  const request: unknown = JSON.parse(body);
  const label = isObject(request) ? textAt(request, 'label') : undefined;
  return label === undefined ? undefined : readPurchase(label);
}
