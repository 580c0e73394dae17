import { inBackground } from '../../lib/background.ts';
import type { Clock, Timer } from '../../lib/clock.ts';
import { silentLogger } from '../../lib/logger.ts';
import type { Random } from '../../lib/random.ts';
import { AccessReviews } from '../../runtime/kube/access-review.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { createInformer, type Informer } from '../../runtime/list-watch/informer.ts';
import { FLEET_KINDS, type FleetKind } from '../../views/fleet.ts';
import type { Connection, FeedChange, FeedObject, FeedStatus, KindStatus } from '../protocol.ts';
import { reducedObject } from './reduced-object.ts';

/** Inputs of a feed. */
export interface FeedOptions {
  readonly kube: KubeClient;
  /** Address of the API server, for people. */
  readonly cluster: string;
  /** Undefined for all namespaces. */
  readonly namespace: string | undefined;
  readonly clock: Clock;
  readonly random: Random;
}

/** Receiver of a feed. */
export interface FeedListener {
  status(status: FeedStatus): void;
  change(change: FeedChange): void;
}

const KINDS = Object.keys(FLEET_KINDS) as readonly FleetKind[];
/** Minimum interval between two changes. */
const BATCH_MS = 100;
/** Interval between checks of the connection and of rights. */
const CHECK_MS = 1_000;
/** Interval between two equal statuses: they carry the clock, and show that the process lives. */
const HEARTBEAT_MS = 10_000;
/** Rights of a list-watch. */
const VERBS = ['list', 'watch'] as const;
/** Interval between reviews of rights that were denied. */
const REVIEW_MS = 15_000;

/**
 * Objects of the kinds that the caller may see, followed by list and watch for any number of listeners. A kind that the
 * caller may not see does not prevent the others; it is reviewed again until it may. Never rejects.
 */
export class ObjectFeed {
  readonly #options: FeedOptions;
  readonly #reviews: AccessReviews;
  readonly #informers = new Map<FleetKind, Informer<FeedObject>>();
  readonly #denied = new Map<FleetKind, string>();
  readonly #listeners = new Set<FeedListener>();
  readonly #changed = new Map<string, FeedObject | undefined>();
  #batch: Timer | undefined;
  #check: Timer | undefined;
  #reviewAt = 0;
  #sent = { text: '', at: 0 };
  #lostSince: number | undefined;
  #isStopped = false;

  constructor(options: FeedOptions) {
    this.#options = options;
    this.#reviews = new AccessReviews(options.kube, options.clock);
  }

  /** Starts the reviews and list-watches. */
  start(): void {
    this.#tick();
  }

  /** Stops list-watches and timers. Resolves when no listener is called any more. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#batch?.cancel();
    this.#check?.cancel();
    this.#listeners.clear();
    await Promise.all([...this.#informers.values()].map((informer) => informer.stop()));
  }

  /** Sends the present status and all objects, then each change. Returns a function that ends it. */
  subscribe(listener: FeedListener): () => void {
    listener.status(this.#status());
    const objects = [...this.#informers.values()].flatMap((informer) => informer.list());
    listener.change({ reset: true, objects, removed: [] });
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  #tick(): void {
    if (this.#isStopped) return;
    const { clock } = this.#options;
    const now = clock.monotonic();
    if (now >= this.#reviewAt) {
      this.#reviewAt = now + REVIEW_MS;
      for (const kind of KINDS) this.#inBackground('review of rights', () => this.#review(kind));
    }
    this.#publishStatus();
    this.#check = clock.setTimer(CHECK_MS, () => this.#tick(), { background: true });
  }

  /** Starts the list-watch of a kind if its rights allow it. A review never rejects. */
  async #review(kind: FleetKind): Promise<void> {
    if (this.#informers.has(kind)) return;
    const [resource, namespace] = [FLEET_KINDS[kind], this.#options.namespace ?? ''];
    for (const verb of VERBS) {
      if (await this.#reviews.may({ verb, resource, namespace })) continue;
      this.#denied.set(kind, verb);
      this.#publishStatus();
      return;
    }
    this.#denied.delete(kind);
    if (!this.#isStopped && !this.#informers.has(kind)) this.#follow(kind);
  }

  #follow(kind: FleetKind): void {
    const { kube, namespace, clock, random } = this.#options;
    const informer = createInformer<FeedObject>({
      ...{ client: kube, resource: FLEET_KINDS[kind], clock, random, log: silentLogger },
      ...(namespace !== undefined && { namespace }),
      project: reducedObject,
      auditIntervalMs: 0,
    });
    informer.onChange(({ type, key, object }) => {
      this.#changed.set(`${kind}/${key}`, type === 'deleted' ? undefined : object);
      this.#batch ??= clock.setTimer(BATCH_MS, () => this.#publishChanges());
    });
    this.#informers.set(kind, informer);
    informer.start();
    this.#inBackground('first list', async () => {
      await informer.synced;
      this.#publishStatus();
    });
  }

  /** Starts work whose failure the next tick repeats. */
  #inBackground(task: string, work: () => Promise<void>): void {
    inBackground({ task }, work, () => undefined);
  }

  #publishChanges(): void {
    this.#batch = undefined;
    const changed = [...this.#changed];
    this.#changed.clear();
    const change: FeedChange = {
      objects: changed.flatMap(([, object]) => (object === undefined ? [] : [object])),
      removed: changed.flatMap(([id, object]) => (object === undefined ? [id] : [])),
    };
    for (const listener of this.#listeners) listener.change(change);
  }

  #publishStatus(): void {
    const status = this.#status();
    const { now, ...rest } = status;
    const text = JSON.stringify(rest);
    if (text === this.#sent.text && now < this.#sent.at + HEARTBEAT_MS && now >= this.#sent.at) return;
    this.#sent = { text, at: now };
    for (const listener of this.#listeners) listener.status(status);
  }

  #status(): FeedStatus {
    const { cluster, namespace, clock } = this.#options;
    return {
      now: clock.now(),
      cluster,
      ...(namespace !== undefined && { namespace }),
      kinds: Object.fromEntries(KINDS.map((kind) => [kind, this.#kindStatus(kind)])) as FeedStatus['kinds'],
      connection: this.#connection(),
    };
  }

  #kindStatus(kind: FleetKind): KindStatus {
    const verb = this.#denied.get(kind);
    if (verb !== undefined) return { state: 'forbidden', verb };
    const informer = this.#informers.get(kind);
    const failure = failureOf(informer);
    if (failure?.kind === 'forbidden') return { state: 'forbidden', verb: 'list' };
    if (failure?.kind === 'notFound') return { state: 'unserved' };
    return { state: informer?.hasSynced() ? 'ready' : 'loading' };
  }

  #connection(): Connection {
    const failures = [...this.#informers.values()].flatMap((informer) => failureOf(informer) ?? []);
    const lost = failures.filter(({ kind }) => !OF_ONE_KIND.has(kind));
    const [first] = lost;
    if (first === undefined) {
      this.#lostSince = undefined;
      return { state: 'live' };
    }
    this.#lostSince ??= this.#options.clock.now();
    const since = this.#lostSince;
    const expired = lost.find(({ kind }) => kind === 'unauthorized');
    if (expired) return { state: 'expired', since, message: expired.message };
    return { state: 'lost', since, message: first.message };
  }
}

/** Failures that say nothing about the connection. A watch whose version is too old is listed again at once. */
const OF_ONE_KIND: ReadonlySet<string> = new Set(['forbidden', 'notFound', 'gone']);

interface Failure {
  readonly kind: string;
  readonly message: string;
}

function failureOf(informer: Informer<FeedObject> | undefined): Failure | undefined {
  const { failure } = informer?.health() ?? {};
  if (failure === undefined) return undefined;
  const colon = failure.indexOf(': ');
  return { kind: failure.slice(0, colon), message: failure.slice(colon + 2) };
}
