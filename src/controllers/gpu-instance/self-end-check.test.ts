import { beforeEach, describe, expect, test } from 'vitest';
import { createVirtualClock, type VirtualClock } from '../../../test/builders/virtual-clock.ts';
import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { silentLogger } from '../../lib/logger.ts';
import { MarketplaceError } from '../../market/errors.ts';
import { vastFacts } from '../../markets/vast/facts.ts';
import { SelfEndChecks } from './self-end-check.ts';

const MINUTE = 60_000;
const KEY = 'team/trainer';

let clock: VirtualClock;
beforeEach(() => {
  clock = createVirtualClock();
});

function fused(change: { readonly status?: object; readonly deleted?: true } = {}) {
  return {
    metadata: { name: 'trainer', namespace: 'team', ...(change.deleted && { deletionTimestamp: 'now' }) },
    spec: {},
    status: {
      ...{ instanceId: '7', actualStatus: 'running', selfEnd: { lifeSeconds: 4_200, proof: 'Unproven' } },
      ...change.status,
    },
    // A check looks at these fields alone.
  } as unknown as GpuInstance;
}

const ABSENT = "ls: cannot access 'var/tmp/.gpurental': No such file or directory\n";
const RUNS = `${ABSENT}/var/tmp/.gpurental:\nt\n`;
const PROVEN = `${ABSENT}/var/tmp/.gpurental:\nok\nt\n`;

/** Checks of machines whose market answers as the test says, one answer after the other, then the last one again. */
function checks(
  answers: readonly (string | Error | (() => string | Error))[],
  about: object = vastFacts,
  hasSession: () => boolean = () => true,
) {
  const asked: { readonly at: number; readonly id: string; readonly command: string }[] = [];
  const changes: string[] = [];
  const errors: object[] = [];
  const begun = clock.monotonic();
  const market = {
    about,
    runCommand: async (id: string, command: string) => {
      asked.push({ at: (clock.monotonic() - begun) / MINUTE, id, command });
      const next = answers[Math.min(asked.length, answers.length) - 1] ?? '';
      const answer = typeof next === 'function' ? next() : next;
      if (typeof answer === 'string') return answer;
      throw answer;
    },
  };
  const made = new SelfEndChecks({
    clock,
    log: { ...silentLogger, error: (message, fields) => errors.push({ message, ...fields }) },
    marketOf: () => (hasSession() ? (market as never) : undefined),
    onChange: (key) => changes.push(key),
  });
  const view = (object = fused()) => made.view(KEY, object);
  return { made, view, asked, changes, errors, times: () => asked.map(({ at }) => at) };
}

const forbidden = new MarketplaceError('HTTP 403', { kind: 'forbidden', outcome: 'refused' });

describe('the check of a machine that can end itself (C11)', () => {
  test('lists the files of the fuse once when they show the proof', async () => {
    const { view, asked, changes } = checks([PROVEN]);
    expect(view()).toBeUndefined();
    await clock.advance(60 * MINUTE);
    expect(asked).toEqual([{ at: 1, id: '7', command: 'ls /var/tmp/.gpurental var/tmp/.gpurental' }]);
    expect(view()).toEqual({ type: 'proven' });
    expect(changes).toEqual([KEY]);
  });

  test('reads again while the fuse tries its key, and says nothing before the last read', async () => {
    const { view, times, changes } = checks([ABSENT, RUNS, PROVEN]);
    view();
    await clock.advance(9 * MINUTE);
    expect([view(), changes]).toEqual([undefined, []]);
    await clock.advance(60 * MINUTE);
    expect(times()).toEqual([1, 4, 10]);
    expect(view()).toEqual({ type: 'proven' });
  });

  test.each([
    ['noProof', RUNS],
    ['noFuse', ABSENT],
  ])('is settled as %s by the third read', async (type, output) => {
    const { view, times } = checks([output]);
    view();
    await clock.advance(60 * MINUTE);
    expect(times()).toEqual([1, 4, 10]);
    expect(view()).toEqual({ type });
  });

  test('is settled as unread after three failures', async () => {
    const { view, times, changes } = checks([forbidden]);
    view();
    await clock.advance(60 * MINUTE);
    expect([times(), changes]).toEqual([[1, 4, 10], [KEY]]);
    expect(view()).toEqual({ type: 'unread', detail: 'its files could not be listed: HTTP 403' });
  });

  test('does not count a read that found no place among the calls of the login', async () => {
    const busy = (retryAfterMs: number) =>
      new MarketplaceError('no place', { kind: 'throttled', outcome: 'refused', retryAfterMs });
    const { view, times } = checks([busy(0), busy(5 * MINUTE), RUNS, RUNS, PROVEN]);
    view();
    await clock.advance(60 * MINUTE);
    expect(times()).toEqual([1, 2, 7, 10, 16]);
    expect(view()).toEqual({ type: 'proven' });
  });

  test.each([
    ['runs no command', { name: 'Toy' }, 'the market Toy lists no files of machines'],
    [
      'runs others',
      { name: 'Toy', fileCommands: { programs: ['rm'], maxLength: 512 } },
      'the market Toy lists no files of machines',
    ],
    [
      'takes shorter ones',
      { name: 'Toy', fileCommands: { programs: ['ls'], maxLength: 10 } },
      'the market Toy lists no files of machines',
    ],
  ])('is settled without a call at a market that %s', async (_, about, detail) => {
    const { view, asked } = checks([PROVEN], about);
    view();
    await clock.advance(MINUTE);
    expect(view()).toEqual({ type: 'unread', detail, isMarkets: true });
    expect(asked).toEqual([]);
  });

  test('waits while the account is not ready', async () => {
    let isReady = false;
    const { view, changes, errors, times } = checks([PROVEN], vastFacts, () => isReady);
    view();
    await clock.advance(60 * MINUTE);
    expect([view(), changes, errors]).toEqual([undefined, [], []]);
    isReady = true;
    await clock.advance(MINUTE);
    expect([view(), times()]).toEqual([{ type: 'proven' }, [61]]);
  });

  test('is made at a market that takes commands of exactly its length', async () => {
    const fileCommands = { programs: ['ls'], maxLength: 'ls /var/tmp/.gpurental var/tmp/.gpurental'.length };
    const { view } = checks([PROVEN], { name: 'Toy', fileCommands });
    view();
    await clock.advance(MINUTE);
    expect(view()).toEqual({ type: 'proven' });
  });

  test.each<[string, GpuInstance]>([
    ['a machine without a fuse', fused({ status: { selfEnd: undefined } })],
    ['a settled one', fused({ status: { selfEnd: { proof: 'Unproven', checkedAt: 'then' } } })],
    ['a machine that loads', fused({ status: { actualStatus: 'loading' } })],
    ['an object that is being deleted', fused({ deleted: true })],
  ])('is not made for %s', async (_, object) => {
    const { view, asked } = checks([PROVEN]);
    view(object);
    await clock.advance(60 * MINUTE);
    expect([view(object), asked]).toEqual([undefined, []]);
  });

  test('begins again with another machine of the object', async () => {
    const { view, asked } = checks([RUNS, PROVEN]);
    view();
    await clock.advance(2 * MINUTE);
    const other = fused({ status: { instanceId: '8' } });
    view(other);
    await clock.advance(60 * MINUTE);
    expect(asked.map(({ id, at }) => [id, at])).toEqual([
      ['7', 1],
      ['8', 3],
    ]);
    expect(view(other)).toEqual({ type: 'proven' });
  });

  test('ends when the object is gone, or the process stops', async () => {
    const { made, view, asked } = checks([PROVEN]);
    view();
    made.forget(KEY);
    view();
    made.stop();
    await clock.advance(60 * MINUTE);
    expect(asked).toEqual([]);
  });

  test('ends when the machine stops running', async () => {
    const { view, asked } = checks([PROVEN]);
    view();
    view(fused({ status: { actualStatus: 'stopped' } }));
    await clock.advance(60 * MINUTE);
    expect(asked).toEqual([]);
  });

  test.each([
    ['shows the proof', PROVEN],
    ['shows no proof', RUNS],
    ['fails', new TypeError('bug')],
  ])('ignores a read that %s after the object is gone', async (_, answer) => {
    const gone: (() => void)[] = [];
    const during = () => {
      for (const forget of gone) forget();
      return answer;
    };
    const { made, view, asked, changes } = checks([during]);
    gone.push(() => made.forget(KEY));
    view();
    await clock.advance(60 * MINUTE);
    expect([asked.length, changes]).toEqual([1, []]);
  });

  test('survives an error of its own', async () => {
    const bug = new TypeError('bug');
    const { view, times, errors } = checks([bug, PROVEN]);
    view();
    await clock.advance(60 * MINUTE);
    expect(times()).toEqual([1, 2]);
    expect(errors).toEqual([{ message: 'Self-end check failed', object: KEY, error: bug }]);
    expect(view()).toEqual({ type: 'proven' });
  });
});
