import { describe, expect, test } from 'vitest';
import { offer, spec } from '../../../test/builders/observed.ts';
import type { GpuInstanceManifestSpec } from './gpu-instance.ts';
import {
  currentHash,
  driftOf,
  filteredFields,
  machineFacts,
  machineRequest,
  satisfiedOffers,
  specHash,
} from './machine-drift.ts';

const A = { name: 'A', value: '1' };
const B = { name: 'B', valueFrom: { secretKeyRef: { name: 'work', key: 'token' } } };
const HTTP = { containerPort: 8080 };
const DNS = { containerPort: 53, protocol: 'UDP' } as const;
const ALTERNATIVE = {
  gpuNames: ['RTX 4090'],
  maxPricePerHour: '0.80',
  minReliability: '95%',
  filters: [{ field: 'cpu_cores', operator: 'Gte', value: '8' }],
} satisfies NonNullable<GpuInstanceManifestSpec['offers']>[number];
const MANIFEST: GpuInstanceManifestSpec = {
  image: 'example/image:1',
  disk: '64G',
  env: [A, B],
  ports: [HTTP, DNS],
  onStart: 'train',
  offers: [ALTERNATIVE],
};

/** Returns a machine that was rented by {@link MANIFEST}, on an offer that satisfies it exactly. */
function rented(changes: Partial<Parameters<typeof machineFacts>[0]> = {}) {
  const bought = spec(MANIFEST);
  const known = { ...offer(), gpuName: 'RTX 4090', reliability: 0.98, fields: { cpu_cores: 16 }, ...changes };
  const fields = filteredFields(bought.offers);
  return { specHash: specHash(bought), facts: machineFacts({ ...known, pricing: 'OnDemand' }, fields) };
}

const driftBy = (changes: GpuInstanceManifestSpec, machine = rented()) =>
  driftOf(machine, spec({ ...MANIFEST, ...changes }));

describe('a machine that is rented keeps its object (M4, F3)', () => {
  test.each<[string, GpuInstanceManifestSpec]>([
    ['nothing changes', {}],
    [
      'another GPU model will do as well',
      { offers: [{ ...ALTERNATIVE, gpuNames: ['RTX 4090', 'RTX 3090'] }] },
    ],
    [
      'the GPU models are in another order',
      { offers: [{ ...ALTERNATIVE, gpuNames: ['RTX 3090', 'RTX 4090'] }] },
    ],
    ['any GPU model will do', { offers: [{ maxPricePerHour: '0.80' }] }],
    ['a port gets a name', { ports: [{ ...HTTP, name: 'http' }, DNS] }],
    ['the ports are in another order', { ports: [DNS, HTTP] }],
    ['the disk is written in another unit', { disk: '64000M' }],
    ['the variables are in another order', { env: [B, A] }],
    [
      'a further alternative comes first',
      { offers: [{ gpuNames: ['H100 SXM'], maxPricePerHour: '3' }, ALTERNATIVE] },
    ],
    ['the maximum price is raised', { offers: [{ ...ALTERNATIVE, maxPricePerHour: '2' }] }],
    ['the maximum price is lowered', { offers: [{ ...ALTERNATIVE, maxPricePerHour: '0.01' }] }],
    ['the order of offers changes', { offers: [{ ...ALTERNATIVE, order: [{ field: 'score' }] }] }],
    ['a requirement is widened', { offers: [{ ...ALTERNATIVE, minReliability: '90%' }] }],
    ['a requirement is narrowed that it satisfies', { offers: [{ ...ALTERNATIVE, minReliability: '97%' }] }],
    ['a region is asked for and nobody knows its own', { offers: [{ ...ALTERNATIVE, regions: ['SE'] }] }],
    [
      'a column is asked for that nobody noted',
      { offers: [{ ...ALTERNATIVE, filters: [{ field: 'cuda_max_good', operator: 'Gte', value: '13' }] }] },
    ],
    [
      'a column is asked for that it satisfies',
      { offers: [{ ...ALTERNATIVE, filters: [{ field: 'cpu_cores', operator: 'Gte', value: '16' }] }] },
    ],
    ['the power state changes', { powerState: 'Stopped' }],
    ['a timeout is longer', { timeouts: { loading: '30m' } }],
    ['a policy changes', { deletionPolicy: 'Retain', onPriceAbove: 'Replace' }],
    ['no alternative is left', { offers: [] }],
  ])('scenario 101: when %s', (_, changes) => {
    expect(driftBy(changes, rented({ region: undefined, fields: { cpu_cores: 16 } }))).toBeUndefined();
  });

  test('when a Secret is optional from now on', () => {
    const secretKeyRef = { name: 'work', key: 'token', optional: true };
    expect(driftBy({ env: [A, { name: 'B', valueFrom: { secretKeyRef } }] })).toBeUndefined();
  });
});

describe('a machine that was adopted (M4)', () => {
  const other = { gpuName: 'RTX 3090', gpuCount: 8 };
  const adopted = spec({ ...MANIFEST, adopt: { instanceId: '7' } });

  test('does not drift although it satisfies no alternative', () => {
    expect(driftOf({ ...rented(other), instanceId: '7' }, adopted)).toBeUndefined();
  });

  test('drifts when the request changes', () => {
    const machine = { ...rented(other), instanceId: '7' };
    expect(driftOf(machine, { ...adopted, image: 'example/image:2' })).toEqual({ type: 'request' });
  });

  test('drifts by offers once another machine was rented in its place', () => {
    expect(driftOf({ ...rented(other), instanceId: '8' }, adopted)?.type).toBe('offers');
  });
});

describe('a machine drifts (M4)', () => {
  test.each<[string, GpuInstanceManifestSpec]>([
    ['another image', { image: 'example/image:2' }],
    ['a larger disk', { disk: '65G' }],
    ['another value of a variable', { env: [{ name: 'A', value: '2' }, B] }],
    ['a variable less', { env: [B] }],
    [
      'another Secret',
      { env: [A, { name: 'B', valueFrom: { secretKeyRef: { name: 'other', key: 'token' } } }] },
    ],
    ['a port more', { ports: [HTTP, DNS, { containerPort: 22 }] }],
    ['another protocol', { ports: [HTTP, { containerPort: 53 }] }],
    ['another start script', { onStart: 'serve' }],
    [
      'a start script out of a Secret',
      { onStart: undefined, onStartFrom: { secretKeyRef: { name: 's', key: 'k' } } },
    ],
    ['B01: args', { onStart: undefined, args: [] }],
    ['B01: a command', { onStart: undefined, command: ['train'] }],
    ['SSH', { ssh: true }],
    ['another pull secret', { imagePullSecretRef: { name: 'registry' } }],
  ])('by %s', (_, changes) => {
    expect(driftBy(changes)).toEqual({ type: 'request' });
  });

  test.each<[string, NonNullable<GpuInstanceManifestSpec['offers']>[number], string]>([
    ['another GPU model', { gpuNames: ['H100 SXM'] }, 'gpuNames H100 SXM'],
    ['more GPUs', { gpuCount: 2 }, 'gpuCount 2'],
    ['more memory', { minGpuMemory: '48G' }, 'minGpuMemory 48G'],
    ['more direct ports', { minDirectPorts: 100 }, 'minDirectPorts 100'],
    ['a better host', { minReliability: '99%' }, 'minReliability 99%'],
    ['another country', { regions: ['SE'] }, 'regions SE'],
    ['an interruptible price', { pricing: 'Interruptible', bid: '0.20' }, 'pricing Interruptible'],
    [
      'more of a column that was asked for when it was rented',
      { filters: [{ field: 'cpu_cores', operator: 'Gte', value: '32' }] },
      'filter cpu_cores Gte 32',
    ],
  ])('by %s where no alternative is satisfied', (_, narrowed, label) => {
    const drift = driftBy({ offers: [{ ...ALTERNATIVE, ...narrowed }] });
    expect(drift).toMatchObject({ type: 'offers', detail: expect.stringContaining(label) });
    expect(driftBy({ offers: [{ ...ALTERNATIVE, ...narrowed }, ALTERNATIVE] })).toBeUndefined();
  });

  test('by a checked host only where it is known to be none', () => {
    const unchecked = rented({ verified: false });
    expect(driftBy({}, unchecked)).toMatchObject({ type: 'offers' });
    expect(driftBy({ offers: [{ ...ALTERNATIVE, verified: false }] }, unchecked)).toBeUndefined();
    expect(driftBy({}, rented({ verified: undefined }))).toBeUndefined();
  });
});

test.each<[string, GpuInstanceManifestSpec, GpuInstanceManifestSpec]>([
  ['other args', { args: ['a', 'b'] }, { args: ['a b'] }],
  ['no args in place of an empty list', { args: [] }, {}],
  ['another entrypoint', { command: ['a'] }, { command: ['a'], entrypoint: 'Override' }],
  ['other words of a command', { command: ['a', 'b'] }, { command: ['a'], args: ['c'] }],
])('a machine drifts by %s (B01)', (_, before, after) => {
  expect(driftOf({ specHash: specHash(spec(before)) }, spec(after))).toEqual({ type: 'request' });
});

describe('the alternatives that a machine satisfies (M4)', () => {
  const other = { gpuNames: ['H100 SXM'], maxPricePerHour: '3' };
  const satisfied = (offers: NonNullable<GpuInstanceManifestSpec['offers']>, machine = rented()) =>
    satisfiedOffers(machine, spec({ ...MANIFEST, offers })).map(({ maxPricePerHour }) => maxPricePerHour);

  test('are found at any place', () => {
    expect(satisfied([other, ALTERNATIVE])).toEqual(['0.80']);
    expect(satisfied([ALTERNATIVE, other, { maxPricePerHour: '0.70' }])).toEqual(['0.80', '0.70']);
  });

  test('are all of them if it satisfies none, or if there are none', () => {
    expect(satisfied([other, { ...other, maxPricePerHour: '4' }])).toEqual(['3', '4']);
    expect(satisfiedOffers(rented(), { ...spec(MANIFEST), offers: undefined })).toEqual([]);
  });

  test('are all of them if nothing is known of the machine', () => {
    expect(satisfiedOffers({}, spec({ ...MANIFEST, offers: [other, ALTERNATIVE] }))).toHaveLength(2);
  });
});

describe('the hash of a request', () => {
  test.each(['v0:x', 'v1:409d3253a6290c41', undefined])(
    '%s says nothing, and is written again',
    (recorded) => {
      const now = spec({ ...MANIFEST, image: 'example/image:2' });
      expect(driftOf({ specHash: recorded }, now)).toBeUndefined();
      expect(currentHash(recorded, now)).toBe(specHash(now));
    },
  );

  test('of this version stays', () => {
    expect(currentHash('v2:x', spec())).toBe('v2:x');
    expect(driftOf({ specHash: 'v2:x' }, spec())).toEqual({ type: 'request' });
  });

  test('does not depend on what a default adds, nor on the order of keys', () => {
    const written = spec(MANIFEST);
    const bare = {
      image: written.image,
      disk: '64G',
      env: MANIFEST.env,
      ports: MANIFEST.ports,
      onStart: 'train',
    };
    const withNew = { ...written, ports: written.ports?.map((port) => ({ ...port, hostPort: 0 })) };
    expect(specHash(bare as never)).toBe(specHash(written));
    expect(specHash(withNew)).toBe(specHash(written));
    expect(specHash(Object.fromEntries(Object.entries(written).reverse()) as never)).toBe(specHash(written));
  });

  test.each<[string, GpuInstanceManifestSpec]>([
    ['v2:8d33db9e79144d72', {}],
    ['v2:6918159b62543269', { ssh: true }],
    ['v2:0cf8c803cfe7233d', { onStart: 'date' }],
    ['v2:5c211fe9ba06c3a1', { onStartFrom: { secretKeyRef: { name: 's', key: 'k' } } }],
    ['v2:f51bf790bdf73fd3', { image: 'pytorch/pytorch:2.9.1', disk: '64G' }],
    ['v2:61ec2815e633ca24', { disk: '32Gi' }],
    ['v2:e82350cc6843753f', { env: [{ name: 'A', value: '1' }] }],
    ['v2:56aac1f7e92d59bb', { env: [{ name: 'A' }] }],
    ['v2:076011a609202187', { env: [{ name: 'B', valueFrom: { secretKeyRef: { name: 'w', key: 't' } } }] }],
    ['v2:9b6d0fd5211c6ff1', { ports: [{ containerPort: 8080 }] }],
    ['v2:5401465b3955fb5f', { ports: [{ containerPort: 53, protocol: 'UDP' }] }],
    ['v2:64e1bfa349a2e5bf', { ports: [{ containerPort: 22 }], ssh: true }],
    ['v2:07e785250df4ac11', { imagePullSecretRef: { name: 'r' } }],
    ['v2:8c98622834dca4b6', { imagePullSecretRef: { name: 'r' }, ssh: true, onStart: 'x' }],
    ['v2:8d33db9e79144d72', { offers: [{ gpuNames: ['H100 SXM'], maxPricePerHour: '3' }] }],
    ['v2:8d33db9e79144d72', { powerState: 'Stopped' }],
    ['v2:8d33db9e79144d72', { paused: true }],
    ['v2:8d33db9e79144d72', { deletionPolicy: 'Retain', maxLifetime: '8h' }],
    ['v2:8d33db9e79144d72', { adopt: { instanceId: '7' } }],
    ['v2:6918159b62543269', { readinessProbe: { tcpSocket: { port: 22 } }, ssh: true }],
  ])('B01: stays %s for an object from before command, args and entrypoint', (hash, manifest) => {
    expect(specHash(spec(manifest))).toBe(hash);
  });

  test.each<[string, GpuInstanceManifestSpec, GpuInstanceManifestSpec]>([
    [
      'a command is split over command and args',
      { command: ['a', 'b', 'c'] },
      { command: ['a'], args: ['b', 'c'] },
    ],
    ['entrypoint says its default', { command: ['a'] }, { command: ['a'], entrypoint: 'Keep' }],
  ])('B01: is the same when %s', (_, one, other) => {
    expect(specHash(spec(one))).toBe(specHash(spec(other)));
  });

  // Another value would replace every machine at an upgrade of the operator: raise VERSION with it.
  test('stays from version to version', () => {
    expect(specHash(spec(MANIFEST))).toMatchInlineSnapshot(`"v2:6abe20b3585e7259"`);
  });
});

test('the hash of a cached object is computed once', () => {
  const cached = spec(MANIFEST);
  const first = specHash(cached);
  Object.assign(cached, { image: 'example/image:2' });
  expect(specHash(cached)).toBe(first);
});

test('a spec without variables and ports sends none', () => {
  const { env: _env, ports: _ports, ...bare } = spec({ image: 'example/image:1' });
  expect(machineRequest(bare)).toMatchObject({ env: {}, ports: [] });
  expect(machineRequest({ ...bare, env: [{ name: 'A' }] })).toMatchObject({ env: { A: { value: '' } } });
});

test('facts are at most as many as a status holds, those of the machine before those of filters', () => {
  const fields = Array.from({ length: 300 }, (_, index) => `f${index}`);
  const known = { ...offer(), fields: Object.fromEntries(fields.map((field) => [field, 1])) };
  const facts = machineFacts({ ...known, pricing: 'OnDemand' }, fields);
  expect(facts).toHaveLength(264);
  expect(facts.at(-1)).toEqual({ field: 'pricing', value: 'OnDemand' });
  expect(machineFacts({ pricing: 'OnDemand' }, ['f1'])).toEqual([{ field: 'pricing', value: 'OnDemand' }]);
});

test('facts keep what is known, in whole texts that fit', () => {
  const bare = {
    ...offer(),
    gpuName: 'x'.repeat(300),
    reliability: undefined,
    fields: { a: null, b: 1.5, c: true },
  };
  const facts = machineFacts(bare, ['a', 'b', 'c', 'd']);
  expect(Object.fromEntries(facts.map(({ field, value }) => [field, value]))).toMatchObject({
    b: '1.5',
    c: 'true',
  });
  expect(facts.find(({ field }) => field === 'gpuName')?.value).toHaveLength(256);
  expect(facts.map(({ field }) => field)).not.toContain('a');
  expect(facts.map(({ field }) => field)).not.toContain('reliability');
});

/** Facts in the form of versions before neutral names. */
const FORMER_FACTS = [
  { field: 'cpu_cores', value: '16' },
  { field: 'gpu_name', value: 'RTX 4090' },
  { field: 'num_gpus', value: '1' },
  { field: 'gpu_ram', value: '24000' },
  { field: 'reliability', value: '0.98' },
  { field: 'geolocation', value: 'California, US' },
  { field: 'pricing', value: 'OnDemand' },
];

test.each<[string, GpuInstanceManifestSpec, string | undefined]>([
  ['nothing', {}, undefined],
  ['another model', { offers: [{ ...ALTERNATIVE, gpuNames: ['H100 SXM'] }] }, 'gpuNames H100 SXM'],
  ['more GPUs', { offers: [{ ...ALTERNATIVE, gpuCount: 2 }] }, 'gpuCount 2'],
  ['more memory', { offers: [{ ...ALTERNATIVE, minGpuMemory: '48G' }] }, 'minGpuMemory 48G'],
  ['another country', { offers: [{ ...ALTERNATIVE, regions: ['SE'] }] }, 'regions SE'],
])('reads facts that an earlier version recorded when the spec asks for %s', (_, changes, lacks) => {
  const drift = driftBy(changes, { ...rented(), facts: FORMER_FACTS });
  expect(drift).toEqual(
    lacks && {
      type: 'offers',
      detail: `The machine satisfies no alternative of spec.offers: it is not ${lacks}.`,
    },
  );
});
