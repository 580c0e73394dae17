/**
 * Calls that a service paces together. Each has its own gap; where they compete for a place in flight,
 * the earlier one in {@link CLASS_ORDER} goes first.
 */
export type EndpointClass =
  | 'destroy'
  | 'rent'
  | 'change'
  | 'get'
  | 'list'
  | 'search'
  | 'volume'
  | 'groupCreate'
  | 'groupChange'
  | 'account'
  | 'other';

/** Who goes first: what ends billing, then what was decided, then what only looks. */
export const CLASS_ORDER: readonly EndpointClass[] = [
  'destroy',
  'rent',
  'change',
  'search',
  'get',
  'list',
  'groupChange',
  'groupCreate',
  'volume',
  'account',
  'other',
];

/**
 * Milliseconds between two calls of a class (documented by the public service: a list 1 s, one instance 2 s, stop,
 * start and label 1 s, ten searches a minute, destroy 3 s, a new endpoint group 4 s, a rent 4.5 s, volumes 5.5 s).
 * Classes with 0 are slowed only after a 429. Those of {@link DOCUMENTED_WINDOWS} may come in bursts.
 */
export const DOCUMENTED_GAPS_MS: Readonly<Record<EndpointClass, number>> = {
  destroy: 3_000,
  rent: 4_500,
  change: 1_000,
  search: 6_000,
  get: 2_000,
  list: 1_000,
  groupChange: 0,
  groupCreate: 4_000,
  volume: 5_500,
  account: 0,
  other: 0,
};

/** So many calls within so many milliseconds, of which so many may follow each other at once. */
export interface CallWindow {
  readonly maxCalls: number;
  readonly ms: number;
  readonly burst: number;
}

/** Classes that the public service counts by the minute. After a burst the rest of a window is spread evenly over it. */
export const DOCUMENTED_WINDOWS: Partial<Readonly<Record<EndpointClass, CallWindow>>> = {
  search: { maxCalls: 10, ms: 60_000, burst: 5 },
};
