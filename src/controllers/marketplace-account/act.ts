import type { AccountRegistry } from '../../accounts/account-registry.ts';
import { refOf } from '../../accounts/account-registry.ts';
import type { Installation } from '../../accounts/installation/installation.ts';
import type { KeptKeys } from '../../accounts/login/kept-key.ts';
import type { MarketplaceAccount } from '../../api/v1alpha1/marketplace-account.ts';
import { ACCOUNT_FINALIZER, marketplaceAccountResource } from '../../api/v1alpha1/names.ts';
import type { EventRecorder } from '../../runtime/events/events.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { uidOf } from '../../runtime/kube/kube-object.ts';
import { removeFinalizer } from '../../runtime/writes/finalizers.ts';
import type { KeyChecks } from './key-checks.ts';
import type { Receipt } from './record.ts';
import type { Action, KeyProof } from './types.ts';

/** What acts reach. */
export interface AccountEffects {
  readonly kube: KubeClient;
  readonly registry: AccountRegistry;
  readonly installation: Installation;
  readonly kept: KeptKeys;
  readonly keyChecks: KeyChecks;
  readonly events: EventRecorder;
}

/** Carries out one action. The receipt shows that what it rests on was written before. */
export async function act(action: Action, receipt: Receipt, effects: AccountEffects): Promise<void> {
  const { account } = receipt;
  const uid = uidOf(account);
  switch (action.type) {
    case 'resolveIdentity':
      await effects.installation.resolve();
      return;
    case 'keepKey':
      await effects.kept.save(uid, action.key);
      effects.keyChecks.nowKept(uid, action.key);
      return;
    case 'connect':
      connect(account, action.proof, effects);
      return;
    case 'disconnect':
      effects.registry.disconnect(refOf(account));
      return;
    case 'setReadiness':
      effects.registry.setNotReady(account, action.why);
      return;
    case 'closeBreaker':
      closeBreaker(account, effects);
      return;
    case 'dropKeptKey':
      await effects.kept.remove(uid);
      return;
    case 'removeFinalizer':
      await release(account, effects);
      return;
    case 'event':
      effects.events.record({
        regarding: account,
        type: action.severity,
        reason: action.reason,
        action: 'CheckAccount',
        note: action.note,
      });
      return;
  }
}

function connect(
  account: MarketplaceAccount,
  proof: Extract<KeyProof, { type: 'proven' }>,
  { registry }: AccountEffects,
): void {
  registry.connect(account, {
    login: proof.login,
    key: proof.key,
    use: proof.source === 'user' ? 'full' : 'teardown',
    user: {
      credit: proof.user.credit,
      sshKeyRegistered: proof.user.sshKey !== undefined && proof.user.sshKey !== '',
      mayTearDown: proof.mayDestroy,
    },
  });
}

function closeBreaker(account: MarketplaceAccount, { registry }: AccountEffects): void {
  registry.session(refOf(account))?.closeBreaker();
}

/** Under the resource version that the pass saw: an object that came in between keeps the account. */
async function release(account: MarketplaceAccount, effects: AccountEffects): Promise<void> {
  const resource = marketplaceAccountResource;
  const write = await removeFinalizer({
    client: effects.kube,
    resource,
    object: account,
    finalizer: ACCOUNT_FINALIZER,
  });
  if (write.type === 'conflict') throw write.error;
  effects.keyChecks.forget(uidOf(account));
  effects.registry.forget(refOf(account));
}
