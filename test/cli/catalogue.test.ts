import { describe, expect, test } from 'vitest';
import { reasonHelp } from '../../scripts/generate/reason-causes.ts';
import { catalog } from '../../src/cli/catalog.ts';
import { spellings } from '../../src/cli/locate.ts';
import { optionsOf } from '../../src/cli/options/option-sets.ts';
import { codeBlocks } from '../docs/code-blocks.ts';
import { commandLine } from './command-line.ts';
import { parsedLine } from './parsed-line.ts';

/* What holds for every command, so that a new one is as the others. */

const entries = catalog.flatMap((group) => group.entries);

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
    // The server for agents writes a protocol, which has one form.
    const output = entry.name === 'mcp' ? [] : ['--raw'];
    expect(flags).toEqual(expect.arrayContaining(['--url', '--retry', '--explain', '--api-key', ...output]));
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
      expect({ example, ...(await parsedLine(example)) }).toEqual({
        example,
        name: entry.name,
        code: 0,
        shown: '',
      });
    }
  });
});

describe.each([
  'docs/how-to/cli.md',
  'docs/tutorials/first-machine.md',
  'docs/how-to/install.md',
  'docs/how-to/recovery.md',
  'docs/how-to/simulator.md',
])('%s', (page) => {
  test('shows only command lines that the parser takes', async () => {
    const typed = codeBlocks(page).flatMap((block) => block.text.match(/^(\$ )?gpu-rent .*$/gm) ?? []);
    for (const line of typed)
      expect({ line, ...(await parsedLine(line)) }).toMatchObject({ line, code: 0, shown: '' });
  });
});

test('the page of reasons names only commands that the parser takes', async () => {
  const commands = Object.values(reasonHelp).flatMap(({ causes }) => causes.map(([, command]) => command));
  const typed = [...new Set(commands.filter((command) => command.startsWith('gpu-rent ')))];
  expect(typed.length).toBeGreaterThan(15);
  for (const line of typed)
    expect({ line, ...(await parsedLine(line)) }).toMatchObject({ line, code: 0, shown: '' });
});

test('no two commands or aliases have one name', () => {
  const names = entries.flatMap(({ name, aliases = [] }) => [name, ...aliases]);
  expect(names).toEqual([...new Set(names)]);
});
