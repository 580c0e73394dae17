import type { Architecture, ArchivedFile } from './debian-archive.ts';
import type { NodeFiles } from './node-binary.ts';
import type { Entry, Image } from './oci.ts';

/** User of distroless images, so that policies for that user allow this image. */
const USER = 65532;
const LINK_MODE = 0o777;

/** A package of Debian as it was read. */
export interface InstalledPackage {
  readonly name: string;
  readonly control: string;
  readonly files: readonly ArchivedFile[];
}

/** Folders of the shared libraries of a platform in Debian. */
const LIBRARIES: Readonly<Record<Architecture, string>> = {
  amd64: 'usr/lib/x86_64-linux-gnu/',
  arm64: 'usr/lib/aarch64-linux-gnu/',
};

/** Libraries that Node loads, and those with which the C library resolves names. */
const WANTED = /^(ld-linux.*|lib(c|m|dl|pthread|rt|resolv|atomic|gcc_s|stdc\+\+|nss_dns|nss_files)\.so\..*)$/;

/**
 * Returns the layer that changes least: shared libraries, the user, and the versions of the packages in the place that
 * scanners read (`/var/lib/dpkg/status.d`).
 */
export function baseLayer(
  packages: readonly InstalledPackage[],
  architecture: Architecture,
): readonly Entry[] {
  return [
    ...packages.flatMap(({ name, control, files }) => [
      ...files.filter((file) => isNeeded(file, architecture)).map(entryOf),
      { path: `var/lib/dpkg/status.d/${name}`, mode: 0o644, content: control },
    ]),
    // Debian has merged these folders.
    { path: 'lib', mode: LINK_MODE, link: 'usr/lib' },
    { path: 'lib64', mode: LINK_MODE, link: 'usr/lib64' },
    { path: 'etc/passwd', mode: 0o644, content: PASSWD },
    { path: 'etc/group', mode: 0o644, content: GROUP },
    { path: 'etc/nsswitch.conf', mode: 0o644, content: 'passwd: files\ngroup: files\nhosts: files dns\n' },
    { path: 'home/nonroot/', mode: 0o755 },
    { path: 'tmp/', mode: 0o1777 },
  ];
}

const PASSWD = `root:x:0:0:root:/root:/sbin/nologin
nonroot:x:${USER}:${USER}:nonroot:/home/nonroot:/sbin/nologin
`;
const GROUP = `root:x:0:
nonroot:x:${USER}:
`;

function isNeeded({ path }: ArchivedFile, architecture: Architecture): boolean {
  if (/^usr\/share\/doc\/[^/]+\/copyright$/.test(path) || path === 'usr/lib/os-release') return true;
  if (path === 'etc/os-release' || path.startsWith('usr/lib64/')) return true;
  const folder = LIBRARIES[architecture];
  if (path.startsWith(folder)) return WANTED.test(path.slice(folder.length));
  return path.startsWith('usr/lib/ld-linux');
}

function entryOf({ path, mode, content, link }: ArchivedFile): Entry {
  return link === undefined ? { path, mode: mode & 0o755, content } : { path, mode: LINK_MODE, link };
}

/** Path of Node in distroless images, too: the chart's test names this path. */
const NODE = 'nodejs/bin/node';

export function nodeLayer({ binary, license }: NodeFiles): readonly Entry[] {
  return [
    { path: NODE, mode: 0o755, content: binary },
    { path: 'nodejs/LICENSE', mode: 0o644, content: license },
  ];
}

/** Returns the bundle, by the name of each file in `/app`. */
export function applicationLayer(files: ReadonlyMap<string, Buffer>): readonly Entry[] {
  return [...files].map(([name, content]) => ({ path: `app/${name}`, mode: 0o444, content }));
}

/** Environment variables of the container. */
export const ENVIRONMENT: Readonly<Record<string, string>> = {
  PATH: '/nodejs/bin',
  HOME: '/home/nonroot',
  // The allocator keeps an arena of its own per thread otherwise, which nothing here needs.
  MALLOC_ARENA_MAX: '2',
};

export const NODE_FLAGS: readonly string[] = [
  // The heap ends below the limit of the container: a leak then ends with a report of V8 in the log.
  '--max-old-space-size-percentage=60',
  // The nursery of a picker, which has much garbage and keeps little, does not grow to 64 MB; the operator keeps its own smaller still.
  '--max-semi-space-size=16',
  // A SIGTERM that comes while the program is loaded is not lost.
  '--import=/app/hold-signals.mjs',
];

/** Returns the configuration of the container. `labels`: OCI's annotations of the image. */
export function configOf(labels: Readonly<Record<string, string>>): Image['config'] {
  return {
    User: `${USER}:${USER}`,
    Env: Object.entries(ENVIRONMENT).map(([name, value]) => `${name}=${value}`),
    Entrypoint: [`/${NODE}`, ...NODE_FLAGS, '/app/gpu-rent.mjs'],
    Cmd: ['operator'],
    WorkingDir: '/app',
    Labels: labels,
  };
}
