/**
 * Lists, as JSON, the places of `src` that parse a text and that no seed of a fuzz target reaches: `file: call`, once
 * for each place. A process of its own, since it looks at coverage of the sources as they are written.
 */
import { readdirSync, readFileSync } from 'node:fs';
import type { Profiler } from 'node:inspector';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Coverage } from './coverage.ts';

const ROOT = join(import.meta.dirname, '../..');
/** Calls that make values of texts which others may have written. */
const PARSING = /JSON\.parse|\.safeParse|parseAllDocuments|Buffer\.from(?=\([^;\n]*, 'base64(?:url)?'\))/g;

const coverage = new Coverage();
await coverage.start();
const { TARGETS } = await import('./targets.ts');
for (const { seeds, run } of TARGETS) for (const seed of seeds) await run(seed);
const scripts = new Map((await coverage.scripts()).map((script) => [script.url, script]));

/** Returns true if the innermost block around a place has run. */
function hasRun({ functions }: Profiler.ScriptCoverage, offset: number): boolean {
  const around = functions
    .flatMap(({ ranges }) => ranges)
    .filter(({ startOffset, endOffset }) => startOffset <= offset && offset < endOffset);
  const innermost = around.toSorted((a, b) => a.endOffset - a.startOffset - (b.endOffset - b.startOffset))[0];
  return innermost !== undefined && innermost.count > 0;
}

function notReached(file: string): readonly string[] {
  const path = join(ROOT, 'src', file);
  const places = [...readFileSync(path, 'utf8').matchAll(PARSING)];
  const script = scripts.get(pathToFileURL(path).href);
  return places
    .filter(({ index, input }) => !isComment(input, index) && !(script && hasRun(script, index)))
    .map(([call]) => `src/${file}: ${call}`);
}

const isComment = (text: string, at: number): boolean =>
  /^\s*(\*|\/\/|\/\*)|^import /.test(text.slice(text.lastIndexOf('\n', at) + 1));

const files = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' });
const sources = files.filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'));
process.stdout.write(JSON.stringify(sources.sort().flatMap(notReached)));
