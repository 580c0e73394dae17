import type { MarketplaceAccount } from '../../api/v1alpha1/marketplace-account.ts';
import { saysNothing } from './failure.ts';
import { sameLogin } from './pinned-login.ts';
import type { KeyProof } from './types.ts';

/**
 * Whether machines of the account's login may have to be ended by the key that was kept: there is no other, or it is
 * refused, or may not destroy. A key of another login is a person's mistake, of which nothing follows.
 */
export function needsKeptKey(own: KeyProof, { status }: MarketplaceAccount): boolean {
  if (!status?.login) return false;
  switch (own.type) {
    case 'none':
      return true;
    case 'failed':
      return !saysNothing(own.failure);
    case 'proven':
      return !own.mayDestroy && sameLogin(status.login, own.login);
  }
}

/** What a kept key is worth beside the account's own. Where it only failed to answer, what it proved before holds. */
export function betterProof(own: KeyProof, kept: KeyProof): KeyProof {
  if (own.type === 'none' || (kept.type === 'failed' && saysNothing(kept.failure))) return kept;
  if (kept.type !== 'proven' || (own.type === 'proven' && !kept.mayDestroy)) return own;
  return { ...kept, insteadOf: own };
}
