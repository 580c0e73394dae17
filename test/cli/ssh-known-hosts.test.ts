import { chmodSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type ScriptedCluster, scriptedCluster } from './scripted-cluster.ts';

/* The host key of a machine is stored at the first contact, which takes a folder for it. */

let cluster: ScriptedCluster;
let cache: string;
beforeAll(async () => {
  cluster = await scriptedCluster();
  const status = { instanceId: '7', ssh: { host: '203.0.113.5', port: 22 } };
  const metadata = { name: 'trainer', namespace: 'team' };
  cluster.answer = () => ({ status: 200, body: { metadata, spec: {}, status } });
  cache = join(cluster.cli.home, '.cache');
});
beforeEach(() => rmSync(cache, { recursive: true, force: true }));
afterAll(() => cluster.close());

/** Returns the folder of the known-hosts file that ssh gets. */
async function folderTold(): Promise<string> {
  const { exitCode, stdout } = await cluster.cli.run(['ssh', 'gpui/trainer', '--print']);
  expect(exitCode).toBe(0);
  return dirname(/UserKnownHostsFile=(\S+)/.exec(stdout)?.[1] ?? '');
}

test('the folder of the known hosts exists when ssh starts, and only for its owner', async () => {
  const folder = await folderTold();
  expect(folder).toBe(join(cache, 'gpu-rent'));
  expect(statSync(folder).mode & 0o777).toBe(0o700);
});

test('a folder that exists is used as it is', async () => {
  mkdirSync(join(cache, 'gpu-rent'), { recursive: true });
  chmodSync(join(cache, 'gpu-rent'), 0o755);
  expect(statSync(await folderTold()).mode & 0o777).toBe(0o755);
});

test('where it cannot be made, that is said with what to do', async () => {
  writeFileSync(cache, 'a file stands in the way');
  const { exitCode, stderr } = await cluster.cli.run(['ssh', 'gpui/trainer', '--print']);
  expect(exitCode).toBe(1);
  expect(stderr).toMatch(
    /^Error: The folder .*\/\.cache\/gpu-rent for host keys cannot be created \(ENOTDIR\)\.$/m,
  );
  expect(stderr).toMatch(/What to do: .*XDG_CACHE_HOME/);
});
