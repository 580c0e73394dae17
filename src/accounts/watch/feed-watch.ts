import type { MarketplaceAccount } from '../../api/v1alpha1/marketplace-account.ts';
import type { InstanceSummary } from '../../instance/summary.ts';
import type { Clock } from '../../lib/clock.ts';
import { parseDuration } from '../../lib/duration.ts';
import type { FeedEvent } from '../../marketplace/feed/feed-state.ts';
import { claimVerifies } from '../../ownership/claim.ts';
import type { PurchaseConstants } from '../../ownership/constants.ts';
import type { Identity } from '../../ownership/identity.ts';
import type { Login } from '../../ownership/login.ts';
import { breakerOf } from '../account-status.ts';
import { type ServiceTime, serviceNow } from '../login/service-clock.ts';
import { Absences } from './absences.ts';
import {
  afterPoll,
  type BreakerMemory,
  type BreakerState,
  breakerAtStart,
  breakerState,
  closeByHand,
  unhealthyOf,
} from './breaker.ts';
import { type HeldSpan, heldSpansAfter } from './held-spans.ts';
import { echoOf, echoOfRows, type LabelEcho } from './label-echo.ts';
import { SlowTurns } from './slow-turns.ts';

export interface FeedWatchOptions {
  readonly account: MarketplaceAccount;
  readonly connection: { readonly login: Login; readonly serviceClock: { now(): ServiceTime } };
  readonly clock: Clock;
  readonly constants: Pick<PurchaseConstants, 'listLagMs'>;
  readonly identity: () => Identity | undefined;
  readonly objects: () => readonly InstanceSummary[];
  /** Machines to be followed until they are gone, beside those that the status names. */
  readonly remembered: () => readonly number[];
  readonly onChange: () => void;
  readonly onLook: (event: FeedEvent) => void;
}

/** A machine may be missing from a list for one, and from the next for another. */
const LAGS_TO_BE_GONE = 2;
/** How long after an open breaker the end of a machine still blames neither host nor machine. */
const BLAMELESS_MS = 600_000;
const DEFAULT_MAX_HOLD_MS = 1_800_000;

/** What one account learns from each look at its login's machines: its breaker, and whether labels come back. */
export class FeedWatch {
  readonly #options: FeedWatchOptions;
  readonly #account: () => MarketplaceAccount;
  readonly #absences = new Absences();
  #listedBefore = false;
  #breaker: BreakerMemory;
  #state: BreakerState;
  #heldSpans: readonly HeldSpan[] = [];
  /** Monotonic time until which an end blames nobody. */
  #blamelessUntil: number;
  readonly #turns = new SlowTurns();
  /** Machines of the account that a list has shown to this process. */
  #listed: ReadonlySet<number> = new Set();
  #labelEcho: LabelEcho;

  /** `current`: the account's object as it is now. */
  constructor(options: FeedWatchOptions, current: () => MarketplaceAccount) {
    const { account } = options;
    this.#options = options;
    this.#account = current;
    const { clock } = options;
    const monotonic = clock.monotonic();
    const state = breakerOf(account);
    this.#breaker = breakerAtStart(state, { now: clock.now(), monotonic });
    this.#state = state;
    if (state.type === 'open') this.#heldSpans = heldSpansAfter([], true, monotonic);
    this.#blamelessUntil = monotonic + blamelessFor(account, clock.now());
    this.#labelEcho = echoOf(account.status?.labelsEchoed);
  }

  breaker(): BreakerState {
    return this.#state;
  }

  /** When the breaker was open, in monotonic milliseconds: what is tolerated does not run out meanwhile. */
  heldSpans(): readonly HeldSpan[] {
    return this.#heldSpans;
  }

  /** Whether the end of a machine says something about its host: not if many failed together, or a moment ago. */
  blames(): boolean {
    return this.#state.type === 'closed' && this.#options.clock.monotonic() >= this.#blamelessUntil;
  }

  closeBreaker(): void {
    this.#breaker = closeByHand(this.#breaker, this.#options.clock.now());
    this.#settle();
    this.#options.onChange();
  }

  /** Machines of the status, and those that are remembered beside it, that lists further apart than two list-lags did not show. */
  longUnlisted(): ReadonlySet<number> {
    return this.#absences.longerThan(LAGS_TO_BE_GONE * this.#options.constants.listLagMs);
  }

  /** A machine is there although lists do not show it. */
  found(id: number): void {
    this.#absences.found(id);
  }

  labelEcho(): LabelEcho {
    return this.#labelEcho;
  }

  /** The label that a rental was sent with, and what a list shows of it. Only the first one teaches anything. */
  labelReadBack(sent: string, shown: string | null | undefined): void {
    if (this.#labelEcho !== 'unknown') return;
    this.#labelEcho = sent === shown ? 'echoed' : 'notEchoed';
    this.#options.onChange();
  }

  hear(event: FeedEvent): void {
    switch (event.type) {
      case 'row':
        return;
      case 'failed':
        this.#moveBreaker({ type: 'failed', at: this.#options.clock.now() });
        this.#options.onLook(event);
        return;
      case 'list': {
        const { rows, endedAt } = event.list;
        this.#learnEcho(rows.values());
        const remembered = [...rememberedIds(this.#account()), ...this.#options.remembered()];
        this.#absences.see(event.list, remembered, this.#options.clock.monotonic());
        this.#moveBreaker({
          type: 'complete',
          at: endedAt,
          monotonic: this.#options.clock.monotonic(),
          rows,
          expected: this.#expected(rows),
        });
        if (!this.#listedBefore) this.#options.onChange();
        this.#listedBefore = true;
        this.#options.onLook(event);
      }
    }
  }

  #learnEcho(rows: Iterable<Parameters<typeof echoOfRows>[0][number]>): void {
    const identity = this.#options.identity();
    if (this.#labelEcho !== 'unknown' || !identity) return;
    this.#labelEcho = echoOfRows([...rows], this.#rentedIds(identity), identity);
    if (this.#labelEcho !== 'unknown') this.#options.onChange();
  }

  /** Machines that were rented with a label of ours: not those taken over, nor ids that a person wrote into a status. */
  #rentedIds({ keys }: Identity): ReadonlySet<number> {
    const { objects, connection } = this.#options;
    const claims = objects().flatMap(({ adopted, claim }) => (adopted === undefined && claim ? [claim] : []));
    const verified = claims.filter((facts) =>
      claimVerifies(keys, { ...facts, login: connection.login }, facts.claim),
    );
    return new Set(verified.map(({ instanceId }) => instanceId));
  }

  /**
   * Machines that tell how the account fares: of objects that would have them replaced. One that we end counts as long
   * as it is listed, one that was just rented from the first list that shows it.
   */
  #expected(rows: ReadonlyMap<number, unknown>): ReadonlyMap<number, string> {
    const isShown = (id: number) => rows.has(id);
    const expected = this.#options
      .objects()
      .filter((object) => object.isReplaceable && !object.deleting)
      .flatMap(({ uid, instanceId, leaving, wasListed }) => {
        if (instanceId === undefined) return [];
        const wasShown = wasListed || this.#listed.has(instanceId);
        return isShown(instanceId) || (wasShown && !leaving) ? [[instanceId, uid] as const] : [];
      });
    const ids = expected.map(([id]) => id);
    this.#listed = new Set(ids.filter((id) => isShown(id) || this.#listed.has(id)));
    return new Map(expected);
  }

  #moveBreaker(poll: Parameters<typeof afterPoll>[1]): void {
    const before = this.#state;
    const { maxUnhealthy, maxUnhealthyHold } = this.#account().spec;
    const maxHoldMs = parseDuration(maxUnhealthyHold) ?? DEFAULT_MAX_HOLD_MS;
    this.#breaker = afterPoll(this.#breaker, poll, { maxUnhealthy, maxHoldMs });
    if (poll.type === 'complete') this.#takeTurns(poll);
    this.#settle();
    if (isNews(before, this.#state)) this.#options.onChange();
  }

  /** Before the state is made: whose turn it is is part of it. */
  #takeTurns(poll: Extract<Parameters<typeof afterPoll>[1], { type: 'complete' }>): void {
    if (breakerState(this.#breaker).type !== 'slow') {
      this.#turns.end();
      return;
    }
    const running = [...poll.rows].flatMap(([id, { actualStatus }]) =>
      actualStatus === 'running' ? [id] : [],
    );
    const { serviceClock } = this.#options.connection;
    this.#turns.look({
      // Ends of machines are dated by the service's clock. While it is stale all of them count as recent.
      now: serviceNow(serviceClock.now(), poll.at) ?? Number.NEGATIVE_INFINITY,
      monotonic: poll.monotonic,
      objects: this.#options.objects(),
      unhealthy: new Set(unhealthyOf(poll)),
      running: new Set(running),
    });
  }

  #settle(): void {
    const monotonic = this.#options.clock.monotonic();
    if (this.#state.type !== 'closed') this.#blamelessUntil = monotonic + BLAMELESS_MS;
    this.#state = breakerState(this.#breaker, this.#turns.current());
    this.#heldSpans = heldSpansAfter(this.#heldSpans, this.#state.type === 'open', monotonic);
  }
}

function isNews(before: BreakerState, now: BreakerState): boolean {
  const turnOf = (state: BreakerState) => (state.type === 'slow' ? state.turn : undefined);
  return before.type !== now.type || turnOf(before) !== turnOf(now);
}

/** What is left of the time after the breaker that the status remembers closed. */
function blamelessFor({ status }: MarketplaceAccount, now: number): number {
  const { breaker } = status ?? {};
  if (!breaker || breaker.open) return 0;
  const closedFor = Math.max(0, now - (Date.parse(breaker.since) || 0));
  return breaker.unhealthy ? Math.max(0, BLAMELESS_MS - closedFor) : 0;
}

/** Machines that the status of an account names until they are gone. */
function rememberedIds({ status }: MarketplaceAccount): readonly number[] {
  const kept = (status?.retained ?? []).map(({ instanceId }) => instanceId);
  return [...kept, ...(status?.rolledBack ?? [])];
}
