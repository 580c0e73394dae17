import type { Transport, TransportRequest, TransportResponse } from '../../lib/transport.ts';
import { printable } from '../output/printable.ts';
import { redactedBody } from './redaction.ts';

const MAX_BODY = 2_000;

/**
 * Shows each call and its reply as they go over the wire: method, address, bodies. Keys, codes and other
 * secrets are replaced; the Authorization header is named and never shown. Calls reject as those of `transport` do.
 */
export function explainingTransport(transport: Transport, print: (line: string) => void): Transport {
  return async (request) => {
    print(`> ${request.method} ${request.origin}${shownPath(request.path)}`);
    if (request.headers.authorization) print('> Authorization: Bearer [redacted]');
    if (request.body !== undefined) print(`> ${shownBody(request.body)}`);
    try {
      return shownReply(await transport(request), request, print);
    } catch (error) {
      print(`< no reply: ${error instanceof Error ? error.message : String(error)}`);
      throw error;
    }
  };
}

/** The reply passes through; what it was is said when its last byte has arrived. */
function shownReply(
  response: TransportResponse,
  request: TransportRequest,
  print: (line: string) => void,
): TransportResponse {
  async function* body(): AsyncGenerator<Uint8Array> {
    const chunks: Uint8Array[] = [];
    let size = 0;
    for await (const chunk of response.body) {
      size += chunk.length;
      if (size <= 1_000_000) chunks.push(chunk);
      yield chunk;
    }
    const text = Buffer.concat(chunks).toString('utf8');
    print(`< ${response.status} ${request.method} ${shownPath(request.path)} (${size} bytes)`);
    if (text !== '') print(`< ${shownBody(text)}`);
  }
  return { ...response, body: body(), destroy: () => response.destroy() };
}

function shownPath(path: string): string {
  return path.replace(/(api_key=)[^&]*/g, '$1[redacted]');
}

function shownBody(text: string): string {
  const shown = printable(redactedBody(text));
  return shown.length <= MAX_BODY ? shown : `${shown.slice(0, MAX_BODY)}… (${shown.length} characters)`;
}
