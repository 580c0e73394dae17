import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Desk, desk } from './desk.ts';
import { refused } from './scripted-cluster.ts';

/* Acting as somebody else: what only the break-glass group may do is done by the command that the refusal prints. */

let here: Desk;
beforeAll(async () => {
  here = await desk();
  here.account('default');
});
afterAll(() => here.close());

const gpuRent = (...args: readonly string[]) => here.cluster.cli.run(args);

const REFUSAL =
  "marketplaceaccounts.gpurental.dev \"default\" is forbidden: ValidatingAdmissionPolicy 'operator-records' with binding 'operator-records' denied request: Only the operator writes status: it holds the claim on a machine that bills. In an emergency act as a member of gpurental.dev:break-glass.";
const GROUPS = ['system:masters', 'gpurental.dev:break-glass'];

test('what the guard of records refuses names the command that works, and that command works', async () => {
  here.cluster.answer = async (asked) => {
    const passes =
      asked.method === 'GET' || asked.headers['impersonate-group']?.includes('gpurental.dev:break-glass');
    return passes ? here.stored(asked) : refused(403, 'Forbidden', REFUSAL);
  };
  const { exitCode, stderr } = await gpuRent('avoid', 'add', 'host/4412');
  expect(exitCode).toBe(1);
  const [printed] = /--as=.*--as-group=\S+/.exec(stderr) ?? [];
  expect(printed).toBe(`--as="$(id -un)" ${GROUPS.map((group) => `--as-group=${group}`).join(' ')}`);
  expect(stderr).not.toContain('Request the named permission');

  const words = (printed ?? '').replace('"$(id -un)"', 'me').split(' ');
  expect(await gpuRent('avoid', 'add', 'host/4412', ...words)).toMatchObject({ exitCode: 0 });
  const { headers } = here.cluster.asked.at(-1) ?? {};
  expect(headers).toMatchObject({ 'impersonate-user': ['me'], 'impersonate-group': GROUPS });
});

test('names the missing permission to request', async () => {
  here.cluster.answer = () => refused(403, 'Forbidden', 'User "x" cannot get resource "marketplaceaccounts"');
  expect((await gpuRent('avoid', 'list')).stderr).toContain('What to do: Request the named permission');
});

test('a reason of two words is refused', async () => {
  const { exitCode, stderr } = await gpuRent('avoid', 'add', 'host/1', '--reason', 'two words');
  expect({ exitCode, stderr }).toEqual({
    exitCode: 2,
    stderr: expect.stringContaining('--reason: "two words" is not one word.'),
  });
});

test('a group without a user is refused before the cluster is asked: it would answer as to yourself', async () => {
  const before = here.cluster.asked.length;
  const { exitCode, stderr } = await gpuRent('avoid', 'list', '--as-group', 'gpurental.dev:break-glass');
  expect([exitCode, here.cluster.asked.length - before]).toEqual([2, 0]);
  expect(stderr).toContain('Give --as, too.');
});
