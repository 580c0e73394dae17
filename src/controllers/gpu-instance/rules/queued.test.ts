import { expect, test } from 'vitest';
import { facts, type Given, given, NOW } from '../../../../test/builders/observed.ts';
import type { QueuePosition } from '../../../accounts/queue/admission-queue.ts';
import { classify } from '../stage.ts';
import type { QueueNotice } from '../types.ts';
import { waitInQueue } from './purchase.ts';

function said(place: Partial<QueuePosition>, situation: Given = {}) {
  const observed = given(situation);
  const stage = classify(observed);
  if (stage.type !== 'unrented') throw new Error('there is a machine');
  const usual = { for: 'rental', ahead: 12, expectedMs: 54_000, waitedMs: 0, isSerial: false } as const;
  const decision = waitInQueue(observed, stage, { ...usual, ...place });
  const ready = decision.status?.verdict.Ready;
  return { text: ready && `${ready.reason}: ${ready.message}`, decision };
}

test.for<readonly [string, Partial<QueuePosition>, Given, string | undefined]>([
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
    'Queued: Queued behind 1 instance: the first rental of the login is checked before the next; about 54s.',
  ],
  [
    'others where labels do not come back',
    { ahead: 1, isSerial: true },
    { facts: { ...facts(), labelEcho: 'notEchoed' } },
    'Queued: Queued behind 1 instance: the marketplace does not return labels, so rentals go one at a time.',
  ],
  ['no other object, for a moment', { expectedMs: 2_900 }, {}, undefined],
])('an object behind %s says so (F2)', ([, place, situation, text]) => {
  expect(said(place, situation).text).toBe(text);
});

test('reports a short wait that has become long', () => {
  expect(said({ expectedMs: 2_900, waitedMs: 200 }).text).toContain('Queued');
});

const AS_SAID = {
  reason: 'Queued',
  cause: 'turn',
  detail: 'As it was.',
  ahead: 12,
  expectedMs: 54_000,
  isSerial: false,
} as const;

test.for<readonly [string, Partial<QueueNotice>, Partial<QueuePosition>, boolean]>([
  ['keeps its word within ten seconds', { at: NOW - 9_999 }, { ahead: 1, expectedMs: 5_000 }, true],
  ['keeps its word while position and time are near it', {}, { ahead: 9, expectedMs: 41_000 }, true],
  ['says its position again when others before it have gone', {}, { ahead: 8 }, false],
  ['says its time again when it has become shorter', {}, { expectedMs: 40_000 }, false],
  ['says its time again when it has become longer', {}, { expectedMs: 68_000 }, false],
  ['keeps a short time while it is off by ten seconds', { expectedMs: 14_000 }, { expectedMs: 4_000 }, true],
  ['keeps a low position while it is off by two', { ahead: 3 }, { ahead: 1 }, true],
  ['says at once that rentals go one at a time no more', { at: NOW - 1, isSerial: true }, {}, false],
  ['says at once that rentals go one at a time', { at: NOW - 1 }, { isSerial: true }, false],
  ['says another reason at once', { at: NOW - 1, cause: 'labels' }, {}, false],
])('an object in the queue %s (F2)', ([, before, place, isKept]) => {
  const queued = { ...AS_SAID, at: NOW - 10_000, ...before };
  const { text, decision } = said(place, { memory: { queued } });
  expect(text === 'Queued: As it was.').toBe(isKept);
  expect(decision.waits?.notice === queued).toBe(isKept);
  expect(decision).toMatchObject({ actions: [] });
});

test.for<readonly [string, Partial<QueuePosition>, number]>([
  ['when a quarter of its wait is over', { expectedMs: 54_000 }, 13_500],
  ['after ten seconds if its wait is short', { expectedMs: 5_000 }, 10_000],
  ['after a minute if its wait is long', { expectedMs: 900_000 }, 60_000],
  ['after ten seconds while rentals go one at a time', { expectedMs: 900_000, isSerial: true }, 10_000],
  ['after a minute if it waits for a search, which calls it', { for: 'search', expectedMs: 5_000 }, 60_000],
])('an object in the queue looks at its place again %s (F2)', ([, place, afterMs]) => {
  expect(said(place).decision.requeue).toEqual({ afterMs });
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
] as const)('reports a wait of %d ms as %s', ([expectedMs, text]) => {
  expect(said({ expectedMs, waitedMs: 5_000 }).text).toMatch(new RegExp(`about ${text}\\.$`));
});

test('does not report a wait of one second', () => {
  expect(said({ expectedMs: 600, waitedMs: 400 }).text).toBeUndefined();
});

test('does not name labels as the cause of serial rentals while they are not known to be lost', () => {
  expect(said({ isSerial: false }, { facts: { labelEcho: 'notEchoed' } }).text).toContain('Queued: ');
});
