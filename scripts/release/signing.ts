import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod';
import { SIGNING_FILES, type Signer } from './settings.ts';

/** Type of the attached SBOM: cosign's name of the predicate type `https://cyclonedx.org/bom`. */
const SBOM_TYPE = ['--type', 'cyclonedx'];

function signerArguments(signer: Signer): readonly string[] {
  if (signer.type === 'keyless') return [];
  const { privateKey, signingConfig, trustedRoot } = filesOf(signer.folder);
  return ['--key', privateKey, '--signing-config', signingConfig, '--trusted-root', trustedRoot];
}

/** Returns the arguments of the verifier: a key's signature is in no transparency log; that of a workflow must be. */
const verifierArguments = (signer: Signer): readonly string[] =>
  signer.type === 'key'
    ? ['--key', filesOf(signer.folder).publicKey, '--insecure-ignore-tlog']
    : ['--certificate-identity', signer.identity, '--certificate-oidc-issuer', signer.issuer];

/** Runs of cosign that make the {@link SIGNING_FILES} in `folder`; the key pair gets the password of COSIGN_PASSWORD. */
export function keyArguments(folder: string): readonly (readonly string[])[] {
  const { privateKey, signingConfig, trustedRoot } = filesOf(folder);
  return [
    ['generate-key-pair', '--output-key-prefix', privateKey.replace(/\.key$/, '')],
    // Without any service: nothing is sent anywhere.
    ['signing-config', 'create', '--out', signingConfig],
    ['trusted-root', 'create', '--out', trustedRoot],
  ];
}

const filesOf = (folder: string) => ({
  privateKey: join(folder, SIGNING_FILES.privateKey),
  publicKey: join(folder, SIGNING_FILES.publicKey),
  signingConfig: join(folder, SIGNING_FILES.signingConfig),
  trustedRoot: join(folder, SIGNING_FILES.trustedRoot),
});

/** Arguments of cosign that sign what `reference` names by digest. */
export const signArguments = (signer: Signer, reference: string): readonly string[] => [
  ...['sign', '--yes', ...signerArguments(signer)],
  byDigest(reference),
];

/** Arguments of cosign that attach the SBOM in `file` as an attestation. */
export const attestArguments = (signer: Signer, reference: string, file: string): readonly string[] => [
  ...['attest', '--yes', ...signerArguments(signer), ...SBOM_TYPE, '--predicate', file],
  byDigest(reference),
];

/** Arguments of cosign that fail unless the signer signed it. */
export const verifyArguments = (signer: Signer, reference: string): readonly string[] => [
  ...['verify', ...verifierArguments(signer)],
  byDigest(reference),
];

/** Arguments of cosign that print the SBOMs that the signer attached, and fail if there is none. */
export const verifySbomArguments = (signer: Signer, reference: string): readonly string[] => [
  ...['verify-attestation', ...verifierArguments(signer), ...SBOM_TYPE],
  byDigest(reference),
];

/** Returns the reference by digest: a tag may move between the push and the signature. */
function byDigest(reference: string): string {
  if (/@sha256:[0-9a-f]{64}$/.test(reference)) return reference;
  throw new Error(`${reference} names no digest: sign and verify NAME@sha256:…`);
}

const envelope = z.looseObject({ payload: z.string() });
const statement = z.looseObject({ predicate: z.unknown() });

/**
 * Returns the SBOMs in the output of `cosign verify-attestation`: an envelope per line, with an in-toto statement in
 * base64.
 */
function attachedSboms(output: string): readonly unknown[] {
  return output
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => {
      const { payload } = envelope.parse(JSON.parse(line));
      return statement.parse(JSON.parse(Buffer.from(payload, 'base64').toString('utf8'))).predicate;
    });
}

/** Throws unless each SBOM that cosign printed for `reference` is `expected`, and there is one. */
export function requireSbom(output: string, expected: unknown, reference: string): void {
  const attached = attachedSboms(output);
  if (attached.length === 0) throw new Error(`${reference} carries no SBOM`);
  if (!attached.every((sbom) => isDeepStrictEqual(sbom, expected)))
    throw new Error(`The SBOM attached to ${reference} differs from the one made from package-lock.json`);
}
