import { listsAgree, type Machine } from '../../accounts/beliefs/machine.ts';
import type { RentalIntent } from '../../ownership/intent.ts';
import { makeLabel, remnantOf } from '../../ownership/label.ts';
import type { ListedMachine, Observed, OwnedMachine, Step } from './types.ts';
import { keepsNoLabels, proofByLists, readAgreesWithRow } from './unlabelled-proof.ts';

/**
 * Degree of proof that the recorded machine is the one of its purchase. The reply to a rental is a single reply, and
 * may name another customer's machine. `unseen`: no list shows the machine or its label. `disputed`: the latest list
 * shows another label. `contradicted`: two lists show another label, or show the label of the purchase on another
 * machine only.
 */
export type RecordProof = 'confirmed' | 'unseen' | 'disputed' | 'contradicted';

/**
 * Returns the proof of a machine that the status names with a valid claim. Labels prove nothing if the marketplace
 * drops them.
 */
export function recordProof(
  observed: Pick<Observed, 'object' | 'machine' | 'account' | 'purchase' | 'clock' | 'memory'>,
  machine: OwnedMachine,
): RecordProof {
  if (!isProvisional(observed)) return 'confirmed';
  if (keepsNoLabels(observed)) {
    const intent = intentOfPurchase(observed, machine.attempt);
    return intent?.knownIds ? proofByLists(observed, machine.instanceId, intent) : 'confirmed';
  }
  if (!observed.machine.list) return 'unseen';
  const { recorded, labelled } = observed.machine.list;
  if (!recorded) return isElsewhere(labelled, machine) ? 'contradicted' : 'unseen';
  // A single list may show the row of another machine under this id.
  if (labelled.some((each) => each.row.id === machine.instanceId && isOfPurchase(each, machine)))
    return listsAgree(recorded, 'label') ? 'confirmed' : 'unseen';
  // While it is unknown whether labels are echoed, a missing or changed label contradicts nothing.
  if (labelEchoOf(observed) !== 'echoed' && !hasOtherLabel(observed, machine, recorded)) return 'unseen';
  return listsAgree(recorded, 'label') ? 'contradicted' : 'disputed';
}

/** Returns true if only the reply to a rental names the recorded machine so far, by the mark in its status. */
function isProvisional(observed: Pick<Observed, 'object' | 'account'>): boolean {
  return observed.object.status?.unconfirmed === true && mustBeListed(observed);
}

/**
 * Returns true if lists must show the machine of a rental before the record of its reply counts as proven. A market
 * known to drop its labels cannot show more.
 */
export function mustBeListed(observed: Pick<Observed, 'account'>): boolean {
  return labelEchoOf(observed) !== 'notEchoed' || keepsNoLabels(observed);
}

export function labelEchoOf({ account }: Pick<Observed, 'account'>) {
  return account.facts?.labelEcho;
}

/** Returns true unless the label is missing, or may be the purchase's label as changed by the market. */
function hasOtherLabel(
  observed: Pick<Observed, 'purchase' | 'memory'>,
  { attempt }: OwnedMachine,
  { label }: Pick<Machine, 'label'>,
): boolean {
  if (!label) return false;
  const sent = sentLabel(observed, attempt);
  return sent === undefined || remnantOf(sent, label) !== 'recognizable';
}

function isOfPurchase({ ownership }: ListedMachine, { attempt }: OwnedMachine): boolean {
  return 'facts' in ownership && ownership.facts.attempt === attempt;
}

function isElsewhere(labelled: readonly ListedMachine[], machine: OwnedMachine): boolean {
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

/** A record that only the reply to a rental proves so far. */
export interface ProvisionalRecord {
  /** Label of the purchase as sent; undefined if its intent is unknown. */
  readonly sentLabel: string | undefined;
}

/** Returns the provisional record of the machine; undefined once lists have proven it. */
export function provisionalRecord(
  observed: Pick<Observed, 'object' | 'account' | 'purchase' | 'memory'>,
  { attempt }: OwnedMachine,
): ProvisionalRecord | undefined {
  return isProvisional(observed) ? { sentLabel: sentLabel(observed, attempt) } : undefined;
}

/** Machines whose record was checked. */
interface Judged extends Pick<Observed, 'account'> {
  readonly machine: Observed['machine'] & {
    readonly recordProof: RecordProof;
    readonly provisional: ProvisionalRecord | undefined;
  };
}

/** Outcome of a check that may need a read first. */
export type Confirmation = 'confirmed' | 'unconfirmed' | Extract<Step, { type: 'read' }>;

const readLabelOf = (instanceId: string): Confirmation => ({
  type: 'read',
  requests: [{ type: 'confirmLabel', instanceId }],
});

/**
 * Returns the label agreement that the recorded machine needs before it is destroyed while only the reply to its rental
 * names it: two lists and a read. For a machine without a list, the read and the reply suffice.
 */
export function labelConfirmation(facts: Judged, instanceId: string): Confirmation {
  const { list, recordProof, provisional, labelReads } = facts.machine;
  if (!provisional) return 'confirmed';
  const row = list?.recorded;
  if (row && !(recordProof === 'confirmed' && listsAgree(row, 'label'))) return 'unconfirmed';
  if (!row && keepsNoLabels(facts)) return 'unconfirmed';
  const read = labelReads.get(instanceId);
  if (read === undefined) return readLabelOf(instanceId);
  if (typeof read === 'string') return 'unconfirmed';
  if (row && keepsNoLabels(facts)) return readAgreesWithRow(row, read) ? 'confirmed' : 'unconfirmed';
  return read.label === (row?.label ?? provisional.sentLabel) ? 'confirmed' : 'unconfirmed';
}

/**
 * Returns the read that must agree with the lists before the record of a machine is dropped. The machine itself is
 * not changed.
 */
export function disownConfirmation(
  facts: Pick<Observed, 'machine' | 'account' | 'purchase' | 'memory'>,
  { instanceId, attempt }: OwnedMachine,
): Confirmation {
  const row = facts.machine.list?.recorded;
  const read = facts.machine.labelReads.get(instanceId);
  if (read === undefined) return readLabelOf(instanceId);
  if (read === 'failed') return 'unconfirmed';
  if (read === 'absent') return row ? 'unconfirmed' : 'confirmed';
  if (keepsNoLabels(facts)) return row && readAgreesWithRow(row, read) ? 'confirmed' : 'unconfirmed';
  const agrees = row ? read.label === row.label : read.label !== sentLabel(facts, attempt);
  return agrees ? 'confirmed' : 'unconfirmed';
}

/** Returns the read that must agree with the lists before a machine is recorded that no reply to a rental named. */
export function foundConfirmation(facts: Pick<Observed, 'machine' | 'account'>, row: Machine): Confirmation {
  const read = facts.machine.labelReads.get(row.id);
  if (read === undefined) return readLabelOf(row.id);
  if (keepsNoLabels(facts) && typeof read !== 'string')
    return readAgreesWithRow(row, read) ? 'confirmed' : 'unconfirmed';
  return typeof read !== 'string' && read.label === row.label ? 'confirmed' : 'unconfirmed';
}

function sentLabel(facts: Pick<Observed, 'purchase' | 'memory'>, attempt: number): string | undefined {
  const intent = intentOfPurchase(facts, attempt);
  return (
    intent &&
    makeLabel(facts.purchase.identity, { uid: facts.purchase.uid, attempt, issuedAt: intent.issuedAt })
  );
}
