import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { catalog } from '../../src/cli/catalog.ts';
import { locate } from '../../src/cli/locate.ts';
import { type Desk, desk } from './desk.ts';

/* A command that does not exist, and a kind that is spelt as kubectl spells it. */

let here: Desk;
beforeAll(async () => {
  here = await desk();
  here.account('x');
  here.put('gpuinstances', {
    metadata: { name: 'x' },
    spec: { image: 'x', offers: [{ maxPricePerHour: '1' }] },
  });
  here.put('endpointgroups', {
    metadata: { name: 'x' },
    spec: { template: { spec: { image: 'x', offers: [{ maxPricePerHour: '1' }] } } },
  });
});
afterAll(() => here.close());

const gpuRent = (line: string) => here.cluster.cli.run(line.split(' '));
const entries = catalog.flatMap((group) => group.entries);

test.each([
  ['lst instances', 'Did you mean: gpu-rent list instances?'],
  ['list instnces', 'Did you mean: gpu-rent list instances?'],
  ['create endpont', 'Did you mean: gpu-rent create endpoint?'],
  ['tfa logn', 'Did you mean: gpu-rent tfa login?'],
  ['avoid ad host/1', 'Did you mean: gpu-rent avoid add?'],
  ['show offers', 'Did you mean: gpu-rent search offers?'],
  ['rent instance 5', 'Did you mean: gpu-rent create instance?'],
  ['delete instance 5', 'Did you mean: gpu-rent destroy instance?'],
  ['rm instance 5', 'Did you mean: gpu-rent destroy instance?'],
  ['rm volume 5', 'Did you mean: gpu-rent delete volume?'],
  ['terminate instance 5', 'Did you mean: gpu-rent destroy instance?'],
  [
    'rename instance 5',
    'gpu-rent can create, show, start, stop, reboot, recycle, label or destroy instance.',
  ],
  ['create foo', 'gpu-rent create takes: instance, endpoint, workergroup, api-key, ssh-key, secret.'],
  ['reset foo', 'gpu-rent reset takes: identity.'],
  ['delete gpui/x', 'kubectl delete ends an object and its machine.'],
  ['create gpuinstance x', 'gpu-rent run creates a GpuInstance, and kubectl apply -f FILE any object.'],
  ['get gpuinstances', 'kubectl get lists objects, and gpu-rent status shows everything about one.'],
  ['describe gpui/x', 'gpu-rent status shows everything about one object.'],
  ['suspend gpui/x', 'gpu-rent pause keeps an object from renting, and gpu-rent stop stops its machine.'],
  ['frobnicate it', 'gpu-rent --help lists the commands.'],
])('%s is unknown, and what was meant is named', async (line, remedy) => {
  const { exitCode, stdout, stderr } = await gpuRent(line);
  expect({ exitCode, stdout, stderr }).toEqual({
    ...{ exitCode: 2, stdout: '' },
    stderr: `Error: Unknown command "${line.split(' ').slice(0, 2).join(' ')}".\nWhat to do: ${remedy}\n`,
  });
});

test.each(
  entries
    .flatMap(({ name }) => (name.includes(' ') ? [name.split(' ')[0] ?? ''] : []))
    .filter((verb) => !entries.some(({ name }) => name === verb)),
)('%s without a noun lists its nouns, and with another one names some', async (verb) => {
  expect((await gpuRent(verb)).stderr).toContain(`Usage: gpu-rent ${verb} <what>`);
  const { exitCode, stderr } = await gpuRent(`${verb} qqqqqqqq`);
  expect({ exitCode, stderr }).toEqual({
    exitCode: 2,
    stderr: expect.stringContaining(`gpu-rent ${verb} takes: `),
  });
});

/** Every spelling that kubectl takes for our kinds. */
const SPELLINGS = {
  gpui: [
    'gpui',
    'gpuinstance',
    'gpuinstances',
    'GpuInstance',
    'GPUINSTANCES',
    'gpuinstances.gpurental.dev',
    'gpuinstances.v1alpha1.gpurental.dev',
  ],
  epg: [
    'epg',
    'endpointgroup',
    'endpointgroups',
    'EndpointGroup',
    'endpointgroups.gpurental.dev',
    'endpointgroups.v1alpha1.gpurental.dev',
  ],
  gpuacct: [
    'gpuacct',
    'marketplaceaccount',
    'marketplaceaccounts',
    'MarketplaceAccount',
    'marketplaceaccounts.gpurental.dev',
    'marketplaceaccounts.v1alpha1.gpurental.dev',
  ],
};

describe.each(Object.entries(SPELLINGS))('%s', (kind, spellings) => {
  const taking = entries.filter(({ name }) => !name.includes(' '));

  test.each(spellings)(
    'is also spelt %s, before a slash and as a word of its own, in each command that takes it',
    async (spelt) => {
      let asked = 0;
      for (const { name, load } of taking) {
        const [first] = (await load()).args ?? [];
        if (!first || !new RegExp(`\\b${kind}/name`).test(first.description)) continue;
        asked += 1;
        for (const words of [[`${spelt}/x`], [spelt, 'x']]) {
          const { stderr } = await here.cluster.cli.run([name, ...words, '--bogus']);
          expect({ name, stderr }).toEqual({
            name,
            stderr: expect.stringContaining("unknown option '--bogus'"),
          });
          const located = locate(entries, [name, ...words]);
          expect({ words, entry: located.type === 'command' && located.entry.name.split(' ')[0] }).toEqual({
            words,
            entry: name,
          });
        }
      }
      expect(asked).toBeGreaterThan(2);
    },
  );

  test.each(spellings)('status takes %s', async (spelt) => {
    for (const words of [`${spelt}/x`, `${spelt} x`])
      expect(await gpuRent(`status ${words}`)).toMatchObject({
        exitCode: 0,
        stdout: expect.stringContaining(`${kind}/x`),
      });
  });
});

test.each([
  ...SPELLINGS.gpuacct.flatMap((kind) => [
    `suspend ${kind} x`,
    `suspend ${kind}/x`,
    `resume ${kind} x`,
    `resume ${kind}/x`,
  ]),
  ...['account', 'accounts'].map((noun) => `suspend ${noun} x`),
  ...SPELLINGS.gpui.map((kind) => `top ${kind} --once`),
  ...SPELLINGS.epg.map((kind) => `top ${kind} --once`),
  ...SPELLINGS.gpui.map((kind) => `wait ${kind} -l none=here --for delete`),
])('%s is taken', async (line) => {
  expect(await gpuRent(line)).toMatchObject({ exitCode: 0 });
});

test.each(SPELLINGS.epg)('simulate %s is simulate epg', (kind) => {
  expect(locate(entries, ['simulate', kind, '-f', 'x'])).toMatchObject({
    type: 'command',
    entry: { name: 'simulate epg' },
    rest: ['-f', 'x'],
  });
});

test.each([
  ['stop 5', 'stop instance'],
  ['start instance trainer 5', undefined],
  ['restart instance 5', 'reboot instance'],
  ['replace 5 --yes', 'destroy instance'],
])('%s: an id where an object belongs leads to the command for ids', async (line, command) => {
  const { exitCode, stderr } = await gpuRent(line);
  const expected =
    command === undefined
      ? 'instance: "trainer" is not a whole number of at least 0.\nWhat to do: gpu-rent list instances shows the ids.'
      : `"5" is an id of the marketplace, and no object.\nWhat to do: Write gpui/name; for the machine with that id: gpu-rent ${command} 5`;
  expect({ exitCode, stderr }).toEqual({ exitCode: 2, stderr: `Error: ${expected}\n` });
});

test.each([
  ['create instance x', 'gpu-rent search offers'],
  ['rent volume x', 'gpu-rent search volumes'],
  ['get endpoint x', 'gpu-rent list endpoints'],
  ['delete ssh-key x', 'gpu-rent list ssh-keys'],
  ['delete workergroup x', 'gpu-rent list workergroups'],
  ['show api-key x', 'gpu-rent list api-keys'],
  ['change bid gpui/x', 'gpu-rent list instances'],
  ['import trainer', 'gpu-rent list instances'],
  ['tfa update x --label y', 'gpu-rent tfa status'],
])('%s names the command that shows ids', async (line, command) => {
  const { exitCode, stderr } = await gpuRent(line);
  expect({ exitCode, stderr }).toEqual({
    exitCode: 2,
    stderr: expect.stringContaining(`What to do: ${command} shows the ids.`),
  });
});
