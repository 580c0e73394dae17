import { describe, expect, test } from 'vitest';
import {
  groupInDefault,
  NAMESPACE,
  publisherBench,
  workerInDefault,
} from '../../../../test/builders/group-publisher.ts';
import { refusedBy } from '../../../../test/builders/memory-cluster.ts';
import { observedGroup } from '../../../../test/builders/observed-group.ts';
import type { EndpointGroup } from '../../../api/v1alpha1/endpoint-group.ts';
import { type ConfigMapObject, configMapResource } from '../../../runtime/kube/core-resources.ts';
import { decide } from '../decide.ts';
import type { PublishedFile } from '../types.ts';
import type { Worker } from '../workers/worker.ts';
import { endpointFile, MAX_ENDPOINT_FILE_BYTES } from './endpoint-file.ts';
import { EndpointFileWriter } from './endpoint-file-writer.ts';
import { endpointsOf } from './endpoints.ts';

const publish = { gateway: { enabled: false, publish: 'FileDiscovery' } };
const group = groupInDefault(publish);
const REF = { namespace: NAMESPACE, name: 'llm-endpoints' };
const recorded = { endpointsConfigMap: REF.name };

const endpoints = (workers: readonly Worker[], of = group) =>
  endpointsOf(of, workers, { allowPrivate: false }).endpoints;
const fileOf = (workers: readonly Worker[], of = group) => endpointFile(of, endpoints(workers, of));
const entries = (text = '{"endpoints":[]}') => JSON.parse(text).endpoints;

function labelled(name: string, labels: Readonly<Record<string, string>>): Worker {
  const worker = workerInDefault(name);
  const { object } = worker;
  return { ...worker, object: { ...object, metadata: { ...object.metadata, labels } } };
}

/** Returns a writer with an API server in memory. */
function writerBench() {
  const bench = publisherBench();
  const { kube, clock } = bench;
  const another = () => new EndpointFileWriter({ cluster: kube, clock });
  const writer = another();
  const ensure = (of: EndpointGroup, workers: readonly Worker[] = []) =>
    writer.ensure(of, endpoints(workers, of));
  const file = () => kube.get<ConfigMapObject>(configMapResource, REF);
  return { ...bench, another, ensure, file };
}

describe('the list of ready workers', () => {
  test('has one line for each worker with its public port and labels, ordered by name', () => {
    const { text } = fileOf([workerInDefault('b'), labelled('a', { role: 'decode', app: 'llm' })]);
    expect(text).toBe(
      [
        '{"endpoints":[',
        '{"name":"a","namespace":"default","address":"203.0.113.7","port":"20007","labels":{"app":"llm","role":"decode"}},',
        '{"name":"b","namespace":"default","address":"203.0.113.7","port":"20007","labels":{}}',
        ']}',
        '',
      ].join('\n'),
    );
  });

  test('is empty while no worker is ready', () => {
    expect(entries(fileOf([]).text)).toEqual([]);
  });

  test('leaves out a draining worker, whose slice stays for the gateway', () => {
    const both = groupInDefault({ gateway: { publish: 'FileDiscovery' } });
    const leaving = { ...workerInDefault('a'), desiredRole: 'Gone', drainSince: 1 } as const;
    expect(endpoints([leaving], both)).toHaveLength(1);
    expect(entries(fileOf([leaving], both).text)).toEqual([]);
  });

  test('leaves out and counts a worker with an IPv6 address', () => {
    const { text, unlisted } = fileOf([workerInDefault('a', '2606:4700::1'), workerInDefault('b')]);
    expect({ names: entries(text).map(({ name }: { name: string }) => name), unlisted }).toEqual({
      names: ['b'],
      unlisted: 1,
    });
  });

  test('leaves out and counts workers without the serving port', () => {
    const other = groupInDefault({ gateway: { publish: 'FileDiscovery', port: 'metrics' } });
    expect(fileOf([workerInDefault('a')], other)).toMatchObject({ unlisted: 1 });
  });

  test('stays below the maximum size and counts the workers that do not fit', () => {
    const long = { long: 'x'.repeat(MAX_ENDPOINT_FILE_BYTES / 3) };
    const { text, tooMany } = fileOf(['a', 'b', 'c', 'd'].map((name) => labelled(name, long)));
    expect(entries(text)).toHaveLength(2);
    expect(tooMany).toBe(2);
    expect(Buffer.byteLength(text)).toBeLessThan(2 ** 20);
  });
});

describe('the ConfigMap of the list', () => {
  test('is owned by the group and follows its ready workers', async () => {
    const { ensure, file } = writerBench();
    expect(await ensure(group, [workerInDefault('a')])).toEqual({ type: 'written', unlisted: 0, tooMany: 0 });
    expect(await file()).toMatchObject({
      metadata: {
        labels: {
          'app.kubernetes.io/managed-by': 'gpu-rental-operator',
          'gpurental.dev/endpoint-group': 'llm',
        },
        ownerReferences: [{ kind: 'EndpointGroup', name: 'llm', uid: 'uid-llm', controller: true }],
      },
    });
    await ensure(group, [workerInDefault('a'), workerInDefault('b')]);
    expect(entries((await file())?.data['endpoints.json'])).toHaveLength(2);
    await ensure(group);
    expect(entries((await file())?.data['endpoints.json'])).toEqual([]);
  });

  test('is only read every ten minutes when nothing changed', async () => {
    const { ensure, requests, clock } = writerBench();
    await ensure(group, [workerInDefault('a')]);
    requests();
    await ensure(group, [workerInDefault('a')]);
    expect(requests()).toEqual([]);
    await clock.advance(600_000);
    await ensure(group, [workerInDefault('a')]);
    expect(requests()).toEqual(['GET configmaps/llm-endpoints']);
  });

  test.each<[string, object]>([
    ['its text', { data: { 'endpoints.json': '{}' } }],
    ['its label', { metadata: { labels: { 'gpurental.dev/endpoint-group': null } } }],
    ['all its data', { data: null }],
  ])('is repaired by the next process after a person changed %s', async (_, body) => {
    const { ensure, another, file, kube } = writerBench();
    await ensure(group, [workerInDefault('a')]);
    const before = await file();
    await kube.patch(configMapResource, REF, { type: 'merge', body });
    await another().ensure(group, endpoints([workerInDefault('a')]));
    const { data, metadata } = (await file()) ?? {};
    expect({ data, labels: metadata?.labels }).toEqual({
      data: before?.data,
      labels: before?.metadata.labels,
    });
  });

  test('of another owner stays unchanged and is retried after 15 s', async () => {
    const { ensure, file, kube, clock, requests } = writerBench();
    const theirs = { apiVersion: 'v1', kind: 'ConfigMap', metadata: REF, data: { own: 'x' } };
    await kube.create<ConfigMapObject>(configMapResource, theirs);
    const problem = {
      type: 'problem',
      reason: 'NameTaken',
      detail: expect.stringMatching(/^ConfigMap llm-endpoints does not belong to this EndpointGroup/),
    };
    expect(await ensure(group, [workerInDefault('a')])).toEqual(problem);
    expect((await file())?.data).toEqual({ own: 'x' });
    requests();
    await clock.advance(14_000);
    expect(await ensure(group, [workerInDefault('a')])).toEqual(problem);
    expect(requests()).toEqual([]);
    await kube.delete(configMapResource, REF);
    await clock.advance(1000);
    expect(await ensure(group, [workerInDefault('a')])).toMatchObject({ type: 'written' });
  });

  test('that cannot be written is reported with the message of the API server', async () => {
    const { ensure, answer } = writerBench();
    answer(({ method }) => (method === 'POST' ? refusedBy(403, 'Forbidden') : undefined));
    expect(await ensure(group)).toMatchObject({
      type: 'problem',
      reason: 'NotPermitted',
      detail: expect.stringMatching(/^Cannot write ConfigMap llm-endpoints: /),
    });
  });

  test('is deleted when the group no longer publishes it, also after a restart', async () => {
    const { ensure, another, file } = writerBench();
    await ensure(group, [workerInDefault('a')]);
    const former = groupInDefault({}, { status: recorded });
    expect(await another().ensure(former, [])).toEqual({ type: 'none' });
    expect(await file()).toBeUndefined();
  });

  test('of another owner is not deleted', async () => {
    const { ensure, file, kube } = writerBench();
    const theirs = { apiVersion: 'v1', kind: 'ConfigMap', metadata: REF, data: { own: 'x' } };
    await kube.create<ConfigMapObject>(configMapResource, theirs);
    expect(await ensure(groupInDefault({}, { status: recorded }))).toEqual({ type: 'none' });
    expect(await file()).toBeDefined();
  });

  test('causes no request for a group that never had one', async () => {
    const { ensure, requests } = writerBench();
    expect(await ensure(groupInDefault())).toEqual({ type: 'none' });
    expect(requests()).toEqual([]);
  });

  test('becomes empty when its group is deleted, and is not created then', async () => {
    const { ensure, another, file } = writerBench();
    const metadata = { deletionTimestamp: '2026-11-20T12:00:00Z' };
    expect(await another().ensure(groupInDefault(publish, { metadata }), [])).toEqual({ type: 'none' });
    await ensure(group, [workerInDefault('a')]);
    await another().ensure(groupInDefault(publish, { metadata, status: recorded }), []);
    expect(entries((await file())?.data['endpoints.json'])).toEqual([]);
  });
});

describe('the status of the list', () => {
  const said = (publishedFile: PublishedFile | undefined, of: EndpointGroup = group) => {
    const { status } = decide(observedGroup({ group: of, publishedFile }));
    const found = status.conditions?.find(({ type }) => type === 'EndpointsPublished');
    return [found?.status, found?.reason, status.endpointsConfigMap];
  };
  const problem = { type: 'problem', reason: 'NameTaken', detail: 'x' } as const;
  const former = groupInDefault({}, { status: recorded });

  test.each<[string, PublishedFile | undefined, EndpointGroup, readonly unknown[]]>([
    ['has its name before the first write', undefined, group, ['True', 'Ready', REF.name]],
    [
      'is Ready when it is complete',
      { type: 'written', unlisted: 0, tooMany: 0 },
      group,
      ['True', 'Ready', REF.name],
    ],
    [
      'is EndpointsLeftOut when workers are left out',
      { type: 'written', unlisted: 1, tooMany: 0 },
      group,
      ['False', 'EndpointsLeftOut', REF.name],
    ],
    [
      'is EndpointsLeftOut when it is full',
      { type: 'written', unlisted: 0, tooMany: 3 },
      group,
      ['False', 'EndpointsLeftOut', REF.name],
    ],
    ['has the problem of a failed write', problem, group, ['False', 'NameTaken', REF.name]],
    [
      'is empty when the group publishes none',
      { type: 'none' },
      groupInDefault(),
      [undefined, undefined, undefined],
    ],
    ['has its name until its deletion', { type: 'unknown' }, former, [undefined, undefined, REF.name]],
    ['is empty after its deletion', { type: 'none' }, former, [undefined, undefined, undefined]],
    ['has the problem of a failed deletion', problem, former, ['False', 'NameTaken', REF.name]],
  ])('%s', (_, file, of, expected) => {
    expect(said(file, of)).toEqual(expected);
  });

  test('does not affect other conditions when it cannot be written', () => {
    const { status } = decide(observedGroup({ group, publishedFile: problem }));
    const others = status.conditions?.filter(({ type }) => type !== 'EndpointsPublished');
    expect(JSON.stringify(others)).not.toContain('NameTaken');
  });
});
