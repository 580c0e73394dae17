import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';

const ROOT = join(import.meta.dirname, '..', '..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

const manifest = z
  .looseObject({ dependencies: z.record(z.string(), z.string()) })
  .parse(JSON.parse(read('package.json')));
const locked = z
  .looseObject({
    packages: z.record(
      z.string(),
      z.looseObject({
        version: z.string().optional(),
        integrity: z.string().optional(),
        license: z.string().optional(),
        hasInstallScript: z.boolean().optional(),
        dev: z.boolean().optional(),
        link: z.boolean().optional(),
        optional: z.boolean().optional(),
      }),
    ),
  })
  .parse(JSON.parse(read('package-lock.json'))).packages;

const names = Object.keys(manifest.dependencies);
const LICENCES = [
  'MIT',
  '0BSD',
  'Apache-2.0',
  'ISC',
  'BSD-3-Clause',
  'Unlicense',
  'PSF-2.0',
  '(Apache-2.0 AND BSD-3-Clause)',
];
/** Runtime packages and their dependencies; a link is the pinned Node of `tools`, and the bundle has no optional ones. */
const shipped = Object.entries(locked).filter(
  ([path, { dev, link, optional }]) =>
    path.startsWith('node_modules/') && dev !== true && link !== true && optional !== true,
);

const WORDS = ['Fourteen', 'Fifteen', 'Sixteen', 'Seventeen'];

test('at most seventeen packages run in production, as many as the page says', () => {
  const [said = ''] = /\w+(?= packages run in production)/.exec(read('docs/internals/dependencies.md')) ?? [];
  expect(names).toHaveLength(WORDS.indexOf(said) + 14);
});

test('R10: each package has a row in the decision on runtime dependencies, and no other has', () => {
  const decided = read('docs/internals/decisions/0004-runtime-dependencies.md').matchAll(/^\| `([^`]+)`/gm);
  expect([...decided].map(([, name]) => name).toSorted()).toEqual(names.toSorted());
});

test.for(names)('%s has an exact version and a reason in the page of dependencies', (name) => {
  expect(manifest.dependencies[name]).toMatch(/^\d+\.\d+\.\d+$/);
  expect(locked[`node_modules/${name}`]?.version).toBe(manifest.dependencies[name]);
  const rows = read('docs/internals/dependencies.md')
    .split('\n')
    .filter((line) => line.startsWith('|') && line.includes(`\`${name}\` |`));
  expect(rows).toHaveLength(1);
});

/** Development packages whose part is in the bundle, with the only licence that they may have. */
const BUNDLED = [
  'preact',
  '@preact/signals',
  '@preact/signals-core',
  '@modelcontextprotocol/sdk',
  'ajv',
  'ajv-formats',
  'fast-deep-equal',
  'fast-uri',
  'json-schema-traverse',
  'zod-to-json-schema',
];

test.for(BUNDLED)(
  '%s, which is bundled from the development packages, has a hash and a licence that is allowed',
  (name) => {
    const { integrity, license = '' } = locked[`node_modules/${name}`] ?? {};
    expect(integrity).toBeDefined();
    expect(LICENCES).toContain(license);
  },
);

test.for(['@modelcontextprotocol/sdk', 'preact', '@preact/signals'])(
  'the page of dependencies gives the reason for %s, which is bundled from the development packages',
  (name) => {
    expect(read('docs/internals/dependencies.md')).toContain(`| \`${name}\` |`);
  },
);

/**
 * Packages whose script compares version ranges and prints, or compiles native code that is optional; `.npmrc` disables
 * all of them.
 */
const HARMLESS_SCRIPTS = ['node_modules/protobufjs', 'node_modules/ssh2'];

test('nothing that ships runs a script at its installation', () => {
  expect(
    shipped.flatMap(([path, { hasInstallScript }]) => (hasInstallScript === true ? [path] : [])),
  ).toEqual(HARMLESS_SCRIPTS);
});

/** Licences of packages whose manifest names them in a form that lockfiles do not have. */
const LICENCE_FILES: Readonly<Record<string, string>> = { 'node_modules/ssh2': 'MIT' };

test('everything that ships has a hash and a licence that is allowed', () => {
  expect(shipped.length).toBeGreaterThan(names.length);
  const unproven = shipped.filter(
    ([path, { integrity, license = LICENCE_FILES[path] ?? '' }]) =>
      integrity === undefined || !LICENCES.includes(license),
  );
  expect(unproven.map(([path]) => path)).toEqual([]);
});
