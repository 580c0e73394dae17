import { breathing } from '../../lib/breathing.ts';
import type { Clock } from '../../lib/clock.ts';
import { withDeadline } from '../../lib/deadline.ts';
import { JsonListError, JsonListSplitter } from '../../lib/json-list.ts';
import { MalformedReplyError, parseJson } from './json-stream.ts';
import type { KubeList, KubeStream } from './kube-collection.ts';
import { isKubeError } from './kube-error.ts';
import { apiVersionOf, type KubeObject, type Resource } from './kube-object.ts';

/** Objects per page: about 2 MB, which both sides handle without holding others up. */
export const PAGE_SIZE = 500;

const PAGE_DEADLINE_MS = 60_000;
/** A list whose pages expire before the last is read begins again; more often than this the server is at fault. */
const MAX_RESTARTS = 3;

export interface ListPagesRequest<T> {
  readonly resource: Resource;
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  /** Answers from a state at least this new. Absent: from the newest. */
  readonly notOlderThan?: string | undefined;
  readonly accept?: string | undefined;
  /** What to keep of each object; the rest is free for collection at once. */
  readonly keep: (object: KubeObject) => T;
  readonly signal: AbortSignal;
  /** How long a page may take; a minute where absent. */
  readonly pageDeadlineMs?: number | undefined;
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
 * A complete list in pages of {@link PAGE_SIZE}, parsed object by object. Where a page has expired (410) the list
 * begins again from its first page: the token offered instead would mix two states, and a deletion between them
 * would go unseen.
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
class ExpiredPage extends Error {}

async function readAllPages<T>(
  client: KubeStream,
  clock: Clock,
  request: ListPagesRequest<T>,
): Promise<KubeList<T>> {
  const items: T[] = [];
  let next: string | undefined;
  for (;;) {
    const envelope = await readPage(client, clock, { ...request, items, next }).catch((error: unknown) => {
      if (next !== undefined && isKubeError(error, 'gone')) throw new ExpiredPage('', { cause: error });
      throw error;
    });
    const { resourceVersion, continue: token } = envelope.metadata ?? {};
    if (!resourceVersion)
      throw new MalformedReplyError('The API server sent a list without a resourceVersion');
    if (!token) return { items, resourceVersion };
    next = token;
  }
}

interface PageRequest<T> extends ListPagesRequest<T> {
  readonly items: T[];
  readonly next: string | undefined;
}

function readPage<T>(client: KubeStream, clock: Clock, request: PageRequest<T>): Promise<ListEnvelope> {
  const { resource, namespace, accept, items, keep, pageDeadlineMs: limitMs = PAGE_DEADLINE_MS } = request;
  return withDeadline({ clock, limitMs, signal: request.signal }, async (signal) => {
    const reply = await client.stream(resource, { namespace, query: pageQuery(request), accept, signal });
    const kept: T[] = [];
    // Items of a list carry neither kind nor apiVersion.
    const identity = { apiVersion: apiVersionOf(resource), kind: resource.kind };
    const onItem = (item: Buffer) =>
      kept.push(keep({ ...identity, ...(parseJson(item.toString('utf8')) as KubeObject) }));
    const splitter = new JsonListSplitter({ key: 'items', onItem });
    try {
      for await (const chunk of breathing(reply.body, clock)) splitter.push(chunk);
      const envelope = parseJson(splitter.end().toString('utf8')) as ListEnvelope;
      for (const item of kept) items.push(item);
      return envelope;
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
  const { labelSelector, fieldSelector, next, notOlderThan } = request;
  return {
    limit: String(PAGE_SIZE),
    ...(labelSelector !== undefined && { labelSelector }),
    ...(fieldSelector !== undefined && { fieldSelector }),
    ...(next !== undefined && { continue: next }),
    ...(next === undefined &&
      notOlderThan !== undefined && { resourceVersion: notOlderThan, resourceVersionMatch: 'NotOlderThan' }),
  };
}
