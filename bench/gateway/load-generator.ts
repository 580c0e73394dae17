/**
 * A process that sends requests: a plan comes as a message, its result goes back as one. It is undici, which is a
 * dependency already and tells the latency and the end of each request; `wrk` would take less of the processor, but has
 * to be installed, keeps a fixed number of connections and cannot replay a trace.
 */
import { Pool } from 'undici';
import {
  type Arrival,
  type Kind,
  type LoadPlan,
  type LoadResult,
  percentilesOf,
  type Target,
} from './load.ts';

/** A request may wait for a worker for minutes. */
const NO_LIMIT = { headersTimeout: 0, bodyTimeout: 0 } as const;
const HEADERS = { 'content-type': 'application/json' } as const;
/** Maximum number of characters kept of an unexpected body. */
const MAX_PROBLEM = 200;
const STREAM_END = Buffer.from('[DONE]');

process.on('message', (plan: LoadPlan) => {
  void run(plan).then(
    (result) => process.send?.({ result }),
    (error: unknown) => process.send?.({ error: String(error) }),
  );
});
process.on('disconnect', () => process.exit());
process.send?.({ ready: true });

async function run(plan: LoadPlan): Promise<LoadResult> {
  const connections = plan.type === 'closed' ? plan.connections : null;
  const pool = new Pool(plan.target.origin, { ...NO_LIMIT, connections, pipelining: 1 });
  const tally = new Tally();
  const begun = performance.now();
  try {
    if (plan.type === 'closed') await closedLoop(plan, pool, tally);
    else await openLoop(plan, pool, tally);
    return tally.result((performance.now() - begun) / 1000);
  } finally {
    await pool.destroy();
  }
}

async function closedLoop(
  { target, connections, seconds, kind }: Extract<LoadPlan, { type: 'closed' }>,
  pool: Pool,
  tally: Tally,
): Promise<void> {
  const end = performance.now() + seconds * 1000;
  const body = bodyOf(kind);
  const connection = async (): Promise<void> => {
    while (performance.now() < end) await send(pool, target, { kind, body }, tally);
  };
  await Promise.all(Array.from({ length: connections }, connection));
}

async function openLoop(
  { target, arrivals }: Extract<LoadPlan, { type: 'open' }>,
  pool: Pool,
  tally: Tally,
): Promise<void> {
  const begun = performance.now();
  const sent: Promise<void>[] = [];
  for (const arrival of arrivals) {
    const restMs = begun + arrival.atMs - performance.now();
    if (restMs > 0) await new Promise((resolve) => setTimeout(resolve, restMs));
    sent.push(send(pool, target, { kind: arrival, body: bodyOf(arrival) }, tally));
  }
  await Promise.all(sent);
}

function bodyOf({ stream, tokens }: Kind | Arrival): string {
  const messages = [{ role: 'user', content: 'How fast is this?' }];
  return JSON.stringify({ model: 'bench', messages, max_tokens: tokens, stream });
}

interface Sent {
  readonly kind: Kind;
  readonly body: string;
}

/** Resolves when the request has ended, however it did. */
function send(pool: Pool, { prefix, workHeader }: Target, { kind, body }: Sent, tally: Tally): Promise<void> {
  const begun = performance.now();
  let status = 0;
  let isWhole = !kind.stream;
  let problem = '';
  tally.sent(kind.tokens);
  const headers = workHeader === undefined ? HEADERS : { ...HEADERS, [workHeader]: String(kind.tokens) };
  return new Promise((resolve) => {
    pool.dispatch(
      { method: 'POST', path: `${prefix}/v1/chat/completions`, headers, body },
      {
        onRequestStart() {},
        onResponseStart(_controller, code) {
          status = code;
        },
        onResponseData(_controller, chunk) {
          if (status !== 200) problem += chunk.toString('utf8', 0, MAX_PROBLEM);
          else if (!isWhole) isWhole = chunk.includes(STREAM_END);
        },
        onResponseEnd() {
          if (status !== 200) tally.failed(`status ${status} ${problem}`.trim());
          else if (isWhole) tally.ok(performance.now() - begun);
          else tally.failed('cut');
          resolve();
        },
        onResponseError(_controller, error) {
          tally.failed(status === 200 ? 'cut' : codeOf(error));
          resolve();
        },
      },
    );
  });
}

function codeOf(error: Error): string {
  return 'code' in error ? String(error.code) : error.message;
}

class Tally {
  readonly #latencies: number[] = [];
  readonly #failures = new Map<string, number>();
  #sent = 0;
  #tokens = 0;

  sent(tokens: number): void {
    this.#sent += 1;
    this.#tokens += tokens;
  }

  ok(latencyMs: number): void {
    this.#latencies.push(latencyMs);
  }

  failed(how: string): void {
    this.#failures.set(how, (this.#failures.get(how) ?? 0) + 1);
  }

  result(seconds: number): LoadResult {
    return {
      sent: this.#sent,
      ok: this.#latencies.length,
      failures: Object.fromEntries(this.#failures),
      seconds,
      tokens: this.#tokens,
      latencyMs: percentilesOf(this.#latencies),
    };
  }
}
