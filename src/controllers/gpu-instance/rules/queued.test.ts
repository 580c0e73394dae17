import { expect, test } from 'vitest';
import { facts, type Given, given, NOW } from '../../../../test/builders/observed.ts';
import type { QueuePlace } from '../../../accounts/queue/admission-queue.ts';
import { classify } from '../stage.ts';
import { sayQueued } from './queued.ts';

function said(place: Partial<QueuePlace>, situation: Given = {}) {
  const observed = given(situation);
  const stage = classify(observed);
  if (stage.type !== 'unrented') throw new Error('there is a machine');
  const usual = { for: 'rental', ahead: 12, expectedMs: 54_000, waitedMs: 0, isSerial: false } as const;
  const decision = sayQueued(observed, stage, { ...usual, ...place });
  const ready = decision.status?.verdict.Ready;
  return { text: ready && `${ready.reason}: ${ready.message}`, decision };
}

test.for<readonly [string, Partial<QueuePlace>, Given, string | undefined]>([
  ['many', {}, {}, "Queued: Queued behind 12 instances by the marketplace's rate limit; about 54s."],
  ['one', { ahead: 1 }, {}, "Queued: Queued behind 1 instance by the marketplace's rate limit; about 54s."],
  [
    'nobody, for minutes',
    { ahead: 0, expectedMs: 400_000 },
    {},
    "Queued: Next in the queue by the marketplace's rate limit; about 7m.",
  ],
  [
    'the first rental of the login',
    { ahead: 1, isSerial: true },
    { facts: { ...facts(), labelEcho: 'unknown' } },
    'Queued: Queued behind 1 instance: the first rental of the login is checked before the next.',
  ],
  [
    'others where labels do not come back',
    { ahead: 1, isSerial: true },
    { facts: { ...facts(), labelEcho: 'notEchoed' } },
    'LabelsNotEchoed: Queued behind 1 instance: the marketplace does not return labels, so rentals go one at a time.',
  ],
  ['nobody, for a moment', { expectedMs: 900 }, {}, undefined],
])('an object behind %s says so (F2)', ([, place, situation, text]) => {
  expect(said(place, situation).text).toBe(text);
});

test('a wait of moments that has become long is told', () => {
  expect(said({ expectedMs: 900, waitedMs: 200 }).text).toContain('Queued');
});

test.for([
  ['is kept within a minute of the last word', NOW - 59_000, NOW + 500_000, true],
  ['is kept while the time is about what was said', NOW - 60_000, NOW + 60_000, true],
  ['is told anew when the time has moved far', NOW - 60_000, NOW + 500_000, false],
] as const)('the word of an object %s', ([, at, readyAt, isKept]) => {
  const queued = { detail: 'As it was.', at, readyAt };
  const { text, decision } = said({}, { memory: { queued } });
  expect(text === 'Queued: As it was.').toBe(isKept);
  expect(decision.waits?.word === queued).toBe(isKept);
  expect(decision).toMatchObject({ look: { afterMs: 60_000 }, actions: [] });
});

test('an object that found nothing goes on saying so while it waits to search again (H8)', () => {
  const memory = { refusal: { reason: 'NoOffers', detail: 'None.' } } as const;
  const searching = said({ for: 'search' }, { memory });
  expect(searching.text).toContain('NoOffers: None.');
  expect(searching.decision).toMatchObject({ waits: {}, actions: [] });
  expect(said({ for: 'rental' }, { memory }).text).toContain('Queued');
});

test('a request to look stays unhandled until the search answers', () => {
  const annotations = { 'gpurental.dev/requested-at': 'now' };
  expect(said({}, { annotations }).decision.status?.fields).not.toHaveProperty('requestedAt');
  const again = said({}, { annotations, status: { requestedAt: 'before' } });
  expect(again.decision.status?.fields).toMatchObject({ requestedAt: 'before' });
});

test.for([
  [119_000, '119s'],
  [120_000, '2m'],
  [10, '1s'],
] as const)('a wait of %d ms is told as %s', ([expectedMs, text]) => {
  expect(said({ expectedMs, waitedMs: 5_000 }).text).toMatch(new RegExp(`about ${text}\\.$`));
});

test('a wait of one second is not told', () => {
  expect(said({ expectedMs: 600, waitedMs: 400 }).text).toBeUndefined();
});

test('a word about a long wait stays true while the time moves by less than a quarter of it', () => {
  const queued = { detail: 'As it was.', at: NOW - 60_000, readyAt: NOW + 340_000 };
  expect(said({ expectedMs: 270_000 }, { memory: { queued } }).text).toBe('Queued: As it was.');
  expect(said({ expectedMs: 240_000 }, { memory: { queued } }).text).not.toBe('Queued: As it was.');
});

test('a rental one at a time is not blamed on labels while those are not known to be lost', () => {
  expect(said({ isSerial: false }, { facts: { labelEcho: 'notEchoed' } }).text).toContain('Queued: ');
});
