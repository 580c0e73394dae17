import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { RELEASE_FOLDER, writePublished } from './record.ts';
import type { Release } from './release.ts';
import { makeSbom } from './sbom.ts';
import { attestArguments, signArguments } from './signing.ts';

/** Last line of scripts/image.ts. */
const built = z.looseObject({ digest: z.string() });

/** Builds the image for both platforms, pushes it, signs it and attaches its SBOM; the digest becomes an output of the job. */
export async function releaseImage({ settings, programs, repository, env }: Release): Promise<string> {
  const output = execFileSync(process.execPath, [join(repository, 'scripts/image.ts')], {
    cwd: repository,
    env: { ...env, IMAGE: settings.image, IMAGE_ENGINE: 'none' },
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const { digest } = built.parse(JSON.parse(output.trim().split('\n').at(-1) ?? ''));
  const sbom = makeSbom(repository, env);
  const tagged = `${settings.image}:${settings.version}`;
  await refuseOtherContent(programs.crane, tagged, digest);
  await programs.crane(['push', unpack(repository), tagged]);
  const pushed = (await programs.crane(['digest', tagged])).trim();
  if (pushed !== digest)
    throw new Error(`${tagged} was pushed as ${digest}, but the registry says ${pushed}`);
  const reference = `${settings.image}@${digest}`;
  await programs.cosign(signArguments(settings.signer, reference));
  await programs.cosign(attestArguments(settings.signer, reference, sbom));
  writePublished(repository, { image: { digest }, charts: [] });
  if (env['GITHUB_OUTPUT']) appendFileSync(env['GITHUB_OUTPUT'], `digest=${digest}\n`);
  return `${tagged}, ${digest}`;
}

/** Unpacks the layout: crane reads it as a folder; of a tar it reads Docker's part, which has one platform. */
function unpack(repository: string): string {
  const folder = join(repository, RELEASE_FOLDER, 'layout');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const args = ['--extract', '--file', join(repository, 'dist/image.tar'), '--directory', folder];
  execFileSync('tar', [...args, 'oci-layout', 'index.json', 'blobs'], {
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  return folder;
}

/**
 * Throws for other content of a released version, which never changes. A tag that cannot be read counts as absent: the
 * push reports the problem.
 */
async function refuseOtherContent(
  crane: Release['programs']['crane'],
  tagged: string,
  digest: string,
): Promise<void> {
  const present = await crane(['digest', tagged]).catch(() => '');
  if (present !== '' && present.trim() !== digest)
    throw new Error(`${tagged} is published with another content, ${present.trim()}: release a new version`);
}
