import type { AccountEvent } from '../../accounts/registry.ts';
import type { MarketplaceAccount } from '../../api/v1alpha1/marketplace-account.ts';
import { ACCOUNT_FINALIZER, marketplaceAccountResource } from '../../api/v1alpha1/names.ts';
import { accountKey } from '../../instance/account-ref.ts';
import type { MarketplaceErrorKind } from '../../market/errors.ts';
import type { Controller, ControllerOptions } from '../../runtime/controller.ts';
import { conflict, requeueAfter } from '../../runtime/controller.ts';
import type { EventRecorder } from '../../runtime/events.ts';
import { refOfKey } from '../../runtime/kube/kube-object.ts';
import type { Informer } from '../../runtime/list-watch/informer.ts';
import { createObjectController, type ObjectController } from '../../runtime/object-controller.ts';
import { record } from '../../runtime/writes.ts';
import { type AccountEffects, act } from './act.ts';
import { decide } from './decide.ts';
import { type AccountSources, observe } from './observe.ts';
import type { CreditReading } from './types.ts';

export interface MarketplaceAccountControllerOptions
  extends AccountEffects,
    Omit<AccountSources, 'figuresWrittenAt' | 'creditReadings' | 'allAccounts'>,
    Pick<ControllerOptions, 'random' | 'log' | 'metrics' | 'workers'> {
  readonly accounts: Informer<MarketplaceAccount>;
  readonly events: EventRecorder;
}

/** Keeps one session per account up to date with its key, its marketplace and its spending. */
export function createMarketplaceAccountController(options: MarketplaceAccountControllerOptions): Controller {
  const { accounts, clock, events, kube, registry } = options;
  const figuresWrittenAt = new Map<string, number>();
  const creditReadings = new Map<string, readonly CreditReading[]>();
  const sources: AccountSources = {
    ...options,
    figuresWrittenAt: (key) => figuresWrittenAt.get(key),
    creditReadings: (key) => creditReadings.get(key) ?? [],
    allAccounts: () => accounts.list(),
  };
  const controller = createObjectController<MarketplaceAccount>({
    ...options,
    name: 'marketplaceaccount',
    informer: accounts,
    client: kube,
    resource: marketplaceAccountResource,
    async reconcile(account, { key, aside, log }) {
      const observed = await observe(account, sources, aside);
      creditReadings.set(key, observed.creditReadings);
      const decision = decide(observed);
      const receipt = await record({
        client: kube,
        resource: marketplaceAccountResource,
        object: account,
        finalizer: decision.needsFinalizer ? ACCOUNT_FINALIZER : undefined,
        status: decision.status,
        onWritten: (written) => accounts.wrote(written),
      });
      if (!receipt) return conflict();
      if (account.status?.credit !== receipt.object.status?.credit) figuresWrittenAt.set(key, clock.now());
      for (const { figures, ...note } of decision.events) {
        events.record({ regarding: receipt.object, ...note });
        const line = { reason: note.reason, note: note.note, ...figures };
        if (note.type === 'Warning') log.warn('Account has a problem', line);
        else log.info('Account changed', line);
      }
      for (const action of decision.actions) await act(action, receipt, options);
      return requeueAfter(decision.requeueAfterMs);
    },
    onGone(key) {
      const { namespace = '', name } = refOfKey(key);
      registry.forget({ namespace, name });
      figuresWrittenAt.delete(key);
      creditReadings.delete(key);
    },
  });
  enqueueOnEvents(controller, options);
  return controller;
}

/**
 * Enqueues an account when its session changes or its login was polled; after a refusal the next reconcile reads the
 * key again.
 */
function enqueueOnEvents(controller: ObjectController, options: MarketplaceAccountControllerOptions): void {
  const { accounts, registry, keyChecks } = options;
  registry.onChange((ref) => controller.enqueue(accountKey(ref)));
  registry.onEvent((ref, event) => {
    const uid = accounts.get(accountKey(ref))?.metadata.uid;
    if (uid !== undefined && mayConcernKeyOrCredit(event)) keyChecks.recheck(uid);
    controller.enqueue(accountKey(ref));
  });
}

/**
 * Returns true for an event that may concern key or credit: a machine that stops by itself may be the first sign of
 * used-up credit.
 */
function mayConcernKeyOrCredit(event: AccountEvent): boolean {
  return event.type === 'machineStopped' || (event.type === 'failed' && REFUSALS.has(event.error.kind));
}

/** Failures after which the key is read again immediately. */
const REFUSALS: ReadonlySet<MarketplaceErrorKind> = new Set<MarketplaceErrorKind>([
  'unauthorized',
  'forbidden',
  'sessionExpired',
  'twoFactorRequired',
]);
