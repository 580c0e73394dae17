import type { AvoidEntry } from '../../accounts/avoid-list.ts';
import type { MarketplaceAccountStatus } from '../../api/v1alpha1/marketplace-account.ts';
import { annotations } from '../../api/v1alpha1/names.ts';
import { requestToken } from '../../api/v1alpha1/object.ts';
import { withPage } from '../../api/v1alpha1/reasons.ts';
import { sameJson } from '../../lib/json.ts';
import { formatDollars, type MicroDollars, parseDollars } from '../../lib/money.ts';
import { formatDuration, formatTime } from '../../lib/time.ts';
import { compareIds } from '../../marketplace/ids.ts';
import { setConditions } from '../../runtime/conditions.ts';
import { authenticated, type ConditionState, funded, reachable, ready, stalled } from './conditions.ts';
import { breakerRecord, massOrphanRecord, provenGone, rollbackRecord } from './incidents.ts';
import { provesPinned } from './key-proof.ts';
import type { Observed } from './types.ts';

type Status = MarketplaceAccountStatus;

/** The whole status that this pass wants, made from the one that stands, so that nothing recorded is lost. */
export function statusOf(observed: Observed): Status {
  const { credit, pricePerHour, runway, twoFactor: _seenBefore, ...before } = observed.account.status ?? {};
  const conditions = conditionsOf(observed);
  return {
    ...before,
    observedGeneration: observed.account.metadata.generation ?? 0,
    conditions,
    ...pinnedLogin(observed),
    ...installation(observed),
    ...userFacts(observed),
    ...sessionRecords(observed),
    ...rollbackRecord(observed),
    ...massOrphanRecord(observed),
    ...figures(observed, conditions, standing({ credit, pricePerHour, runway })),
    ...requested(observed),
  };
}

/**
 * While a process that has just started finds out what it knew before, the conditions stand as they are: a
 * restart is no news.
 */
function conditionsOf(observed: Observed): NonNullable<Status['conditions']> {
  const { status, metadata } = observed.account;
  const summary = ready(observed);
  const judged = status?.conditions !== undefined && status.observedGeneration === metadata.generation;
  if (summary.reason === 'Pending' && judged) return status.conditions ?? [];
  const all = conditionStates(observed, summary);
  const desired = Object.entries(all).flatMap(([type, state]) =>
    state ? [withPage({ type, ...pick(state) })] : [],
  );
  const absent = Object.keys(all).filter((type) => all[type] === undefined);
  return [
    ...setConditions({
      previous: observed.account.status?.conditions as Parameters<typeof setConditions>[0]['previous'],
      desired,
      absent,
      generation: observed.account.metadata.generation,
      now: formatTime(observed.now),
    }),
  ] as NonNullable<Status['conditions']>;
}

function conditionStates(
  observed: Observed,
  summary: ConditionState,
): Record<string, ConditionState | undefined> {
  const stall = stalled(observed);
  const working = summary.status !== 'True' && !stall;
  return {
    Ready: stall ? { ...stall, status: 'False' } : summary,
    Authenticated: authenticated(observed),
    Funded: funded(observed),
    Reachable: reachable(observed),
    Stalled: stall && { ...stall, status: 'True' },
    Reconciling: working ? { status: 'True', reason: summary.reason, message: summary.message } : undefined,
  };
}

function pick({ status, reason, message }: ConditionState): ConditionState {
  return { status, reason, message };
}

/** Pinned at the first proof by the user's own key, and never moved. */
function pinnedLogin({ account, proof, now }: Observed): Pick<Status, 'login'> {
  if (account.status?.login || !provesPinned(proof, undefined) || proof.source !== 'user') return {};
  return { login: { ...proof.login, provenAt: formatTime(now) } };
}

/** By whose labels machines of this account are known, should the identity be lost one day. */
function installation({ account, proof, installation: known }: Observed): Pick<Status, 'installation'> {
  const isOfLogin = provesPinned(proof, account.status?.login);
  return known.type === 'known' && isOfLogin ? { installation: known.identity.installId8 } : {};
}

const TWO_FACTOR = {
  enabled: 'Enabled',
  disabled: 'Disabled',
  legacy: 'Legacy',
  unrecognized: undefined,
} as const;

/** As the latest proof says. What its key may not read is not known any more; without a proof all stays. */
function userFacts({ account, proof }: Observed): Pick<Status, 'twoFactor' | 'sshKeyRegistered'> {
  const { login, twoFactor: before } = account.status ?? {};
  if (!provesPinned(proof, login)) return before ? { twoFactor: before } : {};
  const { twoFactor, sshKey } = proof.user;
  const known = twoFactor && TWO_FACTOR[twoFactor];
  return { ...(known && { twoFactor: known }), sshKeyRegistered: sshKey !== undefined && sshKey !== '' };
}

function sessionRecords(observed: Observed): Partial<Status> {
  const { session, account } = observed;
  if (!session) return {};
  const { counts, labelEcho } = session;
  const before = account.status ?? {};
  return {
    ...(counts && { machines: counts }),
    ...(labelEcho === 'unknown' ? {} : { labelsEchoed: labelEcho === 'echoed' }),
    ...optional('avoid', session.avoid.map(avoidEntry), before.avoid),
    ...retained(observed),
    ...labelCopies(observed),
    ...breakerRecord(observed),
    ...newestRental(observed),
  };
}

/** A list that is empty is left out, unless it has to replace one that is there. */
function optional<Name extends string, Item>(
  name: Name,
  items: readonly Item[],
  before: readonly Item[] | undefined,
): Partial<Record<Name, Item[]>> {
  if (items.length === 0 && before === undefined) return {};
  return { [name]: [...items] } as Partial<Record<Name, Item[]>>;
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

/** A retained machine that is gone needs no entry; while there is any doubt it keeps the one that protects it. */
function retained(observed: Observed): Pick<Status, 'retained'> {
  const before = observed.account.status?.retained;
  if (!before) return {};
  const gone = provenGone(observed);
  return { retained: before.filter(({ instanceId }) => !gone.has(instanceId)) };
}

const MAX_COPIES = 256;

/** A copy stays one when its original ends: after that it would look like a rental that was carried out late. */
function labelCopies(observed: Observed): Pick<Status, 'labelCopies'> {
  const before = observed.account.status?.labelCopies;
  const found = observed.session?.findings.copied ?? [];
  if (!before && found.length === 0) return {};
  const gone = provenGone(observed);
  const ids = [...(before ?? []).filter((id) => !gone.has(id)), ...found];
  return { labelCopies: [...new Set(ids)].sort(compareIds).slice(0, MAX_COPIES) };
}

/** The newest rental on record, which never goes back. */
function newestRental({ account, newestRentalAt }: Observed): Pick<Status, 'lastRentalAt'> {
  const newest = Math.max(Date.parse(account.status?.lastRentalAt ?? '') || 0, newestRentalAt ?? 0);
  return newest > 0 ? { lastRentalAt: formatTime(newest) } : {};
}

/** The figures that were written last. */
function standing({
  credit,
  pricePerHour,
  runway,
}: { [Name in keyof Figures]: Figures[Name] | undefined }): Figures {
  return {
    ...(credit !== undefined && { credit }),
    ...(pricePerHour !== undefined && { pricePerHour }),
    ...(runway !== undefined && { runway }),
  };
}

function figures(
  observed: Observed,
  conditions: NonNullable<Status['conditions']>,
  before: Figures,
): Figures {
  const { account, session, proof, now, figuresWrittenAt } = observed;
  if (!session) return before;
  const credit = proof.type === 'proven' ? proof.user.credit : session.sums.credit;
  return figuresToWrite({
    before,
    now: figuresOf({ credit, pricePerHour: session.sums.dollarsPerHour }),
    isWrittenAnyway: isChanged(conditions, session.counts, account.status),
    sinceLastWriteMs: now - (figuresWrittenAt ?? 0),
  });
}

function isChanged(
  conditions: NonNullable<Status['conditions']>,
  counts: Status['machines'],
  { conditions: before = [], machines }: Status = {},
): boolean {
  return summaryOf(conditions) !== summaryOf(before) || (counts !== undefined && !sameJson(counts, machines));
}

function summaryOf(conditions: NonNullable<Status['conditions']>): string {
  return conditions.map(({ type, status, reason }) => `${type}=${status}/${reason}`).join();
}

function requested({ account }: Observed): Pick<Status, 'requestedAt'> {
  const requestedAt = requestToken(account.metadata, annotations.requestedAt);
  return requestedAt === undefined ? {} : { requestedAt };
}

/** Figures of an account that move by themselves. */
export type Figures = Pick<MarketplaceAccountStatus, 'credit' | 'pricePerHour' | 'runway'>;

interface FiguresInput {
  readonly credit: MicroDollars | undefined;
  readonly pricePerHour: MicroDollars;
}

const HOUR_MS = 3_600_000;
const MIN_SHARE_TO_WRITE = 0.1;
/** Ten years: longer says nothing. */
const MAX_RUNWAY_MS = 87_600 * HOUR_MS;

/** Credit, price and how long the one lasts at the other, rounded to whole hours. */
export function figuresOf({ credit, pricePerHour }: FiguresInput): Figures {
  const hours = credit === undefined || pricePerHour <= 0 ? undefined : Math.floor(credit / pricePerHour);
  const runwayMs = hours === undefined ? undefined : Math.max(0, hours * HOUR_MS);
  return {
    ...(credit === undefined ? {} : { credit: formatDollars(Math.max(0, credit)) }),
    pricePerHour: formatDollars(pricePerHour),
    ...(runwayMs === undefined ? {} : { runway: spell(Math.min(runwayMs, MAX_RUNWAY_MS)) }),
  };
}

/**
 * The figures to write: new ones where the status is written for something else anyway, or where one moved by 10 %
 * and the last write is an hour old; else those that stand.
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

function spell(milliseconds: number): string {
  return milliseconds < HOUR_MS ? '0s' : formatDuration(milliseconds);
}
