import type { EndpointGroup } from '../../api/v1alpha1/endpoint-group.ts';
import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import type { MarketplaceAccount } from '../../api/v1alpha1/marketplace-account.ts';
import { endpointGroupResource, gpuInstanceResource, labels } from '../../api/v1alpha1/names.ts';
import { accountRefOf } from '../../instance/account-ref.ts';
import { sleep, systemClock } from '../../lib/clock.ts';
import { isKubeError } from '../../runtime/kube/kube-error.ts';
import { objectKey } from '../../runtime/kube/kube-object.ts';
import { type GroupFigures, groupFigures, groupSnapshot } from '../../views/group-figures.ts';
import { groupText, overviewText, type TextOptions } from '../../views/group-text.ts';
import {
  instanceFigures,
  instanceSnapshot,
  instancesText,
  type Utilization,
} from '../../views/instance-figures.ts';
import { printableLine } from '../../views/printable.ts';
import { allInstances } from '../all-instances.ts';
import type { Command, CommandContext, CommandInput } from '../command.ts';
import { EXIT, Interrupted, usageError } from '../command-error.ts';
import { failureParts } from '../failures/describe-failure.ts';
import { accountOf, getObject, listInstances } from '../objects/cluster-objects.ts';
import { kindNamed } from '../objects/kind-spelling.ts';
import { parseObject } from '../objects/object-name.ts';
import { parseTime, switchOption, textOption } from '../option-values.ts';
import { createOutput, tableWidth, yamlOf } from '../output/output.ts';
import { fitted } from '../output/screen.ts';
import { accountTarget } from '../sessions/account-access.ts';
import { type ClusterSession, withCluster } from '../sessions/cluster-session.ts';
import { withMarketplaceAt } from '../sessions/marketplace-session.ts';

/** Shows groups or machines repeatedly, until Ctrl-C. */
export const topCommand: Command = {
  description:
    'Requests and work of groups come from their status: the operator writes them after a large change, and at most once a minute while no decision changes. Their age is shown beside them. The utilization of GPUs comes from the marketplace, read with the key of the account. Ctrl-C ends it. -o json writes a line for each poll.',
  examples: [
    'gpu-rent top',
    'gpu-rent top epg/chat --interval 5s',
    'gpu-rent top epg/chat --once -o json',
    'gpu-rent top gpui -A',
    'gpu-rent top gpui/trainer',
  ],
  args: [
    {
      name: '[object...]',
      description: 'Groups with each worker (epg/name), machines (gpui/name), or all machines (gpui).',
    },
  ],
  options: [
    {
      flags: '--interval <time>',
      description: 'Poll interval. Default: 2s, and 10s for machines, since the marketplace limits calls.',
    },
    { flags: '--once', description: 'Look once.' },
  ],
  optionSets: ['report', 'marketplace', 'cluster'],
  async run(input, context) {
    const subject = subjectOf(input, context);
    const interval = textOption(input.options, '--interval');
    const intervalMs = interval === undefined ? subject.usualMs : parseTime(interval, '--interval');
    const show = shower(input, context);
    return withCluster(input, context, async (cluster) => {
      const poll = () => subject.poll(cluster);
      if (!switchOption(input.options, '--once')) return watch({ poll, show, intervalMs }, context);
      await show.once(await poll());
      return EXIT.ok;
    });
  },
};

/** Result of one poll. */
interface Figures {
  /** Data for programs. */
  readonly value: Readonly<Record<string, unknown>>;
  readonly text: (options: TextOptions) => string;
}

interface Subject {
  readonly usualMs: number;
  readonly poll: (cluster: ClusterSession) => Promise<Figures>;
}

/** Returns the subject of the arguments. Throws a usage error for groups and machines together. */
function subjectOf(input: CommandInput, context: CommandContext): Subject {
  const shown = [endpointGroupResource, gpuInstanceResource];
  const targets = input.args.map((text) => {
    const resource = shown.find((kind) => kind === kindNamed(text));
    return resource ? { resource, name: undefined } : parseObject(text, ...shown);
  });
  const kinds = new Set(targets.map(({ resource }) => resource));
  if (kinds.size > 1)
    throw usageError('Groups and machines are not shown together.', 'Run gpu-rent top twice.');
  const names = targets.flatMap(({ name }) => name ?? []);
  return kinds.has(gpuInstanceResource)
    ? { usualMs: 10_000, poll: (cluster) => instancesNow(cluster, names, { input, context }) }
    : { usualMs: 2_000, poll: (cluster) => groupsNow(cluster, names) };
}

async function groupsNow(cluster: ClusterSession, names: readonly string[]): Promise<Figures> {
  const groups = await groupsOf(cluster, names);
  const text = (options: TextOptions) => {
    if (names.length > 0) return groups.map((group) => groupText(group, options)).join('\n');
    return groups.length === 0 ? 'No EndpointGroups found.\n' : overviewText(groups, options);
  };
  return { value: groupSnapshot(groups, systemClock.now()), text };
}

interface Asked {
  readonly input: CommandInput;
  readonly context: CommandContext;
}

async function instancesNow(
  cluster: ClusterSession,
  names: readonly string[],
  asked: Asked,
): Promise<Figures> {
  const objects =
    names.length > 0
      ? await Promise.all(names.map((name) => getObject<GpuInstance>(cluster, gpuInstanceResource, name)))
      : await listInstances(cluster, cluster.scope);
  const utilization = await utilizationOf(cluster, objects, asked);
  const now = systemClock.now();
  const instances = objects.map((object) =>
    instanceFigures(object, (machine) => utilization.byMachine.get(machine), now),
  );
  return {
    value: instanceSnapshot(instances, utilization.notes, now),
    text: (options) => instancesText(instances, utilization.notes, options),
  };
}

/** Reads one list for each account whose machines are shown. An account that cannot be read leaves a note. */
async function utilizationOf(
  cluster: ClusterSession,
  objects: readonly GpuInstance[],
  asked: Asked,
): Promise<Utilization> {
  const rented = objects.filter(({ status }) => status?.instanceId !== undefined);
  const byAccount = Map.groupBy(rented, (object) => objectKey(accountRefOf(object)));
  const byMachine = new Map<string, number | undefined>();
  const notes: string[] = [];
  for (const [account, [first]] of byAccount) {
    if (!first) continue;
    try {
      const target = await accountOf(cluster, first);
      notes.push(...creditNotes(account, target));
      for (const { id, gpuUtilization } of await machinesOf(cluster, target, asked))
        byMachine.set(id, gpuUtilization);
    } catch (error) {
      if (asked.context.signal.aborted) throw error;
      notes.push(`GPU utilization is unknown for gpuacct ${account}: ${failureParts(error).what.join(' ')}`);
    }
  }
  return { byMachine, notes };
}

/** Returns a note while the credit of the account is low: its machines end with it. */
function creditNotes(name: string, { status }: MarketplaceAccount): readonly string[] {
  const low = status?.conditions?.find(({ type }) => type === 'CreditLow');
  return low ? [`gpuacct ${name}: ${low.message}`] : [];
}

async function machinesOf(cluster: ClusterSession, account: MarketplaceAccount, asked: Asked) {
  const target = await accountTarget(cluster, account, asked);
  return withMarketplaceAt(target, asked, ({ client }) => allInstances(client));
}

interface Watching {
  readonly poll: () => Promise<Figures>;
  readonly show: Shower;
  readonly intervalMs: number;
}

/** Polls until a signal; resolves to its exit code. Rejects if the first poll fails, or a shown object was deleted. */
async function watch({ poll, show, intervalMs }: Watching, { signal }: CommandContext): Promise<number> {
  try {
    await show.next(await poll());
    for (;;) {
      await sleep(systemClock, intervalMs, signal);
      // A short outage of the API server does not end the display.
      const seen = await poll().catch((error: unknown) => {
        if (isKubeError(error, 'unavailable', 'throttled') && !signal.aborted) return error.message;
        throw error;
      });
      if (typeof seen === 'string') show.problem(seen);
      else await show.next(seen);
    }
  } catch (error) {
    if (signal.reason instanceof Interrupted) return signal.reason.exitCode;
    throw error;
  }
}

/** Returns the named groups in that order; all if none is named. Rejects with exit code 3 if one does not exist. */
async function groupsOf(cluster: ClusterSession, names: readonly string[]): Promise<readonly GroupFigures[]> {
  const { kube, namespace, scope } = cluster;
  const isNamed = names.length > 0;
  const [groups, { items: workers }] = await Promise.all([
    isNamed
      ? Promise.all(names.map((name) => getObject<EndpointGroup>(cluster, endpointGroupResource, name)))
      : kube.list<EndpointGroup>(endpointGroupResource, { namespace: scope }).then(({ items }) => items),
    kube.list<GpuInstance>(gpuInstanceResource, {
      namespace: isNamed ? namespace : scope,
      labelSelector: labels.endpointGroup,
    }),
  ]);
  const now = systemClock.now();
  return groups.map((group) => groupFigures(group, workers, now));
}

/** Display of the polls for people or programs. */
interface Shower {
  once(figures: Figures): Promise<void>;
  /** Shows the result of a poll. */
  next(figures: Figures): Promise<void>;
  /** Reports a failed poll. */
  problem(message: string): void;
}

const CLEAR_SCREEN = '\u001b[2J';
const TO_TOP = '\u001b[H';
const CLEAR_LINE = '\u001b[K';
const CLEAR_BELOW = '\u001b[J';

function shower(input: CommandInput, context: CommandContext): Shower {
  const output = createOutput(input, context);
  const { stdout, stderr, env } = context;
  const { format } = output;
  const isScreen = Boolean(stdout.isTTY) && env.TERM !== 'dumb' && format !== 'json' && format !== 'yaml';
  let polls = 0;
  let last = '';
  const textOf = (figures: Figures) =>
    figures.text({
      now: systemClock.now(),
      namespaces: switchOption(input.options, '--all-namespaces'),
      wide: format === 'wide',
      headers: input.options.headers !== false,
      width: tableWidth(context),
    });
  const draw = (text: string) => {
    const lines = fitted(text, stdout).map((line) => `${line}${CLEAR_LINE}\n`);
    stdout.write(`${polls === 1 ? CLEAR_SCREEN : ''}${TO_TOP}${lines.join('')}${CLEAR_BELOW}`);
  };
  return {
    async once(figures) {
      const text = textOf(figures);
      const shown = stdout.isTTY ? fitted(text, { columns: stdout.columns }).join('\n') : text;
      await output.value(figures.value, shown);
    },
    async next(figures) {
      polls += 1;
      const { value } = figures;
      last = textOf(figures);
      if (format === 'json') stdout.write(`${JSON.stringify(value)}\n`);
      else if (format === 'yaml') stdout.write(`---\n${await yamlOf(value)}`);
      else if (isScreen) draw(last);
      else stdout.write(`${polls === 1 ? '' : '\n'}${last}`);
    },
    problem(message) {
      const line = printableLine(message);
      if (isScreen) draw(`${line}\n\n${last}`);
      else stderr.write(`${line}\n`);
    },
  };
}
