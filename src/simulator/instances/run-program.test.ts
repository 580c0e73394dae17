import { describe, expect, test } from 'vitest';
import { type SimulatedService, simulatedService } from '../../../test/builders/simulated-service.ts';
import type { Settings } from '../settings.ts';
import { shownLog } from './container-program.ts';

const FOLDER = 'var/tmp/.gpurental';
/** Parts of a start text that reports the end of its program. */
const TEXT = `d=\${GPURENTAL_DIR:-/${FOLDER}};e=$(echo exit.*.k3v9x0q2m7ab)`;

/** Rents a machine that runs at once, and returns calls to it. */
async function rented(service: SimulatedService, body: object) {
  const { body: found } = await service.call('POST /api/v0/bundles/', { limit: 1 });
  const reply = await service.call(`PUT /api/v0/asks/${found.offers[0].id}/`, {
    image: 'x',
    disk: 10,
    ...body,
  });
  const id: number = reply.body.new_contract;
  const textOf = async (spec: string, sent: object) => {
    const { body: answer } = await service.call(spec, sent);
    const { pathname, search } = new URL(answer.result_url);
    return String((await service.call(`GET ${pathname}${search}`)).body);
  };
  return {
    id,
    path: `/api/v0/instances/${id}/`,
    files: () => textOf(`PUT /api/v0/instances/command/${id}/`, { command: `ls ${FOLDER}` }),
    log: () => textOf(`PUT /api/v0/instances/request_logs/${id}/`, {}),
    row: async () => (await service.call(`GET /api/v0/instances/${id}/`)).body.instances,
  };
}

const market = (containers: Partial<Settings['containers']> = {}) =>
  simulatedService({ settings: { boot: { scale: 0 }, containers } });
const env = (seconds: string, code?: string, more: object = {}) => ({
  env: { SIMULATED_SECONDS: seconds, ...(code !== undefined && { SIMULATED_EXIT_CODE: code }), ...more },
});

describe('a modelled program that ends', () => {
  test('leaves its exit code, and stops its machine', async () => {
    const service = market();
    const { row, files, log } = await rented(service, { onstart: TEXT, ...env('40', '7') });
    service.advance(39);
    expect([(await row()).actual_status, await files()]).toEqual(['running', 'ok\nt\n']);
    expect(await log()).toMatch(/\n\ngpurental k3v9x0q2m7ab start 1\n$/);
    service.advance(1);
    expect((await row()).actual_status).toBe('stopped');
    service.advance(10);
    expect(await files()).toBe('exit.7.k3v9x0q2m7ab\nok\nt\n');
    expect(await log()).toMatch(/ start 1\nsimulated program .* 7\n\ngpurental k3v9x0q2m7ab exit 7\n/);
  });

  test('is no longer billed for its GPU', async () => {
    const service = simulatedService({
      catalog: [{ id: 1, pricePerHour: 1, diskPricePerGBMonth: 0 }],
      settings: { boot: { scale: 0 } },
    });
    await rented(service, { onstart: TEXT, ...env('3600') });
    service.advance(7200);
    expect((await service.call('GET /sim/ledger')).body.dollars).toBeCloseTo(1, 6);
  });

  test('keeps running when its image has no client', async () => {
    const service = market({ imageHasClient: false });
    const { row, files } = await rented(service, { onstart: TEXT, ...env('40') });
    service.advance(200);
    expect([(await row()).actual_status, await files()]).toEqual(['running', 'exit.0.k3v9x0q2m7ab\nt\n']);
  });

  test('does not run again when a person starts its machine', async () => {
    const service = market();
    const { row, log, path } = await rented(service, { onstart: TEXT, ...env('40', '7') });
    service.advance(41);
    await service.call(`PUT ${path}`, { state: 'running' });
    service.advance(5);
    expect((await row()).actual_status).toBe('stopped');
    const text = await log();
    expect([text.split(' start ').length, text.split(' exit 7').length]).toEqual([2, 3]);
  });

  test('runs again with the next attempt when its machine was stopped before', async () => {
    const service = market();
    const { row, log, path } = await rented(service, { onstart: TEXT, ...env('40') });
    service.advance(20);
    await service.call(`PUT ${path}`, { state: 'stopped' });
    service.advance(100);
    await service.call(`PUT ${path}`, { state: 'running' });
    service.advance(30);
    expect([(await row()).actual_status, await log()]).toEqual([
      'running',
      expect.stringContaining(' start 2\n'),
    ]);
    service.advance(10);
    expect((await row()).actual_status).toBe('stopped');
  });

  test('is stopped after its host is back when that was offline', async () => {
    const service = market();
    const { id, row } = await rented(service, { onstart: TEXT, ...env('40') });
    await service.call('POST /sim/faults', { name: 'offline', instance: id, seconds: 100 });
    service.advance(60);
    expect((await row()).actual_status).toBe('offline');
    service.advance(120);
    expect((await row()).actual_status).toBe('stopped');
  });

  test.each([
    ['0', 3],
    ['1', 0],
    ['2', 0],
  ])('on machine %s of its object has exit code %d of a list', async (replacement, code) => {
    const service = market();
    const more = { GPURENTAL_REPLACEMENT: replacement };
    const { files } = await rented(service, { onstart: TEXT, ...env('1', '3,0', more) });
    service.advance(5);
    expect(await files()).toContain(`exit.${code}.`);
  });

  test.each([
    ['exited in mode args', { runtype: 'args', args: ['train'] }, 'exited'],
    ['running in mode ssh, where the service stays', { onstart: 'date' }, 'running'],
  ])('without a report leaves its machine %s', async (_, body, status) => {
    const service = market();
    const { row } = await rented(service, { ...body, ...env('40') });
    service.advance(60);
    expect((await row()).actual_status).toBe(status);
  });

  test.each(['', 'x', '-1', 'Infinity'])('does not end after %j seconds', async (seconds) => {
    const service = market();
    const { row } = await rented(service, { onstart: TEXT, ...env(seconds) });
    service.advance(1e6);
    expect((await row()).actual_status).toBe('running');
  });
});

test.each([
  ['never', 100, 0],
  ['begin', 40, 60],
  ['end', 40, 0],
] as const)(
  'a log with containers.logTruncated %s shows %d lines from line %d',
  (logTruncated, count, first) => {
    const lines = Array.from({ length: 100 }, (_, at) => String(at).padEnd(100));
    expect(shownLog(lines, { logTruncated })).toEqual(lines.slice(first, first + count));
  },
);
