import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { conditionHolds, progressOf } from '../../src/cli/objects/kstatus.ts';
import { brokenRules } from './contract.ts';
import type { RecordedVersion } from './version-recorder.ts';

interface Recorded {
  /** Result of fluxcd/cli-utils for it (test/status-contract/kstatus-go). */
  readonly kstatus: string;
  readonly object: RecordedVersion;
}

const recorded = JSON.parse(
  readFileSync(join(import.meta.dirname, 'recorded.json'), 'utf8'),
) as readonly Recorded[];
const named = recorded.map((entry, index) => {
  const { kind, metadata, status } = entry.object;
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  return { ...entry, name: `${index}: ${kind} ${metadata.name} ${ready?.reason ?? 'before the first look'}` };
});

describe.each(named)('recorded object $name', ({ object, kstatus }) => {
  test('is judged by `gpu-rent wait` as the library of Flux and Helm judges it', () => {
    expect(progressOf(object).state).toBe(kstatus);
  });

  test('keeps the status contract', () => {
    expect(brokenRules(object)).toEqual([]);
  });

  test('is called ready by `kubectl wait` only where it is done', () => {
    if (conditionHolds(object, 'Ready', 'True')) expect(['Current', 'Terminating']).toContain(kstatus);
  });
});

test('the recording holds every result, and each kind', () => {
  expect(new Set(recorded.map(({ kstatus }) => kstatus))).toEqual(
    new Set(['Current', 'InProgress', 'Terminating', 'Failed']),
  );
  expect(new Set(recorded.map(({ object }) => object.kind))).toEqual(
    new Set(['MarketplaceAccount', 'GpuInstance', 'EndpointGroup']),
  );
});

interface LooseStatus {
  readonly observedGeneration?: number;
  readonly conditions?: readonly Readonly<Record<string, unknown>>[];
}

const loose: readonly (readonly [string, LooseStatus, RegExp])[] = [
  [
    'levels apart',
    { observedGeneration: 2, conditions: [{ type: 'Ready', observedGeneration: 1 }] },
    /observed 1/,
  ],
  ['no level at all', {}, /no observedGeneration/],
  [
    'Stalled kept while false',
    { observedGeneration: 1, conditions: [{ type: 'Stalled', status: 'False', observedGeneration: 1 }] },
    /present while False/,
  ],
];

test.each(loose)('a status with %s is found', (_what, status, words) => {
  const filled = {
    ...status,
    conditions: status.conditions?.map((one) => ({ status: 'True', reason: 'Ok', message: '', ...one })),
  };
  const version = { apiVersion: 'x/v1', kind: 'X', metadata: { name: 'x', generation: 2 }, status: filled };
  expect(brokenRules(version as never).join()).toMatch(words);
});
