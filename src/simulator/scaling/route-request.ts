import { createSign, generateKeyPairSync } from 'node:crypto';
import type { EndpointGroupRow, SigningKey, WorkerRow } from '../tables/endpoint-groups.ts';
import type { World } from '../world/world.ts';
import { recordArrival } from './scale-endpoint.ts';
import { queueSeconds, takeRequest, workerStatus, workUntil } from './worker.ts';
import { workersOf } from './worker-lifecycle.ts';

/* Worker for a request of an endpoint. PURE. */

/** A request to `/route/`; `index` is undefined the first time. */
export interface RouteRequest {
  readonly cost: number;
  readonly index: number | undefined;
}

/** The request is placed on a worker, or must wait and be repeated with the same index. */
export type Routed =
  | {
      readonly type: 'placed';
      readonly endpoint: EndpointGroupRow;
      readonly worker: WorkerRow;
      readonly index: number;
    }
  | { readonly type: 'waiting'; readonly endpoint: EndpointGroupRow; readonly index: number };

/**
 * Routes a request to the worker with the shortest queue, unless all wait longer than `max_queue_time`. The load of a
 * request counts once, at its first call.
 */
export function routeRequest(world: World, endpoint: EndpointGroupRow, request: RouteRequest): Routed {
  const index = request.index ?? endpoint.nextRequestIndex;
  const isNew = request.index === undefined;
  const counted: EndpointGroupRow = {
    ...(isNew ? recordArrival(endpoint, world.now, request.cost) : endpoint),
    nextRequestIndex: Math.max(endpoint.nextRequestIndex, index + 1),
    lastActivityAt: world.now,
  };
  const queue = counted.queue.filter((queued) => queued.index !== index);
  const worker = shortestQueue(world, endpoint);
  if (worker) {
    return {
      type: 'placed',
      endpoint: { ...counted, queue },
      worker: takeRequest(worker, { ...request, index }),
      index,
    };
  }
  const expiresAt = world.now + world.settings.workers.queueSeconds * 1000;
  const waiting = { index, cost: request.cost, expiresAt };
  return { type: 'waiting', endpoint: { ...counted, queue: [...queue, waiting] }, index };
}

function shortestQueue(world: World, endpoint: EndpointGroupRow): WorkerRow | undefined {
  if (endpoint.state !== 'active') return undefined;
  const [best] = workersOf(world, endpoint.id)
    .filter((worker) => workerStatus(world, worker) === 'idle')
    .map((worker) => workUntil(worker, world.now))
    .filter((worker) => queueSeconds(worker) <= endpoint.options.max_queue_time)
    .toSorted((left, right) => queueSeconds(left) - queueSeconds(right) || left.id - right.id);
  return best;
}

/** Returns a new key pair. It takes some tenths of a second, so it is created on the first route. */
export function newSigningKey(id: number): SigningKey {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  return {
    id,
    publicPem: publicKey.export({ type: 'spki', format: 'pem' }),
    privatePem: privateKey.export({ type: 'pkcs8', format: 'pem' }),
  };
}

/** Returns the text that a worker verifies: exactly this one, with four spaces and real line feeds. */
function signedText(url: string): string {
  return `{\n    "url": "${url}"\n}`;
}

/** Returns the Base64 of RSA PKCS#1 v1.5 with SHA-256 over {@link signedText}. */
export function signRoute(key: SigningKey, url: string): string {
  return createSign('sha256').update(signedText(url)).sign(key.privatePem, 'base64');
}
