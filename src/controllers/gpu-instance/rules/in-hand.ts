import { facetsOf, type Reason } from '../../../api/v1alpha1/reasons.ts';
import { idleEnd } from '../../../instance/idle.ts';
import { formatDollars, type MicroDollars } from '../../../lib/money.ts';
import { conditionState } from '../conditions.ts';
import { backoffMs } from '../decision.ts';
import type { Facts } from '../facts.ts';
import { endedFields } from '../history.ts';
import { budgetStopOf } from '../limits.ts';
import type {
  AccountFacts,
  Decision,
  FirstSearch,
  OwnedMachine,
  Purchase,
  ReadRequest,
  Refusal,
  Requeue,
  SeenOffer,
  Step,
} from '../types.ts';
import { SECOND_SEARCH_MS, shownOffers } from './purchase.ts';
import { whileUnrented } from './unrented.ts';

/** Working machine, and the reason to replace it. */
export interface Replaced {
  readonly machine: OwnedMachine;
  readonly reason: Reason;
}

/** State of the search for a replacement of a working machine. */
export type Hand =
  /** Two searches show the offer as matching, every check of a rental passes, and the account admits the rental without the present machine. */
  | { readonly type: 'inHand'; readonly offer: SeenOffer }
  | { readonly type: 'read'; readonly requests: readonly ReadRequest[] }
  /** Not known yet: the search is queued, or a clock or a permission is not settled. */
  | { readonly type: 'searching'; readonly requeue: Requeue; readonly waits?: Decision['waits'] }
  /** Nothing can be rented; `found` is set in the reconcile that discovered this. */
  | {
      readonly type: 'none';
      readonly refusal: Refusal;
      readonly afterMs: number;
      readonly found?: NonNullable<Decision['blocked']>;
    };

/**
 * Longest time between the admission of an offer and the destroy of the machine that it replaces. Together with the age
 * of a shared search reply it is less than a minute.
 */
const MAX_SEEN_MS = 40_000;

/**
 * Maximum age of a first search; an older one is repeated. Exceeds the time of a full search queue, because only the
 * second search must be recent.
 */
const FIRST_SEARCH_MS = 600_000;

/**
 * Returns the search for a replacement of a working machine, by the rules of a rental, as if the present machine had
 * ended. Searches are paced like those of an object without a machine. No single reply ends the present machine:
 * another search must also show the offer as matching.
 */
export function handOf(facts: Facts, replaced: Replaced): Hand {
  const { refusal, notBefore } = facts.memory.replacement;
  const waitMs = notBefore - facts.clock.steadyNow;
  if (waitMs > 0 && refusal) return { type: 'none', refusal, afterMs: waitMs };
  const stop = budgetStopOf(facts);
  if (stop !== undefined)
    return { type: 'none', refusal: { reason: 'BudgetReached', detail: stop }, afterMs: 60_000 };
  if (facts.object.spec.powerState === 'Stopped') return { type: 'none', ...WHILE_STOPPED };
  if (idleEnd(facts.object) !== undefined) return { type: 'none', ...AFTER_IDLE };
  const first = firstSearchOf(facts);
  const dueMs = first ? secondSearchAt(first) - facts.clock.steadyNow : 0;
  if (first && dueMs > 0) return awaitSecondSearch(first, dueMs);
  const ended = afterEnd(facts, replaced);
  const step = rentalOf(ended);
  switch (step.type) {
    case 'read':
      return step;
    case 'publish':
      return { type: 'searching', requeue: { afterMs: SOON_MS } };
    case 'decision':
      return step.record.type === 'intent'
        ? confirmed(facts, ended, first)
        : (withoutOffer(ended, first) ?? refused(facts, replaced, step));
  }
}

function rentalOf(ended: Facts): Step {
  return whileUnrented(ended, { type: 'unrented', attempt: ended.purchase.settledAttempt });
}

// The second search

function firstSearchOf({
  memory,
  clock: { steadyNow },
}: Pick<Facts, 'clock' | 'memory'>): FirstSearch | undefined {
  const { firstSearch } = memory.replacement;
  return firstSearch && steadyNow - firstSearch.begunAt <= FIRST_SEARCH_MS ? firstSearch : undefined;
}

const EVEN = 0.5;

/** Returns the time of the second search. The interval grows while searches have no offer in common. */
function secondSearchAt({ begunAt, misses }: FirstSearch): number {
  return begunAt + (misses === 0 ? SECOND_SEARCH_MS : backoffMs(misses, EVEN));
}

const NO_COMMON_OFFER = {
  reason: 'NoOffers',
  detail: 'No matching offer is in two search replies in a row; the operator keeps searching.',
} as const;

function awaitSecondSearch({ misses }: FirstSearch, afterMs: number): Hand {
  if (misses === 0) return { type: 'searching', requeue: { afterMs } };
  return { type: 'none', refusal: NO_COMMON_OFFER, afterMs };
}

/** Returns a rental of an offer that the first search contains as well. */
function confirmed(
  facts: Pick<Facts, 'purchase' | 'clock' | 'memory'>,
  ended: Facts,
  first: FirstSearch | undefined,
): Hand {
  const shown = shownOffers(ended);
  if (!shown) return { type: 'searching', requeue: { afterMs: SOON_MS } };
  const { begun, offerIds } = shown;
  const [earliest, latest] = begun;
  if (!first) return keep({ begunAt: latest, offerIds, misses: 0 });
  if (earliest < first.begunAt + SECOND_SEARCH_MS) return { type: 'searching', requeue: { afterMs: 0 } };
  const step = rentalOf(onlyOffers(ended, first.offerIds));
  return step.type === 'decision' && step.record.type === 'intent'
    ? admitted(facts, step.record.purchase)
    : keep({ begunAt: latest, offerIds, misses: first.misses + 1 });
}

/** Returns the outcome of a search without a matching offer, which contradicts the previous one. */
function withoutOffer(
  ended: Pick<Facts, 'object' | 'account' | 'purchase' | 'clock'>,
  first: FirstSearch | undefined,
): Hand | undefined {
  const shown = first && shownOffers(ended);
  return shown?.offerIds.length === 0 ? keep(undefined) : undefined;
}

function keep(search: FirstSearch | undefined): Hand {
  return { type: 'read', requests: [{ type: 'firstSearch', search }] };
}

function onlyOffers(facts: Facts, offerIds: readonly string[]): Facts {
  const { account } = facts;
  if (account.state !== 'ready') return facts;
  const { reserved } = account.facts;
  const shown = new Set(offerIds);
  const isHeld = (id: string, promised?: number) => !shown.has(id) || reserved.has(id, promised);
  return withAccount(facts, { ...account.facts, reserved: { has: isHeld } });
}

// The account and the refusals

const SOON_MS = 1_000;

const WHILE_STOPPED = {
  refusal: { reason: 'Stopped', detail: 'No other machine is rented while spec.powerState is Stopped.' },
  afterMs: 60_000,
} as const;

const AFTER_IDLE = {
  refusal: { reason: 'Idle', detail: 'No other machine is rented after an end for idleness.' },
  afterMs: 60_000,
} as const;

function admitted(
  facts: Pick<Facts, 'purchase' | 'clock' | 'memory'>,
  { offer, pricePerHour }: Purchase,
): Hand {
  const {
    purchase: { room },
    clock: { steadyNow },
  } = facts;
  if (room?.offerId !== offer.id || room.pricePerHour !== pricePerHour)
    return { type: 'read', requests: [{ type: 'room', offerId: offer.id, pricePerHour }] };
  if (steadyNow - room.at > MAX_SEEN_MS) return { type: 'searching', requeue: { afterMs: 0 } };
  if (room.type === 'fits') return { type: 'inHand', offer: { id: offer.id, pricePerHour } };
  const { reason, detail, retryAfterMs } = room;
  if (reason === 'OfferReserved' || reason === 'Queued')
    return { type: 'searching', requeue: { afterMs: retryAfterMs } };
  const uncounted = reason === 'AtLimit' ? ' The machine to replace is not counted as running.' : '';
  const { message } = conditionState('False', reason, `${detail}${uncounted}`);
  return noneFound(facts, { reason, detail: message }, { atLeastMs: retryAfterMs });
}

function refused(
  facts: Pick<Facts, 'machine' | 'clock' | 'memory'>,
  replaced: Replaced,
  { status, waits, requeue, backOff, explained, isMomentary }: Decision,
): Hand {
  if (waits) return { type: 'searching', requeue, waits };
  if (!status || isMomentary === true || facetsOf(status.verdict.Ready.reason).passes === 'withinMoments')
    return { type: 'searching', requeue };
  const { reason, message } = status.verdict.Ready;
  const refusal = { reason, detail: noneCheaper(facts, replaced, backOff?.refusal) ?? message };
  if (backOff) return { type: 'none', refusal, ...foundFor(backOff.afterMs, refusal, explained) };
  return noneFound(facts, refusal, { atLeastMs: requeue.afterMs ?? 0 });
}

/**
 * Returns the detail if no cheaper offer exists after a price rise. The limit is then the present price, which is not
 * in the spec.
 */
function noneCheaper(
  { machine: { list } }: Pick<Facts, 'machine'>,
  replaced: Replaced,
  refusal: Refusal | undefined,
): string | undefined {
  const price = list?.recorded?.pricePerHour;
  if (replaced.reason !== 'PriceRaised' || refusal?.lacks !== 'affordable' || price === undefined)
    return undefined;
  return `No matching offer costs less than $${formatDollars(price)}/h.`;
}

function noneFound(
  { memory, clock: { jitter } }: Pick<Facts, 'clock' | 'memory'>,
  refusal: Refusal,
  { atLeastMs }: { atLeastMs: number },
): Hand {
  const afterMs = Math.max(atLeastMs, backoffMs(memory.replacement.failures + 1, jitter));
  return { type: 'none', refusal, ...foundFor(afterMs, refusal) };
}

function foundFor(afterMs: number, refusal: Refusal, explained?: Refusal) {
  return { afterMs, found: { afterMs, refusal, explained } };
}

/** Returns the object as if the machine had ended for that reason. */
function afterEnd(facts: Facts, { machine, reason }: Replaced): Facts {
  const {
    object,
    machine: { list, endedIds },
    memory,
    account,
  } = facts;
  const { instanceId } = machine;
  const status = endedFields(facts, { machine, reason, endedAt: facts.clock.believedNow });
  const listed = list && {
    ...list,
    recorded: undefined,
    labelled: list.labelled.filter(({ row }) => row.id !== instanceId),
  };
  const ended: Facts = {
    ...facts,
    object: { ...object, status },
    machine: {
      ...facts.machine,
      list: listed,
      owned: undefined,
      provisional: undefined,
      endedIds: new Set([...endedIds, instanceId]),
    },
    memory: { ...memory, ...memory.replacement },
  };
  const price = list?.recorded?.pricePerHour;
  if (reason !== 'PriceRaised' || price === undefined || account.state !== 'ready') return ended;
  return withAccount(ended, onlyBelow(account.facts, price));
}

function withAccount(facts: Facts, account: AccountFacts): Facts {
  return { ...facts, account: { ...facts.account, state: 'ready', facts: account } };
}

/** Returns the account's limits for a machine that is replaced for its price: only a cheaper one may replace it. */
function onlyBelow(account: AccountFacts, price: MicroDollars): AccountFacts {
  const { maxPricePerHour = Number.POSITIVE_INFINITY } = account.limits;
  return { ...account, limits: { ...account.limits, maxPricePerHour: Math.min(maxPricePerHour, price - 1) } };
}
