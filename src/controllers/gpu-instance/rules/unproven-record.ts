import type { Facts } from '../facts.ts';
import { goneProof } from '../gone.ts';
import type { Step } from '../types.ts';

/** What to do about a machine that the status of an object without one names all the same. */
export type UnprovenRecord =
  /** It does not exist. */
  | { readonly type: 'forget' }
  | { readonly type: 'read'; readonly step: Extract<Step, { type: 'read' }> }
  | { readonly type: 'awaitLists' };

/**
 * Somebody wrote it there, or its proof was lost: it may be a true one still. It is forgotten once it is proven gone
 * as a machine of ours that vanished would be, and never before. Undefined where it stays, or there is none.
 */
export function unprovenRecord(facts: Facts): UnprovenRecord | undefined {
  const { account, object } = facts;
  const instanceId = object.status?.instanceId;
  const mayJudge = account.state === 'ready' && account.facts.breaker.type !== 'open';
  if (instanceId === undefined || !mayJudge) return undefined;
  switch (goneProof(facts, instanceId).type) {
    case 'gone':
      return { type: 'forget' };
    case 'needsRead':
      return { type: 'read', step: { type: 'read', requests: [{ type: 'machine', instanceId }] } };
    case 'needsLogin':
      return { type: 'read', step: { type: 'read', requests: [{ type: 'loginProof' }] } };
    case 'waiting':
      return { type: 'awaitLists' };
    case 'present':
      return undefined;
  }
}
