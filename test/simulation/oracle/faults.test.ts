import { expect, test } from 'vitest';
import { onBehalfOf } from '../../../src/lib/background.ts';
import { minding } from './faults.ts';

test('a rejection that nothing handles breaks the promise of isolation, with its object (C1)', async () => {
  const broken: string[] = [];
  const report = (invariant: string, text: string) => broken.push(`${invariant} ${text}`);
  await minding({ report }, async () => {
    onBehalfOf({ task: 'readiness probe', object: 'team/a' }, () => {
      void Promise.reject(new TypeError('no'));
    });
    Promise.reject(new Error('handled')).catch(() => {});
  });
  expect(broken).toEqual(['I15 nothing caught an error of readiness probe for team/a: TypeError: no']);
});
