import type { Settings } from '../settings.ts';
import { secondOf } from '../world/ledger.ts';
import type { Route } from './route.ts';

const DAY_SECONDS = 86_400;
/** Identities remembered before old ones are dropped. */
const MAX_ENTRIES = 50_000;

/** What a call that came too early is answered with. */
export type RateRefusal =
  | { readonly type: 'too-frequent'; readonly text: string }
  | { readonly type: 'quota'; readonly resetsAt: number };

/** Remembers when each identity last called each endpoint. */
export interface RateLimit {
  /** Undefined if the call may be made; it then counts as made. */
  check(call: { route: Route; identity: string; now: number }): RateRefusal | undefined;
}

/** Searches are counted over this many pauses: ten a minute, in any order. */
const SEARCHES_PER_WINDOW = 10;

/**
 * Pauses between two calls of one endpoint by one identity, in simulated time; a refused call does not count. Searches
 * may come in bursts: as many as the pause allows within a window of ten.
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
