import type { SweepFindings } from '../../accounts/session.ts';
import { formatDollars, type MicroDollars } from '../../lib/money.ts';
import type { EventNote } from '../../runtime/events.ts';
import type { Action, Candidate, Decision, Observed } from './types.ts';

const SLOW_SHARE = 0.1;
/** In how many sweeps a machine must be unclaimed before it counts. */
const SWEEPS_TO_BELIEVE = 2;
/** Records of rentals are written in whole seconds. */
const RECORD_ROUNDING_MS = 1_000;

interface Rule<Subject> {
  readonly name: string;
  readonly applies: (subject: Subject, observed: Observed) => boolean;
}

/** Reasons why an unclaimed machine is no orphan yet. */
const NOT_YET: readonly Rule<Candidate>[] = [
  { name: 'it has no start date', applies: ({ startedAt }) => startedAt === undefined },
  {
    name: 'it is young',
    applies: (candidate, observed) => !isOldEnough(candidate, observed),
  },
  { name: 'lists do not agree on its label and start', applies: ({ isAgreed }) => !isAgreed },
  { name: 'it was unclaimed only once', applies: ({ sweeps }) => sweeps < SWEEPS_TO_BELIEVE },
];

/** Reasons to leave all orphans alone, whatever they cost. The log names the first that applies. */
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
 * A clean-up script, a CRD that was made again or a restore without objects orphans many machines that are at work. What
 * was swept within the hour counts as well, or they would go a few at a time. A machine that was destroyed with its object
 * lost none.
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
 * Orphans to destroy now. Those that a person confirmed go slowly: a tenth of the machines, and at least one, in ten
 * minutes. A counted one may be tried again.
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

/** Not one without a start date: nothing would ever make an orphan of it. */
function isUnsettled(orphans: readonly Candidate[]): (candidate: Candidate) => boolean {
  return (candidate) => candidate.startedAt !== undefined && !orphans.includes(candidate);
}

/** A rental that is recorded later proves nothing: the machine was unknown when it was seen. */
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
 * By its own start date: a label is issued before its machine begins, perhaps long before. The age leaves time for a record
 * of the rental, which a machine that was destroyed has had.
 */
function isOldEnough({ startedAt, isLate, wasDestroyed }: Candidate, { now, ...ages }: Observed): boolean {
  if (wasDestroyed) return startedAt !== undefined;
  const ageMs = isLate ? ages.lateOrphanAgeMs : ages.orphanAgeMs;
  return startedAt !== undefined && now !== undefined && now - startedAt >= ageMs;
}

/** A machine that was seen unclaimed once and is old enough is worth a second look at once. */
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
      const note = `Machine ${instanceId} carries our label, ${hourly(pricePerHour)}, and started after the label's time: a late rental. It is an orphan when it is older than --late-orphan-age.`;
      return warning('LateRental', note);
    }),
    ...labelled.map((id): EventNote => {
      const note = `Machine ${id} carries our label outside its time, or an edited one, and bills. It is never touched. Check who rented it; destroy it in the console if nobody needs it.`;
      return warning('LabelCopied', note);
    }),
    ...(others.length > 0 && (before.others ?? []).length === 0 ? [otherInstallations(others)] : []),
  ];
}

function foundNote({ instanceId, pricePerHour, wasDestroyed }: Candidate): string {
  return wasDestroyed
    ? `Machine ${instanceId} is listed again after its destroy and ${hourly(pricePerHour)}. The operator destroys it again.`
    : `Machine ${instanceId} is ours, ${hourly(pricePerHour)}, and no GpuInstance claims it.`;
}

/** Event about other installations, once in a process: several clusters may share a login. */
function otherInstallations(others: readonly string[]): EventNote {
  const note = `Machines of this login carry labels of other installations (${others.join(', ')}); they are never touched. If one of them was this cluster before its identity Secret was lost, restore that Secret.`;
  return warning('OtherInstallation', note);
}

/** All events of a sweep are about machines that bill for nothing, or may. */
export function warning(reason: string, note: string): EventNote {
  return { type: 'Warning', reason, action: 'SweepOrphans', note };
}

/** Hourly cost of a machine, in words. */
export function hourly(pricePerHour: MicroDollars | undefined): string {
  return pricePerHour === undefined ? 'bills at an unknown price' : `bills $${formatDollars(pricePerHour)}/h`;
}
