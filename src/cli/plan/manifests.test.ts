import { describe, expect, test } from 'vitest';
import { plannedObjects, refuseBroken } from './manifests.ts';

const manifest = (kind: string, spec: unknown): string =>
  JSON.stringify({ apiVersion: 'gpurental.dev/v1alpha1', kind, metadata: { name: 'x' }, spec });
const offers = [{ maxPricePerHour: '1' }];
const read = (text: string) => plannedObjects([{ text, file: 'x.yaml' }]);

describe('without a cluster', () => {
  const offline = async (kind: string, spec: unknown) => refuseBroken(await read(manifest(kind, spec)));

  test.each([
    ['GpuInstance', { disk: '64GB' }, 'spec.disk: write a size with its unit, such as 32G or 32Gi'],
    ['GpuInstance', { offers: [{ minGpuMemory: '24Gi' }] }, 'spec.offers.0.minGpuMemory: write 24G: '],
  ])('B08: the rules of a %s refuse %j', async (kind, change, said) => {
    await expect(offline(kind, { image: 'x', offers, ...change })).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringContaining(said),
    });
  });

  test('B08: the rules of the workers of a group refuse their disk', async () => {
    const template = { spec: { image: 'x', offers, disk: '64GB' } };
    await expect(offline('EndpointGroup', { template })).rejects.toThrow('spec.template.spec.disk: ');
  });

  test('B08: a manifest that breaks no rule is accepted', async () => {
    await expect(offline('GpuInstance', { image: 'x', offers, disk: '64G' })).resolves.toBeUndefined();
  });
});

describe('a manifest to plan', () => {
  test('is every GpuInstance and EndpointGroup of a file of several documents', async () => {
    const group = manifest('EndpointGroup', {
      load: { type: 'Static', static: { load: '1' } },
      template: { spec: { image: 'x', offers } },
    });
    const other = JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x' } });
    const texts = [manifest('GpuInstance', { image: 'x', offers }), other, group];
    const planned = await read(texts.join('\n---\n'));
    expect(planned.map(({ object }) => object)).toEqual(['gpui/x', 'epg/x']);
    expect(planned.map(({ spec }) => spec.image)).toEqual(['x', 'x']);
  });

  test('is every item of a list, as kubectl prints it', async () => {
    const items = [JSON.parse(manifest('GpuInstance', { image: 'x', offers }))];
    const planned = await read(JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
    expect(planned.map(({ object }) => object)).toEqual(['gpui/x']);
  });

  test('of a version that no cluster serves is refused', async () => {
    const newer = manifest('GpuInstance', { image: 'x', offers }).replace('v1alpha1', 'v1');
    await expect(read(newer)).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringContaining('apiVersion: gpurental.dev/v1 in place of gpurental.dev/v1alpha1'),
    });
  });

  test.each([
    [
      { image: 'x', offers: [{ gpuName: ['A'] }] },
      'spec.offers.0.gpuName: no such field; did you mean gpuNames?',
    ],
    [
      { image: 'x', offers, powerstate: 'Stopped' },
      'spec.powerstate: no such field; did you mean powerState?',
    ],
    [
      { image: 'x', offers, timeouts: { bootTimeUntilGivenUp: '1m' } },
      'spec.timeouts.bootTimeUntilGivenUp: no such field',
    ],
    [{ image: 'x', offers: [{ gpuCount: 'two' }] }, 'spec.offers.0.gpuCount: '],
  ])('%j is refused: %s', async (spec, said) => {
    await expect(read(manifest('GpuInstance', spec))).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringContaining(said),
    });
  });

  test('gets all its faults at once, and which number needs quotes', async () => {
    const wrong = { image: 'x', powerstate: 'Stopped', offers: [{ maxPricePerHour: 0.6, gpuCount: 'two' }] };
    const other = manifest('GpuInstance', { image: 7, offers });
    const failure = await read(`${manifest('GpuInstance', wrong)}\n---\n${other}`).catch((error) => error);
    for (const said of [
      'spec.offers.0.maxPricePerHour: write it in quotes: "0.6"',
      'spec.offers.0.gpuCount: ',
      'spec.powerstate: no such field; did you mean powerState?',
      'spec.image: write it in quotes: "7"',
    ])
      expect(failure.message).toContain(said);
    expect(failure.exitCode).toBe(2);
  });

  test.each([
    [
      { image: 'x', offers: [{ regions: ['SE', false] }] },
      /regions\.1: write it in quotes: YAML reads a bare NO/,
    ],
    [{ image: true, offers }, /spec\.image: write it in quotes: YAML reads a bare yes/],
    [{ image: 'x', offers, timeouts: { loading: 60 } }, /spec\.timeouts\.loading: this is text: \w/],
    [{ image: 'x', offers: 7 }, /spec\.offers: (?!write it in quotes).*/],
    [{ image: 'x', offers, disk: 32 }, /spec\.disk: this is text: write a size with its unit .* 32Gi/],
    [{ image: 'x', offers, disk: 0 }, /spec\.disk: this is text: write a size with its unit/],
    [
      { image: 'x', offers, disk: 32, maxTotalCost: -5 },
      /maxTotalCost: this is text: write dollars in quotes/,
    ],
    [
      { image: 'x', offers: [{ maxPricePerHour: '-1' }] },
      /maxPricePerHour: write dollars in quotes, 0 or more/,
    ],
    [{ image: 'x', offers, maxLifetime: 24 }, /spec\.maxLifetime: this is text: write a duration with units/],
    [
      { image: 'x', offers, disk: '' },
      /spec\.disk: the text is empty: write a value, or leave the field out/,
    ],
    [{ image: 'x', offers, ssh: 'yes' }, /spec\.ssh: write true or false without quotes, in place of "yes"/],
    [{ image: 'x', offers: [{ gpuCount: '2' }] }, /spec\.offers\.0\.gpuCount: write it without quotes: 2/],
  ])('%j: says what to write in place of what YAML read', async (spec, said) => {
    await expect(read(manifest('GpuInstance', spec))).rejects.toThrow(said);
  });

  test.each([
    ['kind: *nothing\napiVersion: v1', 'Unresolved alias'],
    ['kind: GpuInstance\napiVersion: { toString: 1 }', 'holds no GpuInstance'],
  ])('%j is refused: %s', async (text, said) => {
    await expect(read(text)).rejects.toMatchObject({ exitCode: 2, message: expect.stringContaining(said) });
  });

  test.each([
    ['NO', 'spec.offers.0.regions.0'],
    ['on', 'spec.offers.0.regions.0'],
    ['010', 'spec.offers.0.regions.0: this is text: write the two-letter code'],
  ])('F9: means what kubectl reads: a bare %s is no text', async (region, message) => {
    const text = `apiVersion: gpurental.dev/v1alpha1
kind: GpuInstance
metadata: { name: x }
spec: { image: x, offers: [{ maxPricePerHour: "1", regions: [${region}] }] }`;
    await expect(read(text)).rejects.toMatchObject({ message: expect.stringContaining(message) });
    expect(await read(text.replace(`[${region}]`, '["NO"]'))).toMatchObject([
      { spec: { offers: [{ regions: ['NO'] }] } },
    ]);
  });

  test.each(['2026-11-20', '2026-11-20T12:00:00Z', '1:30', '190:20:30.15'])(
    'F9: means what kubectl reads: a bare %s is text',
    async (value) => {
      const text = `apiVersion: gpurental.dev/v1alpha1
kind: GpuInstance
metadata: { name: x }
spec: { image: x, onStart: ${value}, offers: [{ maxPricePerHour: "1" }] }`;
      expect(await read(text)).toMatchObject([{ spec: { onStart: value } }]);
    },
  );

  test('may hold what core/v1 has and we do not name', async () => {
    const env = [{ name: 'A', valueFrom: { secretKeyRef: { name: 's', key: 'k', optional: true } } }];
    expect(await read(manifest('GpuInstance', { image: 'x', offers, env }))).toHaveLength(1);
  });

  test('without objects of the operator, or without YAML, is reported by its name', async () => {
    await expect(read('kind: Pod\napiVersion: v1\n')).rejects.toThrow('x.yaml holds no GpuInstance');
    await expect(read('a: [\n')).rejects.toMatchObject({ exitCode: 2 });
  });
});
