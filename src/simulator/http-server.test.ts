import { once } from 'node:events';
import { Agent, request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Listening } from './http-server.ts';
import { createSimulator, type Simulator } from './simulator.ts';

let simulator: Simulator;
let server: Listening;
const bugs: unknown[] = [];

beforeAll(async () => {
  simulator = createSimulator({
    apiKey: 'k',
    catalog: 5,
    control: true,
    settings: { pauses: { scale: 0 } },
    onError: (error) => bugs.push(error),
  });
  server = await simulator.listen(0);
});
afterAll(async () => {
  await server.close();
  expect(bugs).toEqual([]);
});

const headers = { authorization: 'Bearer k', 'content-type': 'application/json' };

/** Sends one request on a raw socket; resolves with everything that came back before the end. */
async function raw(text: string, options: { keepOpen?: boolean } = {}): Promise<string> {
  const socket = connect(server.port, '127.0.0.1');
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  socket.on('error', () => undefined);
  socket.write(text);
  if (!options.keepOpen) socket.end();
  await once(socket, 'close');
  return Buffer.concat(chunks).toString();
}

describe('HTTP', () => {
  test('content type is application/json and nothing more, with the Date of simulated time', async () => {
    simulator.advance(86_400);
    const before = simulator.now();
    const reply = await fetch(`${server.url}/api/v0/users/current`, { headers });
    const after = simulator.now();
    expect(reply.headers.get('content-type')).toBe('application/json');
    const date = Date.parse(reply.headers.get('date') ?? '');
    // The header has whole seconds.
    expect(date).toBeGreaterThan(before - 1000);
    expect(date).toBeLessThanOrEqual(after);
    expect(before - Date.now()).toBeGreaterThan(86_000_000);
  });

  test.each([
    '/api/v0/instances',
    '/api/v0/instances/',
    '//api/v0/instances/',
    '/api/v0/instances/?owner=me',
  ])('answers %s without a redirect', async (path) => {
    const reply = await fetch(server.url + path, { headers, redirect: 'error' });
    expect(reply.status).toBe(200);
  });

  test('reads a body on GET and on DELETE', async () => {
    const id = Object.keys(simulator.world().tables.offers)[0];
    const rented = await fetch(`${server.url}/api/v0/asks/${id}/`, {
      method: 'PUT',
      headers,
      body: '{"image":"x"}',
    });
    const { new_contract } = (await rented.json()) as { new_contract: number };
    const text = (method: string, path: string, body: string): string =>
      `${method} ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer k\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    expect(await raw(text('GET', '/api/v0/bundles/', '{"limit":1}'))).toMatch(
      /^HTTP\/1.1 200[\s\S]*"offers":\[/,
    );
    const many = JSON.stringify({ instance_ids: [String(new_contract)] });
    expect(await raw(text('DELETE', '/api/v0/instances/', many))).toMatch(/"success":true/);
  });

  test('keeps connections open', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const ports = new Set<number | undefined>();
    for (let call = 0; call < 3; call += 1) {
      const sent = httpRequest(`${server.url}/api/v0/users/current`, { headers, agent });
      sent.end();
      const [reply] = await once(sent, 'response');
      ports.add(sent.socket?.localPort);
      reply.resume();
      await once(reply, 'end');
    }
    agent.destroy();
    expect(ports.size).toBe(1);
  });

  test.each([
    ['malformed JSON', '{"limit":', 400, 'bad_request'],
    ['a list', '[1,2]', 400, 'bad_request'],
    ['a text', '"limit"', 400, 'bad_request'],
    ['a prototype', '{"__proto__":{"a":1}}', 400, 'bad_request'],
    ['a nest', `${'{"a":'.repeat(500)}1${'}'.repeat(500)}`, 400, 'bad_request'],
  ])('%s as a body is refused', async (_name, body, status, error) => {
    const reply = await fetch(`${server.url}/api/v0/bundles/`, { method: 'POST', headers, body });
    expect(reply.status).toBe(status);
    expect(await reply.json()).toMatchObject({ success: false, error, msg: expect.any(String) });
  });

  test('a body above the limit is refused with 413', async () => {
    const body = JSON.stringify({ image: 'x'.repeat(1_100_000) });
    const reply = await fetch(`${server.url}/api/v0/bundles/`, { method: 'POST', headers, body });
    expect(reply.status).toBe(413);
    expect(await reply.json()).toMatchObject({ error: 'body_too_large', msg: expect.any(String) });
  });

  test('answers a client that sends far more than the limit, and serves its next request', async () => {
    const body = 'x'.repeat(20_000_000);
    const head = `POST /api/v0/bundles/ HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer k\r\nContent-Length: ${body.length}\r\n\r\n`;
    const next =
      'GET /api/v0/users/current HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer k\r\nConnection: close\r\n\r\n';
    const answers = await raw(head + body + next, { keepOpen: true });
    expect(answers.match(/HTTP\/1.1 \d+/g)).toEqual(['HTTP/1.1 413', 'HTTP/1.1 200']);
  });

  test.for([
    ['no method', 'FOO / HTTP/1.1\r\n\r\n', 400],
    ['a length that is no number', 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: abc\r\n\r\n', 400],
    ['headers without end', `GET / HTTP/1.1\r\nHost: x\r\nX: ${'a'.repeat(40_000)}\r\n\r\n`, 431],
  ] as const)('refuses a request of %s with error and msg', async ([_name, text, status]) => {
    const answer = await raw(text, { keepOpen: true });
    const [head = '', body = ''] = answer.split('\r\n\r\n');
    expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status} .*\r\nContent-Type: application/json\r\n`));
    expect(JSON.parse(body)).toEqual({
      success: false,
      error: expect.any(String),
      msg: expect.any(String),
    });
  });

  test.for([
    ['no Host', 'GET /api/v0/users/current HTTP/1.1\r\nConnection: close\r\n\r\n', 400, 'bad_request'],
    ['a tunnel', 'CONNECT example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n', 405, 'method_not_allowed'],
    [
      'an expectation that nobody knows',
      'GET /api/v0/users/current HTTP/1.1\r\nHost: x\r\nExpect: the-best\r\nConnection: close\r\n\r\n',
      417,
      'expectation_failed',
    ],
    [
      'a packed body',
      'POST /api/v0/bundles/ HTTP/1.1\r\nHost: x\r\nContent-Encoding: gzip\r\nConnection: close\r\nContent-Length: 3\r\n\r\nabc',
      415,
      'unsupported_media_type',
    ],
    [
      'a body that is announced too large',
      'POST /api/v0/bundles/ HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 9999999\r\n\r\n',
      413,
      'body_too_large',
    ],
  ] as const)('%s is refused by the head alone', async ([_name, text, status, error]) => {
    const answer = await raw(text, { keepOpen: true });
    const [head = '', body = ''] = answer.split('\r\n\r\n');
    expect(head).toMatch(
      new RegExp(`^HTTP/1.1 ${status} .*\r\n[\\s\\S]*content-type: application/json(\r\n|$)`, 'i'),
    );
    expect(JSON.parse(body)).toEqual({ success: false, error, msg: expect.any(String) });
  });

  test('answers 100 Continue when a client expects it', async () => {
    const head =
      'POST /api/v0/bundles/ HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer k\r\nExpect: 100-continue\r\nConnection: close\r\nContent-Length: 11\r\n\r\n';
    expect(await raw(`${head}{"limit":1}`, { keepOpen: true })).toMatch(
      /^HTTP\/1.1 100 Continue\r\n\r\nHTTP\/1.1 200 OK/,
    );
  });

  test('calls that follow one another without waiting are answered in order', async () => {
    const call = (path: string, last: boolean): string =>
      `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer k\r\n${last ? 'Connection: close\r\n' : ''}\r\n`;
    const sent =
      call('/api/v0/users/current', false) + call('/nothing', false) + call('/api/v0/instances', true);
    const answers = await raw(sent, { keepOpen: true });
    expect(answers.match(/HTTP\/1.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 404', 'HTTP/1.1 200']);
  });

  test('a body in chunks is read as one, on a target in absolute form too', async () => {
    const sent = `POST ${server.url}/api/v0/bundles/ HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer k\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n{"li\r\n7\r\nmit":1}\r\n0\r\n\r\n`;
    const [, body = ''] = (await raw(sent, { keepOpen: true })).split('\r\n\r\n');
    expect((JSON.parse(body) as { offers: unknown[] }).offers).toHaveLength(1);
  });

  const limit = (limits: object) =>
    fetch(`${server.url}/sim/world`, { method: 'PUT', body: JSON.stringify({ settings: { limits } }) });

  test('limits that are changed while it runs count from then on', async () => {
    await limit({ bodyBytes: 20 });
    const body = '{"limit":1,"nothing":"more than twenty bytes"}';
    const reply = await fetch(`${server.url}/api/v0/bundles/`, { method: 'POST', headers, body });
    await limit({ bodyBytes: 1_048_576 });
    expect(reply.status).toBe(413);
  });

  test('a slow body is cut', async () => {
    await limit({ bodyTimeoutSeconds: 0.3 });
    const head =
      'POST /api/v0/bundles/ HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer k\r\nContent-Length: 500\r\n\r\n{';
    expect(await raw(head, { keepOpen: true })).toMatch(/^HTTP\/1.1 408/);
    await limit({ bodyTimeoutSeconds: 10 });
  });

  test('a wrong key is 401 with the text that public clients know', async () => {
    for (const authorization of ['Bearer nobody', 'Bearer ', 'Basic k', 'k']) {
      const reply = await fetch(`${server.url}/api/v0/users/current/`, { headers: { authorization } });
      expect(reply.status).toBe(401);
      expect(await reply.json()).toMatchObject({ success: false, msg: 'Invalid user key' });
    }
  });

  test('the key may stand in the query, the header decides', async () => {
    const status = async (authorization: string | undefined, query: string): Promise<number> =>
      (
        await fetch(`${server.url}/api/v0/users/current${query}`, {
          headers: authorization ? { authorization } : {},
        })
      ).status;
    expect(await status(undefined, '?api_key=k')).toBe(200);
    expect(await status('Bearer k', '?api_key=wrong')).toBe(200);
    expect(await status('Bearer wrong', '?api_key=k')).toBe(401);
  });

  test('an unknown path is 404 and a wrong method 405, both with a message', async () => {
    const unknown = await fetch(`${server.url}/api/v0/nothing/`, { headers });
    expect([unknown.status, await unknown.json()]).toMatchObject([
      404,
      { error: 'not_found', msg: expect.any(String) },
    ]);
    const wrong = await fetch(`${server.url}/api/v0/bundles/`, { method: 'DELETE', headers });
    expect([wrong.status, await wrong.json()]).toMatchObject([405, { msg: expect.stringContaining('POST') }]);
    expect(wrong.headers.get('allow')).toContain('POST');
    expect(
      await raw(
        'GET /api/v0/instances/%zz/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer k\r\n\r\n',
      ),
    ).toMatch(/^HTTP\/1.1 4\d\d/);
  });

  test('reset-after breaks the connection although the rental happened', async () => {
    const before = Object.keys(simulator.world().tables.contracts).length;
    const id = Object.values(simulator.world().tables.offers).find((offer) => offer.rentedBy === null)?.id;
    await fetch(`${server.url}/sim/faults`, {
      method: 'POST',
      body: '{"name":"reset-after","endpoint":"rent"}',
    });
    const call = fetch(`${server.url}/api/v0/asks/${id}/`, { method: 'PUT', headers, body: '{"image":"x"}' });
    await expect(call).rejects.toThrow();
    expect(Object.keys(simulator.world().tables.contracts)).toHaveLength(before + 1);
  });

  test('slow-loris sends a byte a second', async () => {
    await fetch(`${server.url}/sim/faults`, {
      method: 'POST',
      body: '{"name":"slow-loris","endpoint":"list"}',
    });
    const reply = await fetch(`${server.url}/api/v0/instances/`, { headers });
    const reader = reply.body?.getReader();
    expect((await reader?.read())?.value).toHaveLength(1);
    await reader?.cancel();
  });
});
