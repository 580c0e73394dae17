import { expect, test } from 'vitest';
import { MarketplaceError } from '../../market/errors.ts';
import { runChecks } from './check.ts';

const found = (error: unknown) =>
  runChecks([{ area: 'a', name: 'b', run: () => Promise.reject(error) }], () => {});

test('what cannot be looked at for a failure has failed, in its own words', async () => {
  expect(await found(new Error('no such file'))).toMatchObject([{ state: 'failed', detail: 'no such file' }]);
});

test('what cannot be asked because too much was asked before is no failure of the installation', async () => {
  const error = new MarketplaceError('list instances: throttled', { kind: 'throttled', outcome: 'refused' });
  expect(await found(error)).toMatchObject([{ state: 'skipped', fix: 'Run gpu-rent doctor again.' }]);
});
