import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SSHD, type SshMachine, sshMachine } from '../../test/builders/ssh-machine.ts';
import { Secret } from '../lib/secret.ts';
import { sshKeyOf } from '../ownership/ssh-key.ts';
import { runSshCommand } from './ssh-command.ts';

describe.skipIf(SSHD === undefined)('a command by SSH', () => {
  let machine: SshMachine;
  beforeAll(async () => {
    machine = await sshMachine();
  }, 60_000);
  afterAll(() => machine.close());

  const run = (command: string, more: { readonly hostKey?: string; readonly privateKey?: Secret } = {}) =>
    runSshCommand({
      ...{ host: machine.host, port: machine.port, user: machine.user, command, timeoutMs: 20_000 },
      privateKey: new Secret(readFileSync(machine.identity, 'utf8')),
      hostKey: undefined,
      ...more,
    });

  test('returns the exit code, the output and the host key', async () => {
    expect(await run('echo out; echo err >&2; exit 7')).toEqual({
      type: 'ended',
      exitCode: 7,
      output: expect.stringMatching(/^(out\nerr|err\nout)\n$/),
      hostKey: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
  });

  test('keeps the first kilobyte of a long output', async () => {
    const result = await run('head -c 1000000 /dev/zero | tr "\\0" a');
    expect(result).toMatchObject({ type: 'ended', exitCode: 0 });
    expect('output' in result && result.output).toHaveLength(1_024);
  });

  test('accepts the pinned host key, and leaves before it logs in at another one', async () => {
    const first = await run('true');
    const hostKey = 'hostKey' in first ? first.hostKey : '';
    expect(await run('true', { hostKey })).toMatchObject({ type: 'ended', exitCode: 0 });
    expect(await run('true', { hostKey: 'f'.repeat(64) })).toEqual({ type: 'otherHost', hostKey });
  });

  test('reports a key that the machine does not accept', async () => {
    const { privateKey } = sshKeyOf([new Secret('stranger')]);
    expect(await run('true', { privateKey })).toMatchObject({ type: 'keyRefused' });
  });
});

test('a command by SSH fails in time when the server never speaks', async () => {
  const server = createServer(() => undefined).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  const { privateKey } = sshKeyOf([new Secret('any')]);
  const target = { host: '127.0.0.1', port, user: 'root', privateKey, hostKey: undefined };
  expect(await runSshCommand({ ...target, command: 'true', timeoutMs: 500 })).toMatchObject({
    type: 'failed',
  });
  server.close();
});

test('a command by SSH fails when the port is closed', async () => {
  const { privateKey } = sshKeyOf([new Secret('any')]);
  const target = { host: '127.0.0.1', port: 1, user: 'root', privateKey, hostKey: undefined };
  expect(await runSshCommand({ ...target, command: 'true', timeoutMs: 5_000 })).toMatchObject({
    type: 'failed',
    detail: expect.stringMatching(/ECONNREFUSED/),
  });
});
