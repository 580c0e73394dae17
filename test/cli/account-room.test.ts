import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { gpuInstanceSpec } from '../../src/api/v1alpha1/gpu-instance.ts';
import { specHash } from '../../src/api/v1alpha1/machine-drift.ts';
import { annotations } from '../../src/api/v1alpha1/names.ts';
import { seededRandom } from '../../src/lib/random.ts';
import { formatTime } from '../../src/lib/time.ts';
import { makeClaim } from '../../src/ownership/claim.ts';
import { IDENTITY_SECRET } from '../../src/ownership/identity.ts';
import { type Desk, desk } from './desk.ts';
import { refused } from './scripted-cluster.ts';

/* What an account has no room for is not promised: plan and explain ask the operator's own gate. */

let here: Desk;
const offers = [{ maxPricePerHour: '100' }];
const spec = { image: 'x', offers };
const named = (name: string) => ({ ...spec, accountRef: { name } });

beforeAll(async () => {
  here = await desk();
  here.account('roomy');
  here.account('few', { spec: { limits: { maxInstances: 1 } } });
  here.account('hourly', { spec: { limits: { maxSpendPerHour: '50' } } });
  here.account('monthly', { spec: { limits: { maxSpendPerMonth: '40' } } });
  for (const name of ['few', 'hourly', 'monthly']) {
    rented(`rented-${name}`, name);
    here.put('gpuinstances', { metadata: { name: `new-${name}` }, spec: named(name) });
  }
  here.put('gpuinstances', { metadata: { name: 'new-roomy' }, spec: named('roomy') });
});
afterAll(() => here.close());

/** Adds a machine at $49.99/h that has cost $45 this month. */
function rented(name: string, account: string): void {
  const uid = here.put('gpuinstances', { metadata: { name }, spec: named(account) });
  const login = { url: here.market.url, userId: String(here.market.service.user().id) };
  const claim = makeClaim(here.identity.keys, { login, uid, attempt: 1, instanceId: '1' });
  const cost = {
    pricePerHour: '49.99',
    accrued: '45.00',
    since: formatTime(Date.now()),
    accruedBeforeMonth: '0',
  };
  const hash = specHash(gpuInstanceSpec.parse(named(account)));
  here.status('gpuinstances', name, { instanceId: '1', attempt: 1, claim, cost, specHash: hash });
}

const LIMITS = [
  ['few', 'The account has 1 machine; limits.maxInstances is 1.'],
  ['hourly', 'limits.maxSpendPerHour is $50'],
  ['monthly', 'is spent this month (UTC); limits.maxSpendPerMonth is $40'],
] as const;

const manifest = (name: string, value: unknown, kind = 'GpuInstance') =>
  JSON.stringify({
    apiVersion: 'gpurental.dev/v1alpha1',
    kind,
    metadata: { name, namespace: 'team' },
    spec: value,
  });
const plan = (...texts: readonly string[]) =>
  here.cluster.cli.run(['plan', '-f', '-'], { stdin: texts.join('\n---\n') });

describe('plan', () => {
  test('P6: ends with 3 when the account does not exist, and searches nothing', async () => {
    const { exitCode, stdout } = await plan(manifest('planned', named('absent')));
    expect(exitCode).toBe(3);
    expect(stdout).toMatch(
      /^gpui\/planned would rent nothing: MarketplaceAccount team\/absent does not exist\./,
    );
    expect(stdout).toContain('(AccountMissing)');
  });

  test('P6: expects the account that the same manifest brings', async () => {
    const account = JSON.stringify({
      ...{ apiVersion: 'gpurental.dev/v1alpha1', kind: 'MarketplaceAccount' },
      metadata: { name: 'absent', namespace: 'team' },
      spec: { apiKeySecretRef: { name: 'key' } },
    });
    const { stdout } = await plan(account, manifest('planned', named('absent')));
    expect(stdout).not.toContain('AccountMissing');
  });

  test('ignores the record of a purchase that only the operator can verify', async () => {
    const intent = JSON.stringify({ version: 1, uid: 'u', mac: 'signed by the operator' });
    const metadata = { name: 'bought', annotations: { [annotations.rentalIntent]: intent } };
    here.put('gpuinstances', { metadata, spec: named('roomy') });
    here.cluster.answer = (asked) =>
      asked.path.endsWith(`/secrets/${IDENTITY_SECRET}`) ? refused(403, 'Forbidden') : here.stored(asked);
    const { stdout } = await plan(manifest('bought', named('roomy')));
    here.cluster.answer = here.stored;
    expect(stdout).not.toContain('RecordUnreadable');
    expect(stdout).toMatch(/^gpui\/bought would rent /);
  });

  test.each(LIMITS)('says that the limit of account %s leaves no room', async (account, said) => {
    const { exitCode, stdout } = await plan(manifest('planned', named(account)));
    expect(exitCode).toBe(3);
    expect(stdout).toMatch(/^gpui\/planned would rent nothing: /);
    expect(stdout).toContain(said);
    expect(stdout).toContain('(AtLimit)');
  });

  test('counts what comes before in the same plan, and not what a planned object already has', async () => {
    const edited = { ...named('few'), image: 'another' };
    const { stdout } = await plan(manifest('rented-few', edited), manifest('second', named('few')));
    expect(stdout).toMatch(/^gpui\/rented-few replaces machine 1 /);
    expect(stdout).toMatch(/^gpui\/rented-few would rent offer \d+/m);
    expect(stdout).toMatch(/^gpui\/second would rent nothing: The account has 1 machine/m);
  });

  test.each([
    ['GpuInstance', (part: object) => ({ ...named('roomy'), ...part })],
    ['EndpointGroup', (part: object) => ({ template: { spec: { ...named('roomy'), ...part } } })],
  ])(
    'B07: rents nothing for a %s whose Secret is missing, and one whose names are free',
    async (kind, specOf) => {
      const env = [{ name: 'TOKEN', valueFrom: { secretKeyRef: { name: 'absent', key: 'token' } } }];
      const { exitCode, stdout } = await plan(manifest('planned', specOf({ env }), kind));
      expect(exitCode).toBe(3);
      expect(stdout).toMatch(
        /would rent nothing: Secret absent \(env TOKEN\) does not exist\..* \(InputMissing\)$/m,
      );
      expect((await plan(manifest('planned', specOf({}), kind))).exitCode).toBe(0);
    },
  );

  test('B07: rents nothing where a foreign Secret has the name of the connection Secret', async () => {
    here.put('secrets', { metadata: { name: 'taken-connection' } });
    const { exitCode, stdout } = await plan(manifest('taken', named('roomy')));
    expect(exitCode).toBe(3);
    expect(stdout).toContain('(NameTaken)');
  });

  test('B07: rents nothing with an account that is suspended or whose key is refused', async () => {
    here.account('suspended', { spec: { suspend: true } });
    const proof = {
      type: 'Authenticated',
      status: 'False',
      reason: 'KeyRejected',
      message: 'The key is refused.',
    };
    const condition = { ...proof, lastTransitionTime: '2026-11-20T12:00:00Z', observedGeneration: 1 };
    here.account('refused', { status: { conditions: [condition] } });
    for (const [account, reason] of [
      ['suspended', 'Suspended'],
      ['refused', 'AccountNotReady'],
    ] as const) {
      const { exitCode, stdout } = await plan(manifest('planned', named(account)));
      expect({ exitCode, stdout }).toEqual({ exitCode: 3, stdout: expect.stringContaining(`(${reason})`) });
    }
  });

  test('P1: keeps a machine for which nothing can be rented', async () => {
    const { exitCode, stdout } = await plan(
      manifest('rented-few', { ...named('few'), image: 'another', disk: '90T' }),
    );
    expect(exitCode).toBe(3);
    expect(stdout).toMatch(
      /^gpui\/rented-few keeps machine 1 \(.*: ReplacementBlocked\. The spec needs another/,
    );
    expect(stdout).toMatch(/^gpui\/rented-few would rent nothing: /m);
  });

  test('counts what deleted objects have spent this month', async () => {
    const month = new Date().toISOString().slice(0, 7);
    here.account('spent', {
      spec: { limits: { maxSpendPerMonth: '40' } },
      status: { deletedObjects: { month, spent: '40.00', rentals: [] } },
    });
    const { exitCode, stdout } = await plan(manifest('planned', named('spent')));
    expect(exitCode).toBe(3);
    expect(stdout).toContain('$40.00 is spent this month (UTC)');
  });

  test('counts nothing of an account that has the same name elsewhere', async () => {
    here.account('shared', { spec: { limits: { maxInstances: 1 }, allowedNamespaces: { from: 'All' } } });
    here.put('namespaces', { metadata: { name: 'other', namespace: undefined } });
    const status = { instanceId: '2', attempt: 1 };
    here.put('gpuinstances', {
      ...{ metadata: { name: 'theirs', namespace: 'other' }, status, spec: named('shared') },
    });
    expect(await plan(manifest('planned', named('shared')))).toMatchObject({ exitCode: 0 });
  });

  test('rents where there is room', async () => {
    expect(await plan(manifest('planned', named('roomy')))).toMatchObject({ exitCode: 0 });
  });

  test('names the limits that it could not consider', async () => {
    here.cluster.answer = (asked) =>
      asked.path.endsWith('/gpuinstances') ? refused(403, 'Forbidden', 'no') : here.stored(asked);
    const { exitCode, stdout } = await plan(manifest('planned', named('few')));
    here.cluster.answer = here.stored;
    expect(exitCode).toBe(0);
    expect(stdout).toContain('but limits.maxInstances are not considered: you may not list gpuinstances');
  });

  test('rents nothing for a group that creates no worker', async () => {
    const group = {
      load: { type: 'Static', static: { load: '1' } },
      pause: { scaleUp: true },
      template: { spec },
    };
    const { exitCode, stdout } = await plan(manifest('planned', group, 'EndpointGroup'));
    expect(exitCode).toBe(3);
    expect(stdout).toMatch(
      /would rent nothing: The group creates no worker while spec\.pause\.scaleUp is true\./,
    );
    expect(stdout).not.toContain('rented  ');
  });

  test.each([
    ['Stopped', { powerState: 'Stopped' }],
    ['Paused', { paused: true }],
    [
      'NotAllowedByAccount',
      { offers: undefined, adopt: { instanceId: '7' }, replacement: { policy: 'Never' } },
    ],
    [
      'InputMissing',
      { env: [{ name: 'TOKEN', valueFrom: { secretKeyRef: { name: 'absent', key: 'token' } } }] },
    ],
    ['NoOffers', { offers: [{ maxPricePerHour: '0.001' }] }],
    ['NoOffers', { offers: [{ maxPricePerHour: '100', gpuNames: ['No Such GPU'] }] }],
    ['InvalidSpec', { onStart: incompressible() }],
    ['AtLimit', { accountRef: { name: 'few' } }],
  ])('words %s as explain does of an object that exists', async (reason, part) => {
    const name = `asked-${Object.keys(part)[0]?.toLowerCase()}-${reason.toLowerCase()}-${JSON.stringify(part).length}`;
    const value = { ...named('roomy'), ...part };
    const planned = await here.cluster.cli.run(['plan', '-f', '-', '-o', 'json'], {
      stdin: manifest(name, value),
    });
    here.put('gpuinstances', { metadata: { name }, spec: value });
    const explained = await here.cluster.cli.run(['explain', `gpui/${name}`, '-o', 'json']);
    const [{ reason: own, detail, rents }] = JSON.parse(planned.stdout);
    const { condition } = JSON.parse(explained.stdout);
    expect({ exitCode: planned.exitCode, own, rents }).toEqual({
      exitCode: 3,
      own: reason,
      rents: undefined,
    });
    expect({ reason: own, message: detail }).toEqual({
      reason: condition.reason,
      message: condition.message,
    });
  });

  test.each([
    ['Stopped', { powerState: 'Stopped' }],
    ['Paused', { paused: true }],
    ['InvalidSpec', { offers: [{ gpuNames: ['RTX 4090'] }] }],
    ['InvalidSpec', { onStart: incompressible() }],
  ])('says %s without a cluster too', async (reason, part) => {
    const stdin = manifest('planned', { ...named('roomy'), ...part });
    const { exitCode, stdout } = await here.cluster.cli.run(['plan', '-f', '-', '--no-cluster'], { stdin });
    expect(exitCode).toBe(3);
    expect(stdout).toContain(`(${reason})`);
  });
});

/** Returns a script that stays too long when compressed. */
function incompressible(): string {
  const random = seededRandom(7);
  const digits = Array.from({ length: 30_000 }, () => Math.floor(random.next() * 36).toString(36));
  return digits.join('');
}

describe('explain', () => {
  const explain = (name: string) => here.cluster.cli.run(['explain', `gpui/${name}`]);

  test.each(LIMITS)('says what the operator says where account %s has no room', async (account, said) => {
    const { stdout } = await explain(`new-${account}`);
    expect(stdout).toMatch(/^Rule: +backing-off$/m);
    expect(stdout).toContain('AtLimit');
    expect(stdout).toContain(said);
    expect(stdout).toMatch(/^Would do: +nothing$/m);
  });

  test('takes a search that failed here for no verdict of the operator', async () => {
    await here.market.fault('429-json', 'POST /api/v0/bundles', { count: 9 });
    const { exitCode, stdout, stderr } = await here.cluster.cli.run([
      'explain',
      'gpui/new-roomy',
      '--retry',
      '1',
    ]);
    await here.market.clearFaults();
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr).toContain('failed (too many requests)');
  });

  test('shows the rental if there is room', async () => {
    const { stdout } = await explain('new-roomy');
    expect(stdout).toMatch(/^Rule: +purchase$/m);
    expect(stdout).toMatch(/^Because: +The spec requests a machine, and nothing blocks the rental\.$/m);
    expect(stdout).toMatch(/^Would do: +rent offer \d+/m);
  });
});
