/**
 * `make image`: the operator's image for linux/amd64 and linux/arm64 in dist/image.tar, an OCI layout that Docker loads,
 * too. It needs no container engine: the pinned Node and Debian's shared libraries are put together with the bundle, and
 * two builds of one commit are the same bytes. An engine of this machine gets the image loaded.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import packageJson from '../package.json' with { type: 'json' };
import { cacheRoot } from '../test/cluster/build-cache.ts';
import { readStrictly } from '../test/settings/reader.ts';
import { PROGRAM_FILES } from './build/program-files.ts';
import { type Architecture, digestOf, fetchPackage, pins, readPackage } from './image/debian-archive.ts';
import { ENGINE_NAMES, type EngineName, findEngine, loadInto } from './image/engine.ts';
import { fetchNode } from './image/node-binary.ts';
import { type Image, imageArchive } from './image/oci.ts';
import {
  applicationLayer,
  baseLayer,
  configOf,
  type InstalledPackage,
  nodeLayer,
} from './image/root-files.ts';

const repository = join(import.meta.dirname, '..');
const dist = join(repository, 'dist');
const NAME = 'ghcr.io/gpu-rental-operator/gpu-rental-operator';
const ARCHITECTURES: readonly Architecture[] = ['amd64', 'arm64'];
const MAIN: Architecture = process.arch === 'arm64' ? 'arm64' : 'amd64';

/** A registry and path in lower case, and a tag if there is one, as the OCI distribution specification has them. */
const REFERENCE = /^[a-z0-9][\w.-]*(:\d+)?(\/[a-z0-9][a-z0-9._-]*)*(:\w[\w.-]{0,127})?$/;
const LAST_SECOND = 2 ** 32 - 1;
const cache = join(dirname(cacheRoot(process.env)), 'image');

/**
 * Reads the settings: IMAGE names the image, IMAGE_ENGINE the engine that gets it (`none` for no engine),
 * SOURCE_DATE_EPOCH its date.
 */
function readSettings(): { name: string; engine: EngineName | 'none' | undefined; date: number | undefined } {
  const name = process.env['IMAGE']?.trim() || NAME;
  return readStrictly(process.env, (reader) => {
    if (!REFERENCE.test(name))
      reader.problems.push(
        `IMAGE=${name} means nothing here: write a name such as registry.example/team/operator:dev`,
      );
    return {
      name,
      engine: reader.oneOf('IMAGE_ENGINE', [...ENGINE_NAMES, 'none']),
      date: reader.whole('SOURCE_DATE_EPOCH', 0, LAST_SECOND),
    };
  });
}

const { version } = packageJson;

/** Returns git's output; undefined if this is no clone. */
function git(...args: readonly string[]): string | undefined {
  try {
    const stdio = ['ignore', 'pipe', 'ignore'] as const;
    return execFileSync('git', args, { cwd: repository, encoding: 'utf8', stdio: [...stdio] }).trim();
  } catch {
    return undefined;
  }
}

function bundle(): ReadonlyMap<string, Buffer> {
  execFileSync(process.execPath, [join(import.meta.dirname, 'build.ts')], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const built = [...PROGRAM_FILES.map(({ name }) => name), 'hold-signals.mjs'].map((name) => `dist/${name}`);
  const files = [...built, 'LICENSE'].filter((path) => existsSync(join(repository, path)));
  return new Map(files.map((path) => [path.replace('dist/', ''), readFileSync(join(repository, path))]));
}

async function imageFor(
  architecture: Architecture,
  application: ReadonlyMap<string, Buffer>,
): Promise<Image> {
  const { packages, snapshot } = pins.parse(
    JSON.parse(readFileSync(join(import.meta.dirname, 'image', 'packages.json'), 'utf8')),
  );
  const installed = await Promise.all(
    packages.map(async ({ name, files }): Promise<InstalledPackage> => {
      const deb = await fetchPackage(files[architecture], { snapshot, cache });
      return { name, ...(await readPackage(deb)) };
    }),
  );
  const node = await fetchNode(architecture, { repository, cache });
  const commit = git('rev-parse', 'HEAD');
  return {
    architecture,
    layers: [baseLayer(installed, architecture), nodeLayer(node), applicationLayer(application)],
    config: configOf({
      'org.opencontainers.image.title': 'gpu-rental-operator',
      'org.opencontainers.image.source': 'https://github.com/gpu-rental-operator/gpu-rental-operator',
      'org.opencontainers.image.licenses': 'Apache-2.0',
      'org.opencontainers.image.version': version,
      ...(commit !== undefined && { 'org.opencontainers.image.revision': commit }),
    }),
  };
}

async function main(): Promise<void> {
  const { name, engine: wanted, date } = readSettings();
  const reference = /:[^/]+$/.test(name) ? name : `${name}:${version}`;
  const engine = wanted === 'none' ? undefined : await findEngine(wanted, process.env);
  const application = bundle();
  const images = await Promise.all(ARCHITECTURES.map((architecture) => imageFor(architecture, application)));
  const { archive, digest, sizes } = await imageArchive(images, {
    reference,
    // Of the commit, so that a commit has one image.
    createdAt: date ?? Number(git('log', '-1', '--format=%ct') ?? 0),
    main: MAIN,
  });
  mkdirSync(dist, { recursive: true });
  const path = join(dist, 'image.tar');
  writeFileSync(`${path}.unfinished`, archive);
  renameSync(`${path}.unfinished`, path);
  if (engine) await loadInto(engine, path, process.env);
  const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;
  process.stdout.write(`dist/image.tar: ${reference}, ${digest}\n`);
  for (const { architecture, unpacked, packed } of sizes)
    process.stdout.write(`  linux/${architecture}: ${megabytes(unpacked)}, ${megabytes(packed)} packed\n`);
  process.stdout.write(
    engine
      ? `Loaded into ${engine.name}.\n`
      : `No container engine answers here: load it with docker load --input dist/image.tar, or ctr --namespace k8s.io images import dist/image.tar.\n`,
  );
  process.stdout.write(
    `${JSON.stringify({ image: reference, digest, sha256: digestOf(archive), sizes, engine: engine?.name ?? 'none' })}\n`,
  );
}

await main().catch((error: Error) => {
  process.stderr.write(`make image: ${error.message}\n`);
  process.exitCode = 1;
});
