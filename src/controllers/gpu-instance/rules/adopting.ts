import { specHash } from '../../../api/v1alpha1/machine-drift.ts';
import { MACHINE_FINALIZER } from '../../../api/v1alpha1/names.ts';
import type { Reason } from '../../../api/v1alpha1/reasons.ts';
import { beginCost } from '../../../instance/cost.ts';
import { formatDollars } from '../../../lib/money.ts';
import { formatTime } from '../../../lib/time.ts';
import { decision } from '../decision.ts';
import { judgedTime } from '../judged-time.ts';
import { beganAt, carriedFields, withoutMachine, withRow } from '../machine-fields.ts';
import { factsOf } from '../recorded.ts';
import { stateOf } from '../stage.ts';
import type { Decision, Look, Observed, StatusFields, Step } from '../types.ts';
import type { ListedMachine } from '../views.ts';
import { machineFinding } from './machine-finding.ts';
import { rentedFields, unlessPriced } from './rented.ts';

/** Shows a machine that is never touched. */
export function observeOnly(observed: Observed): Step {
  const checked = adoptable(observed);
  if (checked.type === 'wait')
    return decision({ rule: 'wait-for-list', look: { onList: true, afterMs: 5_000 } });
  if (checked.type === 'refused') return refuse(observed, checked, shownNoMore(observed));
  const { row } = checked.machine;
  const state = stateOf(row);
  const finding = machineFinding(observed, state);
  return decision({
    rule: 'observe',
    fields: { ...withRow(observed, row), instanceId: row.id },
    finding: {
      phase: 'Observed',
      reason: state.type === 'running' ? 'Observed' : 'NotRunning',
      ready: state.type === 'running',
      machine: finding.type === 'none' ? finding : { ...finding, held: 'Observed' },
    },
  });
}

/** Takes over an existing machine: guard and claim here, the label by the next pass. */
export function adopt(observed: Observed): Step {
  const { object } = observed;
  if (object.spec.paused) {
    return decision({
      rule: 'paused',
      fields: carriedFields(observed),
      finding: { phase: 'Paused', reason: 'Paused', machine: { type: 'none' } },
    });
  }
  const allowed = adoptable(observed);
  const checked = allowed.type === 'machine' ? (accountProblem(observed) ?? allowed) : allowed;
  if (checked.type === 'wait')
    return decision({ rule: 'wait-for-list', look: { onList: true, afterMs: 5_000 } });
  if (checked.type === 'refused') return refuse(observed, checked);
  if (!object.metadata.finalizers?.includes(MACHINE_FINALIZER)) {
    return decision({ rule: 'guard-before-adopting', record: { type: 'finalizer' }, look: { afterMs: 0 } });
  }
  const from = judgedTime(observed);
  return from === undefined ? decision({ look: CLOCK_LOOK }) : claim(observed, checked.machine, from);
}

/** The machine's cost is counted from a time of the service, which later replies decide. */
const CLOCK_LOOK: Look = { onList: true, afterMs: 5_000 };

/** Its age and its cost count from here on: whoever rented it has paid for what was before. */
function claim(observed: Observed, { row }: ListedMachine, from: number): Decision {
  const machine = { instanceId: row.id, attempt: 1 };
  const fields = rentedFields(observed, machine, from);
  return decision({
    rule: 'adopt',
    record: { type: 'status' },
    fields: unlessPriced(observed, {
      ...fields,
      rentals: observed.object.status?.rentals ?? [],
      specHash: specHash(observed.object.spec),
      rentedAt: formatTime(beganAt(observed, row) ?? from),
      cost: beginCost(undefined, from, row.pricePerHour),
      ...(row.pricePerHour === undefined ? {} : { offerPricePerHour: formatDollars(row.pricePerHour) }),
    }),
    finding: {
      phase: 'Provisioning',
      reason: 'Adopted',
      machine: { type: 'booting', held: 'Adopted', reason: 'Provisioning' },
    },
    events: [
      {
        type: 'Normal',
        reason: 'InstanceAdopted',
        action: 'Adopting',
        note: `Machine ${row.id} was taken over.`,
      },
    ],
    look: { afterMs: 0 },
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
function adoptable(observed: Observed): Adoptable {
  const facts = factsOf(observed);
  if (!facts || !observed.list || facts.permitted === undefined) return { type: 'wait' };
  if (!facts.permitted) return { type: 'refused', reason: 'NamespaceNotAllowed' };
  if (facts.adoption === undefined) return { type: 'wait' };
  if (facts.adoption === 'None') return { type: 'refused', reason: 'AdoptionNotAllowed' };
  const machine = observed.list.adoptTarget;
  if (!machine) return { type: 'refused', reason: 'AdoptionTargetMissing' };
  if (observed.olderClaimant || machine.ownership.type !== 'unlabelled')
    return { type: 'refused', reason: 'AlreadyOwned' };
  return { type: 'machine', machine };
}

/** Why no list changes anything: the account, or the labels of the namespace, have to change, which wakes the object. */
const BY_ACCOUNT: ReadonlySet<Reason> = new Set<Reason>(['NamespaceNotAllowed', 'AdoptionNotAllowed']);
const REFUSED_AGAIN_MS = 300_000;

/** What is taken over will be relabelled and destroyed one day, by the account's own key: it has to be in order. */
function accountProblem({ account }: Observed): Extract<Adoptable, { type: 'refused' }> | undefined {
  if (account.state !== 'notReady') return undefined;
  const detail = `The MarketplaceAccount is not ready: ${account.message}`;
  return { type: 'refused', reason: 'AccountNotReady', detail };
}

/** What was told of a machine that was only watched is not true any more: neither where it is reached, nor what it costs. */
function shownNoMore(observed: Observed): StatusFields {
  const { cost: _shown, ...fields } = withoutMachine(carriedFields(observed));
  return fields;
}

function refuse(
  observed: Observed,
  { reason, detail }: Extract<Adoptable, { type: 'refused' }>,
  fields = carriedFields(observed),
): Decision {
  const phase = reason === 'AccountNotReady' ? 'Pending' : 'Failed';
  return decision({
    rule: 'refuse-adoption',
    fields,
    finding: { phase, reason, detail, machine: { type: 'none' } },
    look: BY_ACCOUNT.has(reason) ? { afterMs: REFUSED_AGAIN_MS } : { onList: true },
  });
}
