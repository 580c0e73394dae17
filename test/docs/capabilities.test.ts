import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { REPOSITORY } from '../../scripts/generate/artifact.ts';
import { catalog } from '../../src/cli/catalog.ts';
import { FAULTS } from '../../src/simulator/fault-catalogue.ts';

/* P7, M3, R10: what the documents say is here or not here is held to commands, alerts and tests. */

const read = (path: string): string => readFileSync(join(REPOSITORY, path), 'utf8');
const page = read('docs/concepts/capabilities.md');
const rows = page
  .split('\n')
  .filter((line) => line.startsWith('| '))
  .map((line) =>
    line
      .slice(2, -2)
      .split(' | ')
      .map((cell) => cell.trim()),
  );

const commands = new Set(
  catalog.flatMap(({ entries }) => entries.flatMap(({ name, aliases = [] }) => [name, ...aliases])),
);
const rules = read('deploy/components/monitoring/prometheus-rule.yaml');
const alerts = [...rules.matchAll(/alert: GpuRental(\w+)/g)].map(([, name = '']) =>
  name.split(/(?=[A-Z])/).map((word) => word.toLowerCase()),
);

/** Clauses such as "no command for force" of all cells. */
const denials = rows
  .flat()
  .flatMap((cell) => cell.split(/[;,] /))
  .filter((clause) => clause.startsWith('no '));

/** Returns the existing command or alert that a denial contradicts. */
function contradiction(denial: string): string | undefined {
  const words = denial
    .replaceAll('`', '')
    .split(/[\s/]+/)
    .slice(1);
  if (words.includes('alert') || words.includes('alerts')) {
    const subject = words.filter((word) => word.length > 4 && !word.startsWith('alert'));
    const alert = alerts.find((name) => name.some((word) => subject.includes(word)));
    return alert && `there is an alert: GpuRental ${alert.join(' ')}`;
  }
  const command = words.find((word) => commands.has(word));
  return command && `there is a command: gpu-rent ${command}`;
}

describe('docs/concepts/capabilities.md', () => {
  test('P7: denies no command and no alert that there is', () => {
    expect(denials.length).toBeGreaterThan(3);
    const wrong = denials.flatMap((denial) => {
      const why = contradiction(denial);
      return why ? [`${denial}: ${why}`] : [];
    });
    expect(wrong).toEqual([]);
  });

  test.each(['no command for hold and force', 'no `wake` command', 'no alert on credit that runs out'])(
    'P7: a wrong denial is found: %s',
    (denial) => {
      expect(contradiction(denial)).toContain('there is');
    },
  );

  test('names tests that exist', () => {
    const named = rows.flatMap((cells) => [...(cells.at(-1) ?? '').matchAll(/`((?:test|src)\/[\w./*-]+)`/g)]);
    expect(named.length).toBeGreaterThan(30);
    const files = globSync(['{test,src}/**/*.test.ts', 'test/*/main.ts'], { cwd: REPOSITORY });
    const missing = named
      .map(([, path = '']) => path)
      .filter((path) => {
        const pattern = new RegExp(`^${path.replaceAll('.', '\\.').replaceAll('*', '[^/]*')}`);
        return !files.some((file) => pattern.test(file));
      });
    expect(missing).toEqual([]);
  });
});

const NUMBERS =
  'one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty'.split(
    ' ',
  );
const asNumber = (text: string): number => NUMBERS.indexOf(text.toLowerCase()) + 1 || Number(text);

test('R10: every page counts the runtime packages as package.json does', () => {
  const { dependencies } = JSON.parse(read('package.json')) as { dependencies: Record<string, string> };
  const pages = globSync(['*.md', 'docs/**/*.md', 'charts/*/README.md'], { cwd: REPOSITORY });
  const counted = pages.flatMap((path) =>
    [...read(path).matchAll(/\b(\w+) (?:runtime packages|runtime dependencies|packages run in production)/gi)]
      .map(([, count = '']) => ({ path, count: asNumber(count) }))
      .filter(({ count }) => Number.isFinite(count)),
  );
  expect(counted.length).toBeGreaterThan(1);
  const right = Object.keys(dependencies).length;
  expect(counted.filter(({ count }) => count !== right)).toEqual([]);
});

test('R10: pages that say "fifty faults" are right within ten', () => {
  const number = Object.keys(FAULTS).length;
  const pages = ['docs/concepts/capabilities.md', 'docs/tutorials/playground.md'];
  for (const path of pages) expect(read(path)).toMatch(/fifty (?:other )?faults/);
  expect(Math.abs(number - 50)).toBeLessThanOrEqual(10);
});
