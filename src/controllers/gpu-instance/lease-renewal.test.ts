import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { createVirtualClock, type VirtualClock } from '../../../test/builders/virtual-clock.ts';
import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { silentLogger } from '../../lib/logger.ts';
import { Secret } from '../../lib/secret.ts';
import { MarketplaceError } from '../../market/errors.ts';
import { type Identity, newIdentity } from '../../ownership/identity.ts';
import {
  createSshRunner,
  LeaseSchedules,
  RENEW_COMMAND,
  type SshResult,
  type SshRunner,
} from './lease-renewal.ts';

const MINUTE = 60_000;
const KEY = 'team/trainer';
const IDENTITY = newIdentity(
  { id: new Uint8Array(16).fill(1), key: new Uint8Array(32).fill(2) },
  { kubeSystemUid: undefined, scope: '*' },
);

let clock: VirtualClock;
beforeEach(() => {
  clock = createVirtualClock();
});

function leased(
  change: {
    readonly spec?: object;
    readonly status?: object;
    readonly deleted?: true;
    readonly uid?: string;
  } = {},
) {
  return {
    metadata: {
      ...{ name: 'trainer', namespace: 'team', uid: change.uid ?? 'uid-1' },
      ...(change.deleted && { deletionTimestamp: '2026-11-29T10:00:00Z' }),
    },
    spec: { lease: { duration: '2h', by: 'SSH' }, ssh: true, ...change.spec },
    status: {
      ...{ instanceId: '7', actualStatus: 'running', ssh: { host: 'ssh.example', port: 22022 } },
      ...{ selfEnd: { leaseSeconds: 7_200, proof: 'Unproven' }, lease: { since: '2026-11-29T09:00:00Z' } },
      ...change.status,
    },
    // A lease looks at these fields alone.
  } as unknown as GpuInstance;
}

const renewed: Extract<SshResult, { type: 'ended' }> = {
  type: 'ended',
  exitCode: 0,
  output: '',
  hostKey: 'host-1',
};

/** Schedules over a machine that answers as the test says, one answer after the other, then the last one again. */
function scheduled(
  answers: readonly SshResult[],
  attach?: () => Promise<unknown>,
  {
    account = 'ready',
    chance = 1,
    identity = () => IDENTITY,
    onSsh = () => {},
  }: {
    readonly account?: 'ready' | 'notReady';
    /** Random number of every draw. */
    readonly chance?: number;
    readonly identity?: () => Identity | undefined;
    /** Receives each command while the machine works on it. */
    readonly onSsh?: (command: Parameters<SshRunner>[0]) => void;
  } = {},
) {
  const asked: { readonly at: number; readonly hostKey: string | undefined }[] = [];
  const changes: string[] = [];
  const errors: object[] = [];
  const begun = clock.monotonic();
  const market = { about: { name: 'Vast' }, ...(attach && { attachSshKey: attach }) };
  const schedules = new LeaseSchedules({
    clock,
    random: { next: () => chance, bytes: (length) => new Uint8Array(length), uuid: () => 'uuid' },
    log: { ...silentLogger, error: (message, fields) => errors.push({ message, ...fields }) },
    identity,
    sessionOf: () => (account === 'ready' ? ({ market } as never) : undefined),
    onChange: (key) => changes.push(key),
    runSsh: async (command) => {
      asked.push({ at: (clock.monotonic() - begun) / MINUTE, hostKey: command.hostKey });
      onSsh(command);
      return answers[Math.min(asked.length, answers.length) - 1] ?? renewed;
    },
  });
  return { schedules, asked, changes, errors };
}

describe('LeaseSchedules', () => {
  test('renews at once, then each fifth of the duration, with the pinned host key', async () => {
    const { schedules, asked, changes } = scheduled([renewed]);
    expect(schedules.view(KEY, leased())).toEqual({ failures: 0, hostKey: undefined });
    await clock.advance(10 * MINUTE);
    expect(schedules.view(KEY, leased())).toMatchObject({ renewedAt: clock.monotonic() - 10 * MINUTE });
    await clock.advance(39 * MINUTE);
    expect(asked).toEqual([
      { at: 0, hostKey: undefined },
      { at: 24, hostKey: 'host-1' },
      { at: 48, hostKey: 'host-1' },
    ]);
    expect(changes).toEqual([KEY, KEY, KEY]);
    expect(schedules.view(KEY, leased())).toMatchObject({ failures: 0, hostKey: 'host-1' });
  });

  test('sends the command of a renewal to the address of the machine, for twenty seconds', async () => {
    const commands: object[] = [];
    const { schedules } = scheduled([renewed], undefined, { onSsh: (command) => commands.push(command) });
    schedules.view(KEY, leased());
    await clock.advance(1);
    expect(commands).toEqual([
      {
        ...{ host: 'ssh.example', port: 22_022, hostKey: undefined, privateKey: expect.any(Secret) },
        ...{ command: RENEW_COMMAND, timeoutMs: 20_000 },
      },
    ]);
  });

  test('spreads renewals by chance: up to a fifth earlier, and within seconds after a restart', async () => {
    const { schedules, asked } = scheduled([renewed], undefined, { chance: 0.5 });
    const renewedAt = new Date(clock.now()).toISOString();
    schedules.view(KEY, leased({ status: { lease: { renewedAt } } }));
    await clock.advance(45 * MINUTE);
    expect(asked.map(({ at }) => at)).toEqual([0.125, 0.125 + 21.6, 0.125 + 2 * 21.6]);
  });

  test('knows the renewal on record from the begin of a process', async () => {
    await clock.advance(60 * MINUTE);
    const { schedules } = scheduled([renewed]);
    const of = (minutes: number) => {
      const renewedAt = new Date(clock.now() - minutes * MINUTE).toISOString();
      return schedules.view(
        `${KEY}-${minutes}`,
        leased({ status: { lease: { renewedAt, hostKey: 'host-1' } } }),
      );
    };
    expect(of(10)).toEqual({ failures: 0, hostKey: 'host-1', renewedAt: clock.monotonic() - 10 * MINUTE });
    expect(of(0)).toEqual({ failures: 0, hostKey: 'host-1', renewedAt: clock.monotonic() });
    expect(of(-1)).toEqual({ failures: 0, hostKey: 'host-1' });
  });

  test('keeps the time of the last renewal that worked when later ones fail', async () => {
    const { schedules } = scheduled([renewed, { type: 'failed', detail: 'no route' }]);
    const begun = clock.monotonic();
    schedules.view(KEY, leased());
    await clock.advance(30 * MINUTE);
    expect(schedules.view(KEY, leased())).toEqual({
      ...{ failures: 4, detail: 'no route', hostKey: 'host-1', renewedAt: begun },
    });
  });

  test('waits for the identity of the operator', async () => {
    let identity: Identity | undefined;
    const { schedules, asked } = scheduled([renewed], undefined, { identity: () => identity });
    schedules.view(KEY, leased());
    await clock.advance(1);
    expect([schedules.view(KEY, leased()), asked]).toEqual([
      { failures: 1, hostKey: undefined, detail: 'the identity of the operator is not known yet' },
      [],
    ]);
    identity = IDENTITY;
    await clock.advance(2 * MINUTE);
    expect(asked.map(({ at }) => at)).toEqual([1.875]);
  });

  test.each([
    ['shows', 'ok\nrenew\nt\n', true],
    ['does not show', 'renew\nt\n', undefined],
  ])('knows that the machine can end itself when a renewal %s the proof', async (_, output, isProven) => {
    const { schedules } = scheduled([{ ...renewed, output }]);
    schedules.view(KEY, leased());
    await clock.advance(1);
    expect(schedules.view(KEY, leased())?.isProven).toBe(isProven);
  });

  test('renews while the marketplace does not answer, or the key of the account is revoked (C03, C09)', async () => {
    const { schedules, asked } = scheduled([renewed], undefined, { account: 'notReady' });
    schedules.view(KEY, leased());
    await clock.advance(49 * MINUTE);
    expect(asked.map(({ at }) => at)).toEqual([0, 24, 48]);
  });

  test('cannot add its key while the account is not ready, and says so', async () => {
    const { schedules } = scheduled([{ type: 'keyRefused', hostKey: 'host-1' }], undefined, {
      account: 'notReady',
    });
    schedules.view(KEY, leased());
    await clock.advance(1);
    const detail = 'the machine refuses the key, and the account is not ready to add it';
    expect(schedules.view(KEY, leased())).toMatchObject({ failures: 1, detail });
  });

  test('tries again each sixty-fourth when a renewal fails, and counts the failures', async () => {
    const { schedules, asked } = scheduled([{ type: 'failed', detail: 'no route' }]);
    schedules.view(KEY, leased());
    await clock.advance(4 * MINUTE);
    expect(asked.map(({ at }) => at)).toEqual([0, 1.875, 3.75]);
    expect(schedules.view(KEY, leased())).toEqual({ failures: 3, hostKey: undefined, detail: 'no route' });
  });

  test.each([10, 0, -600, 5_000])(
    'renews within seconds after a restart when the record shows a renewal %d minutes ago by a clock that may be wrong',
    async (minutes) => {
      const { schedules, asked } = scheduled([renewed]);
      const renewedAt = new Date(clock.now() - minutes * MINUTE).toISOString();
      schedules.view(KEY, leased({ status: { lease: { renewedAt, hostKey: 'host-1' } } }));
      await clock.advance(15_000);
      expect(asked).toEqual([{ at: minutes < 0 ? 0 : 0.25, hostKey: 'host-1' }]);
    },
  );

  test('renews at once when the address of the machine changes', async () => {
    const { schedules, asked } = scheduled([renewed]);
    schedules.view(KEY, leased());
    await clock.advance(MINUTE);
    schedules.view(KEY, leased({ status: { ssh: { host: 'ssh.example', port: 22_023 } } }));
    await clock.advance(30 * MINUTE);
    expect(asked).toEqual([
      { at: 0, hostKey: undefined },
      { at: 1, hostKey: 'host-1' },
      { at: 25, hostKey: 'host-1' },
    ]);
  });

  test('starts again for another object of the same name', async () => {
    const { schedules, asked } = scheduled([renewed]);
    schedules.view(KEY, leased());
    await clock.advance(MINUTE);
    schedules.view(KEY, leased({ uid: 'uid-2' }));
    await clock.advance(MINUTE);
    expect(asked.map(({ at }) => at)).toEqual([0, 1]);
  });

  test('renews before the end when machines were out of reach for three quarters of the shortest lease', async () => {
    // The channel is lost just before the second renewal, after six minutes, and is back 22.5 minutes later.
    const lost = Array.from({ length: 46 }, (): SshResult => ({ type: 'failed', detail: 'no route' }));
    const { schedules, asked } = scheduled([renewed, ...lost, renewed]);
    schedules.view(KEY, leased({ status: { selfEnd: { leaseSeconds: 1_800, proof: 'Unproven' } } }));
    await clock.advance(29.5 * MINUTE);
    expect(asked.slice(0, 3).map(({ at }) => at)).toEqual([0, 6, 6.5]);
    expect(asked).toHaveLength(48);
    expect(
      schedules.view(KEY, leased({ status: { selfEnd: { leaseSeconds: 1_800, proof: 'Unproven' } } })),
    ).toMatchObject({
      failures: 0,
    });
  });

  test.each<[string, GpuInstance]>([
    ['no lease', leased({ spec: { lease: undefined }, status: { lease: undefined } })],
    [
      'a lease that the program renews',
      leased({ spec: { lease: { duration: '2h', by: 'Program' } }, status: { lease: undefined } }),
    ],
    ['a machine that was rented without a lease', leased({ status: { selfEnd: { proof: 'Unproven' } } })],
    ['a machine that loads', leased({ status: { actualStatus: 'loading', lease: undefined } })],
    ['a machine that is offline', leased({ status: { actualStatus: 'offline', lease: undefined } })],
    ['a stopped machine', leased({ status: { actualStatus: 'stopped' } })],
    ['a machine whose container ended', leased({ status: { actualStatus: 'exited' } })],
    ['an object without a machine', leased({ status: { instanceId: undefined } })],
    ['an object without a status', { ...leased(), status: undefined } as GpuInstance],
    ['a machine without an SSH address', leased({ status: { ssh: undefined } })],
    ['an object that is being deleted', leased({ deleted: true })],
  ])('does not connect for %s (C06)', async (_, object) => {
    const { schedules, asked } = scheduled([renewed]);
    expect(schedules.view(KEY, object)).toBeUndefined();
    await clock.advance(MINUTE);
    expect(asked).toEqual([]);
  });

  test('adds its key to the machine when the machine refuses it, and tries again in a moment', async () => {
    const attached: unknown[] = [];
    const attach = async (...parts: unknown[]) => void attached.push(parts);
    const { schedules, asked } = scheduled([{ type: 'keyRefused', hostKey: 'host-1' }, renewed], attach);
    schedules.view(KEY, leased());
    await clock.advance(1);
    expect(schedules.view(KEY, leased())).toEqual({
      ...{ failures: 0, hostKey: undefined },
      detail: 'the SSH key of the operator was just added to the machine',
    });
    await clock.advance(MINUTE);
    expect(attached).toEqual([['7', expect.stringMatching(/^ssh-ed25519 \S+ gpu-rental-operator$/)]]);
    expect(asked.map(({ at }) => at)).toEqual([0, 0.25]);
    expect(schedules.view(KEY, leased())).toMatchObject({ failures: 0, hostKey: 'host-1' });
  });

  test.each<[string, (() => Promise<unknown>) | undefined, string]>([
    ['the market cannot add keys', undefined, 'the market Vast adds no SSH keys to machines'],
    [
      'the market refuses it',
      () => Promise.reject(new MarketplaceError('HTTP 403', { kind: 'forbidden', outcome: 'refused' })),
      'the machine refuses the key, and the market did not add it: HTTP 403',
    ],
  ])('counts a refused key as a failure when %s', async (_, attach, detail) => {
    const { schedules } = scheduled([{ type: 'keyRefused', hostKey: 'host-1' }], attach);
    schedules.view(KEY, leased());
    await clock.advance(1);
    expect(schedules.view(KEY, leased())).toMatchObject({ failures: 1, detail });
  });

  test('survives an error of its own', async () => {
    const bug = new TypeError('bug');
    const { schedules, asked, errors } = scheduled([{ type: 'keyRefused', hostKey: 'host-1' }, renewed], () =>
      Promise.reject(bug),
    );
    schedules.view(KEY, leased());
    await clock.advance(1);
    expect(schedules.view(KEY, leased())).toEqual({ failures: 0, hostKey: undefined });
    expect(errors).toEqual([{ message: 'Lease renewal failed', object: KEY, error: bug }]);
    await clock.advance(2 * MINUTE);
    expect(asked.map(({ at }) => at)).toEqual([0, 1.875]);
  });

  test.each<[string, SshResult, RegExp]>([
    ['another host answers', { type: 'otherHost', hostKey: 'x' }, /another SSH host key/],
    ['no fuse runs', { type: 'ended', exitCode: 1, output: '', hostKey: 'host-1' }, /no fuse runs/],
  ])('is not renewed when %s', async (_, answer, detail) => {
    const { schedules } = scheduled([answer]);
    schedules.view(KEY, leased());
    await clock.advance(1);
    expect(schedules.view(KEY, leased())).toMatchObject({
      failures: 1,
      detail: expect.stringMatching(detail),
    });
  });

  test.each([
    ['longer', { duration: '24h', by: 'SSH' }],
    ['removed', undefined],
    ['renewed by the program', { duration: '2h', by: 'Program' }],
  ])('renews an armed lease as the machine counts it when the one in the spec is %s', async (_, lease) => {
    const { schedules, asked } = scheduled([renewed]);
    const renewedAt = new Date(clock.now()).toISOString();
    const status = { lease: { since: renewedAt, renewedAt, hostKey: 'host-1' } };
    schedules.view(KEY, leased({ spec: { lease }, status }));
    await clock.advance(49 * MINUTE);
    expect(asked.map(({ at }) => at)).toEqual([0.25, 24.25, 48.25]);
  });

  test('renews by the duration in the spec when no record shows that of the rental', async () => {
    const { schedules, asked } = scheduled([renewed]);
    schedules.view(
      KEY,
      leased({ spec: { lease: { duration: '4h', by: 'SSH' } }, status: { selfEnd: undefined } }),
    );
    await clock.advance(97 * MINUTE);
    expect(asked.map(({ at }) => at)).toEqual([0, 48, 96]);
  });

  test('connects to no machine before the record says that it may be armed', async () => {
    const { schedules, asked } = scheduled([renewed]);
    const unrecorded = leased({ status: { lease: undefined } });
    expect(schedules.view(KEY, unrecorded)).toEqual({ failures: 0, hostKey: undefined });
    await clock.advance(MINUTE);
    expect(asked).toEqual([]);
    schedules.view(KEY, leased());
    await clock.advance(1);
    expect(asked).toHaveLength(1);
  });

  test('renews a machine that may be armed after a crash, although the lease was removed', async () => {
    const { schedules, asked } = scheduled([renewed]);
    schedules.view(KEY, leased({ spec: { lease: undefined } }));
    await clock.advance(31 * MINUTE);
    expect(asked.map(({ at }) => at)).toEqual([0, 24]);
  });

  test.each(['offline', 'unknown', 'odd', 'rebooting'])(
    'renews an armed machine that lists show %s',
    async (word) => {
      const { schedules, asked } = scheduled([renewed]);
      schedules.view(KEY, leased({ status: { actualStatus: word } }));
      await clock.advance(31 * MINUTE);
      expect(asked.map(({ at }) => at)).toEqual([0, 24]);
    },
  );

  test('starts again with another machine of the object', async () => {
    const { schedules, asked } = scheduled([renewed]);
    schedules.view(KEY, leased());
    await clock.advance(MINUTE);
    const other = leased({ status: { instanceId: '8' } });
    expect(schedules.view(KEY, other)).toEqual({ failures: 0, hostKey: undefined });
    await clock.advance(MINUTE);
    expect(asked.map(({ hostKey }) => hostKey)).toEqual([undefined, undefined]);
  });

  test('stops when the object is gone', async () => {
    const { schedules, asked } = scheduled([renewed]);
    schedules.view(KEY, leased());
    schedules.forget(KEY);
    schedules.view(KEY, leased());
    schedules.stop();
    await clock.advance(300 * MINUTE);
    expect(asked).toEqual([]);
  });

  test('stops when the machine stops', async () => {
    const { schedules, asked } = scheduled([renewed]);
    schedules.view(KEY, leased());
    await clock.advance(MINUTE);
    schedules.view(KEY, leased({ status: { actualStatus: 'stopped' } }));
    await clock.advance(300 * MINUTE);
    expect(asked.map(({ at }) => at)).toEqual([0]);
  });

  test.each<[string, SshResult, (() => Promise<unknown>) | undefined]>([
    ['works', renewed, undefined],
    ['fails', { type: 'failed', detail: 'no route' }, undefined],
    [
      'has an error of its own',
      { type: 'keyRefused', hostKey: 'host-1' },
      () => Promise.reject(new TypeError('bug')),
    ],
  ])('ignores a renewal that %s after the object is gone', async (_, answer, attach) => {
    const gone: (() => void)[] = [];
    const { schedules, asked, changes } = scheduled([answer], attach, {
      onSsh() {
        for (const forget of gone) forget();
      },
    });
    gone.push(() => schedules.forget(KEY));
    schedules.view(KEY, leased());
    await clock.advance(300 * MINUTE);
    expect([asked.length, changes]).toEqual([1, []]);
  });
});

describe('the command of a renewal', () => {
  const run = (content: string | undefined) => {
    const folder = mkdtempSync(join(tmpdir(), 'renew-'));
    try {
      const fuse = join(folder, 'fuse');
      mkdirSync(fuse);
      const file = join(fuse, 'renew');
      if (content !== undefined) writeFileSync(file, content);
      const command = RENEW_COMMAND.replace('/var/tmp/.gpurental', fuse);
      const next = () => execFileSync('sh', ['-c', command], { encoding: 'utf8' });
      next();
      const first = readFileSync(file, 'utf8');
      next();
      return [first.trim(), readFileSync(file, 'utf8').trim()];
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  };

  test.each([
    ['no file', undefined, ['1', '2']],
    ['a count', '41', ['42', '43']],
    ['a date that a program wrote', 'Sun Nov 29', ['1', '2']],
    ['a number with a rest', '12abc', ['13', '14']],
    ['an empty file', '', ['1', '2']],
  ])('changes %s each time', (_, content, counts) => {
    expect(run(content)).toEqual(counts);
  });

  test('fails where no fuse runs', () => {
    const command = RENEW_COMMAND.replace('/var/tmp/.gpurental', '/nonexistent/fuse');
    expect(() => execFileSync('sh', ['-c', command], { stdio: 'ignore' })).toThrow();
  });

  test('shows the files of the fuse', () => {
    const folder = mkdtempSync(join(tmpdir(), 'renew-'));
    try {
      for (const name of ['ok', 't']) writeFileSync(join(folder, name), '');
      const command = RENEW_COMMAND.replace('/var/tmp/.gpurental', folder);
      expect(execFileSync('sh', ['-c', command], { encoding: 'utf8' })).toBe('ok\nrenew\nt\n');
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

test('connects only to addresses that the rules for machines allow', async () => {
  const hosts: string[][] = [];
  const runner = createSshRunner({
    mapAddress: (address) => address,
    allowPrivate: false,
    resolve: async () => ['10.0.0.7'],
    run: async ({ host, user }) => {
      hosts.push([user, host]);
      return renewed;
    },
  });
  const command = {
    port: 22,
    privateKey: new Secret('x'),
    hostKey: undefined,
    command: 'true',
    timeoutMs: 1000,
  };
  expect(await runner({ ...command, host: 'ssh.example' })).toMatchObject({
    type: 'failed',
    detail: expect.stringMatching(/private/),
  });
  expect(await runner({ ...command, host: '203.0.113.9' })).toEqual(renewed);
  expect(hosts).toEqual([['root', '203.0.113.9']]);
});
