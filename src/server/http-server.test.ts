import { connect } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { healthPage, jsonPage, type Pages, type RunningServer, servePages, textPage } from './http-server.ts';

const servers: RunningServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

async function serve(pages: Pages): Promise<string> {
  const server = await servePages(pages, { host: '127.0.0.1', port: 0 });
  servers.push(server);
  return server.url;
}

const hello: Pages = { '/hello': () => textPage(200, 'hello\n') };

describe('pages', () => {
  test('are rendered for each request, whatever the query', async () => {
    let asked = 0;
    const url = await serve({ '/count': () => textPage(200, String(++asked)) });
    expect(await (await fetch(`${url}/count`)).text()).toBe('1');
    expect(await (await fetch(`${url}/count?x=1`)).text()).toBe('2');
  });

  test('a path that is not there names those that are', async () => {
    const reply = await fetch(`${await serve(hello)}/other`);
    expect([reply.status, await reply.text()]).toEqual([404, 'no such page; there are: /hello\n']);
  });

  test('names of Object.prototype are no pages', async () => {
    expect((await fetch(`${await serve(hello)}/constructor`)).status).toBe(404);
  });

  test('only GET and HEAD are taken', async () => {
    const url = await serve(hello);
    const post = await fetch(`${url}/hello`, { method: 'POST', body: 'x' });
    expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
    const head = await fetch(`${url}/hello`, { method: 'HEAD' });
    expect([head.status, head.headers.get('content-length'), await head.text()]).toEqual([200, '6', '']);
  });

  test('a page that cannot be made says only that', async () => {
    const url = await serve({
      '/bad': () => {
        throw new Error('with a secret in it');
      },
    });
    const reply = await fetch(`${url}/bad`);
    expect([reply.status, await reply.text()]).toEqual([500, 'the page could not be created\n']);
  });

  test('end at once, also if a client is in the middle of a request', async () => {
    const server = await servePages(hello, { host: '127.0.0.1', port: 0 });
    const half = connect(Number(new URL(server.url).port), '127.0.0.1');
    let heard = '';
    half
      .on('error', () => {})
      .on('data', (chunk) => {
        heard += String(chunk);
      });
    const ended = new Promise((resolve) => half.on('close', resolve));
    await new Promise<void>((resolve) => half.write('GET /hello HTTP/1.1\r\nhost:', () => resolve()));
    await expect(fetch(`${server.url}/hello`)).resolves.toMatchObject({ status: 200 });
    await server.close();
    await ended;
    // A request that exceeds its time gets an answer before the connection closes.
    expect(heard).toBe('');
  });

  test('an address that is taken is an error', async () => {
    const { port } = new URL(await serve(hello));
    await expect(servePages(hello, { host: '127.0.0.1', port: Number(port) })).rejects.toThrow('EADDRINUSE');
  });
});

describe('health', () => {
  test('is 200 while every check holds', () => {
    expect(healthPage([{ name: 'caches', problem: () => undefined }])).toMatchObject({
      status: 200,
      body: '[+]caches ok\ncheck passed\n',
    });
  });

  test('is 503 and says what is wrong where one does not', () => {
    const checks = [
      { name: 'caches', problem: () => undefined },
      { name: 'identity', problem: () => 'it is lost' },
    ];
    expect(healthPage(checks)).toMatchObject({
      status: 503,
      body: '[+]caches ok\n[-]identity failed: it is lost\ncheck failed\n',
    });
  });
});

describe('what is posted to a path', () => {
  const post = async (body: string, path = '/in', headers: Record<string, string> = {}) => {
    const server = await servePages(
      hello,
      { host: '127.0.0.1', port: 0 },
      {
        '/in': {
          maxBytes: 20,
          refusal: ({ authorization }) => (authorization === 'no' ? textPage(401, 'no\n') : undefined),
          take: (given) => jsonPage(Array.isArray(given) ? 503 : 200, { given }),
        },
      },
    );
    servers.push(server);
    const reply = await fetch(`${server.url}${path}`, { method: 'POST', body, headers });
    return { reply, said: [reply.status, (await reply.text()).trim()] };
  };

  test('is taken as JSON, and answered in JSON', async () => {
    const { reply, said } = await post('{"a": 1}');
    expect(said).toEqual([200, '{"given":{"a":1}}']);
    expect(reply.headers.get('content-type')).toBe('application/json');
    expect(reply.headers.get('connection')).not.toBe('close');
  });

  test.each<[string, string, string, Record<string, string>, number]>([
    ['is refused when it is no JSON', '{', '/in', {}, 400],
    ['is refused when it is longer than it may be', `"${'x'.repeat(20)}"`, '/in', {}, 413],
    ['is refused by its head', '{"a": 1}', '/in', { authorization: 'no' }, 401],
    ['is not taken at another path', '{}', '/hello', {}, 405],
  ])('%s', async (_, body, path, headers, status) => {
    expect((await post(body, path, headers)).said[0]).toBe(status);
  });

  test('ends the connection when it is not taken, so that the next one may meet another replica', async () => {
    const { reply, said } = await post('[]');
    expect([...said, reply.headers.get('connection')]).toEqual([503, '{"given":[]}', 'close']);
  });

  test('is no page', async () => {
    const { reply } = await post('{}');
    const read = await fetch(reply.url);
    expect([read.status, await read.text()]).toEqual([404, 'no such page; there are: /hello\n']);
  });
});
