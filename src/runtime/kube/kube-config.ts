import { access, readFile } from 'node:fs/promises';
import { delimiter, dirname, join, resolve } from 'node:path';
import type { Cluster, KubeConfig, User } from '@kubernetes/client-node';
import type { Clock } from '../../lib/clock.ts';
import {
  environmentProxy,
  type ProxySettings,
  ProxySettingsError,
  singleProxy,
} from '../../lib/egress-proxy.ts';
import { bracketedHost } from '../../lib/host-port.ts';
import { KUBECTL_YAML } from '../../lib/kubectl-yaml.ts';
import { type Credentials, refreshedCredentials, tokenFileCredentials } from './credentials.ts';
import type { TlsOptions } from './undici-transport.ts';

/** Connection and identity at an API server. */
export interface KubeConnection {
  /** `https://host:port`, with a path if a proxy adds one. */
  readonly origin: string;
  readonly tls: TlsOptions;
  /** `proxy-url` of the cluster, otherwise that of the environment; a Pod reaches its own API server directly. */
  readonly proxy?: ProxySettings | undefined;
  readonly credentials: Credentials;
  /** Namespace of the Pod, or of the kubeconfig's context. */
  readonly namespace: string | undefined;
  readonly inCluster: boolean;
}

export interface KubeConfigOptions {
  /** Path of the only kubeconfig to read. */
  readonly kubeconfig?: string | undefined;
  /** Context that replaces the kubeconfig's current context. */
  readonly context?: string | undefined;
  /** Variables in use: `KUBECONFIG`, `HOME`, `KUBERNETES_SERVICE_HOST` and `_PORT`, and those of proxies. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  /** Directory of the Pod's service account. */
  readonly serviceAccountDirectory?: string | undefined;
}

/** No usable connection is configured; the message says what to set. */
export class KubeConfigError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'KubeConfigError';
  }
}

const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/;

const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';

/**
 * Reads the connection in controller-runtime's order: the kubeconfig in `options`, `KUBECONFIG`, the Pod's service
 * account, `~/.kube/config`. Rejects with a {@link KubeConfigError} if none exists or it cannot be used.
 */
export async function loadKubeConnection(options: KubeConfigOptions): Promise<KubeConnection> {
  const { environment, kubeconfig } = options;
  if (kubeconfig) return fromKubeconfig(options, [kubeconfig]);
  const named = (environment.KUBECONFIG ?? '').split(delimiter).filter((path) => path !== '');
  if (named.length > 0) return fromKubeconfig(options, named);
  if (environment.KUBERNETES_SERVICE_HOST) return fromServiceAccount(options);
  const fallback = join(environment.HOME ?? '/', '.kube', 'config');
  if (await exists(fallback)) return fromKubeconfig(options, [fallback]);
  throw new KubeConfigError(
    `No Kubernetes API: set KUBECONFIG, create ${fallback}, or run in a pod with a service account`,
  );
}

/** Returns the connection of a Pod. It loads no kubeconfig library, which saves half a second and 60 MB. */
async function fromServiceAccount(options: KubeConfigOptions): Promise<KubeConnection> {
  const { environment, clock, serviceAccountDirectory: directory = SERVICE_ACCOUNT } = options;
  const host = environment.KUBERNETES_SERVICE_HOST ?? '';
  const port = environment.KUBERNETES_SERVICE_PORT ?? '443';
  const read = async (name: string): Promise<string> => {
    try {
      return await readFile(join(directory, name), 'utf8');
    } catch (cause) {
      const remedy = 'the pod needs a service account with automountServiceAccountToken';
      throw new KubeConfigError(`Cannot read ${join(directory, name)}: ${remedy}`, { cause });
    }
  };
  const credentials = tokenFileCredentials(clock, () => read('token'));
  await credentials.headers();
  const namespace = await read('namespace').catch(() => '');
  return {
    origin: `https://${bracketedHost(host)}:${port}`,
    tls: { ca: await read('ca.crt') },
    credentials,
    namespace: namespace.trim() || undefined,
    inCluster: true,
  };
}

/** Request settings that @kubernetes/client-node fills in: certificates, and headers for tokens. */
interface RequestSettings {
  readonly headers?: Readonly<Record<string, string>>;
  readonly auth?: string;
  readonly ca?: string | Buffer;
  readonly cert?: string | Buffer;
  readonly key?: string | Buffer;
  readonly servername?: string;
  readonly rejectUnauthorized?: boolean;
}

async function fromKubeconfig(options: KubeConfigOptions, paths: readonly string[]): Promise<KubeConnection> {
  const loaded = await readKubeconfig(options, paths);
  const origin = serverOf(loaded, paths);
  const settings = await settingsOf(loaded);
  const context = loaded.getContextObject(loaded.getCurrentContext());
  // A missing token is reported now: otherwise requests would be sent anonymously.
  const wasRead = 'authorization' in (await tokenFileHeaders(loaded, true));
  // A fresh load drops the cache of exec and OIDC plugins, so that they run again after a 401.
  const credentials = refreshedCredentials(options.clock, async (fresh) => {
    const asked = fresh ? await readKubeconfig(options, paths) : loaded;
    return { ...headersOf(await settingsOf(asked)), ...(await tokenFileHeaders(asked, !wasRead)) };
  });
  return {
    origin,
    tls: {
      ca: settings.ca,
      cert: settings.cert,
      key: settings.key,
      servername: settings.servername,
      insecure: settings.rejectUnauthorized === false,
    },
    proxy: proxyOf(loaded, options),
    credentials,
    namespace: context?.namespace,
    inCluster: false,
  };
}

/**
 * Merges the files as kubectl does: missing files are skipped; the first file that defines a name or sets the current
 * context wins.
 */
async function readKubeconfig({ context }: KubeConfigOptions, paths: readonly string[]) {
  const { KubeConfig } = await import('@kubernetes/client-node');
  const found: KubeConfig[] = [];
  for (const path of paths) {
    const text = await textOf(path, paths.length > 1);
    if (text !== undefined) found.push(await parsed(new KubeConfig(), path, text));
  }
  if (found.length === 0)
    throw new KubeConfigError(`Cannot read the kubeconfig ${paths.join(', ')}: none of these files exists`);
  const loaded = new KubeConfig();
  loaded.clusters = firstOfName(found.flatMap(({ clusters }) => clusters)).map(allowPlainLoopback);
  loaded.users = firstOfName(found.flatMap(({ users }) => users));
  loaded.contexts = firstOfName(found.flatMap(({ contexts }) => contexts));
  const current = context ?? found.map((file) => file.getCurrentContext()).find(Boolean);
  if (context !== undefined && !loaded.getContextObject(context)) {
    const known = loaded.getContexts().map((one) => one.name);
    throw new KubeConfigError(
      `The kubeconfig has no context ${context}; it has: ${known.join(', ') || 'none'}`,
    );
  }
  if (current !== undefined) loaded.setCurrentContext(current);
  return loaded;
}

async function textOf(path: string, mayBeMissing: boolean): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    if (mayBeMissing && (cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw unreadable(`the kubeconfig ${path}`, cause);
  }
}

/** Returns one file with absolute paths. The library ignores `tokenFile`, so it is kept separately. */
async function parsed(file: KubeConfig, path: string, text: string): Promise<KubeConfig> {
  try {
    file.loadFromString(text.trim() === '' ? '{}' : text);
    file.makePathsAbsolute(dirname(path));
    if (text.includes('tokenFile'))
      file.users = withTokenFiles(file.users, (await import('yaml')).parse(text, KUBECTL_YAML), path);
    return file;
  } catch (cause) {
    throw unreadable(`the kubeconfig ${path}`, cause);
  }
}

/** A user in the file. */
type FileUser = User & { readonly tokenFile?: string | undefined };

interface WrittenUsers {
  readonly users?: readonly { readonly name?: string; readonly user?: { readonly tokenFile?: unknown } }[];
}

function withTokenFiles(
  users: readonly User[],
  { users: written = [] }: WrittenUsers,
  path: string,
): FileUser[] {
  return users.map((user) => {
    const tokenFile = written.find(({ name }) => name === user.name)?.user?.tokenFile;
    const isNamed = typeof tokenFile === 'string' && tokenFile !== '';
    return isNamed ? { ...user, tokenFile: resolve(dirname(path), tokenFile) } : user;
  });
}

/**
 * Returns the header of the user's token file; none without a file. As in client-go the file takes precedence over a
 * token beside it, which only counts (`orWritten`) until the file was read once.
 */
async function tokenFileHeaders(
  loaded: Kubeconfig,
  orWritten: boolean,
): Promise<Readonly<Record<string, string>>> {
  const user: FileUser | null = loaded.getCurrentUser();
  if (user?.tokenFile === undefined) return {};
  try {
    const token = (await readFile(user.tokenFile, 'utf8')).trim();
    if (token === '') throw new Error('it is empty');
    return { authorization: `Bearer ${token}` };
  } catch (cause) {
    if (orWritten && user.token) return {};
    throw unreadable(`the token file ${user.tokenFile} of user ${user.name}`, cause);
  }
}

function unreadable(what: string, cause: unknown): KubeConfigError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new KubeConfigError(`Cannot read ${what}: ${reason}`, { cause });
}

function firstOfName<Named extends { readonly name: string }>(all: readonly Named[]): Named[] {
  return all.filter(({ name }, at) => all.findIndex((one) => one.name === name) === at);
}

/**
 * Returns the cluster with plain http allowed if it is the local machine (`kubectl proxy`): the library refuses plain
 * http.
 */
function allowPlainLoopback(cluster: Cluster): Cluster {
  const server = URL.parse(cluster.server);
  const isPlain = server?.protocol === 'http:' && LOOPBACK.test(server.hostname);
  return isPlain ? { ...cluster, skipTLSVerify: true } : cluster;
}

type Kubeconfig = Awaited<ReturnType<typeof readKubeconfig>>;

async function settingsOf(loaded: Kubeconfig): Promise<RequestSettings> {
  const settings = {};
  await loaded.applyToHTTPSOptions(settings);
  return settings;
}

function headersOf({ headers, auth }: RequestSettings): Readonly<Record<string, string>> {
  const lower = Object.entries(headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]);
  const basic = auth === undefined ? {} : { authorization: `Basic ${Buffer.from(auth).toString('base64')}` };
  return { ...Object.fromEntries(lower), ...basic };
}

function serverOf(loaded: Kubeconfig, paths: readonly string[]): string {
  const cluster = loaded.getCurrentCluster();
  if (!cluster)
    throw new KubeConfigError(`The kubeconfig ${paths.join(', ')} has no current context with a cluster`);
  const server = URL.parse(cluster.server);
  if (!server)
    throw new KubeConfigError(`Cluster ${cluster.name} has no valid server URL: ${cluster.server}`);
  if (server.protocol !== 'https:' && !LOOPBACK.test(server.hostname)) {
    throw new KubeConfigError(`Cluster ${cluster.name} must be reached by https: ${cluster.server}`);
  }
  return cluster.server;
}

function proxyOf(loaded: Kubeconfig, { environment }: KubeConfigOptions): ProxySettings | undefined {
  const cluster = loaded.getCurrentCluster();
  try {
    if (cluster?.proxyUrl) return singleProxy(`proxy-url of cluster ${cluster.name}`, cluster.proxyUrl);
    return environmentProxy(environment);
  } catch (error) {
    throw error instanceof ProxySettingsError ? new KubeConfigError(error.message) : error;
  }
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
