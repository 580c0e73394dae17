import type { MarketplaceAccount, MarketplaceAccountStatus } from '../api/v1alpha1/marketplace-account.ts';
import { marketplaceAccountResource } from '../api/v1alpha1/names.ts';
import { monthName } from '../instance/cost.ts';
import { recentRentals, rentalTimes } from '../instance/rentals.ts';
import { inBackground } from '../lib/background.ts';
import { type Clock, sleep } from '../lib/clock.ts';
import { formatDollars, type MicroDollars, parseDollars } from '../lib/money.ts';
import { counted } from '../lib/plural.ts';
import { formatTime } from '../lib/time.ts';
import type { KubeClient } from '../runtime/kube/kube-client.ts';
import { recordStatus } from '../runtime/writes.ts';

/** Spending of a deleted object, which limits of its account still count. */
export interface DeletedInstance {
  readonly uid: string;
  /** Epoch milliseconds of its rentals within the last hour. */
  readonly rentals: readonly number[];
  /** Cost of its machines in the current UTC month. */
  readonly spentThisMonth: MicroDollars;
  /** Epoch milliseconds at which its newest intent was issued; undefined if it never rented. */
  readonly newestRentalAt: number | undefined;
  /** Ids of its machines that the operator destroyed. */
  readonly destroyed?: readonly string[] | undefined;
}

/** A machine left running or stopped on purpose, whose label could not be changed to record that. */
export interface RetainedMachine {
  readonly instanceId: string;
  readonly objectUid: string;
  /** namespace/name of the object it belonged to. */
  readonly owner: string;
  readonly policy: 'Stop' | 'Retain';
  readonly pricePerHour: MicroDollars | undefined;
}

/** An orphan that a sweep is about to destroy. */
export interface SweptMachine {
  readonly instanceId: string;
  /** Epoch milliseconds. */
  readonly at: number;
}

/** Records of controllers in the status of an account. No key is needed. */
export type AccountStatusWriter = Pick<StatusWriter, 'recordDeleted' | 'recordRetained' | 'recordSwept'>;

/** A change of an account's status that must not be lost: from the newest status to the one to write. */
type StatusChange = (status: MarketplaceAccountStatus) => MarketplaceAccountStatus;

interface Waiting {
  /** Adds the spending of a deleted object to that of others before the write. */
  readonly change: StatusChange | DeletedInstance;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** Account by uid, or by name. */
export interface StatusWriterRef {
  readonly namespace: string;
  readonly name: string;
  /**
   * Undefined if no cache has the account. A cache that missed its event must not make the account lose the change.
   */
  readonly uid: string | undefined;
}

const ATTEMPTS = 8;
const HOUR_MS = 3_600_000;
/**
 * Maximum number of changes per write. If the process ends after a write and before the deletions, these changes
 * count twice.
 */
const MAX_BATCH = 64;
const MAX_RENTALS = 1000;
const MAX_RETAINED = 256;
const MAX_SWEPT = 256;
const MAX_DESTROYED = 256;

/**
 * Writes records into the status of one account, durable when a call resolves. Changes that arrive while a write is
 * under way go into the next one together, so that a thousand deletions are a score of writes.
 */
export class StatusWriter {
  readonly #client: KubeClient;
  readonly #clock: Clock;
  readonly #spendingTime: () => number;
  readonly #ref: StatusWriterRef;
  readonly #onWritten: (account: MarketplaceAccount) => void;
  readonly #waiting: Waiting[] = [];
  #writing = false;

  constructor(options: {
    readonly client: KubeClient;
    readonly clock: Clock;
    /** Returns the time that determines the month of the spending. */
    readonly spendingTime: () => number;
    readonly ref: StatusWriterRef;
    /** Called after each write, so that caches are known to be behind. */
    readonly onWritten: (account: MarketplaceAccount) => void;
  }) {
    this.#client = options.client;
    this.#clock = options.clock;
    this.#spendingTime = options.spendingTime;
    this.#ref = options.ref;
    this.#onWritten = options.onWritten;
  }

  /**
   * Records what a deleted object rented and spent. Await it before the finalizer is removed, and call it once for an
   * object: if the process ends in between, the spending may count twice, and limits refuse earlier.
   */
  recordDeleted(deleted: DeletedInstance): Promise<void> {
    return this.#enqueue(deleted);
  }

  /**
   * Lists the machine in `status.retained`, so that no sweep destroys it. Rejects with a RangeError if the list is full.
   */
  recordRetained(machine: RetainedMachine): Promise<void> {
    return this.write(withRetained(machine, this.#clock.now()));
  }

  /** Counts the destroy of an orphan among those of the last hour, once for a machine. */
  recordSwept(machine: SweptMachine): Promise<void> {
    return this.write(withSwept(machine));
  }

  /** Resolves when the change is written, or when the account was deleted. */
  write(change: StatusChange): Promise<void> {
    return this.#enqueue(change);
  }

  #enqueue(change: Waiting['change']): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ change, resolve, reject });
      if (!this.#writing) this.#startDraining();
    });
  }

  #startDraining(): void {
    const object = `${this.#ref.namespace}/${this.#ref.name}`;
    inBackground(
      { task: 'account record', object },
      () => this.#drain(),
      (error) => {
        this.#writing = false;
        for (const waiting of this.#waiting.splice(0)) waiting.reject(error);
      },
    );
  }

  async #drain(): Promise<void> {
    this.#writing = true;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, MAX_BATCH);
      try {
        await this.#writeAll(this.#merged(batch));
        for (const waiting of batch) waiting.resolve();
      } catch (error) {
        for (const waiting of batch) waiting.reject(error);
      }
    }
    this.#writing = false;
  }

  #merged(batch: readonly Waiting[]): readonly StatusChange[] {
    const changes: StatusChange[] = [];
    const deleted: DeletedInstance[] = [];
    for (const { change } of batch) {
      if (typeof change === 'function') changes.push(change);
      else deleted.push(change);
    }
    if (deleted.length === 0) return changes;
    const month = monthName(this.#spendingTime());
    return [...changes, withDeletedInstances(deleted, { month, now: this.#clock.now() })];
  }

  async #writeAll(changes: readonly StatusChange[]): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      const account = await this.#client.get<MarketplaceAccount>(marketplaceAccountResource, this.#ref);
      const { uid } = this.#ref;
      if (!account || (uid !== undefined && account.metadata.uid !== uid)) return;
      const status = changes.reduce((before, change) => change(before), account.status ?? {});
      const resource = marketplaceAccountResource;
      const write = await recordStatus({ client: this.#client, resource, object: account, status });
      if (write.type === 'written') this.#onWritten(write.object);
      if (write.type !== 'conflict') return;
      if (attempt >= ATTEMPTS) throw write.error;
      await sleep(this.#clock, 20 * attempt);
    }
  }
}

/**
 * Adds the spending of deleted objects to the sums of their account. `month`: that of `spentThisMonth`; `now`: epoch
 * milliseconds by the clock that dates rentals.
 */
export function withDeletedInstances(
  deleted: readonly DeletedInstance[],
  { month, now }: { readonly month: string; readonly now: number },
): StatusChange {
  const left = deleted.flatMap(({ rentals }) => rentals);
  const spent = deleted.reduce((sum, { spentThisMonth }) => sum + spentThisMonth, 0);
  const destroyed = new Set(deleted.flatMap(({ destroyed = [] }) => destroyed));
  return (status) => {
    const before = status.deletedObjects;
    const spentBefore = before?.month === month ? (parseDollars(before.spent) ?? 0) : 0;
    const rentals = recentRentals([...rentalTimes(before), ...left], now)
      .toSorted((a, b) => a - b)
      .slice(-MAX_RENTALS);
    const issued = deleted.map(({ newestRentalAt }) => newestRentalAt ?? 0);
    const others = (before?.machines ?? []).filter((id) => !destroyed.has(id));
    const machines = [...others, ...destroyed].slice(-MAX_DESTROYED);
    const newest = Math.max(Date.parse(status.lastRentalAt ?? '') || 0, ...issued);
    return {
      ...status,
      deletedObjects: {
        month,
        spent: formatDollars(spentBefore + spent),
        rentals: rentals.map(formatTime),
        ...(machines.length > 0 && { machines }),
      },
      ...(newest > 0 ? { lastRentalAt: formatTime(newest) } : {}),
    };
  };
}

/** Lists a machine as kept on purpose. */
export function withRetained(machine: RetainedMachine, now: number): StatusChange {
  return (status) => {
    const others = (status.retained ?? []).filter((entry) => entry.instanceId !== machine.instanceId);
    if (others.length >= MAX_RETAINED) {
      throw new RangeError(
        `the account already lists ${counted(others.length, 'retained machine')}; destroy some of them at the marketplace first`,
      );
    }
    const { instanceId, owner, policy, pricePerHour } = machine;
    const entry = {
      instanceId,
      owner,
      ownerUid: machine.objectUid,
      since: formatTime(now),
      policy,
      ...(pricePerHour === undefined ? {} : { pricePerHour: formatDollars(pricePerHour) }),
    };
    return { ...status, retained: [...others, entry] };
  };
}

/** Counts a machine among those that sweeps destroyed within the last hour. A retried destroy counts once. */
export function withSwept({ instanceId, at }: SweptMachine): StatusChange {
  return (status) => {
    const recent = (status.orphansSwept ?? []).filter((entry) => at - Date.parse(entry.at) < HOUR_MS);
    if (recent.some((entry) => entry.instanceId === instanceId)) return status;
    return {
      ...status,
      orphansSwept: [...recent, { instanceId, at: formatTime(at) }].slice(-MAX_SWEPT),
    };
  };
}
