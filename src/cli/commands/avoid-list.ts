import type { MarketplaceAccount } from '../../api/v1alpha1/marketplace-account.ts';
import type { Command } from '../command.ts';
import { type AvoidEntry, accountNamed } from '../objects/avoid.ts';
import { listAccounts, listInstances } from '../objects/cluster-objects.ts';
import { textOption } from '../options/option-values.ts';
import { ageText } from '../output/amounts.ts';
import { createOutput, type View } from '../output/output.ts';
import { type ClusterSession, withCluster } from '../sessions/cluster-session.ts';

interface AvoidRow {
  readonly by: string;
  readonly what: string;
  readonly until: string;
  readonly failures: number | undefined;
  readonly reason: string | undefined;
}

const view = (now: number): View<AvoidRow> => ({
  kind: 'avoided thing',
  name: ({ what }) => what,
  columns: [
    { header: 'By', text: ({ by }) => by },
    { header: 'What', text: ({ what }) => what },
    { header: 'For', text: ({ until }) => ageText(Date.parse(until) - now) },
    { header: 'Failures', text: ({ failures }) => (failures === undefined ? undefined : String(failures)) },
    { header: 'Reason', text: ({ reason }) => reason },
  ],
});

/** Shows what is not rented for a while, and why. */
export const avoidList: Command = {
  name: 'avoid list',
  summary: 'Show machines and hosts that are not rented for a while.',
  examples: ['gpu-rent avoid list', 'gpu-rent avoid list --account default', 'gpu-rent avoid list -A'],
  options: [{ flags: '--account <name>', description: 'Only this MarketplaceAccount.' }],
  optionSets: ['output', 'cluster'],
  async run(input, context) {
    const now = Date.now();
    const rows = await withCluster(input, context, async (cluster) => {
      const name = textOption(input.options, '--account');
      const accounts =
        name === undefined ? await listAccounts(cluster, cluster.scope) : [await accountNamed(cluster, name)];
      const own = name === undefined ? await ofInstances(cluster) : [];
      return [...accounts.flatMap(ofAccount), ...own].filter(({ until }) => Date.parse(until) > now);
    });
    await createOutput(input, context).rows(view(now), rows);
    return 0;
  },
};

function ofAccount({ metadata, status }: MarketplaceAccount): readonly AvoidRow[] {
  return (status?.avoid ?? []).map(({ kind, id, until, failures, reason }: AvoidEntry) => ({
    by: `gpuacct/${metadata.name}`,
    what: `${kind.toLowerCase()}/${id}`,
    ...{ until, failures, reason },
  }));
}

async function ofInstances(cluster: ClusterSession): Promise<readonly AvoidRow[]> {
  const instances = await listInstances(cluster, cluster.scope);
  return instances.flatMap(({ metadata, status }) =>
    (status?.avoid ?? []).map(({ kind, id, until }) => ({
      by: `gpui/${metadata.name}`,
      what: `${kind.toLowerCase()}/${id}`,
      ...{ until, failures: undefined, reason: undefined },
    })),
  );
}
