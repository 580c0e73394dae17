import { specHash } from '../../../api/v1alpha1/machine-drift.ts';
import { MACHINE_FINALIZER } from '../../../api/v1alpha1/names.ts';
import type { Reason } from '../../../api/v1alpha1/reasons.ts';
import { beginCost } from '../../../instance/cost.ts';
import { formatDollars } from '../../../lib/money.ts';
import { formatTime } from '../../../lib/time.ts';
import { makeLabel } from '../../../ownership/label.ts';
import { decision } from '../decision.ts';
import type { Facts } from '../facts.ts';
import { stateOf } from '../stage.ts';
import { beganAt, carriedFields, withoutMachine, withRow } from '../status.ts';
import type { Decision, ListedMachine, Requeue, Step } from '../types.ts';
import { type Listed, machineFinding, type RecordedMachine } from './machine-finding.ts';
import { rentedFields, unlessPriced } from './rented.ts';

/** Shows a machine that is never touched. */
export function observeOnly(facts: Facts): Step {
  const checked = adoptable(facts);
  if (checked.type === 'wait')
    return decision({ rule: 'wait-for-list', requeue: { onList: true, afterMs: 5_000 } });
  if (checked.type === 'refused') {
    // What was told of a machine that was only watched is not true any more: neither where it is reached, nor what it costs.
    const { cost: _shown, ...fields } = withoutMachine(carriedFields(facts));
    return refuse(facts, checked, fields);
  }
  const { row } = checked.machine;
  const state = stateOf(row);
  const finding = machineFinding(facts, state);
  return decision({
    rule: 'observe',
    fields: { ...withRow(facts, row), instanceId: row.id },
    finding: {
      phase: 'Observed',
      reason: state.type === 'running' ? 'Observed' : 'NotRunning',
      ready: state.type === 'running',
      machine: finding.type === 'none' ? finding : { ...finding, origin: 'Observed' },
    },
  });
}

/** Takes over an existing machine: guard and claim here, the label by the next pass. */
export function adopt(facts: Facts): Step {
  const { object } = facts;
  if (object.spec.paused) {
    return decision({
      rule: 'paused',
      fields: carriedFields(facts),
      finding: { phase: 'Paused', reason: 'Paused', machine: { type: 'none' } },
    });
  }
  const allowed = adoptable(facts);
  const checked = allowed.type === 'machine' ? (accountProblem(facts) ?? allowed) : allowed;
  if (checked.type === 'wait')
    return decision({ rule: 'wait-for-list', requeue: { onList: true, afterMs: 5_000 } });
  if (checked.type === 'refused') return refuse(facts, checked);
  if (!object.metadata.finalizers?.includes(MACHINE_FINALIZER)) {
    return decision({
      rule: 'guard-before-adopting',
      record: { type: 'finalizer' },
      requeue: { afterMs: 0 },
    });
  }
  const from = facts.serviceNow;
  return from === undefined ? decision({ requeue: CLOCK_RETRY }) : claim(facts, checked.machine, from);
}

/** The machine's cost is counted from a time of the service, which later replies decide. */
const CLOCK_RETRY: Requeue = { onList: true, afterMs: 5_000 };

/** Its age and its cost count from here on: whoever rented it has paid for what was before. */
function claim(facts: Facts, { row }: ListedMachine, from: number): Decision {
  const machine = { instanceId: row.id, attempt: 1 };
  const fields = rentedFields(facts, machine, from);
  return decision({
    rule: 'adopt',
    record: { type: 'status' },
    fields: unlessPriced(facts, {
      ...fields,
      rentals: facts.object.status?.rentals ?? [],
      specHash: specHash(facts.object.spec),
      rentedAt: formatTime(beganAt(facts, row) ?? from),
      cost: beginCost(undefined, from, row.pricePerHour),
      ...(row.pricePerHour === undefined ? {} : { offerPricePerHour: formatDollars(row.pricePerHour) }),
    }),
    finding: {
      phase: 'Provisioning',
      reason: 'Adopted',
      machine: { type: 'booting', origin: 'Adopted', reason: 'Provisioning' },
    },
    events: [
      {
        type: 'Normal',
        reason: 'InstanceAdopted',
        action: 'Adopting',
        note: `Machine ${row.id} was taken over.`,
      },
    ],
    requeue: { afterMs: 0 },
  });
}

type Adoptable =
  | { readonly type: 'wait' }
  | { readonly type: 'refused'; readonly reason: Reason; readonly detail?: string }
  | { readonly type: 'machine'; readonly machine: ListedMachine };

/**
 * Only a machine that is nobody's, and only if the account is ready and every account of the login consents; of two
 * claimants the older object wins.
 */
function adoptable(facts: Facts): Adoptable {
  const account = facts.accountFacts;
  if (!account || !facts.list || account.permitted === undefined) return { type: 'wait' };
  if (!account.permitted) return { type: 'refused', reason: 'NamespaceNotAllowed' };
  if (account.adoption === undefined) return { type: 'wait' };
  if (account.adoption === 'None') return { type: 'refused', reason: 'AdoptionNotAllowed' };
  const machine = facts.list.adoptTarget;
  if (!machine) return { type: 'refused', reason: 'AdoptionTargetMissing' };
  if (facts.olderClaimant || machine.ownership.type !== 'unlabelled')
    return { type: 'refused', reason: 'AlreadyOwned' };
  return { type: 'machine', machine };
}

/** Why no list changes anything: the account, or the labels of the namespace, have to change, which wakes the object. */
const BY_ACCOUNT: ReadonlySet<Reason> = new Set<Reason>(['NamespaceNotAllowed', 'AdoptionNotAllowed']);
const REFUSED_AGAIN_MS = 300_000;
/** Why the machine has to change, which wakes the object, or who else names it, which does not. */
const BY_MACHINE: ReadonlySet<Reason> = new Set<Reason>(['AdoptionTargetMissing', 'AlreadyOwned']);
/** Thousands may name one machine: none of them is looked at after every list. */
const TAKEN_AGAIN_MS = 60_000;

/** What is taken over will be relabelled and destroyed one day, by the account's own key: it has to be in order. */
function accountProblem({ account }: Facts): Extract<Adoptable, { type: 'refused' }> | undefined {
  if (account.state !== 'notReady') return undefined;
  const detail = `The MarketplaceAccount is not ready: ${account.message}`;
  return { type: 'refused', reason: 'AccountNotReady', detail };
}

function refuse(
  facts: Facts,
  { reason, detail }: Extract<Adoptable, { type: 'refused' }>,
  fields = carriedFields(facts),
): Decision {
  const phase = reason === 'AccountNotReady' ? 'Pending' : 'Failed';
  return decision({
    rule: 'refuse-adoption',
    fields,
    finding: { phase, reason, detail, machine: { type: 'none' } },
    requeue: requeueAfter(reason),
  });
}

function requeueAfter(reason: Reason): Requeue {
  if (BY_ACCOUNT.has(reason)) return { afterMs: REFUSED_AGAIN_MS };
  return BY_MACHINE.has(reason) ? { afterMs: TAKEN_AGAIN_MS } : { onList: true };
}

/** The label of an adopted machine is asked for until a list shows one. */
export function labelAdopted(facts: Facts, { machine, state }: RecordedMachine<Listed>): Step | undefined {
  const { object, memory, identity, uid } = facts;
  const isAdopted = object.spec.adopt?.policy === 'Manage' && machine.attempt === 1;
  if (!isAdopted || (state.row.label !== null && state.row.label !== '')) return undefined;
  const again = (memory.relabelledAt ?? Number.NEGATIVE_INFINITY) + facts.constants.listLagMs;
  if (facts.steadyNow < Math.max(again, memory.notBefore)) return undefined;
  const issuedAt = state.row.startedAt ?? facts.now;
  const label = makeLabel(identity, { uid, attempt: machine.attempt, issuedAt });
  return decision({
    record: { type: 'nothing', because: 'attempt' },
    actions: [{ type: 'relabel', instanceId: machine.instanceId, label }],
    requeue: { afterMs: 0 },
  });
}
