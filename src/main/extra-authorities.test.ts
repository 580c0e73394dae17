import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type SelfSigned, selfSigned } from '../../test/builders/self-signed.ts';
import { createVirtualClock } from '../../test/builders/virtual-clock.ts';
import { type LogFields, type Logger, silentLogger } from '../lib/logger.ts';
import { createMarketplaceTransport } from '../markets/vast/http/transport.ts';
import { authoritiesIn, followExtraAuthorities } from './extra-authorities.ts';

const HOUR = 3_600_000;
const authority = (): SelfSigned =>
  selfSigned({ notBefore: new Date(Date.now() - HOUR), notAfter: new Date(Date.now() + HOUR) });
const first = authority();
const second = authority();

/** Returns a file that changes; `nextRead` advances the time to its next read. */
function followed(trust?: (certificates: readonly string[]) => void) {
  const clock = createVirtualClock();
  const file: { text: string | undefined } = { text: first.cert };
  const warnings: LogFields[] = [];
  const log: Logger = { ...silentLogger, warn: (_message, fields = {}) => warnings.push(fields) };
  const read = async (): Promise<string> => {
    if (file.text === undefined) throw new Error('ENOENT');
    return file.text;
  };
  const leave = followExtraAuthorities({ path: '/ca.crt', clock, log, read, ...(trust && { trust }) });
  const nextRead = () => clock.advance(10_000);
  return { file, warnings, leave, nextRead, clock };
}

describe('the authorities of NODE_EXTRA_CA_CERTS', () => {
  test('are trusted when the file changes, and not before', async () => {
    const trusted: (readonly string[])[] = [];
    const { file, nextRead, leave } = followed((certificates) => trusted.push(certificates));
    await nextRead();
    expect(trusted).toEqual([]);
    file.text = `${first.cert}${second.cert}`;
    await nextRead();
    await nextRead();
    expect(trusted).toEqual([[first.cert.trim(), second.cert.trim()]]);
    leave();
    file.text = second.cert;
    await nextRead();
    expect(trusted).toHaveLength(1);
  });

  test('stay as they were while the file cannot be used, which the log says once', async () => {
    const trusted: (readonly string[])[] = [];
    const { file, warnings, nextRead, leave } = followed((certificates) => trusted.push(certificates));
    await nextRead();
    for (const text of ['', undefined]) {
      file.text = text;
      await nextRead();
      await nextRead();
    }
    expect(warnings.map(({ problem }) => problem)).toEqual([
      expect.stringContaining('holds no certificate'),
      'cannot be read: Error: ENOENT',
    ]);
    file.text = second.cert;
    await nextRead();
    expect(trusted).toEqual([[second.cert.trim()]]);
    leave();
  });

  test('are not followed where none are named', () => {
    const clock = createVirtualClock();
    followExtraAuthorities({ path: undefined, clock, log: silentLogger })();
    expect(clock.nextTimerMs()).toBeUndefined();
  });
});

describe('a connection to a marketplace', () => {
  let before: readonly string[];
  beforeEach(() => {
    before = getCACertificates('default');
  });
  afterEach(() => setDefaultCACertificates([...before]));

  test('trusts an authority as soon as the file has it', async () => {
    const server = createServer({ cert: second.cert, key: second.key }, (_request, response) =>
      response.end('{}'),
    );
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const origin = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const transport = createMarketplaceTransport();
    const ask = () => transport({ method: 'GET', origin, path: '/', headers: {} });
    const { file, nextRead, leave } = followed();
    await nextRead();
    await expect(ask()).rejects.toThrow('no reply');
    file.text = second.cert;
    await nextRead();
    const { status, destroy } = await ask();
    expect(status).toBe(200);
    destroy();
    leave();
    await transport.close();
    server.close();
  });
});

test('a damaged certificate is named by its place', () => {
  const damaged = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
  expect(authoritiesIn(`${first.cert}${damaged}`)).toEqual({
    problem: 'is damaged: its certificate 2 cannot be parsed',
  });
});
