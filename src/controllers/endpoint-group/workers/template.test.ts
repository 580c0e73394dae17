import { describe, expect, test } from 'vitest';
import { groupObject } from '../../../../test/builders/group-worker.ts';
import { templateHash, workerManifest, workerName } from './template.ts';

describe('the hash of a template', () => {
  /** Of templates as manifests write them, with what the schema says no more of. */
  const hashOf = (spec: unknown) =>
    templateHash({ ...groupObject(), spec: { ...groupObject().spec, template: { spec } as never } });

  test.each<[string, unknown, unknown]>([
    ['the order of keys', { image: 'a', env: { x: 1, y: 2 } }, { env: { y: 2, x: 1 }, image: 'a' }],
    ['a key without a value', { image: 'a', env: undefined }, { image: 'a' }],
  ])('does not depend on %s', (_, a, b) => {
    expect(hashOf(a)).toBe(hashOf(b));
  });

  test.each<[string, unknown, unknown]>([
    ['the order of a list', { args: ['a', 'b'] }, { args: ['b', 'a'] }],
    ['where one entry of a list ends', { args: [1, 23] }, { args: [12, 3] }],
    ['nothing for a text', { args: [null] }, { args: ['null'] }],
    ['nothing for an empty object', { args: [null] }, { args: [{}] }],
    ['a value', { image: 'a' }, { image: 'b' }],
  ])('tells %s', (_, a, b) => {
    expect(hashOf(a)).not.toBe(hashOf(b));
  });

  // Another one would have the workers of every group replaced by an upgrade of the operator.
  test('stays from version to version', () => {
    expect(hashOf({ image: 'a', args: ['b', null], env: { x: 1 } })).toMatchInlineSnapshot(
      `"v1:409d3253a6290c41"`,
    );
  });
});

describe('a new worker', () => {
  // Others would let a process of a newer version make each worker once more.
  test('has a name that stays from version to version, of six letters always', () => {
    expect([0, 1, 2].map((ordinal) => workerName(groupObject(), ordinal))).toMatchInlineSnapshot(`
      [
        "llm-1hqp72",
        "llm-71x70m",
        "llm-f38xj7",
      ]
    `);
    const lengths = Array.from({ length: 400 }, (_, ordinal) => workerName(groupObject(), ordinal).length);
    expect(new Set(lengths)).toEqual(new Set(['llm-'.length + 6]));
  });

  describe('whose price the ceiling of the group limits (M1)', () => {
    const offersOf = (offers: readonly object[], maxPricePerHour?: number) =>
      workerManifest(groupObject({ template: { spec: { image: 'x', offers } } }), {
        ...{ name: 'w', wanted: 'Hot', hash: 'v1:x', siblings: [], maxPricePerHour },
      }).spec.offers?.map((offer) => [offer.gpuNames?.[0], offer.maxPricePerHour]);
    const offers = [
      { gpuNames: ['a'], maxPricePerHour: '0.40' },
      { gpuNames: ['b'], maxPricePerHour: '0.90' },
      { gpuNames: ['c'] },
      { gpuNames: ['d'], pricing: 'Interruptible', bid: '0.70' },
    ];

    test('has no alternative that may cost more, and none whose bid is above it', () => {
      expect(offersOf(offers, 550_000)).toEqual([
        ['a', '0.40'],
        ['b', '0.55'],
        ['c', '0.55'],
      ]);
    });

    test('keeps its only alternative, which the API server refuses by the rule about bids', () => {
      expect(offersOf(offers.slice(3), 550_000)).toEqual([['d', '0.55']]);
    });

    test('is as the template says where nothing limits it', () => {
      expect(offersOf(offers)).toEqual([
        ['a', '0.40'],
        ['b', '0.90'],
        ['c', undefined],
        ['d', undefined],
      ]);
    });
  });

  test('is a GpuInstance', () => {
    const manifest = workerManifest(groupObject(), { name: 'w', wanted: 'Hot', hash: 'v1:x', siblings: [] });
    expect(manifest).toMatchObject({ kind: 'GpuInstance', metadata: { name: 'w', namespace: 'team' } });
  });
});
