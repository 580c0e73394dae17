import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { isTerminal, type ReasonEntry, reasonLink, reasons, withPage } from './reasons.ts';

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
    for (const reason of ['OrphanFound', 'SoldToOther', 'Released'])
      expect(Object.keys(reasons)).toContain(reason);
  });

  test('stalls what only a person can end, and nothing else', () => {
    expect(isTerminal('IdentityInvalid')).toBe(true);
    expect(isTerminal('InvalidSpec')).toBe(true);
    expect(isTerminal('NoOffers')).toBe(false);
    expect(isTerminal('Ready')).toBe(false);
  });
});

const REFERENCE = 'https://github.com/gpu-rental-operator/gpu-rental-operator/blob/main/docs/reference';

describe('a message', () => {
  const said = (type: string, reason: string) => withPage({ type, reason, message: 'A sentence.' }).message;

  test.each([
    ['Stalled', 'KeyRejected', `A sentence. See ${REFERENCE}/reasons-marketplaceaccount.md#keyrejected`],
    ['Ready', 'NoOffers', `A sentence. See ${REFERENCE}/reasons-gpuinstance.md#nooffers`],
    ['Ready', 'WorkersFailing', `A sentence. See ${REFERENCE}/reasons-endpointgroup.md#workersfailing`],
    ['Reconciling', 'NoOffers', 'A sentence.'],
    ['Ready', 'Ready', 'A sentence.'],
    ['Ready', 'AReasonOfANewerVersion', 'A sentence.'],
  ])('links to the section of its reason when something is wrong: %s %s', (type, reason, message) => {
    expect(said(type, reason)).toBe(message);
  });
});

describe('the reference', () => {
  const sections = ['gpuinstance', 'marketplaceaccount', 'endpointgroup'].flatMap((kind) => {
    const page = `reasons-${kind}.md`;
    const text = readFileSync(join(import.meta.dirname, '../../../docs/reference', page), 'utf8');
    return [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => `${page}#${heading.toLowerCase()}`);
  });

  test.each(Object.keys(reasons))('has exactly one section for %s, which its link names', (reason) => {
    expect(sections.filter((section) => section === reasonLink(reason))).toHaveLength(1);
    const anchor = `#${reason.toLowerCase()}`;
    expect(sections.filter((section) => section.endsWith(anchor))).toHaveLength(1);
  });
});
