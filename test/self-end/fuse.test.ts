import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fuseLine } from '../../src/instance/self-end.ts';
import { startText } from '../../src/instance/start-text.ts';
import type { Fuses } from '../../src/market/self-end.ts';
import { vastFacts } from '../../src/markets/vast/facts.ts';
import {
  CLIENTS,
  type ClientName,
  Container,
  ended,
  programPath,
  SHELLS,
  type ShellName,
  TICK_SECONDS,
} from './container.ts';
import { type OwnCall, type OwnKeyService, ownKeyService } from './own-key-service.ts';

const shelf = new Container();
let service: OwnKeyService;
let impostor: OwnKeyService;

beforeAll(async () => {
  service = await ownKeyService(shelf.folder);
  impostor = await ownKeyService(shelf.folder, 'other.example');
});

afterAll(async () => {
  await Promise.all([service.close(), impostor.close()]);
  for (const made of containers) made.remove();
  shelf.remove();
});

const MISSING = SHELLS.filter((shell) => programPath(shell) === undefined);
if (MISSING.length > 0) console.warn(`Not tested, because not installed: ${MISSING.join(', ')}.`);
const PRESENT = SHELLS.filter((shell) => !MISSING.includes(shell));
const CALLING = CLIENTS.filter((client) => programPath(client) !== undefined);
const PAIRS = PRESENT.flatMap((shell) => CALLING.map((client) => [shell, client] as const));

const containers: Container[] = [];

/** Returns a container whose processes end with the tests. */
function container(clients: readonly ClientName[]): Container {
  const made = new Container(clients);
  containers.push(made);
  return made;
}

interface Options {
  readonly at?: OwnKeyService;
  readonly trusted?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly reportUrl?: string;
}

async function boot(inside: Container, shell: ShellName, fuses: Fuses, options: Options = {}): Promise<void> {
  const { at = service, trusted = at.certificate, env, reportUrl } = options;
  const { selfEnd: facts } = vastFacts;
  const line = facts && fuseLine({ url: at.url, facts, reportUrl }, fuses);
  if (line === undefined) throw new Error('no fuse');
  const child = inside.start(shell, startText(line, undefined), { SSL_CERT_FILE: trusted, ...env });
  expect(await ended(child)).toEqual({ status: 0, signal: null, out: '', err: '' });
}

const ticks = (count: number) => pause(count * TICK_SECONDS * 1_000);
const callsOf = (inside: Container, { calls } = service) =>
  calls.filter(({ path }) => path === pathOf(inside));
const ends = (inside: Container) => callsOf(inside).filter(({ method }) => method === 'DELETE');
const pathOf = ({ id }: Container) => `/api/v0/instances/${id}/`;

/** A busy machine may run these processes seldom. */
const PATIENCE_MS = 100_000;
const PATIENT = { timeout: 1.2 * PATIENCE_MS };

async function until(what: string, isSo: () => boolean): Promise<void> {
  const begunAt = performance.now();
  while (performance.now() - begunAt < PATIENCE_MS) {
    if (isSo()) return;
    await pause(20);
  }
  throw new Error(`${what} did not come`);
}

describe.concurrent('a life fuse', PATIENT, () => {
  test.each(PAIRS)('in %s proves itself by %s, and ends its own machine only', async (shell, client) => {
    const inside = container([client]);
    await boot(inside, shell, { lifeSeconds: 90 });
    await until('the end', () => ends(inside).length > 0);
    const own = { path: pathOf(inside), key: `Bearer key-${inside.id}` };
    const [probe] = service.calls.filter(({ key }) => key === own.key);
    expect(probe).toEqual({ method: 'PUT', body: '{"state":"running"}', ...own });
    expect(existsSync(join(inside.state, 'ok'))).toBe(true);
    for (const call of ends(inside)) expect(call).toEqual({ method: 'DELETE', body: '{}', ...own });
    expect(count(inside)).toBeGreaterThanOrEqual(90);
    inside.kill();
  });

  test.each(PRESENT)('in %s makes no call without a client, and proves nothing', async (shell) => {
    const inside = container([]);
    await boot(inside, shell, { lifeSeconds: 60 });
    await until('the count', () => count(inside) >= 180);
    expect(callsOf(inside)).toEqual([]);
    expect(existsSync(join(inside.state, 'ok'))).toBe(false);
    inside.kill();
  });

  test.each(CALLING)('shows its key to no server that %s cannot verify', async (client) => {
    const strange = container([client]);
    await boot(strange, 'dash', { lifeSeconds: 30 }, { trusted: impostor.certificate });
    const misnamed = container([client]);
    await boot(misnamed, 'dash', { lifeSeconds: 30 }, { at: impostor });
    await until('the counts', () => count(strange) >= 90 && count(misnamed) >= 90);
    expect(callsOf(strange)).toEqual([]);
    expect(impostor.calls).toEqual([]);
    strange.kill();
    misnamed.kill();
  });

  test('verifies the server although a configuration of curl turns that off', async () => {
    const inside = container(['curl']);
    writeFileSync(join(inside.folder, '.curlrc'), 'insecure\n');
    await boot(inside, 'dash', { lifeSeconds: 30 }, { trusted: impostor.certificate });
    await until('the count', () => count(inside) >= 120);
    expect(callsOf(inside)).toEqual([]);
    inside.kill();
  });

  test('continues its count after a restart, and is not due before (C07)', async () => {
    const inside = container(['curl']);
    await boot(inside, 'dash', { lifeSeconds: 90_000 });
    await until('the count', () => count(inside) >= 90);
    inside.kill();
    const before = count(inside);
    const earlier = inside.sleeps().length;
    await boot(inside, 'dash', { lifeSeconds: before + 60 });
    await until('the end', () => ends(inside).length > 0);
    const [first] = inside.sleeps().slice(earlier);
    expect(first?.count).toBe(before);
    expect(count(inside)).toBeGreaterThanOrEqual(before + 60);
    inside.kill();
  });

  test.each(PRESENT)('in %s goes on when a program deletes its folder (C10)', async (shell) => {
    const inside = container(['curl']);
    await boot(inside, shell, { lifeSeconds: 90 });
    await until('the count', () => count(inside) > 0);
    deleteFolder(inside);
    await until('the end', () => ends(inside).length > 0);
    inside.kill();
  });

  test.each(PRESENT)(
    'in %s begins when a program deletes its folder before it enters that (C10)',
    async (shell) => {
      const inside = container(['curl']);
      inside.program('mkdir', `#!/bin/sh\n${programPath('mkdir')} "$@" && ${programPath('rmdir')} "$2"\n`);
      await boot(inside, shell, { lifeSeconds: 90 });
      await until('the end', () => ends(inside).length > 0);
      expect(existsSync(inside.state)).toBe(false);
      inside.kill();
    },
  );

  test.each(PRESENT)('in %s begins when its folder cannot be created', async (shell) => {
    const inside = container(['curl']);
    writeFileSync(inside.state, 'a file');
    await boot(inside, shell, { lifeSeconds: 90 });
    await until('the end', () => ends(inside).length > 0);
    expect(readFileSync(inside.state, 'utf8')).toBe('a file');
    inside.kill();
  });

  test('does not count while the container is frozen (C05)', async () => {
    const inside = container(['curl']);
    await boot(inside, 'dash', { lifeSeconds: 900 });
    await until('the count', () => count(inside) >= 60);
    inside.signal('SIGSTOP');
    await ticks(1);
    const frozen = count(inside);
    await ticks(16);
    expect(count(inside)).toBe(frozen);
    inside.signal('SIGCONT');
    await until('the count', () => count(inside) > frozen);
    expect(ends(inside)).toEqual([]);
    await until('the end', () => ends(inside).length > 0);
    expect(count(inside)).toBeGreaterThanOrEqual(900);
    inside.kill();
  });

  test('reads no clock (C04)', async () => {
    const inside = container(['curl']);
    inside.program('date', `#!/bin/sh\n: >${inside.folder}/clock\n`);
    await boot(inside, 'dash', { lifeSeconds: 90 });
    await until('the end', () => ends(inside).length > 0);
    expect(existsSync(join(inside.folder, 'clock'))).toBe(false);
    inside.kill();
  });

  test.each(['', 'a', '-5', '30 60'])('begins from 0 when its count reads %j', async (text) => {
    const inside = container(['curl']);
    mkdirSync(inside.state);
    writeFileSync(join(inside.state, 't'), `${text}\n`);
    await boot(inside, 'dash', { lifeSeconds: 90 });
    await until('the end', () => ends(inside).length > 0);
    expect(count(inside)).toBeGreaterThanOrEqual(90);
    inside.kill();
  });

  test('is not moved by the environment of the program', async () => {
    const names = ['n', 'i', 'q', 'r', 'h', 'p', 'k', 'j', 'd', 'c', 'x', 't', 'a', 'e'];
    const env = Object.fromEntries(names.map((name) => [name, '999999']));
    const inside = container(['curl']);
    await boot(inside, 'dash', { lifeSeconds: 900, leaseSeconds: 60 }, { env });
    await until('the count', () => count(inside) >= 120);
    expect(ends(inside)).toEqual([]);
    inside.kill();
  });

  test.each(['CONTAINER_ID', 'CONTAINER_API_KEY'])('makes no call without %s', async (name) => {
    const inside = container(['curl']);
    await boot(inside, 'dash', { lifeSeconds: 30 }, { env: { [name]: '' } });
    await ticks(6);
    const isOwn = ({ key, path }: OwnCall) => key === `Bearer key-${inside.id}` || path === pathOf(inside);
    expect(service.calls.filter(isOwn)).toEqual([]);
    inside.kill();
  });

  test('repeats a refused end until it is accepted (C03)', async () => {
    const inside = container(['curl']);
    service.replies.set(`DELETE ${pathOf(inside)}`, [500, 500, 500]);
    await boot(inside, 'dash', { lifeSeconds: 30 });
    await until('four ends', () => ends(inside).length >= 4);
    inside.kill();
  });

  test.each([403, 302])(
    'proves nothing when the key is answered with %d, and stops asking',
    async (status) => {
      const inside = container(['curl']);
      service.replies.set(
        `PUT ${pathOf(inside)}`,
        Array.from({ length: 50 }, () => status),
      );
      await boot(inside, 'dash', { lifeSeconds: 3_000 });
      await until('the count', () => count(inside) >= 420);
      expect(existsSync(join(inside.state, 'ok'))).toBe(false);
      expect(callsOf(inside)).toHaveLength(10);
    },
  );

  test('survives the signals that a script sends to its group', async () => {
    const inside = container(['curl']);
    await boot(inside, 'dash', { lifeSeconds: 150 });
    await until('the count', () => count(inside) >= 30);
    for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM'] as const) inside.signal(signal);
    await until('the end', () => ends(inside).length > 0);
    inside.kill();
  });

  test('does not count twice when the text runs twice', async () => {
    const inside = container(['curl']);
    await boot(inside, 'dash', { lifeSeconds: 900 });
    await boot(inside, 'dash', { lifeSeconds: 900 });
    await until('the count', () => count(inside) >= 150);
    const sleeps = inside.sleeps();
    const own = (name: string) => sleeps.filter(({ process }) => process === name).length;
    const most = Math.max(...sleeps.map(({ process }) => own(process)));
    expect(Math.max(...sleeps.map((sleep) => sleep.count))).toBeLessThanOrEqual(30 * most);
    inside.kill();
  });
});

/** Deletes the folder in which a fuse counts, also if that writes a file meanwhile. */
function deleteFolder({ state }: Container): void {
  rmSync(state, { recursive: true, maxRetries: 10 });
}

function count({ state }: Container): number {
  const file = join(state, 't');
  return existsSync(file) ? Number.parseInt(readFileSync(file, 'utf8'), 10) || 0 : 0;
}

describe.concurrent('a lease', PATIENT, () => {
  const lease = { leaseSeconds: 90 };
  /** A test that is late by seconds still renews in time. */
  const long = { leaseSeconds: 1_200 };
  const renew = ({ state }: Container, value: number) => writeFileSync(join(state, 'renew'), `${value}\n`);

  test.each(PRESENT)('in %s is armed by its first renewal', async (shell) => {
    const inside = container(['curl']);
    await boot(inside, shell, lease);
    await until('the count', () => count(inside) >= 240);
    expect(ends(inside)).toEqual([]);
    renew(inside, 1);
    await until('the end', () => ends(inside).length > 0);
    expect(readFileSync(join(inside.state, 'renew'), 'utf8'), 'a renewal stays').toBe('1\n');
    inside.kill();
  });

  test('is not armed by a renewal of an earlier start', async () => {
    const inside = container(['curl']);
    mkdirSync(inside.state);
    renew(inside, 1);
    await boot(inside, 'dash', lease);
    await until('the count', () => count(inside) >= 240);
    expect(ends(inside)).toEqual([]);
    inside.kill();
  });

  test('ends nothing when a program deletes its folder, where nothing could renew it (C10)', async () => {
    const inside = container(['curl']);
    await boot(inside, 'dash', { ...lease, lifeSeconds: 600 });
    await until('the folder', () => existsSync(inside.state));
    renew(inside, 1);
    await until('the count', () => count(inside) >= 30);
    deleteFolder(inside);
    await until('the end', () => ends(inside).length > 0);
    expect(inside.sleeps().length).toBeGreaterThanOrEqual(20);
    inside.kill();
  });

  test('ends nothing while it is renewed, and stops calling after a renewal', async () => {
    const inside = container(['curl']);
    await boot(inside, 'dash', long);
    await until('the folder', () => existsSync(inside.state));
    let counted = 0;
    for (let value = 1; value <= 6; value++) {
      renew(inside, value);
      await until('a tick', () => count(inside) > counted);
      counted = count(inside);
    }
    expect(ends(inside)).toEqual([]);
    await until('the end', () => ends(inside).length > 0);
    counted = count(inside);
    renew(inside, 7);
    await until('two ticks', () => count(inside) > counted + 30);
    const before = ends(inside).length;
    renew(inside, 8);
    counted = count(inside);
    await until('two ticks', () => count(inside) > counted + 30);
    expect(ends(inside)).toHaveLength(before);
    inside.kill();
  });
});

describe.concurrent('a lease by report', PATIENT, () => {
  const long = { leaseSeconds: 600 };
  /** Seconds of a sleep in which a slow client answers. */
  const SLOW_TICK_SECONDS = 0.4;
  const env = { GPURENTAL_WORKER_TOKEN: 'token-1', GPURENTAL_LEASE_PROOF: 'proof-1' };

  interface Request {
    readonly id: string;
    readonly mtoken: string;
    readonly count: number;
    readonly since: number;
  }

  /** Returns a path of its own below the report server, whose replies are the text that `reply` returns. */
  function reports(inside: Container, reply: (request: Request) => string) {
    const requests: Request[] = [];
    service.bodies.set(`/at/${inside.id}/lease/`, (body) => {
      const request = JSON.parse(body) as Request;
      requests.push(request);
      return reply(request);
    });
    return { requests, reportUrl: `${service.url}/at/${inside.id}/` };
  }

  const renewed = ({ count: counted }: Request) => `{"success":true,"renew":"proof-1:${counted}"}`;
  const renewal = ({ state }: Container) => {
    const file = join(state, 'renew');
    return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
  };

  test.each(PAIRS)(
    'in %s is renewed by %s, and ends its machine when replies stop',
    async (shell, client) => {
      const inside = container([client]);
      inside.program('sleep', `#!/bin/sh\nexec ${programPath('sleep')} ${SLOW_TICK_SECONDS}\n`);
      let isAlive = true;
      const { requests, reportUrl } = reports(inside, (request) => (isAlive ? renewed(request) : '{}'));
      await boot(inside, shell, long, { env, reportUrl });
      await until('renewals of an armed lease', () => requests.filter(({ since }) => since >= 0).length >= 2);
      expect(requests[0]).toMatchObject({ id: inside.id, mtoken: 'token-1' });
      expect(requests[0]?.since).toBeLessThan(0);
      expect(requests.filter(({ since }) => since >= 0 && since < 75)).toEqual([]);
      expect(ends(inside)).toEqual([]);
      isAlive = false;
      const { length } = requests;
      await until('the end', () => ends(inside).length > 0);
      expect(requests.length, 'it asks at each count').toBeGreaterThan(length + 2);
      const [key] = new Set(callsOf(inside).map((call) => call.key));
      expect(service.calls.filter(({ path }) => path.startsWith(`/at/${inside.id}/`))).not.toContainEqual(
        expect.objectContaining({ key }),
      );
      inside.kill();
    },
  );

  test.each<[string, (request: Request) => string]>([
    ['a success without a proof', () => '{"success":true}'],
    ['its own request', (request) => JSON.stringify(request)],
    ['the proof of another machine', ({ count: counted }) => `{"renew":"proof-2:${counted}"}`],
    ['a reply to an earlier request', () => '{"renew":"proof-1:0"}'],
    ['a count that only begins so', ({ count: counted }) => `{"renew":"proof-1:${counted}0"}`],
  ])('is not armed by %s', async (_what, reply) => {
    const inside = container(['curl']);
    const { requests, reportUrl } = reports(inside, reply);
    await boot(inside, 'dash', { leaseSeconds: 90 }, { env, reportUrl });
    await until('the count', () => count(inside) >= 240 && requests.length > 3);
    expect([renewal(inside), ends(inside)]).toEqual([undefined, []]);
    inside.kill();
  });

  test.each(CALLING)('shows its token to no report server that %s cannot verify', async (client) => {
    const inside = container([client]);
    const reportUrl = `${impostor.url}/at/${inside.id}/`;
    await boot(inside, 'dash', { leaseSeconds: 90 }, { env, reportUrl });
    await until('the count', () => count(inside) >= 240);
    expect(impostor.calls.filter(({ path }) => path.includes(`/at/${inside.id}/`))).toEqual([]);
    expect([renewal(inside), ends(inside)]).toEqual([undefined, []]);
    inside.kill();
  });

  test('is not armed by a server that knows no proof, when the environment has none', async () => {
    const inside = container(['curl']);
    const { requests, reportUrl } = reports(inside, ({ count: counted }) => `{"renew":":${counted}"}`);
    await boot(inside, 'dash', { leaseSeconds: 90 }, { reportUrl });
    await until('the count', () => count(inside) >= 240 && requests.length > 3);
    expect(renewal(inside)).toBeUndefined();
    inside.kill();
  });

  test('counts on while the report server does not answer', async () => {
    const inside = container(['curl']);
    inside.program(
      'curl',
      `#!/bin/sh\ncase "$*" in */lease/*)exec ${programPath('sleep')} 60;esac\nexec ${programPath('curl')} "$@"\n`,
    );
    await boot(
      inside,
      'dash',
      { leaseSeconds: 90, lifeSeconds: 300 },
      { env, reportUrl: `${service.url}/at/${inside.id}/` },
    );
    await until('the end', () => ends(inside).length > 0);
    expect(inside.sleeps().length).toBeLessThan(15);
    inside.kill();
  });
});
