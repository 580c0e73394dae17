import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, inject, test } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { operatorImage } from '../image/operator-image.ts';
import { type Cluster, startCluster, whyNoNode } from './cluster.ts';
import { k3s } from './k3s.ts';
import { findOnPath } from './kubectl.ts';
import type {} from './provided-context.ts';

const IMAGE = `ghcr.io/gpu-rental-operator/gpu-rental-operator:${packageJson.version}`;
const quiet = { report: () => {} };
const hasEngine = inject('operatorImage') !== null;
/** Reason why K3s cannot be started in this engine; undefined if it can. */
const refusal = await k3s.obtain?.({ env: process.env, audit: undefined, ...quiet }).then(
  () => undefined,
  (error: Error) => error.message,
);

describe.skipIf(!hasEngine || refusal === undefined)('K3s whose image cannot be pulled', () => {
  test('is refused with what to do', async () => {
    await expect(startCluster({ only: 'k3s', node: true, ...quiet })).rejects.toThrow(
      /No Kubernetes node can be had here.*rancher\/k3s:\S+ cannot be pulled \(.+\): let the Docker engine reach docker\.io, or docker load/s,
    );
  });

  test('lets tests that run Pods be skipped instead of failing', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'docker-alone-'));
    try {
      symlinkSync(findOnPath('docker', process.env.PATH) ?? 'docker', join(folder, 'docker'));
      const { DOCKER_HOST } = process.env;
      const env = { PATH: folder, XDG_CACHE_HOME: folder, ...(DOCKER_HOST && { DOCKER_HOST }) };
      expect(await whyNoNode(env)).toMatch(
        /^Tests that run Pods are skipped \(.*cannot be pulled.*\): they need root on Linux.*; or a Docker engine.*\.$/,
      );
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe.skipIf(!hasEngine || refusal !== undefined)('K3s in a Docker engine', () => {
  const running: Cluster[] = [];
  afterEach(async () => {
    for (const cluster of running.splice(0)) await cluster.stop();
  });

  test('serves the API', async () => {
    const cluster = await startCluster({ only: 'k3s', ...quiet });
    running.push(cluster);
    expect(await cluster.kubectl(['get', 'namespaces'])).toContain('kube-system');
  });

  test('takes an image and runs a Pod of it when it was asked for a node', async () => {
    const cluster = await startCluster({ only: 'k3s', node: true, ...quiet });
    running.push(cluster);
    await cluster.node.importImage(await operatorImage());
    const namespace = await cluster.createNamespace('k3s');
    const kubectl = (...args: readonly string[]) => cluster.kubectl(['-n', namespace, ...args]);
    const restart = ['--restart=Never', '--image-pull-policy=Never'];
    await kubectl('run', 'version', `--image=${IMAGE}`, ...restart, '--', 'version');
    await kubectl('wait', 'pod/version', '--for=jsonpath={.status.phase}=Succeeded', '--timeout=60s');
    expect(await kubectl('logs', 'version')).toContain(packageJson.version);
  });
});
