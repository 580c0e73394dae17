import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import type { MarketplaceAccount } from '../../api/v1alpha1/marketplace-account.ts';
import { marketplaceAccountResource } from '../../api/v1alpha1/names.ts';
import type { Identity } from '../../ownership/identity.ts';
import { allInstances } from '../all-instances.ts';
import type { Command, CommandContext, CommandInput } from '../command.ts';
import { getObject, listAccounts, listInstances } from '../objects/cluster-objects.ts';
import { requireIdentity } from '../objects/identity-secret.ts';
import { parseObject } from '../objects/object-name.ts';
import { findOrphans, type OrphanRow } from '../orphans.ts';
import { ageText, dollarText } from '../output/amounts.ts';
import { createOutput, type View } from '../output/output.ts';
import { accountTarget } from '../sessions/account-access.ts';
import { type ClusterSession, withCluster } from '../sessions/cluster-session.ts';
import { withMarketplaceAt } from '../sessions/marketplace-session.ts';

const view = (now: number): View<OrphanRow> => ({
  kind: 'orphan',
  name: ({ instance }) => String(instance),
  columns: [
    { header: 'Account', text: ({ account }) => account },
    { header: 'Instance', text: ({ instance }) => String(instance) },
    { header: 'Verdict', text: ({ verdict }) => verdict },
    { header: 'Status', text: ({ status }) => status ?? 'provisioning' },
    { header: 'GPU', text: ({ gpu }) => gpu },
    { header: '$/h', text: ({ pricePerHour }) => dollarText(pricePerHour) },
    { header: 'Age', text: ({ since }) => (since ? ageText(now - Date.parse(since)) : undefined) },
    { header: 'What', text: ({ what }) => what },
    { header: 'Object uid', text: ({ objectUid }) => objectUid, wide: true },
  ],
});

/** Shows machines with an operator's label that no object claims. */
export const orphansCommand: Command = {
  name: 'orphans',
  summary: 'Show machines that bill and that no object claims.',
  description:
    'Lists the machines of each account (of the namespace, of all with -A, or of the one named) and proves by label and claim whose they are. Nothing is changed.',
  examples: ['gpu-rent orphans', 'gpu-rent orphans gpuacct/default', 'gpu-rent orphans -A -o wide'],
  args: [{ name: '[account]', description: 'gpuacct/name.' }],
  optionSets: ['output', 'cluster', 'marketplace'],
  async run(input, context) {
    const rows = await withCluster(input, context, async (cluster) => {
      const [accounts, identity, objects] = await Promise.all([
        wantedAccounts(cluster, input),
        requireIdentity(cluster),
        listInstances(cluster),
      ]);
      const found: OrphanRow[] = [];
      for (const account of accounts) {
        found.push(...(await orphansOf(account, { cluster, identity, objects }, { input, context })));
      }
      return found;
    });
    await createOutput(input, context).rows(view(Date.now()), rows);
    return 0;
  },
};

async function wantedAccounts(
  cluster: ClusterSession,
  { args }: CommandInput,
): Promise<readonly MarketplaceAccount[]> {
  if (args[0] === undefined) return listAccounts(cluster, cluster.scope);
  const { name } = parseObject(args[0], marketplaceAccountResource);
  return [await getObject<MarketplaceAccount>(cluster, marketplaceAccountResource, name)];
}

async function orphansOf(
  account: MarketplaceAccount,
  known: {
    readonly cluster: ClusterSession;
    readonly identity: Identity;
    readonly objects: readonly GpuInstance[];
  },
  { input, context }: { readonly input: CommandInput; readonly context: CommandContext },
): Promise<readonly OrphanRow[]> {
  const { cluster, identity, objects } = known;
  const target = await accountTarget(cluster, account, { input, context });
  return withMarketplaceAt(target, { input, context }, async ({ client, baseUrl }) => {
    const rows = await allInstances(client);
    const login = account.status?.login ?? { url: baseUrl, userId: (await client.users.current()).id };
    return findOrphans(rows, { account, identity, login, objects });
  });
}
