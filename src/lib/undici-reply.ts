import type { Dispatcher } from 'undici';
import { TransportError } from './transport.ts';

/** Set once a byte of the request may have left. */
export interface SentMark {
  sent: boolean;
}

/** undici starts a request right before its first byte is written: until then the server cannot have acted. */
export function marking(handler: Dispatcher.DispatchHandler, mark: SentMark): Dispatcher.DispatchHandler {
  return {
    onRequestStart(controller, context) {
      handler.onRequestStart?.(controller, context);
      if (!controller.aborted) mark.sent = true;
    },
    onRequestUpgrade: (...args) => handler.onRequestUpgrade?.(...args),
    onResponseStart: (...args) => handler.onResponseStart?.(...args),
    onResponseData: (...args) => handler.onResponseData?.(...args),
    onResponseEnd: (...args) => handler.onResponseEnd?.(...args),
    onResponseError: (...args) => handler.onResponseError?.(...args),
  };
}

/** Names as undici gives them, in lower case; a repeated header is joined by `, `. */
export function flatHeaders(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  const flat: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) flat[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  return flat;
}

/** The body as it arrives; where it breaks off, that is a {@link TransportError} of a request that was sent. */
export async function* bodyOf(
  body: AsyncIterable<Uint8Array>,
  brokenOff: (cause: unknown) => string,
): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } catch (cause) {
    throw new TransportError(brokenOff(cause), { sent: true, cause });
  }
}
