import { afterAll, beforeAll, expect, test } from 'vitest';
import { type MarketplaceBench, marketplaceBench } from './marketplace.ts';

/* What is lost for ever is asked about at a terminal, before anything is sent. */

let bench: MarketplaceBench;
beforeAll(async () => {
  bench = await marketplaceBench();
});
afterAll(() => bench.close());

const COMMANDS = [
  ['delete volume 12 13', 'Delete volume 12, 13 with everything on it?'],
  ['delete endpoint 12', 'Delete endpoint 12 with its worker groups?'],
  ['delete api-key 12', 'Delete api-key 12? Calls with it are refused from then on.'],
  ['recycle instance 12', 'Recycle instance 12? The files of its container are lost.'],
  ['delete ssh-key 12', 'Delete ssh-key 12? Machines that are rented from then on do not have it.'],
  ['delete workergroup 12', 'Delete workergroup 12?'],
] as const;

test.each([...COMMANDS.map(([line]) => line), 'delete secret ONE', 'reset identity'])(
  'F10: %s sends nothing without a terminal and --yes',
  async (line) => {
    const { exitCode, stderr } = await bench.cli.run(line.split(' '), { stdin: 'y\n' });
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(/Nothing was done: stdin is no terminal.*\nWhat to do: Give --yes\./);
  },
);

test.each(COMMANDS)('%s: a no sends nothing', async (line, question) => {
  const terminal = bench.cli.atTerminal([...line.split(' '), '--no-color']);
  await terminal.until(`${question} [y/N]`);
  terminal.type('n');
  expect(await terminal.ended).toBe(1);
  expect(terminal.shown()).toContain('Nothing was done.');
});

test.each(COMMANDS)('%s: a yes sends it, and so does --yes', async (line, question) => {
  const asked = bench.cli.atTerminal([...line.split(' '), '--no-color']);
  await asked.until(question);
  asked.type('y');
  expect(await asked.ended).toBe(3);
  const told = bench.cli.atTerminal([...line.split(' '), '--yes', '--no-color']);
  expect(await told.ended).toBe(3);
  expect(told.shown()).not.toContain(question);
});
