import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { gpuInstanceResource } from '../../api/v1alpha1/names.ts';
import { sleep, systemClock } from '../../lib/clock.ts';
import type { Transport } from '../../lib/transport.ts';
import { readBody } from '../../marketplace/http/reply-body.ts';
import type { LogQuery } from '../../marketplace/instances/instances.ts';
import type { Command, CommandContext, CommandInput } from '../command.ts';
import { failed, timedOut, usageError } from '../failures/command-error.ts';
import { accountOf, getObject } from '../objects/cluster-objects.ts';
import { parseTarget } from '../objects/object-name.ts';
import { numberOption, switchOption, textOption } from '../options/option-values.ts';
import { createOutput, createProgress, printable } from '../output/output.ts';
import { accountTarget } from '../sessions/account-access.ts';
import { withCluster } from '../sessions/cluster-session.ts';
import {
  type MarketplaceSession,
  type SessionTarget,
  withMarketplaceAt,
} from '../sessions/marketplace-session.ts';

/** As often and as long as the service's own clients look for the text (it is made while they wait). */
const POLL_EVERY_MS = 300;
const MAX_POLLS = 30;
const MAX_BYTES = 64 * 1024 * 1024;

/** Shows the log of a machine's container. */
export const logsCommand: Command = {
  examples: [
    'gpu-rent logs gpui/trainer --tail 100',
    'gpu-rent logs 4711 --daemon',
    'gpu-rent logs gpui/trainer --filter error',
  ],
  args: [{ name: '<target>', description: 'gpui/name, or the id of an instance.' }],
  options: [
    { flags: '--tail <lines>', description: 'Only the last lines.' },
    { flags: '--filter <text>', description: 'Only lines that hold this.' },
    { flags: '--daemon', description: "The host's own log about the container." },
  ],
  optionSets: ['report', 'cluster', 'marketplace'],
  async run(input, context) {
    const { id, target } = await machineOf(input.args[0] ?? '', input, context);
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

function queryOf({ options }: CommandInput): LogQuery {
  const tailLines = numberOption(options, '--tail', { min: 0, whole: true });
  const filter = textOption(options, '--filter');
  return {
    ...(tailLines === undefined ? {} : { tailLines }),
    ...(filter === undefined ? {} : { filter }),
    ...(switchOption(options, '--daemon') ? { daemonLogs: true } : {}),
  };
}

/** The machine, and whose key reads its log. */
async function machineOf(
  text: string,
  input: CommandInput,
  context: CommandContext,
): Promise<{ readonly id: string; readonly target: SessionTarget }> {
  const named = parseTarget(text);
  if (named.type === 'id') return { id: named.id, target: {} };
  if (named.resource !== gpuInstanceResource) throw usageError(`${text}: only a GpuInstance has a log.`);
  return withCluster(input, context, async (cluster) => {
    const object = await getObject<GpuInstance>(cluster, gpuInstanceResource, named.name);
    const id = object.status?.instanceId;
    if (id === undefined)
      throw failed(
        `${text} has no machine (${object.status?.phase ?? 'not yet seen'}).`,
        `gpu-rent status ${text} shows why.`,
      );
    return { id, target: await accountTarget(cluster, await accountOf(cluster, object), { input, context }) };
  });
}

async function readLog(
  { client, transport }: MarketplaceSession,
  { id, query }: { readonly id: string; readonly query: LogQuery },
  { signal }: CommandContext,
): Promise<string> {
  const answer = await client.instances.requestLogs(id, query);
  if (answer.resultUrl === undefined) return answer.message ?? '';
  const url = URL.parse(answer.resultUrl);
  if (!url) throw failed('The service names no address for the log.');
  for (let poll = 0; poll < MAX_POLLS; poll += 1) {
    const text = await fetchText(transport, url, signal);
    if (text) return text;
    await sleep(systemClock, POLL_EVERY_MS, signal);
  }
  throw timedOut('The log did not come within 9 s.', 'Try again; the host may be slow or away.');
}

/** Without credentials: the address is the service's to choose, and may be anyone's. */
async function fetchText(transport: Transport, url: URL, signal: AbortSignal): Promise<string | undefined> {
  const response = await transport({
    method: 'GET',
    origin: url.origin,
    path: `${url.pathname}${url.search}`,
    headers: { accept: 'text/plain, */*' },
    signal: AbortSignal.any([signal, AbortSignal.timeout(30_000)]),
  });
  if (response.status === 200) return readBody(response, MAX_BYTES);
  response.destroy();
  return undefined;
}
