import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PAGE_HEADER } from '../../src/ui/protocol.ts';
import { refusalOf } from '../../src/ui/server/request-guard.ts';
import { openDesk, type PageDesk } from './page-desk.ts';

/* The server of the page over plain HTTP, as another program or site of this machine reaches it. */

let desk: PageDesk;
let shown: Readonly<Record<string, string>>;
beforeAll(async () => {
  desk = await openDesk([], {
    detail: (id) => {
      if (id === 'gpui/ml/forbidden') throw new Error('You may not read it.');
      return id === 'gpui/ml/trainer' ? { yaml: 'kind: GpuInstance\n', events: [] } : undefined;
    },
  });
  shown = { [PAGE_HEADER]: desk.token };
});
afterAll(() => desk.close());

type Headers = Readonly<Record<string, string | undefined>>;

/** Sends a request without a token, with these headers; undefined leaves one out. */
function send(method: string, path: string, { headers = {} }: { readonly headers?: Headers } = {}) {
  const all = { host: `127.0.0.1:${desk.port}`, ...headers };
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
            if (text.includes('{"change":')) sent.destroy();
          });
          reply.on('end', done);
          reply.on('close', done);
        },
      );
      sent.on('error', (error) => (sent.destroyed ? undefined : reject(error)));
      sent.end();
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
  ])('%s is refused with 403, also with the token', async (_, method, path, headers) => {
    const own = Object.entries(headers).map(([name, value]) => [
      name,
      value?.replace('PORT', String(desk.port)),
    ]);
    const { status } = await send(method, path, { headers: { ...shown, ...Object.fromEntries(own) } });
    expect(status).toBe(403);
  });

  test.each(['HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'TRACE'])('by %s is refused', async (method) => {
    for (const path of ['/', '/stream', '/object'])
      expect((await send(method, path, { headers: shown })).status).toBe(405);
  });

  test('may lead a person to the page, which has no data by itself', async () => {
    const headers = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' };
    const { status, text } = await send('GET', '/', { headers });
    expect(status).toBe(200);
    expect(text).not.toContain(desk.token);
  });
});

describe('access', () => {
  test.each(['/stream', '/object?kind=gpui&namespace=ml&name=trainer'])(
    '%s needs the token as a header',
    async (path) => {
      const cookie = `${PAGE_HEADER}=${desk.token}; gpu-rent-${desk.port}=${desk.token}`;
      for (const headers of [
        {},
        { [PAGE_HEADER]: '' },
        { [PAGE_HEADER]: '1' },
        { [PAGE_HEADER]: `${desk.token}x` },
        { cookie },
        { authorization: `Bearer ${desk.token}` },
      ])
        expect((await send('GET', path, { headers })).status).toBe(401);
      expect((await send('GET', path, { headers: shown })).status).toBe(200);
      expect(desk.token).toMatch(/^[\w-]{43}$/);
    },
  );

  test('of one process is none of another', async () => {
    const other = await openDesk([]);
    const { status } = await fetch(`http://127.0.0.1:${other.port}/stream`, { headers: shown });
    expect(status).toBe(401);
    await other.close();
  });

  test('is not a cookie, which a browser would send to every port of this machine', async () => {
    for (const path of ['/', '/app.js', '/stream', '/object'])
      expect((await send('GET', path, { headers: shown })).headers['set-cookie']).toBeUndefined();
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
    const read = (query: string) => send('GET', `/object?${query}`, { headers: shown });
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
      headers: shown,
    });
    expect([status, text]).toEqual([502, 'You may not read it.']);
  });

  test('starts with all objects', async () => {
    const { text } = await send('GET', '/stream', { headers: shown });
    expect(text).toMatch(/^\{"status":.*\}\n\{"change":\{"reset":true/);
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
