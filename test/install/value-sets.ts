import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { REPOSITORY } from '../../scripts/generate/artifact.ts';

const FOLDER = join(REPOSITORY, 'test/golden/chart');
const SUFFIX = '.values.yaml';

/** Values that stand for a way of using the chart; what they render is kept beside them. */
export interface ValueSet {
  readonly name: string;
  readonly valuesPath: string;
  readonly goldenPath: string;
}

export const valueSets: readonly ValueSet[] = readdirSync(FOLDER)
  .filter((file) => file.endsWith(SUFFIX))
  .map((file) => file.slice(0, -SUFFIX.length))
  .map((name) => ({
    name,
    valuesPath: join(FOLDER, name + SUFFIX),
    goldenPath: join(FOLDER, `${name}.golden.yaml`),
  }));
