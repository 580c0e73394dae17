import { type KeyRing, macVerifies, signMac } from './key-ring.ts';
import { type Login, loginText } from './login.ts';

/** Claim of an object: this machine of this login, rented (or adopted) as this attempt. */
export interface ClaimFacts {
  readonly login: Login;
  readonly uid: string;
  readonly attempt: number;
  readonly instanceId: string;
}

function claimParts(facts: ClaimFacts): readonly string[] {
  return [loginText(facts.login), facts.uid, String(facts.attempt), facts.instanceId];
}

/** Returns the code that `status.claim` contains beside the machine's id. */
export function makeClaim(keys: KeyRing, facts: ClaimFacts): string {
  return signMac(keys, 'claim', claimParts(facts));
}

/**
 * Returns true if this installation made the recorded claim for exactly these facts. A claim in a status edited by hand
 * fails.
 */
export function claimVerifies(keys: KeyRing, facts: ClaimFacts, claim: string | undefined): boolean {
  return claim !== undefined && macVerifies(keys, 'claim', { parts: claimParts(facts), mac: claim });
}
