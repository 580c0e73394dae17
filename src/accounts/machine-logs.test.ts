import { beforeEach, describe, expect, test } from 'vitest';
import { LOGIN } from '../../test/builders/observed-account.ts';
import { createVirtualClock, type VirtualClock } from '../../test/builders/virtual-clock.ts';
import type { GpuInstance } from '../api/v1alpha1/gpu-instance.ts';
import { MarketplaceError, type MarketplaceErrorKind } from '../market/errors.ts';
import { makeClaim } from '../ownership/claim.ts';
import { newIdentity } from '../ownership/identity.ts';
import type { LogEvent, LogRequest } from '../reach/log-stream.ts';
import { MachineLogs } from './machine-logs.ts';

const identity = newIdentity(
  { id: new Uint8Array(16).fill(1), key: new Uint8Array(32).fill(2) },
  { kubeSystemUid: undefined, scope: '*' },
);

const failure = (kind: MarketplaceErrorKind) => new MarketplaceError('no', { kind, outcome: 'refused' });

interface Change {
  readonly instanceId?: string | undefined;
  readonly state?: string;
  readonly claim?: string;
  readonly succeeded?: string;
  readonly run?: NonNullable<GpuInstance['status']>['run'];
  readonly deleting?: boolean;
  readonly runningAt?: string | undefined;
}

const REASONS: Readonly<Record<string, string>> = {
  True: 'Completed',
  False: 'BackoffLimit',
  Unknown: 'Progressing',
};
const KEPT = {
  exitCode: 3,
  log: { secretRef: { name: 'trainer-log' }, bytes: 8, truncated: false },
};

function objectOf(name: string, change: Change): GpuInstance {
  const instanceId = 'instanceId' in change ? change.instanceId : '7';
  const uid = `uid-${name}`;
  const claim =
    change.claim ?? (instanceId && makeClaim(identity.keys, { login: LOGIN, uid, attempt: 1, instanceId }));
  return {
    metadata: {
      ...{ name, namespace: 'team', uid },
      ...(change.deleting && { deletionTimestamp: '2026-11-30T00:00:00Z' }),
    },
    spec: { accountRef: { name: 'account' } },
    status: {
      ...{ phase: 'Ready', attempt: 1, actualStatus: change.state ?? 'running' },
      ...('runningAt' in change
        ? change.runningAt && { runningAt: change.runningAt }
        : { runningAt: '2026-11-30T00:00:00Z' }),
      ...(instanceId && { instanceId, claim }),
      ...(change.succeeded && {
        conditions: [{ type: 'Succeeded', status: change.succeeded, reason: REASONS[change.succeeded] }],
      }),
      ...(change.run && { run: change.run }),
    },
    // The logs look at these fields alone.
  } as unknown as GpuInstance;
}

let clock: VirtualClock;
let objects: Map<string, GpuInstance>;
/** Text of each machine, or the failure to read it. */
let texts: Map<string, string | Error>;
/** Reads in their order: machine and second. */
let reads: { readonly id: string; readonly at: number; readonly lines: number }[];
let isLeading: boolean;
let hasSession: boolean;
let canReadLogs: boolean;
let logs: MachineLogs;
let begun: number;

beforeEach(() => {
  clock = createVirtualClock();
  begun = clock.monotonic();
  objects = new Map();
  texts = new Map([['7', 'one\ntwo\n']]);
  reads = [];
  isLeading = true;
  hasSession = true;
  canReadLogs = true;
  const readLog = async (id: string, lines: number) => {
    reads.push({ id, at: (clock.monotonic() - begun) / 1_000, lines });
    const text = texts.get(id) ?? failure('notFound');
    if (text instanceof Error) throw text;
    return text;
  };
  const session = () => ({
    ...{ login: LOGIN, identity },
    market: { about: { name: 'Vast' }, ...(canReadLogs && { readLog }) },
  });
  logs = new MachineLogs({
    clock,
    instanceOf: (key) => objects.get(key),
    accounts: {
      get: () =>
        hasSession
          ? { type: 'ready', session: session() as never }
          : { type: 'notReady', reason: 'Connecting', message: 'It connects.', session: undefined },
    },
    isLeading: () => isLeading,
  });
  put('trainer');
});

function put(name: string, change: Change = {}): void {
  objects.set(`team/${name}`, objectOf(name, change));
}

function opened(request: Partial<LogRequest> = {}) {
  const events: LogEvent[] = [];
  const asked = { namespace: 'team', name: 'trainer', follow: true, ...request };
  const answer = logs.open(asked, ({ event }) => events.push(event));
  return {
    events,
    refusal: answer.type === 'refused' ? answer.refusal : undefined,
    close: () => {
      if (answer.type === 'open') answer.close();
    },
    text: () => events.map((event) => (event.type === 'text' ? event.text : '')).join(''),
    position: () => events.flatMap((event) => (event.type === 'text' ? (event.position ?? []) : [])).at(-1),
    notes: () => events.flatMap((event) => (event.type === 'note' ? [event.reason] : [])),
    end: () => events.find((event) => event.type === 'end')?.reason,
  };
}

const seconds = (count: number) => clock.advance(count * 1_000);

describe('one log', () => {
  test('is read every 5 s, and shows each text once', async () => {
    const one = opened();
    await seconds(1);
    expect(one.text()).toBe('one\ntwo\n');
    texts.set('7', 'one\ntwo\nthree\nfo');
    await seconds(5);
    texts.set('7', 'one\ntwo\nthree\nfour\n');
    await seconds(5);
    expect(one.text()).toBe('one\ntwo\nthree\nfour\n');
    expect(reads.map(({ at }) => at)).toEqual([0, 5, 10]);
    expect(one.notes()).toEqual([]);
  });

  test('costs the same calls for a hundred followers as for one', async () => {
    const all = Array.from({ length: 100 }, () => opened());
    await seconds(60);
    expect(reads).toHaveLength(13);
    expect(new Set(all.map((one) => one.text()))).toEqual(new Set(['one\ntwo\n']));
  });

  test('is not read any more when the last follower has gone, and nothing of it is kept', async () => {
    const [first, second] = [opened(), opened()];
    await seconds(1);
    first.close();
    await seconds(10);
    expect(reads).toHaveLength(3);
    second.close();
    await seconds(60);
    expect(reads).toHaveLength(3);
    expect(clock.nextTimerMs()).toBeUndefined();
  });

  test('shows a later follower the text that is there, without a further read', async () => {
    opened();
    await seconds(1);
    const late = opened();
    await seconds(1);
    expect([late.text(), reads.length]).toEqual(['one\ntwo\n', 1]);
  });

  test('goes on at a position, also after the reader of that position has ended', async () => {
    const before = opened();
    await seconds(1);
    before.close();
    await seconds(10);
    texts.set('7', 'one\ntwo\nthree\n');
    const after = opened({ since: before.position() });
    await seconds(1);
    expect(after.text()).toBe('three\n');
  });

  test('reports lost text when a position is no longer in it', async () => {
    const before = opened();
    await seconds(1);
    before.close();
    await seconds(10);
    texts.set('7', 'nine\nten\n');
    const after = opened({ since: before.position() });
    await seconds(1);
    expect([after.notes(), after.text()]).toEqual([['TextMissing'], 'nine\nten\n']);
  });

  test('begins with its last 64 KiB, in order, and a burst is not cut', async () => {
    const long = Array.from({ length: 20_000 }, (_, at) => `line ${at}\n`);
    texts.set('7', long.slice(0, 100).join(''));
    const first = opened();
    await seconds(1);
    texts.set('7', long.join(''));
    await seconds(5);
    expect(first.text()).toBe(long.join(''));
    const second = opened();
    await seconds(1);
    expect(second.text().length).toBeLessThanOrEqual(65_536);
    expect(long.join('').endsWith(second.text())).toBe(true);
  });

  test('is shown once without follow, by the read that is under way or the latest one', async () => {
    const once = opened({ follow: false });
    await seconds(1);
    expect([once.text(), once.end()]).toEqual(['one\ntwo\n', 'Complete']);
    for (let at = 0; at < 20; at += 1) {
      opened({ follow: false });
      await clock.advance(100);
    }
    expect(reads).toHaveLength(1);
  });

  test('that cannot be read ends a request without follow with the kind of the failure', async () => {
    texts.set('7', failure('unavailable'));
    const once = opened({ follow: false });
    await seconds(1);
    expect(once.events).toEqual([
      { type: 'end', reason: 'NotReadable', message: expect.stringContaining('(unavailable)') },
    ]);
  });

  test('that cannot be read is read less often, reported once, and goes on', async () => {
    const one = opened();
    await seconds(1);
    texts.set('7', failure('unavailable'));
    await seconds(120);
    expect(reads.length).toBeLessThan(7);
    expect(one.notes()).toEqual(['NotReadable']);
    texts.set('7', 'one\ntwo\nthree\n');
    await seconds(60);
    expect(one.text()).toBe('one\ntwo\nthree\n');
  });

  test('is read in fewer lines when one read was too long', async () => {
    texts.set('7', failure('malformedReply'));
    opened();
    await seconds(11);
    expect(reads.map(({ lines }) => lines)).toEqual([2_000, 1_000]);
  });

  test('of a stopped machine is read once a minute', async () => {
    opened();
    await seconds(1);
    put('trainer', { state: 'stopped' });
    await seconds(118);
    expect(reads).toHaveLength(2);
  });
});

describe('the machine of a log', () => {
  test('that ends is read once more, and the next one is announced and read from its begin', async () => {
    const one = opened();
    await seconds(1);
    texts.set('7', 'one\ntwo\nlast\n');
    texts.set('8', 'one\nnew\n');
    put('trainer', { instanceId: '8' });
    await seconds(3);
    expect(one.text()).toBe('one\ntwo\nlast\none\nnew\n');
    expect(one.notes()).toEqual(['Replaced']);
    expect(reads.map(({ id }) => id)).toEqual(['7', '7', '8']);
  });

  test('that ends is not read again while the next one is searched', async () => {
    const one = opened();
    await seconds(1);
    put('trainer', { instanceId: undefined });
    await seconds(60);
    expect([one.notes(), reads.length, one.end()]).toEqual([['Waiting'], 2, undefined]);
    put('trainer', { instanceId: '8' });
    texts.set('8', 'new\n');
    await seconds(2);
    expect([one.notes(), one.text()]).toEqual([['Waiting', 'Replaced'], 'one\ntwo\nnew\n']);
  });

  test('that is deleted closes the stream after the last read', async () => {
    const one = opened();
    await seconds(1);
    texts.set('7', 'one\ntwo\nlast\n');
    objects.delete('team/trainer');
    await seconds(2);
    expect([one.text(), one.end()]).toEqual(['one\ntwo\nlast\n', 'Deleted']);
    await seconds(60);
    expect(clock.nextTimerMs()).toBeUndefined();
  });

  test('whose last read fails closes the stream all the same', async () => {
    const one = opened();
    await seconds(1);
    texts.set('7', failure('notFound'));
    objects.delete('team/trainer');
    await seconds(2);
    expect([one.end(), reads.length]).toEqual(['Deleted', 2]);
  });

  test.each(['True', 'False'])(
    'of a run that is over (%s) closes the stream after the last read',
    async (is) => {
      const one = opened();
      await seconds(1);
      texts.set('7', 'one\ntwo\nlast\n');
      put('trainer', { succeeded: is, state: 'stopped' });
      await seconds(2);
      expect([one.text(), one.end()]).toEqual(['one\ntwo\nlast\n', 'Complete']);
    },
  );

  test('of a run that is under way keeps the stream open', async () => {
    const one = opened();
    put('trainer', { succeeded: 'Unknown' });
    await seconds(30);
    expect(one.end()).toBeUndefined();
  });

  test('that loads has no log yet, which is no failure', async () => {
    texts.set('7', failure('conflict'));
    put('trainer', { runningAt: undefined, state: 'loading' });
    const one = opened();
    await seconds(10);
    expect(one.notes()).toEqual(['Waiting']);
  });

  test('is awaited by a follower, and absent for any other request', async () => {
    put('trainer', { instanceId: undefined });
    expect(opened({ follow: false }).refusal).toMatchObject({ status: 404 });
    const one = opened();
    await seconds(10);
    expect([one.notes(), reads.length]).toEqual([['Waiting'], 0]);
    put('trainer');
    await seconds(1);
    expect(one.text()).toBe('one\ntwo\n');
  });

  test('that a status names without a claim of the operator is never read', async () => {
    put('trainer', { instanceId: '8', claim: makeClaim(identity.keys, claimOf('7')) });
    texts.set('8', 'secret of another team\n');
    const { refusal } = opened();
    expect(refusal).toMatchObject({ status: 409, message: expect.stringContaining('did not rent') });
    put('trainer');
    const one = opened();
    await seconds(1);
    put('trainer', { instanceId: '8', claim: makeClaim(identity.keys, claimOf('7')) });
    await seconds(60);
    expect([one.text(), one.notes()]).toEqual(['one\ntwo\n', ['NotReadable']]);
    expect(reads.every(({ id }) => id === '7')).toBe(true);
  });
});

const claimOf = (instanceId: string) => ({ login: LOGIN, uid: 'uid-trainer', attempt: 1, instanceId });

describe('many logs of one account', () => {
  const many = (count: number) =>
    Array.from({ length: count }, (_, at) => {
      texts.set(String(100 + at), `text ${at}\n`);
      put(`t${at}`, { instanceId: String(100 + at) });
      return opened({ name: `t${at}` });
    });

  test('are read at most once a second together, each in its turn', async () => {
    const all = many(12);
    await seconds(120);
    for (let at = 1; at < reads.length; at += 1)
      expect((reads[at]?.at ?? 0) - (reads[at - 1]?.at ?? 0)).toBeGreaterThanOrEqual(1);
    const counts = Map.groupBy(reads, ({ id }) => id).values();
    for (const of of counts) expect(of.length).toBeGreaterThanOrEqual(9);
    expect(all.map((one) => one.text())).toEqual(all.map((_, at) => `text ${at}\n`));
    expect(all.map((one) => one.notes())).toEqual(all.map(() => ['SlowReads']));
  });

  test('are read every 5 s without a word while they are five', async () => {
    const all = many(5);
    await seconds(60);
    expect(reads.length).toBeGreaterThanOrEqual(55);
    expect(all.flatMap((one) => one.notes())).toEqual([]);
  });
});

describe('a request is refused', () => {
  test.each<[string, () => void, number, string]>([
    ['by a replica that does not lead', () => (isLeading = false), 503, 'Connect again'],
    ['without an account that is ready', () => (hasSession = false), 503, 'It connects.'],
    ['by a market without logs', () => (canReadLogs = false), 501, 'returns no logs'],
    ['for an object that is not there', () => objects.clear(), 404, 'does not exist'],
    [
      'for a run that is over and has no machine',
      () => put('trainer', { instanceId: undefined, succeeded: 'True' }),
      410,
      'has finished (Completed), and its machine is gone. No log of it was kept.',
    ],
    [
      'for a run that is over, with the Secret of its log',
      () => put('trainer', { instanceId: undefined, succeeded: 'False', run: KEPT }),
      410,
      'has finished (BackoffLimit, exit code 3), and its machine is gone. Its log is in Secret trainer-log',
    ],
    [
      'for an object that is being deleted and has no machine',
      () => put('trainer', { instanceId: undefined, deleting: true }),
      404,
      'does not exist',
    ],
  ])('%s', (_, change, status, text) => {
    change();
    expect(opened().refusal).toEqual({ status, message: expect.stringContaining(text) });
    expect(reads).toEqual([]);
  });

  test('beyond 128 followers of one namespace, and a place is free when one leaves', async () => {
    const all = Array.from({ length: 128 }, () => opened());
    expect(opened().refusal).toMatchObject({ status: 429 });
    all[0]?.close();
    expect(opened().refusal).toBeUndefined();
  });
});

test('a replica that no longer leads ends its streams and reads nothing more', async () => {
  const one = opened();
  await seconds(1);
  isLeading = false;
  await seconds(60);
  expect([one.end(), reads.length]).toEqual(['NotLeading', 1]);
});

describe('the log in which the result of a run was found', () => {
  const whole = 'one\ntwo\nthree\n';

  test('is sent before its machine is gone, and is not read again', async () => {
    const one = opened();
    await clock.advance(1_000);
    const readBefore = reads.length;
    logs.ended('team/trainer', { instanceId: '7', text: whole });
    texts.delete('7');
    await clock.advance(6_000);
    put('trainer', { succeeded: 'True' });
    await clock.advance(1_000);
    expect(one.text()).toBe(whole);
    expect(one.events.at(-1)).toMatchObject({ type: 'end', reason: 'Complete' });
    expect(one.events.filter(({ type }) => type === 'note')).toEqual([]);
    expect(reads).toHaveLength(readBefore);
  });

  test('is sent when it comes before the first read', async () => {
    const one = opened();
    logs.ended('team/trainer', { instanceId: '7', text: whole });
    put('trainer', { succeeded: 'True', instanceId: undefined });
    await clock.advance(1_000);
    expect(one.text()).toBe(whole);
    expect(one.events.at(-1)).toMatchObject({ type: 'end', reason: 'Complete' });
  });

  test('of a former machine, or without a follower, is left alone', async () => {
    logs.ended('team/trainer', { instanceId: '7', text: whole });
    const one = opened();
    logs.ended('team/trainer', { instanceId: '6', text: 'other\n' });
    await clock.advance(1_000);
    expect(one.text()).toBe('one\ntwo\n');
  });
});
