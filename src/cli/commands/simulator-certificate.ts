import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import type { Certificate } from '../../simulator/http-server.ts';
import { CommandError, failed } from '../command-error.ts';

/** The files of `--tls-cert-file` and `--tls-private-key-file`. */
export interface CertificateFiles {
  readonly cert: string;
  readonly key: string;
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
  const certificate = parsed(CERT, `${files.cert} holds no certificate in PEM form`, () => {
    const first = new X509Certificate(cert);
    createSecureContext({ cert });
    return first;
  });
  const privateKey = parsed(KEY, `${files.key} holds no private key in PEM form without a passphrase`, () =>
    createPrivateKey(key),
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
    `Name the key that the certificate was made with; ${CERT} begins with the certificate of the server, those of authorities follow.`,
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
