import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Desk, desk } from './desk.ts';
import { refused } from './scripted-cluster.ts';

let here: Desk;
beforeAll(async () => {
  here = await desk();
  here.account('default');
});
afterAll(() => here.close());

test('notes a host with the next try when another client wrote first', async () => {
  let writes = 0;
  here.cluster.answer = async (asked) => {
    if (asked.method !== 'PUT') return here.stored(asked);
    writes += 1;
    return writes === 1 ? refused(409, 'Conflict', 'somebody was faster') : here.stored(asked);
  };
  expect(await here.cluster.cli.run(['avoid', 'add', 'host/4412'])).toMatchObject({ exitCode: 0 });
  expect(writes).toBe(2);
});

test('and is not said to be noted where that never succeeds', async () => {
  here.cluster.answer = async (asked) =>
    asked.method === 'PUT' ? refused(409, 'Conflict', 'somebody was faster') : here.stored(asked);
  const { exitCode, stderr } = await here.cluster.cli.run(['avoid', 'add', 'host/4413']);
  expect(exitCode).toBe(1);
  expect(stderr).toContain('changes too quickly');
});
