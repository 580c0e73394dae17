import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { buildPage } from '../../src/ui/build-page.ts';

const page = await buildPage({ minify: true });

test('script and style of the page have at most 100 kB, packed', () => {
  expect(gzipSync(page.script).length + gzipSync(page.style).length).toBeLessThanOrEqual(100_000);
});

test('the page contains no other package than those of the page of dependencies', () => {
  const packages = page.inputs.flatMap((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? []);
  expect([...new Set(packages)].toSorted()).toEqual(['@preact/signals', '@preact/signals-core', 'preact']);
});

test('the page contains no code of the command line, the controllers or a client of a market', () => {
  const foreign = page.inputs.filter((path) =>
    /^src\/(cli|controllers|accounts|markets|server|gateway|main)\b/.test(path),
  );
  expect(foreign).toEqual([]);
});

test('the page compiles no code at run time, which its policy forbids', () => {
  expect(page.script).not.toMatch(/new Function|\beval\(/);
});
