import { claimVerifies } from '../../ownership/claim.ts';
import type { Observed } from './types.ts';
import type { AccountFacts } from './views.ts';

/** A machine that the object's status names with a claim that we made. */
export interface Recorded {
  readonly instanceId: number;
  readonly attempt: number;
}

/** The facts of the account's login, whether or not it may rent now. */
export function factsOf(observed: Observed): AccountFacts | undefined {
  return observed.account.state === 'missing' ? undefined : observed.account.facts;
}

/** The recorded machine; undefined where there is none or the claim is not ours: then the record proves nothing. */
export function recordedMachine(observed: Observed): Recorded | undefined {
  const { status } = observed.object;
  const facts = factsOf(observed);
  if (status?.instanceId === undefined || facts === undefined) return undefined;
  const attempt = status.attempt ?? 0;
  const claimed = { login: facts.login, uid: observed.uid, attempt, instanceId: status.instanceId };
  if (!claimVerifies(observed.identity.keys, claimed, status.claim)) return undefined;
  return { instanceId: status.instanceId, attempt };
}

/** The number of the present or last settled purchase; 0 before the first. */
export function settledAttempt(observed: Observed): number {
  return observed.object.status?.attempt ?? 0;
}

/** Ids that this object once held and let go of: a list may still show them for a while. */
export function endedIds(observed: Observed): ReadonlySet<number> {
  return new Set([
    ...(observed.object.status?.history ?? []).map((machine) => machine.instanceId),
    ...observed.memory.destroys.map((mark) => mark.instanceId),
  ]);
}

export function isDeleting(observed: Observed): boolean {
  return observed.object.metadata.deletionTimestamp !== undefined;
}
