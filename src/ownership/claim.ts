import { type KeyRing, macVerifies, signMac } from './key-ring.ts';
import { type Login, loginText } from './login.ts';

/** What an object claims: this machine of this login, bought (or adopted) as this attempt. */
export interface ClaimFacts {
  readonly login: Login;
  readonly uid: string;
  readonly attempt: number;
  readonly instanceId: string;
}

function claimParts(facts: ClaimFacts): readonly string[] {
  return [loginText(facts.login), facts.uid, String(facts.attempt), facts.instanceId];
}

/** The code that stands in `status.claim` beside the machine's id. */
export function makeClaim(keys: KeyRing, facts: ClaimFacts): string {
  return signMac(keys, 'claim', claimParts(facts));
}

/** Whether a recorded claim was made by this installation for exactly these facts. A status edited by hand fails. */
export function claimVerifies(keys: KeyRing, facts: ClaimFacts, claim: string | undefined): boolean {
  return claim !== undefined && macVerifies(keys, 'claim', { parts: claimParts(facts), mac: claim });
}
