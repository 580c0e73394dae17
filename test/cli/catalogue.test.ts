import { describe, expect, test } from 'vitest';
import { catalog } from '../../src/cli/catalog.ts';
import { locate, spellings } from '../../src/cli/locate.ts';
import { optionsOf } from '../../src/cli/option-sets.ts';
import { runCommand } from '../../src/cli/run-command.ts';
import { commandLine } from './command-line.ts';

/* What holds for every command, so that a new one is as the others. */

const entries = catalog.flatMap((group) => group.entries);
const words = (line: string): string[] =>
  [...line.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(
    ([, single, double, bare]) => single ?? double ?? bare ?? '',
  );

describe.each(entries)('gpu-rent $name', (entry) => {
  test('is what the catalogue says', async () => {
    const command = await entry.load();
    expect({ name: command.name, summary: command.summary }).toEqual({
      name: entry.name,
      summary: entry.summary,
    });
    expect(command.summary).toMatch(/^[A-Z].*[.?]$/);
  });

  test('has options of one spelling each, and each says what it is', async () => {
    const options = optionsOf(await entry.load());
    const flags = options.flatMap(spellings);
    expect(flags).toEqual([...new Set(flags)]);
    for (const { description } of options) expect(description).toMatch(/\.( \(.*\))?$|[a-z0-9)]$/);
  });

  test('shows its help without loading anything that fails', async () => {
    const cli = commandLine();
    const { exitCode, stdout } = await cli.run([...entry.name.split(' '), '--help']);
    expect(exitCode).toBe(0);
    expect(stdout).toContain(`Usage: gpu-rent ${entry.name}`);
    cli.leave();
  });

  test('has examples that its own parser takes', async () => {
    const command = await entry.load();
    for (const example of command.examples ?? []) {
      const [line = ''] = /gpu-rent [^|>)]*/.exec(example) ?? [];
      const located = locate(entries, words(line).slice(1));
      if (located.type !== 'command') throw new Error(`${example}: names no command`);
      expect(located.entry.name).toBe(entry.name);
      const said: string[] = [];
      const write = (text: string) => said.push(text) > 0;
      const context = {
        ...{ stdout: { write }, stderr: { write }, stdin: undefined },
        ...{ env: {}, signal: new AbortController().signal },
      } as never;
      const ran = await runCommand({ ...command, run: async () => 0 }, located.rest, {
        calledAs: 'gpu-rent',
        context,
      });
      expect({ example, ran, said }).toEqual({ example, ran: 0, said: [] });
    }
  });
});

test('no two commands or aliases have one name', () => {
  const names = entries.flatMap(({ name, aliases = [] }) => [name, ...aliases]);
  expect(names).toEqual([...new Set(names)]);
});
