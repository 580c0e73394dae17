import { reasons } from '../../../api/v1alpha1/reasons.ts';
import { accountKey, accountRefOf } from '../../../instance/account-ref.ts';
import { decision } from '../decision.ts';
import type { Facts } from '../facts.ts';
import { carriedFields } from '../machine-fields.ts';
import type { Action, Decision } from '../types.ts';

interface Waiting {
  readonly reason:
    | 'AccountMissing'
    | 'AccountNotReady'
    | 'RentalUncertain'
    | 'Stopping'
    | 'DestroyFailing'
    | 'IntentUnknown'
    | 'LoginChanged'
    | 'NamespaceNotAllowed';
  readonly detail: string;
  readonly actions?: readonly Action[];
  readonly look?: Decision['look'];
}

/** A deletion that is not over, with what it waits for. */
export function waiting(facts: Facts, { reason, detail, actions = [], look = {} }: Waiting): Decision {
  const held = facts.object.status?.instanceId !== undefined;
  return decision({
    fields: carriedFields(facts),
    finding: {
      phase: 'Deleting',
      reason,
      detail,
      machine: held ? { type: 'silent', held: 'Rented', reason: 'Deleting' } : { type: 'none' },
    },
    actions,
    look,
  });
}

const OUTSIDE = {
  reason: 'NamespaceNotAllowed',
  detail: `${reasons.NamespaceNotAllowed.sentence} Nothing can be done about its machine.`,
} as const;

/** Nothing can be asked while the account has no proven key. */
export function waitingForKey(facts: Facts, look: Decision['look'] = {}): Decision {
  const ref = accountRefOf(facts.object);
  const { account } = facts;
  if (account.outsider !== undefined) return waiting(facts, { ...OUTSIDE, look });
  const isUnwatched = account.state === 'missing' && account.isUnwatched === true;
  return waiting(facts, {
    reason: account.state === 'missing' ? 'AccountMissing' : 'AccountNotReady',
    detail: `MarketplaceAccount ${accountKey(ref)} ${isUnwatched ? outOfSight(ref.namespace) : 'cannot be used'}, so nothing can be done about its machine.${account.state === 'notReady' ? ` ${account.message}` : ''}`,
    look,
  });
}

/** Of an account: why this installation does not see it. */
export const outOfSight = (namespace: string): string =>
  `is in namespace ${namespace}, which this operator does not watch (--watch-namespace)`;
