import type { MarketplaceAccount } from '../../api/v1alpha1/marketplace-account.ts';
import { marketplaceAccountResource } from '../../api/v1alpha1/names.ts';
import { type AccountRef, accountKey } from '../../instance/account-ref.ts';
import type { MarketplaceErrorKind } from '../../marketplace/errors/errors.ts';
import type { ControllerOptions } from '../../runtime/controller.ts';
import {
  type Controller,
  createController,
  done,
  type ReconcileContext,
  type Result,
  requeueAfter,
} from '../../runtime/controller.ts';
import { objectKey, refOfKey } from '../../runtime/kube/kube-object.ts';
import { CurrentObjects } from '../../runtime/list-watch/current-objects.ts';
import type { Informer } from '../../runtime/list-watch/informer.ts';
import { type AccountEffects, act } from './act.ts';
import { decide } from './decide.ts';
import { type AccountSources, observe } from './observe.ts';
import { record } from './record.ts';

export interface MarketplaceAccountControllerOptions
  extends AccountEffects,
    Omit<AccountSources, 'figuresWrittenAt' | 'allAccounts'>,
    Pick<ControllerOptions, 'random' | 'log' | 'metrics' | 'workers'> {
  readonly accounts: Informer<MarketplaceAccount>;
}

/** Keeps one session per account in step with its key, its marketplace and what it has spent. */
export function createMarketplaceAccountController(options: MarketplaceAccountControllerOptions): Controller {
  const { accounts, clock } = options;
  const figuresWrittenAt = new Map<string, number>();
  const resource = marketplaceAccountResource;
  const objects = new CurrentObjects({ informer: accounts, client: options.kube, resource, clock });
  const sources = sourcesOf(options, figuresWrittenAt);

  const reconcile = async (key: string, { aside }: ReconcileContext): Promise<Result> => {
    const current = await objects.read(key);
    if (current.type === 'behind') return requeueAfter(current.afterMs);
    if (current.type === 'gone') {
      options.registry.forget(refFromKey(key));
      figuresWrittenAt.delete(key);
      return done;
    }
    return objects.duringPass(key, () => pass(key, current.object, aside));
  };

  const pass = async (
    key: string,
    account: MarketplaceAccount,
    aside: ReconcileContext['aside'],
  ): Promise<Result> => {
    const decision = decide(await observe(account, sources, aside));
    const receipt = await record(account, decision, {
      client: options.kube,
      onWritten: (written) => accounts.wrote(written),
    });
    if (!receipt) {
      objects.lostRace(key);
      return requeueAfter(LOST_RACE_MS);
    }
    if (account.status?.credit !== receipt.account.status?.credit) figuresWrittenAt.set(key, clock.now());
    for (const action of decision.actions) await act(action, receipt, options);
    return requeueAfter(decision.requeueAfterMs);
  };

  const controller = createController({ ...options, name: 'marketplaceaccount', reconcile });
  enqueueOnEvents(controller, options);
  return onceStarted(controller, accounts);
}

function sourcesOf(
  options: MarketplaceAccountControllerOptions,
  figuresWrittenAt: ReadonlyMap<string, number>,
): AccountSources {
  return {
    ...options,
    figuresWrittenAt: (key) => figuresWrittenAt.get(key),
    allAccounts: () => options.accounts.list(),
  };
}

/** Enqueues an account when its session changes or its login was polled; a refusal makes the next pass read the key again. */
function enqueueOnEvents(controller: Controller, options: MarketplaceAccountControllerOptions): void {
  const { accounts, registry, keyChecks } = options;
  registry.onChange((ref) => controller.queue.add(accountKey(ref)));
  registry.onEvent((ref, event) => {
    const uid = accounts.get(accountKey(ref))?.metadata.uid;
    if (uid !== undefined && event.type === 'failed' && REFUSALS.has(event.error.kind))
      keyChecks.refused(uid);
    controller.queue.add(accountKey(ref));
  });
}

/** A replica that waits for the lease keeps no keys: objects come and go, and it begins with all that are there then. */
function onceStarted(controller: Controller, accounts: Informer<MarketplaceAccount>): Controller {
  let isStarted = false;
  accounts.onChange((change) => {
    if (isStarted) controller.queue.add(change.key);
  });
  return {
    ...controller,
    start() {
      isStarted = true;
      for (const account of accounts.list()) controller.queue.add(objectKey(account.metadata));
      controller.start();
    },
  };
}

/** Failures after which the key is read again at once. */
const REFUSALS: ReadonlySet<MarketplaceErrorKind> = new Set<MarketplaceErrorKind>([
  'unauthorized',
  'forbidden',
  'sessionExpired',
  'twoFactorRequired',
]);

/** Another writer was first; the next pass reads from the API server. */
const LOST_RACE_MS = 20;

function refFromKey(key: string): AccountRef {
  const { namespace = '', name } = refOfKey(key);
  return { namespace, name };
}
