import type { Admission } from '../../accounts/admission.ts';
import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import type { MarketplaceAccount } from '../../api/v1alpha1/marketplace-account.ts';
import { marketplaceAccountResource } from '../../api/v1alpha1/names.ts';
import { accountKey, accountRefOf } from '../../instance/account-ref.ts';
import { parseDollars } from '../../lib/money.ts';
import { defaultConstants, type PurchaseConstants } from '../../ownership/constants.ts';
import type { Identity } from '../../ownership/identity.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import type { Effects } from '../../views/plan.ts';
import { ClusterBudgets } from '../budgets.ts';
import type { CommandContext, CommandInput } from '../command.ts';
import { failureParts } from '../failures/describe-failure.ts';
import { accountGate, countedInstances } from '../limits.ts';
import { operatorTimes } from '../objects/cluster-objects.ts';
import { readIdentity } from '../objects/identity-secret.ts';
import { accountTarget, UnusableKey } from '../sessions/account-access.ts';
import { type ClusterSession, withCluster } from '../sessions/cluster-session.ts';
import type { SessionTarget } from '../sessions/marketplace-session.ts';
import { type Applied, askForAll, type Judged, refuseRefused, type ServerVerdict } from './dry-run.ts';
import { effectsOf, NO_EFFECTS } from './effects.ts';
import { type PlannedObject, refuseBroken } from './manifests.ts';

/** Surroundings of a planned object; unknown ones count as valid. */
export interface Surroundings {
  /** Undefined without a request to the cluster about the object. */
  readonly kube: KubeClient | undefined;
  readonly account: MarketplaceAccount | undefined;
  /** GpuInstances that name the account. */
  readonly objects: readonly GpuInstance[];
  readonly constants: PurchaseConstants;
  /** Undefined if the caller may not read it. */
  readonly identity: Identity | undefined;
  /** Room of the account for all planned objects together; undefined if unknown. */
  readonly gate: Pick<Admission, 'request'> | undefined;
}

const NO_SURROUNDINGS: Surroundings = {
  ...{ kube: undefined, account: undefined, objects: [], identity: undefined, gate: undefined },
  constants: defaultConstants,
};

/** Additions of a cluster to a manifest. */
export interface ClusterView extends Effects {
  /** Marketplace of the account; undefined for the marketplace of options and environment. */
  readonly target: SessionTarget | undefined;
  /** Reason why the account may rent nothing, whatever the operator decides. */
  readonly blocked?: AccountBlock | undefined;
  /** Object that the API server would store; undefined if it did not evaluate the manifest. */
  readonly applied: Applied | undefined;
  readonly surroundings: Surroundings;
  /** Checks that were made, or the reason why none was. */
  readonly note: string;
}

/** A missing account; the operator rents nothing without it. */
interface AccountBlock {
  readonly reason: 'AccountMissing' | 'AccountNotReady';
  readonly detail: string;
}

type Viewed = readonly [PlannedObject, ClusterView];

interface Asked {
  readonly input: CommandInput;
  readonly context: CommandContext;
}

/**
 * Runs `work` for each object with the facts of the cluster: whether the API server would accept it, and its login
 * and limits. A refused object is a usage error; a note reports an unreachable cluster. The connection is closed
 * after `work`.
 */
export async function withClusterViews<Result>(
  planned: readonly PlannedObject[],
  asked: Asked,
  work: (views: readonly Viewed[]) => Promise<Result>,
): Promise<Result> {
  if (asked.input.options.cluster === false)
    return work(await withoutCluster(planned, '--no-cluster was set'));
  let isSeen = false;
  try {
    return await withCluster(asked.input, asked.context, async (cluster) => {
      const judged = await askForAll(cluster, planned);
      const views = await viewAll(cluster, judged, asked);
      isSeen = true;
      refuseRefused(judged);
      await refuseBroken(judged.flatMap(([object, { type }]) => (type === 'unasked' ? [object] : [])));
      return work(views);
    });
  } catch (error) {
    if (isSeen) throw error;
    return work(await withoutCluster(planned, failureParts(error).what.join(' ')));
  }
}

/** Applies the rules of admission locally. Throws a usage error if a manifest breaks one. */
async function withoutCluster(planned: readonly PlannedObject[], why: string): Promise<readonly Viewed[]> {
  await refuseBroken(planned);
  const note = `checked by the rules of the resource definitions; the account, its limits, Secrets and quotas were not checked: ${why}`;
  const view = { ...NO_EFFECTS, target: undefined, applied: undefined, surroundings: NO_SURROUNDINGS, note };
  return planned.map((object) => [object, view]);
}

/**
 * Adds the facts of the cluster to each object. Objects of one account share them: a planned rental uses part of the
 * account's limits.
 */
async function viewAll(
  cluster: ClusterSession,
  verdicts: readonly Judged[],
  asked: Asked,
): Promise<readonly Viewed[]> {
  const planned = verdicts.map(([object]) => object);
  const known = new Map<string, Promise<Seen>>();
  const budgets = await budgetsOf(cluster, planned);
  const views: Viewed[] = [];
  for (const [object, verdict] of verdicts) {
    const account = await accountNamed(cluster, object);
    const uid = account?.metadata.uid ?? '';
    const found =
      known.get(uid) ??
      (account ? accountSeen(cluster, { account, planned, budgets, asked }) : accountUnseen(cluster, object));
    if (account) known.set(uid, found);
    const { notes, ...seen } = await found;
    const left = budgets.notesOf(object.namespace ?? cluster.namespace);
    const note = [VERDICT_NOTES[verdict.type](verdict), ...notes, ...left].join('; ');
    const applied = verdict.type === 'accepted' ? verdict.applied : undefined;
    const effects = applied ? await effectsOf(cluster, applied) : NO_EFFECTS;
    views.push([object, { ...seen, ...effects, applied, note }]);
  }
  return views;
}

/** Reads the budgets of the namespaces of the planned objects, which are planned as if they had no machine. */
function budgetsOf(cluster: ClusterSession, planned: readonly PlannedObject[]): Promise<ClusterBudgets> {
  const own = ownNames(cluster, planned);
  return ClusterBudgets.read(
    cluster,
    planned.map(({ namespace = cluster.namespace }) => namespace),
    ({ metadata: { namespace, name } }) => own.has(`${namespace}/gpui/${name}`),
  );
}

function ownNames(cluster: ClusterSession, planned: readonly PlannedObject[]): ReadonlySet<string> {
  return new Set(planned.map(({ object, namespace = cluster.namespace }) => `${namespace}/${object}`));
}

/** An account, and its notes. */
interface Seen extends Pick<ClusterView, 'target' | 'blocked' | 'surroundings'> {
  readonly notes: readonly string[];
}

interface SeenOf {
  readonly account: MarketplaceAccount;
  readonly planned: readonly PlannedObject[];
  readonly budgets: ClusterBudgets;
  readonly asked: Asked;
}

/**
 * Returns the state and spending of an account without the planned objects: they are planned as if they had no machine.
 * Rejects with a KubeError.
 */
async function accountSeen(
  cluster: ClusterSession,
  { account, planned, budgets, asked }: SeenOf,
): Promise<Seen> {
  const [{ instances, missing }, reading, { constants }] = await Promise.all([
    countedInstances(cluster, account),
    readIdentity(cluster),
    operatorTimes(cluster),
  ]);
  const identity = reading.type === 'identity' ? reading.identity : undefined;
  const own = ownNames(cluster, planned);
  const others = instances.filter(
    ({ metadata: { namespace, name } }) => !own.has(`${namespace}/gpui/${name}`),
  );
  const credit = parseDollars(account.status?.credit);
  const gate = accountGate({ account, objects: others, identity, credit, budgets: budgets.gate });
  budgets.add(gate);
  const note = `limits and avoid list of gpuacct/${account.metadata.name} are considered`;
  const { target, notes, blocked } = await targetOf(cluster, account, asked);
  return {
    target,
    ...(blocked && { blocked }),
    surroundings: { kube: cluster.kube, account, objects: instances, constants, identity, gate },
    notes: [missing === undefined ? note : `${note}, but ${missing}`, ...notes],
  };
}

async function accountUnseen(
  cluster: ClusterSession,
  { spec, bringsAccount, namespace = cluster.namespace }: PlannedObject,
): Promise<Seen> {
  const nothing = { target: undefined, surroundings: NO_SURROUNDINGS };
  const noteOf = (why: string) => [`limits of the account are not considered: ${why}`];
  if (bringsAccount) return { ...nothing, notes: noteOf('the account comes with the manifest') };
  const ref = accountRefOf({ spec, metadata: { namespace } });
  const detail = `MarketplaceAccount ${accountKey(ref)} does not exist.`;
  const blocked = { reason: 'AccountMissing', detail } as const;
  return { ...nothing, blocked, notes: noteOf('the account does not exist') };
}

const VERDICT_NOTES: Readonly<Record<ServerVerdict['type'], (verdict: ServerVerdict) => string>> = {
  accepted: () => 'the API server would take it',
  refused: () => 'the API server would refuse it',
  unasked: (verdict) =>
    `checked by the rules of the resource definitions alone, since the API server did not judge it${'why' in verdict ? `: ${verdict.why}` : ''}`,
};

/** Returns the account's own login, or the caller's if its key cannot be read. */
async function targetOf(
  cluster: ClusterSession,
  account: MarketplaceAccount,
  asked: Asked,
): Promise<Pick<Seen, 'target' | 'notes' | 'blocked'>> {
  try {
    return { target: await accountTarget(cluster, account, asked), notes: [] };
  } catch (error) {
    const why = failureParts(error).what.join(' ');
    const notes = [`your own key is used: ${why}`];
    // The operator reads the same Secret, and rents nothing with this one.
    const blocked =
      error instanceof UnusableKey ? ({ reason: 'AccountNotReady', detail: why } as const) : undefined;
    return { target: undefined, notes, ...(blocked && { blocked }) };
  }
}

/** Returns the account that a spec names, from the cluster. Rejects with a KubeError. */
function accountNamed(
  { kube, namespace }: ClusterSession,
  { spec, namespace: own = namespace }: Pick<PlannedObject, 'spec' | 'namespace'>,
): Promise<MarketplaceAccount | undefined> {
  const ref = accountRefOf({ spec, metadata: { namespace: own } });
  return kube.get<MarketplaceAccount>(marketplaceAccountResource, ref);
}
