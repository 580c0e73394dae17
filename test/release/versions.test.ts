import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { REPOSITORY } from '../../scripts/generate/artifact.ts';
import { version } from '../../scripts/generate/chart/chart-metadata.ts';

/** Places of the release version outside generated files, with the pattern around it. */
const PLACES: readonly (readonly [file: string, pattern: RegExp])[] = [
  ['CHANGELOG.md', /^## (\S+)$/m],
  ['deploy/base/deployment.yaml', /image: ghcr\.io\/\S+:(\S+)$/m],
  ['deploy/quickstart.yaml', /image: ghcr\.io\/\S+:(\S+)$/m],
  ['deploy/gitops/argo-cd/application.yaml', /targetRevision: (\S+)$/m],
  ['deploy/gitops/flux/kustomization.yaml', /tag: v(\S+)$/m],
  ['docs/how-to/install.md', /^cosign verify \S+:(\S+) /m],
  ['charts/gpu-rental-operator/Chart.yaml', /^appVersion: (\S+)$/m],
];

test.each(PLACES)('%s names the version of package.json', (file, pattern) => {
  expect(pattern.exec(readFileSync(join(REPOSITORY, file), 'utf8'))?.[1]).toBe(version);
});
