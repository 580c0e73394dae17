import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canonicalJson } from '../../lib/json.ts';
import { storedForm } from '../../lib/stored-form.ts';
import type { MarketplaceAccountStatus } from './marketplace-account.ts';
import { marketplaceAccountForm, marketplaceAccountStoredStatus } from './marketplace-account-form.ts';
import { decodeStatus, encodeStatus } from './record.ts';

const AT = '2026-11-20T12:00:00Z';
const encode = (status: object) => encodeStatus(marketplaceAccountForm, status as Record<string, unknown>);
const decode = (stored: object) => decodeStatus(marketplaceAccountForm, stored as Record<string, unknown>);

const id = fc.stringMatching(/^[1-9][0-9]{0,9}$/);
const word = fc.stringMatching(/^[a-z0-9]{1,12}$/);
const money = fc.stringMatching(/^[0-9]{1,4}[.][0-9]{2}$/);
const at = fc.constant(AT);
const some = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
const ids = fc.array(id, { maxLength: 3 });

const avoided = fc.record(
  {
    ...{ kind: fc.constantFrom('Machine', 'Host'), id, until: at, failures: fc.integer({ min: 1, max: 9 }) },
    ...{ reason: fc.constantFrom('Exited', 'Requested'), namespace: word },
  },
  { requiredKeys: ['kind', 'id', 'until', 'failures', 'reason'] },
);
const kept = fc.record(
  {
    ...{ instanceId: id, owner: word, ownerUid: word, since: at },
    ...{ policy: fc.constantFrom('Stop', 'Retain'), pricePerHour: money },
  },
  { requiredKeys: ['instanceId', 'owner', 'ownerUid', 'since', 'policy'] },
);

/** Statuses as the operator writes them; `undefined` is a field that is left out. */
const statuses = fc
  .record({
    observedGeneration: fc.nat(3),
    outage: some(fc.constant({ reason: 'Unreachable', since: AT, httpStatus: 503 })),
    login: some(fc.record({ url: fc.constant('https://market.example'), userId: id, provenAt: at })),
    installation: some(fc.constant('a1b2c3d4')),
    twoFactor: some(fc.constantFrom('Enabled', 'Disabled')),
    labelsEchoed: some(fc.boolean()),
    credit: some(money),
    avoid: some(fc.array(avoided, { maxLength: 3 })),
    retained: some(fc.array(kept, { maxLength: 3 })),
    lastRentalAt: some(at),
    rolledBack: some(ids),
    massOrphaned: some(ids),
    deletedObjects: some(
      fc.record(
        {
          month: fc.constant('2026-11'),
          spent: money,
          rentals: fc.array(at, { maxLength: 3 }),
          machines: ids,
        },
        { requiredKeys: ['month', 'spent', 'rentals'] },
      ),
    ),
    breaker: some(
      fc.record(
        { open: fc.boolean(), since: at, unhealthy: fc.nat(9), releasedAt: at, closedBy: word },
        { requiredKeys: ['open', 'since'] },
      ),
    ),
    requestedAt: some(word),
  })
  .map((status) => JSON.parse(JSON.stringify(status)) as MarketplaceAccountStatus);

describe('the stored status of an account', () => {
  test('decodes to the status that was encoded', { tags: 'long' }, () => {
    fc.assert(
      fc.property(statuses, (status) => {
        const stored = JSON.parse(JSON.stringify(encode(status))) as object;
        expect(marketplaceAccountStoredStatus.strict().safeParse(stored).error).toBeUndefined();
        expect(decode(stored)).toEqual(status);
        expect(canonicalJson(encode(decode(stored)))).toBe(canonicalJson(stored));
      }),
      { numRuns: 500 },
    );
  });

  test('decodes whatever it contains, and encodes again', { tags: 'long' }, () => {
    const names = ['record', 'login', 'avoid', 'retained', 'deletedObjects', 'breaker', 'lastRentalAt'];
    const value = fc.oneof(fc.jsonValue(), fc.array(fc.jsonValue()));
    const anything = fc.record(Object.fromEntries(names.map((name) => [name, value])), { requiredKeys: [] });
    fc.assert(
      fc.property(anything, (stored) => {
        expect(() => encode(decode(stored))).not.toThrow();
      }),
      { numRuns: 2_000 },
    );
  });

  test('shows avoided hosts as sentences', () => {
    const entry = {
      kind: 'Host',
      id: '2100',
      until: AT,
      failures: 2,
      reason: 'HostOffline',
      namespace: 'ml',
    };
    expect(encode({ avoid: [entry] })).toEqual({
      avoid: [`Host 2100 until ${AT} (HostOffline, 2 failures, ml)`],
    });
  });

  test('reads the form before the record once, and marks it for a write', () => {
    const flat = {
      login: { url: 'https://market.example', userId: '7', provenAt: AT },
      lastRentalAt: AT,
      massOrphaned: ['7'],
      avoid: [{ kind: 'Host', id: '2100', until: AT, failures: 2, reason: 'HostOffline' }],
    };
    const read = decode(flat);
    expect(JSON.parse(JSON.stringify(read))).toEqual(flat);
    expect(storedForm(read)?.isOutdated).toBe(true);
    expect(decode(encode(read))).toEqual(flat);
  });

  test('keeps whole values of an account whose record was removed', () => {
    const { record: _removed, ...shown } = encode({
      login: { url: 'https://market.example', userId: '7', provenAt: AT },
      deletedObjects: { month: '2026-11', spent: '2.50', rentals: [AT] },
      breaker: { open: true, since: AT, unhealthy: 3 },
    });
    expect(decode(shown)).toEqual({
      login: { url: 'https://market.example', userId: '7', provenAt: '1970-01-01T00:00:00Z' },
      deletedObjects: { month: '2026-11', spent: '2.50', rentals: [] },
      breaker: { open: true, since: AT },
    });
  });

  test('completes an account whose record alone is left, and ignores its login', () => {
    const whole = {
      login: { url: 'https://market.example', userId: '7', provenAt: AT },
      retained: [{ instanceId: '5', owner: 'team/job', ownerUid: 'u', since: AT, policy: 'Stop' }],
      deletedObjects: { month: '2026-11', spent: '2.50', rentals: [AT], destroyed: ['7'] },
      breaker: { open: true, since: AT, unhealthy: 3 },
    };
    const { record, login } = encode(whole) as { record: string; login: { url: string } };
    const rest = {
      deletedObjects: { month: '', spent: '0', rentals: [AT], destroyed: ['7'] },
      breaker: { open: false, since: '1970-01-01T00:00:00Z', unhealthy: 3 },
    };
    expect(decode({ record })).toEqual(rest);
    expect(decode({ record, login: { url: login.url } })).toEqual(rest);
  });

  test('keeps a record of a newer version as it is', () => {
    const record = '{"v":2,"guards":["7"]}';
    const read = decode({ record, credit: '5' });
    expect(storedForm(read)?.problem).toEqual({ type: 'newer', version: 2, text: record });
    expect(encode(read)).toEqual({ record, credit: '5' });
  });
});
