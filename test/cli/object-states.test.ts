import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { API_VERSION, annotations, IN_USE_RECORD, MACHINE_FINALIZER } from '../../src/api/v1alpha1/names.ts';
import { formatTime } from '../../src/lib/time.ts';
import { makeClaim } from '../../src/ownership/claim.ts';
import { constantsToData, defaultConstants } from '../../src/ownership/constants.ts';
import { writeIntent } from '../../src/ownership/intent.ts';
import { loginText } from '../../src/ownership/login.ts';
import { type Desk, desk } from './desk.ts';
import { refused } from './scripted-cluster.ts';

/* What is told of an object fits the state that it is in. */

let here: Desk;
const spec = { image: 'x', offers: [{ maxPricePerHour: '1' }] };
const ssh = { host: '203.0.113.5', port: 22 };

beforeAll(async () => {
  here = await desk();
  here.account('default', {
    spec: { limits: { maxSpendPerMonth: '100' } },
    status: { deletedObjects: { month: formatTime(Date.now()).slice(0, 7), spent: '2.50', rentals: [] } },
  });
  here.put('gpuinstances', { metadata: { name: 'new' }, spec });
  here.put('gpuinstances', { metadata: { name: 'quiet' }, spec: { ...spec, paused: true } });
  here.put('gpuinstances', { metadata: { name: 'unwanted' }, spec: { ...spec, powerState: 'Stopped' } });
  const uid = here.put('gpuinstances', {
    metadata: { name: 'parked' },
    spec: { ...spec, powerState: 'Stopped' },
  });
  const login = { url: here.market.url, userId: String(here.market.service.user().id) };
  const claim = makeClaim(here.identity.keys, { login, uid, attempt: 1, instanceId: '1' });
  const cost = { accrued: '5.00', accruedBeforeMonth: '0', since: formatTime(Date.now()) };
  here.status('gpuinstances', 'parked', { phase: 'Stopped', instanceId: '1', attempt: 1, claim, cost, ssh });
});
afterAll(() => here.close());

const gpuRent = (line: string) => here.cluster.cli.run(line.split(' '));

describe('ssh', () => {
  test.each([
    [
      'parked',
      'gpui/parked is stopped, and nothing answers there (Stopped).',
      'gpu-rent start gpui/parked -n team',
    ],
    ['unwanted', 'gpui/unwanted has no machine (not yet seen).', 'gpu-rent start gpui/unwanted -n team'],
    ['quiet', 'gpui/quiet has no machine (not yet seen).', 'gpu-rent resume gpui/quiet -n team'],
    ['new', 'gpui/new has no machine (not yet seen).', 'gpu-rent wait gpui/new -n team'],
  ])('to %s says why there is no shell, and what to do with it', async (name, what, remedy) => {
    const { exitCode, stdout, stderr } = await gpuRent(`ssh gpui/${name} --print`);
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr).toContain(`Error: ${what}`);
    expect(stderr).toContain(remedy);
  });

  test('to a machine that is on its way back says to wait', async () => {
    here.put('gpuinstances', {
      metadata: { name: 'waking' },
      spec,
      status: { phase: 'Stopped', instanceId: '2', ssh },
    });
    const { stderr } = await gpuRent('ssh gpui/waking --print');
    expect(stderr).toContain('What to do: Wait for it: gpu-rent wait gpui/waking -n team');
  });

  test('to a stopped instance says how it is started', async () => {
    const id = await here.labelledMachine('11111111-2222-3333-4444-555555555555');
    here.market.service.advance(600);
    await here.cluster.cli.run(['stop', 'instance', String(id), '--force']);
    here.market.service.advance(600);
    const { exitCode, stderr } = await gpuRent(`ssh ${id} --print`);
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(new RegExp(`Instance ${id} is \\w+, and nothing answers there`));
    expect(stderr).toContain(`gpu-rent start instance ${id}`);
  });
});

describe('status', () => {
  test('of a stopped machine names no address that is dead', async () => {
    expect((await gpuRent('status gpui/parked')).stdout).not.toContain(ssh.host);
  });

  test('of an account shows what was spent this month, deleted objects included, and the limit', async () => {
    expect((await gpuRent('status gpuacct/default')).stdout).toMatch(
      /^Spent: +this month \$7\.50 of \$100 \(UTC\)$/m,
    );
  });

  test('of an account whose objects may not be listed says that the sum is unknown', async () => {
    here.cluster.answer = (asked) =>
      asked.path.endsWith('/gpuinstances') ? refused(403, 'Forbidden', 'no') : here.stored(asked);
    const { stdout } = await gpuRent('status gpuacct/default');
    here.cluster.answer = here.stored;
    expect(stdout).toMatch(/^Spent: +unknown: you may not list all its objects$/m);
  });
});

describe('doctor', () => {
  test('says what limits an account, and warns of one without limits (L5)', async () => {
    here.account('unlimited', { spec: { limits: { maxPricePerHour: '1' } } });
    const { stdout } = await gpuRent('doctor');
    expect(stdout).toMatch(/limits: maxSpendPerMonth 100$/m);
    expect(stdout).toContain("Only the operator's flags limit what this account spends.");
  });
});

describe('explain', () => {
  const rule = async () => /^Rule: +(\S+)$/m.exec((await gpuRent('explain gpui/doubtful')).stdout)?.[1];

  /** Puts the intent of the first rental on an object, as the operator does. */
  async function intend(
    name: string,
    { uid, issuedAt }: { readonly uid: string; readonly issuedAt: number },
  ) {
    const login = loginText({ url: here.market.url, userId: String(here.market.service.user().id) });
    const fields = { uid, attempt: 1, offer: '1', generation: 1, spec: 'x', login };
    const intent = writeIntent(here.identity.keys, { ...fields, issuedAt, deadline: issuedAt + 30_000 });
    await here.stored({
      ...{ method: 'PATCH', path: `/apis/${API_VERSION}/namespaces/team/gpuinstances/${name}`, query: '' },
      headers: { 'content-type': ['application/merge-patch+json'] },
      body: {
        metadata: { finalizers: [MACHINE_FINALIZER], annotations: { [annotations.rentalIntent]: intent } },
      },
    });
  }

  test('decides by the times that the operator published: a rental may still be carried out then (L8)', async () => {
    const uid = here.put('gpuinstances', { metadata: { name: 'doubtful' }, spec });
    const issuedAt = Date.now() - 600_000;
    await intend('doubtful', { uid, issuedAt });
    expect(await rule()).toBe('purchase');
    here.put('configmaps', {
      metadata: { name: IN_USE_RECORD, namespace: 'gpu-rental-system' },
      data: constantsToData({ ...defaultConstants, lateCallMs: 1_200_000 }),
    });
    expect(await rule()).toBe('await-settlement');
  });

  test('P16: says when a machine whose host is silent is given up', async () => {
    const uid = here.put('gpuinstances', { metadata: { name: 'silent' }, spec });
    const id = String(await here.labelledMachine(uid));
    await here.market.service.call('POST /sim/faults', { name: 'offline', instance: Number(id) });
    await intend('silent', { uid, issuedAt: Date.now() - 30_000 });
    const login = { url: here.market.url, userId: String(here.market.service.user().id) };
    const since = formatTime(Date.now() - 20_000);
    here.status('gpuinstances', 'silent', {
      ...{ phase: 'Running', instanceId: id, attempt: 1, rentedAt: since, runningAt: since },
      ...{ actualStatus: 'offline', actualStatusSince: since },
      claim: makeClaim(here.identity.keys, { login, uid, attempt: 1, instanceId: id }),
    });
    const { stdout } = await gpuRent('explain gpui/silent');
    await here.market.clearFaults();
    expect(stdout).toMatch(/^Would do: +nothing$/m);
    const next = /^Next: +in (\d+)s: destroy machine (\d+) \(HostOffline\), unless /m.exec(stdout);
    expect(next?.[2]).toBe(id);
    expect(Number(next?.[1])).toBeGreaterThan(30);
    expect(Number(next?.[1])).toBeLessThanOrEqual(60);
  });

  test('says when an idle machine that was warned of is destroyed, and so does status', async () => {
    const uid = here.put('gpuinstances', {
      metadata: { name: 'idle' },
      spec: { ...spec, idle: { after: '30m', action: 'Destroy' } },
    });
    const id = String(await here.labelledMachine(uid));
    here.market.service.advance(600);
    await here.market.service.call('POST /sim/faults', { name: 'idle', instance: Number(id) });
    await intend('idle', { uid, issuedAt: Date.now() - 7_200_000 });
    const login = { url: here.market.url, userId: String(here.market.service.user().id) };
    const ago = (minutes: number) => formatTime(Date.now() - minutes * 60_000);
    const warned = { type: 'Idle', status: 'True', reason: 'Idle', message: 'm', lastTransitionTime: ago(6) };
    here.status('gpuinstances', 'idle', {
      ...{ phase: 'Running', instanceId: id, attempt: 1, rentedAt: ago(100), runningAt: ago(99) },
      ...{ actualStatus: 'running', actualStatusSince: ago(99), conditions: [warned] },
      idle: { since: ago(26), endsAt: ago(-4) },
      claim: makeClaim(here.identity.keys, { login, uid, attempt: 1, instanceId: id }),
    });
    const { stdout } = await gpuRent('explain gpui/idle');
    const status = await gpuRent('status gpui/idle');
    await here.market.clearFaults();
    expect(stdout).toMatch(/^Would do: +nothing$/m);
    const next = /^Next: +in (\d)m\S*: destroy machine (\d+) \(Idle\), unless /m.exec(stdout);
    expect(next?.[2]).toBe(id);
    expect(Number(next?.[1])).toBeGreaterThanOrEqual(3);
    expect(Number(next?.[1])).toBeLessThanOrEqual(4);
    expect(status.stdout).toMatch(/Idle since \S+Z; Destroy in [34]m\S*, unless it is used\./);
    expect(status.stdout).toMatch(/Waits for you: To use the machine longer/);
  });

  test('P3: shows what the operator reported last while the marketplace does not answer', async () => {
    await here.market.fault('5xx', 'list', { count: 50 });
    const { exitCode, stdout } = await gpuRent('explain gpui/parked');
    await here.market.clearFaults();
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^Unknown: .*503.* This is what the operator reported last\.$/m);
    expect(stdout).toMatch(/^Stage: +machine 1 is recorded$/m);
    expect(stdout).toMatch(/^Then: +the operator replaces and destroys nothing on its own/m);
  });
});

test.each([
  'status gpui/new',
  'explain gpui/new',
  'plan -f -',
  'doctor',
  'report',
  'logs gpui/new',
  'version',
])('gpu-rent %s -o name is refused: it has no names to list', async (line) => {
  const { exitCode, stdout, stderr } = await gpuRent(`${line} -o name`);
  expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
  expect(stderr).toContain('Allowed choices are table, wide, json, yaml.');
});
