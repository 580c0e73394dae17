import type { Duplex } from 'node:stream';
import type { Client, ConnectConfig } from 'ssh2';
import type { SshCommand, SshResult } from '../controllers/gpu-instance/lease-renewal.ts';
import { systemClock } from '../lib/clock.ts';

const MAX_OUTPUT = 1_024;

/**
 * Runs one command by SSH, and returns its exit code and the first kilobyte of its output. It opens one connection,
 * offers this key alone, forwards nothing, and ends within `timeoutMs`. Never rejects.
 */
export async function runSshCommand(command: SshCommand): Promise<SshResult> {
  try {
    // Loaded at the first use: most installations have no lease by SSH.
    const { Client: SshClient } = await import('ssh2');
    return await run(new SshClient(), command);
  } catch (error) {
    return failed(error instanceof Error ? error.message : 'unknown error');
  }
}

function run(client: Client, command: SshCommand): Promise<SshResult> {
  const { host, port, user, privateKey, timeoutMs } = command;
  const { promise, resolve } = Promise.withResolvers<SshResult>();
  let seen: string | undefined;
  const end = (result: SshResult) => {
    timer.cancel();
    resolve(result);
    client.destroy();
  };
  const late = () => end(failed('the machine did not answer in time'));
  const timer = systemClock.setTimer(timeoutMs, late);
  const config: ConnectConfig = {
    ...{ host, port, username: user, privateKey: privateKey.reveal() },
    readyTimeout: timeoutMs,
    hostHash: 'sha256',
    hostVerifier: (hash: string) => {
      seen = hash;
      return command.hostKey === undefined || hash === command.hostKey;
    },
    authHandler: ['publickey'],
  };
  client.on('ready', () => execute(client, command.command, (result) => end(ended(result, seen ?? ''))));
  // An error after the end has no listener otherwise, and would be thrown at the process.
  client.on('error', (error) => end(failureOf(error, { seen, expected: command.hostKey })));
  client.on('close', () => end(failed('the connection was closed')));
  try {
    client.connect(config);
  } catch (error) {
    end(failed(error instanceof Error ? error.message : 'unknown error'));
  }
  return promise;
}

interface Executed {
  readonly exitCode: number;
  readonly output: string;
}

function execute(client: Client, command: string, done: (result: Executed | Error) => void): void {
  client.exec(command, (error, channel) => {
    if (error) return done(error);
    let output = '';
    const collect = (chunk: Buffer) => {
      output = (output + chunk.toString('utf8')).slice(0, MAX_OUTPUT);
    };
    // Unread output would stop the command when its window is full.
    channel.on('data', collect);
    (channel.stderr as Duplex).on('data', collect);
    channel.on('close', (code: unknown) => done({ exitCode: typeof code === 'number' ? code : -1, output }));
  });
}

function ended(result: Executed | Error, hostKey: string): SshResult {
  return result instanceof Error ? failed(result.message) : { type: 'ended', ...result, hostKey };
}

function failureOf(
  error: Error & { readonly level?: string },
  { seen, expected }: { readonly seen: string | undefined; readonly expected: string | undefined },
): SshResult {
  if (seen !== undefined && expected !== undefined && seen !== expected)
    return { type: 'otherHost', hostKey: seen };
  if (error.level === 'client-authentication') return { type: 'keyRefused', hostKey: seen ?? '' };
  return failed(error.message);
}

function failed(detail: string): SshResult {
  return { type: 'failed', detail };
}
