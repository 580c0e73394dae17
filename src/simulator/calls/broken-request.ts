import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { JSON_TYPE } from './answer.ts';
import { Refusal } from './refusal.ts';

/** What a request that is no HTTP is told, by the code of Node's parser; 400 for every other. */
const REFUSALS: ReadonlyMap<unknown, Refusal> = new Map([
  ['HPE_HEADER_OVERFLOW', new Refusal(431, 'headers_too_large', 'The headers are too large.')],
  ['ERR_HTTP_REQUEST_TIMEOUT', new Refusal(408, 'request_timeout', 'The request came too slowly.')],
]);

/** Answers what never became a request: every error has a body with `error` and `msg`, this one too. */
export function answerBrokenRequest(error: Error, socket: Duplex): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const code = 'code' in error ? error.code : undefined;
  endWith(socket, REFUSALS.get(code) ?? new Refusal(400, 'bad_request', 'This is not an HTTP/1.1 request.'));
}

/** CONNECT asks for a tunnel, and this is no proxy. The server has let go of the socket: it is ours to close. */
export function refuseTunnel(socket: Duplex): void {
  socket.on('error', () => socket.destroy());
  socket.on('finish', () => socket.destroy());
  endWith(socket, new Refusal(405, 'method_not_allowed', 'This is no proxy: CONNECT is not served.'));
}

function endWith(socket: Duplex, refusal: Refusal): void {
  const body = JSON.stringify({ success: false, error: refusal.code, msg: refusal.message });
  const head = [
    `HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status]}`,
    `Content-Type: ${JSON_TYPE}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}
