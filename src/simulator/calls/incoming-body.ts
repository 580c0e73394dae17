import type { IncomingMessage } from 'node:http';
import { Refusal } from './refusal.ts';

/** Bounds of a body: bytes that are read before it is refused, and seconds that it may take. */
export interface BodyBounds {
  readonly bodyBytes: number;
  readonly bodyTimeoutSeconds: number;
}

/** How reading a body ended. `broken`: its sender is gone, nobody waits for an answer. */
export type BodyOutcome =
  | { readonly type: 'body'; readonly bytes: Uint8Array | undefined }
  | { readonly type: 'too-large' }
  | { readonly type: 'too-slow' }
  | { readonly type: 'broken' };

/** Reads a body to its end, its limit or its deadline; calls back once, at once where there is none. */
export function readIncomingBody(
  request: IncomingMessage,
  bounds: BodyBounds,
  done: (outcome: BodyOutcome) => void,
): void {
  if (hasNoBody(request)) {
    done({ type: 'body', bytes: undefined });
    return;
  }
  const limit = bounds.bodyBytes;
  const chunks: Buffer[] = [];
  let size = 0;
  let finished = false;
  const finish = (outcome: BodyOutcome): void => {
    if (finished) return;
    finished = true;
    clearTimeout(timer);
    done(outcome);
  };
  const timer = setTimeout(() => finish({ type: 'too-slow' }), bounds.bodyTimeoutSeconds * 1000);
  request.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size > limit) finish({ type: 'too-large' });
    else if (!finished) chunks.push(chunk);
  });
  request.on('end', () => finish({ type: 'body', bytes: Buffer.concat(chunks) }));
  request.on('error', () => finish({ type: 'broken' }));
  request.on('close', () => finish({ type: 'broken' }));
}

const hasNoBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] === undefined && (headers['content-length'] ?? '0') === '0';

/** Whether the body says itself that it is too large, before a byte of it came. */
export function isDeclaredTooLarge(request: IncomingMessage, bounds: BodyBounds): boolean {
  return Number(request.headers['content-length'] ?? 0) > bounds.bodyBytes;
}

/** What the sender of a body is told that was not read to its end. */
export function bodyRefusal(type: 'too-large' | 'too-slow', bounds: BodyBounds): Refusal {
  if (type === 'too-slow') return new Refusal(408, 'request_timeout', 'The body came too slowly.');
  return new Refusal(413, 'body_too_large', `The body is larger than ${bounds.bodyBytes} bytes.`);
}
