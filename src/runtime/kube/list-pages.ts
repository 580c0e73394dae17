import type { Clock } from '../../lib/clock.ts';
import { withDeadline } from '../../lib/deadline.ts';
import { yieldingChunks } from '../../lib/event-loop.ts';
import { JsonListError, JsonListSplitter } from '../../lib/json-list.ts';
import type { TransportResponse } from '../../lib/transport.ts';
import { MalformedReplyError, parseJson } from './json-stream.ts';
import { isKubeError } from './kube-error.ts';
import { apiVersionOf, type KubeObject, type Resource } from './kube-object.ts';

/** A complete list: every page of one consistent snapshot. */
export interface KubeList<T> {
  readonly items: readonly T[];
  readonly resourceVersion: string;
}

/** Part of a collection that a list or a watch covers. An absent field restricts nothing. */
export interface Selection {
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  /** Selector by `metadata.name`, or by a field that the kind declares as selectable: the API server refuses any other. */
  readonly fieldSelector?: string | undefined;
}

/** Returns the query parameters of the selectors of a selection. Its namespace belongs to the path. */
export function selectorQuery({ labelSelector, fieldSelector }: Selection): Record<string, string> {
  return {
    ...(labelSelector !== undefined && { labelSelector }),
    ...(fieldSelector !== undefined && { fieldSelector }),
  };
}

export interface StreamRequest {
  readonly namespace?: string | undefined;
  readonly query: Readonly<Record<string, string>>;
  readonly accept?: string | undefined;
  readonly signal: AbortSignal;
}

/** The method of the client that list-watch needs: a GET of a collection whose body is read as it arrives. */
export interface KubeStream {
  /** Resolves with a successful reply, whose body the caller must read to its end or destroy. Never retried. */
  stream(resource: Resource, request: StreamRequest): Promise<TransportResponse>;
  /** Converts an object of the stream for readers; unchanged by default. */
  readonly decode?: ObjectCodec['decode'] | undefined;
}

/**
 * Converts objects between their stored form and the form in memory. Both directions keep the metadata and never throw.
 */
export interface ObjectCodec {
  decode<T extends KubeObject>(object: T): T;
  encode<T extends KubeObject>(object: T): T;
}

/** Objects of a first page: their size is not known yet. */
const FIRST_PAGE_SIZE = 100;
const MAX_PAGE_SIZE = 500;
/** Bytes of a page that both sides process without delaying other work. */
const PAGE_BYTES = 4 * 1024 * 1024;

const MAX_SILENCE_MS = 60_000;
/** Maximum restarts of a list whose pages expire: more are a fault of the server. */
const MAX_RESTARTS = 3;

export interface ListPagesRequest<T> extends Selection {
  readonly resource: Resource;
  /** Minimum resource version of the state. Absent: the newest. */
  readonly notOlderThan?: string | undefined;
  readonly accept?: string | undefined;
  /** Returns the part of each object to keep; the rest is garbage at once. */
  readonly keep: (object: KubeObject) => T;
  readonly signal: AbortSignal;
  /** Milliseconds for a whole page. Absent: unlimited, but without a minute of silence. */
  readonly pageDeadlineMs?: number | undefined;
  /** Called when the server answers and with each chunk. */
  readonly onContact?: (() => void) | undefined;
}

interface ListEnvelope {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly metadata?: {
    readonly resourceVersion?: string | undefined;
    readonly continue?: string | undefined;
  };
}

/**
 * Returns a complete list in pages, parsed object by object. Each page requests the number of objects that fill
 * {@link PAGE_BYTES} by the average of the page before, so large objects come in small pages. If a page has expired
 * (410) the list restarts at its first page: the token that the server offers would mix two states and hide a deletion
 * between them. Rejects with a KubeError like the client, also if pages keep expiring, and with a MalformedReplyError
 * if a list has no resourceVersion.
 */
export async function listPages<T>(
  client: KubeStream,
  clock: Clock,
  request: ListPagesRequest<T>,
): Promise<KubeList<T>> {
  for (let restarts = 0; ; restarts++) {
    try {
      return await readAllPages(client, clock, request);
    } catch (error) {
      const pageExpired = error instanceof ExpiredPage;
      if (!pageExpired) throw error;
      if (restarts >= MAX_RESTARTS) throw error.cause;
    }
  }
}

/** A later page of a list has expired. */
class ExpiredPage extends Error {
  override readonly name = 'ExpiredPage';
}

async function readAllPages<T>(
  client: KubeStream,
  clock: Clock,
  request: ListPagesRequest<T>,
): Promise<KubeList<T>> {
  const items: T[] = [];
  let next: string | undefined;
  let limit = FIRST_PAGE_SIZE;
  for (;;) {
    const page = { ...request, items, next, limit };
    const { envelope, bytes, count } = await readPage(client, clock, page).catch((error: unknown) => {
      if (next !== undefined && isKubeError(error, 'gone')) throw new ExpiredPage('', { cause: error });
      throw error;
    });
    const { resourceVersion, continue: token } = envelope.metadata ?? {};
    if (!resourceVersion)
      throw new MalformedReplyError('The API server sent a list without a resourceVersion');
    if (!token) return { items, resourceVersion };
    next = token;
    if (count > 0) limit = pageSize(bytes / count);
  }
}

/** Returns the number of objects of that average size in a page; at least one. */
function pageSize(bytesPerObject: number): number {
  return Math.max(1, Math.min(MAX_PAGE_SIZE, Math.floor(PAGE_BYTES / bytesPerObject)));
}

interface PageRequest<T> extends ListPagesRequest<T> {
  readonly items: T[];
  readonly next: string | undefined;
  readonly limit: number;
}

interface Page {
  readonly envelope: ListEnvelope;
  readonly bytes: number;
  readonly count: number;
}

function readPage<T>(client: KubeStream, clock: Clock, request: PageRequest<T>): Promise<Page> {
  const { resource, namespace, accept, items, keep, pageDeadlineMs, onContact } = request;
  const limitMs = pageDeadlineMs ?? MAX_SILENCE_MS;
  return withDeadline({ clock, limitMs, signal: request.signal }, async (signal, startAgain) => {
    const received = () => {
      if (pageDeadlineMs === undefined) startAgain();
      onContact?.();
    };
    const reply = await client.stream(resource, { namespace, query: pageQuery(request), accept, signal });
    received();
    let bytes = 0;
    const kept: T[] = [];
    // Items of a list have neither kind nor apiVersion.
    const decode = (object: KubeObject) => client.decode?.(object) ?? object;
    const identity = { apiVersion: apiVersionOf(resource), kind: resource.kind };
    const onItem = (item: Buffer) =>
      kept.push(keep(decode({ ...identity, ...(parseJson(item.toString('utf8')) as KubeObject) })));
    const splitter = new JsonListSplitter({ key: 'items', onItem });
    try {
      for await (const chunk of yieldingChunks(reply.body, clock)) {
        received();
        bytes += chunk.length;
        splitter.push(chunk);
      }
      const envelope = parseJson(splitter.end().toString('utf8')) as ListEnvelope;
      for (const item of kept) items.push(item);
      return { envelope, bytes, count: kept.length };
    } catch (error) {
      throw error instanceof JsonListError
        ? new MalformedReplyError(`The API server sent a list that cannot be read: ${error.message}`)
        : error;
    } finally {
      reply.destroy();
    }
  });
}

function pageQuery<T>(request: PageRequest<T>): Record<string, string> {
  const { next, limit, notOlderThan } = request;
  return {
    limit: String(limit),
    ...selectorQuery(request),
    ...(next !== undefined && { continue: next }),
    ...(next === undefined &&
      notOlderThan !== undefined && { resourceVersion: notOlderThan, resourceVersionMatch: 'NotOlderThan' }),
  };
}
