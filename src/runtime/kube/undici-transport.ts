import { X509Certificate } from 'node:crypto';
import { type Dispatcher, request as send } from 'undici';
import { createEgress, type ProxySettings } from '../../lib/egress-proxy.ts';
import {
  bodyOf,
  flatHeaders,
  marking,
  type SentMark,
  type Transport,
  TransportError,
  type TransportRequest,
  type TransportResponse,
} from '../../lib/transport.ts';

export interface TlsOptions {
  /** PEM of the authorities to trust instead of the system's. */
  readonly ca?: string | Buffer | undefined;
  readonly cert?: string | Buffer | undefined;
  readonly key?: string | Buffer | undefined;
  readonly servername?: string | undefined;
  /** Accepts any certificate: only if a kubeconfig sets `insecure-skip-tls-verify`. */
  readonly insecure?: boolean | undefined;
}

export interface TransportOptions extends TlsOptions {
  /** Sockets per origin; a watch occupies one of them. Default 64. */
  readonly connections?: number | undefined;
  /** Default 10 s. */
  readonly connectTimeoutMs?: number | undefined;
  /** Proxy of the connections; without it they are direct. */
  readonly proxy?: ProxySettings | undefined;
  /**
   * Headers of every request. A list is sent as repeated fields of one name, which the groups of an impersonation need.
   */
  readonly headers?: Readonly<Record<string, string | readonly string[]>> | undefined;
}

/** A {@link Transport} that can be closed: running requests then fail. */
export type ClosableTransport = Transport & { close(): Promise<void> };

const marks = new WeakMap<object, SentMark>();

/**
 * Creates an HTTP/1.1 transport with one pool of kept-alive sockets per origin. It sets no deadline for replies:
 * callers abort by their signal, which takes effect at once, also while connecting. It follows no redirects and retries
 * nothing.
 */
export function createTransport(options: TransportOptions = {}): ClosableTransport {
  const tls = tlsSettings(options);
  const connectTimeoutMs = options.connectTimeoutMs ?? 10_000;
  const agent = {
    connections: options.connections ?? 64,
    pipelining: 1,
    allowH2: false,
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: 60_000,
    connect: { ...tls, timeout: connectTimeoutMs },
  };
  const egress = createEgress({ agent, tls, connectTimeoutMs, proxy: options.proxy });
  const dispatcher = egress.dispatcher.compose((dispatch) => (dispatched, handler) => {
    const mark = markOf(dispatched);
    return dispatch(dispatched, mark ? marking(handler, mark) : handler);
  });
  const transport: Transport = (request) =>
    exchange(dispatcher, { ...request, headers: { ...request.headers, ...options.headers } });
  return Object.assign(transport, { close: () => egress.destroy() });
}

function tlsSettings({ ca, cert, key, servername, insecure }: TlsOptions) {
  return {
    rejectUnauthorized: insecure !== true,
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
    ...(servername !== undefined && { servername }),
  };
}

function markOf(dispatched: Dispatcher.DispatchOptions): SentMark | undefined {
  const opaque = 'opaque' in dispatched ? dispatched.opaque : undefined;
  return typeof opaque === 'object' && opaque !== null ? marks.get(opaque) : undefined;
}

type Outgoing = Omit<TransportRequest, 'headers'> & {
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
};

async function exchange(dispatcher: Dispatcher, request: Outgoing): Promise<TransportResponse> {
  const mark: SentMark = { sent: false };
  marks.set(mark, mark);
  try {
    request.signal?.throwIfAborted();
    const reply = send(request.origin + request.path, {
      dispatcher,
      opaque: mark,
      method: request.method as Dispatcher.HttpMethod,
      headers: request.headers as Record<string, string | string[]>,
      ...(request.body !== undefined && { body: request.body }),
      ...(request.signal && { signal: request.signal }),
    });
    return responseOf(await endedByAbort(reply, request.signal));
  } catch (cause) {
    throw new TransportError(`No reply from ${request.origin}: ${messageOf(cause)}`, {
      sent: mark.sent,
      cause,
    });
  }
}

/** Rejects when the signal is aborted: undici notices an abort only when it has a socket. */
function endedByAbort(
  reply: Promise<Dispatcher.ResponseData<object>>,
  signal: AbortSignal | undefined,
): Promise<Dispatcher.ResponseData<object>> {
  if (!signal) return reply;
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    reply.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

function responseOf(reply: Dispatcher.ResponseData<object>): TransportResponse {
  return {
    status: reply.statusCode,
    headers: flatHeaders(reply.headers),
    body: bodyOf(reply.body, (cause) => `The reply broke off: ${messageOf(cause)}`),
    destroy() {
      reply.body.on('error', () => {}).destroy();
    },
  };
}

function messageOf(cause: unknown): string {
  return cause instanceof Error && cause.message !== '' ? cause.message : String(cause);
}

/** Returns true if a PEM text is one certificate that can be parsed. */
export function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).raw.byteLength > 0;
  } catch {
    return false;
  }
}
