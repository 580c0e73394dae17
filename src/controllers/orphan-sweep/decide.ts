import type { SweepFindings } from '../../accounts/session.ts';
import { formatDollars, type MicroDollars } from '../../lib/money.ts';
import type { EventNote } from '../../runtime/events.ts';
import type { Action, Candidate, Decision, Observed } from './types.ts';

const SLOW_SHARE = 0.1;
/** Number of sweeps in which a machine must have no object before it counts as an orphan. */
const SWEEPS_TO_BELIEVE = 2;
/** Records of rentals are written in whole seconds. */
const RECORD_ROUNDING_MS = 1_000;

interface Rule<Subject> {
  readonly name: string;
  readonly applies: (subject: Subject, observed: Observed) => boolean;
}

/** Reasons why a machine without an object does not count as an orphan yet. */
const NOT_YET: readonly Rule<Candidate>[] = [
  { name: 'it has no start date', applies: ({ startedAt }) => startedAt === undefined },
  {
    name: 'it is young',
    applies: (candidate, observed) => !isOldEnough(candidate, observed),
  },
  { name: 'lists do not agree on its label and start', applies: ({ isAgreed }) => !isAgreed },
  { name: 'it was orphaned in one sweep only', applies: ({ sweeps }) => sweeps < SWEEPS_TO_BELIEVE },
];

/** Reasons to destroy no orphan, whatever they cost. The log names the first that applies. */
const KEPT: readonly Rule<SweepFindings>[] = [
  { name: 'this process does not lead', applies: (_, { isLeader }) => !isLeader },
  { name: 'the identity belongs to another cluster', applies: (_, { sweep }) => sweep === 'clusterChanged' },
  { name: 'fewer namespaces are watched than before', applies: (_, { sweep }) => sweep === 'scopeShrunk' },
  {
    name: 'memory was rolled back',
    applies: ({ rolledBack }, { latched }) => rolledBack.length + latched.length > 0,
  },
  {
    name: 'many machines lost their objects at once',
    applies: ({ massOrphaned = [] }, { massLatched }) => massOrphaned.length + massLatched.length > 0,
  },
  { name: 'a record is of a newer version', applies: (_, { hasNewerRecord }) => hasNewerRecord === true },
  { name: 'the breaker is open', applies: (_, { breaker }) => breaker.type !== 'closed' },
];

/** Orphans that the policy leaves to a person. The end of a machine that the operator destroyed before is decided. */
const isKeptByPolicy = ({ wasDestroyed }: Candidate, { policy }: Observed): boolean =>
  policy === 'Report' && !wasDestroyed;

/** Findings of a sweep, and its actions. */
export function decide(observed: Observed): Decision {
  const unsettled = (candidate: Candidate) => NOT_YET.find((rule) => rule.applies(candidate, observed));
  const orphans = observed.candidates.filter((candidate) => unsettled(candidate) === undefined);
  const late = observed.candidates.filter(({ isLate }) => isLate).map(({ instanceId }) => instanceId);
  const findings: SweepFindings = {
    orphans: orphans.map(({ instanceId }) => instanceId),
    unsettled: observed.candidates.filter(isUnsettled(orphans)).map(({ instanceId }) => instanceId),
    rolledBack: orphans
      .filter((orphan) => isYoungerThanRecords(orphan, observed))
      .map((orphan) => orphan.instanceId),
    confirmedAt: observed.confirmedAt,
    ...massOrphaned(observed),
    copied: observed.copied,
    ...(late.length > 0 && { late }),
    others: observed.others ?? [],
  };
  const blocked =
    orphans.length === 0 ? undefined : KEPT.find((rule) => rule.applies(findings, observed))?.name;
  const decided = orphans.filter((orphan) => !isKeptByPolicy(orphan, observed));
  const destroys = blocked === undefined ? sweepable(observed, decided).map(destroy) : [];
  return {
    findings,
    kept: blocked ?? (decided.length < orphans.length ? 'the policy is to report' : undefined),
    actions: [...destroys, ...sweepAgainSoon(observed)],
    events: events(observed, orphans),
  };
}

/**
 * Returns true if too many machines lost their objects at the same time. A clean-up script, a recreated CRD or a
 * restore without objects orphans many machines that still work. Machines swept within the last hour count too:
 * otherwise a few would be destroyed at a time. A machine that was destroyed with its object does not count.
 */
function massOrphaned({
  candidates,
  policy,
  maxOrphans,
  swept,
  massConfirmed,
}: Observed): Pick<SweepFindings, 'massOrphaned'> {
  const isFresh = (id: string) => !massConfirmed.has(id) && !swept.lastHour.has(id);
  const lost = candidates.filter(({ wasDestroyed }) => !wasDestroyed);
  const ids = lost.map(({ instanceId }) => instanceId).filter(isFresh);
  const isMass = policy === 'Destroy' && ids.length > 0 && ids.length + swept.lastHour.size > maxOrphans;
  return isMass ? { massOrphaned: ids } : {};
}

/**
 * Orphans to destroy now. Machines that a person confirmed are destroyed slowly: a tenth of the machines, and at
 * least one, in ten minutes. A machine that was counted already may be retried.
 */
function sweepable(
  { massConfirmed, machines, swept }: Observed,
  orphans: readonly Candidate[],
): readonly Candidate[] {
  const isConfirmed = ({ instanceId }: Candidate) =>
    massConfirmed.has(instanceId) && !swept.lastHour.has(instanceId);
  const room = Math.max(0, Math.max(1, Math.floor(machines * SLOW_SHARE)) - swept.lastWindow);
  const slow = orphans.filter(isConfirmed).slice(0, room);
  return orphans.filter((orphan) => !isConfirmed(orphan) || slow.includes(orphan));
}

/** Returns a test for orphans that are not settled yet. A machine without a start date never becomes an orphan. */
function isUnsettled(orphans: readonly Candidate[]): (candidate: Candidate) => boolean {
  return (candidate) => candidate.startedAt !== undefined && !orphans.includes(candidate);
}

/**
 * Returns true if the label is newer than all records of rentals. A later record proves nothing about a machine that
 * was unknown when it was listed.
 */
function isYoungerThanRecords({ issuedAt, newestRecordAt }: Candidate, { confirmedAt }: Observed): boolean {
  return issuedAt > Math.max(newestRecordAt, confirmedAt) + RECORD_ROUNDING_MS;
}

function destroy({ instanceId, pricePerHour, label, startedAt, wasDestroyed }: Candidate): Action {
  return {
    type: 'destroy',
    instanceId,
    pricePerHour,
    label,
    startedAt,
    ...(wasDestroyed && { wasDestroyed }),
  };
}

/**
 * Returns true if the machine is old enough by its own start date: a label may be issued long before its machine
 * starts. The minimum age leaves time to record the rental. A machine that the operator destroyed had such a record.
 */
function isOldEnough({ startedAt, isLate, wasDestroyed }: Candidate, { now, ...ages }: Observed): boolean {
  if (wasDestroyed) return startedAt !== undefined;
  const ageMs = isLate ? ages.lateOrphanAgeMs : ages.orphanAgeMs;
  return startedAt !== undefined && now !== undefined && now - startedAt >= ageMs;
}

/** Returns an early second sweep if a machine was orphaned for the first time and is old enough. */
function sweepAgainSoon(observed: Observed): readonly Action[] {
  const fresh = observed.candidates.some(
    (candidate) => candidate.sweeps < SWEEPS_TO_BELIEVE && isOldEnough(candidate, observed),
  );
  return fresh ? [{ type: 'lookAgain' }] : [];
}

/** Events for each machine, when it is found. */
function events(
  { before, copied, candidates, others = [] }: Observed,
  orphans: readonly Candidate[],
): readonly EventNote[] {
  const late = candidates.filter(({ instanceId, isLate }) => isLate && !before.late?.includes(instanceId));
  const found = orphans.filter(({ instanceId }) => !before.orphans.includes(instanceId));
  const labelled = copied.filter((id) => !before.copied.includes(id));
  return [
    ...found.map((orphan) => warning('OrphanFound', foundNote(orphan))),
    ...late.map(({ instanceId, pricePerHour }): EventNote => {
      const note = `Machine ${instanceId} has a label of this operator, ${hourly(pricePerHour)}, and started after the label's time: a late rental. It is an orphan when it is older than --late-orphan-age.`;
      return warning('OrphanFound', note);
    }),
    ...labelled.map((id): EventNote => {
      const note = `Machine ${id} bills and carries our label, edited or outside its time window. The operator never destroys it. Check who rented it; destroy it in the console if it is not needed.`;
      return warning('OrphanFound', note);
    }),
    ...(others.length > 0 && (before.others ?? []).length === 0 ? [otherInstallations(others)] : []),
  ];
}

function foundNote({ instanceId, pricePerHour, wasDestroyed }: Candidate): string {
  return wasDestroyed
    ? `Machine ${instanceId} is listed again after its destroy and ${hourly(pricePerHour)}. The operator destroys it again.`
    : `Machine ${instanceId} was rented by this operator, ${hourly(pricePerHour)}, and no GpuInstance claims it.`;
}

/**
 * Returns the event about other installations. It is emitted once per process, because several clusters may share a
 * login.
 */
function otherInstallations(others: readonly string[]): EventNote {
  const note = `Machines of this login carry labels of other installations (${others.join(', ')}); they are never touched. If one of them was this cluster before its identity Secret was lost, restore that Secret.`;
  return warning('OtherInstallation', note);
}

/** Returns a warning event: all events of a sweep are about machines that bill, or may bill, without a use. */
export function warning(reason: string, note: string): EventNote {
  return { type: 'Warning', reason, action: 'SweepOrphans', note };
}

/** Returns the hourly cost of a machine as text. */
export function hourly(pricePerHour: MicroDollars | undefined): string {
  return pricePerHour === undefined ? 'bills at an unknown price' : `bills $${formatDollars(pricePerHour)}/h`;
}
