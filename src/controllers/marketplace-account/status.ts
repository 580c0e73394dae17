import type { AvoidEntry } from '../../accounts/avoid-list.ts';
import type { MarketplaceAccountStatus } from '../../api/v1alpha1/marketplace-account.ts';
import { annotations } from '../../api/v1alpha1/names.ts';
import { requestToken } from '../../api/v1alpha1/object.ts';
import { withPage } from '../../api/v1alpha1/reasons.ts';
import { sameJson } from '../../lib/json.ts';
import { formatDollars, type MicroDollars, parseDollars, runwayHours } from '../../lib/money.ts';
import { formatDuration, formatTime } from '../../lib/time.ts';
import { compareIds } from '../../market/ids.ts';
import { setConditions } from '../../runtime/conditions.ts';
import {
  authenticated,
  type ConditionState,
  funded,
  outageNow,
  reachable,
  ready,
  stalled,
  suspended,
} from './conditions.ts';
import { creditLow } from './credit-low.ts';
import { breakerRecord, massOrphanRecord, provenGone, rollbackRecord } from './incidents.ts';
import { provesPinned } from './key-proof.ts';
import type { Observed } from './types.ts';

type Status = MarketplaceAccountStatus;

/** Returns the whole desired status, derived from the present one, so that no record is lost. */
export function statusOf(observed: Observed): Status {
  const { account } = observed;
  const {
    credit: _credit,
    pricePerHour: _price,
    runway: _runway,
    twoFactor: _seen,
    outage: _lost,
    ...before
  } = account.status ?? {};
  const conditions = conditionsOf(observed);
  const outage = outageNow(observed);
  const requestedAt = requestToken(account.metadata, annotations.requestedAt);
  return {
    ...before,
    observedGeneration: account.metadata.generation ?? 0,
    conditions,
    ...(outage && { outage }),
    ...provenFacts(observed),
    ...sessionRecords(observed),
    ...rollbackRecord(observed),
    ...massOrphanRecord(observed),
    ...figures(observed, conditions),
    ...(requestedAt !== undefined && { requestedAt }),
  };
}

/**
 * Returns the conditions. Until a new process has its own findings the present ones stay: a restart is no change.
 */
function conditionsOf(observed: Observed): NonNullable<Status['conditions']> {
  const { status, metadata } = observed.account;
  const summary = ready(observed);
  const judged = status?.conditions !== undefined && status.observedGeneration === metadata.generation;
  if (summary.reason === 'Pending' && judged) return status.conditions ?? [];
  const stall = stalled(observed);
  const isWorking = summary.status !== 'True' && summary.reason !== 'Suspended' && !stall;
  const all: Record<string, ConditionState | undefined> = {
    Ready: stall ? { ...stall, status: 'False' } : summary,
    Authenticated: authenticated(observed),
    Funded: funded(observed),
    Reachable: reachable(observed),
    Suspended: suspended(observed),
    CreditLow: creditLow(observed),
    Stalled: stall && { ...stall, status: 'True' },
    Reconciling: isWorking ? { ...summary, status: 'True' } : undefined,
  };
  return [
    ...setConditions({
      previous: status?.conditions as Parameters<typeof setConditions>[0]['previous'],
      desired: Object.entries(all).flatMap(([type, state]) =>
        state ? [withPage({ type, status: state.status, reason: state.reason, message: state.message })] : [],
      ),
      absent: Object.keys(all).filter((type) => all[type] === undefined),
      generation: metadata.generation,
      now: formatTime(observed.now),
    }),
  ] as NonNullable<Status['conditions']>;
}

const TWO_FACTOR = {
  enabled: 'Enabled',
  disabled: 'Disabled',
  legacy: 'Legacy',
  unrecognized: undefined,
} as const;

/**
 * Returns the facts of the latest proof about the pinned login. A figure that its key may not read is removed; without
 * a proof all stay.
 */
function provenFacts({ account, proof, installation, now }: Observed): Partial<Status> {
  const { login, twoFactor: before } = account.status ?? {};
  if (!provesPinned(proof, login)) return before ? { twoFactor: before } : {};
  const { twoFactor, sshKey } = proof.user;
  const known = twoFactor && TWO_FACTOR[twoFactor];
  return {
    // Pinned when two replies about the user's own key agree, and never moved.
    ...(!login && proof.source === 'user' && { login: { ...proof.login, provenAt: formatTime(now) } }),
    // Identifies the labels of this account's machines if the identity is lost later.
    ...(installation.type === 'known' && { installation: installation.identity.installId8 }),
    ...(known && { twoFactor: known }),
    sshKeyRegistered: sshKey !== undefined && sshKey !== '',
  };
}

function sessionRecords(observed: Observed): Partial<Status> {
  const { session, account, newestRentalAt } = observed;
  if (!session) return {};
  const { counts, labelEcho } = session;
  const before = account.status ?? {};
  const gone = provenGone(observed);
  const newest = Math.max(Date.parse(before.lastRentalAt ?? '') || 0, newestRentalAt ?? 0);
  return {
    ...(counts && { machines: counts }),
    ...(labelEcho === 'unknown' ? {} : { labelsEchoed: labelEcho === 'echoed' }),
    // An empty list replaces a recorded list, and is left out otherwise.
    ...((session.avoid.length > 0 || before.avoid !== undefined) && { avoid: session.avoid.map(avoidEntry) }),
    // A machine that is gone needs no entry; in doubt it keeps the entry that protects it.
    ...(before.retained && { retained: before.retained.filter(({ instanceId }) => !gone.has(instanceId)) }),
    ...labelCopies(observed),
    ...breakerRecord(observed),
    // Never decreases.
    ...(newest > 0 && { lastRentalAt: formatTime(newest) }),
  };
}

function avoidEntry({
  target,
  until,
  failures,
  reason,
  namespace,
}: AvoidEntry): NonNullable<Status['avoid']>[number] {
  const kind = target.type === 'host' ? 'Host' : 'Machine';
  const by = namespace !== undefined && { namespace };
  return { kind, id: target.id, until: formatTime(until), failures, reason, ...by };
}

const MAX_COPIES = 256;

/**
 * Returns the copies of labels. A copy remains a copy when its original ends: otherwise it would look like a late
 * rental.
 */
function labelCopies(observed: Observed): Pick<Status, 'labelCopies'> {
  const before = observed.account.status?.labelCopies;
  const found = observed.session?.findings.copied ?? [];
  if (!before && found.length === 0) return {};
  const gone = provenGone(observed);
  const ids = [...(before ?? []).filter((id) => !gone.has(id)), ...found];
  return { labelCopies: [...new Set(ids)].sort(compareIds).slice(0, MAX_COPIES) };
}

/** Returns the figures to write; without a session the last written ones. */
function figures(
  { account, session, proof, now, figuresWrittenAt }: Observed,
  conditions: NonNullable<Status['conditions']>,
): Figures {
  const {
    credit: lastCredit,
    pricePerHour,
    runway,
    conditions: formerly = [],
    machines,
  } = account.status ?? {};
  const before: Figures = {
    ...(lastCredit !== undefined && { credit: lastCredit }),
    ...(pricePerHour !== undefined && { pricePerHour }),
    ...(runway !== undefined && { runway }),
  };
  if (!session) return before;
  const { counts, sums } = session;
  const credit = proof.type === 'proven' ? proof.user.credit : sums.credit;
  const summaryOf = (list: typeof conditions) =>
    list.map(({ type, status, reason }) => `${type}=${status}/${reason}`).join();
  return figuresToWrite({
    before,
    now: figuresOf({ credit, pricePerHour: sums.dollarsPerHour }),
    isWrittenAnyway:
      summaryOf(conditions) !== summaryOf(formerly) || (counts !== undefined && !sameJson(counts, machines)),
    sinceLastWriteMs: now - (figuresWrittenAt ?? 0),
  });
}

/** Figures of an account that change by themselves. */
export type Figures = Pick<MarketplaceAccountStatus, 'credit' | 'pricePerHour' | 'runway'>;

interface FiguresInput {
  readonly credit: MicroDollars | undefined;
  readonly pricePerHour: MicroDollars;
}

const HOUR_MS = 3_600_000;
const MIN_SHARE_TO_WRITE = 0.1;
/** Ten years, the maximum that is shown. */
const MAX_RUNWAY_MS = 87_600 * HOUR_MS;

/** Returns credit, price, and the time until the credit is used up at that price, rounded to whole hours. */
export function figuresOf({ credit, pricePerHour }: FiguresInput): Figures {
  const hours = runwayHours(credit, pricePerHour);
  const runwayMs = hours === undefined ? undefined : Math.min(Math.floor(hours) * HOUR_MS, MAX_RUNWAY_MS);
  return {
    ...(credit === undefined ? {} : { credit: formatDollars(Math.max(0, credit)) }),
    pricePerHour: formatDollars(pricePerHour),
    ...(runwayMs === undefined ? {} : { runway: runwayMs === 0 ? '0s' : formatDuration(runwayMs) }),
  };
}

/**
 * Returns the figures to write: new ones if the status is written anyway, or if one changed by 10 % and the last write
 * is an hour old; else the present ones.
 */
export function figuresToWrite(input: {
  readonly before: Figures;
  readonly now: Figures;
  readonly isWrittenAnyway: boolean;
  readonly sinceLastWriteMs: number;
}): Figures {
  const { before, now } = input;
  if (input.isWrittenAnyway || before.credit === undefined) return now;
  if (input.sinceLastWriteMs < HOUR_MS) return before;
  const moved = hasMoved(before.credit, now.credit) || hasMoved(before.pricePerHour, now.pricePerHour);
  return moved ? now : before;
}

function hasMoved(before: string | undefined, now: string | undefined): boolean {
  if (before === undefined || now === undefined) return before !== now;
  const [from, to] = [parseDollars(before) ?? 0, parseDollars(now) ?? 0];
  return from !== to && Math.abs(to - from) >= from * MIN_SHARE_TO_WRITE;
}
