import { globSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { operatorPolicies } from '../../scripts/generate/admission/operator-policies.ts';
import { REPOSITORY } from '../../scripts/generate/artifact.ts';
import { alerts, runbookName } from '../../scripts/generate/monitoring/alerts.ts';
import { definitions } from '../../src/api/v1alpha1/definitions.ts';
import { reasons } from '../../src/api/v1alpha1/reasons.ts';

/* Counts and lists that texts name, compared with what they count. */

const read = (path: string): string => readFileSync(join(REPOSITORY, path), 'utf8');
const folders = (path: string): readonly string[] =>
  readdirSync(join(REPOSITORY, path), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);

const NUMBERS = ['zero', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten'];
const TEENS = ['eleven', 'twelve', 'thirteen', 'fourteen', 'fifteen', 'sixteen', 'seventeen', 'eighteen'];
const numberOf = (word: string): number => [...NUMBERS, ...TEENS].indexOf(word.toLowerCase());

const packages = Object.keys(JSON.parse(read('package.json')).dependencies).length;
const COUNTS: readonly (readonly [page: string, pattern: RegExp, count: number])[] = [
  ['docs/internals/dependencies.md', /(\w+) packages run in production/, packages],
  ['docs/concepts/threat-model.md', /(\w+) runtime packages/, packages],
  ['docs/concepts/capabilities.md', /(\w+) overlays each/, folders('deploy/overlays').length],
  ['docs/concepts/capabilities.md', /all (\w+) kinds/, definitions.length],
  ['docs/internals/releasing.md', /(\w+) Helm charts/, folders('charts').length],
  ['docs/how-to/access.md', /(\w+) policies limit the ServiceAccounts/, operatorPolicies.length],
];

test.for(COUNTS)('%s counts %s as there are', ([page, pattern, count]) => {
  expect(numberOf(pattern.exec(read(page))?.[1] ?? '')).toBe(count);
});

test('a number word has its value', () => {
  expect(['three', 'Sixteen', 'several'].map(numberOf)).toEqual([3, 16, -1]);
});

describe('a list', () => {
  test('of the policies that limit the operator names each on the page about access', () => {
    const text = read('docs/how-to/access.md');
    expect(operatorPolicies.filter(({ suffix }) => !text.includes(`-${suffix}`))).toEqual([]);
  });

  test('of the kinds is complete in the README, with their short names', () => {
    const rows = [...read('README.md').matchAll(/^\| `([A-Z]\w+)` \| `(\w+)` \|/gm)];
    const kinds = definitions.map(({ names: { kind, shortNames } }) => `${kind} ${shortNames.join()}`);
    expect(rows.map(([, kind, short]) => `${kind} ${short}`)).toEqual(kinds);
  });

  test('of the kinds is complete in the change notes of the first release', () => {
    const text = read('CHANGELOG.md');
    expect(definitions.filter(({ names: { kind } }) => !text.includes(kind))).toEqual([]);
  });

  test('of the reasons links each one once in the index', () => {
    const linked = [...read('docs/reference/reasons.md').matchAll(/\[(\w+)\]\(reasons-\w+\.md#\w+\)/g)];
    const byName = (left: string, right: string): number => left.localeCompare(right, 'en');
    expect(linked.map(([, name = '']) => name).toSorted(byName)).toEqual(
      Object.keys(reasons).toSorted(byName),
    );
  });

  test('of the alerts has a runbook for each, and no other', () => {
    const pages = globSync('gpurental*.md', { cwd: join(REPOSITORY, 'docs/runbooks') });
    expect(pages.toSorted()).toEqual(alerts.map(runbookName).toSorted());
  });

  test('of the alerts has a row for each in the reference of the metrics', () => {
    const text = read('docs/reference/metrics.md');
    expect(alerts.filter(({ alert }) => !text.includes(`[${alert}](`)).map(({ alert }) => alert)).toEqual([]);
  });

  test('of the layers has each folder of src in the architecture', () => {
    const layers = read('docs/internals/architecture.md').split('## Layers')[1]?.split('\n\n')[2] ?? '';
    expect(folders('src').filter((folder) => !layers.includes(`src/${folder}`))).toEqual([]);
  });

  test('of the folders has each folder of src on the page of the repository', () => {
    const text = read('AGENTS.md');
    const named = text.match(/`src\/\w+/g)?.map((path) => path.slice('`src/'.length)) ?? [];
    expect(folders('src').filter((folder) => !named.includes(folder))).toEqual([]);
  });
});
