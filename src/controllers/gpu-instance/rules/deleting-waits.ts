import { reasons } from '../../../api/v1alpha1/reasons.ts';
import { accountKey, accountRefOf } from '../../../instance/account-ref.ts';
import { decision } from '../decision.ts';
import { carriedFields } from '../machine-fields.ts';
import type { Action, Decision, Observed } from '../types.ts';

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
export function waiting(observed: Observed, { reason, detail, actions = [], look = {} }: Waiting): Decision {
  const held = observed.object.status?.instanceId !== undefined;
  return decision({
    fields: carriedFields(observed),
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
export function waitingForKey(observed: Observed, look: Decision['look'] = {}): Decision {
  const ref = accountRefOf(observed.object);
  const { account } = observed;
  if (account.outsider !== undefined) return waiting(observed, { ...OUTSIDE, look });
  const isUnwatched = account.state === 'missing' && account.isUnwatched === true;
  return waiting(observed, {
    reason: account.state === 'missing' ? 'AccountMissing' : 'AccountNotReady',
    detail: `MarketplaceAccount ${accountKey(ref)} ${isUnwatched ? outOfSight(ref.namespace) : 'cannot be used'}, so nothing can be done about its machine.${account.state === 'notReady' ? ` ${account.message}` : ''}`,
    look,
  });
}

/** Of an account: why this installation does not see it. */
export const outOfSight = (namespace: string): string =>
  `is in namespace ${namespace}, which this operator does not watch (--watch-namespace)`;
