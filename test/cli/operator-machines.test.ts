import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeRetainedLabel } from '../../src/ownership/label.ts';
import { type Desk, desk } from './desk.ts';

/* A machine with the label of an operator: what an object owns is not changed by accident, and what none owns can be. */

let here: Desk;
let id: number;
beforeAll(async () => {
  here = await desk();
  here.account('default', { spec: { adoption: 'Unlabelled' } });
  id = await here.labelledMachine('11111111-2222-3333-4444-555555555555');
});
afterAll(() => here.close());

const gpuRent = (...args: readonly string[]) =>
  here.cluster.cli.run(args.map((word) => word.replace('ID', String(id))));
const machine = () => here.market.service.simulator.world().tables.contracts[id];

test.each([
  [['stop', 'instance', 'ID'], /spec\.powerState: Stopped/],
  [['label', 'instance', 'ID', ''], /leave its label alone/],
  [['destroy', 'instance', 'ID', '--yes'], /delete that object/],
])('%j is refused, and both ways out are named', async (args, instead) => {
  const before = machine();
  const { exitCode, stdout, stderr } = await gpuRent(...args);
  expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
  expect(stderr).toContain(`Instance ${id} belongs to an operator (label gpurental1:`);
  expect(stderr).toMatch(instead);
  expect(stderr).toMatch(/If `gpu-rent orphans` lists it, none does: gpu-rent \w+ instance .*--force$/m);
  expect(machine()).toMatchObject({ label: before?.label, intendedStatus: before?.intendedStatus });
});

test('one that was kept on purpose is refused, too', async () => {
  const { market, identity } = here;
  const facts = { uid: '66666666-2222-3333-4444-555555555555', attempt: 1 };
  const label = makeRetainedLabel(identity, { ...facts, issuedAt: market.service.simulator.now() });
  const [offer] = await market.offers();
  const rent = { image: 'ubuntu:24.04', label };
  const { body } = await market.service.call(`PUT /api/v0/asks/${offer}/`, rent);
  const kept = String(body.new_contract);
  const { exitCode, stderr } = await here.cluster.cli.run(['destroy', 'instance', kept, '--yes']);
  expect({ exitCode, stderr }).toEqual({
    exitCode: 1,
    stderr: expect.stringContaining('belongs to an operator'),
  });
  expect(market.service.simulator.world().tables.contracts[Number(kept)]).toBeDefined();
  await here.cluster.cli.run(['destroy', 'instance', kept, '--yes', '--force']);
});

test('import --apply is refused while it carries the label, and the manifest is written with a warning', async () => {
  const applied = await gpuRent('import', 'ID', '--apply');
  expect(applied).toMatchObject({ exitCode: 1, stdout: '' });
  expect(applied.stderr).toContain('Nothing was created.');
  expect(applied.stderr).toContain(`gpu-rent label instance ${id} "" --force`);
  expect(here.cluster.asked.filter(({ method }) => method === 'POST')).toEqual([]);
  const written = await gpuRent('import', 'ID');
  expect(written.stdout).toContain(`instanceId: "${id}"`);
  expect(written.stdout).toMatch(/replacement:\s+policy: Never/);
  expect(written.stderr).toContain(`gpu-rent label instance ${id} "" --force`);
});

test('an orphan is taken over by the commands that the runbook names', async () => {
  const listed = await gpuRent('orphans', '-o', 'json');
  const what = expect.stringContaining(`gpu-rent destroy instance ${id} --force`);
  expect(JSON.parse(listed.stdout)).toMatchObject([{ instance: String(id), verdict: 'orphan', what }]);
  expect(await gpuRent('label', 'instance', 'ID', '', '--force')).toMatchObject({ exitCode: 0 });
  expect(machine()?.label).toBeNull();
  expect(await gpuRent('import', 'ID', '--account', 'default', '-n', 'team', '--apply')).toMatchObject({
    exitCode: 0,
    stderr: '',
  });
});

test('or it is destroyed', async () => {
  id = await here.labelledMachine('11111111-2222-3333-4444-555555555555');
  expect(await gpuRent('stop', 'instance', 'ID', '--force')).toMatchObject({ exitCode: 0 });
  expect(await gpuRent('destroy', 'instance', 'ID', '--force', '--yes')).toMatchObject({ exitCode: 0 });
  expect(machine()).toBeUndefined();
});
