import type { KeptKeys } from '../../accounts/api-keys.ts';
import type { Installation } from '../../accounts/installation/installation.ts';
import { type AccountRegistry, refOf } from '../../accounts/registry.ts';
import type { MarketplaceAccount } from '../../api/v1alpha1/marketplace-account.ts';
import { ACCOUNT_FINALIZER, marketplaceAccountResource } from '../../api/v1alpha1/names.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { uidOf } from '../../runtime/kube/kube-object.ts';
import { type Receipt, removeFinalizer } from '../../runtime/writes.ts';
import type { KeyChecks } from './key-checks.ts';
import type { KeyProof } from './key-proof.ts';
import type { Action } from './types.ts';

/** Effects of actions. */
export interface AccountEffects {
  readonly kube: KubeClient;
  readonly registry: AccountRegistry;
  readonly installation: Installation;
  readonly kept: KeptKeys;
  readonly keyChecks: KeyChecks;
  /** Called right before a key is kept: a former leader may have an older key. */
  readonly isLeader: () => boolean;
}

/** Carries out one action. The receipt proves that its preconditions were recorded first. */
export async function act(
  action: Action,
  { object: account }: Receipt<MarketplaceAccount>,
  effects: AccountEffects,
): Promise<void> {
  const uid = uidOf(account);
  switch (action.type) {
    case 'resolveIdentity':
      await effects.installation.resolve();
      return;
    case 'keepKey':
      if (!effects.isLeader()) return;
      await effects.kept.save(uid, action.key);
      effects.keyChecks.nowKept(uid, action.key);
      return;
    case 'connect':
      effects.registry.connect(account, credentialsOf(action.proof));
      return;
    case 'disconnect':
      effects.registry.disconnect(refOf(account));
      return;
    case 'setReadiness':
      effects.registry.setNotReady(account, action.why);
      return;
    case 'closeBreaker':
      effects.registry.session(refOf(account))?.observer.closeBreaker();
      return;
    case 'dropKeptKey':
      await effects.kept.remove(uid);
      return;
    case 'removeFinalizer':
      await release(account, effects);
      return;
  }
}

function credentialsOf({
  login,
  key,
  source,
  user,
  mayDestroy,
}: Extract<KeyProof, { type: 'proven' }>): Parameters<AccountRegistry['connect']>[1] {
  return {
    login,
    key,
    use: source === 'user' ? 'full' : 'teardown',
    user: {
      credit: user.credit,
      sshKeyRegistered: user.sshKey !== undefined && user.sshKey !== '',
      mayDestroy,
    },
  };
}

/**
 * Removes the finalizer under the resource version of the reconcile. Its objects were read after the last ticket was
 * used or refused.
 */
async function release(account: MarketplaceAccount, effects: AccountEffects): Promise<void> {
  const write = await removeFinalizer({
    client: effects.kube,
    resource: marketplaceAccountResource,
    object: account,
    finalizer: ACCOUNT_FINALIZER,
  });
  if (write.type === 'conflict') throw write.error;
  effects.keyChecks.forget(uidOf(account));
  effects.registry.forget(refOf(account));
}
