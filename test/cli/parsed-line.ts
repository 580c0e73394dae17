import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { catalog } from '../../src/cli/catalog.ts';
import { locate } from '../../src/cli/locate.ts';
import { runCommand } from '../../src/cli/run-command.ts';

const entries = catalog.flatMap((group) => group.entries);
const words = (line: string): string[] =>
  [...line.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(
    ([, single, double, bare]) => single ?? double ?? bare ?? '',
  );

/** Parses the gpu-rent part of a shell line, and runs nothing. */
export async function parsedLine(line: string) {
  const [part = ''] = /gpu-rent [^|>)#]*/.exec(line) ?? [];
  const located = locate(entries, words(part).slice(1));
  if (located.type !== 'command') return { name: undefined, code: 2, shown: 'names no command' };
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const command = await located.entry.load();
  const entry = { ...located.entry, load: async () => ({ ...command, run: async () => 0 }) };
  const context = { stdout, stderr, stdin: new PassThrough(), env: {}, signal: new AbortController().signal };
  const code = await runCommand(entry, located.rest, { calledAs: 'gpu-rent', context });
  const shown = (await text(stdout.end())) + (await text(stderr.end()));
  return { name: located.entry.name, code, shown };
}
