import type { CatalogEntry, CatalogGroup } from './command.ts';
import { nearest } from './nearest.ts';

/** Help of the whole program: every command under its heading. */
export function rootHelp(groups: readonly CatalogGroup[], calledAs: string): string {
  const width = Math.max(...groups.flatMap(({ entries }) => entries.map(({ name }) => name.length)));
  const sections = groups.map(({ heading, entries }) => `${heading}:\n${listing(entries, width)}`);
  return [
    'Rent GPU machines on Kubernetes, and talk to their marketplace.\n',
    `Usage: ${calledAs} <command> [arguments] [options]\n`,
    ...sections,
    `${calledAs} <command> --help shows what a command takes. A cluster object is written kind/name (gpui/x,`,
    'epg/x, gpuacct/x); a bare number is an id of the marketplace.\n',
  ].join('\n');
}

/** Help of one verb: the nouns it takes. */
export function groupHelp(entries: readonly CatalogEntry[], verb: string, calledAs: string): string {
  const nouns = entries.filter(({ name }) => name.startsWith(`${verb} `));
  const width = Math.max(...nouns.map(({ name }) => name.length));
  return `Usage: ${calledAs} ${verb} <what> [arguments] [options]\n\n${listing(nouns, width)}`;
}

function listing(entries: readonly CatalogEntry[], width: number): string {
  return entries.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}\n`).join('');
}

/** What was probably meant: a command by its two words, or by its first alone. */
export function nearestCommand(
  entries: readonly CatalogEntry[],
  words: readonly string[],
): string | undefined {
  const names = entries.flatMap(({ name, aliases = [] }) => [name, ...aliases]);
  return nearest(words.slice(0, 2).join(' '), names) ?? nearest(words[0] ?? '', names);
}
