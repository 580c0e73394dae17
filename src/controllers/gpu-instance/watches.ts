import { type AccountDirectory, sessionOf } from '../../accounts/registry.ts';
import type { AccountSession } from '../../accounts/session.ts';
import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import type { SpendBudget } from '../../api/v1alpha1/spend-budget.ts';
import { accountRefOf } from '../../instance/account-ref.ts';
import type { Feed } from '../../market/feed.ts';
import type { FeedEvent } from '../../market/feed-state.ts';
import { readLabel } from '../../ownership/label.ts';
import { objectKey, uidOf } from '../../runtime/kube/kube-object.ts';
import type { Informer } from '../../runtime/list-watch/informer.ts';
import type { SteadyClock } from './memory.ts';

export interface WatchesOptions {
  readonly accounts: AccountDirectory;
  readonly instances: Informer<GpuInstance>;
  readonly spendBudgets: Pick<Informer<SpendBudget>, 'onChange'>;
  readonly enqueue: (key: string) => void;
  /** An account changed that this object names, or a budget of its namespace: a refused request may be allowed now. */
  readonly onAccountChange: (object: GpuInstance) => void;
  readonly steady: SteadyClock;
}

/**
 * Wakes only the objects that a change concerns: a changed row wakes its own object, a complete list the objects that
 * wait for one, a changed account all that name it, and a changed budget all of its namespace.
 */
export class Watches {
  readonly #options: WatchesOptions;
  readonly #keyByUid = new Map<string, string>();
  readonly #keysByMachine = new Map<string, Set<string>>();
  readonly #waitingForList = new Map<Feed, Set<string>>();
  readonly #subscriptions = new Map<Feed, () => void>();
  #endings: (() => void)[] = [];

  constructor(options: WatchesOptions) {
    this.#options = options;
  }

  start(): void {
    const { accounts, instances, spendBudgets, enqueue, onAccountChange } = this.#options;
    for (const object of instances.list()) this.#index(object);
    this.#endings = [
      instances.onChange((change) => {
        if (change.type === 'updated') this.#forget(change.previous);
        if (change.type === 'deleted') this.#forget(change.object);
        else this.#index(change.object);
      }),
      accounts.onChange((ref) => {
        this.#subscribeAll();
        for (const object of instances.list()) {
          const named = accountRefOf(object);
          if (named.name !== ref.name || named.namespace !== ref.namespace) continue;
          onAccountChange(object);
          enqueue(objectKey(object.metadata));
        }
      }),
      spendBudgets.onChange((change) => {
        if (change.type === 'updated' && decidesAlike(change.previous, change.object)) return;
        const { namespace } = change.object.metadata;
        for (const object of instances.list()) {
          if (object.metadata.namespace !== namespace) continue;
          onAccountChange(object);
          enqueue(objectKey(object.metadata));
        }
      }),
    ];
    this.#subscribeAll();
  }

  stop(): void {
    for (const end of [...this.#endings, ...this.#subscriptions.values()]) end();
    this.#endings = [];
    this.#subscriptions.clear();
    this.#waitingForList.clear();
  }

  /** Reconciles the object after the next complete list of its login. */
  onNextList(key: string, object: GpuInstance): void {
    const feed = sessionOf(this.#options.accounts.get(accountRefOf(object)))?.feed;
    if (!feed) return;
    this.#subscribeAll();
    const waiting = this.#waitingForList.get(feed) ?? new Set();
    this.#waitingForList.set(feed, waiting.add(key));
  }

  #subscribeAll(): void {
    const sessions = this.#options.accounts.sessions();
    const live = new Set(sessions.map((session) => session.feed));
    for (const [feed, end] of this.#subscriptions) {
      if (live.has(feed)) continue;
      end();
      this.#subscriptions.delete(feed);
      this.#waitingForList.delete(feed);
    }
    for (const session of sessions) {
      if (this.#subscriptions.has(session.feed)) continue;
      this.#subscriptions.set(
        session.feed,
        session.feed.subscribe((event) => this.#onFeedEvent(event, session)),
      );
    }
  }

  #onFeedEvent(event: FeedEvent, session: AccountSession): void {
    if (event.type === 'row') {
      for (const key of this.#keysByMachine.get(event.id) ?? []) this.#options.enqueue(key);
      const reading = readLabel(session.identity, (event.row ?? event.previous)?.label);
      const key = reading.type === 'verified' ? this.#keyByUid.get(reading.facts.uid) : undefined;
      if (key !== undefined) this.#options.enqueue(key);
    }
    if (event.type !== 'list') return;
    this.#options.steady.noteList(session.feed, event.list);
    const waiting = this.#waitingForList.get(session.feed);
    this.#waitingForList.delete(session.feed);
    for (const key of waiting ?? []) this.#options.enqueue(key);
  }

  #index(object: GpuInstance): void {
    const key = objectKey(object.metadata);
    this.#keyByUid.set(uidOf(object), key);
    for (const id of machinesOf(object)) {
      this.#keysByMachine.set(id, (this.#keysByMachine.get(id) ?? new Set()).add(key));
    }
  }

  #forget(object: GpuInstance): void {
    const key = objectKey(object.metadata);
    this.#keyByUid.delete(uidOf(object));
    for (const id of machinesOf(object)) {
      const keys = this.#keysByMachine.get(id);
      keys?.delete(key);
      if (keys?.size === 0) this.#keysByMachine.delete(id);
    }
  }
}

/** Returns true if two versions of a budget differ in figures only, which change all the time. */
function decidesAlike(before: SpendBudget, now: SpendBudget): boolean {
  const exceeded = ({ status }: SpendBudget) => status?.conditions?.some(({ type }) => type === 'Exceeded');
  return (
    before.metadata.uid === now.metadata.uid &&
    before.metadata.generation === now.metadata.generation &&
    before.status?.month === now.status?.month &&
    exceeded(before) === exceeded(now)
  );
}

function machinesOf({ spec, status }: GpuInstance): readonly string[] {
  return [status?.instanceId, spec.adopt?.instanceId].filter((id) => id !== undefined);
}
