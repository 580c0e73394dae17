import { connect } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { healthPage, type Pages, type RunningServer, servePages, textPage } from './http-server.ts';

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
    expect([reply.status, await reply.text()]).toEqual([500, 'the page could not be made\n']);
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
    // Who has had its time is told that before the end.
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
