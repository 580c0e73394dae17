import { describe, expect, test } from 'vitest';
import { given, NOW, withMachine } from '../../test/builders/observed.ts';
import type { GpuInstanceStatus } from '../api/v1alpha1/gpu-instance.ts';
import { instanceReport } from './instance-report.ts';

function selfEndOf(selfEnd?: GpuInstanceStatus['selfEnd']): string | undefined {
  const { object } = given(withMachine({}, { status: { selfEnd } }));
  return instanceReport(object, [], NOW).facts.find(([label]) => label === 'Self-end')?.[1];
}

describe('the report on a machine that ends itself (C11)', () => {
  const fuse = { lifeSeconds: 4_200, leaseSeconds: 7_200 };
  const checkedAt = '2026-11-20T11:00:00Z';

  test.each<[string, string | undefined, GpuInstanceStatus['selfEnd'] | undefined]>([
    ['nothing without a fuse', undefined, undefined],
    [
      'that it is proven',
      'proven: after 1h10m of running, or 2h without a renewal',
      { ...fuse, proof: 'Proven', checkedAt },
    ],
    ['that it is open', 'not proven yet: after 1h10m of running', { lifeSeconds: 4_200, proof: 'Unproven' }],
    [
      'why it is not proven',
      'unproven: after 2h without a renewal; its own key did not reach the marketplace',
      {
        ...{ leaseSeconds: 7_200, proof: 'Unproven', checkedAt },
        detail: 'its own key did not reach the marketplace',
      },
    ],
  ])('says %s', (_, text, selfEnd) => {
    expect(selfEndOf(selfEnd)).toBe(text);
  });
});
