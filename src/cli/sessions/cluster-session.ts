import { systemClock } from '../../lib/clock.ts';
import { silentLogger } from '../../lib/logger.ts';
import { systemRandom } from '../../lib/random.ts';
import type { Transport, TransportResponse } from '../../lib/transport.ts';
import type { Credentials } from '../../runtime/kube/credentials.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import type { CommandContext, CommandInput, OptionValues } from '../command.ts';
import { usageError } from '../command-error.ts';
import { listOption, requestTimeout, switchOption, textOption } from '../option-values.ts';

const OPERATOR_NAMESPACE = 'gpu-rental-system';
const REQUEST_TIMEOUT_MS = 30_000;

/** Access to one cluster for the duration of a command. */
export interface ClusterSession {
  readonly kube: KubeClient;
  readonly origin: string;
  /** Namespace of `-n`, otherwise the context's own. */
  readonly namespace: string;
  /** The same, undefined if neither `-n` nor the context names one. */
  readonly namedNamespace: string | undefined;
  /** Namespace of lists: undefined with `-A`. */
  readonly scope: string | undefined;
  readonly operatorNamespace: string;
  /** The identity of the user, also for the operator, which reviews its token. */
  readonly credentials: Credentials;
  /** Sends a raw GET, for data that are no objects: versions, the server's clock. */
  get(path: string): Promise<TransportResponse>;
}

/**
 * Opens the cluster of the kubeconfig, runs `work` with it and closes it again. Rejects like `work`, and with a
 * KubeConfigError if there is no cluster to open.
 */
export async function withCluster<Result>(
  { options }: CommandInput,
  context: CommandContext,
  work: (cluster: ClusterSession) => Promise<Result>,
): Promise<Result> {
  const { cluster, close } = await openCluster(options, context);
  try {
    return await work(cluster);
  } finally {
    await close();
  }
}

async function openCluster(options: OptionValues, context: CommandContext) {
  const [{ loadKubeConnection }, { createTransport }, { createKubeClient }, { statusCodec }] =
    await Promise.all([
      import('../../runtime/kube/kube-config.ts'),
      import('../../runtime/kube/undici-transport.ts'),
      import('../../runtime/kube/kube-client.ts'),
      import('../../api/v1alpha1/status-codec.ts'),
    ]);
  const connection = await loadKubeConnection({
    kubeconfig: textOption(options, '--kubeconfig'),
    context: textOption(options, '--context'),
    environment: context.env,
    clock: systemClock,
  });
  const pooled = createTransport({
    ...connection.tls,
    proxy: connection.proxy,
    connections: 8,
    headers: impersonated(options),
  });
  const transport = endingReads(pooled, context.signal);
  const { origin, credentials } = connection;
  const deadlineMs = requestTimeout(options) ?? REQUEST_TIMEOUT_MS;
  const env = { clock: systemClock, random: systemRandom, log: silentLogger };
  const client = { transport, origin, credentials, deadlineMs, userAgent: 'gpu-rent', ...env };
  const namedNamespace = textOption(options, '--namespace') ?? connection.namespace;
  const namespace = namedNamespace ?? 'default';
  const cluster: ClusterSession = {
    kube: createKubeClient({ ...client, codec: statusCodec }),
    origin,
    namespace,
    namedNamespace,
    scope: switchOption(options, '--all-namespaces') ? undefined : namespace,
    operatorNamespace: operatorNamespace(options, context),
    credentials,
    get: getter(client),
  };
  return { cluster, close: () => pooled.close() };
}

/** Returns a client whose reads end with Ctrl-C; a running write is awaited, so that its outcome can be reported. */
function endingReads(transport: Transport, interrupted: AbortSignal): Transport {
  return (request) => {
    if (request.method !== 'GET') return transport(request);
    const { signal } = request;
    return transport({ ...request, signal: signal ? AbortSignal.any([signal, interrupted]) : interrupted });
  };
}

interface RequestParts {
  readonly transport: Transport;
  readonly origin: string;
  readonly credentials: Credentials;
  readonly deadlineMs: number;
}

function getter({ transport, origin, credentials, deadlineMs }: RequestParts): ClusterSession['get'] {
  const server = new URL(origin);
  return async (path) =>
    transport({
      method: 'GET',
      origin: server.origin,
      path: `${server.pathname.replace(/\/$/, '')}${path}`,
      headers: { accept: 'application/json', ...(await credentials.headers()) },
      signal: AbortSignal.timeout(deadlineMs),
    });
}

function operatorNamespace(options: OptionValues, { env }: CommandContext): string {
  return textOption(options, '--operator-namespace') ?? env.GPU_RENTAL_NAMESPACE ?? OPERATOR_NAMESPACE;
}

/** Returns the headers of `--as` and `--as-group`, which replace the kubeconfig's own identity. */
function impersonated(options: OptionValues): Readonly<Record<string, string | readonly string[]>> {
  const user = textOption(options, '--as');
  const groups = listOption(options, '--as-group');
  if (user === undefined && groups.length > 0)
    throw usageError('--as-group: a group alone cannot be impersonated.', 'Give --as, too.');
  return {
    ...(user === undefined ? {} : { 'impersonate-user': user }),
    ...(groups.length === 0 ? {} : { 'impersonate-group': groups }),
  };
}
