import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { groupObject } from '../../test/builders/group-worker.ts';
import { type SelfSigned, selfSigned } from '../../test/builders/self-signed.ts';
import { defaultTimes } from '../controllers/endpoint-group/autoscale/times.ts';
import { LoadSources } from '../controllers/endpoint-group/load/sources.ts';
import { LoadStore } from '../controllers/endpoint-group/load/state.ts';
import { systemClock } from '../lib/clock.ts';
import { openPrometheusDoor } from './prometheus-door.ts';

const DAY = 86_400_000;
const certificate = (from: number, to: number) =>
  selfSigned({ notBefore: new Date(Date.now() + from * DAY), notAfter: new Date(Date.now() + to * DAY) });

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** A Prometheus that answers every query with 300. */
async function prometheusWith({ cert, key }: SelfSigned) {
  const asked: (string | undefined)[] = [];
  const server = createServer({ cert, key }, ({ url }, response) => {
    asked.push(url);
    const result = [{ value: [Date.now() / 1000, '300'] }];
    response.end(JSON.stringify({ data: { resultType: 'vector', result } }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, asked };
}

function fileOf(text: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'prometheus-ca-'));
  closing.push(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'ca.pem');
  writeFileSync(path, text);
  return path;
}

/** What a group is told once Prometheus has answered or was refused. */
async function loadFrom(url: string, prometheusCa: string | undefined) {
  const transport = await openPrometheusDoor({ prometheusCa });
  closing.push(() => transport.close());
  const books = new LoadStore();
  const late = Promise.withResolvers<void>();
  const readers = new LoadSources({
    ...{ clock: systemClock, books, times: defaultTimes },
    prometheus: { tenancy: { type: 'unrestricted' }, url, transport },
    transport: () => Promise.reject(new Error('Prometheus is not asked by the door of workers')),
    dial: (address) => address,
    allowPrivateAddresses: false,
    tokenOf: () => undefined,
    takesReports: false,
  });
  const group = groupObject({ load: { type: 'Prometheus', prometheus: { loadQuery: 'load' } } });
  await readers.read(group, { workers: [], onLate: () => late.resolve() });
  const { reporters, problems } = books.get('uid-llm');
  if (reporters.size + problems.size === 0) await late.promise;
  const told = books.get('uid-llm');
  return { record: [...told.reporters.values()][0]?.record, problem: [...told.problems.values()][0]?.detail };
}

describe('an https Prometheus', () => {
  test('that signed its own certificate is not asked, and the message names the flag', async () => {
    const { port, asked } = await prometheusWith(certificate(-1, 1));
    const { record, problem } = await loadFrom(`https://127.0.0.1:${port}`, undefined);
    expect(problem).toBe(
      'Prometheus: no authority that is trusted has signed its certificate; name the PEM of its authority with --prometheus-ca',
    );
    expect({ record, asked }).toEqual({ record: undefined, asked: [] });
  });

  test('is asked where --prometheus-ca names the authority of its certificate', async () => {
    const made = certificate(-1, 1);
    const { port, asked } = await prometheusWith(made);
    const { record, problem } = await loadFrom(`https://127.0.0.1:${port}`, fileOf(made.cert));
    expect(problem).toBeUndefined();
    expect(record).toMatchObject({ arrived: { type: 'rate', load: 300 } });
    expect(asked).toEqual(['/api/v1/query?query=load']);
  });

  test.each<[string, string, SelfSigned, string]>([
    ['of another authority', '127.0.0.1', certificate(-1, 1), '--prometheus-ca'],
    ['that has expired', '127.0.0.1', certificate(-9, -1), 'has expired; renew it'],
    ['that is not valid yet', '127.0.0.1', certificate(1, 9), 'look at the clocks'],
    ['of another name', 'localhost', certificate(-1, 1), 'is for another name'],
  ])('with a certificate %s is not asked although an authority is named', async (what, host, made, says) => {
    const { port, asked } = await prometheusWith(made);
    const trusted = what === 'of another authority' ? certificate(-1, 1) : made;
    const { problem } = await loadFrom(`https://${host}:${port}`, fileOf(trusted.cert));
    expect(problem).toContain(says);
    expect(asked).toEqual([]);
  });
});

describe('--prometheus-ca', () => {
  const damaged = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';

  test.each<[string, () => string, string]>([
    ['is not there', () => '/nowhere/ca.pem', '/nowhere/ca.pem cannot be read (ENOENT)'],
    ['is a folder', () => tmpdir(), 'cannot be read (EISDIR)'],
    ['holds no certificate', () => fileOf('hello'), 'holds no certificate: name a file in PEM'],
    ['is empty', () => fileOf(''), 'holds no certificate'],
    ['is damaged', () => fileOf(damaged), 'its certificate 1 cannot be parsed'],
    [
      'is damaged at its second certificate',
      () => fileOf(certificate(-1, 1).cert + damaged),
      'its certificate 2 cannot be parsed',
    ],
  ])('that %s is refused at the start, by name', async (_, path, says) => {
    const opening = openPrometheusDoor({ prometheusCa: path() });
    await expect(opening).rejects.toThrow(/^--prometheus-ca: /);
    await expect(opening).rejects.toThrow(says);
  });
});
