import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { endpointGroupStatus } from './endpoint-group.ts';
import { endpointGroupStoredStatus } from './endpoint-group-form.ts';
import { gpuInstanceStatus } from './gpu-instance.ts';
import { gpuInstanceStoredStatus } from './gpu-instance-form.ts';
import { marketplaceAccountStatus } from './marketplace-account.ts';
import { marketplaceAccountStoredStatus } from './marketplace-account-form.ts';
import { MAX_TOKEN_LENGTH, requestToken } from './object.ts';

const asked = (value: string) => requestToken({ name: 'a', annotations: { word: value } }, 'word');

describe('what a person asks for by an annotation', () => {
  test('is echoed unchanged', () => {
    expect(asked('now')).toBe('now');
  });

  test('is cut to whole characters', () => {
    expect(asked('x'.repeat(300))).toBe('x'.repeat(MAX_TOKEN_LENGTH));
    expect(asked('🂡'.repeat(300))).toBe('🂡'.repeat(126));
  });

  test('is nothing where the value is empty, or there is none', () => {
    expect(asked('')).toBeUndefined();
    expect(requestToken({ name: 'a', annotations: {} }, 'word')).toBeUndefined();
    expect(requestToken({ name: 'a' }, 'word')).toBeUndefined();
  });
});

describe('the fields that echo it', () => {
  const breaker = marketplaceAccountStatus.shape.breaker.unwrap();
  test.each([
    ['requestedAt of a machine', gpuInstanceStatus.shape.requestedAt],
    ['requestedAt of a group', endpointGroupStatus.shape.requestedAt],
    ['wokenAt of a group', endpointGroupStatus.shape.wokenAt],
    ['requestedAt of an account', marketplaceAccountStatus.shape.requestedAt],
    ['rollbackConfirmed of an account', marketplaceAccountStatus.shape.rollbackConfirmed],
    ['closedBy of an account', breaker.shape.closedBy],
  ])('%s holds the longest word', (_field, schema) => {
    expect(schema.safeParse(asked('x'.repeat(300))).success).toBe(true);
  });
});

describe('a status', () => {
  test.each([
    ['GpuInstance', gpuInstanceStoredStatus],
    ['MarketplaceAccount', marketplaceAccountStoredStatus],
    ['EndpointGroup', endpointGroupStoredStatus],
  ])('of a %s has one owner', (_kind, schema) => {
    expect(z.toJSONSchema(schema, { io: 'input' })).toMatchObject({ 'x-kubernetes-map-type': 'atomic' });
  });
});
