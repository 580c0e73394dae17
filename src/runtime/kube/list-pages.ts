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
  /** By `metadata.name`, or by a field that the kind declares as selectable: the API server refuses any other. */
  readonly fieldSelector?: string | undefined;
}

/** Query parameters of the selectors of a selection. Its namespace belongs to the path. */
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

/** The part of the client that list-watch needs: a GET of a collection whose body is read as it arrives. */
export interface KubeStream {
  /** Resolves with a successful reply, whose body the caller must read to its end or destroy. Never retried. */
  stream(resource: Resource, request: StreamRequest): Promise<TransportResponse>;
  /** An object of the stream as readers get it; unchanged if absent. */
  readonly decode?: ObjectCodec['decode'] | undefined;
}

/** Objects between their stored form and the form in memory. Both keep the metadata and never throw. */
export interface ObjectCodec {
  decode<T extends KubeObject>(object: T): T;
  encode<T extends KubeObject>(object: T): T;
}

/** Objects of a first page: nothing is known of their size yet. */
const FIRST_PAGE_SIZE = 100;
const MAX_PAGE_SIZE = 500;
/** Both sides handle that much without holding others up. */
const PAGE_BYTES = 4 * 1024 * 1024;

const MAX_SILENCE_MS = 60_000;
/** A list whose pages expire before the last is read begins again; more often than this the server is at fault. */
const MAX_RESTARTS = 3;

export interface ListPagesRequest<T> extends Selection {
  readonly resource: Resource;
  /** Answers from a state at least this new. Absent: from the newest. */
  readonly notOlderThan?: string | undefined;
  readonly accept?: string | undefined;
  /** What to keep of each object; the rest is free for collection at once. */
  readonly keep: (object: KubeObject) => T;
  readonly signal: AbortSignal;
  /** How long a page may take in all. Absent: as long as it wants to, without a minute of silence. */
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
 * A complete list in pages, parsed object by object. Each page asks for as many objects as make {@link PAGE_BYTES} by
 * the average of the page before, so that large objects come in small pages. If a page has expired (410) the list
 * begins again from its first page: the token offered instead would mix two states, and a deletion between them would
 * go unseen. Rejects with a KubeError as the client does, also if pages expire again and again, and with a
 * MalformedReplyError if a list has no resourceVersion.
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

/** A later page of a list is no longer to be had. */
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

/** How many objects of that average size make a page; one at least, however large. */
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
    // Items of a list carry neither kind nor apiVersion.
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
