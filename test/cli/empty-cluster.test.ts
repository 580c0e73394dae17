import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CommandLine, commandLine } from './command-line.ts';

/* A cluster in which nothing of ours was installed yet. */

let server: Server;
let cli: CommandLine;

beforeAll(async () => {
  server = createServer((request, response) => {
    const found = request.url === '/version';
    const body = found
      ? { gitVersion: 'v1.34.0' }
      : { kind: 'Status', status: 'Failure', code: 404, reason: 'NotFound' };
    response.writeHead(found ? 200 : 404, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  cli = commandLine();
  const kubeconfig = {
    ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'empty' },
    clusters: [{ name: 'empty', cluster: { server: `http://127.0.0.1:${port}` } }],
    users: [{ name: 'empty', user: { token: 'none' } }],
    contexts: [{ name: 'empty', context: { cluster: 'empty', user: 'empty', namespace: 'team' } }],
  };
  writeFileSync(join(cli.home, 'kubeconfig'), JSON.stringify(kubeconfig));
});
afterAll(() => {
  server.close();
  cli.leave();
});

const gpuRent = (line: string) => cli.run(['--kubeconfig', join(cli.home, 'kubeconfig'), ...line.split(' ')]);

test.each([
  'status gpui/x',
  'explain epg/x',
  'pause gpui/x',
  'wait gpui/x',
  'ssh gpui/x',
  'avoid add host/1',
])('gpu-rent %s says that the definitions are missing, and how to install them', async (line) => {
  const { exitCode, stderr } = await gpuRent(line);
  expect(exitCode).toBe(1);
  expect(stderr).toMatch(/^Error: The cluster serves no \w+ \(gpurental\.dev\/v1alpha1\)\.$/m);
  expect(stderr).toContain('kubectl apply --server-side -f crds/');
});

test('a deletion that is waited for has come true', async () => {
  expect(await gpuRent('wait gpui/x --for delete')).toMatchObject({ exitCode: 0 });
});

test('lists fail, and name the definitions', async () => {
  const { exitCode, stderr } = await gpuRent('cost');
  expect(exitCode).toBe(3);
  expect(stderr).toContain('that the CRDs are installed: gpu-rent doctor');
});

test('the doctor does not say that there is no account if the API server does not answer', async () => {
  const gone = join(cli.home, 'gone');
  writeFileSync(
    gone,
    readFileSync(join(cli.home, 'kubeconfig'), 'utf8').replace(/127\.0\.0\.1:\d+/, '127.0.0.1:1'),
  );
  const { exitCode, stdout } = await cli.run(['--kubeconfig', gone, 'doctor']);
  expect(exitCode).toBe(1);
  expect(stdout).not.toContain('There is no MarketplaceAccount');
  expect(stdout).toMatch(/accounts\n× any: No reply from/);
});

test('the doctor finds it', async () => {
  const { exitCode, stdout } = await gpuRent('doctor');
  expect(exitCode).toBe(1);
  expect(stdout).toContain('√ API server: Kubernetes v1.34.0');
  expect(stdout).toMatch(/× CRDs: gpurental\.dev\/v1alpha1 is not served\.\n {4}fix: Install the CRDs/);
  expect(stdout).toContain('No operator has ever held the lease in gpu-rental-system.');
});
