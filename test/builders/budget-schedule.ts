import type { AccountObjects } from '../../src/accounts/account-objects.ts';
import { listedObjects } from '../../src/accounts/account-objects.ts';
import { Admission, type StartDecision, type Ticket } from '../../src/accounts/admission.ts';
import { NamespaceBudgets } from '../../src/accounts/namespace-budgets.ts';
import { OfferReservations } from '../../src/accounts/pending-rentals.ts';
import { sumAccount } from '../../src/accounts/spend-limits.ts';
import { API_VERSION } from '../../src/api/v1alpha1/names.ts';
import { type SpendBudget, spendBudgetSpec } from '../../src/api/v1alpha1/spend-budget.ts';
import type { InstanceSummary } from '../../src/instance/summary.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { formatDollars, parseDollars } from '../../src/lib/money.ts';
import { seededRandom } from '../../src/lib/random.ts';
import { instanceSummary } from './instance-summary.ts';

const CENT = 10_000;
const NAMESPACES = ['red', 'blue'];
const ACCOUNTS = 3;
const OBJECTS = 7;
const STEPS = 60;
const CEILING = 1_000_000_000;
const DISK = CENT;

/** An object, what the marketplace bills for it, and what the records of the cluster show. */
interface Modelled {
  readonly uid: string;
  readonly namespace: string;
  readonly account: number;
  /** The most that one machine of the object may cost. */
  readonly maxPrice: number;
  state: 'none' | 'ticket' | 'calling' | 'rented' | 'saved' | 'stopped' | 'starting';
  /** Hourly cost at the marketplace, or of the machine that a call in progress may come to. */
  billed: number;
  /** Price of the machine while it runs; undefined if no reply names it. */
  price: number | undefined;
  record: InstanceSummary;
  ticket: Ticket | undefined;
  start: Extract<StartDecision, { type: 'permitted' }> | undefined;
  /** Cost of a machine that still bills, and whose room the process has given to its replacement. */
  excused: number;
}

export interface ScheduleResult {
  /** The first moment at which a namespace costs more than its budgets allow. */
  readonly broken: string | undefined;
  readonly granted: number;
  readonly refused: number;
}

/** Plays random rentals, starts, replacements and restarts of several accounts against the budgets of two namespaces. */
export function playBudgetSchedule(seed: number): ScheduleResult {
  const schedule = new BudgetSchedule(seed);
  for (let step = 0; step < STEPS; step++) {
    schedule.step();
    const broken = schedule.broken();
    if (broken) return { ...schedule, broken: `seed ${seed}, step ${step}: ${broken}` };
  }
  return { ...schedule, broken: undefined };
}

class BudgetSchedule {
  granted = 0;
  refused = 0;
  readonly #random;
  #now = Date.UTC(2026, 10, 12);
  readonly #objects: readonly Modelled[];
  readonly #budgets = new Map<string, readonly SpendBudget[]>();
  #admissions: (Admission | undefined)[] = [];
  #fault: string | undefined;
  #offers = 0;

  constructor(seed: number) {
    this.#random = seededRandom(seed);
    for (const namespace of NAMESPACES) this.#budgets.set(namespace, this.#someBudgets(namespace));
    this.#objects = Array.from({ length: OBJECTS }, (_, index) => this.#someObject(index));
    this.#restart();
  }

  /** Returns an integer below `bound`. */
  #below(bound: number): number {
    return Math.floor(this.#random.next() * bound);
  }

  #someBudgets(namespace: string): readonly SpendBudget[] {
    return Array.from({ length: this.#below(3) }, (_, index) => {
      const hasHour = this.#below(3) > 0;
      const hasMonth = !hasHour || this.#below(2) === 0;
      const spec = spendBudgetSpec.parse({
        ...(hasHour && { perHour: formatDollars((50 + this.#below(400)) * CENT) }),
        ...(hasMonth && { perMonth: formatDollars((500 + this.#below(1_500)) * CENT) }),
        ...(this.#below(5) === 0 && { action: 'Report' }),
      });
      return {
        apiVersion: API_VERSION,
        kind: 'SpendBudget',
        metadata: { namespace, name: `b${index}`, generation: 1 },
        spec,
      };
    });
  }

  #someObject(index: number): Modelled {
    const namespace = NAMESPACES[this.#below(NAMESPACES.length)] ?? '';
    const uid = `u${index}`;
    const maxPrice = (20 + this.#below(200)) * CENT;
    return {
      ...{ uid, namespace, maxPrice, account: this.#below(ACCOUNTS) },
      ...{ state: 'none', billed: 0, price: undefined, ticket: undefined, start: undefined, excused: 0 },
      record: instanceSummary({
        ...{ uid, maxPrice, key: `${namespace}/${uid}` },
        spentThisMonth: this.#below(200) * CENT,
      }),
    };
  }

  readonly #clock: Clock = {
    now: () => this.#now,
    monotonic: () => this.#now,
    setTimer: () => ({ cancel() {} }),
  };

  readonly #gate = new NamespaceBudgets({
    clock: this.#clock,
    settings: { maxDollarsPerHour: CEILING },
    budgets: (namespace) => this.#budgets.get(namespace) ?? [],
    objects: (namespace) => this.#recordsOf(namespace, (object) => object.namespace === namespace),
    admissions: () => this.#admissions.flatMap((admission) => admission ?? []),
    monthCost: (namespace) => this.#spent(namespace),
  });

  /** Records by whom they were read for, kept until the next step. */
  readonly #read = new Map<string | number, AccountObjects>();

  #recordsOf(reader: string | number, counts: (object: Modelled) => boolean): AccountObjects {
    const known =
      this.#read.get(reader) ?? listedObjects(this.#objects.filter(counts).map(({ record }) => record));
    this.#read.set(reader, known);
    return known;
  }

  #admission(account: number): Admission {
    return new Admission({
      clock: this.#clock,
      budgets: this.#gate,
      queue: {
        takeSlot: () => ({ endpointClass: 'rent', expiresAt: Number.POSITIVE_INFINITY, release() {} }),
        slotEnded() {},
      },
      reservations: new OfferReservations(this.#clock),
      settings: { maxRentalsPerHour: 1_000, maxLiveMachines: 1_000, maxDollarsPerHour: CEILING },
      limits: () => ({}),
      refusal: () => undefined,
      isSuspended: () => false,
      labelEcho: () => 'echoed',
      isLoginRenting: () => false,
      objects: () => this.#recordsOf(account, (object) => object.account === account),
      sums: (objects, { instead, pending }) =>
        sumAccount({
          ...{ objects: objects.sums(this.#now, instead), pending, deleted: undefined },
          ...{ credit: undefined, now: this.#now, month: '2026-11' },
        }),
    });
  }

  /** Replaces the process: what only memory knew is lost. */
  #restart(): void {
    this.#admissions = Array.from({ length: ACCOUNTS }, (_, account) => this.#admission(account));
    for (const object of this.#objects) this.#forget(object);
  }

  #forget(object: Modelled): void {
    if (object.state === 'ticket') object.state = 'none';
    object.ticket = undefined;
    object.start = undefined;
  }

  /** Loses the session of an account, or opens it again. */
  #reconnect(account: number): void {
    const isOpen = this.#admissions[account] !== undefined;
    this.#admissions[account] = isOpen ? undefined : this.#admission(account);
    for (const object of this.#objects) if (object.account === account) this.#forget(object);
  }

  step(): void {
    this.#read.clear();
    const object = this.#objects[this.#below(OBJECTS)];
    const chance = this.#below(40);
    if (chance === 0) this.#restart();
    else if (chance === 1) this.#reconnect(this.#below(ACCOUNTS));
    else if (chance < 6) this.#now += this.#below(4_000);
    else if (object) this.#move(object);
  }

  #move(object: Modelled): void {
    const admission = this.#admissions[object.account];
    switch (object.state) {
      case 'none':
        if (admission) this.#rent(object, admission);
        return;
      case 'ticket':
        this.#call(object);
        return;
      case 'calling':
        this.#answer(object);
        return;
      case 'rented':
        this.#save(object);
        return;
      case 'saved':
        if (this.#below(3) === 0 && admission) this.#replace(object, admission);
        else if (this.#below(2) === 0) this.#stop(object);
        else this.#end(object);
        return;
      case 'stopped':
        if (admission) this.#start(object, admission);
        return;
      case 'starting':
        this.#started(object);
    }
  }

  #rent(object: Modelled, admission: Admission): void {
    const price = this.#below(4) === 0 ? undefined : (1 + this.#below(object.maxPrice / CENT)) * CENT;
    const { uid: objectUid, namespace } = object;
    const ticket = admission.request({
      ...{ objectUid, namespace, generation: 1, wake() {} },
      ...{ offerId: String(this.#offers++), pricePerHour: price },
    });
    this.#count(object, ticket.type === 'ticket', price);
    if (ticket.type !== 'ticket') return;
    Object.assign(object, { state: 'ticket', price, ticket });
  }

  /** Counts an answer. A grant beyond a month's budget is a fault, by what the marketplace bills now. */
  #count({ namespace, excused }: Modelled, isGranted: boolean, price: number | undefined): void {
    if (!isGranted) {
      this.refused++;
      return;
    }
    this.granted++;
    const hour = this.#billed(namespace) + (price ?? 0) - this.#excused(namespace) - excused;
    for (const { spec } of this.#blocking(namespace)) {
      const perMonth = parseDollars(spec.perMonth) ?? Number.POSITIVE_INFINITY;
      if (this.#spent(namespace) + hour > perMonth) this.#fault = `a grant passes perMonth of ${namespace}`;
    }
  }

  /** Writes the intent and sends the call. */
  #call(object: Modelled): void {
    object.record = { ...object.record, hasOpenIntent: true, newestRentalAt: this.#now };
    if (object.ticket?.use() !== true) {
      this.#close(object);
      return;
    }
    object.state = 'calling';
    object.billed = object.price ?? (1 + this.#below(object.maxPrice / CENT)) * CENT;
  }

  #close(object: Modelled): void {
    object.ticket?.settle({ rented: false });
    object.record = { ...object.record, hasOpenIntent: false };
    Object.assign(object, { state: 'none', billed: 0, excused: 0 });
  }

  #answer(object: Modelled): void {
    const outcome = this.#below(4);
    if (outcome === 0) {
      this.#close(object);
      return;
    }
    object.ticket?.settle({ rented: outcome === 1 ? 'unknown' : true });
    object.state = 'rented';
  }

  #save(object: Modelled): void {
    const { price, billed, maxPrice } = object;
    object.record = {
      ...object.record,
      ...{ hasOpenIntent: false, hasOpenStart: false, instanceId: `m-${object.uid}` },
      // An unknown price is recorded as 0 if the spec has no limit.
      ...(price === undefined
        ? { hasUnknownPrice: true, pricePerHour: this.#below(2) * maxPrice }
        : { hasUnknownPrice: false, pricePerHour: billed }),
    };
    object.state = 'saved';
  }

  #stop(object: Modelled): void {
    object.billed = DISK;
    object.record = { ...object.record, hasUnknownPrice: false, pricePerHour: DISK };
    object.state = 'stopped';
  }

  #start(object: Modelled, admission: Admission): void {
    const { uid: objectUid, namespace } = object;
    object.record = { ...object.record, hasOpenStart: true, offerPrice: object.price };
    this.#read.clear();
    const start = admission.requestStart({
      ...{ objectUid, namespace },
      ...{ pricePerHour: object.price, timeoutMs: 600_000 },
    });
    this.#count(object, start.type === 'permitted', Math.max(0, (object.price ?? 0) - DISK));
    if (start.type !== 'permitted') {
      object.record = { ...object.record, hasOpenStart: false };
      return;
    }
    object.billed = object.price ?? (1 + this.#below(object.maxPrice / CENT)) * CENT;
    // A machine that starts is not replaced.
    Object.assign(object, { state: 'starting', start, excused: 0 });
  }

  #started(object: Modelled): void {
    if (this.#below(4) === 0) {
      object.start?.settle({ started: false });
      object.record = { ...object.record, hasOpenStart: false };
      object.excused = 0;
      object.billed = DISK;
      object.state = 'stopped';
      return;
    }
    object.start?.settle({ started: true });
    this.#save(object);
  }

  #replace(object: Modelled, admission: Admission): void {
    const { uid: objectUid, namespace, maxPrice } = object;
    const pricePerHour = (1 + this.#below(maxPrice / CENT)) * CENT;
    const offerId = String(this.#offers++);
    const fits = admission.requestReplacement({ objectUid, namespace, offerId, pricePerHour });
    if (fits.type !== 'fits') return;
    // Others may rent into the room of a machine that is about to end.
    object.excused = object.billed;
    if (this.#below(2) === 0) this.#end(object);
  }

  #end(object: Modelled): void {
    object.record = {
      ...object.record,
      ...{ instanceId: undefined, pricePerHour: 0, hasUnknownPrice: false },
    };
    Object.assign(object, { state: 'none', billed: 0, excused: 0, price: undefined });
  }

  #of(namespace: string): readonly Modelled[] {
    return this.#objects.filter((object) => object.namespace === namespace);
  }

  #billed(namespace: string): number {
    return this.#of(namespace).reduce((sum, { billed }) => sum + billed, 0);
  }

  #excused(namespace: string): number {
    return this.#of(namespace).reduce((sum, { excused }) => sum + excused, 0);
  }

  #spent(namespace: string): number {
    return this.#of(namespace).reduce((sum, { record }) => sum + record.spentThisMonth, 100 * CENT);
  }

  #blocking(namespace: string): readonly SpendBudget[] {
    return (this.#budgets.get(namespace) ?? []).filter(({ spec }) => spec.action === 'Block');
  }

  broken(): string | undefined {
    if (this.#fault) return this.#fault;
    for (const namespace of NAMESPACES) {
      const billed = this.#billed(namespace) - this.#excused(namespace);
      for (const { metadata, spec } of this.#blocking(namespace)) {
        const perHour = parseDollars(spec.perHour) ?? Number.POSITIVE_INFINITY;
        if (billed > perHour)
          return `${namespace} bills $${formatDollars(billed)}/h, ${metadata.name} allows $${spec.perHour}`;
      }
    }
    return undefined;
  }
}
