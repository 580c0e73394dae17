import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { beforeAll, expect, test } from 'vitest';
import { until } from '../../builders/until.ts';
import { describeWithNode } from './describe-with-node.ts';
import { nodeImages } from './images.ts';
import { WORKLOAD_IMAGE } from './settings.ts';

const SOON = { timeout: 60_000, interval: 100 };

describeWithNode('a cluster with a node', (cluster) => {
  let namespace = '';
  const kubectl = (...args: readonly string[]) => cluster().kubectl(['-n', namespace, ...args]);
  const apply = (...items: readonly object[]) =>
    cluster().kubectl(['-n', namespace, 'apply', '-f', '-'], {
      stdin: JSON.stringify({ apiVersion: 'v1', kind: 'List', items }),
    });

  beforeAll(async () => {
    const { workload } = await nodeImages(process.env, () => {});
    await cluster().node.importImage(workload);
    namespace = await cluster().createNamespace('node');
    await apply(workloadPod('server', ['serve']), serviceOf('server'));
    await kubectl('wait', 'pod/server', '--for=condition=Ready', '--timeout=60s');
  });

  test('runs a Pod and keeps what it writes', async () => {
    expect(await kubectl('logs', 'server')).toBe('serving\n');
  });

  test('executes a command in a container', async () => {
    const said = await kubectl('exec', 'server', '--', '/workload', 'get', 'http://127.0.0.1:8000/');
    expect(said).toBe('hello from server\n');
  });

  test('forwards a port of a Pod', async () => {
    const args = [
      '--kubeconfig',
      cluster().kubeconfigPath,
      '-n',
      namespace,
      'port-forward',
      'pod/server',
      ':8000',
    ];
    const child = spawn(cluster().kubectlPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    try {
      const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
      const port = /127\.0\.0\.1:(\d+)/.exec(line)?.[1];
      expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe('hello from server\n');
    } finally {
      child.kill();
      await once(child, 'exit');
    }
  });

  test('lets a Pod reach a Service by its name', async () => {
    await apply(workloadPod('client', ['get', `http://server.${namespace}.svc.cluster.local/`]));
    await kubectl('wait', 'pod/client', '--for=jsonpath={.status.phase}=Succeeded', '--timeout=60s');
    expect(await kubectl('logs', 'client')).toBe('hello from server\n');
  });

  test('lets this machine reach a Service by its address', async ({ skip }) => {
    if (cluster().source !== 'own-node')
      skip('another machine or container routes the addresses of this cluster');
    const address = await kubectl('get', 'service', 'server', '-o=jsonpath={.spec.clusterIP}');
    expect(await (await fetch(`http://${address}/`)).text()).toBe('hello from server\n');
  });

  test('lets a Pod reach a server of this machine', async () => {
    const { createServer } = await import('node:http');
    const server = createServer((_request, reply) => reply.end('hello from this machine\n')).listen(0);
    try {
      await once(server, 'listening');
      const address = server.address();
      const port = typeof address === 'object' ? address?.port : undefined;
      const url = `http://${cluster().node.hostAddress}:${port}/`;
      expect(await kubectl('exec', 'server', '--', '/workload', 'get', url)).toBe(
        'hello from this machine\n',
      );
    } finally {
      server.close();
      server.closeAllConnections();
    }
  });

  test('replaces the Pods of a Deployment one after the other', async () => {
    await apply(deployment('first'));
    await kubectl('rollout', 'status', 'deployment/rolling', '--timeout=60s');
    await apply(deployment('second'));
    await kubectl('rollout', 'status', 'deployment/rolling', '--timeout=60s');
    const generations = () =>
      kubectl('get', 'pods', '-l=app=rolling', '-o=jsonpath={.items[*].metadata.labels.generation}');
    await expect.poll(generations, SOON).toBe('second second');
  });

  test('ends a container that takes more memory than its limit', async () => {
    await apply(workloadPod('greedy', ['allocate'], { limits: { memory: '48Mi' } }));
    const reason = () =>
      kubectl('get', 'pod', 'greedy', '-o=jsonpath={.status.containerStatuses[0].state.terminated.reason}');
    await expect.poll(reason, SOON).toBe('OOMKilled');
  });

  test('restarts a container whose process is killed', async ({ skip }) => {
    if (cluster().source === 'existing-cluster') skip('its processes are not processes of this machine');
    await apply({ ...workloadPod('killed', ['serve']), ...{} });
    await kubectl('wait', 'pod/killed', '--for=condition=Ready', '--timeout=60s');
    const [pid] = await cluster().node.processIdsOf({ namespace, pod: 'killed' });
    if (pid === undefined) throw new Error('no process');
    process.kill(pid, 'SIGKILL');
    const exitCode = () =>
      kubectl('get', 'pod', 'killed', '-o=jsonpath={.status.containerStatuses[0].state.terminated.exitCode}');
    await until('the container ended', async () => (await exitCode()) === '137');
  });

  test('refuses a Pod that Pod Security forbids', async () => {
    const restricted = await cluster().createNamespace('restricted', {
      'pod-security.kubernetes.io/enforce': 'restricted',
    });
    const stdin = JSON.stringify(workloadPod('plain', ['serve']));
    await expect(cluster().kubectl(['-n', restricted, 'apply', '-f', '-'], { stdin })).rejects.toThrow(
      'violates PodSecurity',
    );
  });
});

const container = (args: readonly string[], resources: object = {}) => ({
  name: 'workload',
  image: WORKLOAD_IMAGE,
  imagePullPolicy: 'Never',
  args,
  resources,
});

function workloadPod(name: string, args: readonly string[], resources?: object): object {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, labels: { app: name } },
    spec: {
      restartPolicy: 'Never',
      terminationGracePeriodSeconds: 1,
      containers: [container(args, resources)],
    },
  };
}

function serviceOf(name: string): object {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name },
    spec: { selector: { app: name }, ports: [{ port: 80, targetPort: 8000 }] },
  };
}

function deployment(generation: string): object {
  const readinessProbe = { httpGet: { path: '/', port: 8000 }, periodSeconds: 1 };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'rolling' },
    spec: {
      replicas: 2,
      selector: { matchLabels: { app: 'rolling' } },
      template: {
        metadata: { labels: { app: 'rolling', generation } },
        spec: { terminationGracePeriodSeconds: 1, containers: [{ ...container(['serve']), readinessProbe }] },
      },
    },
  };
}
