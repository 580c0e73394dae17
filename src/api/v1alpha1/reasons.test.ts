import { describe, expect, test } from 'vitest';
import type { ReasonEntry } from './reason-entry.ts';
import { isTerminal, reasons } from './reasons.ts';

const entries = Object.entries<ReasonEntry>(reasons);

describe('the catalogue of reasons', () => {
  test.each(entries)('%s is a word that Kubernetes takes, with a sentence', (name, { sentence }) => {
    expect(name).toMatch(/^[A-Z][A-Za-z0-9]{2,63}$/);
    expect(sentence).toMatch(/^[A-Z'].*\.$/);
  });

  test('says what to do wherever a person has to act, and nowhere that all is well', () => {
    for (const [name, { kind, remedy }] of entries) {
      if (kind === 'terminal' || kind === 'retryable') expect(remedy, name).toMatch(/\.$/);
      if (kind === 'good') expect(remedy, name).toBeUndefined();
    }
  });

  test('words what to do as sentences of their own, since they follow a detail of the object', () => {
    for (const [name, { remedy }] of entries) {
      if (remedy === undefined) continue;
      expect(remedy, name).toMatch(/^[A-Z].*\.$/);
      expect(remedy, name).not.toMatch(/^(Nothing|It|Set it|Raise it|Remove it|Create it)\b/);
      expect(remedy, name).not.toContain('; or ');
    }
  });

  test('holds the words that come as events alone', () => {
    for (const reason of ['OrphanFound', 'BreakerOpened', 'Surplus', 'Outbid', 'Released'])
      expect(Object.keys(reasons)).toContain(reason);
  });

  test('stalls what only a person can end, and nothing else', () => {
    expect(isTerminal('IdentityLost')).toBe(true);
    expect(isTerminal('NoPriceLimit')).toBe(true);
    expect(isTerminal('NoOffers')).toBe(false);
    expect(isTerminal('Ready')).toBe(false);
  });
});
