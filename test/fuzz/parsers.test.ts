import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Secret } from '../../src/lib/secret.ts';
import { readIntent, writeIntent } from '../../src/ownership/intent.ts';
import { makeLabel, readLabel } from '../../src/ownership/label.ts';
import { openKey, sealKey } from '../../src/ownership/sealed-key.ts';
import { readStrictly } from '../settings/reader.ts';
import { readCorpus } from './corpus.ts';
import { TARGETS } from './targets.ts';

const RUNS = {
  numRuns: readStrictly(process.env, (reader) => reader.whole('FUZZ_RUNS', 1, 10_000_000)) ?? 200,
};
const keys = [new Secret('fuzz-key')] as const;
const identity = { installId8: '0123abcd', keys };
const facts = { uid: '7d9f1b6e-3a52-4a7b-9a56-0d5b6f3c1e11', attempt: 3, issuedAt: 1_767_614_400_000 };
const label = makeLabel(identity, facts);
const intent = writeIntent(keys, {
  ...facts,
  offer: '1',
  generation: 1,
  spec: 'hash',
  login: 'https://market|1',
  deadline: 1_767_614_430_000,
});

/** Returns texts with one character replaced, removed or inserted. */
const damaged = (text: string) =>
  fc
    .tuple(fc.nat(text.length - 1), fc.constantFrom('', '0', 'f', ':', '"', '}', '9'), fc.boolean())
    .map(([at, put, keeps]) => text.slice(0, at) + put + text.slice(keeps ? at : at + 1))
    .filter((changed) => changed !== text);

/** Returns documents with some values replaced by arbitrary JSON. */
const altered = (text: string) => {
  const fields = (JSON.parse(text) ?? {}) as Record<string, unknown>;
  const names = Object.keys(fields);
  return fc
    .dictionary(fc.constantFrom(...names), fc.jsonValue(), { maxKeys: 3 })
    .map((changes) => JSON.stringify({ ...fields, ...changes }));
};

const isObjectText = (text: string): boolean => text.startsWith('{') && !text.includes('\n');

describe('what comes from outside is read, or refused in a way that callers know', () => {
  test.for(TARGETS)('$name: any text, and right ones with a flaw', async ({ seeds, run }) => {
    const texts = fc.oneof(
      fc.string(),
      fc.json(),
      fc.string({ unit: 'binary' }),
      ...seeds.map(damaged),
      ...seeds.filter(isObjectText).map(altered),
    );
    await fc.assert(
      fc.asyncProperty(texts, async (text) => {
        await run(text);
      }),
      RUNS,
    );
  });

  test.for(TARGETS)('$name: all that fuzzing has kept', async ({ name, seeds, run }) => {
    for (const text of [...seeds, ...readCorpus(name)]) await run(text);
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

  test('sealed key', () => {
    const machine = { uid: 'u', attempt: 1, instanceId: '7' };
    fc.assert(
      fc.property(damaged(sealKey(keys, machine, new Secret('machine-key'))), (text) => {
        // A character that base64 reads as nothing changes nothing.
        expect([undefined, 'machine-key']).toContain(openKey(keys, machine, text)?.reveal());
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
