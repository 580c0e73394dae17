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
  /** Undefined where the call may be made; it then counts as made. */
  check(call: { route: Route; identity: string; now: number }): RateRefusal | undefined;
}

/** Pauses between two calls of one endpoint by one identity, in simulated time; a refused call does not count. */
export function createRateLimit(settings: () => Settings): RateLimit {
  const lastCall = new Map<string, number>();
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
      const last = lastCall.get(key);
      if (last !== undefined && now - last < pauseMs) {
        const text = `API requests too frequent. Endpoint ${route.path}: wait ${pauseMs / 1000} s between calls.`;
        return { type: 'too-frequent', text };
      }
      const resetsAt = route.pause === 'search' ? overQuota(identity, now) : undefined;
      if (resetsAt !== undefined) return { type: 'quota', resetsAt };
      if (lastCall.size >= MAX_ENTRIES) lastCall.clear();
      lastCall.set(key, now);
      return undefined;
    },
  };
}
