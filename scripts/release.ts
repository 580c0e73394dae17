/**
 * `npm run release -- STEP`: one step of a release. The release workflow runs `image`, `charts`, `verify`,
 * `package` and `command-line`; `make release-rehearsal` runs them with a local registry and a key of its own.
 */
import { join } from 'node:path';
import packageJson from '../package.json' with { type: 'json' };
import { releaseCharts } from './release/charts.ts';
import { releaseCommandLine } from './release/command-line.ts';
import { releaseImage } from './release/image.ts';
import { releasePackage } from './release/package.ts';
import { openPrograms } from './release/programs.ts';
import type { Release } from './release/release.ts';
import { releaseSettings, requireTag } from './release/settings.ts';
import { verifyRelease } from './release/verify.ts';

const repository = join(import.meta.dirname, '..');
const { env } = process;
const { version } = packageJson;

const publishing =
  (step: (release: Release) => Promise<string>): (() => Promise<string>) =>
  async () => {
    const settings = releaseSettings(env, version);
    return step({ settings, programs: await openPrograms(env), repository, env });
  };

/** In the order in which they run. */
const STEPS: Readonly<Record<string, () => string | Promise<string>>> = {
  image: publishing(releaseImage),
  charts: publishing(releaseCharts),
  verify: publishing(verifyRelease),
  package: () => {
    requireTag(env, version);
    return releasePackage(repository, env);
  },
  'command-line': () => {
    requireTag(env, version);
    return releaseCommandLine(repository, { version, env });
  },
};

async function main(name: string, rest: readonly string[]): Promise<void> {
  const step = STEPS[name];
  if (step === undefined || rest.length > 0) {
    process.stderr.write(`usage: npm run release -- ${Object.keys(STEPS).join('|')}\n`);
    process.exitCode = 2;
    return;
  }
  try {
    process.stdout.write(`release ${name}: ${await step()}\n`);
  } catch (error) {
    process.stderr.write(`release ${name}: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  }
}

await main(process.argv[2] ?? '', process.argv.slice(3));
