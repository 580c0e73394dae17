import { expect, test } from 'vitest';
import { createVirtualClock } from '../../test/builders/virtual-clock.ts';
import type { GpuInstance } from '../api/v1alpha1/gpu-instance.ts';
import { annotations } from '../api/v1alpha1/names.ts';
import { Secret } from '../lib/secret.ts';
import { formatTime } from '../lib/time.ts';
import type { KeyRing } from '../ownership/key-ring.ts';
import { SummaryCache } from './account-instances.ts';

const KEYS: KeyRing = [new Secret('1'.repeat(64))];

test('an object is read again when it is known what intents are signed with', () => {
  const noted = { [annotations.rentalIntent]: '{"attempt":1,"issuedAt":5}' };
  const metadata = { namespace: 'team', name: 'a', uid: 'u', annotations: noted };
  const object = { metadata, spec: { accountRef: { name: 'default' } } } as unknown as GpuInstance;
  let keys: KeyRing | undefined;
  const views = new SummaryCache(createVirtualClock(), () => keys);
  const first = views.of(object);
  expect(first.hasOpenIntent).toBe(true);
  expect(views.of(object)).toBe(first);
  keys = KEYS;
  expect(views.of(object)).toMatchObject({ hasOpenIntent: false, hasDoubtfulIntent: true });
});

test('money is at most ten seconds old', () => {
  const clock = createVirtualClock({ startMs: Date.parse('2026-11-20T12:00:00Z') });
  const views = new SummaryCache(clock, () => KEYS);
  const since = formatTime(clock.now());
  const cost = { pricePerHour: '3.60', storagePricePerHour: '0.01', accrued: '0.00', since };
  const object = {
    metadata: { namespace: 'team', name: 'a', uid: 'u' },
    spec: { accountRef: { name: 'default' } },
    status: { instanceId: '1', rentedAt: since, actualStatus: 'running', cost },
  } as unknown as GpuInstance;
  const first = views.of(object);
  clock.jumpWallClock(9_999);
  expect(views.of(object)).toBe(first);
  clock.jumpWallClock(1);
  expect(views.of(object).spentThisMonth).toBe(10_000);
  clock.jumpWallClock(-10_000);
  expect(views.of(object).spentThisMonth).toBe(0);
});
