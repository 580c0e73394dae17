import { listsAgree, type Machine } from '../../accounts/beliefs/machine.ts';
import type { RentalIntent } from '../../ownership/intent.ts';
import { makeLabel } from '../../ownership/label.ts';
import type { ListedMachine, Observed, Step } from './types.ts';

/** A machine that the status names with a valid claim. */
interface RecordedMachine {
  readonly instanceId: string;
  readonly attempt: number;
}

/**
 * Degree of proof that the recorded machine is that of its purchase. The reply to a rental is one reply, and may name
 * the machine of a stranger. `unseen`: no list shows the machine or its label. `disputed`: the latest list shows
 * another label. `contradicted`: two lists show another label, or show the label of the purchase on another machine
 * alone.
 */
export type RecordProof = 'confirmed' | 'unseen' | 'disputed' | 'contradicted';

/**
 * Returns the proof of a machine that the status names with a valid claim. Labels prove nothing if the marketplace
 * drops them.
 */
export function recordProof(
  observed: Pick<Observed, 'object' | 'machine' | 'account'>,
  machine: RecordedMachine,
): RecordProof {
  if (!isProvisional(observed) || !observed.machine.list)
    return isProvisional(observed) ? 'unseen' : 'confirmed';
  const { recorded, labelled } = observed.machine.list;
  if (!recorded) return isElsewhere(labelled, machine) ? 'contradicted' : 'unseen';
  if (labelled.some((each) => each.row.id === machine.instanceId && isOfPurchase(each, machine)))
    return 'confirmed';
  // While it is not known whether labels come back, a machine without one contradicts nothing.
  if (labelEchoOf(observed) !== 'echoed' && !recorded.label) return 'unseen';
  return listsAgree(recorded, 'label') ? 'contradicted' : 'disputed';
}

/** Returns true if only the reply to a rental names the recorded machine so far, by the mark in its status. */
export function isProvisional(observed: Pick<Observed, 'object' | 'account'>): boolean {
  return observed.object.status?.unconfirmed === true && labelEchoOf(observed) !== 'notEchoed';
}

export function labelEchoOf({ account }: Pick<Observed, 'account'>) {
  return account.state === 'missing' ? undefined : account.facts?.labelEcho;
}

function isOfPurchase({ ownership }: ListedMachine, { attempt }: RecordedMachine): boolean {
  return 'facts' in ownership && ownership.facts.attempt === attempt;
}

function isElsewhere(labelled: readonly ListedMachine[], machine: RecordedMachine): boolean {
  return labelled.some(
    (each) =>
      each.ownership.type === 'labelled' && isOfPurchase(each, machine) && listsAgree(each.row, 'label'),
  );
}

/** Returns the intent of that purchase, by the object or by this process. */
export function intentOfPurchase(
  { purchase: { intent, uid }, memory }: Pick<Observed, 'purchase' | 'memory'>,
  attempt: number,
): RentalIntent | undefined {
  const written = intent.type === 'intent' && intent.intent.uid === uid ? intent.intent : undefined;
  return [written, memory.intent].find((each) => each?.attempt === attempt);
}

/** An observation whose record was judged. */
type Judged = Observed & { readonly machine: { readonly recordProof: RecordProof } };

/** Outcome of a check that may need a read first. */
export type Confirmation = 'confirmed' | 'unconfirmed' | Extract<Step, { type: 'read' }>;

const readLabelOf = (instanceId: string): Confirmation => ({
  type: 'read',
  requests: [{ type: 'confirmLabel', instanceId }],
});

/**
 * Returns the label agreement that a machine needs before it is destroyed while only the reply to its rental names it:
 * two lists and a read. For a machine without a list the read alone joins the reply.
 */
export function labelConfirmation(facts: Judged, { instanceId, attempt }: RecordedMachine): Confirmation {
  if (!isProvisional(facts)) return 'confirmed';
  const row = facts.machine.list?.recorded;
  if (row && !(facts.machine.recordProof === 'confirmed' && listsAgree(row, 'label'))) return 'unconfirmed';
  const read = facts.machine.labelReads.get(instanceId);
  if (read === undefined) return readLabelOf(instanceId);
  if (typeof read === 'string') return 'unconfirmed';
  return read.label === (row?.label ?? sentLabel(facts, attempt)) ? 'confirmed' : 'unconfirmed';
}

/**
 * Returns the read that must agree with the lists before the record of a machine is dropped. The machine itself is not
 * touched.
 */
export function disownConfirmation(
  facts: Pick<Observed, 'machine' | 'purchase' | 'memory'>,
  { instanceId, attempt }: RecordedMachine,
): Confirmation {
  const row = facts.machine.list?.recorded;
  const read = facts.machine.labelReads.get(instanceId);
  if (read === undefined) return readLabelOf(instanceId);
  if (read === 'failed') return 'unconfirmed';
  if (read === 'absent') return row ? 'unconfirmed' : 'confirmed';
  const agrees = row ? read.label === row.label : read.label !== sentLabel(facts, attempt);
  return agrees ? 'confirmed' : 'unconfirmed';
}

/** Returns the read that must agree with the lists before a machine is recorded that no reply to a rental named. */
export function foundConfirmation(facts: Pick<Observed, 'machine'>, row: Machine): Confirmation {
  const read = facts.machine.labelReads.get(row.id);
  if (read === undefined) return readLabelOf(row.id);
  return typeof read !== 'string' && read.label === row.label ? 'confirmed' : 'unconfirmed';
}

function sentLabel(facts: Pick<Observed, 'purchase' | 'memory'>, attempt: number): string | undefined {
  const intent = intentOfPurchase(facts, attempt);
  return (
    intent &&
    makeLabel(facts.purchase.identity, { uid: facts.purchase.uid, attempt, issuedAt: intent.issuedAt })
  );
}
