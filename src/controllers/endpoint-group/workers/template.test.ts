import { describe, expect, test } from 'vitest';
import { groupObject, workerObject } from '../../../../test/builders/group-worker.ts';
import { specHash } from '../../../api/v1alpha1/machine-drift.ts';
import { labels, OPERATOR_NAME } from '../../../api/v1alpha1/names.ts';
import { markTrimmed } from '../../../api/v1alpha1/trimmed-spec.ts';
import { isOutdated, isToUpdate, templateHash, updatePatch, workerManifest, workerName } from './template.ts';

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
  ])('distinguishes %s', (_, a, b) => {
    expect(hashOf(a)).not.toBe(hashOf(b));
  });

  test('is the recorded one when parts of the template were left out of the copy', () => {
    const { spec, ...rest } = groupObject();
    const template = markTrimmed(spec.template, { hash: 'v1:whole' });
    expect(templateHash({ ...rest, spec: { ...spec, template } })).toBe('v1:whole');
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

  test('has the same name again when another process makes it', () => {
    expect(workerName(groupObject(), 0)).toBe('llm-1hqp72');
  });

  describe('whose price the ceiling of the group limits (M1)', () => {
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

    test('has no alternative that may cost more, and none whose bid is above it', () => {
      expect(offersOf(offers, 550_000)).toEqual([
        ['a', '0.40'],
        ['b', '0.55'],
        ['c', '0.55'],
      ]);
    });

    test('keeps an alternative beside others when its bid is exactly the ceiling', () => {
      const atIt = { gpuNames: ['e'], pricing: 'Interruptible', bid: '0.55' };
      expect(offersOf([...offers.slice(0, 1), atIt], 550_000)).toEqual([
        ['a', '0.40'],
        ['e', '0.55'],
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
    const manifest = workerManifest(groupObject(), {
      name: 'w',
      desiredRole: 'Hot',
      hash: 'v1:x',
      siblings: [],
    });
    expect(manifest).toMatchObject({ kind: 'GpuInstance', metadata: { name: 'w', namespace: 'team' } });
  });
});

describe('a worker of another text than the template (M4)', () => {
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
    ['updated when its machine fits', rented({}, { disk: '64000M' }), UPDATED],
    ['replaced when its machine was rented by another request', rented({ specHash: 'v2:1' }), REPLACED],
    ['updated when the hash of its request has another version', rented({ specHash: 'v1:1' }), UPDATED],
    ['updated when the hash of its request is missing', rented({ specHash: undefined }), UPDATED],
    ['replaced when it uses another account', rented({}, { accountRef: { name: 'other' } }), REPLACED],
    [
      'replaced when it has no machine and would rent by another request',
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
    'stays as it is with the hash %s',
    (hash) => {
      const object = rented({ specHash: 'v2:1' });
      expect([
        isOutdated({ object, templateHash: hash }, current),
        isToUpdate({ object, templateHash: hash }, current),
      ]).toEqual(KEPT);
    },
  );

  test('takes over added, changed and removed fields, and keeps its power state and resource version', () => {
    const patch = updatePatch(group, rented({}, { powerState: 'Stopped', onStart: 'echo', disk: '64G' }), []);
    expect(patch).toMatchObject({
      metadata: { resourceVersion: '1', annotations: { 'gpurental.dev/template-hash': templateHash(group) } },
      spec: { onStart: null },
    });
    expect((patch as { spec: object }).spec).not.toHaveProperty('powerState');
  });

  test('keeps its own price limit when the template names none', () => {
    const unlimited = groupObject({ template: { spec: { ...spec, offers: [{ gpuNames: ['RTX 4090'] }] } } });
    const patch = updatePatch(unlimited, rented(), []);
    expect(patch).toMatchObject({ spec: { offers: [{ gpuNames: ['RTX 4090'], maxPricePerHour: '0.60' }] } });
  });

  test('gets no alternatives away from its siblings that its own machine would not satisfy', () => {
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

  test('is updated when it has no status yet and would rent by the same request', () => {
    expect(judged({ ...rented(), status: undefined })).toEqual(UPDATED);
  });

  type Patch = { readonly metadata: object; readonly spec: Record<string, unknown> };
  const patchOf = (...args: Parameters<typeof updatePatch>) => updatePatch(...args) as Patch;
  const wanting = (more: object, ofGroup: object = {}) =>
    groupObject({ ...ofGroup, template: { spec: { ...spec, ...more } } });

  test('stays a member of its group when its text is updated', () => {
    expect(patchOf(group, rented(), []).metadata).toMatchObject({
      uid: 'uid-w',
      labels: { [labels.managedBy]: OPERATOR_NAME, [labels.endpointGroup]: 'llm' },
    });
  });

  test('is spread from its siblings and not from itself when its text is updated', () => {
    const on = (name: string, machineId: string) =>
      workerObject(name, { status: { instanceId: '7', specHash: specHash(spec), machineId } as never });
    const own = on('w', '9');
    const { offers } = patchOf(wanting({}, { spreadBy: 'Machine' }), own, [own, on('s', '12')]).spec;
    expect(offers).toMatchObject([
      { filters: [{ field: 'machineId', operator: 'NotIn', values: ['12'] }] },
      { maxPricePerHour: '0.60' },
    ]);
  });

  test('keeps what it adopts when its text is updated', () => {
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

    test('is compared with the alternatives after another machine was rented in its place', () => {
      expect(isOld('8')).toBe(true);
    });
  });

  test('takes over a higher price limit when the template names one', () => {
    const dearer = wanting({ offers: [{ maxPricePerHour: '0.90' }] });
    expect(patchOf(dearer, rented(), []).spec.offers).toMatchObject([{ maxPricePerHour: '0.90' }]);
  });

  test('may share with siblings when all alternatives away from them rule out its machine', () => {
    const offers = Array.from({ length: 8 }, () => ({ regions: ['US', 'DE'] }));
    const inUS = rented({ facts: [{ field: 'region', value: 'California, US' }] });
    const sibling = workerObject('s', { spec: { offers: [{ regions: ['US'] }] } });
    const apart = wanting({ offers }, { spreadBy: 'Region' });
    expect(patchOf(apart, inUS, [sibling]).spec.offers).toMatchObject(offers);
    const away = offers.map(() => ({ regions: ['DE'] }));
    const unrented = { ...inUS, status: undefined };
    expect(patchOf(apart, unrented, [sibling]).spec.offers).toMatchObject(away);
  });

  test('gets a whole object when it had none in that field', () => {
    const withSecret = wanting({ imagePullSecretRef: { name: 'registry' } });
    expect(patchOf(withSecret, rented(), []).spec.imagePullSecretRef).toEqual({ name: 'registry' });
  });

  test('loses a field when the template has it without a value', () => {
    const { template } = group.spec;
    const without = { ...template, spec: { ...template.spec, onStart: undefined } };
    const former = { ...group, spec: { ...group.spec, template: without } };
    expect(patchOf(former, rented({}, { onStart: 'echo' }), []).spec).toEqual({ onStart: null });
  });
});
