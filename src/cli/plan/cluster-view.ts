import type { MarketplaceAccount } from '../../api/v1alpha1/marketplace-account.ts';
import { accountRefOf } from '../../instance/account-ref.ts';
import type { CommandContext, CommandInput } from '../command.ts';
import { usageError } from '../failures/command-error.ts';
import { failureParts } from '../failures/describe-failure.ts';
import { accountTarget } from '../sessions/account-access.ts';
import { type ClusterSession, withCluster } from '../sessions/cluster-session.ts';
import type { SessionTarget } from '../sessions/marketplace-session.ts';
import { type AccountView, accountNamed, accountView, withoutAccount } from './account-view.ts';
import type { PlannedObject } from './manifests.ts';
import { askServer, type ServerVerdict } from './server-check.ts';

/** What a cluster adds to a manifest. */
export interface ClusterView extends AccountView {
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
  const verdicts: Judged[] = [];
  const views: Viewed[] = [];
  try {
    await withCluster(asked.input, asked.context, async (cluster) => {
      for (const object of planned) verdicts.push([object, await askServer(cluster, object)]);
      views.push(...(await viewAll(cluster, verdicts, asked)));
    });
  } catch (error) {
    return withoutCluster(planned, failureParts(error).what.join(' '));
  }
  refuse(verdicts);
  return views;
}

type Judged = readonly [PlannedObject, ServerVerdict];

function withoutCluster(planned: readonly PlannedObject[], why: string): readonly Viewed[] {
  const note = `only fields were checked, and nothing of the account is considered: ${why}`;
  return planned.map((object) => [object, { ...withoutAccount(why), note, target: undefined }]);
}

function refuse(verdicts: readonly Judged[]): void {
  const refused = verdicts.flatMap(([{ object }, verdict]) =>
    verdict.type === 'refused' ? [`The API server would refuse ${object}: ${verdict.why}`] : [],
  );
  if (refused.length > 0) throw usageError(refused.join('\n'), 'Correct what is named; nothing was stored.');
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
    views.push([object, { ...view, target, note: notes.join('; ') }]);
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
