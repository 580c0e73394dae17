import { until } from '../builders/until.ts';
import type { AdminClient } from './admin-client.ts';

/** Resolves once the API server serves the list at that path: for a moment after its definition is stored it does not. */
export async function untilServed(admin: AdminClient, path: string): Promise<void> {
  await until(`${path} is served`, async () => {
    const reply = await admin.request({ method: 'GET', path: `${path}?limit=1`, accept: [404, 429, 503] });
    return reply.status === 200;
  });
}
