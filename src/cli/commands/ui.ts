import { randomBytes } from 'node:crypto';
import { stringify } from 'yaml';
import { systemClock } from '../../lib/clock.ts';
import { systemRandom } from '../../lib/random.ts';
import { readBody } from '../../markets/vast/http/reply-body.ts';
import { parseJson } from '../../runtime/kube/json-stream.ts';
import { isKubeError, kubeErrorOf, type StatusReply } from '../../runtime/kube/kube-error.ts';
import type { KubeObject } from '../../runtime/kube/kube-object.ts';
import type { ObjectDetail } from '../../ui/protocol.ts';
import { ObjectFeed } from '../../ui/server/object-feed.ts';
import { PageAccess } from '../../ui/server/page-access.ts';
import { pageFiles } from '../../ui/server/page-files.ts';
import { type ObjectName, servePage } from '../../ui/server/page-server.ts';
import { manifestOf } from '../../ui/server/reduced-object.ts';
import { FLEET_KINDS } from '../../views/fleet.ts';
import type { Command, CommandContext } from '../command.ts';
import { EXIT, failed } from '../command-error.ts';
import { failureParts } from '../failures/describe-failure.ts';
import { eventsOf } from '../objects/cluster-objects.ts';
import { openPage } from '../open-page.ts';
import { numberOption } from '../option-values.ts';
import { type ClusterSession, withCluster } from '../sessions/cluster-session.ts';

/** Serves a page with the objects of the cluster to a browser on this machine. */
export const uiCommand: Command = {
  description: [
    'Shows every GpuInstance, EndpointGroup and MarketplaceAccount that you may see: state, price, cost of the month, endpoint, and what happens next and when. It reads the cluster with your own rights, and follows changes.',
    'The page is served to this machine only (127.0.0.1), and needs the printed URL, whose token is valid until the command ends. It loads nothing from elsewhere, and shows no Secret, environment or start script. It runs until Ctrl-C.',
  ].join('\n\n'),
  examples: ['gpu-rent ui', 'gpu-rent ui -A', 'gpu-rent ui -n ml --port 8090 --no-open'],
  options: [
    { flags: '--port <port>', description: 'Port of the page. Default: a free one.' },
    { flags: '--no-open', description: 'Print the URL only. A browser is opened if this is a terminal.' },
  ],
  optionSets: ['cluster'],
  run: (input, context) =>
    withCluster(input, context, async (cluster) => {
      const port = numberOption(input.options, '--port', { min: 1, max: 65_535, whole: true }) ?? 0;
      const feed = new ObjectFeed({
        ...{ kube: cluster.kube, cluster: cluster.origin, namespace: cluster.scope },
        ...{ clock: systemClock, random: systemRandom },
      });
      const access = new PageAccess(randomBytes);
      const server = await servePage({
        ...{ files: await pageFiles(), access, feed, port },
        detail: (name) => detailOf(cluster, name),
        describe: (error) => failureParts(error).what.join(' '),
      }).catch((error: unknown) => {
        throw portTaken(error, port) ?? error;
      });
      try {
        feed.start();
        const url = `http://127.0.0.1:${server.port}/#${access.token.reveal()}`;
        context.stdout.write(`${url}\n`);
        context.stderr.write('Only this machine can open it. Ctrl-C ends it.\n');
        const isOpened = input.options['open'] !== false && context.stdout.isTTY === true;
        const forget = isOpened ? openPage(url) : () => undefined;
        await untilAborted(context);
        forget();
        return EXIT.ok;
      } finally {
        await Promise.all([server.close(), feed.stop()]);
      }
    }),
};

/** Returns the failure of a port that another program uses; undefined for any other error. */
function portTaken(error: unknown, port: number): Error | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined;
  if (error.code === 'EADDRINUSE')
    return failed(`Port ${port} is in use.`, 'Leave out --port for a free one.', error);
  return error.code === 'EACCES'
    ? failed(`You may not open port ${port}.`, 'Choose a port above 1023, or leave out --port.', error)
    : undefined;
}

function untilAborted({ signal }: CommandContext): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

const MAX_OBJECT_BYTES = 4_000_000;

/** Reads manifest and events of an object; undefined if it does not exist. Rejects with a KubeError. */
async function detailOf(
  cluster: ClusterSession,
  { kind, namespace, name }: ObjectName,
): Promise<ObjectDetail | undefined> {
  const { group, version, plural } = FLEET_KINDS[kind];
  const path = `/apis/${group}/${version}/namespaces/${namespace}/${plural}/${name}`;
  const response = await cluster.get(path);
  const value = parseJson(await readBody(response, MAX_OBJECT_BYTES));
  if (response.status === 404) return undefined;
  if (response.status !== 200) throw kubeErrorOf(response.status, Object(value) as StatusReply);
  const object = value as KubeObject;
  const yaml = stringify(manifestOf(object), { lineWidth: 0 });
  try {
    return { yaml, events: await eventsOf(cluster, object) };
  } catch (error) {
    if (!isKubeError(error, 'forbidden')) throw error;
    return { yaml, events: [], noEvents: `You may not list events in namespace ${namespace}.` };
  }
}
