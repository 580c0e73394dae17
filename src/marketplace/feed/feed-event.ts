import type { MarketplaceError } from '../errors/errors.ts';
import type { Instance } from '../instances/instance.ts';

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
