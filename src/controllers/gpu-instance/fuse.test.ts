import { describe, expect, test } from 'vitest';
import {
  at,
  type Given,
  given,
  intent,
  machineOf,
  movingRecord,
  NOW,
  withMachine,
} from '../../../test/builders/observed.ts';
import type { GpuInstanceManifestSpec } from '../../api/v1alpha1/gpu-instance.ts';
import { specHash } from '../../api/v1alpha1/machine-drift.ts';
import { launchOf } from '../../instance/launch.ts';
import { vastFacts } from '../../markets/vast/facts.ts';
import type { RentalIntent } from '../../ownership/intent.ts';
import { decide } from './decide.ts';
import { type DesiredFuse, desiredFuse, type FuseInputs, fuseLifeMs } from './fuse.ts';
import { saveRented } from './rules/rented.ts';
import { sentStart } from './sent-start.ts';
import type { RentedFacts } from './types.ts';

const HOUR_MS = 3_600_000;

function fuseFor(manifest: GpuInstanceManifestSpec, change: Partial<FuseInputs> = {}) {
  const { spec } = given({ spec: { maxLifetime: '1h', ...manifest } }).object;
  return desiredFuse({
    ...{ spec, launch: launchOf(spec), lifeMs: HOUR_MS, env: ['HOME'], market: vastFacts },
    ...{ url: 'https://market.example', ...change },
  });
}

describe('the fuse of a rental (C01)', () => {
  test('ends the machine ten minutes after the operator would', () => {
    expect(fuseFor({})).toMatchObject({
      ...{ type: 'fuse', fuses: { lifeSeconds: 4_200 } },
      line: expect.stringContaining('[ $n -lt 4200 ]'),
    });
    expect(fuseFor({ ssh: true, onStart: 'date' }, { lifeMs: 1 })).toMatchObject({
      fuses: { lifeSeconds: 601 },
    });
    expect(fuseFor({ command: ['train'] }, { lifeMs: 0 })).toMatchObject({ fuses: { lifeSeconds: 600 } });
  });

  const LEASE = { maxLifetime: undefined, lease: { duration: '2h', by: 'SSH' } } as const;

  test('ends a machine with a lease after its duration, and after both limits if there are two', () => {
    const only = fuseFor(LEASE, { lifeMs: undefined });
    expect(only).toMatchObject({ type: 'fuse', fuses: { leaseSeconds: 7_200 } });
    expect(only).not.toHaveProperty('fuses.lifeSeconds');
    expect(fuseFor({})).not.toHaveProperty('fuses.leaseSeconds');
    expect(fuseFor({ ...LEASE, maxLifetime: '1h' })).toMatchObject({
      fuses: { lifeSeconds: 4_200, leaseSeconds: 7_200 },
    });
  });

  test('requests renewals at the report server with a lease by report only (C02)', () => {
    const inputs = { lifeMs: undefined, reportUrl: 'https://reports.example/' };
    const byReport = fuseFor({ ...LEASE, lease: { duration: '2h', by: 'Report' } }, inputs);
    expect(byReport).toMatchObject({
      line: expect.stringContaining('h=reports.example p=/lease/ '),
      reportUrl: inputs.reportUrl,
    });
    expect(fuseFor(LEASE, inputs)).not.toHaveProperty('reportUrl');
    expect(fuseFor(LEASE, inputs)).toMatchObject({ line: expect.not.stringContaining('/lease/') });
  });

  test('is impossible for a lease by report without an address of the report server', () => {
    const lease = { duration: '2h', by: 'Report' } as const;
    expect(fuseFor({ ...LEASE, lease }, { lifeMs: undefined })).toEqual({
      type: 'impossible',
      detail:
        'spec.lease would have no effect: by Report needs the address of the report server, which the operator gets by --worker-report-url.',
    });
  });

  test.each<[string, GpuInstanceManifestSpec, Partial<FuseInputs>, string]>([
    ['args', { args: [] }, {}, "with args the image's own program runs, and nothing beside it"],
    ['plain http', {}, { url: 'http://market.example' }, 'a machine sends its key to an https address only'],
    ['another market', {}, { market: {} }, 'machines of this market cannot end themselves'],
  ])('is impossible for a lease with %s, which nothing would enforce', (_, manifest, change, why) => {
    expect(fuseFor({ ...LEASE, ...manifest }, { lifeMs: undefined, ...change })).toEqual({
      type: 'impossible',
      detail: `spec.lease would have no effect: ${why}.`,
    });
  });

  test.each<[string, GpuInstanceManifestSpec, Partial<FuseInputs>]>([
    ['without maxLifetime', {}, { lifeMs: undefined }],
    ['that a deletion stops', { deletionPolicy: 'Stop' }, {}],
    ['that a deletion keeps', { deletionPolicy: 'Retain' }, {}],
    ['that is adopted', { adopt: { instanceId: '4711' } }, {}],
  ])('is not wanted for a machine %s', (_, manifest, change) => {
    expect(fuseFor(manifest, change)).toBeUndefined();
  });

  test.each<[string, GpuInstanceManifestSpec, Partial<FuseInputs>, string]>([
    ['args', { args: [] }, {}, "with args the image's own program runs, and nothing beside it"],
    [
      'an entrypoint of its own',
      { command: ['a'], entrypoint: 'Override' },
      {},
      "with args the image's own program runs, and nothing beside it",
    ],
    [
      'an own id',
      {},
      { env: ['A', 'CONTAINER_ID'] },
      'env sets CONTAINER_ID, so the machine does not know itself',
    ],
    [
      'an own key',
      {},
      { env: ['CONTAINER_API_KEY'] },
      'env sets CONTAINER_API_KEY, so the machine does not know itself',
    ],
    ['plain http', {}, { url: 'http://market.example' }, 'a machine sends its key to an https address only'],
    ['another market', {}, { market: {} }, 'machines of this market cannot end themselves'],
  ])('is left to the operator with %s', (_, manifest, change, why) => {
    expect(fuseFor(manifest, change)).toEqual({
      ...{ type: 'none', reason: 'NoFuse' },
      detail: `Only the operator enforces spec.maxLifetime: ${why}.`,
    });
  });
});

describe('the rest of a lifetime (C01)', () => {
  const left = (situation: Given) => fuseLifeMs(given({ spec: { maxLifetime: '1h' }, ...situation }));
  const since = (seconds: number) => ({ firstRentedAt: new Date(at(seconds)).toISOString() });

  test('is all of it before the first rental, and less after it', () => {
    expect(left({})).toBe(HOUR_MS);
    expect(left({ status: since(-600) })).toBe(HOUR_MS - 600_000);
    expect(left({ status: since(-7_200) })).toBe(0);
    expect(left({ spec: {}, status: since(-600) })).toBeUndefined();
  });

  test('counts by the time of the service while that is behind the operator', () => {
    const serviceTime = { type: 'known', at: at(-300), isConfirmed: true } as const;
    expect(left({ status: since(-600), facts: { serviceTime } })).toBe(HOUR_MS - 300_000);
  });

  test('counts by the clock of the operator while the account is not ready', () => {
    const account = { state: 'missing' } as const;
    expect(left({ status: since(-600), account })).toBe(HOUR_MS - 600_000);
    expect(left({ status: since(-600), account, observed: { now: at(3_600) } })).toBe(HOUR_MS - 600_000);
  });

  test.each<[string, Given]>([
    [
      'the service is ahead of the operator',
      { facts: { serviceTime: { type: 'known', at: NOW + HOUR_MS, isConfirmed: false } } },
    ],
    [
      'the operator is ahead of the service',
      {
        facts: { serviceTime: { type: 'known', at: NOW, isConfirmed: true } },
        observed: { now: NOW + HOUR_MS },
      },
    ],
    [
      'the clock of the operator jumped',
      { facts: { serviceTime: { type: 'unknown' } }, observed: { now: NOW + HOUR_MS, steadyNow: NOW } },
    ],
  ])('counts by the earliest clock when %s', (_, situation) => {
    expect(left({ ...situation, status: since(-600) })).toBe(HOUR_MS - 600_000);
  });

  test('is never more than the limit when every clock is behind', () => {
    expect(left({ status: since(600) })).toBe(HOUR_MS);
  });
});

describe('the start text that is sent (C01)', () => {
  const { script } = vastFacts;
  const fuse = fuseFor({});
  const line = fuse?.type === 'fuse' ? fuse.line : '';
  const sent = (manifest: GpuInstanceManifestSpec, text?: string, desired: DesiredFuse | undefined = fuse) =>
    sentStart(launchOf(given({ spec: manifest }).object.spec), { script: text, fuse: desired }, script);
  // Random text that gzip cannot shorten.
  const long = Array.from({ length: 2_000 }, (_, at) => ((at * 7_919_993) % 65_521).toString(36))
    .join('')
    .slice(0, 4_000);

  test('has the fuse in front of what it would be without', () => {
    const life = { type: 'fuse', fuses: { lifeSeconds: 4_200 } };
    expect(sent({})).toEqual({ type: 'sent', onStart: `#!/bin/sh\n${line}\n`, fuse: life });
    expect(sent({ onStart: 'date' })).toEqual({ type: 'sent', onStart: `${line}\ndate`, fuse: life });
    const secret = { onStartFrom: { secretKeyRef: { name: 'a', key: 'b' } } };
    expect(sent(secret, 'date')).toEqual({ type: 'sent', onStart: `${line}\ndate`, fuse: life });
  });

  test('packs a script that is short enough alone', () => {
    const onStart = '#'.repeat(4_000);
    expect(sent({ onStart })).toMatchObject({
      ...{ onStart: expect.stringContaining('base64 -d'), fuse: { type: 'fuse' } },
    });
  });

  test('leaves the fuse out when the script has no room for it', () => {
    expect(sent({ onStart: long })).toEqual({
      ...{ type: 'sent', onStart: long },
      fuse: {
        ...{ type: 'none', reason: 'NoRoomForFuse' },
        detail: `Only the operator enforces spec.maxLifetime: the script leaves no room for the ${line.length} characters of the fuse in the 4048 that the marketplace takes. Move parts of the script into the image.`,
      },
    });
  });

  test('refuses a lease for which the script has no room, or that is impossible', () => {
    const lease: DesiredFuse = { type: 'fuse', line, fuses: { leaseSeconds: 7_200 } };
    expect(sent({ onStart: long }, undefined, lease)).toEqual({
      type: 'refused',
      detail: expect.stringMatching(/^spec\.lease: the script leaves no room for the \d+ characters/),
    });
    expect(sent({ onStart: 'date' }, undefined, { type: 'impossible', detail: 'why' })).toEqual({
      ...{ type: 'refused', detail: 'why' },
    });
  });

  test('marks the rental of a machine that requests its renewals', () => {
    const lease: DesiredFuse = { type: 'fuse', line, fuses: { leaseSeconds: 7_200 } };
    const fuses = { type: 'fuse', fuses: lease.fuses };
    expect(sent({ onStart: 'date' }, undefined, lease)).toMatchObject({ fuse: fuses });
    const asking = sent({ onStart: 'date' }, undefined, { ...lease, reportUrl: 'https://reports.example' });
    expect(asking).toMatchObject({ fuse: { ...fuses, isReporting: true } });
  });

  test('is that of the script alone when no machine of the object can end itself', () => {
    const none = { type: 'none', reason: 'NoFuse', detail: 'why' } as const;
    expect(sent({ onStart: 'date' }, undefined, none)).toEqual({ type: 'sent', onStart: 'date', fuse: none });
  });

  test('is the path of a program unchanged, which no shell could unpack', () => {
    const program = (text: string) =>
      sentStart({ ssh: false, args: [], onStart: { type: 'program', text } }, {}, script);
    for (const path of ['/bin/train', `/${'a'.repeat(4_100)}`])
      expect(program(path)).toEqual({ type: 'sent', onStart: path, args: [], fuse: undefined });
  });

  test('is no part of the hash of a request', () => {
    const { spec } = given({ spec: { onStart: 'date' } }).object;
    const limited = given({ spec: { onStart: 'date', maxLifetime: '1h' } }).object.spec;
    expect(specHash(limited)).toBe(specHash(spec));
  });
});

describe('the record of a fuse (C01)', () => {
  const RENTED: RentedFacts = {
    ...{ attempt: 1, instanceId: '7', answeredAt: at(2), offer: undefined, offerIndex: 0 },
    ...{ pricePerHour: 500_000, specHash: 'v1:0', image: 'i' },
  };
  const saved = (fuse: RentedFacts['fuse']) =>
    saveRented(given({ intent: intent({ issuedAt: NOW }) }), { ...RENTED, fuse });

  test('is unproven at first', () => {
    const { status, events } = saved({ type: 'fuse', fuses: { lifeSeconds: 4_200, leaseSeconds: 7_200 } });
    expect(status?.fields.selfEnd).toEqual({ lifeSeconds: 4_200, leaseSeconds: 7_200, proof: 'Unproven' });
    expect(events.map(({ reason }) => reason)).toEqual(['InstanceRented']);
  });

  test('is an event when only the operator ends the machine', () => {
    const { status, events } = saved({ type: 'none', reason: 'NoFuse', detail: 'why' });
    expect(status?.fields.selfEnd).toBeUndefined();
    expect(events.at(-1)).toEqual({ type: 'Warning', reason: 'NoFuse', action: 'Renting', note: 'why' });
    expect(saved(undefined).events).toHaveLength(1);
  });
});

describe('the fuse of a machine that was found after a crash (C01)', () => {
  const found = (fuses?: RentalIntent['fuses'], spec: GpuInstanceManifestSpec = { maxLifetime: '1h' }) => {
    const change = fuses ? { fuses } : {};
    const step = decide(
      given({ spec: { ssh: true, ...spec }, intent: intent(change), machines: [machineOf(1)] }),
    );
    if (step.type !== 'decision') throw new Error('no decision');
    return { fuse: step.status?.fields.selfEnd, events: step.events.map(({ reason }) => reason) };
  };

  test('is the one that its intent names', () => {
    expect(found({ lifeSeconds: 4_200, leaseSeconds: 7_200 })).toEqual({
      fuse: { lifeSeconds: 4_200, leaseSeconds: 7_200, proof: 'Unproven' },
      events: ['InstanceFound'],
    });
  });

  test('is said to be missing when the intent names none and maxLifetime wants one', () => {
    expect(found()).toEqual({ fuse: undefined, events: ['InstanceFound', 'NoFuse'] });
    expect(found(undefined, {}).events).toEqual(['InstanceFound']);
    expect(found(undefined, { maxLifetime: '1h', deletionPolicy: 'Retain' }).events).toEqual([
      'InstanceFound',
    ]);
  });
});

const FUSE = { lifeSeconds: 4_200, proof: 'Proven' } as const;

test('a raised limit that the fuse does not know is a condition, and an event when it begins (C13)', () => {
  const status = {
    ...{ instanceId: '7', attempt: 1, selfEnd: FUSE },
    ...{ runningAt: new Date(at(-60)).toISOString(), firstRentedAt: new Date(at(-90)).toISOString() },
  } as const;
  const told = (maxLifetime: string, conditions: readonly object[] = []) => {
    const spec = { maxLifetime, ssh: true, powerState: 'Stopped' } as const;
    const step = decide(given({ spec, status: { ...status, conditions } as object }));
    if (step.type !== 'decision') throw new Error('no decision');
    const events = step.events.filter(({ reason }) => reason === 'LifeFuseFixed').length;
    return { fixed: step.status?.verdict.LifeFuseFixed?.message, events };
  };
  const message = expect.stringContaining('Machine 7 ends itself at');
  expect(told('9h')).toEqual({ fixed: message, events: 1 });
  expect(told('9h', [{ type: 'LifeFuseFixed', status: 'True' }])).toEqual({ fixed: message, events: 0 });
  expect(told('1h', [{ type: 'LifeFuseFixed', status: 'True' }])).toEqual({ fixed: undefined, events: 0 });
});

test('the fuse of a machine is no condition of another one to which the record moves', () => {
  const situation = withMachine({}, { status: { selfEnd: FUSE } });
  const fixed = (of: Given) => {
    const step = decide(given(of));
    if (step.type !== 'decision') throw new Error('no decision');
    return step.status?.verdict.LifeFuseFixed?.message;
  };
  expect(fixed(situation)).toContain('Machine 1 ends itself at');
  expect(fixed(movingRecord(situation))).toBeUndefined();
});
