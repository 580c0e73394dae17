import type { Plugin } from 'esbuild';

interface StandIn {
  /** The import to replace, by path and importer. */
  readonly path: RegExp;
  readonly importer: RegExp;
  /** Text of the replacement. */
  readonly contents: string;
}

const NOT_HERE = "() => { throw new Error('This part of a dependency is not in the bundle'); }";

/**
 * Parts of dependencies that this program never reaches and that tree shaking keeps: every command would parse them. If
 * a new version moves such a file, the whole part returns: that costs time and breaks nothing.
 */
const STAND_INS: readonly StandIn[] = [
  {
    // Its index runs fetch, mocks, caches and WebSocket as it is loaded; pools and requests are all we use.
    path: /^undici$/,
    importer: /./,
    contents: `
      const Dispatcher = require('undici/lib/dispatcher/dispatcher');
      Object.assign(Dispatcher.prototype, { request: require('undici/lib/api/api-request') });
      exports.Agent = require('undici/lib/dispatcher/agent');
      exports.buildConnector = require('undici/lib/core/connect');
      exports.request = (url, { dispatcher, ...options }) => {
        const { origin, pathname, search } = new URL(url);
        return dispatcher.request({ ...options, origin, path: pathname + search });
      };`,
  },
  {
    // Every generated API with its models; we load kubeconfigs.
    path: /^\.\/gen\/index\.js$/,
    importer: /@kubernetes\/client-node\/dist\/config\.js$/,
    contents: `export const createConfiguration = ${NOT_HERE}; export class ServerConfiguration {}`,
  },
  {
    // A native addon that is optional: without it the SSH client chooses its ciphers by a fixed order.
    path: /^cpu-features$/,
    importer: /ssh2\/lib\//,
    contents: `module.exports = ${NOT_HERE};`,
  },
  {
    // For the proxy-url of a cluster, which we refuse before.
    path: /^(socks|socks-proxy-agent|hpagent)$/,
    importer: /@kubernetes\/client-node\/dist\/config\.js$/,
    contents:
      'export class SocksClient {} export class SocksProxyAgent {} export class HttpProxyAgent {} export class HttpsProxyAgent {}',
  },
];

/** Builds with the stand-ins. `repository` is the folder with node_modules. */
export function slimDependencies(repository: string): Plugin {
  return {
    name: 'slim-dependencies',
    setup(build) {
      for (const [at, { path: filter, importer, contents }] of STAND_INS.entries()) {
        const namespace = `stand-in-${at}`;
        build.onResolve({ filter }, (asked) =>
          importer.test(asked.importer) ? { path: asked.path, namespace } : undefined,
        );
        build.onLoad({ filter: /./, namespace }, () => ({ contents, resolveDir: repository, loader: 'js' }));
      }
    },
  };
}
