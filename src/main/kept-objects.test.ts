import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from 'vitest';
import { groupObject } from '../../test/builders/group-worker.ts';
import { given } from '../../test/builders/observed.ts';
import { matches } from '../accounts/namespace-access.ts';
import { driftOf, specHash } from '../api/v1alpha1/machine-drift.ts';
import type { MarketplaceAccount } from '../api/v1alpha1/marketplace-account.ts';
import { gpuInstanceResource, MACHINE_FINALIZER } from '../api/v1alpha1/names.ts';
import { templateHash } from '../controllers/endpoint-group/workers/template.ts';
import { readInputs } from '../controllers/gpu-instance/rental-inputs.ts';
import { vastFacts } from '../markets/vast/facts.ts';
import type { KubeClient } from '../runtime/kube/kube-client.ts';
import { removeFinalizer } from '../runtime/writes.ts';
import { keptAccount, keptGroup, keptInstance } from './kept-objects.ts';

const long = (length: number) => 'x'.repeat(length);
const instance = (spec: NonNullable<NonNullable<Parameters<typeof given>[0]>['spec']>) =>
  given({ spec }).object;

/** Returns the bytes of the heap that are referenced. */
function heapBytes(): number {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
  return process.memoryUsage().heapUsed;
}

describe('what caches keep of a GpuInstance (H4)', () => {
  test('is its spec itself when it is short', () => {
    const object = instance({ env: [{ name: 'A', value: 'b' }], onStart: 'date' });
    expect(keptInstance(object).spec).toBe(object.spec);
  });

  test.each([
    ['values', { env: Array.from({ length: 32 }, (_, at) => ({ name: `V${at}`, value: long(32_768) })) }],
    ['a script', { onStart: long(65_536) }],
  ])('scenario 92: is a few kilobytes of a megabyte of %s, and drifts from nothing', (_, spec) => {
    const object = instance(spec);
    const kept = keptInstance(object);
    expect(JSON.stringify(kept).length).toBeLessThan(8_000);
    expect(specHash(kept.spec)).toBe(specHash(object.spec));
    expect(driftOf({ specHash: specHash(object.spec) }, kept.spec)).toBeUndefined();
    expect(driftOf({ specHash: specHash(object.spec) }, { ...kept.spec })).toBeUndefined();
  });

  test('drifts when one of the values that are left out changes', () => {
    const before = instance({ env: [{ name: 'V', value: long(20_000) }] });
    const after = instance({ env: [{ name: 'V', value: `${long(19_999)}y` }] });
    expect(driftOf({ specHash: specHash(keptInstance(before).spec) }, keptInstance(after).spec)).toEqual({
      type: 'request',
    });
  });

  test('has the annotations of this operator only, and cut', () => {
    const object = instance({});
    const annotations = {
      'gpurental.dev/hold': long(5_000),
      'example.com/big': long(200_000),
      'gpurental.dev/rental-intent': long(5_000),
    };
    const kept = keptInstance({ ...object, metadata: { ...object.metadata, annotations } });
    expect(kept.metadata.annotations).toEqual({
      'gpurental.dev/hold': long(1_024),
      'gpurental.dev/rental-intent': long(5_000),
    });
  });

  test('has no annotation or label that this operator does not read, whatever its name, and no managedFields', () => {
    const object = instance({});
    const texts = Object.fromEntries(
      Array.from({ length: 300 }, (_, at) => [`gpurental.dev/mine-${at}`, long(60)]),
    );
    const managedFields = [{ manager: 'kubectl', fieldsV1: texts }];
    const metadata = { ...object.metadata, annotations: texts, labels: texts, managedFields };
    expect(keptInstance({ ...object, metadata }).metadata).toEqual({
      ...object.metadata,
      annotations: {},
      labels: {},
    });
  });

  test('has of many finalizers and owner references those that are read, and is written with all of them', async () => {
    const object = instance({});
    const many = Array.from({ length: 100 }, (_, at) => `example.com/finalizer-${at}-${long(40)}`);
    const owner = { apiVersion: 'v1', kind: 'Thing', name: 'thing' };
    const ownerReferences = many.map((uid) => ({ ...owner, uid }));
    const controller = { ...owner, uid: 'group', controller: true };
    const metadata = {
      ...{ ...object.metadata, finalizers: [...many, MACHINE_FINALIZER] },
      ownerReferences: [...ownerReferences, controller],
    };
    const whole = { ...object, metadata };
    const kept = keptInstance(whole);
    expect(kept.metadata.finalizers).toEqual([MACHINE_FINALIZER]);
    expect(kept.metadata.ownerReferences).toEqual([controller]);
    const sent: unknown[] = [];
    const clientOf = (present: unknown) =>
      ({
        get: async () => present,
        patch: async (_resource: unknown, _ref: unknown, { body }: { readonly body: unknown }) =>
          sent.push(body),
      }) as unknown as KubeClient;
    const guard = { resource: gpuInstanceResource, object: kept, finalizer: MACHINE_FINALIZER };
    const written = await removeFinalizer({ ...guard, client: clientOf(whole) });
    const { resourceVersion, uid } = metadata;
    expect([written.type, sent]).toEqual([
      'written',
      [{ metadata: { resourceVersion, uid, finalizers: many } }],
    ]);
    const newer = { ...whole, metadata: { ...metadata, resourceVersion: 'newer' } };
    expect((await removeFinalizer({ ...guard, client: clientOf(newer) })).type).toBe('conflict');
    expect(sent.length).toBe(1);
  });

  test('keeps no text alive of which it keeps a part', () => {
    const { object } = given();
    const before = heapBytes();
    const kept = Array.from({ length: 200 }, (_, at) => {
      const annotations = { 'gpurental.dev/hold': `${at}-${long(100_000)}` };
      return keptInstance({ ...object, metadata: { ...object.metadata, annotations } });
    });
    expect(heapBytes() - before).toBeLessThan(kept.length * 20_000);
  });

  test('has other labels only while they are few', () => {
    const object = instance({});
    const own = { 'gpurental.dev/endpoint-group': 'llm' };
    const labelled = (labels: Record<string, string>) =>
      keptInstance({ ...object, metadata: { ...object.metadata, labels } }).metadata.labels;
    expect(labelled({ ...own, team: 'a' })).toEqual({ ...own, team: 'a' });
    const many = Object.fromEntries(Array.from({ length: 200 }, (_, at) => [`label-${at}`, long(40)]));
    expect(labelled({ ...own, ...many })).toEqual(own);
  });
});

test('an account whose namespaces need more labels than a namespace carries is for none (H4)', () => {
  const spec = (matchLabels: Record<string, string>) => ({
    apiKeySecretRef: { name: 'key', key: 'api-key' },
    allowedNamespaces: { from: 'Selector', selector: { matchLabels } },
  });
  const keptSelector = (matchLabels: Record<string, string>) =>
    keptAccount({ metadata: { name: 'a' }, spec: spec(matchLabels) } as unknown as MarketplaceAccount).spec
      .allowedNamespaces.selector ?? {};
  const team = { team: 'a' };
  expect(matches(keptSelector(team), team)).toBe(true);
  const many = Object.fromEntries(Array.from({ length: 400 }, (_, at) => [`label-${at}`, long(40)]));
  expect(matches(keptSelector(many), many)).toBe(false);
  expect(JSON.stringify(keptSelector(many)).length).toBeLessThan(100);
});

test('what caches keep of a group makes no worker old (H4)', () => {
  const group = groupObject({});
  const { template } = group.spec;
  const spec = { ...template.spec, env: [{ name: 'V', value: long(30_000) }] };
  const metadata = { annotations: { big: long(100_000) } };
  const whole = { ...group, spec: { ...group.spec, template: { ...template, spec, metadata } } };
  const kept = keptGroup(whole);
  expect(JSON.stringify(kept).length).toBeLessThan(8_000);
  expect(templateHash(kept)).toBe(templateHash(whole));
  expect(keptGroup(group).spec).toBe(group.spec);
});

describe('a copy that was trimmed (H4)', () => {
  const whole = given({ spec: { env: [{ name: 'V', value: 'x'.repeat(20_000) }] } }).object;
  const read = (copy: typeof whole, answer: unknown) =>
    readInputs(copy, { get: async () => answer } as unknown as KubeClient, {
      market: vastFacts,
      url: 'https://market.example',
      lifeMs: undefined,
      nonce: '0123456789ab',
    });

  test('is rented with the values of the whole object', async () => {
    const copy = keptInstance(whole);
    expect(JSON.stringify(copy).length).toBeLessThan(5_000);
    expect(await read(copy, whole)).toMatchObject({ type: 'ready', env: { V: 'x'.repeat(20_000) } });
  });

  test('B01: is rented with the words of the whole object, and never in another launch mode', async () => {
    const words = Array.from({ length: 10 }, () => 'x'.repeat(2_000));
    const { object } = given({ spec: { command: ['sh', ...words], ssh: true } });
    const copy = keptInstance(object);
    expect(JSON.stringify(copy).length).toBeLessThan(5_000);
    expect(await read(copy, object)).toMatchObject({ type: 'ready', ssh: true });
    const served = given({
      spec: { args: words.slice(0, 2), env: [{ name: 'V', value: 'x'.repeat(20_000) }] },
    });
    expect(await read(keptInstance(served.object), served.object)).toMatchObject({
      ...{ type: 'ready', args: words.slice(0, 2) },
    });
  });

  test.each<[string, unknown]>([
    ['is gone', undefined],
    ['has another spec', { ...whole, metadata: { ...whole.metadata, generation: 99 } }],
    ['is another object', { ...whole, metadata: { ...whole.metadata, uid: 'other' } }],
  ])('is a conflict when the object %s by now', async (_, answer) => {
    await expect(read(keptInstance(whole), answer)).rejects.toMatchObject({ kind: 'conflict' });
  });

  test('is refused when its offers have more bytes than are kept', async () => {
    const values = Array.from({ length: 64 }, (_, at) => `${at}`.padEnd(256, 'x'));
    const filters = ['gpu_arch', 'cpu_arch', 'geolocation'].map((field) => ({
      field,
      operator: 'In' as const,
      values,
    }));
    const { object } = given({ spec: { offers: [{ maxPricePerHour: '1', filters }] } });
    expect(await read(keptInstance(object), object)).toMatchObject({
      type: 'problem',
      reason: 'InputMissing',
    });
  });
});
