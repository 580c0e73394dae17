import { describe, expect, test } from 'vitest';
import { systemClock } from '../../lib/clock.ts';
import { silentLogger } from '../../lib/logger.ts';
import { seededRandom } from '../../lib/random.ts';
import type { TransportRequest } from '../../lib/transport.ts';
import { watchEvents } from '../list-watch/watch-events.ts';
import { createKubeClient } from './kube-client.ts';
import type { Resource } from './kube-object.ts';

const WIDGETS: Resource = {
  group: 'example.dev',
  version: 'v1',
  plural: 'widgets',
  kind: 'Widget',
  namespaced: true,
};
const WIDGET = { apiVersion: 'example.dev/v1', kind: 'Widget', metadata: { namespace: 'ns', name: 'a' } };
const MEBIBYTE = 1024 * 1024;

/** Returns an API server whose bodies never end, and the number of bytes that were read. */
function endlessServer(status: number) {
  const asked: TransportRequest[] = [];
  const read = { bytes: 0 };
  async function* body(): AsyncGenerator<Buffer> {
    const chunk = Buffer.alloc(MEBIBYTE, 'x');
    for (;;) {
      read.bytes += chunk.length;
      yield chunk;
    }
  }
  const client = createKubeClient({
    transport: async (request) => {
      asked.push(request);
      return { status, headers: { 'content-type': 'application/json' }, body: body(), destroy() {} };
    },
    origin: 'https://api.test',
    credentials: { headers: async () => ({}) },
    clock: systemClock,
    random: seededRandom(1),
    log: silentLogger,
    metrics: { requested() {} },
  });
  return { asked, read, client };
}

describe('a reply without end is given up', () => {
  test('after 16 MiB of an object', async () => {
    const { client, read } = endlessServer(200);
    await expect(client.create(WIDGETS, WIDGET)).rejects.toThrow(`more than ${16 * MEBIBYTE} bytes`);
    expect(read.bytes).toBe(17 * MEBIBYTE);
  });

  test('after the first piece of an error, which keeps its status', async () => {
    const { client, read } = endlessServer(409);
    const failure = client.create(WIDGETS, WIDGET);
    await expect(failure).rejects.toMatchObject({ status: 409 });
    expect(read.bytes).toBe(MEBIBYTE);
  });

  test('after 16 MiB of one event of a watch', async () => {
    const { client, read } = endlessServer(200);
    const events = watchEvents(client, systemClock, {
      resource: WIDGETS,
      namespace: 'ns',
      query: {},
      timeoutSeconds: 300,
      signal: new AbortController().signal,
      onContact() {},
    });
    await expect(events.next()).rejects.toThrow(`a line of more than ${16 * MEBIBYTE} bytes`);
    expect(read.bytes).toBe(17 * MEBIBYTE);
  });
});

test.each([
  ['../../secrets/x', 'ns', '/apis/example.dev/v1/namespaces/ns/widgets/..%2F..%2Fsecrets%2Fx'],
  ['a?dryRun=All', 'ns', '/apis/example.dev/v1/namespaces/ns/widgets/a%3FdryRun%3DAll'],
  ['a', '../kube-system', '/apis/example.dev/v1/namespaces/..%2Fkube-system/widgets/a'],
])('the name %s in namespace %s leads to no other path', async (name, namespace, path) => {
  const { client, asked } = endlessServer(404);
  await client.get(WIDGETS, { namespace, name });
  expect(asked.map((request) => request.path)).toEqual([path]);
});
