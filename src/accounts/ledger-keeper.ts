import type { GpuInstance } from '../api/v1alpha1/gpu-instance.ts';
import { labels as labelNames, OPERATOR_NAME } from '../api/v1alpha1/names.ts';
import { accountKey, accountRefOf } from '../instance/account-ref.ts';
import { monthEnd, monthName } from '../instance/cost.ts';
import { isLedgerKey, type LedgerData } from '../ledger/codec.ts';
import type { Counted } from '../ledger/entry.ts';
import {
  countedMachines,
  type Ledger,
  type Month,
  type MonthEntry,
  presentMonth,
  withEntries,
} from '../ledger/ledger.ts';
import { closedEntries, endedEntries, type MachineEnd, shownMachines } from '../ledger/machine-cost.ts';
import { LEDGER_NAMES } from '../ledger/names.ts';
import { keptLedger, readLedger, storedForm } from '../ledger/storage.ts';
import { inBackground } from '../lib/background.ts';
import { type Clock, sleep, type Timer } from '../lib/clock.ts';
import { withDeadline } from '../lib/deadline.ts';
import { sameJson } from '../lib/json.ts';
import type { Logger } from '../lib/logger.ts';
import { configMapResource } from '../runtime/kube/core-resources.ts';
import type { KubeClient } from '../runtime/kube/kube-client.ts';
import { isKubeError } from '../runtime/kube/kube-error.ts';
import { type KubeObject, objectKey } from '../runtime/kube/kube-object.ts';
import type { Change } from '../runtime/list-watch/object-store.ts';

/** The part of an informer that the ledger follows. */
interface InstanceSource {
  list(): readonly GpuInstance[];
  get(key: string): GpuInstance | undefined;
  onChange(listener: (change: Change<GpuInstance>) => void): () => void;
}

export interface LedgerKeeperOptions {
  readonly client: Pick<KubeClient, 'get' | 'create' | 'patch'>;
  /** Namespace of the operator, which has the ConfigMaps. */
  readonly namespace: string;
  readonly instances: InstanceSource;
  /** Names of the labels of objects that entries keep. */
  readonly labels: readonly string[];
  /** Number of months to keep. */
  readonly months: number;
  readonly clock: Clock;
  /** Returns the time (epoch milliseconds) until which the machines of an account, or of all, have cost something. */
  readonly spendingTime: (account?: string) => number;
  readonly log: Logger;
}

/** The ledger as this process knows it. */
export interface LedgerView {
  readonly ledger: Ledger;
  /** Newest record of each machine, by key. */
  readonly counted: ReadonlyMap<string, Counted>;
  /** Names of the labels that entries keep. */
  readonly labels: readonly string[];
}

/** Record of a machine that must not be lost with its object. */
export interface LedgerRecords {
  /**
   * Adds the machines of an object that is deleted, the present one with its end. Resolves when they are stored, or
   * were before. Rejects with a KubeError if they cannot be stored.
   */
  recordDeleted(instance: GpuInstance, end: MachineEnd): Promise<void>;
}

interface Waiting {
  readonly instance: GpuInstance;
  readonly end: MachineEnd;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

interface ConfigMap extends KubeObject {
  readonly data?: LedgerData;
}

/** Minimum time between two writes. Changes in between are written together. */
const WRITE_INTERVAL_MS = 3_000;
const RETRY_MS = 10_000;
/** Time between two reads of the ConfigMaps, if nothing else is due: 13 calls an hour. */
const READ_INTERVAL_MS = 3_600_000;
const FLUSH_MS = 5_000;
/** Lists date the end of a machine later than it ended; until then its month stays open. */
export const CLOSE_AFTER_MS = 15 * 60_000;
const CONFLICT_TRIES = 4;

/**
 * Keeps the ledger in ConfigMaps while this process leads: machines of deleted objects on request; ended machines and
 * months of running machines by following the objects. It is level-triggered: it adds each missing machine once by
 * its key, so a crash or a missed event loses and duplicates nothing. Each write uses the resource version that was
 * read.
 */
export class LedgerKeeper implements LedgerRecords {
  readonly name = 'ledger';
  readonly #options: LedgerKeeperOptions;
  readonly #waiting: Waiting[] = [];
  /** Keys of objects that may have something to add. */
  readonly #touched = new Set<string>();
  /** Versions and contents of the ConfigMaps, as last read or written. */
  readonly #stored = new Map<string, { readonly version: string; readonly data: LedgerData }>();
  #view: LedgerView;
  /** False until the first read. */
  #isRead = false;
  /** True if the ConfigMaps are read before the next write: another writer may have changed them. */
  #mustRead = true;
  /** ConfigMaps that a person deleted, until they are created again. */
  readonly #deleted = new Map<string, LedgerData>();
  #leave: (() => void) | undefined;
  #isRunning = false;
  /** The newest run, which may have ended. */
  #running: Promise<void> = Promise.resolve();
  #writtenAt = Number.NEGATIVE_INFINITY;
  #timer: Timer | undefined;

  constructor(options: LedgerKeeperOptions) {
    this.#options = options;
    this.#view = { ledger: new Map(), counted: new Map(), labels: options.labels };
  }

  /** Follows the objects. The first read of the ConfigMaps begins at once; no controller waits for it. */
  start(): void {
    const { instances } = this.#options;
    this.#touchAll();
    this.#leave = instances.onChange(({ type, key, object }) => {
      this.#touched.add(key);
      if (type === 'deleted') this.#recordLost(object);
      this.#wake();
    });
    this.#wake();
  }

  /**
   * Stops following, after a last read and write: lines of a ConfigMap that a person deleted since the last read exist
   * in this process only.
   */
  async stop(): Promise<void> {
    this.#mustRead = this.#mustRead || this.#isRead;
    this.#wake();
    this.#leave?.();
    this.#leave = undefined;
    this.#timer?.cancel();
    const { clock, log } = this.#options;
    try {
      await withDeadline({ clock, limitMs: FLUSH_MS }, () => this.#running);
    } catch (error) {
      log.warn('Ledger was not written in time', { error });
    }
  }

  /** Returns the ledger; undefined until it was read. */
  view(): LedgerView | undefined {
    return this.#isRead ? this.#view : undefined;
  }

  recordDeleted(instance: GpuInstance, end: MachineEnd): Promise<void> {
    return new Promise((resolve, reject) => {
      if (!this.#leave) reject(new Error('the ledger is not kept by this process now'));
      this.#waiting.push({ instance, end, resolve, reject });
      this.#wake();
    });
  }

  /** Adds the machines of an object whose finalizer a person removed: its controller did not record it. */
  #recordLost(instance: GpuInstance): void {
    const end = { at: this.#timeOf(instance), reason: 'Deleting' };
    this.#waiting.push({ instance, end, resolve: () => {}, reject: () => {} });
  }

  #timeOf(instance: GpuInstance): number {
    return this.#options.spendingTime(accountKey(accountRefOf(instance)));
  }

  #touchAll(): void {
    for (const { metadata } of this.#options.instances.list()) this.#touched.add(objectKey(metadata));
  }

  #wake(): void {
    if (this.#isRunning || !this.#leave) return;
    this.#isRunning = true;
    this.#timer?.cancel();
    inBackground(
      { task: 'ledger' },
      () => {
        this.#running = this.#drain();
        return this.#running;
      },
      () => {},
    );
  }

  async #drain(): Promise<void> {
    const { clock, log } = this.#options;
    let retry = false;
    while (!retry && (this.#mustRead || this.#touched.size > 0 || this.#waiting.length > 0)) {
      const wait = this.#writtenAt + WRITE_INTERVAL_MS - clock.monotonic();
      if (wait > 0 && this.#leave) await sleep(clock, wait);
      const waiting = this.#waiting.splice(0);
      const touched = [...this.#touched];
      this.#touched.clear();
      try {
        await this.#addAll(touched, waiting);
        for (const { resolve } of waiting) resolve();
      } catch (error) {
        log.warn('Ledger was not written', { error });
        for (const key of touched) this.#touched.add(key);
        for (const { reject } of waiting) reject(error);
        retry = true;
      }
    }
    this.#isRunning = false;
    this.#wakeLater(retry);
  }

  /**
   * Wakes at the next end of a month, or soon after a failure; else after an hour, to find ConfigMaps that a person
   * edited or deleted while nothing had to be written.
   */
  #wakeLater(isRetry: boolean): void {
    const { clock, spendingTime } = this.#options;
    if (!this.#leave) return;
    const now = spendingTime();
    const nextClose = monthEnd(now - CLOSE_AFTER_MS) + CLOSE_AFTER_MS - now;
    const wait = isRetry ? RETRY_MS : Math.min(nextClose, READ_INTERVAL_MS);
    const run = () => {
      if (!isRetry) this.#touchAll();
      this.#mustRead = true;
      this.#wake();
    };
    this.#timer = clock.setTimer(wait, run, { background: true });
  }

  async #addAll(touched: readonly string[], waiting: readonly Waiting[]): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      try {
        if (this.#mustRead) await this.#read();
        await this.#write(this.#withAll(touched, waiting));
        return;
      } catch (error) {
        // Another writer, such as a former leader or a person: the operator reads its change and adopts it.
        this.#mustRead = true;
        const isOthers = isKubeError(error, 'conflict', 'alreadyExists', 'notFound');
        if (!isOthers || tries >= CONFLICT_TRIES) throw error;
      }
    }
  }

  /** Returns the ledger with everything that the objects show and the ledger lacks. */
  #withAll(touched: readonly string[], waiting: readonly Waiting[]): Ledger {
    const { instances, spendingTime, months, labels } = this.#options;
    const now = spendingTime();
    const objects = touched.flatMap((key) => instances.get(key) ?? []);
    const add = (ledger: Ledger, entriesOf: (input: LedgerView) => readonly MonthEntry[]) => {
      const counted = ledger === this.#view.ledger ? this.#view.counted : countedMachines(ledger);
      return withEntries(ledger, entriesOf({ ledger, counted, labels }), monthName(now));
    };
    const deleted = add(this.#view.ledger, (input) =>
      waiting.flatMap(({ instance, end }) => endedEntries(instance, input, end)),
    );
    const ended = add(deleted, (input) => objects.flatMap((instance) => endedEntries(instance, input)));
    const closed = add(ended, (input) =>
      objects.flatMap((instance) =>
        closedEntries(instance, input, { now: this.#timeOf(instance), graceMs: CLOSE_AFTER_MS }),
      ),
    );
    if (closed === this.#view.ledger) return closed;
    const shown = new Set(
      [...instances.list(), ...waiting.map(({ instance }) => instance)].flatMap(shownMachines),
    );
    const present = presentMonth(closed, monthName(now));
    const kept = keptLedger(closed, { now: present, months, isShown: (key) => shown.has(key) });
    const dropped =
      unreadLines([...kept.keys()].flatMap((month) => closed.get(month) ?? [])) -
      unreadLines([...kept.values()]);
    if (dropped > 0)
      this.#options.log.warn('Unreadable lines of the ledger were dropped: no room', { lines: dropped });
    return kept;
  }

  /**
   * Reads the ConfigMaps. If a ConfigMap was deleted since the last read or write, its entries in memory count.
   */
  async #read(): Promise<void> {
    const { client, spendingTime, namespace, log } = this.#options;
    const found = new Map<string, ConfigMap>();
    for (const name of LEDGER_NAMES) {
      const map = await client.get<ConfigMap>(configMapResource, { namespace, name });
      if (map) found.set(name, map);
    }
    for (const [name, data] of this.#storedData()) if (!found.has(name)) this.#deleted.set(name, data);
    for (const name of found.keys()) this.#deleted.delete(name);
    if (this.#deleted.size > 0)
      log.warn('ConfigMaps of the ledger were deleted and are created again', {
        names: [...this.#deleted.keys()],
      });
    this.#stored.clear();
    for (const [name, map] of found) this.#keep(name, map, map.data ?? {});
    this.#show(readLedger(new Map([...this.#deleted, ...this.#storedData()]), monthName(spendingTime())));
    this.#isRead = true;
    this.#mustRead = false;
    this.#reportUnread();
  }

  /** Reports lines that this version cannot read. They are kept and count in no sum. */
  #reportUnread(): void {
    for (const { month, unread } of this.#view.ledger.values())
      if (unread.length > 0)
        this.#options.log.warn('Lines of the ledger cannot be read', { month, lines: unread.length });
  }

  #storedData(): ReadonlyMap<string, LedgerData> {
    return new Map([...this.#stored].map(([name, { data }]) => [name, data]));
  }

  #keep(name: string, { metadata }: KubeObject, data: LedgerData): void {
    this.#stored.set(name, { version: metadata.resourceVersion ?? '', data });
  }

  #show(ledger: Ledger): void {
    this.#view = { ...this.#view, ledger, counted: countedMachines(ledger) };
  }

  async #write(ledger: Ledger): Promise<void> {
    if (ledger === this.#view.ledger && this.#deleted.size === 0) return;
    const now = presentMonth(ledger, monthName(this.#options.spendingTime()));
    for (const [name, data] of storedForm(ledger, now, this.#storedData())) {
      if (!sameJson(this.#stored.get(name)?.data, data)) await this.#writeOne(name, data);
    }
    this.#deleted.clear();
    this.#show(ledger);
  }

  async #writeOne(name: string, data: LedgerData): Promise<void> {
    const { client, clock, namespace } = this.#options;
    const before = this.#stored.get(name);
    this.#writtenAt = clock.monotonic();
    if (!before) {
      const metadata = { namespace, name, labels: { [labelNames.managedBy]: OPERATOR_NAME } };
      const created: ConfigMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data };
      this.#keep(name, await client.create(configMapResource, created), data);
      return;
    }
    const removed = Object.keys(before.data).filter((key) => isLedgerKey(key) && data[key] === undefined);
    const body = {
      metadata: { resourceVersion: before.version },
      data: { ...data, ...Object.fromEntries(removed.map((key) => [key, null])) },
    };
    this.#keep(
      name,
      await client.patch(configMapResource, { namespace, name }, { type: 'merge', body }),
      data,
    );
  }
}

/** Returns the number of lines that this version cannot read. */
function unreadLines(months: readonly Month[]): number {
  return months.reduce((sum, { unread }) => sum + unread.length, 0);
}
