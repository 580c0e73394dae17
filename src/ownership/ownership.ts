import { type ClaimFacts, claimVerifies } from './claim.ts';
import type { PurchaseConstants } from './constants.ts';
import { type LabelFacts, type LabelIdentity, readLabel } from './label.ts';
import type { Login } from './login.ts';

/** The fields of a listed machine that ownership depends on. */
export interface OwnedRow {
  readonly id: string;
  /** null or empty: no label. undefined: the service does not echo labels. */
  readonly label: string | null | undefined;
  /** The service's own start date, milliseconds since the epoch. */
  readonly startedAt: number | undefined;
}

/** Record of an object about a machine: its id, claim and attempt. */
export interface RecordedClaim {
  readonly uid: string;
  readonly attempt: number;
  readonly instanceId: string;
  readonly claim: string;
}

/**
 * Owner of a listed machine. `claimed` and `labelled` belong to this installation; the operator never touches any other
 * machine.
 */
export type Ownership =
  | { readonly type: 'claimed'; readonly uid: string; readonly attempt: number }
  | { readonly type: 'labelled'; readonly facts: LabelFacts }
  /**
   * A label of this installation on a machine without a start date: enough to find a purchase, never enough to
   * destroy.
   */
  | { readonly type: 'undated'; readonly facts: LabelFacts }
  /** The machine was kept on purpose when its object was deleted. */
  | { readonly type: 'retained'; readonly facts: LabelFacts }
  /**
   * A label of this installation on a machine that began outside the label's window: it was copied. `isLate`: the
   * machine began within a day after the window, so a rental that the service carried out late looks the same.
   */
  | { readonly type: 'labelCopied'; readonly facts: LabelFacts; readonly isLate: boolean }
  /** Has this installation's id with a code that this installation never made. */
  | { readonly type: 'labelForged' }
  | { readonly type: 'foreignInstall'; readonly installId8: string }
  | { readonly type: 'someoneElses' }
  | { readonly type: 'unlabelled' };

export interface OwnershipContext {
  readonly identity: LabelIdentity;
  readonly login: Login;
  readonly constants: PurchaseConstants;
  /** Claims that objects recorded on this machine id; a claim that does not verify does not count. */
  readonly claims?: readonly RecordedClaim[];
}

/** Returns the owner of the machine: by a verified claim first, else by its label inside the label's window. */
export function ownershipOf(row: OwnedRow, context: OwnershipContext): Ownership {
  const claim = context.claims?.find((candidate) => claimsRow(candidate, row, context));
  if (claim) return { type: 'claimed', uid: claim.uid, attempt: claim.attempt };
  const reading = readLabel(context.identity, row.label);
  switch (reading.type) {
    case 'none':
      return { type: 'unlabelled' };
    case 'someoneElses':
      return { type: 'someoneElses' };
    case 'foreignInstall':
      return { type: 'foreignInstall', installId8: reading.installId8 };
    case 'unverified':
      return { type: 'labelForged' };
    case 'verified':
      return reading.retained
        ? { type: 'retained', facts: reading.facts }
        : byWindow(row, reading.facts, context);
  }
}

/** Returns true if the label may have been issued for a machine that began at `startedAt`. */
export function startsInWindow(startedAt: number, issuedAt: number, constants: PurchaseConstants): boolean {
  return (
    startedAt >= issuedAt - constants.clockSkewMs &&
    startedAt <= issuedAt + constants.lateCallMs + constants.listLagMs
  );
}

function byWindow(row: OwnedRow, facts: LabelFacts, context: OwnershipContext): Ownership {
  if (row.startedAt === undefined) return { type: 'undated', facts };
  const inside = startsInWindow(row.startedAt, facts.issuedAt, context.constants);
  if (inside) return { type: 'labelled', facts };
  const isLate = row.startedAt > facts.issuedAt && row.startedAt <= facts.issuedAt + LATEST_RENTAL_MS;
  return { type: 'labelCopied', facts, isLate };
}

/**
 * Maximum delay of a rental by any service: a machine that begins later with an old label has a copied label. A copy
 * within this time looks like a late rental, and `orphanPolicy: Destroy` ends it, so the time is as short as
 * possible.
 */
const LATEST_RENTAL_MS = 86_400_000;

function claimsRow(candidate: RecordedClaim, row: OwnedRow, context: OwnershipContext): boolean {
  if (candidate.instanceId !== row.id) return false;
  const facts: ClaimFacts = { ...candidate, login: context.login };
  return claimVerifies(context.identity.keys, facts, candidate.claim);
}
