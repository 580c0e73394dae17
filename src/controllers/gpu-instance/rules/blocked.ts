import { accountKey, accountRefOf } from '../../../instance/account-ref.ts';
import { conditionState } from '../conditions.ts';
import { decision } from '../decision.ts';
import type { Facts } from '../facts.ts';
import { carriedFields } from '../machine-fields.ts';
import type { Stage } from '../stage.ts';
import type { Outsider, Step } from '../types.ts';
import { notWatched } from './deleting.ts';
import { waitingEvents } from './purchase.ts';

/** Reports the doubt about the object's record, and takes no action until a person resolves it. */
export function hold(facts: Pick<Facts, 'object'>, stage: Extract<Stage, { type: 'blocked' }>): Step {
  const { status } = facts.object;
  return decision({
    rule: 'hold-for-a-person',
    because: 'The record of this object is in doubt, so nothing is rented or destroyed.',
    fields: carriedFields(facts),
    finding: {
      phase: 'Failed',
      reason: stage.reason,
      detail: stage.detail,
      machine:
        status?.instanceId === undefined
          ? { type: 'none' }
          : { type: 'silent', origin: 'Rented', reason: stage.reason },
    },
    events: [{ type: 'Warning', reason: stage.reason, action: 'Holding', note: stage.detail }],
    requeue: { onList: stage.reason === 'CopiedObject' },
  });
}

/** Delay before the next check whether an account allows a namespace with unknown labels. */
export const PERMISSION_RETRY_MS = 5_000;

/**
 * Returns the step for an object whose namespace may not use the account. Its message does not reveal whether the
 * account exists.
 */
export function turnAway(facts: Pick<Facts, 'object'>, outsider: Outsider): Step {
  if (outsider === 'undecided')
    return decision({
      rule: 'ask-permission',
      because: 'The labels of the namespace are not known yet.',
      requeue: { afterMs: PERMISSION_RETRY_MS },
    });
  return decision({
    rule: 'namespace-not-allowed',
    because: 'The account decides which namespaces may rent with it.',
    fields: carriedFields(facts),
    finding: { phase: 'Pending', reason: 'NotAllowedByAccount', machine: { type: 'none' } },
    events: waitingEvents(facts, conditionState('False', 'NotAllowedByAccount')),
  });
}

/**
 * Returns the step without a usable account: the account is missing or was never verified, so nothing is known and no
 * action follows.
 */
export function waitForAccount(facts: Pick<Facts, 'object' | 'account'>): Step {
  const { account, object } = facts;
  if (object.status?.instanceId !== undefined)
    return decision({
      rule: 'keep-until-account-known',
      because: 'Without the account nothing can be proven about the machine, so its status stays.',
    });
  if (account.outsider !== undefined) return turnAway(facts, account.outsider);
  const isMissing = account.state === 'missing';
  const ref = accountRefOf(object);
  const reason = isMissing ? 'AccountMissing' : 'AccountNotReady';
  const detail = `MarketplaceAccount ${accountKey(ref)} ${whyUnusable(account, ref.namespace)}`;
  return decision({
    rule: 'wait-for-account',
    because: 'Only an account with a verified key can be used.',
    fields: carriedFields(facts),
    finding: { phase: 'Pending', reason, detail, machine: { type: 'none' } },
    // An account that is applied together with its machines is not ready for a moment, and has its own events.
    events: isMissing ? waitingEvents(facts, conditionState('False', reason, detail)) : [],
  });
}

function whyUnusable(account: Facts['account'], namespace: string): string {
  if (account.state === 'notReady') return `is not ready: ${account.message}`;
  return account.state === 'missing' && account.isUnwatched ? `${notWatched(namespace)}.` : 'does not exist.';
}
