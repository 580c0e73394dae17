import { MACHINE_FINALIZER } from '../../api/v1alpha1/names.ts';
import { withAdditions } from './additions.ts';
import { decision, named } from './decision.ts';
import { deriveFacts, type Facts } from './facts.ts';
import { whileAbsent } from './rules/absent.ts';
import { adopt, observeOnly } from './rules/adopting.ts';
import { hold, turnAway, waitForAccount } from './rules/blocked.ts';
import { whileBooting } from './rules/booting.ts';
import { finishedRun } from './rules/completion.ts';
import { whileDeleting } from './rules/deleting.ts';
import { awaitSecondLabel, dropRecord } from './rules/disowned.ts';
import { awaitGone, kindOf, reasonOfEnding } from './rules/ending.ts';
import { whileFailing } from './rules/failing.ts';
import { withIdleCheck } from './rules/idle.ts';
import { machineFinding } from './rules/machine-finding.ts';
import { awaitSettlement } from './rules/pending.ts';
import { saveFound, saveRented } from './rules/rented.ts';
import { whileRunning, whileUnrecognized } from './rules/running.ts';
import { whileStopped } from './rules/stopped.ts';
import { whileUnrented } from './rules/unrented.ts';
import { classify, type Stage } from './stage.ts';
import { destroySurplus, surplusMachines } from './surplus.ts';
import type { AbsenceView, Action, Observed, Step } from './types.ts';
import { keepsNoLabels } from './unlabelled-proof.ts';

/**
 * Returns the next step for one object, from the observation alone. It makes every choice: the offer, the machine, the
 * time of the next reconcile. If a rule needs more input, the step names it, and the decision is repeated with it.
 */
export function decide(observed: Observed): Step {
  const facts = deriveFacts(observed);
  const stage = classify(facts);
  const first = beforeStage(facts, stage) ?? finishedRun(facts, stage);
  const step = first ?? untilProven(facts, stage, byStage(facts, stage));
  const isByStage = first === undefined && stage.type !== 'deleting';
  return withIdleCheck(facts, withAdditions(facts, step, { isByStage }));
}

/** Returns the step that precedes the rules of a stage: it removes a wrong record, ends a surplus machine or restores the finalizer. */
function beforeStage(facts: Facts, stage: Stage): Step | undefined {
  if (facts.machine.disowned && stage.type === 'unrented')
    return dropRecord(facts, facts.machine.disowned, stage);
  const surplus = mayHaveSurplus(stage) ? destroySurplus(facts) : undefined;
  if (surplus) return surplus;
  // Someone took the finalizer away while a machine bills.
  const bills = stage.type === 'machine' || stage.type === 'pending' || stage.type === 'found';
  if (bills && !facts.object.metadata.finalizers?.includes(MACHINE_FINALIZER))
    return decision({
      rule: 'restore-finalizer',
      because: 'Without the finalizer a deletion would leave the machine behind.',
      record: { type: 'finalizer' },
      requeue: { afterMs: 0 },
    });
  return undefined;
}

/** Returns false for an unsaved result or a record in doubt, which precede cleanup. */
function mayHaveSurplus({ type }: Stage): boolean {
  return type === 'machine' || type === 'pending' || type === 'unrented';
}

/** Returns the step with a reconcile after the next list, if that list may prove a surplus machine or the record. */
function untilProven(facts: Facts, stage: Stage, step: Step): Step {
  if (step.type !== 'decision') return step;
  // The next list may confirm the label of a surplus machine.
  const mayDestroy = mayHaveSurplus(stage) && facts.memory.destroyNotBefore <= facts.clock.steadyNow;
  const isUnconfirmed = mayDestroy && surplusMachines(facts).length > 0;
  // At a market without labels only the next lists prove that the reply named the right machine.
  const isUnproven =
    stage.type === 'machine' && facts.machine.recordProof === 'unseen' && keepsNoLabels(facts);
  return isUnconfirmed || isUnproven ? { ...step, requeue: { ...step.requeue, onList: true } } : step;
}

function byStage(facts: Facts, stage: Stage): Step {
  switch (stage.type) {
    case 'deleting':
      return whileDeleting(facts);
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

const CARRY_THROUGH_DESTROY = {
  name: 'carry-through-destroy',
  because: 'The marketplace accepted the destroy request, so the machine is ending.',
};

const MACHINE_MISSING = {
  name: 'machine-missing',
  because: 'The recorded machine is not on the latest complete list.',
};

function byMachine(facts: Facts, { machine, state }: Extract<Stage, { type: 'machine' }>): Step {
  if (facts.machine.recordProof === 'disputed') return awaitSecondLabel();
  const mark = facts.memory.destroys.find(({ instanceId }) => instanceId === machine.instanceId);
  if (mark) {
    // The marketplace accepted a destroy: the machine is ending, even if a list still shows it.
    const reason = reasonOfEnding(facts) ?? mark.reason;
    const planned = { machine, reason, kind: kindOf(reason), finding: machineFinding(facts, state) };
    return named(CARRY_THROUGH_DESTROY, awaitGone(facts, planned, mark));
  }
  switch (state.type) {
    case 'absent':
      return named(MACHINE_MISSING, whileAbsent(facts, { machine, state }));
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
 * Returns true if the same action is decided again on `seen`, which is newer than the observation behind the first
 * decision. Results of lookups in between, such as single reads, come from `before`: they cannot be repeated now.
 */
export function stillDecides(
  seen: Observed,
  { before, action }: { readonly before: Observed; readonly action: Action },
): boolean {
  const {
    purchase: { offers, broadOffers, inputs, room },
    machine: { loginProven, confirmed, labelReads, published },
  } = before;
  // A failure of one concurrent call does not delay the others.
  const { destroyFailures, destroyNotBefore, notBefore } = before.memory;
  const withRead = ([id, { lists }]: readonly [string, AbsenceView]) =>
    [id, { lists, read: before.machine.absences.get(id)?.read }] as const;
  const step = decide({
    ...seen,
    machine: {
      ...seen.machine,
      ...{ loginProven, confirmed, labelReads, published },
      absences: new Map([...seen.machine.absences].map(withRead)),
    },
    purchase: { ...seen.purchase, offers, broadOffers, inputs, room },
    memory: { ...seen.memory, destroyFailures, destroyNotBefore, notBefore },
  });
  if (step.type !== 'decision') return false;
  // The action and its machine, including the label; a price that changed in between does not count.
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
    case 'expire':
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
