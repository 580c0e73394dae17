import type { EndpointGroup } from '../../api/v1alpha1/endpoint-group.ts';
import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { endpointGroupResource, gpuInstanceResource, labels } from '../../api/v1alpha1/names.ts';
import { sleep, systemClock } from '../../lib/clock.ts';
import { isKubeError } from '../../runtime/kube/kube-error.ts';
import type { Command, CommandContext, CommandInput } from '../command.ts';
import { EXIT, Interrupted } from '../failures/command-error.ts';
import { getObject } from '../objects/cluster-objects.ts';
import { parseObject } from '../objects/object-name.ts';
import { parseTime, switchOption, textOption } from '../options/option-values.ts';
import { createOutput, printableLine, yamlOf } from '../output/output.ts';
import { type ClusterSession, withCluster } from '../sessions/cluster-session.ts';
import { type GroupFigures, groupFigures, snapshot } from '../top/group-figures.ts';
import { fitted, groupText, overviewText } from '../top/screen.ts';

/** Shows groups again and again, until Ctrl-C. */
export const topCommand: Command = {
  description:
    'Requests and work are those of the status of a group: the operator writes them when they change by much, and at most once a minute where no decision changes. The age is beside them. Ctrl-C ends it. -o json writes a line for each look.',
  examples: ['gpu-rent top', 'gpu-rent top epg/chat --interval 5s', 'gpu-rent top epg/chat --once -o json'],
  args: [{ name: '[group...]', description: 'Only these, with each worker: epg/name.' }],
  options: [
    { flags: '--interval <time>', description: 'How often it looks. Default: 2s.' },
    { flags: '--once', description: 'Look once.' },
  ],
  optionSets: ['report', 'cluster'],
  async run(input, context) {
    const names = input.args.map((text) => parseObject(text, endpointGroupResource).name);
    const intervalMs = parseTime(textOption(input.options, '--interval') ?? '2s', '--interval');
    const show = shower(input, context, names.length > 0);
    return withCluster(input, context, async (cluster) => {
      const poll = () => groupsOf(cluster, names);
      if (!switchOption(input.options, '--once')) return watch({ poll, show, intervalMs }, context);
      await show.once(await poll());
      return EXIT.ok;
    });
  },
};

interface Watching {
  readonly poll: () => Promise<readonly GroupFigures[]>;
  readonly show: Shower;
  readonly intervalMs: number;
}

/** Resolves to an exit code when a signal ends it; rejects where the first look fails, or what is shown is gone. */
async function watch({ poll, show, intervalMs }: Watching, { signal }: CommandContext): Promise<number> {
  try {
    await show.next(await poll());
    for (;;) {
      await sleep(systemClock, intervalMs, signal);
      // An API server that is away for a moment ends no watch.
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

/** The named ones in that order; all, if none is named. Rejects with exit code 3 where one does not exist. */
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

/** How what is seen comes to a person or a program. */
interface Shower {
  once(groups: readonly GroupFigures[]): Promise<void>;
  /** One look of many. */
  next(groups: readonly GroupFigures[]): Promise<void>;
  /** Nothing was seen this time. */
  problem(message: string): void;
}

const CLEAR_SCREEN = '\u001b[2J';
const TO_TOP = '\u001b[H';
const CLEAR_LINE = '\u001b[K';
const CLEAR_BELOW = '\u001b[J';

function shower(input: CommandInput, context: CommandContext, isNamed: boolean): Shower {
  const output = createOutput(input, context);
  const { stdout, stderr, env } = context;
  const { format } = output;
  const isScreen = Boolean(stdout.isTTY) && env.TERM !== 'dumb' && format !== 'json' && format !== 'yaml';
  let polls = 0;
  let last = '';
  const textOf = (groups: readonly GroupFigures[]) => {
    const options = {
      now: systemClock.now(),
      namespaces: switchOption(input.options, '--all-namespaces'),
      wide: format === 'wide',
      headers: input.options.headers !== false,
    };
    if (isNamed) return groups.map((group) => groupText(group, options)).join('\n');
    return groups.length === 0 ? 'No EndpointGroups found.\n' : overviewText(groups, options);
  };
  const draw = (text: string) => {
    const lines = fitted(text, stdout).map((line) => `${line}${CLEAR_LINE}\n`);
    stdout.write(`${polls === 1 ? CLEAR_SCREEN : ''}${TO_TOP}${lines.join('')}${CLEAR_BELOW}`);
  };
  return {
    async once(groups) {
      const text = textOf(groups);
      const shown = stdout.isTTY ? fitted(text, { columns: stdout.columns }).join('\n') : text;
      await output.value(snapshot(groups, systemClock.now()), shown);
    },
    async next(groups) {
      polls += 1;
      last = textOf(groups);
      const value = snapshot(groups, systemClock.now());
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
