import type { CatalogEntry, CatalogGroup } from './catalog-entry.ts';

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

/** What was probably meant: the nearest command, where one is near. */
export function nearestCommand(
  entries: readonly CatalogEntry[],
  words: readonly string[],
): string | undefined {
  const typed = words.slice(0, 2).join(' ').toLowerCase();
  const candidates = entries.flatMap(({ name, aliases = [] }) => [name, ...aliases]);
  const ranked = candidates
    .map((name) => ({ name, distance: Math.min(distance(typed, name), distance(words[0] ?? '', name)) }))
    .sort((left, right) => left.distance - right.distance);
  const [best] = ranked;
  return best && best.distance <= Math.max(2, Math.floor(best.name.length / 3)) ? best.name : undefined;
}

/** Least number of characters added, removed or replaced (Levenshtein). */
function distance(left: string, right: string): number {
  let previous = Array.from({ length: right.length + 1 }, (_, at) => at);
  for (const [row, character] of [...left].entries()) {
    const current = [row + 1];
    for (const [at, other] of [...right].entries()) {
      const replaced = (previous[at] ?? 0) + (character === other ? 0 : 1);
      current.push(Math.min(replaced, (previous[at + 1] ?? 0) + 1, (current[at] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[right.length] ?? 0;
}
