import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { marketplaceAccountForm } from '../../src/api/v1alpha1/marketplace-account-form.ts';
import { encodeStatus } from '../../src/api/v1alpha1/record.ts';
import { type Desk, desk } from './desk.ts';

/* P3: the doctor tells a key that is refused from a marketplace that fails, and status names the outage. */

let here: Desk;
beforeAll(async () => {
  here = await desk();
});
beforeEach(() => here.market.clearFaults());
afterAll(() => here.close());

const doctor = async () => {
  const { exitCode, stdout } = await here.market.cli.run(['doctor', '--no-cluster', '-o', 'json']);
  const lines = JSON.parse(stdout) as readonly {
    name: string;
    state: string;
    detail: string;
    fix?: string;
  }[];
  return { exitCode, lineOf: (name: string) => lines.find((line) => line.name === name) };
};

test('P3: doctor says that the marketplace fails, and nothing of the key, when it returns HTTP 503', async () => {
  await here.market.fault('5xx', 'GET /api/v0/users/current', { count: 9 });
  const { exitCode, lineOf } = await doctor();
  expect(exitCode).toBe(1);
  expect(lineOf('egress')).toMatchObject({
    ...{ state: 'failed', fix: expect.stringContaining('The key is not the cause.') },
    detail: expect.stringMatching(/ returns HTTP 50\d: the marketplace fails, the network works\.$/),
  });
  expect(lineOf('key')?.detail).toMatch(/^Cannot verify the API key: marketplace returned HTTP 50\d\.$/);
  expect(lineOf('may destroy')).toMatchObject({
    ...{ state: 'skipped', detail: expect.stringContaining('nothing is known of the key') },
  });
});

test('P3: doctor says that the key is the problem when it is refused', async () => {
  const { stdout } = await here.market.cli.run([
    ...['doctor', '--no-cluster', '-o', 'json', '--api-key', 'wrong'],
  ]);
  const lines = JSON.parse(stdout) as readonly {
    name: string;
    state: string;
    detail: string;
    fix?: string;
  }[];
  const of = (name: string) => lines.find((line) => line.name === name);
  expect(of('egress')).toMatchObject({ state: 'ok' });
  expect(of('key')).toMatchObject({ state: 'failed' });
  expect(of('may destroy')).toMatchObject({
    ...{
      detail: 'Skipped: the key could not be verified.',
      fix: 'Fix the key problem reported above first.',
    },
  });
});

test('P3: status and doctor name cause and duration of an outage on record', async () => {
  const since = new Date(Date.now() - 73_000).toISOString();
  const ready = {
    type: 'Ready',
    status: 'False',
    reason: 'Unreachable',
    message: 'x',
    lastTransitionTime: since,
  };
  const outage = { reason: 'Unreachable', since, httpStatus: 503 };
  here.account('down', { status: encodeStatus(marketplaceAccountForm, { conditions: [ready], outage }) });
  const text = /Marketplace returned HTTP 503 for 7\ds; retrying\./;
  expect((await here.cluster.cli.run(['status', 'gpuacct/down'])).stdout).toMatch(text);
  expect((await here.cluster.cli.run(['doctor'])).stdout).toMatch(text);
});
