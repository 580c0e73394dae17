import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { sampledValue } from '../../src/controllers/endpoint-group/load/prometheus-query.ts';
import { FigureError } from '../../src/controllers/endpoint-group/load/record.ts';
import { parseDuration } from '../../src/lib/duration.ts';
import { parseDollars } from '../../src/lib/money.ts';
import { parseTime } from '../../src/lib/rfc3339.ts';
import { Secret } from '../../src/lib/secret.ts';
import { instanceRow, instancesReply, toInstance } from '../../src/marketplace/wire/instance.ts';
import { offerRow, toOffer } from '../../src/marketplace/wire/offer.ts';
import { readIntent, writeIntent } from '../../src/ownership/intent.ts';
import type { KeyRing } from '../../src/ownership/key-ring.ts';
import { makeLabel, readLabel } from '../../src/ownership/label.ts';

const RUNS = { numRuns: Number(process.env['FUZZ_RUNS'] ?? 500) };
const keys: KeyRing = [new Secret('fuzz-key')];
const identity = { installId8: '0123abcd', keys };
const uid = '7d9f1b6e-3a52-4a7b-9a56-0d5b6f3c1e11';
const label = makeLabel(identity, { uid, attempt: 3, issuedAt: 1_767_614_400_000 });
const intent = writeIntent(keys, {
  uid,
  attempt: 3,
  offer: 1,
  generation: 1,
  spec: 'hash',
  login: 'https://market|1',
  issuedAt: 1,
  deadline: 2,
});

/** A text with one character replaced, removed or put in. */
const damaged = (text: string) =>
  fc
    .tuple(fc.nat(text.length - 1), fc.constantFrom('', '0', 'f', ':', '"', '}', '9'), fc.boolean())
    .map(([at, put, keeps]) => text.slice(0, at) + put + text.slice(keeps ? at : at + 1))
    .filter((changed) => changed !== text);

describe('a text from outside never makes a parser throw', () => {
  test.each([
    ['duration', parseDuration],
    ['dollars', parseDollars],
    ['time', parseTime],
    ['label', (text: string) => readLabel(identity, text)],
    ['intent', (text: string) => readIntent(keys, text)],
  ])('%s', (_name, parse) => {
    const texts = fc.oneof(
      fc.string(),
      fc.json(),
      fc.string({ unit: 'binary' }),
      damaged(label),
      damaged(intent),
    );
    fc.assert(
      fc.property(texts, (text) => {
        parse(text);
      }),
      RUNS,
    );
  });
});

test('a reply of Prometheus is a value, nothing, or a refusal that says so', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
      try {
        const value = sampledValue('load', text, 0);
        expect(value === undefined || Number.isFinite(value)).toBe(true);
      } catch (error) {
        expect(error).toBeInstanceOf(FigureError);
      }
    }),
    RUNS,
  );
});

describe('what the marketplace sends is parsed or refused', () => {
  const rows = fc.oneof(
    fc.json().map((text): unknown => JSON.parse(text)),
    fc.record({
      id: fc.anything(),
      actual_status: fc.anything(),
      label: fc.anything(),
      dph_total: fc.anything(),
    }),
    fc.record({ id: fc.nat(), actual_status: fc.string(), start_date: fc.double(), ssh_port: fc.anything() }),
  );

  test('an instance', () => {
    fc.assert(
      fc.property(rows, (row) => {
        const parsed = instanceRow.safeParse(row);
        if (parsed.success) expect(Number.isSafeInteger(toInstance(parsed.data).id)).toBe(true);
      }),
      RUNS,
    );
  });

  test('a list of instances', () => {
    fc.assert(
      fc.property(fc.array(rows), fc.anything(), (instances, found) => {
        instancesReply.safeParse({ instances, instances_found: found });
      }),
      RUNS,
    );
  });

  test('an offer', () => {
    fc.assert(
      fc.property(rows, (row) => {
        const parsed = offerRow.safeParse(row);
        if (parsed.success) toOffer(parsed.data);
      }),
      RUNS,
    );
  });
});

describe('one damaged character and it proves nothing', () => {
  test('label', () => {
    fc.assert(
      fc.property(damaged(label), (text) => {
        expect(readLabel(identity, text).type).not.toBe('verified');
      }),
      RUNS,
    );
  });

  test('intent', () => {
    fc.assert(
      fc.property(damaged(intent), (text) => {
        const reading = readIntent(keys, text);
        // A change that JSON reads as the same value, such as a repeated key, is the same intent.
        if (reading.type === 'intent') expect(writeIntent(keys, reading.intent)).toBe(intent);
      }),
      RUNS,
    );
  });
});
