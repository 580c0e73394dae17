import type { ConnectionOptions } from 'node:tls';
import { Agent, type Dispatcher, EnvHttpProxyAgent, Pool } from 'undici';
import { NETWORKS, type NetworkSet, networkSet } from './networks.ts';

/** The proxies of requests. */
export interface ProxySettings {
  /** URL of the proxy for http origins; empty for none. */
  readonly http: string;
  /** URL of the proxy for https origins; empty for none. */
  readonly https: string;
  /** Names in NO_PROXY, unchanged. */
  readonly except: string;
  /** Networks (CIDR) in NO_PROXY: requests to their addresses use no proxy. */
  readonly isExcepted: NetworkSet;
}

/** The proxy setting is invalid. The message names the setting, never its value: it may contain a password. */
export class ProxySettingsError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'ProxySettingsError';
  }
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY` as Go programs do; the lower-case names take precedence. Undefined
 * if no proxy is set. Throws {@link ProxySettingsError}.
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

/**
 * Returns settings that send everything through one proxy, as `proxy-url` of a kubeconfig does. `setting` is its name
 * in messages.
 */
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

/** Returns true if requests to an origin use the proxy, not counting the names in NO_PROXY. */
export function mayUseProxy({ http, https, isExcepted }: ProxySettings, origin: URL): boolean {
  const host = origin.hostname.replace(/^\[|\]$/g, '');
  if (host === 'localhost' || isLoopback(host) || isExcepted(host)) return false;
  return (origin.protocol === 'https:' ? https : http) !== '';
}

/** Options of connections with and without a proxy. */
export interface EgressOptions {
  /** Options of direct connections; their pool sizes and timeouts also apply to connections through a proxy. */
  readonly agent: Agent.Options;
  /** TLS options that verify the server behind the proxy. */
  readonly tls: Pick<ConnectionOptions, 'ca' | 'cert' | 'key' | 'servername' | 'rejectUnauthorized'>;
  /** Applies to the connection to the proxy, and again to the connection from there to the server. */
  readonly connectTimeoutMs: number;
  readonly proxy: ProxySettings | undefined;
}

/** Sends requests directly or through a proxy; `destroy` ends all connections. */
export interface Egress {
  readonly dispatcher: Dispatcher;
  destroy(): Promise<void>;
}

/**
 * Creates the connections. An https server is reached by CONNECT: the proxy sees host names and no content, and the
 * server's certificate is verified as usual.
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
