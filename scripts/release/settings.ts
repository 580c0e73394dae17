import { type Given, SettingsError } from '../../test/settings/reader.ts';

/** Signer: GitHub's workflow, whose identity Sigstore certifies, or a key. */
export type Signer =
  | { readonly type: 'keyless'; readonly identity: string; readonly issuer: string }
  /** `folder` holds the {@link SIGNING_FILES}; the password of the private key is in COSIGN_PASSWORD. */
  | { readonly type: 'key'; readonly folder: string };

/** Files of cosign: a key pair, the services that signing uses (such as a transparency log), and whom it trusts. */
export const SIGNING_FILES = {
  privateKey: 'release.key',
  publicKey: 'release.pub',
  signingConfig: 'signing-config.json',
  trustedRoot: 'trusted-root.json',
} as const;

/** Published artifacts, their destination, and their signer. */
export interface ReleaseSettings {
  readonly version: string;
  /** Such as `ghcr.io` or `127.0.0.1:5000`. */
  readonly host: string;
  /** The image's repository at the host. */
  readonly repository: string;
  /** Host and repository of the image, without tag. */
  readonly image: string;
  /** Host and path that the charts are below. */
  readonly charts: string;
  readonly signer: Signer;
}

const NAME = 'gpu-rental-operator';
const ISSUER = 'https://token.actions.githubusercontent.com';
/** A host, a port if there is one, and a path in lower case, as the OCI distribution specification has them. */
const REGISTRY = /^([a-z0-9][a-z0-9.-]*(?::\d+)?)\/([a-z0-9][a-z0-9._/-]*[a-z0-9])$/;

/** Registries on this machine speak plain http; every other one must have https. */
export const isLoopback = (host: string): boolean => /^(localhost|127(\.\d+){3})(:\d+)?$/.test(host);

/** Returns the reason why RELEASE_TAG is not the tag of this version; undefined if it is. */
function tagProblem(given: Given, version: string): string | undefined {
  const tag = given['RELEASE_TAG']?.trim() ?? '';
  if (tag === `v${version}`) return undefined;
  const remedy = `tag v${version}, or change the version of package.json`;
  return tag === ''
    ? `RELEASE_TAG is missing: set it to the tag of this version, v${version}`
    : `RELEASE_TAG=${tag} is not the tag of version ${version}: ${remedy}`;
}

/** Throws a {@link SettingsError} unless RELEASE_TAG is the tag of `version`, the version of package.json. */
export function requireTag(given: Given, version: string): void {
  const problem = tagProblem(given, version);
  if (problem !== undefined) throw new SettingsError([problem]);
}

function signerFrom(given: Given): Signer | undefined {
  const folder = given['RELEASE_SIGNING_FOLDER']?.trim() ?? '';
  if (folder !== '') return { type: 'key', folder };
  const workflow = given['GITHUB_WORKFLOW_REF']?.trim() ?? '';
  if (workflow === '') return undefined;
  const server = given['GITHUB_SERVER_URL']?.trim() || 'https://github.com';
  return { type: 'keyless', identity: `${server}/${workflow}`, issuer: ISSUER };
}

/**
 * Reads RELEASE_TAG, RELEASE_REGISTRY (such as `ghcr.io/team`) and who signs: a key if RELEASE_SIGNING_FOLDER has one, else the workflow that GitHub runs. `version` is that of package.json. Throws a {@link SettingsError} that names
 * everything that is wrong.
 */
export function releaseSettings(given: Given, version: string): ReleaseSettings {
  const tag = tagProblem(given, version);
  const problems = tag === undefined ? [] : [tag];
  const registry = given['RELEASE_REGISTRY']?.trim() ?? '';
  const [, host = '', path = ''] = REGISTRY.exec(registry) ?? [];
  if (host === '')
    problems.push(
      `RELEASE_REGISTRY=${registry} names no registry: write a host and a path in lower case, such as ghcr.io/team`,
    );
  const signer = signerFrom(given);
  if (signer === undefined)
    problems.push(
      `RELEASE_SIGNING_FOLDER is missing: outside GitHub Actions name a folder with ${Object.values(SIGNING_FILES).join(', ')}, or run \`make release-rehearsal\`, which makes one`,
    );
  if (problems.length > 0 || signer === undefined) throw new SettingsError(problems);
  const repository = `${path}/${NAME}`;
  return {
    version,
    host,
    repository,
    image: `${host}/${repository}`,
    charts: `${host}/${path}/charts`,
    signer,
  };
}
