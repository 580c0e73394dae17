import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { addMethod, PHONE, totpNow } from '../builders/tfa-account.ts';
import type { Terminal } from './command-line.ts';
import { type MarketplaceBench, marketplaceBench } from './marketplace.ts';

/* The dialogue of the second factor as a person sees it: a code is sent, waited for and confirmed. */

let bench: MarketplaceBench;
beforeEach(async () => {
  bench = await marketplaceBench();
});
afterEach(() => bench.close());

const BACKUP_CODE = /[A-Z0-9]{4}-[A-Z0-9]{4}-[A-Z0-9]{4}/g;
const backupCodes = () =>
  Object.values(bench.service.simulator.world().tables.tfaAccounts)
    .flatMap((account) => account.backupCodes)
    .filter(({ usedAt, deletedAt }) => usedAt === null && deletedAt === null)
    .map(({ code }) => code);

async function answerByEmail(terminal: Terminal): Promise<void> {
  await terminal.until('it authorizes a new method.');
  await terminal.until('Code:');
  terminal.type(bench.service.lastCode());
}

/** Walks through `tfa add totp` up to the question where backup codes are to go. */
async function addTotp(): Promise<Terminal> {
  const terminal = bench.cli.atTerminal(['tfa', 'add', 'totp', '--label', 'phone']);
  await answerByEmail(terminal);
  await terminal.until('otpauth://');
  const secret = /secret +([A-Z2-7]+)/.exec(terminal.shown())?.[1] ?? '';
  terminal.type(totpNow(bench.service, secret));
  await terminal.until('File to save them to');
  return terminal;
}

describe('the first method', () => {
  test('is authorized by email, confirmed, and its backup codes are shown once where no file is wanted', async () => {
    const terminal = await addTotp();
    terminal.type('');
    expect(await terminal.ended).toBe(0);
    expect(terminal.shown()).toContain('The totp method is set up.');
    expect(terminal.shown().match(BACKUP_CODE)).toEqual(backupCodes());
    const status = await bench.cli.run(['tfa', 'status', '-o', 'json']);
    expect(JSON.parse(status.stdout)).toMatchObject({ enabled: true, backupCodesRemaining: 10 });
    expect(status.stdout).not.toMatch(BACKUP_CODE);
  });

  test('has its backup codes saved to a file of mode 0600 that is named when asked', async () => {
    const path = join(bench.cli.home, 'backup-codes.txt');
    const terminal = await addTotp();
    terminal.type(path);
    expect(await terminal.ended).toBe(0);
    expect(terminal.shown()).toContain(`Backup codes saved to ${path} (mode 0600).`);
    expect(terminal.shown()).not.toMatch(BACKUP_CODE);
    expect((await readFile(path, 'utf8')).trim().split('\n')).toEqual(backupCodes());
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  test('asks again where the file cannot be written, and loses no code', async () => {
    const terminal = await addTotp();
    terminal.type('/no/such/folder/codes');
    await terminal.until('cannot write /no/such/folder/codes (ENOENT)');
    terminal.type('');
    expect(await terminal.ended).toBe(0);
    expect(terminal.shown().match(BACKUP_CODE)).toEqual(backupCodes());
  });

  test('shows its backup codes also where a person gives up at the question', async () => {
    const terminal = await addTotp();
    terminal.hangUp();
    await terminal.ended;
    expect(backupCodes().every((code) => terminal.shown().includes(code))).toBe(true);
  });

  test('is not begun where the file for its codes cannot be made', async () => {
    const args = ['tfa', 'add', 'totp', '--save-codes', '/no/such/folder/codes'];
    expect(await bench.cli.run(args)).toMatchObject({ exitCode: 2 });
    expect(bench.service.outbox()).toEqual([]);
  });

  test('by SMS sends a code to the number', async () => {
    const terminal = bench.cli.atTerminal(['tfa', 'add', 'sms', '--phone', PHONE]);
    await answerByEmail(terminal);
    await terminal.until('A code is on its way by sms');
    terminal.type(bench.service.lastCode());
    await terminal.until('File to save them to');
    terminal.type('');
    expect(await terminal.ended).toBe(0);
    expect(terminal.shown()).toContain('The sms method is set up.');
  });
});

describe('with the second factor off', () => {
  test.each(['login', 'delete', 'regen-codes'])(
    'no code is sent for tfa %s: it would prove nothing',
    async (word) => {
      const { exitCode, stderr } = await bench.cli.run(['tfa', word]);
      expect(exitCode).toBe(1);
      expect(stderr).toContain('The second factor is off');
      expect(stderr).toContain('gpu-rent tfa add');
      expect(bench.service.simulator.world().tables.sentCodes).toEqual({});
    },
  );
});

describe('with a method', () => {
  test('a login sends a code, keeps the session at 0600 and uses it until the logout', async () => {
    await addMethod(bench.service, 'sms');
    bench.service.advance(120);
    const terminal = bench.cli.atTerminal(['tfa', 'login']);
    await terminal.until('A code is on its way by sms');
    terminal.type(bench.service.lastCode());
    expect(await terminal.ended).toBe(0);
    const path = join(bench.cli.home, '.config/gpu-rent/session_key');
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(terminal.shown()).not.toContain((await readFile(path, 'utf8')).trim());
    const own = { env: { GPU_RENT_API_KEY: '' } };
    expect(await bench.cli.run(['show', 'user'], own)).toMatchObject({ exitCode: 0 });
    await bench.cli.run(['tfa', 'logout']);
    expect(await bench.cli.run(['show', 'user'], own)).toMatchObject({ exitCode: 2 });
  });

  test('a session that cannot be kept is reported with its place and the remedy', async () => {
    const { totpSecret } = await addMethod(bench.service, 'totp');
    bench.service.advance(60);
    await writeFile(join(bench.cli.home, 'file'), '');
    const env = { XDG_CONFIG_HOME: join(bench.cli.home, 'file') };
    const { exitCode, stderr } = await bench.cli.run(
      ['tfa', 'login', '--code', totpNow(bench.service, totpSecret)],
      { env },
    );
    expect(exitCode).toBe(1);
    expect(stderr).toContain(
      `The session cannot be kept in ${env.XDG_CONFIG_HOME}/gpu-rent/session_key (ENOTDIR).`,
    );
    expect(stderr).toContain('XDG_CONFIG_HOME');
  });

  test('a session that cannot be removed is reported with its place and the remedy', async () => {
    const path = join(bench.cli.home, '.config/gpu-rent/session_key');
    await mkdir(path, { recursive: true });
    const { exitCode, stdout, stderr } = await bench.cli.run(['tfa', 'logout']);
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr).toContain(`The session in ${path} cannot be removed`);
    expect(stderr).toContain('Remove it yourself');
  });

  test('a wrong code is refused and not printed', async () => {
    const { totpSecret } = await addMethod(bench.service, 'totp');
    const code = String((Number(totpNow(bench.service, totpSecret)) + 1) % 1_000_000).padStart(6, '0');
    const { exitCode, stderr } = await bench.cli.run(['tfa', 'login', '--code', code]);
    expect(exitCode).toBe(1);
    expect(stderr).toContain('the code was not accepted');
    expect(stderr).toContain('Failed attempts so far: 1.');
    expect(stderr).not.toContain(code);
    const odd = await bench.cli.run(['tfa', 'login', '--code', 'hunter2']);
    expect(odd).toMatchObject({ exitCode: 2, stderr: expect.not.stringContaining('hunter2') });
  });

  test('another one is authorized by email too, unless a way is named', async () => {
    await addMethod(bench.service, 'totp');
    const terminal = bench.cli.atTerminal(['tfa', 'authorize']);
    await terminal.until('A code is on its way by email; it authorizes a new method.');
    await terminal.until('Code:');
    terminal.type(bench.service.lastCode());
    expect(await terminal.ended).toBe(0);
    const status = await bench.cli.run(['tfa', 'status', '-o', 'json']);
    expect(JSON.parse(status.stdout)).toMatchObject({ newMethodAuthorized: true });
  });

  test('another one is authorized by the method whose id is given', async () => {
    const { totpSecret } = await addMethod(bench.service, 'totp');
    const terminal = bench.cli.atTerminal(['tfa', 'authorize', '--method-id', '1']);
    await terminal.until('The code comes from the method that you named; it authorizes a new method.');
    await terminal.until('Code:');
    terminal.type(totpNow(bench.service, totpSecret));
    expect(await terminal.ended).toBe(0);
  });

  test('a backup code is asked for without echo, and counts as used', async () => {
    const { backupCodes: codes } = await addMethod(bench.service, 'totp');
    const [code = ''] = codes;
    const terminal = bench.cli.atTerminal(['tfa', 'login', '--use-backup-code']);
    await terminal.until('Backup code (not shown):');
    expect(terminal.isHidden()).toBe(true);
    terminal.type(code);
    expect(await terminal.ended).toBe(0);
    expect(terminal.shown()).not.toContain(code);
    expect(terminal.shown()).toContain('9 backup codes remain.');
  });

  test('new backup codes replace the old ones; without a terminal they are the result', async () => {
    const { totpSecret, backupCodes: old } = await addMethod(bench.service, 'totp');
    bench.service.advance(60);
    const args = ['tfa', 'regen-codes', '--code', totpNow(bench.service, totpSecret), '-o', 'json'];
    const { exitCode, stdout } = await bench.cli.run(args);
    expect(exitCode).toBe(0);
    const { backupCodes: renewed } = JSON.parse(stdout);
    expect(renewed).toEqual(backupCodes());
    expect(renewed).not.toContain(old[0]);
  });

  test('the last method is removed, and the second factor is off', async () => {
    const { totpSecret } = await addMethod(bench.service, 'totp');
    bench.service.advance(60);
    const { exitCode } = await bench.cli.run(['tfa', 'delete', '--code', totpNow(bench.service, totpSecret)]);
    expect(exitCode).toBe(0);
    expect((await bench.cli.run(['tfa', 'status'])).stdout).toContain('Two-factor authentication is off.');
  });
});
