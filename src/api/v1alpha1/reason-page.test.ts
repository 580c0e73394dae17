import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { reasonAnchor, withPage } from './reason-page.ts';
import { reasons } from './reasons.ts';

const PAGE = 'https://github.com/gpu-rental-operator/gpu-rental-operator/blob/main/docs/reference/reasons.md';

describe('a message leads to the page of its reason', () => {
  const said = (type: string, reason: string) => withPage({ type, reason, message: 'A sentence.' }).message;

  test.each([
    ['Stalled', 'KeyRejected', `A sentence. See ${PAGE}#keyrejected`],
    ['Ready', 'NoOffers', `A sentence. See ${PAGE}#nooffers`],
    ['Reconciling', 'NoOffers', 'A sentence.'],
    ['Ready', 'Running', 'A sentence.'],
    ['Ready', 'AReasonOfANewerVersion', 'A sentence.'],
  ])('%s %s', (type, reason, message) => {
    expect(said(type, reason)).toBe(message);
  });

  const page = readFileSync(join(import.meta.dirname, '../../../docs/reference/reasons.md'), 'utf8');
  const anchors = [...page.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => `#${heading.toLowerCase()}`);

  test.each(Object.keys(reasons))('%s has one section', (reason) => {
    expect(anchors.filter((anchor) => anchor === reasonAnchor(reason))).toHaveLength(1);
  });
});
