import { gunzipSync, gzipSync } from 'node:zlib';
import { afterEach, describe, expect, test } from 'vitest';
import { given, holding, identity, UID } from '../../../test/builders/observed.ts';
import { createVirtualClock } from '../../../test/builders/virtual-clock.ts';
import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { silentLogger } from '../../lib/logger.ts';
import { MarketplaceError } from '../../market/errors.ts';
import { vastFacts } from '../../markets/vast/facts.ts';
import { runNonce } from '../../ownership/run-nonce.ts';
import { KubeError } from '../../runtime/kube/kube-error.ts';
import { RunCollections, type RunCollectionsOptions } from './run-collection.ts';

const NONCE = runNonce(identity.keys, { uid: UID, attempt: 1 });
const OTHER = runNonce(identity.keys, { uid: UID, attempt: 2 });
const log = (code: number, nonce = NONCE, output = 'epoch 1\n') =>
  `\ngpurental ${nonce} start 1\n${output}\ngpurental ${nonce} exit ${code}\n`;

type Reply = string | MarketplaceError;

interface Setting {
  readonly logs?: readonly Reply[];
  readonly files?: readonly Reply[];
  readonly state?: string;
  readonly run?: NonNullable<GpuInstance['status']>['run'];
  readonly isRun?: boolean;
  readonly refusesSecret?: boolean;
  /** Other objects in the cache. */
  readonly others?: readonly GpuInstance[];
  /** Text of the log of each of them. */
  readonly storedLog?: string;
}

let collections: RunCollections | undefined;
afterEach(() => collections?.stop());

const failure = (kind: 'unavailable' | 'notFound' | 'throttled', retryAfterMs?: number) =>
  new MarketplaceError('no', { kind, outcome: 'refused', retryAfterMs });

/** Returns a run whose machine has stopped, the reads of it, and the written Secrets. */
function situation(setting: Setting) {
  const { logs = [], files = [], state = 'stopped', run, isRun = true, refusesSecret } = setting;
  const { others = [], storedLog = '' } = setting;
  const cuts: { readonly name: string; readonly text: string }[] = [];
  const clock = createVirtualClock();
  const reads: string[] = [];
  const secrets: { readonly data: { readonly log: string }; readonly type: string }[] = [];
  const changes: string[] = [];
  const shown: unknown[] = [];
  const nextOf = (replies: readonly Reply[], kind: string): string => {
    const reply = replies[reads.filter((read) => read === kind).length - 1] ?? replies.at(-1) ?? '';
    if (typeof reply === 'string') return reply;
    throw reply;
  };
  collections = new RunCollections({
    clock,
    log: silentLogger,
    cluster: {
      create: async (_: unknown, secret: (typeof secrets)[number]) => {
        const forbidden = {
          kind: 'forbidden',
          status: 403,
          reason: 'Forbidden',
          outcome: 'refused',
        } as const;
        if (refusesSecret) throw new KubeError('no', forbidden);
        secrets.push(secret);
        return secret;
      },
      get: async (_: unknown, { name }: { readonly name: string }) => {
        const owner = others.find(({ metadata }) => name === `${metadata.name}-log`);
        if (!owner) return undefined;
        return {
          metadata: { name, resourceVersion: '5', ownerReferences: [{ uid: owner.metadata.uid }] },
          ...{ type: 'gpurental.dev/log', data: { log: gzipSync(storedLog).toString('base64') } },
        };
      },
      patch: async (
        _: unknown,
        { name }: { readonly name: string },
        { body }: { readonly body: { readonly data: { readonly log: string } } },
      ) => cuts.push({ name, text: gunzipSync(Buffer.from(body.data.log, 'base64')).toString() }),
    },
    identity: () => identity,
    instances: () => others,
    marketOf: () => ({
      about: vastFacts,
      readLog: async () => {
        reads.push('log');
        return nextOf(logs, 'log');
      },
      runCommand: async () => {
        reads.push('files');
        return nextOf(files, 'files');
      },
    }),
    onChange: (key: string) => changes.push(key),
    onLog: (...given: unknown[]) => shown.push([...given, changes.length]),
  } as unknown as RunCollectionsOptions);
  const completion = { logBytes: '8' };
  const { object } = given({
    ...(isRun && { spec: { command: ['a'], completion } }),
    status: holding({ actualStatus: state, ...(run && { run }) }),
  });
  const seen = collections;
  const view = (change: Partial<GpuInstance['status']> = {}) =>
    seen.view('team/job', { ...object, status: { ...object.status, ...change } as GpuInstance['status'] });
  view();
  return {
    view,
    reads,
    secrets,
    changes,
    shown,
    cuts,
    wait: (seconds: number) => clock.advance(seconds * 1_000),
  };
}

describe('the result of a stopped machine', () => {
  test('is found in its log by one read, and the log is kept', async () => {
    const { view, reads, secrets, changes, wait } = situation({ logs: [log(7)] });
    await wait(1);
    expect(view()).toEqual({
      ...{ type: 'found', exitCode: 7, message: 'epoch 1' },
      log: { secretRef: { name: 'job-log' }, bytes: 8, truncated: false },
    });
    expect([reads, changes]).toEqual([['log'], ['team/job']]);
    const [secret] = secrets;
    expect(secret?.type).toBe('gpurental.dev/log');
    expect(gunzipSync(Buffer.from(secret?.data.log ?? '', 'base64')).toString()).toBe('epoch 1\n');
  });

  test('is kept, and at most ten of the logs beyond the newest hundred are cut to their last KiB', async () => {
    const { namespace } = given({}).object.metadata;
    const others = Array.from(
      { length: 115 },
      (_, at) =>
        ({
          metadata: { name: `run-${at}`, namespace, uid: `uid-${at}` },
          status: {
            run: {
              log: { secretRef: { name: `run-${at}-log` }, bytes: 4_096, truncated: false },
              finishedAt: new Date(at * 1_000).toISOString(),
            },
          },
        }) as unknown as GpuInstance,
    );
    const { cuts, wait } = situation({ logs: [log(7)], others, storedLog: `${'x'.repeat(4_000)}end` });
    await wait(1);
    expect(cuts.map(({ name }) => name)).toEqual(Array.from({ length: 10 }, (_, at) => `run-${15 - at}-log`));
    expect(cuts[0]?.text).toBe(`${'x'.repeat(1_021)}end`);
  });

  test('is shown with its log before anything may end the machine', async () => {
    const { shown, wait } = situation({ logs: ['lines', log(7)] });
    await wait(25);
    const instanceId = holding({}).instanceId;
    expect(shown).toEqual([['team/job', { instanceId, text: log(7) }, 0]]);
  });

  test('has the last bytes of a long log, and says so', async () => {
    const { view, secrets, wait } = situation({ logs: [log(0, NONCE, 'first line\nlast line\n')] });
    await wait(1);
    expect(view()).toMatchObject({ exitCode: 0, log: { bytes: 8, truncated: true } });
    const packed = Buffer.from(secrets[0]?.data.log ?? '', 'base64');
    expect(gunzipSync(packed).toString()).toBe('st line\n');
  });

  test('is found by the name of a file after three reads of a log without it', async () => {
    const { view, reads, wait } = situation({ logs: ['lines'], files: [`exit.3.${NONCE}\n`] });
    await wait(61);
    expect(view()).toMatchObject({ type: 'found', exitCode: 3, message: 'lines', log: { truncated: true } });
    expect(reads).toEqual(['log', 'log', 'log', 'files']);
  });

  test('is not that of another rental', async () => {
    const { view, wait } = situation({ logs: [log(0, OTHER)], files: [`exit.0.${OTHER}\n`] });
    await wait(130);
    expect(view()).toEqual({ type: 'none', isAnswered: true });
  });

  test('is searched again a minute after a round that found nothing', async () => {
    const { view, changes, wait } = situation({ logs: ['', '', '', log(0)], files: [''] });
    await wait(101);
    expect([view()?.type, changes.length]).toEqual(['none', 1]);
    await wait(61);
    expect([view()?.type, changes.length]).toEqual(['found', 2]);
  });

  test('is not known to be missing while the marketplace is down', async () => {
    const down = failure('unavailable');
    const { view, wait } = situation({ logs: [down], files: [down] });
    await wait(130);
    expect(view()).toEqual({ type: 'none', isAnswered: false });
    const absent = situation({ logs: [failure('notFound')], files: [down] });
    await absent.wait(130);
    expect(absent.view()).toEqual({ type: 'none', isAnswered: true });
  });

  test('costs no try when the rate limit allows none', async () => {
    const { view, reads, wait } = situation({ logs: [failure('throttled', 50_000), log(0)] });
    await wait(49);
    expect(reads).toEqual(['log']);
    await wait(2);
    expect(view()).toMatchObject({ type: 'found', exitCode: 0 });
  });

  test('counts without its log when the Secret cannot be written', async () => {
    const { view, wait } = situation({ logs: [log(0)], refusesSecret: true });
    await wait(1);
    expect(view()).toEqual({ type: 'found', exitCode: 0, message: 'epoch 1' });
  });

  test('has no control characters in its message', async () => {
    const { view, wait } = situation({ logs: [log(0, NONCE, '\u001b[31mred\u0007\r\n\tb')] });
    await wait(1);
    expect(view()).toMatchObject({ message: '[31mred\n\tb' });
  });
});

describe('the files of a running machine', () => {
  test('are listed every ten minutes, and its log is read when they show a result', async () => {
    const files = ['t\n', `exit.0.${NONCE}\n`];
    const { view, reads, wait } = situation({ state: 'running', files, logs: [log(0)] });
    await wait(599);
    expect(reads).toEqual([]);
    await wait(2);
    expect([reads, view()]).toEqual([['files'], undefined]);
    await wait(600);
    expect(reads).toEqual(['files', 'files', 'log']);
    expect(view()).toMatchObject({ type: 'found', exitCode: 0, message: 'epoch 1' });
  });
});

describe('nothing is read', () => {
  test.each<[string, Setting]>([
    ['of an object that is no run', { isRun: false }],
    ['of a machine that boots', { state: 'loading' }],
    [
      'of a machine whose result is on record',
      { run: { settled: { attempt: 1, reason: 'Completed', at: '2026-11-20T12:00:00Z' } } },
    ],
  ])('%s', async (_, setting) => {
    const { view, reads, wait } = situation({ logs: [log(0)], ...setting });
    await wait(700);
    expect([view(), reads]).toEqual([undefined, []]);
  });

  test('after the object was forgotten', async () => {
    const { reads, wait } = situation({ logs: [log(0)] });
    collections?.forget('team/job');
    await wait(700);
    expect(reads).toEqual([]);
  });
});

test('keeps a result that was found when the machine runs again', async () => {
  const { view, wait } = situation({ logs: [log(0)] });
  await wait(1);
  expect(view({ actualStatus: 'running' })).toMatchObject({ type: 'found' });
  expect(view({ instanceId: '2', attempt: 2 })).toBeUndefined();
});
