import { expect, test } from 'vitest';
import { type LoadTyped, loadTypeOf } from './load-source.ts';

const pull = { preset: 'VLLM', scheme: 'HTTP', timeout: '3s' } as const;

test.each<[string, LoadTyped, string]>([
  ['asks the workers where nothing is written', { load: {} }, 'HTTPPull'],
  ['is read at an enabled gateway', { load: {}, gateway: { enabled: true } }, 'Gateway'],
  ['is not read at a gateway that is off', { load: {}, gateway: { enabled: false } }, 'HTTPPull'],
  [
    'asks the workers beside a gateway where it says how',
    { load: { httpPull: pull }, gateway: { enabled: true } },
    'HTTPPull',
  ],
  ['is as written beside a gateway', { load: { type: 'Push' }, gateway: { enabled: true } }, 'Push'],
  ['is as written without one', { load: { type: 'Static' } }, 'Static'],
])('the load of a group %s', (_, spec, type) => {
  expect(loadTypeOf(spec)).toBe(type);
});
