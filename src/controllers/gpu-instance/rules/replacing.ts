import { driftOf, satisfiedOffers } from '../../../api/v1alpha1/machine-drift.ts';
import { findCondition } from '../../../runtime/conditions.ts';
import { decision, firstOf, type Rule } from '../decision.ts';
import type { Facts } from '../facts.ts';
import { limitToApply, priceRise, replaceIsDue } from '../limits.ts';
import { highestCap } from '../offers.ts';
import type { Decision, Step } from '../types.ts';
import { labelAdopted } from './adopting.ts';
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
import { handOf } from './in-hand.ts';
import { withEndOfBlock, withKeptMachine } from './kept.ts';
import { type Listed, machineFinding, type RecordedMachine, seenFields } from './machine-finding.ts';

type PlanOf = (facts: Facts, recorded: RecordedMachine<Listed>) => PlannedEnd | undefined;

const replaceRequested: PlanOf = (facts, recorded) =>
  replaceIsDue(facts) ? unwanted(facts, recorded, 'ReplaceRequested') : undefined;

const specChanged: PlanOf = (facts, recorded) => {
  const { spec, status } = facts.object;
  const drift = spec.updateStrategy.type === 'Replace' ? driftOf(status ?? {}, spec) : undefined;
  if (!drift) return undefined;
  const planned = unwanted(facts, recorded, 'SpecChanged');
  return drift.type === 'offers' ? { ...planned, detail: drift.detail } : planned;
};

const priceRaised: PlanOf = (facts, recorded) => {
  // Limits of an account stop rentals, and no machine that runs.
  const ownCap = highestCap(alternativesOf(facts), {}) ?? Number.POSITIVE_INFINITY;
  const detail = risenPrice(facts, recorded, ownCap);
  return detail !== undefined && facts.object.spec.onPriceAbove === 'Replace'
    ? { ...unwanted(facts, recorded, 'PriceRaised'), detail }
    : undefined;
};

/** Reasons to give up a machine that works. Asked of a running and of a stopped one alike. */
const UNWANTED_RULES: readonly Rule<RecordedMachine<Listed>>[] = [
  {
    name: 'limit-reached',
    because: 'A limit of the spec is reached.',
    decide: (facts, recorded) => {
      const state = limitToApply(facts);
      return state.type === 'reached' ? applyLimit(facts, recorded, state.detail) : undefined;
    },
  },
  {
    name: 'replace-requested',
    because: 'The annotation gpurental.dev/replace-at requests another machine.',
    decide: (facts, recorded) => replaceInHand(facts, replaceRequested(facts, recorded)),
  },
  {
    name: 'spec-changed',
    because: 'The machine differs from the spec, and updateStrategy is Replace.',
    decide: (facts, recorded) => replaceInHand(facts, specChanged(facts, recorded)),
  },
  {
    name: 'price-raised',
    because: 'The machine costs more than agreed, and onPriceAbove is Replace.',
    decide: (facts, recorded) => replaceInHand(facts, priceRaised(facts, recorded)),
  },
  {
    name: 'label-adopted',
    because: 'An adopted machine needs a label, or another installation takes it for foreign.',
    decide: labelAdopted,
  },
];

/**
 * Ends a machine that is no longer desired, else applies the rules of its state. A block of its end blocks nothing
 * else: until then it is stopped, started, evaluated and published like a desired one.
 */
export function byRules<S extends Listed>(
  rules: readonly Rule<RecordedMachine<S>>[],
  facts: Facts,
  recorded: RecordedMachine<S>,
): Step {
  const { row } = recorded.state;
  if (isReadDue(facts, row) && facts.machine.confirmed?.instanceId !== recorded.machine.instanceId)
    return { type: 'read', requests: [{ type: 'confirm', instanceId: recorded.machine.instanceId }] };
  return withDoubts(facts, recorded, withPlan(facts, recorded, byFirstRule(rules, facts, recorded)));
}

function byFirstRule<S extends Listed>(
  rules: readonly Rule<RecordedMachine<S>>[],
  facts: Facts,
  recorded: RecordedMachine<S>,
): Step {
  const ended = firstOf(UNWANTED_RULES, facts, recorded);
  if (ended) return ended;
  const step = firstOf(rules, facts, recorded) ?? decision({});
  const planned =
    replaceRequested(facts, recorded) ?? specChanged(facts, recorded) ?? priceRaised(facts, recorded);
  if (planned) return withKeptMachine(facts, planned, step);
  return withEndOfBlock(
    facts,
    step,
    `No other machine is due: machine ${recorded.machine.instanceId} is kept.`,
  );
}

/**
 * Returns the step with the planned end: the breaker counts the machines that are to end by the marketplace's figures
 * before the first of them does; an end that another condition blocks does not count. An unconfirmed end is decided
 * again at the next list.
 */
function withPlan(facts: Facts, recorded: RecordedMachine<Listed>, step: Step): Step {
  if (step.type !== 'decision') return step;
  const planned =
    limitPlanned(facts, recorded) ?? specChanged(facts, recorded) ?? priceRaised(facts, recorded);
  const blocker = planned && blockedBy(facts, planned);
  if (!planned || (blocker && blocker.reason !== 'BreakerOpen')) return step;
  // Without an offer in hand a machine that works is kept.
  if (!blocker && planned.kind !== 'limit' && handOf(facts, planned).type !== 'inHand') return step;
  const isUnconfirmed = !blocker && confirmationOf(facts, planned) === 'unconfirmed';
  return { ...step, plansEnd: true, ...(isUnconfirmed && { requeue: { ...step.requeue, onList: true } }) };
}

/** Returns the end by a limit, unless it was applied before and the machine stays by its deletion policy. */
function limitPlanned(
  facts: Pick<Facts, 'object' | 'machine' | 'clock'>,
  { machine, state }: RecordedMachine<Listed>,
): PlannedEnd | undefined {
  const limit = limitToApply(facts);
  if (limit.type !== 'reached' || isLimitApplied(facts)) return undefined;
  const finding = machineFinding(facts, state);
  return { machine, reason: 'LimitReached', detail: limit.detail, kind: 'limit', finding };
}

function isLimitApplied({ object }: Pick<Facts, 'object'>): boolean {
  const isKept = object.spec.deletionPolicy !== 'Destroy';
  return isKept && findCondition(object.status?.conditions, 'Ready')?.reason === 'LimitReached';
}

/** Ends a machine that works only with an offer for the next one in hand: its disk cannot be brought back. */
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
function applyLimit(facts: Facts, recorded: RecordedMachine<Listed>, detail: string): Step | undefined {
  const { machine, state } = recorded;
  const { deletionPolicy, powerState } = facts.object.spec;
  const finding = machineFinding(facts, state);
  const planned: PlannedEnd = { machine, reason: 'LimitReached', detail, kind: 'limit', finding };
  const budget = { reason: 'LimitReached', detail } as const;
  const blocked = showBlockedEnd(facts, planned);
  if (blocked || deletionPolicy === 'Destroy')
    return stoppedToo(facts, recorded, blocked) ?? endMachine(facts, planned);
  const confirmation = isLimitApplied(facts) ? 'confirmed' : confirmationOf(facts, planned);
  if (confirmation === 'unconfirmed') return undefined;
  if (confirmation !== 'confirmed') return confirmation;
  const kept = decision({
    fields: seenFields(facts, state.row),
    finding: { ...budget, phase: 'Failed', machine: finding, budget },
    record: { type: 'status' },
  });
  return stoppedToo(facts, recorded, kept, deletionPolicy === 'Stop' || powerState === 'Stopped');
}

/** Returns the decision that also stops the kept machine, by its deletion policy or since its powerState is Stopped. */
function stoppedToo(
  facts: Pick<Facts, 'object' | 'clock' | 'memory'>,
  { machine, state }: RecordedMachine<Listed>,
  kept: Decision | undefined,
  isToStop = facts.object.spec.powerState === 'Stopped',
): Decision | undefined {
  if (!kept || !isToStop || state.type === 'stopped') return kept;
  return { ...kept, record: { type: 'status' }, ...askToStop(facts, machine.instanceId) };
}
