import * as z from 'zod';
import type { AdminClient } from '../cluster/admin-client.ts';

const lease = z.object({ spec: z.object({ holderIdentity: z.string().nullish() }) });

/** Who leads, as the Lease has it. */
export interface Leadership {
  /** Undefined if the last leader gave it up and no other has taken it yet. */
  readonly holder: string | undefined;
  /** The Pod's name, which the identity begins with. */
  readonly pod: string | undefined;
}

/** Reads the Lease of that namespace and name; rejects if there is none. */
export async function readLeadership(
  admin: AdminClient,
  { namespace, name }: { readonly namespace: string; readonly name: string },
): Promise<Leadership> {
  const path = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/${name}`;
  const { spec } = lease.parse((await admin.request({ method: 'GET', path })).body);
  const holder = spec.holderIdentity || undefined;
  return { holder, pod: holder?.split('_')[0] };
}
