import { systemClock } from '../../lib/clock.ts';
import type { LogQuery } from '../../markets/vast/instances/instances.ts';
import { readResult } from '../../markets/vast/instances/results.ts';
import type { CommandContext } from '../command.ts';
import { failed, timedOut } from '../command-error.ts';
import type { MarketplaceSession } from '../sessions/marketplace-session.ts';

const MAX_BYTES = 64 * 1024 * 1024;

/** Reads the log of a machine. Rejects with exit code 4 if it does not arrive in time, else with the MarketplaceError. */
export async function readLog(
  { client, transport }: MarketplaceSession,
  { id, query }: { readonly id: string; readonly query: LogQuery },
  { signal }: CommandContext,
): Promise<string> {
  const answer = await client.instances.requestLogs(id, query);
  if (answer.resultUrl === undefined) return answer.message ?? '';
  const url = URL.parse(answer.resultUrl);
  if (!url) throw failed('The service names no address for the log.');
  const text = await readResult({ transport, clock: systemClock, url, maxBytes: MAX_BYTES, signal });
  if (text) return text;
  throw timedOut('The log did not arrive within 9 s.', 'Try again; the host may be slow or away.');
}
