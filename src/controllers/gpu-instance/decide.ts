import { MACHINE_FINALIZER } from '../../api/v1alpha1/names.ts';
import { decision } from './decision.ts';
import { deriveFacts, type Facts } from './facts.ts';
import { publishFirst } from './publication.ts';
import { whileAbsent } from './rules/absent.ts';
import { adopt, observeOnly } from './rules/adopting.ts';
import { hold, turnAway, waitForAccount } from './rules/blocked.ts';
import { whileBooting } from './rules/booting.ts';
import { whileDeleting } from './rules/deleting.ts';
import { endMachine, reasonOfEnding } from './rules/ending.ts';
import { whileFailing } from './rules/failing.ts';
import { machineFinding } from './rules/machine-finding.ts';
import { awaitSettlement } from './rules/pending.ts';
import { saveFound, saveRented } from './rules/rented.ts';
import { whileRunning, whileUnrecognized } from './rules/running.ts';
import { whileStopped } from './rules/stopped.ts';
import { whileUnrented } from './rules/unrented.ts';
import { classify, type Stage } from './stage.ts';
import { destroySurplus } from './surplus.ts';
import type { AbsenceView, Action, Observed, Step } from './types.ts';

/**
 * The next step for one object, from what was seen alone. Every choice is made here: which offer, which
 * machine, when to look again. Where a rule needs to see more, the step says what, and is asked again with it.
 */
export function decide(observed: Observed): Step {
  const facts = deriveFacts(observed);
  const stage = classify(facts);
  if (stage.type === 'deleting') return whileDeleting(facts);
  // A result that is not yet saved, or a record in doubt, comes before any tidying up.
  const mayHaveSurplus = stage.type === 'machine' || stage.type === 'pending' || stage.type === 'unrented';
  const surplus = mayHaveSurplus ? destroySurplus(facts) : undefined;
  if (surplus) return surplus;
  // Someone took the finalizer away while a machine bills: without it a deletion would leave the machine behind.
  const bills = stage.type === 'machine' || stage.type === 'pending' || stage.type === 'found';
  if (bills && !facts.object.metadata.finalizers?.includes(MACHINE_FINALIZER))
    return decision({ rule: 'restore-guard', record: { type: 'finalizer' }, requeue: { afterMs: 0 } });
  return publishFirst(facts, byStage(facts, stage));
}

function byStage(facts: Facts, stage: Exclude<Stage, { type: 'deleting' }>): Step {
  switch (stage.type) {
    case 'blocked':
      return hold(facts, stage);
    case 'outside':
      return turnAway(facts, stage.outsider);
    case 'withoutAccount':
      return waitForAccount(facts);
    case 'observing':
      return observeOnly(facts);
    case 'adopting':
      return adopt(facts);
    case 'rented':
      return saveRented(facts, stage.rented);
    case 'found':
      return saveFound(facts, stage);
    case 'pending':
      return awaitSettlement(facts, stage);
    case 'unrented':
      return whileUnrented(facts, stage);
    case 'machine':
      return byMachine(facts, stage);
  }
}

function named(rule: string, step: Step): Step {
  return step.type === 'decision' ? { ...step, rule } : step;
}

function byMachine(facts: Facts, { machine, state }: Extract<Stage, { type: 'machine' }>): Step {
  const mark = facts.memory.destroys.find(({ instanceId }) => instanceId === machine.instanceId);
  if (mark) {
    // A destroy was answered with success: whatever a list still shows, the machine is on its way out.
    const reason = reasonOfEnding(facts) ?? mark.reason;
    const kind = reason === 'LimitReached' ? 'limit' : 'lost';
    const step = endMachine(facts, { machine, reason, kind, finding: machineFinding(facts, state) });
    return named('carry-through-destroy', step);
  }
  switch (state.type) {
    case 'absent':
      return named('machine-missing', whileAbsent(facts, { machine, state }));
    case 'booting':
      return whileBooting(facts, { machine, state });
    case 'running':
      return whileRunning(facts, { machine, state });
    case 'stopped':
      return whileStopped(facts, { machine, state });
    case 'failing':
      return whileFailing(facts, { machine, state });
    case 'unrecognized':
      return whileUnrecognized(facts, { machine, state });
  }
}

/**
 * Whether the same action is decided again on `seen`, which is newer than what it was decided on. What was looked up
 * in between, such as single reads, is taken from `before`: it cannot be asked for again in this moment.
 */
export function stillDecides(
  seen: Observed,
  { before, action }: { readonly before: Observed; readonly action: Action },
): boolean {
  const { offers, broadOffers, inputs, loginProven, confirmed, published } = before;
  // What one of several calls has failed by meanwhile keeps none of the others waiting.
  const { destroyFailures, destroyNotBefore, notBefore } = before.memory;
  const withRead = ([id, { lists }]: readonly [string, AbsenceView]) =>
    [id, { lists, read: before.absences.get(id)?.read }] as const;
  const step = decide({
    ...seen,
    ...{ offers, broadOffers, inputs, loginProven, confirmed, published },
    memory: { ...seen.memory, destroyFailures, destroyNotBefore, notBefore },
    absences: new Map([...seen.absences].map(withRead)),
  });
  if (step.type !== 'decision') return false;
  // What is done to which machine; a label as well, but not a price that has moved meanwhile.
  const { instanceId, label } = targetOf(action);
  return step.actions.some((each) => {
    const target = targetOf(each);
    return each.type === action.type && target.instanceId === instanceId && target.label === label;
  });
}

function targetOf(action: Action): { readonly instanceId?: string; readonly label?: string | undefined } {
  switch (action.type) {
    case 'rent':
    case 'release':
      return {};
    case 'relabel':
    case 'retain':
      return { instanceId: action.instanceId, label: action.label };
    case 'destroy':
    case 'stop':
    case 'start':
      return { instanceId: action.instanceId };
  }
}
