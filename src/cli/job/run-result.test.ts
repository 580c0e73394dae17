import { describe, expect, test } from 'vitest';
import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { exitCodeOf, resultOf, summaryLine } from './run-result.ts';

const NOW = Date.parse('2026-11-20T13:00:00Z');

function finished(succeeded: 'True' | 'False' | 'Unknown', reason: string, exitCode?: number): GpuInstance {
  return {
    apiVersion: 'gpurental.dev/v1alpha1',
    kind: 'GpuInstance',
    metadata: { name: 'job-0123456789' },
    spec: {},
    status: {
      conditions: [{ type: 'Succeeded', status: succeeded, reason, message: 'm', lastTransitionTime: '' }],
      run: {
        ...(exitCode !== undefined && { exitCode }),
        attempts: 2,
        startedAt: '2026-11-20T12:00:00Z',
        ...(succeeded !== 'Unknown' && { finishedAt: '2026-11-20T12:41:00Z' }),
      },
      cost: { accrued: '0.41' },
    },
  } as unknown as GpuInstance;
}

function codeOf(object: GpuInstance): number {
  const result = resultOf(object);
  if (result === undefined) throw new Error('the run goes on');
  return exitCodeOf(result);
}

describe('exitCodeOf', () => {
  test('is 0 only when the run succeeded', () => {
    expect(codeOf(finished('True', 'Completed', 0))).toBe(0);
    expect(codeOf(finished('False', 'BackoffLimit', 0))).toBe(1);
  });

  test.each([1, 2, 3, 74, 76, 124, 125])('keeps code %i of the program', (code) => {
    expect(codeOf(finished('False', 'BackoffLimit', code))).toBe(code);
  });

  test.each([75, 126, 127, 137, 143, 255])('reports code %i of the program as 125', (code) => {
    expect(codeOf(finished('False', 'BackoffLimit', code))).toBe(125);
  });

  test.each([
    ['Cancelled', 143],
    ['LostLimit', 1],
    ['DeadlineExceeded', 1],
  ])('reports %s without a code of the program as %i', (reason, code) => {
    expect(codeOf(finished('False', reason))).toBe(code);
  });
});

describe('resultOf', () => {
  test('is undefined while the run goes on', () => {
    expect(resultOf(finished('Unknown', 'Running'))).toBeUndefined();
    expect(resultOf({ ...finished('True', 'Completed'), status: undefined })).toBeUndefined();
  });
});

describe('summaryLine', () => {
  test('writes one JSON line about a finished run', () => {
    expect(summaryLine(finished('True', 'Completed', 0), NOW)).toBe(
      '{"gpuJob":"job-0123456789","exitCode":0,"machines":2,"dollars":"0.41","seconds":2460}',
    );
  });

  test('names the reason and the true code when the run failed, and counts until now while it runs', () => {
    expect(JSON.parse(summaryLine(finished('False', 'BackoffLimit', 137), NOW))).toMatchObject({
      ...{ exitCode: 137, reason: 'BackoffLimit' },
    });
    expect(JSON.parse(summaryLine(finished('Unknown', 'Running'), NOW))).toMatchObject({
      ...{ exitCode: null, seconds: 3600, reason: 'Running' },
    });
  });
});
