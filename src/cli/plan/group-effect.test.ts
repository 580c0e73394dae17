import { describe, expect, test } from 'vitest';
import { groupObject, workerObject } from '../../../test/builders/group-worker.ts';
import { gpuInstanceSpec } from '../../api/v1alpha1/gpu-instance.ts';
import { specHash } from '../../api/v1alpha1/machine-drift.ts';
import { annotations, labels } from '../../api/v1alpha1/names.ts';
import { templateHash } from '../../controllers/endpoint-group/public.ts';
import { groupEffectText } from '../../views/group-effect.ts';
import { groupEffect } from './group-effect.ts';

const NOW = Date.parse('2026-11-20T12:00:00Z');
const TEMPLATE = { image: 'example/worker:1', offers: [{ gpuNames: ['RTX 4090'], maxPricePerHour: '0.60' }] };

const group = (change: Record<string, unknown> = {}, template: Record<string, unknown> = {}) =>
  groupObject({ template: { spec: gpuInstanceSpec.parse({ ...TEMPLATE, ...template }) }, ...change });

const before = group();
const owner = (uid: string) => ({
  ...{ apiVersion: before.apiVersion, kind: before.kind, name: 'llm', uid },
  controller: true,
});

/** Two workers of the group with machines, and one of an earlier group of its name. */
const workers = ['llm-a', 'llm-b', 'llm-earlier'].map((name) =>
  workerObject(name, {
    spec: before.spec.template.spec,
    status: {
      phase: 'Running',
      instanceId: '7',
      specHash: specHash(before.spec.template.spec),
      facts: [{ field: 'gpuName', value: 'RTX 4090' }],
    },
    metadata: {
      labels: { [labels.endpointGroup]: 'llm' },
      annotations: { [annotations.templateHash]: templateHash(before), [annotations.desiredRole]: 'Hot' },
      ownerReferences: [owner(name === 'llm-earlier' ? 'uid-earlier' : 'uid-llm')],
    },
  }),
);

const said = (change?: Record<string, unknown>, template?: Record<string, unknown>) =>
  groupEffectText(groupEffect({ before, after: group(change, template) }, workers, NOW));

describe('a manifest of a group', () => {
  test('that changes nothing keeps its workers, and those of another group do not count', () => {
    expect(said()).toBe('keeps its 2 workers.');
  });

  test('with another image replaces them, so many at a time', () => {
    expect(said({}, { image: 'example/worker:2' })).toBe(
      'replaces 2 of 2 workers, at most 1 at a time (disks lost), each once another machine can be rented.',
    );
    expect(said({ updateStrategy: { maxUnavailable: '100%' } }, { image: 'example/worker:2' })).toContain(
      'at most 2 at a time',
    );
  });

  test('with a GPU that they do not have replaces them, and with one more updates them in place', () => {
    expect(said({}, { offers: [{ gpuNames: ['H100'], maxPricePerHour: '9' }] })).toMatch(/^replaces 2 of 2/);
    expect(said({}, { offers: [{ gpuNames: ['RTX 4090', 'H100'], maxPricePerHour: '9' }] })).toBe(
      'keeps its 2 workers; updates 2 in place.',
    );
  });

  test('with OnDelete keeps them, and says that they are old', () => {
    expect(said({ updateStrategy: { type: 'OnDelete' } }, { image: 'example/worker:2' })).toBe(
      'keeps its 2 workers: They do not match the template, and stay by updateStrategy OnDelete: only new workers use it.',
    );
  });

  test('waits for the end of a pause', () => {
    expect(said({ pause: { scaleUp: true } }, { image: 'example/worker:2' })).toBe(
      'replaces 2 of 2 workers, at most 1 at a time (disks lost), each once another machine can be rented: The replacement waits for the end of the pause.',
    );
  });

  test('says how the number of workers changes', () => {
    expect(said({ replicas: 3, maxWorkers: 1 })).toBe(
      'keeps its 2 workers; replicas by load → 3; maxWorkers 20 → 1; removes 1 above maxWorkers.',
    );
  });
});
