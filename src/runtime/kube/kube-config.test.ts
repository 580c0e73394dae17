import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { createVirtualClock } from '../../../test/builders/virtual-clock.ts';
import { loadKubeConnection } from './kube-config.ts';

const folder = mkdtempSync(join(tmpdir(), 'kube-config-'));
afterAll(() => rmSync(folder, { recursive: true }));

interface KubeconfigParts {
  readonly cluster?: object;
  readonly user?: object;
  readonly name?: string;
}

function kubeconfig(file: string, { cluster, user = {}, name = 'main' }: KubeconfigParts = {}): string {
  const path = join(folder, file);
  const text = stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': name,
    clusters: [{ name, cluster: { server: 'https://api.test:6443', ...cluster } }],
    users: [{ name, user }],
    contexts: [{ name, context: { cluster: name, user: name, namespace: `${name}-ns` } }],
  });
  writeFileSync(path, text);
  return path;
}

function serviceAccount(name: string): string {
  const directory = join(folder, name);
  mkdirSync(directory);
  writeFileSync(join(directory, 'token'), 'pod-token\n');
  writeFileSync(join(directory, 'ca.crt'), 'PEM');
  writeFileSync(join(directory, 'namespace'), 'pod-ns\n');
  return directory;
}

const clock = createVirtualClock();
const base64 = (text: string) => Buffer.from(text).toString('base64');

test('a token, an authority and a namespace come from the kubeconfig that is named', async () => {
  const path = kubeconfig('token', {
    cluster: { 'certificate-authority-data': base64('CA'), 'tls-server-name': 'other' },
    user: { token: 'secret' },
  });
  const connection = await loadKubeConnection({
    kubeconfig: path,
    environment: { KUBECONFIG: '/none' },
    clock,
  });
  expect(connection).toMatchObject({
    origin: 'https://api.test:6443',
    namespace: 'main-ns',
    inCluster: false,
    tls: { servername: 'other', insecure: false },
  });
  expect(String(connection.tls.ca)).toBe('CA');
  expect(await connection.credentials.headers()).toEqual({ authorization: 'Bearer secret' });
});

test('a client certificate is presented, and no header sent', async () => {
  const path = kubeconfig('certificate', {
    user: { 'client-certificate-data': base64('CERT'), 'client-key-data': base64('KEY') },
  });
  const connection = await loadKubeConnection({ kubeconfig: path, environment: {}, clock });
  expect(String(connection.tls.cert)).toBe('CERT');
  expect(String(connection.tls.key)).toBe('KEY');
  expect(await connection.credentials.headers()).toEqual({});
});

test('an exec plugin is asked once, and again after a 401', async () => {
  const counter = join(folder, 'count');
  const script = `echo x >> ${counter}; echo "{\\"status\\":{\\"token\\":\\"exec-$(wc -l < ${counter} | tr -d ' ')\\"}}"`;
  const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: 'sh', args: ['-c', script] };
  const path = kubeconfig('exec', { user: { exec } });
  const { credentials } = await loadKubeConnection({ kubeconfig: path, environment: {}, clock });
  expect(await credentials.headers()).toEqual({ authorization: 'Bearer exec-1' });
  expect(await credentials.headers()).toEqual({ authorization: 'Bearer exec-1' });
  expect(await credentials.headers({ fresh: true })).toEqual({ authorization: 'Bearer exec-2' });
  expect(await credentials.headers()).toEqual({ authorization: 'Bearer exec-2' });
});

test('several files of KUBECONFIG are read together, and a context can be chosen', async () => {
  const one = kubeconfig('one', { name: 'one', user: { token: 'a' } });
  const two = kubeconfig('two', {
    name: 'two',
    cluster: { server: 'https://two.test' },
    user: { token: 'b' },
  });
  const environment = { KUBECONFIG: [one, two].join(delimiter) };
  expect((await loadKubeConnection({ environment, clock })).namespace).toBe('one-ns');
  const chosen = await loadKubeConnection({ environment, context: 'two', clock });
  expect(chosen.origin).toBe('https://two.test');
  await expect(loadKubeConnection({ environment, context: 'three', clock })).rejects.toThrow(
    'The kubeconfig has no context three; it has: one, two',
  );
});

test('a pod uses its service account, and reads the token again when it has grown old', async () => {
  const directory = serviceAccount('pod');
  const connection = await loadKubeConnection({
    environment: { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '443', HOME: folder },
    clock,
    serviceAccountDirectory: directory,
  });
  expect(connection).toMatchObject({
    origin: 'https://[fd00::1]:443',
    namespace: 'pod-ns',
    inCluster: true,
    tls: { ca: 'PEM' },
  });
  expect(await connection.credentials.headers()).toEqual({ authorization: 'Bearer pod-token' });
  writeFileSync(join(directory, 'token'), 'rotated');
  expect(await connection.credentials.headers()).toEqual({ authorization: 'Bearer pod-token' });
  await clock.advance(60_000);
  expect(await connection.credentials.headers()).toEqual({ authorization: 'Bearer rotated' });
  rmSync(join(directory, 'token'));
  expect(await connection.credentials.headers({ fresh: true })).toEqual({ authorization: 'Bearer rotated' });
});

test('plain http is allowed to this machine itself', async () => {
  const path = kubeconfig('proxy', { cluster: { server: 'http://127.0.0.1:8001' } });
  const connection = await loadKubeConnection({ kubeconfig: path, environment: {}, clock });
  expect(connection.origin).toBe('http://127.0.0.1:8001');
});

test('the proxy is that of the cluster, otherwise that of the environment', async () => {
  const environment = { HTTPS_PROXY: 'http://of-environment:3128' };
  const own = kubeconfig('own-proxy', { cluster: { 'proxy-url': 'http://of-cluster:3128' } });
  const { proxy } = await loadKubeConnection({ kubeconfig: own, environment, clock });
  expect(proxy?.https).toBe('http://of-cluster:3128/');
  const none = kubeconfig('no-proxy', {});
  const shared = await loadKubeConnection({ kubeconfig: none, environment, clock });
  expect(shared.proxy?.https).toBe('http://of-environment:3128/');
  expect((await loadKubeConnection({ kubeconfig: none, environment: {}, clock })).proxy).toBeUndefined();
});

test('a pod reaches its own API server directly', async () => {
  const environment = { KUBERNETES_SERVICE_HOST: '10.0.0.1', HTTPS_PROXY: 'http://proxy:3128' };
  const serviceAccountDirectory = serviceAccount('behind-proxy');
  expect((await loadKubeConnection({ environment, clock, serviceAccountDirectory })).proxy).toBeUndefined();
});

const refusals = [
  ['nothing at all', {}, 'set KUBECONFIG'],
  ['a file that is not there', { kubeconfig: '/none' }, 'Cannot read the kubeconfig /none'],
  [
    'plain http to elsewhere',
    { parts: { cluster: { server: 'http://api.test' } } },
    'must be reached by https',
  ],
  [
    'a proxy of another protocol',
    { parts: { cluster: { 'proxy-url': 'socks5://proxy:1080' } } },
    'proxy-url of cluster main is no address of a proxy',
  ],
  ['a server that is no URL', { parts: { cluster: { server: 'nowhere' } } }, 'no valid server URL: nowhere'],
] as const;

test.each(refusals)('%s is refused with the way out', async (_what, given, message) => {
  const path =
    'parts' in given
      ? kubeconfig('refused', given.parts)
      : 'kubeconfig' in given
        ? given.kubeconfig
        : undefined;
  const environment = { HOME: join(folder, 'empty') };
  await expect(loadKubeConnection({ kubeconfig: path, environment, clock })).rejects.toThrow(message);
});

test('names what is missing if a pod has no service account', async () => {
  const loaded = loadKubeConnection({
    environment: { KUBERNETES_SERVICE_HOST: '10.0.0.1' },
    clock,
    serviceAccountDirectory: join(folder, 'none'),
  });
  await expect(loaded).rejects.toThrow('automountServiceAccountToken');
});

describe('a list of several files', () => {
  const load = (files: readonly string[], more: { readonly context?: string } = {}) =>
    loadKubeConnection({ environment: { KUBECONFIG: files.join(delimiter) }, clock, ...more });
  const write = (file: string, config: object) => {
    const path = join(folder, file);
    writeFileSync(path, stringify({ apiVersion: 'v1', kind: 'Config', ...config }));
    return path;
  };

  test('may name some that are not there', async () => {
    const there = kubeconfig('there', { name: 'there' });
    expect((await load([join(folder, 'absent'), there, '/none'])).namespace).toBe('there-ns');
  });

  test('is refused where none of them is there', async () => {
    await expect(load(['/none', '/nowhere'])).rejects.toThrow(
      'Cannot read the kubeconfig /none, /nowhere: none of these files exists',
    );
  });

  test('takes each name from the first file that has it', async () => {
    const first = kubeconfig('first', { user: { token: 'first' } });
    const second = kubeconfig('second', {
      cluster: { server: 'https://second.test' },
      user: { token: 'second' },
    });
    const { origin, credentials } = await load([first, second]);
    expect(origin).toBe('https://api.test:6443');
    expect(await credentials.headers()).toEqual({ authorization: 'Bearer first' });
  });

  test('takes the first current context that one of them sets, and puts them together by name', async () => {
    const clusters = [{ name: 'apart', cluster: { server: 'https://apart.test' } }];
    const contexts = [{ name: 'apart', context: { cluster: 'apart', user: 'apart' } }];
    const users = [{ name: 'apart', user: { token: 'apart' } }];
    const files = [
      write('clusters', { clusters }),
      write('users', { users, 'current-context': '' }),
      write('contexts', { contexts, 'current-context': 'apart' }),
      kubeconfig('later', { name: 'later' }),
    ];
    const { origin, credentials } = await load(files);
    expect(origin).toBe('https://apart.test');
    expect(await credentials.headers()).toEqual({ authorization: 'Bearer apart' });
  });
});

describe('the token file of a user', () => {
  const token = (file: string, text: string) => {
    writeFileSync(join(folder, file), text);
    return join(folder, file);
  };

  test('is read, from beside the kubeconfig, and again when what was read has grown old', async () => {
    token('beside', 'first\n');
    const path = kubeconfig('token-file', { user: { tokenFile: 'beside', token: 'written' } });
    const { credentials } = await loadKubeConnection({ kubeconfig: path, environment: {}, clock });
    expect(await credentials.headers()).toEqual({ authorization: 'Bearer first' });
    token('beside', 'rotated\n');
    expect(await credentials.headers()).toEqual({ authorization: 'Bearer first' });
    await clock.advance(60_000);
    expect(await credentials.headers()).toEqual({ authorization: 'Bearer rotated' });
    token('beside', 'fresh');
    expect(await credentials.headers({ fresh: true })).toEqual({ authorization: 'Bearer fresh' });
    rmSync(join(folder, 'beside'));
    expect(await credentials.headers({ fresh: true })).toEqual({ authorization: 'Bearer fresh' });
  });

  test.each([
    ['that is not there', '/no/such/token', 'ENOENT'],
    ['that is empty', token('blank', ' \n'), 'it is empty'],
  ])('%s is never passed over: no request is sent without credentials', async (_what, tokenFile, why) => {
    const path = kubeconfig('no-token', { user: { tokenFile } });
    const loading = loadKubeConnection({ kubeconfig: path, environment: {}, clock });
    await expect(loading).rejects.toThrow(`Cannot read the token file ${tokenFile} of user main`);
    await expect(loading).rejects.toThrow(why);
  });

  test('that cannot be read leaves the token that is written beside it', async () => {
    const path = kubeconfig('both', { user: { tokenFile: '/no/such/token', token: 'written' } });
    const { credentials } = await loadKubeConnection({ kubeconfig: path, environment: {}, clock });
    expect(await credentials.headers()).toEqual({ authorization: 'Bearer written' });
  });
});
