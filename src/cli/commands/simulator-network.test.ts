import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { connect as connectTcp } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { connect as connectTls } from 'node:tls';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type SelfSigned, selfSigned } from '../../../test/builders/self-signed.ts';
import { readFlags, runSimulator } from './simulator.ts';

const HOUR = 3_600_000;
let first: SelfSigned;
let second: SelfSigned;
let folder: string;
let files: { readonly tlsCertFile: string; readonly tlsPrivateKeyFile: string };
let stop: AbortController;
let done: Promise<number> | undefined;

beforeAll(() => {
  const validity = { notBefore: new Date(Date.now() - HOUR), notAfter: new Date(Date.now() + HOUR) };
  first = selfSigned(validity);
  second = selfSigned(validity);
});

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gpu-rent-simulator-'));
  files = { tlsCertFile: join(folder, 'tls.crt'), tlsPrivateKeyFile: join(folder, 'tls.key') };
  write(first);
  stop = new AbortController();
});

afterEach(async () => {
  stop.abort();
  await done?.catch(() => undefined);
  done = undefined;
  rmSync(folder, { recursive: true });
});

function write({ cert, key }: SelfSigned): void {
  writeFileSync(files.tlsCertFile, cert);
  writeFileSync(files.tlsPrivateKeyFile, key);
}

interface Started {
  readonly url: string;
  readonly control: string | null;
  /** Returns the present text of stderr. */
  readonly complaints: () => string;
}

async function start(options: Record<string, unknown>): Promise<Started> {
  const stdout = new PassThrough();
  const stderr = new PassThrough({ encoding: 'utf8' });
  let complaints = '';
  stderr.on('data', (chunk: string) => (complaints += chunk));
  const flags = readFlags({ offers: '1', apiKey: 'mine', ...options });
  done = runSimulator(flags, { stdout, stderr, signal: stop.signal });
  const line = await Promise.race([once(stdout, 'data'), done.then(() => ['{}'])]);
  return { ...JSON.parse(String(line[0])), complaints: () => complaints };
}

/** Returns the status of a call by a client that trusts this certificate only. */
async function statusOf(url: string, { cert: ca }: SelfSigned): Promise<number | undefined> {
  const sent = request(`${url}/api/v0/users/current`, {
    ca,
    agent: false,
    headers: { authorization: 'Bearer mine' },
  });
  sent.end();
  const [reply] = await once(sent, 'response');
  await text(reply);
  return reply.statusCode;
}

const portOf = (url: string): number => Number(new URL(url).port);

describe('gpu-rent simulator with a certificate', () => {
  test('serves https to a client that trusts the certificate, and prints an https URL', async () => {
    const { url } = await start(files);
    expect(url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
    expect(await statusOf(url, first)).toBe(200);
    await expect(statusOf(url, second)).rejects.toThrow('self-signed certificate');
  });

  test('answers plain http with the end of the connection', async () => {
    const { url } = await start(files);
    await expect(fetch(url.replace('https', 'http'))).rejects.toThrow();
    expect(await statusOf(url, first)).toBe(200);
  });

  test('takes a changed certificate for new connections, and keeps the old one while files do not match', async () => {
    const { url, complaints } = await start(files);
    writeFileSync(files.tlsCertFile, second.cert);
    await expect.poll(complaints, { timeout: 15_000 }).toContain('is not the key of the first certificate');
    expect(await statusOf(url, first)).toBe(200);
    writeFileSync(files.tlsPrivateKeyFile, second.key);
    await expect.poll(() => statusOf(url, second).catch(() => 0), { timeout: 15_000 }).toBe(200);
    expect(complaints().trim().split('\n')).toHaveLength(1);
  });

  test('ends at once although a client is in the middle of the handshake', async () => {
    const { url } = await start(files);
    const silent = connectTcp(portOf(url), '127.0.0.1');
    await once(silent, 'connect');
    const closed = once(silent, 'close');
    silent.on('error', () => undefined);
    stop.abort();
    expect(await done).toBe(0);
    await closed;
  });

  test('control on loopback beside it is plain http; with it on one port it is https', async () => {
    const apart = await start({ ...files, bindAddress: '0.0.0.0', control: true });
    expect(apart.control).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/sim$/);
    stop.abort();
    await done;
    stop = new AbortController();
    const together = await start({ ...files, control: true });
    expect(together.control).toBe(`${together.url}/sim`);
    const socket = connectTls({ port: portOf(together.url), host: '127.0.0.1', ca: first.cert });
    await once(socket, 'secureConnect');
    socket.destroy();
  });
});

describe('gpu-rent simulator on other addresses', () => {
  const addresses = Object.values(networkInterfaces()).flatMap((all) => all ?? []);

  test('keeps control off the network: on loopback, on a port that serves nothing else', async () => {
    const { url, control } = await start({ bindAddress: '0.0.0.0', control: true });
    expect(control).toMatch(/^http:\/\/127\.0\.0\.1:/);
    expect(portOf(control ?? '')).not.toBe(portOf(url));
    const origin = new URL(control ?? '').origin;
    const headers = { authorization: 'Bearer mine' };
    const statuses = [
      `${url}/sim/ledger`,
      `${control}/ledger`,
      `${origin}/api/v0/users/current`,
      `${url}/api/v0/users/current`,
    ];
    const replies = await Promise.all(statuses.map((each) => fetch(each, { headers })));
    expect(replies.map(({ status }) => status)).toEqual([404, 200, 404, 200]);
  });

  test('serves control with the marketplace when its address is asked for', async () => {
    const { url, control } = await start({
      bindAddress: '0.0.0.0',
      control: true,
      controlBindAddress: '0.0.0.0',
    });
    expect(control).toBe(`${url}/sim`);
    expect((await fetch(`${control}/ledger`)).status).toBe(200);
  });

  test.skipIf(!addresses.some(({ address }) => address === '::1'))('serves IPv6', async () => {
    const { url } = await start({ bindAddress: '::1' });
    expect(url).toMatch(/^http:\/\/\[::1\]:\d+$/);
    expect(
      (await fetch(`${url}/api/v0/users/current`, { headers: { authorization: 'Bearer mine' } })).status,
    ).toBe(200);
  });
});

describe('gpu-rent simulator refuses', () => {
  test.each([
    [{ bindAddress: 'localhost' }, /^--bind-address: "localhost" is not an IP address\.$/],
    [{ bindAddress: 'fe80::1%eth0' }, /^--bind-address: "fe80::1%eth0" is not an IP address\.$/],
    [{ bindAddress: '' }, /^--bind-address: "" is not an IP address\.$/],
    [{ control: true, controlBindAddress: 'x' }, /^--control-bind-address: "x" is not an IP address\.$/],
    [{ control: true, controlPort: 'x' }, /^--control-port: "x" is not a whole number from 0 to 65535\.$/],
    [{ controlBindAddress: '127.0.0.1' }, /^--control-bind-address: it needs --control\.$/],
    [{ controlPort: '1' }, /^--control-port: it needs --control\.$/],
    [{ tlsCertFile: 'a' }, /^--tls-cert-file: it needs --tls-private-key-file as well\.$/],
    [{ tlsPrivateKeyFile: 'a' }, /^--tls-private-key-file: it needs --tls-cert-file as well\.$/],
  ])('%j as a usage error', (options, message) => {
    expect(() => readFlags(options)).toThrow(
      expect.objectContaining({ message: expect.stringMatching(message), exitCode: 2 }),
    );
  });

  const refusal = (options: Record<string, unknown>, message: RegExp) =>
    expect(start(options)).rejects.toMatchObject({ message: expect.stringMatching(message), exitCode: 1 });

  test('an address of another machine, for the marketplace and for control', async () => {
    const other = '192.0.2.254';
    await refusal(
      { bindAddress: other },
      /^--bind-address: 192.0.2.254 is not an address of this machine\.$/,
    );
    await refusal(
      { control: true, controlBindAddress: other },
      /^--control-bind-address: 192.0.2.254 is not an address of this machine\.$/,
    );
  });

  test('a port of control that is in use, and leaves nothing open', async () => {
    const { url } = await start({});
    const [running, stopRunning] = [done, stop];
    stop = new AbortController();
    const controlPort = String(portOf(url));
    await refusal(
      { bindAddress: '0.0.0.0', control: true, controlPort },
      /^--control-port: \d+ on 127.0.0.1 is in use\.$/,
    );
    stopRunning.abort();
    await running;
  });

  test('certificate files that cannot be read, hold something else or do not match', async () => {
    await refusal(
      { ...files, tlsCertFile: join(folder, 'none') },
      /^--tls-cert-file: cannot read .*none: ENOENT/,
    );
    await refusal({ ...files, tlsPrivateKeyFile: folder }, /^--tls-private-key-file: cannot read .*: EISDIR/);
    await refusal(
      { ...files, tlsCertFile: files.tlsPrivateKeyFile },
      /^--tls-cert-file: .* contains no certificate in PEM form/,
    );
    await refusal(
      { ...files, tlsPrivateKeyFile: files.tlsCertFile },
      /^--tls-private-key-file: .* contains no private key/,
    );
    writeFileSync(files.tlsPrivateKeyFile, second.key);
    await refusal(files, /^--tls-private-key-file: .* is not the key of the first certificate in /);
  });
});
