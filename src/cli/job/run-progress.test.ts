import { describe, expect, test } from 'vitest';
import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { silenceLine, stateLine } from './run-progress.ts';

const NOW = Date.parse('2026-11-20T13:00:00Z');
const object = (status: object): GpuInstance =>
  ({ metadata: { name: 'job-1' }, spec: {}, status }) as unknown as GpuInstance;

describe('stateLine', () => {
  test('names phase, machine, price per hour and cost so far', () => {
    const running = {
      ...{ phase: 'Running', instanceId: '20000003', gpu: { name: 'RTX 4090', count: 2 } },
      cost: { pricePerHour: '0.36', accrued: '0.10', since: '2026-11-20T12:30:00Z' },
    };
    expect(stateLine(object(running), NOW).text).toBe(
      'gpui/job-1 Running, 2 × RTX 4090, machine 20000003, $0.36/h, $0.28 so far',
    );
  });

  test('names the message while nothing runs, in one line', () => {
    const conditions = [{ type: 'Ready', status: 'False', reason: 'NoOffer', message: 'No offer\nmatches.' }];
    const { text } = stateLine(object({ phase: 'Pending', conditions }), NOW);
    expect(text).toMatch(/^gpui\/job-1 Pending, \$0\.00 so far: No offer\S* ?matches\.$/);
  });

  test('is the same state when only the cost changes, and another when the price does', () => {
    const at = (accrued: string, pricePerHour: string): string =>
      stateLine(object({ phase: 'Running', cost: { accrued, pricePerHour } }), NOW).key;
    expect(at('1', '0.30')).toBe(at('2', '0.30'));
    expect(at('1', '0.30')).not.toBe(at('1', '0.31'));
  });
});

describe('silenceLine', () => {
  test.each([
    [{ apiServerMs: 59_000, operatorMs: undefined }, undefined],
    [{ apiServerMs: 0, operatorMs: 59_000 }, undefined],
    [{ apiServerMs: 0, operatorMs: undefined }, undefined],
    [{ apiServerMs: 120_000, operatorMs: 120_000 }, 'no answer from the API server for 2m'],
    [{ apiServerMs: 0, operatorMs: 61_000 }, 'no answer from the operator for 61s'],
  ])('reports a silence of a minute: %j', (silence, words) => {
    const line = silenceLine('job-1', silence);
    if (words === undefined) expect(line).toBeUndefined();
    else expect(line).toContain(words);
  });
});
