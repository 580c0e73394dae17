import { gzipSync } from 'node:zlib';
import { beforeEach, describe, expect, test } from 'vitest';
import { type MemoryCluster, memoryCluster } from '../../../test/builders/memory-cluster.ts';
import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { gpuInstanceResource, LOG_SECRET_TYPE } from '../../api/v1alpha1/names.ts';
import { namespaceResource, secretResource } from '../../runtime/kube/core-resources.ts';
import type { KubeObject } from '../../runtime/kube/kube-object.ts';
import { keyLog } from './key-log.ts';

/* The log of a finished run, whose machine is gone: it comes from a Secret alone, and from no marketplace. */

const NAMESPACE = 'team';
const REF = { namespace: NAMESPACE, name: 'train' };
const LOG = 'one\ntwo\n';

let cluster: MemoryCluster;
beforeEach(async () => {
  cluster = memoryCluster();
  const { kube } = cluster;
  const v1 = { apiVersion: 'v1' } as const;
  await kube.create(namespaceResource, { ...v1, kind: 'Namespace', metadata: { name: NAMESPACE } });
  const object = await kube.create<GpuInstance>(gpuInstanceResource, {
    ...{ apiVersion: 'gpurental.dev/v1alpha1', kind: 'GpuInstance', metadata: REF },
    spec: {
      ...{ image: 'ubuntu:24.04', command: ['true'], completion: {} },
      offers: [{ gpuNames: ['RTX 4090'], maxPricePerHour: '0.60' }],
    },
  } as unknown as GpuInstance);
  await kube.replace(
    gpuInstanceResource,
    { ...object, status: FINISHED as unknown as NonNullable<GpuInstance['status']> },
    { subresource: 'status' },
  );
  await kube.create<KubeObject>(secretResource, {
    ...{ ...v1, kind: 'Secret', metadata: { ...REF, name: 'train-log' }, type: LOG_SECRET_TYPE },
    data: { log: gzipSync(LOG).toString('base64') },
  } as KubeObject);
});

const FINISHED = {
  ...{ phase: 'Succeeded', attempt: 1, observedGeneration: 1 },
  conditions: [
    {
      ...{ type: 'Succeeded', status: 'True', reason: 'Completed', message: 'It ended.' },
      lastTransitionTime: '2026-11-20T12:41:00Z',
    },
  ],
  run: {
    settled: { attempt: 1, reason: 'Completed', at: '2026-11-20T12:41:00Z' },
    ...{ exitCode: 0, attempts: 1, outcome: 'Completed', finishedAt: '2026-11-20T12:41:00Z' },
    log: { secretRef: { name: 'train-log' }, bytes: 8, truncated: false },
  },
};

interface Reading {
  readonly written: () => string;
  finish(limitMs: number): Promise<boolean>;
}

function read(): Reading {
  const { kube } = cluster;
  const session = { kube, namespace: NAMESPACE } as unknown as Parameters<typeof keyLog>[0]['cluster'];
  const unused = {} as never;
  let text = '';
  const log = keyLog({
    ...{ cluster: session, input: unused, context: unused },
    write: (more) => {
      text += more;
    },
    print: () => {},
  })('train', new AbortController().signal);
  return { written: () => text, finish: (limitMs) => log.finish(limitMs) };
}

/** Delays each reply with the Secret by this time. */
function delaySecret(ms: number): void {
  cluster.intercept = (request) =>
    request.path.includes('/secrets/')
      ? new Promise((resolve) => setTimeout(resolve, ms)).then(() => cluster.memory.transport(request))
      : undefined;
}

describe('the log of a finished run', () => {
  test('is written once when the run ends before its Secret arrives', async () => {
    delaySecret(50);
    const { written, finish } = read();
    expect(await finish(10_000)).toBe(true);
    expect(written()).toBe(LOG);
  });

  test('is not written after the time limit', async () => {
    delaySecret(60);
    const { written, finish } = read();
    await finish(10);
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(written()).toBe('');
  });
});
