import { describe, expect, test } from 'vitest';
import { groupObject, workerObject } from '../../../../test/builders/group-worker.ts';
import { specHash } from '../../../api/v1alpha1/machine-drift.ts';
import { labels, OPERATOR_NAME } from '../../../api/v1alpha1/names.ts';
import { markTrimmed } from '../../../api/v1alpha1/trimmed-spec.ts';
import { isOutdated, isToUpdate, templateHash, updatePatch, workerManifest, workerName } from './template.ts';

describe('the hash of a template', () => {
  /** Returns the hash of a template as a manifest contains it, without defaults of the schema. */
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
    ['the boundary of list entries', { args: [1, 23] }, { args: [12, 3] }],
    ['null and its text', { args: [null] }, { args: ['null'] }],
    ['null and an empty object', { args: [null] }, { args: [{}] }],
    ['a value', { image: 'a' }, { image: 'b' }],
  ])('distinguishes %s', (_, a, b) => {
    expect(hashOf(a)).not.toBe(hashOf(b));
  });

  test('is the recorded one when the cached copy omits parts of the template', () => {
    const { spec, ...rest } = groupObject();
    const template = markTrimmed(spec.template, { hash: 'v1:whole' });
    expect(templateHash({ ...rest, spec: { ...spec, template } })).toBe('v1:whole');
  });

  // A change would replace the workers of every group after an upgrade of the operator.
  test('is stable across versions of the operator', () => {
    expect(hashOf({ image: 'a', args: ['b', null], env: { x: 1 } })).toMatchInlineSnapshot(
      `"v1:409d3253a6290c41"`,
    );
  });
});

describe('a new worker', () => {
  // With other names a newer version of the operator would create each worker again.
  test('has a name with six characters that is stable across versions', () => {
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

  test('has the same name when another process creates it', () => {
    expect(workerName(groupObject(), 0)).toBe('llm-1hqp72');
  });

  describe('with a price limit from the ceiling of its group (M1)', () => {
    const offersOf = (offers: readonly object[], maxPricePerHour?: number) =>
      workerManifest(groupObject({ template: { spec: { image: 'x', offers } } }), {
        ...{ name: 'w', desiredRole: 'Hot', hash: 'v1:x', siblings: [], maxPricePerHour },
      }).spec.offers?.map((offer) => [offer.gpuNames?.[0], offer.maxPricePerHour]);
    const offers = [
      { gpuNames: ['a'], maxPricePerHour: '0.40' },
      { gpuNames: ['b'], maxPricePerHour: '0.90' },
      { gpuNames: ['c'] },
      { gpuNames: ['d'], pricing: 'Interruptible', bid: '0.70' },
    ];

    test('caps every alternative at the limit and drops those with a higher bid', () => {
      expect(offersOf(offers, 550_000)).toEqual([
        ['a', '0.40'],
        ['b', '0.55'],
        ['c', '0.55'],
      ]);
    });

    test('keeps an alternative whose bid equals the limit', () => {
      const atIt = { gpuNames: ['e'], pricing: 'Interruptible', bid: '0.55' };
      expect(offersOf([...offers.slice(0, 1), atIt], 550_000)).toEqual([
        ['a', '0.40'],
        ['e', '0.55'],
      ]);
    });

    test('keeps its only alternative when its bid is too high, so the API server rejects it', () => {
      expect(offersOf(offers.slice(3), 550_000)).toEqual([['d', '0.55']]);
    });

    test('copies the template when it has no price limit', () => {
      expect(offersOf(offers)).toEqual([
        ['a', '0.40'],
        ['b', '0.90'],
        ['c', undefined],
        ['d', undefined],
      ]);
    });
  });

  test('is a GpuInstance', () => {
    const manifest = workerManifest(groupObject(), {
      name: 'w',
      desiredRole: 'Hot',
      hash: 'v1:x',
      siblings: [],
    });
    expect(manifest).toMatchObject({ kind: 'GpuInstance', metadata: { name: 'w', namespace: 'team' } });
  });
});

describe('a worker with an older template (M4)', () => {
  const group = groupObject();
  const { spec } = group.spec.template;
  const current = { templateHash: templateHash(group), spec: group.spec };
  const facts = [{ field: 'gpuName', value: 'RTX 4090' }];
  const rented = (more: object = {}, ofSpec: object = {}) =>
    workerObject('w', {
      spec: { ...spec, ...ofSpec },
      status: { instanceId: '7', specHash: specHash(spec), facts, ...more } as never,
    });
  const judged = (object: ReturnType<typeof rented>, hash: string | undefined = 'v1:0000000000000000') => {
    const worker = { object, templateHash: hash };
    return [isOutdated(worker, current), isToUpdate(worker, current)];
  };
  const UPDATED = [false, true];
  const REPLACED = [true, false];
  const KEPT = [false, false];

  test.each<[string, ReturnType<typeof rented>, readonly boolean[]]>([
    ['updated when its machine matches', rented({}, { disk: '64000M' }), UPDATED],
    ['replaced when its machine was rented with another request', rented({ specHash: 'v2:1' }), REPLACED],
    ['updated when the hash of its request has another version', rented({ specHash: 'v1:1' }), UPDATED],
    ['updated when the hash of its request is missing', rented({ specHash: undefined }), UPDATED],
    ['replaced when it uses another account', rented({}, { accountRef: { name: 'other' } }), REPLACED],
    [
      'replaced when it has no machine and would rent with another request',
      rented({ instanceId: undefined }, { image: 'example/other:1' }),
      REPLACED,
    ],
    ['updated when it has no machine and another price limit', rented({ instanceId: undefined }), UPDATED],
  ])('is %s', (_, object, verdict) => {
    expect(judged(object)).toEqual(verdict);
  });

  test('is replaced when its machine satisfies no alternative', () => {
    const wants = (gpuNames: readonly string[]) =>
      groupObject({ template: { spec: { ...spec, offers: [{ gpuNames, maxPricePerHour: '0.60' }] } } });
    const isOld = (other: ReturnType<typeof wants>) =>
      isOutdated({ object: rented(), templateHash: 'v1:0' }, { templateHash: 'v1:1', spec: other.spec });
    expect(isOld(wants(['H100 SXM']))).toBe(true);
    expect(isOld(wants(['H100 SXM', 'RTX 4090']))).toBe(false);
  });

  test.each([templateHash(group), 'v0:0000000000000000', undefined])(
    'stays unchanged with the hash %s',
    (hash) => {
      const object = rented({ specHash: 'v2:1' });
      expect([
        isOutdated({ object, templateHash: hash }, current),
        isToUpdate({ object, templateHash: hash }, current),
      ]).toEqual(KEPT);
    },
  );

  test('takes added, changed and removed fields, and keeps its power state and resource version', () => {
    const patch = updatePatch(group, rented({}, { powerState: 'Stopped', onStart: 'echo', disk: '64G' }), []);
    expect(patch).toMatchObject({
      metadata: { resourceVersion: '1', annotations: { 'gpurental.dev/template-hash': templateHash(group) } },
      spec: { onStart: null },
    });
    expect((patch as { spec: object }).spec).not.toHaveProperty('powerState');
  });

  test('keeps its own price limit when the template has none', () => {
    const unlimited = groupObject({ template: { spec: { ...spec, offers: [{ gpuNames: ['RTX 4090'] }] } } });
    const patch = updatePatch(unlimited, rented(), []);
    expect(patch).toMatchObject({ spec: { offers: [{ gpuNames: ['RTX 4090'], maxPricePerHour: '0.60' }] } });
  });

  test('gets no alternative away from its siblings that its own machine does not satisfy', () => {
    const apart = groupObject({
      spreadBy: 'Region',
      template: { spec: { ...spec, offers: [{ regions: ['US', 'DE'] }] } },
    });
    const inUS = rented(
      { facts: [{ field: 'region', value: 'California, US' }] },
      { offers: [{ regions: ['US', 'DE'] }] },
    );
    const sibling = workerObject('s', { spec: { offers: [{ regions: ['US'] }] } });
    const patch = updatePatch(apart, inUS, [sibling]) as { spec: { offers?: readonly object[] } };
    expect(patch.spec.offers?.some((offer) => JSON.stringify(offer).includes('"US"')) ?? true).toBe(true);
  });

  test('is updated when it has no status yet and would rent with the same request', () => {
    expect(judged({ ...rented(), status: undefined })).toEqual(UPDATED);
  });

  type Patch = { readonly metadata: object; readonly spec: Record<string, unknown> };
  const patchOf = (...args: Parameters<typeof updatePatch>) => updatePatch(...args) as Patch;
  const wanting = (more: object, ofGroup: object = {}) =>
    groupObject({ ...ofGroup, template: { spec: { ...spec, ...more } } });

  test('stays a member of its group after an update', () => {
    expect(patchOf(group, rented(), []).metadata).toMatchObject({
      uid: 'uid-w',
      labels: { [labels.managedBy]: OPERATOR_NAME, [labels.endpointGroup]: 'llm' },
    });
  });

  test('is spread from its siblings and not from itself after an update', () => {
    const on = (name: string, machineId: string) =>
      workerObject(name, { status: { instanceId: '7', specHash: specHash(spec), machineId } as never });
    const own = on('w', '9');
    const { offers } = patchOf(wanting({}, { spreadBy: 'Machine' }), own, [own, on('s', '12')]).spec;
    expect(offers).toMatchObject([
      { filters: [{ field: 'machineId', operator: 'NotIn', values: ['12'] }] },
      { maxPricePerHour: '0.60' },
    ]);
  });

  test('keeps what it adopts after an update', () => {
    const adopt = { instanceId: '7' };
    const adopting = { ...rented(), spec: { ...rented().spec, adopt } } as never;
    expect(patchOf(group, adopting, []).spec).toEqual({});
  });

  describe('that was adopted', () => {
    const wants = (more: object) =>
      groupObject({ template: { spec: { ...spec, offers: [{ gpuNames: ['H100 SXM'] }], ...more } } });
    const isOld = (adopted: string, more: object = {}) => {
      const { spec: ofGroup } = wants(more);
      const object = rented({}, { adopt: { instanceId: adopted } });
      return isOutdated({ object, templateHash: 'v1:0' }, { templateHash: 'v1:1', spec: ofGroup });
    };

    test('keeps its machine although it satisfies no alternative of the template', () => {
      expect(isOld('7')).toBe(false);
    });

    test('is replaced when the template sends another request', () => {
      expect(isOld('7', { image: 'example/other:1' })).toBe(true);
    });

    test('is compared with the alternatives after its adopted machine was replaced', () => {
      expect(isOld('8')).toBe(true);
    });
  });

  test('takes a higher price limit from the template', () => {
    const dearer = wanting({ offers: [{ maxPricePerHour: '0.90' }] });
    expect(patchOf(dearer, rented(), []).spec.offers).toMatchObject([{ maxPricePerHour: '0.90' }]);
  });

  test('may share with siblings when its machine satisfies no alternative away from them', () => {
    const offers = Array.from({ length: 8 }, () => ({ regions: ['US', 'DE'] }));
    const inUS = rented({ facts: [{ field: 'region', value: 'California, US' }] });
    const sibling = workerObject('s', { spec: { offers: [{ regions: ['US'] }] } });
    const apart = wanting({ offers }, { spreadBy: 'Region' });
    expect(patchOf(apart, inUS, [sibling]).spec.offers).toMatchObject(offers);
    const away = offers.map(() => ({ regions: ['DE'] }));
    const unrented = { ...inUS, status: undefined };
    expect(patchOf(apart, unrented, [sibling]).spec.offers).toMatchObject(away);
  });

  test('gets a whole object for a field that it did not have', () => {
    const withSecret = wanting({ imagePullSecretRef: { name: 'registry' } });
    expect(patchOf(withSecret, rented(), []).spec.imagePullSecretRef).toEqual({ name: 'registry' });
  });

  test('loses a field that the template has without a value', () => {
    const { template } = group.spec;
    const without = { ...template, spec: { ...template.spec, onStart: undefined } };
    const former = { ...group, spec: { ...group.spec, template: without } };
    expect(patchOf(former, rented({}, { onStart: 'echo' }), []).spec).toEqual({ onStart: null });
  });
});
