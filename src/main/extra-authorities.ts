import { readFile } from 'node:fs/promises';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { inBackground } from '../lib/background.ts';
import { type Clock, sleep } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import { isCertificate } from '../runtime/kube/undici-transport.ts';

/** The certificates in a PEM text, or the error of the text as the end of a sentence about its file. */
export type Authorities = { readonly certificates: readonly string[] } | { readonly problem: string };

const NO_CERTIFICATE = 'holds no certificate: name a file in PEM, with -----BEGIN CERTIFICATE-----';

/**
 * Parses the certificates. TLS accepts any text for authorities and then trusts no server, so the text is checked here.
 */
export function authoritiesIn(text: string): Authorities {
  const certificates = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  if (certificates.length === 0) return { problem: NO_CERTIFICATE };
  const damaged = certificates.findIndex((certificate) => !isCertificate(certificate));
  if (damaged >= 0) return { problem: `is damaged: its certificate ${damaged + 1} cannot be parsed` };
  return { certificates };
}

/** Interval of the reads: the file is small, and a mounted Secret changes by a link that no watcher sees. */
const READ_EVERY_MS = 10_000;

export interface ExtraAuthoritiesOptions {
  /** Value of NODE_EXTRA_CA_CERTS. */
  readonly path: string | undefined;
  readonly clock: Clock;
  readonly log: Logger;
  /** Adds these certificates to Node's own. By default it applies to all new connections. */
  readonly trust?: (certificates: readonly string[]) => void;
  readonly read?: (path: string) => Promise<string>;
}

/**
 * Follows the file of NODE_EXTRA_CA_CERTS, which Node itself reads only once. New connections trust its current
 * certificates until the returned function is called; open connections and resumed sessions keep their verdict. An
 * unusable file is logged once, and the previous certificates stay trusted.
 */
export function followExtraAuthorities(options: ExtraAuthoritiesOptions): () => void {
  const { path, clock, log, trust = trustBesideNode, read = (file) => readFile(file, 'utf8') } = options;
  if (path === undefined || path === '') return () => {};
  const ending = new AbortController();
  let inUse: string | undefined;
  let reported: string | undefined;
  const use = (text: string): string | undefined => {
    const found = authoritiesIn(text);
    if ('problem' in found) return found.problem;
    // The first certificates are those that Node read itself.
    if (inUse !== undefined) {
      trust(found.certificates);
      log.info('Authorities read again', { path, certificates: found.certificates.length });
    }
    inUse = text;
    return undefined;
  };
  const readAgain = async (): Promise<void> => {
    const problem = await read(path).then(
      (text) => (ending.signal.aborted || text === inUse ? undefined : use(text)),
      (error: unknown) => `cannot be read: ${String(error)}`,
    );
    if (problem !== undefined && problem !== reported)
      log.warn('Authorities cannot be used', { path, problem });
    reported = problem;
  };
  const follow = async (): Promise<void> => {
    while (!ending.signal.aborted) {
      await readAgain();
      await sleep(clock, READ_EVERY_MS, ending.signal).catch(() => {});
    }
  };
  inBackground({ task: 'authorities' }, follow, (error) =>
    log.error('Authorities are not followed', { error }),
  );
  return () => ending.abort();
}

/** Node's own authorities, read before the first change: afterwards the defaults include the extra ones. */
let nodeOwn: readonly string[] | undefined;

function trustBesideNode(certificates: readonly string[]): void {
  const extra = new Set(getCACertificates('extra'));
  nodeOwn ??= getCACertificates('default').filter((certificate) => !extra.has(certificate));
  setDefaultCACertificates([...nodeOwn, ...certificates]);
}
