import type { Settings } from '../settings.ts';
import { secondOf } from '../world/ledger.ts';
import type { Route } from './route.ts';

const DAY_SECONDS = 86_400;
/** Maximum number of remembered identities. */
const MAX_ENTRIES = 50_000;

/** Answer to a call that came too early. */
export type RateRefusal =
  | { readonly type: 'too-frequent'; readonly text: string }
  | { readonly type: 'quota'; readonly resetsAt: number };

/** Records the last call of each endpoint by each identity. */
export interface RateLimit {
  /** Records the call and returns undefined if it is allowed; else returns the refusal. */
  check(call: { route: Route; identity: string; now: number }): RateRefusal | undefined;
}

/** Number of pauses in the window of searches: ten a minute, in any order. */
const SEARCHES_PER_WINDOW = 10;

/**
 * Pauses between two calls of one endpoint by one identity, in simulated time; a refused call does not count. Searches
 * may come in bursts: the window of ten pauses admits ten of them.
 */
export function createRateLimit(settings: () => Settings): RateLimit {
  /** The latest calls, oldest first: ten of a search, one of any other. */
  const latestCalls = new Map<string, readonly number[]>();
  const searches = new Map<string, number>();

  const overQuota = (identity: string, now: number): number | undefined => {
    const quota = settings().pauses.searchesPerDay;
    if (quota <= 0) return undefined;
    const day = Math.floor(secondOf(now) / DAY_SECONDS);
    const key = `${day}|${identity}`;
    const used = (searches.get(key) ?? 0) + 1;
    if (used > quota) return (day + 1) * DAY_SECONDS;
    searches.set(key, used);
    return undefined;
  };

  return {
    check({ route, identity, now }) {
      const { pauses } = settings();
      if (route.pause === undefined || pauses.scale <= 0) return undefined;
      const key = `${route.method} ${route.path}|${identity}`;
      const pauseMs = pauses[route.pause] * pauses.scale * 1000;
      const burst = route.pause === 'search' ? SEARCHES_PER_WINDOW : 1;
      const latest = latestCalls.get(key) ?? [];
      const [first] = latest;
      if (latest.length >= burst && first !== undefined && now - first < pauseMs * burst) {
        const seconds = (pauseMs * burst) / 1000;
        const rule = burst === 1 ? `wait ${seconds} s between calls.` : `${burst} calls in ${seconds} s.`;
        return { type: 'too-frequent', text: `API requests too frequent. Endpoint ${route.path}: ${rule}` };
      }
      const resetsAt = route.pause === 'search' ? overQuota(identity, now) : undefined;
      if (resetsAt !== undefined) return { type: 'quota', resetsAt };
      if (latestCalls.size >= MAX_ENTRIES) latestCalls.clear();
      latestCalls.set(key, [...latest, now].slice(-burst));
      return undefined;
    },
  };
}
