import { randomUUID } from 'node:crypto';
import { type Clock, systemClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { systemRandom } from '../../src/lib/random.ts';
import { Secret } from '../../src/lib/secret.ts';
import type { Transport, TransportRequest } from '../../src/lib/transport.ts';
import { type Credentials, tokenCredentials } from '../../src/runtime/kube/credentials.ts';
import { createKubeClient, type KubeClient } from '../../src/runtime/kube/kube-client.ts';
import type { KubeObject, Resource } from '../../src/runtime/kube/kube-object.ts';
import { createTransport } from '../../src/runtime/kube/undici-transport.ts';
import type { ClusterAccess } from '../cluster/connect.ts';
import { untilServed } from '../cluster/served.ts';

/** A kind of its own for tests of the runtime: a spec, a status and nothing else. */
export const widgets: Resource = {
  group: 'runtime.test',
  version: 'v1',
  plural: 'widgets',
  kind: 'Widget',
  namespaced: true,
};

export interface Widget extends KubeObject {
  readonly spec?: { readonly size?: number };
  readonly status?: { readonly seen?: number };
}

export function widget(namespace: string, name: string, size = 1): Widget {
  return { apiVersion: 'runtime.test/v1', kind: 'Widget', metadata: { namespace, name }, spec: { size } };
}

const open = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };

/** The CRD of widgets. `spec.size` can be named by a field selector. */
export const widgetDefinition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.runtime.test' },
  spec: {
    group: 'runtime.test',
    scope: 'Namespaced',
    names: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        selectableFields: [{ jsonPath: '.spec.size' }],
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: { spec: { ...open, properties: { size: { type: 'integer' } } }, status: open },
          },
        },
      },
    ],
  },
};

/** Makes the kind known to the API server, and waits until it is served. */
export async function installWidgets(cluster: ClusterAccess): Promise<void> {
  const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
  await cluster.admin.request({ method: 'POST', path, body: widgetDefinition, accept: [409] });
  await untilServed(cluster.admin, '/apis/runtime.test/v1/widgets');
}

export interface WidgetClient {
  readonly client: KubeClient;
  /** All requests, oldest first. */
  readonly requests: readonly TransportRequest[];
  close(): Promise<void>;
}

export interface WidgetClientOptions {
  readonly url?: string;
  readonly credentials?: Credentials;
  readonly clock?: Clock;
  /** Stands between client and network. */
  readonly intercept?: (request: TransportRequest, send: Transport) => ReturnType<Transport>;
}

/** Opens the runtime's own client and transport as the cluster's administrator. */
export function openWidgetClient(cluster: ClusterAccess, options: WidgetClientOptions = {}): WidgetClient {
  const network = createTransport({ ca: cluster.caPem });
  const requests: TransportRequest[] = [];
  const transport: Transport = (request) => {
    requests.push(request);
    return options.intercept ? options.intercept(request, network) : network(request);
  };
  const client = createKubeClient({
    transport,
    origin: options.url ?? cluster.url,
    credentials: options.credentials ?? tokenCredentials(new Secret(cluster.adminToken)),
    clock: options.clock ?? systemClock,
    random: systemRandom,
    log: silentLogger,
  });
  return { client, requests, close: () => network.close() };
}

/** Returns a clock that runs `factor` times as fast as the machine's. */
export function hastyClock(factor: number): Clock {
  return {
    now: () => systemClock.now(),
    monotonic: () => systemClock.monotonic() * factor,
    setTimer: (delayMs, run, options) => systemClock.setTimer(delayMs / factor, run, options),
  };
}

/** Resolves once `holds` does; rejects with `what` after `limitMs` of real time. */
export async function eventually(what: string, holds: () => boolean, limitMs = 60_000): Promise<void> {
  const until = performance.now() + limitMs;
  while (!holds()) {
    if (performance.now() > until) throw new Error(`Not within ${limitMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

export const uniqueName = (prefix: string): string => `${prefix}-${randomUUID().slice(0, 8)}`;
