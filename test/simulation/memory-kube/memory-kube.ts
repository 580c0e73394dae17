import type { Clock } from '../../../src/lib/clock.ts';
import type { Random } from '../../../src/lib/random.ts';
import type { Transport, TransportRequest, TransportResponse } from '../../../src/lib/transport.ts';
import { type Address, targetOf } from './address.ts';
import { Failure, failures } from './failure.ts';
import { isObject, type JsonObject, metadataOf, objectAt, textAt, textOf } from './json.ts';
import { apiVersionOf, BUILT_IN_KINDS, type Kind, kindsOfDefinition } from './kinds.ts';
import { jsonPatch, mergePatch, PatchTestFailed } from './patch.ts';
import { Reapers } from './reapers.ts';
import { removed, reply, replyText } from './replies.ts';
import { fieldSelector, labelSelector } from './selectors.ts';
import { Store } from './store.ts';
import { Watch } from './watch.ts';
import { Writes } from './writes.ts';

export interface MemoryKubeOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** CustomResourceDefinitions as parsed YAML. */
  readonly definitions: readonly JsonObject[];
}

/** A Kubernetes API in memory, reached at HTTP level. For seeded simulation only. */
export interface MemoryKube {
  readonly transport: Transport;
  readonly store: Store;
  readonly writes: Writes;
  /** Returns the kind with that plural name. */
  kind(plural: string): Kind;
  /** Closes every open watch, as a restart of the API server does. */
  closeWatches(): void;
}

/** Kind, namespace and name that a path contains. */
interface Named {
  readonly kind: Kind;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly subresource: string | undefined;
  readonly query: URLSearchParams;
}

interface Call extends Named {
  readonly request: TransportRequest;
}

const PATH =
  /^\/(?:api|apis\/(?<group>[^/]+))\/(?<version>[^/]+)(?:\/namespaces\/(?<namespace>[^/]+)(?=\/[^/]+))?\/(?<plural>[^/]+)(?:\/(?<name>[^/]+))?(?:\/(?<subresource>[^/]+))?$/;

export function createMemoryKube(options: MemoryKubeOptions): MemoryKube {
  const kinds = [...BUILT_IN_KINDS, ...options.definitions.flatMap(kindsOfDefinition)];
  const kindOf = (plural: string, group?: string): Kind | undefined =>
    kinds.find((kind) => kind.plural === plural && (group === undefined || kind.group === group));
  const kind = (plural: string): Kind => {
    const found = kindOf(plural);
    if (!found) throw new Error(`no kind is served at ${plural}`);
    return found;
  };
  const store = new Store();
  const namespaceKind = kind('namespaces');
  const writes = new Writes({ store, clock: options.clock, random: options.random, namespaceKind });
  new Reapers({ store, writes, clock: options.clock, kinds: () => kinds, namespaceKind });
  const watches = new Set<Watch>();
  for (const name of ['default', 'kube-system']) {
    writes.create(
      { kind: namespaceKind, namespace: undefined, name },
      { metadata: { name }, status: { phase: 'Active' } },
    );
  }
  const server = new Server({ store, writes, clock: options.clock, kindOf, watches });
  return {
    transport: (request) => server.answer(request),
    store,
    writes,
    kind,
    closeWatches: () => {
      for (const watch of watches) watch.end();
    },
  };
}

interface ServerOptions {
  readonly store: Store;
  readonly writes: Writes;
  readonly clock: Clock;
  readonly kindOf: (plural: string, group: string) => Kind | undefined;
  readonly watches: Set<Watch>;
}

/** Number of cached paths: some recur, such as the lease; those with a version are evicted. */
const REMEMBERED_PATHS = 200;

class Server {
  readonly #options: ServerOptions;
  readonly #named = new Map<string, Named>();
  constructor(options: ServerOptions) {
    this.#options = options;
  }

  async answer(request: TransportRequest): Promise<TransportResponse> {
    try {
      if (request.path.endsWith('/selfsubjectaccessreviews')) return reply(201, allowed(bodyOf(request)));
      return this.#route({ ...this.#namedBy(request.path), request });
    } catch (failure) {
      if (failure instanceof Failure) return reply(failure.code, failure.status());
      throw failure;
    }
  }

  #namedBy(path: string): Named {
    const known = this.#named.get(path);
    if (known) return known;
    const named = this.#read(new URL(path, 'https://memory'));
    if (this.#named.size >= REMEMBERED_PATHS) this.#named.clear();
    this.#named.set(path, named);
    return named;
  }

  #read({ pathname, searchParams: query }: URL): Named {
    const groups = PATH.exec(pathname)?.groups;
    const kind = groups && this.#options.kindOf(groups['plural'] ?? '', groups['group'] ?? '');
    if (!kind || kind.version !== groups['version']) throw failures.noSuchPath();
    const { namespace, name, subresource } = groups;
    return { kind, namespace, name, subresource, query };
  }

  #route(call: Call): TransportResponse {
    switch (call.request.method) {
      case 'GET':
        if (call.name !== undefined) return reply(200, this.#get(addressOf(call)));
        return call.query.get('watch') === 'true' || call.query.get('watch') === '1'
          ? this.#watchOrError(call)
          : reply(200, this.#list(call));
      case 'POST':
        return reply(201, this.#create(call));
      case 'PUT':
        return this.#put(call);
      case 'PATCH':
        return this.#patch(call);
      case 'DELETE':
        return reply(200, this.#delete(call));
      default:
        throw failures.noSuchPath();
    }
  }

  #create(call: Call): JsonObject {
    const isTrial = call.query.get('dryRun') === 'All';
    return this.#options.writes.create({ ...addressOf(call), name: '' }, bodyOf(call.request), isTrial);
  }

  #get(address: Address): JsonObject {
    const object = this.#options.writes.read(address);
    if (!object) throw failures.notFound(targetOf(address));
    return object;
  }

  #list(call: Call): JsonObject {
    const { store } = this.#options;
    const token = call.query.get('continue');
    if (!token) this.#requireReached(call);
    const page = token ? store.page(token) : { revision: store.revision, items: this.#selected(call) };
    const limit = Number(call.query.get('limit') ?? 0) || page.items.length;
    const rest = page.items.slice(limit);
    const next = rest.length > 0 ? store.keepPage({ revision: page.revision, items: rest }) : undefined;
    return {
      kind: `${call.kind.kind}List`,
      apiVersion: apiVersionOf(call.kind),
      metadata: {
        resourceVersion: String(page.revision),
        ...(next
          ? { continue: next, ...(isSelective(call) ? {} : { remainingItemCount: rest.length }) }
          : {}),
      },
      items: page.items.slice(0, limit),
    };
  }

  #selected(call: Call): JsonObject[] {
    const selects = selectsOf(call);
    return this.#options.store
      .all(call.kind)
      .filter((object) => call.namespace === undefined || metadataOf(object)['namespace'] === call.namespace)
      .filter(selects);
  }

  /** Returns a watch. One that cannot start is accepted and ends with an error event, as on the real server. */
  #watchOrError(call: Call): TransportResponse {
    try {
      return this.#watch(call);
    } catch (failure) {
      if (!(failure instanceof Failure)) throw failure;
      return replyText(200, `{"type":"ERROR","object":${textOf(failure.status())}}\n`);
    }
  }

  #watch(call: Call): TransportResponse {
    const { store, clock, watches } = this.#options;
    const given = call.query.get('resourceVersion');
    const sendInitialEvents = call.query.get('sendInitialEvents') === 'true' || !given || given === '0';
    if (sendInitialEvents) this.#requireReached(call);
    const watch = new Watch(store, clock, {
      kind: call.kind,
      namespace: call.namespace,
      selects: selectsOf(call),
      from: sendInitialEvents ? store.revision : Number(given),
      bookmarks: call.query.get('allowWatchBookmarks') === 'true',
      sendInitialEvents,
      timeoutMs: Number(call.query.get('timeoutSeconds') ?? 1800) * 1000,
    });
    watches.add(watch);
    const close = (): void => {
      watches.delete(watch);
      watch.end();
    };
    call.request.signal?.addEventListener('abort', close, { once: true });
    return {
      status: 200,
      headers: { 'content-type': 'application/json' },
      body: watch.lines(),
      destroy: close,
    };
  }

  /** Throws if the request is for a future version: the real server waits for it and times out. */
  #requireReached({ query }: Call): void {
    const given = Number(query.get('resourceVersion') ?? 0);
    const { revision } = this.#options.store;
    if (given > revision) throw failures.versionToCome(given, revision);
  }

  #put(call: Call): TransportResponse {
    const { writes } = this.#options;
    const address = addressOf(call);
    const status = writes.read(address) ? 200 : 201;
    return reply(status, writes.replace(address, bodyOf(call.request), call.subresource));
  }

  #patch(call: Call): TransportResponse {
    const address = addressOf(call);
    const patch = JSON.parse(call.request.body ?? 'null');
    const type = call.request.headers['content-type'] ?? '';
    if (type.startsWith('application/merge-patch+json')) {
      const { writes } = this.#options;
      const change = (current: JsonObject) => asObject(mergePatch(current, patch));
      return reply(200, writes.update(address, change, call.subresource));
    }
    if (type.startsWith('application/json-patch+json'))
      return reply(200, this.#jsonPatch(address, patch, call.subresource));
    if (type.startsWith('application/apply-patch')) return this.#apply(call, address, patch);
    throw failures.unsupportedMedia();
  }

  #jsonPatch(address: Address, patch: JsonObject, subresource: string | undefined): JsonObject {
    try {
      return this.#options.writes.update(
        address,
        (current) => jsonPatch(current, patch as never),
        subresource,
      );
    } catch (error) {
      if (!(error instanceof PatchTestFailed)) throw error;
      throw failures.invalid(targetOf(address), [
        'the server rejected our request due to an error in our request',
      ]);
    }
  }

  #apply(call: Call, address: Address, patch: JsonObject): TransportResponse {
    const manager = call.query.get('fieldManager');
    if (!manager)
      throw failures.badRequest(
        'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch',
      );
    const { subresource } = call;
    const { object, isNew } = this.#options.writes.apply(address, { manager, patch, subresource });
    return reply(isNew ? 201 : 200, object);
  }

  #delete(call: Call): JsonObject {
    const body = call.request.body ? bodyOf(call.request) : {};
    const preconditions = objectAt(body, 'preconditions');
    const { writes } = this.#options;
    const address = addressOf(call);
    const deleted = writes.delete(address, {
      uid: textAt(preconditions, 'uid'),
      resourceVersion: textAt(preconditions, 'resourceVersion'),
      propagation: textAt(body, 'propagationPolicy'),
    });
    return writes.read(address) ? deleted : removed(address, deleted);
  }
}

const addressOf = ({ kind, namespace, name }: Call): Address => ({ kind, namespace, name: name ?? '' });

/** Returns true if the request has a selector: lists then omit the remaining item count. */
const isSelective = ({ query }: Call): boolean => query.has('labelSelector') || query.has('fieldSelector');

const selectsOf = ({ query, kind }: Call) => {
  const labels = labelSelector(query.get('labelSelector') ?? undefined);
  const fields = fieldSelector(query.get('fieldSelector') ?? undefined, kind);
  return (object: JsonObject): boolean => labels(object) && fields(object);
};

function asObject(value: unknown): JsonObject {
  if (!isObject(value)) throw failures.badRequest('an object is wanted');
  return value;
}

function bodyOf(request: TransportRequest): JsonObject {
  try {
    return asObject(JSON.parse(request.body ?? ''));
  } catch (error) {
    if (error instanceof Failure) throw error;
    throw failures.badRequest(`the object provided is unrecognized: ${String(error)}`);
  }
}

const allowed = (review: JsonObject): JsonObject => ({ ...review, status: { allowed: true } });
