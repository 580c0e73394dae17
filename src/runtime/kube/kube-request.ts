import type { Clock } from '../../lib/clock.ts';
import { DeadlineError, withDeadline } from '../../lib/deadline.ts';
import type { Logger } from '../../lib/logger.ts';
import { type Transport, TransportError, type TransportResponse } from '../../lib/transport.ts';
import type { RestMetrics } from '../metrics-ports.ts';
import type { Credentials } from './credentials.ts';
import { parseJson, readText } from './json-stream.ts';
import { KubeError, kubeErrorOf, restMs, type StatusReply } from './kube-error.ts';
import type { ObjectRef, Resource } from './kube-object.ts';

export interface KubeRequest {
  readonly method: string;
  /** Path with query. */
  readonly path: string;
  readonly body?: string | undefined;
  readonly contentType?: string | undefined;
  readonly accept?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface KubeRequesterOptions {
  readonly transport: Transport;
  /** `https://host:port`, with a path if a proxy adds one. */
  readonly origin: string;
  readonly credentials: Credentials;
  readonly userAgent: string;
  readonly deadlineMs: number;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: RestMetrics;
}

/** Sends one request, which is answered or fails with a {@link KubeError}; all verbs use it. */
export interface KubeRequester {
  /** Returns a successful reply whose body is still unread. It has no deadline except the signal. */
  open(request: KubeRequest): Promise<TransportResponse>;
  /** Returns the parsed body of a successful reply, within the deadline. */
  json(request: KubeRequest): Promise<unknown>;
}

/** Maximum bytes of a reply about one object: etcd refuses values above 1.5 MiB. */
const MAX_OBJECT_BYTES = 16 * 1024 * 1024;
const MAX_ERROR_BYTES = 64 * 1024;

/** Settings that all requests share. */
interface Connection extends KubeRequesterOptions {
  readonly server: { readonly origin: string; readonly host: string; readonly prefix: string };
}

export function createKubeRequester(options: KubeRequesterOptions): KubeRequester {
  const { clock, deadlineMs } = options;
  const { origin, host, pathname } = new URL(options.origin);
  const connection = { ...options, server: { origin, host, prefix: pathname.replace(/\/+$/, '') } };
  const open = async (request: KubeRequest): Promise<TransportResponse> => {
    try {
      return await openWithIdentity(connection, request);
    } catch (error) {
      throw asKubeError(error);
    }
  };
  return {
    open,
    async json(request) {
      const run = async (signal: AbortSignal): Promise<unknown> => {
        const reply = await openWithIdentity(connection, { ...request, signal });
        return parseJson(await readText(reply.body, MAX_OBJECT_BYTES));
      };
      try {
        return await withDeadline({ clock, limitMs: deadlineMs, signal: request.signal }, run);
      } catch (error) {
        throw asKubeError(error);
      }
    },
  };
}

/**
 * Sends a request with credentials. A 401 is refused before any effect, so even a write is sent once more with a fresh
 * token.
 */
async function openWithIdentity(connection: Connection, request: KubeRequest): Promise<TransportResponse> {
  const { credentials, log } = connection;
  const reply = await exchange(connection, request, await credentials.headers());
  if (reply.status !== 401) return succeeded(reply);
  reply.destroy();
  log.warn('API server refused the token, reading it again', { method: request.method });
  return succeeded(await exchange(connection, request, await credentials.headers({ fresh: true })));
}

async function exchange(
  { server, clock, metrics, transport, userAgent }: Connection,
  request: KubeRequest,
  identity: Readonly<Record<string, string>>,
): Promise<TransportResponse> {
  const begun = clock.monotonic();
  const measure = (code: string) => {
    const seconds = (clock.monotonic() - begun) / 1000;
    metrics.requested({ method: request.method, host: server.host, code, seconds });
  };
  try {
    const reply = await transport({
      method: request.method,
      origin: server.origin,
      path: server.prefix + request.path,
      headers: {
        accept: request.accept ?? 'application/json',
        'user-agent': userAgent,
        ...(request.body !== undefined && { 'content-type': request.contentType ?? 'application/json' }),
        ...identity,
      },
      ...(request.body !== undefined && { body: request.body }),
      ...(request.signal && { signal: request.signal }),
    });
    measure(String(reply.status));
    return reply;
  } catch (error) {
    measure('<error>');
    throw error;
  }
}

async function succeeded(reply: TransportResponse): Promise<TransportResponse> {
  if (reply.status >= 200 && reply.status < 300) return reply;
  const text = await readText(reply.body, MAX_ERROR_BYTES).catch(() => '');
  // Retry-After in seconds: the API server never sends its date form.
  const retryAfterMs = restMs(Number(reply.headers['retry-after'] ?? Number.NaN));
  throw kubeErrorOf(reply.status, statusOf(text), retryAfterMs);
}

/** Parses a Status. Load balancers answer in plain text, which must not cause a second failure. */
function statusOf(text: string): StatusReply {
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === 'object' && parsed !== null ? (parsed as StatusReply) : {};
  } catch {
    return {};
  }
}

/** Returns any failure as the one error that callers know. */
export function asKubeError(error: unknown): KubeError {
  if (error instanceof KubeError) return error;
  const message = error instanceof Error ? error.message : String(error);
  const unreached = error instanceof TransportError || error instanceof DeadlineError;
  return new KubeError(message, {
    kind: unreached ? 'unavailable' : 'unknown',
    status: 0,
    reason: error instanceof Error ? error.name : 'Unknown',
    outcome: error instanceof TransportError && !error.sent ? 'refused' : 'unknown',
    cause: error,
  });
}

/** Returns the path of a collection: in one namespace, or in all if none is given. */
export function collectionPath(resource: Resource, namespace?: string): string {
  const root = resource.group === '' ? '/api' : `/apis/${resource.group}`;
  const scope =
    resource.namespaced && namespace !== undefined ? `/namespaces/${encodeURIComponent(namespace)}` : '';
  return `${root}/${resource.version}${scope}/${resource.plural}`;
}

/** Returns the path of one object. Throws if `ref` lacks a name, or the namespace of a namespaced kind. */
export function objectPath(resource: Resource, ref: ObjectRef, subresource?: string): string {
  if (resource.namespaced && ref.namespace === undefined) {
    throw new TypeError(`${resource.kind} ${ref.name} needs a namespace`);
  }
  if (ref.name === '') throw new TypeError(`A ${resource.kind} without a name cannot be addressed`);
  const path = `${collectionPath(resource, ref.namespace)}/${encodeURIComponent(ref.name)}`;
  return subresource === undefined ? path : `${path}/${subresource}`;
}

/** Returns `path?query` without empty values. */
export function withQuery(path: string, query: Readonly<Record<string, string | undefined>>): string {
  const pairs = Object.entries(query)
    .filter((pair): pair is [string, string] => pair[1] !== undefined && pair[1] !== '')
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
  return pairs.length === 0 ? path : `${path}?${pairs.join('&')}`;
}
