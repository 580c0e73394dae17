import type { Clock } from '../../lib/clock.ts';
import { Secret } from '../../lib/secret.ts';

/** Credentials of this process at the API server. */
export interface Credentials {
  /** Returns the header fields of a request. `fresh` loads them again instead of using the cache, after a 401. */
  headers(options?: { readonly fresh?: boolean }): Promise<Readonly<Record<string, string>>>;
}

export function tokenCredentials(token: Secret): Credentials {
  return { headers: async () => bearer(token) };
}

/** Age after which a token is loaded again; kubelet rewrites the file well before the token expires. */
const TOKEN_MAX_AGE_MS = 60_000;

/**
 * Returns credentials that `load` provides. They are loaded again when older than 60 s, or with `fresh` (then `load`
 * must not use a cache of its own). Concurrent callers share one load. If a load fails while an older answer exists,
 * that answer is used: it may still be valid.
 */
export function refreshedCredentials(
  clock: Clock,
  load: (fresh: boolean) => Promise<Readonly<Record<string, string>>>,
): Credentials {
  let known: { headers: Readonly<Record<string, string>>; at: number } | undefined;
  let loading: Promise<Readonly<Record<string, string>>> | undefined;

  const reload = async (fresh: boolean) => {
    const headers = await load(fresh);
    known = { headers, at: clock.monotonic() };
    return headers;
  };

  return {
    async headers(options) {
      if (known && !options?.fresh && clock.monotonic() - known.at < TOKEN_MAX_AGE_MS) return known.headers;
      loading ??= reload(options?.fresh ?? false).finally(() => {
        loading = undefined;
      });
      try {
        return await loading;
      } catch (error) {
        if (known) return known.headers;
        throw error;
      }
    },
  };
}

/** Returns the credentials of a token file, such as a Pod's service account. */
export function tokenFileCredentials(clock: Clock, readToken: () => Promise<string>): Credentials {
  return refreshedCredentials(clock, async () => bearer(new Secret((await readToken()).trim())));
}

function bearer(token: Secret): Readonly<Record<string, string>> {
  return { authorization: `Bearer ${token.reveal()}` };
}
