import { describe, expect, test } from 'vitest';
import { type GpuInstance, gpuInstanceSpec } from '../api/v1alpha1/gpu-instance.ts';
import { specHash } from '../api/v1alpha1/machine-drift.ts';
import { API_VERSION } from '../api/v1alpha1/names.ts';
import { effectText, machineEffect } from './machine-effect.ts';

const NOW = Date.parse('2026-11-20T12:00:00Z');
const SPEC = { image: 'example/work:1', offers: [{ gpuNames: ['RTX 4090'], maxPricePerHour: '1' }] };
const FACTS = [{ field: 'gpuName', value: 'RTX 4090' }];

/** Returns the effect of another spec on an object whose machine was rented by SPEC 17 minutes ago. */
function edited(change: Record<string, unknown>, status: GpuInstance['status'] = {}): GpuInstance {
  return {
    apiVersion: API_VERSION,
    kind: 'GpuInstance',
    metadata: { name: 'trainer', namespace: 'team' },
    spec: gpuInstanceSpec.parse({ ...SPEC, ...change }),
    status: {
      phase: 'Running',
      instanceId: '20000006',
      specHash: specHash(gpuInstanceSpec.parse(SPEC)),
      facts: FACTS,
      runningAt: '2026-11-20T11:43:00Z',
      cost: {
        accrued: '0.00',
        accruedBeforeMonth: '0',
        since: '2026-11-20T11:43:00Z',
        pricePerHour: '0.3333',
      },
      ...status,
    },
  };
}

const said = (change: Record<string, unknown>, status?: GpuInstance['status']) => {
  const effect = machineEffect(edited(change, status), NOW);
  return effect && effectText(effect);
};

describe('a manifest', () => {
  test('that asks for another image replaces the machine, and its disk is lost', () => {
    expect(said({ image: 'example/work:2' })).toBe(
      'replaces machine 20000006 (up 17m, $0.09, disk lost) once another machine can be rented: The spec needs another machine: image, command, args, env, start script, ports, ssh or disk.',
    );
  });

  test('that the machine satisfies no more replaces it, and says what it lacks', () => {
    expect(said({ offers: [{ gpuNames: ['H100'], maxPricePerHour: '1' }] })).toMatch(
      /^replaces machine 20000006 .*: The machine satisfies no alternative of spec.offers: it is not gpuNames H100\.$/,
    );
  });

  test('F3: that names a further GPU keeps it', () => {
    expect(said({ offers: [{ gpuNames: ['RTX 4090', 'RTX 3090'], maxPricePerHour: '1' }] })).toBe(
      'keeps machine 20000006 (up 17m, $0.09).',
    );
  });

  test.each([
    [
      { image: 'example/work:2', updateStrategy: { type: 'OnDelete' } },
      /^keeps machine 20000006 .*stays by updateStrategy/,
    ],
    [
      { image: 'example/work:2', paused: true },
      /^replaces machine .*The replacement waits for the end of the pause\.$/,
    ],
    [{ powerState: 'Stopped' }, /^stops machine 20000006 \(up 17m, \$0\.09\)\.$/],
    [{ maxTotalCost: '5', maxLifetime: '8h' }, /^keeps machine 20000006/],
  ])('%j: %s', (change, words) => {
    expect(said(change)).toMatch(words);
  });

  test('says nothing of an object without a machine, and of one that has not run that it is not up', () => {
    expect(machineEffect({ ...edited({}), status: { phase: 'Pending' } }, NOW)).toBeUndefined();
    expect(said({ image: 'x' }, { runningAt: undefined, cost: undefined })).toContain(
      '(not up yet, $0.00, disk lost)',
    );
  });
});
