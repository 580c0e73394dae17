/**
 * `npm run generate`: writes everything that derives from `src/api` and the operator's options.
 * With `--check` it writes nothing and exits 1 with the list of files that drifted.
 */
import { type Artifact, drifting, write } from './generate/artifact.ts';
import { customResourceArtifacts } from './generate/custom-resources.ts';
import { permissionArtifacts } from './generate/permissions.ts';
import { referenceArtifacts } from './generate/reference.ts';

const artifacts: readonly Artifact[] = [
  ...customResourceArtifacts(),
  ...permissionArtifacts(),
  ...referenceArtifacts(),
];

if (process.argv.includes('--check')) {
  const stale = drifting(artifacts);
  for (const path of stale) process.stderr.write(`${path} is not what the sources say\n`);
  if (stale.length > 0) process.stderr.write('Run `make generate` and commit the result.\n');
  process.exitCode = stale.length > 0 ? 1 : 0;
} else {
  for (const path of write(artifacts)) process.stdout.write(`${path}\n`);
}
