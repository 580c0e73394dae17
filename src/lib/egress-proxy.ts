import type { ConnectionOptions } from 'node:tls';
import { Agent, type Dispatcher, EnvHttpProxyAgent, Pool } from 'undici';
import { NETWORKS, type NetworkSet, networkSet } from './networks.ts';

/** Which proxy requests go through. */
export interface ProxySettings {
  /** URL of the proxy for http origins; empty for none. */
  readonly http: string;
  /** URL of the proxy for https origins; empty for none. */
  readonly https: string;
  /** Names of NO_PROXY, as they are written. */
  readonly except: string;
  /** The networks (CIDR) of NO_PROXY: origins that are addresses of these are reached directly. */
  readonly isExcepted: NetworkSet;
}

/** A proxy is set in a way that cannot be used. The message names the setting, never its value: that may hold a password. */
export class ProxySettingsError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'ProxySettingsError';
  }
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * What `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY` (or the same in lower case, which go first) say, as Go's programs read
 * them; undefined if there is no proxy. Throws {@link ProxySettingsError}.
 */
export function environmentProxy(environment: Environment): ProxySettings | undefined {
  const read = (name: string): string => environment[name.toLowerCase()] ?? environment[name] ?? '';
  const [http, https] = ['HTTP_PROXY', 'HTTPS_PROXY'].map((name) => proxyUrl(name, read(name)));
  if (!http && !https) return undefined;
  const except = read('NO_PROXY');
  const networks = except.split(/[,\s]+/).filter((entry) => entry.includes('/'));
  try {
    return { http: http ?? '', https: https ?? '', except, isExcepted: networkSet(networks) };
  } catch (error) {
    throw new ProxySettingsError(`NO_PROXY: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Everything through one proxy, as `proxy-url` of a kubeconfig says; `setting` is how a message calls it. */
export function singleProxy(setting: string, url: string): ProxySettings {
  const proxy = proxyUrl(setting, url);
  return { http: proxy, https: proxy, except: '', isExcepted: () => false };
}

function proxyUrl(setting: string, text: string): string {
  if (text === '') return '';
  const url = URL.parse(text.includes('://') ? text : `http://${text}`);
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new ProxySettingsError(`${setting} is no address of a proxy: write it as http://HOST:PORT`);
  return url.href;
}

const isLoopback = networkSet(NETWORKS.loopback);

/** Whether requests to an origin go through the proxy, apart from the names in NO_PROXY. */
export function mayUseProxy({ http, https, isExcepted }: ProxySettings, origin: URL): boolean {
  const host = origin.hostname.replace(/^\[|\]$/g, '');
  if (host === 'localhost' || isLoopback(host) || isExcepted(host)) return false;
  return (origin.protocol === 'https:' ? https : http) !== '';
}

/** How connections are made with and without a proxy. */
export interface EgressOptions {
  /** For direct connections; its pool sizes and timeouts hold for the others, too. */
  readonly agent: Agent.Options;
  /** How the server behind the proxy is verified. */
  readonly tls: Pick<ConnectionOptions, 'ca' | 'cert' | 'key' | 'servername' | 'rejectUnauthorized'>;
  /** For the connection to the proxy, and again until it has connected to the server. */
  readonly connectTimeoutMs: number;
  readonly proxy: ProxySettings | undefined;
}

/** Sends requests directly or through a proxy; `destroy` ends all connections. */
export interface Egress {
  readonly dispatcher: Dispatcher;
  destroy(): Promise<void>;
}

/**
 * An https server is reached by CONNECT, so the proxy sees names and no content, and the server's certificate is
 * verified as without it.
 */
export function createEgress({ agent, tls, connectTimeoutMs, proxy }: EgressOptions): Egress {
  const direct = new Agent(agent);
  if (proxy === undefined) return { dispatcher: direct, destroy: () => direct.destroy() };
  const proxied = new EnvHttpProxyAgent({
    ...agent,
    httpProxy: proxy.http,
    httpsProxy: proxy.https,
    noProxy: proxy.except,
    requestTls: { ...tls, timeout: connectTimeoutMs },
    proxyTls: { timeout: connectTimeoutMs },
    clientFactory: (origin, options) => new Pool(origin, { ...options, headersTimeout: connectTimeoutMs }),
  });
  const dispatcher = proxied.compose(
    (dispatch) => (options, handler) =>
      mayUseProxy(proxy, new URL(String(options.origin)))
        ? dispatch(options, handler)
        : direct.dispatch(options, handler),
  );
  return {
    dispatcher,
    destroy: async () => {
      await Promise.all([direct.destroy(), proxied.destroy()]);
    },
  };
}
