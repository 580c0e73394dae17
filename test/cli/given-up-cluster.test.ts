import { afterAll, beforeAll, expect, test } from 'vitest';
import { Interrupted } from '../../src/cli/command-error.ts';
import { refused, type ScriptedCluster, scriptedCluster } from './scripted-cluster.ts';

/* What becomes of whoever asks a cluster that takes requests and never answers them. */

let cluster: ScriptedCluster;
let asked = Promise.withResolvers<void>();
beforeAll(async () => {
  cluster = await scriptedCluster();
  cluster.answer = () => {
    asked.resolve();
    return new Promise(() => {});
  };
});
afterAll(() => cluster.close());

test.each(['status gpui/a', 'doctor', 'doctor -o json', 'pause gpui/a', 'wait gpui/a', 'orphans', 'cost'])(
  '%s ends with Ctrl-C, and says no more than that',
  async (line) => {
    asked = Promise.withResolvers<void>();
    const abort = new AbortController();
    const words = [...line.split(' '), '--request-timeout', '10m'];
    const running = cluster.cli.run(words, { signal: abort.signal });
    await asked.promise;
    abort.abort(new Interrupted());
    expect(await running).toEqual({ exitCode: 130, stdout: '', stderr: 'Interrupted.\n' });
  },
);

test('a question that is not answered in time ends with 4', async () => {
  const { exitCode, stderr } = await cluster.cli.run(['status', 'gpui/a', '--request-timeout', '200ms']);
  expect(exitCode).toBe(4);
  expect(stderr).toContain('No answer within 200 ms');
});

test('no list makes anybody wait for longer than --request-timeout says', async () => {
  const { exitCode } = await cluster.cli.run(['doctor', '--request-timeout', '100ms']);
  expect(exitCode).toBe(1);
});

test('a cluster that does not say what it serves is given up after --request-timeout', async () => {
  const isSilent = ({ path }: { readonly path: string }) => path === '/apis/gpurental.dev/v1alpha1';
  cluster.answer = (asking) => (isSilent(asking) ? new Promise(() => {}) : refused(404, 'NotFound'));
  const { exitCode } = await cluster.cli.run(['status', 'gpui/x', '--request-timeout', '200ms']);
  expect(exitCode).not.toBe(0);
  expect(cluster.asked.at(-1)?.path).toBe('/apis/gpurental.dev/v1alpha1');
});
