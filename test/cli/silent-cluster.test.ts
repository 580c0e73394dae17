import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ScriptedCluster, scriptedCluster } from './scripted-cluster.ts';

let cluster: ScriptedCluster;
beforeAll(async () => {
  cluster = await scriptedCluster();
});
afterAll(() => cluster.close());

test('a cluster that does not say what it serves keeps nobody waiting beyond --request-timeout', async () => {
  cluster.answer = ({ path }) => {
    if (path === '/apis/gpurental.dev/v1alpha1') return new Promise(() => {});
    return { status: 404, body: { kind: 'Status', reason: 'NotFound', code: 404 } };
  };
  const { exitCode } = await cluster.cli.run(['status', 'gpui/x', '--request-timeout', '200ms']);
  expect(exitCode).not.toBe(0);
  expect(cluster.asked.at(-1)?.path).toBe('/apis/gpurental.dev/v1alpha1');
});
