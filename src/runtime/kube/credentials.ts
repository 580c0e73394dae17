import type { Clock } from '../../lib/clock.ts';
import { Secret } from '../../lib/secret.ts';

/** Who this process is to the API server. */
export interface Credentials {
  /** Header fields of a request. `fresh` asks again what would otherwise be remembered, after a 401. */
  headers(options?: { readonly fresh?: boolean }): Promise<Readonly<Record<string, string>>>;
}

export function tokenCredentials(token: Secret): Credentials {
  return { headers: async () => bearer(token) };
}

/** A token is asked for again when it is older than this; kubelet rewrites the file well before it ends. */
const TOKEN_MAX_AGE_MS = 60_000;

/**
 * Credentials that `load` gives and that are loaded again when older than 60 s, or when `fresh` is asked for (then
 * `load` must not answer from a memory of its own).
 * Callers that ask at the same time share one load; a load that fails while an older answer is at hand is
 * forgiven, since that answer may still be good.
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

/** Credentials of a token file, such as a pod's service account. */
export function tokenFileCredentials(clock: Clock, readToken: () => Promise<string>): Credentials {
  return refreshedCredentials(clock, async () => bearer(new Secret((await readToken()).trim())));
}

function bearer(token: Secret): Readonly<Record<string, string>> {
  return { authorization: `Bearer ${token.reveal()}` };
}
