import { beforeEach, describe, expect, test } from 'vitest';
import { createVirtualClock, type VirtualClock } from '../../../test/builders/virtual-clock.ts';
import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { Secret } from '../../lib/secret.ts';
import { formatTime } from '../../lib/time.ts';
import { newIdentity } from '../../ownership/identity.ts';
import { leaseProof, workerToken } from '../../ownership/worker-token.ts';
import { LeaseReports } from './lease-reports.ts';

const MINUTE = 60_000;
const KEY = 'team/trainer';
const RENTAL = { uid: 'uid-1', attempt: 3 };
const IDENTITY = newIdentity(
  { id: new Uint8Array(16).fill(1), key: new Uint8Array(32).fill(2) },
  { kubeSystemUid: undefined, scope: '*' },
);
const TOKEN = workerToken(IDENTITY.keys, RENTAL);
const PROOF = leaseProof(IDENTITY.keys, RENTAL);

let clock: VirtualClock;
beforeEach(() => {
  clock = createVirtualClock();
});

interface Change {
  readonly spec?: object;
  readonly status?: object;
  readonly deleted?: true;
}

function leased({ spec, status, deleted }: Change = {}) {
  return {
    metadata: {
      ...{ name: 'trainer', namespace: 'team', uid: RENTAL.uid },
      ...(deleted && { deletionTimestamp: formatTime(clock.now()) }),
    },
    spec: { lease: { duration: '2h', by: 'Report' }, ...spec },
    status: {
      ...{ instanceId: '7', actualStatus: 'running', attempt: RENTAL.attempt },
      selfEnd: { leaseSeconds: 7_200, proof: 'Unproven' },
      ...status,
    },
    // A lease reads these fields only.
  } as unknown as GpuInstance;
}

interface Circumstances {
  readonly object?: () => GpuInstance;
  readonly keys?: typeof IDENTITY.keys;
  readonly isLeading?: () => boolean;
  readonly reportUrl?: string | undefined;
}

/** Receives requests for one object. */
function reports(circumstances: Circumstances = {}) {
  const { object = leased, keys = IDENTITY.keys, isLeading = () => true } = circumstances;
  const { reportUrl } = { reportUrl: 'https://reports.example/', ...circumstances };
  const changes: string[] = [];
  const received = new LeaseReports({
    clock,
    instancesById: (id) => (id === '7' ? [object()] : []),
    identity: () => ({ ...IDENTITY, keys }),
    ...{ isLeading, reportUrl },
  });
  received.listen((key) => changes.push(key));
  const ask = (change: object = {}) =>
    received.take({ id: '7', mtoken: TOKEN, count: 60, since: -9, ...change });
  return { received, changes, ask, view: (change?: Change) => received.view(KEY, leased(change)) };
}

describe('a request for a renewal', () => {
  test('is answered with the proof of its machine and its count', () => {
    const { ask, changes } = reports();
    expect(ask()).toEqual({ status: 200, message: 'ok', renew: `${PROOF}:60` });
    expect(changes).toEqual([KEY]);
    expect(PROOF).not.toBe(TOKEN);
  });

  test.each<[string, object, number]>([
    ['another token', { mtoken: workerToken(IDENTITY.keys, { ...RENTAL, attempt: 2 }) }, 401],
    ['the proof for a token', { mtoken: PROOF }, 401],
    ['no token', { mtoken: undefined }, 401],
    ['the id of no machine', { id: 8 }, 401],
    ['an id that is no number', { id: '7; rm' }, 401],
    ['no count', { count: undefined }, 400],
    ['a negative count', { count: -1 }, 400],
    ['a fractional count', { count: 1.5 }, 400],
    ['a text for the time since a renewal', { since: '5' }, 400],
  ])('with %s renews nothing', (_what, change, status) => {
    const { ask, changes, view } = reports();
    const reply = ask(change);
    expect([reply.status, reply.renew]).toEqual([status, undefined]);
    expect(changes).toEqual([]);
    expect(view()).not.toHaveProperty('renewedAt');
  });

  test.each([undefined, null, 'text', [], 7])('with the body %j renews nothing', (body) => {
    expect(reports().received.take(body)).toMatchObject({ status: 401 });
  });

  test('renews nothing while another replica leads, or the object is being deleted', () => {
    expect(reports({ isLeading: () => false }).ask()).not.toHaveProperty('renew');
    const deleted = reports({ object: () => leased({ deleted: true }) });
    expect(deleted.ask()).toMatchObject({ status: 409, message: expect.stringContaining('deleted') });
    expect(deleted.changes).toEqual([]);
  });

  test('is answered with the key of the rental after the keys of the installation were rotated', () => {
    const { ask } = reports({ keys: [new Secret('newer'), ...IDENTITY.keys] });
    expect(ask()).toMatchObject({ renew: `${PROOF}:60` });
  });

  test('that is repeated within seconds changes nothing more', async () => {
    const { ask, changes } = reports();
    ask();
    await clock.advance(5_000);
    expect(ask()).toMatchObject({ status: 200 });
    expect(changes).toEqual([KEY]);
  });
});

describe('the lease of a machine that requests its renewals', () => {
  test('shows the last reply', async () => {
    const { ask, view } = reports();
    expect(view()).toEqual({ by: 'Report', failures: 0, hostKey: undefined });
    ask();
    const renewedAt = clock.monotonic();
    await clock.advance(15 * MINUTE);
    expect(view()).toEqual({ by: 'Report', failures: 0, hostKey: undefined, renewedAt });
    ask({ since: 900 });
    expect(view()).toMatchObject({ renewedAt: renewedAt + 15 * MINUTE, failures: 0 });
  });

  test('shows a machine that accepts no reply as not armed', async () => {
    const { ask, view } = reports();
    ask();
    await clock.advance(30_000);
    ask();
    expect(view()).toMatchObject({ failures: 1, renewedAt: clock.monotonic() });
    await clock.advance(30_000);
    ask();
    expect(view()).toEqual({
      ...{ by: 'Report', failures: 2, hostKey: undefined },
      detail: 'the machine does not accept the reply of the operator',
    });
  });

  test('shows the renewal that an armed machine has, when it accepts no later one', async () => {
    const { ask, view } = reports();
    ask();
    const armedAt = clock.monotonic();
    await clock.advance(15 * MINUTE);
    for (const since of [900, 1_020, 1_140]) {
      ask({ since });
      await clock.advance(2 * MINUTE);
    }
    expect(view()).toMatchObject({ failures: 2, renewedAt: armedAt });
    ask({ since: -9 });
    expect(view()).toMatchObject({ failures: 0, renewedAt: clock.monotonic() });
  });

  test('is enqueued and shown as silent at half of its duration', async () => {
    const { ask, view, changes } = reports();
    ask();
    view();
    await clock.advance(60 * MINUTE - 1);
    expect(changes).toEqual([KEY]);
    await clock.advance(1);
    expect(changes).toEqual([KEY, KEY]);
    expect(view()).toMatchObject({ failures: 2, detail: expect.stringContaining('requests none') });
  });

  test('is shown as silent when it was not requested ten minutes after the machine ran', async () => {
    const { view, changes } = reports();
    const status = {
      lease: { since: formatTime(clock.now()), by: 'Report' },
      lastRunAt: formatTime(clock.now()),
    };
    expect(view({ status })).toMatchObject({ failures: 0 });
    await clock.advance(10 * MINUTE);
    expect(changes).toEqual([KEY]);
    expect(view({ status })).toMatchObject({ failures: 2, detail: expect.stringContaining('requests none') });
  });

  test('is read from the record by a process that has begun, and counts from a later start of the container', async () => {
    const renewedAt = formatTime(clock.now());
    await clock.advance(20 * MINUTE);
    const lease = { since: renewedAt, by: 'Report', renewedAt };
    const { view, received } = reports();
    expect(view({ status: { lease } })).toMatchObject({ renewedAt: clock.monotonic() - 20 * MINUTE });
    received.forget(KEY);
    const lastRunAt = formatTime(clock.now() - 5 * MINUTE);
    expect(view({ status: { lease, lastRunAt } })).toMatchObject({
      renewedAt: clock.monotonic() - 5 * MINUTE,
    });
  });

  test.each<[string, Change]>([
    ['a lease by SSH', { spec: { lease: { duration: '2h', by: 'SSH' } } }],
    ['a recorded lease by SSH', { status: { lease: { since: '2026-11-29T09:00:00Z' } } }],
    ['no lease at the rental', { status: { selfEnd: { lifeSeconds: 60, proof: 'Unproven' } } }],
    ['no machine', { status: { instanceId: undefined } }],
    ['a machine that loads', { status: { actualStatus: 'loading' } }],
    ['a stopped machine', { status: { actualStatus: 'stopped', lease: { by: 'Report' } } }],
    ['a deleted object', { deleted: true }],
  ])('is not shown for %s', (_what, change) => {
    expect(reports().view(change)).toBeUndefined();
  });

  // Every machine has a worker token, which each program on it reads.
  test.each<[string, Change]>([
    ['by SSH', { spec: { lease: { duration: '2h', by: 'SSH' } } }],
    [
      'by SSH while it loads',
      { spec: { lease: { duration: '2h', by: 'SSH' } }, status: { actualStatus: 'loading' } },
    ],
    ['of its program', { spec: { lease: { duration: '2h', by: 'Program' } } }],
    ['that is recorded by SSH', { status: { lease: { since: '2026-11-29T09:00:00Z' } } }],
    [
      'that is recorded by SSH, without one in the spec',
      { spec: { lease: undefined }, status: { lease: { since: '2026-11-29T09:00:00Z' } } },
    ],
  ])('is not changed by a request of a machine with a lease %s', (_what, change) => {
    const { received, ask } = reports({ object: () => leased(change) });
    ask({ since: 0 });
    expect(received.view(KEY, leased(change))).toBeUndefined();
  });

  test('is shown from the first request, also before lists show the machine as running', () => {
    const { ask, view } = reports();
    ask();
    expect(view({ status: { actualStatus: 'loading' } })).toHaveProperty('renewedAt');
  });

  test('stays with its machine when the spec changes, and ends with it', async () => {
    const { ask, view } = reports();
    const lease = { since: formatTime(clock.now()), by: 'Report' };
    expect(view({ spec: { lease: undefined }, status: { lease } })).toMatchObject({ by: 'Report' });
    ask();
    expect(view({ spec: { lease: { duration: '2h', by: 'SSH' } }, status: { lease } })).toHaveProperty(
      'renewedAt',
    );
    expect(view({ status: { instanceId: '8' } })).not.toHaveProperty('renewedAt');
  });

  test('names the missing flag of an operator without an address', () => {
    const { view } = reports({ reportUrl: undefined });
    expect(view()).toMatchObject({ failures: 2, detail: expect.stringContaining('--worker-report-url') });
  });

  test('leaves no timer after its end', async () => {
    const { received, view, changes } = reports();
    view();
    received.stop();
    await clock.advance(24 * 60 * MINUTE);
    expect(changes).toEqual([]);
  });
});
