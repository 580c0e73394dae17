import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import * as z from 'zod';
import type { ChartValues } from '../../scripts/generate/chart/value-tree.ts';
import { CHART } from './helm.ts';

const suiteFile = z.object({
  tests: z.array(z.object({ set: z.record(z.string(), z.unknown()).default({}) })),
});

function pathsIn(value: unknown, prefix: string): readonly string[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [prefix];
  return [prefix, ...Object.entries(value).flatMap(([key, inner]) => pathsIn(inner, `${prefix}.${key}`))];
}

/** Returns every value that a case of helm-unittest sets, by its path: `metrics.port`. */
export function valuesWithCases(): ReadonlySet<string> {
  const folder = join(CHART, 'tests');
  const suites = globSync('*_test.yaml', { cwd: folder }).map((file) =>
    suiteFile.parse(parse(readFileSync(join(folder, file), 'utf8'))),
  );
  const set = suites.flatMap(({ tests }) => tests.flatMap((one) => Object.entries(one.set)));
  return new Set(set.flatMap(([path, value]) => pathsIn(value, path)));
}

/** Returns every value of a chart, by its path. */
export function valuePaths(values: ChartValues, prefix = ''): readonly string[] {
  return Object.entries(values).flatMap(([name, node]) => {
    const path = `${prefix}${name}`;
    return node.type === 'value' ? [path] : valuePaths(node.members, `${path}.`);
  });
}
