import type { MarketplaceAccountStatus } from '../../api/v1alpha1/marketplace-account.ts';
import { type Login, loginText } from '../../ownership/login.ts';
import type { KeyProof } from './types.ts';

type PinnedLogin = NonNullable<MarketplaceAccountStatus['login']>;

/** Whether the pinned login and a proven one are the same user of the same marketplace. */
export function sameLogin(pinned: PinnedLogin, proven: Login): boolean {
  return loginText(pinned) === loginText(proven);
}

/** Whether a proof is one of the account's own login: the first proof pins it. */
export function provesPinned(
  proof: KeyProof,
  pinned: PinnedLogin | undefined,
): proof is Extract<KeyProof, { type: 'proven' }> {
  return proof.type === 'proven' && (pinned === undefined || sameLogin(pinned, proof.login));
}
