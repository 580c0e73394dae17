import type { MarketplaceError } from './errors.ts';
import type { Instance } from './instance.ts';

export type { Instance } from './instance.ts';

/** Every machine of the login, as of one complete list. */
export interface CompleteList {
  /** Epoch milliseconds (clock.now) just before the first request left. */
  readonly begunAt: number;
  readonly endedAt: number;
  readonly rows: ReadonlyMap<number, Instance>;
}

/** What listeners hear. `row` comes only for a row that changed, appeared or left a complete list. */
export type FeedEvent =
  | {
      readonly type: 'row';
      readonly id: number;
      readonly row: Instance | undefined;
      readonly previous: Instance | undefined;
    }
  | { readonly type: 'list'; readonly list: CompleteList }
  | { readonly type: 'failed'; readonly error: MarketplaceError };

/** How the feed fares. */
export interface FeedHealth {
  readonly state: 'starting' | 'healthy' | 'failing' | 'stopped';
  /** Epoch milliseconds at which the latest complete list ended. */
  readonly lastCompleteAt: number | undefined;
  readonly consecutiveFailures: number;
  readonly lastError: MarketplaceError | undefined;
  /** `whole`: the specification's list. `paged`: the service answered 410 to it. */
  readonly form: 'whole' | 'paged';
}

/**
 * One list per login and poll, shared by everyone who watches machines of that login. Only complete lists
 * count: all pages, with the count that the service names.
 */
export interface Feed {
  /** Begins to poll, at once. A second call does nothing. */
  start(): void;
  /** Ends polling and leaves no timer. A list in flight is given up. */
  stop(): void;
  latest(): CompleteList | undefined;
  /**
   * Begin times (clock.now) of the complete lists since which `id` is missing, oldest first: [] where it is
   * in the latest, or where there is none yet. Only recent lists are remembered (256).
   */
  absences(id: number): readonly number[];
  /** Begin times of the remembered complete lists that began at or after `time`, oldest first. */
  listsBegunSince(time: number): readonly number[];
  /** A list as soon as pacing allows, begun after this call. */
  lookNow(): void;
  /** One instance by itself: for a machine that is new or leaving. Callers at the same time share a request. */
  get(id: number): Promise<Instance | null>;
  /** Calls the listener for every event until the returned function is called. */
  subscribe(listener: (event: FeedEvent) => void): () => void;
  health(): FeedHealth;
}
