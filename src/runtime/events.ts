import { type Clock, sleep, type Timer } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import type { Random } from '../lib/random.ts';
import { cutToBytes } from '../lib/text.ts';
import { formatMicroTime } from '../lib/time.ts';
import { eventResource } from './kube/core-resources.ts';
import type { KubeClient } from './kube/kube-client.ts';
import { isKubeError } from './kube/kube-error.ts';
import { type KubeObject, type ObjectRef, refOf } from './kube/kube-object.ts';

/**
 * Writes events.k8s.io/v1 events. Equal events become one with a series. An object with very many events gets at most
 * 25 at once and then one per 5 minutes. All objects together write 100 at once and then 20 per second; up to 5000
 * wait, and more are dropped. It never throws and never waits: an event that cannot be written is logged and dropped,
 * and in a terminating namespace dropped silently.
 */
export interface EventRecorder {
  record(event: EventFacts): void;
  /** Resolves when every recorded event is written or dropped. It ignores the rate limit. */
  flush(): Promise<void>;
}

export interface EventRecorderOptions {
  readonly client: KubeClient;
  /** A qualified name: `gpurental.dev/operator`. */
  readonly controller: string;
  /** Name of the process: that of the Pod. At most 128 bytes are kept. */
  readonly instance: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** Time without repetition after which a series ends; a later event begins a new one. */
const SERIES_ENDS_AFTER_MS = 360_000;
/** Minimum interval between writes of a running series after its second event. */
const SERIES_WRITTEN_EVERY_MS = 1_800_000;
const SWEEP_EVERY_MS = 60_000;
/** Maximum number of writes that wait for the rate limit or a slow API server; more are dropped. */
const MAX_PENDING = 5000;
/**
 * An outage affects every object of an account at the same time: with this burst their events reach the API server
 * within a minute.
 */
const WRITE_BURST = 100;
const MS_PER_WRITE = 50;

export function createEventRecorder(options: EventRecorderOptions): EventRecorder {
  return new SeriesRecorder(options);
}

/** An event and its repetitions. */
interface Series {
  readonly ref: ObjectRef;
  count: number;
  writtenCount: number;
  writtenAt: number;
  lastAt: number;
  /** Time of the last one in epoch milliseconds. */
  lastObserved: number;
}

class SeriesRecorder implements EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #series = new Map<string, Series>();
  readonly #budget: EventBudget;
  /** Writes are serial, so that a series is never written before its event. */
  #writes: Promise<void> = Promise.resolve();
  #pending = 0;
  #sweep: Timer | undefined;
  readonly #pace: WritePace;
  /** Skips the rate limit while the process flushes. */
  #flushing = new AbortController();

  constructor(options: EventRecorderOptions) {
    this.#options = options;
    this.#budget = new EventBudget(options.clock);
    this.#pace = new WritePace(options.clock);
  }

  record(event: EventFacts): void {
    const key = seriesKey(event);
    const series = this.#series.get(key);
    if (series) this.#repeat(key, series);
    else if (this.#budget.take(objectIdOf(event.regarding))) this.#begin(key, event);
    this.#armSweep();
  }

  async flush(): Promise<void> {
    this.#sweep?.cancel();
    this.#sweep = undefined;
    this.#flushing.abort();
    for (const [key, series] of this.#series) this.#writeSeries(key, series);
    await this.#writes;
    this.#flushing = new AbortController();
  }

  #begin(key: string, event: EventFacts): void {
    const { clock, client } = this.#options;
    const object = eventObject(event, this.#options);
    const now = clock.monotonic();
    const times = { lastAt: now, writtenAt: now, lastObserved: clock.now() };
    this.#series.set(key, { ref: refOf(object), count: 1, writtenCount: 1, ...times });
    this.#write(key, () => client.create(eventResource, object));
  }

  #repeat(key: string, series: Series): void {
    const { clock } = this.#options;
    series.count++;
    series.lastAt = clock.monotonic();
    series.lastObserved = clock.now();
    const isSecond = series.writtenCount === 1;
    if (isSecond || clock.monotonic() - series.writtenAt >= SERIES_WRITTEN_EVERY_MS)
      this.#writeSeries(key, series);
  }

  #writeSeries(key: string, series: Series): void {
    if (series.count === series.writtenCount) return;
    const { clock, client } = this.#options;
    series.writtenCount = series.count;
    series.writtenAt = clock.monotonic();
    const body = { series: { count: series.count, lastObservedTime: formatMicroTime(series.lastObserved) } };
    this.#write(key, () => client.patch(eventResource, series.ref, { type: 'merge', body }));
  }

  #write(key: string, send: () => Promise<unknown>): void {
    if (this.#pending >= MAX_PENDING) {
      this.#series.delete(key);
      return;
    }
    this.#pending++;
    this.#writes = this.#writes
      .then(() => this.#pace.turn(this.#flushing.signal))
      .then(send)
      .then(
        () => {},
        (error: unknown) => {
          // A series continues only an event that was written.
          this.#series.delete(key);
          // The namespace is terminating, or the event has outlived its hour.
          if (!isKubeError(error, 'terminating', 'notFound'))
            this.#options.log.warn('Event was not written', { error });
        },
      )
      .finally(() => {
        this.#pending--;
      });
  }

  #armSweep(): void {
    if (this.#sweep || this.#series.size === 0) return;
    const sweep = () => {
      this.#sweep = undefined;
      const now = this.#options.clock.monotonic();
      for (const [key, series] of this.#series) {
        if (now - series.lastAt < SERIES_ENDS_AFTER_MS) continue;
        this.#writeSeries(key, series);
        this.#series.delete(key);
      }
      this.#armSweep();
    };
    this.#sweep = this.#options.clock.setTimer(SWEEP_EVERY_MS, sweep, { background: true });
  }
}

/** Rate limit of writes: a burst at once, then one per 50 ms. */
class WritePace {
  readonly #clock: Clock;
  /** Monotonic time up to which writes are accounted for. */
  #accountedUntil = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Resolves when the next write may be sent, at once if `hurry` is aborted. */
  async turn(hurry: AbortSignal): Promise<void> {
    if (hurry.aborted) return;
    const now = this.#clock.monotonic();
    this.#accountedUntil = Math.max(this.#accountedUntil, now - WRITE_BURST * MS_PER_WRITE) + MS_PER_WRITE;
    const waitMs = this.#accountedUntil - now;
    if (waitMs > 0) await sleep(this.#clock, waitMs, hurry).catch(() => {});
  }
}

/** Content of an event from a decision; the recorder adds the object. */
export interface EventNote {
  readonly type: 'Normal' | 'Warning';
  /** Past-tense CamelCase: `InstanceRented`. */
  readonly reason: string;
  /** Action in progress: `Renting`. */
  readonly action: string;
  /** A sentence with the relevant number; cut to 1024 bytes. */
  readonly note: string;
}

/** An event that a user should see beside an object. */
export interface EventFacts extends EventNote {
  readonly regarding: KubeObject;
  readonly related?: KubeObject | undefined;
}

/** Limits of the API server's validation, in bytes (kubernetes/kubernetes:pkg/apis/core/validation/events.go). */
const MAX_NOTE_BYTES = 1024;
const MAX_NAME_BYTES = 128;
/** Maximum length of the readable part: it leaves room in 253 characters for the unique part. */
const MAX_NAME_LENGTH = 230;

interface Reporter {
  readonly controller: string;
  readonly instance: string;
  readonly clock: Clock;
  readonly random: Random;
}

/** Returns the event in the API server's form, under a new name. */
export function eventObject(
  event: EventFacts,
  { controller, instance, clock, random }: Reporter,
): KubeObject {
  const { name, namespace = 'default' } = event.regarding.metadata;
  const unique = Buffer.from(random.bytes(8)).toString('hex');
  const body = {
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: { name: `${name.slice(0, MAX_NAME_LENGTH).replace(/[-.]+$/, '')}.${unique}`, namespace },
    eventTime: formatMicroTime(clock.now()),
    reportingController: controller,
    reportingInstance: cutToBytes(instance, MAX_NAME_BYTES),
    type: event.type,
    reason: cutToBytes(event.reason, MAX_NAME_BYTES),
    action: cutToBytes(event.action, MAX_NAME_BYTES),
    note: cutToBytes(event.note, MAX_NOTE_BYTES),
    regarding: referenceTo(event.regarding),
    ...(event.related && { related: referenceTo(event.related) }),
  };
  return body;
}

/** Returns a key of the fields that a reader sees: equal events have the same key. */
export function seriesKey({ regarding, related, type, reason, action, note }: EventFacts): string {
  return JSON.stringify([objectIdOf(regarding), related && objectIdOf(related), type, reason, action, note]);
}

export function objectIdOf({ kind, metadata }: KubeObject): string {
  return `${kind}/${metadata.namespace ?? ''}/${metadata.name}/${metadata.uid ?? ''}`;
}

function referenceTo({ apiVersion, kind, metadata }: KubeObject) {
  const { name, namespace, uid, resourceVersion } = metadata;
  return { apiVersion, kind, name, namespace, uid, resourceVersion };
}

const BURST = 25;
const REFILL_MS = 300_000;
/** Number of remembered objects above which those with a full budget are forgotten. */
const SWEEP_AT = 4096;

/** Budget of events per object: 25 at once, and one more every 5 minutes, as in client-go. */
export class EventBudget {
  readonly #clock: Clock;
  readonly #spent = new Map<string, { tokens: number; at: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Takes one event from the budget of an object; returns false if it is used up. */
  take(objectId: string): boolean {
    const now = this.#clock.monotonic();
    if (this.#spent.size >= SWEEP_AT) {
      for (const id of this.#spent.keys()) if (this.#tokens(id, now) >= BURST) this.#spent.delete(id);
    }
    const tokens = this.#tokens(objectId, now);
    if (tokens < 1) return false;
    this.#spent.set(objectId, { tokens: tokens - 1, at: now });
    return true;
  }

  #tokens(objectId: string, now: number): number {
    const spent = this.#spent.get(objectId);
    return spent ? Math.min(BURST, spent.tokens + (now - spent.at) / REFILL_MS) : BURST;
  }
}
