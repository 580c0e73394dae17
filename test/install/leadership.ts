import * as z from 'zod';
import type { AdminClient } from '../cluster/admin-client.ts';

const lease = z.object({
  spec: z.object({
    holderIdentity: z.string().nullish(),
    renewTime: z.string().nullish(),
    leaseDurationSeconds: z.number().nullish(),
  }),
});

/** Current leader, from the Lease. */
export interface Leadership {
  /** Undefined if the last leader gave it up and no other has taken it yet. */
  readonly holder: string | undefined;
  /** The Pod's name, which the identity begins with. */
  readonly pod: string | undefined;
  /** Time since the last renewal. */
  readonly ageMs: number;
  /** For how long the others wait after a renewal. */
  readonly durationMs: number;
}

/** Returns true if the lease has a holder and has not expired: other processes may then not take over. */
export function isInForce({ holder, ageMs, durationMs }: Leadership): boolean {
  return holder !== undefined && ageMs <= durationMs;
}

/** Reads the Lease of that namespace and name; rejects if there is none. */
export async function readLeadership(
  admin: AdminClient,
  { namespace, name }: { readonly namespace: string; readonly name: string },
): Promise<Leadership> {
  const path = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/${name}`;
  const { spec } = lease.parse((await admin.request({ method: 'GET', path })).body);
  const holder = spec.holderIdentity || undefined;
  return {
    holder,
    pod: holder?.split('_')[0],
    ageMs: spec.renewTime ? Date.now() - Date.parse(spec.renewTime) : Number.POSITIVE_INFINITY,
    durationMs: (spec.leaseDurationSeconds ?? 0) * 1000,
  };
}

/** Observations during another operation. */
export interface LeadershipSeen {
  readonly holders: readonly string[];
  /** The longest time without a leader whose lease is in force; one that ends gives its lease back at once. */
  readonly longestGapMs: number;
  readonly samples: number;
}

/** Reads the Lease every 50 ms until `work` has ended. Rejects as `work` does. */
export async function watchLeadership(
  read: () => Promise<Leadership>,
  work: () => Promise<unknown>,
): Promise<LeadershipSeen> {
  let done = false;
  const working = work().finally(() => {
    done = true;
  });
  working.catch(() => {});
  const holders: string[] = [];
  let longestGapMs = 0;
  let ledAt = performance.now();
  let samples = 0;
  while (!done) {
    const leadership = await read();
    samples += 1;
    const now = performance.now();
    if (isInForce(leadership)) ledAt = now;
    else longestGapMs = Math.max(longestGapMs, now - ledAt);
    const { holder } = leadership;
    if (holder !== undefined && holder !== holders.at(-1)) holders.push(holder);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  await working;
  return { holders, longestGapMs, samples };
}
