import {
  type Transport,
  TransportError,
  type TransportRequest,
  type TransportResponse,
} from '../../src/lib/transport.ts';

/** A request that waits for the test to answer it. */
export interface ScriptedRequest {
  readonly request: TransportRequest;
  readonly url: URL;
  /** True if the caller has aborted it. */
  readonly aborted: boolean;
  /** Answers with the whole body: text as it is, anything else as JSON. */
  reply(status: number, body?: unknown, headers?: Record<string, string>): void;
  /** Answers with a body that the test writes. */
  stream(status?: number): ScriptedBody;
  /** Fails the request without a response. `sent` false: no byte was sent. */
  fail(options?: { sent: boolean }): void;
}

export interface ScriptedBody {
  /** Sends text as it is, anything else as one line of JSON. */
  push(chunk: unknown): void;
  end(): void;
  /** Breaks the connection. */
  fail(): void;
  readonly destroyed: boolean;
}

/** A network whose other side is the test. */
export interface ScriptedTransport {
  readonly transport: Transport;
  /** All requests, oldest first. */
  readonly requests: readonly TransportRequest[];
  /** Returns the oldest request that was not taken; throws if there is none. */
  take(): ScriptedRequest;
  /** Returns the number of requests that were not taken. */
  waiting(): number;
}

export function createScriptedTransport(): ScriptedTransport {
  const requests: TransportRequest[] = [];
  const waiting: ScriptedRequest[] = [];
  const transport: Transport = (request) => {
    requests.push(request);
    return new Promise((resolve, reject) => {
      const sentError = (sent: boolean) => new TransportError('scripted failure', { sent });
      request.signal?.addEventListener('abort', () => reject(sentError(true)), { once: true });
      waiting.push({
        request,
        url: new URL(request.origin + request.path),
        get aborted() {
          return request.signal?.aborted ?? false;
        },
        reply(status, body = '', headers = {}) {
          const scripted = createBody(request.signal);
          if (body !== '') scripted.body.push(typeof body === 'string' ? body : JSON.stringify(body));
          scripted.body.end();
          resolve(responseOf(status, headers, scripted));
        },
        stream(status = 200) {
          const scripted = createBody(request.signal);
          resolve(responseOf(status, {}, scripted));
          return scripted.body;
        },
        fail: ({ sent } = { sent: true }) => reject(sentError(sent)),
      });
    });
  };
  return {
    transport,
    requests,
    take() {
      const next = waiting.shift();
      if (!next) throw new Error('Nothing was asked of the API server');
      return next;
    },
    waiting: () => waiting.length,
  };
}

type Body = ReturnType<typeof createBody>;

function responseOf(
  status: number,
  headers: Record<string, string>,
  { body, iterate, destroy }: Body,
): TransportResponse {
  void body;
  return { status, headers, body: { [Symbol.asyncIterator]: iterate }, destroy };
}

function createBody(signal: AbortSignal | undefined) {
  const chunks: Uint8Array[] = [];
  let state: 'open' | 'ended' | 'failed' | 'destroyed' = 'open';
  let wake = () => {};
  const become = (next: typeof state) => {
    if (state === 'open') state = next;
    wake();
  };
  signal?.addEventListener('abort', () => become('failed'), { once: true });

  async function* iterate(): AsyncGenerator<Uint8Array> {
    for (;;) {
      const chunk = chunks.shift();
      if (chunk) yield chunk;
      else if (state === 'failed') throw new TransportError('scripted break', { sent: true });
      else if (state !== 'open') return;
      else
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    }
  }
  const body: ScriptedBody = {
    push(chunk) {
      const text = typeof chunk === 'string' ? chunk : `${JSON.stringify(chunk)}\n`;
      chunks.push(Buffer.from(text));
      wake();
    },
    end: () => become('ended'),
    fail: () => become('failed'),
    get destroyed() {
      return state === 'destroyed' || state === 'failed';
    },
  };
  return { body, iterate, destroy: () => become('destroyed') };
}
