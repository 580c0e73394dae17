import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { refusalOf } from '../../src/ui/server/request-guard.ts';
import { openDesk, type PageDesk } from './page-desk.ts';

/* The server of the page over plain HTTP, as another program or site of this machine reaches it. */

let desk: PageDesk;
let cookie: string;
beforeAll(async () => {
  desk = await openDesk([], {
    detail: (id) => {
      if (id === 'gpui/ml/forbidden') throw new Error('You may not read it.');
      return id === 'gpui/ml/trainer' ? { yaml: 'kind: GpuInstance\n', events: [] } : undefined;
    },
  });
  const { headers } = await send('POST', '/session', { body: JSON.stringify({ token: desk.token }) });
  cookie = String(headers['set-cookie']).split(';')[0] ?? '';
});
afterAll(() => desk.close());

interface Sent {
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly body?: string;
}

/** Sends a request as the page would, with these headers instead; undefined leaves one out. */
function send(method: string, path: string, { headers = {}, body }: Sent = {}) {
  const all = {
    host: `127.0.0.1:${desk.port}`,
    ...(method === 'POST' && { 'content-type': 'application/json', 'x-gpu-rent-page': '1' }),
    ...headers,
  };
  const given = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return new Promise<{ status: number; headers: Record<string, unknown>; text: string }>(
    (resolve, reject) => {
      const sent = request(
        { ...{ host: '127.0.0.1', port: desk.port, method, path }, headers: Object.fromEntries(given) },
        (reply) => {
          let text = '';
          const done = () => resolve({ status: reply.statusCode ?? 0, headers: reply.headers, text });
          reply.on('data', (chunk) => {
            text += String(chunk);
            // A stream does not end.
            if (text.includes('event: change')) sent.destroy();
          });
          reply.on('end', done);
          reply.on('close', done);
        },
      );
      sent.on('error', (error) => (sent.destroyed ? undefined : reject(error)));
      sent.end(body);
    },
  );
}

describe('a request of another site', () => {
  test.each<[string, string, string, Readonly<Record<string, string | undefined>>]>([
    ['with the Host of a name that resolves to this machine', 'GET', '/', { host: 'evil.example' }],
    ['with the Host of another port', 'GET', '/stream', { host: '127.0.0.1:1' }],
    ['without a port in its Host', 'GET', '/', { host: '127.0.0.1' }],
    ['with a foreign Origin', 'GET', '/stream', { origin: 'https://evil.example' }],
    ['with the Origin null of a sandboxed frame', 'GET', '/stream', { origin: 'null' }],
    ['with the Origin of another port', 'GET', '/stream', { origin: 'http://127.0.0.1:1' }],
    ['with https in its Origin', 'GET', '/stream', { origin: 'https://127.0.0.1:PORT' }],
    ['that the browser marks as cross-site', 'GET', '/stream', { 'sec-fetch-site': 'cross-site' }],
    ['that the browser marks as same-site', 'GET', '/object', { 'sec-fetch-site': 'same-site' }],
    ['that posts without the header of the page', 'POST', '/session', { 'x-gpu-rent-page': undefined }],
  ])('%s is refused with 403, also with the cookie', async (_, method, path, headers) => {
    const own = Object.entries(headers).map(([name, value]) => [
      name,
      value?.replace('PORT', String(desk.port)),
    ]);
    const { status } = await send(method, path, { headers: { cookie, ...Object.fromEntries(own) } });
    expect(status).toBe(403);
  });

  test('that posts a form is refused by its content type', async () => {
    for (const type of [
      'application/x-www-form-urlencoded',
      'text/plain',
      'multipart/form-data; boundary=a',
    ]) {
      const headers = { 'content-type': type };
      const { status } = await send('POST', '/session', { headers, body: '{"token":"a"}' });
      expect(status).toBe(415);
    }
  });

  test.each(['HEAD', 'PUT', 'DELETE', 'OPTIONS', 'TRACE'])('by %s is refused', async (method) => {
    expect((await send(method, '/session')).status).toBe(405);
  });

  test('may lead a person to the page, which is empty without the cookie', async () => {
    const headers = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' };
    const { status, text } = await send('GET', '/', { headers });
    expect(status).toBe(200);
    expect(text).not.toContain(desk.token);
  });
});

describe('access', () => {
  test.each(['/stream', '/object?kind=gpui&namespace=ml&name=trainer'])(
    '%s needs the cookie',
    async (path) => {
      expect((await send('GET', path)).status).toBe(401);
      expect((await send('GET', path, { headers: { cookie: `${cookie}x` } })).status).toBe(401);
      const name = cookie.split('=')[0];
      expect((await send('GET', path, { headers: { cookie: `${name}=${desk.token}` } })).status).toBe(401);
      expect((await send('GET', path, { headers: { cookie } })).status).toBe(200);
    },
  );

  test('gives a cookie for the token alone, which scripts and other sites do not get', async () => {
    for (const body of ['', '{}', '{"token":1}', '{"token":"a"}', 'x'.repeat(2_000), '[]', 'null'])
      expect((await send('POST', '/session', { body })).status).toBe(401);
    const { status, headers } = await send('POST', '/session', {
      body: JSON.stringify({ token: desk.token }),
    });
    expect(status).toBe(204);
    expect(String(headers['set-cookie'])).toMatch(
      new RegExp(`^gpu-rent-${desk.port}=[\\w-]{43}; HttpOnly; SameSite=Strict; Path=/$`),
    );
  });

  test('of one process is none of another', async () => {
    const other = await openDesk([]);
    const value = cookie.split('=')[1];
    const headers = { host: `127.0.0.1:${other.port}`, cookie: `gpu-rent-${other.port}=${value}` };
    const { status } = await fetch(`http://127.0.0.1:${other.port}/stream`, { headers });
    expect(status).toBe(401);
    await other.close();
  });

  test('is on the loopback address only', async () => {
    await expect(fetch(`http://[::1]:${desk.port}/`)).rejects.toThrow();
  });
});

describe('an answer', () => {
  test.each(['/', '/app.js', '/app.css', '/icon.svg', '/nothing'])('%s has a strict policy', async (path) => {
    const { headers } = await send('GET', path);
    const policy = String(headers['content-security-policy']);
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/unsafe|\*|https?:/);
    expect(headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
      'cross-origin-resource-policy': 'same-origin',
    });
    expect(headers['access-control-allow-origin']).toBeUndefined();
  });

  test('about an object is found by a valid name only', async () => {
    const read = (query: string) => send('GET', `/object?${query}`, { headers: { cookie } });
    expect((await read('kind=gpui&namespace=ml&name=trainer')).text).toContain('GpuInstance');
    for (const query of [
      'kind=secrets&namespace=ml&name=trainer',
      'kind=constructor&namespace=ml&name=trainer',
      'kind=gpui&namespace=ml&name=..%2F..%2Fsecrets',
      'kind=gpui&namespace=..&name=trainer',
      'kind=gpui&namespace=ml&name=other',
      '',
    ])
      expect((await read(query)).status).toBe(404);
  });

  test('about an object that may not be read has the reason', async () => {
    const { status, text } = await send('GET', '/object?kind=gpui&namespace=ml&name=forbidden', {
      headers: { cookie },
    });
    expect([status, text]).toEqual([502, 'You may not read it.']);
  });

  test('starts with all objects', async () => {
    const { text } = await send('GET', '/stream', { headers: { cookie } });
    expect(text).toMatch(/event: status\ndata: .*\n\nevent: change\ndata: \{"reset":true/);
  });
});

test('a script of the page itself is not refused', () => {
  const headers = {
    host: 'localhost:8090',
    origin: 'http://localhost:8090',
    'sec-fetch-site': 'same-origin',
    'sec-fetch-mode': 'cors',
  };
  expect(refusalOf({ method: 'GET', headers }, 8090)).toBeUndefined();
});
