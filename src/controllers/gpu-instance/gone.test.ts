import { describe, expect, test } from 'vitest';
import { at, type Given, given, holding, intent } from '../../../test/builders/observed.ts';
import { goneProof } from './gone.ts';
import type { AbsenceView, DestroyMark } from './types.ts';

const ID = '1';
const absent = (lists: readonly number[], read?: AbsenceView['read']): Given => ({
  observed: { absences: new Map([[ID, { lists, read }]]) },
});
const mark = (change: Partial<DestroyMark> = {}): DestroyMark => ({
  instanceId: ID,
  reason: 'Replacing',
  answeredAt: at(-60),
  endedAt: at(-60),
  ...change,
});

/** Returns the proof for {@link given} with these absences and the rest of the observation. */
function proofOf(lists: readonly number[], read: AbsenceView['read'], more: Given = {}): string {
  const { observed } = absent(lists, read);
  return goneProof(given({ ...more, observed: { ...more.observed, ...observed } }), ID).type;
}

describe('without a destroy of ours a machine', () => {
  const proven: Given = { observed: { loginProven: true } };
  const spaced = [at(-120), at(-60)];

  test.for<readonly [string, readonly number[], AbsenceView['read'], Given, string]>([
    ['is present while a list shows it', [], undefined, proven, 'present'],
    ['is waited for while no list has come', [], undefined, { ...proven, list: 'none' }, 'waiting'],
    ['is present when its own read shows it', spaced, 'present', proven, 'present'],
    ['is waited for after one list', [at(-60)], 'absent', proven, 'waiting'],
    ['is waited for while its lists are close together', [at(-60), at(-1)], 'absent', proven, 'waiting'],
    [
      'is read when first and last of its lists are far enough apart',
      [...spaced, at(-59)],
      undefined,
      proven,
      'needsRead',
    ],
    ['is waited for when its read failed', spaced, 'failed', proven, 'waiting'],
    ['needs the proof of its login', spaced, 'absent', {}, 'needsLogin'],
    [
      'is waited for when the login was not proven',
      spaced,
      'absent',
      { observed: { loginProven: false } },
      'waiting',
    ],
    ['is gone', spaced, 'absent', proven, 'gone'],
  ])('%s', ([, lists, read, more, expected]) => {
    expect(proofOf(lists, read, more)).toBe(expected);
  });
});

describe('a machine of the newest purchase', () => {
  const bought = intent({ issuedAt: at(-300) });
  const visible = bought.deadline + 60_000;
  const held = (attempt: number): Given => ({
    intent: bought,
    status: holding({ attempt }),
    observed: { loginProven: true },
  });

  test('may be missing from lists until a list lag after its deadline', () => {
    expect(proofOf([visible - 100_000, visible - 1], 'absent', held(1))).toBe('waiting');
    expect(proofOf([visible - 1, visible + 59_999], 'absent', held(1))).toBe('waiting');
    expect(proofOf([visible, visible + 60_000], 'absent', held(1))).toBe('gone');
  });

  test('is not spared for the intent of another purchase', () => {
    expect(proofOf([visible - 100_000, visible - 1], 'absent', held(2))).toBe('gone');
  });

  test('is not spared without an intent', () => {
    const more = { status: holding(), observed: { loginProven: true } };
    expect(proofOf([visible - 100_000, visible - 1], 'absent', more)).toBe('gone');
  });
});

describe('after our own destroy a machine', () => {
  const destroyed = (change: Partial<DestroyMark> = {}): Given => ({ memory: { destroys: [mark(change)] } });

  test.for<readonly [string, readonly number[], AbsenceView['read'], Given, string]>([
    [
      'is gone by two lists begun after the answer, and a read',
      [at(-50), at(-40)],
      'absent',
      destroyed(),
      'gone',
    ],
    [
      'needs no proof of the login',
      [at(-50), at(-40)],
      'absent',
      { ...destroyed(), observed: { loginProven: false } },
      'gone',
    ],
    ['is read', [at(-50), at(-40)], undefined, destroyed(), 'needsRead'],
    ['is not read while the second list is awaited', [at(-50)], undefined, destroyed(), 'waiting'],
    [
      'is waited for while its lists are close together',
      [at(-50), at(-41)],
      'absent',
      destroyed(),
      'waiting',
    ],
    [
      'is waited for when its lists began before the answer',
      [at(-80), at(-61)],
      'absent',
      destroyed(),
      'waiting',
    ],
    ['is waited for when a list began with the answer', [at(-60), at(-50)], 'absent', destroyed(), 'waiting'],
    [
      'is not gone by the destroy of another',
      [at(-50), at(-40)],
      'absent',
      { ...destroyed({ instanceId: '2' }), observed: { loginProven: true } },
      'waiting',
    ],
  ])('%s', ([, lists, read, more, expected]) => {
    expect(proofOf(lists, read, more)).toBe(expected);
  });
});
