import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { COMMAND, PROGRAM_FILES } from '../build/program-files.ts';
import { yaml } from '../generate/yaml.ts';
import { tarOf } from '../image/oci.ts';

const HOME = 'https://github.com/gpu-rental-operator/gpu-rental-operator';
const SUMMARY = 'Rent, watch and explain GPU machines';
/** Version in `engines` of package.json. */
const NODE = '22.22';

/** An archive for all platforms: the program is a script of Node. */
export interface Archive {
  readonly version: string;
  readonly url: string;
  readonly sha256: string;
}

/** Returns the URL of a release's archive. */
export const archiveUrl = (version: string): string =>
  `${HOME}/releases/download/v${version}/gpu-rent-v${version}.tar.gz`;

/** Returns the plugin manifest of krew: after `kubectl krew install gpu-rent` the program is `kubectl gpu-rent`. */
export function krewManifest({ version, url, sha256 }: Archive): string {
  const platform = (os: string) => ({
    selector: { matchLabels: { os } },
    uri: url,
    sha256,
    files: [...PROGRAM_FILES.map(({ name }) => name), 'LICENSE'].map((from) => ({ from, to: '.' })),
    bin: COMMAND,
  });
  return yaml({
    apiVersion: 'krew.googlecontainertools.github.com/v1alpha2',
    kind: 'Plugin',
    metadata: { name: 'gpu-rent' },
    spec: {
      version: `v${version}`,
      homepage: HOME,
      shortDescription: SUMMARY,
      description:
        'Plans with prices before anything is rented, explains what gpu-rental-operator does with an object and why, opens shells, copies files, and shows what machines cost.',
      caveats: `Needs Node.js ${NODE} or newer on PATH.`,
      platforms: ['linux', 'darwin'].map(platform),
    },
  });
}

/** Returns the formula of Homebrew, for a tap of the project. */
export function homebrewFormula({ version, url, sha256 }: Archive): string {
  return `class GpuRent < Formula
  desc "${SUMMARY}"
  homepage "${HOME}"
  url "${url}"
  version "${version}"
  sha256 "${sha256}"
  license "Apache-2.0"

  depends_on "node"

  def install
    libexec.install ${PROGRAM_FILES.map(({ name }) => `"${name}"`).join(', ')}
    (bin/"gpu-rent").write_env_script libexec/"${COMMAND}", PATH: "#{Formula["node"].opt_bin}:$PATH"
    bin.install_symlink "gpu-rent" => "kubectl-gpu_rent"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/gpu-rent version")
  end
end
`;
}

/**
 * Builds `dist/release/gpu-rent-vX.tar.gz`, the same bytes for the same sources, and beside it the manifest of krew and
 * the formula of Homebrew with its hash.
 */
export async function releaseCommandLine(
  repository: string,
  { version, env }: { readonly version: string; readonly env: NodeJS.ProcessEnv },
): Promise<string> {
  execFileSync(process.execPath, [join(repository, 'scripts/build.ts')], {
    cwd: repository,
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const read = (path: string): Buffer => readFileSync(join(repository, path));
  const tar = await tarOf([
    ...PROGRAM_FILES.map(({ name, mode }) => ({ path: name, mode, content: read(`dist/${name}`) })),
    { path: 'LICENSE', mode: 0o644, content: read('LICENSE') },
  ]);
  const packed = gzipSync(tar, { level: 9 });
  const archive = {
    version,
    url: archiveUrl(version),
    sha256: createHash('sha256').update(packed).digest('hex'),
  };
  const folder = join(repository, 'dist/release');
  mkdirSync(folder, { recursive: true });
  const path = join(folder, `gpu-rent-v${version}.tar.gz`);
  writeFileSync(path, packed);
  writeFileSync(join(folder, 'gpu-rent.yaml'), krewManifest(archive));
  writeFileSync(join(folder, 'gpu-rent.rb'), homebrewFormula(archive));
  return path;
}
