import {
  type Transport,
  TransportError,
  type TransportRequest,
  type TransportResponse,
} from '../lib/transport.ts';
import type { Answer } from './calls/answer.ts';
import type { Service } from './service.ts';

/** A transport that reaches the service without a socket. A given-up call is still carried out. */
export function inProcessTransport(service: Service): Transport {
  return async (request) => {
    request.signal?.throwIfAborted();
    const answer = service.answer({
      method: request.method,
      url: request.path,
      headers: lowerCased(request.headers),
      body: request.body,
      address: 'in-process',
      origin: request.origin,
    });
    if (!(answer instanceof Promise)) return responseOf(answer);
    return responseOf(await unlessAborted(answer, request));
  };
}

function lowerCased(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

function unlessAborted(answer: Promise<Answer>, request: TransportRequest): Promise<Answer> {
  const { signal } = request;
  if (!signal) return answer;
  return new Promise((resolve, reject) => {
    const onAbort = (): void =>
      reject(new TransportError('The caller gave up.', { sent: true, cause: signal.reason }));
    signal.addEventListener('abort', onAbort, { once: true });
    answer.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

function responseOf(answer: Answer): TransportResponse {
  if (answer.type === 'reset') {
    const message = answer.sent ? 'The connection was reset.' : 'The connection was refused.';
    throw new TransportError(message, { sent: answer.sent });
  }
  let destroyed = false;
  const isDestroyed = (): boolean => destroyed;
  return {
    status: answer.status,
    headers: answer.headers,
    body:
      answer.type === 'stream' ? until(answer.chunks, isDestroyed) : wholeUnless(isDestroyed, answer.body),
    destroy() {
      destroyed = true;
    },
  };
}

async function* wholeUnless(stopped: () => boolean, body: string | Uint8Array): AsyncIterable<Uint8Array> {
  if (!stopped()) yield typeof body === 'string' ? Buffer.from(body) : body;
}

async function* until(chunks: AsyncIterable<Uint8Array>, stopped: () => boolean): AsyncIterable<Uint8Array> {
  for await (const chunk of chunks) {
    if (stopped()) return;
    yield chunk;
  }
}
