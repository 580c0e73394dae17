import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { Secret } from '../lib/secret.ts';
import { isForLogin, type RentalIntent, readIntent, writeIntent } from './intent.ts';
import type { KeyRing } from './key-ring.ts';
import { loginText } from './login.ts';

/** Key of each test: readings under one key are remembered. */
let keys: KeyRing;
beforeEach(() => {
  keys = [new Secret('one')];
});
const login = { url: 'https://market.example', userId: '7' };
const intent: RentalIntent = {
  uid: 'u',
  attempt: 1,
  offer: '100',
  generation: 4,
  spec: 'v1:0123',
  login: loginText(login),
  issuedAt: 1_763_640_000_000,
  deadline: 1_763_640_030_000,
};

describe('an intent', () => {
  test('comes back as it was written, with and without known ids and fuses', () => {
    const more: readonly Partial<RentalIntent>[] = [
      {},
      { knownIds: ['3', '1'] },
      { knownIds: [] },
      { fuses: { lifeSeconds: 4_200 } },
      { fuses: { lifeSeconds: 4_200, leaseSeconds: 7_200 }, knownIds: ['3'] },
      { fuses: { leaseSeconds: 7_200 } },
    ];
    for (const written of more.map((part) => ({ ...intent, ...part }))) {
      expect(readIntent(keys, writeIntent(keys, written))).toEqual({ type: 'intent', intent: written });
    }
  });

  test('scenario 68: is tampered with when any field of it was changed', () => {
    const whole = { ...intent, knownIds: ['1'], fuses: { lifeSeconds: 4_200 } };
    const fields = JSON.parse(writeIntent(keys, whole)) as Record<string, unknown>;
    for (const field of Object.keys(fields).filter((name) => name !== 'v')) {
      const value = fields[field];
      const changed =
        typeof value === 'number'
          ? value + 1
          : Array.isArray(value)
            ? [...value, '2']
            : typeof value === 'object'
              ? { ...value, leaseSeconds: 60 }
              : `${String(value)}0`;
      expect(readIntent(keys, JSON.stringify({ ...fields, [field]: changed })), field).toEqual({
        type: 'tampered',
      });
      const { [field]: _gone, ...rest } = fields;
      expect(readIntent(keys, JSON.stringify(rest)), `without ${field}`).toEqual({ type: 'tampered' });
    }
  });

  test('scenario 76: of another version is left alone, whatever else it says', () => {
    expect(readIntent(keys, '{"v":2,"anything":true}')).toEqual({ type: 'unknownVersion', version: '2' });
  });

  test('that is missing is none', () => {
    expect(readIntent(keys, undefined)).toEqual({ type: 'none' });
  });

  test('of any text never throws and is never believed', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
        expect(['tampered', 'unknownVersion']).toContain(readIntent(keys, text).type);
      }),
    );
  });

  test.for([
    ['offer', 100],
    ['attempt', -1],
    ['generation', null],
    ['issuedAt', 1e300],
    ['spec', 7],
    ['uid', null],
    ['knownIds', 3],
    ['knownIds', ['1', 2]],
    ['knownIds', {}],
    ['fuses', 7],
    ['fuses', { lifeSeconds: '1h' }],
    ['fuses', { leaseSeconds: -1 }],
  ])('whose %s is %j is not believed, even under a right code', ([field, value]) => {
    const signed = writeIntent(keys, { ...intent, [String(field)]: value });
    expect(readIntent(keys, signed)).toEqual({ type: 'tampered' });
  });

  test('may count from 0', () => {
    const first = { ...intent, generation: 0, knownIds: ['0'] };
    expect(readIntent(keys, writeIntent(keys, first))).toEqual({ type: 'intent', intent: first });
  });

  test.for(['[]', 'null', '7', '"text"', 'true', '[{"v":1}]', '', '{'])(
    'that reads %s is tampered with',
    (text) => {
      expect(readIntent(keys, text)).toEqual({ type: 'tampered' });
    },
  );

  test('of a version without end is named by its beginning', () => {
    const reading = readIntent(keys, JSON.stringify({ v: 'x'.repeat(500) }));
    expect(reading).toEqual({ type: 'unknownVersion', version: 'x'.repeat(20) });
  });

  test('without known ids and one with none are different intents', () => {
    const { mac: _mac, ...without } = JSON.parse(writeIntent(keys, intent));
    const { mac } = JSON.parse(writeIntent(keys, { ...intent, knownIds: [] }));
    expect(readIntent(keys, JSON.stringify({ ...without, mac }))).toEqual({ type: 'tampered' });
  });

  test('with a time that is no whole number is not believed', () => {
    expect(readIntent(keys, writeIntent(keys, { ...intent, deadline: 1.5 }))).toEqual({ type: 'tampered' });
  });

  test('scenario 32: is for its own login only', () => {
    expect([isForLogin(intent, login), isForLogin(intent, { ...login, userId: '8' })]).toEqual([true, false]);
  });
});

test('a version nested without end is one that is not known', () => {
  const text = `{"v":${'['.repeat(50_000)}${']'.repeat(50_000)}}`;
  expect(readIntent([new Secret('key')], text)).toEqual({ type: 'unknownVersion', version: 'none' });
});

test('an intent of an earlier version without fuses is read, and one cannot be added to it', () => {
  const { mac, ...fields } = JSON.parse(writeIntent(keys, intent)) as Record<string, unknown>;
  expect(readIntent(keys, JSON.stringify({ ...fields, mac }))).toEqual({ type: 'intent', intent });
  const added = { ...fields, fuses: { leaseSeconds: 60 }, mac };
  expect(readIntent(keys, JSON.stringify(added))).toEqual({ type: 'tampered' });
});
