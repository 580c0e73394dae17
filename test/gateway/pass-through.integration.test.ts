import { createHash } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type RequestListener, type Server } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../builders/until.ts';
import { type GatewayBench, gatewayBench, NAMESPACE } from './gateway-bench.ts';

let bench: GatewayBench;
beforeAll(async () => {
  bench = await gatewayBench();
});
afterAll(() => bench?.close());

const figuresOf = (group: string) => bench.picker.figures().find(({ name }) => name === group);

async function created(group: string): Promise<string> {
  await bench.createGroup(group);
  await until('the group is served', () => figuresOf(group));
  return `${bench.url}/${NAMESPACE}/${group}`;
}

/** RFC 6455, for short texts. */
const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const TEXT = 0x81;

/** Starts a websocket server that echoes each text. */
function echoServer(): Server {
  const server = createServer();
  server.on('upgrade', (request, socket) => {
    const key = createHash('sha1').update(`${request.headers['sec-websocket-key']}${GUID}`).digest('base64');
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-accept: ${key}\r\n\r\n`,
    );
    socket.on('data', (frame: Buffer) => {
      if (frame[0] !== TEXT) {
        socket.end();
        return;
      }
      const mask = frame.subarray(2, 6);
      const text = frame.subarray(6).map((byte, at) => byte ^ (mask[at % 4] ?? 0));
      socket.write(Buffer.concat([Buffer.from([TEXT, text.length]), text]));
    });
    socket.on('error', () => {});
  });
  return server;
}

async function echoed(socket: WebSocket, text: string): Promise<string> {
  const heard = new Promise<string>((resolve) => {
    socket.addEventListener('message', ({ data }) => resolve(String(data)), { once: true });
  });
  socket.send(text);
  return heard;
}

test('holds a websocket at zero, upgrades it when a worker comes, and cuts it not when that drains', async () => {
  const url = await created('sockets');
  const socket = new WebSocket(`${url.replace('http', 'ws')}/echo`);
  const opened = new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve);
    socket.addEventListener('error', reject);
  });
  await until('it waits', () => figuresOf('sockets')?.heldRequests === 1);
  await bench.publish('sockets', 'sockets-a', echoServer());
  await opened;
  expect(await echoed(socket, 'before')).toBe('before');
  await bench.drain('sockets-a');
  await until('the worker drains', () => figuresOf('sockets')?.readyWorkers === 0);
  expect(await echoed(socket, 'while it drains')).toBe('while it drains');
  expect(figuresOf('sockets')?.inFlightRequests).toBe(1);
  const closed = new Promise((resolve) => socket.addEventListener('close', resolve));
  socket.close();
  await closed;
  await until('it is over', () => figuresOf('sockets')?.inFlightRequests === 0);
});

test('passes the trace of a request on as the client wrote it', async () => {
  const url = await created('traced');
  let seen: IncomingHttpHeaders = {};
  await bench.publish('traced', 'traced-a', (request, response) => {
    seen = request.headers;
    response.end();
  });
  const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
  const tracestate = 'rojo=00f067aa0ba902b7,congo=t61rcWkgMzE';
  const baggage = 'userId=alice';
  expect((await fetch(url, { headers: { traceparent, tracestate, baggage } })).status).toBe(200);
  expect(seen).toMatchObject({ traceparent, tracestate, baggage });
});

test('serves each of 1,000 requests that were held at once', async () => {
  const url = await created('many');
  const replies = Array.from({ length: 1000 }, async (_, at) => {
    const reply = await fetch(`${url}/${at}`);
    return `${reply.status} ${await reply.text()}`;
  });
  await until('all of them wait', () => figuresOf('many')?.heldRequests === 1000);
  const says: RequestListener = (request, response) => response.end(request.url);
  await bench.publish('many', 'many-a', says);
  expect(await Promise.all(replies)).toEqual(Array.from({ length: 1000 }, (_, at) => `200 /${at}`));
  await until('none is left', () => figuresOf('many')?.inFlightRequests === 0);
  expect(await bench.wakes('many')).toHaveLength(1);
});

test('tries no other worker once the response began', async () => {
  const url = await created('cut');
  let asked = 0;
  const dies: RequestListener = (_, response) => {
    asked++;
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write('data: 1\n\n', () => setImmediate(() => response.destroy()));
  };
  await bench.publish('cut', 'cut-a', dies);
  await bench.publish('cut', 'cut-b', dies);
  await until('both are known', () => figuresOf('cut')?.readyWorkers === 2);
  const reply = await fetch(url, { method: 'POST', body: 'prompt' });
  expect(reply.status).toBe(200);
  await expect(reply.text()).rejects.toThrow('terminated');
  await until('it has ended', () => figuresOf('cut')?.inFlightRequests === 0);
  expect(asked).toBe(1);
});
