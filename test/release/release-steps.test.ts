import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { REPOSITORY } from '../../scripts/generate/artifact.ts';
import { requireImage, withImage } from '../../scripts/release/chart-values.ts';
import { requireLockedPackages } from '../../scripts/release/sbom-check.ts';
import {
  isLoopback,
  type ReleaseSettings,
  releaseSettings,
  requireTag,
} from '../../scripts/release/settings.ts';
import {
  attestArguments,
  requireSbom,
  signArguments,
  verifyArguments,
  verifySbomArguments,
} from '../../scripts/release/signing.ts';
import { commandsOf, rehearsedCommands } from '../../scripts/release/workflow.ts';

const DIGEST = `sha256:${'a'.repeat(64)}`;
const GIVEN = {
  RELEASE_TAG: 'v1.2.3',
  RELEASE_REGISTRY: '127.0.0.1:5000/team',
  RELEASE_SIGNING_FOLDER: '/keys',
};
const settings: ReleaseSettings = releaseSettings(GIVEN, '1.2.3');

describe('settings', () => {
  test('name the image and the charts below the registry', () => {
    expect(settings).toEqual({
      version: '1.2.3',
      host: '127.0.0.1:5000',
      repository: 'team/gpu-rental-operator',
      image: '127.0.0.1:5000/team/gpu-rental-operator',
      charts: '127.0.0.1:5000/team/charts',
      signer: { type: 'key', folder: '/keys' },
    });
  });

  test('take the identity of the workflow when GitHub runs it and no key is given', () => {
    const { signer } = releaseSettings(
      {
        ...GIVEN,
        RELEASE_SIGNING_FOLDER: '',
        GITHUB_WORKFLOW_REF: 'team/operator/.github/workflows/release.yml@refs/tags/v1.2.3',
      },
      '1.2.3',
    );
    expect(signer).toEqual({
      type: 'keyless',
      identity: 'https://github.com/team/operator/.github/workflows/release.yml@refs/tags/v1.2.3',
      issuer: 'https://token.actions.githubusercontent.com',
    });
  });

  test('are refused when the tag is not that of package.json', () => {
    const refusal =
      'RELEASE_TAG=v1.2.3 is not the tag of version 1.3.0: tag v1.3.0, or change the version of package.json';
    expect(() => releaseSettings(GIVEN, '1.3.0')).toThrow(refusal);
    expect(() => requireTag(GIVEN, '1.3.0')).toThrow(refusal);
    expect(() => requireTag(GIVEN, '1.2.3')).not.toThrow();
  });

  test('are refused with everything that is missing at once', () => {
    expect(() => releaseSettings({}, '1.2.3')).toThrow(
      /RELEASE_TAG is missing[\s\S]*RELEASE_REGISTRY= names no registry[\s\S]*RELEASE_SIGNING_FOLDER is missing/,
    );
  });

  test.for(['ghcr.io', 'GHCR.io/team', 'https://ghcr.io/team', 'ghcr.io/team/'])(
    'refuse the registry %s',
    (registry) => {
      expect(() => releaseSettings({ ...GIVEN, RELEASE_REGISTRY: registry }, '1.2.3')).toThrow(
        `RELEASE_REGISTRY=${registry} names no registry`,
      );
    },
  );

  test.for([
    ['127.0.0.1:5000', true],
    ['localhost', true],
    ['ghcr.io', false],
    ['localhost.example', false],
  ] as const)('allow plain http for %s: %s', ([host, expected]) => {
    expect(isLoopback(host)).toBe(expected);
  });
});

describe('arguments of cosign', () => {
  const reference = `${settings.image}@${DIGEST}`;

  test('sign and verify with the key and no transparency log when there is a key', () => {
    const services = [
      '--signing-config',
      '/keys/signing-config.json',
      '--trusted-root',
      '/keys/trusted-root.json',
    ];
    expect(signArguments(settings.signer, reference)).toEqual([
      'sign',
      '--yes',
      '--key',
      '/keys/release.key',
      ...services,
      reference,
    ]);
    expect(attestArguments(settings.signer, reference, 'sbom.json')).toEqual(
      expect.arrayContaining(['attest', '--type', 'cyclonedx', '--predicate', 'sbom.json', ...services]),
    );
    expect(verifyArguments(settings.signer, reference)).toEqual([
      'verify',
      '--key',
      '/keys/release.pub',
      '--insecure-ignore-tlog',
      reference,
    ]);
  });

  test('demand the identity and the transparency log when a workflow signs', () => {
    const signer = { type: 'keyless', identity: 'https://workflow', issuer: 'https://issuer' } as const;
    const identity = [
      '--certificate-identity',
      'https://workflow',
      '--certificate-oidc-issuer',
      'https://issuer',
    ];
    expect(signArguments(signer, reference)).toEqual(['sign', '--yes', reference]);
    expect(verifyArguments(signer, reference)).toEqual(['verify', ...identity, reference]);
    expect(verifySbomArguments(signer, reference)).toEqual([
      'verify-attestation',
      ...identity,
      '--type',
      'cyclonedx',
      reference,
    ]);
  });

  test('are refused for a tag, which may move', () => {
    expect(() => signArguments(settings.signer, `${settings.image}:1.2.3`)).toThrow('names no digest');
  });
});

describe('the SBOM', () => {
  const lock = {
    packages: {
      '': { version: '1.2.3' },
      'node_modules/zod': { version: '4.0.0' },
      'node_modules/@scope/outer': { version: '1.0.0' },
      'node_modules/@scope/outer/node_modules/zod': { version: '3.0.0' },
      'node_modules/vitest': { version: '5.0.0', dev: true },
    },
  };
  const sbom = {
    bomFormat: 'CycloneDX',
    components: [
      { name: 'zod', version: '4.0.0' },
      { group: '@scope', name: 'outer', version: '1.0.0', components: [{ name: 'zod', version: '3.0.0' }] },
    ],
  };
  const printed = (predicate: unknown): string =>
    `${JSON.stringify({ payload: Buffer.from(JSON.stringify({ predicate })).toString('base64') })}\n`;

  test('is accepted when it lists the runtime packages of the lock file', () => {
    expect(() => requireLockedPackages(sbom, lock)).not.toThrow();
  });

  test('is refused when a package is missing, another version or not in the lock file', () => {
    const [zod, outer] = sbom.components;
    expect(() => requireLockedPackages({ ...sbom, components: [zod] }, lock)).toThrow(
      'misses @scope/outer 1.0.0',
    );
    expect(() =>
      requireLockedPackages({ ...sbom, components: [{ name: 'zod', version: '4.0.1' }, outer] }, lock),
    ).toThrow('misses zod 4.0.0; lists zod 4.0.1, which package-lock.json does not have');
  });

  test('is accepted as an attestation when it is the one that was made', () => {
    expect(() => requireSbom(printed(sbom) + printed(sbom), sbom, 'image')).not.toThrow();
  });

  test('is refused as an attestation when it was altered or is missing', () => {
    const altered = { ...sbom, components: [] };
    expect(() => requireSbom(printed(sbom) + printed(altered), sbom, 'image')).toThrow(
      'The SBOM attached to image differs from the one made from package-lock.json',
    );
    expect(() => requireSbom('', sbom, 'image')).toThrow('image carries no SBOM');
  });
});

describe('values of the chart', () => {
  const text = readFileSync(join(REPOSITORY, 'charts/gpu-rental-operator/values.yaml'), 'utf8');

  test('name the released image by digest and keep everything else', () => {
    const changed = withImage(text, settings, DIGEST);
    expect(() => requireImage(changed, settings, DIGEST)).not.toThrow();
    const { image, ...others } = parse(text) as { image: object };
    expect(parse(changed)).toEqual({
      ...others,
      image: { ...image, registry: settings.host, repository: settings.repository, digest: DIGEST },
    });
    expect(changed.match(/^ *#.*$/gm)).toEqual(text.match(/^ *#.*$/gm));
  });

  test('are refused when the digest was not replaced or is another one', () => {
    expect(() => requireImage(text, settings, DIGEST)).toThrow('its values were not replaced');
    const other = withImage(text, settings, DIGEST.replaceAll('a', 'b'));
    expect(() => requireImage(other, settings, DIGEST)).toThrow(`instead of ${settings.image}@${DIGEST}`);
  });
});

describe('the release workflow', () => {
  test('runs what a rehearsal runs, and besides only installs and publishes', () => {
    expect(rehearsedCommands(REPOSITORY)).toEqual([
      { job: 'registry', command: 'npm run release -- image' },
      { job: 'registry', command: 'npm run release -- charts' },
      { job: 'registry', command: 'npm run release -- verify' },
      { job: 'npm', command: 'npm run release -- package' },
      { job: 'downloads', command: 'npm run release -- command-line' },
    ]);
  });

  test('is read with its jobs in order and without its actions', () => {
    const text = 'jobs:\n  a:\n    steps: [{ uses: x }, { run: one }]\n  b:\n    steps: [{ run: two }]\n';
    expect(commandsOf(text)).toEqual([
      { job: 'a', command: 'one' },
      { job: 'b', command: 'two' },
    ]);
  });
});
