import { describe, expect, test } from 'vitest';
import { given } from '../../test/builders/observed.ts';
import type { GpuInstance } from '../api/v1alpha1/gpu-instance.ts';
import { annotations, labels } from '../api/v1alpha1/names.ts';
import { idleEnd, idleExtension, idlePolicy } from './idle.ts';

const IDLE = { after: '30m', below: 5, action: 'Destroy', warning: '10m' } as const;
const END = '2026-11-20T12:00:00Z';
const LATER = '2026-11-20T12:00:01Z';

function object(spec: object = { idle: IDLE }, status: object = { idleEndedAt: END }): GpuInstance {
  const base = given().object;
  return { ...base, spec: { ...base.spec, ...spec }, status } as GpuInstance;
}

const marked = (metadata: object, of = object()): GpuInstance => ({
  ...of,
  metadata: { ...of.metadata, ...metadata },
});
const extended = (until: string, of = object()) =>
  marked({ annotations: { [annotations.idleExtendUntil]: until } }, of);

describe('idlePolicy', () => {
  test('returns the values of spec.idle in milliseconds', () => {
    expect(idlePolicy(object())).toEqual({
      ...{ afterMs: 1_800_000, below: 5, action: 'Destroy', warningMs: 600_000 },
    });
  });

  test('has no warning if its duration cannot be read', () => {
    expect(idlePolicy(object({ idle: { ...IDLE, warning: 'soon' } }))?.warningMs).toBe(0);
  });

  test('is undefined without spec.idle, with an unreadable duration, and for a worker of a group', () => {
    expect(idlePolicy(object({ idle: undefined }))).toBeUndefined();
    expect(idlePolicy(object({ idle: { ...IDLE, after: 'long' } }))).toBeUndefined();
    expect(idlePolicy(marked({ labels: { [labels.endpointGroup]: 'g' } }))).toBeUndefined();
    expect(idlePolicy(marked({ labels: undefined }))).toBeDefined();
    expect(idlePolicy(marked({ labels: { other: 'g' } }))).toBeDefined();
  });
});

describe('idleExtension', () => {
  test('returns the time of the annotation, or that it is invalid', () => {
    expect(idleExtension(extended(END))).toBe(Date.parse(END));
    expect(idleExtension(extended('tomorrow'))).toBe('invalid');
    expect(idleExtension(marked({ annotations: undefined }))).toBeUndefined();
    expect(idleExtension(marked({ annotations: {} }))).toBeUndefined();
  });
});

describe('idleEnd', () => {
  test('returns the recorded end while spec.idle stops or destroys', () => {
    expect(idleEnd(object())).toBe(Date.parse(END));
    expect(idleEnd(object({ idle: { ...IDLE, action: 'Stop' } }))).toBe(Date.parse(END));
  });

  test('is undefined without an end, with Report, without spec.idle, and while the object is stopped', () => {
    expect(idleEnd(object({ idle: IDLE }, {}))).toBeUndefined();
    expect(idleEnd({ ...object(), status: undefined } as never)).toBeUndefined();
    expect(idleEnd(object({ idle: { ...IDLE, action: 'Report' } }))).toBeUndefined();
    expect(idleEnd(object({ idle: undefined }))).toBeUndefined();
    expect(idleEnd(object({ idle: IDLE, powerState: 'Stopped' }))).toBeUndefined();
  });

  test('is undefined once the annotation names a later time', () => {
    expect(idleEnd(extended(LATER))).toBeUndefined();
    expect(idleEnd(extended(END))).toBe(Date.parse(END));
    expect(idleEnd(extended('tomorrow'))).toBe(Date.parse(END));
  });
});
