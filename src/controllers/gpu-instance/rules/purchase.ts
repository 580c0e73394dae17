import type { QueuePosition } from '../../../accounts/queue/admission-queue.ts';
import type { GpuInstanceSpec } from '../../../api/v1alpha1/gpu-instance.ts';
import { diskGB, filteredFields, machineFacts, specHash } from '../../../api/v1alpha1/machine-drift.ts';
import { facetsOf, type Reason } from '../../../api/v1alpha1/reasons.ts';
import { counted } from '../../../lib/plural.ts';
import { parseTime } from '../../../lib/time.ts';
import { makeLabel } from '../../../ownership/label.ts';
import { leaseProof, workerToken } from '../../../ownership/worker-token.ts';
import type { EventNote } from '../../../runtime/events.ts';
import { conditionState } from '../conditions.ts';
import { backoffMs, decision } from '../decision.ts';
import type { Facts } from '../facts.ts';
import { remainingLifetimeMs } from '../limits.ts';
import { carriedFields } from '../machine-fields.ts';
import {
  type ChoiceInput,
  chooseOffer,
  type Exclusions,
  hasPriceRule,
  helpFor,
  matchingOffers,
  offerQuery,
  wouldMatchWithout,
} from '../offers.ts';
import { NO_PRICE_LIMIT, preflight } from '../preflight.ts';
import { rentRequest } from '../rental.ts';
import type { Stage } from '../stage.ts';
import type {
  AccountFacts,
  ConditionState,
  Decision,
  InputsView,
  OffersView,
  QueueNotice,
  ReadRequest,
  Refusal,
  Requeue,
  Step,
} from '../types.ts';

type Unrented = Extract<Stage, { type: 'unrented' }>;
type Requirements = NonNullable<GpuInstanceSpec['offers']>[number];

/** Requests the inputs of a rental together with the first search, then decides on an offer. */
export function purchase(facts: Facts, stage: Unrented): Step | undefined {
  if (facts.account.state !== 'ready') return undefined;
  const { facts: account } = facts.account;
  if (facts.purchase.place) return waitInQueue(facts, stage, facts.purchase.place);
  const checked = preflight(facts, account);
  if (checked.type === 'passed') return firstChoice(facts, stage, { account, inputs: checked.inputs });
  // The first search follows the inputs in the same round, unless no alternative has a price limit or an input is unusable.
  const index = pricedFrom(facts, account);
  const first = index < 0 ? [] : [search(facts, { index, account, scope: 'shared' })];
  return { type: 'read', requests: [{ type: 'inputs' }, ...first] };
}

/** Reports a missing requirement of a rental. Undefined if nothing is missing, or if the cluster was not read yet. */
export function failPreflight(
  facts: Pick<Facts, 'object' | 'account' | 'purchase'>,
  stage: Unrented,
): Decision | undefined {
  if (facts.account.state !== 'ready' || facts.purchase.place) return undefined;
  const checked = preflight(facts, facts.account.facts);
  if (checked.type !== 'problem') return undefined;
  const { reason, detail, retryAfterMs: afterMs } = checked;
  return rentNothing(facts, stage, {
    reason,
    detail,
    ...(afterMs !== undefined && { requeue: { afterMs } }),
  });
}

/** Returns the index of the first alternative with a price limit; -1 if none has one. */
function pricedFrom({ object: { spec } }: Pick<Facts, 'object'>, { limits }: AccountFacts): number {
  return (spec.offers ?? []).findIndex((requirements) => hasPriceRule(requirements, limits, spec));
}

interface Means {
  readonly account: AccountFacts;
  readonly inputs: Extract<InputsView, { type: 'ready' }>;
}

/**
 * Returns the first choice among the alternatives in their order. The broad search that explains the result follows
 * only after all of them found nothing.
 */
function firstChoice(facts: Facts, stage: Unrented, means: Means): Step {
  const { account } = means;
  const alternatives = facts.object.spec.offers ?? [];
  let isTaken = false;
  for (const [index, requirements] of alternatives.entries()) {
    if (!hasPriceRule(requirements, account.limits, facts.object.spec)) continue;
    const found = facts.purchase.offers.get(index);
    if (found === undefined) return searching(facts, { index, account, scope: 'shared' });
    if (found.type === 'queued') return waitInQueue(facts, stage, found.place);
    if (found.type === 'failed') return withoutReply(facts, stage, found);
    const input = choiceInput(facts, { index, requirements, account }, found);
    const choice = chooseOffer(input);
    if (choice.type === 'chosen') return rent(facts, stage, { ...means, ...choice, index, requirements });
    if (choice.type === 'unclear') return searching(facts, { index, account, scope: 'exact' });
    isTaken ||= chooseOffer({ ...input, excluded: NOTHING_EXCLUDED }).type === 'chosen';
  }
  return isTaken ? allTaken(facts, stage) : explain(facts, stage, account);
}

interface Alternative {
  readonly index: number;
  readonly requirements: Requirements;
  readonly account: AccountFacts;
}

interface Search extends Pick<Alternative, 'index' | 'account'> {
  readonly scope: 'shared' | 'exact';
}

/** Minimum time between the beginnings of two searches that confirm each other. */
export const SECOND_SEARCH_MS = 3_000;

/** Result of this reconcile's searches for offers that match the spec. */
interface ShownOffers {
  /** Begin of the first and of the last of the searches, in steady time. */
  readonly begun: readonly [first: number, last: number];
  readonly offerIds: readonly string[];
}

/**
 * Returns the matching offers of all searched alternatives, including avoided and reserved ones; undefined before a
 * reply.
 */
export function shownOffers(
  facts: Pick<Facts, 'object' | 'account' | 'purchase' | 'clock'>,
): ShownOffers | undefined {
  const {
    account: view,
    object,
    clock: { steadyNow },
  } = facts;
  if (view.state !== 'ready') return undefined;
  const found = (object.spec.offers ?? []).flatMap((requirements, index) => {
    const reply = facts.purchase.offers.get(index);
    if (reply?.type !== 'found') return [];
    const input = choiceInput(facts, { index, requirements, account: view.facts }, reply);
    return [{ begunAt: reply.begunAt ?? steadyNow, ids: matchingOffers(input).map(({ id }) => id) }];
  });
  if (found.length === 0) return undefined;
  const begun = found.map(({ begunAt }) => begunAt);
  return {
    begun: [Math.min(...begun), Math.max(...begun)],
    offerIds: [...new Set(found.flatMap(({ ids }) => ids))],
  };
}

/** Returns the search for one alternative with the following ones: one reply may answer all of them. */
function search(facts: Pick<Facts, 'object' | 'memory'>, { index, account, scope }: Search): ReadRequest {
  const context = searchContext(facts, account);
  const [first, ...others] = (facts.object.spec.offers ?? [])
    .slice(index)
    .filter((requirements) => hasPriceRule(requirements, account.limits, facts.object.spec))
    .map((requirements) => offerQuery(requirements, context, 'exact'));
  if (!first) throw new RangeError('an alternative that is not there was searched for');
  const isPatient = foundNothing(facts.memory.refusal?.reason);
  const queries = [first, ...others] as const;
  const { firstSearch } = facts.memory;
  return {
    ...{ type: 'offers', index, scope, queries },
    ...(isPatient && { patient: true }),
    ...(firstSearch && { since: firstSearch.begunAt + SECOND_SEARCH_MS }),
  };
}

function searching(facts: Pick<Facts, 'object' | 'memory'>, target: Search): Step {
  return { type: 'read', requests: [search(facts, target)] };
}

function searchContext({ object: { spec } }: Pick<Facts, 'object'>, { limits }: AccountFacts) {
  return { limits, diskGB: diskGB(spec), requiredPorts: spec };
}

function explain(
  facts: Pick<Facts, 'object' | 'purchase' | 'clock' | 'memory'>,
  stage: Unrented,
  account: AccountFacts,
): Step {
  const alternatives = facts.object.spec.offers ?? [];
  const index = pricedFrom(facts, account);
  const requirements = alternatives[index];
  if (requirements === undefined)
    return {
      ...rentNothing(facts, stage, { reason: 'InvalidSpec', detail: NO_PRICE_LIMIT }),
      isFailure: true,
    };
  const { explained } = facts.memory;
  if (explained) return backOff(facts, stage, explained, NOTHING_MAX_MS);
  const broad = facts.purchase.broadOffers;
  if (broad === undefined) {
    const context = searchContext(facts, account);
    const queries = [offerQuery(requirements, context, 'broad')] as const;
    return { type: 'read', requests: [{ type: 'offers', index, scope: 'broad', queries }] };
  }
  // An explanation is not worth a wait: the next search may provide it.
  if (broad.type !== 'found')
    return backOff(facts, stage, { reason: 'NoOffers', detail: 'No offer matches.' }, NOTHING_MAX_MS);
  return nothingMatches(facts, stage, choiceInput(facts, { index, requirements, account }, broad));
}

function nothingMatches(
  facts: Pick<Facts, 'object' | 'clock' | 'memory'>,
  stage: Unrented,
  input: ChoiceInput,
): Decision {
  const choice = chooseOffer({ ...input, excluded: NOTHING_EXCLUDED });
  if (choice.type !== 'none') return allTaken(facts, stage);
  const without = wouldMatchWithout(input).slice(0, MAX_WITHOUT);
  const counts = without.map(({ name, count }) => `${count} without ${name}`).join(', ');
  const outlook =
    counts === ''
      ? 'None would with any single requirement dropped.'
      : `Dropping one requirement would leave: ${counts}.`;
  const price = choice.lacks === 'priced' ? [WITHOUT_PRICE] : [];
  const detail = ['No offer matches.', ...price, ...helpFor(input), outlook].join(' ');
  const explained = { reason: 'NoOffers', detail, lacks: choice.lacks } as const;
  return { ...backOff(facts, stage, explained, NOTHING_MAX_MS), explained };
}

const WITHOUT_PRICE =
  'Offers that match otherwise name no price; to accept any price, set allowUnknownPrice under spec.offers.';

/** Maximum number of alternatives in a message: more would hide the best one. */
const MAX_WITHOUT = 3;

function allTaken(facts: Pick<Facts, 'object' | 'clock' | 'memory'>, stage: Unrented): Decision {
  const detail = 'Every offer that matches is taken by others or avoided for now.';
  return backOff(facts, stage, { reason: 'NoOffers', detail });
}

/** Maximum interval between searches without a match; it grows up to this. */
const NOTHING_MAX_MS = 1_800_000;

/**
 * Returns the wait. Nothing is searched before it ends, whatever requeues the object, unless its spec or account
 * changes.
 */
function backOff(
  facts: Pick<Facts, 'object' | 'clock' | 'memory'>,
  stage: Unrented,
  refusal: Refusal,
  maxMs?: number,
): Decision {
  const afterMs = backoffMs(facts.memory.failures + 1, facts.clock.jitter, maxMs);
  return {
    ...rentNothing(facts, stage, { ...refusal, requeue: { afterMs } }),
    backOff: { afterMs, refusal },
  };
}

const NOTHING_EXCLUDED: Exclusions = { offers: new Set(), machines: new Set(), hosts: new Set() };

function choiceInput(
  facts: Pick<Facts, 'object' | 'clock'>,
  { requirements, account }: Alternative,
  { offers, isShared }: Extract<OffersView, { type: 'found' }>,
): ChoiceInput {
  return {
    requirements,
    ...searchContext(facts, account),
    offers,
    excluded: exclusions(facts, account),
    neededMs: remainingLifetimeMs(facts),
    ...(isShared && { mustState: true }),
  };
}

/** Returns the exclusions by failures of this object or its account, and by pending rentals of other objects. */
function exclusions(
  { object, clock: { now } }: Pick<Facts, 'object' | 'clock'>,
  account: AccountFacts,
): Exclusions {
  const own = (object.status?.avoid ?? []).filter((entry) => (parseTime(entry.until) ?? 0) > now);
  const ids = (kind: 'Offer' | 'Machine' | 'Host') =>
    own.filter((entry) => entry.kind === kind).map((entry) => entry.id);
  return {
    offers: new Set([...account.avoided.offers, ...ids('Offer')]),
    reserved: account.reserved,
    machines: new Set([...account.avoided.machines, ...ids('Machine')]),
    hosts: new Set([...account.avoided.hosts, ...ids('Host')]),
  };
}

function withoutReply(
  facts: Pick<Facts, 'object' | 'clock' | 'memory'>,
  stage: Unrented,
  failed: Extract<OffersView, { type: 'failed' }>,
): Decision {
  const reason: Reason =
    failed.kind === 'invalidRequest'
      ? 'InvalidSpec'
      : failed.kind === 'throttled'
        ? 'Throttled'
        : 'Unreachable';
  const afterMs = Math.max(
    failed.retryAfterMs ?? 0,
    backoffMs(facts.memory.failures + 1, facts.clock.jitter),
  );
  const refusal = { reason, detail: failed.detail };
  return {
    ...rentNothing(facts, stage, { ...refusal, requeue: { afterMs } }),
    backOff: { afterMs, refusal },
  };
}

const TIME_UNCERTAIN =
  'Replies of the marketplace disagree about the time; nothing is rented until they agree for a minute. If this stays, check the clock of the node of the operator and any proxy in front of the marketplace.';

interface Chosen extends Means {
  readonly offer: ChoiceInput['offers'][number];
  readonly pricePerHour: number | undefined;
  readonly index: number;
  readonly requirements: Requirements;
}

function rent(
  facts: Pick<Facts, 'object' | 'machine' | 'purchase' | 'clock'>,
  stage: Unrented,
  chosen: Chosen,
): Step {
  const {
    object,
    purchase: { uid, identity },
    clock: { now },
  } = facts;
  const attempt = stage.attempt + 1;
  const { serviceTime } = chosen.account;
  if (serviceTime.type === 'stale')
    return {
      ...rentNothing(facts, stage, {
        reason: 'AccountNotReady',
        detail: TIME_UNCERTAIN,
        requeue: { onList: true, afterMs: 1_000 },
      }),
      isFailure: true,
      isMomentary: true,
    };
  const issuedAt = serviceTime.type === 'known' ? serviceTime.at : now;
  const purchase = { uid, attempt, issuedAt };
  const request = rentRequest({
    spec: object.spec,
    requirements: chosen.requirements,
    inputs: chosen.inputs,
    label: makeLabel(identity, purchase),
    workerToken: workerToken(identity.keys, { uid, attempt }),
    leaseProof: leaseProof(identity.keys, { uid, attempt }),
  });
  const bought = {
    attempt,
    issuedAt,
    decidedAt: now,
    offer: chosen.offer,
    offerIndex: chosen.index,
    pricePerHour: chosen.pricePerHour,
    request,
    specHash: specHash(object.spec),
    facts: machineFacts(
      { ...chosen.offer, pricing: chosen.requirements.pricing },
      filteredFields(object.spec.offers),
    ),
    ...(chosen.inputs.fuse && { fuse: chosen.inputs.fuse }),
    knownIds: chosen.account.labelEcho === 'echoed' ? undefined : (facts.machine.list?.ids ?? []),
  };
  return decision({
    record: { type: 'intent', purchase: bought },
    actions: [{ type: 'rent', purchase: bought }],
  });
}

/** Returns true if the object searched and found nothing. Its next search waits for those of others. */
export function foundNothing(reason: string | undefined): boolean {
  return facetsOf(reason).search === 'foundNothing';
}

/** Milliseconds for which an object may wait without a message. */
const SILENCE_MS = 3_000;
/** A message about position and time is kept this long, and then while both are within a quarter of their values. */
const NOTICE_HOLD_MS = 10_000;
const FAR_MS = 10_000;
const FAR_AHEAD = 2;
const FAR_SHARE = 0.25;
/** Maximum interval of checks during a long wait. */
const MAX_RETRY_MS = 60_000;

/**
 * Reports that the object waits in the login's queue, with its position and approximate wait. The queue requeues the
 * object when its turn comes; it reconciles earlier only to update a position that has changed much.
 */
export function waitInQueue(
  facts: Pick<Facts, 'object' | 'account' | 'clock' | 'memory'>,
  stage: Extract<Stage, { type: 'unrented' }>,
  place: QueuePosition | undefined,
): Decision {
  if (!place || place.waitedMs + place.expectedMs <= SILENCE_MS) {
    return decision({ requeue: { afterMs: SILENCE_MS }, waits: {} });
  }
  // Time after which the reported position among rentals may be wrong. A search requeues the object when it
  // ends.
  const changesMs = place.isSerial ? 0 : Math.ceil(FAR_SHARE * place.expectedMs);
  const rentalMs = Math.min(MAX_RETRY_MS, Math.max(NOTICE_HOLD_MS, changesMs));
  const requeue = { afterMs: place.for === 'search' ? MAX_RETRY_MS : rentalMs };
  const { refusal } = facts.memory;
  if (place.for === 'search' && refusal && foundNothing(refusal.reason)) {
    // A repeated search is no change: nothing matched, and the object still waits for a match.
    return { ...rentNothing(facts, stage, { ...refusal, requeue }), waits: {} };
  }
  const previous = facts.memory.queued;
  const now = noticeOf(facts, place);
  const notice = previous && isStillTrue(previous, now) ? previous : now;
  const waiting = rentNothing(facts, stage, { reason: notice.reason, detail: notice.detail, requeue });
  if (!waiting.status) return { ...waiting, waits: { notice } };
  // A reconcile request is acknowledged only after the search.
  const { requestedAt: _asked, ...fields } = waiting.status.fields;
  const handled = facts.object.status?.requestedAt;
  const unhandled = { ...fields, ...(handled !== undefined && { requestedAt: handled }) };
  return { ...waiting, status: { ...waiting.status, fields: unhandled }, waits: { notice } };
}

/**
 * Returns true if the recorded notice is still accurate: a different cause is reported immediately, a different
 * position or time when it differs much.
 */
function isStillTrue(previous: QueueNotice, now: QueueNotice): boolean {
  if (previous.cause !== now.cause || previous.isSerial !== now.isSerial) return false;
  if (now.at - previous.at < NOTICE_HOLD_MS) return true;
  return !isFar(previous.ahead, now.ahead, FAR_AHEAD) && !isFar(previous.expectedMs, now.expectedMs, FAR_MS);
}

function isFar(previous: number, now: number, least: number): boolean {
  return Math.abs(previous - now) > Math.max(least, FAR_SHARE * previous);
}

function noticeOf(
  facts: Pick<Facts, 'account' | 'clock'>,
  { ahead, expectedMs, isSerial }: QueuePosition,
): QueueNotice {
  const place = { ahead, expectedMs, isSerial, at: facts.clock.steadyNow };
  const behind = ahead === 0 ? 'Next in the queue' : `Queued behind ${counted(ahead, 'instance')}`;
  if (isSerial && facts.account.facts?.labelEcho === 'notEchoed') {
    const detail = `${behind}: the marketplace does not return labels, so rentals go one at a time.`;
    return { reason: 'Queued', cause: 'labels', detail, ...place };
  }
  const time = `about ${about(expectedMs)}`;
  const detail = isSerial
    ? `${behind}: the first rental of the login is checked before the next; ${time}.`
    : `${behind} by the marketplace's rate limit; ${time}.`;
  return { reason: 'Queued', cause: 'turn', detail, ...place };
}

/** Returns a rounded duration: `15s`, `4m`. */
function about(ms: number): string {
  const seconds = Math.max(1, Math.ceil(ms / 1_000));
  return seconds < 120 ? `${seconds}s` : `${Math.round(seconds / 60)}m`;
}

/** Reason why nothing is rented, and the time of the next attempt. */
export interface Because {
  readonly reason: Reason;
  readonly detail?: string | undefined;
  readonly requeue?: Requeue;
}

/** Reports why nothing is rented. The same write closes a purchase that failed. */
export function rentNothing(facts: Pick<Facts, 'object'>, stage: Unrented, because: Because): Decision {
  const { reason, detail, requeue = {} } = because;
  const fields = carriedFields(facts);
  return decision({
    fields: stage.attempt > 0 ? { ...fields, attempt: stage.attempt } : fields,
    finding: { phase: facetsOf(reason).phase ?? 'Pending', reason, detail, machine: { type: 'none' } },
    events: waitingEvents(facts, conditionState('False', reason, detail)),
    requeue,
  });
}

/** Returns the event when the reason of the wait changes, with the remedy. */
export function waitingEvents(
  { object }: Pick<Facts, 'object'>,
  { reason, message }: ConditionState,
): readonly EventNote[] {
  const before = object.status?.conditions?.find(({ type }) => type === 'Ready');
  const { kind, passes } = facetsOf(reason);
  // A temporary reason, or one that the account reports, needs no event.
  if (before?.reason === reason || passes !== undefined || kind === 'progress') return [];
  return [{ type: 'Warning', reason, action: 'Renting', note: message }];
}
