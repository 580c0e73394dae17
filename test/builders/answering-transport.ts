import type { Transport, TransportRequest, TransportResponse } from '../../src/lib/transport.ts';

/** Scripted response of a service to one request. */
export type Script = (request: TransportRequest) => TransportResponse | Promise<TransportResponse>;

/** Transport that answers by script and records its requests. */
export interface AnsweringTransport {
  readonly transport: Transport;
  readonly requests: TransportRequest[];
  /** Answers for later requests, in order; the last one stays. */
  answer(...scripts: Script[]): void;
}

/** Answers each request by the next script; the last one answers all that follow. */
export function answeringTransport(...scripts: Script[]): AnsweringTransport {
  const requests: TransportRequest[] = [];
  let waiting = scripts;
  return {
    requests,
    answer(...next) {
      waiting = next;
    },
    transport: async (request) => {
      requests.push(request);
      const script = waiting.length > 1 ? waiting.shift() : waiting[0];
      if (!script) throw new Error(`nothing is scripted for ${request.method} ${request.path}`);
      return script(request);
    },
  };
}

/** Returns a script that replies with that body: text and bytes as they are, anything else as JSON. */
export function reply(body: unknown, status = 200, headers: Record<string, string> = {}): Script {
  return () => response(body, status, headers);
}

/** Returns a response with that body. */
export function response(
  body: unknown,
  status = 200,
  headers: Record<string, string> = {},
): TransportResponse {
  const bytes =
    body instanceof Uint8Array ? body : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  return {
    status,
    headers: { 'content-type': 'application/json', ...headers },
    body: chunks(bytes),
    destroy() {},
  };
}

/** Waits forever, even after the caller aborts. */
export const silence: Script = () => new Promise(() => {});

async function* chunks(...parts: Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* parts;
}
