import type { MarketplaceAccount, MarketplaceAccountStatus } from '../../api/v1alpha1/marketplace-account.ts';
import { marketplaceAccountResource } from '../../api/v1alpha1/names.ts';
import { formatTime } from '../../lib/time.ts';
import { recordStatus } from '../../runtime/writes.ts';
import { ageText } from '../../views/amounts.ts';
import type { View } from '../../views/table.ts';
import type { Command } from '../command.ts';
import { failed, usageError } from '../command-error.ts';
import { getObject, listAccounts, listInstances } from '../objects/cluster-objects.ts';
import { parseId, parseTime, switchOption, textOption } from '../option-values.ts';
import { createOutput } from '../output/output.ts';
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

/** Shows avoided machines and hosts, with the reasons. */
export const avoidList: Command = {
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

/** Avoids a machine or host for a while. */
export const avoidAdd: Command = {
  description:
    'Needs permission to update marketplaceaccounts/status. If the chart protects records (admissionPolicies.protectRecords, its default) only the break-glass group may: add --as="$(id -un)" --as-group=system:masters --as-group=gpurental.dev:break-glass. Running machines keep running.',
  examples: ['gpu-rent avoid add host/4412 --for 48h', 'gpu-rent avoid add machine/9921 --account default'],
  args: [{ name: '<what...>', description: 'machine/id or host/id.' }],
  options: [
    { flags: '--account <name>', description: 'Name of the MarketplaceAccount. Default: default.' },
    { flags: '--for <time>', description: 'Default: 24h.' },
    { flags: '--reason <word>', description: 'Reason in one word. Default: Requested.' },
  ],
  optionSets: ['output', 'cluster'],
  async run(input, context) {
    const targets = input.args.map(parseAvoidTarget);
    const until = formatTime(Date.now() + parseTime(textOption(input.options, '--for') ?? '24h', '--for'));
    const reason = reasonOf(textOption(input.options, '--reason') ?? 'Requested');
    await withCluster(input, context, (cluster) =>
      changeAvoidList(cluster, textOption(input.options, '--account'), (entries) => [
        ...entries.filter(
          ({ kind, id }) => !targets.some((target) => target.kind === kind && target.id === id),
        ),
        ...targets.map(({ kind, id }) => ({ kind, id, until, failures: 1, reason })),
      ]),
    );
    await createOutput(input, context).changed(
      targets.map(({ kind, id }) => ({ kind: kind.toLowerCase(), name: id, did: `avoided until ${until}` })),
    );
    return 0;
  },
};

const REASON = /^[A-Za-z][A-Za-z0-9_.-]{0,127}$/;

function reasonOf(reason: string): string {
  if (REASON.test(reason)) return reason;
  throw usageError(
    `--reason: "${reason}" is not one word.`,
    'Write up to 128 letters, digits, dots and dashes, a letter first: Slow, BadNetwork.',
  );
}

/** Removes machines or hosts from the avoid list. */
export const avoidClear: Command = {
  description:
    'Needs permission to update marketplaceaccounts/status. If the chart protects records (admissionPolicies.protectRecords, its default) only the break-glass group may: add --as="$(id -un)" --as-group=system:masters --as-group=gpurental.dev:break-glass.',
  examples: ['gpu-rent avoid clear host/4412', 'gpu-rent avoid clear --all --account default'],
  args: [{ name: '[what...]', description: 'machine/id or host/id.' }],
  options: [
    { flags: '--account <name>', description: 'Name of the MarketplaceAccount. Default: default.' },
    { flags: '--all', description: 'All entries of the avoid list.' },
  ],
  optionSets: ['output', 'cluster'],
  async run(input, context) {
    const all = switchOption(input.options, '--all');
    const targets = input.args.map(parseAvoidTarget);
    if (!all && targets.length === 0)
      throw usageError('No machine or host was named.', 'Give machine/id, host/id, or --all.');
    const cleared: string[] = [];
    await withCluster(input, context, (cluster) =>
      changeAvoidList(cluster, textOption(input.options, '--account'), (entries) => {
        cleared.length = 0;
        return entries.filter(({ kind, id }) => {
          const goes = all || targets.some((target) => target.kind === kind && target.id === id);
          if (goes) cleared.push(`${kind.toLowerCase()}/${id}`);
          return !goes;
        });
      }),
    );
    if (cleared.length === 0) context.stderr.write('No entry matches.\n');
    const reports = cleared.map((what) => {
      const [kind = '', name = ''] = what.split('/');
      return { kind, name, did: 'may be rented again' };
    });
    await createOutput(input, context).changed(reports, { asList: all || targets.length !== 1 });
    return 0;
  },
};

/** An entry of an account's avoid list. */
type AvoidEntry = NonNullable<MarketplaceAccountStatus['avoid']>[number];

/** A machine or host, in the form of the command line. */
interface AvoidTarget {
  readonly kind: AvoidEntry['kind'];
  readonly id: string;
}

/** Reads `machine/123` or `host/45`. Throws a usage error for any other text. */
export function parseAvoidTarget(text: string): AvoidTarget {
  const [kind = '', id = ''] = text.split('/');
  const known = { machine: 'Machine', host: 'Host' } as const;
  const found = known[kind.toLowerCase() as keyof typeof known];
  if (!found) throw usageError(`"${text}" is neither machine/id nor host/id.`);
  return { kind: found, id: parseId(id, text) };
}

/** Returns the account of the list: `default` unless an option names another. */
function accountNamed(cluster: ClusterSession, name: string | undefined): Promise<MarketplaceAccount> {
  return getObject<MarketplaceAccount>(cluster, marketplaceAccountResource, name ?? 'default');
}

const MAX_TRIES = 5;

/** Changes the list under the object's version; after a conflict it reads again. */
async function changeAvoidList(
  cluster: ClusterSession,
  name: string | undefined,
  change: (entries: readonly AvoidEntry[]) => readonly AvoidEntry[],
): Promise<void> {
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const object = await accountNamed(cluster, name);
    const status: MarketplaceAccountStatus = {
      ...object.status,
      avoid: [...change(object.status?.avoid ?? [])],
    };
    const written = await recordStatus<MarketplaceAccountStatus, MarketplaceAccount>({
      client: cluster.kube,
      resource: marketplaceAccountResource,
      object,
      status,
    });
    if (written.type === 'written' || written.type === 'unchanged') return;
  }
  throw failed('The account changes too quickly to be written.', 'Try again.');
}
