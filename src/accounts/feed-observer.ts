import type { MarketplaceAccount } from '../api/v1alpha1/marketplace-account.ts';
import type { InstanceSummary } from '../instance/summary.ts';
import type { Clock } from '../lib/clock.ts';
import { parseDuration } from '../lib/time.ts';
import type { Feed } from '../market/feed.ts';
import type { CompleteList, FeedEvent } from '../market/feed-state.ts';
import type { MarketFacts } from '../market/market.ts';
import { claimVerifies } from '../ownership/claim.ts';
import type { PurchaseConstants } from '../ownership/constants.ts';
import type { Identity } from '../ownership/identity.ts';
import { readLabel, remnantOf } from '../ownership/label.ts';
import type { Login } from '../ownership/login.ts';
import { type OwnedRow, startsInWindow } from '../ownership/ownership.ts';
import {
  afterPoll,
  type BreakerMemory,
  type BreakerState,
  breakerAtStart,
  breakerOf,
  breakerState,
  closeByHand,
  type OpenSpan,
  openSpansAfter,
  unhealthyOf,
} from './breaker.ts';
import { Absences } from './inventory.ts';
import { PlannedEnds } from './planned-ends.ts';
import { type ServiceTime, serviceNow } from './service-clock.ts';
import { SlowReplacements } from './slow-replacement.ts';

export interface FeedObserverOptions {
  readonly account: MarketplaceAccount;
  readonly connection: {
    readonly login: Login;
    readonly serviceClock: { now(): ServiceTime };
    readonly about: { readonly label: MarketFacts['label'] };
  };
  readonly clock: Clock;
  readonly constants: PurchaseConstants;
  readonly identity: () => Identity | undefined;
  readonly objects: () => readonly InstanceSummary[];
  /**
   * Ids of orphans that are followed until they are gone, in addition to the machines that the status names.
   */
  readonly pendingOrphans: () => readonly string[];
  readonly onChange: () => void;
  /** A poll ended, complete or failed. */
  readonly onPoll: (event: FeedEvent) => void;
}

/** Number of list lags for which a machine must be missing: each of two consecutive lists may be outdated. */
const LAGS_TO_BE_GONE = 2;
/** For this long after the breaker was open, the end of a machine is not counted against its host. */
const QUIET_AFTER_OPEN_MS = 600_000;
const DEFAULT_MAX_HOLD_MS = 1_800_000;

/**
 * Findings of one account from each poll of its login's machines: its breaker, and whether the marketplace returns
 * labels.
 */
export class FeedObserver {
  readonly #options: FeedObserverOptions;
  readonly #account: () => MarketplaceAccount;
  readonly #absences = new Absences();
  #listedBefore = false;
  #breaker: BreakerMemory;
  #state: BreakerState;
  #openSpans: readonly OpenSpan[] = [];
  /** Monotonic time until which the end of a machine is not counted against its host. */
  #quietUntil: number;
  readonly #replacements = new SlowReplacements();
  readonly #plannedEnds = new PlannedEnds();
  /** Machines of the account that a list has shown to this process. */
  #listed: ReadonlySet<string> = new Set();
  /**
   * All machines in the previous list. An object may record its machine only after the one list that shows it.
   */
  #shownBefore: ReadonlySet<string> = new Set();
  #labelEcho: LabelEcho;
  /** The first list that showed a rented machine without its label, with its time on `clock.monotonic()`. */
  #unlabelled: { readonly begunAt: number; readonly at: number } | undefined;

  /** `current`: the account's object as it is now. */
  constructor(options: FeedObserverOptions, current: () => MarketplaceAccount) {
    const { account } = options;
    this.#options = options;
    this.#account = current;
    const { clock } = options;
    const monotonic = clock.monotonic();
    const state = breakerOf(account);
    this.#breaker = breakerAtStart(state, { now: clock.now(), monotonic });
    this.#state = state;
    if (state.type === 'open') this.#openSpans = openSpansAfter([], true, monotonic);
    this.#quietUntil = monotonic + quietFor(account, clock.now());
    this.#labelEcho = firstEcho(options.connection.about.label.kept, account.status?.labelsEchoed);
  }

  get breaker(): BreakerState {
    return this.#state;
  }

  /** Periods in which the breaker was open, in monotonic milliseconds: tolerances do not advance in them. */
  get openSpans(): readonly OpenSpan[] {
    return this.#openSpans;
  }

  /** True if the end of a machine counts against its host: not if many failed together or recently. */
  get countsHostFailures(): boolean {
    return this.#state.type === 'closed' && this.#options.clock.monotonic() >= this.#quietUntil;
  }

  closeBreaker(): void {
    this.#breaker = closeByHand(this.#breaker, this.#options.clock.now());
    this.#updateState();
    this.#options.onChange();
  }

  /** Records that an object plans to end a working machine by limit, price, drift or idleness. Repeated while the plan lasts. */
  planEnd(objectUid: string, isPlanned: boolean): void {
    if (isPlanned) this.#plannedEnds.plan(objectUid, this.#options.clock.monotonic());
    else this.#plannedEnds.drop(objectUid);
  }

  /**
   * Records that an object has announced the end of its idle machine. Repeated while the announcement is valid.
   */
  announceEnd(objectUid: string, isAnnounced: boolean): void {
    if (isAnnounced) this.#plannedEnds.announce(objectUid, this.#options.clock.monotonic());
    else this.#plannedEnds.withdraw(objectUid);
  }

  /** Returns true if the breaker has evaluated a list since that object planned its end. */
  isEndJudged(objectUid: string): boolean {
    return this.#plannedEnds.isJudged(objectUid);
  }

  /** Returns the followed machines that lists have not shown for more than two list lags. */
  longUnlisted(): ReadonlySet<string> {
    return this.#absences.longerThan(LAGS_TO_BE_GONE * this.#options.constants.listLagMs);
  }

  /** Records that a read shows a machine that lists do not show. */
  onPresent(id: string): void {
    this.#absences.forget(id);
  }

  get labelEcho(): LabelEcho {
    return this.#labelEcho;
  }

  /**
   * Compares the label that a rental sent with the label in the list begun at `begunAt`, on the machine that the
   * reply named. The first verdict is final and is written to the status. One list proves that labels are echoed. Two
   * lists, at least one list lag apart, prove that they are not.
   */
  labelReadBack(sent: string, shown: string | null | undefined, begunAt: number): void {
    const identity = this.#options.identity();
    if (identity) this.#concludeEcho(echoOfLabel(identity, sent, shown), begunAt);
  }

  /**
   * Applies the latest list or failure of the feed. Another account may have listed this login before, and every list
   * must pass the breaker before a decision.
   */
  catchUp(feed: Pick<Feed, 'latest' | 'health'>): void {
    const list = feed.latest();
    const { state, lastError } = feed.health();
    if (list) this.onFeedEvent({ type: 'list', list });
    if (state === 'failing' && lastError) this.onFeedEvent({ type: 'failed', error: lastError });
  }

  onFeedEvent(event: FeedEvent): void {
    switch (event.type) {
      case 'row':
        return;
      case 'failed':
        this.#moveBreaker({ type: 'failed', at: this.#options.clock.now() });
        this.#options.onPoll(event);
        return;
      case 'list': {
        const { rows, endedAt } = event.list;
        this.#learnEcho(event.list);
        const followed = [...recordedIds(this.#account()), ...this.#options.pendingOrphans()];
        this.#absences.update(event.list, followed, this.#options.clock.monotonic());
        this.#plannedEnds.judge(this.#options.clock.monotonic());
        this.#moveBreaker({
          type: 'complete',
          at: endedAt,
          monotonic: this.#options.clock.monotonic(),
          rows,
          expected: this.#expected(rows),
          ending: this.#plannedEnds.count(),
        });
        if (!this.#listedBefore) this.#options.onChange();
        this.#listedBefore = true;
        this.#options.onPoll(event);
      }
    }
  }

  #learnEcho({ rows, begunAt }: Pick<CompleteList, 'rows' | 'begunAt'>): void {
    const identity = this.#options.identity();
    if (this.#labelEcho === 'echoed' || !identity) return;
    const adopted = new Set(
      this.#options.objects().flatMap((object) => (object.adopted ? (object.instanceId ?? []) : [])),
    );
    // A label that was set after the rental does not prove that the label of a rental comes back.
    const shown = [...rows.values()].filter(({ id }) => !adopted.has(id));
    const context = { identity, constants: this.#options.constants };
    if (this.#labelEcho === 'notEchoed') {
      // A market that drops labels shows none of a rental: the earlier verdict was wrong.
      if (shown.some((row) => showsRental(row, context))) this.#setEcho('echoed');
      return;
    }
    this.#concludeEcho(echoOfRows(shown, this.#rentedIds(identity), context), begunAt);
  }

  #concludeEcho(seen: LabelEcho, begunAt: number): void {
    if (this.#labelEcho !== 'unknown' || seen === 'unknown') return;
    if (seen === 'notEchoed') {
      const at = this.#options.clock.monotonic();
      this.#unlabelled ??= { begunAt, at };
      // The reply to the rental may have named the machine of a stranger: the right one is listed within this time.
      if (
        this.#unlabelled.begunAt === begunAt ||
        at - this.#unlabelled.at < this.#options.constants.listLagMs
      )
        return;
    }
    this.#setEcho(seen);
  }

  #setEcho(echo: LabelEcho): void {
    this.#labelEcho = echo;
    this.#options.onChange();
  }

  /**
   * Returns the machines that were rented with a label of this operator: without adopted ones, and without ids that a
   * person wrote into a status.
   */
  #rentedIds({ keys }: Identity): ReadonlySet<string> {
    const { objects, connection } = this.#options;
    const claims = objects().flatMap(({ adopted, claim }) => (adopted === undefined && claim ? [claim] : []));
    const verified = claims.filter((facts) =>
      claimVerifies(keys, { ...facts, login: connection.login }, facts.claim),
    );
    return new Set(verified.map(({ instanceId }) => instanceId));
  }

  /**
   * Returns the machines that the breaker counts, with their objects: machines that would be replaced. A machine that
   * is being destroyed counts while it is listed, a new machine from the first list that shows it.
   */
  #expected(rows: ReadonlyMap<string, unknown>): ReadonlyMap<string, string> {
    const isShown = (id: string) => rows.has(id);
    const wasShown = (id: string) => this.#listed.has(id) || this.#shownBefore.has(id);
    const expected = this.#options
      .objects()
      .filter((object) => object.isReplaceable && !object.deleting)
      .flatMap(({ uid, instanceId, leaving, wasListed }) => {
        if (instanceId === undefined) return [];
        const isExpected = isShown(instanceId) || (!leaving && (wasListed || wasShown(instanceId)));
        return isExpected ? [[instanceId, uid] as const] : [];
      });
    const ids = expected.map(([id]) => id);
    this.#listed = new Set(ids.filter((id) => isShown(id) || wasShown(id)));
    this.#shownBefore = new Set(rows.keys());
    return new Map(expected);
  }

  #moveBreaker(poll: Parameters<typeof afterPoll>[1]): void {
    const before = this.#state;
    const { maxUnhealthy, maxUnhealthyHold } = this.#account().spec;
    const maxHoldMs = parseDuration(maxUnhealthyHold) ?? DEFAULT_MAX_HOLD_MS;
    this.#breaker = afterPoll(this.#breaker, poll, { maxUnhealthy, maxHoldMs });
    if (poll.type === 'complete') this.#updateReplacements(poll);
    this.#updateState();
    if (hasChanged(before, this.#state)) this.#options.onChange();
  }

  /**
   * Updates slow replacement before the state is derived, because the state names the object whose machine may be
   * replaced. A list that fails in this period opens the breaker but ends no replacement in progress, since no object
   * records its progress.
   */
  #updateReplacements(poll: Extract<Parameters<typeof afterPoll>[1], { type: 'complete' }>): void {
    const { type } = breakerState(this.#breaker);
    if (type === 'closed') this.#replacements.end();
    if (type !== 'slow') return;
    const running = [...poll.rows].flatMap(([id, { state }]) => (state === 'running' ? [id] : []));
    const { serviceClock } = this.#options.connection;
    this.#replacements.update({
      // Ends of machines are dated by the service's clock. While it is stale all of them count as recent.
      now: serviceNow(serviceClock.now(), poll.at) ?? Number.NEGATIVE_INFINITY,
      monotonic: poll.monotonic,
      objects: this.#options.objects(),
      unhealthy: new Set([...unhealthyOf(poll), ...this.#endingIds()]),
      running: new Set(running),
      listed: new Set(poll.rows.keys()),
    });
  }

  /** Returns the ids of the machines whose objects plan their end. */
  #endingIds(): readonly string[] {
    const ending = this.#plannedEnds.current();
    if (ending.size === 0) return [];
    return this.#options
      .objects()
      .flatMap(({ uid, instanceId }) => (ending.has(uid) ? (instanceId ?? []) : []));
  }

  #updateState(): void {
    const monotonic = this.#options.clock.monotonic();
    if (this.#state.type !== 'closed') this.#quietUntil = monotonic + QUIET_AFTER_OPEN_MS;
    this.#state = breakerState(this.#breaker, this.#replacements.current());
    this.#openSpans = openSpansAfter(this.#openSpans, this.#state.type === 'open', monotonic);
  }
}

function hasChanged(before: BreakerState, now: BreakerState): boolean {
  const replaceableOf = (state: BreakerState) => (state.type === 'slow' ? state.turn : undefined);
  return before.type !== now.type || replaceableOf(before) !== replaceableOf(now);
}

/** Returns the remaining milliseconds of the settling time after the breaker of the status closed. */
function quietFor({ status }: MarketplaceAccount, now: number): number {
  const { breaker } = status ?? {};
  if (!breaker || breaker.open) return 0;
  const closedFor = Math.max(0, now - (Date.parse(breaker.since) || 0));
  return breaker.unhealthy ? Math.max(0, QUIET_AFTER_OPEN_MS - closedFor) : 0;
}

/** Returns the machines that the account's status names until they are gone. */
function recordedIds({ status }: MarketplaceAccount): readonly string[] {
  const kept = (status?.retained ?? []).map(({ instanceId }) => instanceId);
  return [...kept, ...(status?.rolledBack ?? [])];
}

/**
 * Label echo: `echoed` if lists show the label that a rental sent, `notEchoed` if not. It is `unknown` until the
 * first rental of the login was listed. Unless labels are echoed, rentals are serial.
 */
export type LabelEcho = 'unknown' | 'echoed' | 'notEchoed';

/** Returns the label echo before the first list: the market's declaration, else the account's status. */
export function firstEcho(kept: MarketFacts['label']['kept'], labelsEchoed: boolean | undefined): LabelEcho {
  if (kept === 'observe') return echoOf(labelsEchoed);
  return kept === 'always' ? 'echoed' : 'notEchoed';
}

/** Returns the label echo from the account's status. */
export function echoOf(labelsEchoed: boolean | undefined): LabelEcho {
  if (labelsEchoed === undefined) return 'unknown';
  return labelsEchoed ? 'echoed' : 'notEchoed';
}

/** Keys and constants by which a label is read. */
interface EchoContext {
  readonly identity: Identity;
  readonly constants: PurchaseConstants;
}

/**
 * Returns the label echo from a complete list. A verified label of a rental proves the echo. A machine of `rented`
 * (recorded with a verified claim) without a label proves that its label was dropped.
 */
export function echoOfRows(
  rows: readonly Pick<OwnedRow, 'id' | 'label' | 'startedAt'>[],
  rented: ReadonlySet<string>,
  context: EchoContext,
): LabelEcho {
  if (rows.some((row) => showsRental(row, context) !== false)) return 'echoed';
  const bare = rows.some((row) => rented.has(row.id) && (row.label === undefined || row.label === null));
  return bare ? 'notEchoed' : 'unknown';
}

/**
 * Returns the label echo from a listed label, compared with the sent one. An unrelated label belongs to another
 * machine: the reply to the rental named a wrong machine, and the sent label may still be echoed.
 */
function echoOfLabel(identity: Identity, sent: string, shown: string | null | undefined): LabelEcho {
  if (!shown) return 'notEchoed';
  const { type } = readLabel(identity, shown);
  if (type === 'verified') return 'echoed';
  return type === 'unverified' || remnantOf(sent, shown) !== 'none' ? 'notEchoed' : 'unknown';
}

/**
 * Returns true if a machine carries the label of its rental; undefined if its unknown start could refute that. The label
 * of a kept or an adopted machine was set after its rental: it does not prove that labels of rentals come back.
 */
function showsRental(
  { label, startedAt }: Pick<OwnedRow, 'label' | 'startedAt'>,
  { identity, constants }: EchoContext,
): boolean | undefined {
  const reading = readLabel(identity, label);
  if (reading.type !== 'verified' || reading.retained) return false;
  return startedAt === undefined ? undefined : startsInWindow(startedAt, reading.facts.issuedAt, constants);
}
