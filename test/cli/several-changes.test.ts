import { afterAll, beforeAll, expect, test } from 'vitest';
import { type MarketplaceBench, marketplaceBench } from './marketplace.ts';
import { type ScriptedCluster, scriptedCluster } from './scripted-cluster.ts';

/* Several things changed by one command: scripts get one document, whatever becomes of the later ones. */

let bench: MarketplaceBench;
let cluster: ScriptedCluster;
let ids: readonly number[];

beforeAll(async () => {
  [bench, cluster] = await Promise.all([marketplaceBench(), scriptedCluster()]);
  const rented: number[] = [];
  for (const offer of (await bench.offers()).slice(0, 2)) {
    const { body } = await bench.service.call(`PUT /api/v0/asks/${offer}/`, { image: 'ubuntu:24.04' });
    rented.push(Number(body.new_contract));
  }
  ids = rented;
});
afterAll(async () => {
  cluster.close();
  await bench.close();
});

const run = (...args: readonly (string | number)[]) => bench.cli.run([...args.map(String), '--raw']);
const reports = (did: string) => ids.map((id) => ({ kind: 'instance', id: String(id), did }));

test('machines that are stopped are one list, also where the last is not there', async () => {
  const { exitCode, stdout, stderr } = await run('stop', 'instance', ...ids, 999999);
  expect({ exitCode, stderr }).toEqual({ exitCode: 3, stderr: expect.stringMatching(/^Error: /) });
  expect(JSON.parse(stdout)).toEqual(reports('stopped'));
});

test('where one in the middle fails, it is named, and so is what was not tried after it', async () => {
  await bench.fault('5xx', 'DELETE /api/v0/instances/{id}');
  const [first = 0, second = 0] = ids;
  const { exitCode, stdout, stderr } = await run('destroy', 'instance', first, second, '--yes');
  expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
  expect(stderr).toContain(`That was ${first}. Not tried after it: ${second}.`);
});

test('machines that are destroyed are one list', async () => {
  expect(JSON.parse((await run('destroy', 'instance', ...ids, '--yes')).stdout)).toEqual(
    reports('destroyed'),
  );
});

test('secrets that are deleted are one list', async () => {
  for (const key of ['ONE', 'TWO']) await bench.service.call('POST /api/v0/secrets/', { key, value: 'v' });
  const { stdout } = await run('delete', 'secret', 'ONE', 'TWO', '--yes');
  expect(JSON.parse(stdout)).toMatchObject([{ id: 'ONE' }, { id: 'TWO' }]);
});

test('objects that are paused are one list', async () => {
  cluster.answer = () => ({ status: 200, body: { metadata: { name: 'x', namespace: 'team' } } });
  const { exitCode, stdout } = await cluster.cli.run(['pause', 'gpui/a', 'epg/b', '-o', 'json']);
  expect({ exitCode, said: JSON.parse(stdout) }).toEqual({
    exitCode: 0,
    said: [
      { kind: 'gpui', id: 'a', did: 'paused' },
      { kind: 'epg', id: 'b', did: 'paused' },
    ],
  });
});
