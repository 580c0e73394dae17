import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { requireImage } from './chart-values.ts';
import { helmTransport, OPERATOR_CHART } from './charts.ts';
import { type Published, RELEASE_FOLDER, readPublished } from './record.ts';
import type { Release } from './release.ts';
import { readSbom } from './sbom.ts';
import { requireSbom, verifyArguments, verifySbomArguments } from './signing.ts';

/** Pulls everything back: signed by the signer, with the SBOM, and the same bytes as were built. */
export async function verifyRelease(release: Release): Promise<string> {
  const { settings, repository } = release;
  const { image, charts } = readPublished(repository);
  if (charts.length === 0)
    throw new Error('No chart was published: run `npm run release -- charts` before this step');
  const folder = mkdtempSync(join(tmpdir(), 'release-pulled-'));
  try {
    await verifySigned(release, `${settings.image}@${image.digest}`);
    await compareImage(release, image.digest, join(folder, 'layout'));
    for (const chart of charts) {
      await verifySigned(release, `${settings.charts}/${chart.name}@${chart.digest}`);
      await compareChart(release, chart, { digest: image.digest, folder });
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return `${1 + charts.length} signatures and SBOMs, the same bytes`;
}

async function verifySigned({ settings, programs, repository }: Release, reference: string): Promise<void> {
  await programs.cosign(verifyArguments(settings.signer, reference));
  const attached = await programs.cosign(verifySbomArguments(settings.signer, reference));
  requireSbom(attached, readSbom(repository), reference);
}

/** Compares images: crane checks each blob against its digest, which is its name, so equal names are equal bytes. */
async function compareImage(
  { settings, programs, repository }: Release,
  digest: string,
  pulled: string,
): Promise<void> {
  mkdirSync(pulled);
  await programs.crane(['pull', '--format', 'oci', `${settings.image}@${digest}`, pulled]);
  const blobs = (layout: string): readonly string[] => readdirSync(join(layout, 'blobs/sha256')).toSorted();
  const built = blobs(join(repository, RELEASE_FOLDER, 'layout'));
  const back = blobs(pulled);
  const missing = built.filter((name) => !back.includes(name));
  if (missing.length > 0 || back.length !== built.length)
    throw new Error(
      `${settings.image}@${digest} has ${back.length} blobs in the registry and ${built.length} in dist/image.tar; missing: ${missing.join(', ') || 'none'}`,
    );
}

async function compareChart(
  { settings, programs }: Release,
  { name, archive }: Published['charts'][number],
  { digest, folder }: { readonly digest: string; readonly folder: string },
): Promise<void> {
  const chart = `oci://${settings.charts}/${name}`;
  const version = ['--version', settings.version, ...helmTransport(settings.host)];
  await programs.helm(['pull', chart, ...version, '--destination', folder]);
  const pulled = join(folder, basename(archive));
  if (!readFileSync(pulled).equals(readFileSync(archive)))
    throw new Error(
      `${chart} ${settings.version} in the registry differs from ${basename(archive)} as it was packaged`,
    );
  if (name === OPERATOR_CHART)
    requireImage(await programs.helm(['show', 'values', pulled]), settings, digest);
}
