import { inBackground } from '../../lib/background.ts';
import { type Clock, sleep } from '../../lib/clock.ts';
import { withDeadline } from '../../lib/deadline.ts';
import type { Logger } from '../../lib/logger.ts';
import type { Random } from '../../lib/random.ts';
import type { EventNote, EventRecorder } from '../events.ts';
import { firstAbort } from '../first-abort.ts';
import type { KubeClient } from '../kube/kube-client.ts';
import type { LeaderMetrics } from '../metrics-ports.ts';
import { type FormerLead, LeaseRecord } from './lease-record.ts';

/**
 * Elects at most one leader among several candidates by a coordination.k8s.io/v1 Lease. The algorithm is client-go's: a
 * candidate takes the lease when its record has not changed for the lease's duration on the candidate's *own* clock, so
 * clocks need not agree, only run at about the same rate. Unlike client-go, a waiting candidate receives each renewal
 * from a watch, sends no requests meanwhile, and takes over as soon as the lease expires. An object has one life: once
 * the lease is lost or released, it does not compete again.
 */
export interface LeaderElection {
  /** Resolves when this candidate leads; rejects with the reason of `signal` if it is aborted before. */
  acquire(signal?: AbortSignal): Promise<void>;
  /** Aborted when leadership has ended, by loss or by {@link release}. */
  readonly lost: AbortSignal;
  /** Returns true if no other candidate can lead at this time. */
  isLeader(): boolean;
  /**
   * Returns the milliseconds until another candidate may lead; 0 when not leading. They are counted from before the
   * last renewal was sent, on the faster of both clocks, so that a frozen machine does not overestimate them.
   */
  leaseRemainingMs(): number;
  /** Returns the identity in the last observed record; undefined before the first read or if the lease is free. */
  holder(): string | undefined;
  /** Stops renewing and releases the lease, so that another candidate can take it at once. */
  release(): Promise<void>;
}

export interface LeaderElectionOptions {
  readonly client: KubeClient;
  readonly lease: { readonly namespace: string; readonly name: string };
  /** Unique identity of the process, e.g. Pod name and a random part. */
  readonly identity: string;
  /** Returns true if that holder has certainly ended, so that no candidate needs to wait for its lease to expire. */
  readonly hasEnded?: ((holder: string) => boolean) | undefined;
  /** Default 15 s. */
  readonly leaseDurationMs?: number | undefined;
  /** Milliseconds of failing renewals after which leadership ends. Default 10 s; less than the lease's duration. */
  readonly renewDeadlineMs?: number | undefined;
  /** Default 2 s. */
  readonly retryPeriodMs?: number | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly metrics?: LeaderMetrics | undefined;
  /** Recorder of events about the Lease, when this process begins to lead and when it loses the lease. */
  readonly events?: Pick<EventRecorder, 'record'> | undefined;
}

/** Factor of jitter: a candidate waits up to this many periods longer, so that candidates do not act in step. */
export const RETRY_JITTER = 1.2;
const RELEASE_LIMIT_MS = 5000;
const LOG_AGAIN_MS = 60_000;

export function createLeaderElection(options: LeaderElectionOptions): LeaderElection {
  return new LeaseElection(options);
}

class LeaseElection implements LeaderElection {
  readonly #options: LeaderElectionOptions;
  readonly #record: LeaseRecord;
  readonly #renewDeadlineMs: number;
  readonly #retryPeriodMs: number;
  /** Limit of one request: a hanging one leaves time for another. */
  readonly #answerLimitMs: number;
  readonly #ended = new AbortController();
  #leading = false;
  /** Time right before the last successful acquisition or renewal was sent. */
  #renewedAt: Instant | undefined;
  #renewing: Promise<void> = Promise.resolve();
  /** The failure that was logged last, and its time. */
  #logged: { readonly what: string; readonly at: number } | undefined;

  constructor(options: LeaderElectionOptions) {
    const { leaseDurationMs = 15_000, renewDeadlineMs = 10_000, retryPeriodMs = 2000 } = options;
    if (leaseDurationMs <= renewDeadlineMs) {
      throw new RangeError('The lease duration must be greater than the renew deadline');
    }
    if (renewDeadlineMs <= retryPeriodMs * RETRY_JITTER) {
      throw new RangeError(`The renew deadline must be greater than ${RETRY_JITTER} times the retry period`);
    }
    this.#options = options;
    this.#record = new LeaseRecord({ ...options, durationMs: leaseDurationMs });
    this.#renewDeadlineMs = renewDeadlineMs;
    this.#retryPeriodMs = retryPeriodMs;
    this.#answerLimitMs = renewDeadlineMs / 2;
  }

  get lost(): AbortSignal {
    return this.#ended.signal;
  }

  isLeader(): boolean {
    return this.leaseRemainingMs() > 0;
  }

  leaseRemainingMs(): number {
    if (!this.#leading || !this.#renewedAt) return 0;
    return Math.max(0, this.#record.durationMs - maxElapsedMs(this.#options.clock, this.#renewedAt));
  }

  holder(): string | undefined {
    return this.#record.holder();
  }

  async acquire(signal: AbortSignal = new AbortController().signal): Promise<void> {
    signal.throwIfAborted();
    if (!(await this.#attempt(this.#answerLimitMs))) await this.#campaign(signal);
    this.#reportLead();
    this.#setLeading(true);
    this.#renewing = this.#keepRenewing();
  }

  /** Tries repeatedly, and at once when the lease is freed or expires. */
  async #campaign(signal: AbortSignal): Promise<void> {
    const candidacy = new AbortController();
    let freed = new AbortController();
    inBackground(
      { task: 'watch of the lease' },
      () => this.#record.follow(() => freed.abort(), candidacy.signal),
      // Without the watch it reads the lease at each retry period.
      (error) => this.#options.log.error('Watch of the lease failed', { error }),
    );
    try {
      do {
        const either = firstAbort([signal, freed.signal]);
        await this.#untilNextAttempt(either.signal);
        either.release();
        signal.throwIfAborted();
        freed = new AbortController();
      } while (!(await this.#attempt(this.#answerLimitMs)));
    } finally {
      candidacy.abort();
    }
  }

  async #untilNextAttempt(woken: AbortSignal): Promise<void> {
    const { clock, random } = this.#options;
    const periodMs = this.#retryPeriodMs * (1 + RETRY_JITTER * random.next());
    const leftMs = this.#record.untilFreeMs();
    const firstMs = leftMs > 0 ? Math.min(periodMs, leftMs) : periodMs;
    await sleep(clock, firstMs, woken).catch(() => {});
    while (!woken.aborted && this.#record.isFollowed() && this.#record.untilFreeMs() > 0)
      await sleep(clock, this.#record.untilFreeMs(), woken).catch(() => {});
  }

  async release(): Promise<void> {
    const wasLeading = this.#leading;
    this.#end(new Error('The lease was released'));
    await this.#renewing;
    if (!wasLeading) return;
    const { clock, log } = this.#options;
    await withDeadline({ clock, limitMs: RELEASE_LIMIT_MS }, () => this.#record.giveUp()).catch(
      (error: unknown) => {
        log.warn('Lease was not released; it will expire', { error });
      },
    );
  }

  async #keepRenewing(): Promise<void> {
    const { clock } = this.#options;
    let askedAt = clock.monotonic();
    while (!this.#ended.signal.aborted) {
      const waitMs = Math.max(0, askedAt + this.#retryPeriodMs - clock.monotonic());
      await sleep(clock, waitMs, this.#ended.signal).catch(() => {});
      if (this.#ended.signal.aborted) return;
      askedAt = clock.monotonic();
      const leftMs = this.#renewDeadlineMs - (this.#renewedAt ? maxElapsedMs(clock, this.#renewedAt) : 0);
      if (leftMs > 0 && (await this.#attempt(Math.min(leftMs, this.#answerLimitMs)))) continue;
      if (leftMs > 0 && this.#record.holder() === this.#options.identity) continue;
      this.#reportLoss();
      this.#end(new Error('The lease was lost'));
    }
  }

  #reportLead(): void {
    const { identity, lease, log, metrics } = this.#options;
    const former = this.#record.former();
    const seconds = former?.ageMs === undefined ? undefined : Math.round(former.ageMs / 1000);
    log.info('Became leader', { identity, former: former?.holder, seconds });
    metrics?.ledAfter(lease.name, seconds ?? 0);
    this.#recordEvent({
      type: 'Normal',
      reason: 'LeaderElected',
      action: 'Leading',
      note: `${identity} leads.${sinceFormer(former, seconds)}`,
    });
  }

  #reportLoss(): void {
    const loss = this.#loss();
    const { identity, log } = this.#options;
    log.error('Lost the lease', { ...loss });
    this.#recordEvent({
      type: 'Warning',
      reason: 'LeaderLost',
      action: 'Leading',
      note: `${identity} lost the lease ${loss.seconds} s after its last renewal: ${loss.cause}. It ends, and is started again as a candidate.`,
    });
  }

  #recordEvent(note: EventNote): void {
    this.#options.events?.record({ ...note, regarding: this.#record.regarded() });
  }

  /** Returns the cause of a lost lease and the seconds since its last renewal. */
  #loss(): { readonly holder: string | undefined; readonly cause: string; readonly seconds: number } {
    const { clock, identity } = this.#options;
    const holder = this.#record.holder();
    const unrenewed = this.#logged?.what ?? 'no renewal was sent in time, as if the process had been paused';
    const cause = holder !== undefined && holder !== identity ? `${holder} holds it` : unrenewed;
    const unrenewedMs = this.#renewedAt ? maxElapsedMs(clock, this.#renewedAt) : 0;
    const seconds = Math.round(unrenewedMs / 1000);
    return { holder, cause, seconds };
  }

  /** Returns true if a request sent now holds the lease. Failures are logged: they decide nothing by themselves. */
  async #attempt(limitMs: number): Promise<boolean> {
    const { clock, log } = this.#options;
    const sentAt = instantOf(clock);
    try {
      const acquired = await withDeadline({ clock, limitMs }, () =>
        this.#record.acquireOrRenew(this.#leading),
      );
      if (acquired) this.#renewedAt = sentAt;
      this.#logged = undefined;
      return acquired;
    } catch (error) {
      if (this.#isNewFailure(error)) log.warn('Lease could not be read or written', { error });
      return false;
    }
  }

  /** Returns true if a failure is to be logged: when it begins, and each minute while it lasts. */
  #isNewFailure(error: unknown): boolean {
    const { clock } = this.#options;
    const what = String(error);
    const logged = this.#logged;
    if (logged?.what === what && clock.monotonic() - logged.at < LOG_AGAIN_MS) return false;
    this.#logged = { what, at: clock.monotonic() };
    return true;
  }

  #end(reason: Error): void {
    this.#setLeading(false);
    this.#ended.abort(reason);
  }

  #setLeading(leading: boolean): void {
    this.#leading = leading;
    this.#options.metrics?.leading(this.#options.lease.name, leading);
  }
}

/** Returns the sentence about the time without a leader. */
function sinceFormer(former: FormerLead | undefined, seconds: number | undefined): string {
  if (former === undefined || seconds === undefined) return '';
  const { holder } = former;
  return holder === undefined
    ? ` The lease was released ${seconds} s ago.`
    : ` ${holder} renewed the lease ${seconds} s ago for the last time.`;
}

/** A time on both clocks. */
export interface Instant {
  readonly wall: number;
  readonly monotonic: number;
}

export function instantOf(clock: Clock): Instant {
  return { wall: clock.now(), monotonic: clock.monotonic() };
}

/**
 * Returns the milliseconds since then on the faster of both clocks. The monotonic clock may stop while a machine sleeps
 * and the wall clock may be set back, so the result is too small only if both happened.
 */
export function maxElapsedMs(clock: Clock, instant: Instant): number {
  return Math.max(clock.now() - instant.wall, clock.monotonic() - instant.monotonic);
}
