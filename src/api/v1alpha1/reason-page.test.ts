import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { reasonFile, withPage } from './reason-page.ts';
import { reasons } from './reasons.ts';

const PAGES = 'https://github.com/gpu-rental-operator/gpu-rental-operator/blob/main/docs/reasons';

describe('a message leads to the page of its reason', () => {
  const said = (type: string, reason: string) => withPage({ type, reason, message: 'A sentence.' }).message;

  test.each([
    ['Stalled', 'KeyRejected', `A sentence. See ${PAGES}/keyrejected.md`],
    ['Ready', 'NoOffers', `A sentence. See ${PAGES}/nooffers.md`],
    ['Reconciling', 'NoOffers', 'A sentence.'],
    ['Ready', 'Running', 'A sentence.'],
    ['Ready', 'AReasonOfANewerVersion', 'A sentence.'],
  ])('%s %s', (type, reason, message) => {
    expect(said(type, reason)).toBe(message);
  });

  test.each(Object.keys(reasons))('%s has one', (reason) => {
    expect(existsSync(join(import.meta.dirname, '../../../docs/reasons', reasonFile(reason)))).toBe(true);
  });
});
