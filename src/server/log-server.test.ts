import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { connect as connectTls } from 'node:tls';
import { afterEach, describe, expect, test } from 'vitest';
import { selfSigned } from '../../test/builders/self-signed.ts';
import { until } from '../../test/builders/until.ts';
import { createVirtualClock } from '../../test/builders/virtual-clock.ts';
import {
  type LogEvent,
  type LogRefusal,
  type LogRequest,
  type LogSink,
  logPiece,
} from '../reach/log-stream.ts';
import type { RunningServer } from './http-server.ts';
import { textPage } from './http-server.ts';
import { parseRequest, serveLogs } from './log-server.ts';
import type { Permission } from './path-access.ts';

const DAY = 86_400_000;
const newCertificate = () =>
  selfSigned({ notBefore: new Date(Date.now() - DAY), notAfter: new Date(Date.now() + DAY) });
const first = newCertificate();

const servers: RunningServer[] = [];
const clients: ClientRequest[] = [];
afterEach(async () => {
  for (const client of clients.splice(0)) client.destroy();
  for (const server of servers.splice(0)) await server.close();
});

/** Starts a server for the token `good`, whose logs the test writes. */
async function bench(refusal?: LogRefusal) {
  const clock = createVirtualClock();
  const asked: Permission[] = [];
  const streams: { readonly request: LogRequest; readonly sink: LogSink; isClosed: boolean }[] = [];
  const state = { isPermitted: true, certificate: first };
  const server = await serveLogs(
    {
      clock,
      certificate: async () => ({
        cert: Buffer.from(state.certificate.cert),
        key: Buffer.from(state.certificate.key),
      }),
      access: {
        refusal: async ({ authorization }, permission) => {
          asked.push(permission);
          if (authorization !== 'Bearer good') return textPage(401, 'Unauthorized\n');
          return state.isPermitted ? undefined : textPage(403, 'Forbidden: not any more.\n');
        },
      },
      open: (of, sink) => {
        if (refusal) return { type: 'refused', refusal };
        const stream = { request: of, sink, isClosed: false };
        streams.push(stream);
        return { type: 'open', close: () => (stream.isClosed = true) };
      },
    },
    { host: '127.0.0.1', port: 0 },
  );
  servers.push(server);
  const send = (event: LogEvent) => streams.at(-1)?.sink(logPiece(event));
  const get = (path: string, headers: Record<string, string> = {}, token = 'good') =>
    opened(`${server.url}${path}`, { authorization: `Bearer ${token}`, ...headers });
  return { clock, asked, streams, state, server, send, get };
}

/** Sends a request and returns what has arrived so far. */
function opened(url: string, headers: Record<string, string>, method = 'GET') {
  let text = '';
  let reply: IncomingMessage | undefined;
  let isOver = false;
  const { port } = new URL(url);
  // The path is sent as it is: a URL object would remove dot segments.
  const path = url.slice(url.indexOf('/', 8));
  const client = request({ host: '127.0.0.1', port, path, method, headers, ca: first.cert }, (response) => {
    reply = response;
    response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    response.on('end', () => (isOver = true));
    response.on('error', () => {});
  });
  client.on('error', () => {});
  client.end();
  clients.push(client);
  return {
    client,
    text: () => text,
    isOver: () => isOver,
    status: async () => {
      await until('a reply', async () => reply !== undefined);
      return reply?.statusCode;
    },
    reply: () => reply,
    over: () => until('the end of the reply', async () => isOver),
  };
}

const events = (text: string): readonly LogEvent[] =>
  text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line));

describe('the log of a machine', () => {
  test('is sent as it is, with the messages of the operator on lines of their own', async () => {
    const { get, send, asked } = await bench();
    const one = get('/log/team/trainer?follow=true');
    expect(await one.status()).toBe(200);
    expect(one.reply()?.headers).toMatchObject({
      'content-type': 'text/plain; charset=utf-8',
      'x-content-type-options': 'nosniff',
      'transfer-encoding': 'chunked',
    });
    send({ type: 'text', text: 'a\r\n0\r\n\r\nHTTP/1.1 500 No\r\n\u001b[31m\u0000 50 %' });
    send({ type: 'note', reason: 'Replaced', message: 'Runs on machine 8 now.' });
    send({ type: 'text', text: 'b\n' });
    send({ type: 'end', reason: 'Complete', message: 'End.' });
    await one.over();
    expect(one.text()).toBe(
      'a\r\n0\r\n\r\nHTTP/1.1 500 No\r\n\u001b[31m\u0000 50 %\n--- gpu-rent: Runs on machine 8 now.\nb\n',
    );
    expect(asked).toEqual([
      {
        ...{ group: 'gpurental.dev', resource: 'gpuinstances', subresource: 'log', verb: 'get' },
        ...{ namespace: 'team', name: 'trainer' },
      },
    ]);
  });

  test('is one JSON object for each event to a client that accepts it', async () => {
    const { get, send } = await bench();
    const one = get('/log/team/trainer?follow=true', { accept: 'application/x-ndjson' });
    await one.status();
    const sent: readonly LogEvent[] = [
      { type: 'text', text: '{"type":"end"}\n\u2028', position: '7.0_47DEQpj8HBS' },
      { type: 'note', reason: 'Waiting', message: 'It waits.' },
      { type: 'end', reason: 'Deleted', message: 'It is gone.' },
    ];
    for (const event of sent) send(event);
    await one.over();
    expect(events(one.text())).toEqual(sent);
  });

  test('passes a position and follow, and closes the stream of a client that goes away', async () => {
    const { get, streams } = await bench();
    const one = get('/log/team/trainer?since=7.0_47DEQpj8HBS&follow=true');
    await one.status();
    expect(streams[0]?.request).toEqual({
      ...{ namespace: 'team', name: 'trainer', since: '7.0_47DEQpj8HBS', follow: true },
    });
    one.client.destroy();
    await until('it is closed', async () => streams[0]?.isClosed === true);
  });

  test('that cannot be read is a failure for a request without follow', async () => {
    const { get, send, streams } = await bench();
    const one = get('/log/team/trainer');
    await until('a stream', async () => streams.length === 1);
    send({ type: 'end', reason: 'NotReadable', message: 'It cannot be read.' });
    expect(await one.status()).toBe(503);
    await one.over();
    expect(one.text()).toBe('It cannot be read.\n');
  });
});

describe('a follower', () => {
  test('that reads nothing gets a bounded number of bytes, then a message, and is disconnected', async () => {
    const { get, send, clock, streams } = await bench();
    const one = get('/log/team/trainer?follow=true', { accept: 'application/x-ndjson' });
    await one.status();
    one.reply()?.pause();
    const before = process.memoryUsage().rss;
    for (let at = 0; at < 2_000; at += 1) {
      send({ type: 'text', text: `${'x'.repeat(65_535)}\n` });
      if (at % 100 === 0) await new Promise(setImmediate);
    }
    // 131 MB were written for it.
    expect(process.memoryUsage().rss - before).toBeLessThan(80_000_000);
    await clock.advance(60_000);
    await new Promise((resolve) => setTimeout(resolve, 50));
    await clock.advance(60_000);
    await until('it is disconnected', async () => streams[0]?.isClosed === true);
  });

  test('that was slow receives the number of characters that it lost, and goes on', async () => {
    const { get, send } = await bench();
    const one = get('/log/team/trainer?follow=true', { accept: 'application/x-ndjson' });
    await one.status();
    one.reply()?.pause();
    for (let at = 0; at < 400; at += 1) {
      send({ type: 'text', text: 'y'.repeat(65_536) });
      if (at % 20 === 0) await new Promise(setImmediate);
    }
    one.reply()?.resume();
    const received = () => events(one.text().slice(0, one.text().lastIndexOf('\n') + 1));
    const shown = () =>
      received().filter((event) => event.type === 'text' && event.text.startsWith('y')).length;
    const lost = () =>
      received().reduce(
        (sum, event) =>
          sum + Number(/(\d+) characters/.exec(event.type === 'note' ? event.message : '')?.[1] ?? 0),
        0,
      );
    await until('every character is shown or counted', async () => {
      send({ type: 'text', text: 'z' });
      return lost() + shown() * 65_536 >= 400 * 65_536;
    });
    expect(shown()).toBeLessThan(400);
  });

  test('is disconnected within a minute when it may no longer read', async () => {
    const { get, clock, state, streams } = await bench();
    const one = get('/log/team/trainer?follow=true');
    await one.status();
    await clock.advance(60_000);
    expect([one.isOver(), one.text()]).toEqual([false, '']);
    state.isPermitted = false;
    await clock.advance(60_000);
    await one.over();
    expect(one.text()).toBe('--- gpu-rent: Forbidden: not any more.\n');
    await until('it is closed', async () => streams[0]?.isClosed === true);
  });
});

test('a quiet JSON stream has an empty line every minute', async () => {
  const { get, clock } = await bench();
  const one = get('/log/team/trainer?follow=true', { accept: 'application/x-ndjson' });
  await one.status();
  await clock.advance(60_000);
  await until('a line', async () => one.text() === '\n');
});

describe('a request', () => {
  test('without a valid token is refused, and the connection ends', async () => {
    const { get, streams } = await bench();
    const one = get('/log/team/trainer', {}, 'bad');
    expect(await one.status()).toBe(401);
    expect(one.reply()?.headers).toMatchObject({ 'www-authenticate': 'Bearer', connection: 'close' });
    expect(streams).toEqual([]);
  });

  test('to a replica that does not lead is to be repeated on a new connection', async () => {
    const { get } = await bench({ status: 503, message: 'Connect again.' });
    const one = get('/log/team/trainer?follow=true');
    expect(await one.status()).toBe(503);
    await one.over();
    expect(one.reply()?.headers).toMatchObject({ 'retry-after': '1', connection: 'close' });
    expect(one.text()).toBe('Connect again.\n');
  });

  test.each([
    ['/log/team/..%2Fother', 404],
    ['/log/team/../other/trainer', 404],
    ['/log/../metrics', 404],
    ['/log/team%2Fother/trainer', 404],
    ['/log/team/trainer/', 404],
    ['/log/team/trainer%00', 404],
    ['/log//trainer', 404],
    ['/log/team/..', 404],
    ['/log/./trainer', 404],
    ['/log/TEAM/trainer', 404],
    ['/log/team/a\\b', 404],
    ['/log/team/trainer?since=1?follow=true', 404],
    [`/log/${'a'.repeat(64)}/trainer`, 404],
    [`/log/team/${'a'.repeat(254)}`, 404],
    ['/metrics', 404],
    ['/', 404],
    [`/log/team/trainer?since=${'9'.repeat(900)}`, 400],
    [`/log/team/trainer?since=${'9'.repeat(9_000)}`, 414],
    ['/log/team/trainer?since=-1', 400],
    ['/log/team/trainer?since=', 400],
    ['/log/team/trainer?follow=yes', 400],
    ['/log/team/trainer?follow=true&follow=false', 400],
    ['/log/team/trainer?tail=5', 400],
  ])('for %s is refused before any review (%d)', async (path, status) => {
    const { get, asked } = await bench();
    expect(await get(path).status()).toBe(status);
    expect(asked).toEqual([]);
  });

  test('by another method is refused', async () => {
    const { server } = await bench();
    const one = opened(`${server.url}/log/team/trainer`, { authorization: 'Bearer good' }, 'POST');
    expect(await one.status()).toBe(405);
    expect(one.reply()?.headers).toMatchObject({ allow: 'GET' });
  });

  test('without TLS gets no reply', async () => {
    const { server, asked } = await bench();
    const failed = new Promise((resolve) => {
      httpRequest({ host: '127.0.0.1', port: new URL(server.url).port, path: '/log/team/trainer' })
        .on('error', resolve)
        .end();
    });
    expect(await failed).toBeInstanceOf(Error);
    expect(asked).toEqual([]);
  });
});

test('a renewed certificate serves new connections within a minute', async () => {
  const { clock, server, state } = await bench();
  const shown = () =>
    new Promise<string>((resolve, reject) => {
      const socket = connectTls(
        { host: '127.0.0.1', port: Number(new URL(server.url).port), rejectUnauthorized: false },
        () => {
          resolve(socket.getPeerX509Certificate()?.toString() ?? '');
          socket.destroy();
        },
      ).on('error', reject);
    });
  expect((await shown()).trim()).toBe(first.cert.trim());
  state.certificate = newCertificate();
  await clock.advance(60_000);
  await until('it is new', async () => (await shown()).trim() === state.certificate.cert.trim());
});

test.each([
  ['/log/a/b', { namespace: 'a', name: 'b', since: undefined, follow: false }],
  ['/log/a-1/b.c-d?follow=true', { namespace: 'a-1', name: 'b.c-d', since: undefined, follow: true }],
])('reads %s', (url, expected) => {
  expect(parseRequest({ method: 'GET', url })).toEqual(expected);
});
