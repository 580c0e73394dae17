import { z } from 'zod';
import { openAdminClient } from '../admin-client.ts';
import { readCaPem, type Site } from '../site.ts';
import { createDns, DNS_DEPLOYMENT } from './dns.ts';
import { NODE_NAME, type NodePlan } from './settings.ts';

const withConditions = z.object({
  status: z.object({
    conditions: z.array(z.object({ type: z.string(), status: z.string() })).optional(),
  }),
});

function has(object: unknown, condition: string): boolean {
  const { conditions = [] } = withConditions.safeParse(object).data?.status ?? {};
  return conditions.some(({ type, status }) => type === condition && status === 'True');
}

/** When a node was ready, and when the names of Services were answered: milliseconds after the question. */
export interface NodeTimes {
  readonly nodeReadyMs: number;
  readonly dnsReadyMs: number;
}

/**
 * Makes the DNS server, and resolves when the node is ready and Pods can look names up. `failure` says why nothing will
 * come of it any more, once that is known.
 */
export async function waitForNode(
  site: Site,
  { settings }: NodePlan,
  failure: () => string | undefined,
): Promise<NodeTimes> {
  const startedAt = performance.now();
  const credential = { type: 'token', token: site.adminToken } as const;
  const admin = openAdminClient({ url: site.url, caPem: readCaPem(site), credential });
  const wait = async (path: string, condition: string): Promise<number> => {
    const deadline = startedAt + READY_WITHIN_MS;
    for (;;) {
      const { body } = await admin.request({ method: 'GET', path, accept: [404] });
      if (has(body, condition)) return performance.now() - startedAt;
      const why = failure();
      if (why !== undefined) throw new Error(why);
      if (performance.now() > deadline)
        throw new Error(`${path} was not ${condition} within ${READY_WITHIN_MS / 1000} s`);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  };
  try {
    await createDns(admin, settings.network.dnsAddress);
    const nodeReadyMs = await wait(`/api/v1/nodes/${NODE_NAME}`, 'Ready');
    return { nodeReadyMs, dnsReadyMs: await wait(DNS_DEPLOYMENT, 'Available') };
  } finally {
    await admin.close();
  }
}

const READY_WITHIN_MS = 120_000;
