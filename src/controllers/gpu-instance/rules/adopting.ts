import { readAgrees } from '../../../accounts/beliefs/machine.ts';
import { specHash } from '../../../api/v1alpha1/machine-drift.ts';
import { MACHINE_FINALIZER } from '../../../api/v1alpha1/names.ts';
import { facetsOf, type Reason } from '../../../api/v1alpha1/reasons.ts';
import { beginCost } from '../../../instance/cost.ts';
import { formatDollars } from '../../../lib/money.ts';
import { formatTime } from '../../../lib/time.ts';
import { makeLabel } from '../../../ownership/label.ts';
import { beganAt, pricedId } from '../billing.ts';
import { decision } from '../decision.ts';
import type { Facts, HeldFacts } from '../facts.ts';
import { carriedFields, withoutMachine, withRow } from '../machine-fields.ts';
import { stateOf } from '../stage.ts';
import type { Decision, ListedMachine, Requeue, Step } from '../types.ts';
import { type Listed, machineFinding, type RecordedMachine } from './machine-finding.ts';
import { rentedFields, unlessPriced } from './rented.ts';

const waitForList = (): Decision =>
  decision({
    rule: 'wait-for-list',
    because: 'Only lists that agree show whether the machine is free, and the account must allow it.',
    requeue: { onList: true, afterMs: 5_000 },
  });

/** Reports an observed machine, which the operator never changes. */
export function observeOnly(facts: HeldFacts): Step {
  const checked = adoptable(facts);
  if (checked.type === 'wait') return waitForList();
  if (checked.type === 'refused') {
    // Facts of a machine that was only observed are no longer valid: its address and its price.
    const { cost: _shown, ...fields } = withoutMachine(carriedFields(facts));
    return refuse(facts, checked, fields);
  }
  const { row } = checked.machine;
  const state = stateOf(row);
  const finding = machineFinding(facts, state);
  return decision({
    rule: 'observe',
    because: 'adopt.policy is Observe: the machine is watched and never touched.',
    fields: { ...withRow(facts, row), instanceId: row.id },
    finding: {
      phase: 'Observed',
      reason: state.type === 'running' ? 'Ready' : 'NotRunning',
      detail: state.type === 'running' ? `Machine ${pricedId(row)} is watched and never touched.` : undefined,
      ready: state.type === 'running',
      machine: finding.type === 'none' ? finding : { ...finding, origin: 'Observed' },
    },
  });
}

/**
 * Takes over an existing machine: adds the finalizer, then claims the machine. {@link labelAdopted} labels it later.
 */
export function adopt(facts: Facts): Step {
  const { object } = facts;
  if (object.spec.paused) {
    return decision({
      rule: 'paused',
      because: 'spec.paused is true.',
      fields: carriedFields(facts),
      finding: { phase: 'Paused', reason: 'Paused', machine: { type: 'none' } },
    });
  }
  const allowed = adoptable(facts);
  const checked = allowed.type === 'machine' ? (accountProblem(facts) ?? allowed) : allowed;
  if (checked.type === 'wait') return waitForList();
  if (checked.type === 'refused') return refuse(facts, checked);
  if (!object.metadata.finalizers?.includes(MACHINE_FINALIZER)) {
    return decision({
      rule: 'finalizer-before-adopting',
      because: 'The finalizer must be there before the machine is adopted.',
      record: { type: 'finalizer' },
      requeue: { afterMs: 0 },
    });
  }
  const unread = unconfirmed(facts, checked.machine);
  if (unread) return unread;
  const from = facts.clock.serviceNow;
  return from === undefined ? decision({ requeue: CLOCK_RETRY }) : claim(facts, checked.machine, from);
}

/** Returns the missing read before a machine is claimed, or a wait if it does not agree; undefined if it agrees. */
function unconfirmed(
  { machine: { labelReads } }: Pick<Facts, 'machine'>,
  { row }: ListedMachine,
): Step | undefined {
  const read = labelReads.get(row.id);
  if (read === undefined) return { type: 'read', requests: [{ type: 'confirmLabel', instanceId: row.id }] };
  const agrees = typeof read !== 'string' && readAgrees(row, read, 'label') && readAgrees(row, read, 'price');
  return agrees
    ? undefined
    : decision({
        rule: 'adopt-unconfirmed',
        because: 'A read of the machine does not agree with the lists.',
        requeue: { onList: true, afterMs: 5_000 },
      });
}

/** Requeue while the service time, from which the machine's cost counts, is unknown. */
const CLOCK_RETRY: Requeue = { onList: true, afterMs: 5_000 };

/** Claims the machine. Lifetime and cost count from now: its earlier renter has paid for the time before. */
function claim(
  facts: Pick<Facts, 'object' | 'account' | 'purchase' | 'clock'>,
  { row }: ListedMachine,
  from: number,
): Decision {
  const machine = { instanceId: row.id, attempt: 1 };
  const fields = rentedFields(facts, machine, from);
  return decision({
    rule: 'adopt',
    because: 'spec.adopt names a free machine, and the account allows its adoption.',
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
      reason: 'Provisioning',
      detail: 'An existing machine was taken over.',
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

/** Fields on which lists must agree before a machine is taken over. */
const CLAIMED_FIELDS = ['label', 'startedAt', 'pricePerHour'] as const;

/**
 * Returns the machine in spec.adopt if it has no label and no older claimant, and if the namespace and every account
 * of the login allow its adoption. Waits while any of that is unknown.
 */
function adoptable(facts: Pick<Facts, 'object' | 'machine' | 'account'>): Adoptable {
  const account = facts.account.facts;
  if (!account || !facts.machine.list || account.permitted === undefined) return { type: 'wait' };
  if (!account.permitted) return { type: 'refused', reason: 'NotAllowedByAccount' };
  if (account.adoption === undefined) return { type: 'wait' };
  if (account.adoption === 'None')
    return {
      ...{ type: 'refused', reason: 'NotAllowedByAccount' },
      detail: 'The MarketplaceAccount does not allow adoption: its spec.adoption is None.',
    };
  const { adopt } = facts.object.spec;
  const { label, name } = account.market;
  if (adopt?.policy === 'Manage' && label.kept === 'never')
    return {
      ...{ type: 'refused', reason: 'AdoptionTargetInvalid' },
      detail: `spec.adopt: ${name} keeps no labels, so nothing shows whose the machine is. Set policy Observe, or rent one by spec.offers.`,
    };
  const machine = facts.machine.list.adoptTarget;
  if (!machine)
    return {
      ...{ type: 'refused', reason: 'AdoptionTargetInvalid' },
      detail: 'The marketplace does not list the machine in spec.adopt.instanceId.',
    };
  if (facts.machine.olderClaimant || machine.ownership.type !== 'unlabelled')
    return {
      ...{ type: 'refused', reason: 'AdoptionTargetInvalid' },
      detail:
        'The machine in spec.adopt.instanceId carries the label of another installation or is claimed by another object.',
    };
  const isSettled = CLAIMED_FIELDS.every((field) => !machine.row.unsettled.has(field));
  if (adopt?.policy === 'Manage' && !isSettled) return { type: 'wait' };
  return { type: 'machine', machine };
}

/**
 * Retry interval while the account refuses. A change of the account, or of the namespace's labels, requeues the
 * object sooner.
 */
const REFUSED_AGAIN_MS = 300_000;
/** Interval of attempts: thousands of objects may name one machine, so they are not checked after every list. */
const TAKEN_AGAIN_MS = 60_000;

/**
 * Returns the problem of the account that forbids adoption. An adopted machine is relabelled and later destroyed with
 * the account's own key, so the account must be Ready.
 */
function accountProblem({
  account,
}: Pick<Facts, 'account'>): Extract<Adoptable, { type: 'refused' }> | undefined {
  if (account.state !== 'notReady') return undefined;
  const detail = `The MarketplaceAccount is not ready: ${account.message}`;
  return { type: 'refused', reason: 'AccountNotReady', detail };
}

function refuse(
  facts: Pick<Facts, 'object'>,
  { reason, detail }: Extract<Adoptable, { type: 'refused' }>,
  fields = carriedFields(facts),
): Decision {
  const phase = reason === 'AccountNotReady' ? 'Pending' : 'Failed';
  return decision({
    rule: 'refuse-adoption',
    because: 'The machine that spec.adopt names cannot be taken over now.',
    fields,
    finding: { phase, reason, detail, machine: { type: 'none' } },
    requeue: requeueAfter(reason),
  });
}

function requeueAfter(reason: Reason): Requeue {
  const { waitsFor } = facetsOf(reason);
  if (waitsFor === 'account') return { afterMs: REFUSED_AGAIN_MS };
  return waitsFor === 'machine' ? { afterMs: TAKEN_AGAIN_MS } : { onList: true };
}

/** Requests the label of an adopted machine until a list shows it. */
export function labelAdopted(
  facts: Pick<Facts, 'object' | 'purchase' | 'clock' | 'memory'>,
  { machine, state }: RecordedMachine<Listed>,
): Step | undefined {
  const {
    object,
    memory,
    purchase: { identity, uid },
  } = facts;
  const isAdopted = object.spec.adopt?.policy === 'Manage' && machine.attempt === 1;
  if (!isAdopted || (state.row.label !== null && state.row.label !== '')) return undefined;
  const again = (memory.relabelledAt ?? Number.NEGATIVE_INFINITY) + facts.clock.constants.listLagMs;
  if (facts.clock.steadyNow < Math.max(again, memory.notBefore)) return undefined;
  const issuedAt = state.row.startedAt ?? facts.clock.now;
  const label = makeLabel(identity, { uid, attempt: machine.attempt, issuedAt });
  return decision({
    record: { type: 'nothing', because: 'attempt' },
    actions: [{ type: 'relabel', instanceId: machine.instanceId, label }],
    requeue: { afterMs: 0 },
  });
}
