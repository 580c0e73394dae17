import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { gpuInstanceResource } from '../../api/v1alpha1/names.ts';
import { sleep, systemClock } from '../../lib/clock.ts';
import type { LogQuery } from '../../markets/vast/instances/instances.ts';
import { printable, printableLine } from '../../views/printable.ts';
import type { Command, CommandContext, CommandInput } from '../command.ts';
import { failed, Interrupted, usageError } from '../command-error.ts';
import { keptLog, keptLogNote } from '../logs/kept-log.ts';
import { LOG_ADDRESS_OPTIONS, logAddress } from '../logs/log-address.ts';
import { logPoll } from '../logs/log-poll.ts';
import { LOG_TOKEN_OPTION } from '../logs/log-token.ts';
import { readLog } from '../logs/machine-log.ts';
import { lastLines, type OperatorLogRequest, showOperatorLog } from '../logs/operator-log.ts';
import { accountOf, getObject } from '../objects/cluster-objects.ts';
import { parseTarget } from '../objects/object-name.ts';
import { numberOption, parseTime, switchOption, textOption } from '../option-values.ts';
import { createOutput, createProgress } from '../output/output.ts';
import { accountTarget } from '../sessions/account-access.ts';
import { withCluster } from '../sessions/cluster-session.ts';
import { type SessionTarget, withMarketplaceAt } from '../sessions/marketplace-session.ts';

/** Shows the log of a machine's container. */
export const logsCommand: Command = {
  description:
    'With --follow it runs until Ctrl-C: the marketplace has no stream, so it reads the last lines every 5 s and shows new ones. After a replacement the log of an object continues with its next machine. With --log-url, or GPU_RENTAL_LOG_URL in a Pod, the operator reads the log of an object: that needs the right to get gpuinstances/log, and no marketplace key. The log of a finished run whose machine is gone comes from its Secret NAME-log, with your own right to read it.',
  examples: [
    'gpu-rent logs gpui/trainer --tail 100',
    'gpu-rent logs gpui/trainer --follow',
    'gpu-rent logs 4711 --daemon',
    'gpu-rent logs gpui/trainer --filter error',
    'gpu-rent logs gpui/trainer --follow --log-url https://gpu-rental-operator-logs.gpu-rental-system.svc',
  ],
  args: [{ name: '<target>', description: 'gpui/name, or the id of an instance.' }],
  options: [
    { flags: '--tail <lines>', description: 'Only the last lines.' },
    { flags: '--filter <text>', description: 'Only lines that contain this text.' },
    { flags: '--daemon', description: "The host's own log about the container." },
    { flags: '-f, --follow', description: 'Go on with new lines until Ctrl-C.' },
    { flags: '--interval <time>', description: 'Interval of --follow. Default: 5s.' },
    ...LOG_ADDRESS_OPTIONS,
    LOG_TOKEN_OPTION,
  ],
  optionSets: ['report', 'cluster', 'marketplace'],
  async run(input, context) {
    const request = operatorRequest(input, context);
    if (request) return showOperatorLog(request, input, context);
    if (switchOption(input.options, '--follow')) return follow(input, context);
    const source = await sourceOf(input.args[0] ?? '', input, context);
    if (source.type === 'kept') {
      context.stderr.write(keptLogNote(source.name));
      const { filter = '', tailLines } = queryOf(input);
      const log = lastLines(withFilter(source.log, filter), tailLines);
      await createOutput(input, context).value(
        { id: null, log },
        context.stdout.isTTY ? printable(log) : log,
      );
      return 0;
    }
    const { id, target } = source;
    const progress = createProgress(context);
    const text = await withMarketplaceAt(target, { input, context }, async (session) => {
      progress.show('Asking the host for the log …');
      return readLog(session, { id, query: queryOf(input) }, context);
    }).finally(() => progress.clear());
    const shown = context.stdout.isTTY ? printable(text) : text;
    await createOutput(input, context).value({ id, log: text }, shown);
    return 0;
  },
};

/**
 * Returns the request for a log through the operator; undefined if the marketplace key reads it. Throws a usage error
 * for options that only the marketplace has.
 */
function operatorRequest(
  { args, options }: CommandInput,
  { env }: CommandContext,
): OperatorLogRequest | undefined {
  const address = logAddress(options, env);
  const named = parseTarget(args[0] ?? '');
  const hasKey = ['--api-key', '--api-key-file'].some((flag) => textOption(options, flag) !== undefined);
  const isRequested = textOption(options, '--log-url') !== undefined;
  if (!address || (!isRequested && (hasKey || named.type === 'id'))) return undefined;
  if (named.type === 'id' || named.resource !== gpuInstanceResource)
    throw usageError(`--log-url: ${args[0]} is not a GpuInstance; write gpui/NAME.`);
  const foreign = ['--filter', '--interval', '--as'].filter(
    (flag) => textOption(options, flag) !== undefined,
  );
  if (switchOption(options, '--daemon')) foreign.push('--daemon');
  if (options.output !== undefined) foreign.push('-o');
  if (foreign.length > 0) throw usageError(`${foreign.join(', ')}: not available through the operator.`);
  const follow = switchOption(options, '--follow');
  const tail = numberOption(options, '--tail', { min: 0, whole: true }) ?? (follow ? FIRST_LINES : undefined);
  return { name: named.name, address, follow, tail };
}

/** More lines than a container writes in one interval; missing ones are reported. */
const FOLLOWED_LINES = 1_000;
const FIRST_LINES = 20;

/** Shows new lines until a signal ends it; resolves to its exit code. Rejects if the first read fails. */
async function follow(input: CommandInput, context: CommandContext): Promise<number> {
  const [text = ''] = input.args;
  if (input.options.output !== undefined) throw usageError('--follow writes text: leave -o out.');
  const intervalMs = parseTime(textOption(input.options, '--interval') ?? '5s', '--interval');
  const first = numberOption(input.options, '--tail', { min: 0, whole: true }) ?? FIRST_LINES;
  const query = { ...queryOf(input), tailLines: FOLLOWED_LINES };
  const { stdout, stderr } = context;
  const write = (log: string) => stdout.write(stdout.isTTY ? printable(log) : log);
  let hasText = false;
  let isFinished = false;
  const pollMachine = logPoll({
    read: async () => {
      const source = await sourceOf(text, input, context);
      if (source.type === 'kept') {
        isFinished = true;
        stderr.write(hasText ? `${printable(text)} has finished.\n` : keptLogNote(source.name));
        if (!hasText) write(source.log);
        return undefined;
      }
      const { id, target } = source;
      const log = await withMarketplaceAt(target, { input, context }, (session) =>
        readLog(session, { id, query }, context),
      );
      hasText = true;
      return { id, text: log };
    },
    first: (log) => lastLines(log, first),
    write,
    print: (line) => stderr.write(`${printableLine(line)}\n`),
  });
  /** Resolves to true at the end of a finished run. */
  const poll = async (): Promise<boolean> => {
    await pollMachine();
    return isFinished;
  };
  if (await poll()) return 0;
  let problem = '';
  try {
    for (;;) {
      await sleep(systemClock, intervalMs, context.signal);
      const polled = await poll().catch((error: Error) => (context.signal.aborted ? '' : error.message));
      if (polled === true) return 0;
      const now = polled || '';
      if (now !== '' && now !== problem) context.stderr.write(`${printableLine(now)}\n`);
      problem = now;
    }
  } catch (error) {
    if (context.signal.reason instanceof Interrupted) return context.signal.reason.exitCode;
    throw error;
  }
}

function queryOf({ options }: CommandInput): LogQuery {
  const tailLines = numberOption(options, '--tail', { min: 0, whole: true });
  const filter = textOption(options, '--filter');
  return {
    ...(tailLines === undefined ? {} : { tailLines }),
    ...(filter === undefined ? {} : { filter }),
    ...(switchOption(options, '--daemon') ? { daemonLogs: true } : {}),
  };
}

const withFilter = (log: string, filter: string): string =>
  filter === ''
    ? log
    : log
        .split(/(?<=\n)/)
        .filter((line) => line.includes(filter))
        .join('');

/** Source of a log: a machine with the session whose key reads it, or the log that was kept of a finished run. */
type LogSource =
  | { readonly type: 'machine'; readonly id: string; readonly target: SessionTarget }
  | { readonly type: 'kept'; readonly name: string; readonly log: string };

async function sourceOf(text: string, input: CommandInput, context: CommandContext): Promise<LogSource> {
  const named = parseTarget(text);
  if (named.type === 'id') return { type: 'machine', id: named.id, target: {} };
  if (named.resource !== gpuInstanceResource) throw usageError(`${text}: only a GpuInstance has a log.`);
  return withCluster(input, context, async (cluster) => {
    const object = await getObject<GpuInstance>(cluster, gpuInstanceResource, named.name);
    const id = object.status?.instanceId;
    const kept = id === undefined && object.status?.run?.log ? await keptLog(cluster, named.name) : undefined;
    if (kept !== undefined) return { type: 'kept', name: named.name, log: kept };
    if (id === undefined)
      throw failed(
        `${text} has no machine (${object.status?.phase ?? 'not yet seen'}).`,
        `gpu-rent status ${text} shows why.`,
      );
    const account = await accountOf(cluster, object);
    return { type: 'machine', id, target: await accountTarget(cluster, account, { input, context }) };
  });
}
