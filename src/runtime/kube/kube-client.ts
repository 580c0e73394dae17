import { type Clock, sleep } from '../../lib/clock.ts';
import { DeadlineError } from '../../lib/deadline.ts';
import type { Logger } from '../../lib/logger.ts';
import type { Random } from '../../lib/random.ts';
import type { Transport } from '../../lib/transport.ts';
import { type RestMetrics, silentMetrics } from '../metrics-ports.ts';
import type { Credentials } from './credentials.ts';
import { isKubeError, type KubeError } from './kube-error.ts';
import type { KubeObject, ObjectRef, Resource } from './kube-object.ts';
import {
  asKubeError,
  collectionPath,
  createKubeRequester,
  type KubeRequester,
  objectPath,
  withQuery,
} from './kube-request.ts';
import { type KubeList, type KubeStream, listPages, type ObjectCodec, type Selection } from './list-pages.ts';

export interface ListOptions extends Selection {
  readonly signal?: AbortSignal | undefined;
}

/** Reduces each object of a list while it arrives; by default objects stay whole. */
export interface Keep<T> {
  readonly keep?: ((object: T) => T) | undefined;
}

export interface WriteOptions {
  readonly subresource?: 'status' | 'scale' | undefined;
  readonly fieldManager?: string | undefined;
  /** Does everything except storing the object: validation with unknown fields refused, quota and admission. */
  readonly dryRun?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface Patch extends WriteOptions {
  readonly type: 'merge' | 'json' | 'apply';
  readonly body: unknown;
  /** Server-side apply only: takes fields over from other managers. */
  readonly force?: boolean | undefined;
}

export interface DeleteOptions {
  /** Uid of the object to delete; another object of that name is a `conflict`. */
  readonly uid?: string | undefined;
  readonly resourceVersion?: string | undefined;
  readonly propagation?: 'Background' | 'Foreground' | 'Orphan' | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Typed requests to one API server. Every failure is a {@link KubeError}. Reads are retried a few times after 429, 5xx
 * or no reply; writes never, so that a caller always knows how many were sent. The type argument is the caller's
 * promise about the shape of `resource` (the API server checks it against the CRD).
 */
export interface KubeClient extends KubeStream {
  /** Returns the object; undefined if it does not exist. */
  get<T extends KubeObject>(resource: Resource, ref: ObjectRef): Promise<T | undefined>;
  /** Lists consistently: the list contains every write that was answered before it began. */
  list<T extends KubeObject>(resource: Resource, options?: ListOptions & Keep<T>): Promise<KubeList<T>>;
  create<T extends KubeObject>(resource: Resource, object: T, options?: WriteOptions): Promise<T>;
  /** Replaces the object (PUT) under `metadata.resourceVersion`; a newer stored object is a `conflict`. */
  replace<T extends KubeObject>(resource: Resource, object: T, options?: WriteOptions): Promise<T>;
  patch<T extends KubeObject>(resource: Resource, ref: ObjectRef, patch: Patch): Promise<T>;
  /**
   * Deletes the object; returns false if it does not exist. True means that deletion began; finalizers may still delay
   * it.
   */
  delete(resource: Resource, ref: ObjectRef, options?: DeleteOptions): Promise<boolean>;
}

export interface KubeClientOptions {
  readonly transport: Transport;
  /** `https://host:port`, with a path if a proxy adds one. */
  readonly origin: string;
  readonly credentials: Credentials;
  /** Conversion between stored form and memory; none by default. */
  readonly codec?: ObjectCodec | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /**
   * Milliseconds for one request and its reply, except streams. Default 30 s, and a minute of silence in a page of a
   * list.
   */
  readonly deadlineMs?: number | undefined;
  readonly userAgent?: string | undefined;
  readonly metrics?: RestMetrics | undefined;
}

const UNCHANGED: ObjectCodec = { decode: (object) => object, encode: (object) => object };

const CONTENT_TYPE = {
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
  apply: 'application/apply-patch+yaml',
} as const;

export function createKubeClient(options: KubeClientOptions): KubeClient {
  const { clock, deadlineMs: pageDeadlineMs, codec = UNCHANGED } = options;
  const requester = createKubeRequester({
    ...options,
    deadlineMs: options.deadlineMs ?? 30_000,
    userAgent: options.userAgent ?? 'kube-runtime',
    metrics: options.metrics ?? silentMetrics,
  });
  const stream: KubeClient['stream'] = (resource, { namespace, query, accept, signal }) =>
    requester.open({
      method: 'GET',
      path: withQuery(collectionPath(resource, namespace), query),
      accept,
      signal,
    });
  return {
    stream,
    decode: codec.decode,
    async get<T extends KubeObject>(resource: Resource, ref: ObjectRef): Promise<T | undefined> {
      const request = { method: 'GET', path: objectPath(resource, ref) } as const;
      try {
        return codec.decode((await retryReads(options, () => requester.json(request))) as T);
      } catch (error) {
        if (isKubeError(error, 'notFound')) return undefined;
        throw error;
      }
    },
    list: (resource, listOptions) =>
      retryReads(options, () =>
        listAll({ stream, decode: codec.decode }, clock, { resource, pageDeadlineMs, ...listOptions }),
      ),
    ...writesOf(requester, codec),
  };
}

/** Returns the object with the caller's type: the API server checked the CRD's schema when the object was written. */
function asItIs<T extends KubeObject>(object: KubeObject): T {
  return object as T;
}

async function listAll<T extends KubeObject>(
  client: KubeStream,
  clock: Clock,
  request: ListOptions &
    Keep<T> & { readonly resource: Resource; readonly pageDeadlineMs: number | undefined },
): Promise<KubeList<T>> {
  const signal = request.signal ?? new AbortController().signal;
  try {
    const keep = (object: KubeObject) => request.keep?.(asItIs<T>(object)) ?? asItIs<T>(object);
    return await listPages(client, clock, { ...request, signal, keep });
  } catch (error) {
    throw asKubeError(error);
  }
}

const trialQuery = (dryRun: boolean | undefined): Readonly<Record<string, string>> =>
  dryRun ? { dryRun: 'All', fieldValidation: 'Strict' } : {};

function writesOf(
  requester: KubeRequester,
  codec: ObjectCodec,
): Pick<KubeClient, 'create' | 'replace' | 'patch' | 'delete'> {
  const write = async <T extends KubeObject>(request: Parameters<KubeRequester['json']>[0]): Promise<T> =>
    codec.decode((await requester.json(request)) as T);
  return {
    create: (resource, object, { subresource, fieldManager, dryRun, signal } = {}) => {
      const { namespace } = object.metadata;
      const path = subresource
        ? objectPath(resource, object.metadata, subresource)
        : collectionPath(resource, namespace);
      return write({
        method: 'POST',
        path: withQuery(path, { fieldManager, ...trialQuery(dryRun) }),
        body: JSON.stringify(codec.encode(object)),
        signal,
      });
    },
    replace: (resource, object, { subresource, fieldManager, dryRun, signal } = {}) => {
      const query = { fieldManager, ...trialQuery(dryRun) };
      const path = withQuery(objectPath(resource, object.metadata, subresource), query);
      return write({ method: 'PUT', path, body: JSON.stringify(codec.encode(object)), signal });
    },
    patch: (resource, ref, { type, body, subresource, fieldManager, force, dryRun, signal }) => {
      const query = { fieldManager, force: force ? 'true' : undefined, ...trialQuery(dryRun) };
      const path = withQuery(objectPath(resource, ref, subresource), query);
      return write({
        method: 'PATCH',
        path,
        body: JSON.stringify(body),
        contentType: CONTENT_TYPE[type],
        signal,
      });
    },
    delete: (resource, ref, options = {}) => deleteOne(requester, objectPath(resource, ref), options),
  };
}

async function deleteOne(requester: KubeRequester, path: string, options: DeleteOptions): Promise<boolean> {
  const { uid, resourceVersion, propagation, signal } = options;
  const body = JSON.stringify({
    apiVersion: 'v1',
    kind: 'DeleteOptions',
    preconditions: { uid, resourceVersion },
    propagationPolicy: propagation,
  });
  try {
    await requester.json({ method: 'DELETE', path, body, signal });
    return true;
  } catch (error) {
    if (isKubeError(error, 'notFound')) return false;
    throw error;
  }
}

const ATTEMPTS = 4;
const BASE_DELAY_MS = 100;
/** Maximum pause that the client itself waits; a longer one is the caller's decision. */
const MAX_REST_MS = 30_000;

/**
 * Runs a read up to four times while the API server is throttling or unreachable, after the pause of its Retry-After or
 * a jittered 100, 200, 400 ms. Rejects with the last failure, with any other failure at once, and if the server asks
 * for more than half a minute. Never used for writes.
 */
export async function retryReads<T>(
  { clock, random }: { readonly clock: Clock; readonly random: Random },
  read: () => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await read();
    } catch (error) {
      if (attempt === ATTEMPTS || !isRetryable(error)) throw error;
      const restMs = error.retryAfterMs ?? BASE_DELAY_MS * 2 ** (attempt - 1) * (1 + random.next());
      if (restMs > MAX_REST_MS) throw error;
      await sleep(clock, restMs);
    }
  }
}

/** Returns true if a retry may succeed. A read that used up its deadline is not retried. */
function isRetryable(error: unknown): error is KubeError {
  return isKubeError(error, 'throttled', 'unavailable') && !(error.cause instanceof DeadlineError);
}
