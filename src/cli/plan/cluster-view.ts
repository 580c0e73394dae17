import type { Admission } from '../../accounts/admission.ts';
import { avoidedAt, avoidOf } from '../../accounts/avoid-list.ts';
import { type AccountLimits, limitsOf } from '../../accounts/spend-limits.ts';
import type { MarketplaceAccount } from '../../api/v1alpha1/marketplace-account.ts';
import { marketplaceAccountResource } from '../../api/v1alpha1/names.ts';
import type { Exclusions } from '../../controllers/gpu-instance/public.ts';
import { accountRefOf } from '../../instance/account-ref.ts';
import { parseDollars } from '../../lib/money.ts';
import type { CommandContext, CommandInput } from '../command.ts';
import { failureParts } from '../failures/describe-failure.ts';
import { accountGate, countedInstances } from '../limits.ts';
import { readIdentity } from '../objects/identity-secret.ts';
import { accountTarget } from '../sessions/account-access.ts';
import { type ClusterSession, withCluster } from '../sessions/cluster-session.ts';
import type { SessionTarget } from '../sessions/marketplace-session.ts';
import { askForAll, type Judged, refuseRefused, type ServerVerdict } from './dry-run.ts';
import { type Effects, effectsOf, NO_EFFECTS } from './effects.ts';
import type { PlannedObject } from './manifests.ts';

/** What a cluster adds to a manifest. */
export interface ClusterView extends AccountView, Effects {
  /** The marketplace of the account; undefined: the one that options and environment say. */
  readonly target: SessionTarget | undefined;
}

type Viewed = readonly [PlannedObject, ClusterView];

interface Asked {
  readonly input: CommandInput;
  readonly context: CommandContext;
}

/**
 * Each object with what the cluster says: whether it would take it, and whose login and limits hold. What it would
 * refuse is a usage error; the note says if a cluster cannot be asked.
 */
export async function clusterViews(
  planned: readonly PlannedObject[],
  asked: Asked,
): Promise<readonly Viewed[]> {
  if (asked.input.options.cluster === false) return withoutCluster(planned, '--no-cluster was given');
  let judged: readonly Judged[] = [];
  const views: Viewed[] = [];
  try {
    await withCluster(asked.input, asked.context, async (cluster) => {
      judged = await askForAll(cluster, planned);
      views.push(...(await viewAll(cluster, judged, asked)));
    });
  } catch (error) {
    return withoutCluster(planned, failureParts(error).what.join(' '));
  }
  refuseRefused(judged);
  return views;
}

function withoutCluster(planned: readonly PlannedObject[], why: string): readonly Viewed[] {
  const note = `only fields were checked, and nothing of the account is considered: ${why}`;
  const nothing = { ...NO_EFFECTS, target: undefined };
  return planned.map((object) => [object, { ...withoutAccount(why), note, ...nothing }]);
}

/** Those of one account share what is known of it: a rental that is planned takes its room from the next. */
async function viewAll(
  cluster: ClusterSession,
  verdicts: readonly Judged[],
  asked: Asked,
): Promise<readonly Viewed[]> {
  const planned = verdicts.map(([object]) => object);
  const known = new Map<string, Promise<Seen>>();
  const views: Viewed[] = [];
  for (const [object, verdict] of verdicts) {
    const account = await accountNamed(cluster, object);
    const uid = account?.metadata.uid ?? '';
    const found =
      known.get(uid) ?? (account ? seen(cluster, { account, planned, asked }) : unseen(cluster, object));
    if (account) known.set(uid, found);
    const { target, view, note } = await found;
    const notes = [VERDICT_NOTES[verdict.type](verdict), view.note, ...note];
    const effects = verdict.type === 'accepted' ? await effectsOf(cluster, verdict.applied) : NO_EFFECTS;
    views.push([object, { ...view, ...effects, target, note: notes.join('; ') }]);
  }
  return views;
}

interface Seen extends Target {
  readonly view: AccountView;
}

async function seen(
  cluster: ClusterSession,
  of: {
    readonly account: MarketplaceAccount;
    readonly planned: readonly PlannedObject[];
    readonly asked: Asked;
  },
): Promise<Seen> {
  const view = await accountView(cluster, of.account, of.planned);
  return { view, ...(await targetOf(cluster, of.account, of.asked)) };
}

async function unseen(
  cluster: ClusterSession,
  { spec, namespace = cluster.namespace }: PlannedObject,
): Promise<Seen> {
  const ref = accountRefOf({ spec, metadata: { namespace } });
  const view = withoutAccount(`there is no gpuacct/${ref.name} in ${ref.namespace}`);
  return { view, target: undefined, note: [] };
}

const VERDICT_NOTES: Readonly<Record<ServerVerdict['type'], (verdict: ServerVerdict) => string>> = {
  accepted: () => 'the API server would take it',
  refused: () => 'the API server would refuse it',
  unasked: (verdict) =>
    `only fields were checked, the API server did not judge it${'why' in verdict ? `: ${verdict.why}` : ''}`,
};

interface Target {
  readonly target: SessionTarget | undefined;
  readonly note: readonly string[];
}

/** The account's own login, or the caller's if its key cannot be read. */
async function targetOf(cluster: ClusterSession, account: MarketplaceAccount, asked: Asked): Promise<Target> {
  try {
    return { target: await accountTarget(cluster, account, asked), note: [] };
  } catch (error) {
    const why = failureParts(error).what.join(' ');
    return { target: undefined, note: [`your own key is used: ${why}`] };
  }
}

/** What of an account narrows the choice. */
export interface AccountView {
  readonly account: MarketplaceAccount | undefined;
  readonly limits: AccountLimits;
  readonly excluded: Exclusions;
  /** Its sums and the limits on them; undefined if they are not known. */
  readonly gate: Pick<Admission, 'request'> | undefined;
  /** What was considered, or why nothing of it was. */
  readonly note: string;
}

const NOTHING: Exclusions = { offers: new Set(), machines: new Set(), hosts: new Set() };

/** The view if nothing of an account is known. */
export function withoutAccount(why: string): AccountView {
  const note = `limits of the account are not considered: ${why}`;
  return { account: undefined, limits: {}, excluded: NOTHING, gate: undefined, note };
}

/** The account that a spec names, as the cluster has it. Rejects with a KubeError. */
export function accountNamed(
  { kube, namespace }: ClusterSession,
  { spec, namespace: own = namespace }: Pick<PlannedObject, 'spec' | 'namespace'>,
): Promise<MarketplaceAccount | undefined> {
  const ref = accountRefOf({ spec, metadata: { namespace: own } });
  return kube.get<MarketplaceAccount>(marketplaceAccountResource, ref);
}

/**
 * What an account allows, with what it has and spends without these objects: they are planned as if they had no
 * machine. Rejects with a KubeError.
 */
export async function accountView(
  cluster: ClusterSession,
  account: MarketplaceAccount,
  planned: readonly PlannedObject[],
): Promise<AccountView> {
  const [{ instances, missing }, identity] = await Promise.all([
    countedInstances(cluster, account),
    readIdentity(cluster),
  ]);
  const own = new Set(planned.map(({ object, namespace = cluster.namespace }) => `${namespace}/${object}`));
  const facts = {
    account,
    objects: instances.filter(({ metadata }) => !own.has(`${metadata.namespace}/gpui/${metadata.name}`)),
    identity: identity.type === 'identity' ? identity.identity : undefined,
    credit: parseDollars(account.status?.credit),
  };
  const note = `limits and avoid list of gpuacct/${account.metadata.name} are considered`;
  return {
    account,
    limits: limitsOf(account),
    excluded: avoidedAt(avoidOf(account), Date.now()),
    gate: accountGate(facts),
    note: missing === undefined ? note : `${note}, but ${missing}`,
  };
}
