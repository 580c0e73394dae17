import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { addMethod, loginSecret, PHONE, totpNow } from '../builders/tfa-account.ts';
import { commandLine } from './command-line.ts';
import { type MarketplaceBench, marketplaceBench } from './marketplace.ts';

/* The second factor in scripts, without a terminal, and for callers who have no API key. */

let bench: MarketplaceBench;
beforeEach(async () => {
  bench = await marketplaceBench();
});
afterEach(() => bench.close());

const isAuthorized = async () =>
  (await bench.service.call('GET /api/v0/tfa/status/')).body.new_method_authorized;

describe('tfa authorize without a terminal', () => {
  test('prints the secret of its challenge, and a second call completes it (D-cli1)', async () => {
    const begun = await bench.cli.run(['tfa', 'authorize', '--method', 'email', '-o', 'json']);
    expect(begun.exitCode).toBe(0);
    const { authorized, secret, next } = JSON.parse(begun.stdout);
    expect({ authorized, next }).toEqual({ authorized: false, next: expect.stringContaining('--code') });
    expect(await isAuthorized()).toBe(false);
    const args = ['tfa', 'authorize', '--code', bench.service.lastCode(), '--secret', secret, '-o', 'json'];
    const done = await bench.cli.run(args);
    expect({ exitCode: done.exitCode, ...JSON.parse(done.stdout) }).toEqual({
      exitCode: 0,
      authorized: true,
      minutes: 30,
    });
    expect(await isAuthorized()).toBe(true);
    expect(bench.service.outbox(), 'no second code was sent').toHaveLength(1);
  });

  test('prints nothing but the secret on stdout, for $( ) (D-cli1)', async () => {
    const { stdout, stderr } = await bench.cli.run(['tfa', 'authorize']);
    expect(stdout).toMatch(/^\S+\n$/);
    expect(stderr).toContain('A code is on its way by email; it authorizes a new method.');
    expect(stderr).toContain('gpu-rent tfa authorize --code CODE --secret-file FILE');
    const env = { GPU_RENT_TFA_SECRET: stdout.trim() };
    const code = bench.service.lastCode();
    expect(await bench.cli.run(['tfa', 'authorize', '--code', code], { env })).toMatchObject({ exitCode: 0 });
    expect(await isAuthorized()).toBe(true);
  });

  test.each([
    ['email', ['email']],
    ['sms', ['sms', '--phone', PHONE]],
  ] as const)('takes code and secret of tfa send-code %s (D-cli1, D2)', async (_channel, args) => {
    const { stdout } = await bench.cli.run(['tfa', 'send-code', ...args, '-o', 'json']);
    const { secret } = JSON.parse(stdout);
    const path = join(bench.cli.home, 'challenge');
    await writeFile(path, secret, { mode: 0o600 });
    const code = bench.service.lastCode();
    const done = await bench.cli.run(['tfa', 'authorize', '--code', code, '--secret-file', path]);
    expect(done).toMatchObject({ exitCode: 0, stderr: '' });
    expect(await isAuthorized()).toBe(true);
  });

  test('completes at once with the code of an authenticator', async () => {
    const { totpSecret } = await addMethod(bench.service, 'totp');
    bench.service.advance(1801);
    const code = totpNow(bench.service, totpSecret);
    const done = await bench.cli.run(['tfa', 'authorize', '--method', 'totp', '--code', code]);
    expect(done.exitCode).toBe(0);
    expect(await isAuthorized()).toBe(true);
  });

  test('sends nothing for a code whose challenge is not named', async () => {
    const { exitCode, stderr } = await bench.cli.run(['tfa', 'authorize', '--code', '123456']);
    expect(exitCode).toBe(2);
    expect(stderr).toContain('--secret-file');
    expect(bench.service.outbox()).toEqual([]);
  });
});

describe('without a terminal no code is sent whose secret would be lost', () => {
  test.each([
    ['login', []],
    ['delete', []],
    ['regen-codes', []],
    ['login', ['--code', '123456']],
  ] as const)('by tfa %s %j (D-cli1)', async (word, more) => {
    await addMethod(bench.service, 'sms');
    bench.service.advance(120);
    const before = bench.service.outbox().length;
    const { exitCode, stderr } = await bench.cli.run(['tfa', word, ...more]);
    expect(exitCode).toBe(2);
    expect(stderr).toContain('--secret-file');
    expect(bench.service.outbox()).toHaveLength(before);
  });

  test('by tfa add: the single steps are named, and they work', async () => {
    const add = await bench.cli.run(['tfa', 'add', 'totp']);
    expect(add.exitCode).toBe(2);
    expect(add.stderr).toContain('tfa authorize');
    expect(bench.service.outbox()).toEqual([]);
    const secret = (await bench.cli.run(['tfa', 'authorize'])).stdout.trim();
    const code = bench.service.lastCode();
    await bench.cli.run(['tfa', 'authorize', '--code', code, '--secret', secret]);
    const setUp = await bench.cli.run(['tfa', 'totp-setup', '-o', 'json']);
    const { secret: totp } = JSON.parse(setUp.stdout);
    const confirm = [
      'tfa',
      'confirm',
      '--secret',
      totp,
      '--code',
      totpNow(bench.service, totp),
      '-o',
      'json',
    ];
    const confirmed = await bench.cli.run(confirm);
    expect(JSON.parse(confirmed.stdout)).toMatchObject({ method: 'totp', added: true });
  });
});

describe('a caller without an API key', () => {
  /** Returns a user whose only credential is the secret of the password step. */
  async function loggedOut() {
    const cli = commandLine({ GPU_RENT_URL: bench.url });
    const path = join(cli.home, 'login');
    await writeFile(path, await loginSecret(bench.service), { mode: 0o600 });
    return { cli, path };
  }

  test('logs in by authenticator with the secret alone, and goes on with the session (D-cli5)', async () => {
    const { totpSecret } = await addMethod(bench.service, 'totp');
    bench.service.advance(60);
    const { cli, path } = await loggedOut();
    const code = totpNow(bench.service, totpSecret);
    const args = ['tfa', 'login', '--method', 'totp', '--code', code, '--secret-file', path];
    expect(await cli.run(args)).toMatchObject({ exitCode: 0, stderr: '' });
    expect(await cli.run(['show', 'user'])).toMatchObject({ exitCode: 0 });
    expect((await readFile(join(cli.home, '.config/gpu-rent/session_key'), 'utf8')).trim()).toMatch(/\S/);
    cli.leave();
  });

  test.each(['email', 'sms'] as const)(
    'is sent a code by %s and logs in with it (D-cli5)',
    async (channel) => {
      await addMethod(bench.service, 'sms');
      bench.service.advance(120);
      const { cli, path } = await loggedOut();
      const sent = await cli.run(['tfa', 'send-code', channel, '--secret-file', path, '-o', 'json']);
      expect(sent.exitCode).toBe(0);
      const { secret } = JSON.parse(sent.stdout);
      const code = bench.service.lastCode();
      const args = ['tfa', 'login', '--method', channel, '--code', code, '--secret', secret];
      expect(await cli.run(args)).toMatchObject({ exitCode: 0 });
      expect(await cli.run(['show', 'user'])).toMatchObject({ exitCode: 0 });
      cli.leave();
    },
  );

  test('has an SMS sent again (D-cli5)', async () => {
    await addMethod(bench.service, 'sms');
    bench.service.advance(120);
    const { cli, path } = await loggedOut();
    const sent = await cli.run(['tfa', 'send-code', 'sms', '--secret-file', path]);
    const again = await cli.run(['tfa', 'resend', '--secret', sent.stdout.trim(), '-o', 'json']);
    expect(again.exitCode).toBe(0);
    const { secret } = JSON.parse(again.stdout);
    const code = bench.service.lastCode();
    const args = ['tfa', 'login', '--method', 'sms', '--code', code, '--secret', secret];
    expect(await cli.run(args)).toMatchObject({ exitCode: 0 });
    cli.leave();
  });

  test('logs in by backup code with the secret alone (D-cli5)', async () => {
    const { backupCodes } = await addMethod(bench.service, 'totp');
    const { cli, path } = await loggedOut();
    const args = ['tfa', 'login', '--secret-file', path, '--backup-code-file', '-'];
    expect(await cli.run(args, { stdin: backupCodes[0] ?? '' })).toMatchObject({ exitCode: 0 });
    cli.leave();
  });

  test('answers the question for the code at a terminal (D-cli5)', async () => {
    await addMethod(bench.service, 'sms');
    bench.service.advance(120);
    const { cli, path } = await loggedOut();
    const terminal = cli.atTerminal(['tfa', 'login', '--method', 'email', '--secret-file', path]);
    await terminal.until('Code:');
    terminal.type(bench.service.lastCode());
    expect(await terminal.ended).toBe(0);
    cli.leave();
  });

  test('sends no key with --logged-out although there is one (D-cli5)', async () => {
    await addMethod(bench.service, 'totp');
    const secret = await loginSecret(bench.service);
    const args = ['tfa', 'send-code', 'email', '--logged-out', '--secret', secret, '--explain'];
    const { exitCode, stdout, stderr } = await bench.cli.run(args);
    expect(exitCode).toBe(0);
    expect(stdout.trim(), 'the challenge of the login is kept').toBe(secret);
    expect(stderr.toLowerCase()).not.toContain('authorization: bearer');
  });

  test.each([
    [
      'without a secret',
      ['tfa', 'login', '--logged-out', '--method', 'totp', '--code', '123456'],
      '--secret-file',
    ],
    ['without a method', ['tfa', 'login', '--logged-out', '--secret', 'x', '--code', '123456'], '--method'],
  ] as const)('is refused with the missing option: %s (D-cli5)', async (_what, args, missing) => {
    const { exitCode, stderr } = await bench.cli.run(args);
    expect(exitCode).toBe(2);
    expect(stderr).toContain(missing);
  });

  test('is still offered every way to give a key if there is no secret either', async () => {
    const cli = commandLine({ GPU_RENT_URL: bench.url });
    const { exitCode, stderr } = await cli.run(['tfa', 'send-code', 'email']);
    expect(exitCode).toBe(2);
    expect(stderr).toContain('Set GPU_RENT_API_KEY');
    cli.leave();
  });
});

test.each([
  ['sms', 'totp'],
  ['totp', 'sms'],
] as const)(
  'an update of a missing %s method names tfa status, not an authenticator (D-cli4)',
  async (missing, there) => {
    await addMethod(bench.service, there);
    const { exitCode, stderr } = await bench.cli.run(['tfa', 'update', missing, '--primary']);
    expect(exitCode).not.toBe(0);
    expect(stderr).toContain('gpu-rent tfa status');
    expect(stderr).not.toContain('authenticator');
  },
);

describe('a file that others may read is named once', () => {
  const readable = async (name: string, text: string) => {
    const path = join(bench.cli.home, name);
    await writeFile(path, text);
    await chmod(path, 0o644);
    return path;
  };

  test('when it holds the key of --api-key-file (D-cli2)', async () => {
    const path = await readable('key', bench.service.simulator.apiKey);
    const { exitCode, stderr } = await bench.cli.run(['show', 'user', '--api-key-file', path]);
    expect(exitCode).toBe(0);
    expect(stderr).toBe(`Warning: others may read the key in ${path}. What to do: chmod 600 ${path}\n`);
    await chmod(path, 0o600);
    expect(await bench.cli.run(['show', 'user', '--api-key-file', path])).toMatchObject({ stderr: '' });
  });

  test('when it holds another secret (D-cli2)', async () => {
    const path = await readable('value', 'x');
    const { stderr } = await bench.cli.run(['create', 'secret', 'TOKEN', '--value-file', path]);
    expect(stderr).toBe(`Warning: others may read the secret in ${path}. What to do: chmod 600 ${path}\n`);
  });

  test('when it is looked at twice, for a caller who may be logged out (D-cli2)', async () => {
    const cli = commandLine({ GPU_RENT_URL: bench.url });
    const path = join(cli.home, '.vast_api_key');
    await writeFile(path, bench.service.simulator.apiKey, { mode: 0o644 });
    const { exitCode, stderr } = await cli.run(['tfa', 'send-code', 'email']);
    expect(exitCode).toBe(0);
    expect(stderr.match(/others may read/g)).toHaveLength(1);
    cli.leave();
  });
});

describe('a service that lacks a path', () => {
  test.each([
    ['list ssh-keys', ['list', 'ssh-keys'], 'GET /api/v0/ssh/'],
    ['a call about an id', ['delete', 'ssh-key', '5', '--yes'], 'DELETE /api/v0/ssh/5/'],
    [
      'offer volume',
      ['offer', 'volume', '--machine', '1', '--size', '10', '--price', '0.1'],
      'POST /api/v0/volumes',
    ],
  ] as const)(
    'is named with its address for %s: nothing is said of an id (D-cli3)',
    async (_what, args, call) => {
      const own = await marketplaceBench({ profile: 'specification' });
      const { exitCode, stderr } = await own.cli.run(args);
      expect(stderr).toContain(`The service at ${own.url} does not offer ${call}`);
      expect(stderr).not.toContain('Check the id');
      expect(exitCode).toBe(1);
      await own.close();
    },
  );

  test('is not named as the cause if an id is missing (D-cli3)', async () => {
    for (const args of [
      ['delete', 'api-key', '999', '--yes'],
      ['destroy', 'instance', '999', '--yes'],
    ]) {
      const { exitCode, stderr } = await bench.cli.run(args);
      expect(exitCode).toBe(3);
      expect(stderr).not.toContain('does not offer');
    }
  });
});
