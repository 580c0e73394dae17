import { type Clock, sleep } from '../../../lib/clock.ts';
import { withDeadline } from '../../../lib/deadline.ts';
import type { Transport } from '../../../lib/transport.ts';
import { readOutput } from '../http/reply-body.ts';

/** Interval and number of reads of a result, as in the service's own clients: the host writes it during the wait. */
const POLL_EVERY_MS = 300;
const MAX_POLLS = 30;
const READ_TIMEOUT_MS = 30_000;

/** A result to read. */
export interface ResultRequest {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly url: URL;
  readonly maxBytes: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Returns the text behind a `result_url`, such as a log or the output of a command; empty if it stayed empty, and
 * undefined if none arrived within 9 s. It sends no credentials: the service chooses the address, which may belong to
 * anyone. Rejects with the transport's error, with UnreadableBody for a text above `maxBytes`, and with
 * DeadlineError if one read takes longer than 30 s.
 */
export async function readResult(request: ResultRequest): Promise<string | undefined> {
  let last: string | undefined;
  for (let poll = 0; poll < MAX_POLLS; poll += 1) {
    if (poll > 0) await sleep(request.clock, POLL_EVERY_MS, request.signal);
    last = await readOnce(request);
    if (last) return last;
  }
  return last;
}

/**
 * Reads the result once. The limit includes the body, and runs on the caller's clock: a timer of Node would keep
 * everything that waits for the reply in memory until it ends.
 */
function readOnce({ transport, clock, url, maxBytes, signal }: ResultRequest): Promise<string | undefined> {
  return withDeadline({ clock, limitMs: READ_TIMEOUT_MS, signal }, async (ends) => {
    const response = await transport({
      method: 'GET',
      origin: url.origin,
      path: `${url.pathname}${url.search}`,
      headers: { accept: 'text/plain, */*' },
      signal: ends,
    });
    if (response.status === 200) return readOutput(response, maxBytes);
    response.destroy();
    return undefined;
  });
}

/**
 * Returns the address of a result that a program may read unattended: on the service itself, or by https on a host with
 * a name. Undefined for any other, which could be a service inside the caller's own network.
 */
export function resultAddress(text: string | undefined, service: string): URL | undefined {
  const url = text === undefined ? null : URL.parse(text);
  if (!url) return undefined;
  if (url.origin === new URL(service).origin) return url;
  const isNamed = /[a-z]/i.test(url.hostname) && !url.hostname.startsWith('[') && url.hostname.includes('.');
  return url.protocol === 'https:' && isNamed ? url : undefined;
}
