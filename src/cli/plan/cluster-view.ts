import type { MarketplaceAccount } from '../../api/v1alpha1/marketplace-account.ts';
import type { CommandContext, CommandInput } from '../command.ts';
import { usageError } from '../failures/command-error.ts';
import { tellFailure } from '../failures/describe-failure.ts';
import { accountTarget } from '../sessions/account-access.ts';
import { type ClusterSession, withCluster } from '../sessions/cluster-session.ts';
import type { SessionTarget } from '../sessions/marketplace-session.ts';
import { type AccountView, accountView, withoutAccount } from './account-view.ts';
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
 * refuse is a usage error; a cluster that cannot be asked is told in the note.
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
    return withoutCluster(planned, tellFailure(error).what.join(' '));
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

async function viewAll(
  cluster: ClusterSession,
  verdicts: readonly Judged[],
  asked: Asked,
): Promise<readonly Viewed[]> {
  const targets = new Map<string, Promise<Target>>();
  const views: Viewed[] = [];
  for (const [object, verdict] of verdicts) {
    const view = await accountView(cluster, object);
    const uid = view.account?.metadata.uid ?? '';
    const found = targets.get(uid) ?? targetOf(cluster, view.account, asked);
    targets.set(uid, found);
    const { target, note } = await found;
    const notes = [VERDICT_NOTES[verdict.type](verdict), view.note, ...note];
    views.push([object, { ...view, target, note: notes.join('; ') }]);
  }
  return views;
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

/** The account's own login, or where its key cannot be had the caller's. */
async function targetOf(
  cluster: ClusterSession,
  account: MarketplaceAccount | undefined,
  asked: Asked,
): Promise<Target> {
  if (!account) return { target: undefined, note: [] };
  try {
    return { target: await accountTarget(cluster, account, asked), note: [] };
  } catch (error) {
    const why = tellFailure(error).what.join(' ');
    return { target: undefined, note: [`your own key is used: ${why}`] };
  }
}
