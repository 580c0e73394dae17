import { describe, expect, test } from 'vitest';
import { spec } from '../../test/builders/observed.ts';
import type { GpuInstanceManifestSpec, GpuInstanceStatus } from '../api/v1alpha1/gpu-instance.ts';
import { dueFuse, dueText, endsText, fixedFuse, goneAt, leaseMs, selfEndAt } from './machine-fuses.ts';

const STATUS: GpuInstanceStatus = {
  instanceId: '4711',
  firstRentedAt: '2026-11-20T11:59:00Z',
  runningAt: '2026-11-20T12:00:00Z',
  selfEnd: { lifeSeconds: 4_200, proof: 'Proven' },
};

const fixed = (manifest: GpuInstanceManifestSpec, status: Partial<GpuInstanceStatus> = {}) =>
  fixedFuse({ spec: spec(manifest), status: { ...STATUS, ...status } });

describe('the fuse of a machine whose spec was changed (C01)', () => {
  test('ends the machine so long after it began to run', () => {
    expect(selfEndAt({ status: STATUS })).toBe(Date.parse('2026-11-20T13:10:00Z'));
    expect(selfEndAt({})).toBeUndefined();
    expect(
      selfEndAt({ status: { ...STATUS, selfEnd: { leaseSeconds: 60, proof: 'Proven' } } }),
    ).toBeUndefined();
    const { selfEnd: _fuse, ...without } = STATUS;
    expect(selfEndAt({ status: without })).toBeUndefined();
    const { runningAt: _time, ...unseen } = STATUS;
    expect(selfEndAt({ status: unseen })).toBeUndefined();
  });

  test.each<[string, GpuInstanceManifestSpec]>([
    ['the limit of the rental holds', { maxLifetime: '1h' }],
    ['the limit was lowered', { maxLifetime: '30m' }],
    ['the limit was raised up to the end', { maxLifetime: '71m' }],
  ])('is not reported when %s: the operator comes first', (_, manifest) => {
    expect(fixed(manifest)).toBeUndefined();
  });

  test.each<[string, GpuInstanceManifestSpec]>([
    ['the limit was raised', { maxLifetime: '72m' }],
    ['the limit was removed', {}],
    ['the machine is to be kept', { maxLifetime: '1h', deletionPolicy: 'Retain' }],
  ])('is reported with its time when %s', (_, manifest) => {
    expect(fixed(manifest)).toBe(
      'Machine 4711 ends itself at 2026-11-20T13:10:00Z, by the maxLifetime of its rental.',
    );
  });

  test('is not reported for a machine without one, or before the first rental is dated', () => {
    expect(fixed({}, { selfEnd: undefined })).toBeUndefined();
    expect(fixed({ maxLifetime: '9h' }, { firstRentedAt: undefined })).toBeUndefined();
  });
});

describe('the lease of a machine', () => {
  const lease = { duration: '2h', by: 'SSH' } as const;
  const of = (manifest: GpuInstanceManifestSpec, selfEnd?: GpuInstanceStatus['selfEnd']) =>
    leaseMs({ spec: spec(manifest), status: { selfEnd } });

  test('is that of its rental, whatever the spec says since', () => {
    expect(of({ lease }, { leaseSeconds: 1_800, proof: 'Unproven' })).toBe(1_800_000);
    expect(of({}, { leaseSeconds: 1_800, proof: 'Unproven' })).toBe(1_800_000);
    expect(of({ lease }, { lifeSeconds: 600, proof: 'Proven' })).toBeUndefined();
  });

  test('is that of the spec when no record shows the rental', () => {
    expect(of({ lease })).toBe(7_200_000);
    expect(leaseMs({ spec: spec({ lease }) })).toBe(7_200_000);
    expect(of({})).toBeUndefined();
  });
});

describe('the fuse that was due (C12)', () => {
  const at = (text: string) => Date.parse(`2026-11-20T${text}Z`);
  const RENTED = { rentedAt: '2026-11-20T11:50:00Z', runningAt: '2026-11-20T12:00:00Z' };
  const lease = { duration: '2h', by: 'SSH' } as const;
  const due = (
    status: Partial<GpuInstanceStatus>,
    [goneBy, newer]: readonly [string, string?],
    manifest: GpuInstanceManifestSpec = {},
  ) => {
    const object = { spec: spec(manifest), status: { ...RENTED, ...status } };
    return dueFuse(object, at(goneBy), newer === undefined ? undefined : at(newer));
  };
  const life = { selfEnd: { lifeSeconds: 3_600, proof: 'Proven' } } as const;
  const leased = { selfEnd: { leaseSeconds: 7_200, proof: 'Proven' } } as const;
  const renewed = (text: string) => ({
    lease: { since: RENTED.runningAt, renewedAt: `2026-11-20T${text}Z` },
  });

  test('of its life counts from the rental at the earliest, and ends the machine by its run', () => {
    expect(due(life, ['12:49:59'])).toBeUndefined();
    expect(due(life, ['12:50:00'])).toEqual({ type: 'life', at: at('12:50:00') });
    expect(due(life, ['14:00:00'])).toEqual({ type: 'life', at: at('13:00:00') });
    expect(due({ ...life, runningAt: undefined }, ['14:00:00'])).toEqual({
      type: 'life',
      at: at('12:50:00'),
    });
    const early = { ...life, runningAt: '2026-11-20T11:00:00Z' };
    expect(due(early, ['14:00:00'])).toEqual({ type: 'life', at: at('12:50:00') });
  });

  test('counts from the begin of the cost when no list ever showed the machine', () => {
    const unseen = { rentedAt: undefined, runningAt: undefined };
    const cost = { accrued: '0.00', since: '2026-11-20T12:00:00Z' };
    expect(due({ ...life, ...unseen, cost }, ['13:00:00'])).toEqual({ type: 'life', at: at('13:00:00') });
    expect(due({ ...life, ...unseen }, ['13:00:00'])).toBeUndefined();
  });

  test('of its lease counts from the last renewal, on record or newer', () => {
    const status = { ...leased, ...renewed('12:30:00') };
    expect(due(status, ['14:29:59'])).toBeUndefined();
    const found = { type: 'lease', at: at('14:30:00'), renewedAt: at('12:30:00') };
    expect(due(status, ['14:30:00'])).toEqual(found);
    expect(due(status, ['18:00:00'])).toEqual(found);
    expect(due(status, ['18:00:00', '11:00:00'])).toEqual(found);
    expect(due(status, ['14:30:00', '13:00:00'])).toBeUndefined();
    expect(due(leased, ['15:00:00', '13:00:00'])).toMatchObject({ at: at('15:00:00') });
    const begun = { ...leased, lease: { since: RENTED.runningAt } };
    expect(due(begun, ['14:00:00'])).toMatchObject({ type: 'lease', at: at('14:00:00') });
  });

  test('of an unarmed lease is none, unless a program renews it unseen', () => {
    expect(due(leased, ['18:00:00'], { lease })).toBeUndefined();
    const byProgram = { lease: { duration: '2h', by: 'Program' } } as const;
    expect(due(leased, ['13:49:59'], byProgram)).toBeUndefined();
    expect(due(leased, ['13:50:00'], byProgram)).toEqual({ type: 'lease', at: at('13:50:00') });
    expect(due(leased, ['18:00:00'], byProgram)).toEqual({ type: 'lease', at: at('18:00:00') });
    expect(due({ ...leased, rentedAt: undefined }, ['18:00:00'], byProgram)).toBeUndefined();
  });

  test('is the earlier one of two', () => {
    const selfEnd = { lifeSeconds: 3_600, leaseSeconds: 7_200, proof: 'Proven' } as const;
    expect(due({ selfEnd, ...renewed('11:55:00') }, ['18:00:00'])).toMatchObject({ type: 'life' });
    const long = { ...selfEnd, lifeSeconds: 36_000 };
    expect(due({ selfEnd: long, ...renewed('11:55:00') }, ['23:59:00'])).toMatchObject({ type: 'lease' });
  });

  test('is none of a machine without one', () => {
    expect(due({}, ['23:00:00'])).toBeUndefined();
    expect(dueFuse({ spec: spec() }, at('23:00:00'))).toBeUndefined();
  });

  test('dates the end of a machine that is gone, or nothing does', () => {
    const object = { spec: spec(), status: { ...RENTED, ...life } };
    expect(goneAt(object, at('14:00:00'))).toBe(at('13:00:00'));
    expect(goneAt(object, at('12:10:00'))).toBe(at('12:10:00'));
  });

  test('is named with its time', () => {
    expect(dueText('7', { type: 'life', at: at('13:00:00') })).toBe(
      'Machine 7 ended itself at about 2026-11-20T13:00:00Z, by the maxLifetime of its rental.',
    );
    expect(dueText('7', { type: 'lease', at: at('13:00:00'), renewedAt: at('11:00:00') })).toBe(
      'Machine 7 ended itself at about 2026-11-20T13:00:00Z: its lease was last renewed at 2026-11-20T11:00:00Z.',
    );
    expect(dueText('7', { type: 'lease', at: at('13:00:00') })).toBe(
      'Machine 7 ended itself: its program did not renew the lease.',
    );
    expect(endsText({ lifeSeconds: 60, leaseSeconds: 120 })).toBe('1m of running, or 2m without a renewal');
  });
});
