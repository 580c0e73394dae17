import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { statusCodec } from '../../src/api/v1alpha1/status-codec.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { seededRandom } from '../../src/lib/random.ts';
import type { Transport, TransportRequest } from '../../src/lib/transport.ts';
import { createKubeClient, type KubeClient } from '../../src/runtime/kube/kube-client.ts';
import type { JsonObject } from '../simulation/memory-kube/json.ts';
import { createMemoryKube, type MemoryKube } from '../simulation/memory-kube/memory-kube.ts';
import { noCredentials } from './no-credentials.ts';
import { createVirtualClock, type VirtualClock } from './virtual-clock.ts';

/** Our kinds, as the API server is given them. */
export const definitions = readdirSync(join(import.meta.dirname, '..', '..', 'crds')).map(
  (file) => parse(readFileSync(join(import.meta.dirname, '..', '..', 'crds', file), 'utf8')) as JsonObject,
);

/** A Kubernetes API in memory with our kinds, behind the real client. For unit tests of what reads and writes a little. */
export interface MemoryCluster {
  readonly kube: KubeClient;
  readonly memory: MemoryKube;
  readonly clock: VirtualClock;
  /** Method and path of every request so far. */
  readonly sent: string[];
  /** Answers in the server's place where it returns something; nothing by default. */
  intercept: (request: TransportRequest) => ReturnType<Transport> | undefined;
}

export function memoryCluster(): MemoryCluster {
  const clock = createVirtualClock({ startMs: Date.parse('2026-11-20T12:00:00Z') });
  const memory = createMemoryKube({ clock, random: seededRandom(3), definitions });
  const sent: string[] = [];
  const transport: Transport = (request) => {
    sent.push(`${request.method} ${request.path}`);
    return cluster.intercept(request) ?? memory.transport(request);
  };
  const kube = createKubeClient({
    transport,
    origin: 'https://memory',
    credentials: noCredentials,
    codec: statusCodec,
    clock,
    random: seededRandom(4),
    log: silentLogger,
  });
  const cluster: MemoryCluster = { kube, memory, clock, sent, intercept: () => undefined };
  return cluster;
}

/** Returns a refusal in the API server's words. */
export function refusedBy(status: number, reason: string, message?: string): ReturnType<Transport> {
  return answeredBy(status, {
    ...{ kind: 'Status', apiVersion: 'v1', status: 'Failure' },
    ...{ reason, code: status, message },
  });
}

/** Returns a response in the API server's place. */
export async function answeredBy(status: number, body: unknown): ReturnType<Transport> {
  const text = JSON.stringify(body);
  return {
    status,
    headers: { 'content-type': 'application/json' },
    body: (async function* () {
      yield new TextEncoder().encode(text);
    })(),
    destroy() {},
  };
}
