import { isFarAbove, type Machine, needsRead } from '../../../accounts/beliefs/machine.ts';
import { differencesFromRental } from '../../../api/v1alpha1/machine-drift.ts';
import type { Reason } from '../../../api/v1alpha1/reasons.ts';
import { formatDollars, parseDollars } from '../../../lib/money.ts';
import { formatTime } from '../../../lib/time.ts';
import { findCondition } from '../../../runtime/conditions.ts';
import type { EventNote } from '../../../runtime/events.ts';
import { isTurnUnread } from '../billing.ts';
import { conditionState } from '../conditions.ts';
import { type Added, withAdded, writesStatus } from '../decision.ts';
import type { Facts } from '../facts.ts';
import type { Decision, Step, Verdict } from '../types.ts';
import type { Listed, RecordedMachine } from './machine-finding.ts';

/** Warning in addition to the decision of the rules; it causes no action. */
interface Doubt {
  /** Condition that shows it. */
  readonly shownIn: 'OverBudget' | 'Rented';
  readonly reason: Reason;
  readonly detail: string;
  /** True if its first occurrence causes an event. */
  readonly isRemarkable: boolean;
}

/** Delay before the next reconcile after a read contradicted the lists. */
const CONTRADICTED_RETRY_MS = 60_000;

/**
 * Returns the step with unconfirmed reports of lists, and with missing properties of the rented machine: conditions and
 * events, and a reconcile at the next list as long as something may settle.
 */
export function withDoubts(
  facts: Pick<Facts, 'object' | 'machine' | 'memory'>,
  recorded: RecordedMachine<Listed>,
  step: Step,
): Step {
  if (step.type !== 'decision') return step;
  const later = withNextReconcile(facts, recorded, step);
  if (!writesStatus(later)) return later;
  const { verdict } = later.status;
  const report = reportDoubt(facts, recorded);
  const less = rentedDoubt(facts, recorded);
  const added: Added<'OverBudget' | 'Rented' | 'Ready'> = {
    conditions: { ...reportCondition(verdict, report), ...differenceConditions(verdict, less) },
    events: [report, less].flatMap((doubt) => doubtEvents(facts, doubt)),
  };
  return withAdded(later, added);
}

/** Returns true if lists agree on a report that a read must settle. */
export function isReadDue(facts: Parameters<typeof isTurnUnread>[0], row: Machine): boolean {
  return needsRead(row) || isTurnUnread(facts, row);
}

function withNextReconcile(
  facts: Pick<Facts, 'object' | 'machine' | 'memory'>,
  { machine, state: { row } }: RecordedMachine<Listed>,
  next: Decision,
): Decision {
  const isOpen = row.unsettled.size > 0 || Object.keys(row.reports).length > 0;
  const { requeue } = next;
  // This reconcile's read contradicts the lists. Reading again at each list would cost one call per list.
  if (isReadDue(facts, row) && facts.machine.confirmed?.instanceId === machine.instanceId) {
    const afterMs = Math.min(CONTRADICTED_RETRY_MS, requeue.afterMs ?? CONTRADICTED_RETRY_MS);
    return { ...next, requeue: { ...requeue, afterMs } };
  }
  return isOpen ? { ...next, requeue: { ...requeue, onList: true } } : next;
}

/** Returns the warning about a price or start in lists that is not confirmed. */
function reportDoubt(
  { object }: Pick<Facts, 'object'>,
  { state: { row } }: RecordedMachine<Listed>,
): Doubt | undefined {
  const { pricePerHour: price, startedAt: start } = row.reports;
  if (price) {
    const known = row.pricePerHour ?? parseDollars(object.status?.cost?.pricePerHour);
    const instead = known === undefined ? '' : ` instead of $${formatDollars(known)}/h`;
    const detail = `Lists show $${formatDollars(price.value)}/h${instead}; it counts when lists and a read of the machine agree.`;
    // The first price of a new machine is accepted soon, however far it exceeds the offer.
    const isRemarkable = price.isImplausible || (known !== undefined && isFarAbove(known, price.value));
    return { shownIn: 'OverBudget', reason: 'DiffersFromOffer', detail, isRemarkable };
  }
  if (start) {
    const detail = `Lists show ${formatTime(start.value)} as the start of the machine; it counts when lists and a read agree.`;
    return {
      ...{ shownIn: 'OverBudget', reason: 'DiffersFromOffer', detail },
      isRemarkable: start.isImplausible,
    };
  }
  return undefined;
}

/** Returns the warning about a machine that differs from the rented offer. It is kept: the job may still run. */
function rentedDoubt(
  { object }: Pick<Facts, 'object'>,
  { state: { row } }: RecordedMachine<Listed>,
): Doubt | undefined {
  if (object.spec.adopt?.policy === 'Observe') return undefined;
  const isSettled = (['gpuName', 'gpuCount', 'gpuMemoryMB', 'diskGB'] as const).every(
    (field) => !row.unsettled.has(field),
  );
  const differences = isSettled ? differencesFromRental(object.status ?? {}, object.spec, row) : [];
  if (differences.length === 0) return undefined;
  const detail = `The machine differs from what was rented: ${differences.join(', ')}.`;
  return { shownIn: 'Rented', reason: 'DiffersFromOffer', detail, isRemarkable: true };
}

function reportCondition(verdict: Verdict, doubt: Doubt | undefined): Pick<Verdict, 'OverBudget'> {
  if (!doubt || verdict.OverBudget) return {};
  return { OverBudget: conditionState('Unknown', doubt.reason, doubt.detail) };
}

function differenceConditions(
  verdict: Verdict,
  doubt: Doubt | undefined,
): Partial<Pick<Verdict, 'Rented' | 'Ready'>> {
  if (!doubt || verdict.Rented.status !== 'True') return {};
  const Rented = conditionState('True', doubt.reason, doubt.detail);
  const isReady = verdict.Ready.status === 'True' && verdict.Ready.reason === 'Ready';
  return { Rented, ...(isReady && { Ready: { ...verdict.Ready, message: Rented.message } }) };
}

function doubtEvents({ object }: Pick<Facts, 'object'>, doubt: Doubt | undefined): readonly EventNote[] {
  if (!doubt?.isRemarkable) return [];
  const shown = findCondition(object.status?.conditions, doubt.shownIn);
  return shown?.reason === doubt.reason
    ? []
    : [{ type: 'Warning', reason: doubt.reason, action: 'Watching', note: doubt.detail }];
}
