import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import { reasonHelp } from '../../scripts/generate/reason-causes.ts';
import { catalog } from '../../src/cli/catalog.ts';
import { locate, spellings } from '../../src/cli/locate.ts';
import { optionsOf } from '../../src/cli/options/option-sets.ts';
import { runCommand } from '../../src/cli/run-command.ts';
import { codeBlocks } from '../docs/code-blocks.ts';
import { commandLine } from './command-line.ts';

/* What holds for every command, so that a new one is as the others. */

const entries = catalog.flatMap((group) => group.entries);
const words = (line: string): string[] =>
  [...line.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(
    ([, single, double, bare]) => single ?? double ?? bare ?? '',
  );

/** Parses the gpu-rent part of a shell line, and runs nothing. */
async function parsed(line: string) {
  const [part = ''] = /gpu-rent [^|>)#]*/.exec(line) ?? [];
  const located = locate(entries, words(part).slice(1));
  if (located.type !== 'command') return { name: undefined, code: 2, said: 'names no command' };
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const command = await located.entry.load();
  const entry = { ...located.entry, load: async () => ({ ...command, run: async () => 0 }) };
  const context = { stdout, stderr, stdin: new PassThrough(), env: {}, signal: new AbortController().signal };
  const code = await runCommand(entry, located.rest, { calledAs: 'gpu-rent', context });
  const said = (await text(stdout.end())) + (await text(stderr.end()));
  return { name: located.entry.name, code, said };
}

describe.each(entries)('gpu-rent $name', (entry) => {
  test('has a summary that is one sentence', () => {
    expect(entry.summary).toMatch(/^[A-Z].*[.?]$/);
  });

  test('has options of one spelling each, and each says what it is', async () => {
    const options = optionsOf(await entry.load());
    const flags = options.flatMap(spellings);
    expect(flags).toEqual([...new Set(flags)]);
    for (const { description } of options) expect(description).toMatch(/\.( \(.*\))?$|[a-z0-9)]$/);
  });

  test('takes every global option of the specification where it calls the marketplace', async () => {
    const command = await entry.load();
    if (!command.optionSets?.includes('marketplace')) return;
    const flags = optionsOf(command).flatMap(spellings);
    expect(flags).toEqual(expect.arrayContaining(['--url', '--retry', '--raw', '--explain', '--api-key']));
  });

  test('shows its help without loading anything that fails', async () => {
    const cli = commandLine();
    const { exitCode, stdout } = await cli.run([...entry.name.split(' '), '--help']);
    expect(exitCode).toBe(0);
    const [usage, summary] = stdout.split('\n\n');
    expect(usage).toContain(`Usage: gpu-rent ${entry.name}`);
    expect(summary?.replaceAll('\n', ' '), 'F5: help begins with the summary').toBe(entry.summary);
    cli.leave();
  });

  test('has examples that its own parser takes', async () => {
    const { examples = [] } = await entry.load();
    for (const example of examples) {
      expect({ example, ...(await parsed(example)) }).toEqual({
        example,
        name: entry.name,
        code: 0,
        said: '',
      });
    }
  });
});

describe.each([
  'docs/how-to/cli.md',
  'docs/tutorials/first-machine.md',
  'docs/how-to/operations.md',
  'docs/how-to/simulator.md',
])('%s', (page) => {
  test('shows only command lines that the parser takes', async () => {
    const typed = codeBlocks(page).flatMap((block) => block.text.match(/^(\$ )?gpu-rent .*$/gm) ?? []);
    for (const line of typed)
      expect({ line, ...(await parsed(line)) }).toMatchObject({ line, code: 0, said: '' });
  });
});

test('the page of reasons names only commands that the parser takes', async () => {
  const commands = Object.values(reasonHelp).flatMap(({ causes }) => causes.map(([, command]) => command));
  const typed = [...new Set(commands.filter((command) => command.startsWith('gpu-rent ')))];
  expect(typed.length).toBeGreaterThan(15);
  for (const line of typed)
    expect({ line, ...(await parsed(line)) }).toMatchObject({ line, code: 0, said: '' });
});

test('no two commands or aliases have one name', () => {
  const names = entries.flatMap(({ name, aliases = [] }) => [name, ...aliases]);
  expect(names).toEqual([...new Set(names)]);
});
