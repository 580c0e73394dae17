import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSecureContext } from 'node:tls';
import { systemClock } from '../../lib/clock.ts';
import type { Certificate } from '../../simulator/http-server.ts';
import { CommandError, failed } from '../command-error.ts';

/** The files of `--tls-cert-file` and `--tls-private-key-file`. */
export interface CertificateFiles {
  readonly cert: string;
  readonly key: string;
}

/** Certificate that a simulator serves with, and who its clients have to trust. */
export interface ServedIdentity {
  readonly certificate: Certificate;
  /** Certificates (PEM) by which a client verifies the simulator. */
  readonly authorities: string;
  /** File of a new authority; undefined if the certificate was given. */
  readonly issued: { readonly path: string; remove(): void } | undefined;
}

const VALID_MS = 365 * 86_400_000;

/** Returns a certificate of a new authority, whose own certificate is in a new file, until that is removed. */
export async function issueIdentity(names: readonly string[]): Promise<ServedIdentity> {
  // Writing certificates needs a library that no other start of the simulator needs.
  const { issueAuthority, issueLeaf } = await import('../../lib/certificates.ts');
  const period = { now: systemClock.now(), validMs: VALID_MS };
  const authority = issueAuthority({ name: 'GPU rental simulator', ...period });
  const leaf = issueLeaf({ names, use: 'server', ...period }, authority);
  const folder = mkdtempSync(join(tmpdir(), 'gpu-rent-simulator-ca-'));
  const path = join(folder, 'ca.pem');
  writeFileSync(path, authority.certificate);
  return {
    certificate: { cert: leaf.certificate + authority.certificate, key: leaf.key.reveal() },
    authorities: authority.certificate,
    issued: { path, remove: () => rmSync(folder, { recursive: true, force: true }) },
  };
}

const CERT = '--tls-cert-file';
const KEY = '--tls-private-key-file';

/**
 * Returns a certificate and its private key. Throws a `CommandError` that names the flag of a file that cannot be read
 * or used.
 */
export function readCertificate(files: CertificateFiles): Certificate {
  const cert = readText(CERT, files.cert);
  const key = readText(KEY, files.key);
  const certificate = parsed(CERT, `${files.cert} contains no certificate in PEM form`, () => {
    const first = new X509Certificate(cert);
    createSecureContext({ cert });
    return first;
  });
  const privateKey = parsed(
    KEY,
    `${files.key} contains no private key in PEM form without a passphrase`,
    () => createPrivateKey(key),
  );
  requireMatch(files, certificate, privateKey);
  return { cert, key };
}

function readText(flag: string, path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const remedy = 'Name a file in PEM form that this user may read.';
    throw failed(`${flag}: cannot read ${path}: ${reasonOf(error)}.`, remedy, error);
  }
}

function parsed<Value>(flag: string, problem: string, parse: () => Value): Value {
  try {
    return parse();
  } catch (error) {
    throw failed(`${flag}: ${problem}: ${reasonOf(error)}.`, undefined, error);
  }
}

function requireMatch(files: CertificateFiles, certificate: X509Certificate, key: KeyObject): void {
  if (certificate.checkPrivateKey(key)) return;
  throw failed(
    `${KEY}: ${files.key} is not the key of the first certificate in ${files.cert}.`,
    `Name the key of the certificate; ${CERT} must begin with the certificate of the server, followed by those of authorities.`,
  );
}

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Handlers of files that are read repeatedly. */
interface Renewal {
  readonly files: CertificateFiles;
  readonly current: Certificate;
  readonly replace: (certificate: Certificate) => void;
  /** Called once for a change that cannot be used; the previous certificate stays in use. */
  readonly onProblem: (problem: string) => void;
}

/** Interval of the reads: the files are small, and a mounted Secret changes by a link that no watcher sees. */
const READ_EVERY_MS = 1000;

/**
 * Reads the files each second and installs a changed certificate, until the returned function is called. Two files
 * never change at the same time, so a problem counts when two consecutive reads find it.
 */
export function renewCertificate({ files, current, replace, onProblem }: Renewal): () => void {
  let inUse = current;
  let suspected: string | undefined;
  let reported: string | undefined;
  const readAgain = (): string | undefined => {
    try {
      const found = readCertificate(files);
      if (found.cert === inUse.cert && found.key === inUse.key) return undefined;
      replace(found);
      inUse = found;
      return undefined;
    } catch (error) {
      return error instanceof CommandError ? error.message : reasonOf(error);
    }
  };
  const timer = setInterval(() => {
    const problem = readAgain();
    if (problem === undefined) reported = undefined;
    else if (problem === suspected && problem !== reported) {
      onProblem(problem);
      reported = problem;
    }
    suspected = problem;
  }, READ_EVERY_MS);
  timer.unref();
  return () => clearInterval(timer);
}
