import { createServer, type Server } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findOnPath } from '../cluster/kubectl.ts';
import { type ScriptedCluster, scriptedCluster } from './scripted-cluster.ts';

/* P8: a machine that accepts connections and never answers, as one does whose SSH server hangs. */

const SSH = findOnPath('ssh', process.env.PATH);
let cluster: ScriptedCluster;
let silent: Server;

beforeAll(async () => {
  cluster = await scriptedCluster();
  silent = createServer(() => {}).unref();
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  const { port } = silent.address() as { readonly port: number };
  const metadata = { name: 'trainer', namespace: 'team' };
  const status = { instanceId: '7', ssh: { host: '127.0.0.1', port } };
  cluster.answer = () => ({ status: 200, body: { metadata, spec: {}, status } });
});
afterAll(async () => {
  silent.close();
  cluster.close();
});

describe.skipIf(SSH === undefined)('a machine that does not answer SSH', () => {
  test.concurrent.each([
    ['ssh', ['ssh', 'gpui/trainer', '--', 'true']],
    ['exec', ['exec', 'gpui/trainer', '--', 'true']],
    ['port-forward', ['port-forward', 'gpui/trainer', '18888:8888']],
  ] as const)(
    'P8: %s says so after 15 s, with the address and what to do',
    async (_, args) => {
      const { exitCode, stderr } = await cluster.cli.run(args);
      expect(exitCode).toBe(255);
      expect(stderr).toMatch(/Error: gpui\/trainer did not answer SSH at 127\.0\.0\.1:\d+ within 15s\./);
      expect(stderr).toContain('gpu-rent explain gpui/trainer');
    },
    30_000,
  );
});
