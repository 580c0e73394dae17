import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ScriptedCluster, scriptedCluster } from './scripted-cluster.ts';

/* What a marketplace says about a machine becomes arguments of a program that can run others. */

let cluster: ScriptedCluster;
beforeAll(async () => {
  cluster = await scriptedCluster();
});
afterAll(() => cluster.close());

function printed(host: string, env: Readonly<Record<string, string>> = {}) {
  const metadata = { name: 'trainer', namespace: 'team' };
  const status = { instanceId: '7', ssh: { host, port: 2222 } };
  cluster.answer = () => ({ status: 200, body: { metadata, spec: {}, status } });
  return cluster.cli.run(['ssh', 'gpui/trainer', '--print', '--', 'nvidia-smi', '-L'], { env });
}

describe('a shell on a machine', () => {
  test('is asked for with the port, a host key of its own and the command behind the host', async () => {
    const { exitCode, stdout } = await printed('203.0.113.5');
    expect(exitCode).toBe(0);
    expect(stdout.trim().replace(/UserKnownHostsFile=\S+/, 'UserKnownHostsFile=FILE')).toBe(
      'ssh -p 2222 -o ConnectTimeout=15 -o StrictHostKeyChecking=accept-new -o UserKnownHostsFile=FILE root@203.0.113.5 nvidia-smi -L',
    );
    expect(stdout).toMatch(/UserKnownHostsFile=\S+known_hosts-team-trainer-7 /);
  });

  test('is asked for at the mapped address, by the key and login of the environment', async () => {
    const env = {
      GPU_RENT_ADDRESS_MAP: '203.0.113.0/24=127.0.0.1',
      GPU_RENT_SSH_IDENTITY: '/keys/gpu',
      GPU_RENT_SSH_USER: 'worker',
    };
    const { stdout } = await printed('203.0.113.5', env);
    expect(stdout).toMatch(/ -i \/keys\/gpu .* worker@127\.0\.0\.1 /);
    expect((await printed('198.51.100.5', env)).stdout).toContain(' worker@198.51.100.5 ');
  });

  test('is not asked for if the address map cannot be read', async () => {
    const { exitCode, stderr } = await printed('203.0.113.5', { GPU_RENT_ADDRESS_MAP: 'everywhere' });
    expect(exitCode).toBe(2);
    expect(stderr).toContain('GPU_RENT_ADDRESS_MAP=everywhere: write network/prefix=address');
  });

  test.each(['-oProxyCommand=touch /tmp/owned', 'host;reboot', 'a b', '$(id)', ''])(
    'is not asked for at "%s", which is not a host',
    async (host) => {
      const { exitCode, stdout, stderr } = await printed(host);
      expect([exitCode, stdout]).toEqual([1, '']);
      expect(stderr).toContain(`"${host}" is not a host that ssh may be given.`);
    },
  );
});
