import { driftOf, satisfiedOffers } from '../../../api/v1alpha1/machine-drift.ts';
import { facetsOf } from '../../../api/v1alpha1/reasons.ts';
import { isRun, outcomeOf } from '../../../instance/run.ts';
import { findCondition } from '../../../runtime/conditions.ts';
import { decision, firstOf, named, type Rule } from '../decision.ts';
import type { Facts, HeldFacts } from '../facts.ts';
import { isToStop, limitToApply, priceRise, replaceIsDue, type StopFacts } from '../limits.ts';
import { highestCap } from '../offers.ts';
import type { Decision, Step } from '../types.ts';
import { cannotStop, canStop } from '../unsupported.ts';
import { labelAdopted } from './adopting.ts';
import { carryOutRunEnd, endRunAtLimit, runEnd, SETTLE_RUN } from './completion.ts';
import { isReadDue, withDoubts } from './doubts.ts';
import {
  askToStop,
  awaitList,
  blockedBy,
  confirmationOf,
  endMachine,
  type PlannedEnd,
  reasonOfEnding,
  showBlockedEnd,
} from './ending.ts';
import { IDLE_END, idlePlanned } from './idle.ts';
import { handOf } from './in-hand.ts';
import { withEndOfBlock, withKeptMachine } from './kept.ts';
import { type Listed, machineFinding, type RecordedMachine, seenFields } from './machine-finding.ts';

/** Cause for which a machine that works is to end, whether it runs or is stopped. */
interface EndCause extends Pick<Rule<never>, 'name' | 'because'> {
  /** Returns the end while the cause is present. */
  readonly endBy: (facts: HeldFacts, recorded: RecordedMachine<Listed>) => PlannedEnd | undefined;
  /**
   * Returns undefined while the end is blocked, not confirmed, or without an available offer. `byRunningRules`: the
   * rules of a running machine carry it out, after a requested stop.
   */
  readonly carryOut:
    | 'byRunningRules'
    | ((facts: Facts, planned: PlannedEnd, recorded: RecordedMachine<Listed>) => Step | undefined);
}

/** In the order in which they are tried. */
const END_CAUSES: readonly EndCause[] = [
  {
    name: 'run-finished',
    because: 'The result of the run on this machine is on record, so the machine has no more work.',
    endBy: runEnd,
    carryOut: carryOutRunEnd,
  },
  {
    name: 'limit-reached',
    because: 'A limit of the spec is reached.',
    endBy(facts, { machine, state }) {
      const limit = limitToApply(facts);
      if (limit.type !== 'reached') return undefined;
      const finding = machineFinding(facts, state);
      return { machine, reason: 'LimitReached', detail: limit.detail, kind: 'limit', finding };
    },
    carryOut: applyLimit,
  },
  {
    name: 'replace-requested',
    because: 'The annotation gpurental.dev/replace-at requests another machine.',
    endBy: (facts, recorded) =>
      replaceIsDue(facts) ? unwanted(facts, recorded, 'ReplaceRequested') : undefined,
    carryOut: replaceInHand,
  },
  {
    name: 'spec-changed',
    because: 'The machine differs from the spec, and updateStrategy is Replace.',
    endBy(facts, recorded) {
      const { spec, status } = facts.object;
      // The next machine of a run follows the new spec: a replacement would begin its program again.
      if (isRun(facts.object)) return undefined;
      const drift = spec.updateStrategy.type === 'Replace' ? driftOf(status ?? {}, spec) : undefined;
      if (!drift) return undefined;
      const planned = unwanted(facts, recorded, 'SpecChanged');
      return drift.type === 'offers' ? { ...planned, detail: drift.detail } : planned;
    },
    carryOut: replaceInHand,
  },
  {
    name: 'price-raised',
    because: 'The machine costs more than agreed, and onPriceAbove is Replace.',
    endBy(facts, recorded) {
      // Limits of an account stop rentals, but no running machine.
      const ownCap = highestCap(alternativesOf(facts), {}) ?? Number.POSITIVE_INFINITY;
      const detail = risenPrice(facts, recorded, ownCap);
      return detail !== undefined && facts.object.spec.onPriceAbove === 'Replace'
        ? { ...unwanted(facts, recorded, 'PriceRaised'), detail }
        : undefined;
    },
    carryOut: replaceInHand,
  },
  { ...IDLE_END, endBy: idlePlanned, carryOut: 'byRunningRules' },
];

interface DueEnd {
  readonly cause: EndCause;
  readonly planned: PlannedEnd;
}

function dueEnds(facts: HeldFacts, recorded: RecordedMachine<Listed>): readonly DueEnd[] {
  return END_CAUSES.flatMap((cause) => {
    const planned = cause.endBy(facts, recorded);
    return planned ? [{ cause, planned }] : [];
  });
}

const LABEL_ADOPTED: Rule<RecordedMachine<Listed>> = {
  name: 'label-adopted',
  because: 'An adopted machine needs a label, or another installation takes it for foreign.',
  decide: labelAdopted,
};

/**
 * Ends a machine that is no longer desired, else applies the rules of its state. If its end is blocked, the machine
 * is stopped, started, evaluated and published like a desired one.
 */
export function byRules<S extends Listed>(
  rules: readonly Rule<RecordedMachine<S>>[],
  facts: Facts,
  recorded: RecordedMachine<S>,
): Step {
  const { row } = recorded.state;
  if (isReadDue(facts, row) && facts.machine.confirmed?.instanceId !== recorded.machine.instanceId)
    return { type: 'read', requests: [{ type: 'confirm', instanceId: recorded.machine.instanceId }] };
  const due = dueEnds(facts, recorded);
  const step =
    firstOf([SETTLE_RUN], facts, recorded) ??
    endOf(facts, recorded, due) ??
    firstOf([LABEL_ADOPTED], facts, recorded) ??
    whileKept(facts, recorded, { due, step: firstOf(rules, facts, recorded) ?? decision({}) });
  return withDoubts(facts, recorded, withPlan(facts, { due, step }));
}

function endOf(facts: Facts, recorded: RecordedMachine<Listed>, due: readonly DueEnd[]): Step | undefined {
  for (const { cause, planned } of due) {
    const step = cause.carryOut === 'byRunningRules' ? undefined : cause.carryOut(facts, planned, recorded);
    if (step) return named(cause, step);
  }
  return undefined;
}

interface StepBesideEnds {
  readonly due: readonly DueEnd[];
  readonly step: Step;
}

/** Returns the step of a machine that stays, with the first replacement that is due, or with the end of its block. */
function whileKept(facts: Facts, { machine }: RecordedMachine<Listed>, { due, step }: StepBesideEnds): Step {
  const replacement = due.find(({ planned }) => planned.kind === 'unwanted');
  if (replacement) return withKeptMachine(facts, replacement.planned, step);
  return withEndOfBlock(facts, step, `No other machine is due: machine ${machine.instanceId} is kept.`);
}

/**
 * Returns the step with the planned end. The breaker counts the machines that are due to end by the marketplace's
 * figures before the first of them ends; an end that another condition blocks does not count. An unconfirmed end is
 * decided again at the next list.
 */
function withPlan(facts: Facts, { due, step }: StepBesideEnds): Step {
  if (step.type !== 'decision') return step;
  const planned = due
    .map((end) => end.planned)
    .find(
      ({ reason }) => facetsOf(reason).endsInMass && !(reason === 'LimitReached' && isLimitApplied(facts)),
    );
  const blocker = planned && blockedBy(facts, planned);
  if (!planned || (blocker && blocker.reason !== 'BreakerOpen')) return step;
  // Without a confirmed offer, a working machine is kept.
  if (!blocker && planned.kind === 'unwanted' && handOf(facts, planned).type !== 'inHand') return step;
  const isUnconfirmed = !blocker && confirmationOf(facts, planned) === 'unconfirmed';
  return { ...step, plansEnd: true, ...(isUnconfirmed && { requeue: { ...step.requeue, onList: true } }) };
}

/** Returns true if the limit was applied before, and the machine stays by its deletion policy. */
function isLimitApplied({ object }: Pick<Facts, 'object'>): boolean {
  const isKept = object.spec.deletionPolicy !== 'Destroy';
  return isKept && findCondition(object.status?.conditions, 'Ready')?.reason === 'LimitReached';
}

/** Ends a working machine only if an offer for the next one is available: its disk cannot be restored. */
export function replaceInHand(facts: Facts, planned: PlannedEnd | undefined): Step | undefined {
  if (!planned || blockedBy(facts, planned)) return undefined;
  const hasBegun = reasonOfEnding(facts) !== undefined;
  if (hasBegun && facts.memory.destroyNotBefore > facts.clock.steadyNow) return endMachine(facts, planned);
  const hand = handOf(facts, planned);
  if (hand.type === 'read') return hand;
  if (hand.type === 'inHand') {
    const { id } = hand.offer;
    const { instanceId } = planned.machine;
    const end = endMachine(facts, { ...planned, offer: hand.offer });
    const note = `Machine ${instanceId} is replaced: offer ${id} can be rented.`;
    return end && withEndOfBlock(facts, end, note);
  }
  return hasBegun ? unlessPresent(facts, planned) : undefined;
}

/** Returns the read of a machine whose destroy is on record: an earlier process may have sent it. */
function unlessPresent(facts: Pick<Facts, 'object' | 'machine'>, planned: PlannedEnd): Step | undefined {
  const { instanceId } = planned.machine;
  const read = facts.machine.absences.get(instanceId)?.read;
  if (read === undefined) return { type: 'read', requests: [{ type: 'machine', instanceId }] };
  return read === 'present' ? undefined : awaitList(facts, planned);
}

function unwanted(
  facts: Pick<Facts, 'object' | 'machine'>,
  { machine, state }: RecordedMachine<Listed>,
  reason: 'ReplaceRequested' | 'SpecChanged' | 'PriceRaised',
): PlannedEnd {
  return { machine, reason, kind: 'unwanted', finding: machineFinding(facts, state) };
}

/**
 * Returns the rise of the price of a running machine over its offer or over `cap`, by default the lower of the object's
 * and the account's; undefined without a rise.
 */
export function risenPrice(
  facts: Pick<Facts, 'object' | 'account'>,
  { state }: RecordedMachine<Listed>,
  cap = highestCap(alternativesOf(facts), facts.account.facts?.limits ?? {}),
): string | undefined {
  if (state.type !== 'running' && state.type !== 'booting') return undefined;
  return priceRise(facts, state.row.pricePerHour, cap);
}

/**
 * Returns the alternatives that the machine satisfies, independent of positions in `offers`, which an edit may change.
 */
function alternativesOf({ object }: Pick<Facts, 'object'>) {
  return satisfiedOffers(object.status ?? {}, object.spec);
}

/** Returns the treatment of the machine at a limit, by the deletion policy. */
function applyLimit(
  facts: HeldFacts,
  planned: PlannedEnd,
  recorded: RecordedMachine<Listed>,
): Step | undefined {
  const { state } = recorded;
  if (isRun(facts.object) && outcomeOf(facts.object) === undefined)
    return endRunAtLimit(facts, planned, recorded);
  const { deletionPolicy } = facts.object.spec;
  const unstoppable = deletionPolicy === 'Stop' ? cannotStop(facts, 'deletionPolicy') : undefined;
  const budget = {
    reason: 'LimitReached',
    detail: [planned.detail ?? [], unstoppable ?? []].flat().join(' '),
  } as const;
  const blocked = showBlockedEnd(facts, planned);
  if (blocked || deletionPolicy === 'Destroy')
    return stoppedToo(facts, recorded, blocked) ?? endMachine(facts, planned);
  const confirmation = isLimitApplied(facts) ? 'confirmed' : confirmationOf(facts, planned);
  if (confirmation === 'unconfirmed') return undefined;
  if (confirmation !== 'confirmed') return confirmation;
  const kept = decision({
    fields: seenFields(facts, state.row),
    finding: { ...budget, phase: 'Failed', machine: planned.finding, budget },
    record: { type: 'status' },
  });
  return stoppedToo(facts, recorded, kept, deletionPolicy === 'Stop' || isToStop(facts));
}

/** Returns the decision that also stops the kept machine, by its deletion policy or since its powerState is Stopped. */
function stoppedToo(
  facts: StopFacts,
  { machine, state }: RecordedMachine<Listed>,
  kept: Decision | undefined,
  stops = isToStop(facts),
): Decision | undefined {
  if (!kept || !stops || !canStop(facts) || state.type === 'stopped') return kept;
  return { ...kept, record: { type: 'status' }, ...askToStop(facts, machine.instanceId) };
}
