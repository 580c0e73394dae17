import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { requireImage, withImage } from './chart-values.ts';
import { type Published, RELEASE_FOLDER, readPublished, writePublished } from './record.ts';
import type { Release } from './release.ts';
import { readSbom, sbomPath } from './sbom.ts';
import { isLoopback } from './settings.ts';
import { attestArguments, signArguments } from './signing.ts';

/** Charts in the order of installation: the CRDs first. */
const CHARTS = ['gpu-rental-operator-crds', 'gpu-rental-operator'] as const;
/** The one that runs the image. */
export const OPERATOR_CHART = 'gpu-rental-operator';

/** Returns helm's flag for a loopback registry, which crane and cosign recognize by host. */
export const helmTransport = (host: string): readonly string[] => (isLoopback(host) ? ['--plain-http'] : []);

/** Packages both charts, the operator's with the digest of its image, pushes and signs them and attaches the SBOM. */
export async function releaseCharts(release: Release): Promise<string> {
  const { repository } = release;
  const { image } = readPublished(repository);
  readSbom(repository);
  const charts: Published['charts'] = [];
  for (const name of CHARTS) {
    const archive = await packageChart(release, name, image.digest);
    charts.push({ name, archive, digest: await publishChart(release, name, archive) });
  }
  writePublished(repository, { image, charts });
  return charts.map(({ name, digest }) => `${name} ${digest}`).join(', ');
}

/** Packages a copy, so that the sources stay unchanged. The same commit gives the same bytes. */
async function packageChart(
  { settings, programs, repository, env }: Release,
  name: string,
  digest: string,
): Promise<string> {
  const folder = join(repository, RELEASE_FOLDER, 'charts');
  const chart = join(folder, name);
  rmSync(chart, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  cpSync(join(repository, 'charts', name), chart, { recursive: true });
  const values = join(chart, 'values.yaml');
  if (name === OPERATOR_CHART)
    writeFileSync(values, withImage(readFileSync(values, 'utf8'), settings, digest));
  const date = commitDate(repository, env);
  for (const path of readdirSync(chart, { recursive: true, encoding: 'utf8' }))
    utimesSync(join(chart, path), date, date);
  await programs.helm(['lint', '--strict', chart]);
  await programs.helm(['package', chart, '--destination', folder]);
  const archive = join(folder, `${name}-${settings.version}.tgz`);
  utimesSync(archive, date, date);
  if (name === OPERATOR_CHART)
    requireImage(await programs.helm(['show', 'values', archive]), settings, digest);
  return archive;
}

async function publishChart(
  { settings, programs, repository }: Release,
  name: string,
  archive: string,
): Promise<string> {
  await programs.helm(['push', archive, `oci://${settings.charts}`, ...helmTransport(settings.host)]);
  const digest = (await programs.crane(['digest', `${settings.charts}/${name}:${settings.version}`])).trim();
  const reference = `${settings.charts}/${name}@${digest}`;
  await programs.cosign(signArguments(settings.signer, reference));
  await programs.cosign(attestArguments(settings.signer, reference, sbomPath(repository)));
  return digest;
}

/** SOURCE_DATE_EPOCH, or when the commit was made; 1970 if this is no clone. */
function commitDate(repository: string, env: NodeJS.ProcessEnv): Date {
  const given = env['SOURCE_DATE_EPOCH']?.trim();
  if (given) return new Date(Number(given) * 1000);
  try {
    const options = { cwd: repository, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] } as const;
    return new Date(
      Number(execFileSync('git', ['log', '-1', '--format=%ct'], { ...options, stdio: [...options.stdio] })) *
        1000,
    );
  } catch {
    return new Date(0);
  }
}
