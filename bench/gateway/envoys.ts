import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { envoyBootstrap } from '../../src/gateway/envoy-config.ts';
import { until } from '../../test/builders/until.ts';
import { findFreePort } from '../../test/cluster/free-port.ts';
import { envoyBinary } from '../../test/tools/envoy.ts';
import type { Backend } from './backends.ts';
import { type Child, startChild } from './child.ts';

/** Running Envoy, with or without an endpoint picker. */
export interface Envoy extends Child {
  readonly origin: string;
}

/** `configOf`: its bootstrap, for that port of 127.0.0.1. Resolves when it takes connections. */
export async function startEnvoy(
  name: string,
  logFolder: string,
  configOf: (port: number) => string,
): Promise<Envoy> {
  const port = await findFreePort();
  const path = join(logFolder, `${name}.json`);
  writeFileSync(path, configOf(port));
  const child = startChild({
    name,
    command: await envoyBinary(),
    args: ['-c', path, '--disable-hot-restart', '--log-level', 'warning'],
    logFolder,
  });
  const origin = `http://127.0.0.1:${port}`;
  await until(`${name} takes connections`, async () => {
    child.check();
    return fetch(origin).then(
      () => true,
      () => false,
    );
  });
  return { ...child, origin };
}

/** Returns the Envoy settings that the picker uses. */
export function steeredConfig(port: number, pickerPort: number): string {
  return envoyBootstrap({
    listen: { host: '127.0.0.1', port },
    picker: { host: '127.0.0.1', port: pickerPort },
  });
}

interface Bootstrap {
  dynamic_resources?: unknown;
  static_resources: {
    readonly listeners: readonly [
      {
        readonly filter_chains: readonly [
          /** The last one is the manager of HTTP. */
          { readonly filters: { readonly typed_config: Manager }[] },
        ];
        access_log?: unknown;
      },
    ];
    readonly clusters: unknown[];
  };
}

interface Manager {
  access_log: unknown[];
  readonly route_config: {
    readonly virtual_hosts: readonly [{ routes: readonly unknown[] }];
  };
  readonly http_filters: { readonly name: string; typed_config: Record<string, unknown> }[];
}

/** Returns the same settings without the picker: all requests go to one cluster. */
function withoutPicker(
  port: number,
  pickerPort: number,
  cluster: unknown,
): { config: Bootstrap; manager: Manager } {
  const config = JSON.parse(steeredConfig(port, pickerPort)) as Bootstrap;
  delete config.dynamic_resources;
  config.static_resources.clusters.push(cluster);
  const [listener] = config.static_resources.listeners;
  delete listener.access_log;
  const { filters } = listener.filter_chains[0];
  filters.splice(0, filters.length - 1);
  const manager = filters[0]?.typed_config;
  if (!manager) throw new TypeError('the configuration of Envoy has no manager of HTTP');
  manager.access_log = [];
  manager.route_config.virtual_hosts[0].routes = [
    { match: { prefix: '/' }, route: { cluster: WORKERS, timeout: '0s' } },
  ];
  return { config, manager };
}

const WORKERS = 'workers';
const UNLIMITED = { max_connections: 100_000, max_pending_requests: 100_000, max_requests: 100_000 };

/** Returns settings without a picker: the cost of the connection through Envoy alone. */
export function aloneConfig(port: number, backends: readonly Backend[]): string {
  const endpoints = backends.map(({ address, sharedPort }) => ({
    endpoint: { address: { socket_address: { address, port_value: sharedPort } } },
  }));
  const { config, manager } = withoutPicker(port, 1, {
    name: WORKERS,
    type: 'STATIC',
    lb_policy: 'LEAST_REQUEST',
    circuit_breakers: { thresholds: [UNLIMITED] },
    load_assignment: { cluster_name: WORKERS, endpoints: [{ lb_endpoints: endpoints }] },
  });
  config.static_resources.clusters.shift();
  manager.http_filters.splice(0, manager.http_filters.length - 1);
  return JSON.stringify(config);
}

/** Returns settings with the endpoint picker of the Kubernetes project, as its own chart configures Envoy. */
export function inferencePoolConfig(port: number, pickerPort: number): string {
  const { config, manager } = withoutPicker(port, pickerPort, {
    name: WORKERS,
    type: 'ORIGINAL_DST',
    lb_policy: 'CLUSTER_PROVIDED',
    connect_timeout: '5s',
    circuit_breakers: { thresholds: [UNLIMITED] },
    original_dst_lb_config: { use_http_header: true, http_header_name: 'x-gateway-destination-endpoint' },
  });
  const [asked] = manager.http_filters;
  manager.http_filters.splice(1, manager.http_filters.length - 2);
  if (!asked) throw new TypeError('the configuration of Envoy has no filter that asks the picker');
  asked.typed_config['processing_mode'] = {
    request_header_mode: 'SEND',
    response_header_mode: 'SEND',
    request_body_mode: 'FULL_DUPLEX_STREAMED',
    response_body_mode: 'FULL_DUPLEX_STREAMED',
    request_trailer_mode: 'SEND',
    response_trailer_mode: 'SEND',
  };
  return JSON.stringify(config);
}
